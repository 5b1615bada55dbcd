//! Which move serves which choice.
//!
//! | choice | move |
//! |---|---|
//! | continuous, and log density differentiable in it | one joint block of `nuts` |
//! | the same, above many members that come and go, if the warm-up found a reference for it | by its members, see [`crate::kernel::reference_mh`] |
//! | the same, above many local sections, if approximate moves are allowed | `subsampled_mh` |
//! | finitely many values, each reading the one before | a whole chain from its conditional law, see [`super::chain`] |
//! | anything else, each reading the one before | a whole chain by particles |
//! | finitely many values | `gibbs` |
//! | a single real number, structure fixed | `slice_doubling` |
//! | a whole number with many values, structure fixed | a slice over the integers, and a proposal from the prior |
//! | anything else | `mh`, from the prior or by a walk of random scale |
//! | anything that no observation depends on | none: it is drawn forward after the sweep |
//!
//! A plan is made of the state as it is, and made anew when the structure has changed. What it says of a choice
//! hangs on the structure and on what the moves of that choice leave as it is, never on the values that they change.
//! Whether a choice may belong to the joint block or to a chain at all is settled in the warm-up: those that once
//! could not, or that come and go, are moved by themselves from then on.

use rustc_hash::{FxHashMap, FxHashSet};
use smidgen_engine::fault::Fault;
use smidgen_engine::idle::{Forward, Idle};
use smidgen_engine::smooth::{Density, Form};
use smidgen_engine::{EvalError, NodeId, Partition, Trace};
use smidgen_prob::Support;
use smidgen_value::bytes::{Bytes, Input};

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
    /// Above members that come and go.
    Members,
    /// Part of a chain that is drawn as a whole from its conditional law.
    Chain,
    /// Part of a chain that is moved as a whole by particles.
    Particles,
    /// No observation depends on it: drawn forward, see [`smidgen_engine::idle`].
    Idle,
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
    pub reason: String,
}

/// Choices, by their addresses, that had the same part in every plan of the warm-up.
#[derive(Default)]
enum Steady {
    #[default]
    Unknown,
    Known(FxHashSet<u64>),
    /// Given from outside: these have the part whenever they can.
    Given(fn(u64) -> bool),
}

impl Steady {
    /// Whether a choice may have this part.
    fn admits(&self, address: u64) -> bool {
        matches!(self, Steady::Unknown) || self.contains(address)
    }

    fn contains(&self, address: u64) -> bool {
        match self {
            Steady::Unknown => false,
            Steady::Known(steady) => steady.contains(&address),
            Steady::Given(contains) => contains(address),
        }
    }

    /// Whether no choice can have this part any more.
    fn is_void(&self) -> bool {
        matches!(self, Steady::Known(steady) if steady.is_empty())
    }

    /// Those that have it in this plan. The first plan counts in any case.
    fn settle(&mut self, now: FxHashSet<u64>, learns: bool) {
        match self {
            Steady::Unknown => *self = Steady::Known(now),
            Steady::Known(steady) if learns => steady.retain(|address| now.contains(address)),
            Steady::Known(_) | Steady::Given(_) => {}
        }
    }
}

impl Steady {
    fn save(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let known = match self {
            Steady::Unknown => None,
            Steady::Known(steady) => Some(steady),
            Steady::Given(_) => return Err(GIVEN),
        };
        known.is_some().put(out);
        known.into_iter().for_each(|steady| steady.put(out));
        Ok(())
    }

    fn load(from: &mut Input<'_>) -> Option<Steady> {
        let known: Option<FxHashSet<u64>> = Bytes::take(from)?;
        Some(known.map_or(Steady::Unknown, Steady::Known))
    }
}

/// Why there is nothing to write.
pub(super) const GIVEN: &str = "it was given from outside what it would learn";

#[derive(Default)]
pub struct Plan {
    /// The structure it was made for.
    structure: Option<u64>,
    /// With the address, for a name may come to mean another choice.
    classes: FxHashMap<NodeId, (u64, Class)>,
    /// The joint block.
    pub smooth: Vec<NodeId>,
    /// Its density, plain and standardised, as it was found: for whoever moves it next.
    pub densities: [Option<Density>; 2],
    /// Whether the location or the scale of some of its choices depends on others.
    pub is_hierarchical: bool,
    pub excluded: Vec<Exclusion>,
    /// Why choices were once excluded, by their addresses.
    reasons: FxHashMap<u64, String>,
    pub chains: Vec<Chain>,
    /// What may be part of the joint block, and what of chains.
    steady_smooth: Steady,
    steady_chains: Steady,
    steady_idle: Steady,
    /// How choices that no observation depends on are drawn, and how many of them are moved by nothing else.
    pub forward: Option<Forward>,
    idle: usize,
    /// Whether some plan had such choices.
    had_idle: bool,
    /// Those that are summed out of the joint block.
    pub left_out: FxHashSet<NodeId>,
    /// Whether nothing is observed: then it is so in every state.
    pub is_all_idle: bool,
    /// Whether these are moved as all others.
    pub moves_idle: bool,
    /// Whether every choice may be part of one or the other.
    pub is_all_steady: bool,
    /// Whether one that may be is not so now.
    pub has_leftovers: bool,
    /// Addresses of choices above many sections of which all have to be read.
    exact: FxHashSet<u64>,
    /// Addresses of choices that are moved by their members, and those of them that exist, by address.
    by_members: FxHashSet<u64>,
    pub above_members: Vec<NodeId>,
}

