//! `(nuts scope block n)`: the no-U-turn sampler, which finds the length of its trajectories, and
//! in the warm-up its step size and the scales of the coordinates.
//!
//! Every transition starts from the state of the trace and from the density as it is now, so other kernels may
//! change both in between ([`crate::hamiltonian`] has the sampler and what it learns). Without a warm-up the
//! step size is searched for at the first transition, and kept.

mod saved;

use rustc_hash::{FxHashMap, FxHashSet};
use smidgen_engine::smooth::{Density, Form, Validity};
use smidgen_engine::{EvalError, NodeId, Trace};
use smidgen_lang::Diagnostic;
use smidgen_value::bytes::Input;
use smidgen_value::{Rng, math};

use crate::block::Target;
use crate::explain::{Explanation, Look, blocks};
use crate::hamiltonian::learning::{Learning, Metrics};
use crate::hamiltonian::metric::Metric;
use crate::hamiltonian::trajectory::{Drawn, Sampler};
use crate::hamiltonian::{Block, Point, Smoothed};
use crate::kernel::Kernel;
use crate::run::{Log, Phase};
use crate::spec::{Arguments, KernelSpec};
use saved::Learnt;

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
const ACCEPT: f64 = 0.8;
const DOUBLINGS: u32 = 10;
/// The step size is varied by this share from one transition to the next, so that no trajectory
/// is periodic for ever.
const JITTER: f64 = 0.1;
/// The step size times d^¼ where the metric is that of the posterior, so that it need not be learnt.
const USUAL_STEP: f64 = 0.8;

#[derive(Clone, Copy, Debug)]
struct Options {
    /// Doublings of a trajectory after which it ends all the same.
    doublings: u32,
    /// The acceptance probability to tune for.
    target: f64,
}

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
            fine.ok_or_else(|| given.error("a number of doublings from 1 to 20"))? as u32
        }
    };
    let step = match arguments.option("step") {
        None => None,
        Some(given) => {
            let fine = given.value.as_number().filter(|h| *h > 0.0 && h.is_finite());
            Some(fine.ok_or_else(|| given.error("a positive step size"))?)
        }
    };
    let options = Options { doublings, target: accept };
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

    fn save(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let Nuts { target: _, blocks, spare: _ } = self;
        blocks.save(out);
        Ok(())
    }

    fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        self.blocks.load(from)
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
    /// The block that was asked for last.
    last: Option<Named>,
    /// Found by somebody else, for a block that is not known yet.
    metric: Option<Metric>,
    /// Compiled by somebody else, for the block that is moved next.
    offered: Option<Density>,
    /// Learnt before the program was run anew, for blocks that have not been moved since.
    learnt: FxHashMap<Vec<u64>, Learnt>,
}

/// A block and what it is known by, in a structure.
struct Named {
    structure: u64,
    block: Vec<NodeId>,
    key: Vec<u64>,
}

struct Known {
    smoothed: Smoothed,
    sampler: Sampler,
    learning: Learning,
    /// Where the last transition led.
    at: Point,
    made: u64,
    /// Transitions of the warm-up, if they are known.
    planned: Option<u64>,
    /// Whether the first metric was seen not to suit.
    warned: bool,
}

/// What others have done to the trace since the last transition of a block.
#[derive(Clone, Copy)]
enum Since {
    Nothing,
    /// The density is the same; the block may have been moved.
    Perhaps,
    Changed,
}

const MOST_BLOCKS: usize = 10_000;

impl Blocks {
    fn new(options: Options, step: Option<f64>) -> Blocks {
        Blocks {
            options,
            form: Form::Plain,
            step,
            known: FxHashMap::default(),
            last: None,
            metric: None,
            offered: None,
            learnt: FxHashMap::default(),
        }
    }

    /// With the usual options.
    pub fn standard(form: Form) -> Blocks {
        let options = Options { doublings: DOUBLINGS, target: ACCEPT };
        Blocks { form, ..Blocks::new(options, None) }
    }

    pub fn with_step(self, step: f64) -> Blocks {
        Blocks { step: Some(step), ..self }
    }

    /// Whether the block has been moved before.
    pub fn knows(&self, trace: &Trace, block: &[NodeId]) -> bool {
        let key = addresses(trace, block);
        self.known.contains_key(&key) || self.learnt.contains_key(&key)
    }

