//! Categories of unknown weights: w ~ dirichlet(alphas), each application category j with
//! probability w_j. The value is the index j, from 0 on, or the j-th object if objects are given.
//!
//! `make_dir_cat` and `make_sym_dir_cat` (all alphas equal) integrate the weights out. With
//! A = sum_j alpha_j and c_j the number of applications in category j,
//!
//! * P(j) = (alpha_j + c_j) / (A + n);
//! * log p(x_1..x_n) = sum_j [log G(alpha_j + c_j) - log G(alpha_j)] - [log G(A + n) - log G(A)],
//!
//! with G the gamma function. Objects that are equal form one category, whose alpha is the sum of
//! theirs: by the aggregation property of the Dirichlet this is exact.
//!
//! The uncollapsed makers draw w, with density G(A) prod_j w_j^(alpha_j - 1) / G(alpha_j). Their
//! latent value is the vector w; with objects, the array of w and the objects.

mod categories;
mod tally;

use smidgen_value::math;
use smidgen_value::{ArgumentError, Rng, Value};

use self::categories::{Categories, of_alphas, of_latent, parts, symmetric, symmetric_drawn};
use self::tally::Tally;
use super::counted::{Law, Made, admit_vector, counted};
use super::draw;
use crate::procedure::{Args, Arity, Distribution, Spec, Statistics};
use crate::support::Support;

// ---------------------------------------------------------------- weights integrated out

type Read = for<'a> fn(Args<'a>) -> Result<Categories<'a>, ArgumentError>;

#[derive(Clone)]
struct CollapsedCategories {
    read: Read,
}

impl Law<Tally> for CollapsedCategories {
    /// With probability n / (A + n) a value drawn before, else one by the alphas.
    fn sample(
        &self,
        seen: &Tally,
        params: Args<'_>,
        rng: &mut Rng,
    ) -> Result<Value, ArgumentError> {
        let categories = (self.read)(params)?;
        let n = seen.n as f64;
        let place = rng.uniform() * (categories.total + n);
        if place < n
            && let Some(value) = seen.pick(place as usize)
        {
            return Ok(value);
        }
        Ok(categories.pick(place - n))
    }

    fn log_predictive(
        &self,
        x: &Value,
        seen: &Tally,
        params: Args<'_>,
    ) -> Result<f64, ArgumentError> {
        let categories = (self.read)(params)?;
        let weight = categories.weight_of(x);
        if weight == 0.0 {
            return Ok(f64::NEG_INFINITY);
        }
        Ok(math::ln((weight + seen.of(x) as f64) / (categories.total + seen.n as f64)))
    }

    fn log_marginal(&self, seen: &Tally, params: Args<'_>) -> Result<f64, ArgumentError> {
        let categories = (self.read)(params)?;
        let mut total = -math::ln_gamma_ratio(categories.total, seen.n as f64);
        seen.groups(&categories, |weight, count| {
            total += if weight == 0.0 {
                f64::NEG_INFINITY
            } else {
                math::ln_gamma_ratio(weight, count as f64)
            };
        });
        Ok(total)
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        Ok((self.read)(params)?.support())
    }

    fn enumerate(&self, _: &Tally, params: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        Ok((self.read)(params)?.enumerate())
    }
}

fn collapsed(read: Read, params: Args<'_>) -> Result<Box<dyn Statistics>, ArgumentError> {
    let objects = read(params)?.objects.is_some();
    Ok(counted(Tally::new(objects), CollapsedCategories { read }))
}

pub static MAKE_DIR_CAT: Made = Made {
    spec: &Spec {
        name: "make_dir_cat",
        aliases: &["make_dir_mult"],
        parameters: "alphas [objects]",
        arity: Arity::between(1, 2),
        summary: "Indices or objects whose weights have a dirichlet(alphas) prior and are integrated out",
        example: "((make_dir_cat (vector 1 1 2)))",
    },
    check: |args| of_alphas(args).map(drop),
    empty: |params| collapsed(of_alphas, params),
    latent: None,
};

pub static MAKE_SYM_DIR_CAT: Made = Made {
    spec: &Spec {
        name: "make_sym_dir_cat",
        aliases: &["make_sym_dir_mult"],
        parameters: "alpha k [objects]",
        arity: Arity::between(2, 3),
        summary: "Indices below k or objects whose weights have a symmetric Dirichlet prior and are integrated out",
        example: "((make_sym_dir_cat 0.5 3))",
    },
    check: |args| symmetric(args).map(drop),
    empty: |params| collapsed(symmetric, params),
    latent: None,
};

