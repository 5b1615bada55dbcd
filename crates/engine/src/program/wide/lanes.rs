//! Sums of products over lanes: what derivatives of second order are made of.

use pulp::{Simd, WithSimd};

use super::Wide;
use super::products::{Parts, SUMS, dots};

/// Σ_l a_l b_l for several b, over however many lanes.
#[inline(always)]
fn over_lanes<S: Simd, const N: usize>(simd: S, a: &[f64], others: [&[f64]; N]) -> [f64; N] {
    if a.len() < SUMS {
        return others.map(|b| a.iter().zip(b).map(|(a, b)| a * b).sum());
    }
    let [sums] = dots(simd, [Parts::of(a)], others.map(|b| &b[..a.len()]));
    sums
}

impl Wide {
    /// out_l += a_l b_l c_l
    pub(crate) fn add_product_of_three(self, out: &mut [f64], a: &[f64], b: &[f64], c: &[f64]) {
        widely!(
            self.0,
            _simd,
            { out: &'a mut [f64], a: &'a [f64], b: &'a [f64], c: &'a [f64] } -> (),
            {
                let (a, b, c) = (&a[..out.len()], &b[..out.len()], &c[..out.len()]);
                for l in 0..out.len() {
                    out[l] += a[l] * b[l] * c[l];
                }
            }
        );
    }

    /// Σ_l a_l b_l
    pub(crate) fn dot(self, a: &[f64], b: &[f64]) -> f64 {
        widely!(
            self.0,
            simd,
            { a: &'a [f64], b: &'a [f64] } -> f64,
            {
                let [sum] = over_lanes(simd, a, [b]);
                sum
            }
        )
    }

    /// out_l += w x_l
    pub(crate) fn add_one(self, out: &mut [f64], w: f64, x: &[f64]) {
        widely!(
            self.0,
            _simd,
            { out: &'a mut [f64], w: f64, x: &'a [f64] } -> (),
            {
                let x = &x[..out.len()];
                for l in 0..out.len() {
                    out[l] += w * x[l];
                }
            }
        );
    }

    /// out_l += Σ_n w_n x_nl
    pub(crate) fn add_four(self, out: &mut [f64], w: [f64; 4], x: [&[f64]; 4]) {
        widely!(
            self.0,
            _simd,
            { out: &'a mut [f64], w: [f64; 4], x: [&'a [f64]; 4] } -> (),
            {
                let [a, b, c, d] = x.map(|x| &x[..out.len()]);
                for l in 0..out.len() {
                    out[l] += (w[0] * a[l] + w[1] * b[l]) + (w[2] * c[l] + w[3] * d[l]);
                }
            }
        );
    }

    /// out_zl = Σ_k w_kz x_kl for several vectors of weights: entry k of vector z at k·count + z, of lane l at k·stride + l, and
    /// the product of z and l at z·stride + l.
    pub(crate) fn linear_many(
        self,
        weights: &[f64],
        count: usize,
        data: &[f64],
        stride: usize,
        out: &mut [f64],
    ) {
        widely!(
            self.0,
            simd,
            { weights: &'a [f64], count: usize, data: &'a [f64], stride: usize, out: &'a mut [f64] } -> (),
            match lanes_of(simd) {
                8 => linear_many::<16>(weights, count, data, stride, out),
                _ => linear_many::<8>(weights, count, data, stride, out),
            }
        );
    }

    /// out_pq += Σ_l w_l a_pl b_ql for the columns a and b of the data, out row by row; what stands below its diagonal does
    /// not matter where a is b, and may be left as it is.
    pub(crate) fn add_gram(self, weights: &[f64], columns: Columns<'_>, out: &mut [f64]) {
        widely!(
            self.0,
            simd,
            { weights: &'a [f64], columns: Columns<'a>, out: &'a mut [f64] } -> (),
            add_gram(simd, weights, columns, out)
        );
    }
}

/// Columns of numbers, each with its lanes from k·stride on, by their numbers k.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub numbers: &'a [f64],
    pub stride: usize,
    pub a: &'a [u32],
    pub b: &'a [u32],
    /// Whether a is b.
    pub is_symmetric: bool,
}

/// Columns of a that are multiplied by the weights at a time.
const ABREAST: usize = 4;

/// Lanes of a block.
const MOST: usize = crate::program::rows::BLOCK;

#[inline(always)]
fn add_gram<S: Simd>(simd: S, weights: &[f64], columns: Columns<'_>, out: &mut [f64]) {
    let Columns { numbers, stride, a, b, is_symmetric } = columns;
    let lanes = weights.len();
    let mut weighted = [[0.0; MOST]; ABREAST];
    for (tile, some) in a.chunks(ABREAST).enumerate() {
        for (out, k) in weighted.iter_mut().zip(some) {
            let column = &numbers[*k as usize * stride..][..lanes];
            for l in 0..lanes {
                out[l] = weights[l] * column[l];
            }
        }
        let first = tile * ABREAST;
        let [w0, w1, w2, w3] = [0, 1, 2, 3].map(|n| &weighted[n][..lanes]);
        for q in if is_symmetric { first } else { 0 }..b.len() {
            let column = &numbers[b[q] as usize * stride..][..lanes];
            let sums = match some.len() {
                4 => over_lanes(simd, column, [w0, w1, w2, w3]),
                3 => pad(over_lanes(simd, column, [w0, w1, w2])),
                2 => pad(over_lanes(simd, column, [w0, w1])),
                _ => pad(over_lanes(simd, column, [w0])),
            };
            for (n, sum) in sums.iter().enumerate().take(some.len()) {
                out[(first + n) * b.len() + q] += sum;
            }
        }
    }
}

/// Numbers in a register.
#[inline(always)]
fn lanes_of<S: Simd>(_: S) -> usize {
    S::F64_LANES
}

/// Vectors of weights of a tile whose products stay in registers; so do those of its lanes, of which there are as many
/// as the processor has room for. No number depends on how many.
const WEIGHTS: usize = 4;

#[inline(always)]
fn linear_many<const LANES: usize>(
    weights: &[f64],
    count: usize,
    data: &[f64],
    stride: usize,
    out: &mut [f64],
) {
    for z in (0..count).step_by(WEIGHTS) {
        for l in (0..stride).step_by(LANES) {
            let mut sums = [[0.0; LANES]; WEIGHTS];
            if z + WEIGHTS <= count && l + LANES <= stride {
                for (w, x) in weights.chunks_exact(count).zip(data.chunks_exact(stride)) {
                    let (w, x) = (&w[z..z + WEIGHTS], &x[l..l + LANES]);
                    for n in 0..WEIGHTS {
                        for k in 0..LANES {
                            sums[n][k] += w[n] * x[k];
                        }
                    }
                }
            } else {
                for (w, x) in weights.chunks_exact(count).zip(data.chunks_exact(stride)) {
                    for (sums, w) in sums.iter_mut().zip(&w[z..]) {
                        sums.iter_mut().zip(&x[l..]).for_each(|(sum, x)| *sum += w * x);
                    }
                }
            }
            for (n, sums) in sums.iter().enumerate().take(count - z) {
                let out = &mut out[(z + n) * stride..(z + n + 1) * stride];
                out[l..].iter_mut().zip(sums).for_each(|(out, sum)| *out = *sum);
            }
        }
    }
}

#[inline(always)]
fn pad<const N: usize>(sums: [f64; N]) -> [f64; ABREAST] {
    let mut padded = [0.0; ABREAST];
    padded[..N].copy_from_slice(&sums);
    padded
}
