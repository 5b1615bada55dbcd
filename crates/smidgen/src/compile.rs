//! Directives to steps: all text is lowered, tables are loaded and constants defined. A step can
//! be executed on any number of traces.

pub(crate) mod loops;

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use smidgen_engine::Model;
use smidgen_engine::environment::Environment;
use smidgen_engine::model::Code;
use smidgen_lang::core::ExprRef;
use smidgen_lang::forms::FACTOR;
use smidgen_lang::lower::{self, Absence, Purpose, Scope};
use smidgen_lang::syntax::{Directive, DirectiveKind, ForSource, Named, Syntax, SyntaxKind};
use smidgen_lang::{Diagnostic, SourceMap, Span, printer};
use smidgen_value::{Rng, Symbol, Table};

use crate::catalog::Catalog;
use crate::{columns, impute, tables};

/// A directive ready to run.
pub struct Step {
    /// Number of the top-level directive, from 1.
    pub number: usize,
    pub label: Option<String>,
    pub span: Span,
    pub kind: StepKind,
    /// The cells it uses that may be missing.
    pub absences: Vec<Absence>,
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
    /// `name`: what it is called when there is no label; a weight has none.
    Observe {
        expr: ExprRef,
        value: ExprRef,
        name: Option<String>,
    },
    /// `text`: what names its draws when there is no label. `is_observed`: it stands for an observation.
    Predict {
        expr: ExprRef,
        text: String,
        is_observed: bool,
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
        rows: Option<Vec<Step>>,
        /// The rounds that are gone through, if not all.
        only: Option<Arc<[i64]>>,
    },
    /// One directive that does several things.
    Together(Vec<Arc<Step>>),
}

pub enum Bounds {
    Rows(Arc<Table>),
    Range { low: ExprRef, high: ExprRef },
}

pub struct Compiler<'a> {
    pub catalog: &'a mut Catalog,
    pub sources: &'a SourceMap,
    pub observations: Observations,
    /// What loops are restricted to.
    pub only: OnlyRows,
}

/// Rows that loops over tables go through, by the name of the table: true for those that are wanted.
pub type OnlyRows = Vec<(String, Arc<[bool]>)>;

/// What becomes of observations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Observations {
    #[default]
    Constrain,
    /// They are predicted instead. What was observed is not looked at, and `force` does nothing.
    Predict,
}

/// Definitions may make so many procedures, as a power of two, before their numbers meet those of the next.
const CREATIONS: u32 = 40;

pub(crate) type Compiled<T> = Result<T, Vec<Diagnostic>>;

