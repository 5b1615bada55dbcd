//! All that a block's transitions need, made once in the warm-up and kept: the reference, the sums, the bounds, which test.
//!
//! Nothing of it changes the law of the draws: a worse reference lowers acceptance, that is all. So it may be chosen by
//! looking at the data and by a pilot. The pilot counts rows and acceptances, never seconds: the same program has the
//! same draws on every machine.

use smidgen_value::{Rng, math};

use super::chain::Chain;
use super::law::Law;
use super::newton::{self, NoReference};
use super::quadratic::{Reference, Sums};
use super::thinning::Bounds;
use super::{Tall, quadratic};

/// How a move is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// By sections that may object, drawn in proportion to what they may object at most.
    Thinned,
    /// By all sections, many proposals at a time.
    Scan,
    /// By the sums first, and by all sections if these accept.
    Delayed,
}

impl Test {
    pub fn name(self) -> &'static str {
        match self {
            Test::Thinned => "thinned",
            Test::Scan => "scan",
            Test::Delayed => "delayed",
        }
    }
}

/// Why a block has no such transitions, or should not have them.
#[derive(Clone, Debug, PartialEq)]
pub enum Unfit {
    NoReference(NoReference),
    /// Different starts lead to different modes.
    SeveralModes,
    /// The reference fits so badly that few proposals are accepted.
    FarFromNormal {
        accepted: f64,
    },
    /// Another kernel is cheaper.
    Dear {
        cost: f64,
        nuts: f64,
    },
    /// No section, or not all but a few, has a bound.
    NoBounds,
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unfit::NoReference(NoReference::Impossible) => {
                write!(f, "no possible state to look for a reference from was found")
            }
            Unfit::NoReference(NoReference::NoCurvature) => {
                write!(f, "a section has no second derivatives")
            }
            Unfit::NoReference(NoReference::NoMode) => {
                write!(f, "the posterior has no mode around which it bends down in all directions")
            }
            Unfit::SeveralModes => write!(f, "different starts lead to different modes"),
            Unfit::FarFromNormal { accepted } => {
                let percent = 100.0 * accepted;
                write!(
                    f,
                    "the posterior is far from normal: {percent:.0} % of proposals would be accepted"
                )
            }
            Unfit::Dear { cost, nuts } => {
                write!(
                    f,
                    "an effective draw would cost {cost:.0} readings of a row, by nuts about {nuts:.0}"
                )
            }
            Unfit::NoBounds => write!(f, "too many rows have no bound on their remainder"),
        }
    }
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Somebody who wants this test, whether it serves or not.
    This(Test),
    /// Somebody who wants the best of the tests.
    Any,
    /// Somebody who takes another kernel where that is better.
    Best,
}

/// What a transition is expected to cost and to give.
#[derive(Clone, Copy, Debug)]
pub struct Forecast {
    pub accepted: f64,
    /// Rows read per move.
    pub rows: f64,
    /// Λ of a usual move; NaN where there are no bounds.
    pub objections: f64,
    /// Readings of a row in order, per effective draw.
    pub cost: f64,
    /// The same for `nuts`.
    pub nuts: f64,
}

#[derive(Clone, Debug)]
pub struct Preparation {
    pub reference: Reference,
    pub sums: Sums,
    pub radius: f64,
    pub bounds: Option<Bounds>,
    pub law: Law,
    pub test: Test,
    pub forecast: Forecast,
}

/// The ball in which remainders have bounds reaches so far beyond √d: then hardly a proposal, even from the tails, leaves it.
const BALL: f64 = 7.0;
/// Moves of the pilot by thinning.
const PILOT: usize = 400;
/// Proposals of a pilot by scans: as many as these readings of a row allow, within limits. In many dimensions few say nothing about
/// where their mean should be.
const READINGS: usize = 20_000_000;
const PROPOSALS: std::ops::RangeInclusive<usize> = 64..=2048;
/// Proposals that are weighed by one pass.
const BATCH: usize = 64;
/// What a move, a row read at random with its polynomial, and a gradient cost beside a row that is scanned.
const MOVE: f64 = 500.0;
const AT_RANDOM: f64 = 2000.0;
const GRADIENT: f64 = 3.0;
/// Gradients that nuts takes for an effective draw.
const GRADIENTS: f64 = 12.0;
/// Accepted less often than this, the reference is no use.
const LEAST_ACCEPTED: f64 = 0.1;
/// Accepted as often as this by thinning, nothing else is looked at.
const FINE: f64 = 0.6;
/// Modes farther apart than so many standard deviations are different ones, if one is not less probable by e to this power.
const APART: f64 = 2.0;
const NEGLIGIBLE: f64 = 30.0;

