//! Whole numbers with many values: slices over the integers, and the default kernel on counts.

use smidgen_engine::EvalError;
use smidgen_engine::proposal::FromPrior;
use smidgen_infer::kernel::slice::integers::{self, Whole};
use smidgen_infer::kernel::slice::neal::LogDensity;
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::twins::accept_always;
use smidgen_testkit::{PValue, World, pvalue};
use smidgen_value::{Rng, math};

/// Two spikes and a plain, with nothing between them.
const WEIGHTS: [f64; 26] = {
    let mut weights = [0.0; 26];
    weights[0] = 10.0;
    let mut n = 6;
    while n < 18 {
        weights[n] = 1.0;
        n += 1;
    }
    weights[25] = 8.0;
    weights
};

fn log_weight(n: f64) -> Result<f64, EvalError> {
    assert!((0.0..WEIGHTS.len() as f64).contains(&n), "{n}");
    Ok(math::ln(WEIGHTS[n as usize]))
}

fn probabilities() -> Vec<f64> {
    let total: f64 = WEIGHTS.iter().sum();
    WEIGHTS.iter().map(|weight| weight / total).collect()
}

type Step = fn(f64, &mut Rng) -> f64;

const ENDS: (f64, f64) = (0.0, WEIGHTS.len() as f64 - 1.0);

/// From exact draws, two steps: still the same law.
fn stays(step: Step) -> impl FnMut(usize, u64) -> PValue {
    move |repeats, seed| {
        let mut rng = Rng::from_seed(seed);
        let mut counts = [0; WEIGHTS.len()];
        for _ in 0..repeats {
            let mut rest = rng.uniform();
            let drawn = probabilities().iter().position(|p| {
                rest -= p;
                rest < 0.0
            });
            let n = (0..2).fold(drawn.unwrap_or(0) as f64, |n, _| step(n, &mut rng));
            counts[n as usize] += 1;
        }
        pvalue::chi_square(&counts, &probabilities())
    }
}

#[test]
fn slices_over_the_integers_keep_a_law_of_spikes() {
    let test = "slice: whole numbers";
    demand(
        test,
        20_000,
        stays(|n, rng| {
            integers::draw(n, log_weight(n).unwrap(), ENDS, &mut log_weight, rng).unwrap()
        }),
    );
    catches(
        test,
        "no check",
        20_000,
        stays(|n, rng| {
            let slice = Whole::through(n as i64, log_weight(n).unwrap(), ENDS, rng);
            let found = slice.double(&mut log_weight, rng).unwrap();
            let always = &mut |_: i64, _: &mut LogDensity<'_>| Ok(true);
            slice.shrink(&found, &mut log_weight, rng, always).unwrap() as f64
        }),
    );
}

/// Flat, infinite and impossible densities come to an end; beyond 2^53 nothing moves.
#[test]
fn extreme_densities_come_to_an_end() {
    let mut rng = Rng::from_seed(1);
    let counts = (0.0, f64::INFINITY);
    for log_density in [f64::INFINITY, f64::NEG_INFINITY, 0.0, 1e300] {
        let f = &mut |_| Ok(log_density);
        let n = integers::draw(7.0, log_density, counts, f, &mut rng).unwrap();
        assert!((0.0..=integers::LARGEST).contains(&n));
    }
    let f = &mut |_| Ok(0.0);
    assert_eq!(integers::draw(1e17, 0.0, counts, f, &mut rng).unwrap(), 1e17);
}

/// Unbounded and wide counts, one that is drawn from a made procedure, one that parameters hang on,
/// and one that decides how many choices there are.
const COUNTS: Story<'static> = Story {
    prior: "[assume n (poisson 4)] [assume g (geometric 0.2)] [assume b (binomial 1000 0.4)]
            [assume u (uniform_discrete -500 500)] [assume r (negative_binomial 3 0.4)]
            [assume f (make_gamma_poisson 3 1)] [assume m (f)]
            [assume k (poisson 2)]
            [assume jump (lambda (i) (if (< i 1) 0 (+ (jump (- i 1)) (flip 0.3))))]
            [assume end (jump k)]",
    data: &[
        "(binomial (+ n r) 0.5)",
        "(normal (/ b 20) 1)",
        "(normal (/ u 100) 1)",
        "(poisson (+ 0.5 g m))",
        "(f)",
        "(normal end 1)",
    ],
    look: &["n", "g", "b", "u", "r", "m", "k", "end", "(* n r)"],
};

#[test]
fn the_default_kernel_keeps_the_law_of_counts() {
    let test = "exact start: default kernel, whole numbers";
    demand(test, 200, |repeats, seed| COUNTS.test(repeats, seed, |world| world.infer("2")));
    catches(test, "accepts always", 200, |repeats, seed| {
        COUNTS.test(repeats, seed, |world| {
            world.infer("1");
            (0..8).for_each(|_| accept_always(world, &mut FromPrior));
        })
    });
}

/// n − 20 given 20 of n is Poisson of 2.5; far from there nothing is proposed from the prior that could be
/// accepted.
#[test]
fn a_count_that_was_forced_moves() {
    let text = "[assume n (poisson 5)] [force n 25] [observe (binomial n 0.5) 20]";
    let poisson = |rate: f64| -> Vec<f64> {
        let log_p = |k: usize| k as f64 * math::ln(rate) - rate - math::ln_gamma(k as f64 + 1.0);
        let mut p: Vec<f64> = (0..11).map(|k| math::exp(log_p(k))).collect();
        p.push(1.0 - p.iter().sum::<f64>());
        p
    };
    let counts = |repeats: usize, seed: u64| {
        let mut counts = vec![0; 12];
        let mut world = World::new(text, seed);
        let mut program = world.program("5");
        for _ in 0..repeats {
            world.step(&mut program);
            counts[(world.number("n") as usize - 20).min(11)] += 1;
        }
        counts
    };
    let test = "default kernel: a count that was forced";
    demand(test, 4000, |repeats, seed| pvalue::chi_square(&counts(repeats, seed), &poisson(2.5)));
    catches(test, "another rate", 4000, |repeats, seed| {
        pvalue::chi_square(&counts(repeats, seed), &poisson(2.2))
    });
}
