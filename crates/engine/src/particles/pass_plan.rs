//! The segments of a block as lane programs whose lanes are particles.
//!
//! A segment's program reads columns **carried** over from earlier segments (gathered by ancestors at each step
//! for as long as somebody will read them, so that reading an earlier group's value never walks back
//! through the ancestry), constants, and values outside the block or of the reference, which are read from the trace once
//! per pass. It draws the choices of the group, computes what follows, and weighs what absorbs. Before a step, the
//! look ahead is a program of its own over the columns of the step before.
//!
//! Segments of one shape, as those of most chains are, share one program.

use rustc_hash::FxHashMap;

use super::LookAhead;
use super::bound::{Bound, Inputs, Library};
use super::segment::Segment;
use super::writer::{ColumnKind, Frame, NO_REGISTER, Read, Writer};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::lanes::{Held, Rule};
use crate::program::marked;
use crate::program::template::renamed;
use crate::trace::Trace;
use crate::trace::node::Op;

/// Where a column comes from: the segment before, or what was carried into that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    Own(u32),
    Carried(u32),
}

/// Leaves of a look ahead name columns carried into the segment before by their number, and its own from here on.
pub(super) const OWN: u32 = 1 << 30;

impl From {
    /// The column that a leaf of a look ahead names.
    pub fn named(cell: u32) -> From {
        if cell >= OWN { From::Own(cell - OWN) } else { From::Carried(cell) }
    }
}

/// One segment.
pub(super) struct Part {
    /// The nodes that it makes, in order, as its program holds them.
    pub nodes: Vec<NodeId>,
    pub program: Bound,
    pub ahead: Option<Bound>,
    /// The columns carried into it.
    pub numbers: Vec<From>,
    pub boxed: Vec<From>,
    /// Where its own columns begin among those of all segments.
    pub first_number: usize,
    pub first_boxed: usize,
}

#[derive(Default)]
pub(super) struct PassPlan {
    pub parts: Vec<Part>,
    pub library: Library,
    pub inputs: Inputs,
    pub number_columns: usize,
    pub boxed_columns: usize,
    pub most_numbers: usize,
    pub most_boxed: usize,
    pub looks_ahead: bool,
}

/// Where a node of D is made.
#[derive(Clone, Copy)]
pub(super) struct Made {
    pub segment: u32,
    /// The first segment whose choices reach it without passing another choice.
    pub earliest: u32,
}

pub(super) struct Compiler<'a> {
    pub trace: &'a mut Trace,
    pub plan: PassPlan,
    pub made: FxHashMap<NodeId, Made>,
    /// The columns carried into the segment before, and its own.
    pub carried: Frame,
    pub own: Frame,
    /// Nodes of D that follow something that does not move.
    pub standing: FxHashMap<NodeId, Read>,
}

impl PassPlan {
    pub fn compile(
        trace: &mut Trace,
        segments: &[Segment],
        look_ahead: LookAhead,
    ) -> Result<PassPlan, EvalError> {
        let mut compiler = Compiler {
            trace,
            plan: PassPlan::default(),
            made: FxHashMap::default(),
            carried: Frame::default(),
            own: Frame::default(),
            standing: FxHashMap::default(),
        };
        compiler.place(segments);
        let looks_ahead = compiler.looks_ahead(segments, look_ahead);
        let crossing = if looks_ahead { compiler.crossing(segments) } else { Vec::new() };
        let last_read = compiler.last_reads(segments);
        let mut carried: Vec<NodeId> = Vec::new();
        for (t, segment) in segments.iter().enumerate() {
            let before = std::mem::take(&mut carried);
            let own = t.checked_sub(1).map_or(&[][..], |s| &segments[s].nodes[..]);
            let live = |id: &&NodeId| last_read.get(*id).is_some_and(|last| *last >= t as u32);
            carried.extend(before.iter().chain(own).filter(live));
            let ahead = match crossing.get(t).filter(|_| t > 0) {
                Some(crossing) => Some(compiler.ahead(crossing, t)?),
                None => None,
            };
            compiler.segment(segment, &carried, ahead)?;
        }
        let mut plan = compiler.plan;
        plan.looks_ahead = looks_ahead;
        Ok(plan)
    }
}

