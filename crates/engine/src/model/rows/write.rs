//! The program of a plate, written from the text of one observed expression.
//!
//! Numbers that depend on the row are registers of the row's program, numbers that depend on the nodes
//! around it registers of the *prelude*, which is computed once for all rows; both travel through the
//! walk as marks ([`crate::program::marked`]). Where a value of the row decides what is evaluated (a
//! condition, an argument of a memoised procedure, a text), the program holds only for rows with
//! that value: it stands among the [`Guard`]s.

use rustc_hash::FxHashMap;
use smidgen_lang::Span;
use smidgen_prob::{Distribution, Function};
use smidgen_value::{Column, Link, Origin, Symbol, Value};

use crate::environment::Environment;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::plate::{Known, KnownBy, RowProgram, Text};
use crate::procedure::{ASIDE, Procedure};
use crate::program::cells::{Cells, Pick};
use crate::program::lower;
use crate::program::marked::{self, Marked, has_marks};
use crate::program::rows::Rows;
use crate::program::{Comparison, Op, Program, Register, Source};
use crate::trace::Trace;
use crate::trace::eval::{Evaluation, Site};
use crate::trace::node::MemoKey;
use crate::trace::row::walk::{self, Host, Stop, Walked};

/// A value of the row that decides what is evaluated.
pub(crate) enum Guard {
    Cell(Column),
    /// A number computed from the row.
    Computed(Box<Rows>),
}

impl Guard {
    pub(crate) fn value(&self, row: usize) -> Option<Value> {
        match self {
            Guard::Cell(column) => Some(column.cell(row)),
            Guard::Computed(rows) => {
                let (mut store, mut out) = (rows.store(), [0.0]);
                rows.begin(&mut store, &[]);
                rows.load(&mut store, &[], Pick::From(row), 1);
                rows.value(&mut store, &[], Pick::From(row), 1);
                rows.terms(&store, &mut out);
                (!out[0].is_nan()).then_some(Value::Number(out[0]))
            }
        }
    }
}

/// The place of an input that nothing has asked for yet.
const UNUSED: u32 = u32::MAX;

/// A program, and the rows that it holds for: those whose guards have these values.
pub(crate) struct Written {
    pub program: RowProgram,
    /// The nodes around it.
    pub nodes: Vec<NodeId>,
    pub guards: Vec<(Guard, Value)>,
}

pub(super) struct Writer<'a, 'r> {
    trace: &'a mut Trace,
    cx: &'a mut Evaluation<'r>,
    /// The row that stands for all with the same guards, and the number that all rows are below.
    row: usize,
    rows: usize,
    index: Register,
    prelude: Program,
    program: Program,
    cells: Vec<Cells>,
    nodes: Vec<NodeId>,
    args: Vec<usize>,
    /// By what arguments may be known, with the registers of it.
    etas: Vec<(KnownBy, Register)>,
    read: FxHashMap<NodeId, Value>,
    guards: Vec<(Guard, Value)>,
}

/// Writes the program of an observation for a row and those like it. Families that it asks for are
/// made in the family of the evaluation.
pub(crate) fn write(
    trace: &mut Trace,
    cx: &mut Evaluation<'_>,
    text: &Text,
    (row, rows): (usize, usize),
) -> Walked<Written> {
    let mut writer = Writer {
        trace,
        cx,
        row,
        rows,
        index: 0,
        prelude: Program { is_global: true, ..Program::default() },
        program: Program::default(),
        cells: vec![Cells::Index],
        nodes: Vec::new(),
        args: Vec::new(),
        etas: Vec::new(),
        read: FxHashMap::default(),
        guards: Vec::new(),
    };
    writer.index = writer.program.leaf(1, Source::Cell(0));
    let index = Value::Number(marked::local(writer.index));
    let environment = text.environment.push([Operand::Constant(index)]);
    writer.write(text, &environment)
}

