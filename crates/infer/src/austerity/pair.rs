//! What the test does to one proposal (θ, θ'), whatever u is drawn.
//!
//! With u the margin is μ_std(u) = (log α − log u) √(N − 1)/(N σ_l). With E and π̄ the error and
//! usage at a margin, the error of the acceptance probability P_a = min(1, α) is
//!
//!   Δ = ∫_{P_a}^1 E(μ_std(u)) du − ∫_0^{P_a} E(μ_std(u)) du,
//!
//! the probability of a wrong decision ∫_0^1 E du, the usage ∫_0^1 π̄ du. E and π̄ peak at u = P_a,
//! the more narrowly the smaller N σ_l: the 32 Gauss–Legendre nodes on either side are gathered
//! there by u = P_a + (end − P_a) s³.

use smidgen_value::{bytes_of_fields, math};
use std::sync::LazyLock;

use super::quadrature::GaussLegendre;
use super::table::ErrorTable;

static RULE: LazyLock<GaussLegendre> = LazyLock::new(|| GaussLegendre::new(32));

/// A proposal: its exact log acceptance ratio and the spread of its log weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub log_alpha: f64,
    /// Standard deviation of the l_i with divisor N.
    pub sigma_l: f64,
    pub population: usize,
}

bytes_of_fields!(Pair { log_alpha, sigma_l, population });

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairOutcome {
    /// The exact acceptance probability.
    pub p_accept: f64,
    /// How much larger the acceptance probability of the test is.
    pub delta: f64,
    /// The probability of a wrong decision.
    pub error: f64,
    /// The expected share of the population that is read.
    pub usage: f64,
}

impl Pair {
    /// The margin at a given u.
    pub fn mu_std(&self, log_u: f64) -> f64 {
        let n = self.population as f64;
        (self.log_alpha - log_u) * math::sqrt(n - 1.0) / (n * self.sigma_l)
    }
}

/// The table must be that of the pair's population.
pub fn pair_outcome(table: &ErrorTable, pair: &Pair) -> PairOutcome {
    let p_accept = math::exp(pair.log_alpha.min(0.0));
    // Without spread the test never stops; with an infinite one nothing can be said but that.
    if !(pair.sigma_l > 0.0 && pair.sigma_l.is_finite()) || pair.population < 2 {
        return PairOutcome { p_accept, delta: 0.0, error: 0.0, usage: 1.0 };
    }
    if pair.log_alpha.is_infinite() {
        let usage = table.at(f64::INFINITY).usage;
        return PairOutcome { p_accept, delta: 0.0, error: 0.0, usage };
    }
    let (wrong_rejections, usage_below) = integrate(table, pair, p_accept, 0.0);
    let (wrong_acceptances, usage_above) = integrate(table, pair, p_accept, 1.0);
    PairOutcome {
        p_accept,
        delta: wrong_acceptances - wrong_rejections,
        error: wrong_acceptances + wrong_rejections,
        usage: usage_below + usage_above,
    }
}

