//! Where directives act: on one trace or, after `(resample particles)`, on many.
//!
//! The first `resample` executes the directives so far (`infer` left out) in each of P particles,
//! from the prior, each with a random stream of its own. A particle's weight is the density of its
//! observations since the last `resample`. Resampling is systematic: of the P points (u + k)/P each picks the
//! particle whose share of the total weight it falls into. With w_s the weights before the s-th
//! `resample`,
//!
//! log Z ≈ Σ_s log( (1/P) Σ_i w_s^i ),
//!
//! and exp of it is an unbiased estimate of the probability of all observations. Later directives
//! act on every particle; what they show is that of one particle, drawn by weight. A directive
//! happens in all particles or in none; but a particle in which it meets a parameter outside its
//! domain, where another past might have avoided that, has weight 0 from there on and takes part in
//! nothing until the next `resample` leaves it behind.
//!
//! Without `resample` all this costs a list of the directives.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use smidgen_draws::KernelReport;
use smidgen_engine::Model;
use smidgen_engine::environment::Environment;
use smidgen_engine::operand::Operand;
use smidgen_infer::kernel::pgibbs::{Multinomial, Resampler};
use smidgen_infer::spec::is_head;
use smidgen_lang::lower::Scope;
use smidgen_lang::syntax::{Syntax, SyntaxKind};
use smidgen_lang::{Diagnostic, SourceMap, printer};
use smidgen_value::{Rng, Value, math};

use crate::catalog::Catalog;
use crate::compile::{Step, StepKind};
use crate::execute::{ExecutionContext, Executor, Mode, in_directive, infers, range_of};
use crate::missing;
use crate::outcome::{Inferred, Outcome, OutcomeKind};

/// What an execution reads.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub catalog: &'a Catalog,
    pub sources: &'a SourceMap,
    pub interrupt: &'a Arc<AtomicBool>,
}

/// What was predicted: its name, the number of the record, what it refers to.
pub type Predicted = Vec<(String, u64, Operand)>;

/// One trace with its stream.
struct Particle {
    model: Model,
    rng: Rng,
    predicted: Predicted,
}

/// A directive that has happened.
struct Past {
    step: Arc<Step>,
    environment: Environment,
    suffix: String,
}

/// A directive that was tried in every particle.
struct Attempt {
    /// What each has shown, as far as it was tried.
    shown: Vec<Vec<Outcome>>,
    /// Particles that met a parameter outside its domain.
    broken: Vec<usize>,
    failed: Option<Diagnostic>,
}

pub struct ParticlePopulation {
    /// The only one, until there are particles.
    single: Particle,
    particles: Vec<Particle>,
    past: Vec<Past>,
    /// Whether a loop with `infer` in it had names for what can change: its past means something in one trace only.
    has_named: bool,
    log_marginal: f64,
    /// Particles made so far.
    made: u32,
}

const NAMED_AND_RESAMPLED: &str =
    "a let in a loop with infer in it, of what can change, does not go with resample";
const WRITE_OUT: &str = "write the expression out, or assume a memoised procedure of the round";

/// Whether an inference program resamples, alone or as a step of a `do`.
fn resamples(kernel: &Syntax) -> bool {
    match &kernel.kind {
        SyntaxKind::List(items) if is_head(items, "resample") => true,
        SyntaxKind::List(items) if is_head(items, "do") => items[1..].iter().any(resamples),
        _ => false,
    }
}

/// Whether a step makes particles.
pub fn makes_particles(step: &Step) -> bool {
    match &step.kind {
        StepKind::Infer { kernel, .. } => resamples(kernel),
        StepKind::For { body, .. } => body.iter().any(|inner| makes_particles(inner)),
        _ => false,
    }
}

/// Where a step stands: the variables of the loops around it, and the end of its label.
#[derive(Clone, Copy)]
struct DirectivePlace<'a> {
    environment: &'a Environment,
    suffix: &'a str,
}

impl Particle {
    fn new(rng: Rng, interrupt: &Arc<AtomicBool>) -> Particle {
        let mut model = Model::new();
        model.trace_mut().interrupt = interrupt.clone();
        Particle { model, rng, predicted: Vec::new() }
    }

