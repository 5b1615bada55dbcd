//! Makers of exchangeable procedures, one family per file.
//!
//! Three kinds of maker over one data law:
//!
//! * *collapsed* (`make_beta_bernoulli`): the latent parameter is integrated out, the
//!   applications depend on one another through their sufficient statistics;
//! * *uncollapsed* (`make_uc_beta_bernoulli`): the latent parameter is drawn, the applications
//!   are independent given it;
//! * *sufficient statistics* (`make_suff_stat_bernoulli`): the parameter is given.
//!
//! The last two share their statistics. In every case `log_marginal` is the joint log density
//! of the *sequence* of applications with all its constants, so the log predictives along any
//! order sum to it.
//!
//! Reading order: `counted` (what an implementation has to give), `suff_stat` (independent
//! applications), then the conjugate families; `wide` and `draw` are the arithmetic and the
//! random variates underneath.

mod beta_bernoulli;
mod counted;
mod crp;
mod dirichlet_categorical;
pub mod draw;
mod gamma_poisson;
mod nig_normal;
mod niw_normal;
mod suff_stat;
mod uc_niw_normal;
mod wide;

use crate::procedure::Maker;

/// Every maker, in the order of the documentation.
pub static ALL: &[&dyn Maker] = &[
    &crp::MAKE_CRP,
    &beta_bernoulli::MAKE_BETA_BERNOULLI,
    &dirichlet_categorical::MAKE_DIR_CAT,
    &dirichlet_categorical::MAKE_SYM_DIR_CAT,
    &gamma_poisson::MAKE_GAMMA_POISSON,
    &nig_normal::MAKE_NIG_NORMAL,
    &niw_normal::MAKE_NIW_NORMAL,
    &suff_stat::MAKE_SUFF_STAT_BERNOULLI,
    &suff_stat::MAKE_SUFF_STAT_POISSON,
    &suff_stat::MAKE_SUFF_STAT_NORMAL,
    &beta_bernoulli::MAKE_UC_BETA_BERNOULLI,
    &dirichlet_categorical::MAKE_UC_DIR_CAT,
    &dirichlet_categorical::MAKE_UC_SYM_DIR_CAT,
    &gamma_poisson::MAKE_UC_GAMMA_POISSON,
    &nig_normal::MAKE_UC_NIG_NORMAL,
    &uc_niw_normal::MAKE_UC_NIW_NORMAL,
];
