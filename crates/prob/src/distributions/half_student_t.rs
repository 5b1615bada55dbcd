//! Twice the density of student_t(df, 0, scale) for x >= 0.

use smidgen_value::math::LN_2;
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::outcome;
use super::student_t;
use crate::arguments;
use crate::positive::Positive;
use crate::procedure::{Args, Arity, Distribution, Linked, Score, Spec, wanted};
use crate::recipe::Recipe;
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

fn parameters(args: Args<'_>) -> Result<(f64, Positive), ArgumentError> {
    Ok((
        arguments::positive(args, 0, "positive degrees of freedom")?,
        Positive::read(args, 1, "a positive scale")?,
    ))
}

fn log_density(x: f64, df: f64, scale: f64) -> f64 {
    if x >= 0.0 { student_t::log_density(x, df, scale) + LN_2 } else { f64::NEG_INFINITY }
}

fn score(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    let (df, scale) = (args[0], args[1]);
    if !(arguments::is_positive(df) && arguments::is_positive(scale)) {
        return f64::NEG_INFINITY;
    }
    wanted(slope, || student_t::slopes(x, df, scale));
    log_density(x, df, scale)
}

/// The same with the logarithm of the scale in its place.
fn score_by_log(x: f64, args: &[f64], slope: &mut [f64]) -> f64 {
    if x >= 0.0 { student_t::by_log(x, args[0], args[1], slope) + LN_2 } else { f64::NEG_INFINITY }
}

impl Distribution for HalfStudentT {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (df, scale) = parameters(args)?;
        Ok(Value::Number(outcome::finite(scale.times(student_t::draw(df, rng).abs()))))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (df, scale) = parameters(args)?;
        let x = outcome::number(x);
        Ok(match scale {
            Positive::Plain(scale) => log_density(x, df, scale),
            Positive::Log(log_scale) => score_by_log(x, &[df, log_scale], &mut []),
        })
    }

    /// Twice that of Student's law.
    fn recipe(&self, arguments: &[Option<f64>], link: Option<Link>) -> Option<Recipe> {
        Recipe::write(arguments, link, |law| {
            let df = law.argument(0);
            Some(student_t::formula(law.outcome(), df, law.argument(1).positive()?) + LN_2)
        })
    }

    fn score(&self) -> Option<Score> {
        Some(Score::Scalar(score))
    }

    fn linked(&self) -> Option<Linked> {
        Some(Linked { place: 1, link: Link::Log, score: Score::Scalar(score_by_log) })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        parameters(args)?;
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        outcome::admit_number(x)
    }
}
