//! The log density of a choice as a step of a program: the law with its arguments as they are, or with one of them through
//! the link that it is known by.

use smidgen_prob::smooth::Shape;
use smidgen_prob::{Distribution, Linked, Score};
use smidgen_value::Value;

use super::lower::{self, Obstacle};
use super::marked::has_marks;
use super::{DensityOp, Op, Program};

/// Arguments of the longest law of single numbers.
pub(crate) const MOST_ARGS: usize = 6;

/// Where an outcome stands among the objects that a law chooses from.
fn places(objects: &Value, x: &Value) -> Result<Value, Obstacle> {
    let items = objects.elements().ok_or("objects that are no sequence")?;
    if has_marks(objects) || has_marks(x) {
        return Err("objects that the block changes".to_owned());
    }
    let equal = items.iter().enumerate().filter(|(_, item)| *item == x);
    Ok(Value::vector(equal.map(|(k, _)| k as f64).collect::<Vec<_>>()))
}

impl Program {
    /// Adds the log density of x.
    pub(crate) fn density(
        &mut self,
        law: &'static dyn Distribution,
        x: &Value,
        args: &[Value],
    ) -> Result<(), Obstacle> {
        let listed = law.objects().filter(|place| *place < args.len());
        let (x, args) = match listed {
            Some(place) => (&places(&args[place], x)?, &args[..place]),
            None => (x, args),
        };
        if let Some(law) = law.linked_form_of()
            && let Some(linked) = law.linked()
        {
            return self.in_form(law, Some(linked), linked.score, x, args);
        }
        if let Some(linked) = law.linked()
            && let Some(eta) = args.get(linked.place).and_then(|arg| self.etas(linked, arg))
        {
            let mut args = args.to_vec();
            args[linked.place] = eta;
            return self.in_form(law, Some(linked), linked.score, x, &args);
        }
        match law.score() {
            Some(score) => self.in_form(law, None, score, x, args),
            None => Err(format!("{} has no derivative", law.spec().name)),
        }
    }

    /// An argument as its link gives it, if some of its numbers are known by that.
    fn etas(&mut self, linked: Linked, arg: &Value) -> Option<Value> {
        if arg.as_number().is_some() {
            return self.known_by(arg, linked.link).map(Value::Number);
        }
        let items = arg.elements()?;
        if !items.iter().any(|item| self.known_by(item, linked.link).is_some()) {
            return None;
        }
        let etas = items.iter().map(|item| lower::eta(self, item, linked.link).ok());
        etas.collect::<Option<Vec<f64>>>().map(Value::vector)
    }

    fn in_form(
        &mut self,
        law: &'static dyn Distribution,
        linked: Option<Linked>,
        score: Score,
        x: &Value,
        args: &[Value],
    ) -> Result<(), Obstacle> {
        let outcome = lower::numbers(x)?;
        let mut numbers = outcome.clone();
        let mut shapes = Vec::with_capacity(args.len());
        for arg in args {
            numbers.extend(lower::numbers(arg)?);
            shapes.push(lower::form(arg)?);
        }
        let single = outcome.len() == 1
            && args.len() <= MOST_ARGS
            && shapes.iter().all(|shape| matches!(shape, Shape::Number));
        if matches!(score, Score::Scalar(_)) && !single {
            return Err(format!("{} of more than single numbers", law.spec().name));
        }
        let registers = self.registers_in_runs(&numbers).into();
        let (outcome, shapes) = (outcome.len(), shapes.into());
        let shared = law.shared_term(linked.map(|linked| linked.link));
        let op = DensityOp { law, linked, score, shared, registers, outcome, shapes };
        let out = self.push(Op::Density(Box::new(op)), 1);
        self.terms.push(out);
        Ok(())
    }
}
