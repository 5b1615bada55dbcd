//! Rejection sampling: exact posteriors of finite and conjugate programs, exact starts, refusals.
//! Twins: a bound that is too small, the number of blocks forgotten.

use std::sync::atomic::Ordering;
use std::time::Duration;

use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{Proposal, Scaffold};
use smidgen_infer::block::{Block, Scope, Target};
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::enumerate::{Chain, by_values};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::{PValue, World, pvalue};
use smidgen_value::math;

/// Redraws the choices of a block against a log bound that is off by `slack`, whatever the number of
/// blocks.
fn careless(world: &mut World, all: bool, slack: f64) {
    let World { model, rng, .. } = world;
    let trace = model.trace_mut();
    let principals = match all {
        true => trace.choices().to_vec(),
        false => vec![trace.choices()[rng.below(trace.choices().len())]],
    };
    let mut scaffold = Scaffold::new();
    let mut proposal =
        Proposal::open(trace, &mut scaffold, &principals, &mut FromPrior).expect("a block");
    let log_bound = proposal.scaffold().log_bound(proposal.trace()).expect("a bound") + slack;
    loop {
        proposal.reconsider(&mut FromPrior, rng).expect("a draw");
        if rng.log_uniform() < proposal.log_new() - log_bound {
            break;
        }
    }
    proposal.commit();
}

/// What is predicted tells the states apart.
const FINITE: &[&str] = &[
    "[assume rain (flip 0.2)]
     [assume sprinkler (flip (if rain 0.01 0.4))]
     [observe (flip (if rain (if sprinkler 0.99 0.8) (if sprinkler 0.9 0.05))) true]
     [predict rain] [predict sprinkler]",
    "[assume geo (lambda () (if (flip 0.5) 0 (+ 1 (geo))))]
     [assume n (geo)]
     [observe (flip (if (< n 4) (/ 1 (+ n 2)) 0)) true]
     [predict n]",
    "[assume m (mem (lambda (k) (flip (if (= k 0) 0.2 0.7))))]
     [assume j (if (flip 0.4) 1 0)]
     [assume k (if (flip 0.7) 1 0)]
     [observe (flip (if (m j) 0.8 0.3)) true]
     [observe (flip (if (m k) 0.1 0.6)) false]
     [predict j] [predict k] [predict (m j)] [predict (m k)]",
    "[assume a (if (flip 0.3) 1 5)]
     [assume f (make_beta_bernoulli a 2)]
     [assume x (f)] [assume y (f)] [observe (f) true]
     [observe (normal (if x 1 0) 1) 0.7] [observe (poisson (if y 1 3)) 2]
     [predict a] [predict x] [predict y]",
];

#[test]
fn draws_of_finite_programs_are_the_posterior() {
    let test = "rejection: finite programs";
    for text in FINITE {
        let target = Target { scope: Scope::Default, block: Block::One };
        let chain = Chain::explore(&mut World::new(text, 1), &target, by_values);
        let rows = vec![chain.posterior(); chain.states.len()];
        demand(test, 3000, |steps, seed| {
            let mut world = World::new(text, seed);
            let mut program = world.program("(rejection default all 1)");
            chain.rows(&rows, &mut world, steps, |world| world.step(&mut program))
        });
        catches(test, "a bound that is too small", 3000, |steps, seed| {
            let mut world = World::new(text, seed);
            chain.rows(&rows, &mut world, steps, |world| careless(world, true, -1.5))
        });
    }
}

/// a | 14 is normal with mean 12 and variance 1/2, from any start.
#[test]
fn a_conjugate_posterior_is_drawn_in_one_transition() {
    let look = |repeats: usize, seed: u64, kernel: &mut dyn FnMut(&mut World)| {
        let draws: Vec<f64> = (0..repeats as u64)
            .map(|k| {
                let text = "[assume a (normal 10 1)] [observe (normal a 1) 14]";
                let mut world = World::new(text, seed.wrapping_add(k));
                kernel(&mut world);
                world.number("a")
            })
            .collect();
        pvalue::ks(&draws, |a| 0.5 * math::erfc(12.0 - a))
    };
    demand("rejection: normal", 1000, |repeats, seed| {
        look(repeats, seed, &mut |world| world.infer("(rejection default one 1)"))
    });
    catches("rejection: normal", "a bound that is too small", 1000, |repeats, seed| {
        look(repeats, seed, &mut |world| careless(world, true, -4.0))
    });
}

fn program<'a>(story: &'a Story<'a>, text: &'a str) -> impl FnMut(usize, u64) -> PValue + 'a {
    move |repeats, seed| story.test(repeats, seed, |world| world.infer(text))
}

