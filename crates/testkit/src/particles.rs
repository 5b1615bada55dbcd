//! The transition matrix of conditional sequential Monte Carlo on a finite program, exactly, and of
//! draws of whole paths; the algorithm with one mistake each.
//!
//! A pass is a tree of chances: which ancestors are drawn, what the fresh particles draw, which
//! particle is chosen at the end. Ancestors and the chosen particle come from a [`Resampler`] that takes
//! one possibility after the other, with its probability. What a segment draws is tried with one
//! stream after the other until the probabilities q of all that was met, computed outside the engine,
//! sum to 1. A pass is begun anew for every branch, on a copy of the state, so
//!
//! P(i, j) = Σ_branches from i to j Π probabilities of its chances.

use std::cell::RefCell;

use smidgen_engine::particles::{LookAhead, Weights};
use smidgen_engine::{EvalError, Particles, Sequence};
use smidgen_infer::block::Target;
use smidgen_infer::kernel::pgibbs::{Multinomial, Resampler, conditional_smc};
use smidgen_value::{Rng, Value, math};

use crate::enumerate::Chain;
use crate::world::{World, state_of};

/// What a twin does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    Nothing,
    /// The reference cannot be chosen at the end.
    NotChosen,
    /// Nobody goes on from the reference.
    NotResampled,
    /// The reference forgets its future when it chooses its past: no transition density.
    Forgetful,
    /// The reference is resampled like the others, and so not kept.
    NotKept,
    /// The weights of the last step, with the coupling to what comes after, are left out.
    NoLastWeight,
}

/// Conditional SMC, by the kernel's own function if there is no mistake.
pub fn twin_smc(
    system: &mut dyn Particles,
    particles: usize,
    bug: Bug,
    lots: &mut dyn Resampler,
    rng: &mut Rng,
) -> Result<Option<usize>, EvalError> {
    if bug == Bug::Nothing {
        return conditional_smc(system, particles, lots, rng);
    }
    let reference = particles - 1;
    let (mut log_weights, mut log_future) = (vec![0.0; particles], vec![0.0; particles]);
    let mut ancestors = vec![reference as u32; particles];
    for t in 0..system.steps() {
        if t > 0 {
            let mut shown = log_weights.clone();
            if bug == Bug::NotResampled {
                shown[reference] = f64::NEG_INFINITY;
            }
            assert!(lots.weigh(&shown));
            ancestors[..reference].iter_mut().for_each(|a| *a = lots.draw(rng) as u32);
            if system.looks_ahead() {
                system.look_ahead(t, &mut log_future)?;
                if bug == Bug::Forgetful {
                    log_future.fill(0.0);
                }
                log_future.iter_mut().zip(&log_weights).for_each(|(f, w)| *f += w);
                assert!(lots.weigh(&log_future));
                ancestors[reference] = lots.draw(rng) as u32;
            } else if bug == Bug::NotKept {
                ancestors[reference] = lots.draw(rng) as u32;
            }
        }
        system.advance(t, &ancestors, rng, &mut log_weights)?;
    }
    match bug {
        Bug::NotChosen => log_weights[reference] = f64::NEG_INFINITY,
        Bug::NoLastWeight => log_weights.fill(0.0),
        _ => {}
    }
    assert!(lots.weigh(&log_weights));
    Ok(Some(lots.draw(rng)))
}

/// A pass with a mistake, at random.
pub fn twin(
    world: &mut World,
    target: &Target,
    (particles, look_ahead): (usize, LookAhead),
    bug: Bug,
) {
    let groups = target.groups(&world.model, &mut world.rng);
    let mut sequence = Sequence::new();
    let trace = world.model.trace_mut();
    sequence.prepare(trace, &groups, look_ahead).expect("a sequence");
    let mut system = sequence.begin(trace, particles).expect("a pass");
    let chosen =
        twin_smc(&mut *system, particles, bug, &mut Multinomial::default(), &mut world.rng);
    if let Some(k) = chosen.expect("a pass") {
        system.settle(k).expect("a state");
    }
}

/// The probability of the choices from place `from` on of a path, given those before and the
/// predicted values of the state that the pass began in.
pub type Prior = fn(start: &[f64], path: &[f64], from: usize) -> f64;

/// A log weight, a function of the start and of the path.
pub type Weight = fn(start: &[f64], path: &[f64]) -> f64;

/// A kernel whose matrix is asked for.
#[derive(Clone)]
pub struct Pass {
    pub target: Target,
    pub particles: usize,
    pub look_ahead: LookAhead,
    pub bug: Bug,
    pub prior: Prior,
    /// What is left out of the last step, if it is to be wrong in this way.
    pub leaves_out: Option<Weight>,
}

/// One chance on the way to a leaf.
enum Point {
    Multinomial {
        probabilities: Vec<f64>,
        at: usize,
    },
    /// What a step draws with a stream; what was met with this one and those before.
    Draws {
        stream: u64,
        met: Vec<Vec<Vec<f64>>>,
        q: f64,
        total: f64,
    },
}

