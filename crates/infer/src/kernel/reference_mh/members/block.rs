//! One choice above its members: what its transitions need, kept as they come and go.

use smidgen_engine::taylor::{Members, Sums};
use smidgen_engine::{EvalError, Fault, NodeId, Trace};
use smidgen_prob::linalg;
use smidgen_value::{Matrix, Rng, Value, math};

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
/// Places for balls lie so far from one another along each axis of L.
const MESH: f64 = 2.0;
/// How far from the centre of its ball the law of proposals may lie, and how wide it may be, in units of L, so that few rows
/// are read.
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

/// The reference with room around it.
pub(super) fn with_room(mut reference: Reference) -> Reference {
    reference.lower.iter_mut().for_each(|x| *x *= ROOM);
    reference
}

/// A ball with the sums and bounds in it, and the prior there.
struct Site {
    members: Members,
    ball: Reference,
    prior: Option<Prior>,
}

/// The normal law that sums and prior make up at the centre of a ball.
struct Fit {
    law: Reference,
    sums: Sums,
    /// How far from the centre of the ball its mode lies, in the coordinates there.
    shift: Vec<f64>,
}

fn radius(d: usize) -> f64 {
    BALL + math::sqrt(d as f64)
}

impl Site {
    fn new(mut members: Members, ball: Reference) -> Site {
        let d = ball.dimension();
        members.settle(&ball.centre, &ball.lower, radius(d), 1.0 / (2.0 * mean_cube(d)));
        Site { members, ball, prior: None }
    }

    /// Whether members have come or gone, or the prior is another one. The arguments of the choice are fresh.
    fn follow(&mut self, trace: &mut Trace, arguments: &[Value]) -> Result<bool, String> {
        let came_or_went = self.members.follow(trace).map_err(|why| why.to_string())?;
        if self.prior.as_ref().is_some_and(|prior| prior.is_of(arguments)) {
            return Ok(came_or_went);
        }
        let mut tall = MemberTall { trace, members: &mut self.members, is_faulty: false };
        self.prior = Some(Prior::new(&mut tall, &self.ball, arguments.to_vec()));
        Ok(true)
    }

    /// One step of Newton from the centre.
    fn fit(&self) -> Option<Fit> {
        let d = self.ball.dimension();
        let (sums, prior) = (self.members.kept()?, self.prior.as_ref()?);
        let precision = sums.hessian.iter().zip(&prior.hessian).map(|(a, b)| -a - b);
        let precision = Matrix::new(d, d, precision.collect());
        let slopes = sums.gradient.iter().zip(&prior.gradient);
        let mut step: Vec<f64> = slopes.map(|(a, b)| a + b).collect();
        let is_finite = step.iter().chain(precision.as_slice()).all(|x| x.is_finite());
        let factor = is_finite.then(|| linalg::cholesky(&precision)).flatten()?;
        linalg::solve_lower(&factor, &mut step);
        linalg::solve_lower_transposed(&factor, &mut step);
        let centre: Vec<f64> = self.ball.centre.iter().zip(&step).map(|(x, s)| x + s).collect();
        let mut shift = vec![0.0; d];
        self.ball.whiten(&centre, &mut shift);
        Some(Fit { law: Reference::new(centre, precision)?, sums, shift })
    }
}

/// Sums and bounds around the reference, and, where the members' law lies far from there, around the point of a mesh that is
/// nearest to it: a function of the reference and the members as well.
pub(super) struct MemberBlock {
    home: Site,
    /// Which point of the mesh, and what is kept there.
    away: Option<(Vec<i32>, Site)>,
    is_away: bool,
    prepared: Preparation,
    chain: Chain,
    /// None if there is no law for proposals.
    service: Option<Service>,
    /// The revision of the trace that the last transition left.
    left: Option<u64>,
}

impl MemberBlock {
    pub fn new(members: Members, ball: Reference, rng: &mut Rng) -> MemberBlock {
        let d = ball.dimension();
        let prepared = Preparation {
            reference: ball.clone(),
            ball: Some(ball.clone()),
            sums: Sums { value: 0.0, gradient: vec![0.0; d], hessian: vec![0.0; d * d] },
            radius: radius(d),
            bounds: Some(Bounds::elsewhere(0.0)),
            law: Law::new(vec![0.0; d]),
            test: Test::Thinned,
            forecast: Forecast::unknown(members.len()),
        };
        let home = Site::new(members, ball);
        let (chain, away, is_away) = (Chain::new(rng), None, false);
        MemberBlock { home, away, is_away, prepared, chain, service: None, left: None }
    }

