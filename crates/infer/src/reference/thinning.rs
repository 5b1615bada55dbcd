//! Which sections may object to a move.
//!
//! Every section accepts with probability min(1, e^{Δ_i}), Δ_i = R_i(θ') − R_i(θ), |Δ_i| ≤ c_i (ρ³ + ρ'³). The product over all of them
//! is the probability that a Poisson process of mean Λ = C (ρ³ + ρ'³) has no *objection*: each of its points picks section i with
//! probability c_i/C and objects with probability max(0, −Δ_i)/(c_i (ρ³ + ρ'³)). Points come by one clock of rate 1 that runs on
//! from move to move, so most moves read nothing and draw no number for it.
//!
//! Sections with a large c_i, or without one, are *hard*: read at every move.

use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::{Rng, math};

/// Draws places in proportion to given weights in O(1) (Walker's alias method): place k keeps a share of its cell, the rest of the
/// cell belongs to its alias. Shares are kept to 1e-7, which changes the mean number of objections by as much.
#[derive(Clone, Debug)]
pub struct Alias {
    share: Vec<f32>,
    other: Vec<u32>,
}

impl Alias {
    /// Of weights that are finite and not negative, with a positive sum.
    pub fn new(weights: &[f32]) -> Alias {
        let n = weights.len();
        let total: f64 = weights.iter().map(|w| f64::from(*w)).sum();
        let scale = n as f64 / total;
        let mut share: Vec<f32> = weights.iter().map(|w| (f64::from(*w) * scale) as f32).collect();
        let mut other: Vec<u32> = (0..n as u32).collect();
        // Two walks over the places: those with less than a cell are filled up by those with more, in order.
        let below = |share: &[f32], from: usize| (from..n).find(|k| share[*k] < 1.0);
        let above = |share: &[f32], from: usize| (from..n).find(|k| share[*k] >= 1.0);
        let (mut small, mut next, mut large) = (below(&share, 0), 0, above(&share, 0));
        // What the large one still has, in full precision: it may fill up very many.
        let mut left = large.map_or(0.0, |l| f64::from(share[l]));
        while let (Some(s), Some(l)) = (small, large) {
            other[s] = l as u32;
            left -= 1.0 - f64::from(share[s]);
            next = next.max(s + 1);
            small = below(&share, next);
            if left < 1.0 {
                share[l] = left as f32;
                large = above(&share, l + 1);
                left = large.map_or(0.0, |l| f64::from(share[l]));
                // It is a small one now. If the walk is past its place it has its turn at once.
                small = if l < next { Some(l) } else { below(&share, next) };
            }
        }
        if let Some(l) = large {
            share[l] = 1.0;
        }
        Alias { share, other }
    }

    pub fn draw(&self, rng: &mut Rng) -> usize {
        let k = rng.below(self.share.len());
        match rng.uniform() < f64::from(self.share[k]) {
            true => k,
            false => self.other[k] as usize,
        }
    }
}

/// The bounds of all sections, ready to be drawn from.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// c_i, 0 for hard ones.
    pub each: Vec<f32>,
    /// C
    pub total: f64,
    alias: Option<Alias>,
    /// Sections that are read at every move.
    pub hard: Vec<u32>,
}

/// More hard sections than these are not looked for.
const MOST_HARD: usize = 4096;

impl Bounds {
    /// `reach`: about what ρ³ + ρ'³ is in a move. None if too many sections have no bound.
    pub fn new(mut each: Vec<f32>, reach: f64) -> Option<Bounds> {
        let mut hard: Vec<u32> =
            (0..each.len() as u32).filter(|i| !each[*i as usize].is_finite()).collect();
        if hard.len() > MOST_HARD {
            return None;
        }
        hard.iter().for_each(|i| each[*i as usize] = 0.0);
        // A hard section costs a reading at every move, another one c_i (ρ³ + ρ'³) of a reading.
        if each.len() > hard.len() {
            let large =
                (0..each.len() as u32).filter(|i| f64::from(each[*i as usize]) * reach > 1.0);
            let large: Vec<u32> = large.take(MOST_HARD).collect();
            for i in large {
                each[i as usize] = 0.0;
                hard.push(i);
            }
        }
        let total = each.iter().map(|c| f64::from(*c)).sum();
        let alias = (total > 0.0).then(|| Alias::new(&each));
        Some(Bounds { each, total, alias, hard })
    }

    /// Of sections that are drawn elsewhere.
    pub fn elsewhere(total: f64) -> Bounds {
        Bounds { each: Vec::new(), total, alias: None, hard: Vec::new() }
    }

    /// A section, drawn in proportion to its bound.
    pub fn draw(&self, rng: &mut Rng) -> Option<u32> {
        self.alias.as_ref().map(|alias| alias.draw(rng) as u32)
    }
}

/// Time until the next point of a Poisson process of rate 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock(f64);

impl Bytes for Clock {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(from: &mut Input<'_>) -> Option<Clock> {
        f64::take(from).map(Clock)
    }
}

impl Clock {
    pub fn new(rng: &mut Rng) -> Clock {
        Clock(exponential(rng))
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: f64) {
        self.0 -= time;
    }

    /// Whether a point lies in the time that has passed; it is past then.
    pub fn rings(&mut self, rng: &mut Rng) -> bool {
        let rings = self.0 < 0.0;
        if rings {
            self.0 += exponential(rng);
        }
        rings
    }

    /// The rest of the time that has passed is not looked at.
    pub fn stop(&mut self, rng: &mut Rng) {
        self.0 = exponential(rng);
    }
}

fn exponential(rng: &mut Rng) -> f64 {
    -math::ln(rng.open_uniform())
}
