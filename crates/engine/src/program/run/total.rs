//! The sum of a program's terms over many blocks of lanes, where nobody asks for the single ones: a density that
//! ends in a logarithm multiplies ([`Sum`]).

use smallvec::SmallVec;
use smidgen_prob::Family;
use smidgen_value::Link;

use super::{Linear, Store};
use crate::program::wide::Sum;
use crate::program::{DensityOp, Op, Program, Register, Step};

impl Store {
    /// Adds the terms of the lanes to a sum. False if something cannot be computed in some lane; the sum
    /// is of no use then, as it is when it comes to no finite number.
    pub(crate) fn add_terms(
        &mut self,
        program: &Program,
        lanes: usize,
        linear: &Linear<'_>,
        sum: &mut Sum,
    ) -> bool {
        let mut added: SmallVec<[Register; 4]> = SmallVec::new();
        for step in &program.steps {
            match &step.op {
                Op::Density(op)
                    if program.is_one_term(step.out) && self.add_density(op, lanes, sum) =>
                {
                    added.push(step.out);
                }
                _ if self.step(step, lanes, linear) => {}
                _ => return false,
            }
        }
        for term in program.terms.iter().filter(|term| !added.contains(term)) {
            self.wide.add_to(self.lanes(*term, lanes), sum);
        }
        true
    }

    /// Adds log p of coins, given the register of their outcomes and their log odds.
    pub(crate) fn add_coins(&self, x: Register, log_odds: &[f64], sum: &mut Sum) {
        self.wide.add_coins(self.lanes(x, log_odds.len()), log_odds, sum);
    }

    /// Adds the log density of each lane, if there is a loop for sums of its kind. Whether there is.
    fn add_density(&self, op: &DensityOp, lanes: usize, sum: &mut Sum) -> bool {
        let at = |register: Register| self.lanes(register, lanes);
        match (op.family(), &op.registers[..]) {
            ((Family::Coin, Some(Link::LogOdds)), [x, eta]) => {
                self.wide.add_coins(at(*x), at(*eta), sum);
                true
            }
            ((Family::Normal, None), [x, mean, sd]) => {
                self.wide.add_normals([*x, *mean, *sd].map(at), sum)
            }
            _ => false,
        }
    }
}

impl Program {
    /// The register of the outcomes, if the program is nothing but coins with these log odds.
    pub(crate) fn coins_of(&self, log_odds: Register) -> Option<Register> {
        let [Step { op: Op::Density(op), out, .. }] = &self.steps[..] else { return None };
        match (op.family(), &op.registers[..]) {
            ((Family::Coin, Some(Link::LogOdds)), [x, eta])
                if *eta == log_odds && self.terms == [*out] =>
            {
                Some(*x)
            }
            _ => None,
        }
    }
}
