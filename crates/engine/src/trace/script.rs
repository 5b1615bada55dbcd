//! The choices that one segment of a particle makes, in the order in which it makes them, so that
//! the segment can be undone and made again.
//!
//! A fresh segment draws and notes. A segment made again reads. The reference particle, which is
//! the state that the trace had, finds its choices by their addresses, which do not depend on the
//! order in which the program runs.

use rustc_hash::FxHashMap;
use smidgen_lang::Span;
use smidgen_value::{State, Value};

use crate::error::EvalError;
use crate::id::NodeId;

/// Values of choices that are made while this stands.
pub(crate) struct Given {
    pub(crate) state: State,
    /// Whether a choice that it lacks is a mistake; otherwise that is drawn.
    pub(crate) is_whole: bool,
}

pub(crate) enum Source {
    Fresh,
    Noted,
    /// Values of the reference, by the addresses of the choices.
    Reference(FxHashMap<u64, Value>),
}

pub(crate) struct Script {
    pub(crate) source: Source,
    pub(crate) drawn: Vec<Value>,
    next: usize,
    /// Nodes of D whose regeneration began.
    pub(crate) begun: Vec<NodeId>,
}

pub(crate) fn not_alike(at: Span) -> EvalError {
    EvalError::other(at, "this part of the program does not run alike when it is run again")
}

/// A state of another program.
pub(crate) fn does_not_fit(name: &str, value: &Value, at: Span) -> EvalError {
    let value = value.brief();
    EvalError::other(at, format!("the state has {value} for this choice, which {name} cannot draw"))
        .hint("the state is one of another program: draw from this one again")
}

impl Script {
    pub(crate) fn new(source: Source, drawn: Vec<Value>) -> Script {
        Script { source, drawn, next: 0, begun: Vec::new() }
    }

    /// The value of the choice to be made next, unless it has to be drawn.
    pub(crate) fn next(&mut self, address: u64, at: Span) -> Result<Option<Value>, EvalError> {
        let value = match &self.source {
            Source::Fresh => return Ok(None),
            Source::Noted => {
                self.next += 1;
                self.drawn.get(self.next - 1).cloned()
            }
            Source::Reference(values) => {
                let value = values.get(&address).cloned();
                self.drawn.extend(value.clone());
                value
            }
        };
        match value {
            Some(value) => Ok(Some(value)),
            None => Err(not_alike(at)),
        }
    }

    pub(crate) fn note(&mut self, value: Value) -> Value {
        self.drawn.push(value.clone());
        value
    }
}
