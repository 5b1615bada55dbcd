//! Twice the density of student_t(df, 0, scale) for x >= 0.

use smidgen_value::math::LN_2;
use smidgen_value::{ArgumentError, Rng, Value};

use super::outcome;
use super::student_t;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec};
use crate::support::Support;

pub struct HalfStudentT;

static SPEC: Spec = Spec {
    name: "half_student_t",
    aliases: &[],
    parameters: "df scale",
    arity: Arity::exactly(2),
    summary: "The size of a Student t draw around 0",
    example: "(half_student_t 4 1)",
};

fn parameters(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    Ok((
        arguments::positive(args, 0, "positive degrees of freedom")?,
        arguments::positive(args, 1, "a positive scale")?,
    ))
}

impl Distribution for HalfStudentT {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (df, scale) = parameters(args)?;
        Ok(Value::Number(outcome::finite(scale * student_t::draw(df, rng).abs())))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (df, scale) = parameters(args)?;
        let x = outcome::number(x);
        Ok(if x >= 0.0 { student_t::log_density(x, df, scale) + LN_2 } else { f64::NEG_INFINITY })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
