//! Pilots: what a test would read and how good its draws would be, seen from a few moves.
//!
//! A pilot counts rows, acceptances and effective draws, never seconds: the same program has the same draws on every machine. How often
//! moves are accepted says too little: where the posterior has heavier tails than the reference, a chain is held there for
//! long, and its draws are worth less than the share of accepted moves a, which would make a/(2 − a) of them.

use smidgen_draws::diagnostics::ess_mean;
use smidgen_value::{Rng, math};

use super::{Preparation, Test};
use crate::reference::Tall;
use crate::reference::chain::Chain;
use crate::reference::law::{Law, WALKS};

/// Moves of a pilot by thinning, and the passes over all rows that it may take.
const THINNED: usize = 1000;
const PASSES: f64 = 20.0;
/// Proposals of a pilot by scans: as many as these readings of a row allow, within limits. In many dimensions few say nothing about
/// where their mean should be. The moves after them are fewer.
const READINGS: usize = 20_000_000;
const PROPOSALS: std::ops::RangeInclusive<usize> = 64..=2048;
const MOVES: std::ops::RangeInclusive<usize> = 96..=2000;
/// Proposals that are weighed by one pass.
const BATCH: usize = 64;
/// What a move, a row read at random with its polynomial, and a gradient cost beside a row that is scanned. The second is 500 for a
/// logistic regression and 15 for laws that take long to scan.
const MOVE: f64 = 500.0;
const AT_RANDOM: f64 = 60.0;
const GRADIENT: f64 = 3.0;
/// Gradients that nuts takes for an effective draw.
const GRADIENTS: f64 = 12.0;
/// How far out along the axes of the reference tails are looked at, in its standard deviations.
const FAR: [f64; 3] = [5.0, 10.0, 30.0];
/// Where all remainders together are below this at the first of them, the rows have no tails of their own.
const NEARLY_NORMAL: f64 = 2.0;
/// A short pilot underrates its least effective coordinate by about this factor.
const HASTE: f64 = 2.0;

/// What a transition is expected to cost and to give.
#[derive(Clone, Copy, Debug)]
pub struct Forecast {
    pub accepted: f64,
    /// Effective draws per move.
    pub efficiency: f64,
    /// Rows read per move.
    pub rows: f64,
    /// Λ of a usual move; NaN where there are no bounds.
    pub objections: f64,
    /// Readings of a row in order, per effective draw.
    pub cost: f64,
    /// The same for `nuts`.
    pub nuts: f64,
}

impl Forecast {
    /// Nothing known but what nuts costs.
    pub(crate) fn unknown(rows: usize) -> Forecast {
        Forecast {
            accepted: 0.0,
            efficiency: 0.0,
            rows: 0.0,
            objections: f64::NAN,
            cost: f64::INFINITY,
            nuts: GRADIENTS * GRADIENT * rows as f64 + GRADIENTS * MOVE,
        }
    }
}

impl Preparation {
    /// A pilot by thinning. False if there are no bounds.
    pub(super) fn look_at_thinning(&mut self, tall: &mut dyn Tall) -> bool {
        if self.bounds.is_none() && !self.make_bounds(tall) {
            return false;
        }
        self.test = Test::Thinned;
        self.forecast.objections = self.objections();
        let most = PASSES * tall.rows() as f64;
        let seen = self.watch(tall, THINNED, most, &mut stream());
        let cost = (MOVE + AT_RANDOM * seen.rows) / seen.efficiency;
        self.foresee(&seen, seen.rows, cost);
        true
    }

    /// Weighs independent proposals twice, the second time around their mean, and makes moves.
    pub(super) fn look_at_scans(&mut self, tall: &mut dyn Tall) {
        let affordable = READINGS / tall.rows().max(1);
        let count = affordable.clamp(*PROPOSALS.start(), *PROPOSALS.end());
        let mut rng = stream();
        for _ in 0..2 {
            let weighed = self.weigh(tall, count, &mut rng);
            let (weights, effective) = weighed.weights();
            if !(effective > 0.1 * count as f64 && effective > 30.0) {
                break;
            }
            self.law = Law::new(weighed.mean(&weights, &self.law.shift));
        }
        self.test = Test::Scan;
        let moves = (affordable / 4).clamp(*MOVES.start(), *MOVES.end());
        let seen = self.watch(tall, moves, f64::INFINITY, &mut rng);
        let rows = tall.rows() as f64;
        self.foresee(&seen, rows, (MOVE + rows) / seen.efficiency);
    }

    /// Moves that an independent draw would cost beyond what a pilot sees, because of tails along the axes of the reference.
    /// Who is t standard deviations out comes back by a walk, in about t² / s² of its steps; and the share of the draws there
    /// is about t π(t) / π(0) √2π.
    pub(super) fn tails(&self, tall: &mut dyn Tall) -> f64 {
        let d = self.reference.dimension();
        let bounds = self.bounds.as_ref().filter(|bounds| bounds.hard.is_empty());
        let are_rows_normal =
            bounds.is_some_and(|b| b.total * FAR[0] * FAR[0] * FAR[0] < NEARLY_NORMAL);
        let mut thetas = self.reference.centre.clone();
        let mut y = vec![0.0; d];
        for k in 0..d {
            for t in FAR.iter().flat_map(|t| [*t, -t]) {
                y[k] = t;
                let first = thetas.len();
                thetas.resize(first + d, 0.0);
                self.reference.unwhiten(&y, &mut thetas[first..]);
            }
            y[k] = 0.0;
        }
        let mut log_p = vec![0.0; thetas.len() / d];
        if are_rows_normal {
            let points = thetas.chunks_exact(d);
            log_p.iter_mut().zip(points).for_each(|(p, theta)| *p = self.polynomial(theta));
        } else {
            for (thetas, out) in thetas.chunks(d * BATCH).zip(log_p.chunks_mut(BATCH)) {
                tall.log_sections_of_many(thetas, out);
            }
        }
        for (p, theta) in log_p.iter_mut().zip(thetas.chunks_exact(d)) {
            *p += tall.log_rest(theta);
        }
        let step = self.law.step();
        let steps = |t: f64| WALKS * t * t / (step * step);
        let drops = log_p[1..].iter().map(|p| log_p[0] - p);
        let far = FAR.iter().flat_map(|t| [*t, *t]).cycle();
        let losses = drops.zip(far).map(|(drop, t)| steps(t) * 0.4 * t * math::exp(-drop));
        losses.filter(|loss| loss.is_finite()).fold(0.0, f64::max)
    }

