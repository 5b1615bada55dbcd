//! Programs whose lanes go their own ways: particles, values of a finite choice, pairs of values.
//!
//! A lane program is a list of **actions**. An action is what one node, or one call in the text, comes to. It is
//! always known as a procedure on boxed values; where it has fast steps ([`Program`]) these are run for all lanes,
//! and the procedure is asked only in lanes where a step that may fail gave no finite number. What has no
//! fast steps is called lane by lane. So nothing is declined, and a lane that leaves a domain dies alone.
//!
//! Two kinds of registers: numbers, which the steps compute on, and boxed values. A number register may stand for
//! a truth value, or for a probability by its log odds; whoever boxes it makes that value again.
//!
//! Both sides of a branch are written, each an action list of its own that counts only in the lanes that go there.

use std::ops::Range;

use smallvec::SmallVec;
use smidgen_prob::{Distribution, Function, Scalar};
use smidgen_value::{ArgumentError, Matrix, Rng, Value};

use super::marked::{self, Marked};
use super::values::LaneStore;
use super::{Program, Register};
use crate::error::EvalError;

/// What stands for a value in all lanes.
#[derive(Clone)]
pub(crate) enum Held {
    /// A value with marks where it has registers.
    Marked(Value),
    /// A register of boxed values.
    Boxed(u32),
    /// One value for all lanes, by its number among those of the run.
    Uniform(u32),
}

/// What a number register stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Truth,
    /// The probability whose log odds are in this register.
    Probability(Register),
}

#[derive(Clone, Copy)]
pub(crate) enum Rule {
    Function(&'static Function),
    /// A random choice that is drawn; the faster way for plain numbers if the arguments are.
    Draw(&'static dyn Distribution, Option<Scalar>),
    /// The log density of the first operand, given the others.
    Density(&'static dyn Distribution),
    /// The log density that the host knows, of the applications of a maker.
    Marginal,
    /// A value that the host knows, by a number of its own.
    Request(u32),
    /// The place of the first operand among the others.
    Which,
}

pub(crate) struct Call {
    /// Which of the host's nodes this is.
    pub place: u32,
    pub rule: Rule,
    pub operands: Box<[Held]>,
    /// Its fast steps, if it has any; a density's number is the last operand then.
    pub steps: Range<u32>,
    /// Whether a result that is no finite number has to be looked at.
    pub may_fail: bool,
    pub out: Held,
}

/// One of several action lists, by the number in a lane.
pub(crate) struct Switch {
    pub place: u32,
    pub index: Held,
    /// Whether the index is a condition: any truth value, of two sides.
    pub is_condition: bool,
    pub sides: Box<[Side]>,
    /// The steps that pick a number, if all sides come to one.
    pub steps: Range<u32>,
    pub out: Held,
}

pub(crate) struct Side {
    pub actions: Vec<Action>,
    pub value: Held,
}

pub(crate) enum Action {
    Call(Call),
    Switch(Switch),
}

#[derive(Default)]
pub(crate) struct LaneProgram {
    pub program: Program,
    /// Of number registers; the rest are plain numbers.
    pub kinds: Vec<Kind>,
    /// Number of boxed registers.
    pub boxed: u32,
    pub actions: Vec<Action>,
}

/// Why a call has no value.
pub(crate) enum Failed {
    /// An argument is wrong, or out of its domain.
    Argument(ArgumentError),
    /// The program cannot go on.
    Error(EvalError),
}

impl From<ArgumentError> for Failed {
    fn from(error: ArgumentError) -> Failed {
        Failed::Argument(error)
    }
}

/// Whoever runs a lane program.
pub(crate) trait Host {
    /// A call in a lane has failed: an error unless the lane has left a domain, and so is impossible.
    fn fails(&mut self, call: &Call, error: ArgumentError) -> Result<(), EvalError>;

    /// A log density is no number.
    fn not_a_number(&mut self, call: &Call, x: &Value) -> EvalError;

    /// A law that nothing can be drawn from.
    fn improper(&mut self, call: &Call) -> EvalError;

    /// A condition that is neither true nor false.
    fn no_condition(&mut self, place: u32, condition: Value) -> EvalError;

    /// [`Rule::Marginal`] and [`Rule::Request`].
    fn ask(&mut self, call: &Call, args: &[&Value]) -> Result<Value, Failed>;

    /// The lane whose choices are given, with the value of a choice.
    fn given(&self, place: u32) -> Option<&Value>;

    fn rng(&mut self) -> &mut Rng;
}

/// Values that are the same in all lanes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Uniforms<'a> {
    /// Of each number, its place among the values.
    pub places: &'a [u32],
    pub values: &'a [Value],
}

impl<'a> Uniforms<'a> {
    fn get(self, number: u32) -> &'a Value {
        &self.values[self.places[number as usize] as usize]
    }
}

/// What a run changes: lanes that are still possible, and their log weights.
pub(crate) struct Outcome<'a> {
    pub alive: &'a mut [bool],
    pub log_weights: &'a mut [f64],
}

