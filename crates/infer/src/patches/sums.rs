//! Anisotropic sums of every patch, order by order.
//!
//! F_k = Σ f^(k), X_k = Σ f^(k) x̃, XX_k = Σ f^(k) x̃ x̃ᵀ for k ≤ m. With d = β − β*,
//! P(s, d) = Σ_k a_k s^k/k!, a_k = F_k + X_{k+1}·d + ½ dᵀ XX_{k+2} d: *collapsed*, for all s at one d. Or, for all d at one s,
//! a quadratic with gradient Σ_k X_{k+1} s^k/k! and Hessian Σ_k XX_{k+2} s^k/k!.
//! A sum of one kind stands beside its like of all patches, so both are loops over patches.

use smidgen_prob::linalg;

use super::reading::triangle;

/// The largest m.
pub const MOST_SUMS: usize = 6;

/// 1/k
pub const INVERSE: [f64; MOST_SUMS + 2] =
    [f64::INFINITY, 1.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0, 1.0 / 5.0, 1.0 / 6.0, 1.0 / 7.0];

#[derive(Clone, Debug)]
pub struct Sums {
    /// m
    pub order: usize,
    shared: usize,
    patches: usize,
    f: Vec<f64>,
    x: Vec<f64>,
    xx: Vec<f64>,
}

/// d·gradient + ½ dᵀ H d: H by its lower triangle.
#[derive(Clone, Debug, Default)]
pub struct Quadratic {
    pub gradient: Vec<f64>,
    pub lower: Vec<f64>,
}

impl Quadratic {
    pub fn new(p: usize) -> Quadratic {
        Quadratic { gradient: vec![0.0; p], lower: vec![0.0; triangle(p)] }
    }

    pub fn clear(&mut self) {
        self.gradient.fill(0.0);
        self.lower.fill(0.0);
    }

    pub fn at(&self, d: &[f64]) -> f64 {
        let (mut total, mut cell) = (0.0, 0);
        for (j, x) in d.iter().enumerate() {
            let mut bend = 0.0;
            for y in &d[..j] {
                bend += self.lower[cell] * y;
                cell += 1;
            }
            total += x * (self.gradient[j] + bend + 0.5 * self.lower[cell] * x);
            cell += 1;
        }
        total
    }

    pub fn add(&mut self, other: &Quadratic) {
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(sum, x)| *sum += x);
        self.lower.iter_mut().zip(&other.lower).for_each(|(sum, x)| *sum += x);
    }
}

impl Sums {
    pub fn new(order: usize, shared: usize, patches: usize) -> Sums {
        let room = |kinds: usize| vec![0.0; kinds * patches];
        Sums {
            order,
            shared,
            patches,
            f: room(order + 1),
            x: room(order * shared),
            xx: room((order - 1) * triangle(shared)),
        }
    }

    /// F_k of all patches; k ≤ m.
    pub fn f(&self, k: usize) -> &[f64] {
        &self.f[k * self.patches..(k + 1) * self.patches]
    }

    /// X_k by coordinate; 1 ≤ k ≤ m.
    pub fn x(&self, k: usize, j: usize) -> &[f64] {
        let kind = (k - 1) * self.shared + j;
        &self.x[kind * self.patches..(kind + 1) * self.patches]
    }

    /// XX_k by cell of the lower triangle; 2 ≤ k ≤ m.
    pub fn xx(&self, k: usize, cell: usize) -> &[f64] {
        let kind = (k - 2) * triangle(self.shared) + cell;
        &self.xx[kind * self.patches..(kind + 1) * self.patches]
    }

    /// Adds to the sums of a patch: `sum(k)` of f^(k), `by(k, j)` of f^(k) x̃_j, `cell(k, c)` of the products.
    pub fn add(&mut self, patch: usize, kind: Kind, value: f64) {
        let (of, place) = match kind {
            Kind::F(k) => (&mut self.f, k),
            Kind::X(k, j) => (&mut self.x, (k - 1) * self.shared + j),
            Kind::Xx(k, cell) => (&mut self.xx, (k - 2) * triangle(self.shared) + cell),
        };
        of[place * self.patches + patch] += value;
    }

