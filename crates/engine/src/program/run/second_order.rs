//! The value of curved steps with their first and second derivatives in the forms, forward: every step knows its own
//! derivatives in the forms that it hangs on,
//!
//! c = f(a, b):  c_i = f_a a_i + f_b b_i,
//! c_ij = f_a a_ij + f_b b_ij + f_aa a_i a_j + f_ab (a_i b_j + a_j b_i) + f_bb b_i b_j.
//!
//! A step over n forms takes 1 + n + n(n+1)/2 lanes, a linear one 1 + n. What is the same for all rows is computed once
//! for a scan.

use smidgen_prob::smooth::Curve;

use super::Store;
use crate::program::Register;
use crate::program::curved::{Curved, CurvedOp, CurvedStep, Degree, Read, upper};
use crate::program::rows::BLOCK;
use crate::program::wide::Wide;

/// Where the numbers of all steps stand, lane by lane.
#[derive(Default)]
pub(crate) struct Jets {
    /// The values of the forms.
    forms: Vec<f64>,
    steps: Vec<f64>,
    ones: Vec<f64>,
    wide: Wide,
}

/// What a step knows of one that it reads.
#[derive(Clone, Copy)]
struct Jet<'a> {
    value: &'a [f64],
    forms: &'a [u32],
    slopes: &'a [f64],
    /// None if all are 0.
    seconds: Option<&'a [f64]>,
}

impl<'a> Jet<'a> {
    fn slope(&self, i: usize) -> &'a [f64] {
        &self.slopes[i * BLOCK..i * BLOCK + self.value.len()]
    }

    fn second(&self, i: usize, j: usize) -> Option<&'a [f64]> {
        let at = upper(i, j, self.forms.len()) * BLOCK;
        self.seconds.map(|seconds| &seconds[at..at + self.value.len()])
    }
}

/// What a step writes.
struct Out<'a> {
    forms: &'a [u32],
    lanes: usize,
    slopes: &'a mut [f64],
    seconds: &'a mut [f64],
    wide: Wide,
}

impl Out<'_> {
    fn place(&self, form: u32) -> usize {
        self.forms.binary_search(&form).expect("a step hangs on what its parts hang on")
    }

    fn slope(&mut self, i: usize) -> &mut [f64] {
        &mut self.slopes[i * BLOCK..i * BLOCK + self.lanes]
    }

    fn second(&mut self, i: usize, j: usize) -> &mut [f64] {
        let at = upper(i.min(j), i.max(j), self.forms.len()) * BLOCK;
        &mut self.seconds[at..at + self.lanes]
    }

    /// Adds what comes through one part: its slopes times f_a, its second derivatives times f_a, and f_aa.
    fn through(&mut self, a: &Jet<'_>, first: &[f64], second: Option<&[f64]>) {
        let wide = self.wide;
        for (i, form) in a.forms.iter().enumerate() {
            let p = self.place(*form);
            wide.multiply_add(first, a.slope(i), self.slope(p));
            if self.seconds.is_empty() {
                continue;
            }
            for (j, other) in a.forms.iter().enumerate().skip(i) {
                let q = self.place(*other);
                if let Some(seconds) = a.second(i, j) {
                    wide.multiply_add(first, seconds, self.second(p, q));
                }
                if let Some(second) = second {
                    wide.add_product_of_three(self.second(p, q), second, a.slope(i), a.slope(j));
                }
            }
        }
    }

    /// f_ab (a_i b_j + a_j b_i) with f_ab = 1.
    fn cross(&mut self, a: &Jet<'_>, b: &Jet<'_>) {
        let wide = self.wide;
        for (i, form) in a.forms.iter().enumerate() {
            let p = self.place(*form);
            for (j, other) in b.forms.iter().enumerate() {
                let q = self.place(*other);
                wide.multiply_add(a.slope(i), b.slope(j), self.second(p, q));
                if p == q {
                    wide.multiply_add(a.slope(i), b.slope(j), self.second(p, q));
                }
            }
        }
    }
}

impl Jets {
    /// Gives it the size that the steps need.
    pub(crate) fn fit(&mut self, curved: &Curved) {
        let grow = |lanes: &mut Vec<f64>, count: usize, x: f64| {
            if lanes.len() < count * BLOCK {
                lanes.resize(count * BLOCK, x);
            }
        };
        grow(&mut self.forms, curved.forms.len(), 0.0);
        grow(&mut self.steps, curved.lanes, 0.0);
        grow(&mut self.ones, 2, 1.0);
        self.ones[BLOCK..].fill(-1.0);
    }

