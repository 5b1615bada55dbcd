//! Missing cells: left out, not observed, imputed; responses that are censored or truncated. Posteriors against sums over grids.

// References are computed as anybody would.
#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;

use smidgen::sampling::{Progress, SampleRequest, sample};
use smidgen::value::Value;
use smidgen::{Session, Settings};

/// A table in a file of its own.
struct Data(PathBuf);

impl Data {
    fn new(name: &str, text: &str) -> Data {
        let path =
            std::env::temp_dir().join(format!("smidgen-missing-{name}-{}.csv", std::process::id()));
        std::fs::write(&path, text).expect("a temporary file");
        Data(path)
    }

    fn table(&self, rule: &str) -> String {
        format!("[table t {:?} {rule}]\n", self.0)
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).expect("the file is still there");
    }
}

type Draws = Vec<(String, Vec<f64>)>;

fn draws(text: &str, kernel: Option<&str>, record: &[&str], n: usize) -> Draws {
    let mut session = Session::new(Settings { seed: 5, ..Settings::default() });
    let program = session.parse_text("test", text).expect("a program");
    let request = SampleRequest {
        kernel: kernel.map(str::to_owned),
        draws: n,
        warmup: n / 2,
        chains: 2,
        seed: 11,
        record: record.iter().map(|text| (*text).to_owned()).collect(),
        ..SampleRequest::default()
    };
    let sampled = sample(&mut session, &program, &request, &Progress::default());
    let sampled = sampled.unwrap_or_else(|error| panic!("{:?}\n{text}", error.0));
    let number = |value: &Value| value.as_number().expect("a number");
    let quantities = sampled.run.draws.quantities().iter();
    quantities.map(|q| (q.name.clone(), q.chains.iter().flatten().map(number).collect())).collect()
}

/// How far the mean of the draws is from `expected`, in Monte Carlo errors (from batches of draws).
fn errors(draws: &[f64], expected: f64) -> f64 {
    let mean = |xs: &[f64]| xs.iter().sum::<f64>() / xs.len() as f64;
    let batches: Vec<f64> = draws.chunks(draws.len() / 40).map(mean).collect();
    let all = mean(&batches);
    let var = batches.iter().map(|b| (b - all).powi(2)).sum::<f64>() / (batches.len() - 1) as f64;
    (all - expected) / (var / batches.len() as f64).sqrt()
}

fn check(text: &str, expected: &[(&str, f64)]) {
    let record: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    for (kernel, n) in [
        (None, 2000),
        (Some("(nuts default all 1)"), 2000),
        (Some("(mh default all 'drift 0.5 'adapt true 60)"), 4000),
    ] {
        for ((name, found), (_, expected)) in draws(text, kernel, &record, n).iter().zip(expected) {
            let z = errors(found, *expected);
            assert!(z.abs() < 4.5, "{kernel:?} {name}: {z:.1} errors from {expected}\n{text}");
        }
    }
}

fn normal(x: f64, mean: f64, sd: f64) -> f64 {
    (-0.5 * ((x - mean) / sd).powi(2)).exp() / sd
}

/// The points of a grid, evenly spaced.
fn grid(from: f64, to: f64, n: usize) -> impl Iterator<Item = f64> + Clone {
    (0..n).map(move |i| from + (to - from) * (i as f64 + 0.5) / n as f64)
}

/// Weighted means.
struct Means(Vec<f64>, f64);

impl Means {
    fn add(&mut self, weight: f64, values: &[f64]) {
        self.0.resize(values.len(), 0.0);
        self.0.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        self.1 += weight;
    }

    fn get(&self, k: usize) -> f64 {
        self.0[k] / self.1
    }
}

type Row = (Option<f64>, Option<f64>);

const ROWS: [Row; 7] = [
    (Some(0.2), Some(0.4)),
    (None, Some(3.1)),
    (Some(1.5), Some(2.2)),
    (Some(-1.0), None),
    (None, Some(-2.0)),
    (None, None),
    (Some(2.2), Some(3.9)),
];