/// Bounds of many sorts, and scales with known places.
#[test]
fn the_joint_law_stays() {
    let story = Story {
        prior: "[assume m (normal 0 1)] [assume s (gamma 2 2)] [assume p (beta 1 2)]
                [assume f (make_uc_beta_bernoulli 1 2)] [assume x (f)]
                [assume g (make_suff_stat_poisson s)]",
        data: &[
            "(normal m 0.7)",
            "(cauchy 1 s)",
            "(binomial 3 p)",
            "(gamma 2 s)",
            "(f)",
            "(truncated_normal m 1 -2 3)",
            "(g)",
            "(logistic_dist m 2)",
        ],
        look: &["m", "s", "p", "x", "(* m s)"],
    };
    let test = "exact start: rejection";
    let text = "(cycle ((rejection default one 3) (rejection default each 1)) 1)";
    demand(test, 500, program(&story, text));
    catches(test, "a bound that is far too small", 500, |repeats, seed| {
        story.test(repeats, seed, |world| (0..8).for_each(|_| careless(world, false, -30.0)))
    });
}

/// What exists changes, and with it the number of blocks.
#[test]
fn a_changing_number_of_blocks() {
    let story = Story {
        prior: "[assume b (flip 0.5)]
                [assume mu (if b 1 (+ (gamma 1 1) (normal 0 1) (normal 0 1)))]
                [assume geo (lambda () (if (flip 0.6) 0 (+ 1 (geo))))]
                [assume n (geo)]",
        data: &["(normal mu 1)", "(normal n 1)"],
        look: &["b", "mu", "n"],
    };
    let test = "exact start: rejection, changing structure";
    demand(test, 1000, program(&story, "(rejection default one 6)"));
    catches(test, "forgets the number of blocks", 1000, |repeats, seed| {
        story.test(repeats, seed, |world| (0..6).for_each(|_| careless(world, false, 0.0)))
    });
}

#[test]
fn in_a_cycle_with_subsampled_mh() {
    let story = Story {
        prior: "[assume m (scope_include 'm 0 (normal 0 1))] [assume k (scope_include 'k 0 (poisson 2))]
                [assume centre (+ m k)]
                [assume draw (mem (lambda (i) (normal centre 1.5)))]",
        data: &["(draw 0)", "(draw 1)", "(draw 2)", "(draw 3)", "(draw 4)"],
        look: &["m", "k", "(+ m k)"],
    };
    let text = "(cycle ((subsampled_mh m 0 2 0 'drift 0.5 2) (rejection k 0 1)
                        (subsampled_mh m 0 2 0 'drift 1 1) (rejection k 0 1)) 1)";
    let test = "exact start: rejection with subsampled_mh";
    demand(test, 500, program(&story, text));
    catches(test, "a bound that is far too small", 1000, |repeats, seed| {
        story.test(repeats, seed, |world| {
            world.infer(text);
            careless(world, true, -30.0);
        })
    });
}

#[test]
fn the_draw_does_not_depend_on_the_state() {
    let draw = |start: f64| {
        let mut world = World::new("[assume a (normal 10 1)] [observe (normal a 1) 12]", 3);
        world.execute(&format!("[force a {start}]")).unwrap();
        world.rng = smidgen_value::Rng::from_seed(5);
        world.infer("(rejection default one 1)");
        world.number("a").to_bits()
    };
    assert_eq!(draw(9.0), draw(15.0));
}

fn error(text: &str, kernel: &str) -> String {
    let mut world = World::new(text, 1);
    let error = world.execute(&format!("[infer {kernel}]")).expect_err(kernel);
    smidgen_engine::check::check(&world.model).expect("a sound trace");
    error
}

#[test]
fn what_has_no_bound_is_said() {
    let said = |text: &str, words: &[&str]| {
        let message = error(text, "(rejection default all 1)");
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    };
    said(
        "[assume s (gamma 1 1)] [assume m (normal 0 1)] [observe (normal m s) 2]",
        &["bound", "normal", "arguments 1 and 2"],
    );
    said("[assume s (gamma 1 1)] [observe (expon s) 0]", &["bound", "expon"]);
    said(
        "[assume s (gamma 1 1)] [assume f (make_suff_stat_normal 0 s)] [observe (f) 1] [observe (f) 2]",
        &["bound", "make_suff_stat_normal"],
    );
    said(
        "[assume b (flip 0.5)] [observe (if b (normal 0 1) (normal 1 1)) 0.3]",
        &["bound", "observation"],
    );
    said("[assume x (flat)] [observe (normal x 1) 3]", &["improper"]);
    // With the mean known, and the datum away from it, the scale has a bound.
    let mut world = World::new("[assume s (gamma 1 1)] [observe (normal 1 s) 2]", 1);
    world.infer("(rejection default all 20)");
}

#[test]
fn a_hopeless_draw_can_be_interrupted() {
    let mut world = World::new("[assume a (normal 0 1)] [observe (normal a 0.001) 30]", 1);
    let before = world.number("a");
    let interrupt = world.run.interrupt.clone();
    let alarm = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        interrupt.store(true, Ordering::Relaxed);
    });
    let stopped = world.execute("[infer (rejection default all 1)]").expect_err("stopped");
    assert!(stopped.contains("interrupted"), "{stopped}");
    assert_eq!(world.number("a"), before);
    alarm.join().unwrap();
}
