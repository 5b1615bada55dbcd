//! What is proposed, in the reference's coordinates y.
//!
//! *Independent*: y' from (1 − w) N(μ, I) + w t_ν(μ, I), whatever the state is. The t has the tails that a normal
//! lacks, so no state is held for long. *Autoregressive*: y' = μ + a (y − μ) + √(1 − a²) ξ, reversible for N(μ, I), so
//! that a state which independent proposals hardly leave is left in small steps. *Walk*: y' = y + s ξ. In tails that are heavier than
//! those of the reference, π over the law of the other two grows with the distance, so neither comes back soon; a walk does.

use smidgen_prob::collapsed::draw::standard_normal;
use smidgen_value::{Rng, math};

/// w and ν
const TAIL_SHARE: f64 = 0.05;
const TAIL_FREEDOM: f64 = 30.0;
/// One of so many proposals is autoregressive, with this a, and one is a step of a walk. Both are worth less than independent ones
/// where the reference fits; and where a move reads all rows, independent ones share a pass, and these need one of their own.
const SELDOM: usize = 50;
const MEMORY: f64 = 0.7;
/// s √d, where that is less than 1: wider steps would leave the ball now and then. And moves from one step to the next.
const STRIDE: f64 = 2.38;
pub(super) const WALKS: f64 = SELDOM as f64;

#[derive(Clone, Debug)]
pub struct Law {
    /// μ
    pub shift: Vec<f64>,
    /// ln of the t density at its centre over that of the normal.
    log_peak: f64,
    /// ln (1 − w) and ln w
    log_shares: [f64; 2],
}

/// How a proposal was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Independent,
    Autoregressive,
    Walk,
}

impl Law {
    pub fn new(shift: Vec<f64>) -> Law {
        let (d, nu) = (shift.len() as f64, TAIL_FREEDOM);
        // Γ((ν + d)/2) / (Γ(ν/2) (ν/2)^{d/2})
        let log_peak = math::ln_gamma(0.5 * (nu + d))
            - math::ln_gamma(0.5 * nu)
            - 0.5 * d * math::ln(0.5 * nu);
        let log_shares = [math::ln(1.0 - TAIL_SHARE), math::ln(TAIL_SHARE)];
        Law { shift, log_peak, log_shares }
    }

    pub fn dimension(&self) -> usize {
        self.shift.len()
    }

    /// s
    pub(super) fn step(&self) -> f64 {
        (STRIDE / math::sqrt(self.dimension() as f64)).min(1.0)
    }

    fn distance(&self, y: &[f64]) -> f64 {
        y.iter().zip(&self.shift).map(|(y, m)| (y - m) * (y - m)).sum()
    }

    /// ln of the density of independent proposals, up to a constant.
    pub fn log_density(&self, y: &[f64]) -> f64 {
        let square = self.distance(y);
        let normal = -0.5 * square;
        let d = self.dimension() as f64;
        let t = self.log_peak - 0.5 * (TAIL_FREEDOM + d) * math::ln_1p(square / TAIL_FREEDOM);
        // ln((1 − w) e^normal + w e^t)
        let (normal, t) = (normal + self.log_shares[0], t + self.log_shares[1]);
        let (most, least) = if normal > t { (normal, t) } else { (t, normal) };
        most + math::ln_1p(math::exp(least - most))
    }

    /// How the next proposal is made.
    pub fn manner(rng: &mut Rng) -> Manner {
        match rng.below(SELDOM) {
            0 => Manner::Autoregressive,
            1 => Manner::Walk,
            _ => Manner::Independent,
        }
    }

    /// An independent proposal.
    pub fn draw(&self, y: &mut [f64], rng: &mut Rng) {
        let mut scale = 1.0;
        if rng.uniform() < TAIL_SHARE {
            // χ²_ν for a whole ν
            let chi: f64 = (0..TAIL_FREEDOM as usize).map(|_| square(standard_normal(rng))).sum();
            scale = math::sqrt(TAIL_FREEDOM / chi);
        }
        for (y, m) in y.iter_mut().zip(&self.shift) {
            *y = m + scale * standard_normal(rng);
        }
    }

    /// A proposal from `y`, and ln q(y | y')/q(y' | y) unless it is independent: then that is a matter of [`Law::log_density`].
    pub fn propose(&self, manner: Manner, y: &[f64], to: &mut [f64], rng: &mut Rng) -> f64 {
        match manner {
            Manner::Independent => {
                self.draw(to, rng);
                0.0
            }
            Manner::Autoregressive => {
                let spread = math::sqrt(1.0 - MEMORY * MEMORY);
                for ((to, y), m) in to.iter_mut().zip(y).zip(&self.shift) {
                    *to = m + MEMORY * (y - m) + spread * standard_normal(rng);
                }
                0.5 * (self.distance(to) - self.distance(y))
            }
            Manner::Walk => {
                let step = self.step();
                for (to, y) in to.iter_mut().zip(y) {
                    *to = y + step * standard_normal(rng);
                }
                0.0
            }
        }
    }
}

fn square(x: f64) -> f64 {
    x * x
}