fn csv(rows: &[Row]) -> String {
    let cell = |x: &Option<f64>| x.map_or_else(|| "NA".to_owned(), |x| x.to_string());
    let lines: Vec<String> = rows.iter().map(|(x, y)| format!("{},{}", cell(x), cell(y))).collect();
    format!("x,y\n{}\n", lines.join("\n"))
}

/// p(y | x, a, b) where x may be missing, drawn from N(m, s), and the mean of such an x.
fn row_of_regression((x, y): Row, [a, b]: [f64; 2], [m, s]: [f64; 2]) -> (f64, f64) {
    const SIGMA: f64 = 0.8;
    match (x, y) {
        (_, None) => (1.0, m),
        (Some(x), Some(y)) => (normal(y, a + b * x, SIGMA), x),
        (None, Some(y)) => {
            let var = SIGMA * SIGMA + b * b * s * s;
            (normal(y, a + b * m, var.sqrt()), m + b * s * s / var * (y - a - b * m))
        }
    }
}

#[test]
fn a_missing_covariate_and_a_missing_response_of_a_regression() {
    let data = Data::new("regression", &csv(&ROWS));
    let text = data.table("(missing infer)")
        + "[assume a (normal 0 2)] [assume b (normal 0 2)]
           [impute t.x (normal 0.5 1.2)]
           [for row in t [observe (normal (+ a (* b row.x)) 0.8) row.y]]";
    let mut means = Means(Vec::new(), 0.0);
    for a in grid(-5.0, 5.0, 400) {
        for b in grid(-3.0, 6.0, 400) {
            let rows = ROWS.map(|row| row_of_regression(row, [a, b], [0.5, 1.2]));
            let likelihood: f64 = rows.iter().map(|(p, _)| p).product();
            let prior = normal(a, 0.0, 2.0) * normal(b, 0.0, 2.0);
            means.add(prior * likelihood, &[a, b, rows[1].1, rows[4].1, rows[5].1]);
        }
    }
    let names = ["a", "b", "t.x[1]", "t.x[4]", "t.x[5]"];
    let expected: Vec<(&str, f64)> =
        names.iter().enumerate().map(|(k, name)| (*name, means.get(k))).collect();
    check(&text, &expected);
    // Complete cases are another posterior, which the same test tells from this one.
    let skipped = data.table("(missing skip)")
        + "[assume a (normal 0 2)] [assume b (normal 0 2)]
           [for row in t [observe (normal (+ a (* b row.x)) 0.8) row.y]]";
    let found = draws(&skipped, None, &["a", "b"], 2000);
    assert!(errors(&found[1].1, means.get(1)).abs() > 6.0);
    let mut complete = Means(Vec::new(), 0.0);
    for a in grid(-5.0, 5.0, 400) {
        for b in grid(-3.0, 6.0, 400) {
            let rows = [ROWS[0], ROWS[2], ROWS[6]];
            let p = rows.map(|row| row_of_regression(row, [a, b], [0.5, 1.2]).0);
            let prior = normal(a, 0.0, 2.0) * normal(b, 0.0, 2.0);
            complete.add(prior * p.iter().product::<f64>(), &[a, b]);
        }
    }
    for (k, (_, found)) in found.iter().enumerate() {
        assert!(errors(found, complete.get(k)).abs() < 4.5);
    }
}

