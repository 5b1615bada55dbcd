//! One step from an exact draw. After it
//!
//! * the invariants of the trace hold, and it is what the program brings about that is run from its
//!   text with the same choices;
//! * the law of (θ, y) is what it was. Starts are independent. For a set S of pairs (θ, y), as many
//!   steps lead into S as out of it, on average: given that a step crosses its border, the direction is a fair coin. That is
//!   an exact test (McNemar's), and sharp where kernels move little. Sets are {a ≤ c}, {a ≤ c and b ≤ d} and
//!   {a ≤ c xor b ≤ d} for quantities a, b and quantiles c, d of other starts.
//!
//! There are three looks with fresh starts. The first chooses the few sets that look worst; the second tells whether
//! these look bad again; if so, the third decides, alone: the least p-value counts, times the number of sets. So
//! a right kernel fails with at most the probability that is asked for.

use std::panic::{AssertUnwindSafe, catch_unwind};

use smidgen_engine::Fault;
use smidgen_engine::check::check;
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

/// The three looks.
#[derive(Clone, Copy, Debug)]
pub struct Looks {
    /// Starts of each.
    pub starts: [usize; 3],
    /// Sets that are looked at in the second and in the third.
    pub sets: [usize; 2],
    /// From this p-value of the second look on there is no third.
    pub threshold: f64,
}

/// For many programs.
pub const QUICK: Looks = Looks { starts: [120, 300, 4000], sets: [8, 3], threshold: 0.05 };

/// For a few programs.
pub const THOROUGH: Looks = Looks { starts: [300, 1200, 15_000], sets: [8, 3], threshold: 0.15 };

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
    pub looks: Looks,
}

impl Step<'_> {
    pub fn judge(&self, seed: u64) -> Verdict {
        let mut seeds = Rng::from_seed(seed);
        let sets = match self.sets(&mut seeds) {
            Ok(sets) => sets,
            Err(error) => return Verdict::Wrong(format!("the program does not run: {error}")),
        };
        match self.look_thrice(sets, &mut seeds) {
            Err(verdict) => verdict,
            Ok(found) if found.p >= self.alpha => Verdict::Right,
            Ok(found) => {
                Verdict::Wrong(format!("the law changes: p = {:.1e}, {}", found.p, found.report))
            }
        }
    }

    fn look_thrice(&self, sets: Vec<Set>, seeds: &mut Rng) -> Result<PValue, Verdict> {
        let Looks { starts, sets: kept, threshold } = self.looks;
        let mut seen = self.look(sets, starts[0], seeds)?;
        seen.truncate(kept[0]);
        seen = self.look(seen.into_iter().map(|seen| seen.set).collect(), starts[1], seeds)?;
        let found = least(&seen, starts[1]);
        if found.p >= threshold {
            return Ok(PValue::new(1.0, found.report));
        }
        seen.truncate(kept[1]);
        seen = self.look(seen.into_iter().map(|seen| seen.set).collect(), starts[2], seeds)?;
        Ok(least(&seen, starts[2]))
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

    /// Moves so many fresh starts. The sets, worst first.
    fn look(&self, sets: Vec<Set>, starts: usize, seeds: &mut Rng) -> Result<Vec<Seen>, Verdict> {
        let mut seen: Vec<Seen> =
            sets.into_iter().map(|set| Seen { set, into: 0, out: 0 }).collect();
        for number in 0..starts {
            let mut start = self.wild.start(seeds.seed()).map_err(Verdict::Wrong)?;
            let before = quantities(&mut start).map_err(Verdict::Wrong)?;
            self.make_moves(&mut start.world)?;
            if number < FRESH {
                holds(&start.world).map_err(Verdict::Wrong)?;
            }
            let after = quantities(&mut start).map_err(Verdict::Wrong)?;
            for seen in &mut seen {
                match (seen.set.holds(&before), seen.set.holds(&after)) {
                    (false, true) => seen.into += 1,
                    (true, false) => seen.out += 1,
                    _ => {}
                }
            }
        }
        seen.sort_by(|a, b| a.p().total_cmp(&b.p()));
        Ok(seen)
    }

    fn make_moves(&self, world: &mut World) -> Result<(), Verdict> {
        world.model.trace_mut().put_fault(self.fault);
        let moved = catch_unwind(AssertUnwindSafe(|| self.moves.make(world)));
        world.model.trace_mut().put_fault(None);
        match moved {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if self.moves.is_default() => {
                Err(Verdict::Wrong(format!("the default kernel stops: {error}")))
            }
            Ok(Err(error)) => Err(Verdict::Refused(error)),
            Err(_) => Err(Verdict::Wrong("the kernel panics".to_owned())),
        }
    }
}

/// A set, and how often its border was crossed.
struct Seen {
    set: Set,
    into: u32,
    out: u32,
}

impl Seen {
    fn p(&self) -> f64 {
        fair_coin(self.into, self.out)
    }
}

/// The least p-value, times the number of sets; worst first.
fn least(seen: &[Seen], starts: usize) -> PValue {
    let Some(worst) = seen.first() else { return PValue::new(1.0, "nothing to look at") };
    let Seen { set, into, out } = worst;
    let report = format!("{set:?}: {into} in, {out} out of {starts} starts");
    PValue::new(worst.p() * seen.len() as f64, report)
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