    /// What was learnt about a block was about another density.
    pub fn forget(&mut self, trace: &Trace, block: &[NodeId]) {
        let key = addresses(trace, block);
        self.known.remove(&key);
        self.learnt.remove(&key);
    }

    /// The metric of the next block that is moved for the first time. Its state is thought to be a usual one.
    pub fn take_metric(&mut self, metric: Metric) {
        self.metric = Some(metric);
    }

    /// The density of the next block that is moved, in the form of these blocks: it need not be compiled once more.
    pub fn offer(&mut self, density: Density) {
        self.offered = Some(density);
    }

    /// The density of a block, compiled.
    fn smoothed(&mut self, trace: &mut Trace, block: Block<'_>) -> Result<Smoothed, EvalError> {
        let choices: FxHashSet<NodeId> = block.choices.iter().copied().collect();
        if let Some(mut density) = self.offered.take()
            && density.choices().count() == choices.len()
            && density.choices().all(|id| choices.contains(&id))
            && density.refresh(trace)? != Validity::Gone
        {
            return Ok(Smoothed::of(density, self.form));
        }
        Smoothed::new(trace, block, self.form, "nuts")
    }

    fn key(&mut self, trace: &Trace, block: &[NodeId]) -> Vec<u64> {
        let structure = trace.structure_revision();
        match &self.last {
            Some(last) if last.structure == structure && last.block == block => last.key.clone(),
            _ => {
                let key = addresses(trace, block);
                self.last = Some(Named { structure, block: block.to_vec(), key: key.clone() });
                key
            }
        }
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
        let key = self.key(trace, block.choices);
        let drawn = match self.known.get_mut(&key) {
            None => {
                let smoothed = self.smoothed(trace, block)?;
                let learnt = self.learnt.remove(&key).filter(|learnt| learnt.fits(&smoothed));
                let begins = phase == Phase::Warmup
                    && self.step.is_none()
                    && self.metric.is_none()
                    && learnt.is_none();
                let here = match begins {
                    true => smoothed.begin(trace, rng)?,
                    false => smoothed.look(trace)?,
                };
                if here.is_none() {
                    learnt
                        .into_iter()
                        .for_each(|learnt| drop(self.learnt.insert(key.clone(), learnt)));
                    return Ok(false);
                }
                let mut known = match learnt {
                    Some(learnt) => learnt.with(smoothed, trace, phase)?,
                    None => self.first(smoothed, trace, phase, planned, rng)?,
                };
                let drawn = known.transition(trace, phase, self.options, Since::Nothing, rng)?;
                self.known.insert(key.clone(), known);
                drawn
            }
            Some(known) => {
                let as_left = known.smoothed.density().is_as_left(trace);
                let validity = known.smoothed.density().refresh(trace)?;
                if validity == Validity::Gone {
                    let smoothed = self.smoothed(trace, block)?;
                    self.known.entry(key.clone()).and_modify(|known| known.smoothed = smoothed);
                }
                let known = &self.known[&key];
                if validity != Validity::Same && known.smoothed.look(trace)?.is_none() {
                    return Ok(false);
                }
                if known.smoothed.dimension() != known.at.z.len() {
                    // Other choices under old names.
                    let smoothed = known.smoothed.clone();
                    let new = self.first(smoothed, trace, phase, planned, rng)?;
                    self.known.insert(key.clone(), new);
                }
                let known = self.known.get_mut(&key).expect("it was found or put there");
                let since = match (as_left, validity) {
                    (true, _) => Since::Nothing,
                    (false, Validity::Same) => Since::Perhaps,
                    (false, _) => Since::Changed,
                };
                known.transition(trace, phase, self.options, since, rng)?
            }
        };
        let known = &self.known[&key];
        known.note(&drawn, log);
        Ok(true)
    }

