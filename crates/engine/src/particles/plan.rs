//! The segments of a block compiled: per segment, what to compute in which order and where to read.
//!
//! A particle's value of a node of D lives in a column (one entry per particle). A segment reads
//! its own columns, columns **carried** over from earlier segments (gathered by ancestors at each
//! step for as long as somebody will read them, so that reading an earlier group's value never
//! walks back through the ancestry), and **fixed** values: constants, nodes outside D, and values of
//! the reference, read from the trace once per pass.

use std::ops::Range;

use rustc_hash::FxHashMap;
use smidgen_prob::{Distribution, Function, Scalar};
use smidgen_value::Value;

use super::formula::Term;
use super::segment::Segment;
use super::select::{Away, Selects};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::node::Op;
use crate::operand::Operand;
use crate::trace::Trace;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    Fixed(u32),
    Carried(u32),
    Own(u32),
}

/// How a node of D comes by its value.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    Function(&'static Function),
    /// A structure: the value of its root.
    Follow,
    /// A structure that selects: what the formula at this place comes to.
    Select(u32),
    Choice(&'static dyn Distribution, Option<Scalar>),
}

impl Rule {
    pub fn function(self) -> Option<&'static Function> {
        match self {
            Rule::Function(function) => Some(function),
            Rule::Follow | Rule::Select(_) | Rule::Choice(..) => None,
        }
    }
}

/// How an absorbing node is weighed.
#[derive(Clone, Copy)]
pub(super) enum Law {
    Density(&'static dyn Distribution, Option<Scalar>),
    /// A maker, for all its applications.
    Marginal,
    /// What is read is the log density: that of an observed choice in a branch.
    Given,
}

/// One node of D. Its column is its place in the segment.
pub(super) struct Step {
    pub node: NodeId,
    pub rule: Rule,
    pub reads: Range<u32>,
}

/// One density.
pub(super) struct Weight {
    pub node: NodeId,
    pub law: Law,
    /// The value that is scored (fixed).
    pub x: u32,
    pub reads: Range<u32>,
}

#[derive(Default)]
pub(super) struct Part {
    /// The columns carried into this segment, as they are called in the one before.
    pub carried: Vec<Read>,
    pub steps: Vec<Step>,
    pub weights: Vec<Weight>,
    /// Where its columns begin among those of all segments.
    pub first_column: usize,
}

pub(super) struct Plan {
    pub parts: Vec<Part>,
    pub reads: Vec<Read>,
    pub fixed: Vec<Value>,
    /// Fixed values that are read from the trace.
    pub outside: Vec<(u32, NodeId)>,
    pub columns: usize,
    pub most_carried: usize,
    /// Of structures that select.
    pub formulas: Vec<Term>,
    pub away: Away,
}

/// Where a node of D is made.
#[derive(Clone, Copy)]
pub(super) struct Made {
    pub segment: u32,
    pub column: u32,
    /// The first segment whose choices reach it without passing another choice.
    pub earliest: u32,
}

pub(super) struct Compiler<'a> {
    pub trace: &'a Trace,
    selects: &'a Selects,
    pub plan: Plan,
    pub made: FxHashMap<NodeId, Made>,
    /// The columns carried into the segment being compiled.
    carried: FxHashMap<NodeId, u32>,
    fixed_nodes: FxHashMap<NodeId, u32>,
}

impl Plan {
    pub fn compile(trace: &Trace, segments: &[Segment], selects: Selects) -> Plan {
        let plan = Plan {
            parts: Vec::with_capacity(segments.len()),
            reads: Vec::new(),
            fixed: Vec::new(),
            outside: Vec::new(),
            columns: 0,
            most_carried: 0,
            formulas: Vec::new(),
            away: Away::default(),
        };
        let mut compiler = Compiler {
            trace,
            selects: &selects,
            plan,
            made: FxHashMap::default(),
            carried: FxHashMap::default(),
            fixed_nodes: FxHashMap::default(),
        };
        compiler.place(segments);
        let last_read = compiler.last_reads(segments);
        let mut carried: Vec<NodeId> = Vec::new();
        for (t, segment) in segments.iter().enumerate() {
            let before = std::mem::take(&mut carried);
            let own = t.checked_sub(1).map_or(&[][..], |s| &segments[s].nodes[..]);
            let live = |id: &&NodeId| last_read.get(*id).is_some_and(|last| *last >= t as u32);
            carried.extend(before.iter().chain(own).filter(live));
            let mut part = Part { first_column: compiler.plan.columns, ..Part::default() };
            part.carried = carried.iter().map(|id| compiler.in_previous(*id, t)).collect();
            compiler.carried = carried.iter().zip(0..).map(|(id, k)| (*id, k)).collect();
            compiler.segment(segment, t, &mut part);
            compiler.plan.columns += part.steps.len();
            compiler.plan.most_carried = compiler.plan.most_carried.max(carried.len());
            compiler.plan.parts.push(part);
        }
        let mut plan = compiler.plan;
        plan.away = selects.away;
        plan
    }

    /// Reads what is outside D.
    pub fn refresh(&mut self, trace: &mut Trace) -> Result<(), EvalError> {
        for (place, id) in &self.outside {
            self.fixed[*place as usize] = trace.value(*id)?.clone();
        }
        Ok(())
    }
}

