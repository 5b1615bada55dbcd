//! Back to text: a syntax tree as one line that parses to an equal tree, and program text made
//! one line.

use std::borrow::Cow;
use std::fmt::Write;

use smidgen_value::Value;

use crate::lexer::{in_name, lex};
use crate::source::SourceId;
use crate::syntax::{Syntax, SyntaxKind, with_stack};

/// The tree on one line. What was unreadable shows as `?`.
pub fn print(syntax: &Syntax) -> String {
    let mut out = String::new();
    write_syntax(&mut out, syntax);
    out
}

fn write_syntax(out: &mut String, syntax: &Syntax) {
    match &syntax.kind {
        SyntaxKind::Number(x) => out.push_str(&number(*x)),
        SyntaxKind::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        SyntaxKind::Text(text) => write_text(out, text),
        SyntaxKind::Name(name) => write_name(out, name.as_str()),
        SyntaxKind::Quote(datum) => {
            out.push('\'');
            with_stack(|| write_syntax(out, datum));
        }
        SyntaxKind::List(items) => {
            out.push('(');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                with_stack(|| write_syntax(out, item));
            }
            out.push(')');
        }
        SyntaxKind::Parameter { name, default } => {
            out.push('{');
            out.push_str(name.as_str());
            match default {
                Some(Value::Text(text)) => {
                    out.push('=');
                    write_text(out, text);
                }
                Some(Value::Number(x)) => {
                    out.push('=');
                    out.push_str(&number(*x));
                }
                Some(other) => {
                    out.push('=');
                    out.push_str(&other.brief());
                }
                None => {}
            }
            out.push('}');
        }
        SyntaxKind::Error => out.push('?'),
    }
}

/// A name; a column whose name is no word stands in quotes behind its row.
fn write_name(out: &mut String, name: &str) {
    match name.split_once('.') {
        Some((row, column)) if !column.chars().all(in_name) => {
            out.push_str(row);
            out.push('.');
            write_text(out, column);
        }
        _ => out.push_str(name),
    }
}

/// The shortest text that reads back as the same number.
fn number(x: f64) -> String {
    if x == 0.0 || (1e-5..1e16).contains(&x.abs()) { format!("{x}") } else { format!("{x:e}") }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                write!(out, "\\u{{{:x}}}", u32::from(c)).expect("writing to a string succeeds");
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Program text with every run of blanks and comments made one blank, and none at its ends.
/// Strings stay as they are.
pub fn squeeze(text: &str) -> String {
    let mut out = String::new();
    let mut end = 0;
    for token in lex(SourceId(0), text) {
        let range = token.span.start as usize..token.span.end as usize;
        if !out.is_empty() && range.start > end {
            out.push(' ');
        }
        end = range.end;
        out.push_str(&text[range]);
    }
    out
}

/// A text for a terminal: characters that would steer it (all control characters but line breaks and tabs, and those
/// that turn the direction of writing) are shown as escapes.
pub fn printable(text: &str) -> Cow<'_, str> {
    let steers = |c: char| match c {
        '\n' | '\t' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    };
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match steers(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}
