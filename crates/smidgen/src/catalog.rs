//! What a program takes from outside, and the constants it defines: external parameters, tables,
//! `[define]`d names. Shared by all chains; never part of a trace.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use smidgen_io::{Follower, TableOptions, Window};
use smidgen_lang::core::Expr;
use smidgen_lang::lower;
use smidgen_prob::registry;
use smidgen_value::{Symbol, Table, Value};

use crate::tables::Watcher;

/// A table, and what was appended to it.
#[derive(Clone)]
struct Grown {
    parts: Vec<Arc<Table>>,
    /// All rows as one, for who asks for them.
    whole: OnceLock<Arc<Table>>,
    /// How it was read: appended rows are read so too.
    options: TableOptions,
}

impl Grown {
    fn whole(&self) -> &Arc<Table> {
        match self.parts.as_slice() {
            [only] => only,
            parts => self.whole.get_or_init(|| Arc::new(Table::joined(parts))),
        }
    }
}

/// A table whose file goes on being written.
#[derive(Clone)]
pub(crate) struct FollowedTable {
    pub name: String,
    /// So many of its last rows count.
    pub window: Option<Window>,
    /// How far it is read at first, if not as far as it has come.
    pub upto: Option<u64>,
    /// Where its next rows come from, once it was read.
    pub follower: Option<Arc<Mutex<Follower>>>,
}

#[derive(Clone, Default)]
pub struct Catalog {
    /// `--param name=value`
    pub params: BTreeMap<String, Value>,
    /// `--data name=path`
    pub data: BTreeMap<String, PathBuf>,
    /// Set it to stop the reading of a table.
    pub interrupt: Arc<AtomicBool>,
    /// Shows how far the reading of a table is.
    pub watcher: Option<Watcher>,
    /// Tables that a front end has made: they take the place of those that the program would read.
    given: BTreeMap<String, Arc<Table>>,
    /// The table whose file goes on being written.
    pub(crate) followed: Option<FollowedTable>,
    tables: BTreeMap<String, Grown>,
    /// Where several runs are to see the same data: files that were read, with their options.
    files: Option<BTreeMap<(PathBuf, String), Arc<Table>>>,
    constants: BTreeMap<String, Value>,
    assumed: Vec<Symbol>,
    /// Columns, as `table.column`, whose cells something observes one by one.
    observed: Vec<Symbol>,
    /// Those that an `[impute]` observes.
    observed_by_law: Vec<Symbol>,
    /// What there is to be said about the data.
    notes: Vec<String>,
    /// The scopes that the program writes, and whether it may make others.
    scopes: Vec<Value>,
    computes_scopes: bool,
    /// Number of procedures lowered so far, and of definitions.
    procedures: u64,
    definitions: u64,
}

impl Catalog {
    pub fn new(params: BTreeMap<String, Value>, data: BTreeMap<String, PathBuf>) -> Catalog {
        Catalog { params, data, ..Catalog::default() }
    }

    pub fn add_table(&mut self, name: Symbol, table: Arc<Table>) {
        let (parts, whole, options) = (vec![table], OnceLock::new(), TableOptions::default());
        self.tables.insert(name.to_string(), Grown { parts, whole, options });
    }

    /// How a table was read.
    pub fn note_options(&mut self, name: Symbol, options: TableOptions) {
        if let Some(grown) = self.tables.get_mut(name.as_str()) {
            grown.options = options;
        }
    }

    pub(crate) fn options(&self, name: Symbol) -> Option<&TableOptions> {
        self.tables.get(name.as_str()).map(|grown| &grown.options)
    }

    /// The last rows that a table has got, or all if nothing was appended to it.
    pub(crate) fn last_part(&self, name: Symbol) -> Option<&Arc<Table>> {
        self.tables.get(name.as_str()).and_then(|grown| grown.parts.last())
    }

    /// The same, in which a table has these rows alone.
    pub(crate) fn with_part(&self, name: Symbol, part: &Arc<Table>) -> Catalog {
        let mut catalog = self.clone();
        catalog.add_table(name, part.clone());
        catalog
    }

    /// The rows of a table in one piece, however they came.
    pub(crate) fn unite(&mut self, name: Symbol) {
        if let Some(grown) = self.tables.get_mut(name.as_str()) {
            grown.parts = vec![grown.whole().clone()];
            grown.whole = OnceLock::new();
        }
    }

    /// A table has these rows, and no others before.
    pub(crate) fn replace(&mut self, name: Symbol, rows: Table) {
        if let Some(grown) = self.tables.get_mut(name.as_str()) {
            (grown.parts, grown.whole) = (vec![Arc::new(rows)], OnceLock::new());
        }
    }

    /// Rows of a table before this number leave, the others are in one piece.
    pub(crate) fn leave(&mut self, name: Symbol, first: usize) {
        if let Some(grown) = self.tables.get_mut(name.as_str()) {
            // Rows may have come and gone between those that stay and those before.
            grown.parts.retain(|part| part.first_row() + part.rows() > first);
            grown.whole = OnceLock::new();
            grown.parts = vec![Arc::new(Table::joined(&grown.parts).from_row(first))];
        }
    }