/// Mean and sd of the covariate are unknown, and learnt from the cells that are there.
#[test]
fn an_imputation_with_unknown_mean_and_sd() {
    let data = Data::new("hierarchical", &csv(&ROWS));
    let law = "[assume b (normal 0 2)] [assume mu (normal 0 2)] [assume sd (gamma 3 2)]
               [impute t.x (normal mu sd)]
               [for row in t [observe (normal (* b row.x) 0.8) row.y]]";
    // The program may observe the cells itself, before or after.
    let own = "[assume b (normal 0 2)] [assume mu (normal 0 2)] [assume sd (gamma 3 2)]
               [impute t.x (normal mu sd)]
               [for row in t [observe (normal mu sd) row.x] [observe (normal (* b row.x) 0.8) row.y]]";
    let mut means = Means(Vec::new(), 0.0);
    for b in grid(-1.0, 5.0, 70) {
        for mu in grid(-4.0, 5.0, 70) {
            for sd in grid(0.0, 7.0, 90) {
                let rows = ROWS.map(|row| row_of_regression(row, [0.0, b], [mu, sd]));
                let seen = ROWS.iter().filter_map(|row| row.0).map(|x| normal(x, mu, sd));
                let likelihood: f64 = rows.iter().map(|(p, _)| p).chain(&[]).product::<f64>();
                let prior =
                    normal(b, 0.0, 2.0) * normal(mu, 0.0, 2.0) * sd * sd * (-2.0 * sd).exp();
                means.add(prior * likelihood * seen.product::<f64>(), &[b, mu, sd, rows[1].1]);
            }
        }
    }
    let names = ["b", "mu", "sd", "t.x[1]"];
    let expected: Vec<(&str, f64)> =
        names.iter().enumerate().map(|(k, name)| (*name, means.get(k))).collect();
    for program in [law, own] {
        check(&(data.table("(missing infer)") + program), &expected);
    }
}

#[test]
fn a_missing_covariate_and_a_missing_response_of_a_logistic_regression() {
    const ROWS: [Row; 8] = [
        (Some(-2.0), Some(0.0)),
        (None, Some(1.0)),
        (Some(1.0), Some(1.0)),
        (Some(0.3), Some(0.0)),
        (Some(2.5), None),
        (None, Some(0.0)),
        (Some(1.8), Some(1.0)),
        (Some(-0.5), Some(1.0)),
    ];
    let data = Data::new("logistic", &csv(&ROWS));
    let text = data.table("(missing infer)")
        + "[assume a (normal 0 1)] [assume b (normal 0 2)]
           [impute t.x (normal 0 1.5)]
           [for row in t [observe (bernoulli (logistic (+ a (* b row.x)))) row.y]]";
    let p = |y: f64, eta: f64| 1.0 / (1.0 + (if y == 1.0 { -eta } else { eta }).exp());
    let mut means = Means(Vec::new(), 0.0);
    for a in grid(-5.0, 5.0, 100) {
        for b in grid(-6.0, 9.0, 150) {
            let (mut weight, mut drawn) = (normal(a, 0.0, 1.0) * normal(b, 0.0, 2.0), [0.0; 2]);
            for (x, y) in ROWS {
                match (x, y) {
                    (_, None) => {}
                    (Some(x), Some(y)) => weight *= p(y, a + b * x),
                    (None, Some(y)) => {
                        let (mut sum, mut first) = (0.0, 0.0);
                        for x in grid(-8.0, 8.0, 80) {
                            let w = normal(x, 0.0, 1.5) * p(y, a + b * x);
                            (sum, first) = (sum + w, first + w * x);
                        }
                        weight *= sum;
                        drawn[usize::from(y == 0.0)] = first / sum;
                    }
                }
            }
            means.add(weight, &[a, b, drawn[0], drawn[1]]);
        }
    }
    let names = ["a", "b", "t.x[1]", "t.x[5]"];
    let expected: Vec<(&str, f64)> =
        names.iter().enumerate().map(|(k, name)| (*name, means.get(k))).collect();
    check(&text, &expected);
}

