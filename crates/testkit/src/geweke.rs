//! Geweke's joint test: two ways of drawing (θ, y) from the joint law have to agree.
//!
//! * Marginal-conditional: θ ~ prior, y ~ p(y|θ), independent pairs.
//! * Successive-conditional: y ~ p(y|θ), θ ~ K(·|θ, y), in turn: a chain.
//!
//! For each statistic g of the pair (theory 9.1)
//! z = (ḡ_1 − ḡ_2) / √(var_1/M + BM_2), BM_2 the variance of the chain's mean by batch means.

use smidgen_value::Value;

use crate::invariance::Story;
use crate::pvalue::{self, PValue};
use crate::world::World;

/// `fresh` draws a pair's statistics, `next` takes the chain one step and gives its statistics.
pub fn geweke(
    draws: usize,
    mut fresh: impl FnMut() -> Vec<f64>,
    mut next: impl FnMut() -> Vec<f64>,
) -> PValue {
    let independent: Vec<Vec<f64>> = (0..draws).map(|_| fresh()).collect();
    let chain: Vec<Vec<f64>> = (0..draws).map(|_| next()).collect();
    let statistics = independent[0].len();
    let column = |rows: &[Vec<f64>], k: usize| rows.iter().map(|row| row[k]).collect::<Vec<f64>>();
    let tests = (0..statistics).map(|k| {
        let (a, b) = (column(&independent, k), column(&chain, k));
        let error = variance(&a) / draws as f64 + batch_variance(&b);
        pvalue::z(mean(&a) - mean(&b), 0.0, error.sqrt())
    });
    PValue::smallest_of(tests.collect())
}

fn mean(xs: &[f64]) -> f64 {
    xs.iter().sum::<f64>() / xs.len() as f64
}

fn variance(xs: &[f64]) -> f64 {
    let m = mean(xs);
    xs.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / (xs.len() - 1) as f64
}

/// The variance of the mean of a chain, from batches much longer than its memory.
fn batch_variance(xs: &[f64]) -> f64 {
    const BATCHES: usize = 50;
    let size = xs.len() / BATCHES;
    let means: Vec<f64> = xs.chunks_exact(size).map(mean).collect();
    variance(&means) / means.len() as f64
}

impl Story<'_> {
    /// Geweke's test of a kernel; the data are forgotten, drawn anew and observed at every turn.
    pub fn geweke(&self, draws: usize, seed: u64, mut kernel: impl FnMut(&mut World)) -> PValue {
        let squares = |mut xs: Vec<f64>| {
            let squares: Vec<f64> = xs.iter().map(|x| x * x).collect();
            xs.extend(squares);
            xs
        };
        let mut seeds = (0..).map(|k| seed.wrapping_add(k));
        let mut chain = self.start(seed ^ 0x5555);
        geweke(
            draws,
            || squares(self.statistics(&mut self.start(seeds.next().expect("endless")))),
            || {
                for k in 0..self.data.len() {
                    chain.world.execute(&format!("[forget y{k}]")).expect("observed before");
                }
                chain.data.clear();
                for (k, expr) in self.data.iter().enumerate() {
                    let value: Value = chain.world.value(expr);
                    chain.world.observe(expr, value.clone(), &format!("y{k}"));
                    chain.data.push(value);
                }
                kernel(&mut chain.world);
                squares(self.statistics(&mut chain))
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{catches, demand};
    use smidgen_infer::proposer::standard_normal;
    use smidgen_value::Rng;

    /// The check of theory 9.1: normal mean, one datum, posterior variance scaled.
    fn normal(scale: f64) -> impl FnMut(usize, u64) -> PValue {
        move |draws, seed| {
            let statistics = |theta: f64, y: f64| vec![theta, theta * theta, y, theta * y];
            let (mut a, mut b) = (Rng::from_seed(seed), Rng::for_chain(seed, 1));
            let mut theta = standard_normal(&mut b);
            geweke(
                draws,
                || {
                    let theta = standard_normal(&mut a);
                    statistics(theta, theta + standard_normal(&mut a))
                },
                || {
                    let y = theta + standard_normal(&mut b);
                    theta = 0.5 * y + (0.5 * scale).sqrt() * standard_normal(&mut b);
                    statistics(theta, y)
                },
            )
        }
    }

    #[test]
    fn a_variance_fifteen_percent_too_large_is_noticed() {
        demand("kit: geweke", 10_000, normal(1.0));
        catches("kit: geweke", "posterior variance times 1.15", 20_000, normal(1.15));
    }
}
