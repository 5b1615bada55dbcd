//! `[impute t.x law]`: the law of a column with missing cells.
//!
//! It stands for two directives that happen together: a remembered procedure that draws the cell of a row,
//! `(mem (lambda (index) law))`, which later uses of a missing cell call, and a loop that observes the cells that are
//! there. The loop is left out if the program observes the column itself. In the law `t.z` is another cell
//! of the same row.

use std::sync::Arc;

use smidgen_lang::core::{ExprKind, ExprRef, Lambda};
use smidgen_lang::lower::{self, Absence, AbsenceKind, Catalog as _, Purpose, RowNumber, Scope};
use smidgen_lang::syntax::{Directive, DirectiveKind, ForSource, Named, Syntax, SyntaxKind};
use smidgen_lang::{Diagnostic, Span};
use smidgen_value::{Column, MissingRule, Symbol, Table};

use crate::catalog::Catalog;
use crate::compile::loops::row_texts;
use crate::compile::{Bounds, Compiled, Compiler, Step, StepKind};

/// The procedure that draws missing cells. No program can name it: it contains a blank.
fn law_name(table: Symbol, column: Symbol) -> Symbol {
    Symbol::new(&format!("missing {table}.{column}"))
}

/// Whether a name is one that programs cannot write.
pub fn is_internal(name: Symbol) -> bool {
    name.as_str().starts_with("missing ")
}

fn expr(kind: ExprKind, span: Span) -> ExprRef {
    Arc::new(smidgen_lang::core::Expr { kind, span })
}

/// What `table.column` says: the table, its name, and that of the column.
fn split(catalog: &Catalog, cell: Symbol) -> Option<(Symbol, Arc<Table>, Symbol)> {
    let (table, column) = cell.as_str().split_once('.')?;
    let name = Symbol::new(table);
    Some((name, catalog.table(name)?, Symbol::new(column)))
}

/// Rows whose cell is missing and drawn from a law.
fn imputed_rows(table: &Table, column: Symbol) -> Option<Vec<usize>> {
    let missing = table.missing(column).filter(|missing| missing.has_law())?;
    Some(missing.mask.iter().enumerate().filter_map(|(row, gone)| gone.then_some(row)).collect())
}

/// `(cell table "column" row)`
fn cell_syntax(table: Symbol, column: Symbol, row: usize, span: Span) -> Syntax {
    let part = |kind| Syntax { kind, span };
    part(SyntaxKind::List(vec![
        part(SyntaxKind::Name(Symbol::new("cell"))),
        part(SyntaxKind::Name(table)),
        part(SyntaxKind::Text(column.to_string())),
        part(SyntaxKind::Number(row as f64)),
    ]))
}

/// All missing cells that `table.column` means outside of a loop, as expressions with their names.
pub fn all_imputed(
    catalog: &Catalog,
    scope: &Scope,
    syntax: &Syntax,
) -> Option<Vec<(String, Syntax)>> {
    let SyntaxKind::Name(cell) = syntax.kind else { return None };
    if scope.binds(cell) {
        return None;
    }
    let (name, table, column) = split(catalog, cell)?;
    let rows = imputed_rows(&table, column)?;
    let one = |row| (format!("{cell}[{row}]"), cell_syntax(name, column, row, syntax.span));
    Some(rows.into_iter().map(one).collect())
}

/// `t.x[17]` as an expression.
pub fn cell_by_name(text: &str) -> Option<String> {
    let (cell, row) = text.trim().strip_suffix(']')?.rsplit_once('[')?;
    let (table, column) = cell.split_once('.')?;
    let is_word =
        |word: &str| !word.is_empty() && !word.contains(|c: char| " ()[]{}'\"".contains(c));
    let column = column.strip_prefix('"').and_then(|c| c.strip_suffix('"')).unwrap_or(column);
    let fits = is_word(table) && !column.contains('"') && row.parse::<usize>().is_ok();
    fits.then(|| format!("(cell {table} \"{column}\" {row})"))
}

