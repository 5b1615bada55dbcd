//! Numbers of a row as they hang on the coordinates: not at all (data), linearly, or otherwise; and what writes
//! them into a program of the data and steps over forms ([`crate::program::curved`]).

use rustc_hash::FxHashMap;
use smidgen_prob::smooth::{Curve, CurveFamily, Elementary};
use smidgen_value::math;

use super::Unserved;
use super::chances::Chance;
use crate::program::cells::Cells;
use crate::program::curved::{Curved, CurvedOp, Form, Read};
use crate::program::marked::{self, Marked};
use crate::program::rows::Rows;
use crate::program::{Op, Program, Register, Source};

/// Forms beyond this are too many: second derivatives take their square.
const MOST_FORMS: usize = 16;

/// A number of a row.
#[derive(Clone, Debug)]
pub(super) enum Quantity {
    /// A number, or the mark of a register of the data.
    Data(f64),
    Linear(Linear),
    Step(Read),
}

/// scale · Σ_j c_j z_j + offset. Numbers are marked where they are data.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    scale: f64,
    /// By coordinate, in ascending order.
    coefficients: Vec<(u32, f64)>,
    offset: f64,
}

impl Quantity {
    pub(super) fn coordinate(coordinate: u32) -> Quantity {
        let coefficients = vec![(coordinate, 1.0)];
        Quantity::Linear(Linear { scale: 1.0, coefficients, offset: 0.0 })
    }

    /// The number or mark of what no coordinate enters.
    pub(super) fn data(&self) -> Option<f64> {
        match self {
            Quantity::Data(x) => Some(*x),
            Quantity::Linear(_) | Quantity::Step(_) => None,
        }
    }

    /// What is the same number for all rows.
    pub(super) fn number(&self) -> Option<f64> {
        self.data().filter(|x| !marked::is_marked(*x))
    }

    /// Coefficients by coordinate and an offset, if they are numbers that no row has.
    pub(super) fn line(&self) -> Option<(Vec<(u32, f64)>, f64)> {
        let line = as_line(self)?;
        let numbers = line.coefficients.iter().map(|(_, c)| *c);
        if numbers.chain([line.scale, line.offset]).any(marked::is_marked) {
            return None;
        }
        let scaled = line.coefficients.into_iter().map(|(j, c)| (j, line.scale * c));
        Some((scaled.collect(), line.offset))
    }

    fn is(&self, number: f64) -> bool {
        self.data() == Some(number)
    }
}

impl Linear {
    /// Its coefficients and offset, if they are numbers.
    pub(super) fn numbers(&self) -> Option<(Vec<(u32, f64)>, f64)> {
        let is_number = |x: f64| !marked::is_marked(x);
        let all = self.coefficients.iter().all(|(_, c)| is_number(*c));
        let scaled = self.coefficients.iter().map(|(j, c)| (*j, self.scale * c)).collect();
        (all && is_number(self.scale) && is_number(self.offset)).then_some((scaled, self.offset))
    }
}

/// What is written about the rows of one kind.
#[derive(Clone, Default)]
pub(super) struct Sheet {
    pub data: Program,
    pub cells: Vec<Cells>,
    pub curved: Curved,
    constants: FxHashMap<u64, Register>,
    known_forms: FxHashMap<Form, u32>,
    known_steps: FxHashMap<(Read, Read, u8), Read>,
    /// What steps are the exponentials of.
    pub(super) logs: FxHashMap<Read, Quantity>,
    /// What else is known of logarithms of steps, and of their complements' to 1.
    pub(super) chances: FxHashMap<Read, Chance>,
    /// Steps that are the negative of others.
    pub(super) negatives: FxHashMap<Read, Read>,
}

