//! The log weight of one section, without writing: l = Σ log p(x | after) − log p(x | before)
//! over its absorbing choices.
//!
//! Every deterministic node of the section is computed twice, from the globals before and after
//! the move; all other arguments are read from the trace, refreshed first if they are stale.
//! Nothing of the section is written, so a rejected move has nothing to restore.

use rustc_hash::FxHashMap;
use smidgen_value::Value;

use crate::error::EvalError;
use crate::id::NodeId;
use crate::program::run::Store;
use crate::section::component::{Component, is_deterministic};
use crate::section::lanes::SectionProgram;
use crate::section::partition::Partition;
use crate::section::programs::Programs;
use crate::section::rows::MovedPlate;
use crate::trace::Trace;
use crate::trace::node::Child;
use crate::trace::roster::Walk;

/// A value that the move changes.
pub(super) struct BeforeAfter {
    pub node: NodeId,
    pub before: Value,
    /// None if it cannot be computed after the move, which is a rejection.
    pub after: Option<Value>,
}

/// Room for the sections that are weighed together.
#[derive(Default)]
struct Lanes {
    store: Store,
    before: Vec<f64>,
    after: Vec<f64>,
    room: Vec<f64>,
}

/// What a move has changed, and room for the section at hand. The buffers are reused.
#[derive(Default)]
pub struct Evaluator {
    /// The global part: all of Γ, and of the hubs below it those that have been asked for.
    globals: Vec<BeforeAfter>,
    /// Of globals, from the first hub that was asked for on.
    lazily: FxHashMap<NodeId, u32>,
    eager: usize,
    pub(super) local: Vec<BeforeAfter>,
    pub(super) absorbing: Vec<NodeId>,
    pub(super) component: Component,
    lanes: Lanes,
    /// Lanes whose sections have to be gathered.
    missing: Vec<usize>,
    pub(super) plates: Vec<MovedPlate>,
    pub(super) rows: Vec<u32>,
    pub(super) log_before: Vec<f64>,
    /// Nodes looked at since the start of the move.
    pub touched: u64,
}

/// The edge that leads to the section of a unit.
fn edge_of(trace: &Trace, hub: NodeId, unit: u32) -> Child {
    trace.sections.hub(hub).units[unit as usize].edge
}

fn hub_of(trace: &Trace, edge: Child) -> NodeId {
    let parent = trace.node(edge.node).args[edge.slot as usize].operand.node();
    parent.expect("a unit is an edge from a hub")
}

impl Evaluator {
    pub fn new() -> Evaluator {
        Evaluator::default()
    }

    /// Notes the values of the global part before a move.
    pub(crate) fn begin(&mut self, trace: &mut Trace, global: &[NodeId]) -> Result<(), EvalError> {
        self.globals.clear();
        self.lazily.clear();
        self.plates.clear();
        self.component.forget_clean();
        self.touched = global.len() as u64;
        for id in global {
            trace.refresh(*id)?;
            let before = trace.node(*id).value.clone();
            self.globals.push(BeforeAfter { node: *id, before, after: None });
        }
        self.eager = self.globals.len();
        Ok(())
    }

    /// Notes the values of the global part after the move, which the trace holds now.
    pub(crate) fn moved(&mut self, trace: &Trace) {
        for global in &mut self.globals {
            global.after = Some(trace.node(global.node).value.clone());
        }
    }

    pub(super) fn global(&self, id: NodeId) -> Option<&BeforeAfter> {
        let eager = self.globals[..self.eager].iter().find(|global| global.node == id);
        match eager {
            None if !self.lazily.is_empty() => {
                self.lazily.get(&id).map(|place| &self.globals[*place as usize])
            }
            found => found,
        }
    }

    pub(super) fn find(&self, id: NodeId) -> Option<&BeforeAfter> {
        let local = self.local.iter().find(|local| local.node == id);
        local.or_else(|| self.global(id))
    }

    /// The log weight of the section that an edge of a hub leads to.
    pub(crate) fn log_weight(
        &mut self,
        trace: &mut Trace,
        edge: Child,
        walk: Walk,
    ) -> Result<f64, EvalError> {
        let hub = hub_of(trace, edge);
        if self.global(hub).is_none() {
            self.move_hub(trace, hub)?;
        }
        self.gather(trace, edge, hub, walk);
        self.weigh(trace)
    }

