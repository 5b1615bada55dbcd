//! Where a distribution lives.

use smidgen_value::math::PI;
use smidgen_value::{Value, math};

use crate::correlation;

/// A full turn.
pub const TURN: f64 = 2.0 * PI;

/// The angle from -pi (excluded) to pi that points the same way; an angle that lies there is left as it is.
pub fn wrap(angle: f64) -> f64 {
    let turns = turns(angle);
    if turns == 0.0 { angle } else { (angle - TURN * turns).clamp(-PI, PI) }
}

/// How many turns [`wrap`] takes away.
pub(crate) fn turns(angle: f64) -> f64 {
    ((angle - PI) / TURN).ceil()
}

/// Whether there are so many numbers, increasing from above `low` on.
pub(crate) fn is_ordered(xs: &[f64], len: usize, low: f64) -> bool {
    xs.len() == len
        && xs.iter().all(|x| x.is_finite() && *x > low)
        && xs.windows(2).all(|pair| pair[0] < pair[1])
}

#[derive(Clone, Debug, PartialEq)]
pub enum Support {
    /// All reals.
    Reals,
    /// Reals between two ends, either of which may be infinite. The ends themselves may or may
    /// not belong to it (their probability is zero); [`Support::contains`] lets them in.
    Interval { low: f64, high: f64 },
    /// Angles from -pi (excluded) to pi. It has no ends: beyond pi it goes on at -pi.
    Circle,
    /// Whole numbers from `low` to `high`, both included; `high` may be infinite.
    Integers { low: f64, high: f64 },
    /// `true` and `false`.
    Booleans,
    /// Finitely many values of any type.
    Finite(Vec<Value>),
    /// Real vectors of this length.
    Vectors { len: usize },
    /// Non-negative vectors of this length that sum to one.
    Simplex { len: usize },
    /// Symmetric positive definite matrices of this size.
    PositiveDefinite { size: usize },
    /// Correlation matrices of this size.
    Correlation { size: usize },
    /// Cholesky factors of correlation matrices of this size.
    CorrelationFactor { size: usize },
    /// Increasing vectors of this length, all above `low`, which may be -inf.
    Ordered { len: usize, low: f64 },
    /// Numbers between two ends, of which some have a probability of their own and others a density.
    Mixed { low: f64, high: f64 },
    /// Vectors of counts of this length with this total.
    Counts { len: usize, total: f64 },
}

impl Support {
    pub const POSITIVE: Support = Support::Interval { low: 0.0, high: f64::INFINITY };
    pub const UNIT_INTERVAL: Support = Support::Interval { low: 0.0, high: 1.0 };
    pub const COUNTS: Support = Support::Integers { low: 0.0, high: f64::INFINITY };

    /// Whether a choice from it can move by small steps.
    pub fn is_continuous(&self) -> bool {
        match self {
            Support::Reals
            | Support::Interval { .. }
            | Support::Circle
            | Support::Vectors { .. }
            | Support::Simplex { .. }
            | Support::PositiveDefinite { .. }
            | Support::Correlation { .. }
            | Support::CorrelationFactor { .. }
            | Support::Ordered { .. } => true,
            Support::Integers { .. }
            | Support::Booleans
            | Support::Finite(_)
            | Support::Mixed { .. }
            | Support::Counts { .. } => false,
        }
    }

    /// The number of unconstrained coordinates of a value; none if it is not continuous.
    pub fn dimension(&self) -> Option<usize> {
        match self {
            Support::Reals | Support::Interval { .. } | Support::Circle => Some(1),
            Support::Vectors { len } => Some(*len),
            Support::Simplex { len } => Some(len.saturating_sub(1)),
            Support::PositiveDefinite { size } => Some(size * (size + 1) / 2),
            Support::Correlation { size } | Support::CorrelationFactor { size } => {
                Some(correlation::dimension(*size))
            }
            Support::Ordered { len, .. } => Some(*len),
            Support::Integers { .. }
            | Support::Booleans
            | Support::Finite(_)
            | Support::Mixed { .. }
            | Support::Counts { .. } => None,
        }
    }

