//! The part of a row's density that is not linear in the coordinates, as sums, products and analytic functions of one
//! number ([`Curve`]) over a few *forms*.
//!
//! A form is Σ_j c_j z_j: coordinates z with coefficients that are data. A row of a regression has one form, the
//! linear predictor, however many weights there are; a location and a scale make two. So derivatives in the
//! coordinates follow from those in the forms, of which there are few: with x_k the coefficients of form k,
//!
//! ∇l = Σ_k f_k x_k,  ∇²l = Σ_km f_km x_k x_m'.
//!
//! Data are registers of a program of their own, which no coordinate enters: it is run once for a block of rows, whatever is asked
//! about them. The readings over these steps are [`super::run::second_order`], [`super::run::bounds`]
//! and [`super::run::remainder`].

use smidgen_prob::smooth::{Curve, CurveFamily};

use super::Register;

/// Σ_j c_j z_j
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    /// In ascending order.
    pub coordinates: Vec<u32>,
    /// Where the coefficient of each stands among the data.
    pub columns: Vec<Register>,
}

/// What a step reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Read {
    Data(Register),
    Form(u32),
    Step(u32),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CurvedOp {
    Add(Read, Read),
    Subtract(Read, Read),
    Multiply(Read, Read),
    Curve(Curve, Read),
    /// The curve of a family that a number of the row names.
    Member {
        family: CurveFamily,
        number: Register,
        of: Read,
    },
    /// The option that a number of the row names.
    Choose {
        index: Register,
        options: Box<[Read]>,
    },
}

impl CurvedOp {
    pub(crate) fn reads(&self) -> impl Iterator<Item = Read> + '_ {
        let (single, many): ([Option<Read>; 2], &[Read]) = match self {
            CurvedOp::Add(a, b) | CurvedOp::Subtract(a, b) | CurvedOp::Multiply(a, b) => {
                ([Some(*a), Some(*b)], &[])
            }
            CurvedOp::Curve(_, a) | CurvedOp::Member { of: a, .. } => ([Some(*a), None], &[]),
            CurvedOp::Choose { options, .. } => ([None, None], options),
        };
        single.into_iter().flatten().chain(many.iter().copied())
    }

    fn data_mut(&mut self) -> Vec<&mut Register> {
        let (mut reads, own): (Vec<&mut Read>, Option<&mut Register>) = match self {
            CurvedOp::Add(a, b) | CurvedOp::Subtract(a, b) | CurvedOp::Multiply(a, b) => {
                (vec![a, b], None)
            }
            CurvedOp::Curve(_, a) => (vec![a], None),
            CurvedOp::Member { number, of, .. } => (vec![of], Some(number)),
            CurvedOp::Choose { index, options } => (options.iter_mut().collect(), Some(index)),
        };
        let data = reads.drain(..).filter_map(|read| match read {
            Read::Data(register) => Some(register),
            Read::Form(_) | Read::Step(_) => None,
        });
        data.chain(own).collect()
    }
}

/// How a step hangs on the forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Degree {
    Constant,
    /// All derivatives beyond the first are 0.
    Linear,
    Curved,
}

#[derive(Clone, Debug)]
pub(crate) struct CurvedStep {
    pub op: CurvedOp,
    /// The forms that it hangs on, in ascending order.
    pub forms: Vec<u32>,
    pub degree: Degree,
    /// Whether it is the same for all rows.
    pub is_uniform: bool,
    /// Where its numbers begin among those of all steps for second derivatives, in lanes.
    pub first: usize,
    /// The orders of derivatives that the third derivative of the result needs of it.
    pub needed: Orders,
}

/// A set of orders of derivatives, 0 to 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Orders(u8);

impl Orders {
    pub(crate) fn only(order: usize) -> Orders {
        Orders(1 << order)
    }

    /// All up to the largest of these.
    fn and_below(self) -> Orders {
        if self.0 == 0 { self } else { Orders((2 << self.most()) - 1) }
    }

    pub(crate) fn has(self, order: usize) -> bool {
        self.0 & 1 << order != 0
    }

    /// The largest.
    pub(crate) fn most(self) -> usize {
        self.0.checked_ilog2().unwrap_or(0) as usize
    }

    fn add(&mut self, others: Orders) {
        self.0 |= others.0;
    }
}

/// The steps; the last one is the log density of the row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curved {
    pub forms: Vec<Form>,
    /// Whether all its coefficients are the same for all rows.
    pub uniform_forms: Vec<bool>,
    /// 0, 1, ...: what each form hangs on.
    pub names: Vec<u32>,
    pub steps: Vec<CurvedStep>,
    /// Pairs of forms, one of which each factor of some product hangs on alone.
    pub crossed: Vec<(u32, u32)>,
    /// Lanes of numbers that second derivatives need.
    pub lanes: usize,
}

/// Where entry (i, j), i ≤ j, of a symmetric matrix stands, row by row of its upper half.
pub(crate) fn upper(i: usize, j: usize, n: usize) -> usize {
    i * n - i * (i + 1) / 2 + j
}

/// The option that an index names; what is no whole number names nothing.
pub(crate) fn named(options: &[Read], index: f64) -> Option<Read> {
    let is_place = index >= 0.0 && index.fract() == 0.0;
    options.get(index as usize).copied().filter(|_| is_place)
}

