//! `(subsampled_mh scope block batch epsilon ['drift sd] n)`: algorithm 3 of the paper.
//!
//! Draw u; find the border; propose the global part; decide by a test on local sections that are
//! drawn without replacement and evaluated without writing. An accepted move writes the global
//! part and leaves the sections stale (section 3.5 of the paper); a rejected one writes nothing.
//! Nothing here costs O(N) but what the test itself reads.
//!
//! With batch and epsilon given the test is the paper's. `auto` for both asks for a trial: see
//! [`crate::trial`]. Without a partition the transition is the exact one, and the run says why.

mod explain;

use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{
    EvalError, Evaluator, NodeId, Partition, Proposal, Proposer, Scaffold, Trace,
};
use smidgen_lang::Diagnostic;
use smidgen_value::{Rng, Value};

use crate::acceptance::{
    AcceptanceTest, Exact, Exactness, LogWeights, Question, Stratified, StudentT,
};
use crate::audit::Audit;
use crate::austerity::{Accumulator, Pair, Schedule, check};
use crate::block::{Selection, Target};
use crate::explain::{Explanation, Look};
use crate::kernel::Kernel;
use crate::kernel::mh::mh_move;
use crate::proposer::Drift;
use crate::run::{Log, Phase};
use crate::source::{Orders, Source};
use crate::spec::{AUTO, Argument, Arguments, KernelSpec};
use crate::trial::{self, Choice, Trial, Trials};

pub static SPEC: KernelSpec = KernelSpec {
    name: "subsampled_mh",
    shape: "(subsampled_mh scope block batch epsilon ['drift sd 'min_batches k 'growth g 'audit p 'test t] n)",
    summary: "Metropolis-Hastings that reads sections of the data in mini-batches until a t-test of level epsilon decides; auto auto lets a trial choose batch and epsilon",
    example: "(subsampled_mh w all 100 0.01 'drift 0.1 1000)",
    positional: &["batch", "epsilon"],
    options: &["drift", "min_batches", "growth", "audit", "test"],
    build,
};

/// The share of decisions that are audited unless `'audit` says otherwise.
const AUDIT: f64 = 0.005;

fn build(arguments: &Arguments<'_>) -> Result<Box<dyn Kernel>, Diagnostic> {
    let proposer: Box<dyn Proposer + Send> = match arguments.option("drift") {
        Some(argument) => Box::new(Drift::new(argument.scale()?)),
        None => Box::new(FromPrior),
    };
    let audit = match arguments.option("audit") {
        Some(argument) => probability(argument)?,
        None => AUDIT,
    };
    let mut kernel = SubsampledMh::new(arguments.target.clone(), proposer, policy(arguments)?);
    kernel.audit = audit;
    Ok(Box::new(kernel))
}