    /// Executes with a desk of its own; gives what is shown.
    fn with_executor<T>(
        &mut self,
        context: &Context<'_>,
        tentative: bool,
        body: impl FnOnce(&mut Executor<'_>) -> Result<T, Diagnostic>,
    ) -> Result<(T, Vec<Outcome>), Diagnostic> {
        let Context { catalog, sources, interrupt } = *context;
        let mut desk =
            ExecutionContext::new(&mut self.rng, catalog, sources, interrupt.clone(), Mode::Run);
        desk.tentative = tentative;
        let mut executor = Executor { model: &mut self.model, desk };
        let value = body(&mut executor)?;
        let ExecutionContext { outcomes, predicted, .. } = executor.desk;
        self.predicted.extend(predicted);
        Ok((value, outcomes))
    }

    fn log_weight(&self) -> f64 {
        if self.model.is_broken() { f64::NEG_INFINITY } else { self.model.log_weight() }
    }

    fn is_dead(&self) -> bool {
        self.log_weight() == f64::NEG_INFINITY
    }
}

impl ParticlePopulation {
    pub fn new(rng: Rng, interrupt: &Arc<AtomicBool>) -> ParticlePopulation {
        ParticlePopulation {
            single: Particle::new(rng, interrupt),
            particles: Vec::new(),
            past: Vec::new(),
            has_named: false,
            log_marginal: 0.0,
            made: 0,
        }
    }

    /// The trace, or that of the first particle that has come as far as the directives.
    pub fn front(&mut self) -> &mut Model {
        &mut self.first().model
    }

    fn first(&mut self) -> &mut Particle {
        let whole = self.particles.iter().position(|particle| !particle.model.is_broken());
        match whole {
            Some(k) => &mut self.particles[k],
            None => &mut self.single,
        }
    }

    /// A particle drawn by weight, or the only trace, with what it predicted.
    pub fn one(&mut self) -> (&mut Model, &Predicted) {
        let particle = match self.shown() {
            Some(k) => &mut self.particles[k],
            None => &mut self.single,
        };
        (&mut particle.model, &particle.predicted)
    }

    /// Executes a directive; gives what is shown.
    pub fn execute(
        &mut self,
        step: &Arc<Step>,
        context: &Context<'_>,
    ) -> Result<Vec<Outcome>, Diagnostic> {
        let mut outcomes = Vec::new();
        let place = DirectivePlace { environment: &Environment::default(), suffix: "" };
        self.at_top(step, place, context, &mut outcomes)?;
        Ok(outcomes)
    }

    fn at_top(
        &mut self,
        step: &Arc<Step>,
        place: DirectivePlace<'_>,
        context: &Context<'_>,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), Diagnostic> {
        let DirectivePlace { environment, suffix } = place;
        let is_left_out = missing::is_left_out(step, self.front(), environment, &mut Rng::unused());
        if is_left_out.map_err(|error| in_directive(error.into_diagnostic(), step.span))? {
            return Ok(());
        }
        match &step.kind {
            StepKind::For { bounds, body, .. } if infers(step) => {
                // The bounds are constants: the same in every particle.
                let mut rng = Rng::unused();
                for i in range_of(self.front(), bounds, step.span, environment, &mut rng)? {
                    let mut inner = environment.push([Operand::Constant(Value::Number(i as f64))]);
                    let suffix = format!("{suffix}[{i}]");
                    for inner_step in body {
                        if let StepKind::Let { .. } = inner_step.kind {
                            inner = inner.push([self.name(inner_step, &inner, context)?]);
                            continue;
                        }
                        let place = DirectivePlace { environment: &inner, suffix: &suffix };
                        self.at_top(inner_step, place, context, outcomes)?;
                    }
                }
                Ok(())
            }
            StepKind::Clear => {
                self.single.model.clear();
                self.single.predicted.clear();
                self.particles.clear();
                self.past.clear();
                self.has_named = false;
                self.log_marginal = 0.0;
                Ok(())
            }
            StepKind::Infer { kernel, scope } => {
                let mut inferred = None;
                self.infer(step, (kernel, scope), place, context, &mut inferred)
                    .map_err(|diagnostic| in_directive(diagnostic, step.span))?;
                let label = step.label.as_ref().map(|label| format!("{label}{suffix}"));
                let kind = OutcomeKind::Infer(inferred.unwrap_or_default());
                outcomes.push(Outcome { directive: step.number, label, kind });
                Ok(())
            }
            _ if self.particles.is_empty() => {
                let (_, shown) = self.single.with_executor(context, false, |executor| {
                    executor.at_top(step, environment, suffix)
                })?;
                outcomes.extend(shown);
                let shows_only = matches!(
                    step.kind,
                    StepKind::Sample { .. }
                        | StepKind::Report { .. }
                        | StepKind::LogJoint
                        | StepKind::LogLikelihood
                );
                if !shows_only {
                    let (step, environment) = (step.clone(), environment.clone());
                    self.past.push(Past { step, environment, suffix: suffix.to_owned() });
                }
                Ok(())
            }
            _ => self.everywhere(step, place, context, outcomes),
        }
    }

