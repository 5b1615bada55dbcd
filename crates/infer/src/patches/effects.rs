//! The move of the effects, given β and σ: one after the other, soft patches in lanes.
//!
//! s' ~ N(μ, 1/h), from two Newton steps from s = 0 on the patch's polynomial and the effects' law: a function of what is held
//! fixed. Once in a while s' is a walk from s. A soft patch is weighed by its polynomial and by rows that object; outside its
//! ball, for s or s', by a scan. Hard ones have a t in the place of the normal, and are always scanned.

use smidgen_prob::collapsed::draw::standard_normal;
use smidgen_value::math;

use super::chain::{Chain, Spot, Work, accepts};
use super::preparation::Preparation;

/// Patches that are moved together.
const LANES: usize = 64;
/// The length of a walk's step, in standard deviations.
const STEP: f64 = 1.2;
/// How much a curvature may differ from that at 0 in a Newton step.
const ALIKE: f64 = 3.0;
/// A curvature below this share of the reference's is not believed.
const FLAT: f64 = 0.1;
/// Of the t for hard patches: its freedom, and how much wider it is.
const FREEDOM: usize = 8;
const WIDER: f64 = 1.05;

type Lanes = [f64; LANES];

impl Chain {
    pub(super) fn move_effects(&mut self, work: &mut Work<'_>, is_walk: bool) {
        let prepared = work.prepared;
        self.collapse(prepared);
        let mut means = std::mem::take(&mut self.powers);
        self.means(prepared, &mut means);
        let precision = math::exp(-2.0 * self.log_scale);
        for first in (0..prepared.soft).step_by(LANES) {
            let count = LANES.min(prepared.soft - first);
            let law = Law { precision, means: &means[first..first + count] };
            self.move_soft(work, first, law, is_walk);
        }
        for place in prepared.soft..prepared.groups.len() {
            let law = Law { precision, means: &means[place..=place] };
            self.move_hard(work, place, law, is_walk);
        }
        self.powers = means;
    }

    fn move_soft(&mut self, work: &mut Work<'_>, first: usize, law: Law<'_>, is_walk: bool) {
        let prepared = work.prepared;
        let n = law.means.len();
        let (mut to, mut log_first, mut objections) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let from = &self.s[first..first + n];
        let proposal = self.proposals(prepared, first, law);
        if is_walk {
            for ((to, from), bend) in to.iter_mut().zip(from).zip(&proposal.start) {
                *to = from + STEP * standard_normal(work.rng) / bend.sqrt();
            }
        } else {
            let laws = proposal.mode.iter().zip(&proposal.bend);
            for (to, (mode, bend)) in to[..n].iter_mut().zip(laws) {
                *to = mode + standard_normal(work.rng) / bend.sqrt();
            }
            for i in 0..n {
                let [from, to] = [from[i], to[i]].map(|s| square(s - proposal.mode[i]));
                log_first[i] = 0.5 * proposal.bend[i] * (to - from);
            }
        }
        let (mut before, mut after) = ([0.0; LANES], [0.0; LANES]);
        self.collapsed.derivative(0, first..first + n, from, &mut before[..n]);
        self.collapsed.derivative(0, first..first + n, &to[..n], &mut after[..n]);
        for i in 0..n {
            let gaps = [from[i], to[i]].map(|s| square(s - law.means[i]));
            log_first[i] -= 0.5 * law.precision * (gaps[1] - gaps[0]);
            objections[i] = prepared.bounds.of_effect(first + i, [from[i], to[i]], self.rho);
        }
        work.swept.effects_tried += n as u64;
        for i in 0..n {
            let place = first + i;
            let s = [self.s[place], to[i]];
            let spots = s.map(|s| Spot { s, d: &self.d });
            let reads = &mut self.readings;
            let accepted = if s.iter().all(|s| prepared.bounds.holds(place, *s, self.rho)) {
                accepts(log_first[i] + after[i] - before[i], work.rng)
                    && !reads.object(work, place, spots, objections[i])
            } else {
                work.swept.scanned += 2 * prepared.rows[place].count as u64;
                let [at, to] = spots.map(|spot| reads.scan(work.model, prepared, place, spot));
                accepts(log_first[i] + to - at, work.rng)
            };
            if accepted {
                self.s[place] = to[i];
                work.swept.effects_accepted += 1;
            }
        }
    }

