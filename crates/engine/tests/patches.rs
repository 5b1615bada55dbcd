//! Blocks whose rows fall into patches.

mod debug_common;

use std::sync::Arc;

use smidgen_engine::environment::Environment;
use smidgen_engine::model::RowObservation;
use smidgen_engine::smooth::{Density, Form};
use smidgen_engine::taylor::patches::PatchRows;
use smidgen_engine::taylor::{Patches, Unserved};
use smidgen_engine::{Model, NodeId};
use smidgen_lang::SourceId;
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::{Nothing, Scope, lower};
use smidgen_lang::parser::parse_expression;
use smidgen_value::{Column, Rng, Symbol, Table, math};

const ROWS: usize = 150;
const GROUPS: usize = 5;

fn table() -> Arc<Table> {
    let mut rng = Rng::from_seed(3);
    let mut reals = |f: &dyn Fn(&mut Rng) -> f64| {
        Column::Reals((0..ROWS).map(|_| f(&mut rng)).collect::<Vec<_>>().into())
    };
    Arc::new(Table::new(vec![
        (Symbol::new("x"), reals(&|rng| 4.0 * rng.uniform() - 2.0)),
        (Symbol::new("y"), reals(&|rng| 3.0 * rng.uniform() - 1.5)),
        (Symbol::new("coin"), reals(&|rng| f64::from(u8::from(rng.uniform() < 0.4)))),
        (Symbol::new("count"), reals(&|rng| rng.below(4) as f64)),
        (Symbol::new("group"), reals(&|rng| rng.below(GROUPS) as f64)),
    ]))
}

fn lowered(text: &str, number: u64) -> ExprRef {
    let scope = Scope::global().with_row(Symbol::new("row"), table());
    let syntax = parse_expression(SourceId(0), text).expect("an expression");
    lower(&syntax, &scope, &Nothing(number << 32)).expect("the text of a test is right")
}

fn density(assumed: &str, observed: &str, outcome: &str) -> (Model, Density) {
    let mut rng = Rng::from_seed(1);
    let mut model = Model::new();
    debug_common::run(&mut model, assumed, &mut rng).expect("assumptions");
    let (expr, outcome) = (lowered(observed, 1), lowered(outcome, 2));
    let environment = Environment::default();
    let observation =
        RowObservation { expr: &expr, outcome: &outcome, label: None, rows: None, first: 0 };
    let made = model.whole(|model| {
        let all = model.observe_rows(&[observation], &environment, 0..ROWS as i64, &mut rng);
        assert!(all.map_err(|found| found.error)?, "no plate");
        Ok(())
    });
    made.unwrap_or_else(|error: smidgen_engine::EvalError| panic!("{error}"));
    let choices: Vec<NodeId> = model.choices().to_vec();
    let found = Density::compile(model.trace_mut(), &choices, Form::Plain).expect("no error");
    let density = found.unwrap_or_else(|why| panic!("{}", why.reason));
    (model, density)
}

