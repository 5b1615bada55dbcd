//! Nodes as actions of a lane program.
//!
//! What a node reads is a constant, a value outside the block (the same in all lanes), a column that is brought
//! into the lanes, or what an earlier action computes. Where all of it is numbers, and the procedure has steps, steps are
//! written; else a call on boxed values.

use std::ops::Range;

use rustc_hash::FxHashMap;
use smidgen_lang::Span;
use smidgen_prob::smooth::{self, Elementary, Smooth};
use smidgen_prob::{Distribution, Function, Score};
use smidgen_value::Value;

use crate::id::NodeId;
use crate::program::lanes::{Action, Call, Held, Kind, LaneProgram, Rule, each_register, fill_in};
use crate::program::lower;
use crate::program::marked::{self, Marked};
use crate::program::odds::LOG_ODDS;
use crate::program::{Op as StepOp, Program, Register, Source};

/// Numbers of a value outside the block that lanes read at most; a longer one stays boxed.
const MOST_NUMBERS: usize = 64;

/// What a column of numbers stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Number,
    Truth,
    /// Log odds, for a probability.
    LogOdds,
}

/// Columns of numbers and of boxed values, and the values of nodes in terms of them: marks name
/// columns here.
#[derive(Default)]
pub(super) struct Frame {
    pub held: FxHashMap<NodeId, Held>,
    pub kinds: Vec<ColumnKind>,
    pub boxed: u32,
}

/// Where the place of a node in the program is, for messages.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub node: NodeId,
    pub span: Span,
}

/// Something that is read.
#[derive(Clone)]
pub(super) enum Read {
    Constant(Value),
    Held(Held),
    /// A value outside the block: the node, and what it is now.
    Outside(NodeId, Value),
}

/// A value that is the same in all lanes.
#[derive(Clone)]
pub(super) enum Uniform {
    Constant(Value),
    Outside(NodeId),
}

/// A column of boxed values that is brought into the lanes.
pub(super) struct BoxedLeaf {
    pub register: u32,
    pub column: u32,
}

/// A lane program, and what it reads.
#[derive(Default)]
pub(super) struct Writer {
    pub lane_program: LaneProgram,
    pub boxed_leaves: Vec<BoxedLeaf>,
    pub uniforms: Vec<Uniform>,
    pub places: Vec<Place>,
    /// The form of values outside the block, as far as steps rely on it.
    pub forms: FxHashMap<NodeId, Form>,
    known: FxHashMap<NodeId, Read>,
}

/// The form of a value outside the block whose numbers are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Number,
    Truth,
    Probability,
    Vector(usize),
    Array(usize),
}

impl Form {
    /// None if it is to stay boxed.
    pub fn of(value: &Value) -> Option<Form> {
        let form = match value {
            Value::Number(_) => Form::Number,
            Value::Bool(_) => Form::Truth,
            Value::Odds(_) => Form::Probability,
            Value::Vector(xs) => Form::Vector(xs.len()),
            Value::Array(xs) if xs.iter().all(|x| matches!(x, Value::Number(_))) => {
                Form::Array(xs.len())
            }
            _ => return None,
        };
        Some(form).filter(|form| form.len() <= MOST_NUMBERS)
    }

    pub fn len(self) -> usize {
        match self {
            Form::Number | Form::Truth | Form::Probability => 1,
            Form::Vector(n) | Form::Array(n) => n,
        }
    }
}

impl Writer {
    /// What stands for a node from now on.
    pub fn know(&mut self, id: NodeId, read: Read) {
        self.known.insert(id, read);
    }

    pub fn known(&self, id: NodeId) -> Option<Read> {
        self.known.get(&id).cloned()
    }

    fn program(&mut self) -> &mut Program {
        &mut self.lane_program.program
    }

    /// A value held in columns, brought into the lanes; `cell` names a column among all that are.
    pub fn bring(&mut self, held: &Held, kinds: &[ColumnKind], cell: &dyn Fn(u32) -> u32) -> Held {
        match held {
            Held::Boxed(column) => {
                let register = self.boxed_register();
                self.boxed_leaves.push(BoxedLeaf { register, column: cell(*column) });
                Held::Boxed(register)
            }
            Held::Uniform(_) => unreachable!("no column is the same in all lanes"),
            Held::Marked(template) => {
                let mut marks = FxHashMap::default();
                each_register(template, &mut |column| {
                    let mark = self.bring_number(kinds[column as usize], cell(column));
                    marks.insert(column, mark);
                });
                Held::Marked(fill_in(template, &|column| Value::Number(marks[&column])))
            }
        }
    }

    fn bring_number(&mut self, kind: ColumnKind, cell: u32) -> f64 {
        let leaf = self.program().leaf(1, Source::Cell(cell));
        match kind {
            ColumnKind::Number => marked::local(leaf),
            ColumnKind::Truth => {
                self.lane_program.set_kind(leaf, Kind::Truth);
                marked::local(leaf)
            }
            ColumnKind::LogOdds => self.probability(leaf),
        }
    }

    /// The probability with log odds in a register: a step that belongs to no call.
    fn probability(&mut self, eta: Register) -> f64 {
        let from = self.step_count();
        let mark = self.program().elementary(Elementary::Logistic, marked::local(eta), 0.0);
        let value = Value::Number(mark);
        self.note_kinds(&value);
        let steps = from..self.step_count();
        self.push_steps(steps, &value);
        mark
    }

