//! What the second-order Taylor polynomial of curved steps leaves out, without cancellation: every step is known at the
//! centre, with the linear and the quadratic part of its change on the way to a point, and with the rest r, which is
//! of third order and put together from parts of third order only.
//!
//! | step | linear | quadratic | rest |
//! |---|---|---|---|
//! | form | Σ_j c_j (z_j − z*_j) | 0 | 0 |
//! | a b | a0 b1 + a1 b0 | a0 b2 + a1 b1 + a2 b0 | a0 rb + a1 (b2 + rb) + a2 (b1 + b2 + rb) + ra b |
//! | f(a) | f' a1 | f' a2 + f''/2 a1² | f' ra + f''/2 (u² − a1²) + rest of f at u, u = a1 + a2 + ra |
//!
//! The rest of f itself is its Taylor series from the third order on where that has converged by the seventh, and the difference
//! from the polynomial elsewhere, where it is no small difference.

use smidgen_prob::smooth::{Curve, MOST_ORDER};

use super::Store;
use crate::program::curved::{Curved, CurvedOp, CurvedStep, Read, named};
use crate::program::rows::BLOCK;

/// Points whose remainders are found together.
pub(crate) const POINTS: usize = 2;

/// A step in one lane.
#[derive(Clone, Copy, Default)]
struct Known {
    /// At the centre.
    here: f64,
    there: [Change; POINTS],
}

/// How a step differs at a point.
#[derive(Clone, Copy, Default)]
struct Change {
    linear: f64,
    quadratic: f64,
    rest: f64,
}

/// How the last step differs at a point, in two parts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rest {
    pub polynomial: f64,
    pub beyond: f64,
}

impl Change {
    fn total(self) -> f64 {
        self.linear + self.quadratic + self.rest
    }

    /// What a polynomial of an order, 0 to 2, says, and what it leaves out.
    fn parted(self, order: usize) -> Rest {
        let Change { linear, quadratic, rest } = self;
        match order {
            0 => Rest { polynomial: 0.0, beyond: self.total() },
            1 => Rest { polynomial: linear, beyond: quadratic + rest },
            _ => Rest { polynomial: linear + quadratic, beyond: rest },
        }
    }
}

impl Known {
    fn constant(here: f64) -> Known {
        Known { here, there: Default::default() }
    }

    fn with(self, other: Known, here: f64, change: impl Fn(Change, Change) -> Change) -> Known {
        let mut there = self.there;
        there.iter_mut().zip(other.there).for_each(|(a, b)| *a = change(*a, b));
        Known { here, there }
    }

    fn plus(self, other: Known, sign: f64) -> Known {
        self.with(other, self.here + sign * other.here, |a, b| Change {
            linear: a.linear + sign * b.linear,
            quadratic: a.quadratic + sign * b.quadratic,
            rest: a.rest + sign * b.rest,
        })
    }

    fn times(self, other: Known) -> Known {
        let (x, y) = (self.here, other.here);
        self.with(other, x * y, |a, b| {
            let beyond = b.quadratic + b.rest;
            Change {
                linear: x * b.linear + a.linear * y,
                quadratic: x * b.quadratic + a.linear * b.linear + a.quadratic * y,
                rest: x * b.rest
                    + a.linear * beyond
                    + a.quadratic * (b.linear + beyond)
                    + a.rest * (y + b.linear + beyond),
            }
        })
    }

    fn through(self, curve: Curve) -> Known {
        let mut f = [0.0; MOST_ORDER + 1];
        if self.there.iter().all(|change| change.total() == 0.0) {
            curve.derivatives(self.here, &mut f[..1]);
            return Known::constant(f[0]);
        }
        curve.derivatives(self.here, &mut f);
        let there = self.there.map(|a| {
            let u = a.total();
            // u² − a1²
            let square = (a.quadratic + a.rest) * (u + a.linear);
            Change {
                linear: f[1] * a.linear,
                quadratic: f[1] * a.quadratic + 0.5 * f[2] * a.linear * a.linear,
                rest: f[1] * a.rest + 0.5 * f[2] * square + rest_of(curve, self.here, &f, u),
            }
        });
        Known { here: f[0], there }
    }
}

