//! Reals of unknown mean and variance: sigma^2 ~ inv_gamma(a, b), mu ~ normal with mean m and
//! variance V sigma^2, each application normal with mean mu and variance sigma^2.
//!
//! `make_nig_normal` integrates both out. After n reals of average x and sum of squares Q about
//! it the posterior has the same form with
//!
//! * V_n = V / (1 + n V), m_n = m + n V_n (x - m), a_n = a + n / 2,
//!   b_n = b + Q / 2 + n (x - m)^2 / (2 (1 + n V)).
//!
//! The next real is student_t(2 a_n, m_n, sqrt(b_n (1 + V_n) / a_n)), and with G the gamma function
//!
//! * log p(x_1..x_n) = log G(a_n) - log G(a) + a log b - a_n log b_n - log(1 + n V) / 2
//!   - n log(2 pi) / 2.
//!
//! `make_uc_nig_normal` draws the latent vector (mu, sigma^2) from the prior.

use std::cell::Cell;

use smidgen_value::math::{self, HALF_LN_2PI, LN_2, LN_PI};
use smidgen_value::{ArgumentError, Rng, Value};

use super::counted::{Law, Made, admit_vector, counted};
use super::draw;
use super::suff_stat::{IndependentNormals, LARGEST, Moments, as_real};
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec};
use crate::support::Support;

#[derive(Clone, Copy, PartialEq)]
struct Prior {
    mean: f64,
    /// V: the variance of the mean in units of sigma^2.
    spread: f64,
    shape: f64,
    scale: f64,
}

impl Prior {
    fn read(params: Args<'_>) -> Result<Prior, ArgumentError> {
        Ok(Prior {
            mean: arguments::finite(params, 0, "a finite mean")?,
            spread: arguments::positive(params, 1, "a positive V")?,
            shape: arguments::positive(params, 2, "a positive shape")?,
            scale: arguments::positive(params, 3, "a positive scale")?,
        })
    }

    fn posterior(&self, seen: &Moments) -> Prior {
        if seen.n == 0 {
            return *self;
        }
        let n = seen.n as f64;
        let offset = seen.mean_from(self.mean);
        let shrink = 1.0 + n * self.spread;
        Prior {
            mean: self.mean + offset * (n * self.spread / shrink),
            spread: self.spread / shrink,
            shape: self.shape + 0.5 * n,
            scale: self.scale + 0.5 * (seen.scatter() + n * offset * offset / shrink),
        }
    }
}

/// The predictive of one prior and one summary, ready to evaluate.
#[derive(Clone, Copy)]
struct Predictive {
    prior: Prior,
    posterior: Prior,
    /// The log density at the location.
    peak: f64,
    /// 2 b_n (1 + V_n)
    width: f64,
}

#[derive(Clone, Default)]
struct CollapsedNormals {
    ready: Cell<Option<Predictive>>,
}

impl CollapsedNormals {
    fn predictive(&self, seen: &Moments, params: Args<'_>) -> Result<Predictive, ArgumentError> {
        let prior = Prior::read(params)?;
        if let Some(ready) = self.ready.get()
            && ready.prior == prior
        {
            return Ok(ready);
        }
        let posterior = prior.posterior(seen);
        // 2 a_n times the squared scale of the t distribution
        let width = 2.0 * posterior.scale * (1.0 + posterior.spread);
        let peak = math::ln_gamma_ratio(posterior.shape, 0.5) - 0.5 * (LN_PI + math::ln(width));
        let ready = Predictive { prior, posterior, peak, width };
        self.ready.set(Some(ready));
        Ok(ready)
    }
}

impl Law<Moments> for CollapsedNormals {
    fn sample(
        &self,
        seen: &Moments,
        params: Args<'_>,
        rng: &mut Rng,
    ) -> Result<Value, ArgumentError> {
        let Predictive { posterior, width, .. } = self.predictive(seen, params)?;
        let sd = math::sqrt(0.5 * width / draw::gamma(posterior.shape, rng));
        let x = posterior.mean + sd * draw::standard_normal(rng);
        Ok(Value::Number(x.clamp(-LARGEST, LARGEST)))
    }

    fn log_predictive(
        &self,
        x: &Value,
        seen: &Moments,
        params: Args<'_>,
    ) -> Result<f64, ArgumentError> {
        let Predictive { posterior, peak, width, .. } = self.predictive(seen, params)?;
        let Some(x) = as_real(x) else { return Ok(f64::NEG_INFINITY) };
        let offset = x - posterior.mean;
        Ok(peak - (posterior.shape + 0.5) * math::ln_1p(offset * offset / width))
    }

