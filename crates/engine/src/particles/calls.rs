//! Procedures, choices, densities and branches as actions of a lane program: with steps where there are some.

use std::ops::Range;

use smallvec::SmallVec;
use smidgen_prob::smooth::{self, Smooth};
use smidgen_prob::{Distribution, Function, Score};
use smidgen_value::{Link, Value};

use super::writer::{BoxedLeaf, DRAWN, Index, NO_REGISTER, Read, Writer};
use crate::program::lanes::{Action, Call, Held, Kind, PlainDraw, Rule, Side, Switch};
use crate::program::lower;
use crate::program::marked::{self, Marked};
use crate::program::template::each_register;
use crate::program::{Comparison, Op as StepOp, Source};

impl Writer {
    fn has_kinds(&self, values: &[Value]) -> bool {
        let mut found = false;
        for value in values {
            found |= matches!(value, Value::Bool(_)) || value.holds_linked();
            each_register(value, &mut |register| {
                found |= self.lane_program.kind(register) != Kind::Number;
            });
        }
        found
    }

    /// Tries to write steps; what was written is forgotten if there are none.
    fn attempt<R>(
        &mut self,
        reads: &[Read],
        write: impl FnOnce(&mut Writer, &[Value]) -> Option<R>,
    ) -> Option<(R, Range<u32>)> {
        let program = &self.lane_program.program;
        let (from, leaves, registers) =
            (program.steps.len(), program.leaves.len(), program.registers);
        let (jumps, terms) = (program.jumps.len(), program.terms.len());
        let actions = self.lane_program.actions.len();
        let values: Option<Vec<Value>> = reads.iter().map(|read| self.numbers(read)).collect();
        let start = self.step_count();
        match values.and_then(|values| write(self, &values)) {
            Some(written) => Some((written, start..self.step_count())),
            None => {
                let program = self.program();
                program.steps.truncate(from);
                program.leaves.truncate(leaves);
                program.registers = registers;
                program.jumps.truncate(jumps);
                program.terms.truncate(terms);
                program.links.retain(|(number, _), _| *number < registers);
                self.lane_program.kinds.truncate(registers as usize);
                self.lane_program.actions.truncate(actions);
                None
            }
        }
    }

    /// A deterministic procedure.
    pub fn function(&mut self, place: u32, function: &'static Function, reads: &[Read]) -> Held {
        let name = function.spec.name;
        let attempt = self.attempt(reads, |this, values| {
            let is_elementary = is_elementary(function, values);
            let compares =
                lower::compares(name) && name != "biplex" && values.iter().all(is_scalar);
            // Other procedures may hand a truth value or a probability on; a condition is only looked at.
            let handed_on = if name == "biplex" { &values[1..] } else { values };
            if !(is_elementary || compares) && this.has_kinds(handed_on) {
                return None;
            }
            let value = lower::function(this.program(), function, values).ok()?;
            // An item of a container that is one itself is shared, not put together anew.
            if name == "lookup" && !is_scalar(&value) {
                return None;
            }
            if compares
                && let Value::Number(mark) = value
                && let Marked::Local(register) = marked::read(mark)
            {
                this.lane_program.set_kind(register, Kind::Truth);
            }
            this.note_kinds(&value);
            Some((value, !is_elementary && !compares))
        });
        if let Some(((value, may_fail), steps)) = attempt {
            let out = Held::Marked(value);
            if steps.is_empty() {
                return out;
            }
            let operands = if may_fail { self.all_held(reads) } else { Box::default() };
            let call = Call {
                place,
                rule: Rule::Function(function),
                operands,
                steps,
                may_fail,
                out: out.clone(),
                plain: None,
            };
            self.push_call(call);
            return out;
        }
        let out = Held::Boxed(self.boxed_register());
        self.call(place, Rule::Function(function), reads, out.clone());
        out
    }

    /// A call without steps.
    pub fn call(&mut self, place: u32, rule: Rule, reads: &[Read], out: Held) {
        let operands = self.all_held(reads);
        let plain = self.plain_draw(rule, &operands, &out);
        let call = Call { place, rule, operands, steps: 0..0, may_fail: true, out, plain };
        self.push_call(call);
    }

    /// How to draw without the way through values, if all is plain numbers.
    fn plain_draw(&self, rule: Rule, operands: &[Held], out: &Held) -> Option<PlainDraw> {
        let Rule::Draw(distribution) = rule else { return None };
        let register = |held: &Held| match held {
            Held::Marked(Value::Number(mark)) => match marked::read(*mark) {
                Marked::Local(register) => Some(register),
                _ => None,
            },
            _ => None,
        };
        // A number known by its logarithm is drawn with as it is; where it is none, the general way is taken.
        let argument = |held: &Held| {
            register(held).filter(|register| {
                matches!(
                    self.lane_program.kind(*register),
                    Kind::Number | Kind::Linked(Link::Log, _)
                )
            })
        };
        let args = operands.iter().map(argument).collect::<Option<SmallVec<[_; 4]>>>()?;
        let out = register(out)?;
        Some(PlainDraw { scalar: distribution.scalar()?, family: distribution.family(), args, out })
    }

    /// A random choice of this law: where its value is drawn to.
    fn choice(&mut self, distribution: &dyn Distribution, arguments: usize) -> Held {
        match outcome_kind(distribution, arguments) {
            None => Held::Boxed(self.boxed_register()),
            Some(kind) => self.register_of(kind, DRAWN),
        }
    }

    /// A random choice of this law whose values are the only column that is brought into the lanes.
    pub fn given_choice(&mut self, distribution: &dyn Distribution, arguments: usize) -> Held {
        match outcome_kind(distribution, arguments) {
            None => {
                let register = self.boxed_register();
                self.boxed_leaves.push(BoxedLeaf { register, column: 0 });
                Held::Boxed(register)
            }
            Some(kind) => self.register_of(kind, 0),
        }
    }

