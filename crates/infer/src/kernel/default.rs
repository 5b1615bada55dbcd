//! The default kernel, for people who do not want to choose: an integer k as an inference
//! program is k sweeps of it.
//!
//! A sweep is a fixed list of kernels. Each leaves the posterior invariant by itself, because what it does hangs on
//! the state only through what it leaves unchanged; so the sweep does.
//!
//! | kernel | what it hangs on | why that is unchanged |
//! |---|---|---|
//! | `joint`: all continuous choices with a gradient, by `reference_mh` where they stand above many rows, otherwise by `nuts`, plain and standardised, with idle choices summed out and drawn anew | the block, found from the structure and the other choices | the block decides nothing, or only branches whose sides are functions of existing values |
//! | `members`: continuous choices above many members that come and go, such as the weights of a large cluster, by `reference_mh` ([`members`]) | who the members are, and whether the reference serves them | the choice decides nothing |
//! | `chains`: each chain of other choices as a whole | the chains, found likewise, from what any side of a branch reads | chains decide nothing but which side is taken |
//! | `leftovers`: what may be joint or in a chain but is not so *now*, one by one | whether it is, by the plan for the structure as it is when its turn comes | a choice decides neither its own distribution nor whether it may be joint |
//! | `rest`: all other choices one by one ([`single`]) | the kind of the choice when its turn comes | the same |
//! | `walls`: choices that a hard constraint holds together ([`walls`]) | which exist of a set of addresses | what exists because of others of the set is redrawn with these in any case |
//! | `forward`: choices that no observation depends on, from their law given the rest ([`smidgen_engine::idle`]) | which these are, found from the structure | what exists because of them depends on no observation either |
//!
//! `leftovers` and `rest` go through the addresses of all choices there could ever be, in a fixed order, and leave out those
//! that do not exist ([`Sweep`]). Which addresses belong to which is settled in the warm-up ([`plan`]). A plan made at the start of
//! a round and followed to its end would be wrong: from one side of a branch the schedule would be "first a, then b", from the other "b
//! alone", and no single kernel would have the posterior as its law.
//!
//! Where a joint block and other choices move given each other, a sweep goes round several times if that is slow ([`rounds`]).
//! Which of its two forms the joint block moves in is drawn in every round, with probabilities found in the warm-up ([`forms`]).

mod chain;
mod explain;
mod forms;
mod members;
pub mod plan;
mod rounds;
mod saved;
mod single;
mod walls;

use rustc_hash::FxHashMap;
use smidgen_engine::fault::Fault;
use smidgen_engine::smooth::Form;
use smidgen_engine::{EvalError, NodeId, Trace};
use smidgen_value::Rng;
use smidgen_value::bytes::Input;

use crate::block::{Block, Scope, Sweep, Target};
use crate::explain::{Explanation, Look};
use crate::hamiltonian as joint;
use crate::kernel::Kernel;
use crate::kernel::nuts::Blocks;
use crate::kernel::reference_mh;
use crate::kernel::subsampled_mh::SubsampledMh;
use crate::reference::preparation::Want;
use crate::run::{Log, Phase};
use forms::{FORMS, Forms, STANDARDISED};
use plan::{Class, Plan};
use rounds::Rounds;
use single::Singles;
use walls::Walls;

/// Moves per sweep of a choice that is moved by `mh`, or by `subsampled_mh`.
const TRIES: usize = 4;
const TALL_TRIES: usize = 10;

/// Sweeps of the warm-up from one draw of the idle choices to the next.
const SELDOM: u64 = 10;

/// In debug builds, one sweep of so many makes its plan twice and compares.
const CHECKED: u64 = 16;

