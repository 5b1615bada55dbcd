//! Enumeration of a block of finite choices: theory 8.2.
//!
//! Every combination k of values of the block's choices is a candidate. Its weight is
//!
//! log W_k = log p(k | Par) + Σ_A log p(x | Par under k, T_k) + observed choices in T_k,
//!
//! where the unobserved part of T_k, the *brush*, is drawn from the prior for each k that is not the
//! current combination; the current one keeps the brush it has. Then k is drawn in proportion to
//! W_k and installed; nothing is rejected. (The extended target p(k, T_k, A) Π_{j≠k} p(T_j | j)
//! is left invariant by a redraw of the other brushes followed by a draw of k.) A block that was
//! drawn among K(ρ) has the factor 1/K(ρ_k) in W_k (theory 1.3).
//!
//! Choices are enumerated one after the other, as a tree: the values that the next one can take
//! are those it can take after the earlier ones have got theirs, with itself taken out of the
//! statistics. So supports may depend on one another, and draws of one restaurant process in one
//! block are counted right. A choice of the block that exists only because of others of the block
//! lies in T: it belongs to the brush.
//!
//! A candidate's brush is drawn from a stream of its own, so the candidate that was chosen is
//! installed by making it again. `tree` weighs candidates by whole proposals, one after the other;
//! `dry_run` weighs those of a single choice without writing, wherever that is possible, by a `plan` that is
//! `kept` from one time to the next: side by side as `lanes` of a program, or one at a time on `boxed`
//! values.

mod aside;
mod boxed;
mod brush;
mod cases;
mod cell;
mod columns;
mod drawn_from;
mod dry_run;
mod hanging;
mod kept;
mod lanes;
mod plan;
mod priors;
mod relocate;
mod row;
mod selected;
mod shape;
mod template;
mod tree;
mod writer;
mod written;

use smallvec::SmallVec;
use smidgen_value::rng::seed_of;
use smidgen_value::{Rng, Value};

use crate::error::EvalError;
use crate::id::NodeId;
use crate::program::wide::{SUMS, Wide};
use crate::trace::Trace;
use crate::trace::node::Op;
use crate::trace::proposal::{Choice, Preset, Proposal};
use crate::trace::scaffold::Scaffold;
use cell::AsOf;
pub use drawn_from::DrawnFrom;
use dry_run::DryRun;
use hanging::Hanging;
use kept::PlanTable;
use tree::Script;
pub use written::NoLanes;

/// Combinations that are weighed at most.
const MOST_COMBINATIONS: u64 = 1_000_000;

/// The candidates of one block, weighed. The buffers are reused.
#[derive(Default)]
pub struct Enumeration {
    scaffold: Scaffold,
    script: Script,
    dry_run: Option<DryRun>,
    /// The block, and what is drawn anew with it.
    principals: Vec<NodeId>,
    seed: u64,
    log_weights: Vec<f64>,
    /// Room for a draw.
    weights: Vec<f64>,
    /// Of what was not dry.
    candidates: Vec<Candidate>,
    absorbing: usize,
    pairwise: bool,
    dry: bool,
    /// Combinations that are weighed at most, if not the usual number.
    most: Option<u64>,
}

/// One combination: which value of each choice's list, and the number of its stream.
struct Candidate {
    path: SmallVec<[u32; 2]>,
    stream: u64,
}

impl Enumeration {
    pub fn new() -> Enumeration {
        Enumeration { dry_run: Some(DryRun::default()), ..Enumeration::default() }
    }

    /// One that makes every candidate in the trace, also where that is not needed.
    pub fn of_proposals() -> Enumeration {
        Enumeration::default()
    }

    /// Weighs no more combinations of a block than these.
    pub fn at_most(combinations: u64) -> Enumeration {
        Enumeration { most: Some(combinations), ..Enumeration::default() }
    }

    /// Whether the weights were found without writing.
    pub fn is_dry(&self) -> bool {
        self.dry
    }

    /// How many candidates were weighed side by side in lanes of a program.
    pub fn in_lanes(&self) -> usize {
        self.dry_run.as_ref().filter(|_| self.dry).map_or(0, |dry_run| dry_run.in_lanes)
    }

    /// Why there are no lanes for the choice weighed last, if there are none.
    pub fn no_lanes(&self) -> Option<NoLanes> {
        self.dry_run.as_ref()?.no_lanes
    }

    /// Whether that was done by what was kept from an earlier time.
    pub fn is_recalled(&self) -> bool {
        self.dry && self.dry_run.as_ref().is_some_and(|dry_run| dry_run.recalled)
    }

    /// Weighs all candidates for a block. The trace stays as it is.
    pub fn weigh(
        &mut self,
        trace: &mut Trace,
        principals: &[NodeId],
        drawn_from: DrawnFrom<'_>,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        self.weigh_with(trace, principals, &[], drawn_from, rng)
    }

