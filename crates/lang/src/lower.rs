//! Syntax to core: special forms are taken apart ([`forms`]), names resolved to places in frames
//! or to the global environment ([`scope`]), external parameters and data put in as constants.
//!
//! Errors are collected: an expression with three mistakes gives three diagnostics.

mod forms;
mod missing;
mod quote;
mod scope;
mod walk;

use std::sync::Arc;

use smidgen_value::{Symbol, Table, Value};

pub use missing::{Absence, AbsenceKind, Purpose, RowNumber, only_if};
pub use quote::{MAX_CODE_NESTING, quote_to_value, syntax_of_value};
pub use scope::Scope;
pub use walk::{free_globals, procedures, uses_frame, written_scopes};

use crate::core::{Expr, ExprKind, ExprRef};
use crate::diagnostic::{Diagnostic, closest};
use crate::forms::is_reserved;
use crate::source::Span;
use crate::syntax::{MAX_NESTING, Syntax, SyntaxKind, with_stack};
use scope::Resolved;

/// What the world outside of an expression offers it.
pub trait Catalog {
    /// The value of the external parameter `{name}`.
    fn parameter(&self, name: Symbol) -> Option<Value>;
    /// The value of a name bound by `[define name value]`.
    fn constant(&self, name: Symbol) -> Option<Value>;
    fn table(&self, name: Symbol) -> Option<Arc<Table>>;
    /// The number of the first procedure of an expression; the others follow in order. Expressions whose procedures
    /// may meet have numbers of their own.
    fn first_procedure(&self) -> u64 {
        0
    }
    /// Names known globally, for hints.
    fn known_names(&self) -> Vec<String> {
        vec![]
    }
}

/// A catalog with nothing in it, for a text whose procedures are numbered from here on.
pub struct Nothing(pub u64);

impl Catalog for Nothing {
    fn first_procedure(&self) -> u64 {
        self.0
    }
    fn parameter(&self, _: Symbol) -> Option<Value> {
        None
    }
    fn constant(&self, _: Symbol) -> Option<Value> {
        None
    }
    fn table(&self, _: Symbol) -> Option<Arc<Table>> {
        None
    }
}

/// Lowers an expression that stands in `scope`.
pub fn lower(
    syntax: &Syntax,
    scope: &Scope,
    catalog: &dyn Catalog,
) -> Result<ExprRef, Vec<Diagnostic>> {
    Lowering::new(scope, catalog).finish(syntax, None)
}

/// Likewise; a procedure written there, also inside `(mem ...)`, is given the name.
pub fn lower_named(
    syntax: &Syntax,
    scope: &Scope,
    catalog: &dyn Catalog,
    name: Symbol,
) -> Result<ExprRef, Vec<Diagnostic>> {
    Lowering::new(scope, catalog).finish(syntax, Some(name))
}

/// Lowers an expression, and says which cells it uses that may be missing.
pub fn lower_for(
    purpose: Purpose,
    syntax: &Syntax,
    scope: &Scope,
    catalog: &dyn Catalog,
) -> Result<(ExprRef, Vec<Absence>), Vec<Diagnostic>> {
    lower_named_for(purpose, syntax, scope, catalog, None)
}

/// Likewise; a procedure written there is given the name.
pub fn lower_named_for(
    purpose: Purpose,
    syntax: &Syntax,
    scope: &Scope,
    catalog: &dyn Catalog,
    name: Option<Symbol>,
) -> Result<(ExprRef, Vec<Absence>), Vec<Diagnostic>> {
    let mut lowering = Lowering::new(scope, catalog);
    lowering.purpose = purpose;
    let expr = lowering.named(syntax, name);
    match lowering.errors.is_empty() {
        true => Ok((expr, lowering.absences)),
        false => Err(lowering.errors),
    }
}

struct Lowering<'a> {
    scope: Scope,
    /// How many frames are around the whole expression.
    outside: usize,
    purpose: Purpose,
    /// Cells that are known to be there.
    present: Vec<Symbol>,
    absences: Vec<Absence>,
    catalog: &'a dyn Catalog,
    errors: Vec<Diagnostic>,
    /// Levels of core expressions around the current one.
    depth: usize,
    too_deep: bool,
    /// The number of the next procedure.
    next_procedure: u64,
}

