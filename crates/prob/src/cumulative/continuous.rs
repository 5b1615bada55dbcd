//! The distribution functions of continuous laws, by name.

use std::f64::consts::FRAC_1_SQRT_2;

use smidgen_value::math::{
    LN_2, PI, atan2, erf, exp, ln, ln_1p, log_logistic, logsumexp, pow, sqrt,
};

use super::incomplete::{log_beta_parts, log_gamma_parts};
use super::{Side, log_complement, quadrature};
use crate::distributions::{normal_tail, student_t};
use crate::law::{Inner, Numbers};
use crate::smooth::Curve;

/// log P(X <= x) and log P(X > x)
pub(super) type Parts = [f64; 2];

const NAMES: &[&str] = &[
    "normal",
    "lognormal",
    "half_normal",
    "cauchy",
    "half_cauchy",
    "laplace",
    "logistic_dist",
    "gumbel",
    "expon",
    "weibull",
    "pareto",
    "uniform_continuous",
    "gamma",
    "inv_gamma",
    "chi_squared",
    "beta",
    "beta_mean",
    "student_t",
    "half_student_t",
    "inverse_gaussian",
    "truncated_normal",
    "skew_normal",
    "vonmises",
];

/// Whether there is a distribution function.
pub fn is_known(name: &str, is_discrete: bool) -> bool {
    is_discrete || NAMES.contains(&name)
}

pub fn log_probability(
    inner: Inner,
    side: Side,
    x: f64,
    args: &[f64],
    wanted: bool,
) -> Option<(f64, Numbers)> {
    let name = inner.law.spec().name;
    let at = |args: &[f64]| {
        let [below, above] = parts(name, x, args)?;
        Some(if side == Side::Below { below } else { above })
    };
    let log_p = at(args)?;
    if !wanted {
        return Some((log_p, Numbers::new()));
    }
    let sign = if side == Side::Below { 1.0 } else { -1.0 };
    let by_x = sign * exp((inner.score)(x, args, &mut []) - log_p);
    let velocity = velocity(name, x, args);
    let mut slopes = Numbers::from_elem(by_x, 1);
    for (i, velocity) in velocity.into_iter().enumerate().take(args.len()) {
        slopes.push(match velocity {
            Some(v) => -v * by_x,
            None => difference(args, i, inner, &at),
        });
    }
    Some((log_p, slopes))
}

/// A derivative by differences of fourth order.
pub(super) fn difference(
    args: &[f64],
    i: usize,
    inner: Inner,
    at: &dyn Fn(&[f64]) -> Option<f64>,
) -> f64 {
    let name = inner.law.spec().name;
    let reach = match (name, i) {
        ("beta_mean", 0) => args[0].min(1.0 - args[0]),
        ("truncated_normal", _) => args[1],
        _ => args[i].abs(),
    };
    let h = 1e-3 * reach;
    let moved = |t: f64| {
        let mut args: Numbers = args.into();
        args[i] += t;
        at(&args).unwrap_or(f64::NAN)
    };
    let slope = (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * h);
    if slope.is_finite() { slope } else { 0.0 }
}

/// The parts of a normal law.
fn normal(z: f64) -> Parts {
    [Curve::LogNormalCdf.value(z), Curve::LogNormalCdf.value(-z)]
}

/// From the smaller part.
fn from_above(above: f64) -> Parts {
    [log_complement(above), above]
}

/// The smaller of two parts as it is, the other as what is left.
fn smaller([below, above]: Parts) -> Parts {
    if below < above { [below, log_complement(below)] } else { from_above(above) }
}

fn mirrored([below, above]: Parts) -> Parts {
    [above, below]
}

/// Where a law is symmetric around 0: from the part beyond |z|.
fn symmetric(z: f64, beyond: impl Fn(f64) -> f64) -> Parts {
    let beyond = beyond(z.abs());
    let parts = [log_complement(beyond), beyond];
    if z < 0.0 { mirrored(parts) } else { parts }
}

/// log P(T > z) of Student's t, for z >= 0.
fn student_beyond(df: f64, z: f64) -> f64 {
    student_parts(df, z)[1] - LN_2
}

/// Where z^2 / df is above this or below its reciprocal, it or its image may have left the doubles, and nothing but the first term
/// of a tail or of the middle is to be seen in one.
const FIRST_TERM: f64 = 1e280;

/// The parts of |T| below and above z, for z >= 0.
fn student_parts(df: f64, z: f64) -> Parts {
    let square = z * z / df;
    if square > FIRST_TERM || square * FIRST_TERM < 1.0 {
        if z == 0.0 {
            return [f64::NEG_INFINITY, 0.0];
        }
        // z times the density of |T|, and beyond z this over df.
        let front = LN_2 + student_t::log_density(z, df, 1.0) + ln(z);
        return if z < 1.0 { smaller([front, 0.0]) } else { from_above(front - ln(df)) };
    }
    // df / (df + z^2), and z^2 over the same
    let (x, y) = if square < 1.0 {
        (1.0 / (1.0 + square), square / (1.0 + square))
    } else {
        (1.0 / square / (1.0 + 1.0 / square), 1.0 / (1.0 + 1.0 / square))
    };
    mirrored(log_beta_parts(0.5 * df, 0.5, x, y))
}

