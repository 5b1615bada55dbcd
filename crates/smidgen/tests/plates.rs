//! Rows of a loop as a plate against the same rows as nodes: random models, the same seed, the same
//! draws; and what happens to single rows.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use smidgen::Catalog;
use smidgen::compile::Compiler;
use smidgen::engine::Model;
use smidgen::engine::check::check;
use smidgen::execute::{ExecutionContext, Executor, Mode};
use smidgen::lang::SourceMap;
use smidgen::load::Loader;
use smidgen::outcome::OutcomeKind;
use smidgen::value::{Column, Rng, Symbol, Table, Texts, Value, math};

const ROWS: usize = 150;

/// A program on a table of its own, with plates or without.
struct Twin {
    model: Model,
    rng: Rng,
    sources: SourceMap,
    catalog: Catalog,
}

fn table(rng: &mut Rng, rows: usize) -> Table {
    let mut reals = |f: &dyn Fn(&mut Rng) -> f64| {
        Column::Reals((0..rows).map(|_| f(rng)).collect::<Vec<_>>().into())
    };
    let x = reals(&|rng| 4.0 * rng.uniform() - 2.0);
    let y = reals(&|rng| math::ln(rng.open_uniform()) + 1.0);
    let count = reals(&|rng| rng.below(5) as f64);
    let size = reals(&|rng| (5 + rng.below(4)) as f64);
    let group = reals(&|rng| rng.below(4) as f64);
    let features = (0..3 * rows).map(|_| 2.0 * rng.uniform() - 1.0).collect::<Vec<_>>();
    let labels: Vec<bool> = (0..rows).map(|_| rng.coin()).collect();
    let words: Vec<Arc<String>> =
        ["north", "south", "east"].map(|word| Arc::new(word.to_owned())).into();
    let codes: Vec<u32> = (0..rows).map(|_| rng.below(3) as u32).collect();
    Table::new(vec![
        (Symbol::new("x"), x),
        (Symbol::new("y"), y),
        (Symbol::new("count"), count),
        (Symbol::new("size"), size),
        (Symbol::new("group"), group),
        (Symbol::new("v"), Column::Vectors { data: features.into(), width: 3 }),
        (Symbol::new("label"), Column::Booleans(labels.into())),
        (Symbol::new("place"), Column::Texts(Texts::new(codes.into(), words.into()))),
    ])
}

impl Twin {
    fn new(data: u64, plates_from: usize) -> Twin {
        Twin::of_rows(data, plates_from, ROWS)
    }

    fn of_rows(data: u64, plates_from: usize, rows: usize) -> Twin {
        let mut catalog = Catalog::new(Default::default(), Default::default());
        catalog.add_table(Symbol::new("t"), Arc::new(table(&mut Rng::from_seed(data), rows)));
        let mut model = Model::new();
        model.set_plates_from(plates_from);
        Twin { model, rng: Rng::from_seed(1), sources: SourceMap::default(), catalog }
    }

    fn run(&mut self, text: &str) -> Result<Vec<Value>, String> {
        let said = |d: Vec<smidgen::lang::Diagnostic>| format!("{}: {:?}", d[0].message, d[0].path);
        let loader = Loader::new(&mut self.sources);
        let directives = loader.text("test", text, Path::new(""), 1).map_err(said)?;
        let mut shown = Vec::new();
        for top in &directives {
            let mut compiler = Compiler::new(&mut self.catalog, &self.sources);
            let step = compiler.top_level(&top.directive, top.number, &top.folder).map_err(said)?;
            let Some(step) = step else { continue };
            let interrupt = Arc::new(AtomicBool::new(false));
            let desk = ExecutionContext::new(
                &mut self.rng,
                &self.catalog,
                &self.sources,
                interrupt,
                Mode::Run,
            );
            let mut executor = Executor { model: &mut self.model, desk };
            executor.execute(&step).map_err(|d| said(vec![d]))?;
            for outcome in std::mem::take(&mut executor.desk.outcomes) {
                if !matches!(outcome.kind, OutcomeKind::Assume { .. }) {
                    shown.extend(outcome.kind.value());
                }
            }
            check(&self.model).unwrap_or_else(|broken| panic!("{broken}\nafter {text}"));
        }
        Ok(shown)
    }
}

