//! Programs whose lanes go their own ways: particles, values of a finite choice, pairs of values.
//!
//! A lane program is a list of **actions**. An action is what one node, or one call in the text, comes to. It is
//! always known as a procedure on boxed values; where it has fast steps ([`Program`]) these are run for all lanes,
//! and the procedure is asked only in lanes where a step that may fail gave no finite number. What has no
//! fast steps is called lane by lane. So nothing is declined, and a lane that leaves a domain dies alone.
//!
//! Two kinds of registers: numbers, which the steps compute on, and boxed values. A number register may stand for
//! a truth value, or for a number by what a link makes of it; whoever boxes it makes that value again.
//!
//! Both sides of a branch are written, each an action list of its own that counts only in the lanes that go there.

use std::ops::Range;

use smallvec::SmallVec;
use smidgen_prob::{Distribution, Family, Function, Scalar};
use smidgen_value::{ArgumentError, Link, Rng, Value};

use super::lane_run::Run;
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
    /// The number that a link makes of this register, such as a probability of its log odds.
    Linked(Link, Register),
}

#[derive(Clone, Copy)]
pub(crate) enum Rule {
    Function(&'static Function),
    /// A random choice that is drawn.
    Draw(&'static dyn Distribution),
    /// The log density of the first operand, given the others.
    Density(&'static dyn Distribution),
    /// The log density that the host knows, of the applications of a maker.
    Marginal,
    /// What a memoised procedure has for a key, which the host knows.
    Request,
    /// A log density of −∞.
    Impossible,
    /// The place of the first operand among the others.
    Which,
}

#[derive(Clone)]
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
    /// For a draw whose arguments and outcome are plain numbers.
    pub plain: Option<PlainDraw>,
}

/// A law that is drawn from without the way through values, and its registers.
#[derive(Clone)]
pub(crate) struct PlainDraw {
    pub scalar: Scalar,
    pub family: Family,
    pub args: SmallVec<[Register; 4]>,
    pub out: Register,
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
    pub(super) fn get(self, number: u32) -> &'a Value {
        &self.values[self.places[number as usize] as usize]
    }
}

/// What a run changes: lanes that are still possible, and their log weights.
pub(crate) struct Outcome<'a> {
    pub alive: &'a mut [bool],
    pub log_weights: &'a mut [f64],
}

/// Whether all lanes are alive, which they mostly are: without a branch for each.
pub(crate) fn are_all(alive: &[bool]) -> bool {
    alive.iter().fold(true, |all, alive| all & alive)
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
    pub(super) fn number(&self, store: &LaneStore, register: Register, lane: usize) -> Value {
        let x = store.number(register, lane);
        match self.kind(register) {
            Kind::Number => Value::Number(x),
            Kind::Truth => Value::Bool(x != 0.0),
            Kind::Linked(link, eta) => Value::linked(link, store.number(eta, lane)),
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

    pub(crate) fn steps(&self, range: &Range<u32>) -> &[super::Step] {
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
