//! Particle Gibbs: exact starts on finite and continuous models, with and without ancestor
//! sampling, on both roads; broken twins of the algorithm; the cost of a pass.

use smidgen_engine::particles::LookAhead;
use smidgen_engine::{EvalError, Particles, Sequence};
use smidgen_infer::block::{Block, Scope, Target};
use smidgen_infer::kernel::pgibbs::{Lots, conditional_smc};
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::{PValue, World, pvalue};
use smidgen_value::{Rng, Symbol, Value, math};

// ------------------------------------------------------------ a hidden Markov model (theory 8.1)

const START: [f64; 2] = [0.6, 0.4];
const MOVE: [[f64; 2]; 2] = [[0.9, 0.1], [0.2, 0.8]];
const EMIT: [[f64; 2]; 2] = [[0.8, 0.2], [0.3, 0.7]];
const SEEN: [usize; 4] = [0, 1, 1, 0];

/// All paths of four states, with their posterior probabilities.
fn posterior() -> Vec<f64> {
    let joint: Vec<f64> = (0..16usize)
        .map(|path| {
            let x = |t: usize| path >> t & 1;
            let start = START[x(0)] * EMIT[x(0)][SEEN[0]];
            (1..4).fold(start, |p, t| p * MOVE[x(t - 1)][x(t)] * EMIT[x(t)][SEEN[t]])
        })
        .collect();
    let evidence: f64 = joint.iter().sum();
    assert!((evidence - 0.0404688).abs() < 1e-7, "{evidence}");
    joint.iter().map(|p| p / evidence).collect()
}

/// Written with a table: nothing decides what exists.
const TABLES: &str = "
    [assume x (mem (lambda (t) (scope_include 'x t
      (if (= t 0) (bernoulli 0.4) (bernoulli (lookup (array 0.1 0.8) (x (- t 1))))))))]
    [assume y (lambda (t) (bernoulli (lookup (array 0.2 0.7) (x t))))]
    [observe (y 0) 0] [observe (y 1) 1] [observe (y 2) 1] [observe (y 3) 0]";

/// Every state decides where the next one comes from: all but the first are brush.
const NESTED: &str = "
    [assume x (mem (lambda (t) (scope_include 'x t
      (if (= t 0) (bernoulli 0.4) (if (x (- t 1)) (bernoulli 0.8) (bernoulli 0.1))))))]
    [assume y (lambda (t) (bernoulli (lookup (array 0.2 0.7) (x t))))]
    [predict (x 0)] [predict (x 1)] [predict (x 2)] [predict (x 3)]
    [observe (y 0) 0] [observe (y 1) 1] [observe (y 2) 1] [observe (y 3) 0]";

/// The same with branches: every state decides what exists.
const BRANCHES: &str = "
    [assume x (mem (lambda (t) (scope_include 'x t
      (if (= t 0) (bernoulli 0.4) (bernoulli (if (x (- t 1)) 0.8 0.1))))))]
    [assume y (lambda (t) (if (x t) (bernoulli 0.7) (bernoulli 0.2)))]
    [predict (x 0)] [predict (x 1)] [predict (x 2)] [predict (x 3)]
    [observe (bernoulli (if (x 0) 0.7 0.2)) 0] [observe (y 1) 1]
    [observe (bernoulli (if (x 2) 0.7 0.2)) 1] [observe (y 3) 0]";

/// The path that a world is in.
fn path_of(world: &World) -> usize {
    let scope = Value::Symbol(Symbol::new("x"));
    let state = |t: usize| {
        let id = world.model.scopes().block(&scope, &Value::Number(t as f64))[0];
        usize::from(world.model.node(id).value.as_number() == Some(1.0))
    };
    (0..4).map(|t| state(t) << t).sum()
}

/// One transition from a path of the posterior: are the paths still of the posterior?
fn paths(text: &str, repeats: usize, seed: u64, mut step: impl FnMut(&mut World)) -> PValue {
    let probabilities = posterior();
    let mut lots = Lots::default();
    let log_weights: Vec<f64> = probabilities.iter().map(|p| math::ln(*p)).collect();
    assert!(lots.weigh(&log_weights));
    let mut world = World::new(text, seed);
    let mut draws = Rng::for_chain(seed, 5);
    let mut counts = vec![0; 16];
    for _ in 0..repeats {
        let path = lots.draw(&mut draws);
        for t in 0..4 {
            // In order: what is forced may redraw what comes later.
            if (path ^ path_of(&world)) >> t & 1 == 1 {
                world.execute(&format!("[force (x {t}) {}]", path >> t & 1)).unwrap();
            }
        }
        step(&mut world);
        counts[path_of(&world)] += 1;
    }
    pvalue::chi_square(&counts, &probabilities)
}

