//! Log densities of many lanes at once, with and without their slopes.

use std::ops::Range;

use pulp::{Scalar, Simd};
use smidgen_prob::distributions::{normal, poisson};
use smidgen_value::math;

use super::elementary::{exp_within, ln_1p_up_to_one, ln_from_one};

/// log p of a coin with log odds η, and the slope in them.
#[inline(always)]
fn coin(x: f64, eta: f64) -> [f64; 2] {
    let size = eta.abs();
    let e = exp_within(-size);
    let inverse = 1.0 / (1.0 + e);
    let p = if eta >= 0.0 { inverse } else { e * inverse };
    // log p = −log(1 + e^−η) for heads, −log(1 + e^η) for tails.
    let toward = if x == 1.0 { eta } else { -eta };
    let excess = if toward < 0.0 { size } else { 0.0 };
    let log_p = -(excess + ln_1p_up_to_one(e));
    [if x == 1.0 || x == 0.0 { log_p } else { f64::NEG_INFINITY }, x - p]
}

#[inline(always)]
pub(super) fn coins(x: &[f64], eta: &[f64], out: &mut [f64], slope: &mut [f64]) {
    let lanes = out.len();
    let (x, eta, slope) = (&x[..lanes], &eta[..lanes], &mut slope[..lanes]);
    for l in 0..lanes {
        [out[l], slope[l]] = coin(x[l], eta[l]);
    }
}

#[inline(always)]
pub(super) fn log_coins(x: &[f64], eta: &[f64], out: &mut [f64]) {
    let lanes = out.len();
    let (x, eta) = (&x[..lanes], &eta[..lanes]);
    for l in 0..lanes {
        [out[l], _] = coin(x[l], eta[l]);
    }
}

#[inline(always)]
pub(super) fn shares(largest: f64, xs: &mut [f64]) {
    for x in xs {
        // Computed either way: then there is no branch.
        let share = exp_within(*x - largest);
        *x = if *x == largest { 1.0 } else { share };
    }
}

/// Two registers at a time, whose sums do not wait for each other.
#[inline(always)]
pub(super) fn predictives<S: Simd>(
    simd: S,
    x: &[f64],
    numbers: &[f64],
    stride: usize,
    spare: &mut [f64],
    out: &mut [f64],
) {
    let students = Students { x, numbers, stride };
    let (lanes, width) = (out.len(), S::F64_LANES);
    let mut from = 0;
    while from + 2 * width <= lanes {
        students.squares::<S, 2>(simd, from, spare);
        from += 2 * width;
    }
    while from + width <= lanes {
        students.squares::<S, 1>(simd, from, spare);
        from += width;
    }
    for lane in from..lanes {
        students.squares::<Scalar, 1>(Scalar::new(), lane, spare);
    }
    let field = |field: usize| &numbers[field * stride..][..lanes];
    let (a, b, c, squares) = (field(0), field(1), field(2), &spare[..lanes]);
    for l in 0..lanes {
        out[l] += a[l] - b[l] * ln_from_one(1.0 + c[l] * squares[l]);
    }
}

struct Students<'a> {
    x: &'a [f64],
    numbers: &'a [f64],
    stride: usize,
}

impl Students<'_> {
    #[inline(always)]
    fn field<S: Simd>(&self, field: usize, lanes: &Range<usize>) -> &[S::f64s] {
        S::as_simd_f64s(&self.numbers[field * self.stride..][lanes.clone()]).0
    }

    /// |y|² of R registers of lanes from this one on, by forward substitution: y_i = (x_i − m_i − Σ_j<i L_ij y_j) / L_ii, which
    /// stands from i·stride on in `spare`.
    #[inline(always)]
    fn squares<S: Simd, const R: usize>(&self, simd: S, from: usize, spare: &mut [f64]) {
        let (d, lanes) = (self.x.len(), from..from + R * S::F64_LANES);
        let mut squares = [simd.splat_f64s(0.0); R];
        for (i, x) in self.x.iter().enumerate() {
            let (x, mean) = (simd.splat_f64s(*x), self.field::<S>(6 + i, &lanes));
            let (known, own) = spare.split_at_mut(i * self.stride);
            let mut y = [x; R];
            for r in 0..R {
                y[r] = simd.sub_f64s(x, mean[r]);
            }
            // The columns of L stand one after the other, each from its diagonal down, that inverted.
            let mut entry = 6 + d + i;
            for j in 0..i {
                let below = self.field::<S>(entry, &lanes);
                let known = S::as_simd_f64s(&known[j * self.stride..][lanes.clone()]).0;
                for r in 0..R {
                    y[r] = simd.sub_f64s(y[r], simd.mul_f64s(below[r], known[r]));
                }
                entry += d - j - 1;
            }
            let inverse = self.field::<S>(entry, &lanes);
            for r in 0..R {
                y[r] = simd.mul_f64s(y[r], inverse[r]);
                squares[r] = simd.add_f64s(squares[r], simd.mul_f64s(y[r], y[r]));
            }
            S::as_mut_simd_f64s(&mut own[lanes.clone()]).0.copy_from_slice(&y);
        }
        S::as_mut_simd_f64s(&mut spare[lanes]).0.copy_from_slice(&squares);
    }
}

