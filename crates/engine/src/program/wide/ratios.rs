//! Log densities after a move minus those before it, lane by lane: what is the same on both sides is never
//! computed, and two logarithms become one of a quotient.
//!
//! Each argument is given on both sides, before and after.

use smidgen_value::math;

use super::densities::is_any_extreme;
use super::elementary::{exp_within, two_atanh};
use super::sums::{coin, one_sd};

/// An argument before and after a move.
pub(super) type Sides<'a> = [&'a [f64]; 2];

#[inline(always)]
fn cut(sides: Sides<'_>, lanes: usize) -> Sides<'_> {
    [&sides[0][..lanes], &sides[1][..lanes]]
}

/// Copies numbers. Whether all of them are finite; counted to the end, without branches.
#[inline(always)]
pub(super) fn copy_finite(from: &[f64], to: &mut [f64]) -> bool {
    let mut others = 0;
    for (to, x) in to.iter_mut().zip(from) {
        others += u64::from(!x.is_finite());
        *to = *x;
    }
    others == 0
}

/// Adds those of coins x with log odds η: log p = plain − log(1 + e), and
///
/// log (1 + e) − log(1 + e') = 2 atanh((e − e')/(2 + e + e')).
#[inline(always)]
pub(super) fn coins(x: Sides<'_>, eta: Sides<'_>, out: &mut [f64]) {
    let lanes = out.len();
    let [[x, y], [eta, eta_after]] = [x, eta].map(|sides| cut(sides, lanes));
    for l in 0..lanes {
        let [[plain, e], [plain_after, e_after]] = [coin(x[l], eta[l]), coin(y[l], eta_after[l])];
        out[l] += (plain_after - plain) + two_atanh((e - e_after) / (2.0 + (e + e_after)));
    }
}

/// Adds those of normal x, if all have the same sd on each side. Whether they have.
#[inline(always)]
pub(super) fn normals(x: Sides<'_>, mean: Sides<'_>, sd: Sides<'_>, out: &mut [f64]) -> bool {
    let lanes = out.len();
    let [[x, y], [mean, mean_after], sd] = [x, mean, sd].map(|sides| cut(sides, lanes));
    let before = one_sd(sd[0]);
    let after = if std::ptr::eq(sd[0], sd[1]) { before } else { one_sd(sd[1]) };
    let (Some(sd), Some(sd_after)) = (before, after) else { return false };
    let constant = if sd == sd_after { 0.0 } else { math::ln(sd) - math::ln(sd_after) };
    let [inverse, inverse_after] = [1.0 / sd, 1.0 / sd_after];
    for l in 0..lanes {
        let z = (x[l] - mean[l]) * inverse;
        let z_after = (y[l] - mean_after[l]) * inverse_after;
        // Not (z − z') (z + z'), which is finite where a density is 0.
        out[l] += (0.5 * z * z - 0.5 * z_after * z_after) + constant;
    }
    true
}

/// The same given the logarithms of the sds, if none is extreme. Whether that is so.
#[inline(always)]
pub(super) fn normals_by_log(
    x: Sides<'_>,
    mean: Sides<'_>,
    log_sd: Sides<'_>,
    out: &mut [f64],
) -> bool {
    let lanes = out.len();
    let [[x, y], [mean, mean_after], log_sd] = [x, mean, log_sd].map(|sides| cut(sides, lanes));
    if log_sd.iter().any(|side| is_any_extreme(side)) {
        return false;
    }
    let [log_sd, log_sd_after] = log_sd;
    for l in 0..lanes {
        let z = (x[l] - mean[l]) * exp_within(-log_sd[l]);
        let z_after = (y[l] - mean_after[l]) * exp_within(-log_sd_after[l]);
        out[l] += (0.5 * z * z - 0.5 * z_after * z_after) + (log_sd[l] - log_sd_after[l]);
    }
    true
}
