//! Drift: a symmetric random walk. On a constrained support the walk happens in unconstrained
//! coordinates z, x = T(z), and the log ratio carries log|dx'/dz'| − log|dx/dz| (theory 8.5):
//!
//! | support | z | term |
//! |---|---|---|
//! | (a, ∞) | log(x − a) | log((x' − a)/(x − a)) |
//! | (a, b) | logit((x − a)/(b − a)) | log of (x' − a)(b − x') / ((x − a)(b − x)) |
//! | simplex | log(x_i / x_K) | Σ log(x'_i / x_i) over all K |
//! | positive definite | Cholesky, log diagonal | Σ_j (d + 2 − j) Δ log L_jj, j from 1 |
//!
//! Choices with a discrete support are proposed from their prior.

use std::collections::HashMap;

use smidgen_engine::{Choice, EvalError, NodeId, Proposed, Proposer};
use smidgen_prob::{Support, linalg};
use smidgen_value::{Matrix, Rng, Value, math};

/// The scale of a walk, in unconstrained coordinates.
#[derive(Clone, Debug)]
pub enum Scale {
    Same(f64),
    PerCoordinate(Vec<f64>),
}

impl Scale {
    fn at(&self, i: usize) -> f64 {
        match self {
            Scale::Same(sd) => *sd,
            Scale::PerCoordinate(sds) => sds[i],
        }
    }

    fn check(&self, coordinates: usize) -> Result<(), EvalError> {
        match self {
            Scale::PerCoordinate(sds) if sds.len() != coordinates => Err(EvalError::other(
                None,
                format!(
                    "'drift has {} standard deviations for a choice of {coordinates} coordinates (dimension mismatch)",
                    sds.len()
                ),
            )),
            _ => Ok(()),
        }
    }
}

pub struct Drift {
    scale: Scale,
    /// Where the choices of the open proposal lived before it: another principal of the block may
    /// change that.
    before: HashMap<NodeId, Support>,
}

impl Drift {
    pub fn new(scale: Scale) -> Drift {
        Drift { scale, before: HashMap::new() }
    }
}

impl Proposer for Drift {
    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        // A latent parameter of several parts has no support to walk in.
        Ok(choice.support().is_ok_and(|support| support.is_continuous()))
    }

    fn prepare(&mut self, choice: &Choice<'_>) -> Result<(), EvalError> {
        self.before.insert(choice.node, choice.support()?);
        Ok(())
    }

    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        match self.before.remove(&choice.node) {
            Some(before) => walk(choice.current(), &before, &choice.support()?, &self.scale, rng),
            None => Ok(Proposed::Prior),
        }
    }
}

/// One step of the walk from `current`, which lives in `before`, to a value in `after`: z is read
/// off in the one and x' = T(z') written in the other.
pub fn walk(
    current: &Value,
    before: &Support,
    after: &Support,
    scale: &Scale,
    rng: &mut Rng,
) -> Result<Proposed, EvalError> {
    let (value, log_q_ratio) = match (before, after, current) {
        (
            Support::Reals | Support::Interval { .. },
            Support::Reals | Support::Interval { .. },
            Value::Number(x),
        ) => {
            scale.check(1)?;
            let (x, ratio) =
                walk_line(*x, ends(before), ends(after), scale.at(0) * standard_normal(rng));
            (Value::Number(x), ratio)
        }
        (Support::Vectors { len }, Support::Vectors { .. }, Value::Vector(xs)) => {
            scale.check(*len)?;
            let moved = xs.iter().enumerate().map(|(i, x)| x + scale.at(i) * standard_normal(rng));
            (Value::vector(moved.collect::<Vec<_>>()), 0.0)
        }
        (Support::Simplex { .. }, Support::Simplex { .. }, Value::Vector(xs)) => {
            walk_simplex(xs, scale, rng)?
        }
        (Support::PositiveDefinite { .. }, Support::PositiveDefinite { .. }, Value::Matrix(m)) => {
            walk_positive_definite(m, scale, rng)?
        }
        // Another principal has changed the very kind of value: there is no walk to there.
        _ => (current.clone(), f64::NEG_INFINITY),
    };
    // A walk that starts on the very edge of the support goes nowhere.
    if log_q_ratio.is_nan() || (log_q_ratio.is_infinite() && log_q_ratio > 0.0) {
        return Ok(Proposed::Local { value: current.clone(), log_q_ratio: 0.0 });
    }
    Ok(Proposed::Local { value, log_q_ratio })
}

