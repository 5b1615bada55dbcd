//! Finite programs: the posterior is stationary under mh to 1e-12, exactly; and the kernel's own
//! transitions follow the matrix that was computed from proposals.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use smidgen_infer::block::{Block, Scope, Target};
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::enumerate::{Chain, Outcome, imbalance, metropolis, product};
use smidgen_testkit::finite::{CASES, Case, SCOPED};
use smidgen_testkit::{PValue, World, twins};
use smidgen_value::{Value, math};

fn default_scope(block: Block) -> Target {
    Target { scope: Scope::Default, block }
}

fn explore(case: &Case, target: &Target) -> (World, Chain) {
    let mut world = World::new(case.text, 1);
    let chain = Chain::explore(&mut world, target, case.state_name);
    (world, chain)
}

/// What is wrong with a chain, if anything.
fn fault(chain: &Chain, log_accept: impl Fn(&Outcome) -> f64) -> Option<String> {
    if chain.is_uncertain() {
        let asymmetry = chain.asymmetry();
        return (asymmetry >= 1e-12).then(|| format!("there and back: {asymmetry:.2e}"));
    }
    let matrix = chain.matrix(log_accept);
    let (detailed, global) = imbalance(&chain.posterior(), &matrix);
    (detailed >= 1e-12 || global >= 1e-12)
        .then(|| format!("imbalance {detailed:.2e}, {global:.2e}: {:?}", chain.states))
}

