//! What a procedure value holds. Procedures are constants: a closure keeps nodes, not values, so
//! it stays itself when they change; a made or memoised procedure is its node.

use std::sync::Arc;

use smidgen_lang::core::Lambda;
use smidgen_prob::registry::Builtin;
use smidgen_value::value::Opaque;
use smidgen_value::{Symbol, Value};

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

impl Procedure {
    pub fn into_value(self) -> Value {
        let shown_as = match &self {
            Procedure::Builtin(builtin) => builtin.spec().name.to_owned(),
            Procedure::Compound { lambda, .. } => match lambda.name {
                Some(name) => format!("<procedure {name}>"),
                None => "<procedure>".to_owned(),
            },
            Procedure::Memoised(_) => "<memoised procedure>".to_owned(),
            Procedure::Made(_) => "<exchangeable procedure>".to_owned(),
        };
        Value::Procedure(Arc::new(Opaque { inner: Box::new(self), shown_as }))
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
    pub fn into_value(self) -> Value {
        Value::Environment(Arc::new(Opaque {
            inner: Box::new(self),
            shown_as: "<environment>".to_owned(),
        }))
    }

    pub fn of(value: &Value) -> Option<&NamedEnvironment> {
        match value {
            Value::Environment(opaque) => opaque.inner.downcast_ref(),
            _ => None,
        }
    }
}
