//! Simulation-based calibration (Talts, Betancourt, Simpson, Vehtari, Gelman 2018): θ ~ prior, y ~ p(y | θ), L draws
//! from the posterior given y. The rank of θ among them is uniform on 0, ..., L if program and sampler agree.
//!
//! Three tests look at the ranks of each quantity, as u = (r + ½)/(L + 1): χ² over bins (any departure), the mean
//! of u (draws too high or too low), the mean of (u − ½)² (draws too narrow or too wide). With k quantities the smallest of
//! the 3k p-values, times 3k, is below α with a probability of at most α if all is right.

use smidgen_value::math;

/// The probability of an alarm about a program that is right.
pub const FALSE_ALARM: f64 = 0.01;
/// Bins of the χ² test.
const BINS: usize = 8;

/// The ranks of one quantity over all simulations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranks {
    pub name: String,
    /// Each from 0 to `most`.
    pub ranks: Vec<usize>,
    pub most: usize,
}

/// What the tests say about one quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct RankTest {
    pub name: String,
    /// The smallest of the three p-values, times three.
    pub p: f64,
    /// Mean of u minus ½, in standard errors: positive if the truth tends to lie above the draws.
    pub shift: f64,
    /// Mean of (u − ½)² minus its expectation, in standard errors: positive if the truth tends to lie far out,
    /// where the draws are too narrow.
    pub spread: f64,
}

impl RankTest {
    /// What the ranks look like, in words.
    pub fn words(&self) -> &'static str {
        match (self.shift, self.spread) {
            (shift, spread) if shift.abs() >= spread.abs() => match shift > 0.0 {
                true => "the draws are too low",
                false => "the draws are too high",
            },
            (_, spread) if spread > 0.0 => "the draws are too narrow",
            _ => "the draws are too wide",
        }
    }
}

impl Ranks {
    fn uniforms(&self) -> impl Iterator<Item = f64> {
        self.ranks.iter().map(|r| (*r as f64 + 0.5) / (self.most as f64 + 1.0))
    }

    /// How many ranks fall into each of so many bins.
    pub fn counts(&self, bins: usize) -> Vec<usize> {
        let mut counts = vec![0; bins];
        for u in self.uniforms() {
            counts[((u * bins as f64) as usize).min(bins - 1)] += 1;
        }
        counts
    }

    pub fn test(&self) -> RankTest {
        let n = self.ranks.len() as f64;
        let values = self.most as f64 + 1.0;
        // Of u on the midpoints of `values` equal parts.
        let variance = (1.0 - 1.0 / (values * values)) / 12.0;
        let mean = self.uniforms().map(|u| u - 0.5).sum::<f64>() / n;
        let shift = mean / math::sqrt(variance / n);
        let square = |u: f64| (u - 0.5) * (u - 0.5);
        let parts = (0..=self.most).map(|r| square((r as f64 + 0.5) / values));
        let fourth = parts.map(|x| (x - variance) * (x - variance)).sum::<f64>() / values;
        let spread =
            (self.uniforms().map(square).sum::<f64>() / n - variance) / math::sqrt(fourth / n);
        let two_sided = |z: f64| math::erfc(z.abs() * std::f64::consts::FRAC_1_SQRT_2);
        let least = self.chi_square().min(two_sided(shift)).min(two_sided(spread));
        RankTest { name: self.name.clone(), p: (3.0 * least).min(1.0), shift, spread }
    }

    fn chi_square(&self) -> f64 {
        let bins = BINS.min(self.most + 1);
        let mut expected = vec![0.0; bins];
        for r in 0..=self.most {
            let u = (r as f64 + 0.5) / (self.most as f64 + 1.0);
            expected[((u * bins as f64) as usize).min(bins - 1)] += 1.0 / (self.most as f64 + 1.0);
        }
        let n = self.ranks.len() as f64;
        let cells = self.counts(bins).into_iter().zip(expected);
        let statistic: f64 = cells.map(|(count, p)| (count as f64 - n * p).powi(2) / (n * p)).sum();
        1.0 - math::gamma_p(0.5 * (bins - 1) as f64, 0.5 * statistic)
    }
}

/// The tests of all quantities, worst first, and the probability of something as bad by chance.
pub fn judge(ranks: &[Ranks]) -> (Vec<RankTest>, f64) {
    let mut tests: Vec<RankTest> = ranks.iter().map(Ranks::test).collect();
    tests.sort_by(|a, b| a.p.total_cmp(&b.p));
    let least = tests.first().map_or(1.0, |test| test.p);
    (tests, (least * ranks.len() as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(of: impl Fn(f64) -> f64) -> Ranks {
        let uniform = |k: usize| ((k + 1) as f64 * 0.618_033_988_749_894_9).fract();
        let ranks = (0..400).map(|k| (of(uniform(k)) * 32.0) as usize).collect();
        Ranks { name: "x".to_owned(), ranks, most: 31 }
    }

    #[test]
    fn what_is_not_uniform_is_noticed_and_named() {
        assert!(ranks(|u| u).test().p > 0.5);
        let low = ranks(|u| math::pow(u, 1.3)).test();
        assert!(low.p < 1e-3 && low.words() == "the draws are too high", "{low:?}");
        let narrow = ranks(|u| (1.0 - math::cos(math::PI * u)) / 2.0 * 0.999).test();
        assert!(narrow.p < 1e-6 && narrow.words() == "the draws are too narrow", "{narrow:?}");
        let wide = ranks(|u| 0.5 + 0.8 * (u - 0.5)).test();
        assert!(wide.p < 1e-3 && wide.words() == "the draws are too wide", "{wide:?}");
        let (tests, p) = judge(&[ranks(|u| u), ranks(|u| u * u)]);
        assert!(p < 1e-6 && tests[0].p < tests[1].p);
    }

    /// Over many sets of uniform ranks an alarm comes about as often as it may.
    #[test]
    fn false_alarms_are_rare() {
        let mut state = 9u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % 32
        };
        let mut alarms = 0;
        for _ in 0..2000 {
            let set =
                Ranks { name: String::new(), ranks: (0..100).map(|_| next()).collect(), most: 31 };
            alarms += usize::from(judge(&[set]).1 < 0.05);
        }
        assert!((20..=110).contains(&alarms), "{alarms} of 2000 at 5%");
    }
}