/// f(x + u) − f(x) − f'(x) u − f''(x) u²/2, given the derivatives at x.
fn rest_of(curve: Curve, x: f64, f: &[f64; MOST_ORDER + 1], u: f64) -> f64 {
    let mut terms = [0.0; MOST_ORDER + 1];
    let mut power = 1.0;
    for (k, (term, f)) in terms.iter_mut().zip(f).enumerate() {
        *term = f * power;
        power *= u / (k + 1) as f64;
    }
    let polynomial = terms[0] + terms[1] + terms[2];
    let size = terms[0].abs() + terms[1].abs() + terms[2].abs();
    let noise = 4.0 * f64::EPSILON * size;
    // What is a line piece by piece says nothing of its kinks.
    let is_line = f[2..].iter().all(|f| *f == 0.0);
    if !is_line {
        let series: f64 = terms[3..].iter().rev().sum();
        let error = terms[6].abs().max(terms[7].abs());
        // Small terms say little if they do not fall: those of log logistic far to the left are tiny, and grow for long.
        let falls = error <= 1e-3 * terms[3].abs().max(terms[4].abs());
        if error <= 1e-11 * series.abs() || (falls && error <= noise) {
            return series;
        }
    }
    let difference = curve.value(x + u) - polynomial;
    if is_line && difference.abs() <= noise { 0.0 } else { difference }
}

/// Where all steps stand, lane by lane.
#[derive(Default)]
pub(crate) struct Rests {
    steps: Vec<Known>,
    forms: Vec<Known>,
    lanes: Vec<f64>,
}

/// The centre, and how far the points are from it.
pub(crate) struct Points<'a> {
    pub centre: &'a [f64],
    pub differences: [&'a [f64]; POINTS],
    /// The order of the polynomials.
    pub order: usize,
}

impl Rests {
    /// The rests of the rows whose data are loaded, at both points.
    pub(crate) fn run(
        &mut self,
        curved: &Curved,
        data: &Store,
        points: &Points<'_>,
        out: &mut [[Rest; POINTS]],
    ) {
        let lanes = out.len();
        debug_assert!(lanes <= BLOCK, "rows of one block");
        self.forms.clear();
        self.forms.resize(curved.forms.len() * lanes, Known::default());
        self.lanes.resize(BLOCK, 0.0);
        let found = &mut self.lanes[..lanes];
        for (form, known) in curved.forms.iter().zip(self.forms.chunks_exact_mut(lanes)) {
            form.value(data, points.centre, found);
            known.iter_mut().zip(&*found).for_each(|(known, x)| known.here = *x);
            for (p, difference) in points.differences.iter().enumerate() {
                form.value(data, difference, found);
                let moved = known.iter_mut().zip(&*found);
                moved.for_each(|(known, x)| known.there[p].linear = *x);
            }
        }
        self.steps.clear();
        self.steps.resize(curved.steps.len(), Known::default());
        for (l, out) in out.iter_mut().enumerate() {
            for (k, step) in curved.steps.iter().enumerate() {
                self.steps[k] = self.step(step, data, l, lanes);
            }
            *out =
                self.steps[curved.steps.len() - 1].there.map(|change| change.parted(points.order));
        }
    }

    fn step(&self, step: &CurvedStep, data: &Store, l: usize, lanes: usize) -> Known {
        let of = |read: Read| match read {
            Read::Data(register) => Known::constant(data.at(register, l)),
            Read::Form(k) => self.forms[k as usize * lanes + l],
            Read::Step(k) => self.steps[k as usize],
        };
        match &step.op {
            CurvedOp::Add(a, b) => of(*a).plus(of(*b), 1.0),
            CurvedOp::Subtract(a, b) => of(*a).plus(of(*b), -1.0),
            CurvedOp::Multiply(a, b) => of(*a).times(of(*b)),
            CurvedOp::Curve(curve, a) => of(*a).through(*curve),
            CurvedOp::Member { family, number, of: a } => {
                of(*a).through(family.member(data.at(*number, l)))
            }
            CurvedOp::Choose { index, options } => {
                let chosen = named(options, data.at(*index, l));
                chosen.map_or(Known::constant(f64::NAN), of)
            }
        }
    }
}