    /// The log weights of the sections of one kind that these units of a hub stand for: lane by lane if
    /// the kind has a program, else one after the other.
    pub(crate) fn log_weights(
        &mut self,
        trace: &mut Trace,
        (hub, kind): (NodeId, u32),
        units: &[u32],
        out: &mut [f64],
    ) -> Result<(), EvalError> {
        let walk = trace.sections.kind(kind).walk;
        if trace.side.get_mut::<Programs>().is_unwritten(kind) {
            self.gather(trace, edge_of(trace, hub, units[0]), hub, walk);
            let program = SectionProgram::write(trace, hub, &self.component.nodes);
            trace.side.get_mut::<Programs>().keep_program(kind, program.map(Box::new));
        }
        let Some(mut program) = trace.side.get_mut::<Programs>().take_program(kind) else {
            return self.one_by_one(trace, hub, units, walk, out);
        };
        let most = program.sections();
        let result = units.chunks(most).zip(out.chunks_mut(most)).try_for_each(|(units, out)| {
            match self.run(trace, &mut program, (hub, walk), units, out)? {
                true => Ok(()),
                false => self.one_by_one(trace, hub, units, walk, out),
            }
        });
        trace.side.get_mut::<Programs>().keep_program(kind, Some(program));
        result
    }

    fn one_by_one(
        &mut self,
        trace: &mut Trace,
        hub: NodeId,
        units: &[u32],
        walk: Walk,
        out: &mut [f64],
    ) -> Result<(), EvalError> {
        for (unit, out) in units.iter().zip(out) {
            *out = self.log_weight(trace, edge_of(trace, hub, *unit), walk)?;
        }
        Ok(())
    }

    /// Weighs as many sections as there are lanes by their program. False if it does not fit them.
    fn run(
        &mut self,
        trace: &mut Trace,
        program: &mut SectionProgram,
        (hub, walk): (NodeId, Walk),
        units: &[u32],
        out: &mut [f64],
    ) -> Result<bool, EvalError> {
        if self.global(hub).is_none() {
            self.move_hub(trace, hub)?;
        }
        let mut lanes = std::mem::take(&mut self.lanes);
        let moved = self.global(hub).expect("just moved");
        let fits = program.hub_numbers(&moved.before, &mut lanes.before)
            && moved.after.as_ref().is_some_and(|v| program.hub_numbers(v, &mut lanes.after));
        program.fit(&mut lanes.store);
        let keeps = SectionProgram::keeps(trace.sections.hub(hub).units.len());
        let mut missing = std::mem::take(&mut self.missing);
        missing.clear();
        self.touched += (program.nodes() * units.len()) as u64;
        let mut loaded = match (fits, keeps) {
            (true, true) => {
                let Lanes { store, room, .. } = &mut lanes;
                program.recall(trace, (hub, units), &mut missing, store, room)
            }
            _ => {
                missing.extend(0..units.len());
                Ok(fits)
            }
        };
        for lane in missing.drain(..) {
            if let Ok(true) = loaded {
                let edge = edge_of(trace, hub, units[lane]);
                self.gather(trace, edge, hub, walk);
                let section = (edge.node, &self.component.nodes[..]);
                let Lanes { store, room, .. } = &mut lanes;
                loaded = program.load(trace, section, keeps, lane, store, room);
            }
        }
        self.missing = missing;
        let weighed = loaded.map(|loaded| {
            let sides: [&[f64]; 2] = [&lanes.before, &lanes.after];
            loaded && program.log_ratios(&mut lanes.store, sides, out)
        });
        self.lanes = lanes;
        weighed
    }

    /// The nodes of the section that an edge of a hub leads to, arguments first.
    pub(crate) fn nodes_of(
        &mut self,
        trace: &Trace,
        (hub, edge): (NodeId, Child),
        walk: Walk,
    ) -> &[NodeId] {
        self.touched += 1;
        self.gather(trace, edge, hub, walk);
        &self.component.nodes
    }

    /// Gathers the nodes of the section that an edge leads to, arguments first.
    fn gather(&mut self, trace: &Trace, edge: Child, hub: NodeId, walk: Walk) {
        if walk.single_entry {
            self.walk_down(trace, edge.node);
        } else {
            self.explore(trace, edge.node, &|node| node == hub);
        }
        if !walk.in_order {
            self.put_arguments_first(trace);
        }
    }

