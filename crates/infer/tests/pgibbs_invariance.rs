//! Particle Gibbs: exact starts on continuous models, with changing structure and made procedures, and
//! Geweke's test; broken twins of the algorithm.

use smidgen_engine::particles::LookAhead;
use smidgen_infer::block::{Block, Scope, Target};
use smidgen_testkit::World;
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::particles::{Bug, twin};
use smidgen_value::{Symbol, Value};

fn target(scope: &str, block: Block) -> Target {
    Target { scope: Scope::Named(Value::Symbol(Symbol::new(scope))), block }
}

fn story(test: &str, story: &Story<'_>, repeats: usize, kernels: &[&str]) {
    for kernel in kernels {
        demand(test, repeats, |repeats, seed| {
            story.test(repeats, seed, |world| world.infer(kernel))
        });
    }
}

fn story_catches(
    test: &str,
    story: &Story<'_>,
    repeats: usize,
    target: &Target,
    (settings, bug): ((usize, LookAhead), Bug),
) {
    catches(test, &format!("{bug:?}"), repeats, |repeats, seed| {
        story.test(repeats, seed, |world| {
            (0..10).for_each(|_| twin(world, target, settings, bug));
        })
    });
}

const VOLATILITY: Story<'static> = Story {
    prior: "[assume sig (scope_include 'sig 0 (sqrt (inv_gamma 5 1)))]
            [assume phi (scope_include 'phi 0 (beta 5 1))]
            [assume h (mem (lambda (t) (scope_include 'h t
               (if (<= t 0) 0 (normal (* phi (h (- t 1))) sig)))))]
            [assume x (lambda (t) (normal (h t) (exp (/ (h t) 4))))]
            [predict (h 4)]",
    data: &["(x 1)", "(x 2)", "(x 3)", "(x 4)"],
    look: &["(h 4)", "(- (h 2) (h 1))", "(abs (- (h 4) (h 3)))"],
};

#[test]
fn stochastic_volatility() {
    let test = "exact start: pgibbs, stochastic volatility";
    story(
        test,
        &VOLATILITY,
        1500,
        &[
            "(pgibbs h ordered 4 10)",
            "(pgibbs h ordered 4 'ancestor false 10)",
            "(pgibbs h (ordered_range 2 4) 3 10)",
        ],
    );
    let h = target("h", Block::Each);
    let never = (2, LookAhead::Never);
    story_catches(test, &VOLATILITY, 500, &h, (never, Bug::NotChosen));
    story_catches(test, &VOLATILITY, 500, &h, ((3, LookAhead::Never), Bug::NoLastWeight));
    let always = (3, LookAhead::Always);
    story_catches(test, &VOLATILITY, 1000, &h, (always, Bug::Forgetful));
}

/// Every observation hangs on the whole path, and every state on the two before it.
#[test]
fn a_long_memory() {
    let story_told = Story {
        prior: "[assume s (scope_include 'x 0 (gamma 2 2))]
                [assume x (mem (lambda (t) (scope_include 'x t
                   (if (< t 3) (normal 0 s) (normal (- (x (- t 1)) (* 0.5 (x (- t 2)))) s)))))]
                [assume total (lambda (t) (if (< t 1) 0 (+ (x t) (total (- t 1)))))]
                [assume y (lambda (t) (normal (total t) 1))]
                [predict (x 4)]",
        data: &["(y 1)", "(y 2)", "(y 3)", "(y 4)"],
        look: &["s", "(x 4)", "(abs (x 3))"],
    };
    let test = "exact start: pgibbs, a long memory";
    story(
        test,
        &story_told,
        1500,
        &["(pgibbs x ordered 4 'ancestor true 10)", "(pgibbs x ordered 4 'ancestor false 20)"],
    );
    let x = target("x", Block::Each);
    let always = (4, LookAhead::Always);
    story_catches(test, &story_told, 800, &x, (always, Bug::Forgetful));
}

/// States that decide which parts exist, shared parts, observed parts, a random length.
#[test]
fn changing_structure() {
    let story_told = Story {
        prior: "[assume z (mem (lambda (t) (scope_include 'z t
                   (if (= t 0) (flip 0.4) (if (z (- t 1)) (flip 0.7) (< (normal 0 1) -0.3))))))]
                [assume mean (mem (lambda (k) (normal k 1)))]
                [assume extra (mem (lambda (t) (if (z t) (gamma 2 2) 0)))]
                [assume y (lambda (t) (if (z t) (normal (mean 1) (+ 0.2 (extra t))) (normal (mean (if (z 0) 2 3)) 1)))]
                [predict (y 0)] [predict (z 3)] [predict (extra 1)] [predict (extra 2)]
                [predict (mean 1)]",
        data: &["(y 0)", "(y 1)", "(y 2)", "(normal (extra 3) 0.5)"],
        look: &["(z 0)", "(z 1)", "(z 3)", "(extra 1)", "(mean 1)", "(* (z 1) (z 2))"],
    };
    let test = "exact start: pgibbs, changing structure";
    story(test, &story_told, 400, &["(pgibbs z ordered 3 10)", "(pgibbs default ordered 3 20)"]);
    let z = target("z", Block::Each);
    story_catches(test, &story_told, 400, &z, ((2, LookAhead::Never), Bug::NotChosen));
    story_catches(test, &story_told, 400, &z, ((2, LookAhead::Never), Bug::NoLastWeight));
}

