//! The distributions, one file each.
//!
//! Shared by several: `outcome` (what is drawn and what may be observed), `saddle_point`
//! (log probabilities of large counts and shapes), `normal_tail` (the normal law between two
//! points).

pub mod ar;
pub(crate) mod autoregressive;
pub mod bernoulli;
pub mod bernoulli_logit;
pub mod beta;
pub mod beta_binomial;
pub mod beta_mean;
mod between;
pub mod binomial;
pub mod categorical;
pub mod categorical_logit;
pub mod cauchy;
pub mod censor;
pub mod chi_squared;
pub mod dirichlet;
pub mod dirichlet_multinomial;
pub mod expon;
pub mod factor;
pub mod flat;
pub mod flat_pos;
pub mod flip;
pub mod gamma;
pub mod geometric;
pub mod gumbel;
pub mod half_cauchy;
pub mod half_normal;
pub mod half_student_t;
pub mod hurdle;
pub mod hypergeometric;
pub mod inv_gamma;
pub mod inv_wishart;
pub mod inverse_gaussian;
pub mod laplace;
pub mod lkj;
pub mod lkj_cholesky;
pub mod logistic_dist;
pub mod lognormal;
pub mod mixture;
pub mod multinomial;
pub mod multivariate_diag_normal;
pub mod multivariate_normal;
pub mod multivariate_normal_cholesky;
pub mod multivariate_student_t;
pub mod negative_binomial;
pub mod negative_binomial_mean;
pub mod normal;
pub(crate) mod normal_tail;
pub mod ordered;
mod ordered_category;
pub mod ordered_logistic;
pub mod ordered_probit;
mod outcome;
pub mod pareto;
pub mod poisson;
pub mod poisson_log;
pub mod random_walk;
pub(crate) mod saddle_point;
pub mod skew_normal;
pub mod student_t;
pub mod symmetric_dirichlet;
pub mod truncate;
pub mod truncated_normal;
pub mod uniform_continuous;
pub mod uniform_discrete;
pub mod vonmises;
pub mod weibull;
pub mod wishart;
pub mod zero_inflated;

use crate::procedure::Distribution;

/// Every distribution, in the order of the documentation.
pub static ALL: &[&dyn Distribution] = &[
    &bernoulli::Bernoulli,
    &flip::Flip,
    &bernoulli_logit::BernoulliLogit,
    &binomial::Binomial,
    &beta_binomial::BetaBinomial,
    &hypergeometric::Hypergeometric,
    &geometric::Geometric,
    &negative_binomial::NegativeBinomial,
    &negative_binomial_mean::NegativeBinomialMean,
    &poisson::Poisson,
    &poisson_log::PoissonLog,
    &categorical::Categorical,
    &categorical_logit::CategoricalLogit,
    &ordered_logistic::OrderedLogistic,
    &ordered_probit::OrderedProbit,
    &uniform_discrete::UniformDiscrete,
    &normal::Normal,
    &skew_normal::SkewNormal,
    &uniform_continuous::UniformContinuous,
    &beta::Beta,
    &beta_mean::BetaMean,
    &gamma::Gamma,
    &inv_gamma::InvGamma,
    &inverse_gaussian::InverseGaussian,
    &expon::Expon,
    &student_t::StudentT,
    &cauchy::Cauchy,
    &laplace::Laplace,
    &logistic_dist::LogisticDist,
    &lognormal::Lognormal,
    &weibull::Weibull,
    &gumbel::Gumbel,
    &pareto::Pareto,
    &chi_squared::ChiSquared,
    &half_normal::HalfNormal,
    &half_cauchy::HalfCauchy,
    &half_student_t::HalfStudentT,
    &truncated_normal::TruncatedNormal,
    &vonmises::Vonmises,
    &multivariate_normal::MultivariateNormal,
    &multivariate_normal_cholesky::MultivariateNormalCholesky,
    &multivariate_diag_normal::MultivariateDiagNormal,
    &multivariate_student_t::MultivariateStudentT,
    &random_walk::RandomWalk,
    &ar::Ar,
    &wishart::Wishart,
    &inv_wishart::InvWishart,
    &lkj::Lkj,
    &lkj_cholesky::LkjCholesky,
    &dirichlet::Dirichlet,
    &symmetric_dirichlet::SymmetricDirichlet,
    &multinomial::Multinomial,
    &dirichlet_multinomial::DirichletMultinomial,
    &ordered::Ordered,
    &zero_inflated::ZeroInflated,
    &hurdle::Hurdle,
    &mixture::Mixture,
    &truncate::Truncate,
    &censor::Censor,
    &flat::Flat,
    &flat_pos::FlatPos,
    &factor::Factor,
];
