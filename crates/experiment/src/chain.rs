//! A program of `examples/` run with one kernel, while the clock is watched.
//!
//! The text is that of the file; a table or a parameter takes the place of what the file names, as
//! `--data` and `--param` would. A [`Chain`] keeps for every draw the transitions and the processor
//! seconds from the start, warm-up included.

use std::collections::BTreeMap;
use std::sync::Arc;

use smidgen::draws::{KernelReport, Run, Scalar};
use smidgen::sampling::{self, Progress};
use smidgen::value::{Table, Value};
use smidgen::{SampleRequest, Session, Settings};

use crate::{Error, Options};

/// A program with what it takes from outside.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name of its file.
    pub name: &'static str,
    pub text: &'static str,
    /// Directives after those of the file: where a chain starts, what is predicted.
    pub more: String,
    pub tables: Vec<(&'static str, Arc<Table>)>,
    pub params: Vec<(&'static str, Value)>,
}

/// How long a chain runs: whichever comes first.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Processor seconds, warm-up included.
    pub seconds: f64,
    pub draws: usize,
}

impl Budget {
    pub fn seconds(seconds: f64) -> Budget {
        Budget { seconds, draws: usize::MAX }
    }

    pub fn draws(draws: usize) -> Budget {
        Budget { seconds: f64::INFINITY, draws }
    }
}

/// How a program is to be run.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// One application; it may make several transitions. Empty: the program's own [infer ...]s.
    pub kernel: &'a str,
    pub budget: Budget,
    /// Applications before the first draw, in which kernels may learn.
    pub warmup: usize,
    /// Applications per draw.
    pub thin: usize,
    pub chains: usize,
    /// Expressions recorded beside what the program predicts.
    pub record: &'a [&'a str],
    /// Whether the clock is looked at after every draw. A look takes as long as several of the cheapest moves; without
    /// it only the number of draws ends a run.
    pub is_timed: bool,
}

impl<'a> Plan<'a> {
    /// One chain without a warm-up.
    pub fn new(kernel: &'a str, budget: Budget) -> Plan<'a> {
        Plan { kernel, budget, warmup: 0, thin: 1, chains: 1, record: &[], is_timed: true }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Chain {
    pub run: Run,
    /// Processor seconds at each draw of each chain, if it was timed.
    pub times: Vec<Vec<f64>>,
    /// Processor seconds of all chains without their warm-ups.
    pub drawing: f64,
    /// Gradients computed after the warm-up.
    pub gradients: u64,
    thin: usize,
    warmup: usize,
}

impl Program {
    pub fn new(name: &'static str, text: &'static str) -> Program {
        Program { name, text, more: String::new(), tables: Vec::new(), params: Vec::new() }
    }

    /// A session in which the program has been parsed, but nothing of it executed.
    pub fn session(
        &self,
        options: &Options,
    ) -> Result<(Session, Vec<smidgen::TopDirective>), Error> {
        let params: BTreeMap<String, Value> =
            self.params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let interrupt = options.interrupt.clone();
        let settings = Settings { seed: options.seed, params, interrupt, ..Settings::default() };
        let mut session = Session::new(settings);
        for (name, table) in &self.tables {
            session.give_table(name, table.clone());
        }
        let program = session
            .parse_text(self.name, &format!("{}{}", self.text, self.more))
            .map_err(|diagnostics| Error::program(&session, diagnostics))?;
        Ok((session, program))
    }

    /// Runs it with the plan's kernel. The seed is that of the options.
    pub fn sample(&self, plan: &Plan<'_>, options: &Options) -> Result<Chain, Error> {
        let (mut session, program) = self.session(options)?;
        let default = SampleRequest::default();
        let request = SampleRequest {
            kernel: (!plan.kernel.is_empty()).then(|| plan.kernel.to_owned()),
            draws: plan.budget.draws,
            warmup: plan.warmup,
            thin: plan.thin,
            chains: plan.chains,
            seed: options.seed,
            record: plan.record.iter().map(|text| (*text).to_owned()).collect(),
            budget: plan.is_timed.then_some(plan.budget.seconds),
            // A chain's clock is that of its thread: it must not share a scan with others.
            threads: default.threads.min(plan.chains),
            ..default
        };
        let sampled = sampling::sample(&mut session, &program, &request, &Progress::default());
        options.go_on()?;
        let sampled = sampled.map_err(|error| Error::sample(&session, error))?;
        let Plan { thin, warmup, .. } = *plan;
        let gradients = sampled.records.iter().map(|record| record.tally.gradients).sum();
        let (times, drawing) = (sampled.times, sampled.seconds);
        Ok(Chain { run: sampled.run, times, drawing, gradients, thin, warmup })
    }
}

impl Chain {
    /// Processor seconds of all chains, if they were timed.
    pub fn seconds(&self) -> f64 {
        self.times.iter().filter_map(|times| times.last()).sum()
    }

    /// What the kernels did after the warm-up, over all chains.
    pub fn kernel(&self) -> KernelReport {
        let mut total = KernelReport::default();
        for kernel in &self.run.kernels {
            total.transitions += kernel.transitions;
            total.accepted += kernel.accepted;
            total.sections_used += kernel.sections_used;
            total.population += kernel.population;
        }
        total
    }

    /// Applications of the kernel up to and including the draw of this number, warm-up included.
    pub fn applications(&self, draw: usize) -> usize {
        self.warmup + (draw + 1) * self.thin
    }

    /// The same run with at most so many draws of each chain, evenly spaced, the last kept.
    pub fn thinned(&self, most: usize) -> Chain {
        let chains = self.run.draws.quantities().iter().flat_map(|quantity| &quantity.chains);
        let longest = chains.map(|chain| chain.len()).max().unwrap_or(0);
        let stride = longest.div_ceil(most.max(1)).max(1);
        let mut thinned = self.clone();
        thinned.thin *= stride;
        let every = |k: usize| k % stride == stride - 1;
        for times in &mut thinned.times {
            let mut k = 0..;
            times.retain(|_| k.next().is_some_and(every));
        }
        let mut draws = smidgen::draws::Draws::default();
        for quantity in self.run.draws.quantities() {
            let mut quantity = quantity.clone();
            for chain in &mut quantity.chains {
                let mut k = 0..;
                chain.retain(|_| k.next().is_some_and(every));
            }
            draws.add(quantity);
        }
        thinned.run.draws = draws;
        thinned
    }

    /// A recorded vector draw by draw, of a single chain.
    pub fn vectors(&self, name: &str) -> Vec<Vec<f64>> {
        let values = self.run.draws.get(name).into_iter().flat_map(|quantity| quantity.values());
        values.filter_map(|value| value.to_reals()).collect()
    }

    /// The recorded numbers without the first part of every chain.
    pub fn scalars_without(&self, first: f64) -> Vec<Scalar> {
        let mut scalars = self.run.draws.scalars();
        for chain in scalars.iter_mut().flat_map(|scalar| &mut scalar.chains) {
            let cut = (first * chain.len() as f64) as usize;
            chain.drain(..cut);
        }
        scalars
    }
}
