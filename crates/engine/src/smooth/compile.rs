//! From the scaffold of a block to its density as programs.
//!
//! The terms are the block's choices and what absorbs. A deterministic node of D that leads to one
//! term only belongs to that term's row; all others, and the choices themselves, are the *global
//! part*, computed once. Rows of one shape are collected, so that a model of N observations
//! becomes a global part of a few instructions and one short program over N rows.

use rustc_hash::{FxHashMap, FxHashSet};
use smidgen_prob::{Distribution, Support};
use smidgen_value::Value;

use super::branch;
use super::plates::PlateTerm;
use super::transform;
use super::{Coordinates, Density, Form, NotSmooth, Parts};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::Program;
use crate::program::lower::{self, Obstacle};
use crate::program::rows::RowsBuilder;
use crate::trace::Trace;
use crate::trace::fault::Fault;
use crate::trace::node::{Op as NodeOp, Role, StructureKind};
use crate::trace::scaffold::Scaffold;

/// To whom a deterministic node of D belongs.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    /// Nothing that has a density reads it.
    Nobody,
    Term(u32),
    Global,
}

impl Owner {
    fn and(self, other: Owner) -> Owner {
        match (self, other) {
            (Owner::Nobody, owner) | (owner, Owner::Nobody) => owner,
            (a, b) if a == b => a,
            _ => Owner::Global,
        }
    }
}

/// Where the coordinates of a choice stand.
#[derive(Clone, Copy)]
struct Placed {
    first: usize,
    size: usize,
    standardised: bool,
}

pub(super) struct Compiler<'t> {
    pub(super) trace: &'t mut Trace,
    pub(super) scaffold: &'t Scaffold,
    /// Choices that are summed out.
    left_out: &'t FxHashSet<NodeId>,
    form: Form,
    /// Places in D.
    pub(super) places: FxHashMap<NodeId, u32>,
    owners: Vec<Owner>,
    placed: FxHashMap<NodeId, Placed>,
    /// The global part.
    pub(super) globals: Program,
    pub(super) global_values: FxHashMap<NodeId, Value>,
    /// The row at hand.
    pub(super) row: Program,
    row_values: FxHashMap<NodeId, Value>,
    shapes: FxHashMap<Vec<u64>, u32>,
    rows: Vec<RowsBuilder>,
    /// Values outside D that the programs rely on as they are.
    pinned: Vec<(NodeId, Value)>,
}

pub(super) type Compiled<T> = Result<T, Failure>;

/// Why a block has no density program.
pub(super) enum Failure {
    At(NodeId, Obstacle),
    /// A structure whose body the block decides.
    Decides(NodeId, Obstacle),
    /// A density that jumps where a comparison changes.
    Jumps(NodeId),
    Error(EvalError),
}

impl From<EvalError> for Failure {
    fn from(error: EvalError) -> Failure {
        Failure::Error(error)
    }
}

/// Compiles the density of a block. The scaffold has just been built.
pub(super) fn compile(
    trace: &mut Trace,
    scaffold: &Scaffold,
    form: Form,
    left_out: &FxHashSet<NodeId>,
) -> Result<Result<Density, NotSmooth>, EvalError> {
    let places = scaffold.target.iter().enumerate().map(|(k, id)| (*id, k as u32)).collect();
    let mut compiler = Compiler {
        trace,
        scaffold,
        left_out,
        form,
        places,
        owners: Vec::new(),
        placed: FxHashMap::default(),
        globals: Program { is_global: true, ..Program::default() },
        global_values: FxHashMap::default(),
        row: Program::default(),
        row_values: FxHashMap::default(),
        shapes: FxHashMap::default(),
        rows: Vec::new(),
        pinned: Vec::new(),
    };
    let (node, reason, culprits) = match compiler.compile() {
        Ok(density) => return Ok(Ok(density)),
        Err(Failure::Error(error)) => return Err(error),
        Err(Failure::At(node, reason)) => (node, reason, compiler.choices_above(&[node])),
        Err(Failure::Decides(node, reason)) => (node, reason, compiler.choices_deciding(node)),
        Err(Failure::Jumps(node)) => {
            let reason = "its density jumps where a comparison changes".to_owned();
            (node, reason, compiler.choices_compared(node))
        }
    };
    Ok(Err(NotSmooth { node, reason, culprits }))
}