/// ln sd in all lanes, which stands in `out`; one sd for all is the usual case.
#[inline(always)]
fn ln_each(sd: &[f64], out: &mut [f64]) {
    let lanes = out.len();
    if sd.iter().map(|s| u64::from(*s != sd[0])).sum::<u64>() == 0 {
        out.fill(ln_or_nothing(sd[0]));
        return;
    }
    for l in 0..lanes {
        out[l] = ln_or_nothing(sd[l]);
    }
}

#[inline(always)]
pub(super) fn log_normals([x, mean, sd]: [&[f64]; 3], out: &mut [f64]) {
    let lanes = out.len();
    let (x, mean, sd) = (&x[..lanes], &mean[..lanes], &sd[..lanes]);
    ln_each(sd, out);
    for l in 0..lanes {
        let inverse = 1.0 / sd[l];
        let z = (x[l] - mean[l]) * inverse;
        out[l] = -0.5 * z * z - out[l] - math::HALF_LN_2PI;
    }
    if is_any_tiny(sd) {
        for l in 0..lanes {
            out[l] = normal::score(x[l], &[mean[l], sd[l]], &mut []);
        }
    }
}

/// Whether some sd has no inverse: the law itself divides by it.
#[inline(always)]
fn is_any_tiny(sd: &[f64]) -> bool {
    sd.iter().map(|sd| u64::from(*sd < f64::MIN_POSITIVE)).sum::<u64>() > 0
}

#[inline(always)]
pub(super) fn normals([x, mean, sd]: [&[f64]; 3], out: &mut [f64], slopes: [&mut [f64]; 3]) {
    let lanes = out.len();
    let [x_slope, mean_slope, sd_slope] = slopes;
    let (x, mean, sd) = (&x[..lanes], &mean[..lanes], &sd[..lanes]);
    let (x_slope, mean_slope) = (&mut x_slope[..lanes], &mut mean_slope[..lanes]);
    let sd_slope = &mut sd_slope[..lanes];
    ln_each(sd, out);
    for l in 0..lanes {
        let inverse = 1.0 / sd[l];
        let z = (x[l] - mean[l]) * inverse;
        out[l] = -0.5 * z * z - out[l] - math::HALF_LN_2PI;
        let slope = z * inverse;
        x_slope[l] = -slope;
        mean_slope[l] = slope;
        sd_slope[l] = z * slope - inverse;
    }
    if is_any_tiny(sd) {
        for l in 0..lanes {
            let mut slopes = [0.0; 3];
            out[l] = normal::score(x[l], &[mean[l], sd[l]], &mut slopes);
            [x_slope[l], mean_slope[l], sd_slope[l]] = slopes;
        }
    }
}

/// Beyond these logarithms of the sd, in size, a lane is left to the law itself.
const WITHIN: f64 = 700.0;

#[inline(always)]
fn is_extreme(log_sd: f64) -> bool {
    log_sd.is_nan() | (log_sd.abs() > WITHIN)
}

/// Counted to the end, which takes wide registers and no branches.
#[inline(always)]
pub(super) fn is_any_extreme(log_sd: &[f64]) -> bool {
    log_sd.iter().map(|log_sd| u64::from(is_extreme(*log_sd))).sum::<u64>() > 0
}

/// Counts below which log k! and k log rate, of which little is left near the mean, have digits enough: an error
/// of 1e-12.
const FEW: f64 = 1024.0;

/// Whether a count is so large, no count at all, or its rate so extreme that the law itself is asked.
#[inline(always)]
fn is_odd(x: f64, log_rate: f64) -> bool {
    // Adding and taking away 2^52 rounds to a whole number.
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    let is_few = (0.0..FEW).contains(&x) && (x + WHOLE) - WHOLE == x;
    !(is_few && log_rate.abs() < 700.0)
}

/// x log rate − rate − log x!. Candidates for one observation have the same x: then log x! is found once.
#[inline(always)]
pub(super) fn log_poissons_by_log([x, log_rate]: [&[f64]; 2], out: &mut [f64]) {
    let lanes = out.len();
    let (x, log_rate) = (&x[..lanes], &log_rate[..lanes]);
    let Some(first) = x.first() else { return };
    match x.iter().map(|x| u64::from(x != first)).sum::<u64>() == 0 {
        true => out.fill(math::ln_gamma(first + 1.0)),
        false => out.iter_mut().zip(x).for_each(|(out, x)| *out = math::ln_gamma(x + 1.0)),
    }
    let mut odd = 0;
    for l in 0..lanes {
        out[l] = x[l] * log_rate[l] - exp_within(log_rate[l]) - out[l];
        odd += u64::from(is_odd(x[l], log_rate[l]));
    }
    if odd == 0 {
        return;
    }
    for l in 0..lanes {
        if is_odd(x[l], log_rate[l]) {
            out[l] = poisson::score_by_log(x[l], &[log_rate[l]], &mut []);
        }
    }
}