fn make(kind: ExprKind, span: Span) -> ExprRef {
    Arc::new(Expr { kind, span })
}

fn constant(value: impl Into<Value>, span: Span) -> ExprRef {
    make(ExprKind::Constant(value.into()), span)
}

impl<'a> Lowering<'a> {
    fn new(scope: &Scope, catalog: &'a dyn Catalog) -> Lowering<'a> {
        Lowering {
            scope: scope.clone(),
            outside: scope.depth(),
            purpose: Purpose::Value,
            present: Vec::new(),
            absences: Vec::new(),
            catalog,
            errors: Vec::new(),
            depth: 0,
            too_deep: false,
            next_procedure: catalog.first_procedure(),
        }
    }

    fn finish(mut self, syntax: &Syntax, name: Option<Symbol>) -> Result<ExprRef, Vec<Diagnostic>> {
        let expr = self.named(syntax, name);
        // Whoever does not ask which cells may be missing cannot leave out rows.
        let needed = |absence: &&Absence| absence.kind != AbsenceKind::Imputed;
        if let Some(absence) = self.absences.iter().find(needed) {
            let message = format!("the cell {} may be missing, and is needed here", absence.cell);
            self.errors.push(Diagnostic::error(syntax.span, message));
        }
        if self.errors.is_empty() { Ok(expr) } else { Err(self.errors) }
    }

    /// How many frames of the expression itself are around the current part.
    fn entered(&self) -> usize {
        self.scope.depth() - self.outside
    }

    /// Notes an error; something has to stand in the place of the wrong expression.
    fn error(&mut self, error: Diagnostic) -> ExprRef {
        let span = error.span.expect("errors of lowering have a place");
        self.errors.push(error);
        constant(Value::Nil, span)
    }

    fn expr(&mut self, syntax: &Syntax) -> ExprRef {
        self.named(syntax, None)
    }

    /// An expression whose value gets a name.
    fn named(&mut self, syntax: &Syntax, name: Option<Symbol>) -> ExprRef {
        if self.depth >= MAX_NESTING {
            if !std::mem::replace(&mut self.too_deep, true) {
                let message =
                    format!("expressions nest deeper than the limit of {MAX_NESTING} levels");
                self.errors.push(Diagnostic::error(syntax.span, message));
            }
            return constant(Value::Nil, syntax.span);
        }
        self.depth += 1;
        let expr = with_stack(|| self.node(syntax, name));
        self.depth -= 1;
        expr
    }

    fn node(&mut self, syntax: &Syntax, name: Option<Symbol>) -> ExprRef {
        let span = syntax.span;
        match &syntax.kind {
            SyntaxKind::Number(x) => constant(*x, span),
            SyntaxKind::Bool(b) => constant(*b, span),
            SyntaxKind::Text(text) => constant(Value::text(text.clone()), span),
            SyntaxKind::Name(name) => self.name(*name, span),
            SyntaxKind::Quote(datum) => self.quoted(datum, span),
            SyntaxKind::List(items) => self.list(items, span, name),
            SyntaxKind::Parameter { name, default } => {
                match self.parameter(*name, default.as_ref(), span) {
                    Ok(value) => constant(value, span),
                    Err(error) => self.error(error),
                }
            }
            SyntaxKind::Error => self.error(Diagnostic::error(span, "this could not be read")),
        }
    }

    fn parameter(
        &self,
        name: Symbol,
        default: Option<&Value>,
        span: Span,
    ) -> Result<Value, Diagnostic> {
        self.catalog.parameter(name).or_else(|| default.cloned()).ok_or_else(|| {
            let message = format!("parameter `{name}` was not given: pass --param {name}=VALUE");
            Diagnostic::error(span, message)
        })
    }

    fn quoted(&mut self, datum: &Syntax, span: Span) -> ExprRef {
        match quote::datum(datum, &|name, default, span| self.parameter(name, default, span)) {
            Ok(value) => constant(value, span),
            Err(error) => self.error(error),
        }
    }

    fn name(&mut self, name: Symbol, span: Span) -> ExprRef {
        match self.scope.find(name) {
            Some(Resolved::Local { depth, slot }) => {
                make(ExprKind::Local { depth, slot, name }, span)
            }
            Some(Resolved::Pending) => {
                let message = format!("`{name}` has no value yet where it is used here");
                self.error(
                    Diagnostic::error(span, message)
                        .hint("a value of `letrec` may use its names only inside a procedure"),
                )
            }
            Some(Resolved::Column { depth, slot, table, column }) => {
                self.cell_of_row(&table, Symbol::new(column), (depth, slot), (name, span))
            }
            Some(Resolved::Number { depth, slot, numbers: column }) => {
                make(ExprKind::Cell { column, depth, slot, name }, span)
            }
            Some(Resolved::TwoIndices) => {
                let message = format!(
                    "`{name}` is the number of the row, but the table has a column `index`"
                );
                let hint =
                    "give the column another name in the file; (cell TABLE index i) reads it";
                self.error(Diagnostic::error(span, message).hint(hint))
            }
            Some(Resolved::Row { table }) => {
                let columns = column_names(&table, "");
                let message = format!("`{name}` is a row of a table: use `{name}.column`");
                self.error(
                    Diagnostic::error(span, message)
                        .hint(format!("its columns are {columns}; {name}.index is its number")),
                )
            }
            None => match self.catalog.constant(name) {
                Some(value) => constant(value, span),
                None if is_reserved(name.as_str()) => {
                    let shape = crate::forms::special_form(name.as_str()).map_or("", |f| f.shape);
                    let message = format!("`{name}` is a special form, not a value");
                    self.error(
                        Diagnostic::error(span, message).hint(format!("it is written {shape}")),
                    )
                }
                None => match (self.endless(name), self.cell_without_row(name, span)) {
                    (Some(end), _) => constant(end, span),
                    (None, Some(error)) => self.error(error),
                    (None, None) => make(ExprKind::Global(name), span),
                },
            },
        }
    }

    /// `inf` and `-inf`, unless the program calls something so.
    fn endless(&self, name: Symbol) -> Option<f64> {
        let end = match name.as_str() {
            "inf" => f64::INFINITY,
            "-inf" => f64::NEG_INFINITY,
            _ => return None,
        };
        let is_own = self.catalog.known_names().iter().any(|known| known == name.as_str());
        (!is_own).then_some(end)
    }

    /// `table.column` where no row is meant.
    fn cell_without_row(&self, name: Symbol, span: Span) -> Option<Diagnostic> {
        let (table, column) = name.as_str().split_once('.')?;
        self.catalog.table(Symbol::new(table))?;
        if self.catalog.known_names().iter().any(|known| known == name.as_str()) {
            return None;
        }
        let message = format!("`{name}` means a cell, and no row is given here");
        let hint = format!(
            "in a `[for row in {table} ...]` it is row.{column}; (column {table} {column}) is the whole column"
        );
        Some(Diagnostic::error(span, message).hint(hint))
    }
}

fn unknown_column(table: &Table, column: Symbol, span: Span) -> Diagnostic {
    if let Some(reason) = table.unusable(column) {
        return Diagnostic::error(span, format!("the column `{column}` cannot be used: {reason}"));
    }
    let error = Diagnostic::error(span, format!("the table has no column `{column}`"))
        .hint(format!("its columns are {}", column_names(table, column.as_str())));
    match closest(column.as_str(), table.names().iter().map(|name| name.as_str())) {
        Some(name) => error.hint(format!("did you mean `{name}`?")),
        None => error,
    }
}

/// The names of a table's columns as words, the one closest to `wanted` first.
fn column_names(table: &Table, wanted: &str) -> String {
    let mut names: Vec<&str> = table.names().iter().map(|name| name.as_str()).collect();
    if let Some(best) = closest(wanted, names.iter().copied()) {
        names.sort_by_key(|name| *name != best);
    }
    const SHOWN: usize = 20;
    let more = names.len().saturating_sub(SHOWN);
    let mut words = names[..names.len() - more].join(", ");
    if more > 0 {
        words.push_str(&format!(" and {more} more"));
    }
    words
}
