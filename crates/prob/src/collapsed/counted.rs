//! What a maker consists of: a [`Summary`] of the values counted, a [`Law`] that reads it, and
//! a [`Made`] entry that names them. [`Counted`] turns the first two into [`Statistics`].
//!
//! A summary never fails: a value outside the law's support (a negative count, an infinite
//! real) is tallied apart, and makes the joint density zero while it is there.

use std::sync::Arc;

use smidgen_value::{ArgumentError, Rng, Value};

use crate::procedure::{Args, Distribution, Maker, Spec, Statistics, relist};
use crate::support::Support;

/// The sufficient statistics themselves.
pub trait Summary: Clone + Send + 'static {
    /// Whether `remove` after `add` brings back the very bits.
    const EXACT: bool;

    fn add(&mut self, x: &Value);
    fn remove(&mut self, x: &Value);
    /// Number of values counted, those outside the support included.
    fn count(&self) -> usize;
    fn admit(&self, x: &Value) -> Result<Value, &'static str>;
}

/// The law of the applications given a summary of the others.
pub trait Law<S: Summary>: Clone + Send + 'static {
    fn sample(&self, seen: &S, params: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError>;
    fn log_predictive(&self, x: &Value, seen: &S, params: Args<'_>) -> Result<f64, ArgumentError>;
    /// As [`Statistics::student`].
    fn student(&self, _seen: &S, _params: Args<'_>, _numbers: &mut Vec<f64>) -> Option<usize> {
        None
    }
    /// The predictive after one value x has been taken out.
    fn log_leave_one_out(
        &self,
        x: &Value,
        seen: &S,
        params: Args<'_>,
    ) -> Result<f64, ArgumentError> {
        log_predictive_without(self, x, seen, params)
    }
    fn log_marginal(&self, seen: &S, params: Args<'_>) -> Result<f64, ArgumentError>;
    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError>;
    fn enumerate(&self, _seen: &S, _params: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        Ok(None)
    }
    fn enumerate_for(
        &self,
        _current: &Value,
        seen: &S,
        params: Args<'_>,
    ) -> Result<Option<Vec<Value>>, ArgumentError> {
        self.enumerate(seen, params)
    }
    /// As [`Statistics::enumerate_weighed`].
    fn enumerate_weighed(
        &self,
        current: &Value,
        seen: &S,
        params: Args<'_>,
        values: &mut Arc<Vec<Value>>,
        log_p: &mut Vec<f64>,
    ) -> Result<bool, ArgumentError> {
        let Some(all) = self.enumerate_for(current, seen, params)? else { return Ok(false) };
        log_p.clear();
        for x in &all {
            log_p.push(self.log_predictive(x, seen, params)?);
        }
        relist(values, all);
        Ok(true)
    }
    /// The summary has changed: whatever was computed from it is stale.
    fn forget(&mut self) {}
    /// The summary has just counted x.
    fn added(&mut self, _x: &Value, _seen: &S) {
        self.forget();
    }
    /// The summary has just taken x out.
    fn removed(&mut self, _x: &Value, _seen: &S) {
        self.forget();
    }
}

/// The log predictive of x after one value x has been taken out, from copies.
pub fn log_predictive_without<S: Summary, L: Law<S>>(
    law: &L,
    x: &Value,
    seen: &S,
    params: Args<'_>,
) -> Result<f64, ArgumentError> {
    let (mut law, mut rest) = (law.clone(), seen.clone());
    rest.remove(x);
    law.forget();
    law.log_predictive(x, &rest, params)
}

#[derive(Clone)]
pub struct Counted<S, L> {
    seen: S,
    law: L,
}

/// Statistics of no application at all.
pub fn counted<S: Summary, L: Law<S>>(seen: S, law: L) -> Box<dyn Statistics> {
    Box::new(Counted { seen, law })
}

impl<S: Summary, L: Law<S>> Statistics for Counted<S, L> {
    fn sample(&self, params: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        self.law.sample(&self.seen, params, rng)
    }

    fn log_predictive(&self, x: &Value, params: Args<'_>) -> Result<f64, ArgumentError> {
        self.law.log_predictive(x, &self.seen, params)
    }

    fn student(&self, params: Args<'_>, numbers: &mut Vec<f64>) -> Option<usize> {
        self.law.student(&self.seen, params, numbers)
    }

    fn log_leave_one_out(&self, x: &Value, params: Args<'_>) -> Result<f64, ArgumentError> {
        self.law.log_leave_one_out(x, &self.seen, params)
    }

    fn log_marginal(&self, params: Args<'_>) -> Result<f64, ArgumentError> {
        self.law.log_marginal(&self.seen, params)
    }

    fn add(&mut self, x: &Value) {
        self.seen.add(x);
        self.law.added(x, &self.seen);
    }

    fn remove(&mut self, x: &Value) {
        self.seen.remove(x);
        self.law.removed(x, &self.seen);
    }

    fn count(&self) -> usize {
        self.seen.count()
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        self.seen.admit(x)
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        self.law.support(params)
    }

    fn enumerate(&self, params: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        self.law.enumerate(&self.seen, params)
    }

    fn enumerate_for(
        &self,
        current: &Value,
        params: Args<'_>,
    ) -> Result<Option<Vec<Value>>, ArgumentError> {
        self.law.enumerate_for(current, &self.seen, params)
    }

    fn enumerate_weighed(
        &self,
        current: &Value,
        params: Args<'_>,
        values: &mut Arc<Vec<Value>>,
        log_p: &mut Vec<f64>,
    ) -> Result<bool, ArgumentError> {
        self.law.enumerate_weighed(current, &self.seen, params, values, log_p)
    }

    fn copy(&self) -> Box<dyn Statistics> {
        Box::new(self.clone())
    }

    fn is_exact(&self) -> bool {
        S::EXACT
    }
}

/// A maker, written down.
pub struct Made {
    pub spec: &'static Spec,
    pub check: fn(Args<'_>) -> Result<(), ArgumentError>,
    pub empty: fn(Args<'_>) -> Result<Box<dyn Statistics>, ArgumentError>,
    pub latent: Option<&'static dyn Distribution>,
}

impl Maker for Made {
    fn spec(&self) -> &'static Spec {
        self.spec
    }

    fn check(&self, args: Args<'_>) -> Result<(), ArgumentError> {
        (self.check)(args)
    }

    fn empty(&self, params: Args<'_>) -> Result<Box<dyn Statistics>, ArgumentError> {
        (self.empty)(params)
    }

    fn latent(&self) -> Option<&'static dyn Distribution> {
        self.latent
    }
}

/// A number, or the words for what was wanted.
pub fn admit_number(x: &Value) -> Result<Value, &'static str> {
    x.as_number().map(Value::Number).ok_or("a number")
}

/// A vector from any sequence of numbers.
pub fn admit_vector(x: &Value) -> Result<Value, &'static str> {
    match x {
        Value::Vector(_) => Ok(x.clone()),
        _ => x.to_reals().map(Value::vector).ok_or("a vector of numbers"),
    }
}