/// Assumptions, what is observed in each row, and as what.
const CASES: &[[&str; 3]] = &[
    [
        "[assume m (normal 0 2)] [assume s (gamma 2 2)] [assume b (normal 0 1)]
         [assume effect (mem (lambda (g) (normal m s)))]",
        "(bernoulli (logistic (+ (effect row.group) (* b row.x))))",
        "row.coin",
    ],
    [
        "[assume a (normal 0 2)] [assume s (half_normal 1)] [assume b (student_t 4 0 1)]
         [assume effect (mem (lambda (g) (normal 0 s)))]",
        "(poisson (exp (+ a (* b row.x) (effect row.group))))",
        "row.count",
    ],
    [
        "[assume m (normal 0 2)] [assume s (gamma 2 2)]
         [assume effect (mem (lambda (g) (normal (* 2 m) s)))]",
        "(bernoulli (logistic (effect row.group)))",
        "row.coin",
    ],
    // The factor of a row is no part of its linear predictor.
    [
        "[assume m (normal 0 2)] [assume s (gamma 2 2)]
         [assume effect (mem (lambda (g) (normal m s)))]",
        "(bernoulli (logistic (* row.x (+ m (effect row.group)))))",
        "row.coin",
    ],
    [
        "[assume m (normal 0 2)] [assume effect (mem (lambda (g) (normal m 0.7)))]",
        "(poisson (exp (effect row.group)))",
        "row.count",
    ],
    [
        "[assume m (normal 0 2)] [assume s (gamma 2 2)] [assume b (normal 0 1)]
         [assume effect (mem (lambda (g) (normal m s)))]",
        "(normal (+ (effect row.group) (* b row.x)) 0.5)",
        "row.y",
    ],
    // Coefficients other than 1, and a scale that is no choice itself.
    [
        "[assume m (normal 0 2)] [assume v (normal 0 1)] [assume b (normal 0 1)]
         [assume slope (mem (lambda (g) (normal m (exp (+ 0.3 (* 0.5 v))))))]",
        "(bernoulli (logistic (+ b (* row.x (slope row.group)))))",
        "row.coin",
    ],
    // Two effects of a group, of one scale each.
    [
        "[assume m (normal 0 2)] [assume s (gamma 2 2)] [assume u (gamma 2 2)]
         [assume level (mem (lambda (g) (normal m s)))] [assume slope (mem (lambda (g) (normal 0.5 u)))]",
        "(poisson (exp (+ (level row.group) (* row.x (slope row.group)))))",
        "row.count",
    ],
    // Of the same scale.
    [
        "[assume s (gamma 2 2)] [assume level (mem (lambda (g) (normal 0 s)))] [assume slope (mem (lambda (g) (normal 1 s)))]",
        "(bernoulli (logistic (+ (level row.group) (* row.x (slope row.group)))))",
        "row.coin",
    ],
    // Crossed groups, and a prior that looks like a law of effects.
    [
        "[assume m (normal 0 2)] [assume s (gamma 2 2)] [assume b (normal 0 0.7)]
         [assume level (mem (lambda (g) (normal m s)))] [assume kind (mem (lambda (h) (normal 0 0.7)))]",
        "(bernoulli (logistic (+ (level row.group) (* b row.x) (kind row.count))))",
        "row.coin",
    ],
];

fn served(case: &[&str; 3]) -> (Density, Patches) {
    let (_, density) = density(case[0], case[1], case[2]);
    let patches = density.patches().unwrap_or_else(|why| panic!("{}: {why}", case[1]));
    assert_eq!(patches.rows(), ROWS);
    (density, patches)
}

/// η of the rows of a patch.
fn predictors(
    patches: &mut Patches,
    number: usize,
    shared: &[f64],
    effects: &[f64],
) -> (PatchRows, Vec<f64>) {
    let range = patches.patch(number);
    let rows = PatchRows { first: range.start, step: 1, count: range.len() };
    let own = patches.members(number).iter().map(|effect| effects[*effect as usize]);
    let weights: Vec<f64> = shared.iter().copied().chain(own).collect();
    let mut x = vec![0.0; weights.len() * rows.count];
    patches.coefficients(rows, &mut x);
    let mut eta = vec![0.0; rows.count];
    for (x, b) in x.chunks_exact(rows.count).zip(&weights) {
        eta.iter_mut().zip(x).for_each(|(eta, x)| *eta += b * x);
    }
    (rows, eta)
}

/// Prior, effects' law and rows are the whole density, but for a constant.
#[test]
fn the_parts_are_the_whole() {
    for case in CASES {
        let (mut density, mut patches) = served(case);
        let d = density.dimension();
        let mut rng = Rng::from_seed(9);
        let mut differences = Vec::new();
        let (mut shared, mut effects, mut log_scales) = (Vec::new(), Vec::new(), Vec::new());
        let mut back = Vec::new();
        for _ in 0..5 {
            let z: Vec<f64> = (0..d).map(|_| 2.0 * rng.uniform() - 1.0).collect();
            let whole = density.log_density(&z, &mut vec![0.0; d]);
            patches.split(&z, &mut shared, &mut effects, &mut log_scales);
            patches.join(&shared, &effects, &log_scales, &mut back);
            assert!(z.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-14), "{z:?} {back:?}");
            let mut parts = patches.log_prior(&mut density, &shared, &log_scales);
            let mut a = vec![0.0; shared.len()];
            for (g, effect) in effects.iter().enumerate() {
                let mut mean = patches.location(g, &mut a);
                mean += a.iter().zip(&shared).map(|(a, b)| a * b).sum::<f64>();
                let log_scale = log_scales[patches.scale_of(g)];
                let z = (effect - mean) / math::exp(log_scale);
                parts -= log_scale + 0.5 * z * z;
            }
            for number in 0..patches.patches() {
                let (rows, eta) = predictors(&mut patches, number, &shared, &effects);
                parts += patches.log_weight(rows, &eta);
            }
            differences.push(whole - parts);
        }
        let first = differences[0];
        let same = differences.iter().all(|x| (x - first).abs() < 1e-9 * (1.0 + first.abs()));
        assert!(same, "{}: {differences:?}", case[1]);
    }
}

