//! Looks at a program without running it: everything is parsed and resolved, tables are loaded,
//! constants are computed.

mod calls;
mod unused;

use std::collections::HashSet;

use smidgen_engine::Model;
use smidgen_engine::environment::Environment;
use smidgen_lang::core::{ExprKind, ExprRef};
use smidgen_lang::lower::Scope;
use smidgen_lang::syntax::{Directive, DirectiveKind, Syntax};
use smidgen_lang::{Diagnostic, Severity};
use smidgen_prob::lookup;
use smidgen_value::{Rng, Symbol};

use crate::compile::{Compiler, Step, StepKind};
use crate::execute::{ExecutionContext, Executor, Mode};
use crate::impute::is_internal;
use crate::load::TopDirective;
use crate::session::Session;

/// All mistakes and remarks about a program, in the order of its text.
pub fn check(session: &mut Session, program: &[TopDirective]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut steps = Vec::new();
    let mut assumed: HashSet<Symbol> = HashSet::default();
    let mut compiler = Compiler::new(&mut session.catalog, &session.sources);
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
            assumed.insert(name.name);
        }
        match compiler.top_level(&top.directive, top.number, &top.folder) {
            Ok(step) => steps.extend(step),
            Err(mut diagnostics) => found.append(&mut diagnostics),
        }
    }
    let directives: Vec<&Directive> = program.iter().map(|top| &top.directive).collect();
    found.extend(unused::find(&directives));
    for step in &steps {
        check_step(step, &assumed, &mut found);
        if let StepKind::Infer { kernel, scope } = &step.kind {
            found.extend(check_kernel(session, kernel, scope));
        }
    }
    found.sort_by_key(|diagnostic| diagnostic.span.map(|span| (span.source, span.start)));
    found
}

/// An inference program that cannot be read. (Its numbers are constants, so no trace is needed.)
fn check_kernel(session: &Session, kernel: &Syntax, scope: &Scope) -> Option<Diagnostic> {
    let (mut model, mut rng) = (Model::new(), Rng::unused());
    let interrupt = session.interrupt.clone();
    let desk =
        ExecutionContext::new(&mut rng, &session.catalog, &session.sources, interrupt, Mode::Check);
    let mut executor = Executor { model: &mut model, desk };
    executor.read_program(kernel, scope, &Environment::default()).err()
}

/// Whether any of them is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

fn check_step(step: &Step, assumed: &HashSet<Symbol>, found: &mut Vec<Diagnostic>) {
    match &step.kind {
        StepKind::Assume { expr, .. }
        | StepKind::Let { expr }
        | StepKind::Predict { expr, .. }
        | StepKind::Sample { expr } => check_names(expr, assumed, found),
        StepKind::Observe { expr, value, .. } | StepKind::Force { expr, value } => {
            check_names(expr, assumed, found);
            check_names(value, assumed, found);
        }
        StepKind::For { body, .. } | StepKind::Together(body) => {
            body.iter().for_each(|inner| check_step(inner, assumed, found));
        }
        _ => {}
    }
}

/// Mistakes with a name for which a similar one is looked for.
const MOST_HINTED: usize = 100;

/// Every place where an expression uses a name that nothing binds, or calls a built-in procedure in vain.
fn check_names(expr: &ExprRef, assumed: &HashSet<Symbol>, found: &mut Vec<Diagnostic>) {
    let mut work = vec![expr];
    while let Some(expr) = work.pop() {
        match &expr.kind {
            ExprKind::Global(name)
                if !assumed.contains(name) && lookup(*name).is_none() && !is_internal(*name) =>
            {
                let message = format!("the name `{name}` is unbound");
                let mut diagnostic = Diagnostic::error(expr.span, message);
                // To look for a similar name takes time in proportion to the program.
                if found.len() >= MOST_HINTED {
                    found.push(diagnostic);
                    continue;
                }
                let own = assumed.iter().map(|a| a.as_str());
                if let Some(close) = smidgen_engine::error::meant(name.as_str(), own) {
                    diagnostic = diagnostic.hint(format!("did you mean `{close}`?"));
                }
                found.push(diagnostic);
            }
            ExprKind::Lambda(lambda) => work.push(&lambda.body),
            ExprKind::If(a, b, c) => work.extend([a, b, c]),
            ExprKind::Let { value, body, .. } => work.extend([value, body]),
            ExprKind::LetRec { values, body, .. } => work.extend(values.iter().chain([body])),
            ExprKind::Begin(parts) => work.extend(parts),
            ExprKind::Apply { operator, operands } => {
                found.extend(calls::look_at(expr, &|name| assumed.contains(&name)));
                work.extend(operands.iter().chain([operator]));
            }
            ExprKind::ScopeInclude { scope, block, body } => work.extend([scope, block, body]),
            ExprKind::ScopeExclude { scope, body } => work.extend([scope, body]),
            ExprKind::Constant(_)
            | ExprKind::Local { .. }
            | ExprKind::Global(_)
            | ExprKind::CurrentEnvironment(_)
            | ExprKind::Cell { .. } => {}
        }
    }
}
