//! One transition of a prepared block.
//!
//! With g = G' − G + Σ T_i' − Σ T_i + ln q(θ|θ')/q(θ'|θ):
//!
//! * *thinned*: accepted with probability min(1, e^g') Π_i min(1, e^{Δ_i}), the product over soft sections by the clock of
//!   [`super::thinning`], g' = g + Σ over hard sections of Δ_i. Each factor α satisfies α(θ,θ')/α(θ',θ) = e^{its exponent}, and
//!   the exponents add up to that of Metropolis and Hastings, so the chain is reversible. If θ or θ' lies outside the
//!   ball, the move is decided by a scan: which test it is hangs on the unordered pair.
//! * *delayed*: min(1, e^g) min(1, e^{Σ Δ_i}), the second factor by a scan.
//! * *scan*: min(1, e^{all}); independent proposals are drawn and weighed many at a time, as they do not hang on the state.

use smidgen_value::{Rng, bytes_of_fields, math};

use super::Tall;
use super::law::{Law, Manner};
use super::preparation::{Preparation, Test};

/// Proposals that are weighed by one pass over the data.
const BATCH: usize = 48;
/// A remainder beyond its bound by more than rounding.
const ROUNDING: f64 = 1e-12;

/// What a transition did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    pub accepted: bool,
    /// Whether what was proposed does not hang on the state.
    pub is_independent: bool,
    /// Rows read.
    pub rows: u64,
    /// Remainders beyond their bounds: none, if the bounds are right.
    pub violations: u64,
}

/// A point with all that is known there.
#[derive(Clone, Debug, Default)]
struct Point {
    theta: Vec<f64>,
    y: Vec<f64>,
    /// ρ³
    cube: f64,
    /// G
    log_rest: f64,
    /// Σ T_i
    polynomial: f64,
    /// Σ l_i, where it was asked for.
    log_sections: Option<f64>,
    /// ln of the density of independent proposals, where it was asked for.
    log_law: Option<f64>,
}

impl Point {
    fn put(&mut self, tall: &mut dyn Tall, prepared: &Preparation) {
        self.theta.resize(self.y.len(), 0.0);
        prepared.reference.unwhiten(&self.y, &mut self.theta);
        self.look(tall, prepared);
    }

    fn look(&mut self, tall: &mut dyn Tall, prepared: &Preparation) {
        let square = prepared.square(&self.theta, &self.y);
        self.cube = square * math::sqrt(square);
        self.log_rest = tall.log_rest(&self.theta);
        self.polynomial = prepared.polynomial(&self.theta);
        self.log_sections = None;
        self.log_law = None;
    }

    fn log_law(&mut self, law: &Law) -> f64 {
        let y = &self.y;
        *self.log_law.get_or_insert_with(|| law.log_density(y))
    }

    /// Σ l_i; adds what was read for it.
    fn scan(&mut self, tall: &mut dyn Tall, rows: &mut u64) -> f64 {
        if let Some(known) = self.log_sections {
            return known;
        }
        *rows += tall.rows() as u64;
        let log_sections = tall.log_sections(&self.theta);
        let log_sections = if log_sections.is_nan() { f64::NEG_INFINITY } else { log_sections };
        self.log_sections = Some(log_sections);
        log_sections
    }
}

/// The state of a block between transitions.
#[derive(Clone, Debug)]
pub struct Chain {
    at: Point,
    to: Point,
    clock: super::thinning::Clock,
    ready: Ready,
    hard: Vec<[f64; 2]>,
}

/// Independent proposals that have been weighed and not been used.
#[derive(Clone, Debug, Default)]
struct Ready {
    ys: Vec<f64>,
    thetas: Vec<f64>,
    log_sections: Vec<f64>,
    next: usize,
}

/// Where a chain stands between two transitions, as far as it is no function of that and the preparation.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    theta: Vec<f64>,
    y: Vec<f64>,
    log_sections: Option<f64>,
    clock: super::thinning::Clock,
}

bytes_of_fields!(Standing { theta, y, log_sections, clock });

impl Chain {
    /// For a chain that is moved by thinning: others may have weighed proposals ahead, which are not kept.
    pub fn standing(&self) -> Standing {
        debug_assert!(self.ready.next >= self.ready.log_sections.len(), "proposals wait");
        let Point { theta, y, log_sections, .. } = &self.at;
        let (theta, y) = (theta.clone(), y.clone());
        Standing { theta, y, log_sections: *log_sections, clock: self.clock }
    }

    /// The chain that stood there.
    pub fn again(standing: Standing, tall: &mut dyn Tall, prepared: &Preparation) -> Chain {
        let Standing { theta, y, log_sections, clock } = standing;
        let mut at = Point { theta, y, ..Point::default() };
        at.look(tall, prepared);
        at.log_sections = log_sections;
        let (to, ready, hard) = Default::default();
        Chain { at, to, clock, ready, hard }
    }

    pub fn new(rng: &mut Rng) -> Chain {
        Chain {
            at: Point::default(),
            to: Point::default(),
            clock: super::thinning::Clock::new(rng),
            ready: Ready::default(),
            hard: Vec::new(),
        }
    }

    /// Where it is.
    pub fn theta(&self) -> &[f64] {
        &self.at.theta
    }

    /// The same in the coordinates of the reference.
    pub fn y(&self) -> &[f64] {
        &self.at.y
    }

    /// Goes to a point that something else has led to, or stays where the density has changed. Nothing that was known holds.
    pub fn go(&mut self, tall: &mut dyn Tall, prepared: &Preparation, theta: &[f64]) {
        self.at.theta.clear();
        self.at.theta.extend_from_slice(theta);
        self.at.y.resize(theta.len(), 0.0);
        prepared.reference.whiten(theta, &mut self.at.y);
        self.at.look(tall, prepared);
        self.ready = Ready::default();
    }