fn inverse_gaussian(x: f64, mu: f64, lambda: f64) -> Parts {
    let root = sqrt(lambda / x);
    let (near, far) = (root * (x / mu - 1.0), root * (x / mu + 1.0));
    let mirror = 2.0 * lambda / mu + normal(far)[1];
    let below = logsumexp(&[normal(near)[0], mirror]).min(0.0);
    if below < -0.7 {
        return [below, log_complement(below)];
    }
    let first = normal(near)[1];
    let above = first + log_complement((mirror - first).min(0.0));
    from_above(above.min(0.0))
}

fn parts(name: &str, x: f64, args: &[f64]) -> Option<Parts> {
    let z = |loc: f64, scale: f64| (x - loc) / scale;
    let arg = |i: usize, default: f64| args.get(i).copied().unwrap_or(default);
    Some(match name {
        "normal" => normal(z(args[0], args[1])),
        "lognormal" => normal((ln(x) - args[0]) / args[1]),
        "half_normal" => {
            let z = x / args[0];
            let above = LN_2 + normal(z)[1];
            smaller([ln(erf(z * FRAC_1_SQRT_2)), above])
        }
        "cauchy" => symmetric(z(args[0], args[1]), |z| ln(atan2(1.0, z) / PI)),
        "half_cauchy" => {
            let z = x / args[0];
            smaller([ln(2.0 * atan2(z, 1.0) / PI), ln(2.0 * atan2(1.0, z) / PI)])
        }
        "laplace" => symmetric(z(args[0], args[1]), |z| -z - LN_2),
        "logistic_dist" => {
            let z = z(args[0], args[1]);
            [log_logistic(z), log_logistic(-z)]
        }
        "gumbel" => {
            let below = -exp(-z(args[0], args[1]));
            [below, log_complement(below)]
        }
        "expon" => from_above(-args[0] * x),
        "weibull" => from_above(-pow(x / args[1], args[0])),
        "pareto" => from_above(args[1] * -ln_1p((x - args[0]) / args[0])),
        "uniform_continuous" => {
            let width = args[1] - args[0];
            [ln((x - args[0]) / width), ln((args[1] - x) / width)]
        }
        "gamma" => log_gamma_parts(args[0], args[1] * x),
        "chi_squared" => log_gamma_parts(0.5 * args[0], 0.5 * x),
        "inv_gamma" => mirrored(log_gamma_parts(args[0], args[1] / x)),
        "beta" => log_beta_parts(args[0], args[1], x, 1.0 - x),
        "beta_mean" => log_beta_parts(args[0] * args[1], (1.0 - args[0]) * args[1], x, 1.0 - x),
        "student_t" => symmetric(z(arg(1, 0.0), arg(2, 1.0)), |z| student_beyond(args[0], z)),
        "half_student_t" => student_parts(args[0], x / args[1]),
        "inverse_gaussian" => inverse_gaussian(x, args[0], args[1]),
        "skew_normal" => quadrature::skew_normal(z(args[0], args[1]), args[2]),
        "vonmises" => smaller(quadrature::vonmises(x, args[0], args[1])),
        "truncated_normal" => {
            let (mean, sd, low, high) = (args[0], args[1], args[2], args[3]);
            let mass = |low: f64, high: f64| {
                normal_tail::log_mass((low - mean) / sd, (high - mean) / sd, (high - low) / sd)
            };
            let all = mass(low, high);
            smaller([(mass(low, x) - all).min(0.0), (mass(x, high) - all).min(0.0)])
        }
        _ => return None,
    })
}

/// How a quantile moves with each parameter, where that has a simple form.
fn velocity(name: &str, x: f64, args: &[f64]) -> [Option<f64>; 4] {
    let z = |loc: usize| (x - args[loc]) / args[loc + 1];
    match name {
        "normal" | "cauchy" | "laplace" | "logistic_dist" | "gumbel" => {
            [Some(1.0), Some(z(0)), None, None]
        }
        "lognormal" => [Some(x), Some(x * (ln(x) - args[0]) / args[1]), None, None],
        "half_normal" | "half_cauchy" => [Some(x / args[0]), None, None, None],
        "expon" => [Some(-x / args[0]), None, None, None],
        "weibull" => [Some(-x * ln(x / args[1]) / args[0]), Some(x / args[1]), None, None],
        "pareto" => [Some(x / args[0]), Some(-x * ln(x / args[0]) / args[1]), None, None],
        "uniform_continuous" => {
            let width = args[1] - args[0];
            [Some((args[1] - x) / width), Some((x - args[0]) / width), None, None]
        }
        "gamma" => [None, Some(-x / args[1]), None, None],
        "inv_gamma" | "half_student_t" => [None, Some(x / args[1]), None, None],
        "student_t" if args.len() == 3 => [None, Some(1.0), Some(z(1)), None],
        "student_t" if args.len() == 2 => [None, Some(1.0), None, None],
        "skew_normal" => {
            let v = args[1] * quadrature::skew_normal_velocity(z(0), args[2]);
            [Some(1.0), Some(z(0)), Some(v), None]
        }
        "vonmises" => {
            let [with_mu, with_kappa] = quadrature::vonmises_velocity(x, args[0], args[1]);
            [Some(with_mu), Some(with_kappa), None, None]
        }
        _ => [None; 4],
    }
}