impl Sheet {
    /// The cells of a leaf: marks of as many numbers.
    pub(super) fn cells(&mut self, cells: &Cells, len: u32) -> Vec<Quantity> {
        let number = match self.cells.iter().position(|known| known.is_same(cells)) {
            Some(number) => number,
            None => {
                self.cells.push(cells.clone());
                self.cells.len() - 1
            }
        };
        let is_leaf = |source: &Source| matches!(source, Source::Cell(k) if *k == number as u32);
        let known = self.data.leaves.iter().find(|leaf| is_leaf(&leaf.source));
        let first = match known {
            Some(leaf) => leaf.register,
            None => self.data.leaf(len, Source::Cell(number as u32)),
        };
        (first..first + len).map(|register| Quantity::Data(marked::local(register))).collect()
    }

    /// Numbers that are brought into the lanes from outside: marks of as many. No cells are read beside them.
    pub(super) fn lanes(&mut self, len: u32) -> Vec<Quantity> {
        debug_assert!(self.cells.is_empty(), "lanes, or cells");
        let number = self.data.leaves.iter().filter(|leaf| matches!(leaf.source, Source::Cell(_)));
        let first = self.data.leaf(len, Source::Cell(number.count() as u32));
        (first..first + len).map(|register| Quantity::Data(marked::local(register))).collect()
    }

    /// The register of a number or a mark.
    pub(super) fn register(&mut self, x: f64) -> Register {
        match marked::read(x) {
            Marked::Local(register) | Marked::Global(register) => register,
            Marked::Number(x) => {
                let data = &mut self.data;
                *self
                    .constants
                    .entry(x.to_bits())
                    .or_insert_with(|| data.leaf(1, Source::Number(x)))
            }
        }
    }

    fn is_constant(&self, register: Register) -> bool {
        self.constants.values().any(|constant| *constant == register)
    }

    /// f of numbers of the row.
    pub(super) fn of_data(&mut self, f: Elementary, a: f64, b: f64) -> f64 {
        use Elementary::{Add, Divide, Multiply, Subtract};
        match (f, marked::is_marked(a), marked::is_marked(b)) {
            (Add, true, false) if b == 0.0 => a,
            (Add, false, true) if a == 0.0 => b,
            (Subtract, true, false) if b == 0.0 => a,
            (Multiply | Divide, true, false) if b == 1.0 => a,
            (Multiply, false, true) if a == 1.0 => b,
            _ => self.data.elementary(f, a, b),
        }
    }

    fn step(&mut self, op: CurvedOp) -> Read {
        let constants: Vec<Register> = self.constants.values().copied().collect();
        self.curved.push(op, &|register| constants.contains(&register))
    }

    /// A step of two numbers, written once.
    pub(super) fn binary(&mut self, kind: u8, a: Read, b: Read) -> Read {
        if let Some(known) = self.known_steps.get(&(a, b, kind)) {
            return *known;
        }
        let step = self.step(match kind {
            0 => CurvedOp::Add(a, b),
            1 => CurvedOp::Subtract(a, b),
            _ => CurvedOp::Multiply(a, b),
        });
        self.known_steps.insert((a, b, kind), step);
        step
    }

    /// What a step reads as this number.
    pub(super) fn read(&mut self, x: &Quantity) -> Result<Read, Unserved> {
        match x {
            Quantity::Data(x) => Ok(Read::Data(self.register(*x))),
            Quantity::Step(read) => Ok(*read),
            Quantity::Linear(linear) => self.read_linear(linear),
        }
    }

