//! Subsampled against exact inference on the user's own program (theory 5.2).
//!
//! Three runs with the same seed, hence from the same starts:
//!
//! 1. the program as it is written, without audits: its draws and its time;
//! 2. the same with every decision made exactly: the draws and the time to compare with;
//! 3. a *shadow* of the first: some decisions are also made exactly, with the same u. Audits do
//!    not change a chain, so the shadow decides as the first run did, and need not be timed.
//!
//! Reading order: [`twin`] (the kernels that are compared, and the exact ones), [`kernels`] and
//! [`pairs`] (decisions), [`quantities`] (the posterior), [`findings`] (what it comes to).
//!
//! The number of draws is the same, not the time; what they are worth per second is in the
//! report. The three runs load the data anew.

mod findings;
mod kernels;
mod pairs;
mod quantities;
mod twin;

use smidgen_infer::KernelRecord;
use smidgen_infer::austerity::agreement::mmd;
use smidgen_lang::Diagnostic;
use smidgen_report::comparison::{KernelComparison, QuantityComparison, Speed};
use smidgen_report::{Comparison, Verdict};
use smidgen_value::Rng;

use crate::load::TopDirective;
use crate::sampling::{self, Progress, SampleError, SampleRequest, Sampled};
use crate::session::Session;

#[derive(Clone, Debug)]
pub struct CompareRequest {
    /// Instead of the program's own `infer` directives.
    pub kernel: Option<String>,
    pub draws: usize,
    pub warmup: usize,
    pub thin: usize,
    pub chains: usize,
    pub seed: u64,
    /// Expressions evaluated after each draw.
    pub record: Vec<String>,
    pub threads: usize,
    /// Processor seconds after which a chain of a run stops.
    pub budget: Option<f64>,
}

impl Default for CompareRequest {
    fn default() -> CompareRequest {
        let sample = SampleRequest::default();
        CompareRequest {
            kernel: None,
            draws: 1000,
            warmup: 1000,
            thin: 1,
            chains: 2,
            seed: 0,
            record: Vec::new(),
            threads: sample.threads,
            budget: None,
        }
    }
}

/// Calls its last argument, which runs some chains, while it shows the name and the progress of
/// the run.
pub type ParticlePopulation<'a> = &'a dyn Fn(&str, &Progress, &mut dyn FnMut());

/// Chains whose decisions are audited.
const SHADOW_CHAINS: usize = 2;
/// Audits per kernel that are always worth their cost, and those that are always enough.
const AUDITS: (f64, f64) = (200.0, 1000.0);
/// The streams of what is drawn after the runs: beyond those of chains and of what they record.
const AFTERWARDS: u64 = 1 << 33;

/// Runs a program with and without subsampling and compares. An interrupted comparison is an error.
pub fn compare(
    session: &mut Session,
    program: &[TopDirective],
    request: &CompareRequest,
    stage: ParticlePopulation<'_>,
) -> Result<Comparison, SampleError> {
    let programs = twin::programs(session, program, request.kernel.as_deref())?;
    if !programs.iter().any(twin::is_subsampled) {
        return Err(nothing_to_compare(request.kernel.is_some()).into());
    }
    let mut runs = Runs { session, program, request, stage };
    let approximate = runs.sample("approximate", &|plain| SampleRequest {
        audit: Some(0.0),
        detailed: true,
        ..plain
    })?;
    let exact = runs.sample("exact", &|plain| SampleRequest { exact: true, ..plain })?;
    let chains = request.chains.min(SHADOW_CHAINS);
    let share = audit_share(&approximate.records, chains as f64 / request.chains as f64);
    let shadow = runs.sample("decisions", &|plain| SampleRequest {
        chains,
        audit: Some(share),
        detailed: true,
        ..plain
    })?;
    let mut rng = Rng::for_chain(request.seed, AFTERWARDS);
    let kernels = kernels::kernels(&approximate, &exact, &shadow, &mut rng);
    let quantities = quantities::quantities(&exact.run.draws, &approximate.run.draws);
    let exact_programs: Vec<_> = programs.iter().map(twin::exact).collect();
    let with_values = |text: String| twin::with_values(text, &session.catalog.params);
    let mut comparison = Comparison {
        program: approximate.run.program.clone(),
        file: String::new(),
        version: approximate.run.version.clone(),
        seed: request.seed,
        chains: request.chains,
        warmup: request.warmup,
        draws: request.draws,
        approximate_kernel: with_values(twin::text(&programs)),
        exact_kernel: with_values(twin::text(&exact_programs)),
        speed: speed(&approximate, &exact, &kernels, &quantities),
        mmd: together(&quantities, &mut rng),
        warnings: findings::warnings(&approximate, &exact, &kernels),
        kernels,
        quantities,
        findings: Vec::new(),
        verdict: Verdict::Pass,
    };
    let worst = |k: usize| approximate.records[k].worst_check().copied();
    let checks: Vec<_> = kernels::places(&approximate).into_iter().map(worst).collect();
    for kernel in &mut comparison.kernels {
        kernel.kernel =
            twin::with_values(std::mem::take(&mut kernel.kernel), &session.catalog.params);
    }
    findings::judge(&mut comparison, &checks);
    Ok(comparison)
}

