//! Which move serves which choice.
//!
//! | choice | move |
//! |---|---|
//! | continuous, and log density differentiable in it | one joint block of `nuts` |
//! | the same, above many local sections, if approximate moves are allowed | `subsampled_mh` |
//! | finitely many values, each reading the one before | a whole chain from its conditional law, see [`super::chain`] |
//! | anything else, each reading the one before | a whole chain by particles |
//! | finitely many values | `gibbs` |
//! | a single real number, structure fixed | `slice_doubling` |
//! | a whole number with many values, structure fixed | a slice over the integers, and a proposal from the prior |
//! | anything else | `mh`, from the prior or by a walk of random scale |
//!
//! The plan depends on the structure of the trace and on what the moves of a class leave as it is,
//! never on the values that they change: so each move leaves the posterior invariant.

use rustc_hash::{FxHashMap, FxHashSet};
use smidgen_engine::smooth::{Density, Form};
use smidgen_engine::{EvalError, NodeId, Partition, Trace};
use smidgen_prob::Support;

use super::chain::Chain;
use super::single::is_number;

/// More values than these are not enumerated.
const MOST_VALUES: usize = 300;

/// Sections from which on a choice is moved by reading some of them.
const MANY_SECTIONS: usize = 2000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    Smooth,
    Tall,
    /// Part of a chain that is drawn as a whole from its conditional law.
    Chain,
    /// Part of a chain that is moved as a whole by particles.
    Particles,
    Finite,
    Line,
    /// A whole number with too many values to list.
    Integer,
    Other,
}

/// Why a continuous choice is not part of the smooth block.
#[derive(Clone, Debug)]
pub struct Exclusion {
    pub choice: NodeId,
    pub at: Option<NodeId>,
    pub reason: String,
}

#[derive(Default)]
pub struct Plan {
    /// The structure it was made for.
    structure: Option<u64>,
    /// With the address, for a name may come to mean another choice.
    classes: FxHashMap<NodeId, (u64, Class)>,
    /// The joint block.
    pub smooth: Vec<NodeId>,
    /// Whether the location or the scale of some of its choices depends on others.
    pub is_hierarchical: bool,
    pub excluded: Vec<Exclusion>,
    pub chains: Vec<Chain>,
    /// Addresses of choices that come and go: they are moved one by one.
    fickle: FxHashSet<u64>,
    /// Addresses of choices above many sections of which all have to be read.
    exact: FxHashSet<u64>,
    /// Addresses that were there when the first plan was made.
    first: Option<FxHashSet<u64>>,
}

impl Plan {
    /// Brings the plan up to date with the structure of the trace. `learns`: whether it may still
    /// find out which choices come and go. `approximate`: whether some may be moved by reading less
    /// than everything.
    pub fn update(
        &mut self,
        trace: &mut Trace,
        learns: bool,
        approximate: bool,
    ) -> Result<(), EvalError> {
        if self.structure == Some(trace.structure_revision()) {
            return Ok(());
        }
        let choices: Vec<(u64, NodeId)> = trace.choices_by_address();
        let present: FxHashSet<u64> = choices.iter().map(|(address, _)| *address).collect();
        match &self.first {
            None => self.first = Some(present),
            Some(first) if learns => {
                self.fickle.extend(first.symmetric_difference(&present));
            }
            Some(_) => {}
        }
        let first = self.first.as_ref().expect("set above");
        self.classes.clear();
        self.excluded.clear();
        let mut candidates = Vec::new();
        let mut partition = Partition::new();
        for (address, id) in &choices {
            let class = classify(trace, *id, MOST_VALUES)?;
            if class == Class::Smooth {
                if !first.contains(address) || self.fickle.contains(address) {
                    let reason = "it comes and goes".to_owned();
                    self.excluded.push(Exclusion { choice: *id, at: None, reason });
                    self.classes.insert(*id, (*address, alone(trace, *id)?));
                } else if approximate
                    && !self.exact.contains(address)
                    && is_tall(trace, *id, &mut partition)
                {
                    self.classes.insert(*id, (*address, Class::Tall));
                } else {
                    candidates.push(*id);
                }
            } else {
                self.classes.insert(*id, (*address, class));
            }
        }
        self.find_smooth(trace, candidates)?;
        self.find_chains(trace, &choices)?;
        // Compiling changes nothing.
        self.structure = Some(trace.structure_revision());
        Ok(())
    }

    /// The largest set without those choices that spoil the gradient.
    fn find_smooth(
        &mut self,
        trace: &mut Trace,
        mut candidates: Vec<NodeId>,
    ) -> Result<(), EvalError> {
        while !candidates.is_empty() {
            let Err(why) = Density::compile(trace, &candidates, Form::Plain)? else { break };
            // What an observation leaves is no candidate; then all are to blame.
            let mut blamed = why.culprits;
            blamed.retain(|id| candidates.contains(id));
            if blamed.is_empty() {
                blamed.clone_from(&candidates);
            }
            for choice in &blamed {
                let (at, reason) = (Some(why.node), why.reason.clone());
                self.excluded.push(Exclusion { choice: *choice, at, reason });
                let class = alone(trace, *choice)?;
                self.classes.insert(*choice, (trace.address(*choice), class));
            }
            candidates.retain(|id| !blamed.contains(id));
        }
        for id in &candidates {
            self.classes.insert(*id, (trace.address(*id), Class::Smooth));
        }
        self.smooth = candidates;
        self.is_hierarchical = match self.smooth.is_empty() {
            true => false,
            false => Density::compile(trace, &self.smooth, Form::Standardised)?
                .is_ok_and(|density| density.is_standardised()),
        };
        Ok(())
    }

