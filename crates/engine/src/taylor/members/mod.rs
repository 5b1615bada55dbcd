//! Sections of one choice that come and go, such as the rows of a cluster: sums of their Taylor polynomials and bounds of their
//! remainders, kept by the roster.
//!
//! With a fixed centre z* every section has terms of its own, l_i, ∇l_i, ∇²l_i at z* and c_i, which hang on its data alone. One
//! that comes brings its terms, one that goes takes them with it: S0, S1, S2 and C stay functions of who is there, at O(d²) for
//! each that came or went ([`Members::follow`]). The roster of the choice tells who these are
//! ([`crate::trace::roster`]); nobody looks at the others. Sums are made anew now and then, so that what rounding
//! leaves behind does not add up.
//!
//! What sections read has to be constant or observed: who reads another choice that moves would have other terms without having
//! gone, and such a choice is refused ([`NotKept`]). So is one that sections read through functions they share, and one
//! whose values do not fill the whole line. The numbers of a section are copied: when it has gone, nothing else
//! is left of it.

mod buckets;
mod kind;
mod terms;

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};
use smidgen_lang::Span;
use smidgen_prob::Support;
use smidgen_value::Value;

use super::{Desk, Unserved};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::section::Evaluator;
use crate::trace::Trace;
use crate::trace::fault::Fault;
use crate::trace::node::{Child, Op};
use crate::trace::roster::{Change, Refusal};
use buckets::{Buckets, Place};
use kind::MemberKind;

/// Why sums over the sections of a choice are not kept.
#[derive(Clone, Debug, PartialEq)]
pub enum NotKept {
    /// What depends on the choice is no set of sections.
    Refused(Refusal),
    /// It is no number or vector that may be anything.
    NotReal,
    /// Sections read it through functions that they share, or are rows of a loop that stay.
    Shared,
    /// Sections read something else that moves.
    Moves { what: String, span: Span },
    /// Sections that should compute the same have different forms.
    Form,
    /// There are no polynomials with bounds.
    Unserved(Unserved),
}

impl fmt::Display for NotKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotKept::Refused(refusal) => write!(f, "{refusal}"),
            NotKept::NotReal => write!(f, "its values do not fill the whole line"),
            NotKept::Shared => {
                write!(f, "its members read it through what they share, or never come and go")
            }
            NotKept::Moves { what, .. } => {
                write!(f, "its members read `{what}` as well, which moves")
            }
            NotKept::Form => write!(f, "its members have different forms"),
            NotKept::Unserved(why) => write!(f, "{why}"),
        }
    }
}

impl NotKept {
    fn moves(trace: &Trace, node: NodeId) -> NotKept {
        let (what, span) = trace.origin(node);
        NotKept::Moves { what: what.to_owned(), span }
    }
}

/// A section.
struct Slot {
    /// The node that it begins with.
    entry: NodeId,
    kind: u32,
    /// Among the numbers of the kind.
    place: u32,
    standing: Standing,
}

/// What the bound of a section says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// There is no centre yet, or nothing beyond the polynomial.
    Silent,
    /// It may object.
    Soft(Place),
    /// There is no bound, or a large one: it is read at every move. Its place among these.
    Hard(u32),
}

/// What sums and bounds are made around.
struct Around {
    centre: Vec<f64>,
    /// The columns of L, one after the other.
    columns: Vec<f64>,
    radius: f64,
    /// A section with a larger bound is read at every move.
    most: f64,
    soft: Buckets,
    hard: Vec<u32>,
    /// Terms that were added or taken off since the sums were made.
    changes: usize,
}

/// The sections of a choice.
pub struct Members {
    choice: NodeId,
    dimension: usize,
    is_vector: bool,
    /// Which trace, which roster of it, and the number of the next change there.
    at: Option<(u64, (u64, u64))>,
    kinds: Vec<MemberKind>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// The slot of each unit of the roster.
    units: Vec<u32>,
    around: Option<Around>,
    desk: Desk,
    evaluator: Evaluator,
    room: Vec<f64>,
    /// Sections whose terms were computed since the last question.
    touched: u64,
}

/// A unit whose section has not been read.
const NEW: u32 = u32::MAX;

fn name_of(trace: &Trace) -> u64 {
    trace.structure_revision() >> 32
}

