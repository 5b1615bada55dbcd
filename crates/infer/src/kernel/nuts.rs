//! `(nuts scope block n)`: the no-U-turn sampler, which finds the length of its trajectories, and
//! in the warm-up its step size and the scales of the coordinates.
//!
//! Where nothing else changes the block's density, a chain of `nuts-rs` runs with its own
//! adaptation. As soon as another kernel is seen to change it, every transition starts anew from
//! the state of the trace, with a metric and a step size learnt here ([`crate::hamiltonian`]).
//! Without a warm-up the step size is searched for at the first transition, and kept.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smidgen_engine::smooth::{Form, Validity};
use smidgen_engine::{EvalError, NodeId, Trace};
use smidgen_lang::Diagnostic;
use smidgen_value::Rng;

use crate::block::Target;
use crate::explain::{Explanation, Look, blocks};
use crate::hamiltonian::learning::Learning;
use crate::hamiltonian::metric::Metric;
use crate::hamiltonian::trajectory::{self, Adapting, Drawn, Metrics, Options};
use crate::hamiltonian::{Block, Smoothed};
use crate::kernel::Kernel;
use crate::run::{Log, Phase};
use crate::spec::{Arguments, KernelSpec};

pub static SPEC: KernelSpec = KernelSpec {
    name: "nuts",
    shape: "(nuts scope block ['accept a] ['doublings k] ['step h] n)",
    summary: "The no-U-turn sampler on continuous choices; learns its step size and metric in the warm-up",
    example: "(nuts default all 100)",
    positional: &[],
    optional: &[],
    options: &["accept", "doublings", "step"],
    build,
};

/// The acceptance probability that the warm-up tunes for.
const ACCEPT: f64 = 0.9;
const DOUBLINGS: i64 = 10;

fn build(arguments: &Arguments<'_>) -> Result<Box<dyn Kernel>, Diagnostic> {
    let accept = match arguments.option("accept") {
        None => ACCEPT,
        Some(given) => {
            let fine = given.value.as_number().filter(|a| *a > 0.0 && *a < 1.0);
            fine.ok_or_else(|| given.error("an acceptance probability between 0 and 1"))?
        }
    };
    let doublings = match arguments.option("doublings") {
        None => DOUBLINGS,
        Some(given) => {
            let fine = given.value.as_integer().filter(|k| (1..=20).contains(k));
            fine.ok_or_else(|| given.error("a number of doublings from 1 to 20"))?
        }
    };
    let step = match arguments.option("step") {
        None => None,
        Some(given) => {
            let fine = given.value.as_number().filter(|h| *h > 0.0 && h.is_finite());
            Some(fine.ok_or_else(|| given.error("a positive step size"))?)
        }
    };
    let options = Options { doublings: doublings as u64, target: accept };
    Ok(Box::new(Nuts {
        target: arguments.target.clone(),
        blocks: Blocks::new(options, step),
        spare: Vec::new(),
    }))
}

struct Nuts {
    target: Target,
    blocks: Blocks,
    spare: Vec<NodeId>,
}

impl Kernel for Nuts {
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let Nuts { target, blocks, spare } = self;
        target.moves(trace, rng, log, spare, &mut |trace, block, selection, rng, log| {
            // How often a block that is drawn has its turn nobody knows beforehand.
            let planned = if selection.is_some() { None } else { log.planned() };
            match blocks.transition(trace, block.into(), planned, rng, log)? {
                true => Ok(()),
                false => blocks.cannot_start(trace, block),
            }
        })
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        blocks::explain(look, &self.target, &mut |_, _, _| Ok(()))
    }
}

/// What is known about every block.
pub struct Blocks {
    options: Options,
    form: Form,
    /// Given by the user: nothing is learnt.
    step: Option<f64>,
    /// By the addresses of their choices.
    known: FxHashMap<Vec<u64>, Known>,
}

struct Known {
    smoothed: Smoothed,
    way: Way,
    made: u64,
}

/// How the transitions of a block are made.
enum Way {
    /// A chain that learns by itself, and where it stands.
    Steady(Box<Steady>),
    /// Each transition from the state of the trace.
    Anew(Box<Learning>),
}

struct Steady {
    chain: Adapting,
    learns_for: u64,
    at: Vec<f64>,
    /// Whether the first metric was seen not to suit.
    warned: bool,
    /// What would serve if the density began to change.
    reserve: Learning,
}

