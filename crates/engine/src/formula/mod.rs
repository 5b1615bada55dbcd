//! What a structure that only selects comes to, as a function of the values that it reads: the program's text with
//! names resolved and calls followed, both sides of every branch. [`select`] finds it; whoever weighs values that
//! the trace does not have writes it as a program.

mod select;
mod strict;

use std::sync::Arc;

use smidgen_lang::Span;
use smidgen_prob::{Distribution, Function};
use smidgen_value::Value;

use crate::id::NodeId;

pub(crate) use select::{Away, Builder, Select, Selects, Standing};

pub(crate) type Term = Arc<Formula>;

pub(crate) enum Formula {
    Constant(Value),
    /// The value of this number among those that are read.
    Read(u32),
    Apply(&'static Function, Vec<Term>, Span),
    If(Box<[Term; 3]>, Span),
    /// What a memoised procedure has for a key.
    Request(NodeId, Vec<Term>, Span),
    /// A call of one of these procedures: what each comes to.
    Call(Term, Vec<(Value, Term)>, Span),
    /// The log density of an observed value.
    Density(Density),
}

pub(crate) struct Density {
    pub distribution: &'static dyn Distribution,
    pub args: Vec<Term>,
    pub observed: Value,
    pub span: Span,
}

impl Formula {
    pub(crate) fn constant(&self) -> Option<&Value> {
        match self {
            Formula::Constant(value) => Some(value),
            _ => None,
        }
    }
}
