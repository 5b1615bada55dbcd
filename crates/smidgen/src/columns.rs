//! Observations of whole columns: `[observe (normal (+ a (* b t.x)) s) t.y]` is
//! `[for t in t [observe (normal (+ a (* b t.x)) s) t.y]]`, one row at a time, and so one plate.
//!
//! Operations on vectors that are given columns are, row by row, those on their entries: `scale_vector` is `*`,
//! `vector_add` is `+`, `(mapv f t.x)` is `(f t.x)`, and of a column of vectors `(matrix_times_vector t.x w)` is
//! `(dot t.x w)`.

use smidgen_lang::lower::{Catalog, Scope};
use smidgen_lang::syntax::{
    Directive, DirectiveKind, ForSource, Named, Syntax, SyntaxKind, with_stack,
};
use smidgen_value::Symbol;

/// The loop that the observation of a column stands for.
pub fn by_rows(
    directive: &Directive,
    scope: &Scope,
    catalog: &dyn Catalog,
) -> Option<DirectiveKind> {
    let DirectiveKind::Observe { expr, value } = &directive.kind else { return None };
    let SyntaxKind::Name(column) = value.kind else { return None };
    let (table, _) = column.as_str().split_once('.')?;
    let table = Symbol::new(table);
    if scope.binds(column) || scope.binds(table) {
        return None;
    }
    catalog.table(table)?;
    if catalog.known_names().iter().any(|known| known == column.as_str()) {
        return None;
    }
    let variable = Named { name: table, span: value.span };
    let kind = DirectiveKind::Observe { expr: row_of(expr, table).syntax, value: value.clone() };
    let body = vec![Directive { label: directive.label.clone(), kind, span: directive.span }];
    Some(DirectiveKind::For {
        variable: variable.clone(),
        source: ForSource::Table(variable),
        body,
    })
}

/// An expression, and whether a column of the table occurs in it.
struct InRow {
    syntax: Syntax,
    mentions: bool,
}

/// What an expression over columns is in one row.
fn row_of(syntax: &Syntax, table: Symbol) -> InRow {
    let items = match &syntax.kind {
        SyntaxKind::List(items) => items,
        SyntaxKind::Name(name) => {
            let row = name.as_str().split_once('.').map(|(row, _)| row);
            return InRow { syntax: syntax.clone(), mentions: row == Some(table.as_str()) };
        }
        _ => return InRow { syntax: syntax.clone(), mentions: false },
    };
    let parts: Vec<InRow> = with_stack(|| items.iter().map(|item| row_of(item, table)).collect());
    let mentions = parts.iter().any(|part| part.mentions);
    let mut items: Vec<Syntax> = parts.into_iter().map(|part| part.syntax).collect();
    if mentions {
        let head = match &items[0].kind {
            SyntaxKind::Name(name) => name.as_str(),
            _ => "",
        };
        let by_entry = match (head, items.len()) {
            ("scale_vector", 3) => Some("*"),
            ("vector_add", _) => Some("+"),
            ("matrix_times_vector", 3) => Some("dot"),
            _ => None,
        };
        if head == "mapv" && items.len() >= 3 {
            items.remove(0);
        } else if let Some(name) = by_entry {
            items[0].kind = SyntaxKind::Name(Symbol::new(name));
        }
    }
    InRow { syntax: Syntax { kind: SyntaxKind::List(items), span: syntax.span }, mentions }
}
