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
            let mut compiler = Compiler { catalog: &mut self.catalog, sources: &self.sources };
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

/// Names of a round, and the same written out.
const NAMED: &[(&str, &str)] = &[
    (
        "[let c (* a row.x)] [observe (normal (f c row.x) s) row.y]",
        "[observe (normal (f (* a row.x) row.x) s) row.y]",
    ),
    (
        "[let g row.group] [let c (m g)] [observe (normal c s) row.y] [observe (poisson (exp c)) row.count]",
        "[observe (normal (m row.group) s) row.y] [observe (poisson (exp (m row.group))) row.count]",
    ),
    // A name that only one of the two needs does not split the rows of the other.
    (
        "[let c (m row.group)] [let e (* 2 row.y)] [observe (normal a s) e] [observe (normal c s) row.x]",
        "[observe (normal a s) (* 2 row.y)] [observe (normal (m row.group) s) row.x]",
    ),
    // What is observed has a name, and so has that name.
    (
        "[let y (normal (* a row.x) s)] [let z y] [observe z row.y]",
        "[observe (normal (* a row.x) s) row.y]",
    ),
    (
        "[let h (lambda (v) (+ b (* v row.x)))] [let c (if row.label (h a) a)] y: [observe (normal c s) row.y]",
        "y: [observe (normal (if row.label (+ b (* a row.x)) a) s) row.y]",
    ),
];

#[test]
fn names_of_a_round_are_written_out() {
    for (round, (named, written_out)) in NAMED.iter().enumerate() {
        let all = [(1, named), (1, written_out), (usize::MAX, named), (usize::MAX, written_out)];
        let mut shown = all.map(|(plates_from, body)| {
            let mut twin = Twin::new(round as u64, plates_from);
            twin.run(&format!("{MODEL}\n[for row in t {body}]")).unwrap();
            let nodes = twin.model.live_nodes().count();
            assert!(plates_from > 1 || nodes < 40, "{nodes} nodes for {body}");
            twin.run("[log_joint] [infer (mh default all 'drift 0.02 10)] [log_joint]").unwrap()
        });
        // To the bit, between plates.
        assert_eq!(shown[0], shown[1], "{named}");
        let first = shown[0].clone();
        for other in &mut shown[2..] {
            // A choice that has a name is drawn before it is observed, so the stream is elsewhere.
            assert!(close(&first[0], &other[0], 1e-9), "{named}");
        }
    }
}

/// A choice that a round has a name for is one choice, however many use it, and however many rounds there are.
#[test]
fn a_named_choice_is_one_choice_a_round() {
    let free = "[let e (normal 0 1)] [observe (normal e 1) row.x] [observe (normal e 2) row.y]";
    for plates_from in [1, usize::MAX] {
        let mut twin = Twin::new(2, plates_from);
        twin.run(&format!("[for row in t {free}]")).unwrap();
        assert_eq!(twin.model.choices().len(), ROWS);
        twin.run("[infer (mh default each 1)]").unwrap();
    }
    // Observed, it decides what the other depends on: no choice is left, and the density is known.
    let observed = "[let e (normal 0 1)] [observe e row.x] [observe (normal e 2) row.y]";
    let again = "[observe (normal 0 1) row.x] [observe (normal row.x 2) row.y]";
    let mut twins = [observed, again].map(|body| {
        let mut twin = Twin::new(2, 1);
        twin.run(&format!("[for row in t {body}]")).unwrap();
        assert_eq!(twin.model.choices().len(), 0);
        twin
    });
    agree(&mut twins, "[log_joint]", 1e-12);
    // One observation is enough.
    let twice = "[let e (normal 0 1)] [observe e row.x] [observe e row.y]";
    let said = Twin::new(2, 1).run(&format!("[for row in t {twice}]")).expect_err("two values");
    assert!(said.contains("already constrained"), "{said}");
}

/// A procedure that a round makes is another one in each round, also as a key.
#[test]
fn procedures_of_a_round_are_keys_of_their_own() {
    let text = "[assume k (mem (lambda (p) (normal 0 1)))]
        [for row in t [let p (lambda (v) v)] [observe (normal (k p) 1) row.x] [observe (normal (k p) 1) row.y]]";
    for plates_from in [1, usize::MAX] {
        let mut twin = Twin::new(2, plates_from);
        twin.run(text).unwrap();
        assert_eq!(twin.model.choices().len(), ROWS);
    }
}

#[test]
fn names_of_a_round_have_their_place() {
    for (text, words) in [
        ("[let a 1]", "for"),
        ("[for row in t [let c 1] [let c 2]]", "already"),
        ("[for row in t [let row 1] [observe (normal 0 1) 1]]", "already"),
        ("[for row in t y: [let c 1]]", "label"),
        ("[for row in t [let c (normal 0 -1)]]", "positive"),
        ("[for row in t [let c nobody]]", "unbound"),
        ("[for row in t [let c 1 2]]", "parts"),
    ] {
        let said = Twin::new(1, 1).run(text).expect_err(text);
        assert!(said.contains(words), "{said}: {text}");
    }
    // A round's name is known to the loops and kernels in it, and to nobody else.
    let mut twin = Twin::new(1, 1);
    let text = "[assume mu (normal 0 1)]
        [for i in (range 0 3) [let c (+ mu i)] [let n (+ 1 i)]
          [for j in (range 0 2) [observe (normal (+ c j) 1) 2]] [infer (mh default one n)]]";
    twin.run(text).unwrap();
    assert!(twin.run("[sample c]").is_err());
}

/// A label in a loop names all its rounds together too.
#[test]
fn a_label_in_a_loop_serves_all_rows() {
    let text = format!(
        "{MODEL}\n[for row in t y: [observe (normal (m row.group) s) row.y] [observe (normal a s) row.x]]"
    );
    let mut twins = both(4, &text);
    agree(&mut twins, "[report \"y[3]\"] [forget \"y[3]\"] [log_joint]", 1e-9);
    let [plates, nodes] = twins.each_mut().map(|twin| twin.run("[report y]").unwrap());
    assert_eq!(plates, nodes);
    assert_eq!(plates[0].elements().map(|rows| rows.len()), Some(ROWS - 1));
    assert!(twins[0].model.live_nodes().count() < 40);
    agree(&mut twins, "[forget y] [log_joint]", 1e-9);
    let [plates, nodes] = twins.each_mut().map(|twin| twin.run("[forget y]").unwrap_err());
    assert_eq!(plates, nodes);
    // The label may be used again.
    agree(&mut twins, "[for row in t y: [observe (normal b s) row.y]] [log_joint]", 1e-9);
}