impl Steady {
    /// Whether a divergence at this transition of the warm-up says that the metric does not suit:
    /// in the second quarter it should be good enough.
    fn is_warning(&self, drawn: &Drawn, made: u64) -> bool {
        let quarter = self.learns_for / 4;
        drawn.diverged && made > quarter && made <= 2 * quarter
    }
}

const MOST_BLOCKS: usize = 10_000;

impl Blocks {
    pub fn new(options: Options, step: Option<f64>) -> Blocks {
        Blocks { options, form: Form::Plain, step, known: FxHashMap::default() }
    }

    /// With the usual options.
    pub fn standard(form: Form) -> Blocks {
        let options = Options { doublings: DOUBLINGS as u64, target: ACCEPT };
        Blocks { form, ..Blocks::new(options, None) }
    }

    pub fn with_step(self, step: f64) -> Blocks {
        Blocks { step: Some(step), ..self }
    }

    /// Whether the block has been moved before.
    pub fn knows(&self, trace: &Trace, block: &[NodeId]) -> bool {
        self.known.contains_key(&addresses(trace, block))
    }

    /// Says why a block cannot start.
    fn cannot_start(&self, trace: &mut Trace, block: &[NodeId]) -> Result<(), EvalError> {
        Smoothed::new(trace, block, self.form, "nuts")?.start(trace, "nuts").map(drop)
    }

    /// One transition of a block. `planned`: how many there will be in the warm-up, if known.
    /// False if it cannot start from where it is.
    pub fn transition(
        &mut self,
        trace: &mut Trace,
        block: Block<'_>,
        planned: Option<u64>,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<bool, EvalError> {
        if self.known.len() >= MOST_BLOCKS {
            self.known.clear();
        }
        let phase = log.run.phase;
        let key = addresses(trace, block.choices);
        let drawn = match self.known.get_mut(&key) {
            None => {
                let smoothed = Smoothed::new(trace, block, self.form, "nuts")?;
                let begins = phase == Phase::Warmup && self.step.is_none();
                let here = match begins {
                    true => smoothed.begin(trace, rng)?,
                    false => smoothed.look(trace)?,
                };
                if here.is_none() {
                    return Ok(false);
                }
                let mut known = self.first(smoothed, trace, phase, planned, rng)?;
                let drawn = known.transition(trace, phase, self.options, false, rng)?;
                self.known.insert(key.clone(), known);
                drawn
            }
            Some(known) => {
                let dimension = known.smoothed.dimension();
                let validity = known.smoothed.refresh(trace, block, "nuts")?;
                if validity != Validity::Same && known.smoothed.look(trace)?.is_none() {
                    return Ok(false);
                }
                if known.smoothed.dimension() != dimension {
                    // Other choices under old names.
                    let smoothed = known.smoothed.clone();
                    let new = self.first(smoothed, trace, phase, planned, rng)?;
                    self.known.insert(key.clone(), new);
                }
                let known = self.known.get_mut(&key).expect("it was found or put there");
                known.transition(trace, phase, self.options, validity != Validity::Same, rng)?
            }
        };
        let known = &self.known[&key];
        known.note(&drawn, log);
        Ok(true)
    }

    fn first(
        &self,
        smoothed: Smoothed,
        trace: &mut Trace,
        phase: Phase,
        planned: Option<u64>,
        rng: &mut Rng,
    ) -> Result<Known, EvalError> {
        let start = smoothed.start(trace, "nuts")?;
        let metric = Metric::unit(start.z.len());
        let target = self.options.target;
        let warm = phase == Phase::Warmup && self.step.is_none();
        if warm && let Some(transitions) = planned {
            let metrics = Metrics::Bold;
            let chain = Adapting::new(&smoothed, &start, transitions, self.options, metrics, rng)?;
            let reserve = Learning::new(metric, 0.1, target, planned);
            let steady =
                Steady { chain, learns_for: transitions, at: start.z, warned: false, reserve };
            return Ok(Known { smoothed, way: Way::Steady(Box::new(steady)), made: 0 });
        }
        let step = match self.step {
            Some(step) => step,
            None => trajectory::search_step(&smoothed, &metric, &start, target, rng),
        };
        let mut learning = Learning::new(metric, step, target, planned);
        if !warm {
            learning.freeze();
        }
        Ok(Known { smoothed, way: Way::Anew(Box::new(learning)), made: 0 })
    }
}

impl Known {
    fn transition(
        &mut self,
        trace: &mut Trace,
        phase: Phase,
        options: Options,
        changed: bool,
        rng: &mut Rng,
    ) -> Result<Drawn, EvalError> {
        if let Way::Steady(steady) = &mut self.way {
            let early = phase == Phase::Draws && self.made < steady.learns_for;
            let here = self.smoothed.density().position(trace)?;
            if changed || early || here.as_deref().is_none_or(|z| !near(z, &steady.at)) {
                self.leave_chain(trace, options, rng)?;
            }
        }
        self.made += 1;
        match &mut self.way {
            Way::Steady(steady) => {
                let drawn = steady.chain.draw()?;
                if phase == Phase::Warmup {
                    steady.reserve.learn(&drawn.z, drawn.acceptance);
                }
                if drawn.z != steady.at {
                    self.smoothed.density().install(trace, &drawn.z, rng)?;
                    steady.at.clone_from(&drawn.z);
                }
                if phase == Phase::Warmup && steady.is_warning(&drawn, self.made) {
                    steady.warned = true;
                }
                // The other half of the warm-up is enough to learn once more.
                if phase == Phase::Warmup && steady.warned && self.made == steady.learns_for / 2 {
                    let start = self.smoothed.start(trace, "nuts")?;
                    let left = steady.learns_for - self.made;
                    let metrics = Metrics::Careful;
                    steady.chain =
                        Adapting::new(&self.smoothed, &start, left, options, metrics, rng)?;
                    steady.at = start.z;
                }
                Ok(drawn)
            }
            Way::Anew(learning) => {
                if phase == Phase::Draws {
                    learning.freeze();
                }
                let start = self.smoothed.start(trace, "nuts")?;
                let before = start.z.clone();
                let metric = Arc::new(learning.metric().clone());
                let drawn = trajectory::step(
                    &self.smoothed,
                    &metric,
                    learning.step(),
                    start,
                    options,
                    rng,
                )?;
                if drawn.z != before {
                    self.smoothed.density().install(trace, &drawn.z, rng)?;
                }
                if phase == Phase::Warmup && learning.learn(&drawn.z, drawn.acceptance) {
                    let start = self.smoothed.start(trace, "nuts")?;
                    let metric = learning.metric().clone();
                    let target = options.target;
                    let step =
                        trajectory::search_step(&self.smoothed, &metric, &start, target, rng);
                    learning.restart(step);
                }
                Ok(drawn)
            }
        }
    }

