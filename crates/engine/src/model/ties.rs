//! What a recorded quantity hangs on: whether it can move at all, and whether what it hangs on did.

use rustc_hash::FxHashSet;
use smidgen_value::{Rng, Value};

use super::{Code, Model};
use crate::error::EvalError;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::trace::Trace;
use crate::trace::node::Op;

/// So many choices are enough to see whether any of them moves.
const LOOKED_AT: usize = 32;

/// The unconstrained choices that a quantity hangs on, as of some moment.
#[derive(Clone, Debug, Default)]
pub struct Ties {
    /// Whether each entry hangs on any, for a list of entries; one answer for everything else.
    pub entries: Vec<bool>,
    /// Some of them.
    choices: Vec<NodeId>,
    /// The quantity itself, if it is one of them, with its value then.
    own: Option<(NodeId, Value)>,
    since: u64,
}

impl Ties {
    /// Whether the k-th number of the quantity hangs on some random choice.
    pub fn hangs(&self, k: usize) -> bool {
        self.entries.get(k).or(self.entries.first()).copied().unwrap_or(false)
    }
}

impl Model {
    /// What an operand hangs on now.
    pub fn ties(&self, root: &Operand) -> Ties {
        let choices = self.trace.choices_above(root, LOOKED_AT);
        let each = |operand: &Operand| !self.trace.choices_above(operand, 1).is_empty();
        let entries = match self.trace.parts(root) {
            Some(parts) => parts.iter().map(each).collect(),
            None => vec![!choices.is_empty()],
        };
        let own = root.node().filter(|id| self.trace.is_choice(*id));
        let own = own.map(|id| (id, self.trace.node(id).value.clone()));
        Ties { entries, choices, own, since: self.trace.revision }
    }

    /// The same for an expression, which leaves no trace and uses nothing of the stream.
    pub fn ties_of(&mut self, code: Code<'_>, rng: &mut Rng) -> Result<Ties, EvalError> {
        let place = rng.place();
        let ties = self.aside(|model, _| {
            let (_, root, ..) = model.evaluate(code, rng, false, None)?;
            Ok(model.ties(&root))
        });
        rng.go_back(place);
        ties
    }

    /// Whether one of the choices looked at has changed since, or is gone. A kernel may have written
    /// the value that was there; of the quantity itself that is known.
    pub fn has_moved(&self, ties: &Ties) -> bool {
        if let Some((id, value)) = &ties.own {
            return !self.trace.node(*id).value.is_identical(value);
        }
        let moved = |id: &NodeId| {
            let node = self.trace.node(*id);
            !node.is_live() || node.changed_at > ties.since
        };
        ties.choices.iter().any(moved)
    }
}

impl Trace {
    /// At most so many unconstrained choices that an operand hangs on.
    fn choices_above(&self, operand: &Operand, most: usize) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut seen = FxHashSet::default();
        let mut work: Vec<NodeId> = operand.node().into_iter().collect();
        while let Some(id) = work.pop() {
            if found.len() == most {
                break;
            }
            if !seen.insert(id) {
                continue;
            }
            if self.is_choice(id) {
                found.push(id);
            }
            work.extend(self.arguments_of(id));
        }
        found
    }

    /// What a node reads; for a draw from a made procedure also its maker.
    pub(crate) fn arguments_of(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let node = self.node(id);
        let maker = match node.op {
            Op::Draw(maker) => Some(maker),
            _ => None,
        };
        node.args.iter().filter_map(|arg| arg.operand.node()).chain(maker)
    }

    /// The entries of a list of values, if that is what an operand is: each as what it hangs on.
    fn parts(&self, root: &Operand) -> Option<Vec<Operand>> {
        let Operand::Node(id) = root else {
            return root.constant()?.elements().map(|items| vec![root.clone(); items.len()]);
        };
        let node = self.node(*id);
        let args = || node.args.iter().map(|arg| &arg.operand);
        match &node.op {
            Op::Function(function) => match function.spec.name {
                "vector" | "array" | "list" => Some(args().cloned().collect()),
                "append" => {
                    let parts: Option<Vec<_>> = args().map(|operand| self.parts(operand)).collect();
                    Some(parts?.concat())
                }
                _ => None,
            },
            Op::Random(_) => node.value.elements().map(|items| vec![root.clone(); items.len()]),
            _ => None,
        }
    }
}