fn policy(arguments: &Arguments<'_>) -> Result<Policy, Diagnostic> {
    let [batch, epsilon] = &arguments.positional[..] else {
        unreachable!("the reader has counted the positional arguments")
    };
    let is_auto = |argument: &Argument<'_>| matches!(&argument.value, Value::Symbol(name) if name.as_str() == AUTO);
    if is_auto(batch) || is_auto(epsilon) {
        if !is_auto(batch) || !is_auto(epsilon) {
            let given = if is_auto(batch) { epsilon } else { batch };
            return Err(given.error("auto (batch and epsilon are both auto, or both given)"));
        }
        if let Some((name, option)) =
            arguments.options.iter().find(|(name, _)| !["drift", "audit"].contains(name))
        {
            let message = format!("'{name} has no meaning with auto: the trial chooses");
            return Err(Diagnostic::error(option.syntax.span, message));
        }
        return Ok(Policy::Trial(Trial::default()));
    }
    let batch = whole(batch, "a batch (a whole number, at least 1)")?;
    let in_range = |epsilon: &f64| (0.0..=0.5).contains(epsilon);
    let level = epsilon.value.as_number().filter(in_range);
    let level = level.ok_or_else(|| epsilon.error("an epsilon from 0 to 0.5"))?;
    let min_batches = match arguments.option("min_batches") {
        Some(argument) => whole(argument, "a number of batches before the first look, at least 1")?,
        None => 1,
    };
    let growth = match arguments.option("growth") {
        Some(argument) => {
            let growth = argument.value.as_number().filter(|g| (1.0..=1e6).contains(g));
            growth.ok_or_else(|| argument.error("a growth of the batches, at least 1"))?
        }
        None => 1.0,
    };
    let schedule = Schedule { first: batch.saturating_mul(min_batches), batch, growth };
    let name = arguments.option("test").map(|argument| (argument, argument.value.to_string()));
    let test: Box<dyn AcceptanceTest> = match name.as_ref().map(|(_, name)| name.as_str()) {
        _ if level == 0.0 => Box::new(Exact),
        None | Some("student_t") => Box::new(StudentT::new(schedule, level)),
        Some("stratified") => Box::new(Stratified::new(schedule, level)),
        Some(_) => {
            let argument = name.expect("matched above").0;
            return Err(argument.error("a test: 'student_t or 'stratified"));
        }
    };
    Ok(Policy::Test { test, schedule, epsilon: level })
}

fn whole(argument: &Argument<'_>, wanted: &str) -> Result<usize, Diagnostic> {
    let n = argument.value.as_integer().and_then(|n| usize::try_from(n).ok());
    n.filter(|n| *n >= 1).ok_or_else(|| argument.error(wanted))
}

fn probability(argument: &Argument<'_>) -> Result<f64, Diagnostic> {
    let p = argument.value.as_number().filter(|p| (0.0..=1.0).contains(p));
    p.ok_or_else(|| argument.error("a share of decisions, from 0 to 1"))
}

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
    proposer: Box<dyn Proposer + Send>,
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
    scaffold: Scaffold,
    partition: Partition,
    evaluator: Evaluator,
    orders: Orders,
    weights: Vec<f64>,
    spare: Vec<NodeId>,
}

