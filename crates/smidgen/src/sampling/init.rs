//! Where chains begin, if somebody says so: values by name, as by `force`, or states of a former run.

use smidgen_draws::States;
use smidgen_engine::environment::Environment;
use smidgen_engine::model::Code;
use smidgen_engine::{EvalError, Model};
use smidgen_lang::core::ExprRef;
use smidgen_value::{Rng, Value};

/// Where the chains of a run begin.
#[derive(Clone, Debug)]
pub enum Init {
    /// Expressions that refer to random choices, with values: one list for each chain, from the first again if there
    /// are more chains.
    Values(Vec<Vec<(String, Value)>>),
    /// The same from a former run: what is no random choice is passed over.
    Recorded(Vec<Vec<(String, Value)>>),
    /// The last states of a former run.
    States(States),
}

/// The same with all names lowered.
pub(super) enum Start {
    Anywhere,
    Values { chains: Vec<Vec<(ExprRef, Value)>>, is_strict: bool },
    States(States),
}

impl Start {
    /// Sets the values of chain `k` in a model whose directives have run.
    pub fn force(&self, k: usize, model: &mut Model, rng: &mut Rng) -> Result<(), EvalError> {
        let Start::Values { chains, is_strict } = self else { return Ok(()) };
        let environment = &Environment::default();
        for (expr, value) in chains.get(k % chains.len().max(1)).into_iter().flatten() {
            let code = Code { expr, environment };
            if !is_strict && model.address_of(code, rng).is_none() {
                continue;
            }
            model.whole(|model| model.force(code, value, rng))?;
        }
        Ok(())
    }
}
