//! `(pgibbs scope block particles ['ancestor true|false] n)`: particle Gibbs, conditional sequential
//! Monte Carlo over the blocks in order (theory 8.1).
//!
//! `particles` counts the reference, the current state, which takes part in resampling and in the
//! final choice. Multinomial resampling at every step. With `each`/`ordered` and `ordered_range`
//! every block of the scope is a step; with any other block there is a single step, which is
//! importance resampling with the current state kept.
//!
//! With ancestor sampling the reference may change its past at every step, so that the whole path
//! moves and not only its end. It is exact. By default it is done where it costs little: the past
//! is weighed by the densities of all later choices that hang on it, one per step in a Markov model, up to
//! T²/2 in general. Where the block decides what exists, it is not done.

mod csmc;

use smidgen_engine::particles::{LookAhead, SharedSequence};
use smidgen_engine::{EvalError, NodeId, Sequence, Trace};
use smidgen_lang::Diagnostic;
use smidgen_value::Rng;
use smidgen_value::bytes::Input;

use crate::block::{Block, Target};
use crate::explain::{Explanation, Look, advice, blocks};
use crate::kernel::Kernel;
use crate::run::Log;
use crate::spec::{Arguments, KernelSpec};

pub use csmc::{Multinomial, Resampler, conditional_smc};

pub static SPEC: KernelSpec = KernelSpec {
    name: "pgibbs",
    shape: "(pgibbs scope block particles ['ancestor true|false] n)",
    summary: "Particle Gibbs: the blocks in order, each by that many particles, n times",
    example: "(pgibbs h ordered 10 100)",
    positional: &["particles"],
    optional: &[],
    options: &["ancestor"],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Box<dyn Kernel>, Diagnostic> {
    let particles = arguments.positional[0].particles(2)?;
    let look_ahead = match arguments.option("ancestor") {
        None => LookAhead::IfCheap,
        Some(argument) => match argument.value.truth() {
            Some(true) => LookAhead::Always,
            Some(false) => LookAhead::Never,
            None => return Err(argument.error("true or false")),
        },
    };
    Ok(Box::new(Pgibbs::new(arguments.target.clone(), particles, look_ahead)))
}

pub struct Pgibbs {
    target: Target,
    particles: usize,
    look_ahead: LookAhead,
    sequence: SharedSequence,
    lots: Multinomial,
}

impl Pgibbs {
    pub fn new(target: Target, particles: usize, look_ahead: LookAhead) -> Pgibbs {
        Pgibbs {
            target,
            particles,
            look_ahead,
            sequence: SharedSequence::default(),
            lots: Multinomial::default(),
        }
    }

    /// Prepares a pass. False if there is nothing to move.
    fn prepare(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<bool, EvalError> {
        // A block drawn at random is another one each time.
        let is_drawn = self.target.block == Block::One;
        if !is_drawn && self.sequence.get().is_current(trace) {
            return Ok(true);
        }
        let groups = self.target.groups(trace, rng);
        if groups.is_empty() {
            log.warn(self.target.nothing(trace));
            return Ok(false);
        }
        match is_drawn {
            true => self.sequence.get().prepare(trace, &groups, self.look_ahead)?,
            false => self.sequence = Sequence::shared(trace, &groups, self.look_ahead)?,
        }
        Ok(true)
    }
}

impl Kernel for Pgibbs {
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        if !self.prepare(trace, rng, log)? {
            return Ok(());
        }
        let mut sequence = self.sequence.get();
        let sections = sequence.absorbing() as u64;
        let mut particles = sequence.begin(trace, self.particles)?;
        let chosen = conditional_smc(&mut *particles, self.particles, &mut self.lots, rng)?;
        let moved = match chosen {
            Some(k) => particles.settle(k)?,
            None => false,
        };
        log.tally.draw(sections, moved);
        Ok(())
    }

    fn starts_anywhere(&self) -> bool {
        self.target.block != Block::One
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        let mut explanation = blocks::explain(look, &self.target, &mut |_, _, block| {
            block.advice = advice::exact(block);
            Ok(())
        })?;
        let groups = self.target.groups(look.trace, look.rng);
        if groups.is_empty() {
            return Ok(explanation);
        }
        let mut sequence = Sequence::new();
        sequence.prepare(look.trace, &groups, self.look_ahead)?;
        let (steps, particles) = (sequence.steps(), self.particles);
        let road = match sequence.is_compiled() {
            true => "beside the trace (compiled)",
            false => "in the trace, by undoing and redoing: the block decides what exists",
        };
        explanation.notes.push(format!("{particles} particles run {road}, in {steps} steps"));
        if steps > 1 {
            explanation.notes.push(match sequence.looks_ahead() {
                true => "the current state may change its past at every step (ancestor sampling)",
                false if self.look_ahead == LookAhead::Never => "no ancestor sampling: as told",
                false if !sequence.is_compiled() => {
                    "no ancestor sampling: the block decides what exists"
                }
                false => "no ancestor sampling: every choice hangs on many earlier ones, so it would cost much; 'ancestor true does it all the same",
            }.to_owned());
        }
        Ok(explanation)
    }

    /// Nothing is learnt.
    fn save(&self, _: &mut Vec<u8>) -> Result<(), &'static str> {
        let Pgibbs { target: _, particles: _, look_ahead: _, sequence: _, lots: _ } = self;
        Ok(())
    }

    fn load(&mut self, _: &mut Input<'_>) -> Option<()> {
        Some(())
    }
}

impl Target {
    /// The blocks as ordered groups: each its own, or all together as one.
    pub fn groups(&self, trace: &Trace, rng: &mut Rng) -> Vec<Vec<NodeId>> {
        use crate::block::Turn;
        match self.turn(trace, rng, Vec::new()) {
            Turn::Nothing => Vec::new(),
            Turn::Drawn { principals, .. } | Turn::Block(principals) => vec![principals],
            Turn::Sweep(mut sweep) => std::iter::from_fn(|| sweep.next(trace)).collect(),
        }
    }
}
