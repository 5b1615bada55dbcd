//! Simulation-based calibration: θ ~ prior, y ~ p(y|θ), L posterior draws; the rank of θ among
//! them is uniform on 0..=L. Draws have to be thinned to near independence before ranking (an
//! autocorrelated chain gives a ∪ even if it is right). Ties are broken at random.

use smidgen_value::{Rng, Value};

use crate::invariance::Story;
use crate::pvalue::{PValue, uniform_ranks};
use crate::world::World;

/// The rank of θ among posterior draws, ties broken at random.
pub fn rank(theta: f64, draws: &[f64], rng: &mut Rng) -> usize {
    let below = draws.iter().filter(|x| **x < theta).count();
    let ties = draws.iter().filter(|x| **x == theta).count();
    below + rng.below(ties + 1)
}

/// `replicate` gives θ and its L posterior draws from a seed.
pub fn sbc(
    replicates: usize,
    bins: usize,
    seed: u64,
    mut replicate: impl FnMut(u64) -> (f64, Vec<f64>),
) -> PValue {
    let mut rng = Rng::for_chain(seed, 1);
    let mut most = 0;
    let ranks: Vec<usize> = (0..replicates as u64)
        .map(|k| {
            let (theta, draws) = replicate(seed.wrapping_add(k));
            most = draws.len();
            rank(theta, &draws, &mut rng)
        })
        .collect();
    uniform_ranks(&ranks, most, bins)
}

impl Story<'_> {
    /// Calibration of a kernel for the first thing looked at. The chain starts at a fresh draw
    /// from the prior; each of the 15 draws is `thin` steps after the one before, the first after
    /// five times as many.
    pub fn sbc(
        &self,
        replicates: usize,
        seed: u64,
        thin: usize,
        mut kernel: impl FnMut(&mut World),
    ) -> PValue {
        sbc(replicates, 16, seed, |seed| {
            let mut truth = World::new(self.prior, seed.wrapping_mul(2));
            let data: Vec<Value> = self.data.iter().map(|expr| truth.value(expr)).collect();
            let theta = truth.number(self.look[0]);
            let mut world = World::new(self.prior, seed.wrapping_mul(2).wrapping_add(1));
            for (k, (expr, value)) in self.data.iter().zip(data).enumerate() {
                world.observe(expr, value, &format!("y{k}"));
            }
            let mut draws = Vec::new();
            for k in 0..15 {
                let steps = if k == 0 { 5 * thin } else { thin };
                (0..steps).for_each(|_| kernel(&mut world));
                draws.push(world.number(self.look[0]));
            }
            (theta, draws)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{catches, demand};
    use smidgen_infer::proposer::standard_normal;

    fn normal(scale: f64) -> impl FnMut(usize, u64) -> PValue {
        move |replicates, seed| {
            sbc(replicates, 16, seed, |seed| {
                let mut rng = Rng::for_chain(seed, 2);
                let theta = standard_normal(&mut rng);
                let y = theta + standard_normal(&mut rng);
                let sd = (0.5 * scale).sqrt();
                (theta, (0..63).map(|_| 0.5 * y + sd * standard_normal(&mut rng)).collect())
            })
        }
    }

    #[test]
    fn a_variance_too_large_is_noticed() {
        demand("kit: sbc", 1000, normal(1.0));
        catches("kit: sbc", "posterior variance times 1.3", 1000, normal(1.3));
    }

    #[test]
    fn ties_are_broken_evenly() {
        let mut rng = Rng::from_seed(5);
        let ranks: Vec<usize> = (0..4000).map(|_| rank(1.0, &[1.0, 1.0, 1.0], &mut rng)).collect();
        assert!(uniform_ranks(&ranks, 3, 4).p > 1e-4);
        assert_eq!(rank(2.0, &[1.0, 3.0, 1.5], &mut rng), 2);
    }
}
