//! The log likelihood of every observation in every draw: log p(y_i | θ_s), by units of data.
//!
//! A round of a loop over rows is one unit, whatever is observed in it; an observation outside of loops is one. The
//! model is made once for each chain and rewritten from state to state, so that rows which are one plate stay so; a
//! state that it does not come to in this way is run from the text.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use smidgen_draws::{Pointwise, States};
use smidgen_engine::{EvalError, Model};
use smidgen_io::Progress;
use smidgen_lang::Diagnostic;
use smidgen_value::{Rng, State};

use crate::compile::{Observations, OnlyRows};
use crate::load::TopDirective;
use crate::noted::{Noted, Observation, split_rounds};
use crate::replay::{Replayed, diagnosed, each_chain, spread};
use crate::sampling::SampleError;
use crate::selection::{Selection, Steps};
use crate::session::Session;

#[derive(Clone, Debug)]
pub struct LikelihoodRequest {
    pub seed: u64,
    /// At most so many draws, spread evenly over those that there are.
    pub draws: Option<usize>,
    pub threads: usize,
    /// Of these tables some rows only; of others all.
    pub rows: OnlyRows,
}

/// Numbers of the streams for what states lack.
const LIKELIHOOD: u64 = 1 << 35;

/// A unit of data: the directive and its round, or the record of a single observation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Unit {
    directive: usize,
    record: u64,
    /// Of the loops around it, outermost first.
    rounds: Vec<i64>,
}

pub fn log_likelihood(
    session: &mut Session,
    program: &[TopDirective],
    states: &States,
    request: &LikelihoodRequest,
    progress: &Progress,
) -> Result<Pointwise, SampleError> {
    let wanted = spread(states, request.draws);
    let total: usize = wanted.iter().map(Vec::len).sum();
    progress.total.store(total as u64, Ordering::Relaxed);
    let steps = Steps::new(session, program, Observations::Constrain, &request.rows)?;
    let selection = Selection::new(session, steps);
    let chains = each_chain(wanted.len(), request.threads, |k| {
        let mut rng = Rng::for_chain(request.seed, LIKELIHOOD + k as u64);
        let (selection, units) = (&selection, Vec::new());
        let mut chain = Chain { selection, states, all: false, standing: None, units };
        let mut draws = Vec::with_capacity(wanted[k].len());
        for (_, state) in &wanted[k] {
            if selection.replay().is_interrupted() {
                return Err(Diagnostic::error(None, "interrupted"));
            }
            draws.push(chain.draw(state, &mut rng)?);
            progress.done.fetch_add(1, Ordering::Relaxed);
        }
        Ok((chain.units, draws))
    })?;
    let units = chains.iter().find(|(units, _)| !units.is_empty());
    let names = units.map_or_else(Vec::new, |(units, _)| names(units));
    if names.is_empty() {
        let message = "the program observes nothing: there is no log likelihood";
        return Err(Diagnostic::error(None, message).into());
    }
    let chains = chains.into_iter().map(|(_, draws)| draws).filter(|draws| !draws.is_empty());
    Ok(Pointwise { names, chains: chains.collect() })
}

struct Chain<'a> {
    selection: &'a Selection<'a>,
    states: &'a States,
    /// Whether rows that nobody wants are needed.
    all: bool,
    standing: Option<(Model, Noted)>,
    /// The units in the order of their numbers, with what is observed in each.
    units: Vec<(Unit, String)>,
}

impl Chain<'_> {
    /// The log likelihoods of one state, unit by unit.
    fn draw(&mut self, state: &State, rng: &mut Rng) -> Result<Vec<f64>, Diagnostic> {
        let rewritten = match &mut self.standing {
            Some((model, _)) => model.rewrite(state, rng).is_ok() && model.covers(state),
            None => false,
        };
        if !rewritten {
            let Replayed { model, noted, .. } =
                self.selection.run(state, Some(self.states), &mut self.all, rng)?;
            self.standing = Some((model, noted));
        }
        let (model, noted) = self.standing.as_mut().expect("just made");
        let mut found: HashMap<Unit, (f64, Vec<&str>)> = HashMap::new();
        let wants =
            |unit: &Unit| self.selection.wants(unit.directive, unit.rounds.first().copied());
        for observation in &noted.observations {
            add(model, observation, &mut found).map_err(diagnosed)?;
        }
        if self.all {
            found.retain(|unit, _| wants(unit));
        }
        if self.units.is_empty() {
            let mut units: Vec<_> =
                found.iter().map(|(u, (_, n))| (u.clone(), n.join("+"))).collect();
            units.sort();
            self.units = units;
        }
        let values = self.units.iter().map(|(unit, _)| found.get(unit).map(|(log_p, _)| *log_p));
        let values: Option<Vec<f64>> = values.collect();
        values.filter(|values| values.len() == found.len()).ok_or_else(|| {
            Diagnostic::error(None, "what is observed is not the same in every draw")
        })
    }
}

fn add<'o>(
    model: &mut Model,
    observation: &'o Observation,
    found: &mut HashMap<Unit, (f64, Vec<&'o str>)>,
) -> Result<(), EvalError> {
    let Observation { number, name, suffix, directive } = observation;
    let around = split_rounds(suffix).1;
    model.log_likelihood_of(*number, &mut |row, log_p| {
        let alone = row.is_none() && around.is_empty();
        if alone && name.is_none() {
            return; // a weight outside of loops is no datum
        }
        let record = if alone { *number } else { 0 };
        let rounds = around.iter().copied().chain(row.map(i64::from)).collect();
        let entry = found.entry(Unit { directive: *directive, record, rounds }).or_default();
        entry.0 += log_p;
        entry.1.extend(name.as_deref());
    })
}

fn names(units: &[(Unit, String)]) -> Vec<String> {
    let name = |(unit, name): &(Unit, String)| {
        unit.rounds.iter().fold(name.clone(), |name, round| format!("{name}[{round}]"))
    };
    units.iter().map(name).collect()
}