    fn log_marginal(&self, seen: &Moments, params: Args<'_>) -> Result<f64, ArgumentError> {
        let prior = Prior::read(params)?;
        if !seen.all_inside() {
            return Ok(f64::NEG_INFINITY);
        }
        if seen.n == 0 {
            return Ok(0.0);
        }
        let n = seen.n as f64;
        let posterior = prior.posterior(seen);
        Ok(math::ln_gamma_ratio(prior.shape, 0.5 * n)
            - prior.shape * math::ln_1p((posterior.scale - prior.scale) / prior.scale)
            - 0.5 * n * math::ln(posterior.scale)
            - 0.5 * math::ln_1p(n * prior.spread)
            - n * HALF_LN_2PI)
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        Prior::read(params)?;
        Ok(Support::Reals)
    }

    fn forget(&mut self) {
        self.ready.set(None);
    }
}

pub static MAKE_NIG_NORMAL: Made = Made {
    spec: &Spec {
        name: "make_nig_normal",
        aliases: &[],
        parameters: "m V a b",
        arity: Arity::exactly(4),
        summary: "Normal draws with both mean and variance integrated out: variance ~ inv_gamma(a, b), mean ~ normal of variance V times that",
        example: "((make_nig_normal 0 1 2 2))",
    },
    check: |args| Prior::read(args).map(drop),
    empty: |params| {
        Prior::read(params)?;
        Ok(counted(Moments::default(), CollapsedNormals::default()))
    },
    latent: None,
};

/// (mu, sigma^2)
struct MeanAndVariance;

fn read_latent(params: Args<'_>) -> Result<(f64, f64), ArgumentError> {
    let expected = "a vector of mean and variance";
    let Value::Vector(latent) = params[0] else {
        return Err(ArgumentError::wrong_type(0, expected, params[0]));
    };
    match latent.as_slice() {
        [mean, variance] if mean.is_finite() && *variance > 0.0 && variance.is_finite() => {
            Ok((*mean, math::sqrt(*variance)))
        }
        [_, _] => Err(ArgumentError::domain(0, "a finite mean and a positive variance", params[0])),
        _ => Err(ArgumentError::wrong_type(0, expected, params[0])),
    }
}

impl Distribution for MeanAndVariance {
    fn spec(&self) -> &'static Spec {
        MAKE_UC_NIG_NORMAL.spec
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let prior = Prior::read(args)?;
        let log_variance = math::ln(prior.scale) - draw::log_gamma_variate(prior.shape, rng);
        let variance = math::exp(log_variance).clamp(f64::MIN_POSITIVE, LARGEST * LARGEST);
        let sd = math::sqrt(prior.spread) * math::sqrt(variance);
        let mean = draw::normal(prior.mean, sd, rng);
        Ok(Value::vector([mean, variance]))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let Prior { mean, spread, shape, scale } = Prior::read(args)?;
        let Value::Vector(x) = x else { return Ok(f64::NEG_INFINITY) };
        let &[mu, variance] = x.as_slice() else { return Ok(f64::NEG_INFINITY) };
        if !mu.is_finite() || variance <= 0.0 || !variance.is_finite() {
            return Ok(f64::NEG_INFINITY);
        }
        let ratio = scale / variance;
        let log_variance = math::ln(variance);
        let of_variance = shape * math::ln(ratio) - math::ln_gamma(shape) - log_variance - ratio;
        let offset = mu - mean;
        let of_mean = -0.5 * (LN_2 + LN_PI + math::ln(spread) + log_variance)
            - 0.5 * offset / spread * (offset / variance);
        Ok(of_variance + of_mean)
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Prior::read(args)?;
        Err(ArgumentError::other(
            "the mean and variance of make_uc_nig_normal move together and cannot drift",
        ))
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        admit_vector(x)
    }
}

pub static MAKE_UC_NIG_NORMAL: Made = Made {
    spec: &Spec {
        name: "make_uc_nig_normal",
        aliases: &[],
        parameters: "m V a b",
        arity: Arity::exactly(4),
        summary: "Normal draws whose variance is drawn from inv_gamma(a, b) and mean from a normal of variance V times that",
        example: "((make_uc_nig_normal 0 1 2 2))",
    },
    check: |args| Prior::read(args).map(drop),
    empty: |params| {
        read_latent(params)?;
        Ok(counted(Moments::default(), IndependentNormals { read: read_latent }))
    },
    latent: Some(&MeanAndVariance),
};