    /// What is the same for all rows, in all lanes. The data are those of any row.
    pub(crate) fn begin(&mut self, curved: &Curved, data: &Store, z: &[f64]) {
        for k in (0..curved.forms.len()).filter(|k| curved.uniform_forms[*k]) {
            self.form(curved, k, data, z, 1);
            let x = self.forms[k * BLOCK];
            self.forms[k * BLOCK..(k + 1) * BLOCK].fill(x);
        }
        for step in curved.steps.iter().filter(|step| step.is_uniform) {
            self.step(curved, step, data, 1);
            let n = step.forms.len();
            let count = match step.degree {
                Degree::Curved => 1 + n + n * (n + 1) / 2,
                Degree::Linear | Degree::Constant => 1 + n,
            };
            for lanes in self.steps[step.first * BLOCK..][..count * BLOCK].chunks_exact_mut(BLOCK) {
                let x = lanes[0];
                lanes.fill(x);
            }
        }
    }

    /// The rows whose data are loaded.
    pub(crate) fn run(&mut self, curved: &Curved, data: &Store, z: &[f64], lanes: usize) {
        for k in (0..curved.forms.len()).filter(|k| !curved.uniform_forms[*k]) {
            self.form(curved, k, data, z, lanes);
        }
        for step in curved.steps.iter().filter(|step| !step.is_uniform) {
            self.step(curved, step, data, lanes);
        }
    }

    fn form(&mut self, curved: &Curved, k: usize, data: &Store, z: &[f64], lanes: usize) {
        let out = &mut self.forms[k * BLOCK..k * BLOCK + lanes];
        curved.forms[k].value(data, z, out);
    }

    /// The value, the slope in the i-th form and the second derivatives of the last step.
    pub(crate) fn value(&self, curved: &Curved, lanes: usize) -> &[f64] {
        let first = curved.last().first * BLOCK;
        &self.steps[first..first + lanes]
    }

    pub(crate) fn slope(&self, curved: &Curved, i: usize, lanes: usize) -> &[f64] {
        let first = (curved.last().first + 1 + i) * BLOCK;
        &self.steps[first..first + lanes]
    }

    /// None if they are all 0.
    pub(crate) fn second(
        &self,
        curved: &Curved,
        i: usize,
        j: usize,
        lanes: usize,
    ) -> Option<&[f64]> {
        let last = curved.last();
        let n = last.forms.len();
        let first = (last.first + 1 + n + upper(i, j, n)) * BLOCK;
        (last.degree == Degree::Curved).then(|| &self.steps[first..first + lanes])
    }