impl Preparation {
    /// For a block, searching from `start` among other places.
    pub fn new(tall: &mut dyn Tall, start: &[f64], want: Want) -> Result<Preparation, Unfit> {
        let reference = mode(tall, start, want)?;
        let d = reference.dimension();
        let sums =
            tall.sums(&reference.centre, 1).ok_or(Unfit::NoReference(NoReference::NoCurvature))?;
        let radius = BALL + math::sqrt(d as f64);
        let law = Law::new(vec![0.0; d]);
        let nuts = GRADIENTS * GRADIENT * tall.rows() as f64 + GRADIENTS * MOVE;
        let forecast =
            Forecast { accepted: 0.0, rows: 0.0, objections: f64::NAN, cost: f64::INFINITY, nuts };
        let mut prepared = Preparation {
            reference,
            sums,
            radius,
            bounds: None,
            law,
            test: Test::Delayed,
            forecast,
        };
        match want {
            Want::This(Test::Thinned) => {
                if !prepared.look_at_thinning(tall) {
                    return Err(Unfit::NoBounds);
                }
            }
            Want::This(Test::Scan) => prepared.look_at_scans(tall),
            Want::This(Test::Delayed) => {}
            Want::Any => prepared.choose(tall),
            Want::Best => {
                prepared.choose(tall);
                prepared.check()?;
            }
        }
        Ok(prepared)
    }

    /// The same sums and bounds for sections that have changed.
    pub fn renew(&mut self, tall: &mut dyn Tall) -> Result<(), Unfit> {
        let centre = &self.reference.centre;
        self.sums = tall.sums(centre, 1).ok_or(Unfit::NoReference(NoReference::NoCurvature))?;
        if self.bounds.is_some() && !self.make_bounds(tall) {
            // Every move is decided by a scan then.
            self.bounds = None;
            self.test = Test::Delayed;
        }
        Ok(())
    }

    fn make_bounds(&mut self, tall: &mut dyn Tall) -> bool {
        let mut each = Vec::new();
        tall.bounds(&self.reference.centre, &self.reference.lower, self.radius, &mut each);
        if each.len() != tall.rows() {
            return false;
        }
        self.bounds = Bounds::new(each, 2.0 * mean_cube(self.reference.dimension()));
        self.bounds.is_some()
    }

    /// Λ of a usual move.
    fn objections(&self) -> f64 {
        let total = self.bounds.as_ref().map_or(f64::NAN, |bounds| bounds.total);
        total * 2.0 * mean_cube(self.reference.dimension())
    }

    /// Takes the test that is cheapest per effective draw.
    fn choose(&mut self, tall: &mut dyn Tall) {
        let thinned = self.look_at_thinning(tall).then_some(self.forecast);
        if thinned.is_none_or(|forecast| forecast.accepted < FINE) {
            self.look_at_scans(tall);
            if let Some(thinned) = thinned
                && thinned.cost < self.forecast.cost
            {
                (self.test, self.forecast) = (Test::Thinned, thinned);
                self.law = Law::new(vec![0.0; self.reference.dimension()]);
            }
        }
        if self.test != Test::Thinned {
            self.bounds = None;
        }
    }

    /// Whether another kernel would be better.
    fn check(&self) -> Result<(), Unfit> {
        let Forecast { accepted, cost, nuts, .. } = self.forecast;
        if accepted < LEAST_ACCEPTED {
            return Err(Unfit::FarFromNormal { accepted });
        }
        if cost > nuts {
            return Err(Unfit::Dear { cost, nuts });
        }
        Ok(())
    }

    /// A pilot by thinning. False if there are no bounds.
    fn look_at_thinning(&mut self, tall: &mut dyn Tall) -> bool {
        if self.bounds.is_none() && !self.make_bounds(tall) {
            return false;
        }
        self.test = Test::Thinned;
        self.forecast.objections = self.objections();
        let mut rng = pilot();
        let mut chain = Chain::new(&mut rng);
        chain.go(tall, self, &self.reference.centre);
        let (mut accepted, mut rows) = (0.0, 0.0);
        // A pilot that reads much has seen enough soon.
        let most = 20.0 * tall.rows() as f64;
        let mut made = 0.0;
        while made < PILOT as f64 && rows < most {
            let moved = chain.transition(tall, self, &mut rng);
            accepted += f64::from(u8::from(moved.accepted));
            rows += moved.rows as f64;
            made += 1.0;
        }
        let accepted = accepted / made;
        let rows = rows / made;
        let cost = (MOVE + AT_RANDOM * rows) / efficiency(accepted);
        self.forecast = Forecast { accepted, rows, cost, ..self.forecast };
        true
    }

