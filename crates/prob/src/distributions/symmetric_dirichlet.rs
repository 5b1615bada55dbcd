//! The Dirichlet law with n equal parameters alpha.

use smidgen_value::{ArgumentError, Rng, Value};

use super::{dirichlet, outcome};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec};
use crate::support::Support;

pub struct SymmetricDirichlet;

static SPEC: Spec = Spec {
    name: "symmetric_dirichlet",
    aliases: &[],
    parameters: "alpha n",
    arity: Arity::exactly(2),
    summary: "A vector of n probabilities, the more even the larger alpha",
    example: "(symmetric_dirichlet 1 3)",
};

fn parameters(args: Args<'_>) -> Result<Vec<f64>, ArgumentError> {
    let alpha = arguments::positive(args, 0, "a positive alpha")?;
    let expected = "a positive whole dimension";
    let n =
        arguments::number_where(args, 1, expected, |n| n >= 1.0 && n.fract() == 0.0 && n <= 1e8)?;
    Ok(vec![alpha; n as usize])
}

impl Distribution for SymmetricDirichlet {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        Ok(Value::vector(dirichlet::draw(&parameters(args)?, rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let alphas = parameters(args)?;
        Ok(outcome::reals(x).map_or(f64::NEG_INFINITY, |x| dirichlet::log_density(x, &alphas)))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(Support::Simplex { len: parameters(args)?.len() })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[1]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_vector(x)
    }
}