impl Writer<'_, '_> {
    fn write(mut self, text: &Text, environment: &Environment) -> Walked<Written> {
        let application = walk::application(&mut self, &text.expr, environment)?;
        let outcome = walk::operand(&mut self, &text.outcome, environment)?;
        let Operand::Constant(outcome) = outcome else { return Err(Stop::NoPlate) };
        let distribution = application.distribution;
        let mut args = Vec::with_capacity(application.operands.len());
        for operand in &application.operands {
            args.push(self.read(operand)?);
        }
        self.program.global_links = self.prelude.links.clone();
        // A distribution whose support depends on the row is checked row by row by the caller.
        self.program.density(distribution, &outcome, &args).map_err(no_plate)?;
        if self.program.terms.is_empty() {
            return Err(Stop::NoPlate);
        }
        if self.may_stop_unread() {
            return Err(Stop::NoPlate);
        }
        let outcome = match has_marks(&outcome) {
            true => Some(self.outcome(&outcome)?),
            false => None,
        };
        let support = self.support(distribution, &args);
        let hard = distribution
            .support_arguments()
            .iter()
            .any(|k| args.get(*k).is_some_and(|arg| has_marks(arg) && !self.is_of_row(arg)));
        let links = self.used_links();
        let jumps = self.program.terms.iter().any(|term| self.program.jumps(*term));
        let is_indicator = |global: Register| self.prelude.is_indicator(global, &|_| false);
        let mut terms = self.program.terms.iter();
        let is_wall = terms.all(|term| self.program.is_wall(*term, &is_indicator));
        let compared = self.compared();
        let rows = Rows::over_cells(self.program, &self.cells);
        let program = RowProgram {
            text: text.clone(),
            span: application.span,
            distribution,
            prelude: self.prelude,
            rows,
            args: self.args,
            links,
            outcome,
            support,
            hard,
            jumps,
            is_wall,
            compared,
        };
        Ok(Written { program, nodes: self.nodes, guards: self.guards })
    }

    /// Whether something is computed that may stop, and no density reads it: nodes tell.
    fn may_stop_unread(&self) -> bool {
        let globals = self.program.leaves.iter().flat_map(|leaf| match leaf.source {
            Source::Global(first) => first..first + leaf.len,
            _ => 0..0,
        });
        let terms = self.program.terms.iter().copied();
        self.program.may_stop_unread(terms) || self.prelude.may_stop_unread(globals)
    }

    /// The nodes around, by number, that comparisons hang on.
    fn compared(&self) -> Vec<usize> {
        let mut registers: Vec<Register> = Vec::new();
        for leaf in self.program.compared_leaves() {
            if let Source::Global(first) = leaf.source {
                registers.extend(first..first + leaf.len);
            }
        }
        let mut inputs = self.prelude.leaves_above(registers);
        inputs.extend(self.prelude.compared_leaves());
        let is_read = |numbers: std::ops::Range<u32>| {
            inputs.iter().any(|leaf| match leaf.source {
                Source::Input(first) => first < numbers.end && numbers.start < first + leaf.len,
                _ => false,
            })
        };
        let mut end = 0;
        let mut arg = |(k, size): (usize, &usize)| {
            let first = end;
            end += *size as u32;
            is_read(first..end).then_some(k)
        };
        self.args.iter().enumerate().filter_map(&mut arg).collect()
    }

    /// What the program reads of that by which arguments are known; it stands after the numbers of all
    /// arguments.
    fn used_links(&mut self) -> Vec<KnownBy> {
        let mut reads = Vec::new();
        self.prelude.steps.iter().for_each(|step| step.op.reads(&mut reads));
        for leaf in &self.program.leaves {
            if let Source::Global(first) = leaf.source {
                reads.extend(first..first + leaf.len);
            }
        }
        let used: Vec<(KnownBy, Register)> =
            self.etas.iter().copied().filter(|(_, eta)| reads.contains(eta)).collect();
        let numbers = self.args.iter().sum::<usize>();
        for leaf in &mut self.prelude.leaves {
            if let Some(k) = used.iter().position(|(_, eta)| *eta == leaf.register) {
                leaf.source = Source::Input((numbers + k) as u32);
            }
        }
        self.prelude.leaves.retain(|leaf| !matches!(leaf.source, Source::Input(UNUSED)));
        used.iter().map(|(by, _)| *by).collect()
    }

