//! Hamiltonian moves on a compiled density (theory 8.4).
//!
//! * [`Smoothed`]: the density of a block, kept from transition to transition;
//! * [`metric`]: the scale of the coordinates;
//! * [`trajectory`]: no-U-turn trajectories, and [`search`] for a first step size of theirs;
//! * [`estimate`]: a metric from draws and gradients;
//! * [`learning`]: step size and metric from the warm-up.

pub mod estimate;
pub mod learning;
pub mod metric;
mod search;
pub mod trajectory;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;
use smidgen_engine::smooth::{Density, Form, NotSmooth, Validity};
use smidgen_engine::{EvalError, NodeId, Trace};
use smidgen_value::Rng;

/// Where a warm-up may begin: coordinates up to this size, and how often it is tried to find a
/// possible state.
const REACH: f64 = 2.0;
const STARTS: usize = 5;
const TRIES: usize = 100;

/// The density of a block, shared with whoever follows trajectories in it.
#[derive(Clone)]
pub struct Smoothed {
    density: Arc<Mutex<Density>>,
    form: Form,
}

/// A block of choices, and idle ones that are summed out of its density: whoever moves the block draws them anew.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub choices: &'a [NodeId],
    pub left_out: Option<&'a FxHashSet<NodeId>>,
}

impl<'a> From<&'a [NodeId]> for Block<'a> {
    fn from(choices: &'a [NodeId]) -> Block<'a> {
        Block { choices, left_out: None }
    }
}

impl Smoothed {
    /// Compiles the density of a block. `kernel` is named where that is not possible.
    pub fn new<'a>(
        trace: &mut Trace,
        block: impl Into<Block<'a>>,
        form: Form,
        kernel: &str,
    ) -> Result<Smoothed, EvalError> {
        let block = block.into();
        let compiled = match block.left_out {
            Some(left_out) => Density::compile_without(trace, block.choices, form, left_out),
            None => Density::compile(trace, block.choices, form),
        };
        match compiled? {
            Ok(density) => Ok(Smoothed::of(density, form)),
            Err(why) => Err(no_gradient(trace, kernel, &why)),
        }
    }

    /// The density of a block that was compiled in this form.
    pub fn of(density: Density, form: Form) -> Smoothed {
        Smoothed { density: Arc::new(Mutex::new(density)), form }
    }

    pub fn density(&self) -> MutexGuard<'_, Density> {
        // Nothing is left half-done in it: every evaluation starts anew.
        self.density.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn dimension(&self) -> usize {
        self.density().dimension()
    }

    /// Brings the density up to date; compiles it anew if the structure has changed.
    pub fn refresh(
        &mut self,
        trace: &mut Trace,
        block: Block<'_>,
        kernel: &str,
    ) -> Result<Validity, EvalError> {
        let validity = self.density().refresh(trace)?;
        if validity == Validity::Gone {
            *self = Smoothed::new(trace, block, self.form, kernel)?;
        }
        Ok(validity)
    }

    /// The coordinates of the current state, with log π and its gradient there. None if a choice
    /// lies on the edge of its support, the state is impossible, or there is no gradient.
    pub fn look(&self, trace: &mut Trace) -> Result<Option<Point>, EvalError> {
        let mut density = self.density();
        let Some(z) = density.position(trace)? else { return Ok(None) };
        let mut gradient = vec![0.0; z.len()];
        let log_p = density.log_density(&z, &mut gradient);
        let fine = log_p.is_finite() && gradient.iter().all(|g| g.is_finite());
        Ok(fine.then_some(Point { z, log_p, gradient }))
    }

    /// Looks for a better place to begin than the state of the trace: points whose coordinates are
    /// drawn evenly from −2 to 2, where the usual scales of models lie. The most probable of a few
    /// is taken, if it is more probable than the state: a wide prior begins far from all data otherwise,
    /// and a single point may lie where trajectories do not leave (beyond the unit circle of a moving
    /// average). More would hide from one another's sight what several chains are to find. Where the
    /// state is impossible, the first possible one is taken. For the start of a warm-up alone.
    pub fn begin(&self, trace: &mut Trace, rng: &mut Rng) -> Result<Option<Point>, EvalError> {
        let here = self.look(trace)?;
        let tries = if here.is_some() { STARTS } else { TRIES };
        let mut best: Option<(f64, Vec<f64>)> = None;
        for _ in 0..tries {
            let mut density = self.density();
            let z = density.scatter(trace, REACH, rng)?;
            let mut gradient = vec![0.0; z.len()];
            let log_p = density.log_density(&z, &mut gradient);
            let fine = log_p.is_finite() && gradient.iter().all(|g| g.is_finite());
            let least = best.as_ref().map(|best| best.0).or(here.as_ref().map(|here| here.log_p));
            if fine && least.is_none_or(|least| log_p > least) {
                best = Some((log_p, z));
                if here.is_none() {
                    break;
                }
            }
        }
        let Some((_, z)) = best else { return Ok(here) };
        // An impossible one leaves everything as it was.
        self.density().install(trace, &z, rng)?;
        self.look(trace)
    }

    /// [`Smoothed::look`] where there has to be such a state.
    pub fn start(&self, trace: &mut Trace, kernel: &str) -> Result<Point, EvalError> {
        if let Some(point) = self.look(trace)? {
            return Ok(point);
        }
        let first = self.density().choices().next();
        let span = first.map(|id| trace.origin(id).1);
        let message = format!(
            "{kernel} cannot start here: the state is impossible or on the edge of what is possible, so there is no gradient"
        );
        Err(EvalError::other(span, message).hint(
            "`force` the choices to values that fit the observations, or move them by mh first",
        ))
    }
}

/// A place in unconstrained coordinates.
#[derive(Clone, Debug)]
pub struct Point {
    pub z: Vec<f64>,
    pub log_p: f64,
    pub gradient: Vec<f64>,
}

fn no_gradient(trace: &Trace, kernel: &str, why: &NotSmooth) -> EvalError {
    let (name, span) = trace.origin(why.node);
    let message = format!("{kernel} needs a gradient of every choice: {} (at {name})", why.reason);
    EvalError::other(span, message).hint(
        "put the choices that lead there into a scope of their own, and move them by mh, slice or gibbs",
    )
}