fn nothing_to_compare(by_option: bool) -> Diagnostic {
    let what = if by_option { "the kernel of --kernel" } else { "the program" };
    let message = format!("{what} has no subsampled_mh kernel: there is nothing to compare");
    Diagnostic::error(None, message).hint(
        "write (subsampled_mh SCOPE all 100 0.01 'drift 0.1 10) instead of (mh SCOPE all 'drift 0.1 10), or give it by --kernel",
    )
}

struct Runs<'a> {
    session: &'a mut Session,
    program: &'a [TopDirective],
    request: &'a CompareRequest,
    stage: ParticlePopulation<'a>,
}

impl Runs<'_> {
    fn sample(
        &mut self,
        name: &str,
        change: &dyn Fn(SampleRequest) -> SampleRequest,
    ) -> Result<Sampled, SampleError> {
        let Runs { session, program, request, stage } = self;
        // Names of the run before are not those of this one, but the data are.
        session.catalog.clear();
        session.catalog.keep_files();
        let plain = SampleRequest {
            kernel: request.kernel.clone(),
            draws: request.draws,
            warmup: request.warmup,
            thin: request.thin,
            chains: request.chains,
            seed: request.seed,
            record: request.record.clone(),
            threads: request.threads,
            budget: request.budget,
            ..SampleRequest::default()
        };
        let changed = change(plain);
        let progress = Progress::default();
        let mut sampled = None;
        stage(name, &progress, &mut || {
            sampled = Some(sampling::sample(session, program, &changed, &progress));
        });
        match sampled {
            Some(Ok(sampled)) if !sampled.interrupted => Ok(sampled),
            Some(Err(error)) => Err(error),
            _ => Err(Diagnostic::error(None, "the comparison was interrupted").into()),
        }
    }
}

/// The share of decisions that the shadow run audits, when it makes `part` of the decisions of
/// the first run: enough for every kernel, but not much dearer than the run itself.
fn audit_share(records: &[KernelRecord], part: f64) -> f64 {
    let (mut share, mut all, mut budget) = (0.0_f64, 0.0, 0.0);
    for tally in records.iter().map(|record| &record.tally).filter(|tally| tally.approximate > 0) {
        let decisions = part * tally.approximate as f64;
        let population = tally.population as f64 / tally.transitions as f64;
        let affordable = part * tally.sections_used as f64 / population;
        let wanted = affordable.clamp(AUDITS.0, AUDITS.1);
        share = share.max(wanted / decisions);
        all += decisions * population;
        budget += wanted * population;
    }
    // One share for all kernels may be far too much for the busiest.
    let affordable = if all > 0.0 { 4.0 * budget / all } else { 0.0 };
    share.min(affordable).min(1.0)
}

