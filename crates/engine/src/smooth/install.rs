//! Moving the trace to a point of a density's coordinates.

use smidgen_value::{Rng, Value};

use super::Density;
use super::position::{Coordinates, with_numbers};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::program::marked::{self, Marked};
use crate::trace::Trace;
use crate::trace::fault::Fault;
use crate::trace::node::{Op, StructureKind};
use crate::trace::proposal::{Choice, Proposal, Proposed, Proposer};
use crate::trace::scaffold::Scaffold;

impl Density {
    /// The values of the choices where the global part was computed last.
    fn values(&self) -> Vec<(NodeId, Value)> {
        let values = self.parts.globals.values();
        let number = |x: f64| match marked::read(x) {
            Marked::Global(register) | Marked::Local(register) => values[register as usize],
            Marked::Number(x) => x,
        };
        let read = |at: &Coordinates| (at.node, with_numbers(&at.value, number));
        self.parts.coordinates.iter().map(read).collect()
    }

    /// Moves the trace to z, where the density is not 0. What follows from the choices becomes
    /// stale at no cost, but for branches that depend on them, and functions that may stop.
    ///
    /// False if one of these does, so that the state is impossible: then the trace stays where it was. Whoever came here by
    /// moves that are reversible without it has rejected this one, and is right with it: p(x) 1(x is possible) takes
    /// the acceptance probability of p times that of the end.
    pub fn install(
        &mut self,
        trace: &mut Trace,
        z: &[f64],
        rng: &mut Rng,
    ) -> Result<bool, EvalError> {
        let before: Vec<f64> = self.parts.coordinates.iter().map(|at| at.last).collect();
        match self.parts.is_plain {
            true => self.parts.globals.write_inputs(z),
            false => _ = self.run_globals(z),
        }
        for coordinates in &mut self.parts.coordinates {
            coordinates.last = z.get(coordinates.first).copied().unwrap_or(0.0);
        }
        let values = self.values();
        let stands = if self.follow.is_empty() {
            debug_assert!(
                trace.has_fault(Fault::UnreadBranch)
                    || trace.decide_nothing(&self.choices().collect::<Vec<_>>())
            );
            write(trace, values);
            true
        } else {
            self.install_and_follow(trace, values, rng)?
        };
        if !stands {
            for (coordinates, last) in self.parts.coordinates.iter_mut().zip(before) {
                coordinates.last = last;
            }
        }
        self.revision = trace.revision;
        Ok(stands)
    }

    /// Whether a move may be refused: the state may be impossible although the density is not 0.
    pub fn may_refuse(&self) -> bool {
        self.follow.may_refuse
    }

    /// Mostly every branch goes the way it went: then nothing is made anew, and what was compiled for this
    /// structure stays. Otherwise the move is that of a proposal.
    fn install_and_follow(
        &mut self,
        trace: &mut Trace,
        values: Vec<(NodeId, Value)>,
        rng: &mut Rng,
    ) -> Result<bool, EvalError> {
        let ways = self.ways(trace)?;
        let before: Vec<(NodeId, Value)> =
            values.iter().map(|(id, _)| (*id, trace.node(*id).value.clone())).collect();
        write(trace, values.clone());
        // An error says that what runs now would not run there.
        if self.ways(trace).is_ok_and(|now| now == ways && !now.contains(&None)) {
            let stands = self.pass_guards(trace)?;
            if !stands {
                write(trace, before);
            }
            return Ok(stands);
        }
        write(trace, before);
        self.ways(trace)?;
        let principals: Vec<NodeId> = self.choices().collect();
        let mut scaffold = Scaffold::new();
        let mut given = Given { values };
        let population = trace.population();
        let is_faulty = trace.has_fault(Fault::ConstantSeed);
        let mut constant = Rng::unused();
        let rng = if is_faulty { &mut constant } else { rng };
        let proposal = Proposal::propose(trace, &mut scaffold, &principals, &mut given, rng)?;
        if proposal.log_new() == f64::NEG_INFINITY {
            return Ok(false);
        }
        proposal.commit();
        debug_assert!(is_faulty || population == trace.population(), "a branch holds a choice");
        self.structure = trace.structure;
        scaffold.build(trace, &principals);
        self.follow.branches.clear();
        self.follow.branches.extend(scaffold.branches(trace));
        self.follow.guards.clear();
        let may_stop = scaffold.target.iter().filter(|id| trace.may_stop(**id));
        self.follow.guards.extend(may_stop);
        self.follow.may_refuse |= !self.follow.guards.is_empty();
        Ok(true)
    }

    /// Whether all functions that may stop have a value.
    fn pass_guards(&self, trace: &mut Trace) -> Result<bool, EvalError> {
        for id in &self.follow.guards {
            match trace.refresh(*id) {
                Err(error) if error.rejects() => return Ok(false),
                refreshed => refreshed?,
            }
        }
        Ok(true)
    }

    /// The way that each branch goes, none for a structure of another kind. They are fresh afterwards.
    fn ways(&self, trace: &mut Trace) -> Result<Vec<Option<bool>>, EvalError> {
        let way = |id: &NodeId| {
            trace.refresh(*id)?;
            let node = trace.node(*id);
            Ok(match &node.op {
                Op::Structure(structure)
                    if matches!(structure.kind, StructureKind::Branch { .. }) =>
                {
                    trace.settled_value(&node.args[0].operand).truth()
                }
                _ => None,
            })
        };
        self.follow.branches.iter().map(way).collect()
    }
}

/// Gives choices their values. What follows from them becomes stale.
fn write(trace: &mut Trace, values: Vec<(NodeId, Value)>) {
    for (node, value) in values {
        trace.set_value(node, value);
    }
    trace.commit_lazily();
}

/// Gives every choice the value it is to have.
struct Given {
    values: Vec<(NodeId, Value)>,
}

impl Proposer for Given {
    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(true)
    }

    fn propose(&mut self, choice: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        let found = self.values.iter().find(|(node, _)| *node == choice.node);
        let value = found.map_or_else(|| choice.current().clone(), |(_, value)| value.clone());
        Ok(Proposed::Local { value, log_q_ratio: 0.0 })
    }
}
