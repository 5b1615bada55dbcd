//! The weights of a shape's candidates as a program, written from the nodes of D and A.
//!
//! A lane is a candidate. What differs from lane to lane stands in registers: the candidate itself, and the
//! numbers of what memo tables have for it. What a row of data brings, or other nodes, is the same for
//! all lanes: registers of the global part, read anew for every row. A row whose values have other forms
//! gets another program.

use smidgen_prob::smooth::Elementary;
use smidgen_prob::{Distribution, Function, Maker};
use smidgen_value::Value;

use super::cases::{Cases, name_derived};
use super::kept::maker_of;
use super::plan::Planned;
use super::shape::{Source, Step};
use super::written::{
    CandidateProgram, FoundLeaf, NoLanes, Pinned, Prediction, RowLeaf, RowPlace, UniformPart,
    fallible, results,
};
use crate::operand::Operand;
use crate::program::form::Form;
use crate::program::predict::Student;
use crate::program::value_only::ValueOnly;
use crate::program::{Op, Program, Register, Source as Leaf, lower, marked};
use crate::trace::Trace;
use crate::trace::fault::Fault;
use crate::trace::node::Op as NodeOp;

/// What a node of D is while the program is written.
#[derive(Clone)]
pub(super) enum Drafted {
    Choice,
    Found(usize),
    /// With marks.
    Value(Value),
    Cases(Cases),
}

pub(super) struct Writer<'t> {
    trace: &'t Trace,
    planned: Planned<'t>,
    choice: &'t Value,
    pub(super) program: Program,
    /// What is the same in all lanes, and the registers of it that lanes read.
    pub(super) uniform: Program,
    pub(super) derived: Vec<Register>,
    /// By condition: the register that says which side is taken.
    pub(super) indices: Vec<(u64, f64)>,
    pub(super) slots: Vec<Drafted>,
    /// Cases that lanes have chosen from, by slot.
    pub(super) chosen: Vec<(u32, Value)>,
    row: Vec<RowLeaf>,
    /// What stands for the values of the row, and the numbers of all of them.
    row_values: Vec<(RowPlace, Value)>,
    row_numbers: u32,
    pinned: Vec<Pinned>,
    /// Number of the leaf.
    own: Option<usize>,
    found: Vec<FoundLeaf>,
    found_leaves: Vec<usize>,
    predictions: Vec<Prediction>,
    /// By prediction: the number of its term, and of the leaf of its numbers.
    predicted: Vec<(usize, Option<usize>)>,
}

impl CandidateProgram {
    /// Written for the row of a plan, whose operands are fresh. The choice has this value now.
    pub(super) fn write(
        trace: &Trace,
        planned: Planned<'_>,
        choice: &Value,
    ) -> Result<CandidateProgram, NoLanes> {
        let mut writer = Writer {
            trace,
            planned,
            choice,
            program: Program::default(),
            uniform: Program::default(),
            derived: Vec::new(),
            indices: Vec::new(),
            slots: Vec::new(),
            chosen: Vec::new(),
            row: Vec::new(),
            row_values: Vec::new(),
            row_numbers: 0,
            pinned: Vec::new(),
            own: None,
            found: Vec::new(),
            found_leaves: Vec::new(),
            predictions: Vec::new(),
            predicted: Vec::new(),
        };
        for (place, step) in planned.shape.steps.iter().enumerate() {
            let drafted = writer.step(place, step)?;
            writer.slots.push(drafted);
        }
        for (k, (distribution, args)) in planned.shape.absorbing.iter().enumerate() {
            let args = args.iter().map(|source| writer.drafted(*source));
            let args = args.collect::<Result<Vec<Drafted>, NoLanes>>()?;
            writer.weigh(*distribution, RowPlace::Outcome(k as u32), &args)?;
        }
        Ok(writer.finish())
    }
}