    fn read_linear(&mut self, linear: &Linear) -> Result<Read, Unserved> {
        let Linear { mut scale, mut coefficients, offset } = linear.clone();
        // The same coordinate by different numbers is the same form.
        if let [(_, c)] = &mut coefficients[..]
            && !marked::is_marked(*c)
        {
            scale = self.of_data(Elementary::Multiply, scale, *c);
            *c = 1.0;
        }
        let coordinates = coefficients.iter().map(|(coordinate, _)| *coordinate).collect();
        let columns = coefficients.iter().map(|(_, c)| self.register(*c)).collect();
        let form = Form { coordinates, columns };
        let number = match self.known_forms.get(&form) {
            Some(number) => *number,
            None => {
                let number = self.curved.forms.len() as u32;
                if number as usize == MOST_FORMS {
                    return Err(Unserved::ManyForms);
                }
                let is_uniform = form.columns.iter().all(|column| self.is_constant(*column));
                self.curved.add_form(form.clone(), is_uniform);
                self.known_forms.insert(form, number);
                number
            }
        };
        let mut read = Read::Form(number);
        let is = |x: f64, number: f64| !marked::is_marked(x) && x == number;
        if !is(scale, 1.0) {
            let scale = Read::Data(self.register(scale));
            read = self.binary(2, scale, read);
        }
        if !is(offset, 0.0) {
            let offset = Read::Data(self.register(offset));
            read = self.binary(0, offset, read);
        }
        Ok(read)
    }

    pub(super) fn add(&mut self, a: &Quantity, b: &Quantity) -> Result<Quantity, Unserved> {
        use Quantity::{Data, Linear as Line, Step};
        match (a, b) {
            (Data(a), Data(b)) => Ok(Data(self.of_data(Elementary::Add, *a, *b))),
            (Line(line), Data(x)) | (Data(x), Line(line)) => {
                let offset = self.of_data(Elementary::Add, line.offset, *x);
                Ok(Line(Linear { offset, ..line.clone() }))
            }
            (Line(a), Line(b)) => Ok(self.add_lines(a, b)),
            (Step(_), other) | (other, Step(_)) if other.is(0.0) => {
                Ok(if matches!(a, Step(_)) { a.clone() } else { b.clone() })
            }
            _ => {
                let (a, b) = (self.read(a)?, self.read(b)?);
                Ok(Step(self.binary(0, a, b)))
            }
        }
    }

    pub(super) fn subtract(&mut self, a: &Quantity, b: &Quantity) -> Result<Quantity, Unserved> {
        if let (Quantity::Step(read), true) = (b, a.is(1.0)) {
            return self.complement(*read);
        }
        match (a, b) {
            (Quantity::Step(_), other) | (other, Quantity::Step(_)) if !other.is(0.0) => {
                let (a, b) = (self.read(a)?, self.read(b)?);
                Ok(Quantity::Step(self.binary(1, a, b)))
            }
            _ => {
                let minus = self.multiply(&Quantity::Data(-1.0), b)?;
                self.add(a, &minus)
            }
        }
    }

    pub(super) fn multiply(&mut self, a: &Quantity, b: &Quantity) -> Result<Quantity, Unserved> {
        use Quantity::{Data, Linear as Line, Step};
        match (a, b) {
            (Data(a), Data(b)) => Ok(Data(self.of_data(Elementary::Multiply, *a, *b))),
            (one, other) | (other, one) if one.is(1.0) => Ok(other.clone()),
            (zero, _) | (_, zero) if zero.is(0.0) => Ok(Data(0.0)),
            (Data(x), Line(line)) | (Line(line), Data(x)) => Ok(Line(self.scale(line, *x))),
            _ => {
                // e^a e^b as one curve has tighter bounds than as a product.
                if let (Some(a), Some(b)) = (self.log(a), self.log(b))
                    && !matches!((&a, &b), (Data(_), _) | (_, Data(_)))
                {
                    let sum = self.add(&a, &b)?;
                    return self.curve(Curve::Exp, &sum);
                }
                let logs = [self.log(a), self.log(b)];
                let minus = if a.is(-1.0) { Some(b.clone()) } else { None };
                let minus = if b.is(-1.0) { Some(a.clone()) } else { minus };
                let scaled = match (a, b) {
                    (Data(x), other) | (other, Data(x)) if marked::is_marked(*x) => {
                        self.log(other).map(|log| Chance::Times(*x, log))
                    }
                    _ => None,
                };
                let (a, b) = (self.read(a)?, self.read(b)?);
                let product = self.binary(2, a, b);
                if let Some(Step(of)) = minus {
                    self.negatives.insert(product, of);
                }
                if let Some(chance) = scaled {
                    self.chances.insert(product, chance);
                }
                if let [Some(a), Some(b)] = logs {
                    let sum = self.add(&a, &b)?;
                    self.logs.insert(product, sum);
                }
                Ok(Step(product))
            }
        }
    }

