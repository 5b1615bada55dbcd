//! The log weight of one section, without writing: l = Σ log p(x | after) − log p(x | before)
//! over its absorbing choices.
//!
//! Every deterministic node of the section is computed twice, from the globals before and after
//! the move; all other arguments are read from the trace, refreshed first if they are stale.
//! Nothing of the section is written, so a rejected move has nothing to restore.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smidgen_value::{ArgumentError, Value};

use crate::error::{EvalError, Mistake};
use crate::id::NodeId;
use crate::node::{Child, Node, Op};
use crate::operand::Operand;
use crate::program::rows::BLOCK;
use crate::program::run::Store;
use crate::section::component::{Component, is_deterministic};
use crate::section::lanes::SectionProgram;
use crate::section::partition::Partition;
use crate::section::programs::Programs;
use crate::trace::Trace;
use crate::trace::roster::Walk;

/// A value that the move changes.
struct BeforeAfter {
    node: NodeId,
    before: Value,
    /// None if it cannot be computed after the move, which is a rejection.
    after: Option<Value>,
}

/// Room for the sections that are weighed together.
#[derive(Default)]
struct Lanes {
    store: Store,
    before: Vec<f64>,
    after: Vec<f64>,
    room: Vec<f64>,
}

/// What the nodes around a plate are on both sides.
struct MovedPlate {
    plate: NodeId,
    nodes: SmallVec<[NodeId; 4]>,
    before: Vec<Value>,
    /// None if one of them cannot be computed after the move.
    after: Option<Vec<Value>>,
    /// What the rows read of both, if that can be computed.
    globals: Option<[Vec<f64>; 2]>,
}

/// What a move has changed, and room for the section at hand. The buffers are reused.
#[derive(Default)]
pub struct Evaluator {
    /// The global part: all of Γ, and of the hubs below it those that have been asked for.
    globals: Vec<BeforeAfter>,
    /// Of globals, from the first hub that was asked for on.
    lazily: FxHashMap<NodeId, u32>,
    eager: usize,
    local: Vec<BeforeAfter>,
    absorbing: Vec<NodeId>,
    component: Component,
    lanes: Lanes,
    /// Lanes whose sections have to be gathered.
    missing: Vec<usize>,
    plates: Vec<MovedPlate>,
    rows: Vec<u32>,
    log_before: Vec<f64>,
    /// Nodes looked at since the start of the move.
    pub touched: u64,
}