    /// Likewise for a block with several hubs: a section that k units lead to counts l/k at each
    /// (theory 1.8).
    pub(crate) fn shared_log_weight(
        &mut self,
        trace: &mut Trace,
        edge: Child,
        partition: &Partition,
    ) -> Result<f64, EvalError> {
        self.component.joined = true;
        self.explore(trace, edge.node, &|node| partition.is_moved(trace, node));
        let mut units = 0;
        for k in 0..self.component.entries.len() {
            let entry = self.component.entries[k];
            let hub = hub_of(trace, entry);
            let standing = trace.node(entry.node).args[entry.slot as usize].standing;
            units += usize::from(standing.as_unit().is_some() && partition.draws_from(hub));
            if self.global(hub).is_none() {
                self.move_hub(trace, hub)?;
            }
        }
        self.put_arguments_first(trace);
        Ok(self.weigh(trace)? / units as f64)
    }

    /// The log weight of the nodes gathered.
    fn weigh(&mut self, trace: &mut Trace) -> Result<f64, EvalError> {
        self.touched += self.component.nodes.len() as u64;
        self.prepare(trace)?;
        if self.compute_local(trace)? { self.absorb(trace) } else { Ok(f64::NEG_INFINITY) }
    }

    fn explore(&mut self, trace: &Trace, start: NodeId, is_global: &dyn Fn(NodeId) -> bool) {
        let explored = self.component.explore(trace, start, is_global);
        explored.expect("the roster holds only what was classified");
    }

    /// All that a single entry leads to.
    fn walk_down(&mut self, trace: &Trace, start: NodeId) {
        let nodes = &mut self.component.nodes;
        nodes.clear();
        nodes.push(start);
        let mut next = 0;
        while let Some(&id) = nodes.get(next) {
            next += 1;
            if is_deterministic(trace.node(id)) {
                for child in &trace.node(id).children {
                    if !nodes.contains(&child.node) {
                        nodes.push(child.node);
                    }
                }
            }
        }
    }

    fn put_arguments_first(&mut self, trace: &Trace) {
        let mut waiting = std::mem::take(&mut self.component.nodes);
        let mut sorted: Vec<NodeId> = Vec::with_capacity(waiting.len());
        while !waiting.is_empty() {
            let ready = |id: &NodeId| {
                let parents = trace.node(*id).args.iter().filter_map(|arg| arg.operand.node());
                !parents.into_iter().any(|parent| waiting.contains(&parent))
            };
            let next = waiting.iter().position(ready).expect("a trace has no cycle");
            sorted.push(waiting.remove(next));
        }
        self.component.nodes = sorted;
    }

    /// Splits the section and refreshes what it reads from outside.
    fn prepare(&mut self, trace: &mut Trace) -> Result<(), EvalError> {
        self.local.clear();
        self.absorbing.clear();
        for k in 0..self.component.nodes.len() {
            let id = self.component.nodes[k];
            if !is_deterministic(trace.node(id)) {
                self.absorbing.push(id);
            }
            if trace.last_lazy == 0 {
                continue;
            }
            for slot in 0..trace.node(id).args.len() {
                let Some(parent) = trace.node(id).args[slot].operand.node() else { continue };
                if is_deterministic(trace.node(parent))
                    && trace.is_stale(parent)
                    && self.global(parent).is_none()
                    && !self.component.nodes.contains(&parent)
                {
                    trace.refresh(parent)?;
                }
            }
        }
        Ok(())
    }

    /// Computes a nested hub: it follows from Γ through deterministic nodes.
    pub(super) fn move_hub(&mut self, trace: &mut Trace, hub: NodeId) -> Result<(), EvalError> {
        // Its ancestors that the move reaches, arguments first.
        let mut path: Vec<NodeId> = Vec::new();
        let mut stack = vec![(hub, 0)];
        while let Some((id, slot)) = stack.last_mut() {
            let (id, k) = (*id, *slot);
            *slot += 1;
            let Some(arg) = trace.node(id).args.get(k) else {
                stack.pop();
                if !path.contains(&id) {
                    path.push(id);
                }
                continue;
            };
            if let Some(parent) = arg.operand.node()
                && is_deterministic(trace.node(parent))
                && self.global(parent).is_none()
                && !path.contains(&parent)
            {
                stack.push((parent, 0));
            }
        }
        let outer = std::mem::take(&mut self.local);
        for id in path {
            self.touched += 1;
            let moves = {
                let parents = trace.node(id).args.iter().filter_map(|arg| arg.operand.node());
                parents.into_iter().any(|parent| self.find(parent).is_some())
            };
            if !moves {
                trace.refresh(id)?;
                continue;
            }
            let moved = self.compute(trace, id)?;
            if id == hub {
                self.lazily.insert(id, self.globals.len() as u32);
                self.globals.push(moved);
            } else {
                self.local.push(moved);
            }
        }
        self.local = outer;
        Ok(())
    }
}