impl Writer<'_> {
    fn step(&mut self, place: usize, step: &Step) -> Result<Drafted, NoLanes> {
        Ok(match step {
            Step::Given => Drafted::Choice,
            Step::Follow(Source::Slot(slot)) => self.slot(*slot)?,
            Step::Follow(source) => Drafted::Value(self.value(*source)?),
            Step::Request { memo, key, .. } => {
                let is_choice = matches!(key, Source::Slot(slot)
                    if matches!(self.slot(*slot)?, Drafted::Choice));
                let lookups = &self.planned.shape.lookups;
                match lookups.iter().position(|lookup| lookup.memo == *memo) {
                    Some(lookup) if is_choice => Drafted::Found(lookup),
                    _ => return Err(NoLanes::ComputedKey),
                }
            }
            Step::Apply(function, args) => self.apply(place, function, args)?,
            Step::Predict { operator, observed, typed, maker } => {
                self.predict(*operator, [*observed, *typed], *maker)?;
                Drafted::Value(self.row_value(RowPlace::Operand(*typed)))
            }
            Step::Select(selected) => self.selected(selected)?,
            Step::Weigh(selected) => {
                let Value::Number(log_p) = self.selected_value(selected)? else {
                    return Err(NoLanes::NotNumbers);
                };
                let term = self.program.register(log_p);
                self.program.terms.push(term);
                Drafted::Value(Value::Nil)
            }
            Step::Expand(_) => return Err(NoLanes::Decides),
        })
    }

    /// Adds the log density of an outcome.
    fn weigh(
        &mut self,
        distribution: &'static dyn Distribution,
        outcome: RowPlace,
        args: &[Drafted],
    ) -> Result<(), NoLanes> {
        let log_p = self.density(distribution, outcome, args)?;
        let term = self.program.register(log_p);
        self.program.terms.push(term);
        Ok(())
    }

    /// A node of D that comes before.
    pub(super) fn slot(&self, slot: u32) -> Result<Drafted, NoLanes> {
        self.slots.get(slot as usize).cloned().ok_or(NoLanes::Decides)
    }

    fn apply(
        &mut self,
        place: usize,
        function: &'static Function,
        sources: &[Source],
    ) -> Result<Drafted, NoLanes> {
        let name = function.spec.name;
        if let ("lookup", [container @ Source::Fixed(_), Source::Slot(_)]) = (name, sources)
            && let Some(picked) = self.pick(*container, sources[1])?
        {
            return Ok(Drafted::Value(picked));
        }
        let mut args = Vec::with_capacity(sources.len());
        for (k, source) in sources.iter().enumerate() {
            args.push(self.argument(function, k, *source)?);
        }
        let like = &self.trace.node(self.planned.plan.target[place]).value;
        self.function(function, &args, Some(like))
    }

    /// An argument of a function: one that decides what it does is the same in all rows.
    pub(super) fn argument(
        &mut self,
        function: &'static Function,
        k: usize,
        source: Source,
    ) -> Result<Drafted, NoLanes> {
        match source {
            Source::Fixed(operand)
                if lower::deciding_arguments(function.spec.name).contains(&k)
                    || self.is_one_minus(function, k, operand) =>
            {
                Ok(Drafted::Value(self.pin(RowPlace::Operand(operand))))
            }
            source => self.drafted(source),
        }
    }

    /// Whether this is the 1 of `(- 1 p)`: the other side of a coin keeps its log odds only where that is known.
    fn is_one_minus(&self, function: &Function, k: usize, operand: u32) -> bool {
        let value = RowPlace::Operand(operand).value(self.trace, self.planned.plan);
        function.spec.name == "-" && k == 0 && value.as_number() == Some(1.0)
    }

    /// An item of what is the same for all lanes.
    fn pick(&mut self, container: Source, index: Source) -> Result<Option<Value>, NoLanes> {
        let container = self.value(container)?;
        let Value::Number(index) = self.value(index)? else { return Ok(None) };
        let mut numbers = Vec::new();
        let is_row = matches!(Form::of(&container), Some(Form::Vector(n) | Form::Array(n)) if n > 0)
            && marked::numbers(&container, &mut numbers)
            && numbers.iter().all(|x| matches!(marked::read(*x), marked::Marked::Global(_)));
        if !is_row || !marked::is_marked(index) {
            return Ok(None);
        }
        self.program.range(&numbers);
        let uniform = self.program.leaves.len() as u32 - 1;
        let index = self.program.register(index);
        let out = self.program.push_value_only(ValueOnly::Pick { index, uniform }, 1, 0);
        Ok(Some(Value::Number(self.program.mark(out))))
    }

    fn predict(
        &mut self,
        operator: Source,
        [observed, typed]: [u32; 2],
        maker: &'static dyn Maker,
    ) -> Result<(), NoLanes> {
        let Source::Slot(slot) = operator else { return Err(NoLanes::ComputedOperator) };
        let Drafted::Found(lookup) = self.slot(slot)? else {
            return Err(NoLanes::ComputedOperator);
        };
        let place = RowPlace::Operand(typed);
        let (term, numbers, student) = match self.dimension(slot, maker, typed) {
            Some(dimension) => {
                let x = self.row_value(place);
                let mut marks = Vec::new();
                marked::numbers(&x, &mut marks);
                self.program.range(&marks);
                let x = self.program.leaves.len() as u32 - 1;
                let numbers = self.leaf(Student::fields(dimension));
                let student = Student { numbers, dimension, x };
                let leaf = self.program.leaves.len() - 1;
                let spare = Student::spare(dimension);
                let op = ValueOnly::Predict(student);
                (self.program.push_value_only(op, 1, spare), Some(leaf), Some(student))
            }
            None => (self.leaf(1), None, None),
        };
        self.predicted.push((self.program.terms.len(), numbers));
        self.program.terms.push(term);
        self.predictions.push(Prediction { lookup, observed, typed, maker, term, student });
        Ok(())
    }

    /// The dimension of the Student form that the statistics of the current cluster offer.
    fn dimension(&self, slot: u32, kind: &'static dyn Maker, typed: u32) -> Option<u32> {
        let Planned { plan, .. } = self.planned;
        let node = self.trace.node(plan.target[slot as usize]);
        let maker = maker_of(&node.value)?;
        let NodeOp::Maker(made) = &self.trace.node(maker).op else { return None };
        let fixed = |arg: &crate::trace::node::Arg| matches!(arg.operand, Operand::Constant(_));
        let is_fixed = self.trace.node(maker).args.iter().all(fixed);
        if !std::ptr::addr_eq(made.maker, kind) || made.maker.latent().is_some() || !is_fixed {
            return None;
        }
        let mut numbers = Vec::new();
        let dimension = self
            .trace
            .with_params(maker, |params| made.statistics.student(params, &mut numbers))?;
        let x = RowPlace::Operand(typed).value(self.trace, plan);
        let fits = dimension > 0 && matches!(x, Value::Vector(x) if x.len() == dimension);
        let dimension = dimension as u32;
        (fits && numbers.len() as u32 == Student::fields(dimension)).then_some(dimension)
    }

    /// A value, or the cases of one.
    pub(super) fn drafted(&mut self, source: Source) -> Result<Drafted, NoLanes> {
        match source {
            Source::Slot(slot) if matches!(self.slot(slot)?, Drafted::Cases(_)) => self.slot(slot),
            source => self.value(source).map(Drafted::Value),
        }
    }

    pub(super) fn value(&mut self, source: Source) -> Result<Value, NoLanes> {
        let slot = match source {
            Source::Fixed(operand) => return Ok(self.row_value(RowPlace::Operand(operand))),
            Source::Slot(slot) => slot,
        };
        match self.slot(slot)? {
            Drafted::Value(value) => Ok(value),
            Drafted::Cases(cases) => self.chosen(slot, &cases),
            Drafted::Choice => {
                if Form::of(self.choice) != Some(Form::Number) {
                    return Err(NoLanes::NotNumbers);
                }
                let leaf = match self.own {
                    Some(leaf) => leaf,
                    None => {
                        self.leaf(1);
                        *self.own.insert(self.program.leaves.len() - 1)
                    }
                };
                Ok(Value::Number(self.program.mark(self.program.leaves[leaf].register)))
            }
            Drafted::Found(lookup) => self.found(lookup, slot as usize),
        }
    }

    fn found(&mut self, lookup: usize, slot: usize) -> Result<Value, NoLanes> {
        let known = self.found.iter().position(|found| found.lookup == lookup);
        let known = match known {
            Some(known) => known,
            None => {
                let value = &self.trace.node(self.planned.plan.target[slot]).value;
                let form = Form::of(value).ok_or(NoLanes::NotNumbers)?;
                let register = self.leaf(form.len() as u32);
                self.found.push(FoundLeaf { lookup, form, register });
                self.found_leaves.push(self.program.leaves.len() - 1);
                self.found.len() - 1
            }
        };
        let FoundLeaf { form, register, .. } = self.found[known];
        Ok(form.value((register..).map(marked::local)))
    }

    /// A leaf whose registers are filled in from outside.
    fn leaf(&mut self, len: u32) -> Register {
        self.program.leaf(len, Leaf::Cell(0))
    }

    /// A value of the row with marks; one that is not made of numbers has to be the same in all rows.
    pub(super) fn row_value(&mut self, place: RowPlace) -> Value {
        if let Some((_, value)) = self.row_values.iter().find(|(known, _)| *known == place) {
            return value.clone();
        }
        let Some(form) = Form::of(place.value(self.trace, self.planned.plan)) else {
            return self.pin(place);
        };
        let first = self.row_numbers;
        let value = form.value((first..).map(marked::global));
        self.row_numbers += form.len() as u32;
        self.row.push(RowLeaf { place, form, first });
        self.row_values.push((place, value.clone()));
        value
    }

    /// Whether a value of the row is made of numbers.
    pub(super) fn has_numbers(&self, place: RowPlace) -> bool {
        Form::of(place.value(self.trace, self.planned.plan)).is_some()
    }

    fn pin(&mut self, place: RowPlace) -> Value {
        let value = place.value(self.trace, self.planned.plan).clone();
        self.pinned.push(Pinned { place, value: value.clone() });
        value
    }

    fn finish(self) -> CandidateProgram {
        let Writer { mut program, mut predictions, mut found, uniform, derived, .. } = self;
        let uniform = UniformPart::of(uniform, derived);
        name_derived(&mut program, self.row_numbers);
        // What has no value makes the candidate impossible, though nobody may read it; on a side that is not taken it does not:
        // boxed values tell.
        let terms = program.terms.len();
        let may_lack = if self.indices.is_empty() { fallible } else { results };
        if !self.trace.has_fault(Fault::UnreadStop) {
            let results = may_lack(&program);
            program.terms.extend(results);
        }
        program.project_uniform();
        program.tidy();
        let mut checked = program.terms.split_off(terms);
        let register = |leaf: usize| program.leaves[leaf].register;
        for (prediction, (term, numbers)) in predictions.iter_mut().zip(&self.predicted) {
            prediction.term = program.terms[*term];
            if let (Some(student), Some(leaf)) = (&mut prediction.student, numbers) {
                student.numbers = register(*leaf);
            }
        }
        for (found, leaf) in found.iter_mut().zip(&self.found_leaves) {
            found.register = register(*leaf);
        }
        found.retain(|found| found.register != Register::MAX);
        let own = self.own.map(register).filter(|own| *own != Register::MAX);
        let computed = program.steps.iter().filter(|step| matches!(step.op, Op::Elementary(..)));
        checked.extend(computed.map(|step| step.out));
        checked.sort_unstable();
        checked.dedup();
        let by_lane = |op: &Op| match op {
            Op::Density(op) => !op.is_wide(),
            Op::Aggregate(_) => true,
            Op::Elementary(f, ..) => !is_arithmetic(*f),
            Op::ValueOnly(op) => matches!(**op, ValueOnly::Call(_)),
            _ => false,
        };
        let is_wide = !program.steps.iter().any(|step| by_lane(&step.op));
        let Writer { row, pinned, .. } = self;
        CandidateProgram {
            program,
            uniform,
            row,
            pinned,
            own,
            found,
            predictions,
            checked,
            is_wide,
        }
    }
}

/// Whether several lanes cost as much as one.
fn is_arithmetic(f: Elementary) -> bool {
    use Elementary::{Abs, Add, Divide, Multiply, Negate, Reciprocal, Square, Subtract};
    matches!(f, Add | Subtract | Multiply | Divide | Negate | Reciprocal | Abs | Square)
}