fn speed(
    approximate: &Sampled,
    exact: &Sampled,
    kernels: &[KernelComparison],
    quantities: &[QuantityComparison],
) -> Speed {
    let transitions =
        |run: &Sampled| -> u64 { run.run.kernels.iter().map(|k| k.transitions).sum() };
    let rate = |run: &Sampled| transitions(run) as f64 / run.seconds;
    let sum = |of: &dyn Fn(&KernelComparison) -> f64| -> f64 {
        let ran = kernels.iter().filter(|k| k.fallback.is_none() && k.transitions > 0);
        ran.map(|k| k.transitions as f64 * of(k)).sum()
    };
    let ess = |q: &QuantityComparison| {
        let exact = q.exact.ess_bulk / exact.seconds;
        (q.name.clone(), exact, q.approximate.ess_bulk / approximate.seconds)
    };
    Speed {
        exact_seconds: exact.seconds,
        approximate_seconds: approximate.seconds,
        transitions_ratio: rate(approximate) / rate(exact),
        sections_ratio: sum(&|k| k.population) / sum(&|k| k.sections.mean),
        ess_per_second: quantities.iter().map(ess).collect(),
    }
}

/// The discrepancy of all quantities together, on draws thinned to the least effective number.
fn together(quantities: &[QuantityComparison], rng: &mut Rng) -> Option<(f64, f64)> {
    /// A permutation of fewer rows says nothing.
    const LEAST: usize = 8;
    let usable = |q: &&QuantityComparison| {
        let draws = q.exact_draws.iter().chain(&q.approximate_draws).flatten();
        q.exact.sd > 0.0 && draws.into_iter().all(|x| x.is_finite())
    };
    let usable: Vec<&QuantityComparison> = quantities.iter().filter(usable).collect();
    let rows = |draws: fn(&QuantityComparison) -> &Vec<Vec<f64>>,
                ess: fn(&QuantityComparison) -> f64| {
        let least = usable.iter().map(|q| ess(q)).fold(f64::INFINITY, f64::min);
        let columns: Vec<Vec<f64>> =
            usable.iter().map(|q| quantities::thinned(draws(q), least)).collect();
        let count = columns.iter().map(Vec::len).min().unwrap_or(0);
        let row = |i: usize| columns.iter().map(|column| column[i]).collect();
        (0..count).map(row).collect::<Vec<Vec<f64>>>()
    };
    let exact = rows(|q| &q.exact_draws, |q| q.exact.ess_bulk);
    let approximate = rows(|q| &q.approximate_draws, |q| q.approximate.ess_bulk);
    if exact.len().min(approximate.len()) < LEAST {
        return None;
    }
    let tested = mmd(&exact, &approximate, rng);
    Some((tested.statistic, tested.p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen_infer::Tally;

    fn record(approximate: u64, used: u64, population: u64) -> KernelRecord {
        let tally = Tally {
            transitions: approximate,
            approximate,
            sections_used: used * approximate,
            population: population * approximate,
            ..Tally::default()
        };
        KernelRecord { tally, ..KernelRecord::default() }
    }

    #[test]
    fn audits_are_enough_and_affordable() {
        // 20 000 decisions that read a tenth: a thousand audits are enough.
        let share = audit_share(&[record(20_000, 1_000, 10_000)], 1.0);
        assert!((share - 0.05).abs() < 1e-12, "{share}");
        // They read a thousandth: 200 audits are worth it in any case.
        let share = audit_share(&[record(20_000, 10, 10_000)], 0.5);
        assert!((share - 0.02).abs() < 1e-12, "{share}");
        // Fewer decisions than audits: all of them.
        assert_eq!(audit_share(&[record(50, 10, 10_000)], 1.0), 1.0);
        // A rare kernel beside a busy one does not make the busy one dear.
        let share = audit_share(&[record(1_000_000, 100, 10_000), record(100, 10, 20)], 1.0);
        assert!(share * 1e6 < 4_100.0, "{share}");
        assert_eq!(audit_share(&[record(0, 0, 0)], 1.0), 0.0);
    }
}
