//! Pictures of a trace and of a scaffold: listings, and graphs for Graphviz as the paper draws
//! them (its figure 1).
//!
//! A node is shown as what it computes and the value it has now, `y: normal(mu, 0.1) = 10`: an
//! argument is a constant, the name that `assume` gave to a node, or the number of a node.
//! A large trace is cut, and says so.

mod dot;
mod text;

use rustc_hash::{FxHashMap, FxHashSet};
use smidgen_prob::registry::Builtin;
use smidgen_value::{Symbol, Value};

use crate::id::{FamilyId, NodeId};
use crate::model::{Model, RecordKind};
use crate::operand::Operand;
use crate::procedure::Procedure;
use crate::trace::Trace;
use crate::trace::node::{Op, Structure, StructureKind};
use crate::trace::scaffold::Scaffold;

pub use dot::{scaffold_dot, trace_dot};
pub use text::{scaffold_text, trace_text};

/// How many nodes a picture or a part of a listing shows.
const SHOWN: usize = 400;

/// How many arguments of a node are shown.
const SHOWN_ARGUMENTS: usize = 8;

/// A trace and what is needed to put its nodes in words.
struct View<'m> {
    trace: &'m mut Trace,
    /// Names that `assume` gave to nodes, or to the procedures made there.
    names: FxHashMap<NodeId, Symbol>,
    /// Scope and block of each unconstrained choice that has them.
    tags: FxHashMap<NodeId, Vec<(Value, Value)>>,
    /// The structure nodes that refer to a family.
    owners: FxHashMap<FamilyId, Vec<NodeId>>,
}

