//! How often a sweep goes round, learnt in the warm-up.
//!
//! A joint block and other choices move given each other, and where they hang together closely (states that
//! overlap, and what they are drawn from) the chain crawls. The autocorrelation time of coordinate j
//! of the block, in rounds, is found from the means of B batches of b rounds,
//!
//! b Var(batch means) / Var(x_j) = τ_j (1 − τ_j / 2b · (1 − exp(−2b / τ_j)))
//!
//! (so for autocorrelations exp(−2k / τ); means of short batches hide some of a long time), over windows
//! that double, so that the way to the posterior is forgotten. A sweep goes round R = max_j τ_j / 3
//! times, so that every third draw or so counts, up to a bound that a large model reaches sooner.
//! Afterwards R stays: it may not depend on the state.

use smidgen_engine::{NodeId, Trace};
use smidgen_value::{Value, math};

/// Rounds at most, and choices that a sweep moves at most if it goes round more than once.
const MOST_ROUNDS: usize = 16;
const MOST_MOVES: usize = 16_000;
/// The autocorrelation time of draws that is aimed at.
const TIME: f64 = 3.0;
/// The longest time that is told from batches, in their length.
const LONGEST: f64 = 5.0;
/// Batches of a window, and rounds of the first window.
const BATCHES: usize = 16;
const FIRST_WINDOW: u64 = 64;

pub struct Rounds {
    pub number: usize,
    block: Vec<NodeId>,
    /// Rounds seen with this block, and the window.
    seen: u64,
    window: std::ops::Range<u64>,
    traces: Vec<Batches>,
}

impl Default for Rounds {
    fn default() -> Rounds {
        let window = 0..FIRST_WINDOW;
        Rounds { number: 1, block: Vec::new(), seen: 0, window, traces: Vec::new() }
    }
}

/// Sums over a window and its batches, of what lies relative to the first value.
#[derive(Clone, Copy, Default)]
struct Batches {
    first: Option<f64>,
    squares: f64,
    sums: [f64; BATCHES],
}

impl Batches {
    fn add(&mut self, x: f64, batch: usize) {
        let x = x - *self.first.get_or_insert(x);
        self.squares += x * x;
        self.sums[batch] += x;
    }

    /// τ / b, if there are so many values in a batch.
    fn autocorrelation_time(&self, each: f64) -> f64 {
        let batches = BATCHES as f64;
        let mean = self.sums.iter().sum::<f64>() / (batches * each);
        let variance = self.squares / (batches * each) - mean * mean;
        let deviation = |sum: &f64| (sum / each - mean) * (sum / each - mean);
        let of_means = self.sums.iter().map(deviation).sum::<f64>() / (batches - 1.0);
        if variance > 0.0 { in_batches(of_means / variance) } else { 0.0 }
    }
}

/// The u with u (1 − u/2 · (1 − exp(−2/u))) = r, up to a bound: beyond it batches cannot tell.
fn in_batches(r: f64) -> f64 {
    let (mut low, mut high) = (0.0, LONGEST);
    for _ in 0..30 {
        let u: f64 = 0.5 * (low + high);
        let below = u * (1.0 - 0.5 * u * (1.0 - math::exp(-2.0 / u))) < r;
        *(if below { &mut low } else { &mut high }) = u;
    }
    high
}

impl Rounds {
    /// Notes the state of a joint block after a round.
    pub fn learn(&mut self, trace: &Trace, block: &[NodeId]) {
        if self.block != block {
            *self = Rounds { block: block.to_vec(), number: self.number, ..Rounds::default() };
        }
        let numbers = block.iter().map(|id| first_number(&trace.node(*id).value));
        if let Some(fitting) = self.note(numbers) {
            self.number = fitting.min(MOST_MOVES / trace.sweep().max(1)).max(1);
        }
    }

    /// Nothing moves given anything else.
    pub fn reset(&mut self) {
        *self = Rounds::default();
    }

    /// The number that would fit, at the end of a window.
    fn note(&mut self, numbers: impl ExactSizeIterator<Item = Option<f64>>) -> Option<usize> {
        let each = (self.window.end - self.window.start) / BATCHES as u64;
        let batch = ((self.seen - self.window.start) / each) as usize;
        self.traces.resize(numbers.len(), Batches::default());
        for (batches, x) in self.traces.iter_mut().zip(numbers) {
            if let Some(x) = x {
                batches.add(x, batch);
            }
        }
        self.seen += 1;
        if self.seen < self.window.end {
            return None;
        }
        let times = self.traces.iter().map(|batches| batches.autocorrelation_time(each as f64));
        let largest = times.filter(|time| time.is_finite()).fold(0.0, f64::max);
        self.window = self.window.end..2 * self.window.end;
        self.traces.clear();
        Some(((largest * each as f64 / TIME).ceil() as usize).clamp(1, MOST_ROUNDS))
    }
}

pub(super) fn first_number(value: &Value) -> Option<f64> {
    match value {
        Value::Vector(xs) => xs.first().copied(),
        Value::Matrix(m) => m.as_slice().first().copied(),
        value => value.as_number(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen_value::Rng;

    /// x' = ρ x + e has the autocorrelation time (1 + ρ) / (1 − ρ); noise beside it hides that from
    /// neighbours alone.
    #[test]
    fn the_number_follows_from_the_autocorrelation_time() {
        let mut rng = Rng::from_seed(3);
        for (rho, noise, least, most) in [
            (-0.5, 0.0, 1, 1),
            (0.3, 0.0, 1, 1),
            (0.8, 0.0, 2, 5),
            (0.98, 0.0, 14, 16),
            (0.98, 4.0, 8, 16),
        ] {
            let mut rounds = Rounds::default();
            let (mut x, mut fitting) = (0.0, None);
            for _ in 0..16_384 {
                x = rho * x + (rng.uniform() - 0.5);
                let y = 100.0 + x + noise * (rng.uniform() - 0.5);
                fitting = rounds.note([Some(y), Some(3.0)].into_iter()).or(fitting);
            }
            let number = fitting.expect("several windows");
            assert!((least..=most).contains(&number), "{rho}: {number}");
        }
    }

    /// A time of 40 rounds is seen in a window of 128, though its batches are shorter.
    #[test]
    fn a_long_time_is_seen_early() {
        let mut rng = Rng::from_seed(4);
        let mut seen = 0;
        for _ in 0..20 {
            let mut rounds = Rounds::default();
            let (mut x, mut fitting) = (0.0, None);
            for _ in 0..256 {
                x = 0.95 * x + (rng.uniform() - 0.5);
                fitting = rounds.note([Some(x)].into_iter()).or(fitting);
            }
            seen += usize::from(fitting.is_some_and(|number| number >= 5));
        }
        assert!(seen >= 15, "{seen} of 20");
    }
}
