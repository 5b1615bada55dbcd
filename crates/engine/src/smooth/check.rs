//! What a block may not be: moves that would have to make or unmake something have no density of a fixed form.

use super::branch;
use super::compile::{Compiled, Compiler, Failure};
use crate::id::NodeId;
use crate::trace::fault::Fault;
use crate::trace::node::{Op as NodeOp, Role, StructureKind};

impl Compiler<'_> {
    /// What no program can follow, whatever the values of the block. All of D counts, whether a density reads it
    /// or not: what the block decides in the trace has to follow its moves.
    pub(super) fn check_forms(&mut self) -> Compiled<()> {
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
}
