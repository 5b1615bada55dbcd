//! Names that nothing uses: mostly a slip of the pen, sometimes a forgotten line.

use std::collections::HashSet;

use smidgen_lang::Diagnostic;
use smidgen_lang::syntax::{Directive, DirectiveKind, ForSource, Named, Syntax, SyntaxKind};
use smidgen_value::Symbol;

/// A remark about every name that a program binds and never mentions again. Where nothing is predicted every assumed name
/// is recorded, so none is in vain.
pub fn find(program: &[&Directive]) -> Vec<Diagnostic> {
    let mut mentioned = HashSet::default();
    program.iter().for_each(|directive| visit(directive, &mut mentioned));
    let predicts = program.iter().any(|directive| predicts(directive));
    let unused = |name: &Named<Symbol>, what: &str| {
        let is_unused = !mentioned.contains(name.name.as_str());
        is_unused.then(|| {
            Diagnostic::warning(name.span, format!("the {what} `{}` is never used", name.name))
        })
    };
    let mut all = Vec::new();
    program.iter().for_each(|directive| flatten(directive, &mut all));
    let remark = |directive: &Directive| match &directive.kind {
        DirectiveKind::Let { name, .. } => unused(name, "name"),
        DirectiveKind::Assume { name, .. } if predicts => unused(name, "name"),
        DirectiveKind::Define { name, .. } => unused(name, "name"),
        DirectiveKind::Table { name, .. } => unused(name, "table"),
        _ => None,
    };
    all.into_iter().filter_map(remark).collect()
}

/// A directive and those of the loops in it.
fn flatten<'a>(directive: &'a Directive, all: &mut Vec<&'a Directive>) {
    all.push(directive);
    if let DirectiveKind::For { body, .. } = &directive.kind {
        body.iter().for_each(|inner| flatten(inner, all));
    }
}

fn predicts(directive: &Directive) -> bool {
    match &directive.kind {
        DirectiveKind::Predict { .. } => true,
        DirectiveKind::For { body, .. } => body.iter().any(predicts),
        _ => false,
    }
}

fn visit<'a>(directive: &'a Directive, mentioned: &mut HashSet<&'a str>) {
    match &directive.kind {
        DirectiveKind::Assume { expr, .. }
        | DirectiveKind::Let { expr, .. }
        | DirectiveKind::Predict { expr }
        | DirectiveKind::Sample { expr } => words(expr, mentioned),
        DirectiveKind::Observe { expr, value } | DirectiveKind::Force { expr, value } => {
            words(expr, mentioned);
            words(value, mentioned);
        }
        DirectiveKind::Infer { kernel } => words(kernel, mentioned),
        DirectiveKind::Impute { law, .. } => words(law, mentioned),
        DirectiveKind::Define { value, .. } => words(value, mentioned),
        DirectiveKind::For { source, body, .. } => {
            match source {
                ForSource::Table(table) => {
                    mentioned.insert(table.name.as_str());
                }
                ForSource::Range { low, high, .. } => {
                    words(low, mentioned);
                    words(high, mentioned);
                }
            }
            body.iter().for_each(|inner| visit(inner, mentioned));
        }
        DirectiveKind::Report { label }
        | DirectiveKind::Forget { label }
        | DirectiveKind::Freeze { label } => {
            mentioned.insert(&label.name);
        }
        DirectiveKind::Clear
        | DirectiveKind::LogJoint
        | DirectiveKind::LogLikelihood
        | DirectiveKind::Table { .. }
        | DirectiveKind::Load { .. } => {}
    }
}

/// Every name in an expression, and what stands before a point in it: `t.x` mentions `t`.
fn words<'a>(syntax: &'a Syntax, mentioned: &mut HashSet<&'a str>) {
    let mut work = vec![syntax];
    while let Some(syntax) = work.pop() {
        match &syntax.kind {
            SyntaxKind::Name(name) => {
                let name: &'static str = name.as_str();
                mentioned.insert(name);
                mentioned.extend(name.split_once('.').map(|(table, _)| table));
            }
            SyntaxKind::Quote(inner) => work.push(inner),
            SyntaxKind::List(items) => work.extend(items),
            _ => {}
        }
    }
}