    /// The logarithm of what is known to be positive.
    fn log(&self, x: &Quantity) -> Option<Quantity> {
        match x {
            Quantity::Step(read) => self.logs.get(read).cloned(),
            Quantity::Data(x) if !marked::is_marked(*x) && *x > 0.0 => {
                Some(Quantity::Data(math::ln(*x)))
            }
            Quantity::Data(_) | Quantity::Linear(_) => None,
        }
    }

    /// The factor stays outside the form, unless it makes the coefficient of a single coordinate.
    fn scale(&mut self, line: &Linear, x: f64) -> Linear {
        let mut times = |a: f64, b: f64| self.of_data(Elementary::Multiply, a, b);
        let offset = times(line.offset, x);
        match &line.coefficients[..] {
            [(coordinate, c)] if marked::is_marked(x) => {
                let c = times(line.scale, *c);
                let c = times(c, x);
                Linear { scale: 1.0, coefficients: vec![(*coordinate, c)], offset }
            }
            _ => {
                let scale = times(line.scale, x);
                Linear { scale, coefficients: line.coefficients.clone(), offset }
            }
        }
    }

    /// The coefficients with the factor.
    fn spread(&mut self, line: &Linear) -> Vec<(u32, f64)> {
        let times = |(coordinate, c): &(u32, f64)| {
            (*coordinate, self.of_data(Elementary::Multiply, *c, line.scale))
        };
        line.coefficients.iter().map(times).collect()
    }

    fn add_lines(&mut self, a: &Linear, b: &Linear) -> Quantity {
        let offset = self.of_data(Elementary::Add, a.offset, b.offset);
        let mut all = self.spread(a);
        all.extend(self.spread(b));
        all.sort_by_key(|(coordinate, _)| *coordinate);
        let mut coefficients: Vec<(u32, f64)> = Vec::with_capacity(all.len());
        for (coordinate, c) in all {
            match coefficients.last_mut() {
                Some((last, sum)) if *last == coordinate => {
                    *sum = self.of_data(Elementary::Add, *sum, c);
                }
                _ => coefficients.push((coordinate, c)),
            }
        }
        Quantity::Linear(Linear { scale: 1.0, coefficients, offset })
    }

    /// f(a). What is an exponential already is not taken through another curve: the bound of log(e^z) would be that of no line.
    pub(super) fn curve(&mut self, curve: Curve, a: &Quantity) -> Result<Quantity, Unserved> {
        if let Quantity::Step(read) = a
            && let Some(log) = self.logs.get(read).cloned()
        {
            let power = match curve {
                Curve::Log => return Ok(log),
                Curve::Reciprocal => Some(-1.0),
                Curve::Sqrt => Some(0.5),
                Curve::Square => Some(2.0),
                Curve::Power(p) => Some(p),
                _ => None,
            };
            if let Some(power) = power {
                let exponent = self.multiply(&Quantity::Data(power), &log)?;
                return self.curve(Curve::Exp, &exponent);
            }
        }
        if let Quantity::Step(read) = a
            && let Some(known) = self.better_known(curve, *read)?
        {
            return Ok(known);
        }
        let argument = a.clone();
        let a = self.read(a)?;
        let step = self.step(CurvedOp::Curve(curve, a));
        match curve {
            Curve::Exp => drop(self.logs.insert(step, argument)),
            Curve::Logistic => drop(self.chances.insert(step, Chance::Logistic(argument))),
            _ => {}
        }
        Ok(Quantity::Step(step))
    }

