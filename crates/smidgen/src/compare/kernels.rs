//! How the subsampled kernels of a program decided, beside their exact twins.

use smidgen_draws::quantile::quantile_of_sorted;
use smidgen_infer::KernelRecord;
use smidgen_report::comparison::{KernelComparison, Sections};
use smidgen_value::Rng;

use super::{pairs, twin};
use crate::sampling::Sampled;

/// The numbers of the subsampled kernels.
pub fn places(run: &Sampled) -> Vec<usize> {
    let is_subsampled = |text: &str| {
        let inside = text.trim_start_matches('(').trim_start();
        inside.split_whitespace().next() == Some(twin::SUBSAMPLED)
    };
    let kernels = run.run.kernels.iter().enumerate();
    kernels.filter(|(_, kernel)| is_subsampled(&kernel.kernel)).map(|(k, _)| k).collect()
}

/// One comparison per subsampled kernel. `shadow` made the decisions of `approximate` again, with
/// audits.
pub fn kernels(
    approximate: &Sampled,
    exact: &Sampled,
    shadow: &Sampled,
    rng: &mut Rng,
) -> Vec<KernelComparison> {
    let one = |k: usize| {
        let (report, record) = (&approximate.run.kernels[k], &approximate.records[k]);
        let text = &report.kernel;
        let twin = &exact.run.kernels[k];
        let audited = shadow.run.kernels[k].approximation.clone().unwrap_or_default();
        let known = audited.audits > 0;
        let or_unknown = |x: f64| if known { x } else { f64::NAN };
        let wrong = audited.wrongly_accepted + audited.wrongly_rejected;
        // The test is the same in all chains, unless each chain has chosen its own.
        let test = shadow.records[k].audits.first();
        let written = test.is_none().then(|| positional(text));
        KernelComparison {
            kernel: text.clone(),
            epsilon: test.map_or_else(|| written.map_or(f64::NAN, |w| w.1), |audit| audit.epsilon),
            batch: test.map_or_else(|| written.map_or(0, |w| w.0), |audit| audit.schedule.batch),
            transitions: report.transitions,
            accepted: report.accepted,
            transitions_exact: twin.transitions,
            accepted_exact: twin.accepted,
            population: report.population as f64 / report.transitions as f64,
            sections: sections(record),
            shadow: audited.audits,
            wrongly_accepted: audited.wrongly_accepted,
            wrongly_rejected: audited.wrongly_rejected,
            disagreement: (
                or_unknown(wrong as f64 / audited.audits as f64),
                or_unknown(audited.interval.0),
                or_unknown(audited.interval.1),
            ),
            predicted_error: or_unknown(audited.predicted_error),
            predicted_usage: or_unknown(audited.predicted_usage),
            pairs: pairs::pairs(&shadow.records[k], text, rng),
            fallback: fallback(record, text, &approximate.run.warnings),
            normality: record.worst_check().map(|check| check.reasons()).unwrap_or_default(),
        }
    };
    places(approximate).into_iter().map(one).collect()
}

/// Batch and epsilon as written, where they are numbers.
fn positional(text: &str) -> (usize, f64) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let word = |k: usize| words.get(k).copied().unwrap_or_default();
    (word(3).parse().unwrap_or(0), word(4).parse().unwrap_or(f64::NAN))
}

/// Sections read per transition; quantiles are of those that were decided by a test.
fn sections(record: &KernelRecord) -> Sections {
    let tally = &record.tally;
    let mut read: Vec<f64> = record.sections.iter().map(|n| f64::from(*n)).collect();
    read.sort_unstable_by(f64::total_cmp);
    let at = |p: f64| quantile_of_sorted(&read, p);
    Sections {
        mean: tally.sections_used as f64 / tally.transitions as f64,
        p50: at(0.5),
        p95: at(0.95),
        max: at(1.0),
        fraction_full: tally.exhausted as f64 / tally.approximate as f64,
    }
}

/// Why a kernel decided nothing by a test.
fn fallback(record: &KernelRecord, text: &str, warnings: &[String]) -> Option<String> {
    let tally = &record.tally;
    if tally.approximate > 0 {
        return None;
    }
    if let Some(Err(reason)) = &record.choice {
        return Some(reason.clone());
    }
    let said = warnings.iter().find_map(|warning| {
        let about = warning.strip_prefix(text)?;
        about.strip_prefix(" makes the exact transition: ").map(str::to_owned)
    });
    Some(said.unwrap_or_else(|| match positional(text) {
        _ if tally.transitions == 0 => "it made no transition after the warm-up".to_owned(),
        (_, 0.0) => "epsilon is 0".to_owned(),
        (batch, _) if batch > 0 => {
            let population = tally.population as f64 / tally.transitions as f64;
            format!(
                "its first look would read {batch} sections or more, and there are only {population:.0}"
            )
        }
        _ => "it found nothing to decide by a test after the warm-up".to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen_infer::Tally;

    #[test]
    fn the_reason_for_an_exact_run_is_found() {
        let mut record = KernelRecord {
            tally: Tally { transitions: 10, population: 500, ..Tally::default() },
            ..KernelRecord::default()
        };
        let warnings = [
            "(subsampled_mh v all 9 0.1 5) makes the exact transition: no border".to_owned(),
            "(subsampled_mh w all 100 0.01 5) makes the exact transition: it may vanish".to_owned(),
        ];
        let why = |record: &KernelRecord, text: &str, warnings: &[String]| {
            fallback(record, text, warnings).unwrap_or_default()
        };
        let text = "(subsampled_mh w all 100 0.01 5)";
        assert_eq!(why(&record, text, &warnings), "it may vanish");
        assert!(why(&record, text, &[]).contains("only 50"));
        assert_eq!(why(&record, "(subsampled_mh w all 10 0 5)", &[]), "epsilon is 0");
        record.tally.approximate = 1;
        assert_eq!(fallback(&record, text, &warnings), None);
    }

    #[test]
    fn sections_per_transition() {
        let record = KernelRecord {
            tally: Tally {
                transitions: 5,
                approximate: 4,
                sections_used: 100,
                exhausted: 1,
                ..Tally::default()
            },
            sections: vec![10, 20, 60, 10],
            ..KernelRecord::default()
        };
        let found = sections(&record);
        assert_eq!((found.mean, found.p50, found.max), (20.0, 15.0, 60.0));
        assert_eq!(found.fraction_full, 0.25);
    }
}