fn target(scope: &str, block: Block) -> Target {
    Target { scope: Scope::Named(Value::Symbol(Symbol::new(scope))), block }
}

/// What a twin does wrong.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Bug {
    Nothing,
    /// The reference cannot be chosen at the end.
    NotChosen,
    /// Nobody goes on from the reference.
    NotResampled,
    /// The reference forgets its future when it chooses its past.
    Forgetful,
    /// The reference is resampled like the others.
    NotKept,
    /// The weights of the last step, with the coupling to what comes after, are left out.
    NoLastWeight,
}

/// Conditional SMC with a mistake.
fn twin_smc(
    system: &mut dyn Particles,
    particles: usize,
    bug: Bug,
    rng: &mut Rng,
) -> Result<usize, EvalError> {
    let reference = particles - 1;
    let (mut log_weights, mut log_future) = (vec![0.0; particles], vec![0.0; particles]);
    let mut ancestors = vec![reference as u32; particles];
    let mut lots = Lots::default();
    for t in 0..system.steps() {
        if t > 0 {
            let mut shown = log_weights.clone();
            if bug == Bug::NotResampled {
                shown[reference] = f64::NEG_INFINITY;
            }
            assert!(lots.weigh(&shown));
            ancestors[..reference].iter_mut().for_each(|a| *a = lots.draw(rng) as u32);
            if system.looks_ahead() {
                system.look_ahead(t, &mut log_future)?;
                if bug == Bug::Forgetful {
                    log_future.fill(0.0);
                }
                log_future.iter_mut().zip(&log_weights).for_each(|(f, w)| *f += w);
                assert!(lots.weigh(&log_future));
                ancestors[reference] = lots.draw(rng) as u32;
            } else if bug == Bug::NotKept {
                ancestors[reference] = lots.draw(rng) as u32;
            }
        }
        system.advance(t, &ancestors, rng, &mut log_weights)?;
    }
    match bug {
        Bug::NotChosen => log_weights[reference] = f64::NEG_INFINITY,
        Bug::NoLastWeight => log_weights.fill(0.0),
        _ => {}
    }
    assert!(lots.weigh(&log_weights));
    Ok(lots.draw(rng))
}

fn twin(world: &mut World, target: &Target, (particles, look_ahead): (usize, LookAhead), bug: Bug) {
    let groups = target.groups(&world.model, &mut world.rng);
    let mut sequence = Sequence::new();
    let trace = world.model.trace_mut();
    sequence.prepare(trace, &groups, look_ahead).unwrap();
    let mut system = sequence.begin(trace, particles).unwrap();
    let chosen = twin_smc(&mut *system, particles, bug, &mut world.rng).unwrap();
    system.settle(chosen).unwrap();
}

#[test]
fn paths_of_a_hidden_markov_model() {
    let test = "pgibbs: hidden Markov paths";
    for kernel in [
        "(pgibbs x ordered 2 1)",
        "(pgibbs x ordered 2 'ancestor false 1)",
        "(pgibbs x each 4 'ancestor false 1)",
        "(pgibbs x (ordered_range 0 3) 4 'ancestor true 1)",
        "(pgibbs x all 3 1)",
        "(pgibbs x one 3 1)",
        "(pgibbs default ordered 3 1)",
    ] {
        demand(test, 4000, |repeats, seed| {
            let mut program = World::new(TABLES, seed).program(kernel);
            paths(TABLES, repeats, seed, |world| world.step(&mut program))
        });
    }
    let x = target("x", Block::Each);
    let never = (2, LookAhead::Never);
    demand(test, 4000, |repeats, seed| {
        paths(TABLES, repeats, seed, |world| twin(world, &x, never, Bug::Nothing))
    });
    for bug in [Bug::NotChosen, Bug::NotResampled, Bug::NotKept, Bug::NoLastWeight] {
        catches(test, &format!("{bug:?}"), 4000, |repeats, seed| {
            paths(TABLES, repeats, seed, |world| twin(world, &x, never, bug))
        });
    }
    let always = (4, LookAhead::Always);
    for bug in [Bug::NotChosen, Bug::Forgetful] {
        catches(test, &format!("{bug:?}"), 4000, |repeats, seed| {
            paths(TABLES, repeats, seed, |world| twin(world, &x, always, bug))
        });
    }
}