    pub fn is_finite(&self) -> bool {
        self.f.iter().chain(&self.x).chain(&self.xx).all(|sum| sum.is_finite())
    }

    /// a_1, ..., a_m of all patches at a step d.
    pub fn collapse(&self, d: &[f64], out: &mut Collapsed) {
        let (m, n) = (self.order, self.patches);
        out.order = m;
        out.patches = n;
        out.a.clear();
        out.a.extend_from_slice(&self.f[n..]);
        for k in 1..=m {
            let a = &mut out.a[(k - 1) * n..k * n];
            let mut add = |weight: f64, sums: &[f64]| {
                a.iter_mut().zip(sums).for_each(|(a, sum)| *a += weight * sum);
            };
            if k < m {
                (0..self.shared).for_each(|j| add(d[j], self.x(k + 1, j)));
            }
            if k + 1 < m {
                let mut cell = 0;
                for j in 0..self.shared {
                    for l in 0..=j {
                        let weight = d[j] * d[l] * if l == j { 0.5 } else { 1.0 };
                        add(weight, self.xx(k + 2, cell));
                        cell += 1;
                    }
                }
            }
        }
    }

    /// Adds the quadratics in d of the first `patches` patches, given all s.
    pub fn quadratic(&self, s: &[f64], powers: &mut Vec<f64>, out: &mut Quadratic) {
        let n = s.len();
        powers.clear();
        powers.resize(n, 1.0);
        for (k, inverse) in INVERSE[..self.order].iter().enumerate() {
            if k > 0 {
                // s^k/k!
                powers.iter_mut().zip(s).for_each(|(power, s)| *power *= s * inverse);
            }
            for (j, g) in out.gradient.iter_mut().enumerate() {
                *g += linalg::dot(powers, &self.x(k + 1, j)[..n]);
            }
            if k + 2 <= self.order {
                for (cell, h) in out.lower.iter_mut().enumerate() {
                    *h += linalg::dot(powers, &self.xx(k + 2, cell)[..n]);
                }
            }
        }
    }

    /// The same of one patch.
    pub fn quadratic_of(&self, patch: usize, s: f64, out: &mut Quadratic) {
        let mut power = 1.0;
        for (k, inverse) in INVERSE[..self.order].iter().enumerate() {
            if k > 0 {
                power *= s * inverse;
            }
            for (j, g) in out.gradient.iter_mut().enumerate() {
                *g += power * self.x(k + 1, j)[patch];
            }
            if k + 2 <= self.order {
                for (cell, h) in out.lower.iter_mut().enumerate() {
                    *h += power * self.xx(k + 2, cell)[patch];
                }
            }
        }
    }
}

/// Which sum.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    F(usize),
    X(usize, usize),
    Xx(usize, usize),
}

/// The polynomials in s of all patches at one d, without their values at 0.
#[derive(Clone, Debug, Default)]
pub struct Collapsed {
    order: usize,
    patches: usize,
    a: Vec<f64>,
}

impl Collapsed {
    /// a_k of some patches; 1 ≤ k ≤ m.
    pub fn a(&self, k: usize, patches: std::ops::Range<usize>) -> &[f64] {
        let first = (k - 1) * self.patches;
        &self.a[first + patches.start..first + patches.end]
    }

    /// The derivative of an order at s, patch by patch: Σ_k a_{k+order} s^k/k!.
    pub fn derivative(
        &self,
        order: usize,
        patches: std::ops::Range<usize>,
        s: &[f64],
        out: &mut [f64],
    ) {
        out.copy_from_slice(self.a(self.order, patches.clone()));
        for k in (order..self.order).rev() {
            let inverse = INVERSE[k - order + 1];
            if k == 0 {
                out.iter_mut().zip(s).for_each(|(out, s)| *out *= s);
                continue;
            }
            let a = self.a(k, patches.clone());
            for ((out, s), a) in out.iter_mut().zip(s).zip(a) {
                *out = a + *out * s * inverse;
            }
        }
    }

    /// The value at s of one patch.
    pub fn value(&self, patch: usize, s: f64) -> f64 {
        let mut out = [0.0];
        self.derivative(0, patch..patch + 1, &[s], &mut out);
        out[0]
    }
}
