//! All that a block's transitions need, made once in the warm-up and kept: the reference, the sums, the bounds, which test.
//!
//! Nothing of it changes the law of the draws: a worse reference lowers acceptance, that is all. So it may be chosen by
//! looking at the data and by pilots ([`pilot`]).

mod pilot;

use smidgen_prob::collapsed::draw::standard_normal;
use smidgen_value::{Rng, bytes_of_fields, math};

use super::law::Law;
use super::newton::{self, NoReference};
use super::quadratic::{Reference, Sums};
use super::thinning::Bounds;
use super::{Tall, quadratic};

pub use pilot::Forecast;

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
    /// Chains are held in tails that the reference lacks.
    HeavyTails {
        efficiency: f64,
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
            Unfit::HeavyTails { efficiency } => {
                write!(
                    f,
                    "the posterior is far from normal: its tails are heavier, so that {:.0} moves would be worth one independent draw",
                    1.0 / efficiency
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

#[derive(Clone, Debug)]
pub struct Preparation {
    /// Around which proposals are made.
    pub reference: Reference,
    /// Around which sums and bounds were made, if that is another point. Then y is no measure for these: ρ is the distance
    /// from there, in the coordinates there.
    pub ball: Option<Reference>,
    pub sums: Sums,
    pub radius: f64,
    pub bounds: Option<Bounds>,
    pub law: Law,
    pub test: Test,
    pub forecast: Forecast,
}

/// A preparation for sections that lie elsewhere, in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Afar {
    centre: Vec<f64>,
    lower: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
    radius: f64,
    /// C
    pub total: f64,
}

bytes_of_fields!(Afar { centre, lower, value, gradient, hessian, radius, total });

/// The ball in which remainders have bounds reaches so far beyond √d: then hardly a proposal, even from the tails, leaves it.
const BALL: f64 = 7.0;
/// Accepted less often than this, the reference is no use. Nor if a move is worth less than this share of an independent draw, since
/// a pilot whose chain is held in tails has not seen all of them; nor if tails that it has not seen cost more moves than these.
const LEAST_ACCEPTED: f64 = 0.1;
const LEAST_EFFICIENCY: f64 = 0.2;
const MOST_MOVES: f64 = 50.0;
/// With as many effective draws per move by thinning as this, nothing else is looked at.
const FINE: f64 = 0.4;
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
        let forecast = Forecast::unknown(tall.rows());
        let mut prepared = Preparation {
            reference,
            ball: None,
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
                prepared.check(tall)?;
            }
        }
        Ok(prepared)
    }

    /// For sections that lie elsewhere, to be moved by thinning: what is known of their bounds is their sum.
    pub fn from_afar(tall: &mut dyn Tall, start: &[f64]) -> Result<Preparation, Unfit> {
        let reference = mode(tall, start, Want::This(Test::Thinned))?;
        let d = reference.dimension();
        let sums =
            tall.sums(&reference.centre, 1).ok_or(Unfit::NoReference(NoReference::NoCurvature))?;
        let radius = BALL + math::sqrt(d as f64);
        let total = tall.total_bound(&reference.centre, &reference.lower, radius);
        let total = total.filter(|total| total.is_finite()).ok_or(Unfit::NoBounds)?;
        Ok(Preparation {
            reference,
            ball: None,
            sums,
            radius,
            bounds: Some(Bounds::elsewhere(total)),
            law: Law::new(vec![0.0; d]),
            test: Test::Thinned,
            forecast: Forecast::unknown(tall.rows()),
        })
    }

    /// What was made by [`Preparation::from_afar`], in numbers.
    pub fn afar(&self) -> Afar {
        let Preparation { reference, sums, radius, bounds, .. } = self;
        Afar {
            centre: reference.centre.clone(),
            lower: reference.lower.clone(),
            value: sums.value,
            gradient: sums.gradient.clone(),
            hessian: sums.hessian.clone(),
            radius: *radius,
            total: bounds.as_ref().map_or(f64::NAN, |bounds| bounds.total),
        }
    }

    /// The preparation that these numbers are of, above so many sections.
    pub fn again(afar: Afar, rows: usize) -> Preparation {
        let Afar { centre, lower, value, gradient, hessian, radius, total } = afar;
        let law = Law::new(vec![0.0; centre.len()]);
        Preparation {
            reference: Reference { centre, lower },
            ball: None,
            sums: Sums { value, gradient, hessian },
            radius,
            bounds: Some(Bounds::elsewhere(total)),
            law,
            test: Test::Thinned,
            forecast: Forecast::unknown(rows),
        }
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
        // No scan is cheaper than one reading of all rows.
        let is_fine =
            |thinned: Forecast| thinned.efficiency >= FINE && thinned.cost < tall.rows() as f64;
        if !thinned.is_some_and(is_fine) {
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
    fn check(&self, tall: &mut dyn Tall) -> Result<(), Unfit> {
        let Forecast { accepted, efficiency, cost, nuts, .. } = self.forecast;
        if accepted < LEAST_ACCEPTED {
            return Err(Unfit::FarFromNormal { accepted });
        }
        if efficiency < LEAST_EFFICIENCY {
            return Err(Unfit::HeavyTails { efficiency });
        }
        if cost > nuts {
            return Err(Unfit::Dear { cost, nuts });
        }
        let moves = self.tails(tall);
        if moves > MOST_MOVES {
            return Err(Unfit::HeavyTails { efficiency: 1.0 / moves });
        }
        Ok(())
    }

    /// Σ T_i(θ)
    pub fn polynomial(&self, theta: &[f64]) -> f64 {
        self.sums.polynomial(&self.expansion().centre, theta)
    }

    /// What sums and bounds were made around.
    pub fn expansion(&self) -> &Reference {
        self.ball.as_ref().unwrap_or(&self.reference)
    }

    /// ρ² of a point with coordinates y in the reference.
    pub fn square(&self, theta: &[f64], y: &[f64]) -> f64 {
        let Some(ball) = &self.ball else { return quadratic::square(y) };
        let mut there = vec![0.0; y.len()];
        ball.whiten(theta, &mut there);
        quadratic::square(&there)
    }
}

/// The reference. Who may take another kernel does so unless all starts lead there.
fn mode(tall: &mut dyn Tall, start: &[f64], want: Want) -> Result<Reference, Unfit> {
    let found = starts(start, want).into_iter().map(|start| newton::find(tall, &start, true));
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

/// Places to look for other modes from, by the number of coordinates, and how far they lie from the origin.
const OTHERS: usize = 4;
const FEWER_OTHERS: usize = 2;
const FEW_COORDINATES: usize = 16;
const SPREAD: f64 = 2.0;

/// The state, the origin, and two points on either side of it. Who may take another kernel looks from some more, anywhere: parts of
/// a mixture that could change places have modes which points on one line through the origin need not lead to.
fn starts(start: &[f64], want: Want) -> Vec<Vec<f64>> {
    let d = start.len();
    let spread = |sign: f64| (0..d).map(|k| if k % 2 == 0 { sign } else { -sign }).collect();
    let mut starts = vec![start.to_vec(), vec![0.0; d], spread(1.0), spread(-1.0)];
    if want == Want::Best {
        let mut rng = Rng::from_seed(1);
        let others = if d <= FEW_COORDINATES { OTHERS } else { FEWER_OTHERS };
        let mut place = || (0..d).map(|_| SPREAD * standard_normal(&mut rng)).collect();
        starts.extend((0..others).map(|_| place()));
    }
    starts
}

/// E ρ³ of the standard normal in d dimensions: 2^{3/2} Γ((d + 3)/2) / Γ(d/2).
pub fn mean_cube(d: usize) -> f64 {
    let d = d as f64;
    math::exp(1.5 * math::ln(2.0) + math::ln_gamma(0.5 * (d + 3.0)) - math::ln_gamma(0.5 * d))
}
