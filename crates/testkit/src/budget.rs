//! How often the whole suite may cry wolf.
//!
//! Every statistical test is in [`DECLARED`] with its α; their sum, which bounds the probability
//! that one run of the suite with a fresh seed fails although the code is right, is at most
//! 10⁻³. A test has two looks: if the first gives p ≥ 1 %, it passes; else it is made again with
//! ten times the draws and an independent stream, and fails only if the second p < α. The second
//! look alone decides and is independent of the first, so a right kernel fails with probability
//! at most .01 α; a wrong one has the power of the larger sample.
//!
//! Seeds are fixed, so that a red build is a change and never luck. `SMIDGEN_SEED=n` gives fresh
//! ones.

use crate::pvalue::PValue;

/// The test and its α.
pub static DECLARED: &[(&str, f64)] = &[
    ("kernel rows", 2e-5),
    ("kernel sweep rows", 5e-6),
    ("exact start: prior proposals", 5e-6),
    ("exact start: changing structure", 5e-6),
    ("exact start: default kernel", 5e-6),
    ("exact start: real", 5e-6),
    ("exact start: positive", 5e-6),
    ("exact start: interval", 5e-6),
    ("exact start: bounded above", 5e-6),
    ("exact start: simplex", 5e-6),
    ("exact start: vector", 5e-6),
    ("exact start: covariance", 5e-6),
    ("exact start: collapsed", 5e-6),
    ("exact start: latent and its applications", 5e-6),
    ("exact start: mixture of kernels", 5e-6),
    ("geweke: normal", 5e-6),
    ("geweke: gamma poisson", 5e-6),
    ("sbc: normal", 5e-6),
    ("sbc: coin", 5e-6),
    ("conjugate posterior", 5e-6),
    ("slice: two modes", 5e-6),
    ("slice: doubling, two modes", 5e-6),
    ("slice: few steps", 5e-6),
    ("exact start: slice", 5e-6),
    ("exact start: slice_doubling", 5e-6),
    ("conjugate posterior by slices", 5e-6),
    ("exact start: slices with subsampled_mh", 5e-6),
    ("rejection: finite programs", 5e-6),
    ("rejection: normal", 5e-6),
    ("exact start: rejection", 5e-6),
    ("exact start: rejection, changing structure", 5e-6),
    ("exact start: rejection with subsampled_mh", 5e-6),
    ("exact start: adapted walk", 5e-6),
    ("exact start: adapted blocks", 5e-6),
    ("exact start: hmc", 5e-6),
    ("exact start: nuts", 5e-6),
    ("exact start: nuts, hierarchy", 5e-6),
    ("exact start: nuts, standardised", 5e-6),
    ("exact start: nuts, standardised vectors", 5e-6),
    ("exact start: nuts with subsampled_mh", 5e-6),
    ("exact start: default kernel, jointly", 5e-6),
    ("geweke: nuts", 5e-6),
    ("nuts after a warm-up", 5e-6),
    ("nuts after a warm-up in a cycle", 5e-6),
    ("exact start: trajectories", 5e-6),
    ("exact start: trajectories at a wall", 5e-6),
    ("trajectories: bold moments", 5e-6),
    ("trajectories: careful moments", 5e-6),
    ("subsampled rows", 5e-6),
    ("subsampled cycle rows", 5e-6),
    ("exact start: logistic regression by sections", 5e-6),
    ("exact start: mean and log sd by sections", 5e-6),
    ("exact start: state space by sections", 5e-6),
    ("exact start: mixture by sections", 5e-6),
    ("geweke: by sections", 5e-6),
    ("sbc: by sections", 5e-6),
    ("decision errors", 5e-6),
    ("decision usage", 5e-6),
    ("automatic decision errors", 5e-6),
    ("gibbs rows", 2e-5),
    ("gibbs rows by hand", 2e-5),
    ("exact start: gibbs with a brush", 5e-6),
    ("exact start: gibbs on a mixture", 5e-6),
    ("exact start: gibbs and sections on a mixture", 5e-6),
    ("gibbs: the check of theory 8.2", 5e-6),
    ("geweke: gibbs", 5e-6),
    ("pgibbs rows", 2e-5),
    ("geweke: pgibbs", 5e-6),
    ("default kernel rows with a chain", 5e-6),
    ("exact start: default kernel, a chain", 5e-6),
    ("default kernel: the law of a chain of counts", 5e-6),
    ("exact start: default kernel, a chain by particles", 5e-6),
    ("exact start: default kernel, a chain of the second order", 5e-6),
    ("exact start: default kernel, chains that come and go", 5e-6),
    ("geweke: default kernel, a chain by particles", 5e-6),
    ("default kernel rows with a chain of branches", 5e-6),
    ("exact start: default kernel, a chain of branches", 5e-6),
    ("slice: whole numbers", 5e-6),
    ("exact start: default kernel, whole numbers", 5e-6),
    ("default kernel: a count that was forced", 5e-6),
    ("exact start: angles by slices", 5e-6),
    ("exact start: angles by walks", 5e-6),
    ("exact start: angles by trajectories", 5e-6),
    ("exact start: default kernel, angles", 5e-6),
    ("geweke: resample", 5e-6),
    ("exact start: pgibbs, stochastic volatility", 5e-6),
    ("exact start: pgibbs, a long memory", 5e-6),
    ("exact start: pgibbs, changing structure", 5e-6),
    ("exact start: pgibbs, made procedures", 5e-6),
    ("exact start: pgibbs, in a cycle", 5e-6),
    ("exact start: reference_mh, auto", 5e-6),
    ("exact start: reference_mh, thinned", 5e-6),
    ("exact start: reference_mh, scan", 5e-6),
    ("exact start: reference_mh, delayed", 5e-6),
    ("exact start: thinned, long", 5e-6),
    ("exact start: thinned, probit", 2e-6),
    ("exact start: thinned, complementary log-log", 2e-6),
    ("exact start: thinned, zeros beside counts", 2e-6),
    ("exact start: thinned, censored", 2e-6),
    ("exact start: thinned, truncated", 2e-6),
    ("exact start: thinned, truncated at both ends", 2e-6),
    ("exact start: thinned, ordered", 2e-6),
    ("exact start: thinned, ordered, probit", 2e-6),
    ("exact start: thinned, two kinds of errors", 2e-6),
    ("exact start: thinned, far out, probit", 2e-6),
    ("exact start: thinned, far out, complementary log-log", 2e-6),
    ("exact start: thinned, far out, logistic", 2e-6),
    ("exact start: reference_mh and (mh default one 2)", 5e-6),
    ("exact start: reference_mh and (nuts default all 'step 0.4 1)", 5e-6),
    ("exact start: reference_mh and (slice default each 1)", 5e-6),
    ("exact start: reference_mh, a rest that moves", 5e-6),
    ("exact start: reference_mh, members come and go", 5e-6),
    ("members: logistic, finite", 5e-6),
    ("members: poisson, finite", 5e-6),
    ("members: logistic, tables", 5e-6),
    ("members: poisson, tables", 5e-6),
    ("members: a reference far away", 5e-6),
    ("exact start: reference_mh on supports, thinned", 5e-6),
    ("exact start: reference_mh on supports, scan", 5e-6),
    ("exact start: reference_mh on supports, delayed", 5e-6),
    ("sbc: reference_mh, logistic", 5e-6),
    ("sbc: reference_mh, poisson", 5e-6),
    ("sbc: reference_mh, normal", 5e-6),
    ("sbc: reference_mh, student_t", 5e-6),
    ("sbc: reference_mh, negative binomial", 5e-6),
    ("exact start: control variates of order 0", 5e-6),
    ("exact start: control variates of order 1", 5e-6),
    ("exact start: control variates of order 2", 5e-6),
    ("exact start: patches, coins", 5e-6),
    ("exact start: patches, counts", 5e-6),
    ("exact start: patches and (mh default one 3)", 5e-6),
    ("exact start: patches and (nuts default all 'step 0.3 1)", 5e-6),
    ("one step of random programs: default kernel", 1e-4),
    ("one step of random programs: other kernels", 1e-4),
    ("kit: exact start", 5e-6),
    ("kit: geweke", 5e-6),
    ("kit: sbc", 5e-6),
];

