//! The distributions, one file each.
//!
//! Shared by several: `outcome` (what is drawn and what may be observed), `saddle_point`
//! (log probabilities of large counts and shapes), `normal_tail` (the normal law between two
//! points).

pub mod bernoulli;
pub mod beta;
pub mod binomial;
pub mod categorical;
pub mod cauchy;
pub mod chi_squared;
pub mod dirichlet;
pub mod expon;
pub mod factor;
pub mod flat;
pub mod flat_pos;
pub mod flip;
pub mod gamma;
pub mod geometric;
pub mod half_cauchy;
pub mod half_normal;
pub mod half_student_t;
pub mod inv_gamma;
pub mod inv_wishart;
pub mod laplace;
pub mod logistic_dist;
pub mod lognormal;
pub mod multinomial;
pub mod multivariate_diag_normal;
pub mod multivariate_normal;
pub mod negative_binomial;
pub mod normal;
mod normal_tail;
mod outcome;
pub mod poisson;
pub(crate) mod saddle_point;
pub mod student_t;
pub mod symmetric_dirichlet;
pub mod truncated_normal;
pub mod uniform_continuous;
pub mod uniform_discrete;
pub mod vonmises;
pub mod weibull;
pub mod wishart;

use crate::procedure::Distribution;

/// Every distribution, in the order of the documentation.
pub static ALL: &[&dyn Distribution] = &[
    &bernoulli::Bernoulli,
    &flip::Flip,
    &binomial::Binomial,
    &geometric::Geometric,
    &negative_binomial::NegativeBinomial,
    &poisson::Poisson,
    &categorical::Categorical,
    &uniform_discrete::UniformDiscrete,
    &normal::Normal,
    &uniform_continuous::UniformContinuous,
    &beta::Beta,
    &gamma::Gamma,
    &inv_gamma::InvGamma,
    &expon::Expon,
    &student_t::StudentT,
    &cauchy::Cauchy,
    &laplace::Laplace,
    &logistic_dist::LogisticDist,
    &lognormal::Lognormal,
    &weibull::Weibull,
    &chi_squared::ChiSquared,
    &half_normal::HalfNormal,
    &half_cauchy::HalfCauchy,
    &half_student_t::HalfStudentT,
    &truncated_normal::TruncatedNormal,
    &vonmises::Vonmises,
    &multivariate_normal::MultivariateNormal,
    &multivariate_diag_normal::MultivariateDiagNormal,
    &wishart::Wishart,
    &inv_wishart::InvWishart,
    &dirichlet::Dirichlet,
    &symmetric_dirichlet::SymmetricDirichlet,
    &multinomial::Multinomial,
    &flat::Flat,
    &flat_pos::FlatPos,
    &factor::Factor,
];
