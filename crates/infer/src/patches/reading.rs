//! Rows by chunks.

use smidgen_prob::linalg::dot;

use super::{PARTS, Predicted, Predictors, Rows};

/// Rows that are read at a time.
pub const CHUNK: usize = 64;

/// Where the rows of a patch are read: β and the effects that they read.
pub type At<'a> = [&'a [f64]; 2];

/// Room for a chunk of rows.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// x_i by coordinate, u_i by effect, z_i by coordinate if rows are wide, and o_i.
    x: Vec<f64>,
    eta: Vec<f64>,
    zeta: Vec<f64>,
    /// Derivatives by order.
    f: Vec<f64>,
}

/// A chunk of rows that has been read: for each, x_i and f_i, f_i', ...
pub struct Chunk<'a> {
    pub rows: Rows,
    x: &'a [f64],
    /// Where z_i begins, if rows are wide.
    of_zeta: Option<usize>,
    /// η and ζ
    pub at: Predictors<'a>,
    f: &'a [f64],
    orders: usize,
}

impl Chunk<'_> {
    /// Coordinate k of every x_i; after these, of every u_i.
    pub fn x(&self, k: usize) -> &[f64] {
        &self.x[k * self.rows.count..(k + 1) * self.rows.count]
    }

    /// f_i^(k)
    pub fn f(&self, k: usize) -> &[f64] {
        self.part(0, k)
    }

    /// ∂^(k+j) f_i/∂η^k ∂ζ^j, for wide rows.
    pub fn part(&self, j: usize, k: usize) -> &[f64] {
        let first = (j * self.orders + k) * self.rows.count;
        &self.f[first..first + self.rows.count]
    }

    /// Coordinate k of every z_i; None unless rows are wide.
    pub fn z(&self, k: usize) -> Option<&[f64]> {
        self.of_zeta.map(|first| self.x(first + k))
    }
}

/// Σ a b c
fn dot3(a: &[f64], b: &[f64], c: &[f64]) -> f64 {
    a.iter().zip(b).zip(c).map(|((a, b), c)| a * b * c).sum()
}

impl Reader {
    /// Reads x_i, η_i and ζ_i of few rows. Where z_i begins, if they are wide.
    fn read_linear(&mut self, model: &mut dyn Predicted, rows: Rows, at: At) -> Option<usize> {
        let n = rows.count;
        let of_eta = at[0].len() + at[1].len();
        let of_zeta = if model.is_wide() { at[0].len() } else { 0 };
        self.x.resize((of_eta + of_zeta + 1) * n, 0.0);
        model.coefficients(rows, &mut self.x);
        self.eta.clear();
        self.eta.extend_from_slice(&self.x[(of_eta + of_zeta) * n..]);
        let mut columns = self.x.chunks_exact(n);
        let add = |sums: &mut [f64], x: &[f64], weight: &f64| {
            sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += x * weight);
        };
        for (weight, x) in at.into_iter().flatten().zip(&mut columns) {
            add(&mut self.eta, x, weight);
        }
        self.zeta.clear();
        if of_zeta == 0 {
            return None;
        }
        self.zeta.resize(n, 0.0);
        for (weight, z) in at[0].iter().zip(columns) {
            add(&mut self.zeta, z, weight);
        }
        Some(of_eta)
    }

    /// The log weight of rows of one patch.
    pub fn log_weight(&mut self, model: &mut dyn Predicted, rows: Rows, at: At) -> f64 {
        let mut total = 0.0;
        for skip in (0..rows.count).step_by(CHUNK) {
            let part = rows.part(skip, CHUNK);
            self.read_linear(model, part, at);
            total += model.log_weight(part, [&self.eta, &self.zeta]);
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
            let of_zeta = self.read_linear(model, part, at);
            let (orders, parts) = (order + 1, if of_zeta.is_some() { PARTS } else { 1 });
            self.f.resize(parts * orders * part.count, 0.0);
            let at: Predictors<'_> = [&self.eta, &self.zeta];
            model.derivatives(part, at, &mut self.f);
            show(model, Chunk { rows: part, x: &self.x, of_zeta, at, f: &self.f, orders });
        }
    }

    /// Shows rows with their x_i, z_i, and u_i of some effects, alone.
    pub fn coefficients(
        &mut self,
        model: &mut dyn Predicted,
        rows: Rows,
        effects: usize,
        mut show: impl FnMut(Chunk),
    ) {
        for skip in (0..rows.count).step_by(CHUNK) {
            let part = rows.part(skip, CHUNK);
            let of_eta = model.shared() + effects;
            let of_zeta = model.is_wide().then_some(of_eta);
            let columns = of_eta + of_zeta.map_or(0, |_| model.shared());
            self.x.resize((columns + 1) * part.count, 0.0);
            model.coefficients(part, &mut self.x);
            show(Chunk { rows: part, x: &self.x, of_zeta, at: [&[], &[]], f: &[], orders: 0 });
        }
    }
}

/// Sums over rows of a patch at a point: what Newton steps are made of. With y_i = (x_i, u_i), and for wide rows the same with ∂f/∂ζ and
/// z_i added:
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
            let u = chunk.x(p + slot);
            let weigh = |weighted: &mut Vec<f64>, f: &[f64]| {
                weighted.clear();
                weighted.extend(f.iter().zip(u).map(|(f, u)| variance * f * u * u));
            };
            weigh(&mut self.weighted, chunk.f(3));
            for (j, sum) in self.third.iter_mut().enumerate() {
                *sum += dot(&self.weighted, chunk.x(j));
            }
            if chunk.z(0).is_some() {
                weigh(&mut self.weighted, chunk.part(1, 2));
                for (j, sum) in self.third[..p].iter_mut().enumerate() {
                    *sum += chunk.z(j).map_or(0.0, |z| dot(&self.weighted, z));
                }
            }
        }
        self.add_wide(chunk, p);
    }

    /// What z_i adds.
    fn add_wide(&mut self, chunk: &Chunk, p: usize) {
        let z = |j: usize| if j < p { chunk.z(j) } else { None };
        let mut cell = 0;
        for j in 0..self.first.len() {
            if let Some(z) = z(j) {
                self.first[j] += dot(chunk.part(1, 0), z);
            }
            for l in 0..=j {
                let [zj, zl] = [z(j), z(l)];
                let crossed =
                    |x: &[f64], z: Option<&[f64]>| z.map_or(0.0, |z| dot3(chunk.part(1, 1), x, z));
                self.second[cell] += crossed(chunk.x(j), zl) + crossed(chunk.x(l), zj);
                if let (Some(zj), Some(zl)) = (zj, zl) {
                    self.second[cell] += dot3(chunk.part(2, 0), zj, zl);
                }
                cell += 1;
            }
        }
    }
}

/// Entries of the lower triangle of a p x p matrix.
pub fn triangle(p: usize) -> usize {
    p * (p + 1) / 2
}
