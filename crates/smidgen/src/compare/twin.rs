//! The inference program that is compared, and its exact twin: every
//! `(subsampled_mh scope block batch epsilon 'drift sd n)` becomes `(mh scope block 'drift sd n)`.
//! The exact run does not read this text, it only shows what was run.

use std::collections::BTreeMap;

use smidgen_lang::printer;
use smidgen_lang::syntax::{Directive, DirectiveKind, Syntax, SyntaxKind};
use smidgen_value::{Symbol, Value};

use crate::load::TopDirective;
use crate::sampling::SampleError;
use crate::session::Session;

pub const SUBSAMPLED: &str = "subsampled_mh";

/// What each draw executes: the kernel that was given, else those of the program.
pub fn programs(
    session: &mut Session,
    program: &[TopDirective],
    kernel: Option<&str>,
) -> Result<Vec<Syntax>, SampleError> {
    if let Some(text) = kernel {
        return Ok(vec![session.parse_option("--kernel", text)?]);
    }
    let mut found = Vec::new();
    program.iter().for_each(|top| collect(&top.directive, &mut found));
    Ok(found)
}

fn collect(directive: &Directive, found: &mut Vec<Syntax>) {
    match &directive.kind {
        DirectiveKind::Infer { kernel } => found.push(kernel.clone()),
        DirectiveKind::For { body, .. } => body.iter().for_each(|inner| collect(inner, found)),
        _ => {}
    }
}

fn has_head(items: &[Syntax], name: &str) -> bool {
    matches!(items, [Syntax { kind: SyntaxKind::Name(head), .. }, ..] if head.as_str() == name)
}

/// Whether a kernel of the program is subsampled.
pub fn is_subsampled(program: &Syntax) -> bool {
    let mut work = vec![program];
    while let Some(syntax) = work.pop() {
        if let SyntaxKind::List(items) = &syntax.kind {
            if has_head(items, SUBSAMPLED) {
                return true;
            }
            work.extend(items);
        }
    }
    false
}

/// The twin whose decisions are exact.
pub fn exact(program: &Syntax) -> Syntax {
    let SyntaxKind::List(items) = &program.kind else { return program.clone() };
    let kind = match &items[..] {
        [head, scope, block, _, _, options @ .., n] if has_head(items, SUBSAMPLED) => {
            let name = SyntaxKind::Name(Symbol::new("mh"));
            let mut twin = vec![Syntax { kind: name, span: head.span }];
            twin.extend([scope.clone(), block.clone()]);
            let drift = options.chunks(2).filter(|pair| is_drift(&pair[0]));
            twin.extend(drift.flatten().cloned());
            twin.push(n.clone());
            SyntaxKind::List(twin)
        }
        _ => SyntaxKind::List(items.iter().map(exact).collect()),
    };
    Syntax { kind, span: program.span }
}

fn is_drift(keyword: &Syntax) -> bool {
    let SyntaxKind::Quote(inner) = &keyword.kind else { return false };
    matches!(inner.kind, SyntaxKind::Name(name) if name.as_str() == "drift")
}

/// As the user would write them: several are one by `do`.
pub fn text(programs: &[Syntax]) -> String {
    match programs {
        [one] => printer::print(one),
        _ => format!("(do {})", programs.iter().map(printer::print).collect::<Vec<_>>().join(" ")),
    }
}

/// The text with parameters `{name}` replaced by their values.
pub fn with_values(mut text: String, params: &BTreeMap<String, Value>) -> String {
    for (name, value) in params {
        let mark = format!("{{{name}}}");
        if text.contains(&mark) {
            text = text.replace(&mark, &value.brief());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen_lang::{SourceMap, parser};

    fn parsed(text: &str) -> Syntax {
        let source = SourceMap::default().add("test", text);
        parser::parse_expression(source, text).expect("a kernel")
    }

    #[test]
    fn the_twin_is_exact_and_otherwise_the_same() {
        for (text, twin) in [
            (
                "(subsampled_mh w all 100 0.01 'growth 2 'drift {sd} 'audit 0.1 10)",
                "(mh w all 'drift {sd} 10)",
            ),
            (
                "(cycle ((subsampled_mh w all auto auto 5) (mh h one 2)) 3)",
                "(cycle ((mh w all 5) (mh h one 2)) 3)",
            ),
            ("(repeat 2 (gibbs z one 1))", "(repeat 2 (gibbs z one 1))"),
            ("3", "3"),
        ] {
            let program = parsed(text);
            assert_eq!(super::text(&[exact(&program)]), twin);
            assert_eq!(is_subsampled(&program), text != twin, "{text}");
        }
    }

    #[test]
    fn parameters_are_shown_by_their_values() {
        let params = BTreeMap::from([("sd".to_owned(), Value::from(0.5))]);
        assert_eq!(
            with_values("(mh w all 'drift {sd} {n})".to_owned(), &params),
            "(mh w all 'drift 0.5 {n})"
        );
    }

    #[test]
    fn several_programs_are_one() {
        assert_eq!(text(&[parsed("(mh a one 1)"), parsed("2")]), "(do (mh a one 1) 2)");
    }
}
