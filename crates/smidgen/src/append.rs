//! Rows that are appended to a table while programs run on it.
//!
//! The new rows are a table of their own, counted on from the rows before ([`Table::continued_by`]), and every loop over the
//! table is made once more, for them alone: as if the parts had been two loops. So nothing that was there is looked at, summed
//! anew or subtracted, and a row becomes what it would have become in a program of two loops. The cost is O(new rows).
//!
//! That is right for loops that observe, and for nothing else: a `(rows t)`, a `(column t x)` or a `(levels t x)` is a constant
//! that was made of the rows of then. What mentions the table in any other way is refused, with its place.

use std::sync::Arc;

use smidgen_io::bind_vectors;
use smidgen_lang::lower::Scope;
use smidgen_lang::syntax::{Directive, DirectiveKind, ForSource, Named, Syntax, SyntaxKind};
use smidgen_lang::{Diagnostic, SourceMap, Span};
use smidgen_value::{MissingRule, Symbol, Table};

use crate::catalog::Catalog;
use crate::columns::by_rows;
use crate::compile::{Compiler, Step, StepKind};
use crate::load::TopDirective;

/// What was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The number of the first new row.
    pub first: usize,
    pub rows: usize,
    /// Loops that observe them.
    pub loops: usize,
}

/// What appending does, before it has happened.
pub(crate) struct Growth {
    pub part: Arc<Table>,
    /// The loops over the new rows; None if there are none.
    pub step: Option<Step>,
    /// With what the texts of the loops have brought.
    pub catalog: Catalog,
    pub loops: usize,
}

/// A table that can get more rows.
pub(crate) struct Place<'p> {
    /// The last rows that it has.
    before: Arc<Table>,
    /// The loops that observe its rows.
    pub loops: Vec<&'p TopDirective>,
    /// The directive that has made it.
    made_by: Option<Span>,
}

/// Whether a table can get more rows, in a program of which this was executed.
pub(crate) fn check<'p>(
    catalog: &Catalog,
    executed: &'p [TopDirective],
    name: Symbol,
) -> Result<Place<'p>, Vec<Diagnostic>> {
    let made_by = executed.iter().find_map(|top| match &top.directive.kind {
        DirectiveKind::Table { name: known, .. } if known.name == name => Some(known.span),
        _ => None,
    });
    let Some(before) = catalog.last_part(name).cloned() else {
        let message = format!("there is no table `{name}` to append rows to");
        return Err(vec![Diagnostic::error(made_by, message)]);
    };
    let loops = loops_over(executed, name, catalog)?;
    if before.rule() == MissingRule::Infer {
        let message =
            format!("rows cannot be appended to `{name}`: its missing cells are inferred");
        let hint = "(missing skip) leaves out rows with missing cells";
        return Err(vec![Diagnostic::error(made_by, message).hint(hint)]);
    }
    Ok(Place { before, loops, made_by })
}

/// An error if an expression outside of loops is made of the rows of a table.
pub(crate) fn refuse_mention(syntax: &Syntax, table: Symbol) -> Result<(), Diagnostic> {
    Search::of(table).in_any(&[syntax]).map_or(Ok(()), Err)
}

