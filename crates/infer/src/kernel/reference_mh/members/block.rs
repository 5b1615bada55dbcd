//! One choice above its members: what its transitions need, kept as they come and go.

use smidgen_engine::taylor::{Members, Sums};
use smidgen_engine::{EvalError, Fault, NodeId, Trace};
use smidgen_prob::linalg;
use smidgen_value::{Matrix, Rng, math};

use super::Service;
use super::prior::Prior;
use crate::kernel::reference_mh::{near, tall};
use crate::reference::Tall;
use crate::reference::chain::Chain;
use crate::reference::law::Law;
use crate::reference::preparation::{Forecast, Preparation, Test, mean_cube};
use crate::reference::quadratic::{Reference, square};
use crate::reference::thinning::Bounds;
use crate::run::Log;

/// L is so many times what the members that were there make it: there may be fewer later, and their law lie elsewhere. Λ hangs on
/// that only through what the bounds are larger in a larger ball.
const ROOM: f64 = 2.0;
/// Bounds hold in a ball of this radius beyond √d.
const BALL: f64 = 6.0;
/// How far from θ* the law of proposals may lie, and how wide it may be, in units of L, so that few rows are read.
const FARTHEST: f64 = 3.0;
const WIDEST: f64 = 1.7;
/// In the warm-up, a reference farther away than this is looked for anew.
const NEAR: f64 = 0.5;
/// With larger Λ, or more members that are read at every move, scans decide.
const MOST_OBJECTIONS: f64 = 2.0;
const MOST_HARD: usize = 64;
const NOT_NORMAL: &str = "its law does not bend down at the reference";

/// The sections of a choice and its prior, as the methods of [`crate::reference`] ask for them.
pub(super) struct MemberTall<'a> {
    pub trace: &'a Trace,
    pub members: &'a mut Members,
    pub is_faulty: bool,
}

impl Tall for MemberTall<'_> {
    fn dimension(&self) -> usize {
        self.members.dimension()
    }

    fn rows(&self) -> usize {
        self.members.len()
    }

    fn log_rest(&mut self, theta: &[f64]) -> f64 {
        self.members.log_prior(self.trace, theta).unwrap_or(f64::NEG_INFINITY)
    }

    /// By differences: only the search for a reference asks for it.
    fn log_rest_with_gradient(&mut self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        const STEP: f64 = 1e-4;
        let mut there = theta.to_vec();
        for (k, slope) in gradient.iter_mut().enumerate() {
            let h = STEP * (1.0 + theta[k].abs());
            let mut at = |x: f64| {
                there[k] = x;
                self.log_rest(&there)
            };
            *slope = (at(theta[k] + h) - at(theta[k] - h)) / (2.0 * h);
            there[k] = theta[k];
        }
        self.log_rest(theta)
    }

    fn log_sections(&mut self, theta: &[f64]) -> f64 {
        self.members.log_sections(theta)
    }

    fn log_sections_of_many(&mut self, thetas: &[f64], out: &mut [f64]) {
        let thetas = thetas.chunks_exact(self.members.dimension());
        out.iter_mut().zip(thetas).for_each(|(out, z)| *out = self.members.log_sections(z));
    }

    fn sums(&mut self, theta: &[f64], stride: usize) -> Option<Sums> {
        self.members.sums(theta, stride)
    }

    fn bounds(&mut self, centre: &[f64], lower: &[f64], radius: f64, out: &mut Vec<f32>) {
        self.members.bounds(centre, lower, radius, out);
        if self.is_faulty {
            out.fill(0.0);
        }
    }

    fn remainders(&mut self, centre: &[f64], rows: &[u32], at: [&[f64]; 2], out: &mut [[f64; 2]]) {
        self.members.remainders(centre, rows, at, out);
    }

    fn drawn(&mut self, rng: &mut Rng) -> Option<(u32, f32)> {
        self.members.draw(rng)
    }
}

pub(super) struct MemberBlock {
    members: Members,
    /// θ* and L, which stay.
    ball: Reference,
    prepared: Preparation,
    prior: Option<Prior>,
    chain: Chain,
    /// None if there is no law for proposals.
    service: Option<Service>,
    /// The revision of the trace that the last transition left.
    left: Option<u64>,
}

/// The reference with room around it.
pub(super) fn with_room(mut reference: Reference) -> Reference {
    reference.lower.iter_mut().for_each(|x| *x *= ROOM);
    reference
}

impl MemberBlock {
    pub fn new(mut members: Members, ball: Reference, rng: &mut Rng) -> MemberBlock {
        let d = ball.dimension();
        let radius = BALL + math::sqrt(d as f64);
        members.settle(&ball.centre, &ball.lower, radius, 1.0 / (2.0 * mean_cube(d)));
        let prepared = Preparation {
            reference: ball.clone(),
            ball: Some(ball.clone()),
            sums: Sums { value: 0.0, gradient: vec![0.0; d], hessian: vec![0.0; d * d] },
            radius,
            bounds: Some(Bounds::elsewhere(0.0)),
            law: Law::new(vec![0.0; d]),
            test: Test::Thinned,
            forecast: Forecast::unknown(members.len()),
        };
        let (chain, prior, service, left) = (Chain::new(rng), None, None, None);
        MemberBlock { members, ball, prepared, prior, chain, service, left }
    }