    /// The density changes from outside: from now on each transition starts anew.
    fn leave_chain(
        &mut self,
        trace: &mut Trace,
        options: Options,
        rng: &mut Rng,
    ) -> Result<(), EvalError> {
        let Way::Steady(steady) = &mut self.way else { return Ok(()) };
        let start = self.smoothed.start(trace, "nuts")?;
        let metric = match steady.reserve.metric().size() == start.z.len() {
            true => steady.reserve.metric().clone(),
            false => Metric::unit(start.z.len()),
        };
        let step = trajectory::search_step(&self.smoothed, &metric, &start, options.target, rng);
        let left = steady.learns_for.saturating_sub(self.made);
        let learning = Learning::new(metric, step, options.target, Some(left));
        self.way = Way::Anew(Box::new(learning));
        Ok(())
    }

    fn note(&self, drawn: &Drawn, log: &mut Log<'_>) {
        let tally = &mut log.tally;
        let terms = self.smoothed.density().size().0 as u64;
        tally.transitions += 1;
        tally.accepted += 1;
        tally.sections_used += terms;
        tally.population += terms;
        tally.trajectories += 1;
        tally.gradients += drawn.gradients;
        tally.diverged += u64::from(drawn.diverged);
        tally.cut += u64::from(drawn.cut);
    }
}

/// What a block is, whatever its choices are called at the moment.
fn addresses(trace: &Trace, block: &[NodeId]) -> Vec<u64> {
    let mut addresses: Vec<u64> = block.iter().map(|id| trace.address(*id)).collect();
    addresses.sort_unstable();
    addresses
}

/// Coordinates are read off values, which costs the last digits.
fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-6 * (1.0 + b.abs()))
}
