//! The categories as the parameters of a maker give them: their weights, their values, and which of them are equal.

use std::borrow::Cow;

use smidgen_value::{ArgumentError, Value};

use crate::arguments;
use crate::procedure::Args;
use crate::support::Support;

enum Weights<'a> {
    Each(Cow<'a, [f64]>),
    Same { weight: f64, categories: usize },
}

/// Categories, their weights and their values, as the parameters give them.
pub(super) struct Categories<'a> {
    weights: Weights<'a>,
    pub(super) total: f64,
    pub(super) objects: Option<&'a Value>,
}

/// The elements of a list, array or vector, without copying it.
pub(super) enum Walk<'a> {
    Slice(std::slice::Iter<'a, Value>),
    Reals(std::slice::Iter<'a, f64>),
    Links(&'a Value),
}

impl<'a> Walk<'a> {
    pub(super) fn new(sequence: &'a Value) -> Walk<'a> {
        match sequence {
            Value::Array(items) => Walk::Slice(items.iter()),
            Value::Vector(xs) => Walk::Reals(xs.iter()),
            links => Walk::Links(links),
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Cow<'a, Value>;

    fn next(&mut self) -> Option<Cow<'a, Value>> {
        match self {
            Walk::Slice(items) => items.next().map(Cow::Borrowed),
            Walk::Reals(xs) => xs.next().map(|x| Cow::Owned(Value::Number(*x))),
            Walk::Links(Value::Pair(pair)) => {
                *self = Walk::Links(&pair.rest);
                Some(Cow::Borrowed(&pair.first))
            }
            Walk::Links(_) => None,
        }
    }
}

/// The number of elements of a list, array or vector.
pub(super) fn length(sequence: &Value) -> Option<usize> {
    match sequence {
        Value::Array(items) => Some(items.len()),
        Value::Vector(xs) => Some(xs.len()),
        Value::Nil => Some(0),
        Value::Pair(_) => {
            let (mut n, mut link) = (0, sequence);
            while let Value::Pair(pair) = link {
                n += 1;
                link = &pair.rest;
            }
            matches!(link, Value::Nil).then_some(n)
        }
        _ => None,
    }
}

impl<'a> Categories<'a> {
    fn with_objects(
        mut self,
        params: Args<'a>,
        argument: usize,
    ) -> Result<Categories<'a>, ArgumentError> {
        if let Some(&objects) = params.get(argument) {
            let n = length(objects)
                .ok_or_else(|| ArgumentError::wrong_type(argument, "a list or array", objects))?;
            if n != self.len() {
                let expected = "one object for each category";
                return Err(ArgumentError::domain(argument, expected, objects));
            }
            self.objects = Some(objects);
        }
        Ok(self)
    }

    pub(super) fn len(&self) -> usize {
        match &self.weights {
            Weights::Each(weights) => weights.len(),
            Weights::Same { categories, .. } => *categories,
        }
    }

    /// The weight of a category, 0 beyond the last.
    pub(super) fn weight(&self, category: usize) -> f64 {
        match &self.weights {
            Weights::Each(weights) => weights.get(category).copied().unwrap_or(0.0),
            Weights::Same { weight, categories } if category < *categories => *weight,
            Weights::Same { .. } => 0.0,
        }
    }

    /// The weights of all categories with this value; 0 if there is none.
    pub(super) fn weight_of(&self, x: &Value) -> f64 {
        match self.objects {
            None => match x.as_integer() {
                Some(category) if category >= 0 => self.weight(category as usize),
                _ => 0.0,
            },
            Some(objects) => {
                let equal = Walk::new(objects).enumerate().filter(|(_, object)| **object == *x);
                equal.map(|(category, _)| self.weight(category)).sum()
            }
        }
    }

    fn value(&self, category: usize) -> Value {
        match self.objects {
            None => Value::Number(category as f64),
            Some(objects) => {
                Walk::new(objects).nth(category).expect("one object for each category").plain()
            }
        }
    }

    /// The value at `place`, in 0 .. total, of the weights laid end to end.
    pub(super) fn pick(&self, mut place: f64) -> Value {
        let last = self.len() - 1;
        let category = match &self.weights {
            Weights::Same { weight, .. } => ((place / weight) as usize).min(last),
            Weights::Each(weights) => {
                let found = weights.iter().position(|weight| {
                    place -= weight;
                    place < 0.0
                });
                // Rounding can carry the place past the end: the last category that can be.
                found.or_else(|| weights.iter().rposition(|w| *w > 0.0)).unwrap_or(last)
            }
        };
        self.value(category)
    }

    /// Each value of positive weight once, in order of first appearance.
    fn distinct(&self) -> Vec<Value> {
        match self.objects {
            None => (0..self.len())
                .filter(|category| self.weight(*category) > 0.0)
                .map(|category| Value::Number(category as f64))
                .collect(),
            Some(objects) => {
                let mut seen = rustc_hash::FxHashSet::default();
                Walk::new(objects)
                    .enumerate()
                    .filter(|(category, _)| self.weight(*category) > 0.0)
                    .map(|(_, object)| object.plain())
                    .filter(|object| seen.insert(object.clone()))
                    .collect()
            }
        }
    }

    pub(super) fn support(&self) -> Support {
        match self.objects {
            None => Support::Integers { low: 0.0, high: (self.len() - 1) as f64 },
            Some(_) => Support::Finite(self.distinct()),
        }
    }

    pub(super) fn enumerate(&self) -> Option<Vec<Value>> {
        (self.len() <= MOST_ENUMERATED).then(|| self.distinct())
    }
}

/// (alphas [, objects])
pub(super) fn of_alphas<'a>(params: Args<'a>) -> Result<Categories<'a>, ArgumentError> {
    let alphas = arguments::reals(params, 0)?;
    if alphas.is_empty() || !alphas.iter().all(|alpha| *alpha > 0.0 && alpha.is_finite()) {
        return Err(ArgumentError::domain(0, "a vector of positive numbers", params[0]));
    }
    let total: f64 = alphas.iter().sum();
    if !total.is_finite() {
        return Err(ArgumentError::domain(0, "positive numbers with a finite sum", params[0]));
    }
    Categories { weights: Weights::Each(alphas), total, objects: None }.with_objects(params, 1)
}

/// (alpha, k [, objects])
pub(super) fn symmetric<'a>(params: Args<'a>) -> Result<Categories<'a>, ArgumentError> {
    let weight = arguments::positive(params, 0, "a positive number")?;
    let expected = "a positive whole number of categories";
    let categories = arguments::count(params, 1, expected)?;
    if categories == 0 {
        return Err(ArgumentError::domain(1, expected, params[1]));
    }
    let total = weight * categories as f64;
    if !total.is_finite() {
        let expected = "a number whose sum over all categories is finite";
        return Err(ArgumentError::domain(0, expected, params[0]));
    }
    Categories { weights: Weights::Same { weight, categories }, total, objects: None }
        .with_objects(params, 2)
}