    /// The unconstrained coordinates of a value of a continuous choice: an angle is its own, logarithms above an end,
    /// the logit between two, log ratios to the last entry of a simplex, the Cholesky factor of a
    /// positive definite matrix with logarithms on its diagonal, those of [`correlation`] for correlations, the logarithms of
    /// the gaps of an increasing vector after its first entry. Not finite on the very edge.
    pub fn coordinates(&self, x: &Value) -> Vec<f64> {
        let log = |x: f64| math::ln(x);
        match (self, x) {
            (Support::Simplex { .. }, Value::Vector(xs)) => match xs.split_last() {
                Some((last, free)) => free.iter().map(|x| log(x / last)).collect(),
                None => Vec::new(),
            },
            (Support::PositiveDefinite { size }, Value::Matrix(m)) => {
                let Some(lower) = crate::linalg::cholesky(m) else {
                    return vec![f64::NAN; size * (size + 1) / 2];
                };
                let places = (0..*size).flat_map(|i| (0..=i).map(move |j| (i, j)));
                let entry = |(i, j)| if i == j { log(lower.get(i, i)) } else { lower.get(i, j) };
                places.map(entry).collect()
            }
            (Support::Correlation { size }, Value::Matrix(m)) => correlation::factor_of(m)
                .map_or_else(
                    || vec![f64::NAN; correlation::dimension(*size)],
                    |lower| correlation::coordinates(&lower),
                ),
            (Support::CorrelationFactor { .. }, Value::Matrix(m)) => correlation::coordinates(m),
            (Support::Ordered { low, .. }, Value::Vector(xs)) => {
                let mut before = *low;
                let gap = |x: &f64| {
                    let gap = if before.is_finite() { log(x - before) } else { *x };
                    before = *x;
                    gap
                };
                xs.iter().map(gap).collect()
            }
            (_, Value::Vector(xs)) => xs.to_vec(),
            (Support::Interval { low, high }, x) => {
                let x = x.as_number().unwrap_or(f64::NAN);
                vec![match (low.is_finite(), high.is_finite()) {
                    (true, true) => log(x - low) - log(high - x),
                    (true, false) => log(x - low),
                    (false, true) => log(high - x),
                    (false, false) => x,
                }]
            }
            (_, x) => vec![x.as_number().unwrap_or(f64::NAN)],
        }
    }

    /// Whether a value of the right type lies in it.
    pub fn contains(&self, x: &Value) -> bool {
        let number = |test: &dyn Fn(f64) -> bool| x.as_number().is_some_and(test);
        let vector = |test: &dyn Fn(&[f64]) -> bool| match x {
            Value::Vector(xs) => test(xs),
            _ => false,
        };
        match self {
            Support::Reals => number(&|x| x.is_finite()),
            Support::Interval { low, high } | Support::Mixed { low, high } => {
                number(&|x| x.is_finite() && *low <= x && x <= *high)
            }
            Support::Circle => number(&|x| (-PI..=PI).contains(&x)),
            Support::Integers { low, high } => {
                number(&|x| x.fract() == 0.0 && x.is_finite() && *low <= x && x <= *high)
            }
            Support::Booleans => matches!(x, Value::Bool(_)),
            Support::Finite(values) => values.contains(x),
            Support::Vectors { len } => {
                vector(&|xs| xs.len() == *len && xs.iter().all(|x| x.is_finite()))
            }
            Support::Simplex { len } => vector(&|xs| {
                xs.len() == *len
                    && xs.iter().all(|x| *x >= 0.0)
                    && (xs.iter().sum::<f64>() - 1.0).abs() < 1e-8
            }),
            Support::PositiveDefinite { size } => match x {
                Value::Matrix(m) => {
                    m.rows() == *size && m.cols() == *size && crate::linalg::cholesky(m).is_some()
                }
                _ => false,
            },
            Support::Correlation { size } => match x {
                Value::Matrix(m) => m.rows() == *size && correlation::factor_of(m).is_some(),
                _ => false,
            },
            Support::CorrelationFactor { size } => match x {
                Value::Matrix(m) => m.rows() == *size && correlation::is_factor(m),
                _ => false,
            },
            Support::Ordered { len, low } => vector(&|xs| is_ordered(xs, *len, *low)),
            Support::Counts { len, total } => vector(&|xs| {
                xs.len() == *len
                    && xs.iter().all(|x| *x >= 0.0 && x.fract() == 0.0)
                    && xs.iter().sum::<f64>() == *total
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_wrap_around() {
        for x in [-3.1, -1.0, 0.0, 2.0, PI] {
            assert_eq!(wrap(x), x);
            for turns in -5..=5 {
                let angle = x + TURN * f64::from(turns);
                assert!((wrap(angle) - x).abs() < 1e-13, "{angle}");
            }
        }
        assert_eq!(wrap(-PI), PI);
        assert!((-PI..=PI).contains(&wrap(1e300)));
    }
}
