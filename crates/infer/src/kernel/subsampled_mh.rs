//! `(subsampled_mh scope block batch epsilon ['drift sd] n)`: algorithm 3 of the paper.
//!
//! Draw u; find the border; propose the global part; decide by a test on local sections that are
//! drawn without replacement and evaluated without writing. An accepted move writes the global
//! part and leaves the sections stale (section 3.5 of the paper); a rejected one writes nothing.
//! Nothing here costs O(N) but what the test itself reads.
//!
//! With batch and epsilon given the test is the paper's. `auto` for both asks for a trial: see
//! [`crate::trial`]. Without a partition the transition is the exact one, and the run says why.

mod decision;
mod explain;
mod options;
mod saved;
mod variates;

use smidgen_engine::{EvalError, Evaluator, NodeId, Partition, Proposal, Scaffold, Trace};
use smidgen_value::Rng;
use smidgen_value::bytes::Input;

use crate::acceptance::{AcceptanceTest, Exactness, Question};
use crate::austerity::Schedule;
use crate::block::{Selection, Target};
use crate::explain::{Explanation, Look};
use crate::kernel::Kernel;
use crate::kernel::scan::{self, ExactMoves};
use crate::proposer::{Drift, Learner, MoveOutcome, Scale};
use crate::run::{Log, Phase};
use crate::sections::{Orders, Sections, Source};
use crate::spec::KernelSpec;
use crate::trial::{self, Trial, Trials};
use decision::Decision;
use variates::ControlVariates;

pub static SPEC: KernelSpec = KernelSpec {
    name: "subsampled_mh",
    shape: "(subsampled_mh scope block batch epsilon ['drift sd 'adapt true 'min_batches k 'growth g 'audit p 'test t 'control_variates order] n)",
    summary: "Metropolis-Hastings that reads sections of the data in mini-batches until a t-test of level epsilon decides; auto auto lets a trial choose batch and epsilon",
    example: "(subsampled_mh w all 100 0.01 'drift 0.1 1000)",
    positional: &["batch", "epsilon"],
    optional: &[],
    options: &["drift", "adapt", "min_batches", "growth", "audit", "test", "control_variates"],
    build: options::build,
};

/// The share of decisions that are audited unless `'audit` says otherwise.
const AUDIT: f64 = 0.005;

/// How decisions are made.
pub enum Policy {
    Test {
        test: Box<dyn AcceptanceTest>,
        schedule: Schedule,
        epsilon: f64,
    },
    /// Exactly, until enough is known to choose.
    Trial(Trial),
    /// Always exactly: the trial said so.
    Exact,
}

pub struct SubsampledMh {
    target: Target,
    proposer: Box<dyn Learner>,
    policy: Policy,
    /// In automatic mode, as long as another trial may come to another result.
    trials: Option<Trials>,
    audit: f64,
    /// For audits and trials, so that they do not change the chain.
    aside: Option<Rng>,
    /// Approximate decisions in the warm-up.
    warm: u64,
    /// Whether the kinds of sections were looked at.
    looked: bool,
    exact: ExactMoves,
    scaffold: Scaffold,
    partition: Partition,
    evaluator: Evaluator,
    orders: Orders,
    weights: Vec<f64>,
    variates: Option<ControlVariates>,
    spare: Vec<NodeId>,
}

impl SubsampledMh {
    pub fn new(target: Target, proposer: Box<dyn Learner>, policy: Policy) -> Self {
        SubsampledMh {
            target,
            proposer,
            trials: matches!(policy, Policy::Trial(_)).then(Trials::default),
            policy,
            audit: AUDIT,
            aside: None,
            warm: 0,
            looked: false,
            exact: ExactMoves::default(),
            scaffold: Scaffold::new(),
            partition: Partition::new(),
            evaluator: Evaluator::new(),
            orders: Orders::default(),
            weights: Vec::new(),
            variates: None,
            spare: Vec::new(),
        }
    }
}

impl Kernel for SubsampledMh {
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let target = self.target.clone();
        let mut spare = std::mem::take(&mut self.spare);
        let result =
            target.moves(trace, rng, log, &mut spare, &mut |trace, block, scope, rng, log| {
                self.move_block(trace, block, scope, rng, log)
            });
        self.spare = spare;
        result
    }

    fn save(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        self.save_learnt(out);
        Ok(())
    }

    fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        self.load_learnt(from)
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        explain::explain(self, look)
    }
}

impl SubsampledMh {
    /// Decides by trial how much it reads, and learns the scale of its walk.
    pub fn automatic(target: Target) -> SubsampledMh {
        let proposer = Box::new(Drift::adaptive(Scale::Same(0.1)));
        SubsampledMh::new(target, proposer, Policy::Trial(Trial::default()))
    }

    /// Whether it has found that reading less does not pay.
    pub fn stays_exact(&self) -> bool {
        matches!(self.policy, Policy::Exact)
    }