/// The way to a leaf, and how far a pass has come on it.
#[derive(Default)]
struct Way {
    points: Vec<Point>,
    at: usize,
}

const MOST_STREAMS: u64 = 10_000;

impl Way {
    /// The next way in depth-first order. False if there is none.
    fn turn(&mut self) -> bool {
        self.at = 0;
        while let Some(point) = self.points.last_mut() {
            match point {
                Point::Multinomial { probabilities, at } => {
                    let next = probabilities.iter().skip(*at + 1).position(|p| *p > 0.0);
                    if let Some(next) = next {
                        *at += 1 + next;
                        return true;
                    }
                }
                Point::Draws { stream, total, .. } if *total < 1.0 - 1e-12 => {
                    *stream += 1;
                    assert!(*stream < MOST_STREAMS, "draws without end: {total} were met");
                    return true;
                }
                Point::Draws { total, .. } => assert!(*total < 1.0 + 1e-12, "{total}"),
            }
            self.points.pop();
        }
        false
    }

    fn probability(&self) -> f64 {
        let chance = |point: &Point| match point {
            Point::Multinomial { probabilities, at } => probabilities[*at],
            Point::Draws { q, .. } => *q,
        };
        self.points.iter().map(chance).product()
    }
}

/// Takes the possibilities that the way says.
struct Enumerated<'a> {
    way: &'a RefCell<Way>,
    probabilities: Vec<f64>,
}

impl Resampler for Enumerated<'_> {
    fn weigh(&mut self, log_weights: &[f64]) -> bool {
        let total = math::logsumexp(log_weights);
        self.probabilities = log_weights.iter().map(|w| math::exp(w - total)).collect();
        total > f64::NEG_INFINITY
    }

    fn draw(&mut self, _: &mut Rng) -> usize {
        let mut way = self.way.borrow_mut();
        if way.at == way.points.len() {
            let probabilities = self.probabilities.clone();
            let at = probabilities.iter().position(|p| *p > 0.0).expect("one is possible");
            way.points.push(Point::Multinomial { probabilities, at });
        }
        way.at += 1;
        let Point::Multinomial { at, .. } = &way.points[way.at - 1] else {
            unreachable!("a pass repeats itself")
        };
        *at
    }
}

/// Particles whose draws follow the way.
struct Watched<'a> {
    inner: &'a mut dyn Particles,
    way: &'a RefCell<Way>,
    pass: &'a Pass,
    start: &'a [f64],
    /// The choices of every particle's path.
    paths: Vec<Vec<f64>>,
}

impl Particles for Watched<'_> {
    fn steps(&self) -> usize {
        self.inner.steps()
    }

    fn advance(
        &mut self,
        t: usize,
        ancestors: &[u32],
        _: &mut Rng,
        log_weights: &mut [f64],
    ) -> Result<(), EvalError> {
        let mut way = self.way.borrow_mut();
        let is_new = way.at + 1 >= way.points.len();
        if way.at == way.points.len() {
            way.points.push(Point::Draws { stream: 0, met: vec![], q: 0.0, total: 0.0 });
        }
        way.at += 1;
        let place = way.at - 1;
        let Point::Draws { stream, met, q, total } = &mut way.points[place] else {
            unreachable!("a pass repeats itself")
        };
        self.inner.advance(t, ancestors, &mut Rng::for_chain(t as u64, *stream), log_weights)?;
        let before: Vec<Vec<f64>> = match t {
            0 => vec![vec![]; ancestors.len()],
            _ => ancestors.iter().map(|a| self.paths[*a as usize].clone()).collect(),
        };
        self.paths.clone_from(&before);
        for (i, path) in self.paths.iter_mut().enumerate() {
            path.extend(self.inner.drawn(t, i).iter().map(number));
        }
        if let Some(left_out) = self.pass.leaves_out
            && t + 1 == self.inner.steps()
        {
            for (log_weight, path) in log_weights.iter_mut().zip(&self.paths) {
                *log_weight -= left_out(self.start, path);
            }
        }
        if is_new {
            let fresh = &self.paths[..self.paths.len() - 1];
            if met.iter().any(|known| known == fresh) {
                return Err(EvalError::other(None, MET));
            }
            met.push(fresh.to_vec());
            let of = |(path, before): (&Vec<f64>, &Vec<f64>)| {
                (self.pass.prior)(self.start, path, before.len())
            };
            *q = fresh.iter().zip(&before).map(of).product();
            *total += *q;
        }
        Ok(())
    }

    fn looks_ahead(&self) -> bool {
        self.inner.looks_ahead()
    }

    fn look_ahead(&mut self, t: usize, log_future: &mut [f64]) -> Result<(), EvalError> {
        self.inner.look_ahead(t, log_future)
    }

    fn drawn(&self, t: usize, particle: usize) -> Vec<Value> {
        self.inner.drawn(t, particle)
    }

    fn touched(&self) -> u64 {
        self.inner.touched()
    }

    fn settle(self: Box<Self>, _: usize) -> Result<bool, EvalError> {
        unreachable!("the particles inside are settled")
    }
}

