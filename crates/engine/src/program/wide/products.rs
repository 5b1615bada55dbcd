//! Products of weights and rows. A sum runs in [`SUMS`] parts, whatever the width of the registers:
//! the numbers are the same on every machine.

use pulp::Simd;
use smidgen_value::Reals;

use crate::program::cells::Pick;

/// Partial sums of a dot product: one register of the widest processors.
pub(crate) const SUMS: usize = 8;

/// Rows that are read side by side, so that the weights are loaded once for all of them and one
/// row's cells are fetched while another's are multiplied.
const ABREAST: usize = 4;

/// out_wl = Σ_k w_k x_lk for the vectors of these rows, with each of the vectors of weights: a row is read once for
/// all of them.
#[inline(always)]
pub(super) fn linear_rows<S: Simd, const W: usize>(
    simd: S,
    weights: [&[f64]; W],
    rows: Reals<'_>,
    pick: Pick<'_>,
    out: [&mut [f64]; W],
) {
    match weights[0].len() {
        1 => few::<W, 1>(weights, rows, pick, out),
        2 => few::<W, 2>(weights, rows, pick, out),
        3 => few::<W, 3>(weights, rows, pick, out),
        4 => few::<W, 4>(weights, rows, pick, out),
        5 => few::<W, 5>(weights, rows, pick, out),
        6 => few::<W, 6>(weights, rows, pick, out),
        7 => few::<W, 7>(weights, rows, pick, out),
        len => match pick {
            Pick::From(start) => {
                each_dot(simd, weights, |l| &rows.row(start + l)[..len], out);
            }
            Pick::These(these) => {
                each_dot(simd, weights, |l| &rows.row(these[l] as usize)[..len], out);
            }
        },
    }
}

/// The same for vectors of few numbers, which are added up one after the other.
#[inline(always)]
fn few<const W: usize, const K: usize>(
    weights: [&[f64]; W],
    rows: Reals<'_>,
    pick: Pick<'_>,
    out: [&mut [f64]; W],
) {
    let weights = weights.map(|weights| weights.first_chunk::<K>().expect("K weights"));
    match pick {
        Pick::From(start) => {
            let (all, _) = rows.data.as_chunks::<K>();
            for (weights, out) in weights.into_iter().zip(out) {
                for (out, x) in out.iter_mut().zip(&all[start..]) {
                    *out = product(weights, x);
                }
            }
        }
        Pick::These(these) => {
            let lanes = out[0].len();
            let out = out.map(|out| &mut out[..lanes]);
            for (l, row) in these[..lanes].iter().enumerate() {
                let x = rows.data[*row as usize * rows.width..].first_chunk().expect("K cells");
                for w in 0..W {
                    out[w][l] = product(weights[w], x);
                }
            }
        }
    }
}

#[inline(always)]
fn product<const K: usize>(weights: &[f64; K], x: &[f64; K]) -> f64 {
    let mut sum = weights[0] * x[0];
    for k in 1..K {
        sum += weights[k] * x[k];
    }
    sum
}

#[inline(always)]
fn each_dot<'a, S: Simd, const W: usize>(
    simd: S,
    weights: [&[f64]; W],
    row: impl Fn(usize) -> &'a [f64],
    mut out: [&mut [f64]; W],
) {
    let (lanes, len) = (out[0].len(), weights[0].len());
    let weights = weights.map(|weights| Parts::of(&weights[..len]));
    let abreast = lanes - lanes % ABREAST;
    for at in (0..abreast).step_by(ABREAST) {
        let found = dots(simd, weights, [row(at), row(at + 1), row(at + 2), row(at + 3)]);
        for (out, found) in out.iter_mut().zip(found) {
            out[at..at + ABREAST].copy_from_slice(&found);
        }
    }
    for at in abreast..lanes {
        let found = dots(simd, weights, [row(at)]);
        for (out, [found]) in out.iter_mut().zip(found) {
            out[at] = found;
        }
    }
}

/// Σ_l a_l b_l
#[inline(always)]
pub(super) fn dot<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
    if a.len() < SUMS {
        return a.iter().zip(b).map(|(a, b)| a * b).sum();
    }
    let [[sum]] = dots(simd, [Parts::of(a)], [&b[..a.len()]]);
    sum
}

/// out_l += a_l b_l
#[inline(always)]
pub(super) fn multiply_add(a: &[f64], b: &[f64], out: &mut [f64]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out += a * b;
    }
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
    add_up(simd, sums) + rest.iter().sum::<f64>()
}

/// Weights in parts of [`SUMS`].
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    whole: &'a [[f64; SUMS]],
    /// Those of the last [`SUMS`] numbers of a row, zero for numbers that are in a whole part.
    last: [f64; SUMS],
}