// ---------------------------------------------------------------- weights drawn

#[derive(Clone)]
struct IndependentCategories;

impl Law<Tally> for IndependentCategories {
    fn sample(&self, _: &Tally, params: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let categories = of_latent(params)?;
        Ok(categories.pick(rng.uniform() * categories.total))
    }

    fn log_predictive(&self, x: &Value, _: &Tally, params: Args<'_>) -> Result<f64, ArgumentError> {
        let categories = of_latent(params)?;
        Ok(math::ln(categories.weight_of(x) / categories.total))
    }

    fn log_marginal(&self, seen: &Tally, params: Args<'_>) -> Result<f64, ArgumentError> {
        let categories = of_latent(params)?;
        let mut total = 0.0;
        seen.groups(&categories, |weight, count| {
            total += count as f64 * math::ln(weight / categories.total);
        });
        Ok(total)
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(of_latent(params)?.support())
    }

    fn enumerate(&self, _: &Tally, params: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        Ok(of_latent(params)?.enumerate())
    }
}

/// w ~ dirichlet(alphas), and the objects beside it if there are any.
struct CategoryWeights {
    read: Read,
    spec: fn() -> &'static Spec,
}

impl Distribution for CategoryWeights {
    fn spec(&self) -> &'static Spec {
        (self.spec)()
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let categories = (self.read)(args)?;
        let alphas = (0..categories.len()).map(|category| categories.weight(category));
        let weights = Value::vector(draw::dirichlet(alphas, rng));
        Ok(match categories.objects {
            None => weights,
            Some(objects) => Value::array(vec![weights, objects.clone()]),
        })
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let categories = (self.read)(args)?;
        let (weights, objects) = parts(x);
        let Value::Vector(weights) = weights else { return Ok(f64::NEG_INFINITY) };
        let simplex = Support::Simplex { len: categories.len() };
        if objects != categories.objects || !simplex.contains(&Value::Vector(weights.clone())) {
            return Ok(f64::NEG_INFINITY);
        }
        let mut total = math::ln_gamma(categories.total);
        let mut impossible = false;
        for (category, weight) in weights.iter().enumerate() {
            let alpha = categories.weight(category);
            let term = math::xlogy(alpha - 1.0, *weight);
            impossible |= term == f64::NEG_INFINITY;
            total += term - math::ln_gamma(alpha);
        }
        Ok(if impossible { f64::NEG_INFINITY } else { total })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let categories = (self.read)(args)?;
        if categories.objects.is_some() {
            return Err(ArgumentError::other(format!(
                "the weights of {} with objects are not a plain vector and cannot drift",
                self.spec().name
            )));
        }
        Ok(Support::Simplex { len: categories.len() })
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        match parts(x) {
            (_, Some(_)) => Ok(x.clone()),
            (weights, None) => admit_vector(weights),
        }
    }
}

fn uncollapsed(params: Args<'_>) -> Result<Box<dyn Statistics>, ArgumentError> {
    let objects = of_latent(params)?.objects.is_some();
    Ok(counted(Tally::new(objects), IndependentCategories))
}

pub static MAKE_UC_DIR_CAT: Made = Made {
    spec: &Spec {
        name: "make_uc_dir_cat",
        aliases: &["make_uc_dir_mult"],
        parameters: "alphas [objects]",
        arity: Arity::between(1, 2),
        summary: "Indices or objects whose weights are drawn from dirichlet(alphas)",
        example: "((make_uc_dir_cat (vector 1 1 2)))",
    },
    check: |args| of_alphas(args).map(drop),
    empty: uncollapsed,
    latent: Some(&CategoryWeights { read: of_alphas, spec: || MAKE_UC_DIR_CAT.spec }),
};

pub static MAKE_UC_SYM_DIR_CAT: Made = Made {
    spec: &Spec {
        name: "make_uc_sym_dir_cat",
        aliases: &["make_uc_sym_dir_mult"],
        parameters: "alpha k [objects]",
        arity: Arity::between(2, 3),
        summary: "Indices below k or objects whose weights are drawn from a symmetric Dirichlet",
        example: "((make_uc_sym_dir_cat 0.5 3))",
    },
    check: |args| symmetric_drawn(args).map(drop),
    empty: uncollapsed,
    latent: Some(&CategoryWeights { read: symmetric_drawn, spec: || MAKE_UC_SYM_DIR_CAT.spec }),
};