    /// What a round of a loop has a name for. A name for something that can change means that in one trace only.
    fn name(
        &mut self,
        step: &Step,
        environment: &Environment,
        context: &Context<'_>,
    ) -> Result<Operand, Diagnostic> {
        if !self.particles.is_empty() {
            return Err(Diagnostic::error(step.span, NAMED_AND_RESAMPLED).hint(WRITE_OUT));
        }
        let named = |executor: &mut Executor<'_>| executor.name(step, environment);
        let (operand, _) = self.single.with_executor(context, false, named)?;
        self.has_named |= operand.node().is_some();
        Ok(operand)
    }

    /// A directive in every particle, or in none.
    fn everywhere(
        &mut self,
        step: &Step,
        DirectivePlace { environment, suffix }: DirectivePlace<'_>,
        context: &Context<'_>,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), Diagnostic> {
        if let StepKind::Forget { label } = &step.kind
            && self.front().is_observation(label)
        {
            let message = "an observation cannot be forgotten after resample: it is part of the particles' weights";
            return Err(Diagnostic::error(step.span, message).hint("[clear] starts over"));
        }
        let mut attempt = self.attempt(step, environment, suffix, context);
        let failed = attempt.failed.take();
        self.conclude(&attempt, failed.is_none());
        if let Some(diagnostic) = failed {
            return Err(diagnostic);
        }
        if attempt.shown.iter().any(|outcomes| !outcomes.is_empty())
            && let Some(k) = self.shown()
        {
            outcomes.append(&mut attempt.shown[k]);
        }
        Ok(())
    }

    /// A directive in every particle, as far as it comes; [`ParticlePopulation::conclude`] decides whether it has happened.
    fn attempt(
        &mut self,
        step: &Step,
        environment: &Environment,
        suffix: &str,
        context: &Context<'_>,
    ) -> Attempt {
        let mut shown = Vec::with_capacity(self.particles.len());
        let mut failed = None;
        let mut broken = Vec::new();
        for (k, particle) in self.particles.iter_mut().enumerate() {
            if particle.model.is_broken() {
                shown.push(Vec::new());
                continue;
            }
            let result = particle.with_executor(context, true, |executor| {
                executor.at_top(step, environment, suffix)
            });
            match result {
                Ok((_, outcomes)) => shown.push(outcomes),
                Err(diagnostic) if particle.model.is_broken() => {
                    shown.push(Vec::new());
                    broken.push((k, diagnostic));
                }
                Err(diagnostic) => {
                    failed = Some(diagnostic);
                    break;
                }
            }
        }
        if failed.is_none() && self.particles.iter().all(|particle| particle.model.is_broken()) {
            failed = broken.last().map(|(_, diagnostic)| diagnostic.clone());
        }
        let broken = broken.into_iter().map(|(k, _)| k).collect();
        Attempt { shown, broken, failed }
    }

    fn conclude(&mut self, attempt: &Attempt, keep: bool) {
        for particle in &mut self.particles[..attempt.shown.len()] {
            particle.model.conclude(keep);
        }
        if !keep {
            attempt.broken.iter().for_each(|k| self.particles[*k].model.mend());
        }
    }

    /// Which particle is shown.
    fn shown(&mut self) -> Option<usize> {
        let log_weights: Vec<f64> = self.particles.iter().map(Particle::log_weight).collect();
        let mut lots = Multinomial::default();
        match lots.weigh(&log_weights) {
            true => Some(lots.draw(&mut self.single.rng)),
            false => self.particles.iter().position(|particle| !particle.model.is_broken()),
        }
    }

