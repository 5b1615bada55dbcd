//! What a procedure value holds. Procedures are constants: a closure keeps nodes, not values, so
//! it stays itself when they change; a made or memoised procedure is its node.

use std::sync::Arc;

use smidgen_lang::core::Lambda;
use smidgen_prob::registry::Builtin;
use smidgen_value::{Opaque, Origin, Symbol, Value};

use crate::environment::Environment;
use crate::id::NodeId;

pub enum Procedure {
    Builtin(Builtin),
    /// `(lambda ...)` where it was evaluated.
    Compound {
        lambda: Arc<Lambda>,
        environment: Environment,
    },
    /// `(mem f)`: its families live in the memo node.
    Memoised(NodeId),
    /// What a maker made: its statistics live in the maker's node.
    Made(NodeId),
}

/// The number of what is made only to look something up: behind all others.
pub(crate) const ASIDE: u64 = u64::MAX;

impl Procedure {
    /// The procedure as a value. `creation` is its number among what was made in its trace
    /// ([`crate::trace::Trace::next_creation`]).
    pub fn into_value(self, creation: u64) -> Value {
        let shown_as = match &self {
            Procedure::Builtin(builtin) => builtin.spec().name.to_owned(),
            Procedure::Compound { lambda, .. } => match lambda.name {
                Some(name) => format!("<procedure {name}>"),
                None => "<procedure>".to_owned(),
            },
            Procedure::Memoised(_) => "<memoised procedure>".to_owned(),
            Procedure::Made(_) => "<exchangeable procedure>".to_owned(),
        };
        let origin = match &self {
            Procedure::Builtin(_) => Origin::Language,
            Procedure::Compound { lambda, .. } => Origin::Program { text: lambda.number, creation },
            Procedure::Memoised(_) | Procedure::Made(_) => Origin::Program { text: 0, creation },
        };
        Value::Procedure(Arc::new(Opaque { inner: Box::new(self), shown_as, origin }))
    }

    pub fn of(value: &Value) -> Option<&Procedure> {
        value.as_procedure().and_then(|opaque| opaque.inner.downcast_ref())
    }
}

/// An environment as a value: frames, and the names of their slots, innermost first.
#[derive(Clone)]
pub struct NamedEnvironment {
    pub environment: Environment,
    pub names: Vec<Arc<[Symbol]>>,
    /// Whether names assumed by the program are visible beyond the frames.
    pub sees_program: bool,
}

impl NamedEnvironment {
    pub fn into_value(self, creation: u64) -> Value {
        Value::Environment(Arc::new(Opaque {
            inner: Box::new(self),
            shown_as: "<environment>".to_owned(),
            origin: Origin::Program { text: 0, creation },
        }))
    }

    pub fn of(value: &Value) -> Option<&NamedEnvironment> {
        match value {
            Value::Environment(opaque) => opaque.inner.downcast_ref(),
            _ => None,
        }
    }
}