    /// Weighs independent proposals twice: the second time around their mean.
    fn look_at_scans(&mut self, tall: &mut dyn Tall) {
        let d = self.reference.dimension();
        let count = READINGS / tall.rows().max(1);
        let count = count.clamp(*PROPOSALS.start(), *PROPOSALS.end());
        let mut rng = pilot();
        for _ in 0..2 {
            let weighed = self.weigh(tall, count, &mut rng);
            let (weights, effective) = weighed.weights();
            if !(effective > 0.1 * count as f64 && effective > 30.0) {
                break;
            }
            let mut shift = vec![0.0; d];
            for (y, weight) in weighed.ys.chunks_exact(d).zip(&weights) {
                shift.iter_mut().zip(y).for_each(|(sum, y)| *sum += weight * y);
            }
            // The estimate has an error of its own: what does not stand out from it is left.
            shift.iter_mut().for_each(|m| *m *= (*m * *m) / (*m * *m + 1.0 / effective));
            self.law = Law::new(shift);
        }
        let accepted = acceptance(&self.weigh(tall, BATCH, &mut rng).log_weights);
        let rows = tall.rows() as f64;
        self.test = Test::Scan;
        let cost = (MOVE + rows) / efficiency(accepted);
        self.forecast = Forecast { accepted, rows, cost, ..self.forecast };
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

    /// Σ T_i(θ)
    pub fn polynomial(&self, theta: &[f64]) -> f64 {
        quadratic::polynomial(&self.sums, &self.reference.centre, theta)
    }
}

/// Independent proposals, one after the other, and ln π/q of each.
struct Weighed {
    ys: Vec<f64>,
    log_weights: Vec<f64>,
}

impl Weighed {
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
fn pilot() -> Rng {
    Rng::from_seed(1)
}

/// The reference. Who may take another kernel does so unless all starts lead there.
fn mode(tall: &mut dyn Tall, start: &[f64], want: Want) -> Result<Reference, Unfit> {
    let found = starts(start).into_iter().map(|start| newton::find(tall, &start, true));
    let found: Vec<_> = found.collect();
    let best = found.iter().flatten().max_by(|a, b| a.log_p.total_cmp(&b.log_p));
    let Some(best) = best else {
        let why = found.into_iter().find_map(Result::err);
        return Err(Unfit::NoReference(why.unwrap_or(NoReference::Impossible)));
    };
    let mut y = vec![0.0; start.len()];
    for other in found.iter().flatten() {
        best.reference.whiten(&other.reference.centre, &mut y);
        let is_apart = quadratic::square(&y) > APART * APART;
        if want == Want::Best && is_apart && other.log_p > best.log_p - NEGLIGIBLE {
            return Err(Unfit::SeveralModes);
        }
    }
    let centre = best.reference.centre.clone();
    let mode = newton::find(tall, &centre, false).map_err(Unfit::NoReference)?;
    Ok(mode.reference)
}

/// The state, the origin, and two points on either side of it.
fn starts(start: &[f64]) -> Vec<Vec<f64>> {
    let d = start.len();
    let spread = |sign: f64| (0..d).map(|k| if k % 2 == 0 { sign } else { -sign }).collect();
    vec![start.to_vec(), vec![0.0; d], spread(1.0), spread(-1.0)]
}

/// E ρ³ of the standard normal in d dimensions: 2^{3/2} Γ((d + 3)/2) / Γ(d/2).
fn mean_cube(d: usize) -> f64 {
    let d = d as f64;
    math::exp(1.5 * math::ln(2.0) + math::ln_gamma(0.5 * (d + 3.0)) - math::ln_gamma(0.5 * d))
}

/// Effective draws per move of an independence sampler that accepts so often.
fn efficiency(accepted: f64) -> f64 {
    accepted / (2.0 - accepted)
}

/// How often a chain over proposals of these weights would accept: the state is of weight w_i with probability ∝ w_i.
fn acceptance(log_weights: &[f64]) -> f64 {
    let most = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() {
        return 0.0;
    }
    let weights: Vec<f64> = log_weights.iter().map(|w| math::exp(w - most)).collect();
    let total: f64 = weights.iter().sum();
    let mut accepted = 0.0;
    for from in &weights {
        // w_i min(1, w_j/w_i) = min(w_i, w_j)
        accepted += weights.iter().map(|to| to.min(*from)).sum::<f64>();
    }
    accepted / (total * weights.len() as f64)
}