impl Curved {
    /// The forms that something hangs on.
    pub(crate) fn forms_of(&self, read: Read) -> &[u32] {
        match read {
            Read::Data(_) => &[],
            Read::Form(form) => &self.names[form as usize..=form as usize],
            Read::Step(step) => &self.steps[step as usize].forms,
        }
    }

    pub(crate) fn degree_of(&self, read: Read) -> Degree {
        match read {
            Read::Data(_) => Degree::Constant,
            Read::Form(_) => Degree::Linear,
            Read::Step(step) => self.steps[step as usize].degree,
        }
    }

    pub(crate) fn add_form(&mut self, form: Form, is_uniform: bool) -> u32 {
        let name = self.forms.len() as u32;
        self.forms.push(form);
        self.uniform_forms.push(is_uniform);
        self.names.push(name);
        name
    }

    /// The log density of the row.
    pub(crate) fn last(&self) -> &CurvedStep {
        self.steps.last().expect("a row has a density")
    }

    /// The registers of the data that are read.
    pub(crate) fn data_mut(&mut self) -> impl Iterator<Item = &mut Register> {
        let columns = self.forms.iter_mut().flat_map(|form| form.columns.iter_mut());
        columns.chain(self.steps.iter_mut().flat_map(|step| step.op.data_mut()))
    }

    /// Adds a step. `is_constant` says which data are the same for all rows.
    pub(crate) fn push(&mut self, op: CurvedOp, is_constant: &dyn Fn(Register) -> bool) -> Read {
        let mut forms: Vec<u32> =
            op.reads().flat_map(|read| self.forms_of(read).to_vec()).collect();
        forms.sort_unstable();
        forms.dedup();
        let is_uniform = |read: Read| match read {
            Read::Data(register) => is_constant(register),
            Read::Form(form) => self.uniform_forms[form as usize],
            Read::Step(step) => self.steps[step as usize].is_uniform,
        };
        let by_data = match op {
            CurvedOp::Member { number, .. } => is_constant(number),
            CurvedOp::Choose { index, .. } => is_constant(index),
            _ => true,
        };
        let is_uniform = by_data && op.reads().all(is_uniform);
        let most = op.reads().map(|read| self.degree_of(read)).max().unwrap_or(Degree::Constant);
        let degree = match &op {
            CurvedOp::Add(..) | CurvedOp::Subtract(..) | CurvedOp::Choose { .. } => most,
            CurvedOp::Multiply(a, b) => match (self.degree_of(*a), self.degree_of(*b)) {
                (Degree::Constant, other) | (other, Degree::Constant) => other,
                _ => Degree::Curved,
            },
            CurvedOp::Curve(..) | CurvedOp::Member { .. } => match most {
                Degree::Constant => Degree::Constant,
                _ => Degree::Curved,
            },
        };
        let first = self.lanes;
        let n = forms.len();
        self.lanes += 1 + n + if degree == Degree::Curved { n * (n + 1) / 2 } else { 0 };
        let needed = Orders::default();
        self.steps.push(CurvedStep { op, forms, degree, is_uniform, first, needed });
        Read::Step(self.steps.len() as u32 - 1)
    }

    /// Finds out which derivatives the result needs of each step; none of one that it does not hang on.
    pub(crate) fn finish(&mut self) {
        let Some(last) = self.steps.last_mut() else { return };
        last.needed = Orders::only(3);
        for k in (0..self.steps.len()).rev() {
            let needed = self.steps[k].needed;
            match self.steps[k].op.clone() {
                CurvedOp::Add(a, b) | CurvedOp::Subtract(a, b) => {
                    self.ask(a, needed);
                    self.ask(b, needed);
                }
                CurvedOp::Choose { options, .. } => {
                    options.iter().for_each(|o| self.ask(*o, needed))
                }
                CurvedOp::Multiply(a, b) => match (self.degree_of(a), self.degree_of(b)) {
                    // One factor scales the other.
                    (Degree::Constant, _) => self.ask_scaled(a, b, needed),
                    (_, Degree::Constant) => self.ask_scaled(b, a, needed),
                    _ => {
                        self.ask(a, needed.and_below());
                        self.ask(b, needed.and_below());
                        let pair = self.crossing_of(a, b);
                        self.crossed.extend(pair.filter(|pair| !self.crossed.contains(pair)));
                    }
                },
                CurvedOp::Curve(_, a) | CurvedOp::Member { of: a, .. } => {
                    self.ask(a, needed.and_below());
                }
            }
        }
    }

    /// The two forms that the factors of a product hang on, each on one alone.
    fn crossing_of(&self, a: Read, b: Read) -> Option<(u32, u32)> {
        match (self.forms_of(a), self.forms_of(b)) {
            ([a], [b]) if a != b => Some((*a.min(b), *a.max(b))),
            _ => None,
        }
    }

    /// The number of that pair.
    pub(crate) fn crossing(&self, a: Read, b: Read) -> Option<usize> {
        let pair = self.crossing_of(a, b)?;
        self.crossed.iter().position(|crossed| *crossed == pair)
    }

    fn ask_scaled(&mut self, scale: Read, scaled: Read, needed: Orders) {
        self.ask(scale, Orders::only(0));
        self.ask(scaled, needed);
    }

    fn ask(&mut self, read: Read, orders: Orders) {
        if let Read::Step(step) = read {
            self.steps[step as usize].needed.add(orders);
        }
    }
}