impl LaneProgram {
    pub(crate) fn kind(&self, register: Register) -> Kind {
        self.kinds.get(register as usize).copied().unwrap_or(Kind::Number)
    }

    pub(crate) fn set_kind(&mut self, register: Register, kind: Kind) {
        let size = register as usize + 1;
        if self.kinds.len() < size {
            self.kinds.resize(size, Kind::Number);
        }
        self.kinds[register as usize] = kind;
    }

    #[inline]
    fn number(&self, store: &LaneStore, register: Register, lane: usize) -> Value {
        let x = store.number(register, lane);
        match self.kind(register) {
            Kind::Number => Value::Number(x),
            Kind::Truth => Value::Bool(x != 0.0),
            Kind::Probability(eta) => Value::probability(store.number(eta, lane)),
        }
    }

    /// Runs all actions in the lanes that are alive.
    pub(crate) fn run(
        &self,
        uniforms: Uniforms<'_>,
        store: &mut LaneStore,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        Run { lane_program: self, uniforms }.act(&self.actions, store, outcome, host)
    }

    fn steps(&self, range: &Range<u32>) -> &[super::Step] {
        &self.program.steps[range.start as usize..range.end as usize]
    }

    /// The value of something held, in a lane.
    pub(crate) fn value(
        &self,
        uniforms: Uniforms<'_>,
        store: &LaneStore,
        held: &Held,
        lane: usize,
    ) -> Value {
        Run { lane_program: self, uniforms }.value(store, held, lane)
    }
}

/// One run of a program.
#[derive(Clone, Copy)]
struct Run<'a> {
    lane_program: &'a LaneProgram,
    uniforms: Uniforms<'a>,
}