/// Error and usage integrated over u between `p_accept` and `end`.
fn integrate(table: &ErrorTable, pair: &Pair, p_accept: f64, end: f64) -> (f64, f64) {
    let length = end - p_accept;
    let (mut error, mut usage) = (0.0, 0.0);
    for (s, weight) in RULE.between(0.0, 1.0) {
        let u = p_accept + length * s * s * s;
        let outcome = table.at(pair.mu_std(math::ln(u)));
        let weight = weight * 3.0 * s * s * length.abs();
        error += weight * outcome.error;
        usage += weight * outcome.usage;
    }
    (error, usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::austerity::Schedule;

    #[test]
    fn acceptance_errors_match_the_theory() {
        // theory 3.4: N = 10 000, m = 500
        for (noise, log_alpha, epsilon, want) in [
            (20.0, -2.0, 0.05, [0.1353, 0.00293, 0.01333, 0.1536]),
            (20.0, -0.5, 0.05, [0.6065, 0.00612, 0.05273, 0.3302]),
            (20.0, 0.0, 0.05, [1.0, -0.03842, 0.03842, 0.2613]),
            (100.0, -2.0, 0.05, [0.1353, 0.04359, 0.07499, 0.4463]),
            (100.0, -2.0, 0.01, [0.1353, 0.00800, 0.01532, 0.6616]),
            (100.0, -0.5, 0.05, [0.6065, 0.00190, 0.14263, 0.5551]),
        ] {
            let table = ErrorTable::new(10_000, &Schedule::new(500, 1.0), epsilon);
            let pair = Pair { log_alpha, sigma_l: noise / 10_000.0, population: 10_000 };
            let got = pair_outcome(&table, &pair);
            assert!((got.p_accept - want[0]).abs() < 5e-5);
            let got = [got.p_accept, got.delta, got.error, got.usage];
            for (got, want) in got.into_iter().zip(want).skip(1) {
                assert!(
                    (got - want).abs() < 2e-5 + 1e-3 * want.abs(),
                    "{noise} {log_alpha} {epsilon}: {got} for {want}"
                );
            }
        }
    }

    #[test]
    fn sections_read_match_the_theory() {
        // theory 3.5: ε = .01, m = 100, g = 1.2; a fixed pair, and a proposal that tracks the
        // posterior
        for (n, fixed, tracking) in [
            (1e3, 391.0, 824.0),
            (1e4, 565.0, 7554.0),
            (1e5, 598.0, 70_367.0),
            (1e6, 601.0, 644_136.0),
        ] {
            let population = n as usize;
            let table = ErrorTable::new(population, &Schedule::new(100, 1.2), 0.01);
            let read = |log_alpha: f64, sigma_l: f64| {
                n * pair_outcome(&table, &Pair { log_alpha, sigma_l, population }).usage
            };
            let got = read(-0.01 * n, 0.1);
            assert!((got - fixed).abs() < 0.6, "{n}: {got} for {fixed}");
            let got = read(-1.0, 1.0 / math::sqrt(n));
            assert!((got / tracking - 1.0).abs() < 2e-3, "{n}: {got} for {tracking}");
        }
    }

    #[test]
    fn a_narrow_peak_is_not_missed() {
        // N σ_l = 1: the peak at P_a is a thousandth wide
        let (population, n) = (1_000_000, 1e6);
        let table = ErrorTable::new(population, &Schedule::new(100, 1.2), 0.01);
        let pair = Pair { log_alpha: -1.0, sigma_l: 1.0 / n, population };
        let cells = 1_000_000;
        let at = |i: usize| table.at(pair.mu_std(math::ln((i as f64 + 0.5) / cells as f64)));
        let usage = (0..cells).map(|i| at(i).usage).sum::<f64>() / cells as f64;
        let error = (0..cells).map(|i| at(i).error).sum::<f64>() / cells as f64;
        let got = pair_outcome(&table, &pair);
        assert!((got.usage / usage - 1.0).abs() < 2e-3, "{got:?} {usage}");
        assert!((got.error / error - 1.0).abs() < 5e-3, "{got:?} {error}");
    }

    #[test]
    fn pairs_without_a_test() {
        let table = ErrorTable::new(1000, &Schedule::new(100, 1.0), 0.05);
        let pair = |log_alpha, sigma_l| {
            pair_outcome(&table, &Pair { log_alpha, sigma_l, population: 1000 })
        };
        let flat = pair(-1.0, 0.0);
        assert_eq!((flat.delta, flat.error, flat.usage), (0.0, 0.0, 1.0));
        assert_eq!(pair(-1.0, f64::NAN).usage, 1.0);
        let hopeless = pair(f64::NEG_INFINITY, 0.1);
        assert_eq!((hopeless.p_accept, hopeless.error), (0.0, 0.0));
        assert!((hopeless.usage - 0.1).abs() < 1e-9);
        assert!((pair(f64::INFINITY, 0.1).usage - 0.1).abs() < 1e-9);
    }
}
