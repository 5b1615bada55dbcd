//! Log densities, distribution functions and quantiles as functions of x and of the law's arguments. With F the distribution
//! function and f the density, a quantile's slopes are 1 / f and -(dF/dθ) / f.

use smidgen_value::math::exp;

use super::{Aggregate, Shape};
use crate::cumulative::{self, Side};
use crate::functions::laws::split;
use crate::law;
use crate::procedure::{ScalarScore, Score};

pub static ALL: &[Aggregate] = &[
    Aggregate {
        name: "log_density",
        shape: |shapes| (shapes.first() == Some(&Shape::Law)).then_some(Shape::Number),
        value: |args, _, out| {
            let log_density = match of_singles(args) {
                Some((score, x, numbers)) => {
                    Some(score(x, &numbers, &mut [])).filter(|log_density| !log_density.is_nan())
                }
                None => {
                    let mut nothing: Vec<&mut [f64]> = args.iter().map(|_| &mut [][..]).collect();
                    log_density(args, &mut nothing)
                }
            };
            log_density.is_some_and(|log_density| one(out, log_density))
        },
        pull: |args, _, _, g, slopes| {
            if let Some((score, x, numbers)) = of_singles(args) {
                let mut own = law::Numbers::from_elem(0.0, 1 + numbers.len());
                if score(x, &numbers, &mut own) > f64::NEG_INFINITY {
                    law::add(&mut slopes[1..], g[0], &own);
                }
                return;
            }
            let mut own: Vec<Vec<f64>> =
                slopes.iter().map(|slope| vec![0.0; slope.len()]).collect();
            let mut given: Vec<&mut [f64]> = own.iter_mut().map(Vec::as_mut_slice).collect();
            log_density(args, &mut given);
            for (slope, own) in slopes.iter_mut().zip(&own).skip(1) {
                super::add_scaled(slope, g[0], own);
            }
        },
    },
    Aggregate {
        name: "cdf",
        shape: of_numbers,
        value: |args, _, out| probability(args, Side::Below).is_some_and(|p| one(out, exp(p))),
        pull: |args, _, out, g, slopes| pull(args, Side::Below, g[0] * out[0], slopes),
    },
    Aggregate {
        name: "ccdf",
        shape: of_numbers,
        value: |args, _, out| probability(args, Side::Above).is_some_and(|p| one(out, exp(p))),
        pull: |args, _, out, g, slopes| pull(args, Side::Above, g[0] * out[0], slopes),
    },
    Aggregate {
        name: "log_cdf",
        shape: of_numbers,
        value: |args, _, out| probability(args, Side::Below).is_some_and(|p| one(out, p)),
        pull: |args, _, _, g, slopes| pull(args, Side::Below, g[0], slopes),
    },
    Aggregate {
        name: "log_ccdf",
        shape: of_numbers,
        value: |args, _, out| probability(args, Side::Above).is_some_and(|p| one(out, p)),
        pull: |args, _, _, g, slopes| pull(args, Side::Above, g[0], slopes),
    },
    Aggregate {
        name: "quantile",
        shape: of_numbers,
        value: |args, _, out| {
            let found =
                split(args).and_then(|(inner, p, args)| cumulative::quantile(inner, p, &args));
            found.is_some_and(|x| one(out, x))
        },
        pull: |args, _, out, g, slopes| pull_quantile(args, out[0], g[0], slopes),
    },
];

fn one(out: &mut [f64], x: f64) -> bool {
    out[0] = x;
    true
}

fn of_numbers(shapes: &[Shape]) -> Option<Shape> {
    let (law, rest) = shapes.split_first()?;
    let fits = *law == Shape::Law && rest.iter().all(|shape| *shape == Shape::Number);
    fits.then_some(Shape::Number)
}

/// The score of a law of single numbers, x, and its arguments; None for other laws.
fn of_singles(args: &[&[f64]]) -> Option<(ScalarScore, f64, law::Numbers)> {
    let law = law::numbered(*args.first()?.first()?)?;
    let Score::Scalar(score) = law.score()? else { return None };
    let numbers = law::singles(args.get(2..)?)?;
    let x = *args[1].first()?;
    law.spec().arity.admits(numbers.len()).then_some((score, x, numbers))
}

/// Of any other law. The slopes are those of the law's number, of x, and of the law's arguments. None outside the domain.
fn log_density(args: &[&[f64]], slopes: &mut [&mut [f64]]) -> Option<f64> {
    let law = law::numbered(*args.first()?.first()?)?;
    let (x, args) = (args.get(1)?, &args[2..]);
    if !law.spec().arity.admits(args.len()) {
        return None;
    }
    let Score::General(score) = law.score()? else { return None };
    let (x_slope, slopes) = slopes[1..].split_first_mut()?;
    let log_density = score(x, args, x_slope, slopes);
    // NaN is nobody's density; -inf may be an x outside the support, or arguments outside the domain.
    (!log_density.is_nan()).then_some(log_density)
}

fn probability(args: &[&[f64]], side: Side) -> Option<f64> {
    let (inner, x, args) = split(args)?;
    Some(cumulative::log_probability(inner, side, x, &args, false)?.0)
}

fn pull(args: &[&[f64]], side: Side, g: f64, slopes: &mut [&mut [f64]]) {
    let Some((inner, x, args)) = split(args) else { return };
    if let Some((_, own)) = cumulative::log_probability(inner, side, x, &args, true) {
        law::add(&mut slopes[1..], g, &own);
    }
}

fn pull_quantile(args: &[&[f64]], x: f64, g: f64, slopes: &mut [&mut [f64]]) {
    let Some((inner, p, args)) = split(args) else { return };
    // The smaller side tells more.
    let side = if p <= 0.5 { Side::Below } else { Side::Above };
    let Some((log_p, own)) = cumulative::log_probability(inner, side, x, &args, true) else {
        return;
    };
    // Along with a discrete law a quantile jumps.
    if own[0] == 0.0 {
        return;
    }
    let sign = if side == Side::Below { 1.0 } else { -1.0 };
    if let Some(slope) = slopes[1].first_mut() {
        *slope += g * sign * exp(-log_p) / own[0];
    }
    law::add(&mut slopes[2..], -g / own[0], &own[1..]);
}