/// What there is to do if a table gets more rows, in a program of which this was executed.
pub(crate) fn plan(
    catalog: &Catalog,
    sources: &SourceMap,
    executed: &[TopDirective],
    name: Symbol,
    rows: &Table,
) -> Result<Growth, Vec<Diagnostic>> {
    let Place { before, loops, made_by } = check(catalog, executed, name)?;
    let wrong = |message: String| vec![Diagnostic::error(made_by, message)];
    let fits =
        |problem: String| wrong(format!("these rows cannot be appended to `{name}`: {problem}"));
    let bound = match catalog.options(name).filter(|options| !options.vectors.is_empty()) {
        Some(options) if options.vectors.iter().any(|v| rows.column(v.name).is_none()) => {
            Some(bind_vectors(name.as_str(), rows, options).map_err(|e| wrong(e.to_string()))?)
        }
        _ => None,
    };
    let part = before.continued_by(bound.as_ref().unwrap_or(rows)).map_err(fits)?;
    let part = Arc::new(part);
    let mut with_part = catalog.with_part(name, &part);
    let mut steps = Vec::new();
    if part.rows() > 0 {
        let mut compiler = Compiler::new(&mut with_part, sources);
        for top in &loops {
            let step = compiler.top_level(&top.directive, top.number, &top.folder)?;
            steps.extend(step.map(Arc::new));
        }
    }
    let together = |steps: Vec<Arc<Step>>| {
        let (number, span) = (steps[0].number, steps[0].span);
        Step { number, label: None, span, kind: StepKind::Together(steps), absences: vec![] }
    };
    let step = (!steps.is_empty()).then(|| together(steps));
    Ok(Growth { part, step, catalog: with_part, loops: loops.len() })
}

/// The loops that observe the rows of a table; an error if something else hangs on its rows.
fn loops_over<'p>(
    executed: &'p [TopDirective],
    name: Symbol,
    catalog: &Catalog,
) -> Result<Vec<&'p TopDirective>, Vec<Diagnostic>> {
    let search = Search::of(name);
    let mut loops = Vec::new();
    let mut problems = Vec::new();
    for top in executed {
        let directive = &top.directive;
        let kind = by_rows(directive, &Scope::global(), catalog);
        let found = match kind.as_ref().unwrap_or(&directive.kind) {
            DirectiveKind::For { variable, source: ForSource::Table(over), body }
                if over.name == name =>
            {
                loops.push(top);
                search.in_loop(variable, body)
            }
            // What was inferred then has happened; what was loaded is the table itself.
            DirectiveKind::Infer { .. } | DirectiveKind::Table { .. } => None,
            kind => search.in_directive(kind, directive.span),
        };
        problems.extend(found);
    }
    for top in executed {
        if let DirectiveKind::Forget { label } = &top.directive.kind
            && loops.iter().any(|over| labels(&over.directive).any(|own| is_of(&label.name, own)))
        {
            let message = format!(
                "rows cannot be appended to `{name}`: observations of it were forgotten here"
            );
            problems.push(Diagnostic::error(label.span, message));
        }
    }
    match problems.is_empty() {
        true => Ok(loops),
        false => Err(problems),
    }
}

/// The labels of a directive and of those in it.
fn labels(directive: &Directive) -> Box<dyn Iterator<Item = &str> + '_> {
    let own = directive.label.iter().map(|label| label.name.as_str());
    match &directive.kind {
        DirectiveKind::For { body, .. } => Box::new(own.chain(body.iter().flat_map(labels))),
        _ => Box::new(own),
    }
}

