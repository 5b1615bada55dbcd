//! What is written for the candidates of a shape: a program, and where its leaves come from.

use smidgen_prob::Maker;
use smidgen_value::Value;

use super::plan::Plan;
use crate::program::form::Form;
use crate::program::predict::Student;
use crate::program::run::{NO_LINEAR, Store};
use crate::program::{Op, Program, Register, Source, Step};
use crate::trace::Trace;

/// Why the candidates of a shape have no lanes: they are weighed one at a time on boxed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLanes {
    /// The choice decides what exists.
    Decides,
    /// The key of a memo table is computed from the choice.
    ComputedKey,
    /// What is applied is not what a memo table has for the choice.
    ComputedOperator,
    /// Values that are not numbers.
    NotNumbers,
}

impl std::fmt::Display for NoLanes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NoLanes::Decides => "the choice decides what exists",
            NoLanes::ComputedKey => "the key of a memo table is computed from the choice",
            NoLanes::ComputedOperator => {
                "what is applied is not what a memo table has for the choice"
            }
            NoLanes::NotNumbers => "some values are not numbers",
        })
    }
}

pub(super) struct CandidateProgram {
    pub program: Program,
    /// What is the same in all lanes: its terms follow the numbers of the row.
    pub uniform: Option<UniformPart>,
    pub row: Vec<RowLeaf>,
    /// What is the same in all rows of this program.
    pub pinned: Vec<Pinned>,
    /// The candidate itself.
    pub own: Option<Register>,
    pub found: Vec<FoundLeaf>,
    pub predictions: Vec<Prediction>,
    /// Results that have to be finite in a lane that counts.
    pub checked: Vec<Register>,
    /// Whether all steps go over whole registers, so that a few more lanes cost nothing.
    pub is_wide: bool,
}

/// What is computed once for all lanes.
pub(super) struct UniformPart {
    pub program: Program,
    /// Results that have to be finite.
    pub checked: Vec<Register>,
}

/// What steps come to that have a value or none, rather than a density.
pub(super) fn results(program: &Program) -> Vec<Register> {
    written_by(program, |op| !matches!(op, Op::Density(_) | Op::Compare(..)))
}

/// What steps come to that stop where they have no value.
pub(super) fn fallible(program: &Program) -> Vec<Register> {
    written_by(program, Op::may_stop)
}

fn written_by(program: &Program, is_sought: fn(&Op) -> bool) -> Vec<Register> {
    let steps = program.steps.iter().filter(|step| is_sought(&step.op));
    steps.flat_map(|step: &Step| step.out..step.out + step.width).collect()
}

impl UniformPart {
    /// Those of its registers that lanes read; none if they read nothing.
    pub(super) fn of(mut program: Program, derived: Vec<Register>) -> Option<UniformPart> {
        let results = results(&program);
        if derived.is_empty() && results.is_empty() {
            return None;
        }
        let terms = derived.len();
        program.terms = derived;
        program.terms.extend(results);
        program.tidy();
        let checked = program.terms.split_off(terms);
        Some(UniformPart { program, checked })
    }

    /// Computes it for the numbers of a row, which its own follow. False if something is not finite.
    pub(super) fn compute(&self, store: &mut Store, row: &mut Vec<f64>) -> bool {
        let program = &self.program;
        store.fit(program, 1);
        for leaf in program.leaves.iter().filter(|leaf| leaf.register != Register::MAX) {
            let numbers = match &leaf.source {
                Source::Number(x) => std::slice::from_ref(x),
                Source::Vector(xs) => &xs[..],
                Source::Global(first) => &row[*first as usize..(first + leaf.len) as usize],
                _ => unreachable!("nothing else is the same in all lanes"),
            };
            for (k, x) in numbers.iter().enumerate() {
                store.put(leaf.register + k as u32, 0, *x);
            }
        }
        store.value(program, 1, &NO_LINEAR);
        row.extend(program.terms.iter().map(|term| store.lanes(*term, 1)[0]));
        self.checked.iter().all(|register| store.lanes(*register, 1)[0].is_finite())
    }
}

/// A value that is the same for all lanes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum RowPlace {
    Operand(u32),
    /// Of an absorbing choice.
    Outcome(u32),
}

impl RowPlace {
    pub(super) fn value<'t>(self, trace: &'t Trace, plan: &'t Plan) -> &'t Value {
        match self {
            RowPlace::Operand(place) => trace.settled_value(&plan.operands[place as usize]),
            RowPlace::Outcome(place) => &trace.node(plan.absorbing[place as usize]).value,
        }
    }
}

pub(super) struct RowLeaf {
    pub place: RowPlace,
    pub form: Form,
    /// Where its numbers begin among those of the row.
    pub first: Register,
}

pub(super) struct Pinned {
    pub place: RowPlace,
    pub value: Value,
}

/// The numbers of what a look-up finds.
pub(super) struct FoundLeaf {
    pub lookup: usize,
    pub form: Form,
    pub register: Register,
}

/// The log predictive of what a look-up finds.
pub(super) struct Prediction {
    pub lookup: usize,
    pub observed: u32,
    pub typed: u32,
    pub maker: &'static dyn Maker,
    /// Its term; without a step it is filled in from outside.
    pub term: Register,
    pub student: Option<Student>,
}

impl CandidateProgram {
    /// How many lanes are computed for so many candidates.
    pub(super) fn lanes(&self, candidates: usize) -> usize {
        if self.is_wide { candidates.next_multiple_of(8) } else { candidates }
    }
}
