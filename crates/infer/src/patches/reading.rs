//! Rows by chunks.

use smidgen_prob::linalg::dot;

use super::{Predicted, Rows};

/// Rows that are read at a time.
pub const CHUNK: usize = 64;

/// Where the rows of a patch are read: β and the effects that they read.
pub type At<'a> = [&'a [f64]; 2];

/// Room for a chunk of rows.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// x_i by coordinate, u_i by effect, and o_i.
    x: Vec<f64>,
    eta: Vec<f64>,
    /// Derivatives by order.
    f: Vec<f64>,
}

/// A chunk of rows that has been read: for each, x_i and f_i, f_i', ...
pub struct Chunk<'a> {
    pub rows: Rows,
    x: &'a [f64],
    pub eta: &'a [f64],
    f: &'a [f64],
}

impl Chunk<'_> {
    /// Coordinate k of every x_i; after these, of every u_i.
    pub fn x(&self, k: usize) -> &[f64] {
        &self.x[k * self.rows.count..(k + 1) * self.rows.count]
    }

    /// f_i^(k)
    pub fn f(&self, k: usize) -> &[f64] {
        &self.f[k * self.rows.count..(k + 1) * self.rows.count]
    }
}

impl Reader {
    /// Reads x_i and η_i of few rows.
    fn read_linear(&mut self, model: &mut dyn Predicted, rows: Rows, at: At) {
        let n = rows.count;
        let columns = at[0].len() + at[1].len();
        self.x.resize((columns + 1) * n, 0.0);
        model.coefficients(rows, &mut self.x);
        self.eta.clear();
        self.eta.extend_from_slice(&self.x[columns * n..]);
        for (x, weight) in self.x.chunks_exact(n).zip(at.into_iter().flatten()) {
            self.eta.iter_mut().zip(x).for_each(|(eta, x)| *eta += x * weight);
        }
    }

    /// The log weight of rows of one patch.
    pub fn log_weight(&mut self, model: &mut dyn Predicted, rows: Rows, at: At) -> f64 {
        let mut total = 0.0;
        for skip in (0..rows.count).step_by(CHUNK) {
            let part = rows.part(skip, CHUNK);
            self.read_linear(model, part, at);
            total += model.log_weight(part, &self.eta);
        }
        total
    }

    /// Shows rows of one patch with their derivatives up to an order, chunk by chunk.
    pub fn derivatives(
        &mut self,
        model: &mut dyn Predicted,
        rows: Rows,
        at: At,
        order: usize,
        mut show: impl FnMut(&mut dyn Predicted, Chunk),
    ) {
        for skip in (0..rows.count).step_by(CHUNK) {
            let part = rows.part(skip, CHUNK);
            self.read_linear(model, part, at);
            self.f.resize((order + 1) * part.count, 0.0);
            model.derivatives(part, &self.eta, &mut self.f);
            show(model, Chunk { rows: part, x: &self.x, eta: &self.eta, f: &self.f });
        }
    }

    /// Shows rows with their x_i, and u_i of some effects, alone.
    pub fn coefficients(
        &mut self,
        model: &mut dyn Predicted,
        rows: Rows,
        effects: usize,
        mut show: impl FnMut(Chunk),
    ) {
        for skip in (0..rows.count).step_by(CHUNK) {
            let part = rows.part(skip, CHUNK);
            self.x.resize((model.shared() + effects + 1) * part.count, 0.0);
            model.coefficients(part, &mut self.x);
            show(Chunk { rows: part, x: &self.x, eta: &[], f: &[] });
        }
    }
}

/// Sums over rows of a patch at a point: what Newton steps are made of. With y_i = (x_i, u_i):
#[derive(Clone, Debug, Default)]
pub struct Bend {
    /// Σ f
    pub value: f64,
    /// Σ f' y
    pub first: Vec<f64>,
    /// Σ f'' y yᵀ, lower triangle row by row.
    pub second: Vec<f64>,
    /// Σ f‴ v y with v_i = Σ_a u_ia² times the variance of effect a.
    pub third: Vec<f64>,
    weighted: Vec<f64>,
}

impl Bend {
    /// Of every `stride`-th row of a group, scaled up. Returns the number of rows read.
    pub fn read(
        &mut self,
        model: &mut dyn Predicted,
        reader: &mut Reader,
        rows: Rows,
        at: At,
        variances: &[f64],
        stride: usize,
    ) -> usize {
        let n = at[0].len() + at[1].len();
        self.value = 0.0;
        for (sums, len) in
            [(&mut self.first, n), (&mut self.second, triangle(n)), (&mut self.third, n)]
        {
            sums.clear();
            sums.resize(len, 0.0);
        }
        let some = rows.thinned(stride);
        reader.derivatives(model, some, at, 3, |_, chunk| self.add(&chunk, at[0].len(), variances));
        if stride > 1 && some.count > 0 {
            let scale = rows.count as f64 / some.count as f64;
            let all = self.first.iter_mut().chain(&mut self.second).chain(&mut self.third);
            all.chain([&mut self.value]).for_each(|sum| *sum *= scale);
        }
        some.count
    }

    /// Σ f'' y_j y_l
    pub fn second(&self, j: usize, l: usize) -> f64 {
        let (row, column) = (j.max(l), j.min(l));
        self.second[triangle(row) + column]
    }

    fn add(&mut self, chunk: &Chunk, p: usize, variances: &[f64]) {
        self.value += chunk.f(0).iter().sum::<f64>();
        let mut cell = 0;
        for j in 0..self.first.len() {
            self.first[j] += dot(chunk.f(1), chunk.x(j));
            self.weighted.clear();
            self.weighted.extend(chunk.f(2).iter().zip(chunk.x(j)).map(|(f, x)| f * x));
            for l in 0..=j {
                self.second[cell] += dot(&self.weighted, chunk.x(l));
                cell += 1;
            }
        }
        for (slot, variance) in variances.iter().enumerate().filter(|(_, v)| **v > 0.0) {
            self.weighted.clear();
            let pairs = chunk.f(3).iter().zip(chunk.x(p + slot));
            self.weighted.extend(pairs.map(|(f, u)| variance * f * u * u));
            for (j, sum) in self.third.iter_mut().enumerate() {
                *sum += dot(&self.weighted, chunk.x(j));
            }
        }
    }
}

/// Entries of the lower triangle of a p x p matrix.
pub fn triangle(p: usize) -> usize {
    p * (p + 1) / 2
}
