//! One step from an exact draw. After it
//!
//! * the invariants of the trace hold, and it is what the program brings about that is run from its
//!   text with the same choices;
//! * the law of (θ, y) is what it was. Starts are independent. For a set S of pairs (θ, y), as many
//!   steps lead into S as out of it, on average: given that a step crosses its border, the direction is a fair coin. That is
//!   an exact test (McNemar's), and sharp where kernels move little. Sets are {a ≤ c}, {a ≤ c and b ≤ d} and
//!   {a ≤ c xor b ≤ d} for quantities a, b and quantiles c, d of other starts; the least p-value counts, times their
//!   number.
//!
//! There are three looks with fresh starts, each only if the one before was surprised. The last alone decides, so
//! that a right kernel fails with at most the probability that is asked for.

use smidgen_engine::check::check;
use smidgen_engine::Fault;
use smidgen_value::{Rng, Value, math};

use super::kernels::Moves;
use super::program::{Start, Wild};
use crate::pvalue::PValue;
use crate::world::World;

/// What became of a program under a kernel.
#[derive(Debug)]
pub enum Verdict {
    Right,
    /// The kernel does not take the program, and says why.
    Refused(String),
    Wrong(String),
}

impl Verdict {
    pub fn is_wrong(&self) -> bool {
        matches!(self, Verdict::Wrong(_))
    }
}

/// Starts of the three looks, and below which p-value there is a next one.
const LOOKS: [(usize, f64); 3] = [(150, 0.3), (1200, 0.02), (8000, 0.0)];

/// Starts that quantiles are taken from.
const PILOT: usize = 60;

/// States of a look that are held against a run from the text.
const FRESH: usize = 25;

/// Quantities of which pairs are looked at; more would cost more than they tell.
const PAIRED: usize = 8;

pub struct Step<'a> {
    pub wild: &'a Wild,
    pub moves: Moves,
    /// A mistake that is put back.
    pub fault: Option<Fault>,
    /// The probability with which a right kernel may fail.
    pub alpha: f64,
}

impl Step<'_> {
    pub fn judge(&self, seed: u64) -> Verdict {
        let mut seeds = Rng::from_seed(seed);
        let sets = match self.sets(&mut seeds) {
            Ok(sets) => sets,
            Err(error) => return Verdict::Wrong(format!("the program does not run: {error}")),
        };
        let mut found = PValue::new(1.0, "");
        for (starts, threshold) in LOOKS {
            found = match self.look(&sets, starts, &mut seeds) {
                Ok(found) => found,
                Err(verdict) => return verdict,
            };
            if found.p >= threshold.max(self.alpha) {
                return Verdict::Right;
            }
        }
        Verdict::Wrong(format!("the law changes: p = {:.1e}, {}", found.p, found.report))
    }

    /// The sets that are looked at, by quantiles of starts.
    fn sets(&self, seeds: &mut Rng) -> Result<Vec<Set>, String> {
        let mut pilot = Vec::new();
        for _ in 0..PILOT {
            pilot.push(quantities(&mut self.wild.start(seeds.seed())?)?);
        }
        let columns = pilot.iter().map(Vec::len).min().unwrap_or(0);
        let quantiles: Vec<Vec<f64>> = (0..columns).map(|k| quantiles(&pilot, k)).collect();
        let mut sets = Vec::new();
        for (k, cs) in quantiles.iter().enumerate() {
            sets.extend(cs.iter().map(|c| Set::Below(k, *c)));
        }
        // Too many pairs are thinned out.
        let mut paired: Vec<usize> = (0..columns).filter(|k| !quantiles[*k].is_empty()).collect();
        while paired.len() > PAIRED {
            paired.remove(seeds.below(paired.len()));
        }
        let middle = |k: usize| (k, quantiles[k][quantiles[k].len() / 2]);
        for (i, a) in paired.iter().enumerate() {
            for b in &paired[i + 1..] {
                sets.push(Set::Both(middle(*a), middle(*b)));
                sets.push(Set::Either(middle(*a), middle(*b)));
            }
        }
        Ok(sets)
    }

    fn look(&self, sets: &[Set], starts: usize, seeds: &mut Rng) -> Result<PValue, Verdict> {
        let wrong = |error| Verdict::Wrong(error);
        let mut crossings = vec![(0u32, 0u32); sets.len()];
        for number in 0..starts {
            let mut start = self.wild.start(seeds.seed()).map_err(wrong)?;
            let before = quantities(&mut start).map_err(wrong)?;
            start.world.model.trace_mut().put_fault(self.fault);
            if let Err(error) = self.moves.make(&mut start.world) {
                return Err(match self.moves.is_default() {
                    true => Verdict::Wrong(format!("the default kernel stops: {error}")),
                    false => Verdict::Refused(error),
                });
            }
            start.world.model.trace_mut().put_fault(None);
            if number < FRESH {
                holds(&start.world).map_err(wrong)?;
            }
            let after = quantities(&mut start).map_err(wrong)?;
            for (set, (into, out)) in sets.iter().zip(&mut crossings) {
                match (set.holds(&before), set.holds(&after)) {
                    (false, true) => *into += 1,
                    (true, false) => *out += 1,
                    _ => {}
                }
            }
        }
        let p = |(into, out): &(u32, u32)| fair_coin(*into, *out);
        let least = (0..sets.len()).min_by(|a, b| p(&crossings[*a]).total_cmp(&p(&crossings[*b])));
        let Some(k) = least else { return Ok(PValue::new(1.0, "nothing to look at")) };
        let (into, out) = crossings[k];
        let report = format!("{:?}: {into} in, {out} out of {starts} starts", sets[k]);
        Ok(PValue::new(p(&crossings[k]) * sets.len() as f64, report))
    }
}

