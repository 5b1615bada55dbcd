//! A copy of a trace or a model: another particle. Names of nodes are places, so they mean the same in
//! the copy. Rosters of local sections and plans of enumerations are left behind and
//! made again when asked for.

use crate::model::Model;
use crate::trace::Trace;
use crate::trace::node::{Arg, Made, Node, Op};
use crate::trace::roster::{Sections, Standing};

fn copy_op(op: &Op) -> Op {
    match op {
        Op::Function(function) => Op::Function(function),
        Op::Random(distribution) => Op::Random(*distribution),
        Op::Draw(maker) => Op::Draw(*maker),
        Op::Maker(made) => {
            let statistics = made.statistics.copy();
            Op::Maker(Box::new(Made { maker: made.maker, statistics, stamp: made.stamp }))
        }
        Op::Structure(structure) => Op::Structure(structure.clone()),
        Op::Memo(table) => Op::Memo(table.clone()),
        Op::Plate(plate) => Op::Plate(plate.clone()),
        Op::Frozen => Op::Frozen,
        Op::Free => Op::Free,
    }
}

fn copy_node(node: &Node) -> Node {
    let copy_arg = |arg: &Arg| Arg {
        operand: arg.operand.clone(),
        position: arg.position,
        standing: Standing::UNKNOWN,
    };
    Node {
        op: copy_op(&node.op),
        args: node.args.iter().map(copy_arg).collect(),
        children: node.children.clone(),
        value: node.value.clone(),
        memberships: node.memberships.clone(),
        tags: node.tags.clone(),
        observed: node.observed.clone(),
        is_hub: false,
        in_section: false,
        ..*node
    }
}

impl Trace {
    /// A copy with a name of its own, `number`: what a kernel keeps about the structure of another
    /// trace does not hold for it.
    pub(crate) fn copy(&self, number: u32) -> Trace {
        debug_assert!(self.journal.is_empty(), "nothing is open");
        let mut copy = Trace {
            nodes: self.nodes.iter().map(copy_node).collect(),
            free_nodes: self.free_nodes.clone(),
            families: self.families.clone(),
            free_families: self.free_families.clone(),
            globals: self.globals.clone(),
            assumed: self.assumed.clone(),
            builtins: self.builtins.clone(),
            choices: self.choices.clone(),
            scopes: self.scopes.clone(),
            journal: Vec::new(),
            revision: self.revision,
            last_lazy: self.last_lazy,
            epoch: self.epoch,
            population: self.population,
            memo_edits: self.memo_edits,
            edge_edits: self.edge_edits,
            stamps: self.stamps,
            creations: self.creations,
            value_edits: self.value_edits,
            edges_at: self.edges_at.clone(),
            numbers: self.numbers.clone(),
            densities: Vec::new(),
            scaffolds: Default::default(),
            side: Default::default(),
            structure: self.structure,
            sweep: self.sweep,
            sections: Sections::default(),
            desk: Default::default(),
            is_lenient: false,
            impossible: Default::default(),
            interrupt: self.interrupt.clone(),
            given: None,
            explorer: None,
            #[cfg(feature = "twins")]
            fault: self.fault,
        };
        copy.set_number(number);
        copy
    }

    /// See [`Trace::copy`].
    pub(crate) fn set_number(&mut self, number: u32) {
        let named = |count: u64| (count & u64::from(u32::MAX)) | u64::from(number) << 32;
        (self.structure, self.population) = (named(self.structure), named(self.population));
    }
}

impl Model {
    /// A copy; `number` tells it from all others that the same kernels may meet.
    pub fn copy(&self, number: u32) -> Model {
        self.copy_with(self.trace().copy(number))
    }

    /// Gives a model a number, see [`Model::copy`].
    pub fn set_number(&mut self, number: u32) {
        self.trace_mut().set_number(number);
    }
}
