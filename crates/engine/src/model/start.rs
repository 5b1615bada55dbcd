//! A start that fits the observations.
//!
//! Observations come one by one, so the values that the program has drawn so far may be such that
//! one of them is impossible: a hard constraint does not hold, a count exceeds its total, a
//! parameter is out of its domain. Before the first transition
//!
//! 1. all free choices are drawn again from the prior, until everything is possible: the chains
//!    start where the prior puts them;
//! 2. if that does not happen, the best of these draws is led there. What counts is the number V of
//!    impossible observations (rows of a plate count each). A move of a single choice ([`wander`],
//!    one that some impossible observation hangs on) is kept if V falls, seldom if V grows, and else
//!    with probability min(1, r^β), where r is the ratio of the densities of everything that is
//!    possible and β goes from 1 to 0: at first the search stays where the prior is, at last only V
//!    counts. Between states of equal V, one whose conditions are nearer to holding ([`distance`]) is better by e^(20
//!    times as much). Then moves with β = 1 lead back to where the density is.
//!
//! Forced and improper choices stay as they are. What was found is a start, not a draw: the chain's
//! warm-up does the rest.
//!
//! [`wander`]: super::wander
//! [`distance`]: super::distance

use rustc_hash::FxHashSet;
use smidgen_value::{Rng, Value};

use super::wander::Wander;
use super::{Model, RecordKind};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::node::Op;
use crate::trace::proposal::{FromPrior, Proposal};
use crate::trace::scaffold::Scaffold;

/// Draws from the prior that a search may take.
const DRAWS: usize = 2000;
/// Exponents of the density, one after the other, and moves with each: so many, and so many more for
/// each choice that may be moved.
const EXPONENTS: [f64; 4] = [1.0, 0.1, 0.01, 0.0];
const MOVES: usize = 1000;
const MOVES_PER_CHOICE: usize = 200;
/// Log probability of a move that makes one more observation impossible: a way out of where every
/// single move does.
const LOG_ESCAPE: f64 = -4.0;
/// What a unit of distance counts, in log probability.
const GUIDANCE: f64 = 20.0;
/// Times that all exponents are gone through.
const ROUNDS: usize = 3;

/// What a search has done.
#[derive(Default)]
struct Tried {
    draws: usize,
    moves: usize,
}

impl Model {
    /// Whether an observation may be impossible under the current values.
    pub fn is_suspect(&self) -> bool {
        self.suspect
    }

    /// Whether all observations are possible under the current values.
    pub fn is_possible(&mut self) -> Result<bool, EvalError> {
        if self.suspect && self.impossible_observations(1)?.is_empty() {
            self.suspect = false;
        }
        Ok(!self.suspect)
    }

    /// Before the first transition: if an observation is impossible under the current values,
    /// searches for values of the free choices under which all are possible.
    pub fn find_feasible_start(&mut self, rng: &mut Rng) -> Result<(), EvalError> {
        if self.is_possible()? {
            return Ok(());
        }
        self.trace.is_lenient = true;
        let tried = self.search(rng);
        self.trace.is_lenient = false;
        let tried = tried?;
        match self.impossible_observations(1)?.first() {
            Some(id) => Err(self.without_start(*id, &tried)),
            None => {
                self.suspect = false;
                Ok(())
            }
        }
    }

    fn search(&mut self, rng: &mut Rng) -> Result<Tried, EvalError> {
        let mut tried = Tried::default();
        if self.draw_until_possible(&mut tried, rng)? {
            return Ok(tried);
        }
        for _ in 0..ROUNDS {
            for exponent in EXPONENTS {
                let impossible = self.impossible_observations(usize::MAX)?;
                let targets = self.targets(&impossible);
                if targets.is_empty() {
                    return Ok(tried);
                }
                let moves = self.affordable(MOVES + MOVES_PER_CHOICE * targets.len());
                let done = self.wander(targets.clone(), exponent, moves, &mut tried, rng)?;
                if done {
                    self.wander(targets, 1.0, moves, &mut Tried::default(), rng)?;
                    return Ok(tried);
                }
            }
        }
        Ok(tried)
    }