impl Plan {
    /// Writes what was learnt about addresses: the rest is made anew for the structure that is found.
    pub(super) fn save(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let Plan {
            structure: _,
            classes: _,
            smooth: _,
            densities: _,
            is_hierarchical: _,
            excluded: _,
            reasons,
            chains: _,
            steady_smooth,
            steady_chains,
            steady_idle,
            forward: _,
            idle: _,
            had_idle,
            left_out: _,
            is_all_idle: _,
            moves_idle,
            is_all_steady: _,
            has_leftovers: _,
            exact,
            by_members,
            above_members: _,
        } = self;
        reasons.put(out);
        steady_smooth.save(out)?;
        steady_chains.save(out)?;
        steady_idle.save(out)?;
        had_idle.put(out);
        moves_idle.put(out);
        exact.put(out);
        by_members.put(out);
        Ok(())
    }

    pub(super) fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        *self = Plan {
            reasons: Bytes::take(from)?,
            steady_smooth: Steady::load(from)?,
            steady_chains: Steady::load(from)?,
            steady_idle: Steady::load(from)?,
            had_idle: Bytes::take(from)?,
            moves_idle: Bytes::take(from)?,
            exact: Bytes::take(from)?,
            by_members: Bytes::take(from)?,
            ..Plan::default()
        };
        Some(())
    }

    /// Brings the plan up to date with the structure of the trace. `learns`: whether it may still
    /// find out which choices keep their part. `approximate`: whether some may be moved by reading less
    /// than everything.
    pub fn update(
        &mut self,
        trace: &mut Trace,
        learns: bool,
        approximate: bool,
    ) -> Result<(), EvalError> {
        if self.is_current(trace) {
            return Ok(());
        }
        if !learns && self.is_moot() {
            self.say_nothing(trace);
            return Ok(());
        }
        let choices: Vec<(u64, NodeId)> = trace.choices_by_address();
        self.classes.clear();
        self.excluded.clear();
        self.above_members.clear();
        let idle = self.find_idle(trace, learns);
        let mut candidates = Vec::new();
        let mut tall = FxHashSet::default();
        let mut partition = Partition::new();
        for (address, id) in &choices {
            if idle.contains(id) {
                self.classes.insert(*id, (*address, Class::Idle));
                continue;
            }
            let mut class = classify(trace, *id, MOST_VALUES)?;
            if class == Class::Smooth {
                if self.by_members.contains(address) {
                    self.above_members.push(*id);
                    class = Class::Members;
                } else if !self.steady_smooth.admits(*address) {
                    let reason = self.reasons.get(address);
                    let reason = reason.map_or("it comes and goes", String::as_str).to_owned();
                    self.excluded.push(Exclusion { choice: *id, reason });
                    class = alone(trace, *id)?;
                } else if approximate
                    && !self.exact.contains(address)
                    && is_tall(trace, *id, &mut partition)
                {
                    tall.insert(*address);
                    class = Class::Tall;
                } else {
                    candidates.push(*id);
                }
            }
            self.classes.insert(*id, (*address, class));
        }
        if let Some(forward) = &self.forward {
            self.left_out.extend(forward.choices());
            // All or none: what stays may depend on what would go.
            if candidates.iter().any(|id| self.left_out.contains(id)) {
                self.left_out.clear();
            }
        }
        self.find_smooth(trace, candidates)?;
        self.find_chains(trace, &choices)?;
        // A tall choice may still turn out to be better off in the joint block.
        let mut smooth = tall;
        smooth.extend(self.smooth.iter().map(|id| trace.address(*id)));
        self.steady_smooth.settle(smooth, learns);
        let in_chains = self.chains.iter().flat_map(|chain| &chain.choices);
        let in_chains = in_chains.map(|id| trace.address(*id)).collect();
        self.steady_chains.settle(in_chains, learns);
        self.is_all_steady = choices.iter().all(|(address, _)| self.is_steady(*address));
        self.has_leftovers = choices.iter().any(|(address, id)| {
            let is_moved = matches!(
                self.classes[id].1,
                Class::Smooth | Class::Members | Class::Chain | Class::Particles | Class::Idle
            );
            !is_moved && self.is_steady(*address)
        });
        // Compiling changes nothing.
        self.structure = Some(trace.structure_revision());
        Ok(())
    }

    /// Whether the warm-up has left nothing to be planned: no choice has a part that it keeps, and none was ever idle. Then all
    /// choices are moved by themselves, whatever the structure.
    fn is_moot(&self) -> bool {
        let parts = [&self.steady_smooth, &self.steady_chains, &self.steady_idle];
        !self.had_idle && parts.iter().all(|steady| steady.is_void())
    }

    /// The plan that has no part for any choice.
    fn say_nothing(&mut self, trace: &Trace) {
        self.classes.clear();
        self.smooth.clear();
        self.densities = [None, None];
        self.chains.clear();
        self.find_members(trace);
        (self.is_hierarchical, self.is_all_steady, self.has_leftovers) = (false, false, false);
        self.structure = Some(trace.structure_revision());
    }

    /// The choices that are moved by their members, without a look at any other.
    fn find_members(&mut self, trace: &Trace) {
        self.above_members.clear();
        if self.by_members.is_empty() {
            return;
        }
        let is = |id: &&NodeId| self.by_members.contains(&trace.address(**id));
        self.above_members.extend(trace.choices().iter().filter(is));
        self.above_members.sort_unstable_by_key(|id| trace.address(*id));
    }

    /// From the next plan on the choice of this address is moved by its members.
    pub fn move_by_members(&mut self, address: u64) {
        if self.by_members.insert(address) {
            self.forget();
        }
    }

    /// Whether it was made for the structure that the trace has.
    pub fn is_current(&self, trace: &Trace) -> bool {
        self.structure == Some(trace.structure_revision())
    }

    /// Makes the plan anew when it is next needed.
    pub fn forget(&mut self) {
        self.structure = None;
    }

    /// Whether a choice belongs to the joint block or to a chain, or is drawn forward, whenever that is possible.
    pub fn is_steady(&self, address: u64) -> bool {
        let parts = [&self.steady_smooth, &self.steady_chains, &self.steady_idle];
        parts.iter().any(|steady| steady.contains(address)) || self.by_members.contains(&address)
    }

    /// Whether a choice is drawn forward and moved by nothing else.
    pub fn is_steadily_idle(&self, address: u64) -> bool {
        self.steady_idle.contains(address)
    }

    pub fn has_steady_idle(&self) -> bool {
        match &self.steady_idle {
            Steady::Unknown => false,
            Steady::Known(steady) => !steady.is_empty(),
            Steady::Given(_) => true,
        }
    }

    /// Nothing is settled in a warm-up: these choices have their part whenever the state allows it. Every change of
    /// structure costs a plan.
    pub fn settle_for(&mut self, contains: fn(u64) -> bool) {
        for steady in [&mut self.steady_smooth, &mut self.steady_chains, &mut self.steady_idle] {
            *steady = Steady::Given(contains);
        }
    }

    /// From now on choices that no observation depends on are moved as all others.
    pub fn move_idle(&mut self) {
        self.moves_idle = true;
        self.forget();
    }

    /// The choices that are drawn forward.
    fn find_idle(&mut self, trace: &mut Trace, learns: bool) -> FxHashSet<NodeId> {
        (self.forward, self.idle, self.is_all_idle) = (None, 0, false);
        self.left_out.clear();
        if self.moves_idle {
            self.steady_idle = Steady::default();
            return FxHashSet::default();
        }
        let Idle { choices: idle, is_everything } = Idle::find(trace);
        self.had_idle |= !idle.is_empty();
        let addresses = idle.iter().map(|id| trace.address(*id)).collect();
        self.steady_idle.settle(addresses, learns);
        self.is_all_idle = is_everything;
        let steady = |id: &&NodeId| self.steady_idle.contains(trace.address(**id));
        let found: FxHashSet<NodeId> = idle.iter().filter(steady).copied().collect();
        self.idle = found.len();
        if !idle.is_empty() {
            self.forward = Some(Forward::new(trace, idle));
        }
        found
    }

    /// The largest set without those choices that spoil the gradient.
    fn find_smooth(
        &mut self,
        trace: &mut Trace,
        mut candidates: Vec<NodeId>,
    ) -> Result<(), EvalError> {
        let left_out = &self.left_out;
        self.densities = [None, None];
        while !candidates.is_empty() {
            let why = match Density::compile_without(trace, &candidates, Form::Plain, left_out)? {
                Ok(density) => {
                    self.densities[0] = Some(density);
                    break;
                }
                Err(why) => why,
            };
            let mut blamed = why.culprits;
            blamed.retain(|id| candidates.contains(id));
            if blamed.is_empty() {
                blamed.clone_from(&candidates);
            }
            for choice in &blamed {
                let (address, reason) = (trace.address(*choice), why.reason.clone());
                self.reasons.entry(address).or_insert_with(|| reason.clone());
                self.excluded.push(Exclusion { choice: *choice, reason });
                let class = alone(trace, *choice)?;
                self.classes.insert(*choice, (address, class));
            }
            candidates.retain(|id| !blamed.contains(id));
        }
        for id in &candidates {
            self.classes.insert(*id, (trace.address(*id), Class::Smooth));
        }
        self.smooth = candidates;
        if self.densities[0].as_ref().is_some_and(Density::may_standardise) {
            let form = Form::Standardised;
            self.densities[1] =
                Density::compile_without(trace, &self.smooth, form, &self.left_out)?
                    .ok()
                    .filter(Density::is_standardised);
        }
        self.is_hierarchical = self.densities[1].is_some();
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
        for (address, id) in choices {
            let is_taken = matches!(self.classes[id].1, Class::Smooth | Class::Tall | Class::Idle);
            if !is_taken && self.steady_chains.admits(*address) {
                let choice = trace.choice(*id)?;
                if choice.is_proper() {
                    rest.push(*id);
                }
                if choice.support().is_ok_and(|support| is_finite(&support)) {
                    finite.push(*id);
                }
            }
        }
        for mut chain in Chain::paths(trace, &finite, &self.left_out, before) {
            // Where a row would have to be made for a path, moves of single choices make and unmake rows: that is no chain.
            if !chain.misses_rows(trace)? {
                self.chains.push(chain);
            }
        }
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
            self.forget();
        }
    }

    /// Whether there are choices outside the joint block that are moved.
    pub fn has_others(&self) -> bool {
        self.classes.len() > self.smooth.len() + self.idle
    }

    /// Whether some choices are drawn forward and moved by themselves as well: those that come and go, or are idle only in
    /// some states.
    pub fn has_unstable_idle(&self) -> bool {
        self.forward.as_ref().is_some_and(|forward| forward.choices().len() > self.idle)
    }

    /// How a choice is moved, by the plan for this structure.
    pub fn class(&self, trace: &mut Trace, id: NodeId) -> Result<Class, EvalError> {
        let is_faulty = trace.has_fault(Fault::PlanOfTheStart);
        debug_assert!(
            is_faulty || self.is_current(trace),
            "a plan is made anew before it is asked"
        );
        match self.classes.get(&id) {
            Some((address, class)) if *address == trace.address(id) => Ok(*class),
            _ => by_itself(trace, id),
        }
    }
}

