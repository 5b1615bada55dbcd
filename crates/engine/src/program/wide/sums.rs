//! Sums of log densities over lanes, where nobody asks for the single ones.
//!
//! A sum of logarithms is the logarithm of a product: Σ log(1 + e_l) takes one multiplication for each
//! lane, and one logarithm for a thousand. A sum runs in [`SUMS`] parts, whatever the width of the registers:
//! the numbers are the same on every machine.

use pulp::Simd;
use smidgen_value::math;

use super::elementary::{exp_within, ln_from_one};
use super::products::SUMS;

/// A sum under way.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    plain: [f64; SUMS],
    /// Numbers from 1 on, multiplied up, whose logarithms are to be subtracted.
    factors: [f64; SUMS],
    /// They are at most 2 to this power.
    doublings: usize,
}

/// The power of two up to which factors are multiplied.
const MOST_DOUBLINGS: usize = 1000;

impl Default for Sum {
    fn default() -> Sum {
        Sum { plain: [0.0; SUMS], factors: [1.0; SUMS], doublings: 0 }
    }
}

impl Sum {
    /// Room for factors up to 2, one for each of so many lanes.
    #[inline(always)]
    fn make_room(&mut self, lanes: usize) {
        let more = lanes.div_ceil(SUMS);
        if self.doublings + more > MOST_DOUBLINGS {
            self.settle();
        }
        self.doublings += more;
    }

    #[inline(always)]
    fn settle(&mut self) {
        for k in 0..SUMS {
            self.plain[k] -= ln_from_one(self.factors[k]);
        }
        (self.factors, self.doublings) = ([1.0; SUMS], 0);
    }

    #[inline(always)]
    pub(super) fn add<S: Simd>(&mut self, simd: S, xs: &[f64]) {
        let used = SUMS / S::F64_LANES;
        let (wide, rest) = xs.as_chunks::<SUMS>();
        let (sums, _) = S::as_mut_simd_f64s(&mut self.plain);
        let mut plain = [simd.splat_f64s(0.0); SUMS];
        plain[..used].copy_from_slice(&sums[..used]);
        for xs in wide {
            let (xs, _) = S::as_simd_f64s(xs);
            for r in 0..SUMS / S::F64_LANES {
                plain[r] = simd.add_f64s(plain[r], xs[r]);
            }
        }
        sums[..used].copy_from_slice(&plain[..used]);
        for (sum, x) in self.plain.iter_mut().zip(rest) {
            *sum += x;
        }
    }

    #[inline(always)]
    fn multiply<S: Simd>(&mut self, simd: S, xs: &[f64]) {
        let used = SUMS / S::F64_LANES;
        let (wide, rest) = xs.as_chunks::<SUMS>();
        let (products, _) = S::as_mut_simd_f64s(&mut self.factors);
        let mut factors = [simd.splat_f64s(0.0); SUMS];
        factors[..used].copy_from_slice(&products[..used]);
        for xs in wide {
            let (xs, _) = S::as_simd_f64s(xs);
            for r in 0..SUMS / S::F64_LANES {
                factors[r] = simd.mul_f64s(factors[r], xs[r]);
            }
        }
        products[..used].copy_from_slice(&factors[..used]);
        for (factor, x) in self.factors.iter_mut().zip(rest) {
            *factor *= x;
        }
    }

    /// What it has come to.
    pub(crate) fn total(mut self) -> f64 {
        // The logarithm is one of numbers.
        if !self.factors.iter().all(|factor| factor.is_finite()) {
            return f64::NAN;
        }
        self.settle();
        total(self.plain)
    }
}

/// The sum of all parts.
#[inline(always)]
pub(super) fn total([a, b, c, d, e, f, g, h]: [f64; SUMS]) -> f64 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// log p = (x η − max(η, 0)) − log(1 + e): the first part, no number for an outcome that is none, and e = e^−|η|.
#[inline(always)]
pub(super) fn coin(x: f64, eta: f64) -> [f64; 2] {
    let plain = x * eta - if eta > 0.0 { eta } else { 0.0 };
    let is_coin = x * x == x;
    [if is_coin { plain } else { f64::NAN }, exp_within(-eta.abs())]
}

/// Lanes whose parts are computed before they are added up.
const AT_A_TIME: usize = 64;

/// Adds log p of coins x with log odds η.
#[inline(always)]
pub(super) fn coins<S: Simd>(simd: S, x: &[f64], eta: &[f64], sum: &mut Sum) {
    sum.make_room(eta.len());
    let (mut plain, mut factors) = ([0.0; AT_A_TIME], [1.0; AT_A_TIME]);
    for (x, eta) in x.chunks(AT_A_TIME).zip(eta.chunks(AT_A_TIME)) {
        let lanes = x.len().min(AT_A_TIME);
        let (x, eta) = (&x[..lanes], &eta[..lanes]);
        let (plain, factors) = (&mut plain[..lanes], &mut factors[..lanes]);
        for l in 0..lanes {
            let [first, e] = coin(x[l], eta[l]);
            (plain[l], factors[l]) = (first, 1.0 + e);
        }
        sum.add(simd, plain);
        sum.multiply(simd, factors);
    }
}

/// Adds log p of normal x with these means and one sd for all: −½ Σ z² − n (log sd + ½ log 2π).
#[inline(always)]
pub(super) fn normals(x: &[f64], mean: &[f64], sd: f64, sum: &mut Sum) {
    let inverse = 1.0 / sd;
    let half_square = |x: f64, mean: f64| {
        let z = (x - mean) * inverse;
        0.5 * z * z
    };
    let mut plain = sum.plain;
    let lanes = x.len();
    let (x, x_rest) = x.as_chunks::<SUMS>();
    let (mean, mean_rest) = mean[..lanes].as_chunks::<SUMS>();
    for (x, mean) in x.iter().zip(mean) {
        for k in 0..SUMS {
            plain[k] -= half_square(x[k], mean[k]);
        }
    }
    for (sum, (x, mean)) in plain.iter_mut().zip(x_rest.iter().zip(mean_rest)) {
        *sum -= half_square(*x, *mean);
    }
    plain[0] -= lanes as f64 * (math::ln(sd) + math::HALF_LN_2PI);
    sum.plain = plain;
}

/// The one sd of all lanes, if it is one and has an inverse.
#[inline(always)]
pub(super) fn one_sd(sd: &[f64]) -> Option<f64> {
    let first = *sd.first()?;
    let is_sd = (f64::MIN_POSITIVE..f64::INFINITY).contains(&first);
    // Counted to the end, which takes wide registers and no branches.
    (is_sd && sd.iter().map(|sd| u64::from(*sd != first)).sum::<u64>() == 0).then_some(first)
}
