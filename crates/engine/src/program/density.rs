//! The log density of a choice as steps of a program. A few families have steps of their own, better
//! conditioned or faster than their score.

use smidgen_prob::{Distribution, Score};
use smidgen_value::Value;

use super::lower::{self, Obstacle};
use super::marked::{self, has_marks};
use super::{GeneralOp, MOST_ARGS, Op, Program, ScalarScore};

/// Whether a distribution is that of a coin, with the probability of 1 as its argument.
pub(crate) fn is_coin(distribution: &dyn Distribution) -> bool {
    matches!(distribution.spec().name, "bernoulli" | "flip")
}

fn object_index(objects: &Value, x: &Value) -> Result<Value, Obstacle> {
    let items = objects.elements().ok_or("objects that are no sequence")?;
    if has_marks(objects) || has_marks(x) {
        return Err("objects that the block changes".to_owned());
    }
    let mut places = items.iter().enumerate().filter(|(_, item)| *item == x).map(|(k, _)| k);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(Value::Number(place as f64)),
        _ => Err("an object that occurs several times".to_owned()),
    }
}

impl Program {
    /// Adds the log density of x.
    pub(crate) fn density(
        &mut self,
        distribution: &dyn Distribution,
        x: &Value,
        args: &[Value],
    ) -> Result<(), Obstacle> {
        use smidgen_prob::smooth::Elementary::{Log, Subtract};
        let name = distribution.spec().name;
        if name == "categorical" {
            // log w_x − log Σ w
            let weights = lower::numbers(&args[0])?;
            let index = match args.get(1) {
                None => x.clone(),
                Some(objects) => object_index(objects, x)?,
            };
            let total = self.sum(&weights);
            let chosen = self.pick(&weights, &index)?;
            let (log_chosen, log_total) =
                (self.elementary(Log, chosen, 0.0), self.elementary(Log, total, 0.0));
            let log_p = self.elementary(Subtract, log_chosen, log_total);
            self.term(log_p);
            return Ok(());
        }
        if let Some(by) = distribution.by_log_odds()
            && let Some(eta) = args.get(by.place).and_then(|p| self.log_odds(p))
        {
            let mut args = args.to_vec();
            args[by.place] = Value::Number(eta);
            return match name {
                _ if is_coin(distribution) => self.coin(x, eta),
                _ => self.scalar(name, by.score, x, &args),
            };
        }
        if name == "normal"
            && let ([x], [Value::Number(mean), Value::Number(sd)]) = (&lower::numbers(x)?[..], args)
        {
            let registers = [self.register(*x), self.register(*mean), self.register(*sd)];
            let out = self.push(Op::Normal(registers), 1, 3);
            self.terms.push(out);
            return Ok(());
        }
        match distribution.score() {
            None => Err(format!("{name} has no derivative")),
            Some(Score::Scalar(score)) => self.scalar(name, score, x, args),
            Some(Score::General(score)) => {
                let x = lower::numbers(x)?;
                let x = self.registers(&x);
                let mut registers = Vec::with_capacity(args.len());
                for arg in args {
                    let numbers = lower::numbers(arg)?;
                    registers.push(self.registers(&numbers));
                }
                let spare = x.len() + registers.iter().map(Vec::len).sum::<usize>();
                let op = GeneralOp { score, x, args: registers };
                let out = self.push(Op::General(Box::new(op)), 1, spare as u32);
                self.terms.push(out);
                Ok(())
            }
        }
    }

    /// A coin, given its log odds.
    fn coin(&mut self, x: &Value, eta: f64) -> Result<(), Obstacle> {
        let x = lower::numbers(x)?[0];
        let (x, eta) = (self.register(x), self.register(eta));
        let out = self.push(Op::Coin { x, eta }, 1, 1);
        self.terms.push(out);
        Ok(())
    }

    /// A law of single numbers.
    fn scalar(
        &mut self,
        name: &str,
        score: ScalarScore,
        x: &Value,
        args: &[Value],
    ) -> Result<(), Obstacle> {
        let x = lower::numbers(x)?;
        let mut numbers = Vec::with_capacity(args.len());
        for arg in args {
            numbers.extend(lower::numbers(arg)?);
        }
        if x.len() != 1 || numbers.len() != args.len() || args.len() > MOST_ARGS {
            return Err(format!("{name} of more than single numbers"));
        }
        let x = self.register(x[0]);
        let args = self.registers(&numbers);
        let spare = args.len() as u32 + 1;
        let out = self.push(Op::Score { score, x, args: args.into() }, 1, spare);
        self.terms.push(out);
        Ok(())
    }

    fn sum(&mut self, xs: &[f64]) -> f64 {
        use smidgen_prob::smooth::Elementary::Add;
        let (first, rest) = xs.split_first().expect("weights are not empty");
        rest.iter().fold(*first, |total, x| self.elementary(Add, total, *x))
    }

    /// The number at an index, which may be marked.
    fn pick(&mut self, xs: &[f64], index: &Value) -> Result<f64, Obstacle> {
        let index = index.as_number().ok_or("an index that is no number")?;
        if !marked::is_marked(index) {
            let found = xs.get(index as usize).filter(|_| index >= 0.0 && index.fract() == 0.0);
            return found.copied().ok_or_else(|| "an index out of range".to_owned());
        }
        let index = self.register(index);
        let options = self.registers(xs);
        let out = self.push(Op::Choose { index, options: options.into() }, 1, 0);
        Ok(self.mark(out))
    }
}