    /// Draws from the prior; the best so far stays. True when everything is possible.
    fn draw_until_possible(&mut self, tried: &mut Tried, rng: &mut Rng) -> Result<bool, EvalError> {
        let mut scaffold = Scaffold::new();
        for _ in 0..self.affordable(DRAWS) {
            self.check_interrupt()?;
            let principals = self.free_choices();
            if principals.is_empty() {
                return Ok(false);
            }
            tried.draws += 1;
            let drawn =
                Proposal::propose(&mut self.trace, &mut scaffold, &principals, &mut FromPrior, rng)
                    .map(|proposal| {
                        let (old, new) = proposal.impossible();
                        // The same value again is no news, whatever it is worth.
                        let is_fit =
                            proposal.log_new() > f64::NEG_INFINITY && !proposal.is_identity();
                        let is_kept = is_fit && new <= old;
                        if is_kept {
                            proposal.commit();
                        }
                        is_kept && new == 0
                    });
            let may_be_possible = match drawn {
                Ok(may_be_possible) => may_be_possible,
                Err(error) if error.is_interruption() => return Err(error),
                // All at once may be too much where observations move.
                Err(_) => self.draw_one_by_one(principals, rng).map(|()| true)?,
            };
            if may_be_possible && self.impossible_observations(1)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Draws choices from the prior, one after the other, as far as that goes.
    fn draw_one_by_one(&mut self, choices: Vec<NodeId>, rng: &mut Rng) -> Result<(), EvalError> {
        let mut scaffold = Scaffold::new();
        for id in choices {
            if !self.trace.is_choice(id) {
                continue;
            }
            match Proposal::propose(&mut self.trace, &mut scaffold, &[id], &mut FromPrior, rng) {
                Ok(proposal) if proposal.log_new() > f64::NEG_INFINITY => proposal.commit(),
                Err(error) if error.is_interruption() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Moves of single choices, see above. True as soon as everything is possible; what is possible
    /// from the beginning stays so.
    fn wander(
        &mut self,
        mut targets: Vec<NodeId>,
        exponent: f64,
        moves: usize,
        tried: &mut Tried,
        rng: &mut Rng,
    ) -> Result<bool, EvalError> {
        let mut scaffold = Scaffold::new();
        let mut impossible = self.impossible_observations(usize::MAX)?;
        let searches = !impossible.is_empty();
        let mut structure = None;
        for _ in 0..moves {
            self.check_interrupt()?;
            // What conditions read, and what exists, hangs on the structure.
            if structure != Some(self.trace.structure_revision()) {
                structure = Some(self.trace.structure_revision());
                let free: FxHashSet<NodeId> = self.free_choices().into_iter().collect();
                targets = match searches {
                    true => self.targets(&impossible),
                    false => targets.into_iter().filter(|id| free.contains(id)).collect(),
                };
            }
            if targets.is_empty() {
                return Ok(false);
            }
            tried.moves += 1;
            let target = targets[rng.below(targets.len())];
            let log_escape = if searches { LOG_ESCAPE } else { f64::NEG_INFINITY };
            let how = [exponent, log_escape];
            if self.wander_once(&mut scaffold, target, how, &impossible, rng)? {
                impossible = self.impossible_observations(usize::MAX)?;
                if impossible.is_empty() {
                    return Ok(true);
                }
                structure = None;
            }
        }
        Ok(false)
    }

    /// One move. True if another number of observations is impossible than before.
    fn wander_once(
        &mut self,
        scaffold: &mut Scaffold,
        target: NodeId,
        [exponent, log_escape]: [f64; 2],
        impossible: &[NodeId],
        rng: &mut Rng,
    ) -> Result<bool, EvalError> {
        let mut wander = Wander::new(rng);
        let before = self.trace.distance(impossible);
        let proposal = Proposal::propose(&mut self.trace, scaffold, &[target], &mut wander, rng);
        let proposal = match proposal {
            Ok(proposal) => proposal,
            Err(error) if error.is_interruption() => return Err(error),
            // Far out, anything may go wrong that does not where the chain will be.
            Err(_) => return Ok(false),
        };
        let (old, new) = proposal.impossible();
        let accepts = match proposal.log_new() > f64::NEG_INFINITY {
            true if new == old => {
                let nearer = before - proposal.trace().distance(impossible);
                rng.log_uniform() < exponent * proposal.log_ratio() + GUIDANCE * nearer
            }
            true => new < old || rng.log_uniform() < log_escape * (new - old) as f64,
            false => false,
        };
        if accepts && !proposal.is_identity() {
            proposal.commit();
            return Ok(new != old);
        }
        Ok(false)
    }

    /// At most so many observations that are impossible under the current values.
    fn impossible_observations(&mut self, most: usize) -> Result<Vec<NodeId>, EvalError> {
        let lenient = std::mem::replace(&mut self.trace.is_lenient, false);
        let found = self.trace.impossible_observations(most);
        self.trace.is_lenient = lenient;
        found
    }

    /// The free choices that some impossible observation hangs on.
    fn targets(&self, impossible: &[NodeId]) -> Vec<NodeId> {
        let live = |id: &NodeId| self.trace.node(*id).is_live();
        let above = self.trace.ancestors(impossible.iter().copied().filter(live).collect());
        let mut free = self.free_choices();
        free.retain(|id| above.contains(id));
        free
    }

    /// The error that no start was found, with what was tried.
    fn without_start(&mut self, id: NodeId, tried: &Tried) -> EvalError {
        let above = self.trace.ancestors(vec![id]);
        let mut free = self.free_choices();
        free.retain(|id| above.contains(id));
        let found = match (free.is_empty(), tried) {
            (true, _) => "no random choice that may be drawn again can change that (observed, forced and improper ones stay as they are)".to_owned(),
            (false, Tried { draws, moves: 0 }) => format!("{draws} draws from the prior found none that fit"),
            (false, Tried { draws, moves }) => format!(
                "{draws} draws from the prior and {moves} moves of single choices towards it found none that fit"
            ),
        };
        let message =
            format!("this observation is impossible under the starting values, and {found}");
        if free.is_empty() {
            free.extend(above.into_iter().filter(|id| self.trace.is_choice(*id)));
        }
        let error = EvalError::other(self.trace.node(id).origin, message);
        if let Some(hint) = self.beyond_support(id) {
            return error.hint(hint);
        }
        let example = self.example_of_force(&free);
        error.hint(format!(
            "give starting values that fit, such as {example}, between the assumes and the first infer"
        ))
    }

    /// How one of these choices is given a value; the one that has a name if there is one.
    pub(super) fn example_of_force(&self, choices: &[NodeId]) -> String {
        let named = self.records.iter().find_map(|record| match (&record.kind, &record.root) {
            (RecordKind::Assume(name), Operand::Node(id)) if choices.contains(id) => {
                let value = match &self.trace.node(*id).value {
                    Value::Number(x) if x.fract() != 0.0 => format!("{x:.2}"),
                    value => value.brief(),
                };
                Some(format!("[force {name} {value}]"))
            }
            _ => None,
        });
        named.unwrap_or_else(|| "[force x 1.5] for a random choice x".to_owned())
    }
}

impl Trace {
    fn impossible_observations(&mut self, most: usize) -> Result<Vec<NodeId>, EvalError> {
        let mut found = Vec::new();
        for id in self.live_nodes().collect::<Vec<_>>() {
            let node = self.node(id);
            if found.len() < most
                && node.constrained
                && matches!(node.op, Op::Random(_) | Op::Plate(_))
            {
                self.refresh_arguments(id)?;
                if self.log_density(id)? == f64::NEG_INFINITY {
                    found.push(id);
                }
            }
        }
        Ok(found)
    }

    /// What these nodes hang on, themselves included.
    pub(crate) fn ancestors(&self, nodes: Vec<NodeId>) -> FxHashSet<NodeId> {
        let mut found = FxHashSet::default();
        let mut work = nodes;
        while let Some(id) = work.pop() {
            if !found.insert(id) {
                continue;
            }
            work.extend(self.arguments_of(id));
        }
        found
    }

    /// About how much there is to evaluate: nodes, and rows of plates.
    pub(crate) fn size(&self) -> usize {
        let rows = |id: NodeId| match &self.node(id).op {
            Op::Plate(plate) => plate.rows(),
            _ => 0,
        };
        self.live_nodes().map(|id| 1 + rows(id)).sum()
    }
}