pub struct AutoKernel {
    plan: Plan,
    reference: reference_mh::Blocks,
    nuts: Blocks,
    standardised: Blocks,
    singles: Singles,
    /// By the addresses of their choices.
    subsampled: FxHashMap<u64, SubsampledMh>,
    walls: Walls,
    rounds: Rounds,
    forms: Forms,
    sweeps: u64,
    /// The structure at the start of the last sweep.
    structure: Option<u64>,
    /// Whether the joint block could not start from where it is.
    stuck: bool,
    /// The stream of choices that are drawn forward: what is predicted does not change the draws of the rest.
    stream: Option<Rng>,
}

impl Default for AutoKernel {
    fn default() -> AutoKernel {
        AutoKernel {
            plan: Plan::default(),
            reference: reference_mh::Blocks::new(Want::Best),
            nuts: Blocks::standard(Form::Plain),
            standardised: Blocks::standard(Form::Standardised),
            singles: Singles::new(),
            subsampled: FxHashMap::default(),
            walls: Walls::default(),
            rounds: Rounds::default(),
            forms: Forms::default(),
            sweeps: 0,
            structure: None,
            stuck: false,
            stream: None,
        }
    }
}

impl AutoKernel {
    /// With trajectories of a given step size: nothing is searched for or learnt, neither from what came before nor from
    /// the first state.
    pub fn with_step(step: f64) -> AutoKernel {
        let blocks = |form| Blocks::standard(form).with_step(step);
        let (nuts, standardised) = (blocks(Form::Plain), blocks(Form::Standardised));
        let mut kernel = AutoKernel { nuts, standardised, ..AutoKernel::default() };
        kernel.plan.settle_for(|_| true);
        kernel.walled_for(|_| false, |_| false)
    }

    /// As if a warm-up had found that only the choices of these addresses may be part of the joint block or of a chain.
    pub fn settled_for(mut self, contains: fn(u64) -> bool) -> AutoKernel {
        self.plan.settle_for(contains);
        self
    }

    /// As if it had found that a wall holds the first, and another wall the finite ones of the second.
    pub fn walled_for(mut self, together: fn(u64) -> bool, finite: fn(u64) -> bool) -> AutoKernel {
        self.walls = Walls::given(together, finite);
        self
    }

    /// Choices that no observation depends on are moved as all others.
    pub fn moving_idle(mut self) -> AutoKernel {
        self.plan.move_idle();
        self
    }
}

impl Kernel for AutoKernel {
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        if trace.choices().is_empty() {
            log.warn("the program has no unconstrained random choice: nothing to infer".into());
            return Ok(());
        }
        let stream = self.stream.take().unwrap_or_else(|| Rng::from_seed(rng.seed()));
        self.stream = Some(stream);
        let learns = log.run.phase != Phase::Draws;
        let approximate = log.run.approximate && !log.run.exact;
        self.plan.update(trace, learns, approximate)?;
        self.look_for_members(trace, rng, log)?;
        let rounds = if self.plan.is_all_idle { 0 } else { self.rounds.number };
        for _ in 0..rounds {
            let run = Round { learns, approximate };
            self.joint(trace, run, rng, log)?;
            self.members(trace, run, rng, log)?;
            self.chains(trace, run, rng, log)?;
            self.leftovers(trace, run, rng, log)?;
            self.rest(trace, rng, log)?;
            self.walls(trace, run, rng, log)?;
            self.plan.update(trace, learns, approximate)?;
            match self.plan.has_others() && !self.plan.smooth.is_empty() {
                true if learns => self.rounds.learn(trace, &self.plan.smooth),
                false if learns => self.rounds.reset(),
                _ => {}
            }
        }
        self.forward(trace, log)?;
        self.sweeps += 1;
        Ok(())
    }

    fn save(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        self.save_learnt(out)
    }

    fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        self.load_learnt(from)
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        self.plan.update(look.trace, true, false)?;
        let groups = self.walls.groups(look.trace);
        let by_members = self.members_in_words(look)?;
        let by_reference = match self.plan.smooth.is_empty() {
            true => None,
            false => {
                let Plan { smooth, left_out, .. } = &self.plan;
                let block = joint::Block { choices: smooth, left_out: Some(left_out) };
                Some(self.reference.words(look, block)?)
            }
        };
        let mut explanation = explain::explain(&mut self.plan, &groups, by_reference, look)?;
        explanation.notes.extend(by_members);
        Ok(explanation)
    }
}

