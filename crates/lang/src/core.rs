//! The core language: what the engine evaluates. All sugar is gone, local names are resolved to
//! places in frames, external parameters and data are constants.
//!
//! Frames. A call binds its arguments in one frame (slot i = argument i); `let` binds one name
//! in a frame of its own; `letrec` binds its names together; a `for` binds its variable (the row
//! number or the number counted) in a frame of one slot. `Local { depth, slot }` counts frames
//! from the innermost, 0.

use std::sync::Arc;

use smidgen_value::{Column, Symbol, Value};

use crate::source::Span;

pub type ExprRef = Arc<Expr>;

#[derive(Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Debug)]
pub enum ExprKind {
    Constant(Value),
    Local {
        depth: u32,
        slot: u32,
        name: Symbol,
    },
    /// A name bound by `assume`, `define` or the built-in procedures.
    Global(Symbol),
    Lambda(Arc<Lambda>),
    /// Lazy: the branch not taken is not evaluated.
    If(ExprRef, ExprRef, ExprRef),
    Let {
        name: Symbol,
        value: ExprRef,
        body: ExprRef,
    },
    /// All names are visible in all values; a value may use a name only inside a procedure.
    LetRec {
        names: Vec<Symbol>,
        values: Vec<ExprRef>,
        body: ExprRef,
    },
    /// Evaluates all, gives the last. Never empty.
    Begin(Vec<ExprRef>),
    Apply {
        operator: ExprRef,
        operands: Vec<ExprRef>,
    },
    ScopeInclude {
        scope: ExprRef,
        block: ExprRef,
        body: ExprRef,
    },
    ScopeExclude {
        scope: ExprRef,
        body: ExprRef,
    },
    /// The environment at this place, with the names of its frames, innermost first.
    CurrentEnvironment(Arc<[Arc<[Symbol]>]>),
    /// `row.column`: the cell of a column in the row whose number is in a frame.
    Cell {
        column: Column,
        depth: u32,
        slot: u32,
        name: Symbol,
    },
}

#[derive(Debug)]
pub struct Lambda {
    pub params: Vec<Symbol>,
    pub body: ExprRef,
    /// The name it was given by `assume`, `let` or `letrec`, for messages.
    pub name: Option<Symbol>,
    /// Which procedure of the program's text this is. Unlike its place in the text it does not move with comments
    /// and blanks around it.
    pub number: u64,
}