    /// What gives the observed value in each row.
    fn outcome(&mut self, outcome: &Value) -> Walked<Rows> {
        let numbers = lower::numbers(outcome).map_err(no_plate)?;
        let mut program = self.program.clone();
        program.terms.clear();
        let registers: Vec<Register> = numbers.iter().map(|x| program.register(*x)).collect();
        program.terms = registers;
        Ok(Rows::over_cells(program, &self.cells))
    }

    /// What can be known of the support while nothing moves.
    fn support(&self, distribution: &dyn Distribution, args: &[Value]) -> Known {
        let deciding = distribution.support_arguments().iter().filter_map(|k| args.get(*k));
        let deciding: Vec<&Value> = deciding.filter(|arg| has_marks(arg)).collect();
        if deciding.is_empty() {
            Known::ForAll
        } else if deciding.iter().all(|arg| self.is_of_row(arg)) {
            Known::ForEach
        } else {
            Known::No
        }
    }

    fn is_of_row(&self, value: &Value) -> bool {
        let mut numbers = Vec::new();
        marked::numbers(value, &mut numbers)
            && numbers.iter().all(|x| match marked::read(*x) {
                Marked::Number(_) => true,
                Marked::Local(register) => self.program.is_of_row(register),
                Marked::Global(_) => false,
            })
    }

    /// The value in the row at hand of a number that depends on the row alone.
    fn decide_number(&mut self, mark: f64) -> Walked<f64> {
        let Marked::Local(register) = marked::read(mark) else { return Err(Stop::NoPlate) };
        if !self.program.is_of_row(register) {
            return Err(Stop::NoPlate);
        }
        let leaf =
            self.program.leaves.iter().find(|leaf| leaf.register == register && leaf.len == 1);
        let guard = match leaf.map(|leaf| &leaf.source) {
            Some(Source::Cell(k)) if let Cells::Column(column) = &self.cells[*k as usize] => {
                Guard::Cell(column.clone())
            }
            _ => {
                let mut program = self.program.clone();
                program.terms = vec![register];
                Guard::Computed(Box::new(Rows::over_cells(program, &self.cells)))
            }
        };
        let value = guard.value(self.row).ok_or(Stop::NoPlate)?;
        let number = value.as_number().ok_or(Stop::NoPlate)?;
        self.guards.push((guard, value));
        Ok(number)
    }
}

fn no_plate(_: String) -> Stop {
    Stop::NoPlate
}

impl Host for Writer<'_, '_> {
    fn global(&mut self, name: Symbol) -> Walked<Operand> {
        self.trace.global(name).ok_or(Stop::NoPlate)
    }

    fn read(&mut self, operand: &Operand) -> Walked<Value> {
        let id = match operand {
            Operand::Constant(value) => return Ok(value.clone()),
            Operand::Node(id) => *id,
        };
        if let Some(value) = self.read.get(&id) {
            return Ok(value.clone());
        }
        self.trace.settle(id, self.cx)?;
        let value = self.trace.node(id).value.clone();
        let first = self.args.iter().sum::<usize>();
        let numbers = lower::numbers(&value).map_err(no_plate)?;
        let register = self.prelude.leaf(numbers.len() as u32, Source::Input(first as u32));
        if let Value::Number(_) | Value::Linked(..) = value {
            let argument = self.args.len();
            for link in Link::ALL {
                if self.trace.node(id).may_be_known_by(link) {
                    let eta = self.prelude.leaf(1, Source::Input(UNUSED));
                    self.prelude.note(register, link, eta, false);
                    self.etas.push((KnownBy { argument, link }, eta));
                }
            }
        }
        let mut marks = (register..).map(marked::global);
        let value = lower::renumber(&value, &mut marks);
        self.args.push(numbers.len());
        self.nodes.push(id);
        self.read.insert(id, value.clone());
        Ok(value)
    }

