//! Conditional sequential Monte Carlo: which particle goes on from which, and which one stays.
//!
//! At each step every new particle draws its ancestor with probability ∝ w_{t−1}, the reference
//! included. The reference goes on from itself or, with ancestor sampling, from a particle drawn
//! with probability ∝ w_{t−1}^i γ(path_i, ref_t..T)/γ(path_i). At the end one particle is drawn
//! with probability ∝ w_T. Leaves p(block | rest) invariant for two particles or more.

use smidgen_engine::particles::shares;
use smidgen_engine::{EvalError, Particles};
use smidgen_value::Rng;

/// Draws with probabilities that are given as log weights: at random ([`Multinomial`]) or, to know all that
/// can happen, one possibility after the other.
pub trait Resampler {
    /// False if all weights are 0.
    fn weigh(&mut self, log_weights: &[f64]) -> bool;

    /// One of those weighed last.
    fn draw(&mut self, rng: &mut Rng) -> usize;

    /// Several of them, independently.
    fn draw_all(&mut self, drawn: &mut [u32], rng: &mut Rng) {
        drawn.iter_mut().for_each(|drawn| *drawn = self.draw(rng) as u32);
    }
}

/// Runs all steps. The particle whose path is to be the new state; none if every path is
/// impossible, the reference too: then the state stays as it is.
pub fn conditional_smc(
    system: &mut dyn Particles,
    particles: usize,
    lots: &mut dyn Resampler,
    rng: &mut Rng,
) -> Result<Option<usize>, EvalError> {
    let reference = particles - 1;
    let mut log_weights = vec![0.0; particles];
    let mut log_future = vec![0.0; particles];
    let mut ancestors = vec![reference as u32; particles];
    for t in 0..system.steps() {
        if t > 0 {
            if !lots.weigh(&log_weights) {
                return Ok(None);
            }
            lots.draw_all(&mut ancestors[..reference], rng);
            if system.looks_ahead() {
                system.look_ahead(t, &mut log_future)?;
                for (log_future, log_weight) in log_future.iter_mut().zip(&log_weights) {
                    *log_future += log_weight;
                }
                if !lots.weigh(&log_future) {
                    return Ok(None);
                }
                ancestors[reference] = lots.draw(rng) as u32;
            }
        }
        system.advance(t, &ancestors, rng, &mut log_weights)?;
    }
    Ok(lots.weigh(&log_weights).then(|| lots.draw(rng)))
}

/// Weights that are all looked at for a draw.
const FEW: usize = 32;

/// Numbers in the widest registers.
const WHOLE: usize = 8;

/// At random. Of a few weights all are looked at; for more, a guide says for each of as many parts of the sum as there are weights where the search begins, so that a draw
/// takes a few comparisons however many there are.
#[derive(Default)]
pub struct Multinomial {
    cumulative: Vec<f64>,
    guide: Vec<u32>,
    has_guide: bool,
}

impl Multinomial {
    fn total(&self) -> f64 {
        self.cumulative.last().copied().unwrap_or(0.0)
    }

    /// guide[i] is the first place whose cumulative weight is above i parts of the sum.
    fn make_guide(&mut self) {
        let (parts, total) = (self.cumulative.len(), self.total());
        self.guide.clear();
        let mut place = 0;
        for i in 0..parts {
            let from = total * (i as f64 / parts as f64);
            while place + 1 < parts && self.cumulative[place] <= from {
                place += 1;
            }
            self.guide.push(place as u32);
        }
        self.has_guide = true;
    }

    /// The first place whose cumulative weight is above u of the sum: as many are not. Without a branch, since where the
    /// search would end is not to be foreseen.
    #[inline]
    fn counted(&self, u: f64) -> usize {
        let total = self.total();
        let from = u * total;
        let place = self.cumulative.iter().map(|sum| u64::from(*sum <= from)).sum::<u64>() as usize;
        match place < self.cumulative.len() {
            true => place,
            false => self.cumulative.partition_point(|sum| *sum < total),
        }
    }