#[inline(always)]
pub(super) fn log_normals_by_log([x, mean, log_sd]: [&[f64]; 3], out: &mut [f64]) {
    let lanes = out.len();
    let (x, mean, log_sd) = (&x[..lanes], &mean[..lanes], &log_sd[..lanes]);
    for l in 0..lanes {
        let z = (x[l] - mean[l]) * exp_within(-log_sd[l]);
        out[l] = -0.5 * z * z - log_sd[l] - math::HALF_LN_2PI;
    }
    if !is_any_extreme(log_sd) {
        return;
    }
    for l in 0..lanes {
        if is_extreme(log_sd[l]) {
            out[l] = normal::score_by_log(x[l], &[mean[l], log_sd[l]], &mut []);
        }
    }
}

#[inline(always)]
pub(super) fn normals_by_log(
    [x, mean, log_sd]: [&[f64]; 3],
    out: &mut [f64],
    slopes: [&mut [f64]; 3],
) {
    let lanes = out.len();
    let [x_slope, mean_slope, log_slope] = slopes;
    let (x, mean, log_sd) = (&x[..lanes], &mean[..lanes], &log_sd[..lanes]);
    let (x_slope, mean_slope) = (&mut x_slope[..lanes], &mut mean_slope[..lanes]);
    let log_slope = &mut log_slope[..lanes];
    for l in 0..lanes {
        let inverse = exp_within(-log_sd[l]);
        let z = (x[l] - mean[l]) * inverse;
        out[l] = -0.5 * z * z - log_sd[l] - math::HALF_LN_2PI;
        let slope = z * inverse;
        x_slope[l] = -slope;
        mean_slope[l] = slope;
        log_slope[l] = z * z - 1.0;
    }
    if !is_any_extreme(log_sd) {
        return;
    }
    for l in 0..lanes {
        if is_extreme(log_sd[l]) {
            let mut slopes = [0.0; 3];
            out[l] = normal::score_by_log(x[l], &[mean[l], log_sd[l]], &mut slopes);
            [x_slope[l], mean_slope[l], log_slope[l]] = slopes;
        }
    }
}

/// ln s, so that a scale that is none gives a density of 0.
#[inline(always)]
fn ln_or_nothing(s: f64) -> f64 {
    if s > 0.0 && s < f64::INFINITY { math::ln(s) } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use smidgen_value::Rng;

    use super::super::{SUMS, Wide};
    use super::*;

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

    /// Whether counts are the same in all lanes or not, large, extreme or no counts at all.
    #[test]
    fn counts_are_weighed_as_their_law_says() {
        let rates = [-800.0, -701.0, -30.0, -1.5, 0.0, 0.3, 2.0, 6.0, 7.0, 30.0, 800.0, f64::NAN];
        let counts = [0.0, 1.0, 2.0, 15.0, 16.0, 400.0, 1023.0, 1024.0, 1e9, -1.0, 0.5, f64::NAN];
        for shift in 0..counts.len() {
            let mixed: Vec<f64> =
                (0..rates.len()).map(|l| counts[(l + shift) % counts.len()]).collect();
            for x in [mixed, vec![counts[shift]; rates.len()]] {
                let mut out = vec![0.0; rates.len()];
                log_poissons_by_log([&x, &rates], &mut out);
                for l in 0..rates.len() {
                    let want = poisson::score_by_log(x[l], &[rates[l]], &mut []);
                    let close = (out[l] - want).abs() <= 1e-11 * want.abs().max(1.0);
                    assert!(out[l] == want || close, "{} {}: {} {want}", x[l], rates[l], out[l]);
                }
            }
        }
    }

    /// However many lanes there are, each is what the formula says of it alone.
    #[test]
    fn students_agree_with_their_formula() {
        let mut rng = Rng::from_seed(11);
        for (d, lanes) in [(1, 1), (1, 17), (2, 5), (2, 24), (3, 8), (7, 33), (10, 16), (10, 31)] {
            let stride = (lanes + 3_usize).next_multiple_of(SUMS);
            let fields = 6 + d + d * (d + 1) / 2;
            let mut draws =
                |n: usize| -> Vec<f64> { (0..n).map(|_| 0.1 + rng.uniform()).collect() };
            let (x, numbers) = (draws(d), draws(fields * stride));
            let (mut spare, mut out) = (vec![f64::NAN; d * stride], vec![0.5; lanes]);
            Wide::default().predictives(&x, &numbers, stride, &mut spare, &mut out);
            for l in 0..lanes {
                let number = |field: usize| numbers[field * stride + l];
                let mut y: Vec<f64> = (0..d).map(|i| x[i] - number(6 + i)).collect();
                let mut column = 6 + d;
                for i in 0..d {
                    y[i] *= number(column);
                    for j in i + 1..d {
                        y[j] -= number(column + j - i) * y[i];
                    }
                    column += d - i;
                }
                let squares: f64 = y.iter().map(|y| y * y).sum();
                assert_eq!(spare[l], squares, "{d} {lanes} {l}");
                let want = 0.5 + (number(0) - number(1) * math::ln(1.0 + number(2) * squares));
                assert!((out[l] - want).abs() < 1e-14 * want.abs().max(1.0), "{d} {lanes} {l}");
            }
        }
    }
}