/// Many rows: those without a missing cell stay one plate, and the answers those of rows observed one by one.
#[test]
fn rows_without_missing_cells_stay_a_plate() {
    let mut rows = String::from("x,y\n");
    for i in 0..400 {
        let x = (i as f64 * 0.37).sin() * 2.0;
        let y = 1.0 + 0.5 * x + (i as f64 * 1.7).cos() * 0.6;
        let x = if i % 40 == 3 { String::new() } else { x.to_string() };
        let y = if i % 50 == 7 { "null".to_owned() } else { y.to_string() };
        rows.push_str(&format!("{x},{y}\n"));
    }
    let data = Data::new("plate", &rows);
    let text = data.table("(missing infer)")
        + "[assume a (normal 0 2)] [assume b (normal 0 2)] [assume s (gamma 2 2)]
           [assume mu (normal 0 2)] [assume tau (gamma 2 2)]
           [impute t.x (normal mu tau)]
           [for row in t y: [observe (normal (+ a (* b row.x)) s) row.y]]";
    let run = |plates_from: usize| {
        let mut session = Session::new(Settings { seed: 5, ..Settings::default() });
        session.model().set_plates_from(plates_from);
        let program = session.parse_text("test", &text).expect("a program");
        for top in &program {
            session.execute(top).unwrap_or_else(|d| panic!("{}", d[0].message));
        }
        smidgen::engine::check::check(session.model()).expect("a sound trace");
        let nodes = session.model().live_nodes().count();
        // The same values in both.
        for (name, value) in [("a", 1.1), ("b", 0.4), ("s", 0.7), ("mu", 0.1), ("tau", 1.3)] {
            let force = session.parse_text("force", &format!("[force {name} {value}]"));
            session.execute(&force.expect("a directive")[0]).expect("forced");
        }
        for row in (3..400).step_by(40).filter(|i| i % 50 != 7) {
            let force = format!("[force (cell t x {row}) {}]", 0.01 * row as f64);
            let force = session.parse_text("force", &force).expect("a directive");
            session.execute(&force[0]).expect("forced");
        }
        (nodes, session.model().log_joint().expect("finite"))
    };
    let ((few, plates), (many, single)) = (run(128), run(usize::MAX));
    assert!((plates - single).abs() < 1e-9 * single.abs(), "{plates} {single}");
    assert!(many > 600 && few < 80, "{few} and {many} nodes");
}

fn shown(text: &str) -> Result<Vec<String>, String> {
    let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
    let say = |diagnostics: Vec<smidgen::lang::Diagnostic>| {
        let words = diagnostics
            .iter()
            .flat_map(|d| std::iter::once(d.message.clone()).chain(d.hints.iter().cloned()));
        words.collect::<Vec<_>>().join("\n")
    };
    let program = session.parse_text("test", text).map_err(say)?;
    let mut shown = Vec::new();
    for directive in &program {
        for outcome in session.execute(directive).map_err(say)? {
            let label = outcome.label.clone().unwrap_or_default();
            shown.extend(outcome.kind.value().map(|value| format!("{label}{value}")));
        }
    }
    shown.extend(session.catalog().notes().iter().cloned());
    Ok(shown)
}

fn says(text: &str, words: &[&str]) {
    let message = shown(text).expect_err(text);
    for word in words {
        assert!(message.contains(word), "no {word:?} in: {message}\n{text}");
    }
}

