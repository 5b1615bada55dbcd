//! Looks at a program without running it: everything is parsed and resolved, tables are loaded,
//! constants are computed.

use smidgen_lang::lower::free_globals;
use smidgen_lang::syntax::DirectiveKind;
use smidgen_lang::{Diagnostic, Severity, Span};
use smidgen_prob::{lookup, registry};
use smidgen_value::Symbol;

use crate::compile::{Compiler, Step, StepKind};
use crate::load::TopDirective;
use crate::session::Session;

/// All mistakes and remarks about a program, in the order of its text.
pub fn check(session: &mut Session, program: &[TopDirective]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut steps = Vec::new();
    let mut assumed: Vec<Symbol> = Vec::new();
    let mut compiler = Compiler { catalog: &mut session.catalog, sources: &session.sources };
    for top in program {
        if let DirectiveKind::Assume { name, .. } = &top.directive.kind {
            if assumed.contains(&name.name) {
                let message = format!("`{}` is already assumed", name.name);
                found.push(Diagnostic::error(name.span, message));
            } else if lookup(name.name).is_some() {
                let message =
                    format!("`{}` shadows the built-in procedure of that name", name.name);
                found.push(Diagnostic::warning(name.span, message));
            }
            assumed.push(name.name);
        }
        match compiler.top_level(&top.directive, top.number, &top.folder) {
            Ok(step) => steps.extend(step),
            Err(mut diagnostics) => found.append(&mut diagnostics),
        }
    }
    for step in &steps {
        check_step(step, &assumed, &mut found);
    }
    found
}

/// Whether any of them is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

fn check_step(step: &Step, assumed: &[Symbol], found: &mut Vec<Diagnostic>) {
    let mut names = |exprs: &[&smidgen_lang::core::ExprRef], span: Span| {
        for name in exprs.iter().flat_map(|expr| free_globals(expr)) {
            if !assumed.contains(&name) && lookup(name).is_none() {
                let candidates = assumed.iter().map(|a| a.as_str()).chain(registry::names());
                let message = format!("the name `{name}` is unbound");
                let mut diagnostic = Diagnostic::error(span, message);
                if let Some(close) = smidgen_lang::diagnostic::closest(name.as_str(), candidates) {
                    diagnostic = diagnostic.hint(format!("did you mean `{close}`?"));
                }
                found.push(diagnostic);
            }
        }
    };
    match &step.kind {
        StepKind::Assume { expr, .. }
        | StepKind::Predict { expr, .. }
        | StepKind::Sample { expr } => {
            names(&[expr], expr.span);
        }
        StepKind::Observe { expr, value } | StepKind::Force { expr, value } => {
            names(&[expr], expr.span);
            names(&[value], value.span);
        }
        StepKind::For { body, .. } => {
            body.iter().for_each(|inner| check_step(inner, assumed, found))
        }
        _ => {}
    }
}
