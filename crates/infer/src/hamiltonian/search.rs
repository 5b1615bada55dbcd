//! The usual search for a first step size: doubled or halved until one leapfrog step is accepted about
//! as often as wanted. From several momenta, because one that happens to lead uphill would admit any
//! step; the smallest is taken.
//!
//! A single step says little where the start lies far out: a step that is too large for the middle leads there at once, and
//! is welcome. So a few trajectories of some steps have to keep the energy too; otherwise the step is halved. Without this a
//! chain that learns nothing, because it has no warm-up, would diverge from such a start for ever.

use smidgen_value::{Rng, math};

use super::Point;
use super::metric::Metric;
use super::trajectory::{LogDensity, Sampler};

const MOMENTA: usize = 8;
const FIRST: f64 = 0.1;
/// Doublings or halvings after which any step will do.
const TRIES: usize = 60;
/// Trajectories that have to keep the energy, their steps, and what they may lose of it.
const TRAJECTORIES: usize = 4;
const STEPS: usize = 8;
const MOST_LOST: f64 = 5.0;

impl Sampler {
    pub fn search_step(
        &mut self,
        log_density: &mut LogDensity<'_>,
        metric: &Metric,
        start: &Point,
        target: f64,
        rng: &mut Rng,
    ) -> f64 {
        let mut least = f64::INFINITY;
        for _ in 0..MOMENTA {
            self.begin(metric, start, rng);
            least = self.search_once(log_density, metric, target).min(least);
        }
        for _ in 0..TRIES {
            let keeps_energy = (0..TRAJECTORIES).all(|_| {
                self.begin(metric, start, rng);
                self.least_gain(log_density, metric, least, STEPS) > -MOST_LOST
            });
            if keeps_energy {
                break;
            }
            least *= 0.5;
        }
        least
    }

    fn search_once(
        &mut self,
        log_density: &mut LogDensity<'_>,
        metric: &Metric,
        target: f64,
    ) -> f64 {
        let mut is_accepted = |h: f64| {
            let gain = self.gain_of_one_step(log_density, metric, h);
            math::exp(gain.min(0.0)) > target
        };
        let mut h = FIRST;
        let grows = is_accepted(h);
        for _ in 0..TRIES {
            h *= if grows { 2.0 } else { 0.5 };
            if is_accepted(h) != grows {
                break;
            }
        }
        h
    }
}
