//! Products of weights and rows. A sum runs in [`SUMS`] parts, whatever the width of the registers:
//! the numbers are the same on every machine.

use pulp::Simd;
use smidgen_value::Reals;

use crate::program::cells::Pick;

/// Partial sums of a dot product: one register of the widest processors.
const SUMS: usize = 8;

/// Rows that are read side by side, so that the weights are loaded once for all of them and one
/// row's cells are fetched while another's are multiplied.
const ABREAST: usize = 4;

/// out_l = Σ_k w_k x_lk for the vectors of these rows.
#[inline(always)]
pub(super) fn linear_rows<S: Simd>(
    simd: S,
    weights: &[f64],
    rows: Reals<'_>,
    pick: Pick<'_>,
    out: &mut [f64],
) {
    match pick {
        Pick::From(start) if let [v, w] = *weights => {
            let pairs = rows.data[2 * start..].chunks_exact(2);
            for (out, x) in out.iter_mut().zip(pairs) {
                *out = v * x[0] + w * x[1];
            }
        }
        Pick::These(these) if let [v, w] = *weights => {
            for (out, row) in out.iter_mut().zip(these) {
                let x = rows.row(*row as usize);
                *out = v * x[0] + w * x[1];
            }
        }
        Pick::From(start) => {
            each_dot(simd, weights, |l| rows.row(start + l), out);
        }
        Pick::These(these) => {
            each_dot(simd, weights, |l| rows.row(these[l] as usize), out);
        }
    }
}

#[inline(always)]
fn each_dot<'a, S: Simd>(
    simd: S,
    weights: &[f64],
    row: impl Fn(usize) -> &'a [f64],
    out: &mut [f64],
) {
    let (abreast, rest) = out.as_chunks_mut::<ABREAST>();
    let first = ABREAST * abreast.len();
    for (k, out) in abreast.iter_mut().enumerate() {
        let at = ABREAST * k;
        *out = dots(simd, weights, [row(at), row(at + 1), row(at + 2), row(at + 3)]);
    }
    for (l, out) in rest.iter_mut().enumerate() {
        [*out] = dots(simd, weights, [row(first + l)]);
    }
}

/// Σ_l a_l b_l
#[inline(always)]
pub(super) fn dot<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
    let [sum] = dots(simd, a, [b]);
    sum
}

/// Σ_l x_l
#[inline(always)]
pub(super) fn sum<S: Simd>(simd: S, xs: &[f64]) -> f64 {
    let (wide, rest) = xs.as_chunks::<SUMS>();
    let mut sums = [simd.splat_f64s(0.0); SUMS];
    for xs in wide {
        let (xs, _) = S::as_simd_f64s(xs);
        for r in 0..SUMS / S::F64_LANES {
            sums[r] = simd.add_f64s(sums[r], xs[r]);
        }
    }
    add_up::<S>(&sums) + rest.iter().sum::<f64>()
}

/// The products of one vector with several.
///
/// Loops count to constants, and nothing is a closure: so the sums stay in registers. A processor with
/// narrow registers needs more of them; those beyond are never used.
#[inline(always)]
pub(super) fn dots<S: Simd, const N: usize>(
    simd: S,
    weights: &[f64],
    rows: [&[f64]; N],
) -> [f64; N] {
    let (wide, rest) = weights.as_chunks::<SUMS>();
    let mut parts: [&[[f64; SUMS]]; N] = [&[]; N];
    let mut tails: [&[f64]; N] = [&[]; N];
    for n in 0..N {
        (parts[n], tails[n]) = rows[n][..weights.len()].as_chunks::<SUMS>();
        parts[n] = &parts[n][..wide.len()];
    }
    let mut sums = [[simd.splat_f64s(0.0); SUMS]; N];
    for k in 0..wide.len() {
        let (weights, _) = S::as_simd_f64s(&wide[k]);
        for n in 0..N {
            let (row, _) = S::as_simd_f64s(&parts[n][k]);
            for r in 0..SUMS / S::F64_LANES {
                sums[n][r] = simd.add_f64s(sums[n][r], simd.mul_f64s(weights[r], row[r]));
            }
        }
    }
    let mut out = [0.0; N];
    for n in 0..N {
        let mut tail = 0.0;
        for (w, x) in rest.iter().zip(tails[n]) {
            tail += w * x;
        }
        out[n] = add_up::<S>(&sums[n]) + tail;
    }
    out
}

