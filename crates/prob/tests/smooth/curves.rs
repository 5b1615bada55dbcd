//! Curves: derivatives against 400 digits and against differences, ranges against many points.

use smidgen_prob::smooth::Curve::{
    Abs, Cos, Exp, Expm1, Log, Log1mExp, Log1mExpExp, Log1p, Log1pSquare, LogGamma, LogLogistic,
    LogNormalCdf, LogRising, LogScaledBessel, Logistic, Logit, NormalCdf, Power, Reciprocal, Sin,
    Sqrt, Square, Tan, Wall, Wrap,
};
use smidgen_prob::smooth::{Curve, Elementary, Interval, MOST_ORDER};
use smidgen_value::Rng;
use smidgen_value::math::{PI, exp};

use crate::curve_references::REFERENCES;
use crate::difference::{Tally, derivative};

/// Every curve, and the ends of a stretch of its domain without a pole.
const CURVES: &[(Curve, f64, f64)] = &[
    (Exp, -700.0, 700.0),
    (Expm1, -700.0, 700.0),
    (Log, 0.0, 700.0),
    (Log1p, -1.0, 700.0),
    (Reciprocal, 0.0, 700.0),
    (Reciprocal, -700.0, 0.0),
    (Square, -700.0, 700.0),
    (Sqrt, 0.0, 700.0),
    (Power(-2.0), 0.0, 700.0),
    (Power(-2.0), -700.0, 0.0),
    (Power(2.5), 0.0, 700.0),
    (Power(3.0), -700.0, 700.0),
    (Power(4.0), -700.0, 700.0),
    (Power(0.0), -700.0, 700.0),
    (Power(9.0), -70.0, 70.0),
    (Sin, -700.0, 700.0),
    (Cos, -700.0, 700.0),
    (Tan, -0.5 * PI, 0.5 * PI),
    (Tan, 1.5 * PI, 2.5 * PI),
    (Logistic, -700.0, 700.0),
    (Logit, 0.0, 1.0),
    (LogLogistic, -700.0, 700.0),
    (Log1pSquare, -700.0, 700.0),
    (LogGamma, 0.0, 700.0),
    (LogRising(0.0), -700.0, 700.0),
    (LogRising(1.0), -700.0, 700.0),
    (LogRising(2.0), -700.0, 700.0),
    (NormalCdf, -700.0, 700.0),
    (LogNormalCdf, -700.0, 700.0),
    (Log1mExp, -700.0, 0.0),
    (Log1mExpExp, -700.0, 700.0),
    (LogScaledBessel, 0.0, 700.0),
    (Abs, 0.0, 700.0),
    (Abs, -700.0, 0.0),
    (Wrap, -PI, PI),
    (Wrap, PI, 3.0 * PI),
    (Wall, 0.0, 700.0),
];

/// A new curve has to be in the list.
fn is_listed(curve: Curve) -> bool {
    match curve {
        Exp | Expm1 | Log | Log1p | Reciprocal | Square | Sqrt | Power(_) | Sin | Cos | Tan
        | Logistic | Logit | LogLogistic | Log1pSquare | LogGamma | NormalCdf | LogNormalCdf
        | Log1mExp | Log1mExpExp | LogScaledBessel | Abs | Wrap | Wall => {
            CURVES.iter().any(|(listed, ..)| *listed == curve)
        }
        // Only a few of them.
        LogRising(_) => CURVES.iter().any(|(listed, ..)| matches!(listed, LogRising(_))),
    }
}

fn derivatives(curve: Curve, x: f64) -> [f64; MOST_ORDER + 1] {
    let mut out = [f64::NAN; MOST_ORDER + 1];
    curve.derivatives(x, &mut out);
    out
}

#[test]
fn derivatives_keep_their_digits() {
    for (curve, x, want) in REFERENCES {
        assert!(is_listed(*curve));
        let got = derivatives(*curve, *x);
        for (k, (got, want)) in got.into_iter().zip(*want).enumerate() {
            // Where a derivative vanishes there are no digits to keep.
            let close = (got - want).abs() <= 2e-10 * want.abs() + 1e-16;
            assert!(close, "{curve:?} at {x}: derivative {k} is {got:e}, not {want:e}");
        }
    }
}