impl<'a> Compiler<'a> {
    pub fn new(catalog: &'a mut Catalog, sources: &'a SourceMap) -> Compiler<'a> {
        Compiler { catalog, sources, observations: Observations::Constrain, only: Vec::new() }
    }

    /// The step of a directive. None if it acts on the catalog alone, which has then happened.
    pub fn top_level(
        &mut self,
        directive: &Directive,
        number: usize,
        folder: &Path,
    ) -> Compiled<Option<Step>> {
        let scope = Scope::global();
        self.refuse_second_law(directive)?;
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
            DirectiveKind::Impute { cell, law } => {
                self.impute(cell, law, (number, directive.span)).map(Some)
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
            return Ok(Step { number, label: None, span: directive.span, kind, absences: vec![] });
        }
        if let DirectiveKind::Predict { expr } = &directive.kind
            && let Some(cells) = impute::all_imputed(self.catalog, scope, expr)
        {
            return self.predict_all(directive, number, cells);
        }
        let catalog = &*self.catalog;
        let lowered = RefCell::new(Vec::new());
        let noted = |expr: ExprRef| {
            lowered.borrow_mut().push(expr.clone());
            expr
        };
        let absences = RefCell::new(Vec::new());
        let lower_for = |purpose: Purpose, syntax: &Syntax| {
            let (expr, absent) = lower::lower_for(purpose, syntax, scope, catalog)?;
            absences.borrow_mut().extend(absent);
            Ok::<_, Vec<Diagnostic>>(noted(expr))
        };
        let lower = |syntax: &Syntax| lower_for(Purpose::Value, syntax);
        // Both parts are looked at before either's mistakes are reported.
        let both = |a: &Syntax, b: &Syntax| match (lower(a), lower_for(Purpose::Outcome, b)) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (a, b) => Err([a.err(), b.err()].into_iter().flatten().flatten().collect::<Vec<_>>()),
        };
        let kind = match &directive.kind {
            DirectiveKind::Assume { name, expr } => StepKind::Assume {
                name: name.name,
                expr: lower::lower_named(expr, scope, catalog, name.name).map(noted)?,
            },
            DirectiveKind::Let { name, expr } => {
                let name = Some(name.name);
                let (expr, absent) =
                    lower::lower_named_for(Purpose::Value, expr, scope, catalog, name)?;
                absences.borrow_mut().extend(absent);
                StepKind::Let { expr: noted(expr) }
            }
            DirectiveKind::Observe { expr, value } => {
                let name = self.observed_name(expr, value);
                // A weight cannot be drawn: it stays what it is, and weighs nothing that is drawn forward.
                if self.observations == Observations::Predict && name.is_some() {
                    // What is not observed there is not predicted there.
                    if let Some((condition, value)) = lower::only_if(value, scope) {
                        lower_for(Purpose::Outcome, &only_where(condition, value.span))?;
                    }
                    StepKind::Predict {
                        expr: lower(expr)?,
                        text: name.unwrap_or_default(),
                        is_observed: true,
                    }
                } else {
                    let (expr, value) = both(expr, value)?;
                    StepKind::Observe { expr, value, name }
                }
            }
            DirectiveKind::Force { expr, value } => {
                let (expr, value) = both(expr, value)?;
                StepKind::Force { expr, value }
            }
            DirectiveKind::Predict { expr } => StepKind::Predict {
                text: printer::squeeze(self.sources.text(expr.span)),
                expr: lower(expr)?,
                is_observed: false,
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
            | DirectiveKind::Impute { .. }
            | DirectiveKind::Load { .. } => {
                let message = "define, table, impute and load stand at the top level of a program, not in a for";
                return Err(vec![Diagnostic::error(directive.span, message)]);
            }
        };
        lowered.take().iter().for_each(|expr| self.catalog.note(expr));
        let label = directive.label.as_ref().map(|label| label.name.clone());
        Ok(Step { number, label, span: directive.span, kind, absences: absences.take() })
    }

    /// What an observation without a label is called: by the column that it was seen in, else by its text. A
    /// weight is no observation.
    fn observed_name(&self, expr: &Syntax, value: &Syntax) -> Option<String> {
        if let SyntaxKind::List(items) = &expr.kind
            && matches!(items.first()?.kind, SyntaxKind::Name(name) if name.as_str() == FACTOR)
        {
            return None;
        }
        let value = lower::only_if(value, &Scope::global()).map_or(value, |(_, value)| value);
        let column = match value.kind {
            SyntaxKind::Name(name) => name.as_str().split_once('.').map(|(_, column)| column),
            _ => None,
        };
        let text = || printer::squeeze(self.sources.text(expr.span));
        Some(column.map_or_else(text, str::to_owned))
    }

    /// `[predict t.x]` of a column whose missing cells are drawn: each of them.
    fn predict_all(
        &mut self,
        directive: &Directive,
        number: usize,
        cells: Vec<(String, Syntax)>,
    ) -> Compiled<Step> {
        let mut steps = Vec::new();
        for (text, cell) in cells {
            let expr = lower::lower(&cell, &Scope::global(), self.catalog)?;
            let row = text.rfind('[').map_or("", |at| &text[at..]);
            let own = directive.label.as_ref().map(|label| format!("{}{row}", label.name));
            let label = own.or(Some(text.clone()));
            let (kind, span) =
                (StepKind::Predict { expr, text, is_observed: false }, directive.span);
            steps.push(Arc::new(Step { number, label, span, kind, absences: vec![] }));
        }
        let (kind, span) = (StepKind::Together(steps), directive.span);
        Ok(Step { number, label: None, span, kind, absences: vec![] })
    }
}

/// `(only_if condition true)`: where something is observed, whatever that is.
fn only_where(condition: &Syntax, span: Span) -> Syntax {
    let head = Syntax { kind: SyntaxKind::Name(Symbol::new("only_if")), span };
    let value = Syntax { kind: SyntaxKind::Bool(true), span };
    Syntax { kind: SyntaxKind::List(vec![head, condition.clone(), value]), span }
}

/// Whether a directive records something.
pub fn predicts(directive: &Directive) -> bool {
    match &directive.kind {
        DirectiveKind::Predict { .. } => true,
        DirectiveKind::For { body, .. } => body.iter().any(predicts),
        _ => false,
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
        DirectiveKind::Impute { law, .. } => each(&[law]),
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