/// Adds up the parts of a sum, always in the same order.
#[inline(always)]
fn add_up<S: Simd>(sums: &[S::f64s; SUMS]) -> f64 {
    let mut parts = [0.0; SUMS];
    let (registers, _) = S::as_mut_simd_f64s(&mut parts);
    let used = SUMS / S::F64_LANES;
    registers[..used].copy_from_slice(&sums[..used]);
    let [a, b, c, d, e, f, g, h] = parts;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// slopes_k += Σ_l out_slope_l x_lk for the vectors of these rows, four rows at a time.
#[inline(always)]
pub(super) fn pull_rows(out_slope: &[f64], rows: Reals<'_>, pick: Pick<'_>, slopes: &mut [f64]) {
    let width = slopes.len();
    let row = |l: usize| match pick {
        Pick::From(start) => &rows.row(start + l)[..width],
        Pick::These(these) => &rows.row(these[l] as usize)[..width],
    };
    let (abreast, rest) = out_slope.as_chunks::<ABREAST>();
    for (k, [p, q, r, s]) in abreast.iter().enumerate() {
        let at = ABREAST * k;
        let (a, b, c, d) = (row(at), row(at + 1), row(at + 2), row(at + 3));
        for k in 0..width {
            slopes[k] += (p * a[k] + q * b[k]) + (r * c[k] + s * d[k]);
        }
    }
    let first = ABREAST * abreast.len();
    for (l, slope) in rest.iter().enumerate() {
        for (out, x) in slopes.iter_mut().zip(row(first + l)) {
            *out += slope * x;
        }
    }
}

/// out_l = Σ_k w_k x_kl: entry k of lane l at k·stride + l.
#[inline(always)]
pub(super) fn linear(weights: &[f64], data: &[f64], stride: usize, out: &mut [f64]) {
    let lanes = out.len();
    out.fill(0.0);
    let mut columns = data.chunks_exact(4 * stride);
    let mut quads = weights.chunks_exact(4);
    for (w, block) in quads.by_ref().zip(columns.by_ref()) {
        let (a, rest) = block.split_at(stride);
        let (b, rest) = rest.split_at(stride);
        let (c, d) = rest.split_at(stride);
        let (a, b, c, d) = (&a[..lanes], &b[..lanes], &c[..lanes], &d[..lanes]);
        for l in 0..lanes {
            out[l] += (w[0] * a[l] + w[1] * b[l]) + (w[2] * c[l] + w[3] * d[l]);
        }
    }
    let rest = columns.remainder().chunks_exact(stride);
    for (w, column) in quads.remainder().iter().zip(rest) {
        for (out, x) in out.iter_mut().zip(column) {
            *out += w * x;
        }
    }
}

/// slopes_k += Σ_l out_slope_l x_kl
#[inline(always)]
pub(super) fn pull_linear<S: Simd>(
    simd: S,
    out_slope: &[f64],
    data: &[f64],
    stride: usize,
    slopes: &mut [f64],
) {
    for (slope, column) in slopes.iter_mut().zip(data.chunks_exact(stride)) {
        *slope += dot(simd, out_slope, column);
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar};

    use super::*;

    struct Dot<'a>(&'a [f64], &'a [f64]);

    impl pulp::WithSimd for Dot<'_> {
        type Output = [f64; 2];
        fn with_simd<S: Simd>(self, simd: S) -> [f64; 2] {
            [dot(simd, self.0, self.1), sum(simd, self.0)]
        }
    }

    fn numbers(n: usize, seed: usize) -> Vec<f64> {
        (0..n).map(|k| ((k * 7919 + seed * 104_729) % 1000) as f64 / 333.0 - 1.5).collect()
    }

    #[test]
    fn sums_are_the_same_on_every_processor() {
        for n in 0..70 {
            let (a, b) = (numbers(n, 1), numbers(n, 2));
            let here = Arch::new().dispatch(Dot(&a, &b));
            let [product, total] = Scalar::new().vectorize(Dot(&a, &b));
            assert_eq!(here.map(f64::to_bits), [product, total].map(f64::to_bits), "{n}");
            let plain: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            assert!((product - plain).abs() < 1e-12, "{n}: {product} {plain}");
            assert!((total - a.iter().sum::<f64>()).abs() < 1e-12, "{n}");
        }
    }

    #[test]
    fn rows_give_the_sums_of_their_cells() {
        let (width, count) = (13, 23);
        let (data, weights) = (numbers(width * count, 3), numbers(width, 4));
        let rows = Reals { data: &data, width };
        let these: Vec<u32> = (0..11).map(|k| (k * 7) % 23).collect();
        for pick in [Pick::From(3), Pick::These(&these)] {
            let row = |l: usize| match pick {
                Pick::From(start) => rows.row(start + l),
                Pick::These(these) => rows.row(these[l] as usize),
            };
            let mut out = [0.0; 11];
            linear_rows(Scalar::new(), &weights, rows, pick, &mut out);
            let mut slopes = vec![0.5; width];
            pull_rows(&numbers(11, 5), rows, pick, &mut slopes);
            for (l, out) in out.iter().enumerate() {
                assert_eq!(out.to_bits(), dot(Scalar::new(), &weights, row(l)).to_bits());
            }
            for (k, slope) in slopes.iter().enumerate() {
                let want: f64 = (0..11).map(|l| numbers(11, 5)[l] * row(l)[k]).sum();
                assert!((slope - 0.5 - want).abs() < 1e-12);
            }
        }
    }
}