/// A point of a stretch: in the middle, near an end or anywhere, on a scale of its own.
fn point(lo: f64, hi: f64, rng: &mut Rng) -> f64 {
    let reach = (hi - lo) * exp(-10.0 * rng.uniform());
    let step = reach * rng.open_uniform();
    let x = match rng.below(4) {
        0 => lo + step,
        1 => hi - step,
        2 => step - 0.5 * reach + 0.5 * (lo + hi),
        _ => step - 0.5 * reach,
    };
    x.clamp(lo + 1e-4 * (hi - lo).min(1.0), hi - 1e-4 * (hi - lo).min(1.0))
}

#[test]
fn derivatives_are_those_of_each_other() {
    let mut rng = Rng::from_seed(3);
    for (curve, lo, hi) in CURVES {
        let mut tally = Tally::default();
        for _ in 0..60 {
            let x = point(*lo, *hi, &mut rng);
            let all = derivatives(*curve, x);
            let reach = 0.2 * (x - lo).min(hi - x).min(1.0);
            for k in 0..MOST_ORDER {
                let (want, error) = derivative(|t| derivatives(*curve, x + t)[k], reach);
                let scale = all[k + 1].abs();
                // Far in a tail a derivative is below rounding of the one before.
                let rounding = 1e-14 * all[k].abs() / reach;
                let is_sharp = error.max(rounding) <= 1e-5 * scale;
                let close = (want - all[k + 1]).abs() <= 1e-4 * scale;
                let both_none = want == 0.0 && scale == 0.0;
                let verdict = match close || both_none {
                    true => Ok(()),
                    false => Err(format!("{}, not {want}", all[k + 1])),
                };
                tally.add((is_sharp || both_none).then_some(verdict), || {
                    format!("derivative {} of {curve:?} at {x}", k + 1)
                });
            }
        }
        assert!(tally.wrong.is_empty(), "{:?}", tally.wrong);
        assert!(tally.compared > 100, "{curve:?}: {} compared", tally.compared);
    }
}

type Range = fn(Curve, usize, f64, f64) -> Option<Interval>;

/// Whether ranges hold the values at many points, and are hardly longer than these reach.
fn check_ranges(range: Range) -> Result<(), String> {
    let mut rng = Rng::from_seed(5);
    for (curve, least, most) in CURVES {
        for _ in 0..400 {
            let (a, b) = (point(*least, *most, &mut rng), point(*least, *most, &mut rng));
            // Long intervals, and short ones around a point.
            let (lo, hi) = match rng.below(3) {
                0 => (a.min(b), a.max(b)),
                1 => (a, (a + exp(-8.0 * rng.uniform())).min(*most - 1e-5)),
                _ => ((a - 3.0 * rng.uniform()).max(*least + 1e-5), a),
            };
            if lo > hi {
                continue;
            }
            check_on(*curve, lo, hi, range)?;
        }
        // Where a derivative vanishes nothing but rounding is left of it.
        for zero in zeros(*curve, least.max(-8.0), most.min(8.0)) {
            check_on(*curve, zero - 1e-13, zero + 1e-13, range)?;
        }
    }
    Ok(())
}

/// Zeros of all derivatives.
fn zeros(curve: Curve, least: f64, most: f64) -> Vec<f64> {
    const POINTS: usize = 300;
    let at = |i: usize| least + (most - least) * (i as f64 + 0.3) / POINTS as f64;
    let mut zeros = Vec::new();
    for (k, i) in (1..=MOST_ORDER).flat_map(|k| (1..POINTS).map(move |i| (k, i))) {
        let is_positive = |x: f64| derivatives(curve, x)[k] > 0.0;
        let (mut lo, mut hi) = (at(i - 1), at(i));
        let rises = is_positive(hi);
        if is_positive(lo) == rises {
            continue;
        }
        for _ in 0..60 {
            let middle = 0.5 * (lo + hi);
            *(if is_positive(middle) == rises { &mut hi } else { &mut lo }) = middle;
        }
        zeros.push(lo);
    }
    zeros
}

