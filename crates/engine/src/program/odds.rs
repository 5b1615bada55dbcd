//! Log odds beside probabilities.
//!
//! A law that reads 1/(1 + e^-η) as its probability is computed from η, which keeps its digits where the number has
//! become 1 or 0. So a program knows the log odds of its registers where it has written them, and they follow
//! a probability wherever it is only handed on: through choices between several, and to the other
//! side 1 - p of the coin. As numbers the registers are the probabilities themselves.

use smidgen_prob::functions::link::logit;
use smidgen_prob::smooth::Elementary;
use smidgen_value::Value;

use super::marked::{self, Marked};
use super::{Op, Program, Register};

/// The place of the log odds among the numbers of a value that is read from the trace.
pub(crate) const LOG_ODDS: u32 = u32::MAX;

/// The log odds of a register.
#[derive(Clone, Copy)]
pub(crate) struct Odds {
    eta: Register,
    /// Whether the register is a probability. If not, this is to be looked at only where it is used as one.
    sure: bool,
}

impl Odds {
    /// Those of an argument that may be a probability.
    pub(crate) fn of_argument(eta: Register) -> Odds {
        Odds { eta, sure: false }
    }
}

/// The log odds of a value; NaN if it is no probability.
pub(crate) fn log_odds_of(value: &Value) -> f64 {
    match value {
        Value::Odds(eta) => *eta,
        other => other.as_number().map_or(f64::NAN, logit),
    }
}

impl Program {
    /// From now on a register's log odds are known to stand in another one.
    pub(crate) fn note_odds(&mut self, p: Register, eta: Register, sure: bool) {
        self.odds.insert(p, Odds { eta, sure });
    }

    /// The register of the log odds of one that is a probability whatever it is used for.
    pub(crate) fn sure_eta(&self, p: Register) -> Option<Register> {
        self.odds.get(&p).filter(|odds| odds.sure).map(|odds| odds.eta)
    }

    fn find(&self, p: &Value) -> Option<(f64, bool)> {
        let x = match p {
            Value::Odds(eta) => return Some((*eta, true)),
            Value::Number(x) => *x,
            _ => return None,
        };
        match marked::read(x) {
            Marked::Number(_) => None,
            Marked::Global(register) if !self.is_global => {
                let odds = self.global_odds.get(&register)?;
                Some((marked::global(odds.eta), odds.sure))
            }
            Marked::Local(register) | Marked::Global(register) => {
                let odds = self.odds.get(&register)?;
                Some((self.mark(odds.eta), odds.sure))
            }
        }
    }

    /// The log odds of what is used as a probability, as a mark or a number.
    pub(crate) fn log_odds(&self, p: &Value) -> Option<f64> {
        self.find(p).map(|(eta, _)| eta)
    }

    /// The same of what is a probability whatever it is used for.
    pub(super) fn sure_log_odds(&self, p: &Value) -> Option<f64> {
        self.find(p).filter(|(_, sure)| *sure).map(|(eta, _)| eta)
    }

    /// 1 - p
    pub(super) fn other_side(&mut self, p: &Value) -> Option<Value> {
        let (eta, sure) = self.find(p)?;
        let eta = self.elementary(Elementary::Negate, eta, 0.0);
        if sure {
            return Some(Value::Number(self.elementary(Elementary::Logistic, eta, 0.0)));
        }
        let complement = self.elementary(Elementary::Subtract, 1.0, p.as_number()?);
        let (register, eta) = (self.register(complement), self.register(eta));
        self.note_odds(register, eta, false);
        Some(Value::Number(complement))
    }

    /// The log odds of the chosen one, if those of some option are known.
    pub(super) fn choose_odds(&mut self, index: Register, options: &[Value], chosen: Register) {
        let found: Vec<Option<(f64, bool)>> = options.iter().map(|p| self.find(p)).collect();
        if found.iter().all(Option::is_none) {
            return;
        }
        let sure = found.iter().all(|odds| odds.is_some_and(|(_, sure)| sure));
        let mut etas = Vec::with_capacity(options.len());
        for (p, known) in options.iter().zip(found) {
            let eta = match (known, p.as_number()) {
                (Some((eta, _)), _) => eta,
                (None, Some(p)) => self.elementary(Elementary::Logit, p, 0.0),
                (None, None) => return,
            };
            etas.push(eta);
        }
        let options = self.registers(&etas);
        let eta = self.push(Op::Choose { index, options: options.into() }, 1, 0);
        self.note_odds(chosen, eta, sure);
    }
}
