//! Cells of tables that may be missing.
//!
//! Nothing that is evaluated ever reads a missing cell. A use of a column with missing cells becomes, by what the
//! program says in `(missing ...)` and `[impute ...]`,
//!
//! * in an expression that is reached only where the cell is there (`(if (is_missing row.x) a b)`: in b): the cell;
//! * a cell, with an [`Absence`]: the directive does nothing in rows where it is missing;
//! * `(if MISSING (law index) cell)`, where the column has a law: one remembered choice per missing cell;
//! * an error that says what can be done.
//!
//! `(only_if condition value)` leaves out observations by a condition of the program's own, as if what is observed were
//! missing where the condition is false.

use std::sync::Arc;

use smidgen_value::{Column, Missing, MissingRule, Symbol, Table, Value};

use super::{Lowering, Scope, constant, make};
use crate::core::{ExprKind, ExprRef};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::{Syntax, SyntaxKind, with_stack};

/// What an expression is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Value,
    /// The value of an observation: one that is missing is not observed.
    Outcome,
}

/// A cell that an expression uses and that may be missing.
#[derive(Clone, Debug)]
pub struct Absence {
    pub kind: AbsenceKind,
    pub mask: Arc<[bool]>,
    pub row: RowNumber,
    /// As the program writes it.
    pub cell: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbsenceKind {
    /// The loop does nothing in such a row.
    Skipped,
    /// The observation is not made in such a row.
    NotObserved,
    /// In such a row the cell is a random choice.
    Imputed,
}

/// Where the number of the row is found.
#[derive(Clone, Debug)]
pub enum RowNumber {
    /// In the frame of a loop around the directive, the innermost 0.
    Frame(u32),
    /// The value of an expression in the directive's place.
    Computed(ExprRef),
}

/// A cell's place in the text and in its table.
pub(super) struct Use<'a> {
    pub table: &'a Table,
    pub column: Symbol,
    pub missing: &'a Missing,
    pub name: Symbol,
    pub span: Span,
}

/// The places of an `only_if`'s mask: where its condition is true, and where it is false.
const OBSERVED: usize = 0;
const UNOBSERVED: usize = 1;

/// The condition and the value of `(only_if condition value)`.
pub fn only_if<'s>(syntax: &'s Syntax, scope: &Scope) -> Option<(&'s Syntax, &'s Syntax)> {
    let SyntaxKind::List(items) = &syntax.kind else { return None };
    let [Syntax { kind: SyntaxKind::Name(head), .. }, condition, value] = items.as_slice() else {
        return None;
    };
    (head.as_str() == "only_if" && !scope.binds(*head)).then_some((condition, value))
}

