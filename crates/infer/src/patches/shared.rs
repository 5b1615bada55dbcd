//! The move of β at fixed v: it takes the effects along, b_g = v_g + K_g·(β − β*).
//!
//! Given all s, the sums of soft patches, the effects' law and the prior's polynomial are one quadratic in β; hard patches add
//! theirs, from their derivatives at (s, β*). β' is drawn from the normal law of it, so that all this needs no
//! acceptance. One factor is for what else is known: the prior less its polynomial, patches that are scanned (hard ones, and
//! those that leave their balls in this pair of states) less theirs. The rows of the others may object.
//! If the quadratic has no normal law the reference's precision stands in, a fixed matrix, and the factor has the ratio.

use smidgen_prob::collapsed::draw::standard_normal;
use smidgen_prob::linalg;
use smidgen_value::{Matrix, Rng, math};

use super::chain::{Chain, Spot, Work, accepts};
use super::preparation::Preparation;
use super::reading::{At, Bend};
use super::sums::Quadratic;

/// The length of a walk's step in standard deviations, by √p.
const STEP: f64 = 1.2;

impl Chain {
    pub(super) fn move_shared(&mut self, work: &mut Work<'_>, is_walk: bool) {
        let prepared = work.prepared;
        let p = self.d.len();
        if p == 0 {
            return;
        }
        let mut quadratic = std::mem::take(&mut self.quadratic);
        self.make_quadratic(prepared, &mut quadratic);
        let mut hard = Quadratic::new(p);
        self.add_hard(work, &mut hard);
        quadratic.add(&hard);
        let proposal = propose(&prepared.reference.factor, &quadratic, &self.d, is_walk, work.rng);
        let d = proposal.d;
        let centre = &prepared.reference.centre;
        let theta =
            |d: &[f64]| d.iter().zip(&centre.shared).map(|(d, c)| d + c).collect::<Vec<_>>();
        let mut log_first = proposal.log_first;
        log_first += work.model.log_prior(&theta(&d), self.log_scale)
            - work.model.log_prior(&theta(&self.d), self.log_scale);
        log_first -=
            prepared.reference.prior.polynomial(&d) - prepared.reference.prior.polynomial(&self.d);
        log_first -= hard.at(&d) - hard.at(&self.d);
        self.quadratic = quadratic;

        let rho = prepared.length(&d);
        let (most, by) = (self.rho.max(rho), step(&d, &self.d));
        let length = prepared.length(&by);
        let mut log_weights = Vec::with_capacity(self.log_weights.len());
        for place in 0..prepared.groups.len() {
            let is_soft = place < prepared.soft;
            let s = self.s[place];
            if is_soft && prepared.bounds.holds(place, s, most) {
                continue;
            }
            let count = prepared.rows[place].count as u64;
            let reads = &mut self.readings;
            let there = reads.scan(work.model, prepared, place, Spot { s, d: &d });
            work.swept.scanned += count;
            let here = match is_soft {
                false => {
                    log_weights.push(there);
                    self.log_weights[place - prepared.soft]
                }
                true => {
                    work.swept.scanned += count;
                    let mut own = Quadratic::new(p);
                    prepared.sums.quadratic_of(place, s, &mut own);
                    log_first -= own.at(&d) - own.at(&self.d);
                    reads.scan(work.model, prepared, place, Spot { s, d: &self.d })
                }
            };
            log_first += there - here;
        }
        if !accepts(log_first, work.rng) {
            return;
        }
        for place in 0..prepared.soft {
            let s = self.s[place];
            if !prepared.bounds.holds(place, s, most) {
                continue;
            }
            let mean = prepared.bounds.of_shared(place, s, most, length);
            let spots = [&self.d, &d].map(|d| Spot { s, d });
            if self.readings.object(work, place, spots, mean) {
                return;
            }
        }
        work.swept.shared_accepted += 1;
        self.d = d;
        self.rho = rho;
        self.is_collapsed = false;
        self.log_weights = log_weights;
    }

