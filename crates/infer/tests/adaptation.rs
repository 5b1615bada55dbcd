//! Walks that learn their scale: the acceptance rate they aim at, what is frozen after the warm-up and
//! that frozen kernels are exact. Twins: a walk that goes on learning, one without its Jacobian.

use smidgen_engine::{Choice, EvalError, Proposed, Proposer};
use smidgen_infer::Program;
use smidgen_infer::block::{Block, Scope, Target};
use smidgen_infer::kernel::Kernel;
use smidgen_infer::kernel::mh::Mh;
use smidgen_infer::proposer::{Drift, Learner, MoveOutcome, Scale};
use smidgen_infer::run::{Log, Phase};
use smidgen_testkit::World;
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;
use smidgen_value::{Rng, Value};

/// A world with a warm-up behind it, at the beginning of the draws.
fn warmed(text: &str, kernel: &str, sweeps: usize) -> (World, Program) {
    let mut world = World::new(text, 7);
    let mut program = world.program(kernel);
    world.run.phase = Phase::Warmup;
    (0..sweeps).for_each(|_| world.step(&mut program));
    world.run.begin_draws();
    (world, program)
}

/// The acceptance rate of the draws that follow.
fn rate(world: &mut World, program: &mut Program, sweeps: usize) -> f64 {
    (0..sweeps).for_each(|_| world.step(program));
    let tally = world.run.kernel(0).tally;
    tally.accepted as f64 / tally.transitions as f64
}

fn aims_at(text: &str, kernel: &str, target: f64, tolerance: f64) -> World {
    let (mut world, mut program) = warmed(text, kernel, 4000);
    let found = rate(&mut world, &mut program, 4000);
    assert!((found - target).abs() < tolerance, "{kernel}: {found} instead of {target}");
    let note = world.run.kernel(0).adapted.clone();
    assert!(note.is_some_and(|note| note.contains("adapted to")), "{kernel}");
    assert!(world.run.warnings.is_empty(), "{:?}", world.run.warnings);
    world
}

const NARROW: &str = "[assume m (normal 0 10)] [observe (normal m 0.01) 3]";

#[test]
fn the_acceptance_rate_aimed_at_is_reached() {
    aims_at(NARROW, "(mh default one 'drift 5 'adapt true 1)", 0.44, 0.05);
    aims_at(NARROW, "(mh default one 'drift 0.00001 'adapt true 1)", 0.44, 0.1);
    aims_at(
        "[assume s (gamma 2 1)] [assume y (poisson s)]",
        "(mh default one 'drift 9 'adapt true 1)",
        0.72,
        0.1,
    );
    let five = "[assume x (multivariate_normal (vector 0 0 0 0 0)
        (matrix (list (list 1 0.9 0 0 0) (list 0.9 1 0 0 0) (list 0 0 100 0 0) (list 0 0 0 0.01 0) (list 0 0 0 0 1))))]";
    aims_at(five, "(mh default one 'drift 1 'adapt true 1)", 0.95 * 0.234 + 0.04, 0.05);
}

/// Every block learns its own scale.
#[test]
fn blocks_learn_apart() {
    let text = "[assume a (normal 0 0.001)] [assume b (normal 0 1000)] [assume c (beta 2 2)]";
    let world = aims_at(text, "(mh default each 'drift 1 'adapt true 1)", 0.44, 0.05);
    let note = world.run.kernels[0].adapted.clone().unwrap();
    assert!(note.contains("over 3 blocks"), "{note}");
}