impl<'a> Parts<'a> {
    /// Of at least [`SUMS`] weights.
    #[inline(always)]
    pub(super) fn of(weights: &'a [f64]) -> Parts<'a> {
        let (whole, rest) = weights.as_chunks::<SUMS>();
        let mut last = [0.0; SUMS];
        last[SUMS - rest.len()..].copy_from_slice(rest);
        Parts { whole, last }
    }
}

/// The products of several vectors of weights with several rows.
///
/// Loops count to constants, and nothing is a closure: so the sums stay in registers. A processor with
/// narrow registers needs more of them; those beyond are never used.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) fn dots<S: Simd, const W: usize, const N: usize>(
    simd: S,
    weights: [Parts<'_>; W],
    rows: [&[f64]; N],
) -> [[f64; N]; W] {
    let whole = weights[0].whole.len();
    let mut parts: [&[[f64; SUMS]]; N] = [&[]; N];
    let mut lasts = [&[0.0; SUMS]; N];
    for n in 0..N {
        parts[n] = &rows[n].as_chunks::<SUMS>().0[..whole];
        lasts[n] = rows[n].last_chunk().expect("rows of so many numbers");
    }
    let mut sums = [[[simd.splat_f64s(0.0); SUMS]; N]; W];
    for k in 0..whole {
        for n in 0..N {
            let (row, _) = S::as_simd_f64s(&parts[n][k]);
            for w in 0..W {
                let (weights, _) = S::as_simd_f64s(&weights[w].whole[k]);
                for r in 0..SUMS / S::F64_LANES {
                    let product = simd.mul_f64s(weights[r], row[r]);
                    sums[w][n][r] = simd.add_f64s(sums[w][n][r], product);
                }
            }
        }
    }
    let mut out = [[0.0; N]; W];
    for n in 0..N {
        let (row, _) = S::as_simd_f64s(lasts[n]);
        for w in 0..W {
            let (weights, _) = S::as_simd_f64s(&weights[w].last);
            for r in 0..SUMS / S::F64_LANES {
                let product = simd.mul_f64s(weights[r], row[r]);
                sums[w][n][r] = simd.add_f64s(sums[w][n][r], product);
            }
            out[w][n] = add_up(simd, sums[w][n]);
        }
    }
    out
}

/// Adds up the parts of a sum, always in the same order: the second half to the first, until one is left.
#[inline(always)]
fn add_up<S: Simd>(simd: S, mut sums: [S::f64s; SUMS]) -> f64 {
    let mut half = SUMS / S::F64_LANES / 2;
    while half > 0 {
        for r in 0..half {
            sums[r] = simd.add_f64s(sums[r], sums[r + half]);
        }
        half /= 2;
    }
    simd.reduce_sum_f64s(sums[0])
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

/// Rows whose cells stand side by side in a copy of a column.
pub(crate) const TOGETHER: usize = 32;

/// One cell of each of these rows, where wide registers are read at once. A group of rows has one after the other for each
/// number of a vector.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct SideBySide(pub [f64; TOGETHER]);

/// out_l = Σ_k w_k x_lk for rows whose cells stand side by side, group after group. The sums of a group stay in registers, and
/// the copy is read from its beginning to its end.
#[inline(always)]
pub(super) fn linear_together<S: Simd>(
    simd: S,
    weights: &[f64],
    data: &[SideBySide],
    out: &mut [f64],
) {
    for (group, out) in data.chunks_exact(weights.len()).zip(out.chunks_mut(TOGETHER)) {
        let mut sums = [simd.splat_f64s(0.0); TOGETHER];
        for (w, SideBySide(x)) in weights.iter().zip(group) {
            let (w, (x, _)) = (simd.splat_f64s(*w), S::as_simd_f64s(x));
            for r in 0..TOGETHER / S::F64_LANES {
                sums[r] = simd.add_f64s(sums[r], simd.mul_f64s(w, x[r]));
            }
        }
        let mut found = [0.0; TOGETHER];
        let (registers, _) = S::as_mut_simd_f64s(&mut found);
        let used = TOGETHER / S::F64_LANES;
        registers[..used].copy_from_slice(&sums[..used]);
        out.copy_from_slice(&found[..out.len()]);
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

    struct Together<'a>(&'a [f64], &'a [SideBySide], usize);

    impl pulp::WithSimd for Together<'_> {
        type Output = Vec<f64>;
        fn with_simd<S: Simd>(self, simd: S) -> Vec<f64> {
            let mut out = vec![0.0; self.2];
            linear_together(simd, self.0, self.1, &mut out);
            out
        }
    }

    #[test]
    fn rows_side_by_side_give_the_same_on_every_processor() {
        for (width, lanes) in [(9, 70_usize), (50, 64), (13, 5)] {
            let weights = numbers(width, 1);
            let data = numbers(width * lanes.next_multiple_of(TOGETHER), 2);
            let data: Vec<SideBySide> =
                data.as_chunks().0.iter().map(|cells| SideBySide(*cells)).collect();
            let here = Arch::new().dispatch(Together(&weights, &data, lanes));
            let there = Scalar::new().vectorize(Together(&weights, &data, lanes));
            for l in 0..lanes {
                assert_eq!(here[l].to_bits(), there[l].to_bits());
                let cell = |k: usize| data[l / TOGETHER * width + k].0[l % TOGETHER];
                let want: f64 = (0..width).map(|k| weights[k] * cell(k)).sum();
                assert!((here[l] - want).abs() < 1e-12, "{width} {lanes} {l}");
            }
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
            let (mut out, mut others) = ([0.0; 11], [0.0; 11]);
            let both = [&weights[..], &numbers(width, 6)];
            linear_rows(Scalar::new(), both, rows, pick, [&mut out, &mut others]);
            let mut slopes = vec![0.5; width];
            pull_rows(&numbers(11, 5), rows, pick, &mut slopes);
            for (l, out) in [out, others]
                .iter()
                .zip(both)
                .flat_map(|(out, w)| out.iter().zip(std::iter::repeat(w)).enumerate())
            {
                let (out, weights) = out;
                assert_eq!(out.to_bits(), dot(Scalar::new(), weights, row(l)).to_bits());
            }
            for (k, slope) in slopes.iter().enumerate() {
                let want: f64 = (0..11).map(|l| numbers(11, 5)[l] * row(l)[k]).sum();
                assert!((slope - 0.5 - want).abs() < 1e-12);
            }
        }
    }
}
