//! What is wrong with an argument, in the language's words.
//!
//! Building one is cheap (no text is formatted until somebody reads it), because a proposal
//! that leaves the domain of a distribution's parameter is an everyday rejection.

use std::fmt;

use crate::Value;

#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentError {
    /// The argument has the wrong type: `expected` names the type wanted ("a number").
    Type { argument: usize, expected: &'static str, found: Value },
    /// The type is right, the value is outside the domain ("a positive standard deviation").
    /// In a proposal this is a rejection, not an error.
    Domain { argument: usize, expected: &'static str, found: Value },
    /// An index outside a container.
    Index { index: f64, size: usize },
    /// Anything else that has to be said in a sentence.
    Other(String),
}

impl ArgumentError {
    pub fn wrong_type(argument: usize, expected: &'static str, found: &Value) -> ArgumentError {
        ArgumentError::Type { argument, expected, found: found.clone() }
    }

    pub fn domain(argument: usize, expected: &'static str, found: &Value) -> ArgumentError {
        ArgumentError::Domain { argument, expected, found: found.clone() }
    }

    pub fn other(message: impl Into<String>) -> ArgumentError {
        ArgumentError::Other(message.into())
    }

    /// The same about an argument that stands so many places further on.
    pub fn after(self, places: usize) -> ArgumentError {
        match self.argument() {
            Some(argument) => self.of(argument + places),
            None => self,
        }
    }

    /// The same about this argument, of which the one that is meant is a part.
    pub fn of(mut self, place: usize) -> ArgumentError {
        if let ArgumentError::Type { argument, .. } | ArgumentError::Domain { argument, .. } =
            &mut self
        {
            *argument = place;
        }
        self
    }

    /// Whether a proposal that meets this error is simply rejected.
    pub fn rejects(&self) -> bool {
        matches!(self, ArgumentError::Domain { .. })
    }

    /// Which argument is meant (0-based), if one is.
    pub fn argument(&self) -> Option<usize> {
        match self {
            ArgumentError::Type { argument, .. } | ArgumentError::Domain { argument, .. } => {
                Some(*argument)
            }
            _ => None,
        }
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgumentError::Type { expected, found, .. } => {
                write!(f, "expected {expected}, found {} {}", found.type_name(), found.brief())
            }
            ArgumentError::Domain { expected, found, .. } => {
                write!(f, "expected {expected}, found {}", found.brief())
            }
            ArgumentError::Index { index, size } => {
                write!(
                    f,
                    "index {index} is out of range: there are {size} elements, counted from 0"
                )
            }
            ArgumentError::Other(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for ArgumentError {}