    /// Runs an inference program on the trace, or on every particle.
    fn infer(
        &mut self,
        step: &Step,
        (kernel, scope): (&Syntax, &Scope),
        place: DirectivePlace<'_>,
        context: &Context<'_>,
        done: &mut Option<Inferred>,
    ) -> Result<(), Diagnostic> {
        if let SyntaxKind::List(items) = &kernel.kind
            && resamples(kernel)
        {
            if is_head(items, "resample") {
                let inferred = self.resample((kernel, scope), place, context)?;
                let log_marginal = inferred.log_marginal_likelihood;
                let done = done.get_or_insert_default();
                done.add(inferred);
                done.log_marginal_likelihood = log_marginal;
                return Ok(());
            }
            return items[1..]
                .iter()
                .try_for_each(|item| self.infer(step, (item, scope), place, context, done));
        }
        let DirectivePlace { environment, suffix } = place;
        let shown = self.shown();
        let all = match self.particles.is_empty() {
            true => std::slice::from_mut(&mut self.single),
            false => &mut self.particles[..],
        };
        let mut together: Option<Inferred> = None;
        for (k, particle) in all.iter_mut().enumerate() {
            // What cannot come back need not move.
            if shown.is_some() && particle.is_dead() {
                continue;
            }
            let (_, outcomes) = particle.with_executor(context, false, |executor| {
                executor.infer(step, kernel, scope, environment, suffix)
            })?;
            for outcome in outcomes {
                let OutcomeKind::Infer(mut inferred) = outcome.kind else { continue };
                let draws = std::mem::take(&mut inferred.draws);
                let together = together.get_or_insert_default();
                together.add(inferred);
                if shown.is_none_or(|shown| shown == k) {
                    together.draws = draws;
                }
            }
        }
        if let Some(inferred) = together {
            let done = done.get_or_insert_default();
            done.draws.extend(inferred.draws.clone());
            done.add(inferred);
        }
        Ok(())
    }

    fn resample(
        &mut self,
        (kernel, scope): (&Syntax, &Scope),
        place: DirectivePlace<'_>,
        context: &Context<'_>,
    ) -> Result<Inferred, Diagnostic> {
        let (count, _) = self.first().with_executor(context, false, |executor| {
            executor.read_resample(kernel, scope, place.environment)
        })?;
        if self.has_named && self.particles.is_empty() {
            return Err(Diagnostic::error(kernel.span, NAMED_AND_RESAMPLED).hint(WRITE_OUT));
        }
        let first = match self.particles.is_empty() {
            true => Some(self.executions(count, context)?),
            false => None,
        };
        let particles = first.as_deref().unwrap_or(&self.particles);
        if particles.iter().all(Particle::is_dead) {
            let message = "all particles have weight 0: none of them could have produced the observations since the last resample";
            return Err(Diagnostic::error(kernel.span, message)
                .hint("use more particles, or resample after fewer observations"));
        }
        if let Some(first) = first {
            self.particles = first;
        }
        let counts = self.redistribute(count);
        let text = printer::squeeze(context.sources.text(kernel.span));
        // Nothing is proposed: particles are drawn by their weights.
        let changed = u64::from(counts.iter().any(|copies| *copies != 1));
        let (drawn, accepted) = (1, changed);
        let report = KernelReport {
            kernel: text,
            transitions: 1,
            drawn,
            changed,
            accepted,
            ..KernelReport::default()
        };
        Ok(Inferred {
            kernels: vec![report],
            log_marginal_likelihood: Some(self.log_marginal),
            ..Inferred::default()
        })
    }

    /// So many particles, drawn by the weights of those that there are. How many came of each.
    fn redistribute(&mut self, count: usize) -> Vec<usize> {
        let log_weights = self.log_weights();
        self.log_marginal += log_mean_exp(&log_weights);
        let counts = systematic(&log_weights, count, self.single.rng.uniform());
        self.multiply(&counts);
        counts
    }

    /// The directives so far in so many particles.
    fn executions(
        &mut self,
        count: usize,
        context: &Context<'_>,
    ) -> Result<Vec<Particle>, Diagnostic> {
        let seed = self.single.rng.seed();
        let mut particles = Vec::with_capacity(count);
        for k in 0..count as u64 {
            let mut particle = Particle::new(Rng::for_chain(seed, k), context.interrupt);
            particle.model.keep_past();
            for Past { step, environment, suffix } in &self.past {
                let result = particle.with_executor(context, false, |executor| {
                    executor.at_top(step, environment, suffix)
                });
                if particle.model.is_broken() {
                    break;
                }
                result?;
            }
            self.made += 1;
            particle.model.set_number(self.made);
            particles.push(particle);
        }
        Ok(particles)
    }