/// Draws of made procedures, latent parameters, parameters of makers.
#[test]
fn made_procedures() {
    let story_told = Story {
        prior: "[assume crp (make_crp 1)]
                [assume z (mem (lambda (i) (scope_include 'z i (crp))))]
                [assume mean (mem (lambda (k) (normal 0 2)))]
                [assume a (scope_include 'p 1 (gamma 2 1))]
                [assume f (make_beta_bernoulli a 1)]
                [assume g (scope_include 'p 2 (make_uc_beta_bernoulli 1 a))]
                [assume b (scope_include 'p 3 (g))]
                [predict (mean (z 1))] [predict (mean (z 2))] [predict (mean (z 3))]",
        data: &[
            "(normal (mean (z 1)) 0.5)",
            "(normal (mean (z 2)) 0.5)",
            "(f)",
            "(f)",
            "(g)",
            "(normal (mean (z 3)) 0.5)",
            "(flip (if b 0.9 0.2))",
        ],
        look: &["a", "b", "(= (z 1) (z 2))", "(= (z 1) (z 3))", "(mean (z 1))", "(mean (z 3))"],
    };
    let test = "exact start: pgibbs, made procedures";
    story(
        test,
        &story_told,
        1500,
        &[
            "(cycle ((pgibbs z ordered 4 1) (pgibbs p ordered 3 1)) 10)",
            "(pgibbs p (ordered_range 1 2) 3 10)",
        ],
    );
    let p = target("p", Block::Each);
    story_catches(test, &story_told, 500, &p, ((2, LookAhead::Never), Bug::NotChosen));
}

/// States by particles, parameters by subsampled decisions (exact here: epsilon 0).
#[test]
fn in_a_cycle() {
    let test = "exact start: pgibbs, in a cycle";
    story(
        test,
        &VOLATILITY,
        1500,
        &["(cycle ((pgibbs h ordered 4 1) (subsampled_mh sig 0 2 0 'drift 0.5 2)
                 (subsampled_mh phi 0 2 0 'drift 0.5 2)) 3)"],
    );
    let h = target("h", Block::Each);
    catches(test, "the reference cannot be chosen", 400, |repeats, seed| {
        VOLATILITY.test(repeats, seed, |world| {
            for _ in 0..5 {
                twin(world, &h, (2, LookAhead::Never), Bug::NotChosen);
                world.infer("(mh sig 0 'drift 0.5 1)");
            }
        })
    });
}

/// One inference program, read once and run many times.
fn runs(text: &'static str) -> impl FnMut(&mut World) {
    let mut program = None;
    move |world| {
        let program = program.get_or_insert_with(|| world.program(text));
        world.step(program);
    }
}

/// States and data in turn.
#[test]
fn geweke() {
    let test = "geweke: pgibbs";
    let walk = Story {
        prior: "[assume r (scope_include 'r 0 (beta 5 1))]
                [assume x (mem (lambda (t) (scope_include 'x t
                   (if (< t 1) 0 (normal (* r (x (- t 1))) 0.5)))))]
                [predict (x 3)]",
        data: &["(normal (x 1) 1)", "(normal (x 2) 1)", "(normal (x 3) 0.5)"],
        look: &["r", "(x 1)", "(- (x 3) (* r (x 2)))"],
    };
    demand(test, 2000, |n, seed| {
        walk.geweke(n, seed, runs("(cycle ((pgibbs x ordered 2 4) (slice r 0 0.5 10 1)) 1)"))
    });
    let x = target("x", Block::Each);
    for (look_ahead, bug) in
        [(LookAhead::Always, Bug::Forgetful), (LookAhead::Never, Bug::NotChosen)]
    {
        catches(test, &format!("{bug:?}"), 1000, |n, seed| {
            let mut parameter = runs("(slice r 0 0.5 10 1)");
            walk.geweke(n, seed, |world| {
                (0..4).for_each(|_| twin(world, &x, (2, look_ahead), bug));
                parameter(world);
            })
        });
    }
}