#[test]
fn paths_that_decide_what_exists() {
    let test = "pgibbs: hidden Markov paths in the trace";
    for (text, kernel) in [
        (BRANCHES, "(pgibbs x ordered 2 1)"),
        (BRANCHES, "(pgibbs x ordered 5 1)"),
        (BRANCHES, "(pgibbs default ordered 3 1)"),
        (NESTED, "(pgibbs x ordered 3 1)"),
        (NESTED, "(pgibbs x (ordered_range 1 3) 3 1)"),
    ] {
        demand(test, 4000, |repeats, seed| {
            let mut program = World::new(text, seed).program(kernel);
            paths(text, repeats, seed, |world| world.step(&mut program))
        });
    }
    let x = target("x", Block::Each);
    for bug in [Bug::NotChosen, Bug::NotKept, Bug::NoLastWeight] {
        catches(test, &format!("{bug:?}"), 4000, |repeats, seed| {
            paths(BRANCHES, repeats, seed, |world| twin(world, &x, (2, LookAhead::Never), bug))
        });
    }
}

/// A window in the middle is tied to what comes before and after.
#[test]
fn windows() {
    let test = "pgibbs: a window of a hidden Markov path";
    for (text, kernel) in [
        (TABLES, "(pgibbs x (ordered_range 1 2) 3 1)"),
        (TABLES, "(pgibbs x (ordered_range 0 1) 3 'ancestor false 1)"),
        (BRANCHES, "(pgibbs x (ordered_range 1 2) 3 1)"),
    ] {
        demand(test, 4000, |repeats, seed| {
            let mut program = World::new(text, seed).program(kernel);
            paths(text, repeats, seed, |world| world.step(&mut program))
        });
    }
    let number = |x: f64| Value::Number(x);
    let window = target("x", Block::Range { low: number(0.0), high: number(1.0) });
    catches(test, "the future is left out", 4000, |repeats, seed| {
        paths(TABLES, repeats, seed, |world| {
            twin(world, &window, (3, LookAhead::Never), Bug::NoLastWeight);
        })
    });
}

// ------------------------------------------------------------ exact starts

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
            (0..5).for_each(|_| twin(world, target, settings, bug));
        })
    });
}

const VOLATILITY: Story<'static> = Story {
    prior: "[assume sig (scope_include 'sig 0 (sqrt (inv_gamma 5 9)))]
            [assume phi (scope_include 'phi 0 (beta 5 1))]
            [assume h (mem (lambda (t) (scope_include 'h t
               (if (<= t 0) 0 (normal (* phi (h (- t 1))) sig)))))]
            [assume x (lambda (t) (normal (h t) (exp (/ (h t) 4))))]
            [predict (h 4)]",
    data: &["(x 1)", "(x 2)", "(x 3)", "(x 4)"],
    look: &["(h 1)", "(h 4)", "(* (h 1) (h 2))"],
};

#[test]
fn stochastic_volatility() {
    let test = "exact start: pgibbs, stochastic volatility";
    story(
        test,
        &VOLATILITY,
        1500,
        &[
            "(pgibbs h ordered 4 2)",
            "(pgibbs h ordered 4 'ancestor false 2)",
            "(pgibbs h (ordered_range 2 4) 3 3)",
        ],
    );
    let h = target("h", Block::Each);
    let never = (2, LookAhead::Never);
    story_catches(test, &VOLATILITY, 1500, &h, (never, Bug::NotChosen));
    story_catches(test, &VOLATILITY, 1500, &h, ((3, LookAhead::Never), Bug::NoLastWeight));
    let always = (3, LookAhead::Always);
    story_catches(test, &VOLATILITY, 1500, &h, (always, Bug::Forgetful));
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
        look: &["s", "(x 1)", "(x 4)", "(* (x 1) (x 2))", "(abs (x 3))"],
    };
    let test = "exact start: pgibbs, a long memory";
    story(
        test,
        &story_told,
        1500,
        &["(pgibbs x ordered 4 'ancestor true 3)", "(pgibbs x ordered 4 'ancestor false 3)"],
    );
    let x = target("x", Block::Each);
    let always = (4, LookAhead::Always);
    story_catches(test, &story_told, 2500, &x, (always, Bug::Forgetful));
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
    story(test, &story_told, 400, &["(pgibbs z ordered 3 3)", "(pgibbs default ordered 3 1)"]);
    let z = target("z", Block::Each);
    story_catches(test, &story_told, 1000, &z, ((2, LookAhead::Never), Bug::NotChosen));
    story_catches(test, &story_told, 1000, &z, ((2, LookAhead::Never), Bug::NoLastWeight));
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
            "(cycle ((pgibbs z ordered 4 1) (pgibbs p ordered 3 1)) 2)",
            "(pgibbs p (ordered_range 1 2) 3 2)",
        ],
    );
    let p = target("p", Block::Each);
    story_catches(test, &story_told, 1000, &p, ((2, LookAhead::Never), Bug::NotChosen));
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
    catches(test, "the reference cannot be chosen", 1500, |repeats, seed| {
        VOLATILITY.test(repeats, seed, |world| {
            for _ in 0..5 {
                twin(world, &h, (2, LookAhead::Never), Bug::NotChosen);
                world.infer("(mh sig 0 'drift 0.5 1)");
            }
        })
    });
}

