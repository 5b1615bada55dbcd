//! Nodes as actions of a lane program.
//!
//! What a node reads is a constant, a value outside the block (the same in all lanes), a column that is brought
//! into the lanes, or what an earlier action computes. Where all of it is numbers, and the procedure has steps, steps are
//! written; else a call on boxed values.

use std::ops::Range;

use rustc_hash::FxHashMap;
use smidgen_lang::Span;
use smidgen_prob::smooth::Elementary;
use smidgen_value::{Link, Value};

use crate::id::NodeId;
use crate::program::lanes::{Action, Call, Held, Kind, LaneProgram, Rule};
use crate::program::links;
use crate::program::lower;
use crate::program::marked;
use crate::program::template::{each_register, renamed};
use crate::program::{Program, Register, Source};

/// Numbers of a value outside the block that lanes read at most; a longer one stays boxed.
const MOST_NUMBERS: usize = 64;

/// What a column of numbers stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Number,
    Truth,
    /// η, for a number that a link makes of it.
    Linked(Link),
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
pub(super) struct NodePlace {
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
    pub places: Vec<NodePlace>,
    /// The form of values outside the block, as far as steps rely on it.
    pub forms: FxHashMap<NodeId, Form>,
    known: FxHashMap<NodeId, Read>,
}

/// The form of a value outside the block whose numbers are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Number,
    Truth,
    Linked(Link),
    Vector(usize),
    Array(usize),
}

impl Form {
    /// None if it is to stay boxed.
    pub fn of(value: &Value) -> Option<Form> {
        let form = match value {
            Value::Number(_) => Form::Number,
            Value::Bool(_) => Form::Truth,
            Value::Linked(link, _) => Form::Linked(*link),
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
            Form::Number | Form::Truth | Form::Linked(_) => 1,
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

    pub(super) fn program(&mut self) -> &mut Program {
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
            Held::Marked(template) => Held::Marked(renamed(template, &mut |column| {
                self.bring_number(kinds[column as usize], cell(column))
            })),
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
            ColumnKind::Linked(link) => self.linked(link, leaf),
        }
    }

    /// The number that a link makes of a register: a step that belongs to no call.
    fn linked(&mut self, link: Link, eta: Register) -> f64 {
        let from = self.step_count();
        let mark = self.program().elementary(Elementary::of_link(link), marked::local(eta), 0.0);
        let value = Value::Number(mark);
        self.note_kinds(&value);
        let steps = from..self.step_count();
        self.push_steps(steps, &value);
        mark
    }

    fn push_steps(&mut self, steps: Range<u32>, value: &Value) {
        let (operands, out) = (Box::default(), Held::Marked(value.clone()));
        let rule = Rule::Which;
        let call = Call { place: 0, rule, operands, steps, may_fail: false, out, plain: None };
        self.push_call(call);
    }

    /// Adds a call. Steps that cannot fail and follow others of this kind are run with those.
    pub(super) fn push_call(&mut self, call: Call) {
        let is_plain = |call: &Call| !call.may_fail && !call.steps.is_empty();
        match self.lane_program.actions.last_mut() {
            Some(Action::Call(last))
                if is_plain(&call) && is_plain(last) && last.steps.end == call.steps.start =>
            {
                last.steps.end = call.steps.end;
            }
            _ => self.lane_program.actions.push(Action::Call(call)),
        }
    }

    pub fn boxed_register(&mut self) -> u32 {
        self.lane_program.boxed += 1;
        self.lane_program.boxed - 1
    }

    pub(super) fn step_count(&self) -> u32 {
        self.lane_program.program.steps.len() as u32
    }

    /// Registers that are known by what a link makes of others are so for whoever boxes them.
    pub(super) fn note_kinds(&mut self, value: &Value) {
        let mut registers = Vec::new();
        each_register(value, &mut |register| registers.push(register));
        for register in registers {
            if let Some((link, eta)) = self.lane_program.program.sure_eta(register) {
                self.lane_program.set_kind(register, Kind::Linked(link, eta));
            }
        }
    }

    pub fn place(&mut self, node: NodeId, span: Span) -> u32 {
        self.places.push(NodePlace { node, span });
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
            Form::Linked(link) => {
                let eta = leaf(self, links::place(link));
                self.linked(link, eta)
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

    pub(super) fn all_held(&mut self, reads: &[Read]) -> Box<[Held]> {
        reads.iter().map(|read| self.held(read)).collect()
    }
}

/// The column number of a leaf that a call writes.
pub(super) const DRAWN: u32 = u32::MAX;

/// Where a call writes that has no value.
pub(super) const NO_REGISTER: Held = Held::Uniform(u32::MAX);

/// What decides which side of a switch is taken.
pub(super) struct Index {
    pub read: Read,
    /// Whether it is true or false, rather than a number.
    pub is_condition: bool,
}
