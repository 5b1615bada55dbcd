//! Enumerative Gibbs on finite programs: the posterior is stationary to 1e-12, exactly, with
//! brushes, restaurant processes, coupled blocks and observations that move; the kernel's own
//! transitions follow the matrix.

use std::collections::BTreeMap;

use smidgen_infer::block::{Block, Scope, Target};
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::enumerate::{Chain, by_values, imbalance};
use smidgen_testkit::finite::{CASES, Case, SCOPED, by_partition};
use smidgen_testkit::gibbs::{GibbsChain, Mistake, move_by_hand};
use smidgen_testkit::{PValue, World};
use smidgen_value::{Rng, Value};

fn default_scope(block: Block) -> Target {
    Target { scope: Scope::Default, block }
}

fn items(block: Block) -> Target {
    Target { scope: Scope::Named(Value::symbol("items")), block }
}

fn explore(case: &Case, target: &Target) -> GibbsChain {
    GibbsChain::explore(&mut World::new(case.text, 1), target, case.state_name, true)
}

fn assert_balanced<'a>(target: &Target, cases: impl IntoIterator<Item = &'a Case>) {
    let mut faults = Vec::new();
    for case in cases {
        let chain = explore(case, target);
        if chain.states.len() != case.states {
            faults.push(format!("{}: {} states", case.name, chain.states.len()));
        }
        let (detailed, global) = imbalance(&chain.posterior(), &chain.matrix());
        if !chain.uncertain && (detailed >= 1e-12 || global >= 1e-12) {
            faults.push(format!("{}: imbalance {detailed:.2e}, {global:.2e}", case.name));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn draws_of_single_choices_are_in_detailed_balance() {
    assert_balanced(&default_scope(Block::One), CASES);
}

#[test]
fn draws_of_all_choices_together_are_in_detailed_balance() {
    let moved = ["that moves", "random key", "may not meet", "the same procedure"];
    let cases = CASES.iter().filter(|case| !moved.iter().any(|words| case.name.contains(words)));
    assert_balanced(&default_scope(Block::All), cases);
}

#[test]
fn draws_of_blocks_of_scopes_are_in_detailed_balance() {
    assert_balanced(&items(Block::One), SCOPED);
}

/// Blocks whose choices depend on each other.
static COUPLED: &[Case] = &[
    Case {
        name: "a support that depends on the block",
        text: "[assume n (scope_include 'items 0 (uniform_discrete 1 4))]
               [assume m (scope_include 'items 0 (uniform_discrete 0 n))]
               [observe (flip (/ (+ m 1) 5)) true]
               [predict n] [predict m]",
        states: 6,
        state_name: by_values,
    },
    Case {
        name: "a choice that others of the block decide on",
        text: "[assume b (scope_include 'items 0 (flip 0.3))]
               [assume x (if b (scope_include 'items 0 (binomial 2 0.4)) 3)]
               [observe (flip (/ (+ x 1) 5)) true]
               [predict b] [predict x]",
        states: 4,
        state_name: by_values,
    },
    Case {
        name: "two customers of one restaurant",
        text: "[assume seat (make_crp 1.5)]
               [assume dish (mem (lambda (table) (flip 0.3)))]
               [assume a (scope_include 'items 0 (seat))]
               [assume b (scope_include 'items 0 (seat))]
               [assume c (scope_include 'items 1 (seat))]
               [observe (flip (if (dish a) 0.9 0.2)) true]
               [observe (flip (if (dish b) 0.8 0.1)) true]
               [observe (flip (if (dish c) 0.7 0.4)) false]
               [predict a] [predict b] [predict c]
               [predict (dish a)] [predict (dish b)] [predict (dish c)]",
        states: 22,
        state_name: by_partition,
    },
    Case {
        name: "together or not",
        text: "[assume seat (make_crp 1.5)]
               [assume a (scope_include 'items 0 (seat))] [assume b (scope_include 'items 1 (seat))]
               [observe (flip (if (= a b) 0.3 0.8)) true]
               [predict (= a b)]",
        states: 2,
        state_name: by_values,
    },
    Case {
        name: "two throws of one coin",
        text: "[assume coin (make_beta_bernoulli 1 2)]
               [assume a (scope_include 'items 0 (coin))]
               [assume b (scope_include 'items 0 (coin))]
               [observe (flip (if (= a b) 0.9 0.2)) true] [observe (coin) true]
               [predict a] [predict b]",
        states: 4,
        state_name: by_values,
    },
];

#[test]
fn coupled_blocks_are_in_detailed_balance() {
    assert_balanced(&items(Block::Id(Value::Number(0.0))), COUPLED);
    assert_balanced(&items(Block::One), COUPLED);
}

/// The matrix without 1/K(ρ) is not in balance where the number of choices changes.
#[test]
fn a_forgotten_number_of_blocks_is_noticed() {
    for name in ["nested branches", "applications that come and go"] {
        let case = CASES.iter().find(|case| case.name == name).unwrap();
        let mut world = World::new(case.text, 1);
        let target = default_scope(Block::One);
        let chain = GibbsChain::explore(&mut world, &target, case.state_name, false);
        let (_, global) = imbalance(&chain.posterior(), &chain.matrix());
        assert!(global > 1e-6, "{name}: {global}");
    }
}

/// A case, the kernel on it, and its exact matrix.
struct Row {
    case: &'static Case,
    program: &'static str,
    chain: Chain,
    matrix: Vec<Vec<f64>>,
}

fn matrices() -> Vec<Row> {
    let runs = CASES
        .iter()
        .map(|case| (case, default_scope(Block::One), "(gibbs default one 1)"))
        .chain(SCOPED.iter().map(|case| (case, items(Block::One), "(gibbs items one 1)")))
        .chain(COUPLED.iter().map(|case| (case, items(Block::One), "(gibbs items one 1)")));
    let mut rows = Vec::new();
    for (case, target, program) in runs {
        let gibbs = explore(case, &target);
        if gibbs.uncertain {
            continue;
        }
        let (matrix, log_joint) = (gibbs.matrix(), gibbs.log_joint);
        let chain = Chain::of_states(gibbs.states, log_joint, case.state_name);
        rows.push(Row { case, program, chain, matrix });
    }
    rows
}

fn kernel_rows(
    rows: &[Row],
    steps: usize,
    seed: u64,
    kernel: &mut dyn FnMut(&mut World, &str),
) -> PValue {
    let all = rows.iter().map(|row| {
        let mut world = World::new(row.case.text, 1);
        world.model.find_feasible_start(&mut Rng::for_chain(1, 7)).expect("a feasible start");
        world.rng = Rng::from_seed(seed);
        let mut p = row.chain.rows(&row.matrix, &mut world, steps, |w| kernel(w, row.program));
        p.report = format!("{}: {}", row.case.name, p.report);
        p
    });
    PValue::smallest_of(all.collect())
}

#[test]
fn the_kernel_follows_its_matrix() {
    let rows = matrices();
    assert!(rows.len() > 20, "{} matrices", rows.len());
    demand("gibbs rows", 2000, |steps, seed| {
        let mut programs = BTreeMap::new();
        kernel_rows(&rows, steps, seed, &mut |world, text| {
            let program = programs.entry(text.to_owned()).or_insert_with(|| world.program(text));
            world.step(program);
        })
    });
    let of = |name: &str| -> Vec<Row> {
        matrices().into_iter().filter(|row| row.case.name == name).collect()
    };
    let twins = [
        (Mistake::RedrawsCurrentBrush, "nested branches"),
        (Mistake::CountsSingletonTwice, "together or not"),
        (Mistake::ForgetsBlocks, "nested branches"),
        (Mistake::DropsPrior, "coins"),
    ];
    for (mistake, name) in twins {
        let rows = of(name);
        let by_hand = |mistake| {
            let rows = &rows;
            move |steps, seed| {
                kernel_rows(rows, steps, seed, &mut |world, _| move_by_hand(world, None, mistake))
            }
        };
        demand("gibbs rows by hand", 2000, by_hand(Mistake::None));
        catches("gibbs rows", &format!("{mistake:?}"), 2000, by_hand(mistake));
    }
}

/// The same seed gives the same draws.
#[test]
fn runs_can_be_repeated() {
    let case = CASES.iter().find(|case| case.name == "restaurant").unwrap();
    let run = || {
        let mut world = World::new(case.text, 5);
        let mut program = world.program("(gibbs default each 1)");
        let step = |_| {
            world.step(&mut program);
            world.state()
        };
        (0..50).map(step).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

fn complaint(text: &str) -> String {
    World::try_new(text, 1).err().expect("a complaint")
}

#[test]
fn what_cannot_be_enumerated_is_refused() {
    let continuous = complaint("[assume x (normal 0 1)] [infer (gibbs default one 1)]");
    assert!(continuous.contains("enumerate") && continuous.contains("normal"), "{continuous}");
    let endless = complaint("[assume x (poisson 3)] [infer (gibbs default one 1)]");
    assert!(endless.contains("enumerate"), "{endless}");
    let coins: String = (0..30).map(|k| format!("[assume c{k} (flip 0.3)]")).collect();
    let many = complaint(&format!("{coins} [infer (gibbs default all 1)]"));
    assert!(many.contains("enumerate more than 1000000 combinations"), "{many}");
    assert!(World::try_new(&format!("{coins} [infer (gibbs default each 1)]"), 1).is_ok());
}

/// Forced values are no start for single choices; all together need none.
#[test]
fn all_together_need_no_start() {
    let text = "[assume a (flip 0.3)] [assume b (flip 0.5)]
                [observe (flip (if (if a b false) 1 0)) true]
                [predict a] [predict b]";
    let mut world = World::new(text, 1);
    world.execute("[force a false] [force b false]").unwrap();
    let mut run = |text: &str| {
        let mut program = world.program(text);
        let World { model, rng, run, .. } = &mut world;
        let done = program.execute(model, rng, run).map_err(|error| error.to_string());
        (world.state(), done)
    };
    let (state, done) = run("(gibbs default one 1)");
    assert_eq!(state, "false false");
    assert!(done.is_err_and(|error| error.contains("impossible")));
    // There is one possible state.
    assert_eq!(run("(gibbs default all 1)"), ("true true".to_owned(), Ok(())));
}