    fn foresee(&mut self, seen: &Seen, rows: f64, cost: f64) {
        let Seen { accepted, efficiency, .. } = *seen;
        self.forecast = Forecast { accepted, efficiency, rows, cost, ..self.forecast };
    }

    /// Makes moves by the test at hand. One that reads much has seen enough soon.
    fn watch(&self, tall: &mut dyn Tall, moves: usize, most_rows: f64, rng: &mut Rng) -> Seen {
        let mut chain = Chain::new(rng);
        chain.go(tall, self, &self.reference.centre);
        let mut paths = vec![Vec::with_capacity(moves); self.reference.dimension()];
        let (mut accepted, mut rows, mut made) = (0.0, 0.0, 0.0);
        while made < moves as f64 && rows < most_rows {
            let moved = chain.transition(tall, self, rng);
            accepted += f64::from(u8::from(moved.accepted));
            rows += moved.rows as f64;
            made += 1.0;
            paths.iter_mut().zip(chain.y()).for_each(|(path, y)| path.push(*y));
        }
        let accepted = accepted / made;
        let most = accepted / (2.0 - accepted);
        let efficiency = most.min(HASTE * least_effective(&paths) / made);
        Seen { accepted, efficiency, rows: rows / made }
    }

    /// So many proposals, and ln π/q of each.
    fn weigh(&self, tall: &mut dyn Tall, count: usize, rng: &mut Rng) -> Weighed {
        let d = self.reference.dimension();
        let mut ys = vec![0.0; d * count];
        let mut thetas = ys.clone();
        for (y, theta) in ys.chunks_exact_mut(d).zip(thetas.chunks_exact_mut(d)) {
            self.law.draw(y, rng);
            self.reference.unwhiten(y, theta);
        }
        let mut log_weights = vec![0.0; count];
        for (thetas, out) in thetas.chunks(d * BATCH).zip(log_weights.chunks_mut(BATCH)) {
            tall.log_sections_of_many(thetas, out);
        }
        let points = thetas.chunks_exact(d).zip(ys.chunks_exact(d));
        for (weight, (theta, y)) in log_weights.iter_mut().zip(points) {
            *weight += tall.log_rest(theta) - self.law.log_density(y);
            if weight.is_nan() {
                *weight = f64::NEG_INFINITY;
            }
        }
        Weighed { ys, log_weights }
    }
}

/// What a few moves have shown.
struct Seen {
    accepted: f64,
    /// Effective draws per move.
    efficiency: f64,
    /// Rows read per move.
    rows: f64,
}

/// The least number of effective draws, of the coordinates and of their squares.
fn least_effective(paths: &[Vec<f64>]) -> f64 {
    let mut least = f64::INFINITY;
    for path in paths {
        let mean = path.iter().sum::<f64>() / path.len() as f64;
        let squares: Vec<f64> = path.iter().map(|y| (y - mean) * (y - mean)).collect();
        // Too few moves to say anything are none.
        let of = |path: &[f64]| Some(ess_mean(&[path])).filter(|n| n.is_finite()).unwrap_or(0.0);
        least = least.min(of(path)).min(of(&squares));
    }
    least
}

/// Independent proposals, one after the other, and ln π/q of each.
struct Weighed {
    ys: Vec<f64>,
    log_weights: Vec<f64>,
}

impl Weighed {
    /// E y by these weights, for proposals whose own mean is known: Σ (w − 1/n) (y − μ) is what they lack of it. The sum with w alone
    /// would have the noise of the proposals as well, which is larger by far where the weights are nearly equal.
    fn mean(&self, weights: &[f64], of_proposals: &[f64]) -> Vec<f64> {
        let equal = 1.0 / weights.len() as f64;
        let (mut sums, mut squares) =
            (vec![0.0; of_proposals.len()], vec![0.0; of_proposals.len()]);
        for (y, weight) in self.ys.chunks_exact(of_proposals.len()).zip(weights) {
            for (k, (y, mean)) in y.iter().zip(of_proposals).enumerate() {
                let term = (weight - equal) * (y - mean);
                sums[k] += term;
                squares[k] += term * term;
            }
        }
        // The estimate has an error of its own: what does not stand out from it is left.
        let stands_out =
            |m: f64, error: f64| if m == 0.0 { 0.0 } else { m * m * m / (m * m + error) };
        let means = of_proposals.iter().zip(&sums).map(|(mean, sum)| mean + sum);
        means.zip(&squares).map(|(m, error)| stands_out(m, *error)).collect()
    }

    /// The weights, with a sum of 1, and how many equal ones would be worth as much.
    fn weights(&self) -> (Vec<f64>, f64) {
        let most = self.log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut weights: Vec<f64> = self.log_weights.iter().map(|w| math::exp(w - most)).collect();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        let effective = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        (weights, effective)
    }
}

/// The stream of pilots: they choose how to go on and are no part of any chain.
fn stream() -> Rng {
    Rng::from_seed(1)
}