/// A joint block of several choices learns their covariance, and then moves along it.
#[test]
fn a_block_of_several_choices_learns_its_covariance() {
    let text = "[assume a (scope_include 'b 0 (normal 0 1))] [assume b (scope_include 'b 0 (normal a 0.01))]
                [assume c (scope_include 'b 0 (lognormal 0 0.001))]";
    let moved = |kernel: &str| {
        let (mut world, mut program) = warmed(text, kernel, 6000);
        let mut total = 0.0;
        let mut last = world.number("a");
        for _ in 0..4000 {
            world.step(&mut program);
            let a = world.number("a");
            total += (a - last) * (a - last);
            last = a;
        }
        (total / 4000.0, world.run.kernel(0).adapted.clone().unwrap_or_default())
    };
    let (adapted, note) = moved("(mh b 0 'drift 0.1 'adapt true 1)");
    let (fixed, _) = moved("(mh b 0 'drift 0.003 1)");
    assert!(note.contains("covariances"), "{note}");
    assert!(adapted > 0.2 && adapted > 1000.0 * fixed, "{adapted} {fixed}");
}

#[test]
fn decisions_on_mini_batches_teach_as_well() {
    let mut text = "[assume m (normal 0 10)] [assume f (lambda () (normal m 1))]".to_owned();
    (0..200).for_each(|k| text.push_str(&format!("[observe (f) {}]", (k % 7) as f64 / 3.0)));
    aims_at(&text, "(subsampled_mh default one 50 0.05 'drift 5 'adapt true 1)", 0.44, 0.08);
    aims_at(&text, "(subsampled_mh default one 50 0 'drift 5 'adapt true 1)", 0.44, 0.06);
}

/// From one state and one stream, the same proposal before and after 300 more transitions.
fn proposes_the_same(phase: Phase) -> bool {
    let text = "[assume x (scope_include 'b 0 (normal 0 1))] [assume y (scope_include 'b 0 (normal x 0.1))]";
    let (mut world, mut program) = warmed(text, "(mh b 0 'drift 0.1 'adapt true 1)", 1000);
    world.run.phase = phase;
    let mut look = |world: &mut World| {
        let proposals: Vec<u64> = (0..20)
            .map(|seed| {
                world.execute("[force x 0.3] [force y 0.31]").unwrap();
                world.rng = Rng::from_seed(seed);
                world.step(&mut program);
                world.number("y").to_bits()
            })
            .collect();
        (0..300).for_each(|_| world.step(&mut program));
        proposals
    };
    look(&mut world) == look(&mut world)
}

#[test]
fn what_was_learnt_is_frozen_in_the_draws() {
    assert!(proposes_the_same(Phase::Draws));
    assert!(!proposes_the_same(Phase::Warmup), "the twin that goes on learning is noticed");
}

/// All kinds of support in one block, and blocks that come and go.
const STORY: Story<'_> = Story {
    prior: "[assume s (scope_include 'b 0 (gamma 2 1))] [assume p (scope_include 'b 0 (beta 2 2))]
            [assume x (scope_include 'b 0 (normal s 1))]
            [assume w (scope_include 'b 0 (dirichlet (vector 1 2 3)))]
            [assume c (flip 0.5)] [assume t (if c (normal 0 1) (gamma 1 1))]",
    data: &["(normal (* x s) 1)", "(binomial 4 p)", "(categorical w)", "(normal t 1)"],
    look: &["s", "p", "x", "(lookup w 0)", "t"],
};

/// A kernel with a warm-up behind it, frozen.
fn learnt(kernel: &str) -> Program {
    let mut pair = STORY.start(99);
    let mut program = pair.world.program(kernel);
    pair.world.run.phase = Phase::Warmup;
    (0..1500).for_each(|_| pair.world.step(&mut program));
    program
}

/// The walk without its Jacobian.
struct NoJacobian(Drift);

impl Proposer for NoJacobian {
    fn begin(&mut self) {
        self.0.begin();
    }
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        self.0.is_local(choice)
    }
    fn prepare(&mut self, choice: &Choice<'_>) -> Result<(), EvalError> {
        self.0.prepare(choice)
    }
    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        Ok(match self.0.propose(choice, rng)? {
            Proposed::Local { value, .. } => Proposed::Local { value, log_q_ratio: 0.0 },
            other => other,
        })
    }
}

impl Learner for NoJacobian {
    fn learn(&mut self, moved: MoveOutcome, log: &mut Log<'_>) {
        self.0.learn(moved, log);
    }
}

fn transitions(kernel: &mut Mh, world: &mut World, n: usize) {
    let World { model, rng, run, .. } = world;
    for _ in 0..n {
        let mut log = Log::open(run, 0);
        kernel.transition(model.trace_mut(), rng, &mut log).expect("a transition");
        log.close();
    }
}

#[test]
fn a_frozen_walk_keeps_the_joint_law() {
    let test = "exact start: adapted walk";
    let mut program = learnt("(mh b 0 'drift 0.3 'adapt true 1)");
    demand(test, 1000, |repeats, seed| {
        STORY.test(repeats, seed, |world| {
            world.run.phase = Phase::Draws;
            (0..12).for_each(|_| world.step(&mut program));
        })
    });
    let target =
        Target { scope: Scope::of(Value::symbol("b")), block: Block::Id(Value::Number(0.0)) };
    let mut twin = Mh::new(target, Box::new(NoJacobian(Drift::adaptive(Scale::Same(0.3)))));
    let mut pair = STORY.start(98);
    pair.world.run.phase = Phase::Warmup;
    transitions(&mut twin, &mut pair.world, 1500);
    catches(test, "no Jacobian", 1000, |repeats, seed| {
        STORY.test(repeats, seed, |world| {
            world.run.phase = Phase::Draws;
            transitions(&mut twin, world, 12);
        })
    });
}

#[test]
fn frozen_walks_of_many_blocks_keep_the_joint_law() {
    let test = "exact start: adapted blocks";
    let mut program = learnt(
        "(cycle ((mh default one 'drift 1 'adapt true 3) (mh default all 'drift 0.5 'adapt true 2)) 1)",
    );
    demand(test, 800, |repeats, seed| {
        STORY.test(repeats, seed, |world| {
            world.run.phase = Phase::Draws;
            (0..3).for_each(|_| world.step(&mut program));
        })
    });
    let target = Target { scope: Scope::Default, block: Block::All };
    let mut twin = Mh::new(target, Box::new(NoJacobian(Drift::adaptive(Scale::Same(0.5)))));
    catches(test, "no Jacobian", 1000, |repeats, seed| {
        STORY.test(repeats, seed, |world| {
            world.run.phase = Phase::Draws;
            transitions(&mut twin, world, 40);
        })
    });
}

#[test]
fn the_same_seed_learns_the_same() {
    let run = || {
        let (mut world, mut program) =
            warmed(STORY.prior, "(mh default all 'drift 0.3 'adapt true 1)", 400);
        world.step(&mut program);
        (world.number("x").to_bits(), world.number("s").to_bits())
    };
    assert_eq!(run(), run());
}

/// One standard deviation for each coordinate of the block, in the order of the program.
#[test]
fn sds_for_the_choices_of_a_block() {
    let text =
        "[assume x (scope_include 'b 0 (normal 0 1))] [assume y (scope_include 'b 0 (normal 0 1))]";
    let mut world = World::new(text, 3);
    let before = (world.number("x"), world.number("y"));
    world.infer("(mh b 0 'drift (vector 0.000000001 1) 50)");
    let after = (world.number("x"), world.number("y"));
    assert!((after.0 - before.0).abs() < 1e-6 && (after.1 - before.1).abs() > 1e-2);
    let error = world.execute("[infer (mh b 0 'drift (vector 1 1 1) 1)]").expect_err("three sds");
    assert!(error.contains("dimension") && error.contains("2 coordinates"), "{error}");
    // A vector for each choice alone is meant for each.
    world.execute("[infer (mh default one 'drift (vector 1) 5)]").unwrap();
}

#[test]
fn what_cannot_be_learnt_is_said() {
    let mut world = World::new(
        "[assume m (normal 0 1)] [assume k (flip 0.5)] [assume s (scope_include 'k 0 (flip 0.5))]",
        3,
    );
    let error = world.execute("[infer (mh default one 'adapt true 1)]").expect_err("no walk");
    assert!(error.contains("'adapt"), "{error}");
    assert!(world.execute("[infer (mh default one 'drift 1 'adapt 'yes 1)]").is_err());
    let (mut world, mut program) = (
        World::new("[assume k (scope_include 'k 0 (flip 0.5))]", 3),
        World::new("", 1).program("(mh k 0 'drift 1 'adapt true 1)"),
    );
    world.run.phase = Phase::Warmup;
    (0..10).for_each(|_| world.step(&mut program));
    world.run.begin_draws();
    (0..10).for_each(|_| world.step(&mut program));
    assert!(
        world.run.warnings.iter().any(|w| w.contains("learnt nothing")),
        "{:?}",
        world.run.warnings
    );
}
