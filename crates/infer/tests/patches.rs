//! `reference_mh` on rows in patches, from exact draws: groups of many and of few rows, other kernels before and after, a rest that moves
//! what rows read. Bounds that are too small are noticed.

use std::sync::Arc;

use smidgen_engine::smooth::{Density, Form};
use smidgen_engine::{Fault, NodeId};
use smidgen_lang::SourceId;
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::{Nothing, Scope, lower};
use smidgen_lang::parser::parse_expression;
use smidgen_testkit::budget::demand;
use smidgen_testkit::invariance::exact_start;
use smidgen_testkit::world::Noted;
use smidgen_testkit::{PValue, World};
use smidgen_value::{Column, Symbol, Table};

/// The groups of the rows: soft patches and a hard one.
const SIZES: [usize; 4] = [62, 40, 23, 5];
const REPEATS: usize = 300;

/// Assumptions, and what is observed in each row.
struct Grouped {
    assumed: &'static str,
    observed: &'static str,
    look: &'static [&'static str],
}

const COINS: Grouped = Grouped {
    assumed: "[assume m (normal -1.5 1)] [assume s (gamma 3 4)] [assume b (normal 0 1)]
              [assume effect (mem (lambda (g) (normal m s)))]
              [predict (map effect (range 0 4))]",
    observed: "(bernoulli (logistic (+ (effect row.group) (* b row.x))))",
    look: &["m", "s", "b", "(effect 0)", "(effect 3)", "(* b (effect 1))"],
};

const COUNTS: Grouped = Grouped {
    assumed: "[assume a (normal 0 0.7)] [assume b (student_t 5)] [assume s (gamma 4 8)]
              [assume effect (mem (lambda (g) (normal 0 s)))]
              [predict (map effect (range 0 4))]",
    observed: "(poisson (exp (+ a (* 0.3 b row.x) (effect row.group))))",
    look: &["a", "b", "(effect 0)", "(effect 3)", "(* a (effect 1))"],
};

/// A scale of the errors is unknown: rows hang on it as well as on their linear predictors.
const ERRORS: Grouped = Grouped {
    assumed: "[assume m (normal -1 1)] [assume s (gamma 3 4)] [assume b (normal 0 1)] [assume t (gamma 6 6)]
              [assume effect (mem (lambda (g) (normal m s)))]
              [predict (map effect (range 0 4))]",
    observed: "(normal (+ (effect row.group) (* b row.x)) t)",
    look: &["m", "s", "b", "t", "(* t t)", "(effect 0)", "(effect 3)", "(* t (effect 1))"],
};

/// The same with heavy tails.
const HEAVY: Grouped = Grouped {
    assumed: "[assume m (normal 0 1)] [assume s (gamma 4 8)] [assume b (normal 0 1)] [assume t (gamma 20 30)]
              [assume effect (mem (lambda (g) (normal m s)))]
              [predict (map effect (range 0 4))]",
    observed: "(student_t 6 (+ (effect row.group) (* b row.x)) t)",
    look: &["m", "s", "b", "t", "(* t t)", "(effect 0)", "(effect 3)", "(* t (effect 1))"],
};

/// Counts that spread more than those of a Poisson law.
const SPREAD: Grouped = Grouped {
    assumed: "[assume m (normal 0 0.7)] [assume s (gamma 4 8)] [assume r (gamma 4 2)]
              [assume effect (mem (lambda (g) (normal m s)))]
              [predict (map effect (range 0 4))]",
    observed: "(negative_binomial r (logistic (- (log r) (+ (effect row.group) (* 0.2 row.x)))))",
    look: &["m", "s", "r", "(log r)", "(effect 0)", "(effect 3)", "(* r (effect 1))"],
};

/// A level and a slope for each group.
const SLOPES: Grouped = Grouped {
    assumed: "[assume m (normal -1 1)] [assume s (gamma 3 4)] [assume u (gamma 3 6)]
              [assume level (mem (lambda (g) (normal m s)))] [assume slope (mem (lambda (g) (normal 0.5 u)))]
              [predict (map level (range 0 4))] [predict (map slope (range 0 4))]",
    observed: "(bernoulli (logistic (+ (level row.group) (* (slope row.group) row.x))))",
    look: &["m", "s", "u", "(level 0)", "(slope 0)", "(* (slope 1) (level 1))"],
};

/// Groups of two kinds.
const CROSSED: Grouped = Grouped {
    assumed: "[assume a (normal 0 0.7)] [assume b (student_t 5)] [assume s (gamma 4 8)] [assume u (gamma 4 8)]
              [assume level (mem (lambda (g) (normal 0 s)))] [assume kind (mem (lambda (h) (normal 0 u)))]
              [predict (map level (range 0 4))] [predict (map kind (range 0 3))]",
    observed: "(poisson (exp (+ a (* 0.3 b row.x) (level row.group) (kind row.kind))))",
    look: &["a", "b", "s", "u", "(level 0)", "(kind 1)", "(* (kind 0) (level 3))"],
};

/// A state with its data, both drawn: the number of the world's text, and Σ y of each group.
struct Pair {
    world: World,
    sums: Vec<f64>,
}