/// The same where every category has a weight that is drawn, and so takes memory.
pub(super) fn symmetric_drawn<'a>(params: Args<'a>) -> Result<Categories<'a>, ArgumentError> {
    let categories = symmetric(params)?;
    if categories.len() > MOST_DRAWN {
        return Err(ArgumentError::domain(1, "at most 10 million categories", params[1]));
    }
    Ok(categories)
}

/// The latent value of an uncollapsed maker.
pub(super) fn of_latent<'a>(params: Args<'a>) -> Result<Categories<'a>, ArgumentError> {
    let (weights, objects) = parts(params[0]);
    let Value::Vector(weights) = weights else {
        return Err(ArgumentError::wrong_type(0, "a vector of probabilities", params[0]));
    };
    let total: f64 = weights.iter().sum();
    let valid = weights.iter().all(|w| *w >= 0.0) && total > 0.0 && total.is_finite();
    if !valid || objects.is_some_and(|objects| length(objects) != Some(weights.len())) {
        return Err(ArgumentError::domain(0, "a vector of probabilities", params[0]));
    }
    Ok(Categories { weights: Weights::Each(Cow::Borrowed(weights)), total, objects })
}

const MOST_ENUMERATED: usize = 1 << 20;

const MOST_DRAWN: usize = 10_000_000;

/// Weights and objects of a latent value.
pub(super) fn parts(latent: &Value) -> (&Value, Option<&Value>) {
    match latent {
        Value::Array(items) => match items.as_slice() {
            [weights @ Value::Vector(_), objects] => (weights, Some(objects)),
            _ => (latent, None),
        },
        _ => (latent, None),
    }
}
