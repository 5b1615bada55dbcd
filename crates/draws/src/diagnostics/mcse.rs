//! Monte Carlo standard error of the mean: sd / sqrt(ESS of the mean).

use super::{ess_mean, mean_and_sd, rectangular};

pub fn mcse_mean<C: AsRef<[f64]>>(chains: &[C]) -> f64 {
    let chains = rectangular(chains);
    mean_and_sd(&chains.concat()).1 / ess_mean(&chains).sqrt()
}
