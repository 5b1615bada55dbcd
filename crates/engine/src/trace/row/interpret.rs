//! One row of a plate computed from the program's text and given values of the nodes around it: what
//! the row would be as nodes. The compiled program is held against it, and it decides wherever the
//! program comes to something that is no finite number.

use smidgen_lang::Span;
use smidgen_prob::{Distribution, Function};
use smidgen_value::{Column, Rng, Symbol, Value};

use super::walk::{self, Application, Host, Stop, Walked};
use crate::error::{EvalError, Mistake};
use crate::id::NodeId;
use crate::operand::Operand;
use crate::plate::{Known, Plate, RowProgram};
use crate::trace::Trace;
use crate::trace::node::{MemoEntry, MemoKey};
use crate::trace::observe::wrong_type;

struct Interpreter<'a> {
    trace: &'a Trace,
    nodes: &'a [NodeId],
    values: &'a [&'a Value],
}

impl Host for Interpreter<'_> {
    fn global(&mut self, name: Symbol) -> Walked<Operand> {
        self.trace.known_global(name).ok_or(Stop::NoPlate)
    }

    fn read(&mut self, operand: &Operand) -> Walked<Value> {
        match operand {
            Operand::Constant(value) => Ok(value.clone()),
            Operand::Node(id) => {
                let place = self.nodes.iter().position(|node| node == id);
                Ok(self.values[place.ok_or(Stop::NoPlate)?].clone())
            }
        }
    }

    fn cell(&mut self, column: &Column, row: &Operand) -> Walked<Value> {
        let row = row.constant().and_then(Value::as_integer).ok_or(Stop::NoPlate)?;
        Ok(column.cell(row as usize))
    }

    fn decide(&mut self, value: Operand) -> Walked<Value> {
        match value {
            Operand::Constant(value) => Ok(value),
            Operand::Node(_) => Err(Stop::NoPlate),
        }
    }

    fn truth(&mut self, value: Operand, _: Span) -> Walked<bool> {
        self.decide(value)?.truth().ok_or(Stop::NoPlate)
    }

    fn request(&mut self, memo: NodeId, key: MemoKey, _: Span) -> Walked<Operand> {
        match self.trace.memo(memo).families.get(&key) {
            Some(MemoEntry::Family(family)) => {
                let root = self.trace.families[family.index()].root.clone();
                Ok(root.expect("an evaluated family has a root"))
            }
            _ => Err(Stop::NoPlate),
        }
    }

    fn call(&mut self, function: &'static Function, args: &[Operand], span: Span) -> Walked<Value> {
        let values: Vec<Value> = args.iter().map(|arg| self.read(arg)).collect::<Result<_, _>>()?;
        let values: Vec<&Value> = values.iter().collect();
        let result = (function.apply)(&values);
        Ok(result.map_err(|e| self.trace.argument_error(function.spec.name, e, span))?)
    }
}

impl Plate {
    /// log p of a row, given the values of the nodes around the plate.
    pub(crate) fn interpret(
        &self,
        trace: &Trace,
        nodes: &[NodeId],
        values: &[&Value],
        row: usize,
    ) -> Result<f64, EvalError> {
        let mut host = Interpreter { trace, nodes, values };
        self.interpret_in(&mut host, row).map_err(|stop| self.error(stop, row))
    }

    /// How many rows cannot be, given the values of the nodes around the plate, as the program has it where it can be computed: a search for
    /// a start asks at every step, and goes by the number alone. At least one, since who asks knows that some cannot.
    pub(crate) fn impossible_rows(
        &self,
        trace: &Trace,
        nodes: &[NodeId],
        values: &[&Value],
    ) -> u64 {
        let mut numbers = Vec::new();
        let counted = match self.flatten(values, &mut numbers) {
            true => self.unclear_rows(&mut trace.desk(), &numbers),
            false => None,
        };
        let cannot_be = |place: &usize| {
            let row = self.members.row(*place) as usize;
            match self.interpret(trace, nodes, values, row) {
                Ok(log_p) => log_p == f64::NEG_INFINITY,
                Err(error) => error.rejects(),
            }
        };
        counted.unwrap_or_else(|| (0..self.rows()).filter(cannot_be).count() as u64).max(1)
    }

    fn interpret_in(&self, host: &mut Interpreter<'_>, row: usize) -> Walked<f64> {
        let Observed { distribution, x, args, span } = self.observed(host, row)?;
        let name = distribution.spec().name;
        let args: Vec<&Value> = args.iter().collect();
        let log_p = distribution
            .log_density(&x, &args)
            .map_err(|e| host.trace.argument_error(name, e, span))?;
        if log_p.is_nan() {
            let mistake = Mistake::NotANumber { procedure: name.to_owned(), value: x };
            return Err(EvalError::new(mistake, span).into());
        }
        Ok(log_p)
    }