    /// The same with other choices that belong to the brush: they are drawn from their prior for each candidate.
    pub fn weigh_with(
        &mut self,
        trace: &mut Trace,
        principals: &[NodeId],
        brush: &[NodeId],
        drawn_from: DrawnFrom<'_>,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        self.seed = rng.seed();
        self.principals.clear();
        self.principals.extend_from_slice(principals);
        self.principals.extend_from_slice(brush);
        self.script.set_brush(brush);
        self.log_weights.clear();
        self.candidates.clear();
        (self.pairwise, self.dry) = (false, false);
        if let ([choice], [], Some(dry_run)) = (principals, brush, &mut self.dry_run) {
            let block = (*choice, drawn_from);
            let log_weights = &mut self.log_weights;
            let done = dry_run.weigh(trace, &mut self.scaffold, block, self.seed, log_weights);
            if let Some(absorbing) = done {
                (self.absorbing, self.dry) = (absorbing, true);
                return Ok(());
            }
            self.log_weights.clear();
        }
        self.weigh_all(trace, drawn_from)?;
        self.absorbing = self.scaffold.sections();
        Ok(())
    }

    /// log W of all candidates; the first is the current state.
    pub fn log_weights(&self) -> &[f64] {
        &self.log_weights
    }

    /// A candidate drawn in proportion to its weight by u, uniform on [0, 1).
    pub fn draw(&mut self, u: f64) -> usize {
        draw_place_with(&self.log_weights, u, &mut self.weights)
    }

    /// Whether only the weight of each candidate relative to the current state means something: an
    /// observation leaves a choice that stays, so that what is redrawn for a candidate depends on
    /// where one comes from. Then one candidate is to be drawn and accepted by its ratio.
    pub fn is_pairwise(&self) -> bool {
        self.pairwise
    }

    /// Absorbing choices of the block.
    pub fn absorbing(&self) -> usize {
        self.absorbing
    }

    fn weigh_all(&mut self, trace: &mut Trace, drawn_from: DrawnFrom<'_>) -> Result<(), EvalError> {
        let log_blocks = drawn_from.log_count(trace);
        let block = &self.principals[..self.principals.len() - self.script.brush()];
        let hanging = match block.len() {
            0 | 1 => None,
            _ => {
                self.scaffold.build(trace, &self.principals);
                Some(Hanging::look(trace, &self.scaffold, block)?)
            }
        };
        self.script.restart(self.most.unwrap_or(MOST_COMBINATIONS));
        for stream in 0.. {
            let mut rng = Rng::for_chain(self.seed, stream);
            self.script.begin();
            let proposal = Proposal::propose_seeded(
                trace,
                &mut self.scaffold,
                &self.principals,
                &mut self.script,
                (&mut rng, seed_of(self.seed, stream)),
            )?;
            if let Some(hanging) = &hanging {
                hanging.check(proposal.trace())?;
            }
            if self.script.combinations().max(stream) > self.script.most {
                let origin = proposal.trace().node(self.principals[0]).origin;
                return Err(too_many(self.script.most, self.principals.len(), origin));
            }
            let log_current = proposal.log_old() - log_blocks;
            if self.log_weights.is_empty() {
                self.log_weights.push(log_current);
            }
            if !self.script.is_current() {
                let mut log_weight = proposal.log_new() - drawn_from.log_count(proposal.trace());
                // With observations that move, scaffolds differ: weights are relative.
                let shift = self.log_weights[0] - log_current;
                if shift.is_finite() {
                    log_weight += shift;
                }
                self.log_weights.push(log_weight);
                self.candidates.push(Candidate { path: self.script.path(), stream });
            }
            drop(proposal);
            self.pairwise |=
                !self.scaffold.released.is_empty() || !self.scaffold.claimed.is_empty();
            if !self.script.advance() {
                break;
            }
        }
        Ok(())
    }

    /// The trace with a candidate in place, tentatively: the number of its weight, not 0.
    pub fn candidate<'t>(
        &'t mut self,
        trace: &'t mut Trace,
        k: usize,
    ) -> Result<Proposal<'t>, EvalError> {
        let stream = match (&self.dry_run, self.dry) {
            (Some(dry_run), true) => {
                let number = dry_run.number(k);
                self.script.follow(&[number as u32]);
                number as u64
            }
            _ => {
                let candidate = &self.candidates[k - 1];
                self.script.follow(&candidate.path);
                candidate.stream
            }
        };
        let mut rng = Rng::for_chain(self.seed, stream);
        let seeded = (&mut rng, seed_of(self.seed, stream));
        let (scaffold, script) = (&mut self.scaffold, &mut self.script);
        Proposal::propose_seeded(trace, scaffold, &self.principals, script, seeded)
    }

    /// Makes a candidate the state of the trace.
    pub fn install(&mut self, trace: &mut Trace, k: usize) -> Result<(), EvalError> {
        let ([choice], Some(dry_run), true) = (&self.principals[..], &self.dry_run, self.dry)
        else {
            self.candidate(trace, k)?.commit();
            return Ok(());
        };
        let number = dry_run.number(k);
        let (value, made) = dry_run.candidate(number);
        if !made && trace.relocate(*choice, (number, value)).is_some() {
            return Ok(());
        }
        // The value is known, and nobody asks for the weights.
        let stream = number as u64;
        let mut rng = Rng::for_chain(self.seed, stream);
        let (mut preset, seeded) = (Preset(value.clone()), (&mut rng, seed_of(self.seed, stream)));
        let scaffold = &mut self.scaffold;
        Proposal::propose_seeded(trace, scaffold, &[*choice], &mut preset, seeded)?.commit();
        if !made {
            trace.renew_plan(*choice);
        }
        Ok(())
    }
}

