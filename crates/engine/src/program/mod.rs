//! The instructions of a density: straight-line code over registers, each written once.
//!
//! A program is built once and run over many lanes: the global part over one, the rows of a shape
//! over all rows of that shape, block by block. Leaves are the registers that nothing computes:
//! inputs, numbers of the trace, registers of the global part.
//!
//! | module | what it is |
//! |---|---|
//! | [`ir`] | the steps |
//! | [`marked`], [`links`] | numbers that stand for registers; what registers are known by |
//! | [`build`], [`lower`], [`density`] | what writes steps: procedures, and the densities of laws |
//! | [`value_only`], [`call`], [`predict`] | steps without slopes: boxed calls, predictives of made procedures |
//! | [`analysis`] | questions about a program |
//! | [`run`] | the readings: values, gradients, draws |
//! | [`rows`], [`cells`], [`chunks`] | rows of one shape, where their leaves are, and how threads share them |
//! | [`curved`] | what is not linear in the coordinates, as sums, products and curves over forms |
//! | [`lanes`], [`values`], [`template`] | lanes that go their own ways: particles, values of finite choices |
//! | [`wide`] | loops compiled for wide registers |

mod analysis;
mod build;
pub(crate) mod call;
pub(crate) mod cells;
pub(crate) mod chunks;
pub(crate) mod curved;
pub(crate) mod density;
pub(crate) mod form;
mod ir;
mod lane_run;
pub(crate) mod lanes;
pub(crate) mod links;
pub(crate) mod lower;
pub(crate) mod marked;
pub(crate) mod predict;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod template;
pub(crate) mod value_only;
pub(crate) mod values;
pub(crate) mod wide;

pub(crate) use ir::{
    AggregateOp, Comparison, DensityOp, Leaf, Op, Program, Register, Source, Step,
};

use smidgen_value::Value;

use crate::error::EvalError;
use crate::id::NodeId;

/// Where the numbers of live leaves come from.
pub(crate) trait Values {
    /// The value of a node, as it is now.
    fn value(&mut self, id: NodeId) -> Result<&Value, EvalError>;
}
