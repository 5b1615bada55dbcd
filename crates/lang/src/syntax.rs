//! The surface tree: what was written, with its places. Produced by [`crate::parser`] for any
//! text whatever; a part that cannot be read is an `Error` node beside its diagnostic.

use smidgen_value::{Symbol, Value};

use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// How deep expressions may nest: as written, and as lowered to the core language. A tree within
/// the limit takes less than half a megabyte of stack to drop.
pub const MAX_NESTING: usize = 10_000;

/// Room for a few more frames of a recursion over a tree.
pub fn with_stack<R>(recurse: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(128 << 10, 1 << 20, recurse)
}

/// An expression as written.
#[derive(Debug)]
pub struct Syntax {
    pub kind: SyntaxKind,
    pub span: Span,
}

impl Clone for Syntax {
    fn clone(&self) -> Syntax {
        with_stack(|| Syntax { kind: self.kind.clone(), span: self.span })
    }
}

impl PartialEq for Syntax {
    fn eq(&self, other: &Syntax) -> bool {
        self.span == other.span && with_stack(|| self.kind == other.kind)
    }
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
    /// `{name}` or `{name=2.5}`: replaced by a value from outside, or else by the default.
    Parameter {
        name: Symbol,
        default: Option<Value>,
    },
    /// Unreadable; a diagnostic says why.
    Error,
}

impl SyntaxKind {
    /// `(items...)`, or the quotation that `(quote datum)` stands for.
    pub(crate) fn list(mut items: Vec<Syntax>) -> SyntaxKind {
        let quotes = match items.as_slice() {
            [Syntax { kind: SyntaxKind::Name(name), .. }, _] => name.as_str() == "quote",
            _ => false,
        };
        match items.pop() {
            Some(datum) if quotes => SyntaxKind::Quote(Box::new(datum)),
            last => {
                items.extend(last);
                SyntaxKind::List(items)
            }
        }
    }
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
    Assume {
        name: Named<Symbol>,
        expr: Syntax,
    },
    /// In a `for`: a name for the rest of the round.
    Let {
        name: Named<Symbol>,
        expr: Syntax,
    },
    Observe {
        expr: Syntax,
        value: Syntax,
    },
    Predict {
        expr: Syntax,
    },
    Infer {
        kernel: Syntax,
    },
    Sample {
        expr: Syntax,
    },
    Force {
        expr: Syntax,
        value: Syntax,
    },
    Report {
        label: Named<String>,
    },
    Forget {
        label: Named<String>,
    },
    Freeze {
        label: Named<String>,
    },
    Clear,
    LogJoint,
    LogLikelihood,
    Define {
        name: Named<Symbol>,
        value: Syntax,
    },
    /// `path` is None when the data are to come from outside (`--data`).
    Table {
        name: Named<Symbol>,
        path: Option<Named<String>>,
        options: Vec<Syntax>,
    },
    /// `[impute table.column law]`
    Impute {
        cell: Named<Symbol>,
        law: Syntax,
    },
    For {
        variable: Named<Symbol>,
        source: ForSource,
        body: Vec<Directive>,
    },
    Load {
        path: Named<String>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum ForSource {
    Table(Named<Symbol>),
    /// `(range low high)`, `high` excluded.
    Range {
        low: Syntax,
        high: Syntax,
        span: Span,
    },
}

/// What a text holds, as far as it could be read, and what is wrong with the rest.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    pub directives: Vec<Directive>,
    pub diagnostics: Vec<Diagnostic>,
}
