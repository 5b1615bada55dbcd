//! A program run again with the states of its draws: what predictions and log likelihoods are made from.
//!
//! States come from a run that kept them or, where all free choices were recorded under their names, from the draws
//! themselves ([`from_draws`]).

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use smidgen_draws::states::{ChainStates, States, StepMark};
use smidgen_draws::{Draws, Run};
use smidgen_engine::environment::Environment;
use smidgen_engine::model::Code;
use smidgen_engine::{EvalError, Model};
use smidgen_lang::core::ExprRef;
use smidgen_lang::{Diagnostic, SourceMap};
use smidgen_value::{Rng, State, Value};

use crate::catalog::Catalog;
use crate::compile::{Compiler, Observations, OnlyRows, Step};
use crate::execute::{ExecutionContext, Executor, Mode};
use crate::load::TopDirective;
use crate::noted::Noted;
use crate::population::Predicted;
use crate::sampling::{SampleError, unused_parameters};
use crate::session::Session;
use crate::steps::run_steps;

/// A program ready to be run again.
pub struct Replay<'a> {
    pub steps: Vec<Arc<Step>>,
    pub catalog: &'a Catalog,
    pub sources: &'a SourceMap,
    pub interrupt: Arc<AtomicBool>,
}

/// A model in a state, with what was predicted and observed on the way.
pub struct Replayed {
    pub model: Model,
    pub predicted: Predicted,
    pub noted: Noted,
    pub marks: Vec<StepMark>,
}

/// The steps of a program. Parameters that it does not mention are errors.
pub(crate) fn compile(
    session: &mut Session,
    program: &[TopDirective],
    observations: Observations,
    only: &OnlyRows,
) -> Result<Vec<Arc<Step>>, SampleError> {
    let unused = session.unused_parameters(program, &[]);
    if !unused.is_empty() {
        return Err(unused_parameters(&unused).into());
    }
    let mut compiler = Compiler::new(&mut session.catalog, &session.sources);
    compiler.observations = observations;
    compiler.only.clone_from(only);
    let mut steps = Vec::new();
    for top in program {
        let step = compiler.top_level(&top.directive, top.number, &top.folder);
        steps.extend(step.map_err(SampleError)?.map(Arc::new));
    }
    Ok(steps)
}

impl Replay<'_> {
    /// Runs the directives with the values of a state; what it lacks is drawn.
    pub fn run(
        &self,
        state: &State,
        marks: Option<&[StepMark]>,
        rng: &mut Rng,
    ) -> Result<Replayed, Diagnostic> {
        self.run_noting(state, marks, Noted::default(), rng)
    }

    /// The same, with a say in what is noted.
    pub(crate) fn run_noting(
        &self,
        state: &State,
        marks: Option<&[StepMark]>,
        noted: Noted,
        rng: &mut Rng,
    ) -> Result<Replayed, Diagnostic> {
        let mut model = Model::new();
        model.trace_mut().interrupt = self.interrupt.clone();
        model.give(state);
        let interrupt = self.interrupt.clone();
        let mut desk =
            ExecutionContext::new(rng, self.catalog, self.sources, interrupt, Mode::Sample);
        (desk.replays, desk.noted) = (true, Some(noted));
        let mut executor = Executor { model: &mut model, desk };
        let marks = run_steps(&mut executor, &self.steps, marks)?;
        let ExecutionContext { predicted, noted, .. } = executor.desk;
        model.give_no_more();
        Ok(Replayed { model, predicted, noted: noted.unwrap_or_default(), marks })
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}

/// A program that is run again with states, one after the other.
pub struct Restorer<'a> {
    replay: Replay<'a>,
    rng: Rng,
}

impl<'a> Restorer<'a> {
    pub fn new(
        session: &'a mut Session,
        program: &[TopDirective],
    ) -> Result<Restorer<'a>, SampleError> {
        let steps = compile(session, program, Observations::Constrain, &Vec::new())?;
        let (catalog, sources) = (&session.catalog, &session.sources);
        let replay = Replay { steps, catalog, sources, interrupt: session.interrupt.clone() };
        Ok(Restorer { replay, rng: Rng::from_seed(0) })
    }

    /// The model in a state, its observations constrained.
    pub fn run(&mut self, state: &State, marks: Option<&[StepMark]>) -> Result<Model, Diagnostic> {
        self.replay.run(state, marks, &mut self.rng).map(|replayed| replayed.model)
    }
}

/// Calls `work` for each of `n` chains, on so many threads; the results in order. Stops at the first mistake.
pub(crate) fn each_chain<T: Send>(
    n: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<T, Diagnostic> + Sync,
) -> Result<Vec<T>, SampleError> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<T, Diagnostic>>>> =
        Mutex::new((0..n).map(|_| None).collect());
    let run = || loop {
        let k = next.fetch_add(1, Ordering::Relaxed);
        if k >= n {
            return;
        }
        let result = work(k);
        if result.is_err() {
            next.store(n, Ordering::Relaxed);
        }
        results.lock().expect("no thread panics while it holds the results")[k] = Some(result);
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, n.max(1)) {
            scope.spawn(run);
        }
        run();
    });
    let results = results.into_inner().expect("no thread panics while it holds the results");
    Ok(results.into_iter().flatten().collect::<Result<Vec<T>, Diagnostic>>()?)
}

