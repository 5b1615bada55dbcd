//! The hot loops over lanes, compiled once more for processors with wide registers and chosen at
//! run time. Nothing is reordered: the numbers are the same on every machine.

use pulp::{Arch, NullaryFnOnce};
use smidgen_value::{Reals, math};

use super::cells::Pick;

#[derive(Clone, Copy)]
pub(crate) struct Wide(Arch);

impl Default for Wide {
    fn default() -> Wide {
        Wide(Arch::new())
    }
}

impl Wide {
    /// out_l = Σ_k w_k x_kl: entry k of lane l at k·stride + l.
    pub(crate) fn linear(self, weights: &[f64], data: &[f64], stride: usize, out: &mut [f64]) {
        self.0.dispatch(Linear { weights, data, stride, out });
    }

    /// slopes_k += Σ_l out_slope_l x_kl
    pub(crate) fn pull_linear(
        self,
        out_slope: &[f64],
        data: &[f64],
        stride: usize,
        slopes: &mut [f64],
    ) {
        self.0.dispatch(PullLinear { out_slope, data, stride, slopes });
    }

    /// out_l = Σ_k w_k x_lk for the vectors of these rows.
    pub(crate) fn linear_rows(
        self,
        weights: &[f64],
        rows: Reals<'_>,
        pick: Pick<'_>,
        out: &mut [f64],
    ) {
        self.0.dispatch(LinearRows { weights, rows, pick, out });
    }

    /// slopes_k += Σ_l out_slope_l x_lk for the vectors of these rows.
    pub(crate) fn pull_rows(
        self,
        out_slope: &[f64],
        rows: Reals<'_>,
        pick: Pick<'_>,
        slopes: &mut [f64],
    ) {
        self.0.dispatch(PullRows { out_slope, rows, pick, slopes });
    }

    /// log p of coins x with log odds η, and its slope in η.
    pub(crate) fn coins(self, x: &[f64], eta: &[f64], out: &mut [f64], slope: &mut [f64]) {
        self.0.dispatch(Coins { x, eta, out, slope });
    }

    /// log p of normal x. The slopes in x, mean and sd stand one after the other.
    pub(crate) fn normals(self, arguments: [&[f64]; 3], out: &mut [f64], slopes: [&mut [f64]; 3]) {
        self.0.dispatch(Normals { arguments, out, slopes });
    }
}

// A closure would be compiled on its own, for the smallest processor; a call that is inlined for
// certain is compiled for each.

struct Linear<'a> {
    weights: &'a [f64],
    data: &'a [f64],
    stride: usize,
    out: &'a mut [f64],
}

impl NullaryFnOnce for Linear<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        linear(self.weights, self.data, self.stride, self.out);
    }
}

struct PullLinear<'a> {
    out_slope: &'a [f64],
    data: &'a [f64],
    stride: usize,
    slopes: &'a mut [f64],
}

impl NullaryFnOnce for PullLinear<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        pull_linear(self.out_slope, self.data, self.stride, self.slopes);
    }
}

struct LinearRows<'a> {
    weights: &'a [f64],
    rows: Reals<'a>,
    pick: Pick<'a>,
    out: &'a mut [f64],
}

impl NullaryFnOnce for LinearRows<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let LinearRows { weights, rows, pick, out } = self;
        match pick {
            Pick::From(start) if let [v, w] = *weights => {
                let pairs = rows.data[2 * start..].chunks_exact(2);
                for (out, x) in out.iter_mut().zip(pairs) {
                    *out = v * x[0] + w * x[1];
                }
            }
            Pick::From(start) => {
                for (l, out) in out.iter_mut().enumerate() {
                    *out = dot(weights, rows.row(start + l));
                }
            }
            Pick::These(these) if let [v, w] = *weights => {
                for (out, row) in out.iter_mut().zip(these) {
                    let x = rows.row(*row as usize);
                    *out = v * x[0] + w * x[1];
                }
            }
            Pick::These(these) => {
                for (out, row) in out.iter_mut().zip(these) {
                    *out = dot(weights, rows.row(*row as usize));
                }
            }
        }
    }
}

struct PullRows<'a> {
    out_slope: &'a [f64],
    rows: Reals<'a>,
    pick: Pick<'a>,
    slopes: &'a mut [f64],
}