    /// Takes over what the text of appended rows has brought, and the rows.
    pub(crate) fn grow(&mut self, name: Symbol, part: Arc<Table>, with_part: Catalog) {
        let tables = std::mem::take(&mut self.tables);
        *self = Catalog { tables, ..with_part };
        if let Some(grown) = self.tables.get_mut(name.as_str()) {
            grown.parts.push(part);
            grown.whole = OnceLock::new();
        }
    }

    /// The table of this name, instead of a file.
    pub fn give_table(&mut self, name: &str, table: Arc<Table>) {
        self.given.insert(name.to_owned(), table);
    }

    pub fn given_table(&self, name: Symbol) -> Option<Arc<Table>> {
        self.given.get(name.as_str()).cloned()
    }

    /// From now on a file is read once, whatever happens to it and to the program.
    pub fn keep_files(&mut self) {
        self.files.get_or_insert_default();
    }

    pub fn read_before(&self, file: &(PathBuf, String)) -> Option<Arc<Table>> {
        self.files.as_ref()?.get(file).cloned()
    }

    pub fn remember(&mut self, file: (PathBuf, String), table: &Arc<Table>) {
        if let Some(files) = &mut self.files {
            files.insert(file, table.clone());
        }
    }

    /// The tables by name.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&str, &Table)> {
        self.tables.iter().map(|(name, grown)| (name.as_str(), &**grown.whole()))
    }

    /// What has happened to the files in which tables still lie.
    pub fn troubles(&self) -> Vec<String> {
        let mut troubles: Vec<String> = self
            .tables
            .values()
            .flat_map(|grown| &grown.parts)
            .filter_map(|t| t.trouble())
            .collect();
        troubles.dedup();
        troubles
    }

    /// Remembers that something observes the cells of a column `table.column`.
    pub fn note_observed(&mut self, column: Symbol) {
        if !self.observed.contains(&column) {
            self.observed.push(column);
        }
    }

    /// Likewise, that an `[impute]` does.
    pub fn note_observed_by_law(&mut self, column: Symbol) {
        self.observed_by_law.push(column);
    }

    pub fn is_observed_by_law(&self, column: Symbol) -> bool {
        self.observed_by_law.contains(&column)
    }

    pub fn is_observed(&self, column: Symbol) -> bool {
        self.observed.contains(&column)
    }

    /// Remembers what a user should know about the data.
    pub fn remark(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// What a user should know about the data, in the order of the program.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub fn define(&mut self, name: Symbol, value: Value) {
        self.constants.insert(name.to_string(), value);
    }

    pub fn is_defined(&self, name: Symbol) -> bool {
        self.constants.contains_key(name.as_str()) || self.tables.contains_key(name.as_str())
    }

    /// Remembers a name for suggestions.
    pub fn note_assumed(&mut self, name: Symbol) {
        if !self.assumed.contains(&name) {
            self.assumed.push(name);
        }
    }

    pub fn is_assumed(&self, name: Symbol) -> bool {
        self.assumed.contains(&name)
    }

    /// Remembers what a lowered expression has: its procedures, so that those of the next text have other numbers,
    /// and its scopes.
    pub fn note(&mut self, expr: &Expr) {
        self.procedures += lower::procedures(expr);
        self.computes_scopes |= !lower::written_scopes(expr, &mut self.scopes);
    }

    /// All scopes that can exist; None if that is not known.
    pub fn scopes(&self) -> Option<&[Value]> {
        (!self.computes_scopes).then_some(&self.scopes)
    }

    /// The number of the next definition.
    pub fn next_definition(&mut self) -> u64 {
        self.definitions += 1;
        self.definitions
    }

    /// Forgets what the program said; keeps what came from outside.
    pub fn clear(&mut self) {
        self.tables.clear();
        self.constants.clear();
        self.assumed.clear();
        self.observed.clear();
        self.observed_by_law.clear();
        self.scopes.clear();
        self.computes_scopes = false;
    }
}

impl lower::Catalog for Catalog {
    fn parameter(&self, name: Symbol) -> Option<Value> {
        self.params.get(name.as_str()).cloned()
    }

    fn constant(&self, name: Symbol) -> Option<Value> {
        self.constants.get(name.as_str()).cloned()
    }

    fn table(&self, name: Symbol) -> Option<Arc<Table>> {
        self.tables.get(name.as_str()).map(|grown| grown.whole().clone())
    }

    fn first_procedure(&self) -> u64 {
        self.procedures
    }

    fn known_names(&self) -> Vec<String> {
        let own = self.assumed.iter().map(Symbol::to_string);
        let tables = self.tables.keys().cloned();
        own.chain(tables).chain(registry::names().into_iter().map(str::to_owned)).collect()
    }
}