    /// One transition.
    pub fn transition(
        &mut self,
        tall: &mut dyn Tall,
        prepared: &Preparation,
        rng: &mut Rng,
    ) -> Moved {
        let manner = Law::manner(rng);
        let is_independent = manner == Manner::Independent;
        let mut moved = Moved { is_independent, ..Moved::default() };
        self.to.y.resize(self.at.y.len(), 0.0);
        let mut log_q_ratio = 0.0;
        match (prepared.test, manner) {
            (Test::Scan, Manner::Independent) => {
                self.take_ready(tall, prepared, rng, &mut moved.rows);
            }
            _ => {
                log_q_ratio = prepared.law.propose(manner, &self.at.y, &mut self.to.y, rng);
                self.to.put(tall, prepared);
            }
        }
        if is_independent {
            let [at, to] = [&mut self.at, &mut self.to].map(|point| point.log_law(&prepared.law));
            log_q_ratio = at - to;
        }
        if self.to.log_rest.is_nan() || self.to.log_rest == f64::NEG_INFINITY {
            return moved;
        }
        let log_global = self.to.log_rest - self.at.log_rest + log_q_ratio;
        moved.accepted = match prepared.test {
            Test::Thinned if self.is_in_ball(prepared) => {
                self.thinned(tall, prepared, log_global, rng, &mut moved)
            }
            Test::Thinned | Test::Scan => {
                let [at, to] = [&mut self.at, &mut self.to].map(|p| p.scan(tall, &mut moved.rows));
                rng.log_uniform() < log_global + to - at
            }
            Test::Delayed => self.delayed(tall, log_global, rng, &mut moved.rows),
        };
        if moved.accepted {
            std::mem::swap(&mut self.at, &mut self.to);
        }
        moved
    }

    fn is_in_ball(&self, prepared: &Preparation) -> bool {
        let most = prepared.radius * prepared.radius * prepared.radius;
        self.at.cube <= most && self.to.cube <= most
    }

    fn thinned(
        &mut self,
        tall: &mut dyn Tall,
        prepared: &Preparation,
        log_global: f64,
        rng: &mut Rng,
        moved: &mut Moved,
    ) -> bool {
        let bounds = prepared.bounds.as_ref().expect("a thinned test has bounds");
        let centre = &prepared.expansion().centre;
        let mut log_first = log_global + self.to.polynomial - self.at.polynomial;
        let at = [&self.at.theta[..], &self.to.theta[..]];
        if !bounds.hard.is_empty() {
            self.hard.resize(bounds.hard.len(), [0.0; 2]);
            tall.remainders(centre, &bounds.hard, at, &mut self.hard);
            moved.rows += bounds.hard.len() as u64;
            log_first += self.hard.iter().map(|[from, to]| to - from).sum::<f64>();
        }
        // Certain acceptance needs no number.
        if log_first < 0.0 && rng.log_uniform() >= log_first || log_first.is_nan() {
            return false;
        }
        let cubes = [self.at.cube, self.to.cube];
        self.clock.pass(bounds.total * (cubes[0] + cubes[1]));
        while self.clock.rings(rng) {
            let own = |rng: &mut Rng| bounds.draw(rng).map(|row| (row, bounds.each[row as usize]));
            let Some((row, c)) = tall.drawn(rng).or_else(|| own(rng)) else { break };
            let mut remainder = [[0.0; 2]];
            tall.remainders(centre, &[row], at, &mut remainder);
            moved.rows += 1;
            let c = f64::from(c);
            let [[from, to]] = remainder;
            let beyond = |r: f64, cube: f64| r.is_nan() || r.abs() > c * cube + ROUNDING;
            moved.violations += u64::from(beyond(from, cubes[0]) || beyond(to, cubes[1]));
            if rng.uniform() * c * (cubes[0] + cubes[1]) < from - to {
                self.clock.stop(rng);
                return false;
            }
        }
        true
    }

    fn delayed(
        &mut self,
        tall: &mut dyn Tall,
        log_global: f64,
        rng: &mut Rng,
        rows: &mut u64,
    ) -> bool {
        let polynomials = self.to.polynomial - self.at.polynomial;
        if rng.log_uniform() >= log_global + polynomials {
            return false;
        }
        let [at, to] = [&mut self.at, &mut self.to].map(|point| point.scan(tall, rows));
        rng.log_uniform() < to - at - polynomials
    }

    /// Makes the next weighed proposal the one at hand.
    fn take_ready(
        &mut self,
        tall: &mut dyn Tall,
        prepared: &Preparation,
        rng: &mut Rng,
        rows: &mut u64,
    ) {
        let d = self.at.y.len();
        let Ready { ys, thetas, log_sections, next } = &mut self.ready;
        if *next >= log_sections.len() {
            ys.resize(d * BATCH, 0.0);
            thetas.resize(d * BATCH, 0.0);
            log_sections.resize(BATCH, 0.0);
            for (y, theta) in ys.chunks_exact_mut(d).zip(thetas.chunks_exact_mut(d)) {
                prepared.law.draw(y, rng);
                prepared.reference.unwhiten(y, theta);
            }
            tall.log_sections_of_many(thetas, log_sections);
            *rows += (BATCH * tall.rows()) as u64;
            *next = 0;
        }
        let k = *next;
        *next += 1;
        self.to.y.copy_from_slice(&ys[k * d..(k + 1) * d]);
        self.to.theta.clear();
        self.to.theta.extend_from_slice(&thetas[k * d..(k + 1) * d]);
        let known = log_sections[k];
        self.to.look(tall, prepared);
        self.to.log_sections = Some(if known.is_nan() { f64::NEG_INFINITY } else { known });
    }
}
