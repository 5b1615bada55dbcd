//! Slice sampling: the searches alone on densities with known distribution functions, and the
//! kernels on programs. Twins: doubling without the check, steps all to one side.

use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{EvalError, Scaffold};
use smidgen_infer::Tally;
use smidgen_infer::kernel::slice::Conditional;
use smidgen_infer::kernel::slice::neal::{Interval, LogDensity, Slice};
use smidgen_infer::proposer::standard_normal;
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::twins::accept_always;
use smidgen_testkit::{PValue, World, pvalue};
use smidgen_value::{Rng, math};

const REALS: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// Modes of an uneven mixture of normal laws: weight, mean, sd.
const MODES: [(f64, f64, f64); 3] = [(0.3, -2.0, 0.3), (0.5, 1.0, 0.8), (0.2, 6.0, 0.2)];

fn log_mixture(x: f64) -> Result<f64, EvalError> {
    let terms = MODES.map(|(weight, mean, sd)| {
        let z = (x - mean) / sd;
        math::ln(weight / sd) - 0.5 * z * z
    });
    Ok(math::logsumexp(&terms))
}

fn draw_mixture(rng: &mut Rng) -> f64 {
    let mut rest = rng.uniform();
    let drawn = MODES.iter().find(|mode| {
        rest -= mode.0;
        rest < 0.0
    });
    let (_, mean, sd) = drawn.unwrap_or(&MODES[2]);
    mean + sd * standard_normal(rng)
}

fn mixture_below(x: f64) -> f64 {
    let normal = |z: f64| 0.5 * math::erfc(-z / std::f64::consts::SQRT_2);
    MODES.iter().map(|(weight, mean, sd)| weight * normal((x - mean) / sd)).sum()
}