#[test]
fn derivatives_are_those_of_the_values_and_lie_below_their_bounds() {
    for case in CASES {
        let (_, mut patches) = served(case);
        let shared: Vec<f64> = (0..patches.shared()).map(|k| 0.3 - 0.2 * k as f64).collect();
        let effects = vec![0.4; patches.groups()];
        for number in 0..patches.patches() {
            let (rows, eta) = predictors(&mut patches, number, &shared, &effects);
            let n = rows.count;
            let mut at = |by: f64| {
                let eta: Vec<f64> = eta.iter().map(|eta| eta + by).collect();
                let mut f = vec![0.0; 8 * n];
                patches.derivatives(rows, &eta, &mut f);
                f
            };
            let (here, above, below) = (at(0.0), at(1e-5), at(-1e-5));
            for k in 1..8 {
                for i in 0..n {
                    let slope = (above[(k - 1) * n + i] - below[(k - 1) * n + i]) / 2e-5;
                    let found = here[k * n + i];
                    assert!((found - slope).abs() < 1e-6 * (1.0 + found.abs()), "{}: {k}", case[1]);
                }
            }
            let radius = 0.8;
            let far: Vec<Vec<f64>> = (-4..=4).map(|k| at(0.2 * f64::from(k))).collect();
            for k in 3..8 {
                let mut most = vec![0.0; n];
                patches.most(rows, &eta, radius, k, &mut most);
                for i in 0..n {
                    let found = far.iter().map(|f| f[k * n + i].abs()).fold(0.0, f64::max);
                    assert!(found <= most[i], "{}: {found} beyond {}", case[1], most[i]);
                    assert!(most[i] <= 4.0 * found + 0.5, "{}: {} for {found}", case[1], most[i]);
                }
            }
            // Every third row, as they stand.
            let some = PatchRows { step: 3, count: n.div_ceil(3), ..rows };
            let picked: Vec<f64> = eta.iter().step_by(3).copied().collect();
            let mut f = vec![0.0; some.count];
            patches.derivatives(some, &picked, &mut f);
            assert!(f.iter().zip(here[..n].iter().step_by(3)).all(|(a, b)| a == b));
        }
    }
}

/// Which effects rows read together, and by how many scales.
#[test]
fn rows_that_read_several_effects() {
    let look = |case: usize| {
        let (_, patches) = served(&CASES[case]);
        let most = (0..patches.patches()).map(|k| patches.members(k).len()).max();
        (patches.groups(), patches.scales(), most.unwrap_or(0), patches.is_simple())
    };
    assert_eq!(look(6), (GROUPS, 1, 1, true));
    assert_eq!(look(7), (2 * GROUPS, 2, 2, false));
    assert_eq!(look(8), (2 * GROUPS, 1, 2, false));
    assert_eq!(look(9), (GROUPS + 4, 2, 2, false));
}

#[test]
fn what_has_no_patches_says_why() {
    let why = |assumed: &str, observed: &str, outcome: &str| {
        density(assumed, observed, outcome).1.patches().map(|_| ()).expect_err("no patches")
    };
    let assumed = "[assume m (normal 0 2)] [assume s (gamma 2 2)] [assume t (gamma 2 2)]
                   [assume effect (mem (lambda (g) (normal m s)))]";
    for (observed, outcome) in [
        ("(normal (effect row.group) t)", "row.y"),
        (
            "(bernoulli (logistic (+ m (* row.x (effect row.group) (effect row.count)))))",
            "row.coin",
        ),
        ("(bernoulli (logistic (* m row.x)))", "row.coin"),
        ("(normal (* s (effect row.group)) 1)", "row.y"),
    ] {
        let found = why(assumed, observed, outcome);
        assert!(
            matches!(found, Unserved::NoPatches(_) | Unserved::NoEffects | Unserved::ManyForms),
            "{observed}: {found}"
        );
    }
}
