//! Σ l_i, Σ ∇l_i and Σ ∇²l_i in one pass.
//!
//! With f_k and f_km the derivatives of a section in its forms and x_k the coefficients of form k, the sums run over
//! the coefficients: Σ_i f_k x_kp and Σ_i f_km x_kp x_mq, which are put where the coordinates of p and q are at the
//! end. The cost of a row is that of its steps, and d²/2 for one form over d coordinates.

use std::ops::Range;

use super::kind::Kind;
use super::{Desk, Taylor};
use crate::program::cells::Pick;
use crate::program::chunks::in_chunks;
use crate::program::curved::Curved;
use crate::program::rows::BLOCK;
use crate::program::wide::lanes::Columns;

/// The sums over the sections, or an estimate of them from some.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    pub value: f64,
    pub gradient: Vec<f64>,
    /// Row by row.
    pub hessian: Vec<f64>,
}

/// Sums over rows of one kind, by the coefficients of its forms.
#[derive(Clone)]
pub(super) struct Tally {
    value: f64,
    /// For each form of the last step, one number for each of its coefficients.
    slopes: Vec<Vec<f64>>,
    /// For each pair of forms i ≤ j, one number for each pair of coefficients.
    seconds: Vec<Vec<f64>>,
}

impl Tally {
    pub(super) fn new(curved: &Curved) -> Tally {
        let forms = &curved.last().forms;
        let len = |form: &u32| curved.forms[*form as usize].columns.len();
        let slopes = forms.iter().map(|form| vec![0.0; len(form)]).collect();
        let mut seconds = Vec::new();
        for (i, form) in forms.iter().enumerate() {
            seconds.extend(forms[i..].iter().map(|other| vec![0.0; len(form) * len(other)]));
        }
        Tally { value: 0.0, slopes, seconds }
    }

    /// Σ l_i
    pub(super) fn value(&self) -> f64 {
        self.value
    }

    fn add(&mut self, other: &Tally) {
        self.add_times(1.0, other);
    }

    pub(super) fn add_times(&mut self, factor: f64, other: &Tally) {
        let add = |sums: &mut [Vec<f64>], others: &[Vec<f64>]| {
            let both = sums.iter_mut().flatten().zip(others.iter().flatten());
            both.for_each(|(sum, x)| *sum += factor * x);
        };
        self.value += factor * other.value;
        add(&mut self.slopes, &other.slopes);
        add(&mut self.seconds, &other.seconds);
    }

    /// Adds the rows that the desk has read.
    pub(super) fn count(&mut self, desk: &Desk, curved: &Curved, lanes: usize) {
        let (wide, jets) = (desk.store.wide, &desk.jets);
        self.value += wide.sum(jets.value(curved, lanes));
        let forms = &curved.last().forms;
        let numbers = &desk.store.values;
        let mut pair = 0;
        for (i, form) in forms.iter().enumerate() {
            let a = &curved.forms[*form as usize].columns;
            let slope = jets.slope(curved, i, lanes);
            for (sum, column) in self.slopes[i].iter_mut().zip(a) {
                *sum += wide.dot(slope, desk.store.lanes(*column, lanes));
            }
            for (j, other) in forms.iter().enumerate().skip(i) {
                if let Some(second) = jets.second(curved, i, j, lanes) {
                    let b = &curved.forms[*other as usize].columns;
                    let columns = Columns { numbers, stride: BLOCK, a, b, is_symmetric: i == j };
                    wide.add_gram(second, columns, &mut self.seconds[pair]);
                }
                pair += 1;
            }
        }
    }