/// A search from a slice to the next value.
type Step = fn(&Slice, &mut LogDensity<'_>, &mut Rng) -> f64;

/// From exact draws of the mixture, two steps: still the mixture.
fn mixture_stays(step: Step) -> impl FnMut(usize, u64) -> PValue {
    move |repeats, seed| {
        let mut rng = Rng::from_seed(seed);
        let draws: Vec<f64> = (0..repeats)
            .map(|_| {
                let mut x = draw_mixture(&mut rng);
                for _ in 0..2 {
                    let log_density = log_mixture(x).unwrap();
                    let slice = Slice::through(x, log_density, REALS, &mut rng);
                    x = step(&slice, &mut log_mixture, &mut rng);
                }
                x
            })
            .collect();
        pvalue::ks(&draws, mixture_below)
    }
}

fn anything(_: f64, _: &mut LogDensity<'_>) -> Result<bool, EvalError> {
    Ok(true)
}

#[test]
fn stepping_out_keeps_a_density_of_several_modes() {
    demand(
        "slice: two modes",
        20_000,
        mixture_stays(|slice, f, rng| {
            let interval = slice.step_out(2.5, 4, f, rng).unwrap();
            slice.shrink(interval, f, rng, &mut anything).unwrap()
        }),
    );
    catches(
        "slice: two modes",
        "a level without its draw",
        20_000,
        mixture_stays(|slice, f, rng| {
            let level = log_mixture(slice.x0).unwrap() - 1.0;
            let fixed = Slice { level, ..*slice };
            let interval = fixed.step_out(2.5, 4, f, rng).unwrap();
            fixed.shrink(interval, f, rng, &mut anything).unwrap()
        }),
    );
}

/// With few steps, where they go has to be drawn.
#[test]
fn few_steps_are_split_at_random() {
    demand(
        "slice: few steps",
        20_000,
        mixture_stays(|slice, f, rng| {
            let interval = slice.step_out(0.4, 3, f, rng).unwrap();
            slice.shrink(interval, f, rng, &mut anything).unwrap()
        }),
    );
    catches(
        "slice: few steps",
        "all steps to the right",
        20_000,
        mixture_stays(|slice, f, rng| {
            let left = slice.x0 - 0.4 * rng.uniform();
            let interval = Interval { left, right: left + 0.4 };
            let interval = slice.step_out_from(interval, (0, 2), f).unwrap();
            slice.shrink(interval, f, rng, &mut anything).unwrap()
        }),
    );
}

#[test]
fn doubling_keeps_a_density_of_several_modes_by_its_check() {
    demand(
        "slice: doubling, two modes",
        20_000,
        mixture_stays(|slice, f, rng| {
            let found = slice.double(0.5, 6, f, rng).unwrap();
            let check = &mut |x, f: &mut LogDensity<'_>| found.is_acceptable(x, slice, f);
            slice.shrink(found.interval, f, rng, check).unwrap()
        }),
    );
    catches(
        "slice: doubling, two modes",
        "no check",
        20_000,
        mixture_stays(|slice, f, rng| {
            let found = slice.double(0.5, 6, f, rng).unwrap();
            slice.shrink(found.interval, f, rng, &mut anything).unwrap()
        }),
    );
}

#[test]
fn nothing_is_asked_outside_the_support() {
    let mut rng = Rng::from_seed(3);
    let mut f = |x: f64| {
        assert!((0.0..=1.0).contains(&x), "{x}");
        Ok(-x)
    };
    for k in 0..2000 {
        let x0 = rng.uniform();
        let slice = Slice::through(x0, -x0, (0.0, 1.0), &mut rng);
        let x = if k % 2 == 0 {
            let interval = slice.step_out(0.7, 10, &mut f, &mut rng).unwrap();
            slice.shrink(interval, &mut f, &mut rng, &mut anything).unwrap()
        } else {
            let found = slice.double(0.7, 10, &mut f, &mut rng).unwrap();
            let check = &mut |x, f: &mut LogDensity<'_>| found.is_acceptable(x, &slice, f);
            slice.shrink(found.interval, &mut f, &mut rng, check).unwrap()
        };
        assert!((0.0..=1.0).contains(&x));
    }
}

/// Levels and places that leave nothing to find end where they began.
#[test]
fn extreme_densities_come_to_an_end() {
    let mut rng = Rng::from_seed(4);
    for (log_density, support) in
        [(f64::INFINITY, REALS), (1e300, REALS), (0.0, (0.0, f64::MIN_POSITIVE))]
    {
        let slice = Slice::through(0.0, log_density, support, &mut rng);
        let mut f = |_: f64| Ok(f64::NEG_INFINITY);
        let found = slice.double(1e300, 60, &mut f, &mut rng).unwrap();
        assert_eq!(slice.shrink(found.interval, &mut f, &mut rng, &mut anything).unwrap(), 0.0);
    }
    // A density that never ends: the interval does.
    let slice = Slice::through(0.0, 0.0, REALS, &mut rng);
    let mut f = |_: f64| Ok(0.0);
    let interval = slice.step_out(1.0, 100, &mut f, &mut rng).unwrap();
    assert!((interval.right - interval.left - 100.0).abs() < 1e-9, "{interval:?}");
    let found = slice.double(1e300, 60, &mut f, &mut rng).unwrap();
    let x = slice.shrink(found.interval, &mut f, &mut rng, &mut anything).unwrap();
    assert!(x.is_finite());
}

/// Widths that are lost in rounding, or too large to be doubled: the searches end and stay finite.
#[test]
fn extreme_numbers_come_to_an_end() {
    let mut rng = Rng::from_seed(5);
    let sizes = [5e-324, 1e-300, 1.0, 9_007_199_254_740_994.0, 1e100, 1e300];
    for (scale, width) in sizes.iter().flat_map(|scale| sizes.map(|width| (*scale, width))) {
        let mut f = |x: f64| Ok(-0.5 * (x / scale) * (x / scale));
        for x0 in [0.0, scale, -scale] {
            let slice = Slice::through(x0, f(x0).unwrap(), REALS, &mut rng);
            let found = slice.double(width, 60, &mut f, &mut rng).unwrap();
            let check = &mut |x, f: &mut LogDensity<'_>| found.is_acceptable(x, &slice, f);
            assert!(slice.shrink(found.interval, &mut f, &mut rng, check).unwrap().is_finite());
            // Any number of steps that get nowhere, and some that do.
            let steps = if width < 1e-17 * x0.abs() { u64::MAX } else { 1000 };
            let interval = slice.step_out(width, steps, &mut f, &mut rng).unwrap();
            assert!(slice.shrink(interval, &mut f, &mut rng, &mut anything).unwrap().is_finite());
        }
    }
}

/// Neighbours of this number are two apart, and the width is one: the halves of an interval come to an end.
#[test]
fn doubling_ends_where_the_middle_is_an_end() {
    let mut world = World::new("[assume v (normal 0 1e16)] [force v 9007199254740994]", 1);
    world.infer("(slice_doubling default one 200)");
    world.infer("(slice_doubling default one 1 60 50)");
    assert!((world.number("v") - 9_007_199_254_740_994.0).abs() > 1e12, "it moves far");
}

fn program<'a>(story: &'a Story<'a>, text: &'a str) -> impl FnMut(usize, u64) -> PValue + 'a {
    move |repeats, seed| story.test(repeats, seed, |world| world.infer(text))
}