    /// Two Newton steps for every lane.
    fn proposals(&self, prepared: &Preparation, first: usize, law: Law<'_>) -> Proposals {
        let n = law.means.len();
        let places = first..first + n;
        let mut found = Proposals { mode: [0.0; LANES], bend: [0.0; LANES], start: [0.0; LANES] };
        let (slopes, bends) =
            (self.collapsed.a(1, places.clone()), self.collapsed.a(2, places.clone()));
        let precisions = &prepared.precisions[places.clone()];
        for i in 0..n {
            let bend = law.precision - bends[i];
            let bend = if bend > FLAT * precisions[i] { bend } else { precisions[i] };
            found.start[i] = bend;
            found.bend[i] = bend;
            found.mode[i] = (slopes[i] + law.means[i] * law.precision) / bend;
        }
        let (mut slope, mut bend) = ([0.0; LANES], [0.0; LANES]);
        for _ in 0..2 {
            self.collapsed.derivative(1, places.clone(), &found.mode[..n], &mut slope[..n]);
            self.collapsed.derivative(2, places.clone(), &found.mode[..n], &mut bend[..n]);
            for i in 0..n {
                let bend = law.precision - bend[i];
                let slope = slope[i] - (found.mode[i] - law.means[i]) * law.precision;
                if bend > found.start[i] / ALIKE && bend < found.start[i] * ALIKE {
                    found.bend[i] = bend;
                    found.mode[i] += slope / bend;
                }
            }
        }
        found
    }

    fn move_hard(&mut self, work: &mut Work<'_>, place: usize, law: Law<'_>, is_walk: bool) {
        let prepared = work.prepared;
        let start = self.proposals(prepared, place, law);
        let (sd, s) = (1.0 / start.start[0].sqrt(), self.s[place]);
        // The quadratic at 0: a polynomial of higher order is no guide where rows are few.
        let slope = self.collapsed.a(1, place..place + 1)[0];
        let mode = (slope + law.means[0] * law.precision) / start.start[0];
        let (to, log_q_ratio) = match is_walk {
            true => (s + STEP * sd * standard_normal(work.rng), 0.0),
            false => {
                let chi: f64 = (0..FREEDOM).map(|_| square(standard_normal(work.rng))).sum();
                let scale = WIDER * sd;
                let freedom = FREEDOM as f64;
                let to = mode + scale * standard_normal(work.rng) * math::sqrt(freedom / chi);
                let log_t = |s: f64| {
                    -0.5 * (freedom + 1.0) * math::ln_1p(square((s - mode) / scale) / freedom)
                };
                (to, log_t(s) - log_t(to))
            }
        };
        let spot = Spot { s: to, d: &self.d };
        let log_weight = self.readings.scan(work.model, prepared, place, spot);
        work.swept.scanned += prepared.rows[place].count as u64;
        work.swept.effects_tried += 1;
        let known = &mut self.log_weights[place - prepared.soft];
        let gaps = [s, to].map(|s| square(s - law.means[0]));
        let log_law = -0.5 * law.precision * (gaps[1] - gaps[0]);
        if accepts(log_weight - *known + log_law + log_q_ratio, work.rng) {
            *known = log_weight;
            self.s[place] = to;
            work.swept.effects_accepted += 1;
        }
    }
}

/// The law of s: its precision, and means by lane.
#[derive(Clone, Copy)]
struct Law<'a> {
    precision: f64,
    means: &'a [f64],
}

/// Mode and curvature by lane, and the curvature at 0.
struct Proposals {
    mode: Lanes,
    bend: Lanes,
    start: Lanes,
}

fn square(x: f64) -> f64 {
    x * x
}
