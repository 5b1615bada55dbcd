//! What is recorded after each draw.

use smidgen_engine::environment::Environment;
use smidgen_engine::model::{Code, Ties};
use smidgen_engine::operand::Operand;
use smidgen_engine::{EvalError, Model};
use smidgen_lang::core::ExprRef;
use smidgen_value::{Rng, Value};

pub(crate) enum Watch {
    Operand(String, Operand),
    Expression(String, ExprRef),
}

impl Watch {
    pub fn name(&self) -> &str {
        match self {
            Watch::Operand(name, _) | Watch::Expression(name, _) => name,
        }
    }

    pub fn ties(&self, model: &mut Model, rng: &mut Rng) -> Result<Ties, EvalError> {
        match self {
            Watch::Operand(_, root) => Ok(model.ties(root)),
            Watch::Expression(_, expr) => {
                model.ties_of(Code { expr, environment: &Environment::default() }, rng)
            }
        }
    }

    /// The address of the free choice that it is, if it is one.
    pub fn address(&self, model: &mut Model, rng: &mut Rng) -> Option<u64> {
        match self {
            Watch::Operand(_, root) => model.choice_address(root),
            Watch::Expression(_, expr) => {
                model.address_of(Code { expr, environment: &Environment::default() }, rng)
            }
        }
    }

    /// What is recorded of one draw, into `values`: operands of the trace first, then expressions, all of them in
    /// one run, so that they see the same rows of memoised procedures.
    pub fn values(
        watch: &[Watch],
        model: &mut Model,
        rng: &mut Rng,
        values: &mut Vec<Value>,
    ) -> Result<(), EvalError> {
        values.clear();
        for watched in watch {
            if let Watch::Operand(_, root) = watched {
                values.push(model.operand_value(root)?);
            }
        }
        if values.len() < watch.len() {
            let environment = &Environment::default();
            let codes = watch.iter().filter_map(|watched| match watched {
                Watch::Operand(..) => None,
                Watch::Expression(_, expr) => Some(Code { expr, environment }),
            });
            values.extend(model.sample_together(codes, rng)?);
        }
        Ok(())
    }
}
