//! The part of the rest that is a polynomial of second order itself: normal densities with a fixed spread of what is linear in
//! the coordinates, such as most priors of weights. It is known by its coefficients, and costs no more than they are many.

use smidgen_prob::Family;
use smidgen_prob::linalg;
use smidgen_value::{Link, Matrix, math};

use super::Sums;
use super::follow::{Followed, OfLeaf, needed, one};
use super::kind::of_block;
use super::sheet::{Quantity, Sheet};
use crate::program::rows::{OfRow, Rows};
use crate::program::{DensityOp, Op, Register};
use crate::smooth::Density;

/// More coordinates than these are left to the programs.
const MOST_COORDINATES: usize = 256;

/// Σ_j c_j z_j + offset
struct Line {
    coefficients: Vec<(u32, f64)>,
    offset: f64,
}

/// value + g·z + z'Hz/2
#[derive(Clone, Debug)]
pub(super) struct Quadratic {
    pub sums: Sums,
    /// What is not 0 of the upper half of H: row, column, and the number that multiplies their product.
    entries: Vec<(u32, u32, f64)>,
}

impl Quadratic {
    pub(super) fn new(dimension: usize) -> Quadratic {
        let (gradient, hessian) = (vec![0.0; dimension], vec![0.0; dimension * dimension]);
        Quadratic { sums: Sums { value: 0.0, gradient, hessian }, entries: Vec::new() }
    }

    pub(super) fn value(&self, z: &[f64]) -> f64 {
        let Sums { value, gradient, .. } = &self.sums;
        let linear: f64 = gradient.iter().zip(z).map(|(g, z)| g * z).sum();
        let of = |(i, j, h): &(u32, u32, f64)| h * z[*i as usize] * z[*j as usize];
        value + linear + self.entries.iter().map(of).sum::<f64>()
    }

    /// Adds the rows of a shape. False, and nothing is added, if they are something else.
    pub(super) fn add_rows(&mut self, density: &Density, rows: &Rows) -> bool {
        let d = density.dimension();
        if d > MOST_COORDINATES || rows.count() > d + 1 {
            return false;
        }
        let mut with_rows = self.clone();
        let added = (0..rows.count()).all(|row| with_rows.add_row(density, rows, row).is_some());
        if added && with_rows.sums.value.is_finite() {
            *self = with_rows;
        }
        added
    }

    /// Adds what is linear of the global part's own terms. False, and nothing is added, if some is not.
    pub(super) fn add_terms(&mut self, density: &Density) -> bool {
        let (mut sheet, terms) = (Sheet::default(), &density.parts.globals.terms);
        let registers: Vec<Register> = terms.iter().map(|(term, _)| *term).collect();
        let Ok(known) = of_block(&mut sheet, density, &registers) else { return false };
        let lines: Option<Vec<Line>> =
            registers.iter().map(|term| line_at(&known, *term)).collect();
        let Some(lines) = lines else { return false };
        for (line, (_, count)) in lines.into_iter().zip(terms) {
            self.sums.value += count * line.offset;
            for (j, c) in line.coefficients {
                self.sums.gradient[j as usize] += count * c;
            }
        }
        true
    }

    /// To be called after the last one was added.
    pub(super) fn finish(&mut self) {
        let d = self.sums.gradient.len();
        for i in 0..d {
            for j in i..d {
                let h = self.sums.hessian[i * d + j] * if i == j { 0.5 } else { 1.0 };
                if h != 0.0 {
                    self.entries.push((i as u32, j as u32, h));
                }
            }
        }
    }

    fn add_row(&mut self, density: &Density, rows: &Rows, row: usize) -> Option<()> {
        let (mut sheet, program) = (Sheet::default(), rows.program());
        let leaves: Vec<OfRow<'_>> =
            (0..program.leaves.len()).map(|leaf| rows.of_row(leaf, row)).collect::<Option<_>>()?;
        let of_globals = program.leaves.iter().zip(&leaves).flat_map(|(leaf, of)| match of {
            OfRow::Global(first) => *first..*first + leaf.len,
            OfRow::Numbers(_) => 0..0,
        });
        let around = of_block(&mut sheet, density, &of_globals.collect::<Vec<_>>()).ok()?;
        let of_leaf = |leaf: u32| -> Vec<Quantity> {
            match &leaves[leaf as usize] {
                OfRow::Global(first) => (*first..*first + program.leaves[leaf as usize].len)
                    .map(|register| around[register as usize].clone())
                    .collect::<Option<_>>()
                    .expect("what rows read is followed"),
                OfRow::Numbers(numbers) => numbers.iter().map(|x| Quantity::Data(*x)).collect(),
            }
        };
        let mut known: Followed = vec![None; program.registers as usize];
        for (k, leaf) in program.leaves.iter().enumerate() {
            if leaf.register != Register::MAX {
                for (n, number) in of_leaf(k as u32).into_iter().enumerate() {
                    known[leaf.register as usize + n] = Some(number);
                }
            }
        }
        self.add_steps(&mut sheet, rows, &of_leaf, &mut known)
    }

