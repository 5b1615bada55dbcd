//! The Dirichlet law with n equal parameters alpha.

use smidgen_value::{ArgumentError, Rng, Value};

use super::{dirichlet, outcome};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
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

fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let (alpha, n) = (args[0][0], args[1][0]);
    // Before the parameters are spread out, their number has to be that of the outcome.
    if n != x.len() as f64 {
        return f64::NEG_INFINITY;
    }
    let alphas = vec![alpha; x.len()];
    if slopes[0].is_empty() {
        return dirichlet::score(x, &[&alphas], x_slope, &mut [&mut []]);
    }
    let mut each = vec![0.0; x.len()];
    let log_density = dirichlet::score(x, &[&alphas], x_slope, &mut [&mut each]);
    if let Some(slope) = slopes[0].first_mut() {
        *slope += each.iter().sum::<f64>();
    }
    log_density
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

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
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