impl<'m> View<'m> {
    fn new(model: &'m mut Model) -> View<'m> {
        let assumed: Vec<Symbol> = (model.records().iter())
            .filter_map(|record| match record.kind {
                RecordKind::Assume(name) => Some(name),
                _ => None,
            })
            .collect();
        let trace = model.trace_mut();
        let mut names = FxHashMap::default();
        for name in assumed {
            let node = trace.global(name).and_then(|operand| match operand {
                Operand::Node(id) => Some(id),
                Operand::Constant(value) => match Procedure::of(&value) {
                    Some(Procedure::Memoised(id) | Procedure::Made(id)) => Some(*id),
                    _ => None,
                },
            });
            if let Some(id) = node {
                names.entry(id).or_insert(name);
            }
        }
        let mut tags: FxHashMap<NodeId, Vec<(Value, Value)>> = FxHashMap::default();
        for scope in trace.scopes().ids() {
            for block in trace.scopes().ordered_blocks(&scope) {
                for id in trace.scopes().block(&scope, &block) {
                    tags.entry(*id).or_default().push((scope.clone(), block.clone()));
                }
            }
        }
        let mut owners: FxHashMap<FamilyId, Vec<NodeId>> = FxHashMap::default();
        for id in trace.live_nodes() {
            let family = trace.node(id).expansion;
            if !family.is_none() {
                owners.entry(family).or_default().push(id);
            }
        }
        View { trace, names, tags, owners }
    }

    /// The structure nodes whose body made a node.
    fn owners_of(&self, id: NodeId) -> &[NodeId] {
        self.owners.get(&self.trace.node(id).family).map_or(&[], Vec::as_slice)
    }

    /// Existential parents: the nodes whose values decided that this one exists.
    fn deciding(&self, id: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        for owner in self.owners_of(id) {
            let args = &self.trace.node(*owner).args;
            found.extend(args[..args.len() - 1].iter().filter_map(|arg| arg.operand.node()));
        }
        found
    }

    // ------------------------------------------------------------ words

    /// A node as an argument of another: its name or its number.
    fn reference(&self, id: NodeId) -> String {
        match self.names.get(&id) {
            Some(name) => name.to_string(),
            None => format!("#{}", id.0),
        }
    }

    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Node(id) => self.reference(*id),
            Operand::Constant(value) => value.brief(),
        }
    }

    fn list<'a>(&self, operands: impl ExactSizeIterator<Item = &'a Operand>) -> String {
        let left_out = operands.len().saturating_sub(SHOWN_ARGUMENTS);
        let mut shown: Vec<String> =
            operands.take(SHOWN_ARGUMENTS).map(|operand| self.operand(operand)).collect();
        if left_out > 0 {
            shown.push(format!("... {left_out} more"));
        }
        shown.join(", ")
    }

    /// What a node computes, with its arguments.
    fn computation(&self, id: NodeId) -> String {
        let node = self.trace.node(id);
        let name = node.op_name();
        match &node.op {
            Op::Structure(structure) => self.structure(id, structure),
            Op::Draw(maker) => match self.names.get(maker) {
                Some(name) => format!("draw from {name}"),
                None => format!("draw from {} #{}", self.trace.node(*maker).op_name(), maker.0),
            },
            Op::Memo(table) => {
                format!(
                    "{name}({}), {}",
                    table.target.brief(),
                    counted(table.families.len(), "body")
                )
            }
            Op::Maker(made) => {
                let arguments = self.list(node.args.iter().map(|arg| &arg.operand));
                format!("{name}({arguments}), {}", counted(made.statistics.count(), "draw"))
            }
            Op::Plate(plate) => {
                let arguments = self.list(node.args.iter().map(|arg| &arg.operand));
                format!("{name}({arguments}), {}", counted(plate.rows(), "row"))
            }
            Op::Frozen => name.to_owned(),
            Op::Function(_) | Op::Random(_) | Op::Free => {
                format!("{name}({})", self.list(node.args.iter().map(|arg| &arg.operand)))
            }
        }
    }

    fn structure(&self, id: NodeId, structure: &Structure) -> String {
        let node = self.trace.node(id);
        let deciding =
            || self.list(node.args[..node.args.len() - 1].iter().map(|arg| &arg.operand));
        let name = structure.kind.name();
        let asked = match &structure.kind {
            StructureKind::Branch { .. }
            | StructureKind::Include { .. }
            | StructureKind::Exclude { .. } => {
                format!("{name}({})", deciding())
            }
            StructureKind::Call { operands } => {
                format!("{name} {}({})", deciding(), self.list(operands.iter()))
            }
            StructureKind::Request { memo } => {
                format!("{name} {}({})", self.reference(*memo), deciding())
            }
            StructureKind::HigherOrder { which, operands, .. } => {
                let name = Builtin::HigherOrder(*which).spec().name;
                format!("{name}({})", self.list(operands.iter()))
            }
        };
        match node.root() {
            Some(Operand::Node(root)) => format!("{asked} -> {}", self.reference(*root)),
            _ => asked,
        }
    }

    /// The value of a node now. Nodes that only hold tables or statistics have none.
    fn value(&mut self, id: NodeId) -> Option<String> {
        let has_value = match &self.trace.node(id).op {
            Op::Memo(_) | Op::Free => false,
            Op::Maker(made) => made.maker.latent().is_some(),
            _ => true,
        };
        has_value.then(|| match self.trace.value(id) {
            Ok(value) => value.brief(),
            Err(error) => format!("? ({error})"),
        })
    }

    /// Name, computation, value, and whether it is observed.
    fn label(&mut self, id: NodeId) -> String {
        let mut label = match self.names.get(&id) {
            Some(name) => format!("{name}: "),
            None => String::new(),
        };
        label += &self.computation(id);
        if let Some(value) = self.value(id) {
            label += " = ";
            label += &value;
        }
        if self.trace.node(id).constrained {
            label += " (observed)";
        }
        label
    }
}

fn counted(n: usize, noun: &str) -> String {
    match (n, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{n} {stem}ies"),
        (_, None) => format!("{n} {noun}s"),
    }
}

/// The part that a node plays in a scaffold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Target,
    Transient,
    Absorbing,
}

/// The sets of a scaffold as nodes that are still there.
struct Parts {
    principals: FxHashSet<NodeId>,
    target: Vec<NodeId>,
    transient: Vec<NodeId>,
    absorbing: Vec<NodeId>,
}

impl Parts {
    fn of(trace: &Trace, scaffold: &Scaffold) -> Parts {
        let live = |id: &NodeId| trace.node(*id).is_live();
        Parts {
            principals: scaffold.principals.iter().copied().collect(),
            target: scaffold.target.iter().copied().filter(live).collect(),
            transient: scaffold.transient_nodes(trace).filter(live).collect(),
            absorbing: (scaffold.absorbing.iter().chain(&scaffold.makers))
                .copied()
                .filter(live)
                .collect(),
        }
    }

    fn sets(&self) -> [(Part, &[NodeId]); 3] {
        [
            (Part::Target, &self.target),
            (Part::Transient, &self.transient),
            (Part::Absorbing, &self.absorbing),
        ]
    }
}
