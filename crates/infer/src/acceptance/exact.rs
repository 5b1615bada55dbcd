//! Reads every section: log u < G + Σ l_i. No error, cost N.

use smidgen_engine::EvalError;

use crate::acceptance::{AcceptanceTest, Exactness, LogWeights, Question, Verdict};

pub struct Exact;

impl AcceptanceTest for Exact {
    fn decide(
        &mut self,
        question: &Question,
        weights: &mut dyn LogWeights,
    ) -> Result<Verdict, EvalError> {
        let (mut total, mut sections) = (0.0, 0);
        // An impossible section decides, whatever the others say.
        weights.scan(&mut |weight| {
            sections += 1;
            total = if weight == f64::NEG_INFINITY { weight } else { total + weight };
            weight > f64::NEG_INFINITY
        })?;
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
