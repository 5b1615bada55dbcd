//! What a path says about a program, and whether the reference says the same.

use smidgen_engine::check::paths::ChoiceDensity;

use super::reference::{Measured, State, log_likelihood};
use super::subject::Subject;

/// How far two numbers may lie apart, relative to 1 and to the sizes of what was added up.
const TOLERANCE: f64 = 1e-9;
/// The same for a slope and a difference quotient, besides the latter's own error.
const SLOPE_TOLERANCE: f64 = 1e-5;
/// What one log joint density may be off by rounding, relative to its size.
const ROUNDING: f64 = 4e-15;

/// What is said.
pub enum About {
    LogJoint(State),
    LogLikelihood(State),
    /// The log joint density after a move minus the one before.
    LogRatio {
        before: State,
        after: State,
        scored: Scored,
    },
    /// The slope of the log joint density along a coordinate: states at −2h, −h, h and 2h.
    Slope {
        states: [State; 4],
        h: f64,
    },
}

/// Which choices count with their own densities in a ratio, by address. Those that come and go never do, nor those that
/// are made anew in the same place: they are drawn from their priors.
pub enum Scored {
    All,
    /// Not these, nor others that take another value.
    AllBut(Vec<u64>),
    /// Of choices that take another value, only these.
    OfChanged(Vec<u64>),
}

impl Scored {
    fn counts(&self, one: &ChoiceDensity, other: Option<&ChoiceDensity>) -> bool {
        let Some(other) = other else { return false };
        let is_same = one.value.is_identical(&other.value);
        match self {
            Scored::All => true,
            Scored::AllBut(drawn) => is_same && !drawn.contains(&one.address),
            Scored::OfChanged(moved) => is_same || moved.contains(&one.address),
        }
    }
}

pub struct Claim {
    pub about: About,
    pub says: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The same finite number, or the same −∞.
    Same {
        is_finite: bool,
    },
    Differs(String),
    /// The reference cannot tell: a choice has no value there, a density is infinite, a state before a move is
    /// impossible, or a difference quotient is too coarse.
    Unknown,
}

/// What the reference says.
struct Wanted {
    value: f64,
    tolerance: f64,
}

impl Claim {
    pub fn judge(&self, subject: &Subject) -> Verdict {
        let Some(Wanted { value, tolerance }) = self.wanted(subject) else {
            return Verdict::Unknown;
        };
        if value.is_nan() || value == f64::INFINITY || !tolerance.is_finite() {
            return Verdict::Unknown;
        }
        if self.says == value || (self.says - value).abs() <= tolerance {
            return Verdict::Same { is_finite: value.is_finite() };
        }
        let name = match self.about {
            About::LogJoint(_) => "log joint",
            About::LogLikelihood(_) => "log likelihood",
            About::LogRatio { .. } => "log ratio",
            About::Slope { .. } => "slope",
        };
        Verdict::Differs(format!("the {name} is {value:?}, the path says {:?}", self.says))
    }

    fn wanted(&self, subject: &Subject) -> Option<Wanted> {
        match &self.about {
            About::LogJoint(state) => {
                let measured = Measured::of(subject, state)?;
                let tolerance = TOLERANCE * (1.0 + measured.scale());
                Some(Wanted { value: measured.log_joint, tolerance })
            }
            About::LogLikelihood(state) => {
                let measured = Measured::of(subject, state)?;
                let tolerance = TOLERANCE * (1.0 + measured.scale());
                Some(Wanted { value: log_likelihood(subject, state)?, tolerance })
            }
            About::LogRatio { before, after, scored } => {
                let [before, after] =
                    [Measured::of(subject, before)?, Measured::of(subject, after)?];
                log_ratio(&before, &after, scored)
            }
            About::Slope { states, h } => slope(subject, states, *h),
        }
    }
}

/// log p(after)/p(before) without the densities of what was drawn from its prior.
fn log_ratio(before: &Measured, after: &Measured, scored: &Scored) -> Option<Wanted> {
    if !before.log_joint.is_finite() {
        return None;
    }
    let tolerance = TOLERANCE * (1.0 + before.scale() + after.scale());
    if after.log_joint == f64::NEG_INFINITY {
        return Some(Wanted { value: f64::NEG_INFINITY, tolerance });
    }
    let (mut value, mut draws) = (after.log_joint - before.log_joint, 0);
    for (one, other, sign) in [(before, after, 1.0), (after, before, -1.0)] {
        for (address, density) in &one.densities {
            if !scored.counts(density, other.densities.get(address)) {
                value += sign * density.log_p;
                draws += usize::from(density.is_draw);
            }
        }
    }
    // Draws from one maker count one after the other, in an order that is not known here.
    (draws <= 2).then_some(Wanted { value, tolerance })
}

/// Differences of the fourth order, with the error that those of the second order show.
fn slope(subject: &Subject, states: &[State; 4], h: f64) -> Option<Wanted> {
    let mut f = [0.0; 4];
    for (f, state) in f.iter_mut().zip(states) {
        *f = Measured::of(subject, state)?.log_joint;
        if !f.is_finite() {
            return None;
        }
    }
    let (fine, coarse) = ((f[2] - f[1]) / (2.0 * h), (f[3] - f[0]) / (4.0 * h));
    let value = (4.0 * fine - coarse) / 3.0;
    let size = f.iter().fold(0.0, |size: f64, f| size.max(f.abs()));
    let error = (fine - coarse).abs() + ROUNDING * size / h;
    // So coarse a quotient shows nothing.
    let is_sharp = error <= 1e-3 * (1.0 + value.abs());
    // Far out, slopes are small differences of large numbers, and so are these.
    let is_moderate = size <= 1e8;
    (is_sharp && is_moderate)
        .then_some(Wanted { value, tolerance: SLOPE_TOLERANCE * (1.0 + value.abs()) + error })
}