fn check_on(curve: Curve, lo: f64, hi: f64, range: Range) -> Result<(), String> {
    const POINTS: usize = 300;
    let mut seen: [Option<Interval>; MOST_ORDER + 1] = [None; MOST_ORDER + 1];
    for i in 0..=POINTS {
        let share = i as f64 / POINTS as f64;
        let all = derivatives(curve, (lo * (1.0 - share) + hi * share).clamp(lo, hi));
        for (seen, value) in seen.iter_mut().zip(all) {
            *seen = Some(seen.map_or(Interval::point(value), |seen| seen.with(value)));
        }
    }
    // Between two points a derivative may reach further, by its slope times their distance.
    let gap = (hi - lo) / POINTS as f64;
    for k in 0..=MOST_ORDER {
        let seen_here = seen[k].ok_or("no point")?;
        let Some(range) = range(curve, k, lo, hi) else {
            let is_there = seen_here.is_finite() && seen_here.magnitude() < 1e300;
            if is_there && seen.iter().flatten().all(|seen| seen.magnitude() < 1e300) {
                return Err(format!("no range of order {k} of {curve:?} on [{lo}, {hi}]"));
            }
            continue;
        };
        if !(range.contains(seen_here.lo) && range.contains(seen_here.hi)) {
            return Err(format!(
                "order {k} of {curve:?} on [{lo}, {hi}] reaches {seen_here:?}, not {range:?}"
            ));
        }
        if k == MOST_ORDER || gap > 0.02 {
            continue;
        }
        let steepest = seen[k + 1].ok_or("no point")?.magnitude();
        let around = if k == 0 { 0.0 } else { seen[k - 1].ok_or("no point")?.magnitude() };
        let rounding = 2e-11 * around.min(steepest) + 2.0 * f64::MIN_POSITIVE;
        let slack = 2e-9 * seen_here.magnitude() + steepest * gap + rounding;
        let excess = (seen_here.lo - range.lo).max(range.hi - seen_here.hi);
        if excess > slack {
            return Err(format!(
                "order {k} of {curve:?} on [{lo}, {hi}] reaches {seen_here:?}, far inside {range:?}"
            ));
        }
    }
    Ok(())
}

#[test]
fn ranges_hold_and_are_tight() {
    check_ranges(Curve::range).unwrap_or_else(|how| panic!("{how}"));
}

#[test]
fn a_wrong_range_is_caught() {
    let halved: Range = |curve, k, lo, hi| {
        let range = curve.range(k, lo, hi)?;
        Some(Interval { lo: 0.5 * range.lo, hi: 0.5 * range.hi })
    };
    // Half of it for one order of one curve only.
    let one_halved: Range = |curve, k, lo, hi| {
        let range = curve.range(k, lo, hi)?;
        let is_it = curve == LogLogistic && k == 3;
        Some(if is_it { Interval { lo: 0.5 * range.lo, hi: 0.5 * range.hi } } else { range })
    };
    let ends_only: Range = |curve, k, lo, hi| {
        curve.range(k, lo, hi)?;
        let [a, b] = [lo, hi].map(|x| derivatives(curve, x)[k]);
        Some(Interval::hull(a, b))
    };
    let no_noise: Range = |curve, k, lo, hi| {
        let range = curve.range(k, lo, hi)?;
        let is_around_zero = range.lo < 0.0 && range.hi > 0.0;
        Some(if is_around_zero && hi - lo < 1e-12 { Interval::point(0.0) } else { range })
    };
    let too_wide: Range = |curve, k, lo, hi| {
        let range = curve.range(k, lo, hi)?;
        Some(range.widened(0.3 * range.magnitude()))
    };
    for (name, wrong) in [
        ("halved", halved),
        ("one halved", one_halved),
        ("ends only", ends_only),
        ("no noise", no_noise),
        ("too wide", too_wide),
    ] {
        assert!(check_ranges(wrong).is_err(), "{name}");
    }
}

#[test]
fn curves_are_the_elementary_functions() {
    use Elementary as E;
    let with_curve = [
        E::Reciprocal,
        E::Abs,
        E::Exp,
        E::Expm1,
        E::Log,
        E::Log1p,
        E::Square,
        E::Sqrt,
        E::Sin,
        E::Cos,
        E::Tan,
        E::Logistic,
        E::Logit,
        E::LogLogistic,
        E::Wrap,
    ];
    for elementary in with_curve {
        let curve = elementary.curve().expect("a curve");
        for x in [-700.0, -37.0, -3.0, -0.4, 0.0, 1e-9, 0.3, 0.7, 1.0, 4.0, 40.0, 700.0] {
            let (mut value, mut slope) = ([0.0], [0.0]);
            elementary.value(&[x], &[0.0], &mut value);
            elementary.pull_first(&[x], &[0.0], &value, &[1.0], &mut slope);
            let got = derivatives(curve, x);
            let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
            assert!(same(got[0], value[0]), "{elementary:?} at {x}: {} {}", got[0], value[0]);
            let is_close = (got[1] - slope[0]).abs() <= 1e-12 * (slope[0].abs() + 1e-4);
            let is_inside = value[0].is_finite() && slope[0].is_finite();
            assert!(!is_inside || is_close, "{elementary:?} at {x}: {} {}", got[1], slope[0]);
        }
    }
    for without in [E::Negate, E::Add, E::Multiply, E::Divide, E::Min, E::Pow, E::Atan2, E::Hypot] {
        assert_eq!(without.curve(), None);
    }
}

