//! What an evaluation carries along: where new nodes belong, the random stream, and, in a proposal, what has to be noted
//! so that an attempt can be made again.

use smidgen_lang::Span;
use smidgen_value::{Rng, Symbol};

use super::node::Observed;
use super::proposal::{Proposed, Proposer, Rehearsal};
use super::script::Script;
use crate::error::EvalError;
use crate::id::{FamilyId, NodeId};
use crate::tag::Tags;

/// What an evaluation carries along.
pub struct Evaluation<'r> {
    pub(crate) rng: &'r mut Rng,
    /// Where new nodes belong.
    pub(crate) family: FamilyId,
    pub(crate) tags: Tags,
    pub(crate) depth: u32,
    /// The calls being evaluated, outermost first.
    pub(crate) path: Vec<(Symbol, Span)>,
    /// Log density of the observed choices that were made.
    pub(crate) log_observed: f64,
    /// The choice that took the observed value handed down last.
    pub(crate) observed_at: Option<NodeId>,
    /// What runs for T' in one place, and may have to run again, has made so far.
    pub(crate) making: Option<Making>,
    /// All choices that were made so.
    pub(crate) made: Vec<(NodeId, MadeAt)>,
    /// Whether nothing is made, and how much would be.
    pub(crate) rehearsal: Option<Rehearsal>,
    pub(crate) phase: Phase<'r>,
}

/// A part of what runs for T' that draws from a stream of its own: what runs below a restructured node,
/// or a memoised family. Whoever asks first for a family makes it, and who that is may differ from
/// one attempt to the next; so it belongs to none of those that ask.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Portion {
    Below(NodeId),
    /// By the address of the family.
    Family(u64),
}

impl Portion {
    /// The number of its stream.
    pub(crate) fn stream(self) -> u64 {
        match self {
            Portion::Below(structure) => structure.index() as u64,
            Portion::Family(address) => address,
        }
    }
}

/// How many choices were made for T' in a portion so far.
pub(crate) struct Making {
    pub(crate) portion: Portion,
    pub(crate) choices: usize,
}

impl Making {
    pub(crate) fn next(&self) -> MadeAt {
        MadeAt { portion: self.portion, ordinal: self.choices }
    }
}

/// Where a choice is made for T': how many were made in the same portion before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct MadeAt {
    pub(crate) portion: Portion,
    pub(crate) ordinal: usize,
}

/// A choice to be made for T' that an observation comes to.
#[derive(Clone)]
pub(crate) struct NewClaim {
    pub(crate) at: MadeAt,
    pub(crate) observed: Observed,
}

/// Why an evaluation happens.
pub(crate) enum Phase<'r> {
    /// A directive: an improper choice starts at its starting value, an observed value of the
    /// wrong type is an error.
    Directive { improper: bool },
    /// A proposal: pending nodes are regenerated when read.
    Proposal(Regeneration<'r>),
}

/// The state of a regeneration; see [`crate::trace::proposal`].
pub(crate) struct Regeneration<'r> {
    pub(crate) proposer: &'r mut dyn Proposer,
    /// Log weights of the new trace.
    pub(crate) log_new: f64,
    /// Choices that an observation leaves, and those it comes to, with the observed value.
    pub(crate) released: &'r [NodeId],
    pub(crate) claimed: &'r [(NodeId, Observed)],
    /// Choices that an observation came to and that were not prepared for it.
    pub(crate) redirected: Vec<(NodeId, Observed)>,
    /// Likewise for choices that are made for T'.
    pub(crate) claimed_new: &'r [NewClaim],
    pub(crate) redirected_new: Vec<NewClaim>,
    /// Claimed choices that their observations did come to.
    pub(crate) reached: Vec<NodeId>,
    /// If the attempt may have to be made again: the seed of what runs for T', so that it runs
    /// alike, and, while it runs, the stream of everything else.
    pub(crate) replay: Option<u64>,
    pub(crate) parked: Option<Box<Rng>>,
    /// What was proposed for the principals, if the attempt may have to be made again.
    pub(crate) proposed: Vec<(NodeId, Proposed)>,
    /// For a particle: the choices it makes, or made, in order.
    pub(crate) script: Option<&'r mut Script>,
}

impl<'r> Regeneration<'r> {
    /// Nothing observed moves, nothing has to be made again.
    #[inline]
    pub(crate) fn new(proposer: &'r mut dyn Proposer) -> Regeneration<'r> {
        Regeneration {
            proposer,
            log_new: 0.0,
            released: &[],
            claimed: &[],
            redirected: Vec::new(),
            claimed_new: &[],
            redirected_new: Vec::new(),
            reached: Vec::new(),
            replay: None,
            parked: None,
            proposed: Vec::new(),
            script: None,
        }
    }
}

impl<'r> Evaluation<'r> {
    #[inline]
    pub(crate) fn of_proposal(rng: &'r mut Rng, regeneration: Regeneration<'r>) -> Evaluation<'r> {
        Evaluation {
            phase: Phase::Proposal(regeneration),
            ..Evaluation::of_directive(rng, FamilyId::NONE, false)
        }
    }

    #[inline]
    pub(crate) fn of_directive(
        rng: &'r mut Rng,
        family: FamilyId,
        improper: bool,
    ) -> Evaluation<'r> {
        Evaluation {
            rng,
            family,
            tags: Tags::default(),
            depth: 0,
            path: Vec::new(),
            log_observed: 0.0,
            observed_at: None,
            making: None,
            made: Vec::new(),
            rehearsal: None,
            phase: Phase::Directive { improper },
        }
    }

    /// The observed value that the choice to be made next has to take, because an observation will
    /// come to it.
    pub(crate) fn claim_on_next(&self) -> Option<Observed> {
        let (Some(making), Phase::Proposal(regeneration)) = (&self.making, &self.phase) else {
            return None;
        };
        let next = making.next();
        let claim = regeneration.claimed_new.iter().find(|claim| claim.at == next);
        claim.map(|claim| claim.observed.clone())
    }

    /// Notes that a choice was made for T', if it may have to be made again.
    pub(crate) fn note_made(&mut self, id: NodeId) {
        if let Some(making) = &mut self.making {
            self.made.push((id, making.next()));
            making.choices += 1;
        }
    }

    /// The script of the particle that is being made.
    #[inline]
    pub(crate) fn script(&mut self) -> Option<&mut Script> {
        match &mut self.phase {
            Phase::Proposal(regeneration) => regeneration.script.as_deref_mut(),
            Phase::Directive { .. } => None,
        }
    }

    #[inline]
    pub(crate) fn has_script(&self) -> bool {
        matches!(&self.phase, Phase::Proposal(regeneration) if regeneration.script.is_some())
    }

    pub(crate) fn is_proposal(&self) -> bool {
        matches!(self.phase, Phase::Proposal(_))
    }

    pub(crate) fn fail<T>(&self, error: EvalError) -> Result<T, EvalError> {
        Err(error.with_path(&self.path))
    }
}
