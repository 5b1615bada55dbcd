//! What can be said about draws that are seen once and not kept: of one scalar of one chain, in memory that does not grow.
//!
//! Exact are the number, mean, sd and extremes. The draws are added up in batches of equal length b, at most [`MOST`] of them; when
//! there are so many, neighbours are joined and b doubles. A batch is its number n, mean m and sum of squares about it M; two
//! are joined by n = n₁ + n₂, m = m₁ + n₂/n (m₂ − m₁), M = M₁ + M₂ + n₁n₂/n (m₂ − m₁)². From the batches of the chains come
//!
//! * the Monte Carlo error of the mean: batch means vary by σ²/b once b is longer than the chain remembers, so the variance
//!   of a chain's mean is that of its batch means over their number;
//! * split R-hat (without ranks), the halves cut between batches.
//!
//! Both hold from a few hundred draws on, with a relative error of the first of 1/√(2 · 256) and less. A chain that remembers more than
//! n / 256 draws has a larger error than is said here; R-hat shows it.
//!
//! Cost: a division and a few products per draw, 12 KiB per scalar and chain.

/// Batches at most; from half of them on.
const MOST: usize = 512;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Batch {
    n: u64,
    mean: f64,
    /// The sum of squares about the mean.
    squares: f64,
}

impl Batch {
    fn push(&mut self, x: f64) {
        self.n += 1;
        let before = x - self.mean;
        self.mean += before / self.n as f64;
        self.squares += before * (x - self.mean);
    }

    fn with(self, other: Batch) -> Batch {
        if self.n == 0 || other.n == 0 {
            return if self.n == 0 { other } else { self };
        }
        let n = self.n + other.n;
        let (apart, share) = (other.mean - self.mean, other.n as f64 / n as f64);
        Batch {
            n,
            mean: self.mean + apart * share,
            squares: self.squares + other.squares + apart * apart * self.n as f64 * share,
        }
    }

    fn variance(&self) -> f64 {
        self.squares / (self.n as f64 - 1.0)
    }
}

fn joined<'b>(batches: impl IntoIterator<Item = &'b Batch>) -> Batch {
    batches.into_iter().fold(Batch::default(), |sum, batch| sum.with(*batch))
}

/// The draws of one scalar in one chain, added up.
#[derive(Clone, Debug, PartialEq)]
pub struct Online {
    batches: Vec<Batch>,
    /// Draws in a full batch.
    size: u64,
    least: f64,
    most: f64,
}

impl Default for Online {
    fn default() -> Online {
        Online { batches: Vec::new(), size: 1, least: f64::INFINITY, most: f64::NEG_INFINITY }
    }
}

impl Online {
    pub fn push(&mut self, x: f64) {
        self.least = self.least.min(x);
        self.most = self.most.max(x);
        if self.batches.last().is_none_or(|last| last.n >= self.size) {
            if self.batches.len() == MOST {
                self.batches = self.batches.chunks(2).map(joined).collect();
                self.size *= 2;
            }
            self.batches.push(Batch::default());
        }
        self.batches.last_mut().expect("there is one now").push(x);
    }

    pub fn count(&self) -> u64 {
        self.batches.iter().map(|batch| batch.n).sum()
    }

    /// Batches that are full.
    fn whole(&self) -> &[Batch] {
        let is_cut = self.batches.last().is_some_and(|last| last.n < self.size);
        &self.batches[..self.batches.len() - usize::from(is_cut)]
    }

    /// The variance of the mean.
    fn variance_of_mean(&self) -> f64 {
        let mut means = Batch::default();
        self.whole().iter().for_each(|batch| means.push(batch.mean));
        means.variance() / means.n as f64 * (self.whole().len() as u64 * self.size) as f64
            / self.count() as f64
    }
}

/// What is said about a scalar from its chains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    pub count: u64,
    pub mean: f64,
    pub sd: f64,
    pub least: f64,
    pub most: f64,
    /// The Monte Carlo error of the mean.
    pub mcse: f64,
    /// Split R-hat; NaN for a single chain.
    pub r_hat: f64,
}

/// Those of all chains that have draws.
pub fn moments(chains: &[&Online]) -> Moments {
    let drawn: Vec<&Online> =
        chains.iter().copied().filter(|chain| !chain.batches.is_empty()).collect();
    let all = joined(drawn.iter().flat_map(|chain| &chain.batches));
    let count = all.n as f64;
    let error = |chain: &&Online| {
        let n = chain.count() as f64;
        chain.variance_of_mean() * n * n
    };
    Moments {
        count: all.n,
        mean: if all.n == 0 { f64::NAN } else { all.mean },
        sd: all.variance().sqrt(),
        least: drawn.iter().map(|chain| chain.least).fold(f64::INFINITY, f64::min),
        most: drawn.iter().map(|chain| chain.most).fold(f64::NEG_INFINITY, f64::max),
        mcse: (drawn.iter().map(error).sum::<f64>() / (count * count)).sqrt(),
        r_hat: r_hat(&drawn),
    }
}

