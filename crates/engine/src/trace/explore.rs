//! All runs of a program whose choices are finite, one after the other.
//!
//! A run follows a path: which of its values each choice takes, in the order in which they are made. Beyond the path
//! every choice takes its first value and is added to it. [`Explorer::next`] goes to the next path, depth first, so
//! that every combination of values that the program can come to is run once.

use smidgen_lang::Span;
use smidgen_value::Value;

use crate::error::EvalError;

#[derive(Default)]
pub(crate) struct Explorer {
    /// Per choice: the number of its value, and of how many.
    path: Vec<(usize, usize)>,
    /// Choices made in this run.
    made: usize,
}

/// A choice of more values than this is not gone through.
const MOST_VALUES: usize = 100_000;

impl Explorer {
    /// The value of the choice to be made next.
    pub(crate) fn choose(
        &mut self,
        name: &str,
        values: Option<Vec<Value>>,
        at: Span,
    ) -> Result<Value, EvalError> {
        let Some(mut values) = values else {
            let message =
                format!("{name} cannot be enumerated: it has infinitely many values, or too many");
            let hint = "exact answers need choices with finitely many values: flip, bernoulli, binomial, categorical, uniform_discrete; sample this program instead";
            return Err(EvalError::other(at, message).hint(hint));
        };
        if values.is_empty() || values.len() > MOST_VALUES {
            let message = format!(
                "{name} cannot be enumerated: it has {} values, more than {MOST_VALUES}",
                values.len()
            );
            return Err(EvalError::other(at, message).hint("sample this program instead"));
        }
        if self.made == self.path.len() {
            self.path.push((0, values.len()));
        }
        let (place, count) = self.path[self.made];
        self.made += 1;
        if count != values.len() {
            return Err(super::script::not_alike(at));
        }
        Ok(values.swap_remove(place))
    }

    /// Goes to the next path. False if there is none.
    pub(crate) fn next(&mut self) -> bool {
        self.path.truncate(self.made);
        self.made = 0;
        while let Some((place, count)) = self.path.last_mut() {
            if *place + 1 < *count {
                *place += 1;
                return true;
            }
            self.path.pop();
        }
        false
    }
}