impl Lowering<'_> {
    /// `row.column`, whose row number is in a frame.
    pub(super) fn cell_of_row(
        &mut self,
        table: &Table,
        column: Symbol,
        (depth, slot): (u32, u32),
        (name, span): (Symbol, Span),
    ) -> ExprRef {
        let Some(cells) = table.column(column) else {
            return self.error(super::unknown_column(table, column, span));
        };
        let cell = |column: Column| make(ExprKind::Cell { column, depth, slot, name }, span);
        let plain = cell(cells.clone());
        let Some(missing) = table.missing(column) else { return plain };
        if self.present.contains(&name) {
            return plain;
        }
        let row = RowNumber::Frame(depth - self.entered() as u32);
        let used = Use { table, column, missing, name, span };
        let Some(kind) = self.kind_of(&used) else { return self.unanswered(&used) };
        let mask = missing.mask.clone();
        self.absences.push(Absence { kind, mask, row, cell: name.to_string() });
        if kind != AbsenceKind::Imputed {
            return plain;
        }
        let index = make(ExprKind::Local { depth, slot, name: Symbol::new("index") }, span);
        imputed(missing, &plain, &index, &|mask| cell(Column::Booleans(mask)))
    }

    /// What becomes of a missing cell; None if nothing was said.
    fn kind_of(&self, used: &Use) -> Option<AbsenceKind> {
        match (used.table.rule(), self.purpose) {
            (MissingRule::Refuse, _) => None,
            (MissingRule::Skip, _) => Some(AbsenceKind::Skipped),
            (MissingRule::Infer, Purpose::Outcome) => Some(AbsenceKind::NotObserved),
            (MissingRule::Infer, Purpose::Value) => {
                used.missing.has_law().then_some(AbsenceKind::Imputed)
            }
        }
    }

    /// `(cell table column index)` of a column with missing cells.
    pub(super) fn cell_at(&mut self, used: &Use, cells: &Column, index: ExprRef) -> ExprRef {
        let (missing, span) = (used.missing, used.span);
        let number = match &index.kind {
            ExprKind::Constant(number) => number.as_integer(),
            _ => None,
        };
        let row = number.and_then(|row| usize::try_from(row).ok());
        if let Some(row) = row
            && missing.mask.get(row) == Some(&false)
        {
            return constant(cells.cell(row), span);
        }
        let kind = self.kind_of(used);
        let lookup = |values: Value, index: &ExprRef| {
            let operator = make(ExprKind::Global(Symbol::new("lookup")), span);
            let operands = vec![constant(values, span), index.clone()];
            make(ExprKind::Apply { operator, operands }, span)
        };
        match kind {
            Some(AbsenceKind::Imputed) => {
                // The index is computed once.
                let name = Symbol::new("index of a cell");
                let local = make(ExprKind::Local { depth: 0, slot: 0, name }, span);
                let plain = lookup(cells.to_value(), &local);
                let mask = |mask| lookup(Column::Booleans(mask).to_value(), &local);
                let body = imputed(missing, &plain, &local, &mask);
                make(ExprKind::Let { name, value: index, body }, span)
            }
            Some(kind) if self.purpose == Purpose::Outcome && self.entered() == 0 => {
                let (mask, row) = (missing.mask.clone(), RowNumber::Computed(index.clone()));
                self.absences.push(Absence { kind, mask, row, cell: used.name.to_string() });
                lookup(cells.to_value(), &index)
            }
            Some(_) => {
                let hint = "in a `[for row in table ...]` write the cell as row.column";
                let error = missing_cells(used).hint(hint);
                self.error(error)
            }
            None => self.unanswered(used),
        }
    }

    /// `(column table column)` of a column with missing cells.
    pub(super) fn column_of(&mut self, used: &Use, cells: &Column) -> ExprRef {
        let (missing, span) = (used.missing, used.span);
        if self.purpose == Purpose::Outcome && used.table.rule() == MissingRule::Infer {
            let hint = "a vector is observed whole; observe its cells one by one in a `[for row in table ...]`";
            return self.error(missing_cells(used).hint(hint));
        }
        let Some(law) = missing.law.filter(|_| used.table.rule() == MissingRule::Infer) else {
            return match used.table.rule() {
                MissingRule::Skip => {
                    let hint = "a whole column cannot leave out rows; go through the table by `[for row in table ...]`";
                    self.error(missing_cells(used).hint(hint))
                }
                _ => self.unanswered(used),
            };
        };
        let entry = |(row, is_missing): (usize, &bool)| match is_missing {
            false => constant(cells.cell(row), span),
            true => call(law, constant(row as f64, span)),
        };
        let operands = missing.mask.iter().enumerate().map(entry).collect();
        let maker = if let Column::Reals(_) = cells { "vector" } else { "array" };
        let operator = make(ExprKind::Global(Symbol::new(maker)), span);
        make(ExprKind::Apply { operator, operands }, span)
    }

    /// The error about a missing cell of which nothing was said.
    fn unanswered(&mut self, used: &Use) -> ExprRef {
        let (table, column) = (used.table.called(), used.column);
        let parts: Vec<Symbol> = match used.missing.parts.is_empty() {
            true => vec![column],
            false => {
                let open =
                    used.missing.parts.iter().filter(|p| p.mask.is_some() && p.law.is_none());
                open.map(|part| part.name).collect()
            }
        };
        let impute = parts.first().map_or_else(String::new, |part| {
            format!("[impute {table}.{part} (normal mu sd)] gives a distribution to missing cells")
        });
        let error = missing_cells(used);
        let error = match used.table.rule() {
            MissingRule::Infer => {
                let example = match parts.len() {
                    0 | 1 => impute,
                    n => format!("{impute}, and likewise for {} more columns of the vector", n - 1),
                };
                error.hint(example)
            }
            _ => error
                .hint(format!(
                    "[table {table} \"...\" (missing skip)] leaves out the rows of a loop in which a cell that it uses is missing"
                ))
                .hint(format!(
                    "(missing infer) does not observe a missing cell that would be observed; elsewhere {impute}"
                )),
        };
        self.error(error)
    }

    /// `(is_missing row.x)` or `(is_missing (cell t x i))`.
    pub(super) fn is_missing(&mut self, args: &[Syntax], span: Span) -> ExprRef {
        let [cell] = args else { return self.wrong_shape("is_missing", args, span) };
        match &cell.kind {
            SyntaxKind::Name(name) => {
                let Some(super::Resolved::Column { depth, slot, table, column }) =
                    self.scope.find(*name)
                else {
                    return self.wrong_part("is_missing", "a cell of a table", cell.span);
                };
                let column = Symbol::new(column);
                if table.column(column).is_none() {
                    return self.error(super::unknown_column(&table, column, cell.span));
                }
                let Some(missing) = table.missing(column) else { return constant(false, span) };
                let column = Column::Booleans(missing.mask.clone());
                make(ExprKind::Cell { column, depth, slot, name: *name }, span)
            }
            SyntaxKind::List(items) => {
                let [head, table, column, index] = items.as_slice() else {
                    return self.wrong_part("is_missing", "a cell of a table", cell.span);
                };
                let is_cell =
                    matches!(head.kind, SyntaxKind::Name(name) if name.as_str() == "cell");
                let (SyntaxKind::Name(table), Some(column), true) =
                    (&table.kind, column_name(column), is_cell)
                else {
                    return self.wrong_part("is_missing", "a cell of a table", cell.span);
                };
                let Some(table) = self.catalog.table(*table) else {
                    return self.wrong_part("is_missing", "a cell of a table", cell.span);
                };
                let index = self.expr(index);
                if table.column(column).is_none() {
                    return self.error(super::unknown_column(&table, column, cell.span));
                }
                let Some(missing) = table.missing(column) else { return constant(false, span) };
                let mask = Column::Booleans(missing.mask.clone()).to_value();
                let operator = make(ExprKind::Global(Symbol::new("lookup")), span);
                make(
                    ExprKind::Apply { operator, operands: vec![constant(mask, span), index] },
                    span,
                )
            }
            _ => self.wrong_part("is_missing", "a cell of a table", cell.span),
        }
    }

    /// `(only_if condition value)`: the value, and the absence of the observation where the condition is false.
    pub(super) fn only_if(&mut self, args: &[Syntax], span: Span) -> ExprRef {
        let [condition, value] = args else { return self.wrong_shape("only_if", args, span) };
        if self.purpose != Purpose::Outcome || self.depth > 1 {
            let message =
                "`only_if` stands where the value of an `observe` does, around the whole value";
            let hint = "elsewhere write (if condition a b); several conditions are (only_if (and a b) value)";
            return self.error(Diagnostic::error(span, message).hint(hint));
        }
        let there = self.present_if(condition, true);
        self.purpose = Purpose::Value;
        let condition = self.expr(condition);
        self.purpose = Purpose::Outcome;
        let place = condition.span;
        let side = |side: f64| constant(side, place);
        let row = RowNumber::Computed(make(
            ExprKind::If(condition, side(OBSERVED as f64), side(UNOBSERVED as f64)),
            place,
        ));
        let mut mask = [false; 2];
        mask[UNOBSERVED] = true;
        let (kind, mask) = (AbsenceKind::NotObserved, Arc::new(mask));
        self.absences.push(Absence { kind, mask, row, cell: String::new() });
        self.where_present(there, |this| this.expr(value))
    }

    /// The cells that are there if the condition has this truth.
    pub(super) fn present_if(&self, condition: &Syntax, truth: bool) -> Vec<Symbol> {
        let SyntaxKind::List(items) = &condition.kind else { return Vec::new() };
        let Some((Syntax { kind: SyntaxKind::Name(head), .. }, args)) = items.split_first() else {
            return Vec::new();
        };
        if self.scope.binds(*head) {
            return Vec::new();
        }
        let all = |truth: bool| {
            with_stack(|| args.iter().flat_map(|arg| self.present_if(arg, truth)).collect())
        };
        match (head.as_str(), truth, args) {
            ("is_missing", false, [Syntax { kind: SyntaxKind::Name(cell), .. }]) => vec![*cell],
            ("not", _, [_]) => all(!truth),
            ("and", true, _) => all(true),
            ("or", false, _) => all(false),
            _ => Vec::new(),
        }
    }

    /// Lowers where these cells are known to be there.
    pub(super) fn where_present<T>(
        &mut self,
        mut cells: Vec<Symbol>,
        lower: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.present.len();
        self.present.append(&mut cells);
        let lowered = lower(self);
        self.present.truncate(before);
        lowered
    }
}