impl SubsampledMh {
    pub fn new(target: Target, proposer: Box<dyn Proposer + Send>, policy: Policy) -> Self {
        SubsampledMh {
            target,
            proposer,
            trials: matches!(policy, Policy::Trial(_)).then(Trials::default),
            policy,
            audit: AUDIT,
            aside: None,
            warm: 0,
            looked: false,
            scaffold: Scaffold::new(),
            partition: Partition::new(),
            evaluator: Evaluator::new(),
            orders: Orders::default(),
            weights: Vec::new(),
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

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        explain::explain(self, look)
    }
}

impl SubsampledMh {
    fn move_block(
        &mut self,
        trace: &mut Trace,
        principals: &[NodeId],
        selection: Selection<'_>,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        if !self.reads_sections(trace, principals, log) {
            let proposer = &mut *self.proposer;
            let tally = &mut log.tally;
            return mh_move(trace, &mut self.scaffold, principals, proposer, selection, rng, tally);
        }
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
        log.run.kernel(log.number).reads_sections = true;
        log.tally.transitions += 1;
        log.tally.population += population as u64;
        // The number of blocks cannot change: there is no structure below the block.
        let question = Question { log_u, log_global: proposal.log_ratio(), population };
        let accept = if proposal.is_identity() {
            true
        } else if question.log_global == f64::NEG_INFINITY {
            false
        } else {
            let mut source = Source::new(
                &mut proposal,
                &self.partition,
                &mut self.evaluator,
                &mut self.orders,
                rng,
            );
            let decision = Decision {
                policy: &mut self.policy,
                trials: &mut self.trials,
                aside: &mut self.aside,
                weights: &mut self.weights,
                warm: &mut self.warm,
                audit: log.run.audit.unwrap_or(self.audit),
            };
            decision.decide(&question, &mut source, log)?
        };
        log.tally.accepted += u64::from(accept);
        if accept {
            proposal.commit_lazily();
        }
        Ok(())
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

/// One decision, with what may be learnt from it.
struct Decision<'a> {
    policy: &'a mut Policy,
    trials: &'a mut Option<Trials>,
    aside: &'a mut Option<Rng>,
    weights: &'a mut Vec<f64>,
    warm: &'a mut u64,
    audit: f64,
}

impl Decision<'_> {
    fn decide(
        self,
        question: &Question,
        source: &mut Source<'_, '_>,
        log: &mut Log<'_>,
    ) -> Result<bool, EvalError> {
        match self.policy {
            Policy::Test { test, schedule, epsilon } => {
                let (schedule, epsilon) = (*schedule, *epsilon);
                // The current state is impossible: anything possible is better.
                let verdict = match question.log_global == f64::INFINITY {
                    true => Exact.decide(question, source)?,
                    false => test.decide(question, source)?,
                };
                log.sections(verdict.sections);
                if test.exactness() == Exactness::Exact {
                    return Ok(verdict.accept);
                }
                log.tally.approximate += 1;
                log.tally.exhausted += u64::from(verdict.sections == question.population);
                if verdict.impossible {
                    log.warn("a section became impossible at a proposed value: a test does not notice such sections unless it reads them, so proposals may have been accepted wrongly; use an exact kernel, or epsilon 0".to_owned());
                }
                let aside = self.aside.get_or_insert_with(|| source.stream_aside());
                let check_due = log.run.phase == Phase::Warmup && {
                    *self.warm += 1;
                    trial::is_due(*self.warm)
                };
                if check_due || aside.uniform() < self.audit {
                    let log_alpha = read_all(question, source, self.weights)?;
                    log.tally.audit_sections += question.population as u64;
                    log.audit(Audit {
                        log_alpha,
                        sigma: population_sd(self.weights),
                        log_u: question.log_u,
                        population: question.population,
                        sections: verdict.sections,
                        accepted: verdict.accept,
                        schedule,
                        epsilon,
                    });
                    log.weights(question.log_global, self.weights);
                    if check_due && log_alpha.is_finite() {
                        log.check(check(self.weights, schedule.first, epsilon, aside));
                    }
                }
                Ok(verdict.accept)
            }
            Policy::Trial(trial) => {
                let log_alpha = read_all(question, source, self.weights)?;
                let accept = question.log_u < log_alpha;
                log.sections(question.population);
                if log_alpha.is_finite() {
                    let aside = self.aside.get_or_insert_with(|| source.stream_aside());
                    let sigma_l = population_sd(self.weights);
                    let pair = Pair { log_alpha, sigma_l, population: question.population };
                    if let Some(choice) = trial.add(pair, self.weights, aside) {
                        self.trials.iter_mut().for_each(Trials::end);
                        *self.policy = choice.into_policy(log);
                    }
                }
                Ok(accept)
            }
            Policy::Exact => unreachable!("such blocks are moved whole"),
        }
    }
}

impl Choice {
    fn into_policy(self, log: &mut Log<'_>) -> Policy {
        match self {
            Choice::Test { test, schedule, epsilon, note } => {
                log.chose(Ok(note));
                Policy::Test { test: Box::new(test), schedule, epsilon }
            }
            Choice::Exact(reason) => {
                log.chose(Err(reason));
                Policy::Exact
            }
        }
    }
}

/// The standard deviation, divisor N.
fn population_sd(weights: &[f64]) -> f64 {
    let seen: Accumulator = weights.iter().copied().collect();
    (seen.m2 / seen.n as f64).sqrt()
}

/// Reads every section: log α.
fn read_all(
    question: &Question,
    source: &mut Source<'_, '_>,
    weights: &mut Vec<f64>,
) -> Result<f64, EvalError> {
    weights.clear();
    source.scan(&mut |weight| {
        weights.push(weight);
        weight > f64::NEG_INFINITY
    })?;
    Ok(question.log_global + weights.iter().sum::<f64>())
}
