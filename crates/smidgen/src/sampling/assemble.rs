//! The draws of all chains as one run: joined, summarised, with what there is to be said about them.

use std::collections::HashMap;

use smidgen_draws::stuck::whereabouts;
use smidgen_draws::{self as draws, Draws, KeepStates, KernelReport, LongRun, States};
use smidgen_infer::KernelRecord;
use smidgen_io::folder::{read_chain, spacing};
use smidgen_lang::Diagnostic;

use super::diary::Diary;
use super::{Chain, Plan, SampleError, Sampled};
use crate::load::TopDirective;

impl Plan<'_> {
    /// The draws of chains that wrote them to a folder; what all of them say, if there are too many to take them.
    fn read_back(&self, chains: &mut [Chain]) -> Result<Option<LongRun>, SampleError> {
        // Of an epoch the draws are here.
        let durable = self.request.durable.as_ref().filter(|_| !self.is_followed);
        let Some(durable) = durable else { return Ok(None) };
        let path = &durable.folder.path;
        let numbers: Vec<usize> = chains.iter().map(|chain| chain.number).collect();
        let every = spacing(path, &numbers);
        let mut long = LongRun { every, ..LongRun::default() };
        let n = chains.len();
        for chain in chains {
            let read = read_chain(path, chain.number, every, 0);
            let read = read.map_err(|problem| Diagnostic::error(None, problem))?;
            chain.diary.draws = read.draws;
            chain.diary.stats = read.stats;
            if !chain.diary.was_cut {
                (chain.diary.warmup, chain.diary.warmup_stats) = (read.warmup, read.warmup_stats);
            }
            chain.diverged.retain(|draw| draw % every == 0);
            chain.diverged.iter_mut().for_each(|draw| *draw /= every);
            long.add(read.added_up);
        }
        Ok((every > 1).then(|| long.of(n)))
    }

    pub(super) fn assemble(
        &self,
        mut chains: Vec<Chain>,
        program: &[TopDirective],
    ) -> Result<Sampled, SampleError> {
        let long = self.read_back(&mut chains)?;
        let every = long.as_ref().map_or(1, |long| long.every);
        let mut kernels: Vec<(String, KernelRecord)> = Vec::new();
        let mut warnings: Vec<String> = self.catalog.troubles();
        let interrupted = chains.len() < self.request.chains || chains.iter().any(|c| !c.complete);
        for chain in &mut chains {
            let records = std::mem::take(&mut chain.records);
            for (k, (text, record)) in chain.kernels.iter().zip(records).enumerate() {
                match kernels.get_mut(k) {
                    Some((_, known)) => known.merge(record),
                    None => kernels.push((text.clone(), record)),
                }
            }
            for warning in &chain.warnings {
                if !warnings.contains(warning) {
                    warnings.push(warning.clone());
                }
            }
        }
        for (text, record) in &kernels {
            warnings.extend(record.warnings(text, &|span| self.sources.place(span)));
        }
        let ties = joined_ties(&chains);
        let marked: Vec<Vec<usize>> =
            chains.iter_mut().map(|chain| std::mem::take(&mut chain.diverged)).collect();
        let times = chains.iter_mut().map(|chain| std::mem::take(&mut chain.times)).collect();
        let take = |part: fn(&mut Diary) -> &mut Draws, chains: &mut [Chain]| {
            joined(chains.iter_mut().map(|c| std::mem::take(part(&mut c.diary))).collect())
        };
        let cut = chains.iter().filter(|chain| chain.diary.was_cut).count();
        let draws = take(|diary| &mut diary.draws, &mut chains);
        let stats = take(|diary| &mut diary.stats, &mut chains);
        let warmup = take(|diary| &mut diary.warmup, &mut chains);
        let warmup_stats = take(|diary| &mut diary.warmup_stats, &mut chains);
        let so_far = draws::Run { draws, long, ..draws::Run::default() };
        let advice = draws::advice(&draws::summarise_run(&so_far));
        let draws::Run { draws, long, .. } = so_far;
        let ties = |name: &String| ties.get(name).cloned().unwrap_or_default();
        let ties: Vec<_> = draws.quantities().iter().map(|q| ties(&q.name)).collect();
        let movers: Vec<String> = kernels.iter().map(|(text, _)| text.clone()).collect();
        let stuck = match movers.iter().all(|text| text.starts_with("(map ")) {
            true => Vec::new(),
            false => draws::stuck(&draws, &ties, &movers),
        };
        let at = whereabouts(&draws, &marked);
        let at = at.map(|(name, small)| {
            format!("where `{name}` is {}", if small { "small" } else { "large" })
        });
        let is_sound = advice.is_empty() && stuck.is_empty();
        for (text, record) in &kernels {
            warnings.extend(record.divergence(text, is_sound, at.clone()));
        }
        if cut > 0 {
            let n = chains.len();
            warnings.push(format!(
                "stopped in the warm-up of {cut} of {n} chains: of these only where they stood is kept (rows with warmup__ = 1), no draw from the posterior; --init begins there"
            ));
        }
        warnings.extend(stuck);
        warnings.extend(advice);
        let reports: Vec<KernelReport> =
            kernels.iter().map(|(text, record)| record.report(text)).collect();
        let records = kernels.into_iter().map(|(_, record)| record).collect();
        let seconds = chains.iter().map(|chain| chain.seconds).sum();
        let text = program.first().map_or_else(String::new, |top| {
            self.sources.get(top.directive.span.source).text.to_string()
        });
        let run = draws::Run {
            seed: self.request.seed,
            chains: chains.len(),
            draws,
            long,
            stats,
            warmup,
            warmup_stats,
            kernels: reports,
            warnings,
            program: text,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let states = self.states(chains, &run);
        let mut notes = self.catalog.notes().to_vec();
        if every > 1 {
            notes.push(format!(
                "mean and sd are those of all draws; what begins with ~ comes from sums over batches of them or from every {every}th; the folder has all"
            ));
        }
        Ok(Sampled {
            run,
            every,
            records,
            seconds,
            times,
            interrupted,
            notes,
            states,
            log_evidence: None,
        })
    }
}

