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
    numbers[from..].first_chunk().expect("rows of whole registers")
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