/// Why a branch is not followed.
const MET: &str = "these draws were met before";

fn number(value: &Value) -> f64 {
    value.as_number().expect("a number")
}

/// The matrix of a kernel on the states of a chain, row by row. The world walks by single-site moves.
fn matrix_of(
    world: &mut World,
    chain: &Chain,
    mut row: impl FnMut(&World) -> Vec<f64>,
) -> Vec<Vec<f64>> {
    let mut rows: Vec<Option<Vec<f64>>> = vec![None; chain.states.len()];
    let mut walk = world.program("(mh default one 1)");
    for _ in 0..1_000_000 {
        let here = place(chain, &world.state());
        if rows[here].is_none() {
            rows[here] = Some(row(world));
        }
        if rows.iter().all(Option::is_some) {
            return rows.into_iter().flatten().collect();
        }
        world.step(&mut walk);
    }
    panic!("some states cannot be reached");
}

fn place(chain: &Chain, state: &str) -> usize {
    chain.states.iter().position(|known| known == state).expect("a known state")
}

/// The matrix of draws of whole paths by [`Sequence::draw_path`], with weights to the power `tilt` (1 if
/// it is to be right).
///
/// # Panics
/// If the blocks of the target are no chain, or a draw leads to an unknown state.
pub fn paths(world: &mut World, chain: &Chain, target: &Target, tilt: f64) -> Vec<Vec<f64>> {
    matrix_of(world, chain, |world| {
        let mut row = vec![0.0; chain.states.len()];
        let way = RefCell::new(Way::default());
        let (mut rng, mut copies) = (Rng::from_seed(0), 0);
        loop {
            copies += 1;
            let mut model = world.model.copy(copies);
            let groups = target.groups(&model, &mut rng);
            let mut sequence = Sequence::new();
            let trace = model.trace_mut();
            assert!(
                sequence
                    .prepare_path(trace, &groups.concat(), &std::default::Default::default())
                    .expect("a sequence"),
                "no chain"
            );
            let mut lots = Enumerated { way: &way, probabilities: vec![] };
            let pick = &mut |weights: Weights<'_>, rng: &mut Rng| {
                let tilted: Vec<f64> = weights.logarithms().iter().map(|w| w * tilt).collect();
                assert!(lots.weigh(&tilted));
                lots.draw(rng)
            };
            let drawn = sequence.draw_path(trace, pick, &mut rng).expect("a draw");
            assert!(drawn.is_some(), "no path");
            let there = place(chain, &state_of(&model, &world.predicted));
            row[there] += way.borrow().probability();
            if !way.borrow_mut().turn() {
                return row;
            }
        }
    })
}

impl Pass {
    /// The matrix on the states of a chain.
    ///
    /// # Panics
    /// If the draws of a segment cannot be exhausted, or a pass leads to an unknown state.
    pub fn matrix(&self, world: &mut World, chain: &Chain) -> Vec<Vec<f64>> {
        matrix_of(world, chain, |world| self.row(world, chain))
    }

    /// The probabilities of all states after a pass from this one.
    fn row(&self, world: &World, chain: &Chain) -> Vec<f64> {
        let mut row = vec![0.0; chain.states.len()];
        let values = world.predicted.iter();
        let values = values.map(|root| number(crate::world::operand_value(&world.model, root)));
        let start: Vec<f64> = values.collect();
        let way = RefCell::new(Way::default());
        let (mut rng, mut copies) = (Rng::from_seed(0), 0);
        loop {
            copies += 1;
            let mut model = world.model.copy(copies);
            let groups = self.target.groups(&model, &mut rng);
            let mut sequence = Sequence::new();
            let trace = model.trace_mut();
            sequence.prepare(trace, &groups, self.look_ahead).expect("a sequence");
            let mut system = sequence.begin(trace, self.particles).expect("a pass");
            let paths = Vec::new();
            let mut watched =
                Watched { inner: &mut *system, way: &way, pass: self, start: &start, paths };
            let mut lots = Enumerated { way: &way, probabilities: vec![] };
            match twin_smc(&mut watched, self.particles, self.bug, &mut lots, &mut rng) {
                Ok(Some(k)) => {
                    system.settle(k).expect("a state");
                    let there = place(chain, &state_of(&model, &world.predicted));
                    row[there] += way.borrow().probability();
                }
                Ok(None) => panic!("every path is impossible"),
                Err(error) => assert!(error.to_string().contains(MET), "{error}"),
            }
            if !way.borrow_mut().turn() {
                return row;
            }
        }
    }
}
