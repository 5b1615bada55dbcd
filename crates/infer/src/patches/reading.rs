//! Rows by chunks.

use smidgen_prob::linalg::dot;

use super::{Patched, Rows};

/// Rows that are read at a time.
pub const CHUNK: usize = 64;

/// Where the rows of a patch are read: β and b_g.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub shared: &'a [f64],
    pub effect: f64,
}

/// Room for a chunk of rows.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// x_i by coordinate, and o_i.
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
    /// Coordinate k of every x_i.
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
    fn read_linear(&mut self, model: &mut dyn Patched, rows: Rows, at: At) {
        let (p, n) = (model.shared(), rows.count);
        self.x.resize((p + 1) * n, 0.0);
        model.coefficients(rows, &mut self.x);
        self.eta.clear();
        self.eta.extend(self.x[p * n..].iter().map(|offset| offset + at.effect));
        for (x, weight) in self.x.chunks_exact(n).zip(at.shared) {
            self.eta.iter_mut().zip(x).for_each(|(eta, x)| *eta += x * weight);
        }
    }

    /// The log weight of rows of one patch.
    pub fn log_weight(&mut self, model: &mut dyn Patched, rows: Rows, at: At) -> f64 {
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
        model: &mut dyn Patched,
        rows: Rows,
        at: At,
        order: usize,
        mut show: impl FnMut(&mut dyn Patched, Chunk),
    ) {
        for skip in (0..rows.count).step_by(CHUNK) {
            let part = rows.part(skip, CHUNK);
            self.read_linear(model, part, at);
            self.f.resize((order + 1) * part.count, 0.0);
            model.derivatives(part, &self.eta, &mut self.f);
            show(model, Chunk { rows: part, x: &self.x, eta: &self.eta, f: &self.f });
        }
    }

    /// Shows rows with their x_i alone.
    pub fn coefficients(
        &mut self,
        model: &mut dyn Patched,
        rows: Rows,
        mut show: impl FnMut(Chunk),
    ) {
        for skip in (0..rows.count).step_by(CHUNK) {
            let part = rows.part(skip, CHUNK);
            self.x.resize((model.shared() + 1) * part.count, 0.0);
            model.coefficients(part, &mut self.x);
            show(Chunk { rows: part, x: &self.x, eta: &[], f: &[] });
        }
    }
}

/// Sums over rows of a patch at a point: what Newton steps are made of.
#[derive(Clone, Debug, Default)]
pub struct Bend {
    /// Σ f, Σ f', Σ f'', Σ f‴
    pub f: [f64; 4],
    /// Σ f' x, Σ f'' x, Σ f‴ x
    pub x: [Vec<f64>; 3],
    /// Σ f'' x xᵀ, lower triangle row by row.
    pub xx: Vec<f64>,
    weighted: Vec<f64>,
}

impl Bend {
    /// Of every `stride`-th row of a group, scaled up. Returns the number of rows read.
    pub fn read(
        &mut self,
        model: &mut dyn Patched,
        reader: &mut Reader,
        rows: Rows,
        at: At,
        stride: usize,
    ) -> usize {
        let p = model.shared();
        self.f = [0.0; 4];
        for x in &mut self.x {
            x.clear();
            x.resize(p, 0.0);
        }
        self.xx.clear();
        self.xx.resize(triangle(p), 0.0);
        let some = rows.thinned(stride);
        reader.derivatives(model, some, at, 3, |_, chunk| self.add(&chunk, p));
        if stride > 1 && some.count > 0 {
            let scale = rows.count as f64 / some.count as f64;
            let all = self.x.iter_mut().flatten().chain(&mut self.xx).chain(&mut self.f);
            all.for_each(|sum| *sum *= scale);
        }
        some.count
    }

    fn add(&mut self, chunk: &Chunk, p: usize) {
        for (k, sum) in self.f.iter_mut().enumerate() {
            *sum += chunk.f(k).iter().sum::<f64>();
        }
        for (k, sums) in self.x.iter_mut().enumerate() {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum += dot(chunk.f(k + 1), chunk.x(j));
            }
        }
        let mut cell = 0;
        for j in 0..p {
            self.weighted.clear();
            self.weighted.extend(chunk.f(2).iter().zip(chunk.x(j)).map(|(f, x)| f * x));
            for l in 0..=j {
                self.xx[cell] += dot(&self.weighted, chunk.x(l));
                cell += 1;
            }
        }
    }
}

/// Entries of the lower triangle of a p x p matrix.
pub fn triangle(p: usize) -> usize {
    p * (p + 1) / 2
}