    /// The first place whose cumulative weight is above u of the sum, looked for from this one on.
    fn place(&self, u: f64, start: usize) -> usize {
        let total = self.total();
        let from = u * total;
        let mut place = start;
        // Rounding may have led past it.
        while place > 0 && self.cumulative[place - 1] > from {
            place -= 1;
        }
        while place < self.cumulative.len() && self.cumulative[place] <= from {
            place += 1;
        }
        // Rounding may give the total itself: then the last of positive weight.
        match place < self.cumulative.len() {
            true => place,
            false => self.cumulative.partition_point(|sum| *sum < total),
        }
    }
}

/// The largest of numbers in whole registers.
fn largest(numbers: &[f64]) -> f64 {
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    let mut parts = [f64::NEG_INFINITY; WHOLE];
    for some in numbers.as_chunks::<WHOLE>().0 {
        parts.iter_mut().zip(some).for_each(|(part, x)| *part = larger(*part, *x));
    }
    parts.into_iter().fold(f64::NEG_INFINITY, larger)
}

impl Resampler for Multinomial {
    fn weigh(&mut self, log_weights: &[f64]) -> bool {
        let some = log_weights.len();
        self.has_guide = false;
        // Whole registers of the processor; the last lanes are nothing.
        self.cumulative.clear();
        self.cumulative.extend_from_slice(log_weights);
        self.cumulative.resize(some.next_multiple_of(WHOLE), f64::NEG_INFINITY);
        let largest = largest(&self.cumulative);
        if largest == f64::NEG_INFINITY {
            self.cumulative.clear();
            return false;
        }
        match largest == f64::INFINITY {
            // Densities may be infinite: then only those count.
            true => self.cumulative.iter_mut().for_each(|weight| {
                *weight = f64::from(u8::from(*weight == largest));
            }),
            false => shares(largest, &mut self.cumulative),
        }
        self.cumulative.truncate(some);
        let mut sum = 0.0;
        for weight in &mut self.cumulative {
            sum += *weight;
            *weight = sum;
        }
        true
    }

    fn draw(&mut self, rng: &mut Rng) -> usize {
        let u = rng.uniform();
        let start = self.cumulative.partition_point(|sum| *sum <= u * self.total());
        self.place(u, start)
    }

    fn draw_all(&mut self, drawn: &mut [u32], rng: &mut Rng) {
        if self.cumulative.len() <= FEW {
            drawn.iter_mut().for_each(|drawn| *drawn = self.counted(rng.uniform()) as u32);
            return;
        }
        if !self.has_guide {
            self.make_guide();
        }
        let parts = self.guide.len();
        for drawn in drawn {
            let u = rng.uniform();
            // u is below 1.
            let part = ((u * parts as f64) as usize).min(parts - 1);
            *drawn = self.place(u, self.guide[part] as usize) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guide_leads_to_the_place_that_a_search_finds() {
        let rng = &mut Rng::from_seed(4);
        for n in [1, 2, 3, 10, 100] {
            for spread in [0.0, 1.0, 30.0, 2000.0] {
                let mut lots = Multinomial::default();
                let log_weights: Vec<f64> = (0..n).map(|_| spread * rng.uniform()).collect();
                assert!(lots.weigh(&log_weights));
                lots.make_guide();
                for k in 0..1000 {
                    let u = if k < 500 { rng.uniform() } else { f64::from(k - 500) / 500.0 };
                    let part = ((u * n as f64) as usize).min(n - 1);
                    let found = lots.place(u, lots.guide[part] as usize);
                    assert_eq!(found, lots.place(u, 0), "{n} {spread} {u}");
                    assert_eq!(found, lots.counted(u), "{n} {spread} {u}");
                }
            }
        }
    }

    #[test]
    fn weights_of_nothing_are_never_drawn() {
        let (mut lots, rng) = (Multinomial::default(), &mut Rng::from_seed(5));
        let (none, mut drawn) = (f64::NEG_INFINITY, [0; 200]);
        assert!(!lots.weigh(&[none, none]));
        assert!(lots.weigh(&[none, 0.0, none, 1.0, none]));
        lots.draw_all(&mut drawn, rng);
        assert!(drawn.iter().all(|k| [1, 3].contains(k)));
        assert!(lots.weigh(&[3.0, f64::INFINITY]));
        lots.draw_all(&mut drawn, rng);
        assert!(drawn.iter().all(|k| *k == 1));
    }
}