fn r_hat(chains: &[&Online]) -> f64 {
    if chains.len() < 2 {
        return f64::NAN;
    }
    let halves = chains.iter().flat_map(|chain| {
        let whole = chain.whole();
        let (first, second) = whole.split_at(whole.len() / 2);
        [joined(first), joined(second)]
    });
    let (mut means, mut within, mut n) = (Batch::default(), 0.0, 0.0);
    for half in halves {
        means.push(half.mean);
        within += half.variance();
        n += half.n as f64;
    }
    let (within, n) = (within / means.n as f64, n / means.n as f64);
    ((n * means.variance() / within + n - 1.0) / n).sqrt()
}

#[cfg(test)]
mod tests {
    use smidgen_value::Rng;

    use super::*;
    use crate::diagnostics::{mcse_mean, mean_and_sd, r_hat};

    /// Chains x' = a x + noise, around centres that may differ.
    fn chains(n: usize, a: f64, apart: f64) -> Vec<Vec<f64>> {
        let chain = |k: usize| {
            let mut rng = Rng::from_seed(k as u64);
            let mut x = 0.0;
            let noise = (1.0 - a * a).sqrt();
            let draw = |_| {
                // Nearly normal, without tails.
                let z = (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0;
                x = a * x + noise * z;
                1e6 + x + apart * k as f64
            };
            (0..n).map(draw).collect()
        };
        (0..4).map(chain).collect()
    }

    fn online(chains: &[Vec<f64>]) -> Vec<Online> {
        let of = |chain: &Vec<f64>| {
            let mut online = Online::default();
            chain.iter().for_each(|x| online.push(*x));
            online
        };
        chains.iter().map(of).collect()
    }

    #[test]
    fn mean_and_sd_are_those_of_all_draws() {
        for n in [1, 2, 511, 512, 513, 100_000] {
            let chains = chains(n, 0.9, 0.1);
            let online = online(&chains);
            let said = moments(&online.iter().collect::<Vec<_>>());
            let (mean, sd) = mean_and_sd(&chains.concat());
            assert!((said.mean / mean - 1.0).abs() < 1e-12, "{n}: {} {mean}", said.mean);
            assert!((said.sd / sd - 1.0).abs() < 1e-9, "{n}: {} {sd}", said.sd);
            let all = chains.concat();
            assert_eq!(said.least, all.iter().copied().fold(f64::INFINITY, f64::min));
            assert_eq!(said.most, all.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            assert_eq!(said.count, 4 * n as u64);
        }
    }

    #[test]
    fn errors_and_agreement_are_nearly_those_of_all_draws() {
        for (a, apart) in [(0.0, 0.0), (0.5, 0.0), (0.95, 0.0), (0.5, 0.05), (0.0, 0.5)] {
            let chains = chains(200_000, a, apart);
            let online = online(&chains);
            let said = moments(&online.iter().collect::<Vec<_>>());
            let exact = r_hat(&chains);
            assert!((said.r_hat - exact).abs() < 0.005, "{a} {apart}: {} {exact}", said.r_hat);
            if apart == 0.0 {
                // Twice 1024 batches: a relative error of 2 %, so six of them, and that of the other estimate.
                let exact = mcse_mean(&chains);
                assert!((said.mcse / exact - 1.0).abs() < 0.15, "{a}: {} {exact}", said.mcse);
            }
        }
    }

    /// A twin that forgets how far the joined batches are apart has too small an sd, and is noticed.
    #[test]
    fn batches_that_are_joined_without_their_distance_would_be_noticed() {
        let all = chains(100_000, 0.9, 0.1).concat();
        let mut online = Online::default();
        all.iter().for_each(|x| online.push(*x));
        let twin = online.batches.iter().map(|batch| batch.squares).sum::<f64>() / all.len() as f64;
        let (_, sd) = mean_and_sd(&all);
        assert!((twin.sqrt() / sd - 1.0).abs() > 1e-3, "{} {sd}", twin.sqrt());
    }

    #[test]
    fn memory_does_not_grow() {
        let mut online = Online::default();
        (0..1_000_000).for_each(|k| online.push(f64::from(k % 1000)));
        assert!(online.batches.len() <= MOST && online.batches.capacity() <= 2 * MOST);
        assert_eq!(online.count(), 1_000_000);
    }

    #[test]
    fn what_is_no_number_is_said() {
        let mut online = Online::default();
        assert!(moments(&[&online]).mean.is_nan());
        online.push(f64::NAN);
        online.push(1.0);
        assert!(moments(&[&online]).mean.is_nan());
    }
}