    /// An outcome of a row drawn from its law, given the values of the nodes around the plate.
    pub(super) fn draw_row(
        &self,
        trace: &Trace,
        nodes: &[NodeId],
        values: &[&Value],
        row: usize,
        rng: &mut Rng,
    ) -> Result<Value, EvalError> {
        let mut host = Interpreter { trace, nodes, values };
        let Observed { distribution, args, span, .. } =
            self.observed(&mut host, row).map_err(|stop| self.error(stop, row))?;
        let args: Vec<&Value> = args.iter().collect();
        let drawn = distribution.sample(&args, rng);
        drawn.map_err(|e| trace.argument_error(distribution.spec().name, e, span))
    }

    fn error(&self, stop: Stop, row: usize) -> EvalError {
        match stop {
            Stop::Error(error) => error,
            Stop::NoPlate => {
                let message = format!("row {row} is no longer what it was when it was observed");
                EvalError::other(self.program.span, message)
            }
        }
    }

    fn observed(&self, host: &mut Interpreter<'_>, row: usize) -> Walked<Observed> {
        let text = &self.program.text;
        let environment = text.environment.push([Operand::Constant(Value::Number(row as f64))]);
        let Application { distribution, operands, span } =
            walk::application(host, &text.expr, &environment)?;
        let outcome = walk::operand(host, &text.outcome, &environment)?;
        let outcome = host.read(&outcome)?;
        let name = distribution.spec().name;
        let x = distribution
            .admit(&outcome)
            .map_err(|wanted| wrong_type(name, wanted, &outcome, span))?;
        let args: Vec<Value> =
            operands.iter().map(|arg| host.read(arg)).collect::<Result<_, _>>()?;
        Ok(Observed { distribution, x, args, span })
    }

    /// The first row whose observed value is of the wrong type or outside the support.
    pub(crate) fn first_outside(
        &self,
        trace: &Trace,
        nodes: &[NodeId],
        values: &[&Value],
    ) -> Option<u32> {
        let mut host = Interpreter { trace, nodes, values };
        let mut support_in = |row: u32| {
            let Observed { distribution, x, args, .. } =
                self.observed(&mut host, row as usize).ok()?;
            let args: Vec<&Value> = args.iter().collect();
            Some((distribution.support(&args).ok(), x))
        };
        let rows = (0..self.rows()).map(|place| self.members.row(place));
        let RowProgram { outcome, support, distribution, .. } = &*self.program;
        let known = match (support, outcome) {
            (Known::ForAll, Some(_)) => support_in(self.members.row(0)).and_then(|(s, _)| s),
            (Known::No, Some(_)) => None,
            // Row by row; if the value is the same for all of one support, once.
            (_, outcome) => {
                let mut fits = |row: &u32| match support_in(*row) {
                    Some((Some(support), x)) => support.contains(&x),
                    Some((None, _)) => true,
                    None => false,
                };
                let once = outcome.is_none() && *support != Known::ForEach;
                let checked = if once { 1 } else { usize::MAX };
                let mut rows = rows.take(checked);
                return rows.find(|row| !fits(row));
            }
        };
        let outcome = outcome.as_ref()?;
        let (mut store, stride) = (outcome.store(), outcome.stride());
        outcome.begin(&mut store, &[]);
        for start in (0..self.rows()).step_by(stride) {
            let (pick, lanes) = (self.members.pick(start), stride.min(self.rows() - start));
            outcome.load(&mut store, &[], pick, lanes);
            outcome.value(&mut store, &[], pick, lanes);
            for lane in 0..lanes {
                let entry = |k: usize| outcome.term(&store, k, lanes)[lane];
                let value = match outcome.program().terms.len() {
                    1 => Value::Number(entry(0)),
                    n => Value::vector((0..n).map(entry).collect::<Vec<_>>()),
                };
                let admitted = distribution.admit(&value);
                let fits = admitted.is_ok_and(|x| known.as_ref().is_none_or(|s| s.contains(&x)));
                if !fits {
                    return Some(self.members.row(start + lane));
                }
            }
        }
        None
    }
}

/// An observed choice with its arguments.
struct Observed {
    distribution: &'static dyn Distribution,
    x: Value,
    args: Vec<Value>,
    span: Span,
}