impl Run<'_> {
    #[inline]
    fn value(&self, store: &LaneStore, held: &Held, lane: usize) -> Value {
        match held {
            Held::Boxed(register) => store.boxed(*register, lane).clone(),
            Held::Uniform(number) => self.uniforms.get(*number).clone(),
            Held::Marked(value) => {
                fill_in(value, &|register| self.lane_program.number(store, register, lane))
            }
        }
    }

    fn act(
        &self,
        actions: &[Action],
        store: &mut LaneStore,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        for action in actions {
            match action {
                Action::Call(call) => match call.rule {
                    Rule::Draw(distribution, scalar) => {
                        self.draw(call, (distribution, scalar), store, outcome, host)?;
                    }
                    Rule::Density(_) | Rule::Marginal => self.weigh(call, store, outcome, host)?,
                    _ => self.call(call, store, outcome, host)?,
                },
                Action::Switch(switch) => self.switch(switch, store, outcome, host)?,
            }
        }
        Ok(())
    }

    fn call(
        &self,
        call: &Call,
        store: &mut LaneStore,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        let is_fast = !call.steps.is_empty();
        if is_fast {
            store.run(self.lane_program.steps(&call.steps));
            if !call.may_fail {
                return Ok(());
            }
        }
        for lane in 0..store.lanes() {
            if !outcome.alive[lane] || is_fast && self.is_finite(store, &call.out, lane) {
                continue;
            }
            match self.apply(call, store, lane, host) {
                Ok(value) => self.put(store, &call.out, lane, &value),
                Err(failed) => outcome.alive[lane] = survives(failed, call, host)?,
            }
        }
        Ok(())
    }

    /// The procedure of a call, on the boxed values of a lane.
    fn apply(
        &self,
        call: &Call,
        store: &LaneStore,
        lane: usize,
        host: &mut dyn Host,
    ) -> Result<Value, Failed> {
        self.with_args(store, &call.operands, lane, |args| match call.rule {
            Rule::Function(function) => Ok((function.apply)(args)?),
            Rule::Density(distribution) => {
                Ok(Value::Number(distribution.log_density(args[0], &args[1..])?))
            }
            Rule::Which => {
                let place = args[1..].iter().position(|known| *known == args[0]);
                Ok(Value::Number(place.map_or(f64::NAN, |place| place as f64)))
            }
            Rule::Marginal | Rule::Request(_) => host.ask(call, args),
            Rule::Draw(distribution, _) => Ok(distribution.sample(args, host.rng())?),
        })
    }

    /// Calls `f` with the operands in a lane.
    #[inline]
    fn with_args<R>(
        &self,
        store: &LaneStore,
        operands: &[Held],
        lane: usize,
        f: impl FnOnce(&[&Value]) -> R,
    ) -> R {
        let made: SmallVec<[Value; 4]> = operands
            .iter()
            .map(|held| match held {
                Held::Boxed(_) | Held::Uniform(_) => Value::Nil,
                marked => self.value(store, marked, lane),
            })
            .collect();
        let args: SmallVec<[&Value; 4]> = operands
            .iter()
            .zip(&made)
            .map(|(held, made)| match held {
                Held::Boxed(register) => store.boxed(*register, lane),
                Held::Uniform(number) => self.uniforms.get(*number),
                Held::Marked(_) => made,
            })
            .collect();
        f(&args)
    }

    fn is_finite(&self, store: &LaneStore, held: &Held, lane: usize) -> bool {
        let Held::Marked(value) = held else { return false };
        let mut finite = true;
        each_register(value, &mut |register| finite &= store.number(register, lane).is_finite());
        finite
    }

    /// Writes a boxed value to where it is held.
    fn put(&self, store: &mut LaneStore, held: &Held, lane: usize, value: &Value) {
        match held {
            Held::Boxed(register) => *store.boxed_mut(*register, lane) = value.clone(),
            Held::Uniform(_) => unreachable!("what is the same in all lanes is not written"),
            Held::Marked(template) => {
                let mut numbers = SmallVec::<[f64; 4]>::new();
                let mut found = Vec::new();
                match value.as_number() {
                    Some(x) => numbers.push(x),
                    None if marked::numbers(value, &mut found) => numbers.extend(found),
                    None => {}
                }
                let mut numbers = numbers.into_iter();
                each_number(template, &mut |mark| {
                    let x = numbers.next().unwrap_or(f64::NAN);
                    if let Marked::Local(register) = marked::read(mark) {
                        store.put(register, lane, x);
                    }
                });
            }
        }
    }

    /// Adds a log density in every lane that is alive.
    fn weigh(
        &self,
        call: &Call,
        store: &mut LaneStore,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        let lanes = store.lanes();
        if let Held::Marked(Value::Number(term)) = call.out
            && let Marked::Local(term) = marked::read(term)
        {
            store.run(self.lane_program.steps(&call.steps));
            let log_densities = store.row(term);
            let (alive, log_weights) = (&outcome.alive[..lanes], &mut outcome.log_weights[..lanes]);
            // The usual case first: all are finite.
            if log_densities.iter().all(|log_p| log_p.is_finite()) {
                for (log_weight, log_p) in log_weights.iter_mut().zip(log_densities) {
                    *log_weight += log_p;
                }
                return Ok(());
            }
            for lane in 0..lanes {
                if alive[lane] && log_densities[lane].is_finite() {
                    log_weights[lane] += log_densities[lane];
                }
            }
            for lane in 0..lanes {
                if outcome.alive[lane] && !store.number(term, lane).is_finite() {
                    self.weigh_lane(call, store, lane, outcome, host)?;
                }
            }
            return Ok(());
        }
        for lane in 0..lanes {
            if outcome.alive[lane] {
                self.weigh_lane(call, store, lane, outcome, host)?;
            }
        }
        Ok(())
    }

    fn weigh_lane(
        &self,
        call: &Call,
        store: &LaneStore,
        lane: usize,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        match self.apply(call, store, lane, host) {
            Ok(Value::Number(log_p)) if !log_p.is_nan() => outcome.log_weights[lane] += log_p,
            Ok(_) => {
                let x = self.value(store, &call.operands[0], lane);
                return Err(host.not_a_number(call, &x));
            }
            Err(failed) => outcome.alive[lane] = survives(failed, call, host)?,
        }
        Ok(())
    }

    /// Draws a choice in lane order; the given lane keeps its value.
    fn draw(
        &self,
        call: &Call,
        (distribution, scalar): (&'static dyn Distribution, Option<Scalar>),
        store: &mut LaneStore,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        if !distribution.is_proper() {
            return Err(host.improper(call));
        }
        let mut lanes = store.lanes();
        if let Some(value) = host.given(call.place) {
            lanes -= 1;
            self.put(store, &call.out, lanes, value);
        }
        let registers = scalar.and_then(|_| self.plain_registers(&call.operands));
        if let (Some(scalar), Some(registers)) = (scalar, registers)
            && let Held::Marked(Value::Number(mark)) = call.out
            && let Marked::Local(out) = marked::read(mark)
        {
            let mut args = SmallVec::<[f64; 4]>::from_elem(0.0, registers.len());
            for lane in 0..lanes {
                if !outcome.alive[lane] {
                    continue;
                }
                for (arg, register) in args.iter_mut().zip(&registers) {
                    *arg = store.number(*register, lane);
                }
                match (scalar.sample)(&args, host.rng()) {
                    Some(x) => store.put(out, lane, x),
                    // The general way finds out what is wrong.
                    None => {
                        let support = |args: &[&Value]| distribution.support(args).err();
                        if let Some(error) = self.with_args(store, &call.operands, lane, support) {
                            host.fails(call, error)?;
                        }
                        outcome.alive[lane] = false;
                    }
                }
            }
            return Ok(());
        }
        for lane in 0..lanes {
            if !outcome.alive[lane] {
                continue;
            }
            match self.apply(call, store, lane, host) {
                Ok(value) => self.put(store, &call.out, lane, &value),
                Err(failed) => outcome.alive[lane] = survives(failed, call, host)?,
            }
        }
        Ok(())
    }

    /// The registers of operands that are plain numbers.
    fn plain_registers(&self, operands: &[Held]) -> Option<SmallVec<[Register; 4]>> {
        let register = |held: &Held| match held {
            Held::Marked(Value::Number(mark)) => match marked::read(*mark) {
                Marked::Local(register) if self.lane_program.kind(register) == Kind::Number => {
                    Some(register)
                }
                _ => None,
            },
            _ => None,
        };
        operands.iter().map(register).collect()
    }

    fn switch(
        &self,
        switch: &Switch,
        store: &mut LaneStore,
        outcome: &mut Outcome<'_>,
        host: &mut dyn Host,
    ) -> Result<(), EvalError> {
        let lanes = store.lanes();
        let mut sides = SmallVec::<[usize; 16]>::from_elem(usize::MAX, lanes);
        for lane in 0..lanes {
            if !outcome.alive[lane] {
                continue;
            }
            let index = self.value(store, &switch.index, lane);
            sides[lane] = match (switch.is_condition, index.truth(), index.as_number()) {
                (true, Some(truth), _) => usize::from(truth),
                (false, _, Some(x)) if x >= 0.0 => x as usize,
                _ => return Err(host.no_condition(switch.place, index)),
            };
        }
        for (number, side) in switch.sides.iter().enumerate() {
            let mut here: SmallVec<[bool; 16]> = sides.iter().map(|s| *s == number).collect();
            if !here.contains(&true) {
                continue;
            }
            let mut within = Outcome { alive: &mut here, log_weights: outcome.log_weights };
            self.act(&side.actions, store, &mut within, host)?;
            for lane in 0..lanes {
                if sides[lane] == number {
                    outcome.alive[lane] = here[lane];
                    if here[lane] && matches!(switch.out, Held::Boxed(_)) {
                        let value = self.value(store, &side.value, lane);
                        self.put(store, &switch.out, lane, &value);
                    }
                }
            }
        }
        store.run(self.lane_program.steps(&switch.steps));
        Ok(())
    }
}

