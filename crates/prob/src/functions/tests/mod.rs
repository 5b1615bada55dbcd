//! Tests of all functions, as a user meets them: by name, through the registry.
//!
//! Cases are lines of program text. The reader and evaluator here know literals, quotes and
//! applications, which is all that a case needs; the language itself is tested elsewhere.

mod accuracy;
mod errors;
mod properties;
mod values;

use std::sync::Arc;

use smidgen_value::{ArgumentError, Opaque, Symbol, Value};

use crate::registry::{self, Builtin};

/// Applies a procedure of this name or alias, after the check of the number of arguments that
/// the engine makes.
fn call(name: &str, args: &[Value]) -> Result<Value, ArgumentError> {
    if name == "get_empty_environment" {
        return Ok(Value::Environment(opaque("an environment")));
    }
    let Some(Builtin::Function(function)) = registry::lookup(Symbol::new(name)) else {
        panic!("{name} is not a function");
    };
    assert!(function.spec.arity.admits(args.len()), "{name} takes {}", function.spec.arity);
    (function.apply)(&args.iter().collect::<Vec<_>>())
}

fn opaque(shown_as: &str) -> Arc<Opaque> {
    Arc::new(Opaque {
        inner: Box::new(()),
        shown_as: shown_as.to_owned(),
        origin: smidgen_value::Origin::Language,
    })
}

/// The value of an expression that does not fail.
fn eval(text: &str) -> Value {
    evaluate(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn evaluate(text: &str) -> Result<Value, ArgumentError> {
    let tokens = tokens(text);
    let (value, rest) = expression(&tokens)?;
    assert!(rest.is_empty(), "{text} is one expression");
    Ok(value)
}

fn tokens(text: &str) -> Vec<String> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('\'', " ' ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// Evaluates the expression that the tokens begin with.
fn expression(tokens: &[String]) -> Result<(Value, &[String]), ArgumentError> {
    let (token, mut rest) = tokens.split_first().expect("a complete expression");
    if token == "'" {
        return Ok(quoted(rest));
    }
    if token != "(" {
        return Ok((atom(token).unwrap_or_else(|| Value::Procedure(opaque(token))), rest));
    }
    let operator = &rest[0];
    rest = &rest[1..];
    let mut args = Vec::new();
    while rest[0] != ")" {
        let (arg, after) = expression(rest)?;
        args.push(arg);
        rest = after;
    }
    Ok((call(operator, &args)?, &rest[1..]))
}

fn quoted(tokens: &[String]) -> (Value, &[String]) {
    let (token, mut rest) = tokens.split_first().expect("something quoted");
    if token != "(" {
        return (atom(token).unwrap_or_else(|| Value::symbol(token)), rest);
    }
    let mut items = Vec::new();
    while rest[0] != ")" {
        let (item, after) = quoted(rest);
        items.push(item);
        rest = after;
    }
    (Value::list(items), &rest[1..])
}

fn atom(token: &str) -> Option<Value> {
    match token {
        "true" => Some(Value::TRUE),
        "false" => Some(Value::FALSE),
        _ => match token.strip_prefix('"') {
            Some(text) => Some(Value::text(text.trim_end_matches('"'))),
            None => token.parse().ok().map(Value::Number),
        },
    }
}

/// The cases of a table of lines `expression => expectation`; a blank line or one that starts
/// with `;` is none.
fn cases(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = table.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with(';'));
    lines.map(|line| {
        let (text, expected) = line.split_once(" => ").expect("a case has an arrow");
        (text.trim(), expected.trim())
    })
}
