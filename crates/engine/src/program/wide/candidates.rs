//! Loops over the candidates of a finite choice: what each weighs, and a draw of one. Sums run in [`SUMS`] parts,
//! whatever the width of the registers.

use pulp::{Simd, WithSimd};

use super::Wide;
use super::densities::shares;
use super::products::SUMS;
use super::sums::total;
use crate::program::Register;

impl Wide {
    /// out_l = Σ terms_l: NaN where that, or what is checked, is not finite, or in a lane that says nothing.
    pub(crate) fn sum_checked(self, summed: Summed<'_>, out: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { summed: Summed<'a>, out: &'a mut [f64] } -> (),
            summed.write(out)
        );
    }

    /// A place drawn in proportion to its weight by u, uniform on [0, 1); the first if there is none above 0. An infinite
    /// weight outweighs every finite one. The logarithms stand in whole registers of [`SUMS`]; they become weights.
    pub(crate) fn draw_place(self, log_weights: &mut [f64], u: f64) -> usize {
        widely!(
            self.0,
            _simd,
            { log_weights: &'a mut [f64], u: f64 } -> usize,
            draw_place(log_weights, u)
        )
    }
}

/// Registers whose lanes are summed.
#[derive(Clone, Copy)]
pub(crate) struct Summed<'a> {
    /// Lane l of register r at r·stride + l.
    pub values: &'a [f64],
    /// Of whole registers of the processor.
    pub stride: usize,
    pub terms: &'a [Register],
    /// Have to be finite.
    pub checked: &'a [Register],
    /// Further rows of lanes: 0 each, or NaN in a lane that says nothing.
    pub misfits: &'a [f64],
}

impl Summed<'_> {
    /// The sums of some lanes that fill a register.
    #[inline(always)]
    fn of_lanes(&self, from: usize) -> [f64; SUMS] {
        let mut sums = [0.0; SUMS];
        for term in self.terms {
            let xs = lanes(self.values, *term as usize * self.stride + from);
            for l in 0..SUMS {
                sums[l] += xs[l];
            }
        }
        // 0 x is NaN for what is not finite, and 0 for everything else.
        for register in self.checked {
            let xs = lanes(self.values, *register as usize * self.stride + from);
            for l in 0..SUMS {
                sums[l] += 0.0 * xs[l];
            }
        }
        for sum in &mut sums {
            *sum += 0.0 * *sum;
        }
        for row in self.misfits.chunks_exact(self.stride) {
            let xs = lanes(row, from);
            for l in 0..SUMS {
                sums[l] += xs[l];
            }
        }
        sums
    }

    #[inline(always)]
    fn write(&self, out: &mut [f64]) {
        let (whole, rest) = out.as_chunks_mut::<SUMS>();
        let blocks = whole.len();
        for (block, out) in whole.iter_mut().enumerate() {
            *out = self.of_lanes(block * SUMS);
        }
        if !rest.is_empty() {
            rest.copy_from_slice(&self.of_lanes(blocks * SUMS)[..rest.len()]);
        }
    }
}

#[inline(always)]
fn lanes(numbers: &[f64], from: usize) -> &[f64; SUMS] {
    numbers[from..].first_chunk().expect("registers of all lanes")
}

/// See [`Wide::draw_place`].
#[inline(always)]
fn draw_place(log_weights: &mut [f64], u: f64) -> usize {
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    let mut most = [f64::NEG_INFINITY; SUMS];
    for block in log_weights.as_chunks::<SUMS>().0 {
        for l in 0..SUMS {
            most[l] = larger(most[l], block[l]);
        }
    }
    let largest = most.into_iter().fold(f64::NEG_INFINITY, larger);
    if largest == f64::NEG_INFINITY {
        return 0;
    }
    shares(largest, log_weights);
    let (blocks, _) = log_weights.as_chunks::<SUMS>();
    let mut sums = [0.0; SUMS];
    for block in blocks {
        for l in 0..SUMS {
            sums[l] += block[l];
        }
    }
    // A block at a time, then one by one: nowhere does a weight of 0 lead below 0.
    let mut left = u * total(sums);
    for (number, block) in blocks.iter().enumerate() {
        let sum = total(*block);
        if left >= sum {
            left -= sum;
            continue;
        }
        for (l, weight) in block.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return number * SUMS + l;
            }
        }
    }
    // Rounding: the last that is possible.
    log_weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use smidgen_value::{Rng, math};

    use super::*;

    const NONE: f64 = f64::NEG_INFINITY;

    /// The place whose share of the sum u falls on, one weight after the other.
    fn one_by_one(log_weights: &[f64], u: f64) -> usize {
        let largest = log_weights.iter().copied().fold(NONE, f64::max);
        let weights: Vec<f64> = log_weights.iter().map(|w| math::exp(w - largest)).collect();
        let mut left = u * weights.iter().sum::<f64>();
        let place = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        place.or_else(|| weights.iter().rposition(|w| *w > 0.0)).unwrap_or(0)
    }

    #[test]
    fn a_draw_is_that_of_a_search_from_the_first_on() {
        let mut rng = Rng::from_seed(5);
        for n in [1, 2, 7, 8, 9, 40, 100_usize] {
            for spread in [0.0, 1.0, 20.0, 2000.0] {
                let mut log_weights: Vec<f64> = (0..n).map(|_| spread * rng.uniform()).collect();
                log_weights.iter_mut().step_by(3).skip(1).for_each(|w| *w = NONE);
                for _ in 0..300 {
                    let (u, mut padded) = (rng.uniform(), log_weights.clone());
                    padded.resize(n.next_multiple_of(SUMS), NONE);
                    let drawn = Wide::default().draw_place(&mut padded, u);
                    assert_eq!(drawn, one_by_one(&log_weights, u), "{n} {spread} {u}");
                }
            }
        }
    }

    #[test]
    fn a_lane_says_nothing_where_something_is_not_finite() {
        let (stride, lanes) = (16, 11);
        // Registers: two terms and one that is checked.
        let mut values: Vec<f64> = (0..3 * stride).map(|k| k as f64).collect();
        let mut misfits = vec![0.0; 2 * stride];
        values[3] = f64::INFINITY;
        values[stride + 9] = NONE;
        values[2 * stride + 5] = f64::NAN;
        misfits[stride + 10] = f64::NAN;
        let (terms, checked) = (&[0, 1][..], &[2][..]);
        let summed = Summed { values: &values, stride, terms, checked, misfits: &misfits };
        let mut out = vec![7.0; lanes];
        Wide::default().sum_checked(summed, &mut out);
        for (l, sum) in out.iter().enumerate() {
            match [3, 9, 5, 10].contains(&l) {
                true => assert!(sum.is_nan(), "{l}: {sum}"),
                false => assert_eq!(*sum, (2 * l + stride) as f64, "{l}"),
            }
        }
    }
}
