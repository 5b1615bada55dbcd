//! Sums of every patch by multi-index, and polynomials of them.
//!
//! Multi-indices are in the order of their degree, so those of a lower degree come first.

use smidgen_prob::linalg;

use super::{MOST_MEMBERS, Slots};
use crate::patches::reading::triangle;
use crate::patches::sums::{INVERSE, MOST_SUMS, Quadratic};

/// Multi-indices of so many effects up to an order.
#[derive(Clone, Debug)]
pub struct Indices {
    pub order: usize,
    pub list: Vec<[u8; MOST_MEMBERS]>,
    /// How many have a degree of at most k.
    ends: Vec<usize>,
}

/// a_k of a polynomial Σ_k a_k s^k/k!.
pub type Line = [f64; MOST_SUMS + 1];

impl Indices {
    pub fn new(members: usize, order: usize) -> Indices {
        let most = |slot: usize| if slot < members { order as u8 } else { 0 };
        let mut list = Vec::new();
        for a in 0..=most(0) {
            for b in 0..=most(1) {
                list.extend((0..=most(2)).map(|c| [a, b, c]));
            }
        }
        list.retain(|index| degree(index) <= order);
        list.sort_by_key(degree);
        let end = |k: usize| list.iter().filter(|index| degree(index) <= k).count();
        let ends = (0..=order).map(end).collect();
        Indices { order, list, ends }
    }

    /// How many have a degree of at most the order less `by`.
    pub fn up_to(&self, by: usize) -> usize {
        self.order.checked_sub(by).map_or(0, |k| self.ends[k])
    }

    /// s^κ/κ! for each.
    pub fn powers(&self, s: Slots, out: &mut Vec<f64>) {
        let table = s.map(powers);
        out.clear();
        out.extend(
            self.list.iter().map(|index| {
                (0..MOST_MEMBERS).map(|a| table[a][index[a] as usize]).product::<f64>()
            }),
        );
    }

    /// The value at s of Σ_κ a_κ s^κ/κ!.
    pub fn value(&self, a: &[f64], s: Slots) -> f64 {
        let table = s.map(powers);
        let term = |(index, a): (&[u8; MOST_MEMBERS], &f64)| {
            a * table[0][index[0] as usize]
                * table[1][index[1] as usize]
                * table[2][index[2] as usize]
        };
        self.list.iter().zip(a).map(term).sum()
    }

    /// The same as a polynomial in one of them, added to `out`.
    pub fn along(&self, a: &[f64], s: Slots, slot: usize, out: &mut Line) {
        let mut table = s.map(powers);
        table[slot] = [1.0; MOST_SUMS + 1];
        for (index, a) in self.list.iter().zip(a) {
            out[index[slot] as usize] += a
                * table[0][index[0] as usize]
                * table[1][index[1] as usize]
                * table[2][index[2] as usize];
        }
    }
}

fn degree(index: &[u8; MOST_MEMBERS]) -> usize {
    index.iter().map(|k| *k as usize).sum()
}

/// s^k/k!
fn powers(s: f64) -> [f64; MOST_SUMS + 1] {
    let mut out = [1.0; MOST_SUMS + 1];
    for k in 1..=MOST_SUMS {
        out[k] = out[k - 1] * s * INVERSE[k];
    }
    out
}

#[derive(Clone, Debug)]
pub struct Sums {
    shared: usize,
    /// By the number of effects.
    pub indices: Vec<Indices>,
    /// The number of effects of each patch, and where its sums begin, and the polynomials at one d.
    members: Vec<u8>,
    first: Vec<usize>,
    sums: Vec<f64>,
    pub collapsed_first: Vec<usize>,
}

impl Sums {
    /// Room for patches that read so many effects each.
    pub fn new(order: usize, shared: usize, members: Vec<u8>) -> Sums {
        let indices: Vec<Indices> =
            (0..=MOST_MEMBERS).map(|members| Indices::new(members, order)).collect();
        let (mut first, mut collapsed_first) = (vec![0], vec![0]);
        for q in &members {
            let own = &indices[*q as usize];
            let room = own.up_to(0) + shared * own.up_to(1) + triangle(shared) * own.up_to(2);
            first.push(first[first.len() - 1] + room);
            collapsed_first.push(collapsed_first[collapsed_first.len() - 1] + own.up_to(0));
        }
        let sums = vec![0.0; first[members.len()]];
        Sums { shared, indices, members, first, sums, collapsed_first }
    }

    pub fn indices(&self, patch: usize) -> &Indices {
        &self.indices[self.members[patch] as usize]
    }

    /// F, X and XX of a patch: by multi-index, and within it by coordinate.
    fn of(&self, patch: usize) -> [&[f64]; 3] {
        let own = self.indices(patch);
        let all = &self.sums[self.first[patch]..self.first[patch + 1]];
        let (f, rest) = all.split_at(own.up_to(0));
        let (x, xx) = rest.split_at(self.shared * own.up_to(1));
        [f, x, xx]
    }

    /// Where a sum of f^(k) u^κ times something stands: the multi-index by number, and the order of the product of x̃ (0, 1
    /// or 2) with its place.
    pub fn at(&mut self, patch: usize, index: usize, order: usize, place: usize) -> &mut f64 {
        let own = &self.indices[self.members[patch] as usize];
        let p = self.shared;
        let inside = match order {
            0 => index,
            1 => own.up_to(0) + index * p + place,
            _ => own.up_to(0) + own.up_to(1) * p + index * triangle(p) + place,
        };
        &mut self.sums[self.first[patch] + inside]
    }

    pub fn is_finite(&self) -> bool {
        self.sums.iter().all(|sum| sum.is_finite())
    }

    /// a_κ = F_κ + X_κ·d + ½ dᵀ XX_κ d
    pub fn collapse(&self, patch: usize, d: &[f64], out: &mut [f64]) {
        let [f, x, xx] = self.of(patch);
        let p = self.shared;
        out.copy_from_slice(f);
        if p == 0 {
            return;
        }
        for (out, x) in out.iter_mut().zip(x.chunks_exact(p)) {
            *out += linalg::dot(x, d);
        }
        for (out, xx) in out.iter_mut().zip(xx.chunks_exact(triangle(p))) {
            let mut cell = 0;
            for (j, a) in d.iter().enumerate() {
                for b in &d[..j] {
                    *out += xx[cell] * a * b;
                    cell += 1;
                }
                *out += 0.5 * xx[cell] * a * a;
                cell += 1;
            }
        }
    }

    /// Adds the quadratic in d of a patch at s.
    pub fn quadratic(&self, patch: usize, s: Slots, powers: &mut Vec<f64>, out: &mut Quadratic) {
        let [_, x, xx] = self.of(patch);
        let p = self.shared;
        if p == 0 {
            return;
        }
        self.indices(patch).powers(s, powers);
        for (power, x) in powers.iter().zip(x.chunks_exact(p)) {
            out.gradient.iter_mut().zip(x).for_each(|(sum, x)| *sum += power * x);
        }
        for (power, xx) in powers.iter().zip(xx.chunks_exact(triangle(p))) {
            out.lower.iter_mut().zip(xx).for_each(|(sum, x)| *sum += power * x);
        }
    }
}
