//! A move that changes what exists, rehearsed: the program runs for T', but nothing is made. Every value of T' is a constant
//! on the way ([`Rehearsal`]), so branches are taken, calls made and functions applied without nodes, families or edges, and T
//! stays where it is. D gets its new values in place. That gives log α, and most moves of this kind are
//! rejected: they cost an evaluation and a few values to write back.
//!
//! A move that is accepted is made: the rehearsal is undone, the random stream goes back to where it began, and the whole
//! proposal takes the same way. So whether a move was rehearsed cannot be seen from what it does.
//!
//! Rehearsed is what a single proposed choice decides where T holds nothing but plain choices, functions and structure: no
//! observations, no memoised families, no applications of made procedures, no tags. Where T' would hold
//! such a thing, or an error is met, the rehearsal is given up and the whole proposal made.
//!
//! Cost: |D| + |A| + what runs for T'; nothing for T.

use std::ops::ControlFlow;

use smidgen_value::rng::StreamPosition;
use smidgen_value::{Rng, Value};

use super::{Preset, Proposal, Proposer, circular};
use crate::error::{EvalError, Mistake};
use crate::id::NodeId;
use crate::operand::{Operand, Operands};
use crate::trace::Trace;
use crate::trace::eval::{Evaluation, Phase, Regeneration, Site};
use crate::trace::journal::Edit;
use crate::trace::node::{MemoEntry, MemoKey, Structure, StructureKind};
use crate::trace::scaffold::Scaffold;

/// What an evaluation that makes nothing has drawn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rehearsal {
    pub(crate) choices: usize,
}

/// A move that was rehearsed, to be made if it is accepted.
pub(crate) struct Rehearsed {
    value: Value,
    /// Where the stream stood.
    place: StreamPosition,
    /// Unconstrained choices that would be made.
    choices: usize,
}

/// Whether rehearsals pay: one that is rejected has saved work, one that is accepted or given up was for
/// nothing. Nothing that a move does depends on it.
#[derive(Default)]
pub(crate) struct Credit(i32);

impl Credit {
    const MOST: i32 = 16;
    const LEAST: i32 = -64;

    fn add(&mut self, gain: i32) {
        self.0 = (self.0 + gain).clamp(Credit::LEAST, Credit::MOST);
    }

    /// Whether to rehearse the next move. While there is no credit, it grows.
    fn allows(&mut self) -> bool {
        if self.0 < 0 {
            self.0 += 1;
        }
        self.0 >= 0
    }
}