fn ends(support: &Support) -> (f64, f64) {
    match support {
        Support::Interval { low, high } => (*low, *high),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// From x in one interval to x' in another, z' = z + step; with log|dx'/dz'| − log|dx/dz|.
fn walk_line(x: f64, before: (f64, f64), after: (f64, f64), step: f64) -> (f64, f64) {
    if before == after {
        return walk_interval(x, before.0, before.1, step);
    }
    let (z, log_before) = unconstrain(x, before);
    let (moved, log_after) = constrain(z + step, after);
    (moved, log_after - log_before)
}

/// z and log|dx/dz|.
fn unconstrain(x: f64, (low, high): (f64, f64)) -> (f64, f64) {
    match (low.is_finite(), high.is_finite()) {
        (true, true) => {
            let (left, right) = (math::ln(x - low), math::ln(high - x));
            (left - right, left + right - math::ln(high - low))
        }
        (true, false) => (math::ln(x - low), math::ln(x - low)),
        (false, true) => (math::ln(high - x), math::ln(high - x)),
        (false, false) => (x, 0.0),
    }
}

/// x and log|dx/dz|.
fn constrain(z: f64, (low, high): (f64, f64)) -> (f64, f64) {
    match (low.is_finite(), high.is_finite()) {
        (true, true) => {
            let log_odds_terms = -math::ln_1p_exp(-z) - math::ln_1p_exp(z);
            let width = high - low;
            (low + width * math::logistic(z), math::ln(width) + log_odds_terms)
        }
        (true, false) => (low + math::exp(z), z),
        (false, true) => (high - math::exp(z), z),
        (false, false) => (z, 0.0),
    }
}

/// Likewise within one interval, without cancellation near its ends.
fn walk_interval(x: f64, low: f64, high: f64, step: f64) -> (f64, f64) {
    match (low.is_finite(), high.is_finite()) {
        (true, true) => {
            let (left, right) = (x - low, high - x);
            // logit moves by `step`: the odds are multiplied by e^step.
            let (up, down) = (left * math::exp(step), right);
            let y = low + (high - low) * (up / (up + down));
            (y, math::ln((y - low) / left) + math::ln((high - y) / right))
        }
        (true, false) => (low + (x - low) * math::exp(step), step),
        (false, true) => (high - (high - x) * math::exp(step), step),
        (false, false) => (x + step, 0.0),
    }
}

fn walk_simplex(xs: &[f64], scale: &Scale, rng: &mut Rng) -> Result<(Value, f64), EvalError> {
    let (last, free) = xs.split_last().expect("a simplex has an entry");
    scale.check(free.len())?;
    let mut logs: Vec<f64> = Vec::with_capacity(xs.len());
    for (i, x) in free.iter().enumerate() {
        logs.push(math::ln(x / last) + scale.at(i) * standard_normal(rng));
    }
    logs.push(0.0);
    let log_total = math::logsumexp(&logs);
    let moved: Vec<f64> = logs.iter().map(|z| math::exp(z - log_total)).collect();
    let ratio = xs.iter().zip(&logs).map(|(x, z)| z - log_total - math::ln(*x)).sum();
    Ok((Value::vector(moved), ratio))
}

fn walk_positive_definite(
    m: &Matrix,
    scale: &Scale,
    rng: &mut Rng,
) -> Result<(Value, f64), EvalError> {
    let d = m.rows();
    scale.check(d * (d + 1) / 2)?;
    let Some(lower) = linalg::cholesky(m) else {
        return Ok((Value::matrix(m.clone()), 0.0));
    };
    let mut moved = vec![0.0; d * d];
    let mut ratio = 0.0;
    let mut k = 0;
    for i in 0..d {
        for j in 0..=i {
            let step = scale.at(k) * standard_normal(rng);
            k += 1;
            moved[i * d + j] = if i == j {
                ratio += (d + 1 - i) as f64 * step;
                lower.get(i, i) * math::exp(step)
            } else {
                lower.get(i, j) + step
            };
        }
    }
    let entry = |i: usize, j: usize| -> f64 {
        (0..=i.min(j)).map(|k| moved[i * d + k] * moved[j * d + k]).sum()
    };
    Ok((Value::matrix(Matrix::from_fn(d, d, entry)), ratio))
}

/// By the polar method.
pub fn standard_normal(rng: &mut Rng) -> f64 {
    loop {
        let (u, v) = (2.0 * rng.uniform() - 1.0, 2.0 * rng.uniform() - 1.0);
        let s = u * u + v * v;
        if s > 0.0 && s < 1.0 {
            return u * (-2.0 * math::ln(s) / s).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jacobians_match_the_theory() {
        // theory 8.6: 2 -> 3 on the positive reals; .3 -> .6 on (0, 1)
        let (x, ratio) = walk_interval(2.0, 0.0, f64::INFINITY, math::ln(1.5));
        assert!((x - 3.0).abs() < 1e-12 && (ratio - 0.405465).abs() < 1e-6);
        let (x, ratio) = walk_interval(0.3, 0.0, 1.0, math::ln(1.5 / (3.0 / 7.0)));
        assert!((x - 0.6).abs() < 1e-12 && (ratio - 0.133531).abs() < 1e-6, "{x} {ratio}");
    }

    #[test]
    fn two_intervals_agree_with_one() {
        for (low, high) in [(0.0, 1.0), (-2.0, 5.0), (1.0, f64::INFINITY), (f64::NEG_INFINITY, 3.0)]
        {
            let (x, step) = (0.4f64.max(low + 0.3).min(high - 0.3), 0.7);
            let (y, ratio) = walk_interval(x, low, high, step);
            let (z, log_before) = unconstrain(x, (low, high));
            let (moved, log_after) = constrain(z + step, (low, high));
            assert!((y - moved).abs() < 1e-12 && (ratio - log_after + log_before).abs() < 1e-12);
        }
    }

    #[test]
    fn a_simplex_stays_a_simplex() {
        let mut rng = Rng::from_seed(1);
        let mut xs = vec![0.2, 0.3, 0.5];
        for _ in 0..100 {
            let (moved, ratio) = walk_simplex(&xs, &Scale::Same(0.5), &mut rng).unwrap();
            let moved = moved.to_reals().unwrap();
            let want: f64 = moved.iter().zip(&xs).map(|(a, b)| math::ln(a / b)).sum();
            assert!((ratio - want).abs() < 1e-9);
            assert!((moved.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            xs = moved;
        }
    }
}