impl Trace {
    /// See [`mod@relocate`].
    fn relocate(&mut self, choice: NodeId, candidate: (usize, &Value)) -> Option<()> {
        let mut plans = self.side.get_mut::<PlanTable>().0.take()?;
        let mut done = None;
        if let Some((planned, roots, _)) = plans.get(choice) {
            let before = AsOf::now(self, planned.plan.own_maker);
            let left = self.node(choice).value.clone();
            done = relocate::relocate(self, planned, roots, candidate);
            if done.is_some() {
                plans.renew(choice, self.edge_edits);
                plans.moved(self, choice, &before, [&left, candidate.1]);
            }
        }
        self.side.get_mut::<PlanTable>().0 = Some(plans);
        done
    }

    /// D has other edges now, and is the same.
    fn renew_plan(&mut self, choice: NodeId) {
        let edge_edits = self.edge_edits;
        let table: &mut PlanTable = self.side.get_mut();
        table.0.iter_mut().for_each(|plans| plans.renew(choice, edge_edits));
    }
}

/// A place drawn in proportion to its weight by u, uniform on [0, 1); the first if there is none above 0. An infinite
/// density outweighs every finite one.
pub fn draw_place(log_weights: &[f64], u: f64) -> usize {
    draw_place_with(log_weights, u, &mut Vec::new())
}

/// The same in a buffer.
fn draw_place_with(log_weights: &[f64], u: f64, weights: &mut Vec<f64>) -> usize {
    let whole = log_weights.len().next_multiple_of(SUMS);
    weights.clear();
    weights.reserve(whole);
    weights.extend_from_slice(log_weights);
    weights.resize(whole, f64::NEG_INFINITY);
    Wide::default().draw_place(weights, u)
}

/// The place that a number between 0 and 1 falls on, if each has its share by these weights.
#[inline]
pub(crate) fn draw_share(weights: &[f64], u: f64) -> usize {
    let mut left = u * weights.iter().sum::<f64>();
    for (place, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return place;
        }
    }
    // Rounding: the last that is possible.
    weights.iter().rposition(|w| *w > 0.0).unwrap_or(0)
}

fn too_many(most: u64, choices: usize, origin: smidgen_lang::Span) -> EvalError {
    let message = format!(
        "gibbs would have to enumerate more than {most} combinations of the values of {choices} choices"
    );
    EvalError::other(origin, message).hint("use smaller blocks, or the block each or one")
}

impl Choice<'_> {
    /// All values it can take given its arguments, while it is not counted in any statistics; the
    /// current one is among them if it is possible.
    pub fn enumerate(&self) -> Result<Vec<Value>, EvalError> {
        let trace = self.trace;
        let node = trace.node(self.node);
        let (name, values) = match &node.op {
            Op::Random(distribution) => (
                distribution.spec().name,
                trace.with_args(self.node, |args| distribution.enumerate(args)),
            ),
            Op::Draw(maker) => (
                trace.maker_name(*maker),
                trace.with_params(*maker, |params| {
                    trace.statistics(*maker).enumerate_for(&node.value, params)
                }),
            ),
            Op::Maker(_) => (trace.maker_name(self.node), Ok(None)),
            _ => unreachable!("only random nodes are choices"),
        };
        let values = values.map_err(|error| trace.argument_error(name, error, node.origin))?;
        values.ok_or_else(|| {
            let message = format!(
                "gibbs cannot enumerate the values of this choice: those of {name} are continuous or endless"
            );
            EvalError::other(node.origin, message)
                .hint("move it with mh, slice or nuts, and name the finite choices with scope_include for gibbs")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_zero_are_never_drawn() {
        let none = f64::NEG_INFINITY;
        assert_eq!(draw_place(&[none, none], 0.7), 0);
        for step in 0..100 {
            let u = f64::from(step) / 100.0;
            assert_eq!(draw_place(&[none, 3.0, none], u), 1);
            assert_eq!(draw_place(&[0.0, f64::INFINITY, 5.0], u), 1);
        }
        assert_eq!(draw_place(&[none, 0.0, none], 1.0), 1);
        let of_first = (0..1000).filter(|u| {
            draw_place(&[0.0, smidgen_value::math::ln(3.0)], f64::from(*u) / 1000.0) == 0
        });
        assert_eq!(of_first.count(), 250);
    }
}