impl Compiler<'_> {
    fn place(&mut self, segments: &[Segment]) {
        for (t, segment) in segments.iter().enumerate() {
            for (column, id) in segment.nodes.iter().enumerate() {
                let segment = t as u32;
                let earliest = match self.trace.node(*id).is_random() {
                    true => segment,
                    false => self.earliest_argument(*id).unwrap_or(segment),
                };
                let made = Made { segment, column: column as u32, earliest };
                self.made.insert(*id, made);
            }
        }
    }

    /// The first segment whose choices reach an argument of this node.
    pub fn earliest_argument(&self, id: NodeId) -> Option<u32> {
        let parents = self.selects.parents(self.trace, id).into_iter();
        parents.filter_map(|parent| self.made.get(&parent)).map(|made| made.earliest).min()
    }

    /// The last segment that reads a node.
    fn last_reads(&self, segments: &[Segment]) -> FxHashMap<NodeId, u32> {
        let mut last = FxHashMap::default();
        for (t, segment) in segments.iter().enumerate() {
            let readers = segment.nodes.iter().chain(&segment.absorbing).chain(&segment.makers);
            for id in readers {
                for parent in self.selects.parents(self.trace, *id) {
                    if self.made.contains_key(&parent) {
                        last.insert(parent, t as u32);
                    }
                }
            }
        }
        last
    }

    /// A node that is carried into segment t, as the segment before calls it.
    pub fn in_previous(&self, id: NodeId, t: usize) -> Read {
        let made = &self.made[&id];
        match made.segment as usize + 1 == t {
            true => Read::Own(made.column),
            false => Read::Carried(self.carried[&id]),
        }
    }

    pub fn fixed_node(&mut self, id: NodeId) -> u32 {
        if let Some(place) = self.fixed_nodes.get(&id) {
            return *place;
        }
        let place = self.fixed(Value::Nil);
        self.plan.outside.push((place, id));
        self.fixed_nodes.insert(id, place);
        place
    }

    fn fixed(&mut self, value: Value) -> u32 {
        self.plan.fixed.push(value);
        self.plan.fixed.len() as u32 - 1
    }

    /// The arguments of a node; `of_target` says where one in D is read.
    pub fn reads(
        &mut self,
        id: NodeId,
        of_target: &mut dyn FnMut(&mut Self, NodeId, Made) -> Read,
    ) -> Range<u32> {
        let (trace, selects) = (self.trace, self.selects);
        let mut node = |this: &mut Self, parent: NodeId| match this.made.get(&parent).copied() {
            Some(made) => of_target(this, parent, made),
            None => Read::Fixed(this.fixed_node(parent)),
        };
        let reads: Vec<Read> = match selects.of.get(&id) {
            Some(select) => select.reads.iter().map(|parent| node(self, *parent)).collect(),
            None => {
                let args = trace.node(id).args.iter();
                args.map(|arg| match &arg.operand {
                    Operand::Constant(value) => Read::Fixed(self.fixed(value.clone())),
                    Operand::Node(parent) => node(self, *parent),
                })
                .collect()
            }
        };
        self.range(reads)
    }

    fn range(&mut self, reads: Vec<Read>) -> Range<u32> {
        let first = self.plan.reads.len() as u32;
        self.plan.reads.extend(reads);
        first..self.plan.reads.len() as u32
    }

    fn segment(&mut self, segment: &Segment, t: usize, part: &mut Part) {
        let mut here = |this: &mut Self, id: NodeId, made: Made| match made.segment as usize == t {
            true => Read::Own(made.column),
            false => Read::Carried(this.carried[&id]),
        };
        for id in &segment.nodes {
            let reads = self.reads(*id, &mut here);
            part.steps.push(Step { node: *id, rule: self.rule(*id), reads });
            if self.selects.of.get(id).is_some_and(|select| select.is_density) {
                let own = Read::Own(self.made[id].column);
                let (reads, x) = (self.range(vec![own]), self.fixed(Value::Nil));
                part.weights.push(Weight { node: *id, law: Law::Given, x, reads });
            }
            // A latent parameter that moves: its applications absorb.
            if matches!(self.trace.node(*id).op, Op::Maker(_)) {
                let own = Read::Own(self.made[id].column);
                let reads = self.range(vec![own]);
                let x = self.fixed(Value::Nil);
                part.weights.push(Weight { node: *id, law: Law::Marginal, x, reads });
            }
        }
        for id in segment.absorbing.iter().chain(&segment.makers) {
            let reads = self.reads(*id, &mut here);
            let x = self.fixed_node(*id);
            part.weights.push(Weight { node: *id, law: self.law(*id), x, reads });
        }
    }

    pub fn rule(&mut self, id: NodeId) -> Rule {
        if let Some(select) = self.selects.of.get(&id) {
            self.plan.formulas.push(select.formula.clone());
            return Rule::Select(self.plan.formulas.len() as u32 - 1);
        }
        match &self.trace.node(id).op {
            Op::Function(function) => Rule::Function(function),
            Op::Structure(_) => Rule::Follow,
            Op::Random(distribution) => Rule::Choice(*distribution, distribution.scalar()),
            Op::Maker(made) => {
                Rule::Choice(made.maker.latent().expect("only a latent maker is in D"), None)
            }
            _ => unreachable!("draws of made procedures are not compiled, other nodes not in D"),
        }
    }

    pub fn law(&self, id: NodeId) -> Law {
        match &self.trace.node(id).op {
            Op::Random(distribution) => Law::Density(*distribution, distribution.scalar()),
            Op::Maker(made) => match made.maker.latent() {
                Some(latent) => Law::Density(latent, None),
                None => Law::Marginal,
            },
            _ => unreachable!("only random choices and makers absorb"),
        }
    }
}
