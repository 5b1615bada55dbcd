//! A session: directives one after the other on one trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use smidgen_engine::Model;
use smidgen_io::{Follower, Window};
use smidgen_lang::parser::given::{self, GivenDirective};
use smidgen_lang::syntax::DirectiveKind;
use smidgen_lang::{Diagnostic, SourceMap};
use smidgen_value::{Rng, Symbol, Table, Value};

use crate::append::{self, Appended, Growth};
use crate::catalog::{Catalog, FollowedTable};
use crate::compile::{Compiler, Step, mentioned_parameters};
use crate::contents::Contents;
use crate::impute::observed_columns;
use crate::load::{Loader, TopDirective};
use crate::outcome::Outcome;
use crate::population::{Context, ParticlePopulation};
use crate::tables::Watcher;

/// What a session takes from outside.
#[derive(Clone, Default)]
pub struct Settings {
    pub seed: u64,
    pub params: BTreeMap<String, Value>,
    pub data: BTreeMap<String, PathBuf>,
    /// Set it to stop the inference that is running, or the reading of a table.
    pub interrupt: Arc<AtomicBool>,
    /// Shows how far the reading of a table is.
    pub watcher: Option<Watcher>,
}

pub struct Session {
    pub(crate) sources: SourceMap,
    pub(crate) catalog: Catalog,
    pub(crate) interrupt: Arc<AtomicBool>,
    stage: ParticlePopulation,
    directives: usize,
    /// What was executed, for rows that are appended to a table.
    executed: Vec<TopDirective>,
}

impl Session {
    pub fn new(settings: Settings) -> Session {
        let mut catalog = Catalog::new(settings.params, settings.data);
        catalog.interrupt = settings.interrupt.clone();
        catalog.watcher = settings.watcher;
        Session {
            sources: SourceMap::default(),
            catalog,
            stage: ParticlePopulation::new(Rng::for_chain(settings.seed, 0), &settings.interrupt),
            interrupt: settings.interrupt,
            directives: 0,
            executed: Vec::new(),
        }
    }

    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    pub fn sources_mut(&mut self) -> &mut SourceMap {
        &mut self.sources
    }

    /// The trace; after a `resample`, that of the first particle.
    pub fn model(&mut self) -> &mut Model {
        self.stage.front()
    }

    /// Gives programs a table of this name that was made elsewhere.
    pub fn add_table(&mut self, name: &str, table: Arc<Table>) {
        self.catalog.add_table(Symbol::new(name), table);
    }

    /// A table that `[table name ...]` takes instead of reading a file.
    pub fn give_table(&mut self, name: &str, table: Arc<Table>) {
        self.catalog.give_table(name, table);
    }

    /// The table of this name will be read from a file that goes on being written, see [`Session::follower`]. Only the rows of a
    /// window count, if there is one; at first it is read up to a position, if one is given.
    pub fn follow_table(&mut self, name: &str, window: Option<Window>, upto: Option<u64>) {
        let name = name.to_owned();
        self.catalog.followed = Some(FollowedTable { name, window, upto, follower: None });
    }

    /// Where the next rows of such a table come from, once it was read.
    pub fn follower(&self) -> Option<Arc<Mutex<Follower>>> {
        self.catalog.followed.as_ref()?.follower.clone()
    }

    /// How far it was read.
    pub fn position(&self) -> Option<u64> {
        let follower = self.follower()?;
        let follower = follower.lock().unwrap_or_else(PoisonError::into_inner);
        Some(follower.position())
    }

    /// A value for `{name}` in what comes next.
    pub fn give_parameter(&mut self, name: String, value: Value) {
        self.catalog.params.insert(name, value);
    }