impl Members {
    /// The sections of a choice as they are now.
    pub fn new(trace: &mut Trace, choice: NodeId) -> Result<Result<Members, NotKept>, EvalError> {
        let support = trace.choice(choice)?.support()?;
        let is_vector = match support {
            Support::Reals => false,
            Support::Interval { low: f64::NEG_INFINITY, high: f64::INFINITY } => false,
            Support::Vectors { .. } => true,
            _ => return Ok(Err(NotKept::NotReal)),
        };
        let dimension = match &trace.node(choice).value {
            Value::Number(_) if !is_vector => 1,
            Value::Vector(xs) if is_vector => xs.len(),
            _ => return Ok(Err(NotKept::NotReal)),
        };
        let mut members = Members {
            choice,
            dimension,
            is_vector,
            at: None,
            kinds: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            units: Vec::new(),
            around: None,
            desk: Desk::default(),
            evaluator: Evaluator::new(),
            room: Vec::new(),
            touched: 0,
        };
        Ok(members.follow(trace).map(|_| members))
    }

    pub fn choice(&self) -> NodeId {
        self.choice
    }

    /// d
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of sections.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// How many sections have been looked at since this was last asked.
    pub fn take_touched(&mut self) -> u64 {
        std::mem::take(&mut self.touched)
    }

    /// The coordinates of the choice.
    pub fn position(&self, trace: &Trace) -> Option<Vec<f64>> {
        let position = match &trace.node(self.choice).value {
            Value::Number(x) if !self.is_vector => vec![*x],
            Value::Vector(xs) if self.is_vector && xs.len() == self.dimension => xs.to_vec(),
            _ => return None,
        };
        position.iter().all(|x| x.is_finite()).then_some(position)
    }

    fn value(&self, z: &[f64]) -> Value {
        if self.is_vector { Value::vector(z.to_vec()) } else { Value::Number(z[0]) }
    }

    /// The log density of the choice itself at z; its arguments are fresh.
    pub fn log_prior(&self, trace: &Trace, z: &[f64]) -> Result<f64, EvalError> {
        match trace.log_density_at(self.choice, &self.value(z)) {
            Err(error) if error.rejects() => Ok(f64::NEG_INFINITY),
            log_p => log_p,
        }
    }

    /// The arguments of the choice, fresh.
    pub fn arguments(&self, trace: &mut Trace) -> Result<Vec<Value>, EvalError> {
        trace.refresh_arguments(self.choice)?;
        Ok(trace.with_args(self.choice, |args| args.iter().map(|x| (*x).clone()).collect()))
    }

    /// Writes z; what follows from it becomes stale.
    pub fn install(&self, trace: &mut Trace, z: &[f64]) {
        debug_assert!(trace.decide_nothing(&[self.choice]));
        trace.set_value(self.choice, self.value(z));
        trace.commit_lazily();
    }

    /// Follows the roster: whoever has come or gone brings or takes his terms. Whether anybody did.
    pub fn follow(&mut self, trace: &mut Trace) -> Result<bool, NotKept> {
        let followed = self.try_to_follow(trace);
        if followed.is_err() {
            self.at = None;
        }
        followed
    }

    fn try_to_follow(&mut self, trace: &mut Trace) -> Result<bool, NotKept> {
        trace.classify_hub(self.choice).map_err(NotKept::Refused)?;
        let name = name_of(trace);
        let hub = trace.sections.hub(self.choice);
        if !hub.plates.is_empty() || !hub.nested.is_empty() {
            return Err(NotKept::Shared);
        }
        let known = self.at.filter(|(of, _)| *of == name).map(|(_, at)| at);
        if known.is_none() {
            // Kinds have other numbers in another trace.
            self.kinds.clear();
        }
        let changes = known.and_then(|at| hub.changes_since(at)).map(<[Change]>::to_vec);
        let mut gone = Vec::new();
        let mut new = match changes {
            Some(changes) if changes.is_empty() => return Ok(false),
            Some(changes) => self.replay(&changes, &mut gone),
            None => {
                self.clear();
                self.units = vec![NEW; hub.units.len()];
                (0..hub.units.len() as u32).collect()
            }
        };
        let hub = trace.sections.hubs.get_mut(&self.choice).expect("it was classified");
        let next = hub.follow();
        self.read_new(trace, &mut new, &mut gone)?;
        if trace.has_fault(Fault::KeptMembers) {
            gone.clear();
        }
        self.take_off(&gone);
        self.bring(&new);
        self.at = Some((name, next));
        self.mend();
        Ok(true)
    }