impl<'t> Proposal<'t> {
    /// As [`Proposal::propose`], for a caller who asks for the weights and the number of choices
    /// ([`Proposal::choices`]) and then accepts with [`Proposal::install`] or drops it: what would be made may not
    /// be there.
    pub fn rehearse(
        trace: &'t mut Trace,
        scaffold: &'t mut Scaffold,
        principals: &[NodeId],
        proposer: &mut dyn Proposer,
        rng: &mut Rng,
    ) -> Result<Proposal<'t>, EvalError> {
        Proposal::propose_or_rehearse(trace, scaffold, principals, proposer, (rng, true))
    }

    /// Number of unconstrained choices in the trace as proposed.
    pub fn choices(&self) -> usize {
        let there = self.trace.choices.len();
        match &self.scaffold.rehearsed {
            Some(rehearsed) => there + rehearsed.choices - self.scaffold.transient_choices,
            None => there,
        }
    }

    /// Whether what would be made is not there.
    pub fn is_rehearsed(&self) -> bool {
        self.scaffold.rehearsed.is_some()
    }

    /// Accepts the move.
    pub fn install(mut self, rng: &mut Rng) -> Result<(), EvalError> {
        if let Some(rehearsed) = self.scaffold.rehearsed.take() {
            self.scaffold.credit.add(-3);
            let log_new = self.log_new;
            self.undo();
            rng.go_back(rehearsed.place);
            if self.attempt(&mut Preset(rehearsed.value), rng)?.is_continue() {
                return Err(circular(self.trace.node(self.scaffold.principals[0]).origin));
            }
            debug_assert_eq!(log_new.to_bits(), self.log_new.to_bits(), "it went another way");
        }
        self.commit();
        Ok(())
    }

    /// The proposal of this value, rehearsed if that is the way.
    pub(super) fn rehearse_or_attempt(
        &mut self,
        mut preset: Preset,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        if !self.scaffold.can_be_rehearsed(self.trace) || !self.scaffold.credit.allows() {
            return self.attempt_all(&mut preset, rng);
        }
        let place = rng.place();
        let principal = self.scaffold.target[0];
        match self.attempt_rehearsal(principal, &mut preset, rng)? {
            ControlFlow::Break(choices) => {
                self.scaffold.credit.add(1);
                self.scaffold.rehearsed = Some(Rehearsed { value: preset.0, place, choices });
                Ok(())
            }
            ControlFlow::Continue(()) => {
                self.scaffold.credit.add(-4);
                self.undo();
                rng.go_back(place);
                self.attempt_all(&mut preset, rng)
            }
        }
    }

    /// Breaks with the number of choices that would be made.
    fn attempt_rehearsal(
        &mut self,
        principal: NodeId,
        preset: &mut Preset,
        rng: &mut Rng,
    ) -> Result<ControlFlow<usize>, EvalError> {
        self.trace.take_impossible();
        self.trace.refresh_scaffold(self.scaffold)?;
        self.log_old = self.trace.log_absorbed(self.scaffold)?;
        self.trace.set_pending(self.scaffold);
        self.trace.set_value(principal, preset.0.clone());
        self.trace.node_mut(principal).pending = false;
        let mut cx = Evaluation::of_proposal(rng, Regeneration::new(preset));
        cx.rehearsal = Some(Rehearsal::default());
        let done = self.trace.regenerate(self.scaffold, &mut cx).is_ok();
        let only_values = |edit: &Edit| matches!(edit, Edit::Value(..));
        let made_nothing = self.trace.edits_since(self.savepoint).iter().all(only_values);
        let (Phase::Proposal(regeneration), Some(rehearsal)) = (cx.phase, cx.rehearsal) else {
            return Ok(ControlFlow::Continue(()));
        };
        self.log_new = regeneration.log_new;
        if done && made_nothing && self.trace.take_impossible() == 0 {
            return Ok(ControlFlow::Break(rehearsal.choices));
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Scaffold {
    /// Whether a move of its principal, a plain choice, may be rehearsed, and changes what exists.
    pub(super) fn can_be_rehearsed(&self, trace: &Trace) -> bool {
        self.restructures
            && self.transient_is_plain
            && !self.observation_moves
            && self.makers.is_empty()
            && !trace.is_lenient
            && trace.given.is_none()
    }
}

impl Trace {
    /// The value that a structure of D would have with the body that its existential arguments choose.
    pub(super) fn rehearse_body(
        &mut self,
        structure: &Structure,
        values: &[Value],
        site: Site<'static>,
        cx: &mut Evaluation<'_>,
    ) -> Result<Value, EvalError> {
        let env = &structure.environment;
        cx.tags = structure.tags.clone();
        let root = match &structure.kind {
            StructureKind::Branch { then, otherwise } => {
                let taken = if self.truth(&values[0], site.span, cx)? { then } else { otherwise };
                self.eval(taken, env, cx, None)?
            }
            StructureKind::Call { operands } => {
                let operands = self.rehearsed_operands(operands, cx)?;
                self.apply(Operand::Constant(values[0].clone()), operands, site, cx, None)?
            }
            StructureKind::HigherOrder { which, operands, deciding } => {
                let mut operands = operands.clone();
                for (place, value) in deciding.iter().zip(values) {
                    operands[*place] = Operand::Constant(value.clone());
                }
                let operands = self.rehearsed_operands(&operands, cx)?;
                self.apply_higher_order(*which, operands, site, cx, None)?
            }
            StructureKind::Request { memo } => {
                let key = values.iter().map(Value::plain).collect();
                self.rehearsed_request(*memo, &key, site, cx)?
            }
            StructureKind::Include { .. } | StructureKind::Exclude { .. } => {
                return Err(given_up(site));
            }
        };
        match root {
            Operand::Constant(value) => Ok(value),
            Operand::Node(_) => Err(given_up(site)),
        }
    }

    fn rehearsed_operands(
        &mut self,
        operands: &Operands,
        cx: &mut Evaluation<'_>,
    ) -> Result<Operands, EvalError> {
        operands.iter().map(|operand| self.rehearsed_operand(operand.clone(), cx)).collect()
    }

    /// In a rehearsal everything that is read is a constant.
    #[inline]
    pub(crate) fn rehearsed_operand(
        &mut self,
        operand: Operand,
        cx: &mut Evaluation<'_>,
    ) -> Result<Operand, EvalError> {
        match operand {
            Operand::Node(id) if cx.rehearsal.is_some() => {
                self.settle(id, cx)?;
                Ok(Operand::Constant(self.node(id).value.clone()))
            }
            operand => Ok(operand),
        }
    }

    /// A memoised family that is there, and stays: T holds none.
    pub(crate) fn rehearsed_request(
        &mut self,
        memo: NodeId,
        key: &MemoKey,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
    ) -> Result<Operand, EvalError> {
        let Some(MemoEntry::Family(family)) = self.memo(memo).families.get(key) else {
            return Err(given_up(site));
        };
        match self.families[family.index()].root.clone() {
            Some(root) => self.rehearsed_operand(root, cx),
            None => Err(given_up(site)),
        }
    }

    /// The choice to be made next is one that a rehearsal can make: it has no tags.
    pub(crate) fn rehearsed_choice(
        &self,
        value: Value,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
    ) -> Result<Operand, EvalError> {
        match &mut cx.rehearsal {
            Some(rehearsal) if cx.tags.is_empty() => {
                rehearsal.choices += 1;
                Ok(Operand::Constant(value))
            }
            _ => Err(given_up(site)),
        }
    }
}

/// A rehearsal cannot go on: nobody sees this error.
#[cold]
pub(crate) fn given_up(site: Site<'_>) -> EvalError {
    EvalError::new(Mistake::Clash, site.span)
}
