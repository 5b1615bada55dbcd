//! Exact answers for programs whose choices are finite.
//!
//! All runs of the directives are gone through. A run ends in a state x of the free choices with the weight
//! p(x, y), the joint density of all choices; a state that several runs come to (a choice that was made and then
//! observed) counts once. The evidence is Σ_x p(x, y), and what is recorded has probability p(x, y) / Σ at its value.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use smidgen_engine::Model;
use smidgen_engine::model::Exploration;
use smidgen_io::Progress;
use smidgen_lang::Diagnostic;
use smidgen_lang::core::ExprRef;
use smidgen_value::{Rng, Value, math};

use crate::compile::{Observations, Step};
use crate::execute::{ExecutionContext, Executor, Mode};
use crate::load::TopDirective;
use crate::replay::{compile, diagnosed};
use crate::sampling::SampleError;
use crate::sampling::watch::Watch;
use crate::session::Session;

#[derive(Clone, Debug)]
pub struct EnumerateRequest {
    /// Further expressions; they must not be random.
    pub record: Vec<String>,
    /// Runs that are gone through at most.
    pub most: usize,
}

/// The law of one recorded quantity.
#[derive(Clone, Debug)]
pub struct Marginal {
    pub name: String,
    /// Values with their probabilities, in their order.
    pub values: Vec<(Value, f64)>,
}

impl Marginal {
    /// Mean and standard deviation, if it is a number.
    pub fn moments(&self) -> Option<(f64, f64)> {
        let numbers: Option<Vec<(f64, f64)>> =
            self.values.iter().map(|(x, p)| Some((x.as_number()?, *p))).collect();
        let numbers = numbers?;
        let mean: f64 = numbers.iter().map(|(x, p)| x * p).sum();
        let variance: f64 = numbers.iter().map(|(x, p)| (x - mean) * (x - mean) * p).sum();
        Some((mean, math::sqrt(variance)))
    }
}

#[derive(Clone, Debug)]
pub struct Enumerated {
    pub marginals: Vec<Marginal>,
    /// log Σ_x p(x, y)
    pub log_evidence: f64,
    /// States of positive probability, and runs that were gone through.
    pub states: usize,
    pub runs: usize,
}

/// Values of a quantity that are shown.
const SHOWN: usize = 20;

impl fmt::Display for Enumerated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for marginal in &self.marginals {
            let Marginal { name, values } = marginal;
            write!(f, "{name}")?;
            if let Some((mean, sd)) = marginal.moments() {
                write!(f, "  mean {mean:.10}  sd {sd:.10}")?;
            }
            writeln!(f)?;
            let width = values.iter().take(SHOWN).map(|(v, _)| v.to_string().chars().count()).max();
            let width = width.unwrap_or(0);
            for (value, p) in values.iter().take(SHOWN) {
                writeln!(f, "  {:>width$}  {p:.10}", value.to_string())?;
            }
            if values.len() > SHOWN {
                writeln!(f, "  ... and {} more values", values.len() - SHOWN)?;
            }
        }
        let Enumerated { log_evidence, states, runs, .. } = self;
        let plural =
            |n: &usize, what: &str| format!("{n} {what}{}", if *n == 1 { "" } else { "s" });
        writeln!(f, "log evidence {log_evidence:.10}")?;
        let (states, runs) = (plural(states, "state"), plural(runs, "run"));
        writeln!(f, "{states} of positive probability, {runs} of the program")
    }
}

/// The answers, or why there are none.
pub fn enumerate(
    session: &mut Session,
    program: &[TopDirective],
    request: &EnumerateRequest,
    progress: &Progress,
) -> Result<Enumerated, SampleError> {
    let steps = compile(session, program, Observations::Constrain, &Vec::new())?;
    let mut record = Vec::new();
    for text in &request.record {
        record.push((text.clone(), session.lower_option("--record", text)?));
    }
    let mut gone = Gone::default();
    let mut exploration = Some(Exploration::default());
    while let Some(path) = exploration.take() {
        if session.interrupt.load(Ordering::Relaxed) {
            return Err(Diagnostic::error(None, "interrupted").into());
        }
        if gone.runs == request.most {
            let message = format!("there are more than {} runs of this program", request.most);
            let hint = "raise the limit (--most N), make the program smaller, or sample it";
            return Err(Diagnostic::error(None, message).hint(hint).into());
        }
        exploration = run(session, &steps, &record, path, &mut gone)?;
        gone.runs += 1;
        progress.done.fetch_add(1, Ordering::Relaxed);
    }
    gone.finish()
}

