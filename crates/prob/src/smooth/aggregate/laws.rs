//! Log densities, distribution functions and quantiles as functions of x and of the law's arguments. With F the distribution
//! function and f the density, a quantile's slopes are 1 / f and -(dF/dθ) / f.

use smidgen_value::math::exp;

use super::{Aggregate, Shape};
use crate::cumulative::{self, Side};
use crate::functions::laws::split;
use crate::law;
use crate::procedure::Score;

pub static ALL: &[Aggregate] = &[
    Aggregate {
        name: "log_density",
        shape: |shapes| (shapes.first() == Some(&Shape::Law)).then_some(Shape::Number),
        value: |args, _, out| {
            let mut nothing: Vec<&mut [f64]> = args.iter().map(|_| &mut [][..]).collect();
            match log_density(args, &mut nothing) {
                Some(log_density) => one(out, log_density),
                None => false,
            }
        },
        pull: |args, _, _, g, slopes| {
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

/// The slopes are those of the law's number, of x, and of the law's arguments. None outside the domain.
fn log_density(args: &[&[f64]], slopes: &mut [&mut [f64]]) -> Option<f64> {
    let law = law::numbered(*args.first()?.first()?)?;
    let (x, args) = (args.get(1)?, &args[2..]);
    if !law.spec().arity.admits(args.len()) {
        return None;
    }
    let log_density = match law.score()? {
        Score::Scalar(score) => {
            let (x, numbers) = (*x.first()?, law::singles(args)?);
            let wanted = law::wants_slopes(&[], slopes);
            let mut own = law::Numbers::from_elem(0.0, if wanted { 1 + numbers.len() } else { 0 });
            let log_density = score(x, &numbers, &mut own);
            if log_density > f64::NEG_INFINITY && wanted {
                law::add(&mut slopes[1..], 1.0, &own);
            }
            log_density
        }
        Score::General(score) => {
            let (x_slope, slopes) = slopes[1..].split_first_mut()?;
            score(x, args, x_slope, slopes)
        }
    };
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