    /// The quadratic of soft patches, of the effects' law and of the prior.
    fn make_quadratic(&mut self, prepared: &Preparation, out: &mut Quadratic) {
        let p = self.d.len();
        let n = prepared.groups.len();
        out.clear();
        prepared.sums.quadratic(&self.s[..prepared.soft], &mut self.powers, out);
        // −½ Σ (gap + s + lean·d)²/σ²
        let precision = math::exp(-2.0 * self.log_scale);
        let law = &prepared.law;
        for (j, g) in out.gradient.iter_mut().enumerate() {
            let along = linalg::dot(&self.s, &prepared.lean[j * n..(j + 1) * n]);
            *g += precision * (law.gradient[j] - along) + prepared.reference.prior.gradient[j];
        }
        let mut cell = 0;
        for j in 0..p {
            for l in 0..=j {
                let prior = prepared.reference.prior.hessian[j * p + l];
                out.lower[cell] += precision * law.lower[cell] + prior;
                cell += 1;
            }
        }
    }

    /// Adds the quadratics of hard patches at (s, β*).
    fn add_hard(&mut self, work: &mut Work<'_>, out: &mut Quadratic) {
        let prepared = work.prepared;
        let p = self.d.len();
        let n = prepared.groups.len();
        let mut bend = Bend::default();
        let mut k = vec![0.0; p];
        for place in prepared.soft..n {
            let effect = prepared.effects[place] + self.s[place];
            let at: At<'_> = [&prepared.reference.centre.shared, &[effect]];
            let (rows, reader) = (prepared.rows[place], &mut self.readings.reader);
            work.swept.scanned += bend.read(work.model, reader, rows, at, &[0.0], 1) as u64;
            k.iter_mut().enumerate().for_each(|(j, k)| *k = prepared.shear[j * n + place]);
            let (first, second) = (bend.first[p], bend.second(p, p));
            let mut cell = 0;
            for j in 0..p {
                out.gradient[j] += bend.first[j] + k[j] * first;
                for l in 0..=j {
                    let mixed = k[j] * bend.second(p, l) + k[l] * bend.second(p, j);
                    out.lower[cell] += bend.second[cell] + mixed + k[j] * k[l] * second;
                    cell += 1;
                }
            }
        }
    }
}

/// Where β may go.
pub struct Proposal {
    /// β' − β*
    pub d: Vec<f64>,
    /// The change of the quadratic and ln q(d | d')/q(d' | d), together.
    pub log_first: f64,
}

/// From the normal law of a quadratic, or if it has none, with the factor of a fixed precision.
pub fn propose(
    fixed: &Matrix,
    quadratic: &Quadratic,
    from: &[f64],
    is_walk: bool,
    rng: &mut Rng,
) -> Proposal {
    let p = from.len();
    let cell = |i: usize, j: usize| {
        let (row, column) = (i.max(j), i.min(j));
        row * (row + 1) / 2 + column
    };
    let own = linalg::cholesky(&Matrix::from_fn(p, p, |i, j| -quadratic.lower[cell(i, j)]));
    let is_own = own.is_some();
    let factor = own.as_ref().unwrap_or(fixed);
    let mut noise: Vec<f64> = (0..p).map(|_| standard_normal(rng)).collect();
    let change = |d: &[f64]| quadratic.at(d) - quadratic.at(from);
    if is_walk {
        linalg::solve_lower_transposed(factor, &mut noise);
        let scale = STEP / math::sqrt(p as f64);
        let d: Vec<f64> = from.iter().zip(&noise).map(|(x, z)| x + scale * z).collect();
        let log_first = change(&d);
        return Proposal { d, log_first };
    }
    let mut mean = quadratic.gradient.clone();
    linalg::solve_lower(factor, &mut mean);
    let mut d: Vec<f64> = mean.iter().zip(&noise).map(|(m, z)| m + z).collect();
    linalg::solve_lower_transposed(factor, &mut d);
    if is_own {
        return Proposal { d, log_first: 0.0 };
    }
    linalg::solve_lower_transposed(factor, &mut mean);
    let log_q = |d: &[f64]| {
        let by = step(d, &mean);
        let along = |i: usize| (i..p).map(|k| factor.get(k, i) * by[k]).sum::<f64>();
        -0.5 * (0..p).map(|i| along(i) * along(i)).sum::<f64>()
    };
    let log_first = change(&d) + log_q(from) - log_q(&d);
    Proposal { d, log_first }
}

fn step(to: &[f64], from: &[f64]) -> Vec<f64> {
    to.iter().zip(from).map(|(to, from)| to - from).collect()
}
