//! The usual search for a first step size: doubled or halved until one leapfrog step is accepted about
//! as often as wanted. From several momenta, because one that happens to lead uphill would admit any
//! step; the smallest is taken.

use smidgen_value::{Rng, math};

use super::Point;
use super::metric::Metric;
use super::trajectory::{LogDensity, Sampler};

const MOMENTA: usize = 8;
const FIRST: f64 = 0.1;
/// Doublings or halvings after which any step will do.
const TRIES: usize = 60;

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
