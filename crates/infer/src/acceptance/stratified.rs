//! The test of algorithm 2 for sections of several kinds (theory 1.8): each kind is a stratum of
//! its own, drawn from in proportion to its size and spread.
//!
//! μ̂ = Σ W_k ȳ_k,  v̂ = Σ W_k² (s_k²/n_k)(1 − n_k/N_k),  W_k = N_k/N, with Satterthwaite's degrees of
//! freedom ν = v̂² / Σ [W_k² (s_k²/n_k)(1 − n_k/N_k)]²/(n_k − 1). At each look n_k ∝ N_k s_k (Neyman), at least 2.
//! Small strata are read completely and their sum moves into G.

use smidgen_engine::EvalError;

use crate::acceptance::{
    AcceptanceTest, Exactness, LogWeights, Question, Requirements, StudentT, Verdict,
};
use crate::austerity::Accumulator;
use crate::austerity::Schedule;
use crate::austerity::student_t_critical;

pub struct Stratified {
    schedule: Schedule,
    epsilon: f64,
    plain: StudentT,
}

/// A stratum of at most so many sections is read completely.
const SMALL: usize = 8;

struct Stratum {
    number: usize,
    size: usize,
    seen: Accumulator,
}

/// What is known after a look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub mean: f64,
    pub variance: f64,
    pub degrees: f64,
}

impl Stratified {
    pub fn new(schedule: Schedule, epsilon: f64) -> Stratified {
        Stratified { schedule, epsilon, plain: StudentT::new(schedule, epsilon) }
    }
}

/// (1.9) and (1.10) for strata given as (N_k, what was seen of it).
pub fn estimate(strata: impl Iterator<Item = (usize, Accumulator)> + Clone) -> Estimate {
    let population: usize = strata.clone().map(|(size, _)| size).sum();
    let (mut mean, mut variance, mut spread) = (0.0, 0.0, 0.0);
    for (size, seen) in strata {
        let weight = size as f64 / population as f64;
        let n = seen.n as f64;
        mean += weight * seen.mean;
        let part = weight * weight * (seen.variance() / n) * (1.0 - n / size as f64);
        variance += part;
        if seen.n > 1 {
            spread += part * part / (n - 1.0);
        }
    }
    Estimate { mean, variance, degrees: variance * variance / spread }
}

impl AcceptanceTest for Stratified {
    fn decide(
        &mut self,
        question: &Question,
        weights: &mut dyn LogWeights,
    ) -> Result<Verdict, EvalError> {
        let sizes = weights.strata();
        if sizes.iter().filter(|size| **size > 0).count() < 2 {
            return self.plain.decide(question, weights);
        }
        let mut reader = Reader {
            weights,
            buffer: Vec::new(),
            sections: 0,
            impossible: false,
            only_before_impossible: false,
            largest: 0.0,
        };
        let mut log_global = question.log_global;
        let mut strata: Vec<Stratum> = Vec::new();
        for (number, size) in sizes.into_iter().enumerate().filter(|(_, size)| *size > 0) {
            let mut stratum = Stratum { number, size, seen: Accumulator::default() };
            let share = proportional(self.schedule.first, size, question.population);
            if size <= share.max(SMALL) {
                reader.read(&mut stratum, size)?;
                log_global += stratum.seen.mean * size as f64;
            } else {
                strata.push(stratum);
            }
        }
        let population: usize = strata.iter().map(|stratum| stratum.size).sum();
        let rest = Question { log_u: question.log_u, log_global, population };
        self.decide_rest(&rest, strata, reader)
    }

    fn exactness(&self) -> Exactness {
        self.plain.exactness()
    }

    fn requirements(&self) -> Requirements {
        Requirements { strata: true }
    }
}

