//! Sums of products over lanes: what derivatives of second order are made of.

use pulp::{Simd, WithSimd};

use super::Wide;
use super::products::{Parts, SUMS, SideBySide, TOGETHER, dots};

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

    /// out_zl = Σ_{k<len} w_zk x_lk + w_z,len for several vectors of weights and the lanes of a block, which stand side by side.
    /// Weights are in tiles: entry k of vector z at (z/[`WEIGHTS`]·(len + 1) + k)·[`WEIGHTS`] + z%[`WEIGHTS`]; the result for z
    /// and l is at z·stride + l. A tile of data stays close to the processor while all weights go by.
    pub(crate) fn linear_many(
        self,
        weights: &[f64],
        data: &[SideBySide],
        [len, stride]: [usize; 2],
        out: &mut [f64],
    ) {
        widely!(
            self.0,
            simd,
            { weights: &'a [f64], data: &'a [SideBySide], len: usize, stride: usize, out: &'a mut [f64] } -> (),
            linear_many(simd, weights, data, [len, stride], out)
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

/// Vectors of weights of a tile.
pub(crate) const WEIGHTS: usize = 4;

/// Registers for the products of one vector of weights. Two of them for each of the vectors leave room for the rest on every
/// processor; no number depends on it.
const AT_ONCE: usize = 2;

#[inline(always)]
fn linear_many<S: Simd>(
    simd: S,
    weights: &[f64],
    data: &[SideBySide],
    [len, stride]: [usize; 2],
    out: &mut [f64],
) {
    let width = AT_ONCE * S::F64_LANES;
    for (tile, data) in data.chunks_exact(len).enumerate() {
        for (quad, weights) in weights.chunks_exact((len + 1) * WEIGHTS).enumerate() {
            let (weights, plus) = weights.split_at(len * WEIGHTS);
            for part in (0..TOGETHER).step_by(width) {
                let mut sums = [[simd.splat_f64s(0.0); AT_ONCE]; WEIGHTS];
                for (w, SideBySide(x)) in weights.as_chunks::<WEIGHTS>().0.iter().zip(data) {
                    let (x, _) = S::as_simd_f64s(&x[part..part + width]);
                    for n in 0..WEIGHTS {
                        let w = simd.splat_f64s(w[n]);
                        for r in 0..AT_ONCE {
                            sums[n][r] = simd.add_f64s(sums[n][r], simd.mul_f64s(w, x[r]));
                        }
                    }
                }
                for (n, (sums, plus)) in sums.iter().zip(plus).enumerate() {
                    let at = (quad * WEIGHTS + n) * stride + tile * TOGETHER + part;
                    let (out, _) = S::as_mut_simd_f64s(&mut out[at..at + width]);
                    for r in 0..AT_ONCE {
                        out[r] = simd.add_f64s(sums[r], simd.splat_f64s(*plus));
                    }
                }
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