fn is_of(label: &str, own: &str) -> bool {
    label.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

/// A search for what is made of the rows of a table.
struct Search {
    table: Symbol,
    prefix: String,
}

impl Search {
    fn of(table: Symbol) -> Search {
        Search { table, prefix: format!("{table}.") }
    }

    /// What in a loop over the table cannot go on with more rows.
    fn in_loop(&self, variable: &Named<Symbol>, body: &[Directive]) -> Option<Diagnostic> {
        // In a loop of this name the table is hidden.
        let is_hidden = variable.name == self.table;
        body.iter().find_map(|directive| match &directive.kind {
            DirectiveKind::Observe { expr, value } if !is_hidden => {
                self.in_any(&[expr, value]).or_else(|| environment_in(expr))
            }
            DirectiveKind::Let { expr, .. } if !is_hidden => {
                self.in_any(&[expr]).or_else(|| environment_in(expr))
            }
            DirectiveKind::Observe { .. } | DirectiveKind::Let { .. } => None,
            DirectiveKind::For { source, body, .. } => {
                self.in_source(source).or_else(|| self.in_loop(variable, body))
            }
            _ => {
                let message = format!(
                    "rows cannot be appended to `{}`: a loop over it does more than observe",
                    self.table
                );
                let hint = "put this into a loop of its own, over a range";
                Some(Diagnostic::error(directive.span, message).hint(hint))
            }
        })
    }

    fn in_source(&self, source: &ForSource) -> Option<Diagnostic> {
        match source {
            ForSource::Table(over) if over.name == self.table => Some(self.refused(over.span)),
            ForSource::Table(_) => None,
            ForSource::Range { low, high, .. } => self.in_any(&[low, high]),
        }
    }

    fn in_directive(&self, kind: &DirectiveKind, span: Span) -> Option<Diagnostic> {
        match kind {
            DirectiveKind::Assume { expr, .. }
            | DirectiveKind::Let { expr, .. }
            | DirectiveKind::Predict { expr }
            | DirectiveKind::Sample { expr }
            | DirectiveKind::Define { value: expr, .. }
            | DirectiveKind::Infer { kernel: expr } => self.in_any(&[expr]),
            DirectiveKind::Observe { expr, value } | DirectiveKind::Force { expr, value } => {
                self.in_any(&[expr, value])
            }
            DirectiveKind::Impute { cell, law } => {
                let own = cell.name.as_str().starts_with(&self.prefix);
                own.then(|| self.refused(cell.span)).or_else(|| self.in_any(&[law]))
            }
            DirectiveKind::For { source, body, .. } => self.in_source(source).or_else(|| {
                body.iter().find_map(|inner| self.in_directive(&inner.kind, inner.span))
            }),
            DirectiveKind::Report { .. }
            | DirectiveKind::Forget { .. }
            | DirectiveKind::Freeze { .. }
            | DirectiveKind::Clear
            | DirectiveKind::LogJoint
            | DirectiveKind::LogLikelihood
            | DirectiveKind::Table { .. } => None,
            DirectiveKind::Load { .. } => Some(self.refused(span)),
        }
    }

    fn in_any(&self, parts: &[&Syntax]) -> Option<Diagnostic> {
        let mut work: Vec<&Syntax> = parts.to_vec();
        while let Some(syntax) = work.pop() {
            match &syntax.kind {
                SyntaxKind::Name(name) if name.as_str().starts_with(&self.prefix) => {
                    return Some(self.refused(syntax.span));
                }
                SyntaxKind::List(items) => {
                    let names = |k: usize| match items.get(k).map(|item| &item.kind) {
                        Some(SyntaxKind::Name(name)) => Some(name.as_str()),
                        _ => None,
                    };
                    let reads = matches!(names(0), Some("rows" | "column" | "cell" | "levels"));
                    if reads && names(1) == Some(self.table.as_str()) {
                        return Some(self.refused(syntax.span));
                    }
                    work.extend(items.iter().rev());
                }
                SyntaxKind::Quote(inner) => work.push(inner),
                _ => {}
            }
        }
        None
    }

    fn refused(&self, span: Span) -> Diagnostic {
        let table = self.table;
        let message = format!(
            "rows cannot be appended to `{table}`: this was made of the rows that it had, and would not know of the new ones"
        );
        Diagnostic::error(span, message).hint(format!(
            "only loops that observe, `[for row in {table} [observe ...]]`, go on with new rows"
        ))
    }
}

/// `(get_current_environment)` in a loop, where code that is evaluated would see the number of the row.
fn environment_in(syntax: &Syntax) -> Option<Diagnostic> {
    let mut work = vec![syntax];
    while let Some(syntax) = work.pop() {
        match &syntax.kind {
            SyntaxKind::Name(name) if name.as_str() == "get_current_environment" => {
                let message = "rows cannot be appended where a loop hands on its environment";
                return Some(Diagnostic::error(syntax.span, message));
            }
            SyntaxKind::List(items) => work.extend(items),
            _ => {}
        }
    }
    None
}