impl NullaryFnOnce for PullRows<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let PullRows { out_slope, rows, pick, slopes } = self;
        for (l, slope) in out_slope.iter().enumerate() {
            let row = match pick {
                Pick::From(start) => start + l,
                Pick::These(these) => these[l] as usize,
            };
            let row = &rows.row(row)[..slopes.len()];
            for (out, x) in slopes.iter_mut().zip(row) {
                *out += slope * x;
            }
        }
    }
}

struct Coins<'a> {
    x: &'a [f64],
    eta: &'a [f64],
    out: &'a mut [f64],
    slope: &'a mut [f64],
}

impl NullaryFnOnce for Coins<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        coins(self.x, self.eta, self.out, self.slope);
    }
}

struct Normals<'a> {
    arguments: [&'a [f64]; 3],
    out: &'a mut [f64],
    slopes: [&'a mut [f64]; 3],
}

impl NullaryFnOnce for Normals<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        normals(self.arguments, self.out, self.slopes);
    }
}

#[inline(always)]
fn linear(weights: &[f64], data: &[f64], stride: usize, out: &mut [f64]) {
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

#[inline(always)]
fn pull_linear(out_slope: &[f64], data: &[f64], stride: usize, slopes: &mut [f64]) {
    for (slope, column) in slopes.iter_mut().zip(data.chunks_exact(stride)) {
        *slope += dot(out_slope, &column[..out_slope.len()]);
    }
}

/// Σ_l a_l b_l with sixteen running sums, four by four: the shape that compilers turn into wide
/// registers.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [[0.0; 4]; 4];
    let (mut left, mut right) = (a.chunks_exact(16), b.chunks_exact(16));
    for (a, b) in left.by_ref().zip(right.by_ref()) {
        for (k, sums) in sums.iter_mut().enumerate() {
            let (a, b) = (&a[4 * k..4 * k + 4], &b[4 * k..4 * k + 4]);
            for l in 0..4 {
                sums[l] += a[l] * b[l];
            }
        }
    }
    let [s, t, u, v] = sums;
    let mut total = [0.0; 4];
    for l in 0..4 {
        total[l] = (s[l] + t[l]) + (u[l] + v[l]);
    }
    let mut tail = 0.0;
    for (a, b) in left.remainder().iter().zip(right.remainder()) {
        tail += a * b;
    }
    ((total[0] + total[1]) + (total[2] + total[3])) + tail
}

#[inline(always)]
fn coins(x: &[f64], eta: &[f64], out: &mut [f64], slope: &mut [f64]) {
    let lanes = out.len();
    let (x, eta, slope) = (&x[..lanes], &eta[..lanes], &mut slope[..lanes]);
    for l in 0..lanes {
        let size = eta[l].abs();
        let e = exp_of_negative(-size);
        let p_small = e / (1.0 + e);
        let p_large = 1.0 / (1.0 + e);
        let p = if eta[l] >= 0.0 { p_large } else { p_small };
        // log p = −log(1 + e^−η) for heads, −log(1 + e^η) for tails.
        let toward = if x[l] == 1.0 { eta[l] } else { -eta[l] };
        let excess = if toward < 0.0 { size } else { 0.0 };
        out[l] = -(excess + ln_1p_up_to_one(e));
        slope[l] = x[l] - p;
    }
}

/// e^x for x ≤ 0: x = n ln 2 + r with |r| ≤ ½ ln 2, and the series of e^r. Below −708 the result
/// is 0.
#[inline(always)]
fn exp_of_negative(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5·2^52: adding it rounds to a whole number
    const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let clamped = if x < -708.0 { -708.0 } else { x };
    let shifted = clamped * std::f64::consts::LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    let r = (clamped - n * LN_2_HIGH) - n * LN_2_LOW;
    // Σ r^k / k!, k to 13, by pairs.
    let r2 = r * r;
    let low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0));
    let middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    let high = (1.0 / 40_320.0 + r * (1.0 / 362_880.0))
        + r2 * (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0));
    let r4 = r2 * r2;
    let series = low + r4 * (middle + r4 * (high + r4 * (1.0 / 479_001_600.0)));
    // 2^n from the low bits of the shifted number.
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    if x < -708.0 { 0.0 } else { series * scale }
}

