//! The terms of a density: the log densities of choices, of the block or absorbing, as steps of their
//! rows. A few families have steps of their own, better conditioned or faster than their score.

use smidgen_prob::{Distribution, Score};
use smidgen_value::Value;

use super::compile::{Compiled, Compiler, Failure};
use super::lower::{self, Obstacle};
use super::marked::{self, has_marks};
use super::tape::{GeneralOp, MOST_ARGS, Op, ScalarScore, Tape};
use crate::id::NodeId;
use crate::node::Op as NodeOp;
use crate::operand::Operand;

impl Compiler<'_> {
    /// Adds the log density of a choice, of the block or absorbing, to the row.
    pub(super) fn term(&mut self, id: NodeId, in_block: bool) -> Compiled<()> {
        let node = self.trace.node(id);
        let constrained = node.constrained;
        let distribution: &'static dyn Distribution = match &node.op {
            NodeOp::Random(distribution) => *distribution,
            NodeOp::Maker(made) => made.maker.latent().expect("only a latent maker absorbs"),
            _ => unreachable!("only choices have densities"),
        };
        let operands: Vec<Operand> = node.args.iter().map(|arg| arg.operand.clone()).collect();
        let name = distribution.spec().name;
        let mut args = Vec::with_capacity(operands.len());
        for operand in &operands {
            args.push(self.argument(operand, false)?);
        }
        let value = self.trace.node(id).value.clone();
        let x = if in_block {
            self.global_values[&id].clone()
        } else if constrained {
            value
        } else if name == "categorical" && args.len() == 2 {
            self.pin(id, value)
        } else {
            match lower::live(&mut self.row, id, &value) {
                Some(marked) => marked,
                None => self.pin(id, value),
            }
        };
        self.score(distribution, &x, &args).map_err(|reason| Failure::At(id, reason))?;
        let jumps = self.row.terms.iter().any(|term| self.row.jumps(*term));
        let indicates = constrained && matches!(name, "bernoulli" | "flip");
        if jumps && !indicates {
            let reason = "its density jumps where a comparison changes".to_owned();
            return Err(Failure::At(id, reason));
        }
        Ok(())
    }

    fn score(
        &mut self,
        distribution: &dyn Distribution,
        x: &Value,
        args: &[Value],
    ) -> Result<(), Obstacle> {
        use smidgen_prob::smooth::Elementary::{Log, Subtract};
        let name = distribution.spec().name;
        let row = &mut self.row;
        if name == "categorical" {
            // log w_x − log Σ w
            let weights = lower::numbers(&args[0])?;
            let index = match args.get(1) {
                None => x.clone(),
                Some(objects) => object_index(objects, x)?,
            };
            let total = row.sum(&weights);
            let chosen = row.pick(&weights, &index)?;
            let (log_chosen, log_total) =
                (row.elementary(Log, chosen, 0.0), row.elementary(Log, total, 0.0));
            let log_p = row.elementary(Subtract, log_chosen, log_total);
            row.term(log_p);
            return Ok(());
        }
        if matches!(name, "bernoulli" | "flip")
            && let [Value::Number(p)] = args
            && let Some(predictor) = row.logistic_of(*p)
        {
            let x = lower::numbers(x)?[0];
            let (x, eta) = (row.register(x), predictor);
            let out = row.push(Op::Coin { x, eta }, 1, 1);
            row.terms.push(out);
            return Ok(());
        }
        if name == "normal"
            && let ([x], [Value::Number(mean), Value::Number(sd)]) = (&lower::numbers(x)?[..], args)
        {
            let registers = [row.register(*x), row.register(*mean), row.register(*sd)];
            let out = row.push(Op::Normal(registers), 1, 3);
            row.terms.push(out);
            return Ok(());
        }
        match distribution.score() {
            None => Err(format!("{name} has no derivative")),
            Some(Score::Scalar(score)) => {
                let x = lower::numbers(x)?;
                let mut numbers = Vec::with_capacity(args.len());
                for arg in args {
                    numbers.extend(lower::numbers(arg)?);
                }
                if x.len() != 1 || numbers.len() != args.len() || args.len() > MOST_ARGS {
                    return Err(format!("{name} of more than single numbers"));
                }
                let x = row.register(x[0]);
                let args = row.registers(&numbers);
                row.score(score, x, args);
                Ok(())
            }
            Some(Score::General(score)) => {
                let x = lower::numbers(x)?;
                let x = row.registers(&x);
                let mut registers = Vec::with_capacity(args.len());
                for arg in args {
                    let numbers = lower::numbers(arg)?;
                    registers.push(row.registers(&numbers));
                }
                let spare = x.len() + registers.iter().map(Vec::len).sum::<usize>();
                let op = GeneralOp { score, x, args: registers };
                let out = row.push(Op::General(Box::new(op)), 1, spare as u32);
                row.terms.push(out);
                Ok(())
            }
        }
    }
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

impl Tape {
    fn score(&mut self, score: ScalarScore, x: u32, args: Vec<u32>) {
        let spare = args.len() as u32 + 1;
        let out = self.push(Op::Score { score, x, args: args.into() }, 1, spare);
        self.terms.push(out);
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

    /// η if the number is logistic(η) on this tape.
    fn logistic_of(&self, p: f64) -> Option<u32> {
        use smidgen_prob::smooth::Elementary::Logistic;
        let marked::Marked::Local(register) = marked::read(p) else { return None };
        let step = self.steps.iter().rev().find(|step| step.out == register)?;
        match step.op {
            Op::Elementary(Logistic, eta, _) => Some(eta),
            _ => None,
        }
    }
}