    fn clear(&mut self) {
        self.kinds.iter_mut().for_each(MemberKind::clear);
        self.slots.clear();
        self.free.clear();
        if let Some(around) = &mut self.around {
            (around.soft, around.changes) = (Buckets::default(), 0);
            around.hard.clear();
        }
    }

    /// Makes the changes of the roster among the units. Gives the places of new sections, and the slots of those that have gone.
    fn replay(&mut self, changes: &[Change], gone: &mut Vec<u32>) -> Vec<u32> {
        let mut looked_at = Vec::new();
        for change in changes {
            match change {
                Change::Came => {
                    looked_at.push(self.units.len() as u32);
                    self.units.push(NEW);
                }
                Change::Went(unit) => {
                    let slot = self.units.swap_remove(*unit as usize);
                    looked_at.push(*unit);
                    if slot != NEW {
                        gone.push(slot);
                    }
                }
            }
        }
        looked_at.sort_unstable();
        looked_at.dedup();
        looked_at.retain(|unit| self.units.get(*unit as usize) == Some(&NEW));
        looked_at
    }

    /// Reads the sections at these units, and gives them slots. One that has gone and come again with the same numbers keeps its
    /// terms, and is neither new nor gone.
    fn read_new(
        &mut self,
        trace: &Trace,
        new: &mut Vec<u32>,
        gone: &mut Vec<u32>,
    ) -> Result<(), NotKept> {
        let mut by_entry: FxHashMap<NodeId, u32> =
            gone.iter().map(|slot| (self.slots[*slot as usize].entry, *slot)).collect();
        let mut back = FxHashSet::default();
        let mut numbers = std::mem::take(&mut self.room);
        for unit in new.iter_mut() {
            let hub = trace.sections.hub(self.choice);
            let number = hub.kind_of(*unit as usize);
            let edge = hub.units[*unit as usize].edge;
            let kind = self.read(trace, number, edge, &mut numbers)?;
            let same = by_entry.get(&edge.node).copied().filter(|slot| {
                let Slot { kind: known, place, .. } = self.slots[*slot as usize];
                known == kind && self.kinds[kind as usize].holds(place, &numbers)
            });
            let slot = match same {
                Some(slot) => {
                    by_entry.remove(&edge.node);
                    back.insert(slot);
                    slot
                }
                None => self.give_slot(edge.node, kind, &numbers),
            };
            (self.units[*unit as usize], *unit) = (slot, slot);
        }
        self.room = numbers;
        if !back.is_empty() {
            new.retain(|slot| !back.contains(slot));
            gone.retain(|slot| !back.contains(slot));
        }
        Ok(())
    }

    /// Reads the section that an edge leads to. Gives the place of its kind here.
    fn read(
        &mut self,
        trace: &Trace,
        number: u32,
        edge: Child,
        numbers: &mut Vec<f64>,
    ) -> Result<u32, NotKept> {
        let walk = trace.sections.kind(number).walk;
        let nodes = self.evaluator.nodes_of(trace, (self.choice, edge), walk);
        let is_free = |id: &&NodeId| {
            let node = trace.node(**id);
            matches!(node.op, Op::Random(_) | Op::Draw(_)) && !node.constrained
        };
        if let Some(free) = nodes.iter().find(is_free) {
            return Err(NotKept::moves(trace, *free));
        }
        let known = self.kinds.iter().position(|kind| kind.number == number);
        let kind = match known {
            Some(kind) => kind,
            None => {
                let hub = (self.choice, self.dimension);
                self.kinds.push(MemberKind::new(trace, hub, number, nodes)?);
                self.kinds.len() - 1
            }
        };
        self.kinds[kind].read(trace, nodes, numbers)?;
        self.touched += 1;
        Ok(kind as u32)
    }

    fn give_slot(&mut self, entry: NodeId, kind: u32, numbers: &[f64]) -> u32 {
        let place = self.kinds[kind as usize].put(numbers);
        let slot = Slot { entry, kind, place, standing: Standing::Silent };
        match self.free.pop() {
            Some(free) => {
                self.slots[free as usize] = slot;
                free
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        }
    }
}
