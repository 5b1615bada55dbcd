//! Categorical choices in many lanes: log w_x − log Σ w, with the weights as they are or by their logarithms. Lanes run
//! in the inner loops, weights in the outer ones.

use smidgen_prob::distributions::categorical::log_share;
use smidgen_value::{Link, math};

use crate::program::Register;

/// The weights in all lanes.
pub(super) struct Weights<'a> {
    pub below: &'a [f64],
    pub stride: usize,
    pub lanes: usize,
    pub registers: &'a [Register],
    /// What they are given by.
    pub link: Option<Link>,
}

impl Weights<'_> {
    fn of(&self, k: usize) -> &[f64] {
        let at = self.registers[k] as usize * self.stride;
        &self.below[at..at + self.lanes]
    }

    /// The number of the weight that an index names.
    fn index(&self, x: f64) -> Option<usize> {
        let is_index = x >= 0.0 && x.fract() == 0.0 && x < self.registers.len() as f64;
        is_index.then_some(x as usize)
    }

    /// log p of the indices x. `totals` is left with Σ w, or with the largest logarithm and Σ w over its weight.
    pub(super) fn log_shares(&self, x: &[f64], out: &mut [f64], totals: &mut Vec<f64>) {
        totals.clear();
        match self.link {
            None => self.of_plain(x, out, totals),
            Some(_) => self.of_logs(x, out, totals),
        }
    }

    fn of_plain(&self, x: &[f64], out: &mut [f64], totals: &mut Vec<f64>) {
        totals.resize(self.lanes, 0.0);
        for k in 0..self.registers.len() {
            for (total, w) in totals.iter_mut().zip(self.of(k)) {
                // A negative weight makes the total no number, and with it the density.
                *total += if *w >= 0.0 { *w } else { f64::NAN };
            }
        }
        for (l, (out, x)) in out.iter_mut().zip(x).enumerate() {
            let is_valid = totals[l] > 0.0 && totals[l] < f64::INFINITY;
            *out = match self.index(*x).filter(|_| is_valid) {
                Some(k) => log_share(self.of(k)[l], totals[l]),
                None => f64::NEG_INFINITY,
            };
        }
    }

    fn of_logs(&self, x: &[f64], out: &mut [f64], totals: &mut Vec<f64>) {
        totals.resize(self.lanes, f64::NEG_INFINITY);
        totals.resize(2 * self.lanes, 0.0);
        let (largest, sums) = totals.split_at_mut(self.lanes);
        for k in 0..self.registers.len() {
            for (largest, log_w) in largest.iter_mut().zip(self.of(k)) {
                // Not f64::max, which would pass over what is no number.
                *largest = if *log_w <= *largest { *largest } else { *log_w };
            }
        }
        for k in 0..self.registers.len() {
            for ((sum, largest), log_w) in sums.iter_mut().zip(&*largest).zip(self.of(k)) {
                *sum += math::exp(log_w - largest);
            }
        }
        for (l, (out, x)) in out.iter_mut().zip(x).enumerate() {
            *out = match self.index(*x).filter(|_| largest[l].is_finite()) {
                Some(k) => self.of(k)[l] - largest[l] - math::ln(sums[l]),
                None => f64::NEG_INFINITY,
            };
        }
    }

    /// The slopes in the weights as they are given, after [`Weights::log_shares`]: those of weight k at k·stride.
    pub(super) fn slopes(&self, x: &[f64], totals: &[f64], out: &mut [f64]) {
        let (first, sums) = totals.split_at(self.lanes);
        for (k, slopes) in out.chunks_mut(self.stride).take(self.registers.len()).enumerate() {
            let each = slopes.iter_mut().zip(self.of(k)).zip(x).enumerate();
            for (l, ((slope, w), x)) in each {
                let chosen = if *x == k as f64 { 1.0 } else { 0.0 };
                *slope = match self.link {
                    None => math::xovery(chosen, *w) - 1.0 / first[l],
                    Some(_) => chosen - math::exp(w - first[l]) / sums[l],
                };
            }
        }
    }
}