    fn step(&mut self, curved: &Curved, step: &CurvedStep, data: &Store, lanes: usize) {
        let Jets { forms, steps, ones, wide } = self;
        let wide = *wide;
        let n = step.forms.len();
        let (below, above) = steps.split_at_mut(step.first * BLOCK);
        let (value, above) = above.split_at_mut(BLOCK);
        let (slopes, above) = above.split_at_mut(n * BLOCK);
        let seconds = match step.degree {
            Degree::Curved => &mut above[..n * (n + 1) / 2 * BLOCK],
            Degree::Linear | Degree::Constant => &mut [],
        };
        slopes.fill(0.0);
        seconds.fill(0.0);
        let value = &mut value[..lanes];
        let (plus, minus) = (&ones[..lanes], &ones[BLOCK..BLOCK + lanes]);
        let of = |read: &Read| -> Jet<'_> {
            match *read {
                Read::Data(register) => Jet {
                    value: data.lanes(register, lanes),
                    forms: &[],
                    slopes: &[],
                    seconds: None,
                },
                Read::Form(k) => {
                    let at = k as usize * BLOCK;
                    Jet {
                        value: &forms[at..at + lanes],
                        forms: &curved.names[k as usize..=k as usize],
                        slopes: ones,
                        seconds: None,
                    }
                }
                Read::Step(k) => {
                    let step = &curved.steps[k as usize];
                    let (at, n) = (step.first * BLOCK, step.forms.len());
                    let seconds = (step.degree == Degree::Curved)
                        .then(|| &below[at + (1 + n) * BLOCK..][..n * (n + 1) / 2 * BLOCK]);
                    Jet {
                        value: &below[at..at + lanes],
                        forms: &step.forms,
                        slopes: &below[at + BLOCK..at + (1 + n) * BLOCK],
                        seconds,
                    }
                }
            }
        };
        let mut out = Out { forms: &step.forms, lanes, slopes, seconds, wide };
        match &step.op {
            CurvedOp::Add(a, b) | CurvedOp::Subtract(a, b) => {
                let is_sum = matches!(step.op, CurvedOp::Add(..));
                let sign = if is_sum { plus } else { minus };
                let (a, b) = (of(a), of(b));
                value.copy_from_slice(a.value);
                wide.multiply_add(sign, b.value, value);
                out.through(&a, plus, None);
                out.through(&b, sign, None);
            }
            CurvedOp::Multiply(a, b) => {
                let (a, b) = (of(a), of(b));
                value.fill(0.0);
                wide.multiply_add(a.value, b.value, value);
                out.through(&a, b.value, None);
                out.through(&b, a.value, None);
                if step.degree == Degree::Curved {
                    out.cross(&a, &b);
                }
            }
            CurvedOp::Curve(curve, a) => {
                let a = of(a);
                let mut found = [[0.0; BLOCK]; 2];
                match curve {
                    Curve::LogLogistic => {
                        let [first, second] = &mut found;
                        wide.log_logistics(a.value, value, [first, second]);
                    }
                    Curve::Exp if wide.exponentials(a.value, value) => {
                        found
                            .iter_mut()
                            .for_each(|lanes_of| lanes_of[..lanes].copy_from_slice(value));
                    }
                    _ => curve_lanes(|_| *curve, &a, value, &mut found, n == 0),
                }
                out.through(&a, &found[0][..lanes], Some(&found[1][..lanes]));
            }
            CurvedOp::Member { family, number, of: a } => {
                let (a, numbers) = (of(a), data.lanes(*number, lanes));
                let mut found = [[0.0; BLOCK]; 2];
                curve_lanes(|l| family.member(numbers[l]), &a, value, &mut found, n == 0);
                out.through(&a, &found[0][..lanes], Some(&found[1][..lanes]));
            }
            CurvedOp::Choose { index, options } => {
                let chosen = data.lanes(*index, lanes);
                value.fill(f64::NAN);
                for (k, option) in options.iter().enumerate() {
                    let a = of(option);
                    let mut picked = [0.0; BLOCK];
                    for l in 0..lanes {
                        if chosen[l] == k as f64 {
                            (picked[l], value[l]) = (1.0, a.value[l]);
                        }
                    }
                    out.through(&a, &picked[..lanes], None);
                }
            }
        }
    }
}

/// f, f' and f'' in all lanes; f alone if nothing moves.
fn curve_lanes(
    curve: impl Fn(usize) -> Curve,
    a: &Jet<'_>,
    value: &mut [f64],
    found: &mut [[f64; BLOCK]; 2],
    is_constant: bool,
) {
    let orders = if is_constant { 1 } else { 3 };
    let mut out = [0.0; 3];
    for (l, x) in a.value.iter().enumerate() {
        curve(l).derivatives(*x, &mut out[..orders]);
        (value[l], found[0][l], found[1][l]) = (out[0], out[1], out[2]);
    }
}

impl crate::program::curved::Form {
    /// Σ_j c_j z_j in all lanes.
    pub(crate) fn value(&self, data: &Store, z: &[f64], out: &mut [f64]) {
        self.value_from(0, data, z, out);
    }

    /// The same over the coordinates from the `first` on.
    pub(crate) fn value_from(&self, first: u32, data: &Store, z: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        let lanes = out.len();
        let column = |register: Register| data.lanes(register, lanes);
        let start = self.coordinates.partition_point(|coordinate| *coordinate < first);
        let coordinates = self.coordinates[start..].chunks_exact(4);
        let (rest, columns) = (coordinates.remainder(), self.columns[start..].chunks_exact(4));
        let rest = rest.iter().zip(columns.remainder());
        for (j, k) in coordinates.zip(columns) {
            let weights = [0, 1, 2, 3].map(|n| z[j[n] as usize]);
            data.wide.add_four(out, weights, [0, 1, 2, 3].map(|n| column(k[n])));
        }
        for (j, k) in rest {
            data.wide.add_one(out, z[*j as usize], column(*k));
        }
    }
}
