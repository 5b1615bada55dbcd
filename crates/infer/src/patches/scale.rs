//! The moves of σ.
//!
//! *Given the effects*: σ^{−2} from its conjugate gamma law, tilted as the prior is at the reference; what that misses of the prior is
//! in the acceptance. No row is read.
//!
//! *Stretch*: with δ = ln σ/σ*, at fixed ξ_g = (b_g − its mean) e^{−κ_g δ}, κ_g the prior's share in H_g: effects with few rows are
//! stretched with σ, those with many stay. δ' is normal, fitted to the log density at three fixed places with polynomials for
//! the patches, a function of ξ. The Jacobian is e^{Σ κ_g δ}. Patches are weighed as in a move of the effects.

use smidgen_prob::collapsed::draw::{log_gamma_variate, standard_normal};
use smidgen_value::math;

use super::chain::{Chain, Spot, Work, accepts};
use super::preparation::{Preparation, Stretch};

/// A curvature below this share of the expected one is not believed.
const FLAT: f64 = 0.1;
/// How much wider than fitted the proposal is.
const WIDER: f64 = 1.1;

impl Chain {
    fn shared_now(&self, prepared: &Preparation) -> Vec<f64> {
        let centre = &prepared.reference.centre.shared;
        centre.iter().zip(&self.d).map(|(c, d)| c + d).collect()
    }

    pub(super) fn move_scale(&mut self, work: &mut Work<'_>) {
        let prepared = work.prepared;
        let mut means = std::mem::take(&mut self.powers);
        self.means(prepared, &mut means);
        let squares: f64 = self.s.iter().zip(&means).map(|(s, m)| (s - m) * (s - m)).sum();
        self.powers = means;
        let effects = self.s.len() as f64;
        let freedom = prepared.reference.prior.freedom(0, self.s.len());
        let to = 0.5 * (math::ln(0.5 * squares) - log_gamma_variate(0.5 * freedom, work.rng));
        let shared = self.shared_now(prepared);
        // The law of the effects is σ^{−G} e^{−S/2σ²}, the proposal's σ^{−freedom} e^{−S/2σ²}.
        let log_ratio = work.model.log_prior(&shared, to)
            - work.model.log_prior(&shared, self.log_scale)
            + (freedom - effects) * (to - self.log_scale);
        if to.is_finite() && accepts(log_ratio, work.rng) {
            self.log_scale = to;
            work.swept.scale_accepted += 1;
        }
    }

    pub(super) fn stretch(&mut self, work: &mut Work<'_>, fixed: &Stretch) {
        let prepared = work.prepared;
        self.collapse(prepared);
        let n = self.s.len();
        let at_reference = prepared.reference.centre.log_scale;
        let from = self.log_scale - at_reference;
        let mut means = std::mem::take(&mut self.powers);
        self.means(prepared, &mut means);
        let pairs = prepared.shares.iter().zip(self.s.iter().zip(&means));
        let plain: Vec<f64> = pairs.map(|(k, (s, m))| (s - m) * math::exp(-k * from)).collect();
        let shared = self.shared_now(prepared);
        let slope = prepared.shares.iter().sum::<f64>() - n as f64;
        let (mut s, mut values) = (vec![0.0; n], vec![0.0; n]);
        // Moves the effects to where given factors stretch them, and gives the log density but for the patches.
        let mut log_law = |by: f64, factor: &dyn Fn(usize) -> f64, s: &mut [f64]| {
            let mut squares = 0.0;
            for i in 0..n {
                let gap = plain[i] * factor(i);
                squares += gap * gap;
                s[i] = means[i] + gap;
            }
            let log_scale = at_reference + by;
            let precision = math::exp(-2.0 * log_scale);
            work.model.log_prior(&shared, log_scale) + slope * by - 0.5 * precision * squares
        };
        let collapsed = &self.collapsed;
        let mut log_p = |by: f64, factor: &dyn Fn(usize) -> f64| {
            let log_law = log_law(by, factor, &mut s);
            collapsed.derivative(0, 0..n, &s, &mut values);
            log_law + values.iter().sum::<f64>()
        };
        let w = fixed.width;
        let below = log_p(-w, &|i| fixed.narrower[i]);
        let middle = log_p(0.0, &|_| 1.0);
        let above = log_p(w, &|i| fixed.wider[i]);
        let bend = (2.0 * middle - above - below) / (w * w);
        let (mode, sd) = match bend > FLAT * fixed.precision {
            true => ((above - below) / (2.0 * w * bend), WIDER / math::sqrt(bend)),
            false => (0.0, w),
        };
        let z = standard_normal(work.rng);
        let (to, z_from) = (mode + sd * z, (from - mode) / sd);
        let mut log_first = 0.5 * (z * z - z_from * z_from);
        log_first -= log_law(from, &|i| math::exp(prepared.shares[i] * from), &mut s);
        log_first += log_law(to, &|i| math::exp(prepared.shares[i] * to), &mut s);
        self.powers = means;

        let holds = |place: usize, s: [f64; 2], rho: f64| {
            place < prepared.soft && s.iter().all(|s| prepared.bounds.holds(place, *s, rho))
        };
        // Polynomials are no numbers to calculate with far outside.
        let mut before = vec![0.0; n];
        collapsed.derivative(0, 0..n, &self.s, &mut before);
        collapsed.derivative(0, 0..n, &s, &mut values);
        let mut log_weights = Vec::with_capacity(self.log_weights.len());
        for place in 0..n {
            let pair = [self.s[place], s[place]];
            if holds(place, pair, self.rho) {
                log_first += values[place] - before[place];
                continue;
            }
            let [here, there] = pair.map(|s| Spot { s, d: &self.d });
            let count = prepared.rows[place].count as u64;
            work.swept.scanned += count;
            let log_weight = self.readings.scan(work.model, prepared, place, there);
            let known = match place.checked_sub(prepared.soft) {
                Some(hard) => {
                    log_weights.push(log_weight);
                    self.log_weights[hard]
                }
                None => {
                    work.swept.scanned += count;
                    self.readings.scan(work.model, prepared, place, here)
                }
            };
            log_first += log_weight - known;
        }
        if !accepts(log_first, work.rng) {
            return;
        }
        for place in 0..prepared.soft {
            let pair = [self.s[place], s[place]];
            if !holds(place, pair, self.rho) {
                continue;
            }
            let mean = prepared.bounds.of_effect(place, pair, self.rho);
            let spots = pair.map(|s| Spot { s, d: &self.d });
            if self.readings.object(work, place, spots, mean) {
                return;
            }
        }
        work.swept.stretch_accepted += 1;
        self.s = s;
        self.log_scale = at_reference + to;
        self.log_weights = log_weights;
    }
}
