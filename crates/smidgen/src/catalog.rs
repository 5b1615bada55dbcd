//! What a program takes from outside, and the constants it defines: external parameters, tables,
//! `[define]`d names. Shared by all chains; never part of a trace.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use smidgen_lang::lower;
use smidgen_prob::registry;
use smidgen_value::{Symbol, Table, Value};

#[derive(Clone, Default)]
pub struct Catalog {
    /// `--param name=value`
    pub params: BTreeMap<String, Value>,
    /// `--data name=path`
    pub data: BTreeMap<String, PathBuf>,
    tables: BTreeMap<String, Arc<Table>>,
    constants: BTreeMap<String, Value>,
    assumed: Vec<Symbol>,
}

impl Catalog {
    pub fn new(params: BTreeMap<String, Value>, data: BTreeMap<String, PathBuf>) -> Catalog {
        Catalog { params, data, ..Catalog::default() }
    }

    pub fn add_table(&mut self, name: Symbol, table: Table) {
        self.tables.insert(name.to_string(), Arc::new(table));
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

    /// Forgets what the program said; keeps what came from outside.
    pub fn clear(&mut self) {
        self.tables.clear();
        self.constants.clear();
        self.assumed.clear();
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
        self.tables.get(name.as_str()).cloned()
    }

    fn known_names(&self) -> Vec<String> {
        let own = self.assumed.iter().map(Symbol::to_string);
        let tables = self.tables.keys().cloned();
        own.chain(tables).chain(registry::names().into_iter().map(str::to_owned)).collect()
    }
}
