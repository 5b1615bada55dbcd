//! A chain of finite choices as lane programs: per segment one for what its nodes come to over the values of its choice,
//! one for the densities over these values, and one over pairs of neighbouring values, for what hangs on both.
//!
//! In most chains the segments are alike. What a segment has in common with the one before (`repeats`) need not be
//! computed for it, and densities of the same shape are weighed together, whichever segments they belong to
//! ([`Together`]).

use rustc_hash::FxHashMap;
use smidgen_prob::Distribution;

use super::bound::{Bound, Inputs, Library};
use super::pass_plan::deterministic;
use super::segment::Segment;
use super::writer::{Frame, Read, Writer};
use crate::error::EvalError;
use crate::formula::Selects;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::lanes::Held;
use crate::trace::Trace;
use crate::trace::node::Op;

/// What a node hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hangs {
    /// The choice of its own segment, at most.
    Here,
    /// The one before as well.
    Before,
    Further,
}

/// Leaves of pairs name columns of the segment at hand by their number, and those of the one before from here on.
pub(super) const BEFORE: u32 = 1 << 30;

/// An argument of a choice.
#[derive(PartialEq)]
pub(super) enum Argument {
    /// The same whatever was before: by its place among the inputs.
    Uniform(u32),
    /// A node of the segment before, by its place among those that are computed there.
    Before(usize),
}

/// One segment.
pub(super) struct PathPart {
    pub choice: NodeId,
    pub distribution: &'static dyn Distribution,
    pub arguments: Vec<Argument>,
    /// The nodes over the values of the choice, which are the only column that they read.
    pub nodes: Bound,
    /// The densities over these values, if there are any.
    pub densities: Option<Bound>,
    /// Over pairs of values, if something hangs on both.
    pub pairs: Option<Bound>,
    pub repeats: Repeats,
    /// All nodes but the choice, in order.
    pub followers: Vec<Follower>,
}

/// What is as in the segment before, whatever is outside the chain.
#[derive(Clone, Copy, Default)]
pub(super) struct Repeats {
    /// The law of the choice and where its arguments are.
    pub law: bool,
    /// What its nodes come to, if the values are the same.
    pub nodes: bool,
}

/// A node that follows from the path.
pub(super) struct Follower {
    pub node: NodeId,
    pub hangs: Hangs,
    /// Its place among the nodes that are computed over the values of the choice.
    pub place: Option<usize>,
}

/// Segments whose densities have the same program, and read the same where lanes cannot differ.
#[derive(Default)]
pub(super) struct Together {
    pub steps: Vec<usize>,
}

#[derive(Default)]
pub(super) struct PathPlan {
    pub parts: Vec<PathPart>,
    /// By their densities over values, and over pairs of values.
    pub by_values: Vec<Together>,
    pub by_pairs: Vec<Together>,
    pub library: Library,
    pub inputs: Inputs,
}

struct Compiler<'a> {
    trace: &'a mut Trace,
    selects: &'a Selects,
    plan: PathPlan,
    /// The segment that makes a node, and what it hangs on there.
    made: FxHashMap<NodeId, (usize, Hangs)>,
    /// The columns over values of the segment before, and of the one at hand.
    before: Frame,
    here: Frame,
    before_nodes: Vec<NodeId>,
    /// Nodes that follow something that does not move.
    standing: FxHashMap<NodeId, Read>,
}

impl PathPlan {
    /// None if a segment makes several choices, or a density hangs on earlier ones.
    pub fn compile(
        trace: &mut Trace,
        segments: &[Segment],
        selects: &Selects,
    ) -> Result<Option<PathPlan>, EvalError> {
        let mut compiler = Compiler {
            trace,
            selects,
            plan: PathPlan::default(),
            made: FxHashMap::default(),
            before: Frame::default(),
            here: Frame::default(),
            before_nodes: Vec::new(),
            standing: FxHashMap::default(),
        };
        for (t, segment) in segments.iter().enumerate() {
            if !compiler.fits(segment, t) {
                return Ok(None);
            }
            compiler.segment(segment, t)?;
        }
        let mut plan = compiler.plan;
        plan.by_values = plan.together(|part| part.densities.as_ref());
        plan.by_pairs = plan.together(|part| part.pairs.as_ref());
        Ok(Some(plan))
    }
}

