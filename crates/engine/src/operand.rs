//! The result of evaluating an expression: a constant, which no move can change, or a node.
//!
//! Constants never become nodes: an application of a deterministic procedure to constants is
//! computed on the spot. So a trace holds only what can change, and "may this change?" is a
//! look at the operand.

use smallvec::SmallVec;
use smidgen_value::Value;

use crate::id::NodeId;

#[derive(Clone, Debug)]
pub enum Operand {
    Constant(Value),
    Node(NodeId),
}

const _: () = assert!(size_of::<Operand>() == 16);

pub type Operands = SmallVec<[Operand; 4]>;

impl Operand {
    pub fn node(&self) -> Option<NodeId> {
        match self {
            Operand::Node(id) => Some(*id),
            Operand::Constant(_) => None,
        }
    }

    pub fn constant(&self) -> Option<&Value> {
        match self {
            Operand::Constant(value) => Some(value),
            Operand::Node(_) => None,
        }
    }
}

impl From<Value> for Operand {
    fn from(value: Value) -> Operand {
        Operand::Constant(value)
    }
}