    pub fn choice(&self) -> NodeId {
        self.members.choice()
    }

    /// How well the reference serves the members as they were last.
    pub fn service(&self) -> Service {
        self.service.unwrap_or(Service::Poor)
    }

    /// Follows the members, the arguments of the choice, and where other moves have led it. Whether it can be moved.
    pub fn bring_up_to_date(&mut self, trace: &mut Trace) -> Result<Result<(), String>, EvalError> {
        let has_law = |service: Option<Service>| match service {
            Some(_) => Ok(()),
            None => Err(NOT_NORMAL.to_owned()),
        };
        if self.left == Some(trace.revision()) {
            return Ok(has_law(self.service));
        }
        let came_or_went = match self.members.follow(trace) {
            Ok(changed) => changed,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let arguments = self.members.arguments(trace)?;
        let is_faulty = trace.has_fault(Fault::NoBounds);
        let same_prior = self.prior.as_ref().is_some_and(|prior| prior.is_of(&arguments));
        let mut tall = MemberTall { trace, members: &mut self.members, is_faulty };
        if !same_prior {
            self.prior = Some(Prior::new(&mut tall, &self.ball, arguments));
        }
        let is_new = came_or_went || !same_prior || self.left.is_none();
        if is_new {
            self.service = self.fit(is_faulty);
        }
        if self.service.is_none() {
            self.left = Some(trace.revision());
            return Ok(has_law(self.service));
        }
        let Some(state) = self.members.position(trace) else {
            return Ok(Err("the state lies on the edge of what is possible".to_owned()));
        };
        if is_new || !near(&state, self.chain.theta()) {
            let MemberBlock { members, prepared, chain, .. } = self;
            chain.go(&mut MemberTall { trace, members, is_faulty }, prepared, &state);
        }
        Ok(Ok(()))
    }

    /// Sums, bounds and the law of proposals for the members as they are.
    fn fit(&mut self, is_faulty: bool) -> Option<Service> {
        let MemberBlock { members, ball, prepared, prior, .. } = self;
        let d = ball.dimension();
        let (sums, prior) = (members.kept()?, prior.as_ref()?);
        // One step of Newton from θ*: the mode of the sums and the prior.
        let precision = sums.hessian.iter().zip(&prior.hessian).map(|(a, b)| -a - b);
        let precision = Matrix::new(d, d, precision.collect());
        let slopes = sums.gradient.iter().zip(&prior.gradient);
        let mut step: Vec<f64> = slopes.map(|(a, b)| a + b).collect();
        let is_finite = step.iter().chain(precision.as_slice()).all(|x| x.is_finite());
        let factor = is_finite.then(|| linalg::cholesky(&precision)).flatten();
        let factor = factor?;
        linalg::solve_lower(&factor, &mut step);
        linalg::solve_lower_transposed(&factor, &mut step);
        let centre: Vec<f64> = ball.centre.iter().zip(&step).map(|(x, s)| x + s).collect();
        let mut shift = vec![0.0; d];
        ball.whiten(&centre, &mut shift);
        let reference = Reference::new(centre, precision)?;
        let (away, spread) = (square(&shift), spread(ball, &reference));
        // Λ of a usual move: ρ² is about away + spread, where it is d for a law like the reference.
        let wider = (away + spread) / d as f64;
        let total = if is_faulty { 0.0 } else { members.total_bound() };
        let objections = total * 2.0 * mean_cube(d) * wider * math::sqrt(wider);
        let is_wide = spread > WIDEST * WIDEST * d as f64;
        let is_dear = objections > MOST_OBJECTIONS || members.hard().len() > MOST_HARD;
        let mut bounds = Bounds::elsewhere(total);
        bounds.hard.extend_from_slice(if is_faulty { &[] } else { members.hard() });
        (prepared.reference, prepared.sums, prepared.bounds) = (reference, sums, Some(bounds));
        let service = match math::sqrt(away) {
            distance if distance > FARTHEST || is_wide || is_dear => Service::Poor,
            distance if distance > NEAR => Service::Good,
            _ => Service::AtHome,
        };
        prepared.test = if service == Service::Poor { Test::Delayed } else { Test::Thinned };
        Some(service)
    }

    pub fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let MemberBlock { members, prepared, chain, left, .. } = self;
        let is_faulty = trace.has_fault(Fault::NoBounds);
        let moved = chain.transition(&mut MemberTall { trace, members, is_faulty }, prepared, rng);
        if moved.accepted {
            members.install(trace, chain.theta());
        }
        *left = Some(trace.revision());
        tall::note(moved, members.len(), log);
        Ok(())
    }
}

/// The sum of the variances of a law in the coordinates of the ball.
fn spread(ball: &Reference, law: &Reference) -> f64 {
    let d = ball.dimension();
    // L*⁻¹ L, column by column.
    let column = |j: usize| {
        let mut x: Vec<f64> = (0..d).map(|i| ball.centre[i] + law.lower[i * d + j]).collect();
        let mut y = vec![0.0; d];
        ball.whiten(&x, &mut y);
        x.clear();
        square(&y)
    };
    (0..d).map(column).sum()
}
