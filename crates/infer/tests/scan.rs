//! Exact moves that read sections in lanes are the moves of whole proposals: the same proposals, the same
//! decisions, the same states, whatever the program.

use proptest::prelude::*;
use smidgen_engine::check::check;
use smidgen_testkit::World;
use smidgen_testkit::programs::{EVERYTHING, program};
use smidgen_value::Rng;

const KERNELS: [&str; 3] = [
    "(mh default one 10)",
    "(mh default one 'drift 0.5 10)",
    "(cycle ((mh default one 'drift 0.3 3) (subsampled_mh default one 2 0 3)) 2)",
];

/// Runs a program with exact moves by sections from so many on.
fn run(text: &str, seed: u64, scan_from: usize, rounds: usize) -> (World, u64) {
    let mut world = World::new(text, seed);
    world.run.scan_from = Some(scan_from);
    for round in 0..rounds {
        world.infer(KERNELS[round % KERNELS.len()]);
    }
    let accepted = world.run.kernels.iter().map(|kernel| kernel.tally.accepted).sum();
    (world, accepted)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scans_make_the_moves_of_proposals(tape in prop::collection::vec(any::<u16>(), 0..120), seed in any::<u64>()) {
        let text = program(&tape, EVERYTHING);
        prop_assume!(World::new(&text, seed).log_joint().is_finite());
        let (mut scanned, accepted) = run(&text, seed, 2, 6);
        let (mut proposed, as_often) = run(&text, seed, usize::MAX, 6);
        prop_assert_eq!(accepted, as_often, "{}", text);
        let (a, b) = (scanned.log_joint(), proposed.log_joint());
        prop_assert!(a == b || (a - b).abs() <= 1e-9 * (1.0 + a.abs().min(b.abs())), "{} {}\n{}", a, b, text);
        prop_assert!(check(&scanned.model).is_ok());
    }
}

/// One random program in several is scanned: the property above is not empty.
#[test]
fn random_programs_are_scanned() {
    let mut rng = Rng::for_chain(6, 0);
    let scanned = (0..200).filter(|seed| {
        let tape: Vec<u16> = (0..100).map(|_| rng.below(1 << 16) as u16).collect();
        let text = program(&tape, EVERYTHING);
        let finite = World::new(&text, *seed).log_joint().is_finite();
        finite && run(&text, *seed, 2, 3).0.run.kernels.iter().any(|kernel| kernel.compiled)
    });
    let scanned = scanned.count();
    assert!(scanned > 20, "{scanned}");
}

/// A walk whose parameters every step depends on, moved in a cycle with its states.
fn walk() -> String {
    let rows: String = (1..60)
        .map(|t| format!("[observe (normal (x {t}) 1) {}]", f64::from(t % 7) / 3.0 - 1.0))
        .collect();
    format!(
        "[assume phi (scope_include 'phi 0 (beta 5 1))]
         [assume s (scope_include 's 0 (gamma 2 2))]
         [assume x (mem (lambda (t) (scope_include 'x t (if (< t 1) 0 (normal (* phi (x (- t 1))) s)))))]
         {rows}"
    )
}

/// Whether moves of the parameters were decided in lanes, and the log joint of the last state.
fn walked(scan_from: usize) -> (bool, f64) {
    let mut world = World::new(&walk(), 3);
    world.run.scan_from = Some(scan_from);
    let mut steps =
        world.program("(cycle ((mh x one 5) (mh phi all 'drift 0.1 2) (mh s all 'drift 0.2 2)) 1)");
    for _ in 0..300 {
        world.step(&mut steps);
    }
    let compiled = world.run.kernels.iter().any(|kernel| kernel.compiled);
    (compiled, world.log_joint())
}

#[test]
fn states_and_parameters_in_a_cycle() {
    let (in_lanes, scanned) = walked(32);
    let (never, proposed) = walked(usize::MAX);
    assert!(in_lanes && !never);
    assert!((scanned - proposed).abs() < 1e-8 * proposed.abs(), "{scanned} {proposed}");
}
