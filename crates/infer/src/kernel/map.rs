//! `(map scope block n)`: climbs to a maximum of the density, by n rounds of L-BFGS.
//!
//! What is maximised is log p(x) itself, not the density of the unconstrained coordinates in which
//! the climb happens: the Jacobian is left out. Not a Markov kernel: it leaves nothing invariant.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use argmin::core::{CostFunction, Error, Executor, Gradient};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use smidgen_engine::smooth::Form;
use smidgen_engine::{EvalError, NodeId, Trace};
use smidgen_lang::Diagnostic;
use smidgen_value::Rng;
use smidgen_value::bytes::Input;

use crate::block::Target;
use crate::explain::{Explanation, Look, blocks};
use crate::hamiltonian::{Point, Smoothed};
use crate::kernel::Kernel;
use crate::run::Log;
use crate::spec::{Arguments, KernelSpec};

pub static SPEC: KernelSpec = KernelSpec {
    name: "map",
    shape: "(map scope block n)",
    summary: "Moves continuous choices to a maximum of their density, by n rounds of up to 20 iterations of L-BFGS",
    example: "(map default all 5)",
    positional: &[],
    optional: &[],
    options: &[],
    build,
};

/// Iterations of a round.
const ITERATIONS: u64 = 20;
/// Looks at the density in one round, after which it ends.
const MOST_LOOKS: u64 = 50 * ITERATIONS;
/// Pairs of steps that L-BFGS remembers.
const MEMORY: usize = 7;

fn build(arguments: &Arguments<'_>) -> Result<Box<dyn Kernel>, Diagnostic> {
    Ok(Box::new(Map { target: arguments.target.clone(), spare: Vec::new() }))
}

struct Map {
    target: Target,
    spare: Vec<NodeId>,
}

impl Kernel for Map {
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let Map { target, spare } = self;
        target.moves(trace, rng, log, spare, &mut |trace, block, _, rng, log| {
            let smoothed = Smoothed::new(trace, block, Form::Plain, SPEC.name)?;
            smoothed.density().leave_out_jacobian();
            let start = smoothed.start(trace, SPEC.name)?;
            let (best, gradients) = climb(&smoothed, &start, trace.interrupt.clone());
            trace.stop_if_asked()?;
            let tally = &mut log.tally;
            tally.transitions += 1;
            tally.trajectories += 1;
            tally.gradients += gradients;
            if best.log_p > start.log_p && smoothed.density().install(trace, &best.z, rng)? {
                tally.accepted += 1;
            }
            Ok(())
        })
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        let mut explanation = blocks::explain(look, &self.target, &mut |_, _, _| Ok(()))?;
        explanation.notes.push("an optimiser: the states it leads to are no draws".to_owned());
        Ok(explanation)
    }

    /// Nothing is learnt.
    fn save(&self, _: &mut Vec<u8>) -> Result<(), &'static str> {
        let Map { target: _, spare: _ } = self;
        Ok(())
    }

    fn load(&mut self, _: &mut Input<'_>) -> Option<()> {
        Some(())
    }
}

/// −log p, and the best point that was asked for.
#[derive(Clone)]
struct Hill {
    smoothed: Smoothed,
    seen: Arc<Mutex<Seen>>,
    interrupt: Arc<AtomicBool>,
}

struct Seen {
    best: Point,
    last: Point,
    gradients: u64,
}

impl Hill {
    /// An error ends the climb: after too many looks, or where the density is infinite.
    fn look(&self, z: &[f64]) -> Result<(f64, Vec<f64>), Error> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.last.z != z {
            let mut gradient = vec![0.0; z.len()];
            let log_p = self.smoothed.density().log_density(z, &mut gradient);
            seen.gradients += 1;
            seen.last = Point { z: z.to_vec(), log_p, gradient };
            if log_p > seen.best.log_p && log_p.is_finite() {
                seen.best = seen.last.clone();
            }
        }
        let is_stopped = self.interrupt.load(Ordering::Relaxed);
        if is_stopped || seen.gradients > MOST_LOOKS || !seen.last.log_p.is_finite() {
            return Err(Error::msg("the climb ends here"));
        }
        Ok((-seen.last.log_p, seen.last.gradient.iter().map(|g| -g).collect()))
    }
}

impl CostFunction for Hill {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, z: &Vec<f64>) -> Result<f64, Error> {
        self.look(z).map(|(cost, _)| cost)
    }
}

impl Gradient for Hill {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, z: &Vec<f64>) -> Result<Vec<f64>, Error> {
        self.look(z).map(|(_, gradient)| gradient)
    }
}

/// The best point of a round, and the gradients it took. A search along a line that fails, at the
/// edge of the support for example, ends the round with the best point so far.
fn climb(smoothed: &Smoothed, start: &Point, interrupt: Arc<AtomicBool>) -> (Point, u64) {
    let seen = Seen { best: start.clone(), last: start.clone(), gradients: 0 };
    let seen = Arc::new(Mutex::new(seen));
    let hill = Hill { smoothed: smoothed.clone(), seen, interrupt };
    let search = MoreThuenteLineSearch::new();
    let solver = LBFGS::new(search, MEMORY);
    let executor = Executor::new(hill.clone(), solver)
        .configure(|state| state.param(start.z.clone()).max_iters(ITERATIONS));
    // The best point is known whether the run ended well or not.
    drop(executor.ctrlc(false).run());
    let seen = hill.seen.lock().unwrap_or_else(PoisonError::into_inner);
    (seen.best.clone(), seen.gradients)
}