    /// Adds the sums, times a factor, to those by coordinates.
    pub(super) fn spread(&self, curved: &Curved, factor: f64, sums: &mut Sums) {
        let d = sums.gradient.len();
        sums.value += factor * self.value;
        let forms = &curved.last().forms;
        let of = |form: u32| &curved.forms[form as usize].coordinates;
        let mut pair = self.seconds.iter();
        for (i, form) in forms.iter().enumerate() {
            for (j, slope) in of(*form).iter().zip(&self.slopes[i]) {
                sums.gradient[*j as usize] += factor * slope;
            }
            for other in &forms[i..] {
                let seconds = pair.next().expect("one for each pair");
                let (a, b) = (of(*form), of(*other));
                for (p, row) in a.iter().enumerate() {
                    for (q, column) in b.iter().enumerate() {
                        let (row, column) = (*row as usize, *column as usize);
                        let second = factor * seconds[p * b.len() + q];
                        if form != other {
                            sums.hessian[row * d + column] += second;
                            sums.hessian[column * d + row] += second;
                        } else if p <= q {
                            sums.hessian[row * d + column] += second;
                            if p < q {
                                sums.hessian[column * d + row] += second;
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Sums {
    pub(super) fn zero(dimension: usize) -> Sums {
        Sums {
            value: 0.0,
            gradient: vec![0.0; dimension],
            hessian: vec![0.0; dimension * dimension],
        }
    }

    /// Σ l_i + (θ − θ*)ᵀ g + ½ (θ − θ*)ᵀ H (θ − θ*) of the sums at θ*.
    pub fn polynomial(&self, centre: &[f64], theta: &[f64]) -> f64 {
        let mut total = 0.0;
        for (k, row) in self.hessian.chunks_exact(centre.len()).enumerate() {
            let step = theta[k] - centre[k];
            let mut bend = 0.0;
            for ((h, x), c) in row.iter().zip(theta).zip(centre) {
                bend += h * (x - c);
            }
            total += step * (self.gradient[k] + 0.5 * bend);
        }
        self.value + total
    }

    pub(super) fn finite(self) -> Option<Sums> {
        let is_finite = |xs: &[f64]| xs.iter().all(|x| x.is_finite());
        let fine = self.value.is_finite() && is_finite(&self.gradient) && is_finite(&self.hessian);
        fine.then_some(self)
    }
}

impl Taylor {
    /// The sums at z over every `stride`-th row, times `stride`. None if something is no finite number.
    pub fn sums(&mut self, z: &[f64], stride: usize) -> Option<Sums> {
        let (d, stride) = (self.dimension, stride.max(1));
        let mut sums = Sums::zero(d);
        let Taylor { kinds, desks, threads, .. } = self;
        for kind in kinds.iter() {
            let n = kind.rows().div_ceil(stride);
            let desks = Taylor::desks(desks, *threads, n);
            for desk in &mut *desks {
                kind.begin(desk, z);
            }
            let chunk = |places: Range<usize>, desk: &mut Desk| -> Result<Tally, ()> {
                let mut tally = Tally::new(&kind.curved);
                let mut these = [0; BLOCK];
                for start in places.clone().step_by(BLOCK) {
                    let lanes = BLOCK.min(places.end - start);
                    let pick = match stride {
                        1 => kind.pick(start),
                        _ => {
                            for (l, row) in these[..lanes].iter_mut().enumerate() {
                                *row = kind.members.row((start + l) * stride);
                            }
                            Pick::These(&these[..lanes])
                        }
                    };
                    kind.data.load(&mut desk.store, &[], pick, lanes);
                    kind.data.run(&mut desk.store, lanes);
                    desk.jets.run(&kind.curved, &desk.store, z, lanes);
                    tally.count(desk, &kind.curved, lanes);
                }
                Ok(tally)
            };
            let mut all = Tally::new(&kind.curved);
            in_chunks(n, desks, chunk, |tally| all.add(&tally)).ok()?;
            let factor = kind.rows() as f64 / n as f64;
            all.spread(&kind.curved, factor, &mut sums);
        }
        sums.finite()
    }
}

impl Kind {
    /// What is the same for all rows, at z.
    fn begin(&self, desk: &mut Desk, z: &[f64]) {
        self.data.fit(&mut desk.store);
        self.data.begin(&mut desk.store, &[]);
        desk.jets.fit(&self.curved);
        desk.jets.begin(&self.curved, &desk.store, z);
    }
}
