//! Moves of many effects at once along a line, β fixed.
//!
//! *Shift*: all effects of one scale by the same, and the others by what makes up for it at the reference, so that the rows see little of
//! it. The place on the line is the mean s of the effects of that scale.
//! *Stretch*: with δ = ln σ/σ*, at fixed ξ_e = (s_e − its mean) e^{−κ_e δ}, κ_e the prior's share in the precision of e; the place is δ,
//! and the Jacobian e^{Σ κ_e δ}.
//!
//! What is proposed is normal, fitted to the log density at three fixed places of the line with polynomials for the patches: a function
//! of the line alone. Patches are straight along a shift; a stretch goes from one end to the other as well, for bounds are those
//! of the straight move between the two.

use smidgen_prob::collapsed::draw::standard_normal;
use smidgen_value::math;

use super::chain::{Chain, End, Weighed, Work, slots};
use super::preparation::{Line, Preparation};

/// A curvature below this share of the expected one is not believed; how much wider than fitted the proposal is; how far
/// apart the three places are.
const FLAT: f64 = 0.1;
const WIDER: f64 = 1.1;
const APART: f64 = 1.5;

/// A line through a state.
struct Through<'a> {
    line: &'a Line,
    prepared: &'a Preparation,
    /// s at the place 0, or for a stretch, ξ.
    plain: Vec<f64>,
    means: Vec<f64>,
    /// Where the state is.
    from: f64,
    log_scales: Vec<f64>,
}

impl Through<'_> {
    fn scale(&self) -> usize {
        match self.line {
            Line::Shift { scale, .. } | Line::Stretch { scale, .. } => *scale,
        }
    }

    fn is_own(&self, effect: usize) -> bool {
        self.prepared.scale_of[effect] as usize == self.scale()
    }

    fn width(&self) -> f64 {
        match self.line {
            Line::Shift { precision, .. } | Line::Stretch { precision, .. } => {
                APART / math::sqrt(*precision)
            }
        }
    }

    /// The effects at a place, and the scales.
    fn at(&self, place: f64) -> (Vec<f64>, Vec<f64>) {
        let mut log_scales = self.log_scales.clone();
        let s = match self.line {
            Line::Shift { by, .. } => {
                self.plain.iter().zip(by).map(|(s, by)| s + place * by).collect()
            }
            Line::Stretch { scale, .. } => {
                let shares = &self.prepared.shares;
                log_scales[*scale] = self.prepared.reference.centre.log_scales[*scale] + place;
                let stretched = |(e, x): (usize, &f64)| match self.is_own(e) {
                    true => self.means[e] + x * math::exp(shares[e] * place),
                    false => *x,
                };
                self.plain.iter().enumerate().map(stretched).collect()
            }
        };
        (s, log_scales)
    }

    /// The law of the effects at a place, with the Jacobian; the prior beside it.
    fn log_law(&self, work: &mut Work<'_>, shared: &[f64], place: f64) -> f64 {
        let (s, log_scales) = self.at(place);
        let mut total = work.model.log_prior(shared, &log_scales);
        for (e, s) in s.iter().enumerate() {
            let log_scale = log_scales[self.prepared.scale_of[e] as usize];
            let gap = s - self.means[e];
            total -= log_scale + 0.5 * gap * gap * math::exp(-2.0 * log_scale);
            if matches!(self.line, Line::Stretch { .. }) && self.is_own(e) {
                total += self.prepared.shares[e] * place;
            }
        }
        total
    }
}

impl Chain {
    fn through<'a>(&self, prepared: &'a Preparation, line: &'a Line) -> Through<'a> {
        let means: Vec<f64> = (0..self.s.len()).map(|e| self.mean(prepared, e)).collect();
        let scale_of = &prepared.scale_of;
        let (from, plain) = match line {
            Line::Shift { scale, by, .. } => {
                let own = (0..self.s.len()).filter(|e| scale_of[*e] as usize == *scale);
                let (sum, count) =
                    own.fold((0.0, 0.0), |(sum, count), e| (sum + self.s[e], count + 1.0));
                let from = sum / count;
                (from, self.s.iter().zip(by).map(|(s, by)| s - from * by).collect())
            }
            Line::Stretch { scale, .. } => {
                let from = self.log_scales[*scale] - prepared.reference.centre.log_scales[*scale];
                let plain = |(e, s): (usize, &f64)| match scale_of[e] as usize == *scale {
                    true => (s - means[e]) * math::exp(-prepared.shares[e] * from),
                    false => *s,
                };
                (from, self.s.iter().enumerate().map(plain).collect())
            }
        };
        Through { line, prepared, plain, means, from, log_scales: self.log_scales.clone() }
    }

    pub(super) fn move_along(&mut self, work: &mut Work<'_>, line: &Line) {
        let prepared = work.prepared;
        self.collapse(prepared);
        let through = self.through(prepared, line);
        let shared = self.shared_now(prepared);
        let (mode, sd) = self.fit(work, &through, &shared);
        let z = standard_normal(work.rng);
        let (to, z_from) = (mode + sd * z, (through.from - mode) / sd);
        let mut log_first = 0.5 * (z * z - z_from * z_from);
        log_first +=
            through.log_law(work, &shared, to) - through.log_law(work, &shared, through.from);
        let (next, log_scales) = through.at(to);
        let (s, d, rho) = (std::mem::take(&mut self.s), std::mem::take(&mut self.d), self.rho);
        let ends = |number: usize| {
            let members = &prepared.patches[number].members;
            [&s, &next].map(|s| End { s: slots(members, s), d: &d, rho })
        };
        let mut weighed = Weighed::default();
        for number in 0..prepared.patches.len() {
            let [here, there] = ends(number);
            if here.s == there.s {
                continue;
            }
            let softs = weighed.soft.len();
            self.weigh(work, number, [here, there], 0.0, &mut weighed);
            if weighed.soft.len() > softs {
                let own = self.collapsed(prepared, number);
                let indices = prepared.sums.indices(number);
                log_first += indices.value(own, there.s) - indices.value(own, here.s);
            }
        }
        let accepted = self.decide(work, log_first, &weighed, ends);
        (self.s, self.d) = (s, d);
        if accepted {
            (self.s, self.log_scales) = (next, log_scales);
            work.swept.stretch_accepted += 1;
        }
    }

    /// The mode and the standard deviation of a normal law through three places.
    fn fit(&mut self, work: &mut Work<'_>, through: &Through<'_>, shared: &[f64]) -> (f64, f64) {
        let prepared = work.prepared;
        let w = through.width();
        let [below, middle, above] = [-w, 0.0, w].map(|place| {
            let (s, _) = through.at(place);
            let of_patch = |(number, patch): (usize, &super::preparation::Patch)| {
                let own = self.collapsed(prepared, number);
                prepared.sums.indices(number).value(own, slots(&patch.members, &s))
            };
            let of_patches: f64 = prepared.patches.iter().enumerate().map(of_patch).sum();
            of_patches + through.log_law(work, shared, place)
        });
        let bend = (2.0 * middle - above - below) / (w * w);
        let expected = APART * APART / (w * w);
        match bend > FLAT * expected {
            true => ((above - below) / (2.0 * w * bend), WIDER / math::sqrt(bend)),
            false => (0.0, w),
        }
    }
}