/// Every kind of line, heavy tails, a made procedure, and parameters that leave their domain.
const STORY: Story<'_> = Story {
    prior: "[assume x (student_t 2)] [assume s (gamma 0.7 1)] [assume p (beta 0.5 2)]
            [assume u (uniform_continuous (- x 1) (+ x 2))]
            [assume f (make_nig_normal x 1 2 1)] [assume z (f)]
            [assume q (normal 0.5 0.4)]",
    data: &["(normal (+ x u) (+ s 0.1))", "(binomial 3 p)", "(f)", "(normal (* z s) 1)"],
    look: &["x", "s", "p", "u", "z", "(* x s)"],
};

/// A sweep of slices through the square root of each density.
fn lukewarm(world: &mut World) {
    let World { model, rng, .. } = world;
    let trace = model.trace_mut();
    for (_, choice) in trace.choices_by_address() {
        let mut scaffold = Scaffold::new();
        let mut tally = Tally::default();
        let mut conditional = Conditional::of(trace, &mut scaffold, &[choice], "twin").unwrap();
        let slice = conditional.slice(rng);
        let level = slice.level - 0.5 * conditional.log_density(slice.x0).unwrap();
        let slice = Slice { level, ..slice };
        let f = &mut |x| Ok(0.5 * conditional.log_density(x)?);
        let interval = slice.step_out(0.8, 5, f, rng).unwrap();
        let x = slice.shrink(interval, f, rng, &mut anything).unwrap();
        conditional.commit(x, &mut tally).unwrap();
    }
}

#[test]
fn kernels_keep_the_joint_law() {
    for (test, text) in [
        (
            "exact start: slice",
            "(mixture (1 (slice default each 0.8 5 1) 1 (slice default one 3)) 3)",
        ),
        (
            "exact start: slice_doubling",
            "(mixture (1 (slice_doubling default each 0.3 4 1) 1 (slice_doubling default one 3)) 3)",
        ),
    ] {
        demand(test, 600, program(&STORY, text));
        catches(test, "the square root of the density", 600, |repeats, seed| {
            STORY.test(repeats, seed, |world| (0..3).for_each(|_| lukewarm(world)))
        });
    }
}

/// r | 1, 2, 0 with prior gamma(2, 1) is gamma(5, 4).
#[test]
fn a_conjugate_posterior_stays() {
    let text = "[assume r (gamma 2 1)] [observe (poisson r) 1] [observe (poisson r) 2] [observe (poisson r) 0]";
    let look = |kernel: &str, repeats: usize, seed: u64| {
        let draws: Vec<f64> = (0..repeats as u64)
            .map(|k| {
                let r = World::new("[assume r (gamma 5 4)]", seed.wrapping_add(k)).number("r");
                let mut world = World::new(text, !seed.wrapping_add(k));
                world.execute(&format!("[force r {r:?}]")).unwrap();
                world.infer(kernel);
                world.number("r")
            })
            .collect();
        pvalue::ks(&draws, |r| math::gamma_p(5.0, 4.0 * r))
    };
    let test = "conjugate posterior by slices";
    let both = "(do (slice default one 0.5 3 2) (slice_doubling default one 0.1 8 2))";
    demand(test, 1500, |repeats, seed| look(both, repeats, seed));
    catches(test, "one more datum", 1500, |repeats, seed| {
        // The law of a slice sampler that counts a datum twice.
        let mut seeds = seed;
        let draws: Vec<f64> = (0..repeats)
            .map(|_| {
                seeds = seeds.wrapping_add(1);
                let mut world = World::new(text, seeds);
                world.execute("[observe (poisson r) 0]").unwrap();
                world.infer("(slice default one 1 10 20)");
                world.number("r")
            })
            .collect();
        pvalue::ks(&draws, |r| math::gamma_p(5.0, 4.0 * r))
    });
}