/// Both twins after the same text.
fn both(data: u64, text: &str) -> [Twin; 2] {
    [1, usize::MAX].map(|plates_from| {
        let mut twin = Twin::new(data, plates_from);
        twin.run(text).unwrap_or_else(|error| panic!("{error}\nin {text}"));
        twin
    })
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Vector(xs) => xs.to_vec(),
        value => vec![value.as_number().unwrap_or(f64::NAN)],
    }
}

fn close(a: &Value, b: &Value, tolerance: f64) -> bool {
    let (a, b) = (numbers(a), numbers(b));
    let near = |(a, b): (&f64, &f64)| a == b || (a - b).abs() <= tolerance * (1.0 + a.abs());
    a.len() == b.len() && a.iter().zip(&b).all(near)
}

/// Runs a text on both and holds what they show together.
fn agree(twins: &mut [Twin; 2], text: &str, tolerance: f64) {
    let [plates, nodes] = twins.each_mut().map(|twin| twin.run(text));
    let (plates, nodes) = (plates.unwrap(), nodes.unwrap());
    assert_eq!(plates.len(), nodes.len(), "{text}");
    for (a, b) in plates.iter().zip(&nodes) {
        assert!(close(a, b, tolerance), "plates {a}, nodes {b}: {text}");
    }
}

const OBSERVATIONS: &[&str] = &[
    "[observe (normal (+ a (* b row.x)) s) row.y]",
    "[observe (normal (+ a (* b row.x)) (exp (* 0.1 a))) row.y]",
    "[observe (student_t 4 (* b row.x) s) row.y]",
    "[observe (bernoulli (linear_logistic w row.v)) row.label]",
    "[observe (bernoulli (logistic (+ a (dot u row.v)))) row.label]",
    "[observe (poisson (exp (+ a (* 0.1 row.x)))) row.count]",
    "[observe (binomial row.size (logistic (* b row.x))) row.count]",
    "[observe (normal (m row.group) s) row.y]",
    "[observe (normal (+ (m row.place) (* b row.x)) s) row.y]",
    "[observe (normal (if (< row.x 0) a b) s) row.y]",
    "[observe (normal (if row.label (m row.group) b) s) row.y]",
    "[observe (normal (lookup u (min 2 row.group)) s) row.y]",
    "[observe (let ((c (* a row.x))) (normal (f c row.x) s)) row.y]",
    "[observe (normal mu (* s (+ 1 (abs row.x)))) (* 0.5 row.y)]",
    "[observe (multivariate_diag_normal (* b u) (fill 3 1)) row.v]",
    "[observe (normal (lookup (column t x) row.index) s) row.y]",
    "[observe (categorical (array 0.2 (logistic a) 0.4 0.3 0.2)) row.count]",
    "[observe (exponential (exp (* b row.x))) (abs row.y)]",
];

/// A random observation of a row.
fn observation(rng: &mut Rng) -> &'static str {
    OBSERVATIONS[rng.below(OBSERVATIONS.len())]
}

