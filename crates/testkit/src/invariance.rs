//! Exact starts: draw (θ, y) from the joint law by running the model forwards, then take kernel
//! steps from θ given y. An invariant kernel leaves the joint law as it is, (θ_k, y) ~ (θ, y), and
//! the repeats are independent: no burn-in, no autocorrelation, exact p-values. Any statistic of
//! (θ, y) may be compared; here the moved pairs are compared with fresh ones by two-sample
//! tests.

use smidgen_value::{Rng, Value};

use crate::pvalue::{PValue, ks_two, same_counts};
use crate::world::World;

/// Compares `repeats` moved pairs with as many fresh ones. `start` draws a pair from a seed,
/// `kernel` moves it, `look` gives its statistics.
pub fn exact_start<S>(
    repeats: usize,
    seed: u64,
    mut start: impl FnMut(u64) -> S,
    mut kernel: impl FnMut(&mut S),
    mut look: impl FnMut(&mut S) -> Vec<f64>,
) -> PValue {
    let mut seeds = Rng::from_seed(seed);
    let mut next_seed = || (seeds.uniform() * (1u64 << 53) as f64) as u64;
    let (mut fresh, mut moved): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (vec![], vec![]);
    for _ in 0..repeats {
        fresh.push(look(&mut start(next_seed())));
        let mut state = start(next_seed());
        kernel(&mut state);
        moved.push(look(&mut state));
    }
    let column = |rows: &[Vec<f64>], k: usize| rows.iter().map(|row| row[k]).collect::<Vec<f64>>();
    let tests = (0..fresh[0].len()).map(|k| same_law(&column(&fresh, k), &column(&moved, k)));
    PValue::smallest_of(tests.collect())
}

/// Kolmogorov-Smirnov, or χ² if there are only a few values (where it is sharper).
fn same_law(a: &[f64], b: &[f64]) -> PValue {
    let mut values: Vec<f64> = a.to_vec();
    values.extend_from_slice(b);
    values.sort_by(f64::total_cmp);
    values.dedup();
    if values.len() > 12 {
        return ks_two(a, b);
    }
    let counts = |xs: &[f64]| -> Vec<u64> {
        let count = |value: &f64| xs.iter().filter(|x| *x == value).count() as u64;
        values.iter().map(count).collect()
    };
    same_counts(&counts(a), &counts(b))
}

/// A model told in three parts.
#[derive(Clone, Copy)]
pub struct Story<'a> {
    /// Directives that draw θ. What the data depend on has to be in the trace (`predict` an
    /// application of a memoised procedure), or they would be drawn from a θ that is then lost.
    pub prior: &'a str,
    /// Expressions whose values are the data y: drawn, then observed.
    pub data: &'a [&'a str],
    /// Expressions of θ, numbers.
    pub look: &'a [&'a str],
}

/// A pair (θ, y).
pub struct Pair {
    pub world: World,
    pub data: Vec<Value>,
}

impl Story<'_> {
    /// Draws θ and y; the data are observed.
    pub fn start(&self, seed: u64) -> Pair {
        let mut world = World::new(self.prior, seed);
        let mut data = Vec::new();
        for (k, expr) in self.data.iter().enumerate() {
            let value = world.value(expr);
            world.observe(expr, value.clone(), &format!("y{k}"));
            data.push(value);
        }
        Pair { world, data }
    }

    /// The numbers asked for, and each times each datum that is a number.
    pub fn statistics(&self, pair: &mut Pair) -> Vec<f64> {
        let looked: Vec<f64> = self.look.iter().map(|expr| pair.world.number(expr)).collect();
        let data = pair.data.iter().filter_map(Value::as_number);
        let coupled = data.flat_map(|y| looked.iter().map(move |theta| theta * y));
        looked.iter().copied().chain(coupled).collect()
    }

    /// The exact-start test of a kernel.
    pub fn test(&self, repeats: usize, seed: u64, kernel: impl FnMut(&mut World)) -> PValue {
        let mut kernel = kernel;
        exact_start(
            repeats,
            seed,
            |seed| self.start(seed),
            |pair| kernel(&mut pair.world),
            |pair| self.statistics(pair),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{catches, demand};
    use smidgen_infer::proposer::standard_normal;

    /// Normal mean with one datum: the exact posterior draw, its variance scaled.
    fn gibbs(scale: f64) -> impl FnMut(usize, u64) -> PValue {
        move |repeats, seed| {
            exact_start(
                repeats,
                seed,
                |seed| {
                    let mut rng = Rng::from_seed(seed);
                    let theta = standard_normal(&mut rng);
                    let y = theta + standard_normal(&mut rng);
                    (theta, y, rng)
                },
                |(theta, y, rng)| *theta = 0.5 * *y + (0.5 * scale).sqrt() * standard_normal(rng),
                |(theta, y, _)| vec![*theta, *theta * *y, *y],
            )
        }
    }

    #[test]
    fn a_posterior_draw_is_invariant_and_a_wide_one_is_not() {
        demand("kit: exact start", 10_000, gibbs(1.0));
        catches("kit: exact start", "posterior variance times 1.5", 10_000, gibbs(1.5));
    }
}
