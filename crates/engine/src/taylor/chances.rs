//! Logarithms of probabilities, of numbers that are not written as exponentials but whose logarithm is better known than by the
//! curve of the step: log(1 − (1 − e^z)) is z, and a bound through three curves would be that of no line. So rows whose
//! probability is 1 − exp(−e^η) or Φ(η) have the bounds that a link of their own would give them.

use smidgen_prob::smooth::{Curve, Elementary};

use super::Unserved;
use super::sheet::{Quantity, Sheet};
use crate::program::curved::{CurvedOp, Read};

/// How a logarithm is better known than by the curve of the step: the bound of log(1 − (1 − e^z)) would be that of no line.
#[derive(Clone, Debug)]
pub(super) enum Chance {
    /// The logistic curve at a number.
    Logistic(Quantity),
    /// 1 less the exponential of a number.
    OneLessExp(Quantity),
    /// The logarithm of the complement.
    Complement(Quantity),
    /// A number of the row times the exponential of another.
    Times(f64, Quantity),
}

impl Sheet {
    /// 1 − p
    pub(super) fn complement(&mut self, p: Read) -> Result<Quantity, Unserved> {
        let log = self.logs.get(&p).cloned();
        let one = Read::Data(self.register(1.0));
        let step = self.binary(1, one, p);
        let chance = match (log, self.chances.get(&p).cloned()) {
            (_, Some(Chance::Logistic(log_odds))) => {
                let log_odds = self.multiply(&Quantity::Data(-1.0), &log_odds)?;
                Some(Chance::Logistic(log_odds))
            }
            (Some(log), _) => Some(Chance::OneLessExp(log)),
            _ => None,
        };
        if let Some(chance) = chance {
            self.chances.insert(step, chance);
        }
        Ok(Quantity::Step(step))
    }

    /// From now on the logarithm of 1 − p is known.
    pub(super) fn note_complement(&mut self, p: &Quantity, log: Quantity) {
        if let Quantity::Step(read) = p {
            self.chances.insert(*read, Chance::Complement(log));
        }
    }

    /// A logarithm of a step, or of 1 less the step that this is the negative of, if there is a better way to it.
    pub(super) fn better_known(
        &mut self,
        curve: Curve,
        step: Read,
    ) -> Result<Option<Quantity>, Unserved> {
        let negative = self.negatives.get(&step).copied();
        let known = match (curve, negative) {
            (Curve::Wall, _) if self.logs.contains_key(&step) || self.is_chance(step) => {
                Quantity::Data(0.0)
            }
            (Curve::Log, _) => match self.chances.get(&step).cloned() {
                Some(Chance::Logistic(log_odds)) => self.curve(Curve::LogLogistic, &log_odds)?,
                Some(Chance::OneLessExp(log)) => self.curve(Curve::Log1mExp, &log)?,
                Some(Chance::Times(x, log)) => {
                    let log_x = self.of_data(Elementary::Log, x, x);
                    self.add(&Quantity::Data(log_x), &log)?
                }
                Some(Chance::Complement(_)) | None => return Ok(None),
            },
            (Curve::Log1p, Some(p)) => match self.chances.get(&p).cloned() {
                Some(Chance::Logistic(log_odds)) => {
                    let minus = self.multiply(&Quantity::Data(-1.0), &log_odds)?;
                    self.curve(Curve::LogLogistic, &minus)?
                }
                Some(Chance::OneLessExp(log) | Chance::Complement(log)) => log,
                Some(Chance::Times(..)) | None => return Ok(None),
            },
            // log(1 − exp(−e^z))
            (Curve::Log1mExp, Some(exp)) => match self.logs.get(&exp).cloned() {
                Some(z) => self.curve(Curve::Log1mExpExp, &z)?,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(known))
    }

    /// Whether a step is known to be a probability, so that nothing has to be seen to.
    fn is_chance(&self, step: Read) -> bool {
        match self.chances.get(&step) {
            Some(Chance::Logistic(_) | Chance::Complement(_)) => true,
            Some(Chance::OneLessExp(log)) => self.is_never_positive(log),
            Some(Chance::Times(..)) | None => false,
        }
    }

    /// Whether a number is known to be negative or 0: the logarithm of a probability, or less an exponential.
    fn is_never_positive(&self, x: &Quantity) -> bool {
        let Quantity::Step(read) = x else { return x.number().is_some_and(|x| x <= 0.0) };
        if let Some(positive) = self.negatives.get(read) {
            return self.logs.contains_key(positive);
        }
        let Read::Step(number) = read else { return false };
        matches!(
            self.curved.steps[*number as usize].op,
            CurvedOp::Curve(Curve::LogLogistic | Curve::LogNormalCdf | Curve::Log1mExp, _)
        )
    }
}
