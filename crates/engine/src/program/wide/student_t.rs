//! Log densities of Student's t in many lanes at once, with the logarithm of the scale, without what hangs on the degrees
//! of freedom alone ([`SharedTerm`](smidgen_prob::SharedTerm)):
//!
//! log p = −log scale − (df + 1)/2 log(1 + z²/df), z = (x − location)/scale.

use smidgen_prob::distributions::student_t;

use super::elementary::{exp_within, ln_from_one};

/// The degrees of freedom, the location and the logarithm of the scale.
pub(super) type Arguments<'a> = [&'a [f64]; 3];

/// The derivatives in x and in the arguments.
pub(super) type Slopes<'a> = [&'a mut [f64]; 4];

/// Squares z²/df from here on, and logarithms of scales beyond these, are left to the law itself.
const LARGEST_SQUARE: f64 = 1e20;
const LARGEST_LOG: f64 = 700.0;

struct Lane {
    log_p: f64,
    slopes: [f64; 4],
    /// Whether the law itself has to be asked.
    is_odd: bool,
}

#[inline(always)]
fn lane(x: f64, [df, location, log_scale]: [f64; 3]) -> Lane {
    let inverse = exp_within(-log_scale);
    let z = (x - location) * inverse;
    let square = z * z / df;
    let whole = 1.0 + square;
    let rounded_off = square - (whole - 1.0);
    let log_whole = ln_from_one(whole) + rounded_off / whole;
    let more = df + 1.0;
    let share = square / whole;
    let by_x = -more / df * z / whole * inverse;
    let by_df = 0.5 * (more / df * share - log_whole);
    let is_usual = (square < LARGEST_SQUARE) & (log_scale.abs() < LARGEST_LOG);
    let is_law = (df > f64::MIN_POSITIVE) & (df < f64::MAX);
    Lane {
        log_p: -log_scale - 0.5 * more * log_whole,
        slopes: [by_x, by_df, -by_x, more * share - 1.0],
        is_odd: !(is_usual & is_law),
    }
}

#[inline(always)]
pub(super) fn log_students(x: &[f64], [df, location, log_scale]: Arguments<'_>, out: &mut [f64]) {
    let lanes = out.len();
    let (x, df) = (&x[..lanes], &df[..lanes]);
    let (location, log_scale) = (&location[..lanes], &log_scale[..lanes]);
    let mut odd = 0;
    for l in 0..lanes {
        let lane = lane(x[l], [df[l], location[l], log_scale[l]]);
        out[l] = lane.log_p;
        odd += u64::from(lane.is_odd);
    }
    if odd == 0 {
        return;
    }
    for l in 0..lanes {
        let arguments = [df[l], location[l], log_scale[l]];
        if lane(x[l], arguments).is_odd {
            out[l] = student_t::rest_score_by_log(x[l], &arguments, &mut []);
        }
    }
}

#[inline(always)]
pub(super) fn students(
    x: &[f64],
    [df, location, log_scale]: Arguments<'_>,
    out: &mut [f64],
    [x_slope, df_slope, location_slope, log_slope]: Slopes<'_>,
) {
    let lanes = out.len();
    let (x, df) = (&x[..lanes], &df[..lanes]);
    let (location, log_scale) = (&location[..lanes], &log_scale[..lanes]);
    let (x_slope, df_slope) = (&mut x_slope[..lanes], &mut df_slope[..lanes]);
    let (location_slope, log_slope) = (&mut location_slope[..lanes], &mut log_slope[..lanes]);
    let mut odd = 0;
    for l in 0..lanes {
        let lane = lane(x[l], [df[l], location[l], log_scale[l]]);
        out[l] = lane.log_p;
        [x_slope[l], df_slope[l], location_slope[l], log_slope[l]] = lane.slopes;
        odd += u64::from(lane.is_odd);
    }
    if odd == 0 {
        return;
    }
    for l in 0..lanes {
        let arguments = [df[l], location[l], log_scale[l]];
        if lane(x[l], arguments).is_odd {
            let mut slopes = [0.0; 4];
            out[l] = student_t::rest_score_by_log(x[l], &arguments, &mut slopes);
            [x_slope[l], df_slope[l], location_slope[l], log_slope[l]] = slopes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Wide;
    use super::*;

    /// In the middle and far out, where the law itself is asked, and where there is no law.
    #[test]
    fn lanes_agree_with_the_law() {
        let xs = [0.0, 1e-9, -0.3, 2.0, -40.0, 1e8, 1e200, f64::INFINITY];
        let dfs = [0.01, 0.7, 1.0, 4.0, 300.0, 1e9, 1e300, 0.0, -1.0, f64::NAN];
        let log_scales = [-800.0, -300.0, -2.0, 0.0, 0.5, 300.0, 720.0, f64::NAN];
        let mut compared = 0;
        for df in dfs {
            for log_scale in log_scales {
                let constant = |x: f64| [x; 8];
                let arguments = [&constant(df)[..], &constant(0.25), &constant(log_scale)];
                let [mut out, mut only, mut a, mut b, mut c, mut d] = [[0.0; 8]; 6];
                let slopes = [&mut a[..], &mut b[..], &mut c[..], &mut d[..]];
                Wide::default().students(&xs, arguments, &mut out, slopes);
                Wide::default().log_students(&xs, arguments, &mut only);
                for (l, x) in xs.into_iter().enumerate() {
                    let mut want = [0.0; 4];
                    let log_p = student_t::rest_score_by_log(x, &[df, 0.25, log_scale], &mut want);
                    assert_eq!(out[l].to_bits(), only[l].to_bits());
                    let close = |found: f64, want: f64| {
                        found == want || (found - want).abs() <= 2e-13 * (1.0 + want.abs())
                    };
                    assert!(close(out[l], log_p), "{x} {df} {log_scale}: {} {log_p}", out[l]);
                    if log_p > f64::NEG_INFINITY {
                        compared += 1;
                        for (found, want) in [a[l], b[l], c[l], d[l]].into_iter().zip(want) {
                            assert!(close(found, want), "{x} {df} {log_scale}: {found} {want}");
                        }
                    }
                }
            }
        }
        assert!(compared > 300, "{compared}");
    }
}