/// At a first p-value below this there is a second look.
const FIRST_LOOK: f64 = 0.01;

/// How many times the draws a second look takes.
const SECOND_LOOK: usize = 10;

/// The α of a test.
///
/// # Panics
/// If it has none.
pub fn alpha(test: &str) -> f64 {
    let declared = DECLARED.iter().find(|(name, _)| *name == test);
    declared.unwrap_or_else(|| panic!("the test `{test}` has no declared α")).1
}

/// A seed for a test, the same in every run unless `SMIDGEN_SEED` says otherwise (FNV-1a).
pub fn seed(test: &str) -> u64 {
    let fresh = std::env::var("SMIDGEN_SEED").ok().and_then(|text| text.parse::<u64>().ok());
    let start = 0xcbf2_9ce4_8422_2325 ^ fresh.unwrap_or(0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    test.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What became of a test: the p-value of the last look.
#[derive(Debug)]
pub struct Verdict {
    pub fails: bool,
    pub p_value: PValue,
    pub looks: usize,
}

/// Two looks at a test, which is given a number of draws and a seed.
pub fn judge(test: &str, draws: usize, mut look: impl FnMut(usize, u64) -> PValue) -> Verdict {
    let seed = seed(test);
    let first = look(draws, seed);
    if first.p >= FIRST_LOOK {
        return Verdict { fails: false, p_value: first, looks: 1 };
    }
    let second = look(SECOND_LOOK * draws, seed.wrapping_add(1 << 40));
    Verdict { fails: second.p < alpha(test), p_value: second, looks: 2 }
}

/// # Panics
/// If the test fails.
pub fn demand(test: &str, draws: usize, look: impl FnMut(usize, u64) -> PValue) {
    let verdict = judge(test, draws, look);
    assert!(!verdict.fails, "{test}: p = {:.3e}: {}", verdict.p_value.p, verdict.p_value.report);
}

/// # Panics
/// If the test does not notice a mistake that was made on purpose.
pub fn catches(test: &str, twin: &str, draws: usize, look: impl FnMut(usize, u64) -> PValue) {
    let verdict = judge(test, draws, look);
    assert!(
        verdict.fails,
        "{test} does not notice its broken twin ({twin}): p = {:.3e}: {}",
        verdict.p_value.p, verdict.p_value.report
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pvalue;
    use smidgen_value::Rng;

    #[test]
    fn the_suite_stays_within_its_budget() {
        let total: f64 = DECLARED.iter().map(|(_, alpha)| alpha).sum();
        assert!(total <= 1e-3, "{total}");
        let names: std::collections::BTreeSet<_> = DECLARED.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), DECLARED.len(), "each test is declared once");
    }

    #[test]
    fn a_right_test_passes_and_a_wrong_one_fails() {
        let look = |bend: f64| {
            move |n: usize, seed: u64| {
                let mut rng = Rng::from_seed(seed);
                let xs: Vec<f64> = (0..n).map(|_| rng.uniform() * bend).collect();
                pvalue::ks(&xs, |x| x.clamp(0.0, 1.0))
            }
        };
        demand("kit: exact start", 500, look(1.0));
        catches("kit: exact start", "draws up to .9 only", 500, look(0.9));
        assert_eq!(judge("kit: exact start", 500, look(0.9)).looks, 2);
    }

    #[test]
    #[should_panic(expected = "no declared")]
    fn an_undeclared_test_is_refused() {
        judge("nobody knows me", 1, |_, _| PValue::new(0.0, ""));
    }
}
