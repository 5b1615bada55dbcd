//! Directives to steps: all text is lowered, tables are loaded and constants defined. A step can
//! be executed on any number of traces.

mod loops;

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use smidgen_engine::Model;
use smidgen_engine::environment::Environment;
use smidgen_engine::model::Code;
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::{self, Scope};
use smidgen_lang::syntax::{Directive, DirectiveKind, ForSource, Named, Syntax, SyntaxKind};
use smidgen_lang::{Diagnostic, SourceMap, Span, printer};
use smidgen_value::{Rng, Symbol};

use crate::catalog::Catalog;
use crate::columns;
use crate::tables;
pub use loops::RowText;

/// A directive ready to run.
pub struct Step {
    /// Number of the top-level directive, from 1.
    pub number: usize,
    pub label: Option<String>,
    pub span: Span,
    pub kind: StepKind,
}

pub enum StepKind {
    Assume {
        name: Symbol,
        expr: ExprRef,
    },
    /// In a loop: the frames of the rest of the round have its value.
    Let {
        expr: ExprRef,
    },
    Observe {
        expr: ExprRef,
        value: ExprRef,
    },
    /// `text`: what names its draws when there is no label.
    Predict {
        expr: ExprRef,
        text: String,
    },
    /// A kernel keeps state, so each trace reads the program for itself.
    Infer {
        kernel: Syntax,
        scope: Scope,
    },
    Sample {
        expr: ExprRef,
    },
    Force {
        expr: ExprRef,
        value: ExprRef,
    },
    Report {
        label: String,
    },
    Forget {
        label: String,
    },
    Freeze {
        label: String,
    },
    Clear,
    LogJoint,
    LogLikelihood,
    For {
        bounds: Bounds,
        body: Vec<Arc<Step>>,
        /// Where the body only observes: each observation with the names of its round written out.
        rows: Option<Vec<RowText>>,
    },
}

pub enum Bounds {
    Rows(usize),
    Range { low: ExprRef, high: ExprRef },
}

pub struct Compiler<'a> {
    pub catalog: &'a mut Catalog,
    pub sources: &'a SourceMap,
}

/// Definitions may make so many procedures, as a power of two, before their numbers meet those of the next.
const CREATIONS: u32 = 40;

type Compiled<T> = Result<T, Vec<Diagnostic>>;