/// Stale values of a subsampled kernel are read fresh, and structure elsewhere does not matter.
#[test]
fn in_a_cycle_with_subsampled_mh() {
    let story = Story {
        prior: "[assume m (scope_include 'm 0 (normal 0 1))] [assume s (scope_include 's 0 (gamma 2 2))]
                [assume b (flip 0.5)] [assume extra (if b (normal 0 1) 0)]
                [assume noise (+ s 0.2)]
                [assume draw (mem (lambda (i) (normal m noise)))]",
        data: &[
            "(draw 0)", "(draw 1)", "(draw 2)", "(draw 3)", "(draw 4)", "(draw 5)", "(draw 6)",
            "(draw 7)", "(normal extra 1)",
        ],
        look: &["m", "s", "extra"],
    };
    let text = "(cycle ((subsampled_mh m 0 2 0 'drift 0.5 2) (slice s 0 1 10 1)
                        (subsampled_mh s 0 2 0 'drift 0.5 1) (slice_doubling m 0 1 5 1) (mh default one 2)) 2)";
    let test = "exact start: slices with subsampled_mh";
    demand(test, 600, program(&story, text));
    catches(test, "accepts always", 600, |repeats, seed| {
        story.test(repeats, seed, |world| {
            world.infer(text);
            accept_always(world, &mut FromPrior);
        })
    });
}

fn error(text: &str, kernel: &str) -> String {
    let mut world = World::new(text, 1);
    let before = world.log_joint();
    let error = world.execute(&format!("[infer {kernel}]")).expect_err(kernel);
    assert_eq!(world.log_joint(), before, "nothing has changed");
    smidgen_engine::check::check(&world.model).expect("a sound trace");
    error
}

#[test]
fn what_cannot_be_sliced_is_said() {
    for kernel in ["slice", "slice_doubling"] {
        let said = |text: &str, block: &str, word: &str| {
            let message = error(text, &format!("({kernel} default {block} 1)"));
            assert!(message.contains(word) && message.contains(kernel), "{message}");
        };
        said("[assume b (flip 0.5)]", "one", "continuous");
        said("[assume k (poisson 3)]", "each", "continuous");
        said("[assume x (normal 0 1)] [assume y (normal 0 1)]", "all", "single");
        said("[assume x (multivariate_normal (vector 0 0) (id_matrix 2))]", "one", "single");
        said("[assume x (dirichlet (vector 1 1))]", "one", "single");
        let brush = "[assume x (normal 0 1)] [assume y (if (< x 0) (gamma 1 1) 2)]";
        said(brush, "each", "structure");
        said(
            "[assume f (mem (lambda (k) (normal 0 1)))] [assume x (normal 0 1)] [assume y (f x)]",
            "all",
            "single",
        );
    }
    let mut world = World::new("[assume x (normal 0 1)]", 1);
    for kernel in [
        "(slice default one 0 10 1)",
        "(slice default one 1 0 1)",
        "(slice default one 1 1)",
        "(slice_doubling default one 1 61 1)",
    ] {
        assert!(world.execute(&format!("[infer {kernel}]")).is_err(), "{kernel}");
    }
}

/// Improper priors and far tails.
#[test]
fn improper_priors_and_far_starts() {
    let mut world = World::new(
        "[assume m (flat)] [assume s (flat_pos)]
         [observe (normal m s) 1000] [observe (normal m s) 1002] [observe (normal m s) 1004] [observe (normal m s) 1001]",
        5,
    );
    let mut program = world.program("(slice_doubling default each 1)");
    let (mut mean, mut count) = (0.0, 0.0);
    for k in 0..1500 {
        world.step(&mut program);
        if k >= 100 {
            mean += world.number("m");
            count += 1.0;
        }
    }
    assert!((mean / count - 1001.75).abs() < 0.5, "{}", mean / count);
}

#[test]
fn the_same_seed_gives_the_same_draws() {
    let draws = |seed: u64| {
        let mut world = World::new(STORY.prior, seed);
        world.infer("(cycle ((slice default each 1) (slice_doubling default one 3)) 5)");
        (world.number("x").to_bits(), world.number("p").to_bits())
    };
    assert_eq!(draws(8), draws(8));
}
