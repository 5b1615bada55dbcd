//! Single proposals, decided many times: how far the test moves their acceptance probability.
//!
//! A proposal whose log weights are all known has the exact acceptance probability
//! P = min(1, e^{log α}). The test is repeated with fresh u and fresh orders of the sections; with
//! d = (test accepts) − (log u < log α), P + mean d estimates its acceptance probability without
//! bias, and far less noisily than the frequency of acceptance. Theory (3.4) predicts it from log α
//! and the spread of the log weights alone.

use smidgen_engine::EvalError;
use smidgen_infer::KernelRecord;
use smidgen_infer::acceptance::{AcceptanceTest, LogWeights, Question, StudentT};
use smidgen_infer::audit::{Audit, Tables};
use smidgen_infer::austerity::{Pair, Shape, pair_outcome};
use smidgen_infer::record::Weighed;
use smidgen_report::comparison::PairComparison;
use smidgen_value::{Rng, math};

/// Repetitions of each decision.
const REPETITIONS: usize = 200;
/// Proposals, and log weights read for all of them together, if that leaves at least a few.
const MOST: usize = 16;
const LEAST: usize = 4;
const READS: usize = 400_000_000;

/// Proposals of the audits that kept their log weights, from the least to the most acceptable.
/// `text` is the kernel: repetitions of the stratified test would need the kinds of the sections.
pub fn pairs(record: &KernelRecord, text: &str, rng: &mut Rng) -> Vec<PairComparison> {
    if text.contains("stratified") {
        return Vec::new();
    }
    let mut kept: Vec<(&Weighed, &Audit)> = Vec::new();
    for weighed in &record.pairs {
        let log_alpha = log_alpha(weighed);
        let is_its = |audit: &&Audit| audit.log_alpha.to_bits() == log_alpha.to_bits();
        kept.extend(record.audits.iter().find(is_its).map(|audit| (weighed, audit)));
    }
    kept.sort_by(|a, b| a.1.log_alpha.total_cmp(&b.1.log_alpha));
    let longest = kept.iter().map(|(weighed, _)| weighed.weights.len()).max().unwrap_or(1);
    let affordable = READS / (REPETITIONS * longest);
    let count = kept.len().min(affordable.clamp(LEAST, MOST));
    let mut tables = Tables::default();
    // Evenly spread, both ends included.
    let place = |i: usize| i * (kept.len() - 1) / (count.max(2) - 1);
    (0..count)
        .map(|i| {
            let (weighed, audit) = kept[place(i)];
            repeated(weighed, audit, &mut tables, rng)
        })
        .collect()
}

fn log_alpha(weighed: &Weighed) -> f64 {
    weighed.log_global + weighed.weights.iter().sum::<f64>()
}

fn repeated(
    weighed: &Weighed,
    audit: &Audit,
    tables: &mut Tables,
    rng: &mut Rng,
) -> PairComparison {
    let population = weighed.weights.len();
    let sigma_l = Shape::of(&weighed.weights).sd;
    let pair = Pair { log_alpha: audit.log_alpha, sigma_l, population };
    let table = tables.table(population, audit.schedule, audit.epsilon);
    let predicted = pair_outcome(table, &pair);
    let mut test = StudentT::new(audit.schedule, audit.epsilon);
    let mut source = Shuffled { weights: weighed.weights.clone(), drawn: 0, rng };
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..REPETITIONS {
        source.drawn = 0;
        let log_u = source.rng.log_uniform();
        let question = Question { log_u, log_global: weighed.log_global, population };
        let verdict = test.decide(&question, &mut source);
        let accept = verdict.expect("numbers that are given cannot fail").accept;
        let difference = f64::from(accept) - f64::from(log_u < audit.log_alpha);
        sum += difference;
        squares += difference * difference;
    }
    let n = REPETITIONS as f64;
    let mean = sum / n;
    // Half a wrong decision more than were seen: none seen does not mean none possible.
    let variance = (squares + 0.5) / n - mean * mean;
    PairComparison {
        log_alpha: audit.log_alpha,
        sigma: population as f64 * sigma_l,
        p_accept: predicted.p_accept,
        p_approximate: (predicted.p_accept + mean).clamp(0.0, 1.0),
        p_approximate_se: math::sqrt(variance / n),
        predicted: predicted.p_accept + predicted.delta,
    }
}

/// Log weights in a random order that is made as far as it is read.
struct Shuffled<'a> {
    weights: Vec<f64>,
    drawn: usize,
    rng: &'a mut Rng,
}

impl LogWeights for Shuffled<'_> {
    fn draw(&mut self, n: usize, weights: &mut Vec<f64>) -> Result<(), EvalError> {
        for _ in 0..n {
            let other = self.drawn + self.rng.below(self.weights.len() - self.drawn);
            self.weights.swap(self.drawn, other);
            weights.push(self.weights[self.drawn]);
            self.drawn += 1;
        }
        Ok(())
    }

    fn scan(&mut self, visit: &mut dyn FnMut(&[f64]) -> bool) -> Result<(), EvalError> {
        let _ = visit(&self.weights);
        Ok(())
    }

    fn strata(&mut self) -> Vec<usize> {
        vec![self.weights.len()]
    }

    fn draw_from(&mut self, _: usize, n: usize, weights: &mut Vec<f64>) -> Result<(), EvalError> {
        self.draw(n, weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen_infer::austerity::Schedule;

    fn record(shift: f64, schedule: Schedule, epsilon: f64) -> KernelRecord {
        let mut rng = Rng::for_chain(1, 0);
        let mut record = KernelRecord::default();
        for k in 0..40 {
            let draw = |_| 0.1 * (rng.uniform() + rng.uniform() + rng.uniform() - 1.5);
            let weights: Vec<f64> = (0..400).map(draw).collect();
            let weighed = Weighed {
                log_global: shift + 0.1 * f64::from(k) - weights.iter().sum::<f64>(),
                weights,
            };
            let audit = Audit {
                log_alpha: log_alpha(&weighed),
                sigma: Shape::of(&weighed.weights).sd,
                log_u: -1.0,
                population: 400,
                sections: 50,
                accepted: true,
                schedule,
                epsilon,
            };
            record.audits.push(audit);
            record.pairs.push(weighed);
        }
        record
    }

    /// Twelve pairs at four standard errors: a false alarm in about 1 of 1000 seeds, and the seed
    /// is fixed.
    #[test]
    fn repetitions_agree_with_the_theory() {
        let found =
            pairs(&record(-2.0, Schedule::new(50, 1.0), 0.05), "", &mut Rng::for_chain(2, 0));
        assert_eq!(found.len(), MOST);
        assert!(found.is_sorted_by(|a, b| a.log_alpha <= b.log_alpha));
        for pair in &found {
            let error = (pair.p_approximate - pair.predicted).abs();
            assert!(error < 4.0 * pair.p_approximate_se + 0.01, "{pair:?}");
            assert!((pair.p_accept - math::exp(pair.log_alpha.min(0.0))).abs() < 1e-12);
        }
        assert!(found.iter().any(|pair| pair.p_approximate != pair.p_accept));
    }

    #[test]
    fn a_test_that_reads_everything_does_not_err() {
        let found =
            pairs(&record(-1.0, Schedule::new(400, 1.0), 0.05), "", &mut Rng::for_chain(3, 0));
        assert!(found.iter().all(|pair| pair.p_approximate == pair.p_accept));
        assert!(found.iter().all(|pair| pair.p_approximate_se > 0.0));
        assert!(pairs(&KernelRecord::default(), "", &mut Rng::for_chain(3, 0)).is_empty());
    }
}