    fn add_steps(
        &mut self,
        sheet: &mut Sheet,
        rows: &Rows,
        of_leaf: &OfLeaf<'_>,
        known: &mut Followed,
    ) -> Option<()> {
        let program = rows.program();
        let needed = needed(program, &program.terms);
        for step in &program.steps {
            if !(step.out..step.out + step.width).any(|register| needed[register as usize]) {
                continue;
            }
            if let Op::Density(op) = &step.op {
                if !program.terms.contains(&step.out) {
                    return None;
                }
                self.add_density(op, known)?;
                continue;
            }
            for (k, result) in one(sheet, step, of_leaf, known).ok()?.into_iter().enumerate() {
                known[step.out as usize + k] = Some(result);
            }
        }
        let is_density = |term: &Register| {
            program.steps.iter().any(|s| s.out == *term && matches!(s.op, Op::Density(_)))
        };
        program.terms.iter().all(is_density).then_some(())
    }

    /// −(x − m)'P(x − m)/2 + constant
    fn add_density(&mut self, op: &DensityOp, known: &Followed) -> Option<()> {
        let n = op.outcome;
        let (mean, spread) = op.args().split_at_checked(n)?;
        let spread: Vec<f64> = spread
            .iter()
            .map(|register| known[*register as usize].as_ref().and_then(Quantity::number))
            .collect::<Option<_>>()?;
        let (precision, constant) = precision(op, &spread)?;
        let mut lines = Vec::with_capacity(n);
        for (x, mean) in op.x().iter().zip(mean) {
            let (x, mean) = (line_at(known, *x)?, line_at(known, *mean)?);
            let minus = mean.coefficients.iter().map(|(j, c)| (*j, -c));
            let coefficients = x.coefficients.iter().copied().chain(minus).collect();
            lines.push(Line { coefficients, offset: x.offset - mean.offset });
        }
        self.sums.value += constant;
        for (i, a) in lines.iter().enumerate() {
            for (j, b) in lines.iter().enumerate() {
                self.add_product(-precision[i * n + j], a, b);
            }
        }
        Some(())
    }

    /// Adds p a b / 2.
    fn add_product(&mut self, p: f64, a: &Line, b: &Line) {
        if p == 0.0 {
            return;
        }
        let d = self.sums.gradient.len();
        self.sums.value += 0.5 * p * a.offset * b.offset;
        for (line, offset) in [(a, b.offset), (b, a.offset)] {
            for (j, c) in &line.coefficients {
                self.sums.gradient[*j as usize] += 0.5 * p * c * offset;
            }
        }
        for (i, c) in &a.coefficients {
            for (j, e) in &b.coefficients {
                let (i, j) = (*i as usize, *j as usize);
                self.sums.hessian[i * d + j] += 0.5 * p * c * e;
                self.sums.hessian[j * d + i] += 0.5 * p * c * e;
            }
        }
    }
}

/// What stands in a register, if it is linear with coefficients that are numbers.
fn line_at(known: &Followed, register: Register) -> Option<Line> {
    match known[register as usize].as_ref()? {
        Quantity::Data(_) => {
            let offset = known[register as usize].as_ref()?.number()?;
            Some(Line { coefficients: Vec::new(), offset })
        }
        Quantity::Linear(linear) => {
            let (coefficients, offset) = linear.numbers()?;
            Some(Line { coefficients, offset })
        }
        Quantity::Step(_) => None,
    }
}

/// P, row by row, and the log density at the mean, of a law whose spread these numbers are; none if it is not normal.
fn precision(op: &DensityOp, spread: &[f64]) -> Option<(Vec<f64>, f64)> {
    let n = op.outcome;
    let of_sds = |sds: &[f64]| {
        let mut precision = vec![0.0; n * n];
        for (i, sd) in sds.iter().enumerate() {
            precision[i * n + i] = 1.0 / (sd * sd);
        }
        let logs: f64 = sds.iter().map(|sd| math::ln(*sd)).sum();
        (precision, -logs - n as f64 * math::HALF_LN_2PI)
    };
    let is_positive = |sds: &[f64]| sds.len() == n && sds.iter().all(|sd| *sd > 0.0);
    match (op.family(), op.law.spec().name) {
        ((Family::Normal, None), _) if is_positive(spread) => Some(of_sds(spread)),
        ((Family::Normal, Some(Link::Log)), _) => Some(of_sds(&[math::exp(*spread.first()?)])),
        (_, "multivariate_diag_normal") if is_positive(spread) => Some(of_sds(spread)),
        (_, "multivariate_normal") if spread.len() == n * n && n > 0 => {
            let lower = linalg::cholesky(&Matrix::new(n, n, spread.to_vec()))?;
            let precision = linalg::inverse_from_cholesky(&lower).as_slice().to_vec();
            let log_det = linalg::log_det_from_cholesky(&lower);
            Some((precision, -0.5 * log_det - n as f64 * math::HALF_LN_2PI))
        }
        _ => None,
    }
}