/// The draws of each chain whose states are used if `most` are wanted.
pub fn places(states: &States, most: Option<usize>) -> Vec<Vec<usize>> {
    let chains = spread(states, most).into_iter();
    chains.map(|chain| chain.into_iter().map(|(draw, _)| draw).collect()).collect()
}

/// At most `most` states, spread evenly over each chain, with the number of the draw that each belongs to.
pub(crate) fn spread(states: &States, most: Option<usize>) -> Vec<Vec<(usize, State)>> {
    let each = |chain: &ChainStates| {
        let n = chain.states.len();
        let room =
            most.map_or(n, |most| most.div_ceil(states.chains.len().max(1))).clamp(1, n.max(1));
        let place = |k: usize| k * n / room;
        let states = (0..room.min(n)).map(place);
        states.map(|k| (k * chain.every.max(1), chain.states[k].clone())).collect()
    };
    states.chains.iter().map(each).collect()
}

/// The states of draws in which every free choice of the program was recorded, by a `predict` or under a name that is an
/// expression of the program; otherwise why not.
pub fn from_draws(
    session: &mut Session,
    program: &[TopDirective],
    run: &Run,
) -> Result<States, SampleError> {
    let steps = compile(session, program, Observations::Predict, &Vec::new())?;
    let mut named: Vec<(String, ExprRef)> = Vec::new();
    for name in recorded_names(&run.draws) {
        // A label is no expression.
        if let Ok(expr) = session.lower_option("draws", &name) {
            named.push((name, expr));
        }
    }
    let (catalog, sources) = (&session.catalog, &session.sources);
    let replay = Replay { steps, catalog, sources, interrupt: session.interrupt.clone() };
    let mut rng = Rng::for_chain(run.seed, 0);
    let Replayed { mut model, marks, predicted, noted } =
        replay.run(&State::default(), None, &mut rng)?;
    let mut columns: Vec<(u64, String)> = Vec::new();
    // What was observed need not be known.
    let mut spare: Vec<u64> = Vec::new();
    for (name, number, root) in predicted {
        let Some(address) = model.choice_address(&root) else { continue };
        if noted.observations.iter().any(|observation| observation.number == number) {
            spare.push(address);
            continue;
        }
        if run.draws.get(&name).is_some() {
            columns.push((address, name));
        }
    }
    for (name, expr) in named {
        let code = Code { expr: &expr, environment: &Environment::default() };
        if let Some(address) = model.address_of(code, &mut rng) {
            columns.push((address, name));
        }
    }
    let needed = model.state(None).map_err(|reason| Diagnostic::error(None, reason))?;
    let is_known = |a: u64| spare.contains(&a) || columns.iter().any(|(b, _)| *b == a);
    if let Some(address) = needed.addresses().iter().find(|a| !is_known(**a)) {
        return Err(lacking(&model, *address).into());
    }
    columns.sort();
    columns.dedup_by_key(|(address, _)| *address);
    let mut chains = Vec::new();
    for k in 0..run.chains {
        let column = |name: &String| recorded_values(&run.draws, name, k);
        let columns: Vec<(u64, Vec<Value>)> =
            columns.iter().map(|(address, name)| (*address, column(name))).collect();
        let n = columns.iter().map(|(_, values)| values.len()).min().unwrap_or(0);
        let state =
            |d: usize| State::new(columns.iter().map(|(a, v)| (*a, v[d].clone())).collect());
        let states = (0..n).filter_map(state).collect();
        chains.push(ChainStates { every: 1, states });
    }
    let fingerprint = run.fingerprint();
    Ok(States { steps: marks, chains, last: Vec::new(), is_recorded: true, fingerprint })
}

/// Names of quantities, and of vectors of which a table has the entries.
fn recorded_names(draws: &Draws) -> Vec<String> {
    let mut names: Vec<String> = draws.quantities().iter().map(|q| q.name.clone()).collect();
    let vectors: Vec<String> = names
        .iter()
        .filter_map(|name| name.strip_suffix("[0]").or(name.strip_suffix("[0,0]")))
        .map(str::to_owned)
        .collect();
    names.extend(vectors);
    names
}

/// What a chain recorded under a name, entries of vectors put together again.
fn recorded_values(draws: &Draws, name: &str, chain: usize) -> Vec<Value> {
    let of = |name: &str| draws.get(name).and_then(|q| q.chains.get(chain)).cloned();
    if let Some(values) = of(name) {
        return values;
    }
    let mut entries: Vec<Vec<Value>> = Vec::new();
    while let Some(values) = of(&format!("{name}[{}]", entries.len())) {
        entries.push(values);
    }
    let n = entries.iter().map(Vec::len).min().unwrap_or(0);
    let number = |value: &Value| value.as_number().unwrap_or(f64::NAN);
    let at = |d: usize| Value::vector(entries.iter().map(|e| number(&e[d])).collect::<Vec<f64>>());
    (0..n).map(at).collect()
}

fn lacking(model: &Model, address: u64) -> Diagnostic {
    let place = model.origin_of(address);
    let message = "the draws do not have the value of every random choice";
    let diagnostic = match place {
        Some((name, span)) => {
            Diagnostic::error(span, format!("{message}: that of this {name} was not recorded"))
        }
        None => Diagnostic::error(None, message),
    };
    diagnostic.hint("sample again with --out FILE, which keeps the states of the program beside the draws (FILE.states)")
}

/// An error of the engine as one of a command.
pub(crate) fn diagnosed(error: EvalError) -> Diagnostic {
    error.into_diagnostic()
}