/// A frame of columns that are carried on: what each held in terms of the columns before is held in the new ones.
struct Gathering {
    frame: Frame,
    numbers: Vec<From>,
    boxed: Vec<From>,
}

impl Gathering {
    fn add(&mut self, id: NodeId, held: &Held, kinds: &[ColumnKind], from: fn(u32) -> From) {
        let held = match held {
            Held::Uniform(_) => unreachable!("no column is the same in all lanes"),
            Held::Boxed(column) => {
                self.boxed.push(from(*column));
                Held::Boxed(self.boxed.len() as u32 - 1)
            }
            Held::Marked(template) => Held::Marked(renamed(template, &mut |column| {
                self.numbers.push(from(column));
                self.frame.kinds.push(kinds[column as usize]);
                marked::local(self.numbers.len() as u32 - 1)
            })),
        };
        self.frame.held.insert(id, held);
    }
}

impl Compiler<'_> {
    fn place(&mut self, segments: &[Segment]) {
        for (segment, t) in segments.iter().zip(0..) {
            for id in &segment.nodes {
                let earliest = match self.trace.node(*id).is_random() {
                    true => t,
                    false => self.earliest_argument(*id).unwrap_or(t),
                };
                self.made.insert(*id, Made { segment: t, earliest });
            }
        }
    }

    /// The first segment whose choices reach an argument of this node.
    pub fn earliest_argument(&self, id: NodeId) -> Option<u32> {
        let parents = self.trace.parents(id).into_iter();
        parents.filter_map(|parent| self.made.get(&parent)).map(|made| made.earliest).min()
    }

    /// The last segment that reads a node.
    fn last_reads(&self, segments: &[Segment]) -> FxHashMap<NodeId, u32> {
        let mut last = FxHashMap::default();
        for (segment, t) in segments.iter().zip(0..) {
            let readers = segment.nodes.iter().chain(&segment.absorbing).chain(&segment.makers);
            for id in readers {
                for parent in self.trace.parents(*id) {
                    if self.made.contains_key(&parent) {
                        last.insert(parent, t);
                    }
                }
            }
        }
        last
    }

    /// What was carried into the segment before, or made there, and goes on.
    fn gather(&mut self, carried: &[NodeId]) -> Gathering {
        let (numbers, boxed) = (Vec::new(), Vec::new());
        let mut gathering = Gathering { frame: Frame::default(), numbers, boxed };
        for id in carried.iter().filter(|id| !self.standing.contains_key(id)) {
            match self.own.held.get(id) {
                Some(held) => gathering.add(*id, held, &self.own.kinds, From::Own),
                None => {
                    let held = &self.carried.held[id];
                    gathering.add(*id, held, &self.carried.kinds, From::Carried);
                }
            }
        }
        gathering
    }

    fn segment(
        &mut self,
        segment: &Segment,
        carried: &[NodeId],
        ahead: Option<Bound>,
    ) -> Result<(), EvalError> {
        let Gathering { frame, numbers, boxed } = self.gather(carried);
        self.carried = frame;
        let mut writer = Writer::default();
        for id in &segment.nodes {
            let read = self.make(&mut writer, *id)?;
            if !matches!(read, Read::Held(_)) {
                self.standing.insert(*id, read.clone());
            }
            writer.know(*id, read);
        }
        for id in segment.absorbing.iter().chain(&segment.makers) {
            let reads = self.reads(&mut writer, *id)?;
            self.weigh(&mut writer, *id, reads)?;
        }
        let (program, own) = self.plan.library.add(writer, &segment.nodes, &mut self.plan.inputs);
        self.own = own;
        let plan = &mut self.plan;
        let part = Part {
            nodes: segment.nodes.clone(),
            program,
            ahead,
            first_number: plan.number_columns,
            first_boxed: plan.boxed_columns,
            numbers,
            boxed,
        };
        plan.number_columns += self.own.kinds.len();
        plan.boxed_columns += self.own.boxed as usize;
        plan.most_numbers = plan.most_numbers.max(part.numbers.len());
        plan.most_boxed = plan.most_boxed.max(part.boxed.len());
        plan.parts.push(part);
        Ok(())
    }

    /// A node of D.
    fn make(&mut self, writer: &mut Writer, id: NodeId) -> Result<Read, EvalError> {
        let reads = self.reads(writer, id)?;
        let node = self.trace.node(id);
        Ok(match &node.op {
            Op::Random(distribution) => {
                let place = writer.place(id, node.origin);
                Read::Held(writer.draw(place, *distribution, &reads))
            }
            Op::Maker(made) => {
                let place = writer.place(id, node.origin);
                let latent = made.maker.latent().expect("only a latent maker is in D");
                let held = Read::Held(writer.draw(place, latent, &reads));
                // A latent parameter that moves: its applications absorb.
                writer.call(place, Rule::Marginal, std::slice::from_ref(&held), NO_REGISTER);
                held
            }
            _ => deterministic(self.trace, writer, id, &reads),
        })
    }

    /// An absorbing node: its density at the value it has.
    pub fn weigh(
        &mut self,
        writer: &mut Writer,
        id: NodeId,
        reads: Vec<Read>,
    ) -> Result<(), EvalError> {
        let place = writer.place(id, self.trace.node(id).origin);
        let distribution = match &self.trace.node(id).op {
            Op::Random(distribution) => *distribution,
            Op::Maker(made) => match made.maker.latent() {
                Some(latent) => latent,
                None => {
                    writer.call(place, Rule::Marginal, &reads, NO_REGISTER);
                    return Ok(());
                }
            },
            _ => unreachable!("only random choices and makers absorb"),
        };
        let mut all = vec![self.outside(writer, id)?];
        all.extend(reads);
        writer.density(place, distribution, &all);
        Ok(())
    }

    pub fn outside(&mut self, writer: &mut Writer, id: NodeId) -> Result<Read, EvalError> {
        Ok(writer.outside(id, self.trace.value(id)?))
    }

    /// The arguments of a node of a segment.
    fn reads(&mut self, writer: &mut Writer, id: NodeId) -> Result<Vec<Read>, EvalError> {
        let operands: Vec<Operand> =
            self.trace.node(id).args.iter().map(|arg| arg.operand.clone()).collect();
        let mut read = |operand: Operand| {
            let id = match operand {
                Operand::Constant(value) => return Ok(Read::Constant(value)),
                Operand::Node(id) => id,
            };
            if let Some(read) = writer.known(id) {
                return Ok(read);
            }
            let read = match self.made.contains_key(&id) {
                true if self.standing.contains_key(&id) => self.standing[&id].clone(),
                true => {
                    let held = &self.carried.held[&id];
                    Read::Held(writer.bring(held, &self.carried.kinds, &|column| column))
                }
                false => self.outside(writer, id)?,
            };
            writer.know(id, read.clone());
            Ok(read)
        };
        operands.into_iter().map(&mut read).collect()
    }
}

/// A function or a structure that decides nothing.
pub(super) fn deterministic(
    trace: &Trace,
    writer: &mut Writer,
    id: NodeId,
    reads: &[Read],
) -> Read {
    let node = trace.node(id);
    match &node.op {
        Op::Function(function) => {
            let place = writer.place(id, node.origin);
            Read::Held(writer.function(place, function, reads))
        }
        Op::Structure(_) => reads.last().expect("a structure has a root").clone(),
        _ => unreachable!("draws of made procedures are not compiled, other nodes not in D"),
    }
}