impl Plan<'_> {
    /// The states of all chains, or why there are none.
    fn states(&self, chains: Vec<Chain>, run: &draws::Run) -> Option<Result<States, String>> {
        if self.request.keep_states == KeepStates::No {
            return None;
        }
        let (fingerprint, is_recorded) =
            (run.fingerprint(), chains.iter().all(|chain| chain.diary.is_recorded));
        let mut states = States { fingerprint, is_recorded, ..States::default() };
        for chain in chains {
            if let Some(reason) = chain.diary.stateless {
                return Some(Err(reason.to_owned()));
            }
            if states.steps.is_empty() {
                states.steps = chain.marks;
            } else if states.steps != chain.marks {
                let reason = "the chains do not agree on where the choices of the program stand";
                return Some(Err(reason.to_owned()));
            }
            let (kept, last) = chain.diary.states();
            states.chains.push(kept);
            states.last.extend(last);
        }
        Some(Ok(states))
    }
}

/// What the quantities of all chains hang on, by name.
fn joined_ties(chains: &[Chain]) -> HashMap<String, draws::Ties> {
    let mut joined: HashMap<String, draws::Ties> = HashMap::new();
    for (k, chain) in chains.iter().enumerate() {
        for (quantity, (ties, moved)) in chain.diary.draws.quantities().iter().zip(&chain.ties) {
            let known = joined.entry(quantity.name.clone()).or_default();
            known.moved.resize(k, true);
            known.moved.push(*moved);
            // In some chains the structure may be another: what can change there can change.
            let entries = known.hangs.len().max(ties.len());
            let own = |i: usize| ties.get(i).or(ties.first()) == Some(&true);
            let hangs = |i: usize| known.hangs.get(i).or(known.hangs.first()) == Some(&true);
            known.hangs = (0..entries).map(|i| hangs(i) || own(i)).collect();
        }
    }
    joined
}

/// The draws of all chains. What is recorded without a request depends on the values that a chain
/// begins with: a quantity that some chain lacks is left out.
pub(super) fn joined(mut chains: Vec<Draws>) -> Draws {
    let names = |draws: &Draws| -> Vec<String> {
        draws.quantities().iter().map(|quantity| quantity.name.clone()).collect()
    };
    let mut common = chains.first().map_or_else(Vec::new, names);
    common.retain(|name| chains.iter().all(|draws| draws.get(name).is_some()));
    for draws in &mut chains {
        if names(draws) != common {
            let mut kept = Draws::default();
            common.iter().filter_map(|name| draws.get(name)).for_each(|q| kept.add(q.clone()));
            *draws = kept;
        }
    }
    Draws::join(chains)
}
