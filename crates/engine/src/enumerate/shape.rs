//! The steps of a plan without the names of nodes and the constants: rows of data that one line of the program
//! made have one shape.

use smallvec::SmallVec;
use smidgen_prob::{Distribution, Function, Maker};
use smidgen_value::Value;

use super::kept::{MemoRootCache, Root};
use super::selected::Selected;
use crate::id::NodeId;
use crate::trace::Trace;

/// Where an argument comes from: an operand of the plan, or a node of D by its place.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Source {
    Fixed(u32),
    Slot(u32),
}

pub(super) type Sources = SmallVec<[Source; 3]>;

/// How a node of D gets its value.
pub(super) enum Step {
    /// It is the choice.
    Given,
    Apply(&'static Function, Sources),
    /// A structure that keeps its root.
    Follow(Source),
    Request {
        memo: NodeId,
        key: Source,
        /// The place of the memo table among [`MemoRootCache`].
        table: u32,
    },
    /// An observed call: the operator, the place of the observed value, and that of the same in the
    /// type that this maker gives. A candidate whose operator was made by it is predicted.
    Predict {
        operator: Source,
        observed: u32,
        typed: u32,
        maker: &'static dyn Maker,
    },
    /// A structure that only selects.
    Select(Selected),
    /// The same where it is observed: its log density.
    Weigh(Selected),
    /// Any other structure, with its existential arguments.
    Expand(Sources),
}

impl Step {
    /// The nodes of D that have to come before.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> + use<> {
        let sources: Sources = match self {
            Step::Given => Sources::new(),
            Step::Apply(_, sources) | Step::Expand(sources) => sources.clone(),
            Step::Follow(source)
            | Step::Request { key: source, .. }
            | Step::Predict { operator: source, .. } => SmallVec::from_elem(*source, 1),
            Step::Select(selected) | Step::Weigh(selected) => {
                let mut sources = Sources::new();
                selected.sources(&mut sources);
                sources
            }
        };
        sources.into_iter().filter_map(|source| match source {
            Source::Slot(place) => Some(place as usize),
            Source::Fixed(_) => None,
        })
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Step) -> bool {
        match (self, other) {
            (Step::Given, Step::Given) => true,
            (Step::Apply(f, a), Step::Apply(g, b)) => std::ptr::eq(*f, *g) && a == b,
            (Step::Follow(a), Step::Follow(b)) => a == b,
            (Step::Request { memo, key, .. }, Step::Request { memo: other, key: k, .. }) => {
                memo == other && key == k
            }
            (
                Step::Predict { operator, observed, typed, maker },
                Step::Predict { operator: o, observed: x, typed: t, maker: other },
            ) => (operator, observed, typed) == (o, x, t) && std::ptr::addr_eq(*maker, *other),
            (Step::Select(a), Step::Select(b)) | (Step::Weigh(a), Step::Weigh(b)) => a == b,
            (Step::Expand(a), Step::Expand(b)) => a == b,
            _ => false,
        }
    }
}

pub(super) struct Shape {
    pub(super) steps: SmallVec<[Step; 8]>,
    pub(super) absorbing: SmallVec<[(&'static dyn Distribution, Sources); 2]>,
    pub(super) observation_moves: bool,
    /// Whether T, but for families of memo keys, is the applications that the steps predict.
    pub(super) whole: bool,
    /// Whether some structure of D stands under tags.
    pub(super) tagged: bool,
    /// The families of the choice's value that are asked for.
    pub(super) lookups: SmallVec<[Lookup; 2]>,
    /// Whether these are all that the choice decides, but for the applications that steps predict.
    pub(super) looks_up: bool,
}

/// The family of the choice's value in a memo table.
pub(super) struct Lookup {
    pub(super) memo: NodeId,
    pub(super) table: u32,
    /// The place of the first node of D that asks for it.
    pub(super) asks: u32,
    /// How many nodes of D do.
    pub(super) requests: u32,
}

impl Shape {
    /// Finds the look-ups of the choice's value.
    pub(super) fn find_lookups(&mut self) {
        let mut is_choice: SmallVec<[bool; 8]> = SmallVec::new();
        let slot = |known: &[bool], source: &Source| match source {
            Source::Slot(place) => known.get(*place as usize).copied().unwrap_or(false),
            Source::Fixed(_) => false,
        };
        for (at, step) in self.steps.iter().enumerate() {
            is_choice.push(match step {
                Step::Given => true,
                Step::Follow(source) => slot(&is_choice, source),
                _ => false,
            });
            match step {
                Step::Request { memo, key, table } if slot(&is_choice, key) => {
                    let known = self.lookups.iter().position(|lookup| lookup.memo == *memo);
                    let known = known.unwrap_or_else(|| {
                        let (memo, table, asks) = (*memo, *table, at as u32);
                        self.lookups.push(Lookup { memo, table, asks, requests: 0 });
                        self.lookups.len() - 1
                    });
                    self.lookups[known].requests += 1;
                }
                Step::Request { .. } | Step::Expand(_) => self.looks_up = false,
                _ => {}
            }
        }
    }

    /// How many nodes of D ask for families of a memo table.
    pub(super) fn requests_of(&self, sought: NodeId) -> u32 {
        let asks = |step: &&Step| matches!(step, Step::Request { memo, .. } if *memo == sought);
        self.steps.iter().filter(asks).count() as u32
    }

    /// Brings what a candidate reads of memo tables up to date.
    pub(super) fn refresh(
        &self,
        trace: &mut Trace,
        roots: &mut MemoRootCache,
        (k, value): (usize, &Value),
    ) -> Option<()> {
        for lookup in &self.lookups {
            let at = (lookup.table as usize, k);
            if let Some(Root::Node(_, id)) = roots.root(trace, at, lookup.memo, value) {
                trace.refresh(id).ok()?;
            }
        }
        Some(())
    }
}

impl PartialEq for Shape {
    fn eq(&self, other: &Shape) -> bool {
        let same = |a: &(&'static dyn Distribution, Sources),
                    b: &(&'static dyn Distribution, Sources)| {
            std::ptr::eq(a.0.spec(), b.0.spec()) && a.1 == b.1
        };
        self.steps == other.steps
            && self.absorbing.len() == other.absorbing.len()
            && self.absorbing.iter().zip(&other.absorbing).all(|(a, b)| same(a, b))
            && (self.observation_moves, self.whole, self.tagged)
                == (other.observation_moves, other.whole, other.tagged)
    }
}
