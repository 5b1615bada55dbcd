//! A session: directives one after the other on one trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use smidgen_engine::Model;
use smidgen_lang::syntax::DirectiveKind;
use smidgen_lang::{Diagnostic, SourceMap};
use smidgen_value::{Rng, Value};

use crate::catalog::Catalog;
use crate::compile::{Compiler, mentioned_parameters};
use crate::execute::{Desk, Executor, Mode};
use crate::load::{Loader, TopDirective};
use crate::outcome::Outcome;

/// What a session takes from outside.
#[derive(Clone, Default)]
pub struct Settings {
    pub seed: u64,
    pub params: BTreeMap<String, Value>,
    pub data: BTreeMap<String, PathBuf>,
    /// Set it to stop the inference that is running.
    pub interrupt: Arc<AtomicBool>,
}

pub struct Session {
    pub(crate) sources: SourceMap,
    pub(crate) catalog: Catalog,
    pub(crate) interrupt: Arc<AtomicBool>,
    model: Model,
    rng: Rng,
    directives: usize,
}

impl Session {
    pub fn new(settings: Settings) -> Session {
        let catalog = Catalog::new(settings.params, settings.data);
        let mut model = Model::new();
        model.trace_mut().interrupt = settings.interrupt.clone();
        Session {
            sources: SourceMap::default(),
            catalog,
            interrupt: settings.interrupt,
            model,
            rng: Rng::for_chain(settings.seed, 0),
            directives: 0,
        }
    }

    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    pub fn sources_mut(&mut self) -> &mut SourceMap {
        &mut self.sources
    }

    pub fn model(&mut self) -> &mut Model {
        &mut self.model
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// All directives of a file, and of the files it loads.
    pub fn parse_file(&mut self, path: &Path) -> Result<Vec<TopDirective>, Vec<Diagnostic>> {
        Loader::new(&mut self.sources).file(path)
    }

    /// All directives of a text; relative paths start in the working directory.
    pub fn parse_text(
        &mut self,
        name: &str,
        text: &str,
    ) -> Result<Vec<TopDirective>, Vec<Diagnostic>> {
        let first = self.directives + 1;
        Loader::new(&mut self.sources).text(name, text, Path::new(""), first)
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
        let mut compiler = Compiler { catalog: &mut self.catalog, sources: &self.sources };
        let step = compiler.top_level(&top.directive, top.number, &top.folder)?;
        let Some(step) = step else { return Ok(Vec::new()) };
        let desk = Desk::new(
            &mut self.rng,
            &self.catalog,
            &self.sources,
            self.interrupt.clone(),
            Mode::Run,
        );
        let mut executor = Executor { model: &mut self.model, desk };
        executor.execute(&step).map_err(|diagnostic| vec![diagnostic])?;
        let outcomes = executor.desk.outcomes;
        if matches!(top.directive.kind, DirectiveKind::Clear) {
            self.catalog.clear();
        }
        Ok(outcomes)
    }
}
