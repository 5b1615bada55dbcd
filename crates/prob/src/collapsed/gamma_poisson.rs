//! Counts of unknown rate: rate ~ gamma(shape a, rate b), each application Poisson.
//!
//! `make_gamma_poisson` integrates the rate out. With a' = a + S and b' = b + n after n counts
//! of sum S, the next count is negative binomial,
//!
//! * log P(x) = log G(a' + x) - log G(a') - log x! - a' log(1 + 1/b') - x log(1 + b');
//! * log p(x_1..x_n) = log G(a + S) - log G(a) - a log(1 + n/b) - S log(b + n) - sum_i log x_i!,
//!
//! with G the gamma function. `make_uc_gamma_poisson` draws the rate; its density is
//! b^a r^(a-1) e^(-b r) / G(a).

use smidgen_value::math;
use smidgen_value::{ArgumentError, Rng, Value};

use super::counted::{Law, Made, admit_number, counted};
use super::draw;
use super::suff_stat::{Events, IndependentEvents, as_count, log_factorial};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec};
use crate::support::Support;

fn shape_and_rate(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    let shape = arguments::positive(args, 0, "a positive shape")?;
    Ok((shape, arguments::positive(args, 1, "a positive rate")?))
}

#[derive(Clone)]
struct CollapsedEvents;

impl Law<Events> for CollapsedEvents {
    fn sample(
        &self,
        seen: &Events,
        params: Args<'_>,
        rng: &mut Rng,
    ) -> Result<Value, ArgumentError> {
        let (a, b) = shape_and_rate(params)?;
        let rate = draw::gamma(a + seen.sum(), rng) / (b + seen.n as f64);
        Ok(Value::Number(draw::poisson(rate.clamp(f64::MIN_POSITIVE, 1e18), rng)))
    }

    fn log_predictive(
        &self,
        x: &Value,
        seen: &Events,
        params: Args<'_>,
    ) -> Result<f64, ArgumentError> {
        let (a, b) = shape_and_rate(params)?;
        let Some(x) = as_count(x) else { return Ok(f64::NEG_INFINITY) };
        let (a, b) = (a + seen.sum(), b + seen.n as f64);
        Ok(math::ln_gamma_ratio(a, x)
            - log_factorial(x)
            - a * math::ln_1p(1.0 / b)
            - math::xlog1py(x, b))
    }

    fn log_marginal(&self, seen: &Events, params: Args<'_>) -> Result<f64, ArgumentError> {
        let (a, b) = shape_and_rate(params)?;
        if !seen.all_inside() {
            return Ok(f64::NEG_INFINITY);
        }
        let (n, sum) = (seen.n as f64, seen.sum());
        Ok(math::ln_gamma_ratio(a, sum)
            - a * math::ln_1p(n / b)
            - math::xlogy(sum, b + n)
            - seen.log_factorials())
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        shape_and_rate(params)?;
        Ok(Support::COUNTS)
    }
}

pub static MAKE_GAMMA_POISSON: Made = Made {
    spec: &Spec {
        name: "make_gamma_poisson",
        aliases: &[],
        parameters: "shape rate",
        arity: Arity::exactly(2),
        summary: "Poisson counts whose rate has a gamma(shape, rate) prior and is integrated out",
        example: "((make_gamma_poisson 2 1))",
    },
    check: |args| shape_and_rate(args).map(drop),
    empty: |params| {
        shape_and_rate(params)?;
        Ok(counted(Events::default(), CollapsedEvents))
    },
    latent: None,
};

/// rate ~ gamma(shape, rate)
struct Rate;

impl Distribution for Rate {
    fn spec(&self) -> &'static Spec {
        MAKE_UC_GAMMA_POISSON.spec
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (a, b) = shape_and_rate(args)?;
        Ok(Value::Number((draw::gamma(a, rng) / b).clamp(f64::MIN_POSITIVE, f64::MAX)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (a, b) = shape_and_rate(args)?;
        Ok(match x.as_number() {
            Some(rate) if rate >= 0.0 && rate.is_finite() => {
                // a log b + (a - 1) log rate, without overflow of their difference
                math::ln(b) + math::xlogy(a - 1.0, b * rate) - b * rate - math::ln_gamma(a)
            }
            _ => f64::NEG_INFINITY,
        })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        shape_and_rate(args)?;
        Ok(Support::POSITIVE)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        admit_number(x)
    }
}

pub static MAKE_UC_GAMMA_POISSON: Made = Made {
    spec: &Spec {
        name: "make_uc_gamma_poisson",
        aliases: &[],
        parameters: "shape rate",
        arity: Arity::exactly(2),
        summary: "Poisson counts whose rate is drawn from gamma(shape, rate)",
        example: "((make_uc_gamma_poisson 2 1))",
    },
    check: |args| shape_and_rate(args).map(drop),
    empty: |params| {
        arguments::positive(params, 0, "a positive rate")?;
        Ok(counted(Events::default(), IndependentEvents))
    },
    latent: Some(&Rate),
};