    /// One move of a block.
    pub fn move_block(
        &mut self,
        trace: &mut Trace,
        principals: &[NodeId],
        selection: Selection<'_>,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        if !self.reads_sections(trace, principals, log) {
            let proposer = &mut *self.proposer;
            let moved = self.exact.make(trace, principals, proposer, selection, rng, log)?;
            self.proposer.learn(moved, log);
            return Ok(());
        }
        let has_variates = self.prepare_variates(trace, principals, log)?;
        let log_u = rng.log_uniform();
        let mut proposal = Proposal::propose_global(
            trace,
            &mut self.scaffold,
            principals,
            &self.partition,
            &mut self.evaluator,
            (&mut *self.proposer, rng),
        )?;
        let population = self.partition.population();
        let compiled = self.partition.is_compiled(proposal.trace());
        let record = log.run.kernel(log.number);
        (record.reads_sections, record.compiled) = (true, record.compiled || compiled);
        log.tally.transitions += 1;
        log.tally.population += population as u64;
        // The number of blocks cannot change: there is no structure below the block.
        let question = Question { log_u, log_global: proposal.log_ratio(), population };
        let accept = if proposal.is_identity() {
            true
        } else if question.log_global == f64::NEG_INFINITY {
            false
        } else {
            let mut question = question;
            let mut variates = self.variates.as_mut().filter(|_| has_variates);
            if let Some(given) = variates.as_mut() {
                match given.look_ahead(&mut proposal)? {
                    Some(difference) => question.log_global += difference,
                    None => variates = None,
                }
            }
            let (mut of_sections, mut beyond);
            let sections: &mut dyn Source = match variates {
                Some(variates) => {
                    beyond = variates.differences(rng);
                    &mut beyond
                }
                None => {
                    of_sections = Sections::new(
                        &mut proposal,
                        &self.partition,
                        &mut self.evaluator,
                        &mut self.orders,
                        rng,
                    );
                    &mut of_sections
                }
            };
            let decision = Decision {
                policy: &mut self.policy,
                trials: &mut self.trials,
                aside: &mut self.aside,
                weights: &mut self.weights,
                warm: &mut self.warm,
                audit: log.run.audit.unwrap_or(self.audit),
            };
            decision.decide(&question, sections, log)?
        };
        log.tally.accepted += u64::from(accept);
        if accept {
            proposal.commit_lazily();
        }
        // The acceptance probability is not known, and an estimate of it from a mini-batch would be
        // biased upwards (theory 8.6): the decision stands for it.
        self.proposer.learn(MoveOutcome::decided(accept), log);
        Ok(())
    }

    /// Whether control variates were asked for and there are some; says why not, once.
    fn prepare_variates(
        &mut self,
        trace: &mut Trace,
        principals: &[NodeId],
        log: &mut Log<'_>,
    ) -> Result<bool, EvalError> {
        let Some(variates) = &mut self.variates else { return Ok(false) };
        let population = self.partition.population();
        let ready = variates.prepare(trace, principals, population)?;
        if let Err(why) = &ready {
            log.warn(format!("no control variates for {}: {why}", self.target));
        }
        Ok(ready.is_ok())
    }

    /// Whether the block is decided by sections: there is a partition, and the test would not
    /// read everything anyway.
    fn reads_sections(
        &mut self,
        trace: &mut Trace,
        principals: &[NodeId],
        log: &mut Log<'_>,
    ) -> bool {
        if log.run.exact {
            return false;
        }
        if let Some(trials) = &mut self.trials
            && !matches!(self.policy, Policy::Trial(_))
            && log.run.phase != Phase::Draws
            && trials.is_due()
        {
            self.policy = Policy::Trial(Trial::default());
        }
        if let Policy::Exact = self.policy {
            return false;
        }
        if let Err(refusal) = self.partition.find(trace, principals) {
            log.refused(refusal);
            return false;
        }
        self.look_at_kinds(trace, log);
        let population = self.partition.population();
        match &self.policy {
            // With epsilon 0 everything is read anyway: in order, if that pays.
            Policy::Test { test, schedule, .. } if test.exactness() == Exactness::Exact => {
                population > schedule.first && population < scan::MANY
            }
            Policy::Test { schedule, .. } => population > schedule.first,
            Policy::Trial(_) => population > trial::FEW,
            Policy::Exact => false,
        }
    }

    /// Warns if the block moves the support of choices: sections may become impossible, which a
    /// test does not see unless it reads them.
    fn look_at_kinds(&mut self, trace: &Trace, log: &mut Log<'_>) {
        if std::mem::replace(&mut self.looked, true) {
            return;
        }
        let kinds = self.partition.kinds(trace);
        let Some(hard) = kinds.iter().find(|count| count.kind.hard) else { return };
        let what = format!(
            "the support of sections like {} depends on {}: a proposal may make them impossible, which a test does not notice unless it reads them",
            hard.kind, self.target
        );
        match &self.policy {
            Policy::Trial(_) => {
                (self.policy, self.trials) = (Policy::Exact, None);
                log.chose(Err(what));
            }
            Policy::Test { test, .. } if test.exactness() != Exactness::Exact => {
                log.warn(format!("{what}; use an exact kernel, or epsilon 0"));
            }
            _ => {}
        }
    }
}
