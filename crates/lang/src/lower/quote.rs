//! Code as data and data as code: quoted syntax to a value, and a value back to syntax for
//! `eval`.

use smidgen_value::{Symbol, Value};

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::{Syntax, SyntaxKind, with_stack};

/// How deep a value may nest and still be an expression: lower than the limit for program text,
/// because such an expression is made and dropped in the middle of a run, on any stack.
pub const MAX_CODE_NESTING: usize = 1_000;

/// The value of `'syntax`: names become symbols, parentheses lists.
pub fn quote_to_value(syntax: &Syntax) -> Result<Value, Diagnostic> {
    datum(syntax, &|name, default, span| {
        default.cloned().ok_or_else(|| {
            let message = format!("the external parameter `{{{name}}}` has no value here");
            Diagnostic::error(span, message)
        })
    })
}

/// Likewise, with the values of external parameters put in.
pub(super) fn datum(
    syntax: &Syntax,
    parameter: &dyn Fn(Symbol, Option<&Value>, Span) -> Result<Value, Diagnostic>,
) -> Result<Value, Diagnostic> {
    with_stack(|| match &syntax.kind {
        SyntaxKind::Number(x) => Ok(Value::Number(*x)),
        SyntaxKind::Bool(b) => Ok(Value::Bool(*b)),
        SyntaxKind::Text(text) => Ok(Value::text(text.clone())),
        SyntaxKind::Name(name) => Ok(Value::Symbol(*name)),
        SyntaxKind::Quote(inner) => {
            Ok(Value::list([Value::symbol("quote"), datum(inner, parameter)?]))
        }
        SyntaxKind::List(items) => {
            let items: Result<Vec<_>, _> =
                items.iter().map(|item| datum(item, parameter)).collect();
            Ok(Value::list(items?))
        }
        SyntaxKind::Parameter { name, default } => parameter(*name, default.as_ref(), syntax.span),
        SyntaxKind::Error => Err(Diagnostic::error(syntax.span, "this could not be read")),
    })
}

/// The expression that a value is the text of; all its parts stand at `span`. Lists and arrays
/// are parentheses, symbols are names; a vector is the call that makes it.
pub fn syntax_of_value(value: &Value, span: Span) -> Result<Syntax, Diagnostic> {
    code(value, span, 0)
}

fn code(value: &Value, span: Span, depth: usize) -> Result<Syntax, Diagnostic> {
    if depth > MAX_CODE_NESTING {
        let message = format!(
            "the quoted expression nests deeper than the limit of {MAX_CODE_NESTING} levels"
        );
        return Err(Diagnostic::error(span, message));
    }
    let kind = match value {
        Value::Number(x) => SyntaxKind::Number(*x),
        Value::Linked(link, eta) => SyntaxKind::Number(link.number(*eta)),
        Value::Bool(b) => SyntaxKind::Bool(*b),
        Value::Text(text) => SyntaxKind::Text((**text).clone()),
        Value::Symbol(name) => SyntaxKind::Name(*name),
        Value::Vector(xs) => {
            let numbers = xs.iter().map(|x| Syntax { kind: SyntaxKind::Number(*x), span });
            let head = Syntax { kind: SyntaxKind::Name(Symbol::new("vector")), span };
            SyntaxKind::List(std::iter::once(head).chain(numbers).collect())
        }
        Value::Nil | Value::Pair(_) | Value::Array(_) => {
            let items = value.elements().ok_or_else(|| {
                Diagnostic::error(span, "a pair whose rest is not a list is not an expression")
            })?;
            let items: Result<Vec<_>, _> =
                items.iter().map(|item| with_stack(|| code(item, span, depth + 1))).collect();
            SyntaxKind::list(items?)
        }
        Value::Matrix(_) | Value::Dict(_) | Value::Procedure(_) | Value::Environment(_) => {
            let message = format!(
                "{} cannot be part of an expression for `eval`: {}",
                value.type_name(),
                value.brief()
            );
            return Err(Diagnostic::error(span, message)
                .hint("use its name, quoted, and let the environment supply the value"));
        }
    };
    Ok(Syntax { kind, span })
}