/// What has to hold of any state.
pub fn holds(world: &World) -> Result<(), String> {
    check(&world.model)?;
    world.agrees_with_its_text()
}

/// Pairs (θ, y), by the places of quantities.
#[derive(Debug)]
enum Set {
    Below(usize, f64),
    Both((usize, f64), (usize, f64)),
    Either((usize, f64), (usize, f64)),
}

impl Set {
    fn holds(&self, quantities: &[f64]) -> bool {
        let below = |(k, c): &(usize, f64)| quantities[*k] <= *c;
        match self {
            Set::Below(k, c) => below(&(*k, *c)),
            Set::Both(a, b) => below(a) && below(b),
            Set::Either(a, b) => below(a) != below(b),
        }
    }
}

/// Quartiles that divide a column, each once.
fn quantiles(rows: &[Vec<f64>], column: usize) -> Vec<f64> {
    let mut values: Vec<f64> = rows.iter().map(|row| row[column]).collect();
    values.sort_by(f64::total_cmp);
    let (n, most) = (values.len(), values[values.len() - 1]);
    let mut found: Vec<f64> = [n / 4, n / 2, 3 * n / 4].map(|k| values[k]).to_vec();
    // All but the largest of a few values.
    if let Some(second) = values.iter().rev().find(|value| **value < most) {
        found.push(*second);
    }
    found.retain(|value| *value < most);
    found.sort_by(f64::total_cmp);
    found.dedup();
    found
}

/// Numbers that tell a state: names, predictions, data, the log joint density and the number of choices.
fn quantities(start: &mut Start) -> Result<Vec<f64>, String> {
    let model = &mut start.world.model;
    let mut numbers = Vec::new();
    let roots = model.assumed_changeable().into_iter().map(|(_, root)| root);
    for root in roots.chain(start.world.predicted.iter().cloned()) {
        let value = model.operand_value(&root).map_err(|error| error.to_string())?;
        numbers.extend(two_numbers(&value));
    }
    for value in &start.data {
        match value {
            // All rows of a loop.
            Value::Vector(ys) => numbers.push(ys.iter().sum()),
            value => numbers.extend(two_numbers(value)),
        }
    }
    numbers.push(model.log_joint().map_err(|error| error.to_string())?);
    numbers.push(model.choices().len() as f64);
    Ok(numbers)
}

/// Always two, so that quantities stand at the same places in all states.
fn two_numbers(value: &Value) -> [f64; 2] {
    if let Some(x) = value.as_number() {
        return [x, 0.0];
    }
    let xs = value.to_reals().unwrap_or_default();
    [xs.first().copied().unwrap_or(0.0), xs.get(1).copied().unwrap_or(0.0)]
}

/// How probable it is that a fair coin, thrown a + b times, is as uneven as this.
fn fair_coin(a: u32, b: u32) -> f64 {
    let (n, k) = (a + b, a.min(b));
    if n == 0 {
        return 1.0;
    }
    // Σ_{i ≤ k} C(n, i) / 2^n, from the largest term down.
    let mut log_term = -f64::from(n) * std::f64::consts::LN_2;
    for i in 0..k {
        log_term += math::ln(f64::from(n - i)) - math::ln(f64::from(i + 1));
    }
    let (mut ratio, mut sum) = (1.0, 0.0);
    for i in (0..=k).rev() {
        sum += ratio;
        ratio *= f64::from(i) / f64::from(n - i + 1);
    }
    (2.0 * math::exp(log_term) * sum).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fair_coins_are_counted() {
        // 2 (1 + 5) / 32, and 2 (1 + 10 + 45) / 1024.
        assert!((fair_coin(1, 4) - 0.375).abs() < 1e-12);
        assert!((fair_coin(8, 2) - 0.109_375).abs() < 1e-12);
        assert_eq!(fair_coin(3, 3), 1.0);
        assert!(fair_coin(300, 100) < 1e-20);
    }
}