    fn first(
        &mut self,
        smoothed: Smoothed,
        trace: &mut Trace,
        phase: Phase,
        planned: Option<u64>,
        rng: &mut Rng,
    ) -> Result<Known, EvalError> {
        let at = smoothed.start(trace, "nuts")?;
        let mut sampler = Sampler::new(at.z.len());
        let learns = phase == Phase::Warmup && self.step.is_none();
        let given = self.metric.take().filter(|metric| metric.size() == at.z.len() && learns);
        let is_given = given.is_some();
        let metric = match learns {
            true => given.unwrap_or_else(|| Metric::of_gradient(&at.gradient)),
            false => Metric::unit(at.z.len()),
        };
        let target = self.options.target;
        let known = is_given.then(|| USUAL_STEP / math::sqrt(math::sqrt(at.z.len() as f64)));
        let step = self.step.or(known).unwrap_or_else(|| {
            let mut density = smoothed.density();
            let log_density = &mut |z: &[f64], g: &mut [f64]| density.log_density(z, g);
            sampler.search_step(log_density, &metric, &at, target, rng)
        });
        let mut learning = Learning::new(metric, step, target, Metrics::Bold, planned);
        if !learns || is_given {
            learning.freeze();
        }
        // What was given is not doubted.
        let planned = planned.filter(|_| !is_given);
        Ok(Known { smoothed, sampler, learning, at, made: 0, planned, warned: false })
    }
}

impl Known {
    fn transition(
        &mut self,
        trace: &mut Trace,
        phase: Phase,
        options: Options,
        since: Since,
        rng: &mut Rng,
    ) -> Result<Drawn, EvalError> {
        if phase == Phase::Draws {
            self.learning.freeze();
        }
        // Always from the state of the trace. Mostly that is where the last transition led, and
        // the density there is known.
        let elsewhere = match since {
            Since::Nothing => false,
            Since::Perhaps => {
                let here = self.smoothed.density().position(trace)?;
                here.is_none_or(|z| !near(&z, &self.at.z))
            }
            Since::Changed => true,
        };
        if elsewhere {
            self.at = self.smoothed.start(trace, "nuts")?;
            self.learning.go_by_draws();
        }
        self.made += 1;
        let step = self.learning.step() * (1.0 + JITTER * (2.0 * rng.uniform() - 1.0));
        let mut density = self.smoothed.density();
        let before = density.may_refuse().then(|| self.at.clone());
        let mut drawn = self.sampler.transition(
            &mut |z, gradient| match trace.stop_if_asked() {
                Ok(()) => density.log_density(z, gradient),
                // It leads nowhere, and is not followed.
                Err(_) => f64::NEG_INFINITY,
            },
            self.learning.metric(),
            step,
            options.doublings,
            &mut self.at,
            rng,
        );
        if let Err(interruption) = trace.stop_if_asked() {
            drop(density);
            // The draw is dropped: the block is where the trace has it.
            self.at = self.smoothed.start(trace, "nuts")?;
            return Err(interruption);
        }
        if drawn.moved && !density.install(trace, &self.at.z, rng)? {
            drawn.moved = false;
            self.at = before.expect("this density may refuse");
        }
        drop(density);
        if phase == Phase::Warmup {
            self.learn(&drawn, options, rng);
        }
        Ok(drawn)
    }

    fn learn(&mut self, drawn: &Drawn, options: Options, rng: &mut Rng) {
        if self.learning.learn(&self.at, drawn) {
            let step = self.search_step(&self.learning.metric().clone(), options, rng);
            self.learning.restart(step);
        }
        let (Some(planned), Some(Metrics::Bold)) = (self.planned, self.learning.metrics()) else {
            return;
        };
        // In the second quarter the metric should be good enough: if trajectories diverge it does not
        // suit, and the other half of the warm-up is enough to learn once more.
        self.warned |= drawn.diverged && (planned / 4..planned / 2).contains(&(self.made - 1));
        if self.warned && self.made == planned / 2 {
            let metric = Metric::of_gradient(&self.at.gradient);
            let step = self.search_step(&metric, options, rng);
            let left = Some(planned - self.made);
            self.learning = Learning::new(metric, step, options.target, Metrics::Careful, left);
        }
    }

    fn search_step(&mut self, metric: &Metric, options: Options, rng: &mut Rng) -> f64 {
        let mut density = self.smoothed.density();
        let log_density = &mut |z: &[f64], gradient: &mut [f64]| density.log_density(z, gradient);
        self.sampler.search_step(log_density, metric, &self.at, options.target, rng)
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
        log.run.motion.add(drawn.acceptance, self.learning.step(), drawn.depth, drawn.energy);
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
