//! Conditional sequential Monte Carlo: which particle goes on from which, and which one stays.
//!
//! At each step every new particle draws its ancestor with probability ∝ w_{t−1}, the reference
//! included. The reference goes on from itself or, with ancestor sampling, from a particle drawn
//! with probability ∝ w_{t−1}^i γ(path_i, ref_t..T)/γ(path_i). At the end one particle is drawn
//! with probability ∝ w_T. Leaves p(block | rest) invariant for two particles or more.

use smidgen_engine::{EvalError, Particles};
use smidgen_value::{Rng, math};

/// Draws with probabilities that are given as log weights: at random ([`Multinomial`]) or, to know all that
/// can happen, one possibility after the other.
pub trait Resampler {
    /// False if all weights are 0.
    fn weigh(&mut self, log_weights: &[f64]) -> bool;

    /// One of those weighed last.
    fn draw(&mut self, rng: &mut Rng) -> usize;
}

/// Runs all steps. The particle whose path is to be the new state; none if every path is
/// impossible, the reference too: then the state stays as it is.
pub fn conditional_smc(
    system: &mut dyn Particles,
    particles: usize,
    lots: &mut dyn Resampler,
    rng: &mut Rng,
) -> Result<Option<usize>, EvalError> {
    let reference = particles - 1;
    let mut log_weights = vec![0.0; particles];
    let mut log_future = vec![0.0; particles];
    let mut ancestors = vec![reference as u32; particles];
    for t in 0..system.steps() {
        if t > 0 {
            if !lots.weigh(&log_weights) {
                return Ok(None);
            }
            for ancestor in &mut ancestors[..reference] {
                *ancestor = lots.draw(rng) as u32;
            }
            if system.looks_ahead() {
                system.look_ahead(t, &mut log_future)?;
                for (log_future, log_weight) in log_future.iter_mut().zip(&log_weights) {
                    *log_future += log_weight;
                }
                if !lots.weigh(&log_future) {
                    return Ok(None);
                }
                ancestors[reference] = lots.draw(rng) as u32;
            }
        }
        system.advance(t, &ancestors, rng, &mut log_weights)?;
    }
    Ok(lots.weigh(&log_weights).then(|| lots.draw(rng)))
}

/// At random.
#[derive(Default)]
pub struct Multinomial {
    cumulative: Vec<f64>,
}

impl Resampler for Multinomial {
    fn weigh(&mut self, log_weights: &[f64]) -> bool {
        let largest = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.cumulative.clear();
        if largest == f64::NEG_INFINITY {
            return false;
        }
        let mut sum = 0.0;
        self.cumulative.extend(log_weights.iter().map(|log_weight| {
            // Densities may be infinite: then only those count.
            sum += match largest == f64::INFINITY {
                true => f64::from(u8::from(*log_weight == largest)),
                false => math::exp(log_weight - largest),
            };
            sum
        }));
        true
    }

    fn draw(&mut self, rng: &mut Rng) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(0.0);
        let u = rng.uniform() * total;
        let found = self.cumulative.partition_point(|sum| *sum <= u);
        // Rounding may give the total itself: then the last of positive weight.
        match found < self.cumulative.len() {
            true => found,
            false => self.cumulative.partition_point(|sum| *sum < total),
        }
    }
}
