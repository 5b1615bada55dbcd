//! The surface tree: what was written, with its places. Produced by [`crate::parser`] for any
//! text whatever; a part that cannot be read is an `Error` node beside its diagnostic.

use smidgen_value::Symbol;

use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// An expression as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Syntax {
    pub kind: SyntaxKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SyntaxKind {
    Number(f64),
    Bool(bool),
    Text(String),
    /// A name: `x`, `+`, `row.y`.
    Name(Symbol),
    /// `'datum` or `(quote datum)`.
    Quote(Box<Syntax>),
    /// `(a b c)`.
    List(Vec<Syntax>),
    /// `{name}`: replaced by a value from outside.
    Parameter(Symbol),
    /// Unreadable; a diagnostic says why.
    Error,
}

/// A name with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T> {
    pub name: T,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    pub label: Option<Named<String>>,
    pub kind: DirectiveKind,
    /// The whole directive with its brackets, without the label.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DirectiveKind {
    Assume { name: Named<Symbol>, expr: Syntax },
    Observe { expr: Syntax, value: Syntax },
    Predict { expr: Syntax },
    Infer { kernel: Syntax },
    Sample { expr: Syntax },
    Force { expr: Syntax, value: Syntax },
    Report { label: Named<String> },
    Forget { label: Named<String> },
    Freeze { label: Named<String> },
    Clear,
    LogJoint,
    LogLikelihood,
    Define { name: Named<Symbol>, value: Syntax },
    /// `path` is None when the data are to come from outside (`--data`).
    Table { name: Named<Symbol>, path: Option<Named<String>>, options: Vec<Syntax> },
    For { variable: Named<Symbol>, source: ForSource, body: Vec<Directive> },
    Load { path: Named<String> },
}

#[derive(Clone, Debug, PartialEq)]
pub enum ForSource {
    Table(Named<Symbol>),
    /// `(range low high)`, `high` excluded.
    Range { low: Syntax, high: Syntax, span: Span },
}

/// What a text holds, as far as it could be read, and what is wrong with the rest.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    pub directives: Vec<Directive>,
    pub diagnostics: Vec<Diagnostic>,
}