impl Compiler<'_> {
    fn compile(&mut self) -> Compiled<Density> {
        self.check_forms()?;
        // Terms: the choices in the order of D, then what absorbs.
        let is_choice = |id: &&NodeId| self.trace.node(**id).is_random();
        let mut terms: Vec<NodeId> =
            self.scaffold.target.iter().filter(is_choice).copied().collect();
        let choices = terms.len();
        let is_plate = |id: &NodeId| matches!(self.trace.node(*id).op, NodeOp::Plate(_));
        let (plates, absorbing): (Vec<NodeId>, Vec<NodeId>) =
            self.scaffold.absorbing.iter().partition(|id| is_plate(id));
        terms.extend(absorbing);
        self.find_owners(&terms);

        let dimension = self.place_choices()?;
        let mut coordinates = Vec::with_capacity(choices);
        for k in 0..self.scaffold.target.len() {
            let id = self.scaffold.target[k];
            if self.owners[k] == Owner::Global {
                self.make_global(id)?;
            }
            if let Some(Placed { size, standardised, .. }) = self.placed.get(&id).copied() {
                let value = self.global_values[&id].clone();
                coordinates.push(Coordinates { node: id, value, size, standardised, last: 0.0 });
            }
        }
        self.row.global_jumps = self.globals.jumps.clone();
        self.row.global_links = self.globals.links.clone();
        let plates: Vec<PlateTerm> =
            plates.into_iter().map(|id| self.plate(id)).collect::<Result<_, _>>()?;

        let mut members: Vec<(u32, u32)> = Vec::new();
        for (place, owner) in self.owners.iter().enumerate() {
            if let Owner::Term(term) = owner {
                members.push((*term, place as u32));
            }
        }
        members.sort_unstable();
        let mut key = Vec::new();
        let mut next = 0;
        for (number, id) in terms.iter().enumerate() {
            self.row.clear();
            self.row_values.clear();
            while let Some((term, place)) = members.get(next)
                && *term == number as u32
            {
                let node = self.scaffold.target[*place as usize];
                let value = self.node(node, false)?;
                self.row_values.insert(node, value);
                next += 1;
            }
            self.term(*id, number < choices)?;
            self.row.shape(&mut key);
            let place = match self.shapes.get(&key) {
                Some(place) => *place as usize,
                None => {
                    self.shapes.insert(key.clone(), self.rows.len() as u32);
                    self.rows.push(RowsBuilder::new(&self.row));
                    self.rows.len() - 1
                }
            };
            self.rows[place].add(&self.row.leaves);
        }
        let mut rows = Vec::with_capacity(self.rows.len());
        for builder in std::mem::take(&mut self.rows) {
            rows.push(builder.finish(self.trace)?);
        }
        let globals = std::mem::take(&mut self.globals);
        let pinned = std::mem::take(&mut self.pinned);
        let parts = Parts { coordinates, dimension, globals, rows, plates, pinned };
        // Those that no density reads as well: they have to follow every move.
        let branches = match self.trace.has_fault(Fault::UnreadBranch) {
            true => Vec::new(),
            false => self.scaffold.branches(self.trace).collect(),
        };
        Ok(Density::new(self.trace, parts, branches)?)
    }

    /// Gives the choices of the block their places among the coordinates, in the order of D; says how many there are.
    fn place_choices(&mut self) -> Compiled<usize> {
        let mut first = 0;
        for id in &self.scaffold.target {
            let NodeOp::Random(distribution) = self.trace.node(*id).op else { continue };
            self.trace.refresh_arguments(*id)?;
            let Some(size) = self.support(*id, distribution)?.dimension() else {
                let name = distribution.spec().name;
                return Err(Failure::At(*id, format!("{name} is not continuous")));
            };
            self.placed.insert(*id, Placed { first, size, standardised: false });
            first += size;
        }
        Ok(first)
    }

    /// Makes a node of the global part, unless it is there. The side of a branch that is not taken may name one that comes
    /// later in D.
    fn make_global(&mut self, id: NodeId) -> Compiled<()> {
        if !self.global_values.contains_key(&id) {
            let value = match self.placed.contains_key(&id) {
                true => self.choice(id)?,
                false => self.node(id, true)?,
            };
            self.global_values.insert(id, value);
        }
        Ok(())
    }

    /// The rows of a plate: a term with a program of its own.
    fn plate(&mut self, id: NodeId) -> Compiled<PlateTerm> {
        let node = self.trace.node(id);
        let NodeOp::Plate(plate) = &node.op else { unreachable!("asked for a plate") };
        let plate = (**plate).clone();
        let operands: Vec<Operand> = node.args.iter().map(|arg| arg.operand.clone()).collect();
        let (mut registers, mut values) = (Vec::new(), Vec::new());
        for operand in &operands {
            let value = self.argument(operand, true)?;
            let numbers = lower::numbers(&value).map_err(|reason| Failure::At(id, reason))?;
            registers.extend(self.globals.registers(&numbers));
            values.push(value);
        }
        for by in &plate.program.links {
            let eta = lower::eta(&mut self.globals, &values[by.argument], by.link);
            let eta = eta.map_err(|reason| Failure::At(id, reason))?;
            registers.push(self.globals.register(eta));
        }
        let jumps = registers.iter().any(|register| self.globals.jumps(*register));
        if (plate.program.jumps || jumps) && !plate.program.is_wall {
            return Err(Failure::Jumps(id));
        }
        if registers.len() != plate.numbers() {
            let reason = "the values around a plate have changed their form".to_owned();
            return Err(Failure::At(id, reason));
        }
        let threads = self.trace.desk().threads;
        Ok(PlateTerm::new(plate, registers, threads))
    }

    /// What no program can follow, whatever the values of the block. All of D counts, whether a density reads it
    /// or not: what the block decides in the trace has to follow its moves.
    fn check_forms(&mut self) -> Compiled<()> {
        if self.trace.has_fault(Fault::PlanOfTheStart) {
            self.check_transient()?;
        }
        for id in &self.scaffold.target {
            let node = self.trace.node(*id);
            if node.is_random() && !matches!(node.op, NodeOp::Random(_)) {
                let reason = "a choice of an exchangeable procedure has no coordinates".to_owned();
                return Err(Failure::At(*id, reason));
            }
            if node.role == Role::Restructured {
                self.check_branch(*id)?;
            }
        }
        if let Some(maker) = self.scaffold.makers.first() {
            let name = self.trace.maker_name(*maker);
            return Err(Failure::At(
                *maker,
                format!("the applications of {name} have no derivative"),
            ));
        }
        debug_assert!(self.scaffold.released.is_empty(), "an observed structure was refused");
        let checked = self.check_transient();
        debug_assert!(checked.is_ok() || self.has_loose_branches(), "such a branch was refused");
        checked
    }

    fn check_transient(&self) -> Compiled<()> {
        let is_choice = |id: &NodeId| self.trace.node(*id).is_random();
        match self.scaffold.transient_nodes(self.trace).find(is_choice) {
            Some(choice) => {
                let reason = "a random choice exists only in one branch".to_owned();
                Err(Failure::At(choice, reason))
            }
            None => Ok(()),
        }
    }

    /// Whether the sides of branches are not looked at, by mistake.
    fn has_loose_branches(&self) -> bool {
        self.trace.has_fault(Fault::UnreadBranch) || self.trace.has_fault(Fault::ConstantSeed)
    }

    /// Both sides of what the block decides have to be functions of values that exist, whichever is taken now.
    fn check_branch(&mut self, id: NodeId) -> Compiled<()> {
        let node = self.trace.node(id);
        let NodeOp::Structure(structure) = &node.op else {
            unreachable!("only structures are restructured")
        };
        let StructureKind::Branch { then, otherwise } = &structure.kind else {
            let reason = format!("{} depends on it: what exists could change", node.op_name());
            return Err(Failure::Decides(id, reason));
        };
        if node.observed.is_some() {
            let reason = "an observation may come to refer to another choice".to_owned();
            return Err(Failure::Decides(id, reason));
        }
        if self.has_loose_branches() {
            return Ok(());
        }
        let (sides, environment) =
            ([then.clone(), otherwise.clone()], structure.environment.clone());
        for side in &sides {
            if let Err(what) = branch::check(self.trace, side, &environment) {
                return Err(Failure::Decides(id, branch::refusal(what)));
            }
        }
        Ok(())
    }

    fn find_owners(&mut self, terms: &[NodeId]) {
        let numbers: FxHashMap<NodeId, u32> =
            terms.iter().enumerate().map(|(k, id)| (*id, k as u32)).collect();
        // What the sides of branches that are read name, taken or not: both are computed.
        let mut named = FxHashSet::default();
        loop {
            self.find_owners_with(&numbers, &named);
            let before = named.len();
            for (place, id) in self.scaffold.target.iter().enumerate() {
                let follows = self.trace.node(*id).role == Role::Restructured;
                if follows && self.owners[place] != Owner::Nobody {
                    branch::visit_operands(self.trace, *id, &mut |node| {
                        named.insert(node);
                    });
                }
            }
            if named.len() == before {
                return;
            }
        }
    }

    fn find_owners_with(&mut self, numbers: &FxHashMap<NodeId, u32>, named: &FxHashSet<NodeId>) {
        self.owners = vec![Owner::Nobody; self.scaffold.target.len()];
        for place in (0..self.scaffold.target.len()).rev() {
            let id = self.scaffold.target[place];
            if self.trace.node(id).is_random() || named.contains(&id) {
                self.owners[place] = Owner::Global;
                continue;
            }
            let mut owner = Owner::Nobody;
            for child in &self.trace.node(id).children {
                let reader = match numbers.get(&child.node) {
                    Some(number) if !self.needs_arguments(child.node) => Owner::Term(*number),
                    Some(_) => Owner::Global,
                    None => match self.places.get(&child.node) {
                        // Both branches are followed, whatever runs now.
                        Some(place) if self.trace.node(child.node).role != Role::Restructured => {
                            self.owners[*place as usize]
                        }
                        Some(_) => Owner::Global,
                        None if self.left_out.contains(&child.node) => Owner::Nobody,
                        // In T: a branch that runs only now.
                        None => Owner::Global,
                    },
                };
                owner = owner.and(reader);
                if owner == Owner::Global {
                    break;
                }
            }
            self.owners[place] = owner;
        }
    }

    /// Whether the coordinates of a choice of the block depend on its arguments.
    fn needs_arguments(&self, id: NodeId) -> bool {
        let node = self.trace.node(id);
        let NodeOp::Random(distribution) = &node.op else { return false };
        let standardised = self.form == Form::Standardised
            && transform::location_and_scale(distribution.spec().name, node.args.len()).is_some();
        self.places.contains_key(&id)
            && (standardised || !distribution.support_arguments().is_empty())
    }

    fn support(&self, id: NodeId, distribution: &dyn Distribution) -> Result<Support, EvalError> {
        let support = self.trace.with_args(id, |args| distribution.support(args));
        let name = distribution.spec().name;
        support.map_err(|e| self.trace.argument_error(name, e, self.trace.node(id).origin))
    }

    /// The marked value of a choice of the block.
    fn choice(&mut self, id: NodeId) -> Compiled<Value> {
        let NodeOp::Random(distribution) = self.trace.node(id).op else {
            unreachable!("checked before")
        };
        let first = self.placed[&id].first;
        let support = self.support(id, distribution)?;
        let arity = self.trace.node(id).args.len();
        if self.form == Form::Standardised
            && let Some(places) = transform::location_and_scale(distribution.spec().name, arity)
        {
            let args = places.map(|k| self.trace.node(id).args[k].operand.clone());
            let location = self.argument(&args[0], true)?.as_number();
            let scale = self.argument(&args[1], true)?.as_number();
            if let (Some(location), Some(scale)) = (location, scale)
                && [&args[0], &args[1]].iter().any(|arg| self.is_in_block(arg))
            {
                let x = transform::standardise(&mut self.globals, location, scale, first as u32);
                self.placed.entry(id).and_modify(|placed| placed.standardised = true);
                return Ok(Value::Number(x));
            }
        }
        let mut ends = match support {
            Support::Interval { low, high } => (low, high),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        if let [low, high] = distribution.support_arguments() {
            let args: Vec<Operand> =
                [low, high].map(|k| self.trace.node(id).args[*k].operand.clone()).into();
            let low = self.argument(&args[0], true)?.as_number();
            let high = self.argument(&args[1], true)?.as_number();
            ends = (low.unwrap_or(ends.0), high.unwrap_or(ends.1));
        }
        Ok(transform::constrain(&mut self.globals, &support, ends, first as u32))
    }

    fn is_in_block(&self, operand: &Operand) -> bool {
        operand.node().is_some_and(|id| self.places.contains_key(&id))
    }

    fn program(&mut self, global: bool) -> &mut Program {
        if global { &mut self.globals } else { &mut self.row }
    }

    /// The marked value of an operand, on the global program or on that of the row.
    pub(super) fn argument(&mut self, operand: &Operand, global: bool) -> Compiled<Value> {
        let id = match operand {
            Operand::Constant(value) => return Ok(value.clone()),
            Operand::Node(id) => *id,
        };
        if let Some(value) = self.row_values.get(&id).or_else(|| self.global_values.get(&id)) {
            return Ok(value.clone());
        }
        if let Some(place) = self.places.get(&id) {
            debug_assert!(
                self.owners[*place as usize] == Owner::Global,
                "arguments come first in D"
            );
            self.make_global(id)?;
            return Ok(self.global_values[&id].clone());
        }
        let value = self.trace.value(id)?.clone();
        let program = self.program(global);
        match lower::live(program, id, &value) {
            Some(marked) => {
                if global {
                    self.global_values.insert(id, marked.clone());
                }
                Ok(marked)
            }
            None => Ok(self.pin(id, value)),
        }
    }

    pub(super) fn pin(&mut self, id: NodeId, value: Value) -> Value {
        self.pinned.push((id, value.clone()));
        value
    }

    /// The value of an argument that decides what the result looks like.
    fn deciding(&mut self, operand: &Operand, global: bool) -> Compiled<Value> {
        match operand {
            Operand::Node(id) if !self.places.contains_key(id) => {
                let value = self.trace.value(*id)?.clone();
                Ok(self.pin(*id, value))
            }
            operand => self.argument(operand, global),
        }
    }

    /// The marked value of a deterministic node.
    fn node(&mut self, id: NodeId, global: bool) -> Compiled<Value> {
        let node = self.trace.node(id);
        let operands: Vec<Operand> = node.args.iter().map(|arg| arg.operand.clone()).collect();
        match &node.op {
            NodeOp::Function(function) => {
                let function = *function;
                let name = function.spec.name;
                let deciding = lower::deciding_arguments(name);
                let mut args = Vec::with_capacity(operands.len());
                for (k, operand) in operands.iter().enumerate() {
                    // What `lookup` finds may be decided at run time.
                    let decides = deciding.contains(&k) && name != "lookup";
                    args.push(match decides {
                        true => self.deciding(operand, global)?,
                        false => self.argument(operand, global)?,
                    });
                }
                self.lowered(id, global, |program| lower::function(program, function, &args))
            }
            NodeOp::Structure(structure) if node.role == Role::Restructured => {
                let structure = structure.clone();
                let StructureKind::Branch { then, otherwise } = &structure.kind else {
                    unreachable!("checked before")
                };
                let condition = self.argument(&operands[0], global)?;
                let mut sides = Vec::with_capacity(2);
                for expression in [then, otherwise] {
                    sides.push(branch::value(
                        self,
                        expression,
                        &structure.environment,
                        global,
                        id,
                    )?);
                }
                self.lowered(id, global, |program| {
                    lower::either(program, &condition, &sides[1], &sides[0])
                })
            }
            NodeOp::Structure(_) => {
                let root = operands.last().expect("a structure has a root");
                self.argument(root, global)
            }
            _ => {
                let reason = format!("{} has no derivative", node.op_name());
                Err(Failure::At(id, reason))
            }
        }
    }

    pub(super) fn lowered(
        &mut self,
        id: NodeId,
        global: bool,
        lower: impl FnOnce(&mut Program) -> Result<Value, Obstacle>,
    ) -> Compiled<Value> {
        lower(self.program(global)).map_err(|reason| Failure::At(id, reason))
    }
}