fn assert_balanced(target: &Target, cases: impl IntoIterator<Item = &'static Case>) {
    let mut faults = Vec::new();
    for case in cases {
        let explored = catch_unwind(AssertUnwindSafe(|| explore(case, target).1));
        let Ok(chain) = explored else {
            faults.push(format!("{}: cannot be explored", case.name));
            continue;
        };
        if chain.states.len() != case.states {
            let (found, states) = (chain.states.len(), &chain.states);
            faults.push(format!("{}: {found} states {states:?}", case.name));
        }
        faults.extend(fault(&chain, metropolis).map(|fault| format!("{}: {fault}", case.name)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn single_site_moves_are_in_detailed_balance() {
    assert_balanced(&default_scope(Block::One), CASES);
}

/// Joint moves cannot make an observation refer to another choice.
#[test]
fn joint_moves_are_in_detailed_balance() {
    let moved = ["that moves", "random key", "may not meet", "the same procedure"];
    let cases = CASES.iter().filter(|case| !moved.iter().any(|words| case.name.contains(words)));
    assert_balanced(&default_scope(Block::All), cases);
}

fn items(block: Block) -> Target {
    Target { scope: Scope::Named(Value::symbol("items")), block }
}

#[test]
fn blocks_of_scopes_are_in_detailed_balance() {
    assert_balanced(&items(Block::One), SCOPED);
}

/// The exact posterior of a program small enough for pencil and paper.
#[test]
fn the_enumerated_posterior_is_the_posterior() {
    let (_, chain) = explore(&CASES[1], &default_scope(Block::One));
    let weight = |rain: bool, sprinkler: bool| -> f64 {
        let p = if rain { 0.01 } else { 0.4 };
        let wet = match (rain, sprinkler) {
            (true, true) => 0.99,
            (true, false) => 0.8,
            (false, true) => 0.9,
            (false, false) => 0.05,
        };
        (if rain { 0.2 } else { 0.8 }) * (if sprinkler { p } else { 1.0 - p }) * wet
    };
    let both = [true, false];
    let total: f64 = both.iter().flat_map(|r| both.iter().map(|s| weight(*r, *s))).sum();
    for (state, p) in chain.states.iter().zip(chain.posterior()) {
        let (rain, sprinkler) = state.split_once(' ').unwrap();
        let want = weight(rain == "true", sprinkler == "true") / total;
        assert!((p - want).abs() < 1e-14, "{state}: {p} {want}");
    }
}

/// From an outcome to the log of the acceptance probability, before it is cut off at 0.
type Rule = fn(&Outcome) -> f64;

/// Every wrong acceptance rule is noticed by at least the programs that it concerns.
#[test]
fn wrong_acceptance_rules_are_not_in_balance() {
    let twins: [(&str, Rule, &[&str]); 4] = [
        ("accepts always", |_| 0.0, &["sprinkler", "a collapsed coin with a random parameter"]),
        (
            "forgets the number of blocks",
            |o| o.log_ratio,
            &["nested branches", "recursion of bounded depth", "applications that come and go"],
        ),
        (
            "number of blocks the wrong way round",
            |o| o.log_ratio + math::ln(o.blocks_after as f64) - math::ln(o.blocks_before as f64),
            &["nested branches", "recursion of bounded depth"],
        ),
        ("inverts the ratio", |o| -metropolis(o), &["sprinkler", "restaurant"]),
    ];
    for (twin, log_accept, concerned) in twins {
        for name in concerned {
            let case = CASES.iter().find(|case| case.name == *name).unwrap();
            let (_, chain) = explore(case, &default_scope(Block::One));
            assert!(fault(&chain, log_accept).is_some(), "{name}: nobody notices that it {twin}");
        }
    }
    let (_, chain) = explore(&SCOPED[0], &items(Block::One));
    assert!(fault(&chain, |o| o.log_ratio).is_some());
}

/// The kernel's own transitions, counted, against the matrices.
fn kernel_rows(steps: usize, seed: u64, kernel: &mut dyn FnMut(&mut World, &str)) -> PValue {
    let mut all = Vec::new();
    let runs = CASES
        .iter()
        .map(|case| (case, default_scope(Block::One), "(mh default one 1)"))
        .chain(SCOPED.iter().map(|case| (case, items(Block::One), "(mh items one 1)")));
    for (case, target, program) in runs {
        let (mut world, chain) = explore(case, &target);
        if chain.is_uncertain() {
            continue;
        }
        world.rng = smidgen_value::Rng::from_seed(seed);
        let matrix = chain.matrix(metropolis);
        let mut p_value = chain.rows(&matrix, &mut world, steps, |world| kernel(world, program));
        p_value.report = format!("{}: {}", case.name, p_value.report);
        all.push(p_value);
    }
    PValue::smallest_of(all)
}

#[test]
fn the_kernel_follows_its_matrix() {
    demand("kernel rows", 3000, |steps, seed| {
        let mut programs = BTreeMap::new();
        kernel_rows(steps, seed, &mut |world, text| {
            let program = programs.entry(text.to_owned()).or_insert_with(|| world.program(text));
            world.step(program);
        })
    });
    catches("kernel rows", "forgets the number of blocks", 3000, |steps, seed| {
        kernel_rows(steps, seed, &mut |world, _| {
            twins::single_site(world, &mut smidgen_engine::proposal::FromPrior, false);
        })
    });
}

/// `each` is the product of its blocks in order; a joint move of all is one block.
#[test]
fn sweeps_are_products_of_their_blocks() {
    let case = &SCOPED[2];
    let matrices: Vec<Vec<Vec<f64>>> = [0.0, 1.0]
        .map(|id| {
            // A block alone does not reach all states; the walk through all of them does.
            let (_, whole) = explore(case, &items(Block::One));
            let mut world = World::new(case.text, 1);
            let block = items(Block::Id(Value::Number(id)));
            whole.within(&mut world, &block).matrix(metropolis)
        })
        .into();
    let (mut world, chain) = explore(case, &items(Block::One));
    let sweep = product(&matrices[0], &matrices[1]);
    let (_, global) = imbalance(&chain.posterior(), &sweep);
    assert!(global < 1e-12, "a cycle of invariant kernels is invariant: {global:.2e}");
    demand("kernel sweep rows", 5000, |steps, seed| {
        world.rng = smidgen_value::Rng::from_seed(seed);
        let mut program = world.program("(mh items each 1)");
        chain.rows(&sweep, &mut world, steps, |world| world.step(&mut program))
    });
    let backwards = product(&matrices[1], &matrices[0]);
    catches("kernel sweep rows", "the blocks in the wrong order", 5000, |steps, seed| {
        world.rng = smidgen_value::Rng::from_seed(seed);
        let mut program = world.program("(mh items each 1)");
        chain.rows(&backwards, &mut world, steps, |world| world.step(&mut program))
    });
}