#[derive(Default)]
struct Gone {
    runs: usize,
    /// Hashes of the states, so that each counts once.
    seen: HashSet<Vec<(u64, Value)>>,
    names: Vec<String>,
    /// Per state: its log weight and what is recorded.
    found: Vec<(f64, Vec<Value>)>,
}

/// One run; the path of the next.
fn run(
    session: &Session,
    steps: &[Arc<Step>],
    record: &[(String, ExprRef)],
    path: Exploration,
    gone: &mut Gone,
) -> Result<Option<Exploration>, SampleError> {
    let mut rng = Rng::unused();
    let mut model = Model::new();
    model.trace_mut().interrupt = session.interrupt.clone();
    model.explore(path);
    let (catalog, sources) = (&session.catalog, &session.sources);
    let interrupt = session.interrupt.clone();
    let mut desk = ExecutionContext::new(&mut rng, catalog, sources, interrupt, Mode::Sample);
    desk.replays = true;
    let mut executor = Executor { model: &mut model, desk };
    let executed = steps.iter().try_for_each(|step| executor.execute(step));
    let predicted = std::mem::take(&mut executor.desk.predicted);
    let next = model.explored();
    if let Err(error) = executed {
        // A parameter outside its domain: such values are outside of the prior.
        return if model.is_broken() { Ok(next) } else { Err(error.into()) };
    }
    let log_p = model.log_joint().map_err(diagnosed)?;
    let state = model.state(None).map_err(|reason| Diagnostic::error(None, reason))?;
    let key = state.addresses().iter().copied().zip(state.values().iter().cloned()).collect();
    if log_p == f64::NEG_INFINITY || !gone.seen.insert(key) {
        return Ok(next);
    }
    let mut watch: Vec<Watch> = predicted
        .into_iter()
        .filter(|(_, number, _)| model.has_record(*number))
        .map(|(name, _, root)| Watch::Operand(name, root))
        .collect();
    watch.extend(record.iter().map(|(name, expr)| Watch::Expression(name.clone(), expr.clone())));
    if watch.is_empty() {
        let assumed = model.assumed_changeable().into_iter();
        watch.extend(assumed.map(|(name, root)| Watch::Operand(name.to_string(), root)));
    }
    if gone.names.is_empty() {
        gone.names = watch.iter().map(|watched| watched.name().to_owned()).collect();
    }
    let mut values = Vec::new();
    Watch::values(&watch, &mut model, &mut rng, &mut values).map_err(diagnosed)?;
    if rng.was_used() {
        let message = "what is recorded draws something of its own, which is not gone through";
        return Err(Diagnostic::error(None, message).hint("predict it in the program").into());
    }
    gone.found.push((log_p, values));
    Ok(next)
}

impl Gone {
    fn finish(self) -> Result<Enumerated, SampleError> {
        let weights: Vec<f64> = self.found.iter().map(|(log_p, _)| *log_p).collect();
        let log_evidence = math::logsumexp(&weights);
        if self.found.is_empty() || log_evidence == f64::NEG_INFINITY {
            let message = "the observations are impossible: no values of the random choices give them a density";
            return Err(Diagnostic::error(None, message).into());
        }
        let mut marginals = Vec::new();
        for (k, name) in self.names.iter().enumerate() {
            let mut values: Vec<(Value, f64)> = Vec::new();
            let mut all: Vec<(&Value, f64)> = (self.found.iter())
                .filter_map(|(log_p, of)| Some((of.get(k)?, math::exp(log_p - log_evidence))))
                .collect();
            all.sort_by(|a, b| a.0.cmp(b.0));
            for (value, p) in all {
                match values.last_mut().filter(|(last, _)| last == value) {
                    Some((_, sum)) => *sum += p,
                    None => values.push((value.clone(), p)),
                }
            }
            let is_procedure = values.iter().any(|(value, _)| value.as_procedure().is_some());
            if !is_procedure {
                marginals.push(Marginal { name: name.clone(), values });
            }
        }
        let (states, runs) = (self.found.len(), self.runs);
        Ok(Enumerated { marginals, log_evidence, states, runs })
    }
}