fn table(outcomes: Option<Vec<f64>>) -> Arc<Table> {
    let groups: Vec<f64> = SIZES.iter().enumerate().flat_map(|(g, n)| vec![g as f64; *n]).collect();
    let x = (0..groups.len()).map(|i| 0.37 * (i % 9) as f64 - 1.5).collect::<Vec<f64>>();
    let reals = |xs: Vec<f64>| Column::Reals(xs.into());
    let kinds = (0..groups.len()).map(|i| (i / 2 % 3) as f64).collect::<Vec<f64>>();
    let mut columns = vec![
        (Symbol::new("x"), reals(x)),
        (Symbol::new("group"), reals(groups)),
        (Symbol::new("kind"), reals(kinds)),
    ];
    columns.extend(outcomes.map(|y| (Symbol::new("y"), reals(y))));
    Arc::new(Table::new(columns))
}

fn lowered(text: &str, table: Arc<Table>, number: u64) -> ExprRef {
    let scope = Scope::global().with_row(Symbol::new("row"), table);
    let syntax = parse_expression(SourceId(0), text).expect("an expression");
    lower(&syntax, &scope, &Nothing(number << 32)).expect("the text of a test is right")
}

impl Grouped {
    fn start(&self, seed: u64) -> Pair {
        let mut world = World::new(self.assumed, seed);
        let rows: usize = SIZES.iter().sum();
        let drawn = lowered(self.observed, table(None), 101);
        let mut draw = |row: usize| {
            let value = world.sample(&drawn, Some(row)).expect("an outcome");
            value.as_number().expect("a number")
        };
        let outcomes: Vec<f64> = (0..rows).map(&mut draw).collect();
        let mut sums = Vec::new();
        let mut first = 0;
        for n in SIZES {
            sums.push(outcomes[first..first + n].iter().sum());
            first += n;
        }
        let table = table(Some(outcomes));
        let expr = lowered(self.observed, table.clone(), 102);
        let outcome = lowered("row.y", table, 103);
        let noted = Noted::ObserveRows { expr, outcome, rows };
        world.perform(Arc::new(noted)).expect("rows");
        Pair { world, sums }
    }

    fn statistics(&self, pair: &mut Pair) -> Vec<f64> {
        let looked: Vec<f64> = self.look.iter().map(|text| pair.world.number(text)).collect();
        let coupled = pair.sums.iter().flat_map(|y| looked.iter().map(move |theta| theta * y));
        looked.iter().copied().chain(coupled).collect()
    }

    fn test(&self, kernel: impl Fn(&mut World)) -> impl FnMut(usize, u64) -> PValue {
        move |repeats, seed| {
            exact_start(
                repeats,
                seed,
                |seed| self.start(seed),
                |pair| kernel(&mut pair.world),
                |pair| self.statistics(pair),
            )
        }
    }
}

#[test]
fn the_rows_fall_into_patches() {
    for story in [COINS, COUNTS, ERRORS, HEAVY, SPREAD] {
        let mut pair = story.start(1);
        let choices: Vec<NodeId> = pair.world.model.choices().to_vec();
        let found = Density::compile(pair.world.model.trace_mut(), &choices, Form::Plain);
        let density = found.expect("no error").unwrap_or_else(|why| panic!("{}", why.reason));
        let patches = density.patches().unwrap_or_else(|why| panic!("{why}"));
        let sizes: Vec<usize> = (0..patches.groups()).map(|g| patches.rows_of(g).len()).collect();
        let mut known = SIZES.to_vec();
        let mut found = sizes.clone();
        known.sort_unstable();
        found.sort_unstable();
        assert_eq!(known, found);
    }
}

#[test]
fn sweeps_keep_the_law() {
    let stories = [
        ("coins", COINS),
        ("counts", COUNTS),
        ("slopes by group", SLOPES),
        ("crossed", CROSSED),
        ("unknown errors", ERRORS),
        ("heavy errors", HEAVY),
    ];
    for (name, story) in stories {
        let kernel = |world: &mut World| world.infer("(reference_mh default all 4)");
        demand(&format!("exact start: patches, {name}"), REPEATS, story.test(kernel));
    }
}

#[test]
fn other_kernels_before_and_after() {
    for others in ["(mh default one 3)", "(nuts default all 'step 0.3 1)"] {
        let text = format!("(cycle ({others} (reference_mh default all 1)) 3)");
        let kernel = |world: &mut World| world.infer(&text);
        demand(&format!("exact start: patches and {others}"), REPEATS, COINS.test(kernel));
        let claim = format!("exact start: crossed patches and {others}");
        demand(&claim, REPEATS, CROSSED.test(kernel));
        let claim = format!("exact start: patches with unknown errors and {others}");
        demand(&claim, REPEATS, ERRORS.test(kernel));
    }
}

/// Remainders beyond their bounds in many sweeps.
fn violations(story: &Grouped, fault: Option<Fault>) -> u64 {
    let mut world = story.start(5).world;
    world.model.trace_mut().put_fault(fault);
    world.infer("(reference_mh default all 3000)");
    world.run.kernels.iter().map(|record| record.tally.violations).sum()
}

#[test]
fn bounds_that_are_too_small_are_noticed() {
    for story in [COINS, ERRORS, SLOPES, CROSSED] {
        assert_eq!(violations(&story, None), 0);
        let found = violations(&story, Some(Fault::NoBounds));
        assert!(found > 3, "{}: {found} violations", story.observed);
    }
}