    /// The curve of a family that a number of the row names.
    pub(super) fn member(
        &mut self,
        family: CurveFamily,
        number: f64,
        of: &Quantity,
    ) -> Result<Quantity, Unserved> {
        match marked::read(number) {
            Marked::Number(x) => self.curve(family.member(x), of),
            Marked::Local(number) | Marked::Global(number) => {
                let of = self.read(of)?;
                Ok(Quantity::Step(self.step(CurvedOp::Member { family, number, of })))
            }
        }
    }

    /// The option that a number of the row names. Options that are linear with the same coefficients' places stay so.
    pub(super) fn choose(
        &mut self,
        index: f64,
        options: &[Quantity],
    ) -> Result<Quantity, Unserved> {
        let index = self.register(index);
        let lines: Option<Vec<Linear>> = options.iter().map(as_line).collect();
        if let Some(lines) = lines {
            return Ok(self.choose_line(index, &lines));
        }
        let options = options.iter().map(|x| self.read(x)).collect::<Result<_, _>>()?;
        Ok(Quantity::Step(self.step(CurvedOp::Choose { index, options })))
    }

    /// Coefficient by coefficient.
    fn choose_line(&mut self, index: Register, lines: &[Linear]) -> Quantity {
        let spread: Vec<Vec<(u32, f64)>> = lines.iter().map(|line| self.spread(line)).collect();
        let mut coordinates: Vec<u32> = spread.iter().flatten().map(|(j, _)| *j).collect();
        coordinates.sort_unstable();
        coordinates.dedup();
        let mut coefficients = Vec::with_capacity(coordinates.len());
        for coordinate in coordinates {
            let of = |line: &Vec<(u32, f64)>| {
                line.iter().find(|(j, _)| *j == coordinate).map_or(0.0, |(_, c)| *c)
            };
            let options: Vec<f64> = spread.iter().map(of).collect();
            coefficients.push((coordinate, self.choose_data(index, &options)));
        }
        let offsets: Vec<f64> = lines.iter().map(|line| line.offset).collect();
        let offset = self.choose_data(index, &offsets);
        match coefficients.is_empty() {
            true => Quantity::Data(offset),
            false => Quantity::Linear(Linear { scale: 1.0, coefficients, offset }),
        }
    }

    fn choose_data(&mut self, index: Register, options: &[f64]) -> f64 {
        if options.iter().all(|x| x.to_bits() == options[0].to_bits()) {
            return options[0];
        }
        let options: Box<[Register]> = options.iter().map(|x| self.register(*x)).collect();
        marked::local(self.data.push(Op::Choose { index, options }, 1))
    }
}

impl Sheet {
    /// The program of the data and the steps over the forms, of which the last one is the result.
    pub(super) fn finish(mut self, result: &Quantity) -> Result<(Rows, Curved), Unserved> {
        let read = self.read(result)?;
        if read != Read::Step((self.curved.steps.len() as u32).wrapping_sub(1)) {
            let zero = Read::Data(self.register(0.0));
            self.step(CurvedOp::Add(read, zero));
        }
        let Sheet { mut data, cells, mut curved, .. } = self;
        curved.finish();
        data.terms = curved.data_mut().map(|register| *register).collect();
        let rows = match cells.is_empty() {
            true => Rows::over_lanes(data),
            false => Rows::over_cells(data, &cells),
        };
        let rows = rows.in_small_blocks();
        for (register, name) in curved.data_mut().zip(&rows.program().terms) {
            *register = *name;
        }
        Ok((rows, curved))
    }
}

fn as_line(x: &Quantity) -> Option<Linear> {
    match x {
        Quantity::Data(x) => Some(Linear { scale: 1.0, coefficients: Vec::new(), offset: *x }),
        Quantity::Linear(line) => Some(line.clone()),
        Quantity::Step(_) => None,
    }
}
