//! Posteriors far out in a tail. a ~ normal(40, 2) seen through a coin that came up 0 has the density
//! of a normal times e^-a: again a normal, with mean 36 and sd 2.

use super::common::{MOST_ERRORS, Moments};
use super::session;

fn moments(text: &str, kernel: &str, draws: usize, quantity: &str) -> [f64; 3] {
    let mut found = super::common::moments(&mut session("", 1), text, kernel, draws, &[quantity]);
    let Moments { mean, sd, error } = found.swap_remove(0);
    [mean, sd, error]
}

const KERNELS: [(&str, usize); 8] = [
    ("", 4_000),
    ("(mh default one 'drift 4 5)", 4_000),
    ("(mh default one 20)", 4_000),
    ("(slice default one 1)", 4_000),
    ("(slice_doubling default one 1)", 4_000),
    ("(subsampled_mh default one 10 0 'drift 4 5)", 4_000),
    ("(nuts default all 1)", 3_000),
    ("(pgibbs default ordered 20 1)", 3_000),
];

#[test]
fn the_upper_tail() {
    for program in [
        "[assume a (normal 40 2)] [observe (bernoulli (logistic a)) 0]",
        "[assume a (normal 40 2)] [observe (flip (linear_logistic (vector 0 a) (vector 1))) false]",
        "[assume a (normal 40 2)] [assume p (logistic a)] [observe (flip (- 1 p)) true]",
        "[assume a (normal 40 2)] [observe (binomial 1 (logistic a)) 0]",
    ] {
        for (kernel, draws) in KERNELS {
            let [mean, sd, error] = moments(program, kernel, draws, "a");
            assert!(
                (mean - 36.0).abs() < MOST_ERRORS * error,
                "{mean} ± {error} by {kernel} in {program}"
            );
            assert!(
                (sd - 2.0).abs() < MOST_ERRORS * error,
                "{sd} ± {error} by {kernel} in {program}"
            );
        }
    }
}

/// Half of the rows of a table of 200 came up 0 and were seen as one: the sum of the rows counts.
#[test]
fn a_plate_in_the_tail() {
    let program = "[assume a (normal 420 2)] [for row in t [observe (bernoulli (logistic (/ a 100))) row.zero]]";
    // log density: -(a - 420)^2 / 8 - 200 log(1 + e^(a/100)): about a slope of -2 σ(4.12), sd near 2.
    let [want, want_sd] = by_quadrature();
    for (kernel, draws) in KERNELS {
        let [mean, sd, error] = moments(program, kernel, draws, "a");
        assert!((mean - want).abs() < MOST_ERRORS * error, "{mean} ± {error} by {kernel}");
        assert!((sd - want_sd).abs() < MOST_ERRORS * error, "{sd} ± {error} by {kernel}");
    }
}

fn by_quadrature() -> [f64; 2] {
    let points: Vec<(f64, f64)> = (0..4000)
        .map(|k| {
            let a = 390.0 + f64::from(k) * 0.01;
            let log_p = -(a - 420.0) * (a - 420.0) / 8.0
                + 200.0 * smidgen::value::math::log_logistic(-a / 100.0);
            (a, smidgen::value::math::exp(log_p + 850.0))
        })
        .collect();
    let total: f64 = points.iter().map(|(_, w)| w).sum();
    let mean = points.iter().map(|(a, w)| a * w).sum::<f64>() / total;
    let variance = points.iter().map(|(a, w)| (a - mean) * (a - mean) * w).sum::<f64>() / total;
    [mean, variance.sqrt()]
}

/// Finite chains whose observations lie in the tail: the odds of the two states are e^-1, at every step.
#[test]
fn finite_choices() {
    let program = "[assume s (mem (lambda (t) (scope_include 's t (flip 0.5))))]
        [observe (bernoulli (logistic (if (s 0) 40 41))) 0]
        [observe (bernoulli (logistic (if (s 1) 40 41))) 0]
        [observe (bernoulli (logistic (if (s 2) 700 701))) 0]";
    let quantity = "(+ (s 0) (s 1) (s 2))";
    let want = 3.0 * smidgen::value::math::logistic(1.0);
    for kernel in
        ["", "(gibbs s each 1)", "(gibbs s all 1)", "(pgibbs s ordered 10 1)", "(mh s each 2)"]
    {
        let [mean, _, error] = moments(program, kernel, 3_000, quantity);
        assert!((mean - want).abs() < MOST_ERRORS * error, "{mean} ± {error} by {kernel}");
    }
}
