//! Loops: their bodies are lowered in the frame of the round, and where they only observe, every observation is also
//! written as one expression of the row, from which plates are made.
//!
//! `[let k e]` adds a frame for the rest of the round. Row by row it is evaluated once a round. For a plate it is written
//! out, `(let ((k e)) observed)`, in every observation that uses it; that is the same, because an `e` that makes random
//! choices of its own is no part of a plate, and such a loop goes row by row. One exception keeps a plate: a name that
//! is used once, as what is observed (`[let y (normal mu 1)] [observe y row.y]`), stands for its expression.

use std::sync::Arc;

use smidgen_lang::Diagnostic;
use smidgen_lang::core::{Expr, ExprKind, ExprRef};
use smidgen_lang::lower::{self, Absence, AbsenceKind, RowNumber, Scope, free_globals, uses_frame};
use smidgen_lang::syntax::{Directive, DirectiveKind, ForSource, Named};
use smidgen_value::{Symbol, Value};

use super::{Bounds, Compiled, Compiler, Step, StepKind};
use crate::missing;

impl Compiler<'_> {
    pub(super) fn for_loop(
        &mut self,
        variable: &Named<Symbol>,
        source: &ForSource,
        body: &[Directive],
        number: usize,
        scope: &Scope,
    ) -> Compiled<StepKind> {
        let (bounds, mut inner) = match source {
            ForSource::Table(name) => {
                let table = lower::Catalog::table(self.catalog, name.name);
                let Some(table) = table else {
                    let message = format!("there is no table `{}`", name.name);
                    let hint = format!("load it first: [table {} \"path.csv\"]", name.name);
                    return Err(vec![Diagnostic::error(name.span, message).hint(hint)]);
                };
                (Bounds::Rows(table.clone()), scope.with_row(variable.name, table))
            }
            ForSource::Range { low, high, .. } => {
                let low = lower::lower(low, scope, self.catalog)?;
                let high = lower::lower(high, scope, self.catalog)?;
                (Bounds::Range { low, high }, scope.with_variable(variable.name))
            }
        };
        let mut steps = Vec::new();
        let mut diagnostics = Vec::new();
        let mut bound = vec![variable.name];
        for directive in body {
            if let DirectiveKind::Assume { .. } = directive.kind {
                let message = "assume in a for is an error: each name is bound once";
                let hint = "assume a memoised procedure of the index instead: [assume f (mem (lambda (i) ...))]";
                diagnostics.push(Diagnostic::error(directive.span, message).hint(hint));
                continue;
            }
            if let DirectiveKind::Clear = directive.kind {
                let message = "clear stands at the top level of a program, not in a for";
                diagnostics.push(Diagnostic::error(directive.span, message));
                continue;
            }
            match self.step(directive, number, &inner) {
                Ok(step) => steps.push(step),
                Err(mut more) => diagnostics.append(&mut more),
            }
            if let DirectiveKind::Let { name, .. } = &directive.kind {
                diagnostics.extend(check_let(directive, &bound));
                bound.push(name.name);
                // What follows is looked at even if the value is wrong.
                inner = inner.with_variable(name.name);
            }
        }
        if diagnostics.is_empty() {
            missing::skip_together(&mut steps);
            if let (ForSource::Table(table), Bounds::Rows(rows)) = (source, &bounds) {
                missing::remark(self.catalog, table.name, rows.rows(), &steps);
            }
            let only = self.restrict(source, &mut steps);
            if let Bounds::Rows(rows) = &bounds {
                self.settle(&mut steps, rows.rows());
            }
            let body: Vec<Arc<Step>> = steps.into_iter().map(Arc::new).collect();
            let rows = row_texts(&body);
            Ok(StepKind::For { bounds, body, rows, only })
        } else {
            Err(diagnostics)
        }
    }
}

