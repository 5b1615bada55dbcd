//! Structures of D that only select ([`crate::formula`]), as steps of a plan: what they come to under any candidate, with
//! what they read named as in the plan. So nothing has to be made to weigh a candidate that takes another branch.

use smallvec::SmallVec;
use smidgen_prob::{Distribution, Function};
use smidgen_value::Value;

use super::dry_run::DryRun;
use super::plan::{Draft, Planned};
use super::shape::{Source, Sources};
use crate::formula::{Formula, Select, Standing};
use crate::id::NodeId;
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::node::{Op, Role, StructureKind};
use crate::trace::scaffold::Scaffold;

pub(super) enum Selected {
    Source(Source),
    Apply(&'static Function, Vec<Selected>),
    /// The condition, then both sides.
    If(Box<[Selected; 3]>),
    /// The log density of an observed value, an operand of the plan.
    Density(&'static dyn Distribution, u32, Vec<Selected>),
}

impl PartialEq for Selected {
    fn eq(&self, other: &Selected) -> bool {
        match (self, other) {
            (Selected::Source(a), Selected::Source(b)) => a == b,
            (Selected::Apply(f, a), Selected::Apply(g, b)) => std::ptr::eq(*f, *g) && a == b,
            (Selected::If(a), Selected::If(b)) => a == b,
            (Selected::Density(f, x, a), Selected::Density(g, y, b)) => {
                std::ptr::eq(f.spec(), g.spec()) && x == y && a == b
            }
            _ => false,
        }
    }
}

impl Selected {
    /// What it reads.
    pub(super) fn sources(&self, out: &mut Sources) {
        match self {
            Selected::Source(source) => out.push(*source),
            Selected::Apply(_, parts) | Selected::Density(_, _, parts) => {
                parts.iter().for_each(|part| part.sources(out));
            }
            Selected::If(parts) => parts.iter().for_each(|part| part.sources(out)),
        }
    }
}

/// The structures of D for which a formula is sought: branches and calls, and requests whose key is computed from the
/// choice. A request for the choice itself is a look-up.
fn sought(trace: &Trace, scaffold: &Scaffold) -> Vec<NodeId> {
    let is_sought = |id: &&NodeId| {
        let node = trace.node(**id);
        let Op::Structure(structure) = &node.op else { return false };
        trace.role(**id) == Some(Role::Restructured)
            && match &structure.kind {
                StructureKind::Branch { .. } => true,
                StructureKind::Call { operands } => !operands.is_empty(),
                StructureKind::Request { .. } => {
                    let key = node.args[0].operand.node();
                    node.args.len() == 2
                        && key.is_some_and(|key| !is_choice(trace, key, scaffold.principals[0]))
                }
                _ => false,
            }
    };
    scaffold.target.iter().filter(is_sought).copied().collect()
}

/// Whether a node has the choice's value, because it hands it on.
fn is_choice(trace: &Trace, mut id: NodeId, choice: NodeId) -> bool {
    while id != choice {
        let is_structure = matches!(trace.node(id).op, Op::Structure(_));
        if !is_structure || trace.role(id) != Some(Role::Target) {
            return false;
        }
        match trace.node(id).root().and_then(Operand::node) {
            Some(root) => id = root,
            None => return false,
        }
    }
    true
}

/// What the structures of a scaffold that was just built select.
pub(super) fn find(trace: &mut Trace, scaffold: &Scaffold) -> Standing {
    let sought = sought(trace, scaffold);
    match sought.is_empty() {
        true => Standing::default(),
        false => Standing::find(trace, scaffold, &sought),
    }
}

impl Draft<'_> {
    /// None if something in it is of another kind.
    pub(super) fn selected(&mut self, select: &Select) -> Option<Selected> {
        let sources: Option<Sources> =
            select.reads.iter().map(|id| self.source_of_node(*id)).collect();
        self.part(&select.formula, &sources?)
    }

    fn part(&mut self, formula: &Formula, reads: &[Source]) -> Option<Selected> {
        Some(match formula {
            Formula::Constant(value) => {
                Selected::Source(Source::Fixed(self.fixed(Operand::Constant(value.clone()))))
            }
            Formula::Read(place) => Selected::Source(reads[*place as usize]),
            Formula::Apply(function, args, _) => {
                let args = args.iter().map(|arg| self.part(arg, reads));
                Selected::Apply(function, args.collect::<Option<_>>()?)
            }
            Formula::If(parts, _) => {
                let [condition, then, otherwise] = &**parts;
                Selected::If(Box::new([
                    self.part(condition, reads)?,
                    self.part(then, reads)?,
                    self.part(otherwise, reads)?,
                ]))
            }
            Formula::Density(density) => {
                let observed = density.distribution.admit(&density.observed).ok()?;
                let observed = self.fixed(Operand::Constant(observed));
                let args = density.args.iter().map(|arg| self.part(arg, reads));
                Selected::Density(density.distribution, observed, args.collect::<Option<_>>()?)
            }
            Formula::Request(..) | Formula::Call(..) => return None,
        })
    }
}

impl DryRun {
    /// Its value for the candidate at hand; that of a density is its logarithm.
    pub(super) fn select(
        &self,
        trace: &Trace,
        plan: Planned<'_>,
        selected: &Selected,
    ) -> Option<Value> {
        let all = |parts: &[Selected]| -> Option<SmallVec<[Value; 4]>> {
            parts.iter().map(|part| self.select(trace, plan, part)).collect()
        };
        match selected {
            Selected::Source(source) => self.read(trace, plan, *source).cloned(),
            Selected::Apply(function, args) => {
                let args = all(args)?;
                (function.apply)(&args.iter().collect::<SmallVec<[&Value; 4]>>()).ok()
            }
            Selected::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let goes = self.select(trace, plan, condition)?.truth()?;
                self.select(trace, plan, if goes { then } else { otherwise })
            }
            Selected::Density(distribution, observed, args) => {
                let (args, observed) =
                    (all(args)?, plan.plan.operands[*observed as usize].constant()?);
                let args: SmallVec<[&Value; 4]> = args.iter().collect();
                distribution.log_density(observed, &args).ok().map(Value::Number)
            }
        }
    }
}
