//! What a chain stands on, and its model there.

use std::sync::Arc;

use smidgen_draws::states::StepMark;
use smidgen_engine::environment::Environment;
use smidgen_engine::operand::Operand;
use smidgen_engine::{EvalError, Model};
use smidgen_infer::Program;
use smidgen_lang::Diagnostic;
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::Scope;
use smidgen_value::{Rng, State, Value};

use super::watch::Watch;
use super::{Plan, REBUILDING};
use crate::catalog::Catalog;
use crate::compile::{Bounds, Step, StepKind};
use crate::execute::{ExecutionContext, Executor, Mode, may_wait};
use crate::simulated::Simulated;
use crate::steps::run_steps;

/// Directives, and loops over rows that were appended since.
#[derive(Clone, Copy)]
pub(super) struct Ground<'g> {
    pub steps: &'g [Arc<Step>],
    pub parts: &'g [Arc<Step>],
    pub catalog: &'g Catalog,
}

impl Ground<'_> {
    fn all(&self) -> Vec<Arc<Step>> {
        self.steps.iter().chain(self.parts).cloned().collect()
    }

    /// Rows that the loops go over.
    pub fn rows(&self) -> usize {
        let appended = self.parts.iter().filter_map(|part| match &part.kind {
            StepKind::Together(loops) => Some(loops),
            _ => None,
        });
        self.steps.iter().chain(appended.flatten()).map(rows_of).sum()
    }
}

fn rows_of(step: &Arc<Step>) -> usize {
    match &step.kind {
        StepKind::For { bounds: Bounds::Rows(table), body, .. } => table.rows() * body.len().max(1),
        StepKind::For { body, .. } => body.iter().map(rows_of).sum(),
        _ => 0,
    }
}

/// A model whose directives have run, what moves it and what is recorded of it.
pub(super) struct Stand {
    pub model: Model,
    pub program: Program,
    pub watch: Vec<Watch>,
    pub marks: Vec<StepMark>,
}

impl Stand {
    pub fn names(&self) -> Vec<&str> {
        self.watch.iter().map(Watch::name).collect()
    }
}

impl Plan<'_> {
    pub fn ground(&self) -> Ground<'_> {
        Ground { steps: &self.steps, parts: &[], catalog: self.catalog }
    }

    /// The program run anew with the choices of a chain that is under way.
    pub fn restand(
        &self,
        ground: Ground<'_>,
        k: usize,
        state: &State,
        marks: &[StepMark],
    ) -> Result<Stand, Diagnostic> {
        self.stand(ground, k, Some((state, marks)), &mut self.rebuilding(k))
    }

    /// The stream of choices that a state does not have.
    pub fn rebuilding(&self, k: usize) -> Rng {
        Rng::for_chain(self.request.seed, REBUILDING + k as u64)
    }

    /// The directives run on an empty trace, with the choices of a former state if there is one.
    pub fn stand(
        &self,
        ground: Ground<'_>,
        k: usize,
        former: Option<(&State, &[StepMark])>,
        rng: &mut Rng,
    ) -> Result<Stand, Diagnostic> {
        let mut model = Model::new();
        model.trace_mut().interrupt = self.interrupt.clone();
        model.trace_mut().set_threads(self.request.threads / self.request.chains.max(1));
        let (sources, interrupt) = (self.sources, self.interrupt.clone());
        let desk = ExecutionContext::new(rng, ground.catalog, sources, interrupt, Mode::Sample);
        let mut executor = Executor { model: &mut model, desk };
        let steps = ground.all();
        executor.desk.may_wait = may_wait(steps.iter().map(|step| &**step));
        executor.desk.simulated = self.data.clone().map(Simulated::new);
        if let Some((state, _)) = former {
            executor.model.give(state);
        }
        let marks = run_steps(&mut executor, &steps, former.map(|(_, marks)| marks))?;
        executor.model.give_no_more();
        if former.is_none() {
            let forced = self.start.force(k, executor.model, executor.desk.rng);
            forced.map_err(EvalError::into_diagnostic)?;
        }
        let program = match ground.parts {
            [] => self.read_program(&mut executor)?,
            _ => self.read_again(&mut executor)?,
        };
        let ExecutionContext { predicted, waiting, .. } = executor.desk;
        let watch =
            self.watch(&mut model, predicted, &waiting).map_err(EvalError::into_diagnostic)?;
        Ok(Stand { model, program, watch, marks })
    }

    /// The same once more, when rows have come.
    pub fn read_again(&self, executor: &mut Executor<'_>) -> Result<Program, Diagnostic> {
        executor.desk.programs.clear();
        for step in &self.steps {
            if let StepKind::Infer { .. } = step.kind {
                executor.execute(step)?;
            }
        }
        self.read_program(executor)
    }

    /// What is to move a model, once its directives have run.
    fn read_program(&self, executor: &mut Executor<'_>) -> Result<Program, Diagnostic> {
        Ok(match &self.kernel {
            Some(kernel) => {
                executor.read_program(kernel, &Scope::global(), &Environment::default())?
            }
            None if executor.desk.programs.is_empty() => Program::default_sweeps(1),
            None => Program::sequence(std::mem::take(&mut executor.desk.programs)),
        })
    }

    /// What is recorded after each draw.
    pub fn watch(
        &self,
        model: &mut Model,
        predicted: Vec<(String, u64, Operand)>,
        waiting: &[(u64, ExprRef)],
    ) -> Result<Vec<Watch>, EvalError> {
        let mut watch: Vec<Watch> = predicted
            .into_iter()
            .filter(|(_, number, _)| model.has_record(*number))
            .map(|(name, number, root)| {
                match waiting.binary_search_by_key(&number, |(waiting, _)| *waiting) {
                    Ok(k) => Watch::Expression(name, waiting[k].1.clone()),
                    Err(_) => Watch::Operand(name, root),
                }
            })
            .collect();
        watch.extend(
            self.record.iter().map(|(name, expr)| Watch::Expression(name.clone(), expr.clone())),
        );
        if watch.is_empty() {
            for (name, root) in model.assumed_changeable() {
                let value = model.operand_value(&root)?;
                if value.as_number().is_some() || matches!(value, Value::Vector(_)) {
                    watch.push(Watch::Operand(name.to_string(), root));
                }
            }
        }
        Ok(watch)
    }
}
