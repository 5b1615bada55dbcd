//! From the scaffold of a block to its density as programs.
//!
//! The terms are the block's choices and what absorbs. A deterministic node of D that leads to one
//! term only belongs to that term's row; all others, and the choices themselves, are the *global
//! part*, computed once. Rows of one shape are collected, so that a model of N observations
//! becomes a global part of a few instructions and one short program over N rows.

use rustc_hash::FxHashMap;
use smidgen_prob::smooth;
use smidgen_prob::{Distribution, Support};
use smidgen_value::Value;

use super::alike::Pattern;
use super::owners::Owner;
use super::plates::PlateTerm;
use super::position::Coordinates;
use super::standardise::By;
use super::{Density, Follow, Form, NotSmooth, branch, transform};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::lower::{self, Obstacle};
use crate::program::rows::RowsBuilder;
use crate::program::{Program, Register};
use crate::trace::Trace;
use crate::trace::fault::Fault;
use crate::trace::node::{Op as NodeOp, Role, StructureKind};
use crate::trace::scaffold::Scaffold;

/// Where the coordinates of a choice stand.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    pub(super) first: usize,
    pub(super) size: usize,
    /// The register of the first, if they are standardised.
    pub(super) standardised: Option<Register>,
}

pub(super) struct Compiler<'t> {
    pub(super) trace: &'t mut Trace,
    pub(super) scaffold: &'t Scaffold,
    pub(super) form: Form,
    /// Places in D.
    pub(super) places: FxHashMap<NodeId, u32>,
    pub(super) owners: Vec<Owner>,
    pub(super) placed: FxHashMap<NodeId, Placed>,
    /// The global part.
    pub(super) globals: Program,
    pub(super) global_values: FxHashMap<NodeId, Value>,
    /// The row at hand.
    pub(super) row: Program,
    row_values: FxHashMap<NodeId, Value>,
    shapes: FxHashMap<Vec<u64>, u32>,
    key: Vec<u64>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) rows: Vec<RowsBuilder>,
    /// Values outside D that the programs rely on as they are.
    pub(super) pinned: Vec<(NodeId, Value)>,
    /// Values outside D whose numbers the programs read: they have to keep their form.
    pub(super) watched: Vec<(NodeId, Value)>,
    /// Registers of the locations and scales that choices are standardised by.
    pub(super) locations: Vec<Register>,
    pub(super) scales: Vec<Register>,
    /// Factors of covariances, by the marks of these: many vectors may share one.
    pub(super) factors: FxHashMap<Vec<u64>, Value>,
    /// Whether some choice could be.
    may_standardise: bool,
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
) -> Result<Result<Density, NotSmooth>, EvalError> {
    let places = scaffold.target.iter().enumerate().map(|(k, id)| (*id, k as u32)).collect();
    let mut compiler = Compiler {
        trace,
        scaffold,
        form,
        places,
        owners: Vec::new(),
        placed: FxHashMap::default(),
        globals: Program { is_global: true, ..Program::default() },
        global_values: FxHashMap::default(),
        row: Program::default(),
        row_values: FxHashMap::default(),
        shapes: FxHashMap::default(),
        key: Vec::new(),
        patterns: Vec::new(),
        rows: Vec::new(),
        pinned: Vec::new(),
        watched: Vec::new(),
        locations: Vec::new(),
        scales: Vec::new(),
        factors: FxHashMap::default(),
        may_standardise: false,
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
            if let Some(Placed { first, size, standardised }) = self.placed.get(&id).copied() {
                let (value, standardised) =
                    (self.global_values[&id].clone(), standardised.is_some());
                let last = 0.0;
                coordinates.push(Coordinates { node: id, value, first, size, standardised, last });
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
        let mut next = 0;
        for (number, id) in terms.iter().enumerate() {
            let first = next;
            while members.get(next).is_some_and(|(term, _)| *term == number as u32) {
                next += 1;
            }
            self.add_row(*id, &members[first..next], number < choices)?;
        }
        let parts = self.arrange(coordinates, dimension, plates)?;
        // Those that no density reads as well: they have to follow every move.
        let branches: Vec<NodeId> = match self.trace.has_fault(Fault::UnreadBranch) {
            true => Vec::new(),
            false => self.scaffold.branches(self.trace).collect(),
        };
        let guards = self.guards();
        let may_refuse =
            !guards.is_empty() || !branches.iter().all(|id| branch::is_plain(self.trace, *id));
        let follow = Follow { branches, guards, may_refuse };
        Ok(Density::new(self.trace, parts, follow, self.may_standardise)?)
    }

    /// Functions that may stop though the density is not 0: those that nobody reads, and checks, of which programs
    /// have what they hand on.
    fn guards(&self) -> Vec<NodeId> {
        if self.trace.has_fault(Fault::UnreadStop) {
            return Vec::new();
        }
        let is_guard = |(place, id): &(usize, &NodeId)| {
            let is_read = self.owners[*place] != Owner::Nobody;
            self.trace.may_stop(**id) && (!is_read || self.is_check(**id))
        };
        let all = self.scaffold.target.iter().enumerate();
        all.filter(is_guard).map(|(_, id)| *id).collect()
    }

    fn is_check(&self, id: NodeId) -> bool {
        matches!(&self.trace.node(id).op, NodeOp::Function(f) if smooth::is_identity(f.spec.name))
    }

    /// Adds the row of a term, to which these nodes of D belong.
    fn add_row(&mut self, id: NodeId, members: &[(u32, u32)], in_block: bool) -> Compiled<()> {
        let alike = match in_block {
            true => None,
            false => self.alike(id, members),
        };
        if let Some(alike) = &alike
            && self.add_alike(alike)
        {
            return Ok(());
        }
        self.row.clear();
        self.row_values.clear();
        for (_, place) in members {
            let node = self.scaffold.target[*place as usize];
            let value = self.node(node, false)?;
            self.row_values.insert(node, value);
        }
        self.term(id, in_block)?;
        self.row.shape(&mut self.key);
        let place = match self.shapes.get(&self.key) {
            Some(place) => *place as usize,
            None => {
                self.shapes.insert(self.key.clone(), self.rows.len() as u32);
                self.rows.push(RowsBuilder::new(&self.row));
                self.rows.len() - 1
            }
        };
        self.rows[place].add(&self.row.leaves);
        alike.into_iter().for_each(|alike| self.keep_alike(alike, place));
        Ok(())
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

    pub(super) fn support(
        &self,
        id: NodeId,
        distribution: &dyn Distribution,
    ) -> Result<Support, EvalError> {
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
        if let Some(by) = By::of(distribution.spec().name, arity)
            && self.hangs_on_block(id, by)
        {
            self.may_standardise = true;
            if self.form == Form::Standardised
                && let Some(x) = self.standardise(id, by)?
            {
                return Ok(x);
            }
        }
        let mut ends = (f64::NEG_INFINITY, f64::INFINITY);
        if let Support::Interval { low, high } = support {
            // The arguments that an interval depends on are its ends, the lower one first, unless the law has a nearer
            // one of its own.
            let mut given = [low, high];
            for (end, k) in given.iter_mut().zip(distribution.support_arguments()) {
                let Some(arg) = self.trace.node(id).args.get(*k) else { continue };
                let arg = arg.operand.clone();
                if self.trace.settled_value(&arg).as_number() == Some(*end) {
                    *end = self.argument(&arg, true)?.as_number().unwrap_or(*end);
                }
            }
            ends = (given[0], given[1]);
        }
        Ok(transform::constrain(&mut self.globals, &support, ends, first as u32))
    }

    pub(super) fn is_in_block(&self, operand: &Operand) -> bool {
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
        match self.live(id, &value, global) {
            Some(marked) => {
                if global {
                    self.global_values.insert(id, marked.clone());
                }
                Ok(marked)
            }
            None => Ok(self.pin(id, value)),
        }
    }

    /// The marked value of a node outside D, if it holds nothing but numbers.
    pub(super) fn live(&mut self, id: NodeId, value: &Value, global: bool) -> Option<Value> {
        let marked = lower::live(self.program(global), id, value)?;
        if value.as_number().is_none() {
            self.watched.push((id, marked.clone()));
        }
        Some(marked)
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
                // A check is a guard.
                match smooth::is_identity(name) {
                    true => self.lowered(id, global, |_| lower::handed_on(&args)),
                    false => self
                        .lowered(id, global, |program| lower::function(program, function, &args)),
                }
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
