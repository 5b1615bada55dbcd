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

    /// What is recorded of one draw, into `values`. All expressions are evaluated in one run, after what is there was read, so that
    /// they see the same rows of memoised procedures.
    pub fn values(
        watch: &[Watch],
        model: &mut Model,
        rng: &mut Rng,
        values: &mut Vec<Value>,
    ) -> Result<(), EvalError> {
        values.clear();
        for watched in watch {
            values.push(match watched {
                Watch::Operand(_, root) => model.operand_value(root)?,
                Watch::Expression(..) => Value::Nil,
            });
        }
        let environment = &Environment::default();
        let (places, codes): (Vec<usize>, Vec<Code<'_>>) = watch
            .iter()
            .enumerate()
            .filter_map(|(place, watched)| match watched {
                Watch::Operand(..) => None,
                Watch::Expression(_, expr) => Some((place, Code { expr, environment })),
            })
            .unzip();
        if !codes.is_empty() {
            for (place, value) in places.into_iter().zip(model.sample_together(codes, rng)?) {
                values[place] = value;
            }
        }
        Ok(())
    }
}
