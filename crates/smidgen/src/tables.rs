//! `[table name "path" option ...]`: which file, with which options, watched and stopped from outside.

use std::path::Path;
use std::sync::{Arc, Mutex};

use smidgen_io::{
    ColumnSelection, DataError, Follower, Progress, Reading, TableOptions, VectorColumn,
    bind_vectors, read_table_with,
};
use smidgen_lang::Diagnostic;
use smidgen_lang::syntax::{Named, Syntax, SyntaxKind};
use smidgen_value::{MissingRule, Symbol, Table};

use crate::catalog::{Catalog, FollowedTable};

/// Calls its last argument, which does something long, while it shows the name and the progress.
pub type Watcher = Arc<dyn Fn(&str, &Progress, &mut dyn FnMut()) + Send + Sync>;

type Read<T> = Result<T, Vec<Diagnostic>>;

/// Reads the table of a directive into the catalog.
pub fn load(
    catalog: &mut Catalog,
    name: &Named<Symbol>,
    path: Option<&Named<String>>,
    options: &[Syntax],
    folder: &Path,
) -> Read<()> {
    let (options, rule) = table_options(options)?;
    let of = |followed: &FollowedTable| followed.name == name.name.as_str();
    let followed = catalog.followed.clone().filter(of);
    let window = followed.as_ref().and_then(|followed| followed.window);
    let add = |catalog: &mut Catalog, table: &Table| {
        let come = table.first_row() + table.rows();
        let table = table.from_row(window.map_or(0, |window| window.first(come)));
        let table = table.with_rule(name.name, rule);
        catalog.add_table(name.name, Arc::new(table));
        catalog.note_options(name.name, options.clone());
        Ok(())
    };
    if let Some(mut table) = catalog.given_table(name.name) {
        if !options.vectors.is_empty() || !options.texts.is_empty() {
            let bound = bind_vectors(name.name.as_str(), &table, &options);
            let wrong = |error: DataError| vec![Diagnostic::error(name.span, error.to_string())];
            table = Arc::new(bound.map_err(wrong)?);
        }
        return add(catalog, &table);
    }
    let path = match (catalog.data.get(name.name.as_str()), path) {
        (Some(outside), _) => outside.clone(),
        (None, Some(path)) => folder.join(&path.name),
        (None, None) => {
            let message = format!("table `{}` has no file", name.name);
            let hint = format!("give one with --data {}=path.csv", name.name);
            return Err(vec![Diagnostic::error(name.span, message).hint(hint)]);
        }
    };
    let key = (path.clone(), format!("{options:?}"));
    if let Some(table) = catalog.read_before(&key) {
        return add(catalog, &table);
    }
    let progress = Progress::default();
    let reading = Reading { progress: &progress, stop: &catalog.interrupt };
    let mut read = None;
    let mut follower = None;
    let mut work = || {
        read = Some(match &followed {
            Some(FollowedTable { window, upto, .. }) => {
                let opened = Follower::open(&path, &options, *window, *upto, reading);
                opened.map(|(next, table)| {
                    follower = Some(next);
                    table
                })
            }
            None => read_table_with(&path, &options, reading).map_err(|error| error.to_string()),
        });
    };
    match &catalog.watcher {
        Some(watch) => watch(&format!("reading {}", path.display()), &progress, &mut work),
        None => work(),
    }
    let table = read.expect("a watcher does the work");
    let table = table.map_err(|error| vec![Diagnostic::error(name.span, error)])?;
    let table = Arc::new(table);
    if let (Some(followed), Some(follower)) = (&mut catalog.followed, follower) {
        followed.follower = Some(Arc::new(Mutex::new(follower)));
    }
    catalog.remember(key, &table);
    add(catalog, &table)
}

/// `(vector x "x*")`, `(vector x a b c)`, `(text a b)`, `(missing skip)` and `(missing infer)`.
fn table_options(options: &[Syntax]) -> Read<(TableOptions, MissingRule)> {
    let (mut found, mut rule) = (TableOptions::default(), MissingRule::Refuse);
    for option in options {
        let wrong = || {
            vec![Diagnostic::error(option.span, "this is no option of a table").hint(
                "(vector x \"x*\") or (vector x a b c) binds several columns as one vector; \
                 (text a b) reads columns of a CSV as text; (missing skip) and (missing infer) say \
                 what becomes of missing cells",
            )]
        };
        let SyntaxKind::List(items) = &option.kind else { return Err(wrong()) };
        let [head, columns @ ..] = items.as_slice() else { return Err(wrong()) };
        let SyntaxKind::Name(head) = &head.kind else { return Err(wrong()) };
        match (head.as_str(), columns) {
            ("vector", [name, columns @ ..]) if !columns.is_empty() => {
                let name = match &name.kind {
                    SyntaxKind::Name(name) => *name,
                    SyntaxKind::Text(name) => Symbol::new(name),
                    _ => return Err(wrong()),
                };
                let names = column_names(columns).ok_or_else(wrong)?;
                let columns = match names.as_slice() {
                    [pattern] if pattern.contains('*') => ColumnSelection::Glob(pattern.clone()),
                    _ => ColumnSelection::List(names),
                };
                found.vectors.push(VectorColumn { name, columns });
            }
            ("text", columns) if !columns.is_empty() => {
                found.texts.extend(column_names(columns).ok_or_else(wrong)?);
            }
            ("missing", [Syntax { kind: SyntaxKind::Name(word), .. }])
                if rule == MissingRule::Refuse && matches!(word.as_str(), "skip" | "infer") =>
            {
                rule = match word.as_str() {
                    "skip" => MissingRule::Skip,
                    _ => MissingRule::Infer,
                };
            }
            _ => return Err(wrong()),
        }
    }
    Ok((found, rule))
}

fn column_names(columns: &[Syntax]) -> Option<Vec<String>> {
    let name = |column: &Syntax| match &column.kind {
        SyntaxKind::Name(name) => Some(name.to_string()),
        SyntaxKind::Text(text) => Some(text.clone()),
        _ => None,
    };
    columns.iter().map(name).collect()
}