/// The two sides of a move.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Before,
    After,
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

    fn global(&self, id: NodeId) -> Option<&BeforeAfter> {
        let eager = self.globals[..self.eager].iter().find(|global| global.node == id);
        match eager {
            None if !self.lazily.is_empty() => {
                self.lazily.get(&id).map(|place| &self.globals[*place as usize])
            }
            found => found,
        }
    }

    fn find(&self, id: NodeId) -> Option<&BeforeAfter> {
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

    /// The log weights of the sections of one kind that these edges of a hub lead to: lane by lane if
    /// the kind has a program, else one after the other.
    pub(crate) fn log_weights(
        &mut self,
        trace: &mut Trace,
        (hub, kind): (NodeId, u32),
        edges: &[Child],
        out: &mut [f64],
    ) -> Result<(), EvalError> {
        let walk = trace.sections.kind(kind).walk;
        if trace.side.get_mut::<Programs>().is_unwritten(kind) {
            self.gather(trace, edges[0], hub, walk);
            let program = SectionProgram::write(trace, hub, &self.component.nodes);
            trace.side.get_mut::<Programs>().keep_program(kind, program.map(Box::new));
        }
        let Some(mut program) = trace.side.get_mut::<Programs>().take_program(kind) else {
            return self.one_by_one(trace, edges, walk, out);
        };
        let result =
            edges.chunks(BLOCK).zip(out.chunks_mut(BLOCK)).try_for_each(|(edges, out)| match self
                .run(trace, &mut program, (hub, walk), edges, out)?
            {
                true => Ok(()),
                false => self.one_by_one(trace, edges, walk, out),
            });
        trace.side.get_mut::<Programs>().keep_program(kind, Some(program));
        result
    }

    fn one_by_one(
        &mut self,
        trace: &mut Trace,
        edges: &[Child],
        walk: Walk,
        out: &mut [f64],
    ) -> Result<(), EvalError> {
        for (edge, out) in edges.iter().zip(out) {
            *out = self.log_weight(trace, *edge, walk)?;
        }
        Ok(())
    }

    /// Weighs as many sections as there are lanes by their program. False if it does not fit them.
    fn run(
        &mut self,
        trace: &mut Trace,
        program: &mut SectionProgram,
        (hub, walk): (NodeId, Walk),
        edges: &[Child],
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
        self.touched += (program.nodes() * edges.len()) as u64;
        let mut loaded = match (fits, keeps) {
            (true, true) => {
                let Lanes { store, room, .. } = &mut lanes;
                program.recall(trace, edges, &mut missing, store, room)
            }
            _ => {
                missing.extend(0..edges.len());
                Ok(fits)
            }
        };
        for lane in missing.drain(..) {
            if let Ok(true) = loaded {
                self.gather(trace, edges[lane], hub, walk);
                let section = (edges[lane].node, &self.component.nodes[..]);
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

    /// The log weights of rows of a plate.
    pub(crate) fn plate_log_weights(
        &mut self,
        trace: &mut Trace,
        id: NodeId,
        places: &[usize],
        weights: &mut [f64],
    ) -> Result<(), EvalError> {
        let known = self.plates.iter().position(|moved| moved.plate == id);
        let moved = match known {
            Some(k) => k,
            None => self.move_plate(trace, id)?,
        };
        let Evaluator { plates, rows, log_before, touched, .. } = self;
        let moved = &plates[moved];
        let Op::Plate(plate) = &trace.node(id).op else { unreachable!("asked for a plate") };
        *touched += places.len() as u64;
        let Some(after) = &moved.after else {
            weights.fill(f64::NEG_INFINITY);
            return Ok(());
        };
        rows.clear();
        rows.extend(places.iter().map(|place| plate.members.row(*place)));
        if let Some([before, after]) = &moved.globals {
            let mut desk = trace.desk();
            if plate.log_ratios(&mut desk, [before, after], rows, weights) {
                return Ok(());
            }
        }
        log_before.clear();
        log_before.resize(places.len(), 0.0);
        let values: SmallVec<[&Value; 4]> = after.iter().collect();
        trace.plate_log_densities(plate, (&moved.nodes, &values), rows, true, weights)?;
        let values: SmallVec<[&Value; 4]> = moved.before.iter().collect();
        trace.plate_log_densities(plate, (&moved.nodes, &values), rows, false, log_before)?;
        for (weight, before) in weights.iter_mut().zip(log_before) {
            *weight = match *before == f64::NEG_INFINITY {
                true if *weight > f64::NEG_INFINITY => f64::INFINITY,
                true => *weight,
                false => *weight - *before,
            };
        }
        Ok(())
    }

    /// Finds what a move has made of the nodes around a plate.
    fn move_plate(&mut self, trace: &mut Trace, id: NodeId) -> Result<usize, EvalError> {
        let nodes = trace.parents(id);
        let (mut before, mut after) = (Vec::new(), Some(Vec::new()));
        for node in &nodes {
            if self.global(*node).is_none() && is_deterministic(trace.node(*node)) {
                self.move_hub(trace, *node)?;
            }
            let (old, new) = match self.global(*node) {
                Some(moved) => (moved.before.clone(), moved.after.clone()),
                None => (trace.node(*node).value.clone(), Some(trace.node(*node).value.clone())),
            };
            before.push(old);
            after = after.zip(new).map(|(mut values, new)| {
                values.push(new);
                values
            });
        }
        let Op::Plate(plate) = &trace.node(id).op else { unreachable!("asked for a plate") };
        let mut desk = trace.desk();
        let mut globals = |values: &[Value]| {
            let values: SmallVec<[&Value; 4]> = values.iter().collect();
            plate.globals(&mut desk, &values)
        };
        let old = globals(&before);
        let globals = old.zip(after.as_deref().and_then(globals)).map(<[Vec<f64>; 2]>::from);
        self.plates.push(MovedPlate { plate: id, nodes, before, after, globals });
        Ok(self.plates.len() - 1)
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
    fn move_hub(&mut self, trace: &mut Trace, hub: NodeId) -> Result<(), EvalError> {
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

    /// Computes the deterministic nodes of the section. False if one cannot be computed after
    /// the move.
    fn compute_local(&mut self, trace: &Trace) -> Result<bool, EvalError> {
        for k in 0..self.component.nodes.len() {
            let id = self.component.nodes[k];
            if is_deterministic(trace.node(id)) {
                let moved = self.compute(trace, id)?;
                if moved.after.is_none() {
                    return Ok(false);
                }
                self.local.push(moved);
            }
        }
        Ok(true)
    }

    fn compute(&self, trace: &Trace, id: NodeId) -> Result<BeforeAfter, EvalError> {
        let node = trace.node(id);
        let before = self.follow(trace, id, Side::Before)?.ok_or_else(|| {
            let message = "a value of the current state cannot be computed";
            EvalError::other(node.origin, message)
        })?;
        let after = match self.follow(trace, id, Side::After) {
            Ok(after) => after,
            Err(error) if error.rejects() => None,
            Err(error) => return Err(error),
        };
        Ok(BeforeAfter { node: id, before, after })
    }

    /// The value of a deterministic node on one side; none if an argument has none.
    fn follow(&self, trace: &Trace, id: NodeId, side: Side) -> Result<Option<Value>, EvalError> {
        let node = trace.node(id);
        match self.arguments(trace, node, side) {
            Some(args) => trace.follow(id, &args).map(Some),
            None => Ok(None),
        }
    }

    #[inline]
    fn arguments<'a>(
        &'a self,
        trace: &'a Trace,
        node: &'a Node,
        side: Side,
    ) -> Option<SmallVec<[&'a Value; 4]>> {
        node.args.iter().map(|arg| self.seen(trace, &arg.operand, side)).collect()
    }

    #[inline]
    fn seen<'a>(&'a self, trace: &'a Trace, operand: &'a Operand, side: Side) -> Option<&'a Value> {
        let id = match operand {
            Operand::Constant(value) => return Some(value),
            Operand::Node(id) => *id,
        };
        match (self.find(id), side) {
            (None, _) => Some(&trace.node(id).value),
            (Some(moved), Side::Before) => Some(&moved.before),
            (Some(moved), Side::After) => moved.after.as_ref(),
        }
    }

    /// Σ log p(x | after) − log p(x | before). −∞ if the move makes a value impossible, +∞ if
    /// only the current state does.
    fn absorb(&self, trace: &Trace) -> Result<f64, EvalError> {
        let (mut log_after, mut log_before) = (0.0, 0.0);
        for id in &self.absorbing {
            let log_p = match self.log_density(trace, *id, Side::After) {
                Err(error) if error.rejects() => f64::NEG_INFINITY,
                log_p => log_p?,
            };
            if log_p == f64::NEG_INFINITY {
                return Ok(f64::NEG_INFINITY);
            }
            log_after += log_p;
            log_before += self.log_density(trace, *id, Side::Before)?;
        }
        if log_before == f64::NEG_INFINITY {
            return Ok(f64::INFINITY);
        }
        Ok(log_after - log_before)
    }

    fn log_density(&self, trace: &Trace, id: NodeId, side: Side) -> Result<f64, EvalError> {
        let node = trace.node(id);
        let Some(args) = self.arguments(trace, node, side) else { return Ok(f64::NEG_INFINITY) };
        let x = &node.value;
        let (name, result): (&'static str, Result<f64, ArgumentError>) = match &node.op {
            Op::Random(distribution) => {
                (distribution.spec().name, distribution.log_density(x, &args))
            }
            Op::Maker(made) => {
                let result = match made.maker.latent() {
                    Some(latent) => latent.log_density(x, &args),
                    None => {
                        made.maker.check(&args).and_then(|()| made.statistics.log_marginal(&args))
                    }
                };
                (made.maker.spec().name, result)
            }
            _ => unreachable!("only random choices and makers absorb"),
        };
        match result {
            Ok(log_p) if log_p.is_nan() => Err(EvalError::new(
                Mistake::NotANumber { procedure: name.to_owned(), value: x.clone() },
                node.origin,
            )),
            Ok(log_p) => Ok(log_p),
            Err(error) => Err(trace.argument_error(name, error, node.origin)),
        }
    }
}