#[test]
fn what_is_said_about_missing_cells() {
    let data = Data::new("words", "x,y,g,v1,v2\n1,2,a,1,2\n,3,,1,\n5,,b,,4\n");
    let with = |rule: &str, rest: &str| data.table(rule) + rest;
    let plain = |rest: &str| with("", rest);
    let skip = |rest: &str| with("(missing skip)", rest);
    let infer = |rest: &str| with("(missing infer)", rest);
    // Nothing is said about columns that are not used, or only where they are there.
    assert_eq!(shown(&plain("[for r in t p: [predict r.index]]")).unwrap().len(), 3);
    let guarded = "[for r in t p: [predict (if (is_missing r.x) -1 r.x)]]";
    assert_eq!(shown(&plain(guarded)).unwrap(), ["p[0]1", "p[1]-1", "p[2]5"]);
    let cond = "[for r in t [sample (cond ((is_missing r.x) 0) ((not (is_missing r.y)) (+ r.x r.y)) (else r.x))]]";
    assert_eq!(shown(&plain(cond)).unwrap(), ["3", "0", "5"]);
    says(&plain("[for r in t [predict (if (is_missing r.x) r.x 0)]]"), &["`x`", "row 2 (line 3)"]);
    says(
        &plain("[for r in t [predict r.x]]"),
        &["a missing cell", "(missing skip)", "(missing infer)", "[impute t.x (normal mu sd)]"],
    );
    says(&infer("[for r in t [predict r.x]]"), &["[impute t.x"]);
    // Rows are left out whole, and keep their numbers.
    let rows = "[for r in t p: [predict r.x] q: [predict r.index]]";
    let left = ["p[0]1", "q[0]0", "p[2]5", "q[2]2"];
    let note = "1 of 3 rows of `t` are left out of a loop, where r.x is missing";
    assert_eq!(shown(&skip(rows)).unwrap(), left.into_iter().chain([note]).collect::<Vec<_>>());
    let named = "[for r in t [let z (* 2 r.x)] p: [predict z] q: [predict r.index]]";
    assert_eq!(shown(&skip(named)).unwrap()[..4], ["p[0]2", "q[0]0", "p[2]10", "q[2]2"]);
    says(&infer(named), &["[impute t.x"]);
    let text = shown(&skip("[for r in t p: [predict r.g]]")).unwrap();
    assert_eq!(text[..2], ["p[0]\"a\"", "p[2]\"b\""]);
    // In nested loops the row of the outer loop is left out with all of the inner one.
    let nested = "[for a in t [for b in t p: [predict (+ (* 10 a.x) b.v1)]]]";
    let found = shown(&skip(nested)).unwrap();
    assert_eq!(found[..4], ["p[0][0]11", "p[0][1]11", "p[2][0]51", "p[2][1]51"]);
    // Observations.
    let observe = "[assume m (normal 0 1)] [for r in t y: [observe (normal m 1) r.y]] [log_likelihood] [forget \"y[2]\"]";
    says(&infer(observe), &["y[2]"]);
    let whole = "[observe (normal 0 1) t.y] [log_likelihood]";
    let normal = |x: f64| -0.5 * x * x - 0.5 * (2.0 * std::f64::consts::PI).ln();
    let found: f64 = shown(&infer(whole)).unwrap()[0].parse().unwrap();
    assert!((found - normal(2.0) - normal(3.0)).abs() < 1e-9);
    let range = "[for i in (range 0 3) [observe (normal 0 1) (cell t y i)]] [log_likelihood]";
    let found: f64 = shown(&infer(range)).unwrap()[0].parse().unwrap();
    assert!((found - normal(2.0) - normal(3.0)).abs() < 1e-9);
    says(
        &infer("[observe (multivariate_normal (zeros 3) (id_matrix 3)) (column t y)]"),
        &["whole"],
    );
    // Cells and columns outside of loops.
    says(&plain("[sample (cell t x 1)]"), &["row 2 (line 3)"]);
    assert_eq!(
        shown(&plain("[sample (cell t x 2)] [sample (is_missing (cell t x 1))]")).unwrap(),
        ["5", "true"]
    );
    says(&skip("[sample (column t x)]"), &["[for row in table"]);
    let filled = "[impute t.x (normal 0 1e-9)] [sample (> 0.1 (abs (cell t x 1)))] [sample (size (column t x))] [predict t.x]";
    let found = shown(&infer(filled)).unwrap();
    assert_eq!(found[..2], ["true", "3"]);
    assert!(found[2].starts_with("t.x[1]"), "{found:?}");
    // Vectors by their parts, texts by a categorical law, laws that use other cells.
    let vector = "(vector v \"v*\") (missing infer)";
    says(&with(vector, "[impute t.v1 (normal 0 1)] [for r in t [predict r.v]]"), &["[impute t.v2"]);
    says(&with(vector, "[impute t.v (normal 0 1)]"), &["have no names"]);
    let parts = "[impute t.v1 (normal 7 1e-9)] [impute t.v2 (normal (* 2 3) 1e-9)] [for r in t [sample (mapv round r.v)]]";
    let found = shown(&with(vector, parts)).unwrap();
    assert_eq!(found[..3], ["(array 1 2)", "(array 1 6)", "(array 7 4)"]);
    let words = "[impute t.g (if (flip 1) \"a\" \"b\")]";
    says(&infer(words), &["observation"]);
    let law = "[impute t.y (normal (* 100 (if (is_missing t.x) 0 t.x)) 1e-9)] [for r in t [sample (round r.y)]]";
    assert_eq!(shown(&infer(law)).unwrap()[2], "500");
    // Mistakes of the directive itself.
    says(&skip("[impute t.x (normal 0 1)]"), &["(missing infer)"]);
    says(&infer("[impute t.z (normal 0 1)]"), &["no column `z`"]);
    says(&infer("[impute u.x (normal 0 1)]"), &["no table `u`"]);
    says(&infer("[impute t.x (normal 0 1)] [impute t.x (normal 0 1)]"), &["already"]);
    says(&infer("[impute x (normal 0 1)]"), &["table.column"]);
    says(&infer("[for r in t [impute t.x (normal 0 1)]]"), &["top level"]);
    says(&with("(missing maybe)", ""), &["(missing skip)"]);
}

