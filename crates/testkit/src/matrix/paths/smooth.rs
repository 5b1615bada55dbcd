//! Densities as code, with their gradients.

use smidgen_engine::smooth::{Density, Form};
use smidgen_engine::{EvalError, Model, NodeId};
use smidgen_prob::Support;
use smidgen_value::Rng;

use super::Scene;
use crate::matrix::claim::{About, Claim, Scored};
use crate::matrix::moves::step;
use crate::matrix::reference::State;

/// Choices that spoil a block are taken out of it so often.
const MOST_ATTEMPTS: usize = 6;
/// Coordinates of intervals go no further: the values there would be rounded to the ends.
const ENDS: f64 = 12.0;
/// Those of correlations: 1 less their squares has to keep its digits.
const NEAR: f64 = 3.0;
/// The step of difference quotients.
const H: f64 = 1e-4;

pub fn plain(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    weigh(scene, Form::Plain, rng)
}

pub fn standardised(scene: &Scene<'_>, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    weigh(scene, Form::Standardised, rng)
}

/// The density of all choices that may be in one block. None if there is none.
fn compile(model: &mut Model, form: Form) -> Result<Option<Density>, EvalError> {
    let trace = model.trace_mut();
    let mut choices: Vec<NodeId> = Vec::new();
    for id in trace.choices().to_vec() {
        if trace.choice(id)?.support()?.is_continuous() {
            choices.push(id);
        }
    }
    for _ in 0..MOST_ATTEMPTS {
        if choices.is_empty() {
            break;
        }
        match Density::compile(trace, &choices, form)? {
            Ok(density) => return Ok(Some(density)),
            Err(why) => choices.retain(|id| !why.culprits.contains(id)),
        }
    }
    Ok(None)
}

fn keep_off_ends(model: &mut Model, density: &Density, z: &mut [f64]) -> Result<(), EvalError> {
    let mut first = 0;
    for id in density.choices() {
        let support = model.trace_mut().choice(id)?.support()?;
        let size = support.dimension().unwrap_or(0);
        match support {
            Support::Interval { high, .. } if high.is_finite() => {
                z[first] = z[first].clamp(-ENDS, ENDS);
            }
            Support::Correlation { .. } | Support::CorrelationFactor { .. } => {
                z[first..first + size].iter_mut().for_each(|z| *z = z.clamp(-NEAR, NEAR));
            }
            // Logarithms of gaps.
            Support::Ordered { .. } => {
                z[first + 1..first + size].iter_mut().for_each(|z| *z = z.max(-ENDS));
            }
            _ => {}
        }
        first += size;
    }
    Ok(())
}

fn weigh(scene: &Scene<'_>, form: Form, rng: &mut Rng) -> Result<Vec<Claim>, EvalError> {
    let mut model = scene.copy();
    let Some(mut density) = compile(&mut model, form)? else { return Ok(vec![]) };
    if form == Form::Standardised && !density.is_standardised() {
        return Ok(vec![]);
    }
    let Some(start) = density.position(model.trace_mut())? else { return Ok(vec![]) };
    // The reference knows choices, not their coordinates.
    density.leave_out_jacobian();
    let mut gradient = vec![0.0; start.len()];
    let log_start = density.log_density(&start, &mut gradient);
    if log_start == f64::NEG_INFINITY {
        return Ok(vec![]);
    }
    // A standardised choice with a tiny scale would be rounded to its location.
    let farthest = if form == Form::Standardised { 4.0 } else { 40.0 };
    let reach = [0.3, 1.0, 4.0, farthest][rng.below(4)];
    let one = rng.below(start.len());
    let mut z = start.clone();
    for (k, z) in z.iter_mut().enumerate() {
        *z += if reach > 1.0 && k != one { 0.0 } else { reach * step(rng) };
    }
    keep_off_ends(&mut model, &density, &mut z)?;
    let log_p = density.log_density(&z, &mut gradient);
    let mut at = |z: &[f64]| -> Result<State, EvalError> {
        let mut moved = scene.copy();
        // The copy has the same names of nodes.
        density.install(moved.trace_mut(), z, &mut Rng::from_seed(0))?;
        Ok(State::Moved(Box::new(moved)))
    };
    let (before, after) = (at(&start)?, at(&z)?);
    let about = About::LogRatio { before, after, scored: Scored::All };
    let mut claims = vec![Claim { about, says: log_p - log_start }];
    if log_p > f64::NEG_INFINITY {
        let k = if reach > 1.0 { one } else { rng.below(z.len()) };
        let mut shifted = |shift: f64| {
            let mut moved = z.clone();
            moved[k] += shift;
            at(&moved)
        };
        let states = [shifted(-2.0 * H)?, shifted(-H)?, shifted(H)?, shifted(2.0 * H)?];
        claims.push(Claim { about: About::Slope { states, h: H }, says: gradient[k] });
    }
    Ok(claims)
}