impl Compiler<'_> {
    pub(crate) fn impute(
        &mut self,
        cell: &Named<Symbol>,
        law: &Syntax,
        (number, span): (usize, Span),
    ) -> Compiled<Step> {
        let wrong = |message: String, hint: String| {
            Err(vec![Diagnostic::error(cell.span, message).hint(hint)])
        };
        let Some((name, table, column)) = split(self.catalog, cell.name) else {
            let table = cell.name.as_str().split_once('.').map_or("", |(table, _)| table);
            let hint = format!("load it first: [table {table} \"path.csv\" (missing infer)]");
            return wrong(format!("there is no table `{table}`"), hint);
        };
        if table.rule() != MissingRule::Infer {
            let hint = format!("write [table {name} \"...\" (missing infer)]");
            return wrong(format!("`{name}` has no missing cells that are to be inferred"), hint);
        }
        let Some(found) = find(&table, column) else {
            return match table.unusable(column) {
                Some(reason) => {
                    let hint = "correct the file".to_owned();
                    wrong(format!("the column `{column}` cannot be used: {reason}"), hint)
                }
                None => {
                    let names: Vec<&str> = table.names().iter().map(|n| n.as_str()).collect();
                    let hint = format!("its columns are {}", names.join(", "));
                    wrong(format!("the table has no column `{column}` of its own"), hint)
                }
            };
        };
        if found.has_law {
            let message = format!("the column `{column}` has a distribution already");
            return wrong(message, "a column is imputed once".to_owned());
        }
        if found.is_unnamed_vector {
            let hint =
                "make the vector from columns, (vector x a b), and impute those; or (missing skip)";
            return wrong(
                format!("the entries of the vectors `{column}` have no names"),
                hint.into(),
            );
        }
        let scope = Scope::global().with_row(name, table.clone());
        let procedure = law_name(name, column);
        let mut steps = vec![self.drawing(procedure, law, &scope, (number, span))?];
        if !self.catalog.is_observed(cell.name) {
            steps.push(self.observing(&found, (cell, law), &scope, (number, span))?);
            self.catalog.note_observed_by_law(cell.name);
        }
        if let Some(table) = table.with_law(column, procedure) {
            self.catalog.add_table(name, Arc::new(table));
        }
        let steps = steps.into_iter().map(Arc::new).collect();
        Ok(Step { number, label: None, span, kind: StepKind::Together(steps), absences: vec![] })
    }

    /// A column that `[impute]` observes is not observed again.
    pub(crate) fn refuse_second_law(&self, directive: &Directive) -> Compiled<()> {
        let mut observed = Vec::new();
        observed_columns([directive], &[], &mut observed);
        let twice = observed.into_iter().find(|column| self.catalog.is_observed_by_law(*column));
        let Some(column) = twice else { return Ok(()) };
        let message = format!("[impute {column} ...] observes the cells of `{column}` already");
        let hint = "to observe them yourself, write that into the program before it runs; or leave this out";
        Err(vec![Diagnostic::error(directive.span, message).hint(hint)])
    }

    /// The procedure that draws a missing cell.
    fn drawing(
        &mut self,
        name: Symbol,
        law: &Syntax,
        scope: &Scope,
        (number, span): (usize, Span),
    ) -> Compiled<Step> {
        let body = lower::lower(law, scope, self.catalog)?;
        self.catalog.note(&body);
        let lambda = Lambda {
            params: vec![Symbol::new("index")],
            body,
            name: Some(name),
            number: self.catalog.first_procedure(),
        };
        let lambda = expr(ExprKind::Lambda(Arc::new(lambda)), span);
        let operator = expr(ExprKind::Global(Symbol::new("mem")), span);
        let procedure = expr(ExprKind::Apply { operator, operands: vec![lambda] }, span);
        self.catalog.note(&procedure);
        let kind = StepKind::Assume { name, expr: procedure };
        Ok(Step { number, label: None, span, kind, absences: vec![] })
    }

    /// The loop that observes the cells that are there.
    fn observing(
        &mut self,
        found: &Found,
        (cell, law): (&Named<Symbol>, &Syntax),
        scope: &Scope,
        (number, span): (usize, Span),
    ) -> Compiled<Step> {
        let (law, mut absences) = lower::lower_for(Purpose::Value, law, scope, self.catalog)?;
        self.catalog.note(&law);
        let name = cell.name;
        let column = found.column.clone();
        let mut value = expr(ExprKind::Cell { column, depth: 0, slot: 0, name }, cell.span);
        if let Some(entry) = found.entry {
            let operator = expr(ExprKind::Global(Symbol::new("lookup")), span);
            let entry = expr(ExprKind::Constant((entry as f64).into()), span);
            value = expr(ExprKind::Apply { operator, operands: vec![value, entry] }, span);
        }
        let cell = name.to_string();
        absences.extend(found.mask.iter().map(|mask| Absence {
            kind: AbsenceKind::NotObserved,
            mask: mask.clone(),
            row: RowNumber::Frame(0),
            cell: cell.clone(),
        }));
        let kind = StepKind::Observe { expr: law, value, name: Some(cell.clone()) };
        let observed = Step { number, label: Some(cell), span, kind, absences };
        let bounds = Bounds::Rows(found.table.clone());
        let body = vec![Arc::new(observed)];
        let rows = row_texts(&body);
        let kind = StepKind::For { bounds, body, rows, only: None };
        Ok(Step { number, label: None, span, kind, absences: vec![] })
    }
}