    fn push_steps(&mut self, steps: Range<u32>, value: &Value) {
        let call = Call {
            place: 0,
            rule: Rule::Which,
            operands: Box::default(),
            steps,
            may_fail: false,
            out: Held::Marked(value.clone()),
        };
        self.lane_program.actions.push(Action::Call(call));
    }

    pub fn boxed_register(&mut self) -> u32 {
        self.lane_program.boxed += 1;
        self.lane_program.boxed - 1
    }

    fn step_count(&self) -> u32 {
        self.lane_program.program.steps.len() as u32
    }

    /// Registers that are log odds' probabilities are so for whoever boxes them.
    fn note_kinds(&mut self, value: &Value) {
        let mut registers = Vec::new();
        each_register(value, &mut |register| registers.push(register));
        for register in registers {
            if let Some(eta) = self.lane_program.program.sure_eta(register) {
                self.lane_program.set_kind(register, Kind::Probability(eta));
            }
        }
    }

    pub fn place(&mut self, node: NodeId, span: Span) -> u32 {
        self.places.push(Place { node, span });
        self.places.len() as u32 - 1
    }

    /// What is read, with marks for its numbers, as steps take it.
    pub fn numbers(&mut self, read: &Read) -> Option<Value> {
        match read {
            Read::Constant(value) => Some(value.clone()),
            Read::Held(Held::Marked(value)) => Some(value.clone()),
            Read::Held(_) => None,
            Read::Outside(id, value) => {
                let form = Form::of(value)?;
                self.forms.insert(*id, form);
                let first = self.program().leaf(form.len() as u32, Source::Live(*id, 0));
                Some(lower::renumber(value, &mut (first..).map(marked::local)))
            }
        }
    }

    /// A value outside the block: a number in a register, or whatever it is.
    pub fn outside(&mut self, id: NodeId, value: &Value) -> Read {
        let Some(form) = Form::of(value) else { return Read::Outside(id, value.clone()) };
        let leaf = |this: &mut Writer, first: u32| this.program().leaf(1, Source::Live(id, first));
        let mark = match form {
            Form::Vector(_) | Form::Array(_) => return Read::Outside(id, value.clone()),
            Form::Number => marked::local(leaf(self, 0)),
            Form::Truth => {
                let register = leaf(self, 0);
                self.lane_program.set_kind(register, Kind::Truth);
                marked::local(register)
            }
            Form::Probability => {
                let eta = leaf(self, LOG_ODDS);
                self.probability(eta)
            }
        };
        self.forms.insert(id, form);
        Read::Held(Held::Marked(Value::Number(mark)))
    }

    /// What is read, as calls take it.
    pub fn held(&mut self, read: &Read) -> Held {
        let uniform = match read {
            Read::Held(held) => return held.clone(),
            Read::Constant(value) => Uniform::Constant(value.clone()),
            Read::Outside(id, _) => Uniform::Outside(*id),
        };
        self.uniforms.push(uniform);
        Held::Uniform(self.uniforms.len() as u32 - 1)
    }

    fn all_held(&mut self, reads: &[Read]) -> Box<[Held]> {
        reads.iter().map(|read| self.held(read)).collect()
    }

    fn has_kinds(&self, values: &[Value]) -> bool {
        let mut found = false;
        for value in values {
            found |= matches!(value, Value::Bool(_)) || value.holds_odds();
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
                program.odds.retain(|p, _| *p < registers);
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
            // Other procedures may hand a truth value or a probability on.
            if !(is_elementary || compares) && this.has_kinds(values) {
                return None;
            }
            let value = lower::function(this.program(), function, values).ok()?;
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
            };
            self.lane_program.actions.push(Action::Call(call));
            return out;
        }
        let out = Held::Boxed(self.boxed_register());
        self.call(place, Rule::Function(function), reads, out.clone());
        out
    }

    /// A call without steps.
    pub fn call(&mut self, place: u32, rule: Rule, reads: &[Read], out: Held) {
        let operands = self.all_held(reads);
        let call = Call { place, rule, operands, steps: 0..0, may_fail: true, out };
        self.lane_program.actions.push(Action::Call(call));
    }

    /// A random choice of this law: where its value will be.
    pub fn choice(&mut self, distribution: &dyn Distribution, arguments: usize) -> Held {
        match outcome_kind(distribution, arguments) {
            None => Held::Boxed(self.boxed_register()),
            Some(kind) => {
                // Written by the draw.
                let register = self.program().leaf(1, Source::Cell(DRAWN));
                self.lane_program.set_kind(register, kind);
                Held::Marked(Value::Number(marked::local(register)))
            }
        }
    }

    /// Draws a choice.
    pub fn draw(
        &mut self,
        place: u32,
        distribution: &'static dyn Distribution,
        reads: &[Read],
    ) -> Held {
        let scalar = distribution.scalar();
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
        self.call(place, Rule::Draw(distribution, scalar), &reads, out.clone());
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
            // The others are called: their scores would compute slopes that nobody asks for.
            matches!(step.op, StepOp::Normal(_) | StepOp::Coin { .. }).then_some(term)
        });
        let (out, steps) = match attempt {
            Some((term, steps)) => (Held::Marked(Value::Number(marked::local(term))), steps),
            None => (Held::Uniform(u32::MAX), 0..0),
        };
        let operands = self.all_held(reads);
        let rule = Rule::Density(distribution);
        let call = Call { place, rule, operands, steps, may_fail: true, out };
        self.lane_program.actions.push(Action::Call(call));
    }
}

/// The column number of a leaf that a draw writes.
pub(super) const DRAWN: u32 = u32::MAX;

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