#[test]
fn the_log_sigmoid_bends_no_more_than_this() {
    let most = [0.096_225_0, 0.125, 0.127_683_9, 0.25, 0.408_327_8];
    for (k, want) in (3..).zip(most) {
        let got = LogLogistic.range(k, -100.0, 100.0).expect("a range").magnitude();
        assert!((got - want).abs() < 1e-7, "order {k}: {got}");
    }
    // In a tail it bends hardly at all.
    let tail = LogLogistic.range(3, 20.0, 30.0).expect("a range").magnitude();
    assert!((tail / exp(-20.0) - 1.0).abs() < 1e-6, "{tail}");
}

/// Ranges of sums are the sums of ranges: they hold, and on short intervals they are not much wider than needed.
fn check_rising(range: Range) -> Result<(), String> {
    const POINTS: usize = 60;
    for (k, lo) in [3.0, 7.0, 40.0, 512.0]
        .into_iter()
        .flat_map(|k| [-6.0, -1.2, 0.4, 2.0, 9.0].map(|x| (k, x)))
    {
        for width in [0.0, 0.1, 1.0, 5.0] {
            let (curve, hi) = (LogRising(k), lo + width);
            let all =
                (0..=POINTS).map(|i| derivatives(curve, lo + width * i as f64 / POINTS as f64));
            let all: Vec<_> = all.collect();
            for order in 0..=MOST_ORDER {
                let range = range(curve, order, lo, hi).ok_or("no range")?;
                if !all.iter().all(|at| range.contains(at[order])) {
                    return Err(format!("order {order} of {curve:?} on [{lo}, {hi}]"));
                }
                let most = all.iter().map(|at| at[order].abs()).fold(0.0, f64::max);
                let terms = all.iter().map(|at| at[1]).fold(0.0, f64::max);
                if order <= 3 && width <= 0.1 && range.magnitude() > 1.2 * most + 0.01 * terms {
                    return Err(format!("order {order} of {curve:?} on [{lo}, {hi}]: {range:?}"));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn rising_factorials_keep_within_their_ranges() {
    check_rising(Curve::range).unwrap_or_else(|how| panic!("{how}"));
    let halved: Range = |curve, k, lo, hi| {
        let range = curve.range(k, lo, hi)?;
        Some(if k == 3 { Interval { lo: 0.5 * range.lo, hi: 0.5 * range.hi } } else { range })
    };
    assert!(check_rising(halved).is_err());
    let as_gammas: Range = |curve, k, lo, hi| {
        let range = curve.range(k, lo, hi)?;
        Some(range.widened(if k == 3 { 0.5 * range.magnitude() } else { 0.0 }))
    };
    assert!(check_rising(as_gammas).is_err());
    assert_eq!(LogRising(513.0).range(3, 0.0, 1.0), None);
    assert_eq!(LogRising(2.5).range(0, 0.0, 1.0), None);
}

#[test]
fn there_is_no_range_beyond_the_domain() {
    let outside: &[(Curve, f64, f64)] = &[
        (Log, 0.0, 1.0),
        (Log, -1.0, 1.0),
        (Log1p, -1.0, 1.0),
        (Reciprocal, -1.0, 1.0),
        (Sqrt, -1.0, 1.0),
        (Power(-2.0), -1.0, 1.0),
        (Power(0.5), -1.0, 1.0),
        (Power(2.5), -3.0, -1.0),
        (Tan, 1.0, 2.0),
        (Tan, 0.0, 4.0),
        (Logit, 0.5, 1.0),
        (LogGamma, 0.0, 1.0),
        (Log1mExp, -1.0, 0.0),
        (LogScaledBessel, -0.1, 1.0),
        (Abs, -0.1, 0.1),
        (Wrap, 3.0, 3.5),
        (Wall, -0.1, 1.0),
        (Exp, 0.0, 710.0),
        (Square, 1.0, f64::INFINITY),
        (LogLogistic, f64::NAN, 0.0),
        (LogLogistic, 1.0, 0.0),
    ];
    for (curve, lo, hi) in outside {
        for k in 0..=MOST_ORDER {
            assert_eq!(curve.range(k, *lo, *hi), None, "{curve:?} {k} {lo} {hi}");
        }
    }
}
