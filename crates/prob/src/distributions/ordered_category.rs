//! What the laws of ordered categories share: a number eta with noise falls into one of the stretches
//! between increasing cut points.

use std::borrow::Cow;

use smidgen_value::{ArgumentError, Rng, Value};

use super::outcome;
use crate::arguments;
use crate::procedure::Args;
use crate::support::Support;

/// A stretch as the noise sees it. Its width is that of the cut points, which the difference of its ends may have lost.
#[derive(Clone, Copy)]
pub struct Between {
    pub low: f64,
    pub high: f64,
    pub width: f64,
}

/// The law of the noise.
pub trait Curve {
    /// log of the probability of the stretch.
    fn log_mass(between: Between) -> f64;

    /// Its derivatives with respect to the ends, 0 for one that is infinite.
    fn slopes(between: Between, log_mass: f64) -> [f64; 2];

    fn noise(rng: &mut Rng) -> f64;
}

/// Finite, one at least, and each above the one before.
fn are_cuts(cuts: &[f64]) -> bool {
    !cuts.is_empty()
        && cuts.iter().all(|cut| cut.is_finite())
        && cuts.windows(2).all(|pair| pair[0] < pair[1])
}

fn parameters<'a>(args: Args<'a>) -> Result<(f64, Cow<'a, [f64]>), ArgumentError> {
    let eta = arguments::finite(args, 0, "a finite number")?;
    let cuts = arguments::reals(args, 1)?;
    if are_cuts(&cuts) {
        Ok((eta, cuts))
    } else {
        Err(ArgumentError::domain(1, "a vector of increasing cut points", args[1]))
    }
}

/// The stretch of a category, if there is such a one.
fn stretch(k: f64, eta: f64, cuts: &[f64]) -> Option<Between> {
    if !(outcome::is_count(k) && k <= cuts.len() as f64) {
        return None;
    }
    let k = k as usize;
    let low = if k == 0 { f64::NEG_INFINITY } else { cuts[k - 1] };
    let high = cuts.get(k).copied().unwrap_or(f64::INFINITY);
    Some(Between { low: low - eta, high: high - eta, width: high - low })
}

fn log_mass<C: Curve>(k: f64, eta: f64, cuts: &[f64]) -> f64 {
    stretch(k, eta, cuts).map_or(f64::NEG_INFINITY, C::log_mass)
}

pub fn score<C: Curve>(
    x: &[f64],
    args: &[&[f64]],
    _x_slope: &mut [f64],
    slopes: &mut [&mut [f64]],
) -> f64 {
    let (eta, cuts) = (args[0][0], args[1]);
    let Some(between) = stretch(x[0], eta, cuts).filter(|_| eta.is_finite() && are_cuts(cuts))
    else {
        return f64::NEG_INFINITY;
    };
    let log_mass = C::log_mass(between);
    if log_mass > f64::NEG_INFINITY && slopes.iter().any(|slope| !slope.is_empty()) {
        let [by_low, by_high] = C::slopes(between, log_mass);
        let k = x[0] as usize;
        if let Some(slope) = slopes[0].first_mut() {
            *slope -= by_low + by_high;
        }
        if k > 0
            && let Some(slope) = slopes[1].get_mut(k - 1)
        {
            *slope += by_low;
        }
        if let Some(slope) = slopes[1].get_mut(k) {
            *slope += by_high;
        }
    }
    log_mass
}

pub fn sample<C: Curve>(args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
    let (eta, cuts) = parameters(args)?;
    let noise = C::noise(rng);
    Ok(Value::Number(cuts.partition_point(|cut| cut - eta <= noise) as f64))
}

pub fn log_density<C: Curve>(x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
    let (eta, cuts) = parameters(args)?;
    Ok(log_mass::<C>(outcome::number(x), eta, &cuts))
}

pub fn support(args: Args<'_>) -> Result<Support, ArgumentError> {
    let (_, cuts) = parameters(args)?;
    Ok(Support::Integers { low: 0.0, high: cuts.len() as f64 })
}

pub fn enumerate<C: Curve>(args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
    let (eta, cuts) = parameters(args)?;
    let all = (0..=cuts.len()).map(|k| k as f64);
    let possible = all.filter(|k| log_mass::<C>(*k, eta, &cuts) > f64::NEG_INFINITY);
    Ok(Some(possible.map(Value::Number).collect()))
}