/// Whether a lane goes on after a failure: never, unless that is a mistake of the program.
#[cold]
fn survives(failed: Failed, call: &Call, host: &mut dyn Host) -> Result<bool, EvalError> {
    match failed {
        Failed::Argument(error) => host.fails(call, error).map(|()| false),
        Failed::Error(error) if error.rejects() => Ok(false),
        Failed::Error(error) => Err(error),
    }
}

/// Calls `f` with the numbers of a template in order, marked or not.
fn each_number(value: &Value, f: &mut dyn FnMut(f64)) {
    match value {
        Value::Number(x) => f(*x),
        Value::Vector(xs) => xs.iter().for_each(|x| f(*x)),
        Value::Matrix(m) => m.as_slice().iter().for_each(|x| f(*x)),
        Value::Odds(_) | Value::Bool(_) => f(value.as_number().unwrap_or(f64::NAN)),
        other => {
            if let Some(items) = other.elements() {
                items.iter().for_each(|item| each_number(item, f));
            }
        }
    }
}

/// Calls `f` with the registers of a template in order.
pub(crate) fn each_register(value: &Value, f: &mut dyn FnMut(Register)) {
    each_number(value, &mut |x| {
        if let Marked::Local(register) = marked::read(x) {
            f(register);
        }
    });
}

/// A template with what its registers stand for.
pub(crate) fn fill_in(template: &Value, number: &dyn Fn(Register) -> Value) -> Value {
    let plain = |x: f64| match marked::read(x) {
        Marked::Local(register) => number(register).as_number().unwrap_or(f64::NAN),
        _ => x,
    };
    match template {
        Value::Number(x) => match marked::read(*x) {
            Marked::Local(register) => number(register),
            _ => Value::Number(*x),
        },
        Value::Vector(xs) => Value::vector(xs.iter().map(|x| plain(*x)).collect::<Vec<_>>()),
        Value::Matrix(m) => {
            let entries = m.as_slice().iter().map(|x| plain(*x)).collect();
            Value::matrix(Matrix::new(m.rows(), m.cols(), entries))
        }
        Value::Array(items) => {
            Value::array(items.iter().map(|item| fill_in(item, number)).collect())
        }
        Value::Pair(pair) => Value::pair(fill_in(&pair.first, number), fill_in(&pair.rest, number)),
        other => other.clone(),
    }
}