const MODEL: &str = "
    [assume a (scope_include 'c 0 (normal 0 1))]
    [assume b (scope_include 'c 1 (normal 0 1))]
    [assume log_s (scope_include 'c 2 (normal 0 0.3))]
    [assume s (exp log_s)]
    [assume u (multivariate_diag_normal (zeros 3) (fill 3 1))]
    [assume w (multivariate_diag_normal (zeros 4) (fill 4 1))]
    [assume m (mem (lambda (g) (normal 0 1)))]
    [assume k (scope_include 'd 0 (flip 0.5))]
    [assume mu (if k a b)]
    [assume f (lambda (c x) (+ c (* b x)))]
    [assume other (mem (lambda (g) (gamma 2 1)))]";

const SHOW: &str = "[predict a] [predict b] [predict s] [predict u] [predict w] [predict k]";

#[test]
fn rows_of_plates_are_rows() {
    let kernels = [
        "(mh default one 30)",
        "(mh default all 'drift 0.02 10)",
        "(subsampled_mh default one 20 0 'drift 0.05 20)",
        "(slice c one 5)",
        "(gibbs d one 5)",
        "(hmc c one 0.01 3 5)",
        "1",
    ];
    let mut rng = Rng::from_seed(11);
    for round in 0..60 {
        let mut loops = String::new();
        for _ in 0..1 + rng.below(2) {
            let body: Vec<&str> = (0..1 + rng.below(2)).map(|_| observation(&mut rng)).collect();
            loops.push_str(&format!("[for row in t y{}: {}]\n", loops.len(), body[0]));
            if let Some(second) = body.get(1) {
                loops.push_str(&format!("[for row in t {} {second}]\n", body[0]));
            }
        }
        let text = format!("{MODEL}\n{loops}");
        let mut twins = both(round, &text);
        agree(&mut twins, "[log_joint] [log_likelihood]", 1e-9);
        for _ in 0..3 {
            let kernel = kernels[rng.below(kernels.len())];
            agree(&mut twins, &format!("[infer {kernel}] [log_joint] {SHOW}"), 1e-6);
        }
        // Rows that go, the first of a kind and others, and families with them.
        for row in [0, 7, ROWS - 1] {
            agree(&mut twins, &format!("[forget \"y0[{row}]\"] [log_joint]"), 1e-9);
        }
        agree(&mut twins, &format!("[infer (mh default one 10)] [log_joint] {SHOW}"), 1e-6);
    }
}

/// One kind of row: the population is in the order of the rows either way, so that tests on part of it
/// decide alike.
#[test]
fn sections_of_a_plate_are_sections() {
    for (round, body) in [
        "[observe (bernoulli (linear_logistic w row.v)) row.label]",
        "[observe (normal (+ a (* b row.x)) s) row.y]",
        "[observe (normal mu (* s (+ 1 (abs row.x)))) row.y]",
        "[observe (binomial row.size (logistic (* b row.x))) row.count]",
    ]
    .iter()
    .enumerate()
    {
        let mut twins = both(round as u64, &format!("{MODEL}\n[for row in t {body}]"));
        for kernel in [
            "(subsampled_mh c one 20 0.05 'drift 0.05 100)",
            "(subsampled_mh c one 10 0.2 'drift 0.2 'growth 2 100)",
            "(subsampled_mh c all 20 0.1 'drift 0.02 50)",
            "(subsampled_mh c one 20 0.05 'drift 0.05 'test 'stratified 50)",
        ] {
            agree(&mut twins, &format!("[infer {kernel}] [log_joint] {SHOW}"), 1e-9);
        }
    }
}

#[test]
fn a_row_that_cannot_be_is_named() {
    for (body, words) in [
        ("[observe (bernoulli (linear_logistic w row.v)) row.x]", "support"),
        ("[observe (poisson (exp a)) row.y]", "row"),
        ("[observe (normal (* b row.x) row.x) row.y]", "positive"),
        ("[observe (gamma 2 (exp a)) row.x]", "support"),
        ("[observe (normal b row.none) row.y]", "none"),
        ("[observe (binomial row.group (logistic a)) row.size]", "support"),
    ] {
        let text = format!("{MODEL}\n[for row in t {body}]");
        let [plates, nodes] = [1, usize::MAX].map(|from| {
            let mut twin = Twin::new(5, from);
            let said = twin.run(&text).expect_err(body);
            // The failed loop has left nothing behind.
            let after = twin.run("[log_likelihood]").unwrap();
            assert_eq!(numbers(&after[0]), [0.0], "{body}");
            said
        });
        assert_eq!(plates, nodes, "{body}");
        assert!(plates.contains(words), "{plates}");
    }
}

/// Rows that could be a plate are one: a few nodes in all.
#[test]
fn rows_of_a_plate_are_no_nodes() {
    for body in OBSERVATIONS {
        let mut twin = Twin::new(3, 1);
        twin.run(&format!("{MODEL}\n[for row in t {body}]")).unwrap();
        let nodes = twin.model.live_nodes().count();
        assert!(nodes < 40, "{nodes} nodes for {body}");
    }
}

/// However many threads share a scan, the sums are the same to the bit.
#[test]
fn threads_change_nothing() {
    let text = format!(
        "{MODEL}\n[for row in t [observe (bernoulli (linear_logistic w row.v)) row.label]]
        [for row in t [observe (normal (+ a (* b row.x)) s) row.y]]
        [log_joint] [infer (mh c all 'drift 0.001 3)] [infer (hmc c one 0.0001 2 2)] [log_joint] {SHOW}"
    );
    let shown = [1, 2, 5].map(|threads| {
        let mut twin = Twin::of_rows(1, 1, 150_000);
        twin.model.set_threads(threads);
        twin.run(&text).unwrap()
    });
    assert_eq!(shown[0], shown[1]);
    assert_eq!(shown[0], shown[2]);
}
