//! Independent normal numbers: f(x) is the product over i of the normal density of x_i with mean
//! m_i and standard deviation s_i.

use std::borrow::Cow;

use rand_distr::{Distribution as _, StandardNormal};
use smidgen_value::{ArgumentError, Rng, Value};

use super::multivariate_normal::{finite_vector, in_support};
use super::{normal, outcome};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Score, Spec};
use crate::support::Support;

pub struct MultivariateDiagNormal;

static SPEC: Spec = Spec {
    name: "multivariate_diag_normal",
    aliases: &[],
    parameters: "mean sds",
    arity: Arity::exactly(2),
    summary: "A vector of independent normal numbers with these means and standard deviations",
    example: "(multivariate_diag_normal (vector 0 0) (vector 1 2))",
};

type Reals<'a> = Cow<'a, [f64]>;

fn parameters<'a>(args: Args<'a>) -> Result<(Reals<'a>, Reals<'a>), ArgumentError> {
    let mean = finite_vector(args, 0)?;
    let sds = arguments::reals(args, 1)?;
    if sds.len() != mean.len() {
        return Err(ArgumentError::other(format!(
            "the dimensions differ: {} means, {} standard deviations",
            mean.len(),
            sds.len()
        )));
    }
    if sds.iter().all(|sd| *sd > 0.0 && sd.is_finite()) {
        Ok((mean, sds))
    } else {
        Err(ArgumentError::domain(1, "positive standard deviations", args[1]))
    }
}

fn log_density(x: &[f64], mean: &[f64], sds: &[f64]) -> f64 {
    let each = x.iter().zip(mean.iter().zip(sds));
    each.map(|(x, (m, sd))| normal::log_density(*x, *m, *sd)).sum()
}

fn score(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64 {
    let (mean, sds) = (args[0], args[1]);
    let valid = in_support(mean, sds.len()) && sds.iter().all(|sd| arguments::is_positive(*sd));
    if !valid || mean.is_empty() || !in_support(x, mean.len()) {
        return f64::NEG_INFINITY;
    }
    let z = |i: usize| (x[i] - mean[i]) / sds[i];
    x_slope.iter_mut().enumerate().for_each(|(i, slope)| *slope -= z(i) / sds[i]);
    slopes[0].iter_mut().enumerate().for_each(|(i, slope)| *slope += z(i) / sds[i]);
    slopes[1].iter_mut().enumerate().for_each(|(i, slope)| *slope += (z(i) * z(i) - 1.0) / sds[i]);
    log_density(x, mean, sds)
}

impl Distribution for MultivariateDiagNormal {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (mean, sds) = parameters(args)?;
        let x = mean.iter().zip(sds.iter()).map(|(m, sd)| {
            let z: f64 = StandardNormal.sample(rng);
            outcome::finite(m + sd * z)
        });
        Ok(Value::vector(x.collect::<Vec<_>>()))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (mean, sds) = parameters(args)?;
        let Some(x) = outcome::reals(x).filter(|x| in_support(x, mean.len())) else {
            return Ok(f64::NEG_INFINITY);
        };
        Ok(log_density(x, &mean, &sds))
    }

    fn score(&self) -> Option<Score> {
        Some(Score::General(score))
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let (mean, _) = parameters(args)?;
        Ok(Support::Vectors { len: mean.len() })
    }

    fn support_arguments(&self) -> &'static [usize] {
        &[0]
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_vector(x)
    }
}