impl PathPlan {
    fn together(&self, of: impl Fn(&PathPart) -> Option<&Bound>) -> Vec<Together> {
        let mut found: Vec<Together> = Vec::new();
        for (t, part) in self.parts.iter().enumerate() {
            let Some(bound) = of(part) else { continue };
            let fits = |together: &&mut Together| {
                let first = of(&self.parts[together.steps[0]]).expect("it has densities");
                self.library.runs_with(first, bound)
            };
            match found.iter_mut().find(fits) {
                Some(together) => together.steps.push(t),
                None => found.push(Together { steps: vec![t] }),
            }
        }
        found
    }
}

impl Compiler<'_> {
    /// What a node of segment t hangs on, by what it reads.
    fn hangs(&self, id: NodeId, t: usize) -> Hangs {
        let parents = self.selects.parents(self.trace, id).into_iter();
        let read = |parent: NodeId| match self.made.get(&parent) {
            None => Hangs::Here,
            Some((s, hangs)) if *s == t => *hangs,
            Some((s, Hangs::Here)) if s + 1 == t => Hangs::Before,
            Some(_) => Hangs::Further,
        };
        parents.map(read).max().unwrap_or(Hangs::Here)
    }

    fn is_density(&self, id: NodeId) -> bool {
        self.selects.of.get(&id).is_some_and(|select| select.is_density)
    }

    /// Whether a segment makes one choice, and its densities hang on this and the one before alone. Notes
    /// what its nodes hang on.
    fn fits(&mut self, segment: &Segment, t: usize) -> bool {
        let mut choices = segment.nodes.iter().filter(|id| self.trace.node(**id).is_random());
        let (Some(choice), None) = (choices.next().copied(), choices.next()) else { return false };
        // The values of a step are listed before there is one of them: it reads nothing of its own segment.
        let own = |parent: &NodeId| segment.nodes.contains(parent);
        if !matches!(self.trace.node(choice).op, Op::Random(_))
            || self.selects.parents(self.trace, choice).iter().any(own)
            || self.hangs(choice, t) == Hangs::Further
        {
            return false;
        }
        for id in &segment.nodes {
            let hangs = if *id == choice { Hangs::Here } else { self.hangs(*id, t) };
            if hangs == Hangs::Further && self.is_density(*id) {
                return false;
            }
            self.made.insert(*id, (t, hangs));
        }
        let is_plain = |id: &NodeId| matches!(self.trace.node(*id).op, Op::Random(_));
        let fits = |id: &NodeId| is_plain(id) && self.hangs(*id, t) != Hangs::Further;
        segment.makers.is_empty() && segment.absorbing.iter().all(fits)
    }

    fn segment(&mut self, segment: &Segment, t: usize) -> Result<(), EvalError> {
        let made = |id: &&NodeId| self.made[*id].1;
        let of = |hangs: Hangs| segment.nodes.iter().filter(move |id| made(id) == hangs).copied();
        let is_density = |id: &NodeId| self.is_density(*id);
        let (observed, here): (Vec<NodeId>, Vec<NodeId>) = of(Hangs::Here).partition(is_density);
        let pairs: Vec<NodeId> = of(Hangs::Before).collect();
        let hanging = |hangs: Hangs| {
            let absorbing = segment.absorbing.iter().copied();
            absorbing.filter(|id| self.hangs(*id, t) == hangs).collect::<Vec<NodeId>>()
        };
        let (weighed_here, weighed_pairs) = (hanging(Hangs::Here), hanging(Hangs::Before));
        let choice = *here
            .iter()
            .find(|id| self.trace.node(**id).is_random())
            .expect("a segment makes a choice");
        let Op::Random(distribution) = self.trace.node(choice).op else {
            unreachable!("it fits only then")
        };
        let arguments = self.arguments(choice)?;
        self.before = std::mem::take(&mut self.here);
        let mut writer = Writer::default();
        let held = writer.given_choice(distribution, arguments.len());
        writer.know(choice, Read::Held(held));
        let others: Vec<NodeId> = here.iter().copied().filter(|id| *id != choice).collect();
        self.write(&mut writer, &others, &[])?;
        let (nodes, frame) = self.plan.library.add(writer, &here, &mut self.plan.inputs);
        self.here = frame;
        let densities = self.densities(&observed, &weighed_here)?;
        let pairs = self.densities(&pairs, &weighed_pairs)?;
        let followers = segment.nodes.iter().filter(|id| **id != choice);
        let followers = followers.map(|id| Follower {
            node: *id,
            hangs: self.made[id].1,
            place: here.iter().position(|node| node == id),
        });
        let followers = followers.collect();
        let before = self.plan.parts.last();
        let repeats = before.map_or(Repeats::default(), |before| Repeats {
            law: before.distribution.spec().name == distribution.spec().name
                && before.arguments == arguments,
            nodes: self.plan.library.comes_to_the_same(&before.nodes, &nodes),
        });
        let part = PathPart {
            choice,
            distribution,
            arguments,
            nodes,
            densities,
            pairs,
            repeats,
            followers,
        };
        self.before_nodes = here;
        self.plan.parts.push(part);
        Ok(())
    }

    /// Densities, with nodes that only they need: none if there are neither.
    fn densities(
        &mut self,
        nodes: &[NodeId],
        weighed: &[NodeId],
    ) -> Result<Option<Bound>, EvalError> {
        if nodes.is_empty() && weighed.is_empty() {
            return Ok(None);
        }
        let mut writer = Writer::default();
        self.write(&mut writer, nodes, weighed)?;
        Ok(Some(self.plan.library.add(writer, &[], &mut self.plan.inputs).0))
    }

    /// Where the arguments of a choice are, before its segment is begun.
    fn arguments(&mut self, choice: NodeId) -> Result<Vec<Argument>, EvalError> {
        let args = self.trace.node(choice).args.iter();
        let operands: Vec<Operand> = args.map(|arg| arg.operand.clone()).collect();
        let mut arguments = Vec::with_capacity(operands.len());
        for operand in operands {
            let standing = operand.node().and_then(|id| self.standing.get(&id)).cloned();
            arguments.push(match (operand, standing) {
                (Operand::Constant(value), _) | (_, Some(Read::Constant(value))) => {
                    Argument::Uniform(self.plan.inputs.constant(value))
                }
                (_, Some(Read::Outside(id, _))) => Argument::Uniform(self.plan.inputs.outside(id)),
                (Operand::Node(id), _) => {
                    match self.before_nodes.iter().position(|node| *node == id) {
                        Some(place) => Argument::Before(place),
                        None => Argument::Uniform(self.plan.inputs.outside(id)),
                    }
                }
            });
        }
        Ok(arguments)
    }

    /// Deterministic nodes and densities.
    fn write(
        &mut self,
        writer: &mut Writer,
        nodes: &[NodeId],
        weighed: &[NodeId],
    ) -> Result<(), EvalError> {
        for id in nodes {
            let reads = self.reads(writer, *id)?;
            let read = match self.selects.of.get(id) {
                Some(select) => select.formula.write(writer, *id, &reads),
                None => deterministic(self.trace, writer, *id, &reads),
            };
            if !matches!(read, Read::Held(_)) {
                self.standing.insert(*id, read.clone());
            }
            writer.know(*id, read);
        }
        for id in weighed {
            let mut all = vec![writer.outside(*id, self.trace.value(*id)?)];
            all.extend(self.reads(writer, *id)?);
            let node = self.trace.node(*id);
            let Op::Random(distribution) = node.op else { unreachable!("it fits only then") };
            let place = writer.place(*id, node.origin);
            writer.density(place, distribution, &all);
        }
        Ok(())
    }

    /// What a node reads: values of this segment or the one before, or outside the chain.
    fn reads(&mut self, writer: &mut Writer, id: NodeId) -> Result<Vec<Read>, EvalError> {
        let operands: Vec<Operand> = match self.selects.of.get(&id) {
            Some(select) => select.reads.iter().map(|read| Operand::Node(*read)).collect(),
            None => self.trace.node(id).args.iter().map(|arg| arg.operand.clone()).collect(),
        };
        operands.into_iter().map(|operand| self.read(writer, operand)).collect()
    }

    fn read(&mut self, writer: &mut Writer, operand: Operand) -> Result<Read, EvalError> {
        let id = match operand {
            Operand::Constant(value) => return Ok(Read::Constant(value)),
            Operand::Node(id) => id,
        };
        if let Some(read) = writer.known(id) {
            return Ok(read);
        }
        let bring = |writer: &mut Writer, frame: &Frame, first: u32| -> Option<Held> {
            let held = frame.held.get(&id)?;
            Some(writer.bring(held, &frame.kinds, &|column| first + column))
        };
        let read = match self.standing.get(&id) {
            Some(standing) => standing.clone(),
            None => match bring(writer, &self.here, 0) {
                Some(held) => Read::Held(held),
                None => match bring(writer, &self.before, BEFORE) {
                    Some(held) => Read::Held(held),
                    None => writer.outside(id, self.trace.value(id)?),
                },
            },
        };
        writer.know(id, read.clone());
        Ok(read)
    }
}