impl Stratified {
    fn decide_rest(
        &mut self,
        question: &Question,
        mut strata: Vec<Stratum>,
        mut reader: Reader<'_>,
    ) -> Result<Verdict, EvalError> {
        let mut looks = 0;
        let mut next = self.schedule.first.max(2);
        loop {
            let first = looks == 0;
            let spread: f64 = strata.iter().map(Stratum::spread).sum();
            for stratum in &mut strata {
                let wanted = match first || spread == 0.0 {
                    true => proportional(next, stratum.size, question.population),
                    false => (next as f64 * stratum.spread() / spread).ceil() as usize,
                };
                // In any case something new, so that the test comes to an end.
                let least = stratum.seen.n as usize + 1;
                reader.read(stratum, wanted.max(2).max(least).min(stratum.size))?;
            }
            let sections = reader.sections;
            let exhausted = strata.iter().all(|stratum| stratum.seen.n as usize == stratum.size);
            let verdict = Verdict {
                accept: false,
                sections,
                looks,
                statistic: None,
                impossible: reader.impossible,
            };
            if reader.impossible {
                return Ok(verdict);
            }
            let found = estimate(strata.iter().map(|stratum| (stratum.size, stratum.seen)));
            if exhausted {
                // Without any stratum left the sum is in G already.
                let total =
                    if strata.is_empty() { 0.0 } else { found.mean * question.population as f64 };
                let accept =
                    reader.only_before_impossible || question.log_u < question.log_global + total;
                return Ok(Verdict { accept, ..verdict });
            }
            looks += 1;
            let error = found.variance.sqrt();
            if !reader.only_before_impossible && error > reader.rounding() && self.epsilon > 0.0 {
                let distance = found.mean - question.mu0();
                if distance.abs() > error * student_t_critical(found.degrees, self.epsilon) {
                    let statistic = Some(distance / error);
                    return Ok(Verdict { accept: distance > 0.0, looks, statistic, ..verdict });
                }
            }
            next = self.schedule.after(next);
        }
    }
}

impl Stratum {
    /// N_k s_k.
    fn spread(&self) -> f64 {
        self.size as f64 * self.seen.variance().sqrt()
    }
}

fn proportional(n: usize, size: usize, population: usize) -> usize {
    (n as f64 * size as f64 / population as f64).ceil() as usize
}

struct Reader<'a> {
    weights: &'a mut dyn LogWeights,
    buffer: Vec<f64>,
    sections: usize,
    impossible: bool,
    only_before_impossible: bool,
    largest: f64,
}

impl Reader<'_> {
    /// Reads on until `n` sections of the stratum have been seen.
    fn read(&mut self, stratum: &mut Stratum, n: usize) -> Result<(), EvalError> {
        let more = n.saturating_sub(stratum.seen.n as usize);
        if more == 0 || self.impossible {
            return Ok(());
        }
        self.buffer.clear();
        self.weights.draw_from(stratum.number, more, &mut self.buffer)?;
        self.sections += more;
        for weight in &self.buffer {
            self.impossible |= *weight == f64::NEG_INFINITY;
            self.only_before_impossible |= *weight == f64::INFINITY;
            // An infinite weight has been noted; it still counts as one that was read.
            let finite = if weight.is_finite() { *weight } else { 0.0 };
            self.largest = self.largest.max(finite.abs());
            stratum.seen.push(finite);
        }
        Ok(())
    }

    fn rounding(&self) -> f64 {
        64.0 * f64::EPSILON * self.largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(values: &[f64]) -> Accumulator {
        let mut seen = Accumulator::default();
        values.iter().for_each(|value| seen.push(*value));
        seen
    }

    /// The fixture of theory 1.8.
    #[test]
    fn estimate_of_two_strata() {
        let strata = [(100, seen(&[0.2, 0.4, -0.1, 0.3])), (50, seen(&[1.0, -1.0, 2.0]))];
        let found = estimate(strata.into_iter());
        assert!((found.mean - 0.355556).abs() < 1e-6, "{found:?}");
        assert!((found.variance - 0.086212).abs() < 1e-6, "{found:?}");
        assert!((found.degrees - 2.2470).abs() < 1e-4, "{found:?}");
    }
}
