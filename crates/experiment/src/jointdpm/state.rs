//! A state of the chain, read through the language, and what it says about new points.
//!
//! A new point x sits down at table k with probability ∝ n_k p(x | points of k), at a new one with probability
//! ∝ α p(x). At a table its label is 1 with probability logistic(w_k · (1, x)); at a new one with probability
//! 1/2, because the prior of the weights is symmetric. So
//!
//!   P(y = 1 | x) = Σ_k n_k p(x | k) logistic(w_k · (1, x)) + α p(x)/2,  divided by  Σ_k n_k p(x | k) + α p(x),
//!
//! which is the mean of what the paper draws: observe x, one Gibbs step on its z, a sample of y, forget.

use std::collections::BTreeMap;

use smidgen::prob::procedure::{Maker, Statistics};
use smidgen::prob::registry::{Builtin, lookup};
use smidgen::value::{Matrix, Symbol, Value, math};
use smidgen::{OutcomeKind, Session};

use super::data::Points;
use crate::Error;

/// The values that the program gives to the maker of a cluster: m0, k0, v0, S0.
fn prior() -> [Value; 4] {
    let spread = Matrix::from_fn(2, 2, |i, j| if i == j { 7.0 } else { 0.0 });
    [Value::vector(vec![0.0, 0.0]), Value::Number(3.0), Value::Number(7.0), Value::matrix(spread)]
}

/// The value of an expression in the present state.
pub fn value(session: &mut Session, expression: &str) -> Result<Value, Error> {
    let wrong = |session: &Session, diagnostics| Error::program(session, diagnostics);
    let text = format!("[sample {expression}]");
    let parsed = session.parse_text("<state>", &text).map_err(|d| wrong(session, d))?;
    let outcomes = session.execute(&parsed[0]).map_err(|d| wrong(session, d))?;
    let sampled = outcomes.into_iter().find_map(|outcome| match outcome.kind {
        OutcomeKind::Sample(value) => Some(value),
        _ => None,
    });
    Ok(sampled.expect("[sample] has a value"))
}

/// A cluster.
pub struct Seated {
    pub weights: [f64; 3],
    pub members: usize,
    points: Box<dyn Statistics>,
}

pub struct State {
    pub alpha: f64,
    pub tables: Vec<Seated>,
    params: [Value; 4],
    nobody: Box<dyn Statistics>,
}

/// What a state says about a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Probability of class 1.
    pub p: f64,
    /// The most probable table, by its place; None for a new one.
    pub table: Option<usize>,
}

impl State {
    /// The state of a session in which the program has been executed with these data.
    pub fn read(session: &mut Session, train: &Points) -> Result<State, Error> {
        let alpha = value(session, "alpha")?.as_number().unwrap_or(f64::NAN);
        let z = value(session, &format!("(map z (range 0 {}))", train.x.len()))?;
        let z = z.to_reals().unwrap_or_default();
        let params = prior();
        let maker = lookup(Symbol::new("make_collapsed_multivariate_normal"));
        let Some(Builtin::Maker(maker)) = maker else {
            unreachable!("the program has just called it")
        };
        let mut tables: BTreeMap<u64, Seated> = BTreeMap::new();
        for (label, x) in z.iter().zip(&train.x) {
            let label = *label as u64;
            let table = match tables.entry(label) {
                std::collections::btree_map::Entry::Occupied(found) => found.into_mut(),
                std::collections::btree_map::Entry::Vacant(free) => {
                    let w = value(session, &format!("(w {label})"))?.to_reals().unwrap_or_default();
                    let weights = w.try_into().expect("the program has three weights");
                    free.insert(Seated { weights, members: 0, points: empty(maker, &params) })
                }
            };
            table.members += 1;
            table.points.add(&Value::vector(x.to_vec()));
        }
        let nobody = empty(maker, &params);
        Ok(State { alpha, tables: tables.into_values().collect(), params, nobody })
    }

    pub fn predict(&self, x: [f64; 2]) -> Prediction {
        let point = Value::vector(x.to_vec());
        let params: Vec<&Value> = self.params.iter().collect();
        let density = |of: &dyn Statistics| {
            math::exp(of.log_predictive(&point, &params).expect("the prior of the program is fine"))
        };
        let fresh = self.alpha * density(&*self.nobody);
        let (mut total, mut ones) = (fresh, fresh / 2.0);
        let (mut most, mut table) = (fresh, None);
        for (k, seated) in self.tables.iter().enumerate() {
            let weight = seated.members as f64 * density(&*seated.points);
            let [w0, w1, w2] = seated.weights;
            total += weight;
            ones += weight * math::logistic(w0 + w1 * x[0] + w2 * x[1]);
            if weight > most {
                (most, table) = (weight, Some(k));
            }
        }
        Prediction { p: ones / total, table }
    }
}

fn empty(maker: &'static dyn Maker, params: &[Value; 4]) -> Box<dyn Statistics> {
    let params: Vec<&Value> = params.iter().collect();
    maker.empty(&params).expect("the prior of the program is fine")
}
