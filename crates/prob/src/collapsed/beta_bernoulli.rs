//! Coins of unknown weight: p ~ beta(a, b), each application `true` with probability p.
//!
//! `make_beta_bernoulli` integrates p out. After k times `true` in n applications
//!
//! * P(true) = (a + k) / (a + b + n);
//! * log p(x_1..x_n) = log B(a + k, b + n - k) - log B(a, b).
//!
//! `make_uc_beta_bernoulli` draws p; its density is p^(a-1) (1-p)^(b-1) / B(a, b).

use smidgen_value::math;
use smidgen_value::{ArgumentError, Rng, Value};

use super::counted::{Law, Made, admit_number, counted};
use super::draw;
use super::suff_stat::{Coins, IndependentCoins, as_coin, enumerate_coins};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec};
use crate::support::Support;

fn shapes(args: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    let a = arguments::positive(args, 0, "a positive number")?;
    Ok((a, arguments::positive(args, 1, "a positive number")?))
}

#[derive(Clone)]
struct CollapsedCoins;

impl Law<Coins> for CollapsedCoins {
    fn sample(
        &self,
        seen: &Coins,
        params: Args<'_>,
        rng: &mut Rng,
    ) -> Result<Value, ArgumentError> {
        let (a, b) = shapes(params)?;
        let (heads, tails) = (a + seen.heads as f64, b + seen.tails as f64);
        Ok(Value::Bool(rng.uniform() * (heads + tails) < heads))
    }

    fn log_predictive(
        &self,
        x: &Value,
        seen: &Coins,
        params: Args<'_>,
    ) -> Result<f64, ArgumentError> {
        let (a, b) = shapes(params)?;
        let (heads, tails) = (a + seen.heads as f64, b + seen.tails as f64);
        Ok(match as_coin(x) {
            Some(x) => math::ln(if x { heads } else { tails } / (heads + tails)),
            None => f64::NEG_INFINITY,
        })
    }

    fn log_marginal(&self, seen: &Coins, params: Args<'_>) -> Result<f64, ArgumentError> {
        let (a, b) = shapes(params)?;
        if !seen.all_inside() {
            return Ok(f64::NEG_INFINITY);
        }
        let (heads, tails) = (seen.heads as f64, seen.tails as f64);
        Ok(math::ln_gamma_ratio(a, heads) + math::ln_gamma_ratio(b, tails)
            - math::ln_gamma_ratio(a + b, heads + tails))
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        shapes(params)?;
        Ok(Support::Booleans)
    }

    fn enumerate(&self, _: &Coins, params: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        shapes(params)?;
        Ok(enumerate_coins())
    }
}

pub static MAKE_BETA_BERNOULLI: Made = Made {
    spec: &Spec {
        name: "make_beta_bernoulli",
        aliases: &[],
        parameters: "a b",
        arity: Arity::exactly(2),
        summary: "A coin whose weight has a beta(a, b) prior and is integrated out",
        example: "((make_beta_bernoulli 1 1))",
    },
    check: |args| shapes(args).map(drop),
    empty: |params| {
        shapes(params)?;
        Ok(counted(Coins::default(), CollapsedCoins))
    },
    latent: None,
};

/// p ~ beta(a, b)
struct Weight;

impl Distribution for Weight {
    fn spec(&self) -> &'static Spec {
        MAKE_UC_BETA_BERNOULLI.spec
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let (a, b) = shapes(args)?;
        Ok(Value::Number(draw::beta(a, b, rng)))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let (a, b) = shapes(args)?;
        Ok(match x.as_number() {
            Some(p) if (0.0..=1.0).contains(&p) => {
                math::xlogy(a - 1.0, p) + math::xlog1py(b - 1.0, -p) - math::ln_beta(a, b)
            }
            _ => f64::NEG_INFINITY,
        })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        shapes(args)?;
        Ok(Support::UNIT_INTERVAL)
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        admit_number(x)
    }
}

pub static MAKE_UC_BETA_BERNOULLI: Made = Made {
    spec: &Spec {
        name: "make_uc_beta_bernoulli",
        aliases: &[],
        parameters: "a b",
        arity: Arity::exactly(2),
        summary: "A coin whose weight is drawn from beta(a, b)",
        example: "((make_uc_beta_bernoulli 1 1))",
    },
    check: |args| shapes(args).map(drop),
    empty: |params| {
        arguments::probability(params, 0)?;
        Ok(counted(Coins::default(), IndependentCoins))
    },
    latent: Some(&Weight),
};