/// Observations in some rows alone: the posterior is that of these rows, whether they are a plate or go one by one, and
/// wherever the condition comes from.
#[test]
fn some_rows_are_observed() {
    let kind = |i: usize| i % 3;
    let y = |i: usize| (i as f64 * 1.7).cos() + kind(i) as f64;
    let mut rows = String::from("kind,y\n");
    (0..600).for_each(|i| rows.push_str(&format!("{},{}\n", kind(i), y(i))));
    let data = Data::new("only_if", &rows);
    let priors =
        "[assume m (normal 0 2)] [assume s (gamma 2 2)] [assume odd (lambda (k) (= k 1))] ";
    let run = |observations: &str, plates_from: usize| {
        let mut session = Session::new(Settings { seed: 5, ..Settings::default() });
        session.model().set_plates_from(plates_from);
        let text = data.table("") + priors + observations + " [force m 0.5] [force s 1.25]";
        let program = session.parse_text("test", &text).expect("a program");
        for top in &program {
            session.execute(top).unwrap_or_else(|d| panic!("{}", d[0].message));
        }
        smidgen::engine::check::check(session.model()).expect("a sound trace");
        (session.model().live_nodes().count(), session.model().log_likelihood().expect("finite"))
    };
    let of_kind = |wanted: usize| (0..600).filter(move |i| kind(*i) == wanted);
    let log_p = |i: usize| normal(y(i), 0.5, 1.25).ln() - 0.5 * (2.0 * std::f64::consts::PI).ln();
    let expected: f64 = of_kind(1).map(log_p).sum();
    let ways = [
        ("[for row in t [observe (normal m s) (only_if (= row.kind 1) row.y)]]", true),
        (
            "[for row in t [let k (- row.kind 1)] [observe (normal m s) (only_if (= k 0) row.y)]]",
            true,
        ),
        (
            "[for row in t y: [observe (normal m s) (only_if (not (or (= row.kind 0) (= row.kind 2))) row.y)]]",
            true,
        ),
        ("[for row in t [observe (normal m s) (only_if (odd row.kind) row.y)]]", true),
        (
            "[for i in (range 0 600) [observe (normal m s) (only_if (= (cell t kind i) 1) (cell t y i))]]",
            false,
        ),
    ];
    for (observations, is_plate) in ways {
        for plates_from in [128, usize::MAX] {
            let (nodes, found) = run(observations, plates_from);
            assert!(
                (found - expected).abs() < 1e-9 * expected.abs(),
                "{found} {expected}\n{observations}"
            );
            assert!(nodes < 20 || !is_plate || plates_from > 600, "{nodes} nodes\n{observations}");
        }
    }
    // Twin: all rows.
    let all = run("[for row in t [observe (normal m s) row.y]]", 128).1;
    assert!((all - expected).abs() > 1.0);
    // A procedure of the program's own is asked, not the built-in one of that name.
    let own = "[assume ceil (lambda (k) (- 2 k))] [for row in t [observe (normal m s) (only_if (= (ceil row.kind) 0) row.y)]]";
    let (_, found) = run(own, 128);
    let expected: f64 = of_kind(2).map(log_p).sum();
    assert!((found - expected).abs() < 1e-9 * expected.abs(), "{found} {expected}");
}