    fn cell(&mut self, column: &Column, row: &Operand) -> Walked<Value> {
        let row = row.constant().and_then(Value::as_number).ok_or(Stop::NoPlate)?;
        if !marked::is_marked(row) {
            // The row of a loop around this one.
            return Ok(column.cell(row as usize));
        }
        if marked::read(row) != Marked::Local(self.index) || column.len() < self.rows {
            return Err(Stop::NoPlate);
        }
        let cells = Cells::Column(column.clone());
        let Some(width) = cells.width() else {
            let guard = Guard::Cell(column.clone());
            let value = column.cell(self.row);
            self.guards.push((guard, value.clone()));
            return Ok(value);
        };
        let known = self.cells.iter().position(|known| known.is_same(&cells));
        let number = known.unwrap_or_else(|| {
            self.cells.push(cells);
            self.cells.len() - 1
        });
        let of_cell = |source: &Source| matches!(source, Source::Cell(k) if *k as usize == number);
        let leaf = self.program.leaves.iter().find(|leaf| of_cell(&leaf.source));
        let first = match leaf {
            Some(leaf) => leaf.register,
            None => self.program.leaf(width as u32, Source::Cell(number as u32)),
        };
        let marks: Vec<f64> = (first..first + width as u32).map(marked::local).collect();
        Ok(match column {
            Column::Vectors { .. } => Value::vector(marks),
            _ => Value::Number(marks[0]),
        })
    }

    fn decide(&mut self, value: Operand) -> Walked<Value> {
        match value {
            Operand::Node(_) => Err(Stop::NoPlate),
            Operand::Constant(value) if !has_marks(&value) => Ok(value),
            Operand::Constant(Value::Number(x)) => Ok(Value::Number(self.decide_number(x)?)),
            Operand::Constant(_) => Err(Stop::NoPlate),
        }
    }

    fn truth(&mut self, value: Operand, _: Span) -> Walked<bool> {
        let Operand::Constant(value) = value else { return Err(Stop::NoPlate) };
        if let Value::Number(x) = value
            && let Marked::Local(register) = marked::read(x)
        {
            let zero = self.program.register(0.0);
            let out = self.program.push(Op::Compare(Comparison::Different, register, zero), 1);
            return Ok(self.decide_number(marked::local(out))? != 0.0);
        }
        if has_marks(&value) {
            return Err(Stop::NoPlate);
        }
        value.truth().ok_or(Stop::NoPlate)
    }

    fn request(&mut self, memo: NodeId, key: MemoKey, span: Span) -> Walked<Operand> {
        // Every row makes a procedure of its own, and so asks for a family of its own.
        if key.iter().any(holds_procedure_of_row) {
            return Err(Stop::NoPlate);
        }
        let operator = Operand::Constant(Procedure::Memoised(memo).into_value(ASIDE));
        let operands = key.into_iter().map(Operand::Constant).collect();
        Ok(self.trace.apply(operator, operands, Site::at(span), self.cx, None)?)
    }

    fn call(&mut self, function: &'static Function, args: &[Operand], _: Span) -> Walked<Value> {
        let values: Vec<Value> = args.iter().map(|arg| self.read(arg)).collect::<Result<_, _>>()?;
        // A cell of a column that the program names in another way.
        if function.spec.name == "lookup"
            && let [Value::Vector(data), Value::Number(index)] = &values[..]
            && marked::read(*index) == Marked::Local(self.index)
            && !has_marks(&values[0])
            && let Some(data) = data.whole()
        {
            return self.cell(&Column::Reals(data.clone()), &args[1]);
        }
        let of_row = values.iter().any(has_local_marks);
        if of_row {
            self.program.global_links.clone_from(&self.prelude.links);
        }
        let program = if of_row { &mut self.program } else { &mut self.prelude };
        lower::function(program, function, &values).map_err(no_plate)
    }
}

/// Whether a value has a procedure in it that following the text has made.
fn holds_procedure_of_row(value: &Value) -> bool {
    match value {
        Value::Procedure(p) | Value::Environment(p) => {
            matches!(p.origin, Origin::Program { creation: ASIDE, .. })
        }
        Value::Array(_) | Value::Pair(_) => {
            value.elements().is_none_or(|items| items.iter().any(holds_procedure_of_row))
        }
        Value::Dict(dict) => dict
            .entries()
            .iter()
            .any(|(key, value)| holds_procedure_of_row(key) || holds_procedure_of_row(value)),
        _ => false,
    }
}

fn has_local_marks(value: &Value) -> bool {
    let mut numbers = Vec::new();
    if !marked::numbers(value, &mut numbers) {
        return has_marks(value);
    }
    numbers.iter().any(|x| matches!(marked::read(*x), Marked::Local(_)))
}