    pub fn choice(&self) -> NodeId {
        self.home.members.choice()
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
        let arguments = self.home.members.arguments(trace)?;
        let changed = match self.home.follow(trace, &arguments) {
            Ok(changed) => changed,
            Err(why) => return Ok(Err(why)),
        };
        let is_new = changed || self.left.is_none();
        if is_new {
            self.service = match self.fit(trace, &arguments)? {
                Ok(service) => service,
                Err(why) => return Ok(Err(why)),
            };
        }
        if self.service.is_none() {
            self.left = Some(trace.revision());
            return Ok(has_law(self.service));
        }
        let Some(state) = self.home.members.position(trace) else {
            return Ok(Err("the state lies on the edge of what is possible".to_owned()));
        };
        if is_new || !near(&state, self.chain.theta()) {
            let is_faulty = trace.has_fault(Fault::NoBounds);
            let (members, prepared, chain) = self.parts();
            chain.go(&mut MemberTall { trace, members, is_faulty }, prepared, &state);
        }
        Ok(Ok(()))
    }

    /// What transitions are made of.
    fn parts(&mut self) -> (&mut Members, &Preparation, &mut Chain) {
        let site = match &mut self.away {
            Some((_, away)) if self.is_away => away,
            _ => &mut self.home,
        };
        (&mut site.members, &self.prepared, &mut self.chain)
    }

    /// Sums, bounds and the law of proposals for the members as they are; none if there is no such law.
    fn fit(
        &mut self,
        trace: &mut Trace,
        arguments: &[Value],
    ) -> Result<Result<Option<Service>, String>, EvalError> {
        let Some(mut fit) = self.home.fit() else { return Ok(Ok(None)) };
        let mesh: Vec<i32> = fit.shift.iter().map(|y| (y / MESH).round() as i32).collect();
        self.is_away = mesh.iter().any(|k| *k != 0);
        if self.is_away {
            match self.go_away(trace, mesh, arguments)? {
                Ok(Some(found)) => fit = found,
                other => return Ok(other.map(|_| None)),
            }
        }
        let is_faulty = trace.has_fault(Fault::NoBounds);
        let MemberBlock { home, away, is_away, prepared, .. } = self;
        let Site { members, ball, .. } = match away {
            Some((_, away)) if *is_away => away,
            _ => home,
        };
        let d = ball.dimension();
        let (distance, spread) = (square(&fit.shift), spread(ball, &fit.law));
        // Λ of a usual move: ρ² is about that of the mode and the spread, where it is d for a law like the reference.
        let wider = (distance + spread) / d as f64;
        let total = if is_faulty { 0.0 } else { members.total_bound() };
        let objections = total * 2.0 * mean_cube(d) * wider * math::sqrt(wider);
        let is_wide = spread > WIDEST * WIDEST * d as f64;
        let is_dear = objections > MOST_OBJECTIONS || members.hard().len() > MOST_HARD;
        let mut bounds = Bounds::elsewhere(total);
        bounds.hard.extend_from_slice(if is_faulty { &[] } else { members.hard() });
        prepared.ball = Some(ball.clone());
        (prepared.reference, prepared.sums, prepared.bounds) = (fit.law, fit.sums, Some(bounds));
        let service = match math::sqrt(distance) {
            distance if distance > FARTHEST || is_wide || is_dear => Service::Poor,
            distance if distance > NEAR || *is_away => Service::Good,
            _ => Service::AtHome,
        };
        prepared.test = if service == Service::Poor { Test::Delayed } else { Test::Thinned };
        Ok(Ok(Some(service)))
    }

    /// Sums and bounds around a point of the mesh. All members are read where it is another point than before.
    fn go_away(
        &mut self,
        trace: &mut Trace,
        mesh: Vec<i32>,
        arguments: &[Value],
    ) -> Result<Result<Option<Fit>, String>, EvalError> {
        let known = self.away.take();
        let mut away = match known {
            Some((there, away)) if there == mesh => away,
            known => {
                let members = match known {
                    Some((_, Site { members, .. })) => members,
                    None => match Members::new(trace, self.choice())? {
                        Ok(members) => members,
                        Err(why) => return Ok(Err(why.to_string())),
                    },
                };
                let mut ball = self.home.ball.clone();
                let y: Vec<f64> = mesh.iter().map(|k| MESH * f64::from(*k)).collect();
                self.home.ball.unwhiten(&y, &mut ball.centre);
                Site::new(members, ball)
            }
        };
        let followed = away.follow(trace, arguments);
        let fit = away.fit();
        self.away = Some((mesh, away));
        Ok(followed.map(|_| fit))
    }

    pub fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let is_faulty = trace.has_fault(Fault::NoBounds);
        let (members, prepared, chain) = self.parts();
        let moved = chain.transition(&mut MemberTall { trace, members, is_faulty }, prepared, rng);
        if moved.accepted {
            members.install(trace, chain.theta());
        }
        tall::note(moved, members.len(), log);
        self.left = Some(trace.revision());
        Ok(())
    }
}

/// The sum of the variances of a law in the coordinates of the ball.
fn spread(ball: &Reference, law: &Reference) -> f64 {
    let d = ball.dimension();
    // L*⁻¹ L, column by column.
    let column = |j: usize| {
        let x: Vec<f64> = (0..d).map(|i| ball.centre[i] + law.lower[i * d + j]).collect();
        let mut y = vec![0.0; d];
        ball.whiten(&x, &mut y);
        square(&y)
    };
    (0..d).map(column).sum()
}
