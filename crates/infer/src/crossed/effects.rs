//! The move of each effect, given all else.
//!
//! s' from a normal law, or from a t where patches are scanned, found by two Newton steps from s = 0 on the polynomials of the patches
//! that read it and its own law: a function of what is held fixed. Once in a while s' is a walk from s.

use smidgen_prob::collapsed::draw::standard_normal;
use smidgen_value::{Rng, math};

use super::chain::{Chain, End, Weighed, Work, slots};
use super::sums::Line;
use crate::patches::sums::{INVERSE, MOST_SUMS};

/// The length of a walk's step, in standard deviations.
const STEP: f64 = 1.2;
/// How much a curvature may differ from that at 0 in a Newton step, and how small it may be beside the reference's.
const ALIKE: f64 = 3.0;
const FLAT: f64 = 0.1;
/// Of the t: its freedom, and how much wider it is.
const FREEDOM: usize = 8;
const WIDER: f64 = 1.05;

/// The law of an effect, given all else but its rows.
#[derive(Clone, Copy)]
struct Law {
    mean: f64,
    precision: f64,
}

/// Mode and curvature of what is proposed from, and whether from a t.
#[derive(Clone, Copy)]
struct Proposal {
    mode: f64,
    bend: f64,
    is_t: bool,
}

impl Chain {
    pub(super) fn move_effects(&mut self, work: &mut Work<'_>, is_walk: bool) {
        self.collapse(work.prepared);
        for effect in 0..self.s.len() {
            self.move_effect(work, effect, is_walk);
        }
    }

    fn move_effect(&mut self, work: &mut Work<'_>, effect: usize, is_walk: bool) {
        let prepared = work.prepared;
        let readers = &prepared.readers[effect];
        let law =
            Law { mean: self.mean(prepared, effect), precision: self.precision(prepared, effect) };
        let mut all = [0.0; MOST_SUMS + 1];
        let mut is_hard = false;
        for (number, slot) in readers {
            let number = *number as usize;
            let s = slots(&prepared.patches[number].members, &self.s);
            let own = self.collapsed(prepared, number);
            prepared.sums.indices(number).along(own, s, *slot as usize, &mut all);
            is_hard |= prepared.patches[number].ball.is_none();
        }
        let proposal = proposal(&all, law, prepared.reference.coupling.diagonal[effect], is_hard);
        let from = self.s[effect];
        let (to, mut log_first) = match is_walk {
            true => (from + STEP * standard_normal(work.rng) / math::sqrt(proposal.bend), 0.0),
            false => proposal.draw(from, work.rng),
        };
        let gaps = [from, to].map(|s| (s - law.mean) * (s - law.mean));
        log_first -= 0.5 * law.precision * (gaps[1] - gaps[0]);
        let (s, d, rho) = (std::mem::take(&mut self.s), std::mem::take(&mut self.d), self.rho);
        let ends = |number: usize| {
            let members = &prepared.patches[number].members;
            let here = slots(members, &s);
            let mut there = here;
            let own = members.iter().position(|member| *member as usize == effect);
            own.into_iter().for_each(|slot| there[slot] = to);
            [here, there].map(|s| End { s, d: &d, rho })
        };
        let mut weighed = Weighed::default();
        for (number, _) in readers {
            let number = *number as usize;
            let softs = weighed.soft.len();
            self.weigh(work, number, ends(number), 0.0, &mut weighed);
            if weighed.soft.len() > softs {
                let own = self.collapsed(prepared, number);
                let [here, there] =
                    ends(number).map(|end| prepared.sums.indices(number).value(own, end.s));
                log_first += there - here;
            }
        }
        let accepted = self.decide(work, log_first, &weighed, ends);
        (self.s, self.d) = (s, d);
        work.swept.effects_tried += 1;
        if accepted {
            self.s[effect] = to;
            work.swept.effects_accepted += 1;
        }
    }
}

/// Two Newton steps from 0, or none where a patch is scanned: a polynomial of higher order is no guide where rows are few.
fn proposal(a: &Line, law: Law, precision: f64, is_hard: bool) -> Proposal {
    let bend = law.precision - a[2];
    let start = if bend > FLAT * precision { bend } else { precision };
    let mode = (a[1] + law.mean * law.precision) / start;
    let mut found = Proposal { mode, bend: start, is_t: is_hard };
    for _ in 0..if is_hard { 0 } else { 2 } {
        let bend = law.precision - derivative(a, 2, found.mode);
        let slope = derivative(a, 1, found.mode) - (found.mode - law.mean) * law.precision;
        if bend > start / ALIKE && bend < start * ALIKE {
            found.bend = bend;
            found.mode += slope / bend;
        }
    }
    found
}

/// The derivative of an order at s of Σ_k a_k s^k/k!.
fn derivative(a: &Line, order: usize, s: f64) -> f64 {
    let mut sum = a[MOST_SUMS];
    for k in (order..MOST_SUMS).rev() {
        sum = a[k] + sum * s * INVERSE[k - order + 1];
    }
    sum
}

impl Proposal {
    /// What is proposed, and ln q(from)/q(to).
    fn draw(self, from: f64, rng: &mut Rng) -> (f64, f64) {
        let Proposal { mode, bend, is_t } = self;
        let sd = 1.0 / math::sqrt(bend);
        let z = standard_normal(rng);
        if !is_t {
            let z_from = (from - mode) / sd;
            return (mode + sd * z, 0.5 * (z * z - z_from * z_from));
        }
        let chi: f64 = (0..FREEDOM).map(|_| standard_normal(rng)).map(|z| z * z).sum();
        let (scale, freedom) = (WIDER * sd, FREEDOM as f64);
        let to = mode + scale * z * math::sqrt(freedom / chi);
        let log_t = |s: f64| {
            let z = (s - mode) / scale;
            -0.5 * (freedom + 1.0) * math::ln_1p(z * z / freedom)
        };
        (to, log_t(from) - log_t(to))
    }
}