    /// What the tables hold that programs have read or were given.
    pub fn contents(&self) -> Vec<Contents> {
        self.catalog.tables().map(|(name, table)| Contents::of(name, table)).collect()
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// All directives of a file, and of the files it loads.
    pub fn parse_file(&mut self, path: &Path) -> Result<Vec<TopDirective>, Vec<Diagnostic>> {
        let program = Loader::new(&mut self.sources).file(path)?;
        self.look_ahead(&program);
        Ok(program)
    }

    /// All directives of a text; relative paths start in the working directory.
    pub fn parse_text(
        &mut self,
        name: &str,
        text: &str,
    ) -> Result<Vec<TopDirective>, Vec<Diagnostic>> {
        self.parse_text_in(name, text, Path::new(""))
    }

    /// The same; relative paths start in a folder.
    pub fn parse_text_in(
        &mut self,
        name: &str,
        text: &str,
        folder: &Path,
    ) -> Result<Vec<TopDirective>, Vec<Diagnostic>> {
        let first = self.directives + 1;
        let program = Loader::new(&mut self.sources).text(name, text, folder, first)?;
        self.look_ahead(&program);
        Ok(program)
    }

    /// Notes the columns that a program observes: `[impute]` leaves that to it.
    fn look_ahead(&mut self, program: &[TopDirective]) {
        let mut observed = Vec::new();
        observed_columns(program.iter().map(|top| &top.directive), &[], &mut observed);
        observed.into_iter().for_each(|column| self.catalog.note_observed(column));
    }

    /// Directives that were not written in this language, see [`given`]; their places are in texts that
    /// [`Session::sources_mut`] has been given. Relative paths start in `folder`.
    pub fn take(
        &mut self,
        given: Vec<GivenDirective>,
        folder: &Path,
    ) -> Result<Vec<TopDirective>, Vec<Diagnostic>> {
        let parsed = given::directives(given, &self.sources);
        if !parsed.diagnostics.is_empty() {
            return Err(parsed.diagnostics);
        }
        let numbered = (self.directives + 1..).zip(parsed.directives);
        let folder = folder.to_path_buf();
        let top = |(number, directive)| TopDirective { number, directive, folder: folder.clone() };
        Ok(numbered.map(top).collect())
    }

    /// Parameters given from outside that a program never mentions: typos must not vanish.
    /// `also` are further names that are mentioned elsewhere (in a `--kernel`).
    pub fn unused_parameters(&self, program: &[TopDirective], also: &[String]) -> Vec<String> {
        let mentioned = mentioned_parameters(program.iter().map(|top| &top.directive));
        let is_used = |name: &str| {
            mentioned.iter().any(|m| m.as_str() == name) || also.iter().any(|a| a == name)
        };
        self.catalog.params.keys().filter(|name| !is_used(name)).cloned().collect()
    }

    /// Tables given from outside that a program never loads.
    pub fn unused_data(&self, program: &[TopDirective]) -> Vec<String> {
        let loads = |wanted: &String| {
            program.iter().any(|top| {
                matches!(&top.directive.kind, DirectiveKind::Table { name, .. } if name.name.as_str() == wanted)
            })
        };
        self.catalog.data.keys().filter(|name| !loads(name)).cloned().collect()
    }

    /// Executes one directive: whole or not at all.
    pub fn execute(&mut self, top: &TopDirective) -> Result<Vec<Outcome>, Vec<Diagnostic>> {
        self.directives = self.directives.max(top.number);
        let mut compiler = Compiler::new(&mut self.catalog, &self.sources);
        let step = compiler.top_level(&top.directive, top.number, &top.folder)?;
        let outcomes = match step {
            Some(step) => self.perform(step)?,
            None => Vec::new(),
        };
        if matches!(top.directive.kind, DirectiveKind::Clear) {
            self.catalog.clear();
            self.executed.clear();
        } else {
            self.executed.push(top.clone());
        }
        Ok(outcomes)
    }

    fn perform(&mut self, step: Step) -> Result<Vec<Outcome>, Vec<Diagnostic>> {
        let context =
            Context { catalog: &self.catalog, sources: &self.sources, interrupt: &self.interrupt };
        self.stage.execute(&Arc::new(step), &context).map_err(|diagnostic| vec![diagnostic])
    }

    /// Gives a table more rows: they come after those that it has, and the loops over the table observe them, as if
    /// each loop had gone on. Whole or not at all; what the program has made of the rows as a whole cannot grow, which
    /// is an error that points at it. O(new rows); nothing that was there is looked at.
    pub fn append(&mut self, table: &str, rows: &Table) -> Result<Appended, Vec<Diagnostic>> {
        let name = Symbol::new(table);
        let growth = append::plan(&self.catalog, &self.sources, &self.executed, name, rows)?;
        let Growth { part, step, catalog, loops } = growth;
        if let Some(step) = step {
            self.perform(step)?;
        }
        let appended = Appended { first: part.first_row(), rows: part.rows(), loops };
        self.catalog.grow(name, part, catalog);
        Ok(appended)
    }
}