/// What is the same for all kernels of a round.
#[derive(Clone, Copy)]
struct Round {
    learns: bool,
    approximate: bool,
}

impl AutoKernel {
    /// Whether the block of the plan moves jointly. A block that is new in the draws has nothing learnt that could stay
    /// as it is: its choices move one by one.
    fn moves_jointly(&self, trace: &Trace, round: Round) -> bool {
        let block = &self.plan.smooth;
        let is_known = || {
            let kernels = [&self.nuts, &self.standardised];
            self.reference.serves(trace, block) || kernels.iter().any(|k| k.knows(trace, block))
        };
        !block.is_empty() && (round.learns || is_known())
    }

    /// Moves the block by a reference, where it stands above many rows and that is the better way; whether trajectories need not
    /// move it as well. In the draws neither changes.
    fn by_reference(
        &mut self,
        trace: &mut Trace,
        round: Round,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<bool, EvalError> {
        let AutoKernel {
            plan: Plan { smooth, left_out, .. },
            reference,
            nuts,
            standardised,
            sweeps,
            ..
        } = self;
        if !round.learns && !reference.serves(trace, smooth) {
            return Ok(false);
        }
        let block = joint::Block { choices: smooth, left_out: Some(left_out) };
        if reference.transition(trace, block, rng, log)?.is_err() {
            return Ok(false);
        }
        // Now and then trajectories as well, in case the reference misses something. Those that the warm-up had no time for have
        // learnt nothing.
        let seldom = reference.insurance(trace, smooth);
        if *sweeps % seldom != seldom - 1 {
            return Ok(true);
        }
        let is_known = nuts.knows(trace, smooth) || standardised.knows(trace, smooth);
        if round.learns && !is_known {
            // They need not learn what the reference knows.
            reference.metric(trace, smooth).into_iter().for_each(|metric| nuts.take_metric(metric));
        }
        Ok(!round.learns && !is_known)
    }

    /// In the warm-up: trajectories that come to where the reference does not reach show that it serves no longer, and so do chains
    /// that stand for long.
    fn doubt_reference(&mut self, trace: &mut Trace, round: Round) -> Result<(), EvalError> {
        let block = &self.plan.smooth;
        if !round.learns || self.reference.is_held(trace, block) {
            return Ok(());
        }
        if self.reference.is_doubtful(trace, block)? {
            self.nuts.forget(trace, block);
        }
        Ok(())
    }

    /// The forms that have their turn. One that does not know the block in the draws has nothing to move it by.
    fn turns(&self, trace: &Trace, round: Round, rng: &mut Rng) -> [bool; FORMS] {
        if !self.plan.is_hierarchical {
            return [true, false];
        }
        let block = &self.plan.smooth;
        let kernels = [&self.nuts, &self.standardised];
        let may = kernels.map(|kernel| round.learns || kernel.knows(trace, block));
        let shares = self.forms.shares(round.learns);
        let drawn = shares.map(|share| share >= 1.0 || rng.uniform() < share);
        let turns = [drawn[0] && may[0], drawn[1] && may[1]];
        if turns.contains(&true) { turns } else { may }
    }

    /// Hangs on the block and on whether it is known. Neither changes: see [`plan`].
    fn joint(
        &mut self,
        trace: &mut Trace,
        round: Round,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        self.plan.update(trace, round.learns, round.approximate)?;
        if !self.moves_jointly(trace, round) {
            return Ok(());
        }
        if self.by_reference(trace, round, rng, log)? {
            self.stuck = false;
        } else {
            self.by_trajectories(trace, round, rng, log)?;
            self.doubt_reference(trace, round)?;
        }
        self.check_block(trace, round)?;
        // What the block was moved without must fit before anybody looks at it.
        if self.plan.has_others() {
            self.draw_idle(trace, log)?;
        }
        Ok(())
    }

    fn by_trajectories(
        &mut self,
        trace: &mut Trace,
        round: Round,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let planned = log.planned().and_then(|n| n.checked_sub(self.sweeps)).filter(|n| *n > 0);
        let planned = planned.map(|n| n * self.rounds.number as u64);
        let turns = self.turns(trace, round, rng);
        let learns = self.plan.is_hierarchical && log.run.phase == Phase::Warmup;
        let AutoKernel { plan, nuts, standardised, forms, .. } = self;
        let Plan { smooth, left_out, densities, .. } = plan;
        let block = joint::Block { choices: smooth, left_out: Some(left_out) };
        if learns {
            forms.begin(trace, block.choices);
        }
        // From an impossible state there are no trajectories: one by one, until it is possible.
        self.stuck = false;
        for (form, kernel) in [nuts, standardised].into_iter().enumerate() {
            if !turns[form] || self.stuck {
                continue;
            }
            densities[form].take().into_iter().for_each(|density| kernel.offer(density));
            let before = (log.tally.trajectories, log.tally.gradients);
            self.stuck = !kernel.transition(trace, block, planned, rng, log)?;
            if form == STANDARDISED {
                log.tally.standardised += log.tally.trajectories - before.0;
            }
            if learns {
                forms.note(trace, form, log.tally.gradients - before.1);
            }
        }
        if learns {
            forms.learn();
        }
        Ok(())
    }

    /// In debug builds, now and then: the move has not changed what belongs to the block.
    fn check_block(&mut self, trace: &mut Trace, round: Round) -> Result<(), EvalError> {
        if cfg!(debug_assertions) && self.sweeps.is_multiple_of(CHECKED) {
            let before = self.plan.smooth.clone();
            self.plan.forget();
            self.plan.update(trace, false, round.approximate)?;
            assert_eq!(before, self.plan.smooth, "a joint move has changed what is joint");
        }
        Ok(())
    }

    /// Hangs on the chains, which decide nothing but which side of a branch is taken.
    fn chains(
        &mut self,
        trace: &mut Trace,
        round: Round,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        self.plan.update(trace, round.learns, round.approximate)?;
        let AutoKernel { plan, singles, stream, .. } = self;
        let Plan { chains, left_out, .. } = plan;
        for chain in chains {
            let idle = stream.as_mut().expect("a stream for every transition");
            chain.transition(trace, (left_out, idle), singles, rng, &mut log.tally)?;
        }
        Ok(())
    }

    /// Choices that may be joint or part of a chain, but are not as things stand when their turn comes.
    fn leftovers(
        &mut self,
        trace: &mut Trace,
        round: Round,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        if !trace.has_fault(Fault::PlanOfTheStart) {
            self.plan.update(trace, round.learns, round.approximate)?;
        }
        let joint = |default: &AutoKernel, trace: &Trace| {
            default.plan.smooth.is_empty()
                || (!default.stuck && default.moves_jointly(trace, round))
        };
        if !self.plan.has_leftovers && joint(self, trace) {
            return Ok(());
        }
        let mut sweep = Sweep::of(Target { scope: Scope::Default, block: Block::Each });
        while let Some(block) = sweep.next(trace) {
            for id in block {
                if !self.plan.is_steady(trace.address(id)) {
                    continue;
                }
                if !trace.has_fault(Fault::PlanOfTheStart) {
                    self.plan.update(trace, round.learns, round.approximate)?;
                }
                match self.plan.class(trace, id)? {
                    Class::Members | Class::Chain | Class::Particles | Class::Idle => {}
                    Class::Smooth if joint(self, trace) => {}
                    Class::Tall => self.move_tall(trace, id, rng, log)?,
                    _ => self.move_alone(trace, id, rng, log)?,
                }
            }
        }
        Ok(())
    }

    /// All choices that are moved by themselves in any state, and those that only exist in some.
    fn rest(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        if self.plan.is_current(trace) && self.plan.is_all_steady {
            return Ok(());
        }
        let mut sweep = Sweep::of(Target { scope: Scope::Default, block: Block::Each });
        while let Some(block) = sweep.next(trace) {
            for id in block {
                if !self.plan.is_steady(trace.address(id)) {
                    self.move_alone(trace, id, rng, log)?;
                }
            }
        }
        Ok(())
    }

    /// Choices that a wall holds, together. Hangs on addresses alone.
    fn walls(
        &mut self,
        trace: &mut Trace,
        round: Round,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        if round.learns {
            self.plan.update(trace, round.learns, round.approximate)?;
            // What a reference moves is moved together, and to look at it elsewhere is to read all rows.
            let is_together = self.reference.serves(trace, &self.plan.smooth);
            if !is_together || self.plan.has_others() {
                self.walls.look(trace, &self.plan, rng)?;
            }
        }
        let AutoKernel { plan, walls, .. } = self;
        let is_idle = |trace: &Trace, id: NodeId| plan.is_steadily_idle(trace.address(id));
        walls.transition(trace, &is_idle, round.learns, rng, &mut log.tally)
    }

    /// Hangs on which choices are idle: drawing them makes no observation depend on any. In the warm-up nobody looks, but a
    /// structure that they decide is better not left as it is.
    fn forward(&mut self, trace: &mut Trace, log: &mut Log<'_>) -> Result<(), EvalError> {
        let may_wait = log.run.phase == Phase::Warmup && !self.plan.has_unstable_idle();
        if may_wait && !self.sweeps.is_multiple_of(SELDOM) {
            return Ok(());
        }
        self.draw_idle(trace, log)
    }

    fn draw_idle(&mut self, trace: &mut Trace, log: &mut Log<'_>) -> Result<(), EvalError> {
        let (Some(forward), Some(stream)) = (&self.plan.forward, &mut self.stream) else {
            return Ok(());
        };
        let is_drawn = forward.draw(trace, stream)?;
        log.tally.draw(0, is_drawn);
        // Where programs stop with errors, single moves lead to what does not.
        if !is_drawn && self.plan.is_all_idle && log.run.phase != Phase::Draws {
            self.plan.move_idle();
        }
        Ok(())
    }

    /// Hangs on the kind of the choice, which its own move does not change.
    fn move_alone(
        &mut self,
        trace: &mut Trace,
        id: NodeId,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let class = plan::by_itself(trace, id)?;
        let AutoKernel { plan, singles, .. } = self;
        // What is idle below must not hold it where it is.
        let is_done = plan.has_steady_idle() && {
            let is_idle = |trace: &Trace, id: NodeId| plan.is_steadily_idle(trace.address(id));
            singles.step_with_below(trace, (id, class), &is_idle, rng, &mut log.tally)?
        };
        if !is_done {
            singles.step(trace, (id, class), TRIES, rng, &mut log.tally)?;
        }
        debug_assert_eq!(class, plan::by_itself(trace, id)?, "a move has changed its own kind");
        Ok(())
    }

    /// Approximate, by reading some of the sections.
    fn move_tall(
        &mut self,
        trace: &mut Trace,
        id: NodeId,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let target = Target { scope: Scope::Default, block: Block::Each };
        let kernel = self.subsampled.entry(trace.address(id));
        let kernel = kernel.or_insert_with(|| SubsampledMh::automatic(target));
        for _ in 0..TALL_TRIES {
            kernel.move_block(trace, &[id], None, rng, log)?;
        }
        // Then trajectories serve it better.
        if kernel.stays_exact() && log.run.phase != Phase::Draws {
            self.plan.move_exactly(trace.address(id));
        }
        Ok(())
    }
}
