//! The move of β at fixed s: it takes the effects along, b_e = b*_e + s_e + K_e·(β − β*).
//!
//! Given all s, the sums of soft patches, the effects' law and the prior's polynomial are one quadratic in β; hard patches add
//! theirs, from their derivatives at (s, β*). β' is drawn from the normal law of it. The first factor has what the quadratic
//! misses: the prior, and patches that are scanned, less their polynomials.
//! The moves of the scales, given the effects, read no row.

use smidgen_prob::collapsed::draw::log_gamma_variate;
use smidgen_value::math;

use super::chain::{Chain, End, Weighed, Work, slots};
use crate::patches::reading::Bend;
use crate::patches::shared::propose;
use crate::patches::sums::Quadratic;

impl Chain {
    pub(super) fn move_shared(&mut self, work: &mut Work<'_>, is_walk: bool) {
        let prepared = work.prepared;
        let p = self.d.len();
        if p == 0 {
            return;
        }
        let mut quadratic = Quadratic::new(p);
        let mut hard = Quadratic::new(p);
        for (number, patch) in prepared.patches.iter().enumerate() {
            let s = slots(&patch.members, &self.s);
            match patch.ball {
                Some(_) => prepared.sums.quadratic(number, s, &mut self.powers, &mut quadratic),
                None => self.add_hard(work, number, &mut hard),
            }
        }
        quadratic.add(&hard);
        self.add_law(work, &mut quadratic);
        let reference = &prepared.reference;
        let proposal = propose(&reference.factor, &quadratic, &self.d, is_walk, work.rng);
        let (d, mut log_first) = (proposal.d, proposal.log_first);
        let shared = [&self.d, &d].map(|d| {
            d.iter().zip(&reference.centre.shared).map(|(d, c)| d + c).collect::<Vec<f64>>()
        });
        let [here, there] = shared.map(|shared| work.model.log_prior(&shared, &self.log_scales));
        let beyond = |d: &[f64]| reference.prior.polynomial(d) + hard.at(d);
        log_first += there - here - beyond(&d) + beyond(&self.d);

        let rho = prepared.length(&d);
        let by: Vec<f64> = d.iter().zip(&self.d).map(|(to, from)| to - from).collect();
        let length = prepared.length(&by);
        let (s, from, from_rho) =
            (std::mem::take(&mut self.s), std::mem::take(&mut self.d), self.rho);
        let ends = |number: usize| {
            let s = slots(&prepared.patches[number].members, &s);
            [End { s, d: &from, rho: from_rho }, End { s, d: &d, rho }]
        };
        let mut weighed = Weighed::default();
        for (number, patch) in prepared.patches.iter().enumerate() {
            let softs = weighed.soft.len();
            self.weigh(work, number, ends(number), length, &mut weighed);
            // The quadratic has the polynomial of a patch that has been scanned.
            if patch.ball.is_some() && weighed.soft.len() == softs {
                let mut own = Quadratic::new(p);
                prepared.sums.quadratic(number, ends(number)[0].s, &mut self.powers, &mut own);
                log_first -= own.at(&d) - own.at(&from);
            }
        }
        let accepted = self.decide(work, log_first, &weighed, ends);
        (self.s, self.d) = (s, from);
        if accepted {
            work.swept.shared_accepted += 1;
            self.has_gone(d, rho);
        }
    }

    /// −½ Σ (gap + s + lean·d)²/σ², and the prior's polynomial.
    fn add_law(&self, work: &Work<'_>, out: &mut Quadratic) {
        let prepared = work.prepared;
        let p = self.d.len();
        for (e, s) in self.s.iter().enumerate() {
            let precision = self.precision(prepared, e);
            let lean = &prepared.lean[e * p..(e + 1) * p];
            let mut cell = 0;
            for j in 0..p {
                out.gradient[j] -= precision * (prepared.gap[e] + s) * lean[j];
                for l in 0..=j {
                    out.lower[cell] -= precision * lean[j] * lean[l];
                    cell += 1;
                }
            }
        }
        let prior = &prepared.reference.prior;
        let mut cell = 0;
        for j in 0..p {
            out.gradient[j] += prior.gradient[j];
            for l in 0..=j {
                out.lower[cell] += prior.hessian[j * p + l];
                cell += 1;
            }
        }
    }

    /// Adds the quadratic of a hard patch at (s, β*).
    fn add_hard(&mut self, work: &mut Work<'_>, number: usize, out: &mut Quadratic) {
        let prepared = work.prepared;
        let (p, centre) = (self.d.len(), &prepared.reference.centre);
        let patch = &prepared.patches[number];
        let effects =
            patch.members.iter().map(|e| centre.effects[*e as usize] + self.s[*e as usize]);
        let effects: Vec<f64> = effects.collect();
        let mut bend = Bend::default();
        let at = [&centre.shared[..], &effects[..]];
        work.swept.scanned +=
            bend.read(work.model, &mut self.reader, patch.rows, at, &[], 1) as u64;
        // y = (x, u), x̃ = x + Σ_a K_a u_a
        let k = |j: usize, y: usize| match y.checked_sub(p) {
            None => f64::from(u8::from(j == y)),
            Some(slot) => prepared.reference.shear[patch.members[slot] as usize * p + j],
        };
        let all = p + effects.len();
        let mut cell = 0;
        for j in 0..p {
            out.gradient[j] += (0..all).map(|y| k(j, y) * bend.first[y]).sum::<f64>();
            for l in 0..=j {
                let row = |y: usize| (0..all).map(|z| k(l, z) * bend.second(y, z)).sum::<f64>();
                out.lower[cell] += (0..all).map(|y| k(j, y) * row(y)).sum::<f64>();
                cell += 1;
            }
        }
    }

    /// Each scale from its conjugate law, tilted as the prior is at the reference; what that misses of the prior is in the acceptance.
    pub(super) fn move_scales(&mut self, work: &mut Work<'_>) {
        let prepared = work.prepared;
        let shared = self.shared_now(prepared);
        for scale in 0..self.log_scales.len() {
            if !work.model.is_scale_free(scale) {
                continue;
            }
            let (mut squares, mut effects) = (0.0, 0);
            for e in (0..self.s.len()).filter(|e| prepared.scale_of[*e] as usize == scale) {
                let gap = self.s[e] - self.mean(prepared, e);
                squares += gap * gap;
                effects += 1;
            }
            let freedom = prepared.reference.prior.freedom(scale, effects);
            let to = 0.5 * (math::ln(0.5 * squares) - log_gamma_variate(0.5 * freedom, work.rng));
            let mut there = self.log_scales.clone();
            there[scale] = to;
            let log_ratio = work.model.log_prior(&shared, &there)
                - work.model.log_prior(&shared, &self.log_scales)
                + (freedom - effects as f64) * (to - self.log_scales[scale]);
            if to.is_finite() && crate::patches::chain::accepts(log_ratio, work.rng) {
                self.log_scales = there;
                work.swept.scale_accepted += 1;
            }
        }
    }
}