#[test]
fn what_is_said_about_observing_some_rows() {
    let data = Data::new("only_if_words", "x,y\n1,2\n,3\n5,4\n");
    let plain = |rest: &str| data.table("") + rest;
    says(
        &plain("[sample (only_if true 1)]"),
        &["`only_if` stands where the value of an `observe` does"],
    );
    says(&plain("[observe (normal 0 1) (+ 1 (only_if true 1))]"), &["around the whole value"]);
    says(&plain("[observe (normal 0 1) (only_if 1)]"), &["(only_if condition value)"]);
    let random = "[assume z (flip)] [for r in t [observe (normal 0 1) (only_if z r.y)]]";
    says(&plain(random), &["constant", "random choices"]);
    // Cells that are not there do not matter where nothing is observed.
    let there =
        "[for r in t [observe (normal 0 1) (only_if (not (is_missing r.x)) r.x)]] [log_likelihood]";
    let normal = |x: f64| -0.5 * x * x - 0.5 * (2.0 * std::f64::consts::PI).ln();
    let found: f64 = shown(&plain(there)).unwrap()[0].parse().unwrap();
    assert!((found - normal(1.0) - normal(5.0)).abs() < 1e-9);
}

/// 1 / (1 + e^-z)
fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// Responses above 2 are seen as 2, or are not seen at all: two laws, and two posteriors that differ from each other.
#[test]
fn a_censored_and_a_truncated_regression() {
    const ROWS: [(f64, f64); 6] =
        [(-1.0, -0.6), (0.0, 0.9), (0.5, 1.1), (1.0, 2.0), (1.5, 1.7), (2.0, 2.0)];
    const SCALE: f64 = 0.5;
    let lines: Vec<String> = ROWS.iter().map(|(x, y)| format!("{x},{y}")).collect();
    let data = Data::new("limits", &format!("x,y\n{}\n", lines.join("\n")));
    let density = |z: f64| logistic(z) * logistic(-z) / SCALE;
    let mut slopes = Vec::new();
    for law in ["censor", "truncate"] {
        let text = data.table("")
            + &format!(
                "[assume a (normal 0 2)] [assume b (normal 0 2)]
                 [for row in t [observe ({law} logistic_dist -inf 2 (+ a (* b row.x)) {SCALE}) row.y]]"
            );
        let mut means = Means(Vec::new(), 0.0);
        for a in grid(-6.0, 9.0, 500) {
            for b in grid(-6.0, 9.0, 500) {
                let row = |(x, y): (f64, f64)| {
                    let (z, end) = ((y - a - b * x) / SCALE, (2.0 - a - b * x) / SCALE);
                    match law {
                        "censor" if y == 2.0 => logistic(-end),
                        "censor" => density(z),
                        _ => density(z) / logistic(end),
                    }
                };
                let likelihood: f64 = ROWS.into_iter().map(row).product();
                means.add(normal(a, 0.0, 2.0) * normal(b, 0.0, 2.0) * likelihood, &[a, b]);
            }
        }
        check(&text, &[("a", means.get(0)), ("b", means.get(1))]);
        slopes.push((draws(&text, None, &["b"], 2000)[0].1.clone(), means.get(1)));
    }
    // The test tells one from the other.
    assert!(errors(&slopes[0].0, slopes[1].1).abs() > 6.0);
}