/// What `[impute]` names.
struct Found {
    table: Arc<Table>,
    column: Column,
    /// Which entry of a vector.
    entry: Option<usize>,
    mask: Option<Arc<[bool]>>,
    has_law: bool,
    is_unnamed_vector: bool,
}

fn find(table: &Arc<Table>, wanted: Symbol) -> Option<Found> {
    if let Some(column) = table.column(wanted) {
        let missing = table.missing(wanted);
        return Some(Found {
            table: table.clone(),
            column: column.clone(),
            entry: None,
            mask: missing.map(|missing| missing.mask.clone()),
            has_law: missing.is_some_and(|missing| missing.law.is_some()),
            is_unnamed_vector: matches!(column, Column::Vectors { .. }),
        });
    }
    table.with_holes().iter().find_map(|(vector, missing)| {
        let entry = missing.parts.iter().position(|part| part.name == wanted)?;
        let part = &missing.parts[entry];
        Some(Found {
            table: table.clone(),
            column: table.column(*vector)?.clone(),
            entry: Some(entry),
            mask: part.mask.clone(),
            has_law: part.law.is_some(),
            is_unnamed_vector: false,
        })
    })
}

/// The columns, as `table.column`, that directives observe cell by cell.
pub fn observed_columns<'a>(
    directives: impl IntoIterator<Item = &'a Directive>,
    rows: &[(Symbol, Symbol)],
    found: &mut Vec<Symbol>,
) {
    for directive in directives {
        match &directive.kind {
            DirectiveKind::For { variable, source, body } => {
                let mut rows = rows.to_vec();
                if let ForSource::Table(table) = source {
                    rows.push((variable.name, table.name));
                }
                observed_columns(body, &rows, found);
            }
            DirectiveKind::Observe { value, .. } => found.extend(observed_column(value, rows)),
            _ => {}
        }
    }
}

fn observed_column(value: &Syntax, rows: &[(Symbol, Symbol)]) -> Option<Symbol> {
    let value = lower::only_if(value, &Scope::global()).map_or(value, |(_, value)| value);
    match &value.kind {
        SyntaxKind::Name(name) => {
            let (row, column) = name.as_str().split_once('.')?;
            let table = rows.iter().rev().find(|(variable, _)| variable.as_str() == row);
            let table = table.map_or(row, |(_, table)| table.as_str());
            Some(Symbol::new(&format!("{table}.{column}")))
        }
        SyntaxKind::List(items) => match items.as_slice() {
            [head, table, column, _] => {
                let word = |part: &Syntax| match &part.kind {
                    SyntaxKind::Name(name) => Some(name.to_string()),
                    SyntaxKind::Text(text) => Some(text.clone()),
                    _ => None,
                };
                let is_cell = word(head).as_deref() == Some("cell");
                let name = format!("{}.{}", word(table)?, word(column)?);
                is_cell.then(|| Symbol::new(&name))
            }
            _ => None,
        },
        _ => None,
    }
}