impl Compiler<'_> {
    /// Leaves out the rows that nobody wants, as if a cell of theirs were missing; gives the others.
    fn restrict(&self, source: &ForSource, steps: &mut [Step]) -> Option<Arc<[i64]>> {
        let ForSource::Table(table) = source else { return None };
        let (_, wanted) = self.only.iter().find(|(name, _)| name == table.name.as_str())?;
        let absence = Absence {
            kind: AbsenceKind::Skipped,
            mask: wanted.iter().map(|wanted| !wanted).collect(),
            row: RowNumber::Frame(0),
            cell: String::new(),
        };
        steps.first_mut()?.absences.push(absence);
        missing::skip_together(steps);
        let wanted = wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
        Some(wanted.map(|(row, _)| row as i64).collect())
    }

    /// Conditions about cells of the row alone are looked at once for all chains, not in every trace.
    fn settle(&self, steps: &mut [Step], rows: usize) {
        let mut lets: Vec<ExprRef> = Vec::new();
        for step in steps {
            let names: Vec<&ExprRef> = lets.iter().collect();
            for absence in &mut step.absences {
                let RowNumber::Computed(expr) = &absence.row else { continue };
                let expr = written_out(expr, &names);
                if free_globals(&expr).iter().any(|name| self.catalog.is_assumed(*name)) {
                    continue;
                }
                if let Some(mask) = missing::settled(&absence.mask, &expr, rows) {
                    (absence.mask, absence.row) = (mask, RowNumber::Frame(names.len() as u32));
                }
            }
            if let StepKind::Let { expr } = &step.kind {
                lets.push(expr.clone());
            }
        }
    }
}

fn check_let(directive: &Directive, bound: &[Symbol]) -> Option<Diagnostic> {
    let DirectiveKind::Let { name, .. } = &directive.kind else { return None };
    if let Some(label) = &directive.label {
        let message = "a let has no label: it is a name already";
        return Some(Diagnostic::error(label.span, message));
    }
    bound.contains(&name.name).then(|| {
        let message = format!("`{}` already has a value in this round", name.name);
        Diagnostic::error(name.span, message).hint("choose another name")
    })
}

/// An observation of a body after so many names.
struct Observed<'a> {
    before: usize,
    expr: &'a ExprRef,
    value: &'a ExprRef,
    name: &'a Option<String>,
    step: &'a Step,
    absences: Vec<Absence>,
}

/// The observations of a body that has nothing else but names for them, each as the row alone sees it: no name of
/// the round is free in it.
pub(crate) fn row_texts(body: &[Arc<Step>]) -> Option<Vec<Step>> {
    let mut lets: Vec<&ExprRef> = Vec::new();
    // What is missing for the names, seen from the row.
    let mut absences: Vec<Absence> = Vec::new();
    let mut observations = Vec::new();
    for step in body {
        match &step.kind {
            StepKind::Let { expr } => {
                absences.extend(missing::seen_from_row(&step.absences, lets.len() as u32)?);
                lets.push(expr);
            }
            StepKind::Observe { expr, value, name } => {
                let own = missing::seen_from_row(&step.absences, lets.len() as u32)?;
                let absences = absences.iter().cloned().chain(own).collect();
                observations.push(Observed {
                    before: lets.len(),
                    expr,
                    value,
                    name,
                    step,
                    absences,
                });
            }
            _ => return None,
        }
    }
    if observations.is_empty() {
        return None;
    }
    // How often each name is used: by later names, and by observations on either side.
    let exprs = lets.iter().enumerate().map(|(k, expr)| (k, *expr));
    let observed = observations.iter().flat_map(|o| [(o.before, o.expr), (o.before, o.value)]);
    let mut uses = vec![0; lets.len()];
    for (before, expr) in exprs.chain(observed) {
        for (k, count) in uses[..before].iter_mut().enumerate() {
            *count += usize::from(uses_frame(expr, (before - 1 - k) as u32));
        }
    }
    let text = |Observed { before, expr, value, name, step, absences }: Observed<'_>| {
        let (mut observed, mut known) = (expr, before);
        while let ExprKind::Local { depth, .. } = observed.kind
            && let Some(k) = known.checked_sub(1 + depth as usize)
            && uses[k] == 1
        {
            (observed, known) = (lets[k], k);
        }
        let kind = StepKind::Observe {
            expr: written_out(observed, &lets[..known]),
            value: written_out(value, &lets[..before]),
            name: name.clone(),
        };
        Step { number: step.number, label: step.label.clone(), span: step.span, kind, absences }
    };
    Some(observations.into_iter().map(text).collect())
}

/// `(let ((a ..) (b ..)) expr)` with the values of those names that it needs. The others keep their frames, with nothing
/// in them, since places are counted by frames.
fn written_out(expr: &ExprRef, lets: &[&ExprRef]) -> ExprRef {
    lets.iter().rev().fold(expr.clone(), |body, value| {
        let span = body.span;
        let value = match uses_frame(&body, 0) {
            true => (*value).clone(),
            false => Arc::new(Expr { kind: ExprKind::Constant(Value::Nil), span }),
        };
        let name = Symbol::new("let");
        Arc::new(Expr { kind: ExprKind::Let { name, value, body }, span })
    })
}