impl Compiler<'_> {
    /// The step of a directive. None if it acts on the catalog alone, which has then happened.
    pub fn top_level(
        &mut self,
        directive: &Directive,
        number: usize,
        folder: &Path,
    ) -> Compiled<Option<Step>> {
        let scope = Scope::global();
        match &directive.kind {
            DirectiveKind::Define { name, value } => {
                self.check_free(name)?;
                let expr = lower::lower_named(value, &scope, self.catalog, name.name)?;
                self.catalog.note(&expr);
                let code = Code { expr: &expr, environment: &Environment::default() };
                // No random choice is allowed, so the stream is not used.
                let mut model = Model::new();
                model.number_creations_from(self.catalog.next_definition() << CREATIONS);
                let value = model.constant(code, &mut Rng::unused());
                self.catalog.define(name.name, value.map_err(|e| vec![e.into_diagnostic()])?);
                Ok(None)
            }
            DirectiveKind::Table { name, path, options } => {
                self.check_free(name)?;
                tables::load(self.catalog, name, path.as_ref(), options, folder)?;
                Ok(None)
            }
            DirectiveKind::Assume { name, .. } => {
                if self.catalog.is_defined(name.name) {
                    let message = format!("`{}` is already defined", name.name);
                    return Err(vec![Diagnostic::error(name.span, message)]);
                }
                self.catalog.note_assumed(name.name);
                self.step(directive, number, &scope).map(Some)
            }
            DirectiveKind::Let { name, .. } => {
                let message = "let stands in a for: it names something for the rest of a round";
                let hint = format!("for the whole program write [assume {} ...]", name.name);
                Err(vec![Diagnostic::error(directive.span, message).hint(hint)])
            }
            _ => self.step(directive, number, &scope).map(Some),
        }
    }

    fn check_free(&self, name: &Named<Symbol>) -> Compiled<()> {
        if self.catalog.is_defined(name.name) {
            let message = format!("`{}` is already defined", name.name);
            return Err(vec![Diagnostic::error(name.span, message)]);
        }
        Ok(())
    }

    fn step(&mut self, directive: &Directive, number: usize, scope: &Scope) -> Compiled<Step> {
        if let Some(DirectiveKind::For { variable, source, body }) =
            columns::by_rows(directive, scope, self.catalog)
        {
            let kind = self.for_loop(&variable, &source, &body, number, scope)?;
            return Ok(Step { number, label: None, span: directive.span, kind });
        }
        let catalog = &*self.catalog;
        let lowered = RefCell::new(Vec::new());
        let noted = |expr: ExprRef| {
            lowered.borrow_mut().push(expr.clone());
            expr
        };
        let lower = |syntax: &Syntax| lower::lower(syntax, scope, catalog).map(noted);
        // Both parts are looked at before either's mistakes are reported.
        let both = |a: &Syntax, b: &Syntax| match (lower(a), lower(b)) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (a, b) => Err([a.err(), b.err()].into_iter().flatten().flatten().collect::<Vec<_>>()),
        };
        let kind = match &directive.kind {
            DirectiveKind::Assume { name, expr } => StepKind::Assume {
                name: name.name,
                expr: lower::lower_named(expr, scope, catalog, name.name).map(noted)?,
            },
            DirectiveKind::Let { name, expr } => StepKind::Let {
                expr: lower::lower_named(expr, scope, catalog, name.name).map(noted)?,
            },
            DirectiveKind::Observe { expr, value } => {
                let (expr, value) = both(expr, value)?;
                StepKind::Observe { expr, value }
            }
            DirectiveKind::Force { expr, value } => {
                let (expr, value) = both(expr, value)?;
                StepKind::Force { expr, value }
            }
            DirectiveKind::Predict { expr } => StepKind::Predict {
                text: printer::squeeze(self.sources.text(expr.span)),
                expr: lower(expr)?,
            },
            DirectiveKind::Sample { expr } => StepKind::Sample { expr: lower(expr)? },
            DirectiveKind::Infer { kernel } => {
                StepKind::Infer { kernel: kernel.clone(), scope: scope.clone() }
            }
            DirectiveKind::Report { label } => StepKind::Report { label: label.name.clone() },
            DirectiveKind::Forget { label } => StepKind::Forget { label: label.name.clone() },
            DirectiveKind::Freeze { label } => StepKind::Freeze { label: label.name.clone() },
            DirectiveKind::Clear => StepKind::Clear,
            DirectiveKind::LogJoint => StepKind::LogJoint,
            DirectiveKind::LogLikelihood => StepKind::LogLikelihood,
            DirectiveKind::For { variable, source, body } => {
                self.for_loop(variable, source, body, number, scope)?
            }
            DirectiveKind::Define { .. }
            | DirectiveKind::Table { .. }
            | DirectiveKind::Load { .. } => {
                let message =
                    "define, table and load stand at the top level of a program, not in a for";
                return Err(vec![Diagnostic::error(directive.span, message)]);
            }
        };
        lowered.take().iter().for_each(|expr| self.catalog.note(expr));
        let label = directive.label.as_ref().map(|label| label.name.clone());
        Ok(Step { number, label, span: directive.span, kind })
    }
}

/// The parameters `{name}` that a program mentions.
pub fn mentioned_parameters<'a>(
    directives: impl IntoIterator<Item = &'a Directive>,
) -> Vec<Symbol> {
    let mut found = Vec::new();
    for directive in directives {
        visit_directive(directive, &mut |name| found.push(name));
    }
    found
}

fn visit_directive(directive: &Directive, found: &mut dyn FnMut(Symbol)) {
    let mut each = |parts: &[&Syntax]| parts.iter().for_each(|part| visit_syntax(part, found));
    match &directive.kind {
        DirectiveKind::Assume { expr, .. }
        | DirectiveKind::Let { expr, .. }
        | DirectiveKind::Predict { expr }
        | DirectiveKind::Sample { expr } => each(&[expr]),
        DirectiveKind::Observe { expr, value } | DirectiveKind::Force { expr, value } => {
            each(&[expr, value]);
        }
        DirectiveKind::Infer { kernel } => each(&[kernel]),
        DirectiveKind::Define { value, .. } => each(&[value]),
        DirectiveKind::For { source, body, .. } => {
            if let ForSource::Range { low, high, .. } = source {
                each(&[low, high]);
            }
            body.iter().for_each(|inner| visit_directive(inner, found));
        }
        _ => {}
    }
}

/// The parameters that an expression mentions.
pub fn visit_syntax(syntax: &Syntax, found: &mut dyn FnMut(Symbol)) {
    let mut work = vec![syntax];
    while let Some(syntax) = work.pop() {
        match &syntax.kind {
            SyntaxKind::Parameter { name, .. } => found(*name),
            SyntaxKind::Quote(inner) => work.push(inner),
            SyntaxKind::List(items) => work.extend(items),
            _ => {}
        }
    }
}