// ------------------------------------------------------------ cost

/// Nodes made and densities evaluated by one pass over T states.
fn touched(text: &str, steps: usize) -> u64 {
    let mut world = World::new(text, 1);
    for t in 1..=steps {
        world.execute(&format!("[observe (y {t}) {}]", t % 2)).unwrap();
    }
    let groups = target("x", Block::Each).groups(&world.model, &mut world.rng);
    assert_eq!(groups.len(), steps);
    let mut sequence = Sequence::new();
    let trace = world.model.trace_mut();
    sequence.prepare(trace, &groups, LookAhead::IfCheap).unwrap();
    let mut system = sequence.begin(trace, 8).unwrap();
    let chosen = conditional_smc(&mut *system, 8, &mut world.rng).unwrap();
    let touched = system.touched();
    system.settle(chosen.unwrap()).unwrap();
    touched
}

#[test]
fn a_pass_is_linear_in_the_number_of_blocks() {
    let compiled = "[assume x (mem (lambda (t) (scope_include 'x t
                      (if (< t 1) 0 (normal (* 0.9 (x (- t 1))) 1)))))]
                    [assume y (lambda (t) (normal (x t) 1))]";
    let (short, long) = (touched(compiled, 50), touched(compiled, 500));
    assert_eq!(long - touched(compiled, 499), short - touched(compiled, 49));
    // Transition, state, density; and one density for the reference's past.
    assert!(long <= 500 * 8 * 4, "{long}");
    let branches = "[assume x (mem (lambda (t) (scope_include 'x t
                      (if (< t 1) true (if (x (- t 1)) (flip 0.7) (flip 0.2))))))]
                    [assume y (lambda (t) (bernoulli (if (x t) 0.7 0.2)))]";
    let (short, long) = (touched(branches, 60), touched(branches, 600));
    assert!(long < 12 * short, "{short} {long}");
}

// ------------------------------------------------------------ edges

fn refused(text: &str, kernel: &str) -> String {
    let mut world = World::new(text, 1);
    world.execute(&format!("[infer {kernel}]")).unwrap_err()
}

#[test]
fn bad_arguments_are_refused() {
    let text = "[assume x (normal 0 1)]";
    for (kernel, words) in [
        ("(pgibbs default all 1 1)", "2 or more"),
        ("(pgibbs default all 2.5 1)", "number of particles"),
        ("(pgibbs default all 3 'ancestor 'maybe 1)", "true or false"),
        ("(pgibbs default all 1)", "pgibbs takes 4 arguments"),
        ("(pgibbs default all 3 'forwards true 1)", "'forwards"),
    ] {
        let message = refused(text, kernel);
        assert!(message.contains(words), "{kernel}: {message}");
    }
    let moves = "[assume c (flip 0.5)] [assume x (normal 0 1)] [assume y (normal 0 1)]
                 [observe (if c x y) 1]";
    assert!(refused(moves, "(pgibbs default all 3 1)").contains("observation"));
    let improper = "[assume x (flat)] [observe (normal x 1) 1]";
    assert!(refused(improper, "(pgibbs default all 3 1)").contains("improper"));
}

/// Particles that leave a domain have weight 0, and an impossible state is left alone.
#[test]
fn particles_may_die() {
    let mut world = World::new(
        "[assume x (mem (lambda (t) (scope_include 'x t (normal 0 1))))]
         [predict (x 1)] [predict (x 2)] [force (x 1) 1] [force (x 2) 1]
         [observe (normal 0 (+ (x 1) 1)) 0.5] [observe (normal 0 (+ (x 2) (x 1))) 0.5]",
        3,
    );
    for kernel in ["(pgibbs x ordered 5 200)", "(pgibbs x ordered 5 'ancestor false 200)"] {
        world.infer(kernel);
        assert!(world.number("(x 1)") > -1.0 && world.number("(+ (x 1) (x 2))") > 0.0);
    }
    let moved = world.run.kernels[0].tally;
    assert!(moved.accepted > 50 && moved.transitions == 400, "{moved:?}");
}

#[test]
fn the_same_seed_gives_the_same_paths() {
    for text in [TABLES, BRANCHES] {
        let run = || {
            let mut world = World::new(text, 11);
            world.infer("(pgibbs x ordered 5 20)");
            (0..4).map(|t| world.number(&format!("(x {t})"))).collect::<Vec<f64>>()
        };
        assert_eq!(run(), run());
    }
}