/// ln(1 + e) for 0 ≤ e ≤ 1: 2 atanh(s) with s = e/(2 + e), after taking out ln 2 above √2.
#[inline(always)]
fn ln_1p_up_to_one(e: f64) -> f64 {
    let large = e > std::f64::consts::SQRT_2 - 1.0;
    // (1 + e)/2 = 1 + (e − 1)/2
    let f = if large { 0.5 * (e - 1.0) } else { e };
    let base = if large { std::f64::consts::LN_2 } else { 0.0 };
    let s = f / (2.0 + f);
    let t = s * s;
    let series = 1.0 / 3.0
        + t * (1.0 / 5.0
            + t * (1.0 / 7.0
                + t * (1.0 / 9.0
                    + t * (1.0 / 11.0
                        + t * (1.0 / 13.0
                            + t * (1.0 / 15.0 + t * (1.0 / 17.0 + t * (1.0 / 19.0))))))));
    base + 2.0 * (s + s * t * series)
}

#[inline(always)]
fn normals([x, mean, sd]: [&[f64]; 3], out: &mut [f64], slopes: [&mut [f64]; 3]) {
    let lanes = out.len();
    let [x_slope, mean_slope, sd_slope] = slopes;
    let (x, mean, sd) = (&x[..lanes], &mean[..lanes], &sd[..lanes]);
    let (x_slope, mean_slope) = (&mut x_slope[..lanes], &mut mean_slope[..lanes]);
    let sd_slope = &mut sd_slope[..lanes];
    // One sd for all is the usual case.
    let same = sd.iter().all(|s| *s == sd[0]);
    let first = ln_or_nothing(sd[0]);
    for l in 0..lanes {
        out[l] = if same { first } else { ln_or_nothing(sd[l]) };
    }
    for l in 0..lanes {
        let inverse = 1.0 / sd[l];
        let z = (x[l] - mean[l]) * inverse;
        out[l] = -0.5 * z * z - out[l] - math::HALF_LN_2PI;
        let slope = z * inverse;
        x_slope[l] = -slope;
        mean_slope[l] = slope;
        sd_slope[l] = z * slope - inverse;
    }
}

/// ln s, so that a scale that is none gives a density of 0.
#[inline(always)]
fn ln_or_nothing(s: f64) -> f64 {
    if s > 0.0 && s < f64::INFINITY { math::ln(s) } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_accurate() {
        for k in 0..200_000 {
            let x = -750.0 * f64::from(k) / 200_000.0;
            let (ours, want) = (exp_of_negative(x), math::exp(x));
            let error = (ours - want).abs();
            assert!(error <= 1e-15 * want || want < 1e-300, "{x}: {ours} {want}");
        }
        assert_eq!(exp_of_negative(0.0), 1.0);
    }

    #[test]
    fn logarithms_are_accurate() {
        for k in 0..=100_000 {
            let e = f64::from(k) / 100_000.0;
            let (ours, want) = (ln_1p_up_to_one(e), math::ln_1p(e));
            assert!((ours - want).abs() <= 4e-16 * want.max(1e-300) + 1e-16, "{e}: {ours} {want}");
        }
    }

    #[test]
    fn coins_agree_with_the_scalar_form() {
        for eta in [-800.0, -40.0, -1.5, -1e-9, 0.0, 0.3, 5.0, 37.0, 900.0] {
            for x in [0.0, 1.0] {
                let (mut out, mut slope) = ([0.0], [0.0]);
                Wide::default().coins(&[x], &[eta], &mut out, &mut slope);
                let want = -math::ln_1p_exp(if x == 1.0 { -eta } else { eta });
                assert!((out[0] - want).abs() <= 1e-14 * want.abs(), "{eta} {x}");
                assert!((slope[0] - (x - math::logistic(eta))).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn normals_agree_with_the_scalar_form() {
        let sds = [0.5, 2.0, 0.5];
        let [mut out, mut a, mut b, mut c] = [[0.0; 3]; 4];
        let slopes = [&mut a[..], &mut b[..], &mut c[..]];
        Wide::default().normals([&[1.0, 2.0, 3.0], &[0.0; 3], &sds], &mut out, slopes);
        let density = |x: f64, s: f64| -0.5 * x * x / (s * s) - math::ln(s) - math::HALF_LN_2PI;
        assert!((out[1] - density(2.0, 2.0)).abs() < 1e-14);
        assert!((a[2] + 12.0).abs() < 1e-13 && (b[2] - 12.0).abs() < 1e-13);
        assert!((c[2] - (9.0 / 0.125 - 2.0)).abs() < 1e-12);
        let [mut out, mut a, mut b, mut c] = [[0.0; 1]; 4];
        let slopes = [&mut a[..], &mut b[..], &mut c[..]];
        Wide::default().normals([&[1.0], &[0.0], &[-1.0]], &mut out, slopes);
        assert_eq!(out[0], f64::NEG_INFINITY);
    }
}