    fn register_of(&mut self, kind: Kind, cell: u32) -> Held {
        let register = self.program().leaf(1, Source::Cell(cell));
        self.lane_program.set_kind(register, kind);
        Held::Marked(Value::Number(marked::local(register)))
    }

    /// A number that a call writes.
    pub fn number_register(&mut self) -> Held {
        self.register_of(Kind::Number, DRAWN)
    }

    /// One of several sides, each written by `side`.
    pub fn switch(
        &mut self,
        place: u32,
        index: Index,
        count: usize,
        side: &mut dyn FnMut(&mut Writer, usize) -> Read,
    ) -> Read {
        let mut sides = Vec::with_capacity(count);
        let mut values = Vec::with_capacity(count);
        for k in 0..count {
            let around = std::mem::take(&mut self.lane_program.actions);
            let read = side(self, k);
            let value = self.held(&read);
            let actions = std::mem::replace(&mut self.lane_program.actions, around);
            sides.push(Side { actions, value });
            values.push(read);
        }
        let no_value = |read: &Read| matches!(read, Read::Constant(Value::Nil));
        let attempt = self.attempt(&[], |this, _| this.choose(&index, &values));
        let (out, steps) = match attempt {
            Some((out, steps)) => (out, steps),
            None if values.iter().all(no_value) => (NO_REGISTER, 0..0),
            None => (Held::Boxed(self.boxed_register()), 0..0),
        };
        let Index { read, is_condition } = index;
        let (index, sides) = (self.held(&read), sides.into());
        let switch = Switch { place, index, is_condition, sides, steps, out: out.clone() };
        self.lane_program.actions.push(Action::Switch(switch));
        match out {
            Held::Uniform(_) => Read::Constant(Value::Nil),
            out => Read::Held(out),
        }
    }

    /// A step that picks the number of the side that is taken, if all come to plain numbers.
    fn choose(&mut self, index: &Index, sides: &[Read]) -> Option<Held> {
        let mut number = |read: &Read| match read {
            Read::Constant(Value::Number(x)) => Some(*x),
            Read::Held(Held::Marked(Value::Number(mark))) => match marked::read(*mark) {
                Marked::Local(register) if self.lane_program.kind(register) != Kind::Number => None,
                _ => Some(*mark),
            },
            _ => None,
        };
        let options: Vec<f64> = sides.iter().map(&mut number).collect::<Option<_>>()?;
        let Read::Held(Held::Marked(Value::Number(index_mark))) = index.read else { return None };
        let program = self.program();
        let mut place = program.register(index_mark);
        if index.is_condition {
            let zero = program.register(0.0);
            place = program.push(StepOp::Compare(Comparison::Different, place, zero), 1);
        }
        let options = program.registers(&options).into();
        let out = program.push(StepOp::Choose { index: place, options }, 1);
        Some(Held::Marked(Value::Number(marked::local(out))))
    }

    /// Draws a choice.
    pub fn draw(
        &mut self,
        place: u32,
        distribution: &'static dyn Distribution,
        reads: &[Read],
    ) -> Held {
        let reads: Vec<Read> = reads
            .iter()
            .map(|read| match read {
                Read::Constant(Value::Number(x)) => {
                    let register = self.program().register(*x);
                    Read::Held(Held::Marked(Value::Number(marked::local(register))))
                }
                other => other.clone(),
            })
            .collect();
        let out = self.choice(distribution, reads.len());
        self.call(place, Rule::Draw(distribution), &reads, out.clone());
        out
    }

    /// The log density of the first of these, given the others.
    pub fn density(&mut self, place: u32, distribution: &'static dyn Distribution, reads: &[Read]) {
        let attempt = self.attempt(reads, |this, values| {
            let (x, args) = values.split_first().expect("an outcome");
            if !is_scalar(x) || !args.iter().all(is_scalar) {
                return None;
            }
            let program = this.program();
            program.density(distribution, x, args).ok()?;
            let term = program.terms.pop()?;
            let step = program.steps.last().filter(|step| step.out == term)?;
            matches!(step.op, StepOp::Density(_)).then_some(term)
        });
        let (out, steps) = match attempt {
            Some((term, steps)) => (Held::Marked(Value::Number(marked::local(term))), steps),
            None => (NO_REGISTER, 0..0),
        };
        let operands = self.all_held(reads);
        let rule = Rule::Density(distribution);
        let call = Call { place, rule, operands, steps, may_fail: true, out, plain: None };
        self.push_call(call);
    }
}

fn is_scalar(value: &Value) -> bool {
    value.as_number().is_some()
}

/// Whether a procedure has a result whatever these numbers are.
fn is_elementary(function: &Function, values: &[Value]) -> bool {
    values.iter().all(is_scalar)
        && (matches!(
            smooth::find(function.spec.name),
            Some(Smooth::Elementary(_) | Smooth::Chain(_))
        ) || matches!(function.spec.name, "-" | "/"))
}

/// What the number is that a law draws; none if it may be something else.
fn outcome_kind(distribution: &dyn Distribution, arguments: usize) -> Option<Kind> {
    let is_index = distribution.spec().name == "categorical" && arguments == 1;
    if is_index {
        return Some(Kind::Number);
    }
    match (distribution.score(), distribution.admit(&Value::Number(1.0))) {
        (_, Ok(Value::Bool(_))) => Some(Kind::Truth),
        (Some(Score::Scalar(_)), Ok(Value::Number(_))) => Some(Kind::Number),
        _ => None,
    }
}