    /// So many of each particle, with weight 1 and new streams.
    fn multiply(&mut self, counts: &[usize]) {
        let seed = self.single.rng.seed();
        let mut next = Vec::with_capacity(counts.iter().sum());
        for (mut particle, count) in std::mem::take(&mut self.particles).into_iter().zip(counts) {
            particle.model.take_log_weight();
            for _ in 1..*count {
                self.made += 1;
                next.push(Particle {
                    model: particle.model.copy(self.made),
                    rng: Rng::for_chain(seed, next.len() as u64),
                    predicted: particle.predicted.clone(),
                });
            }
            if *count > 0 {
                particle.rng = Rng::for_chain(seed, next.len() as u64);
                next.push(particle);
            }
        }
        self.particles = next;
    }
}

/// Particles that somebody feeds with observations, and resamples when their weights ask for it.
impl ParticlePopulation {
    /// So many particles, from the prior, with the directives so far.
    pub fn populate(&mut self, count: usize, context: &Context<'_>) -> Result<(), Diagnostic> {
        self.particles = self.executions(count, context)?;
        Ok(())
    }

    pub fn log_weights(&self) -> Vec<f64> {
        self.particles.iter().map(Particle::log_weight).collect()
    }

    /// A directive that only observes, if `keeps` is content with the log weights that it leads to; else nothing has happened.
    pub fn observe_if(
        &mut self,
        step: &Step,
        context: &Context<'_>,
        keeps: impl FnOnce(&[f64]) -> bool,
    ) -> Result<bool, Diagnostic> {
        let mut attempt = self.attempt(step, &Environment::default(), "", context);
        let failed = attempt.failed.take();
        let is_kept = failed.is_none() && keeps(&self.log_weights());
        self.conclude(&attempt, is_kept);
        failed.map_or(Ok(is_kept), Err)
    }

    /// As many particles, drawn by their weights.
    pub fn renew(&mut self) {
        self.redistribute(self.particles.len());
    }

    /// The estimate of the log density of all that was observed.
    pub fn log_evidence(&self) -> f64 {
        self.log_marginal + log_mean_exp(&self.log_weights())
    }

    /// All particles, each with its stream and what it predicted.
    pub fn each(&mut self) -> impl Iterator<Item = (&mut Model, &mut Rng, &Predicted)> {
        self.particles
            .iter_mut()
            .map(|Particle { model, rng, predicted }| (model, rng, &*predicted))
    }

    /// A copy of the first particle, for who tries something out.
    pub fn copy_of_one(&mut self) -> Model {
        self.made += 1;
        let number = self.made;
        self.first().model.copy(number)
    }
}

fn log_mean_exp(log_weights: &[f64]) -> f64 {
    math::logsumexp(log_weights) - math::ln(log_weights.len() as f64)
}

/// How often each particle is taken by `count` points (u + k)/count.
fn systematic(log_weights: &[f64], count: usize, u: f64) -> Vec<usize> {
    let log_sum = math::logsumexp(log_weights);
    let mut taken = 0;
    let mut share = 0.0;
    let mut counts: Vec<usize> = log_weights
        .iter()
        .map(|log_weight| {
            share += math::exp(log_weight - log_sum);
            let up_to = ((share * count as f64 - u).ceil().max(0.0) as usize).min(count);
            let here = up_to.saturating_sub(taken);
            taken += here;
            here
        })
        .collect();
    // Rounding may leave the last point out.
    if taken < count
        && let Some(last) = log_weights.iter().rposition(|w| *w > f64::NEG_INFINITY)
    {
        counts[last] += count - taken;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systematic_resampling_takes_about_its_share_of_each() {
        let log_weights = [math::ln(0.1), f64::NEG_INFINITY, math::ln(0.55), math::ln(0.35)];
        for k in 0..100 {
            let counts = systematic(&log_weights, 20, (f64::from(k) + 0.5) / 100.0);
            assert_eq!(counts.iter().sum::<usize>(), 20);
            assert_eq!(counts[1], 0);
            for (count, share) in counts.iter().zip([2.0, 0.0, 11.0, 7.0]) {
                assert!((*count as f64 - share).abs() <= 1.0, "{counts:?}");
            }
        }
        assert_eq!(systematic(&[0.0, 0.0, 0.0], 3, 0.3), [1, 1, 1]);
    }
}
