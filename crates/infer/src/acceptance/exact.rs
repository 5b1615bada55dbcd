//! Reads every section: log u < G + Σ l_i. No error, cost N.

use smidgen_engine::EvalError;

use crate::acceptance::{AcceptanceTest, Exactness, LogWeights, Question, Verdict};

/// Σ l_i over all sections, which `see` gets to see, lot by lot. −∞ with the first lot that holds an impossible section: it
/// decides, whatever the others say.
pub fn read_all(
    weights: &mut dyn LogWeights,
    see: &mut dyn FnMut(&[f64]),
) -> Result<f64, EvalError> {
    let mut total = 0.0;
    weights.scan(&mut |lot| {
        see(lot);
        let is_impossible = lot.contains(&f64::NEG_INFINITY);
        total = if is_impossible { f64::NEG_INFINITY } else { total + lot.iter().sum::<f64>() };
        !is_impossible
    })?;
    Ok(total)
}

pub struct Exact;

impl AcceptanceTest for Exact {
    fn decide(
        &mut self,
        question: &Question,
        weights: &mut dyn LogWeights,
    ) -> Result<Verdict, EvalError> {
        let mut sections = 0;
        let total = read_all(weights, &mut |lot| sections += lot.len())?;
        Ok(Verdict {
            accept: question.log_u < question.log_global + total,
            sections,
            looks: 1,
            statistic: None,
            impossible: total == f64::NEG_INFINITY,
        })
    }

    fn exactness(&self) -> Exactness {
        Exactness::Exact
    }
}