/// How a choice is moved by itself now.
pub fn by_itself(trace: &mut Trace, id: NodeId) -> Result<Class, EvalError> {
    single(trace, id, MOST_VALUES)
}

/// How a choice is moved by itself, if at most so many values are enumerated.
pub(super) fn single(trace: &mut Trace, id: NodeId, most: usize) -> Result<Class, EvalError> {
    match kind(trace, id, most)? {
        Kind::Continuous(support) => Ok(along(&support)),
        Kind::Other(class) => Ok(class),
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
    Ok(along(&trace.choice(id)?.support()?))
}

/// The class of a continuous choice that is moved by itself.
fn along(support: &Support) -> Class {
    match support {
        Support::Reals | Support::Interval { .. } | Support::Circle => Class::Line,
        _ => Class::Other,
    }
}

/// The class of a choice; [`Class::Smooth`] for every continuous one.
fn classify(trace: &mut Trace, id: NodeId, most: usize) -> Result<Class, EvalError> {
    Ok(match kind(trace, id, most)? {
        Kind::Continuous(_) => Class::Smooth,
        Kind::Other(class) => class,
    })
}

enum Kind {
    Continuous(Support),
    Other(Class),
}

fn kind(trace: &mut Trace, id: NodeId, most: usize) -> Result<Kind, EvalError> {
    let choice = trace.choice(id)?;
    if choice.most_values().is_some_and(|values| values <= most) {
        return Ok(Kind::Other(Class::Finite));
    }
    // The latent parameters of some makers have no single support.
    let Ok(support) = choice.support() else { return Ok(Kind::Other(Class::Other)) };
    if support.is_continuous() {
        return Ok(Kind::Continuous(support));
    }
    let few = match &support {
        Support::Booleans => true,
        Support::Finite(values) => values.len() <= most,
        Support::Integers { low, high } if high.is_finite() => high - low < most as f64,
        // The tables of a restaurant process, for example.
        _ => choice.enumerate().is_ok_and(|values| values.len() <= most),
    };
    Ok(Kind::Other(match few {
        true => Class::Finite,
        false if is_number(&choice) => Class::Integer,
        false => Class::Other,
    }))
}