    /// Chains among the choices that are neither smooth nor tall: finite ones first, which can be drawn
    /// from their conditional law, then what is left. Whether a choice is finite hangs on its
    /// distribution; how many values it has may hang on the chain, and does not count here.
    fn find_chains(
        &mut self,
        trace: &mut Trace,
        choices: &[(u64, NodeId)],
    ) -> Result<(), EvalError> {
        let before = std::mem::take(&mut self.chains);
        let (mut finite, mut rest) = (Vec::new(), Vec::new());
        for (_, id) in choices {
            if !matches!(self.classes[id].1, Class::Smooth | Class::Tall) {
                let choice = trace.choice(*id)?;
                if choice.is_proper() {
                    rest.push(*id);
                }
                if choice.support().is_ok_and(|support| is_finite(&support)) {
                    finite.push(*id);
                }
            }
        }
        self.chains = Chain::paths(trace, &finite, before);
        self.note_chains(trace, 0, Class::Chain);
        rest.retain(|id| self.classes[id].1 != Class::Chain);
        let drawn = self.chains.len();
        self.chains.extend(Chain::by_particles(trace, &rest));
        self.note_chains(trace, drawn, Class::Particles);
        Ok(())
    }

    /// Enters the choices of the chains from this number on into a class.
    fn note_chains(&mut self, trace: &Trace, first: usize, class: Class) {
        for id in self.chains[first..].iter().flat_map(|chain| &chain.choices) {
            self.classes.insert(*id, (trace.address(*id), class));
        }
    }

    /// Reading less does not pay for this choice: from the next plan on it moves as all others.
    pub fn move_exactly(&mut self, address: u64) {
        if self.exact.insert(address) {
            self.structure = None;
        }
    }

    /// Whether there are choices outside the joint block.
    pub fn has_others(&self) -> bool {
        self.classes.len() > self.smooth.len()
    }

    /// Whether there are choices that are moved by themselves.
    pub fn has_singles(&self) -> bool {
        let drawn: usize = self.chains.iter().map(|chain| chain.choices.len()).sum();
        self.classes.len() > self.smooth.len() + drawn
    }

    /// How a choice is moved. One that has come since the plan was made is moved by itself.
    pub fn class(&self, trace: &mut Trace, id: NodeId) -> Result<Class, EvalError> {
        match self.classes.get(&id) {
            Some((address, class)) if *address == trace.address(id) => Ok(*class),
            _ => single(trace, id, MOST_VALUES),
        }
    }
}

/// How a choice is moved by itself, if at most so many values are enumerated.
pub(super) fn single(trace: &mut Trace, id: NodeId, most: usize) -> Result<Class, EvalError> {
    match classify(trace, id, most)? {
        Class::Smooth => alone(trace, id),
        class => Ok(class),
    }
}

fn is_finite(support: &Support) -> bool {
    match support {
        Support::Booleans | Support::Finite(_) => true,
        Support::Integers { high, .. } => high.is_finite(),
        _ => false,
    }
}

/// Whether enough local sections hang on a choice for a test to pay.
fn is_tall(trace: &mut Trace, id: NodeId, partition: &mut Partition) -> bool {
    partition.find(trace, &[id]).is_ok() && partition.population() >= MANY_SECTIONS
}

/// A continuous choice that is moved by itself.
fn alone(trace: &mut Trace, id: NodeId) -> Result<Class, EvalError> {
    Ok(match trace.choice(id)?.support()? {
        Support::Reals | Support::Interval { .. } | Support::Circle => Class::Line,
        _ => Class::Other,
    })
}

/// The class of a choice; [`Class::Smooth`] for every continuous one.
fn classify(trace: &mut Trace, id: NodeId, most: usize) -> Result<Class, EvalError> {
    let choice = trace.choice(id)?;
    // The latent parameters of some makers have no single support.
    let Ok(support) = choice.support() else { return Ok(Class::Other) };
    if support.is_continuous() {
        return Ok(Class::Smooth);
    }
    let few = match &support {
        Support::Booleans => true,
        Support::Finite(values) => values.len() <= most,
        Support::Integers { low, high } if high.is_finite() => high - low < most as f64,
        // The tables of a restaurant process, for example.
        _ => choice.enumerate().is_ok_and(|values| values.len() <= most),
    };
    Ok(match few {
        true => Class::Finite,
        false if is_number(&choice) => Class::Integer,
        false => Class::Other,
    })
}
