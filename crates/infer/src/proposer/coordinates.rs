//! Steps in unconstrained coordinates z, x = T(z) ([`Support::coordinates`]). A step carries
//! log|dx'/dz'| − log|dx/dz| (theory 8.5):
//!
//! | support | z | term |
//! |---|---|---|
//! | (a, ∞) | log(x − a) | log((x' − a)/(x − a)) |
//! | (a, b) | logit((x − a)/(b − a)) | log of (x' − a)(b − x') / ((x − a)(b − x)) |
//! | circle | x, beyond π from −π on | 0 |
//! | simplex | log(x_i / x_K) | Σ log(x'_i / x_i) over all K |
//! | positive definite | Cholesky, log diagonal | Σ_j (d + 2 − j) Δ log L_jj, j from 1 |
//! | increasing, above a | log of the gaps; x_1 itself, with no a | the sum of the steps of logarithms |
//! | correlations and their factors | `prob::correlation` | there |

use smidgen_prob::correlation::{self, Form};
use smidgen_prob::support::wrap;
use smidgen_prob::{Support, linalg};
use smidgen_value::{Matrix, Value, math};

/// From `current`, which lives in `before`, to a value in `after`: z is read off in the one and x' = T(z')
/// written in the other, z' = z + `steps`. With the term of the log ratio.
pub fn step(current: &Value, before: &Support, after: &Support, steps: &[f64]) -> (Value, f64) {
    let (value, log_q_ratio) = match (before, after, current) {
        (
            Support::Reals | Support::Interval { .. },
            Support::Reals | Support::Interval { .. },
            Value::Number(x),
        ) => {
            let (x, ratio) = walk_line(*x, ends(before), ends(after), steps[0]);
            (Value::Number(x), ratio)
        }
        (Support::Circle, Support::Circle, Value::Number(x)) => {
            (Value::Number(wrap(x + steps[0])), 0.0)
        }
        (Support::Vectors { .. }, Support::Vectors { .. }, Value::Vector(xs)) => {
            let moved = xs.iter().zip(steps).map(|(x, step)| x + step);
            (Value::vector(moved.collect::<Vec<_>>()), 0.0)
        }
        (Support::Simplex { .. }, Support::Simplex { .. }, Value::Vector(xs)) => {
            walk_simplex(xs, steps)
        }
        (Support::PositiveDefinite { .. }, Support::PositiveDefinite { .. }, Value::Matrix(m)) => {
            walk_positive_definite(m, steps)
        }
        (Support::Ordered { low, .. }, Support::Ordered { .. }, Value::Vector(xs))
            if before == after =>
        {
            walk_ordered(xs, *low, steps)
        }
        (Support::Correlation { size }, Support::Correlation { .. }, Value::Matrix(_))
            if before == after =>
        {
            walk_correlation(current, before, (*size, Form::Matrix), steps)
        }
        (
            Support::CorrelationFactor { size },
            Support::CorrelationFactor { .. },
            Value::Matrix(_),
        ) if before == after => walk_correlation(current, before, (*size, Form::Factor), steps),
        // Another principal has changed the very kind of value: there is no walk to there.
        _ => (current.clone(), f64::NEG_INFINITY),
    };
    // A walk that starts on the very edge of the support goes nowhere.
    if log_q_ratio.is_nan() || (log_q_ratio.is_infinite() && log_q_ratio > 0.0) {
        return (current.clone(), 0.0);
    }
    (value, log_q_ratio)
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

fn walk_simplex(xs: &[f64], steps: &[f64]) -> (Value, f64) {
    let (last, free) = xs.split_last().expect("a simplex has an entry");
    let mut logs: Vec<f64> =
        free.iter().zip(steps).map(|(x, step)| math::ln(x / last) + step).collect();
    logs.push(0.0);
    let log_total = math::logsumexp(&logs);
    let moved: Vec<f64> = logs.iter().map(|z| math::exp(z - log_total)).collect();
    let ratio = xs.iter().zip(&logs).map(|(x, z)| z - log_total - math::ln(*x)).sum();
    (Value::vector(moved), ratio)
}

fn walk_positive_definite(m: &Matrix, steps: &[f64]) -> (Value, f64) {
    let d = m.rows();
    let Some(lower) = linalg::cholesky(m) else { return (Value::matrix(m.clone()), 0.0) };
    let mut moved = vec![0.0; d * d];
    let mut ratio = 0.0;
    let mut steps = steps.iter();
    for i in 0..d {
        for j in 0..=i {
            let step = *steps.next().expect("one step for each entry");
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
    (Value::matrix(Matrix::from_fn(d, d, entry)), ratio)
}

fn walk_ordered(xs: &[f64], low: f64, steps: &[f64]) -> (Value, f64) {
    let mut moved = Vec::with_capacity(xs.len());
    let mut ratio = 0.0;
    // The last entry before and after.
    let mut last = low.is_finite().then_some((low, low));
    for (x, step) in xs.iter().zip(steps) {
        let next = match last {
            None => x + step,
            Some((before, after)) => {
                ratio += step;
                after + (x - before) * math::exp(*step)
            }
        };
        moved.push(next);
        last = Some((*x, next));
    }
    (Value::vector(moved), ratio)
}

fn walk_correlation(
    current: &Value,
    support: &Support,
    (size, form): (usize, Form),
    steps: &[f64],
) -> (Value, f64) {
    let here = support.coordinates(current);
    let there: Vec<f64> = here.iter().zip(steps).map(|(y, step)| y + step).collect();
    let (moved, log_after) = correlation::at(&there, size, form);
    (moved, log_after - correlation::at(&here, size, form).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen_value::Rng;

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
            let steps = [rng.uniform() - 0.5, rng.uniform() - 0.5];
            let (moved, ratio) = walk_simplex(&xs, &steps);
            let moved = moved.to_reals().unwrap();
            let want: f64 = moved.iter().zip(&xs).map(|(a, b)| math::ln(a / b)).sum();
            assert!((ratio - want).abs() < 1e-9);
            assert!((moved.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            xs = moved;
        }
    }

    /// A step changes the coordinates by what it says, on every support.
    #[test]
    fn coordinates_move_by_the_steps() {
        let matrix = Value::matrix(Matrix::new(2, 2, vec![2.0, 0.3, 0.3, 1.0]));
        let factor = Matrix::new(3, 3, vec![1.0, 0.0, 0.0, 0.6, 0.8, 0.0, 0.48, -0.64, 0.6]);
        let correlations = Value::matrix(correlation::product(&factor));
        let factor = Value::matrix(factor);
        let cases = [
            (Value::Number(0.4), Support::Reals),
            (Value::Number(0.4), Support::POSITIVE),
            (Value::Number(0.4), Support::UNIT_INTERVAL),
            (Value::Number(0.4), Support::Interval { low: f64::NEG_INFINITY, high: 3.0 }),
            (Value::Number(0.4), Support::Circle),
            (Value::vector(vec![1.0, -2.0]), Support::Vectors { len: 2 }),
            (Value::vector(vec![0.2, 0.3, 0.5]), Support::Simplex { len: 3 }),
            (matrix, Support::PositiveDefinite { size: 2 }),
            (
                Value::vector(vec![-1.0, 0.5, 2.0]),
                Support::Ordered { len: 3, low: f64::NEG_INFINITY },
            ),
            (Value::vector(vec![1.5, 2.5]), Support::Ordered { len: 2, low: 1.0 }),
            (factor, Support::CorrelationFactor { size: 3 }),
            (correlations, Support::Correlation { size: 3 }),
        ];
        for (x, support) in cases {
            let steps = [0.3, -0.2, 0.5];
            let steps = &steps[..support.dimension().unwrap()];
            let (moved, _) = step(&x, &support, &support, steps);
            let (z, z_moved) = (support.coordinates(&x), support.coordinates(&moved));
            assert_eq!((z.len(), z_moved.len()), (steps.len(), steps.len()));
            for ((z, moved), step) in z.iter().zip(&z_moved).zip(steps) {
                assert!((moved - z - step).abs() < 1e-12, "{support:?}");
            }
        }
    }
}