pub(super) fn column_name(syntax: &Syntax) -> Option<Symbol> {
    match &syntax.kind {
        SyntaxKind::Name(name) => Some(*name),
        SyntaxKind::Text(text) => Some(Symbol::new(text)),
        _ => None,
    }
}

fn call(law: Symbol, index: ExprRef) -> ExprRef {
    let span = index.span;
    let operator = make(ExprKind::Global(law), span);
    make(ExprKind::Apply { operator, operands: vec![index] }, span)
}

/// The cell where it is there, else what its law gives; a vector entry by entry.
fn imputed(
    missing: &Missing,
    plain: &ExprRef,
    index: &ExprRef,
    is_missing: &dyn Fn(Arc<[bool]>) -> ExprRef,
) -> ExprRef {
    let span = plain.span;
    let or_else = |mask: &Arc<[bool]>, then: ExprRef, otherwise: ExprRef| {
        make(ExprKind::If(is_missing(mask.clone()), then, otherwise), span)
    };
    if let Some(law) = missing.law {
        return or_else(&missing.mask, call(law, index.clone()), plain.clone());
    }
    let entry = |k: usize| {
        let operator = make(ExprKind::Global(Symbol::new("lookup")), span);
        let operands = vec![plain.clone(), constant(k as f64, span)];
        make(ExprKind::Apply { operator, operands }, span)
    };
    let entries = missing.parts.iter().enumerate().map(|(k, part)| match (&part.mask, part.law) {
        (Some(mask), Some(law)) => or_else(mask, call(law, index.clone()), entry(k)),
        _ => entry(k),
    });
    let operands = entries.collect();
    let operator = make(ExprKind::Global(Symbol::new("vector")), span);
    let whole = make(ExprKind::Apply { operator, operands }, span);
    or_else(&missing.mask, whole, plain.clone())
}

fn missing_cells(used: &Use) -> Diagnostic {
    let count = used.missing.count();
    let cells = if count == 1 { "a missing cell".into() } else { format!("{count} missing cells") };
    let first = if count == 1 { "it is in" } else { "the first is in" };
    let message = format!(
        "the column `{}` has {cells}, and this use of it needs all of them: {first} {}",
        used.column, used.missing.first
    );
    Diagnostic::error(used.span, message)
}
