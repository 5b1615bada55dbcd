//! `(hmc scope block step steps n)`: Hamiltonian Monte Carlo with a fixed number of leapfrog steps
//! (theory 8.4).
//!
//! p ← p + (h/2)∇log π, z ← z + h p, p ← p + (h/2)∇log π, in unconstrained coordinates; accepted
//! with probability min(1, e^{−ΔH}), H = ½|p|² − log π. Structure must not depend on the block.

use rustc_hash::FxHashMap;
use smidgen_engine::smooth::Form;
use smidgen_engine::{EvalError, NodeId, Trace};
use smidgen_lang::Diagnostic;
use smidgen_value::bytes::Input;
use smidgen_value::{Rng, math};

use crate::block::Target;
use crate::explain::{Explanation, Look, blocks};
use crate::hamiltonian::{Point, Smoothed};
use crate::kernel::Kernel;
use crate::proposer::standard_normal;
use crate::run::Log;
use crate::spec::{Arguments, KernelSpec};

pub static SPEC: KernelSpec = KernelSpec {
    name: "hmc",
    shape: "(hmc scope block step steps n)",
    summary: "Hamiltonian Monte Carlo on continuous choices: so many leapfrog steps of this size",
    example: "(hmc default all 0.1 10 100)",
    positional: &["step", "steps"],
    optional: &[],
    options: &[],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Box<dyn Kernel>, Diagnostic> {
    let step = &arguments.positional[0];
    let fine = |h: &f64| *h > 0.0 && h.is_finite();
    let size =
        step.value.as_number().filter(fine).ok_or_else(|| step.error("a positive step size"))?;
    let steps = &arguments.positional[1];
    let count = steps.value.as_integer().filter(|n| *n >= 1);
    let count = count
        .ok_or_else(|| steps.error("a number of leapfrog steps (a whole number, 1 or more)"))?;
    Ok(Box::new(Hmc {
        target: arguments.target.clone(),
        step: size,
        steps: count as u64,
        densities: Densities::default(),
        spare: Vec::new(),
    }))
}

struct Hmc {
    target: Target,
    step: f64,
    steps: u64,
    densities: Densities,
    spare: Vec<NodeId>,
}

/// Compiled densities by block.
#[derive(Default)]
pub struct Densities(FxHashMap<Vec<NodeId>, Smoothed>);

/// Blocks come and go; more than so many are not kept.
const MOST_BLOCKS: usize = 10_000;

impl Densities {
    pub fn of(
        &mut self,
        trace: &mut Trace,
        block: &[NodeId],
        kernel: &str,
    ) -> Result<Smoothed, EvalError> {
        if let Some(known) = self.0.get_mut(block) {
            known.refresh(trace, block.into(), kernel)?;
            return Ok(known.clone());
        }
        if self.0.len() >= MOST_BLOCKS {
            self.0.clear();
        }
        let new = Smoothed::new(trace, block, Form::Plain, kernel)?;
        self.0.insert(block.to_vec(), new.clone());
        Ok(new)
    }
}

impl Kernel for Hmc {
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let Hmc { target, step, steps, densities, spare } = self;
        target.moves(trace, rng, log, spare, &mut |trace, block, _, rng, log| {
            let smoothed = densities.of(trace, block, "hmc")?;
            let start = smoothed.start(trace, "hmc")?;
            let log_u = rng.log_uniform();
            let run = leapfrogs(&smoothed, &start, (*step, *steps), trace, rng);
            let (end, log_ratio, energy) = run?;
            let tally = &mut log.tally;
            tally.transitions += 1;
            tally.trajectories += 1;
            tally.gradients += *steps;
            let terms = smoothed.density().size().0 as u64;
            tally.sections_used += terms;
            tally.population += terms;
            tally.diverged += u64::from(log_ratio < -1000.0 && log_ratio.is_finite());
            let acceptance = math::exp(log_ratio.min(0.0));
            let doublings = steps.next_power_of_two().trailing_zeros();
            let energy = if log_u < log_ratio { energy - log_ratio } else { energy };
            log.run.motion.add(acceptance, *step, doublings, energy);
            let tally = &mut log.tally;
            if log_u < log_ratio && smoothed.density().install(trace, &end.z, rng)? {
                tally.accepted += 1;
            }
            Ok(())
        })
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        blocks::explain(look, &self.target, &mut |_, _, _| Ok(()))
    }

    /// Nothing is learnt.
    fn save(&self, _: &mut Vec<u8>) -> Result<(), &'static str> {
        let Hmc { target: _, step: _, steps: _, densities: _, spare: _ } = self;
        Ok(())
    }

    fn load(&mut self, _: &mut Input<'_>) -> Option<()> {
        Some(())
    }
}

/// The end of a trajectory with fresh momentum, −ΔH, and the energy that it began with.
fn leapfrogs(
    smoothed: &Smoothed,
    start: &Point,
    (h, steps): (f64, u64),
    trace: &Trace,
    rng: &mut Rng,
) -> Result<(Point, f64, f64), EvalError> {
    let mut p: Vec<f64> = start.z.iter().map(|_| standard_normal(rng)).collect();
    let kinetic = |p: &[f64]| 0.5 * p.iter().map(|p| p * p).sum::<f64>();
    let before = kinetic(&p) - start.log_p;
    let mut point = start.clone();
    for _ in 0..steps {
        trace.stop_if_asked()?;
        for (p, g) in p.iter_mut().zip(&point.gradient) {
            *p += 0.5 * h * g;
        }
        for (z, p) in point.z.iter_mut().zip(&p) {
            *z += h * p;
        }
        point.log_p = smoothed.density().log_density(&point.z, &mut point.gradient);
        if point.log_p == f64::NEG_INFINITY {
            return Ok((point, f64::NEG_INFINITY, before));
        }
        for (p, g) in p.iter_mut().zip(&point.gradient) {
            *p += 0.5 * h * g;
        }
    }
    let log_ratio = before - (kinetic(&p) - point.log_p);
    let log_ratio = if log_ratio.is_nan() { f64::NEG_INFINITY } else { log_ratio };
    Ok((point, log_ratio, before))
}
