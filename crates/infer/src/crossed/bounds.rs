//! How far a row's remainder can change in a straight move of effects and β.
//!
//! With σ_i = Σ_a u_ia s_a in the place of s the remainder is that of [`crate::patches::bounds`], and so are the bounds of its derivatives:
//! |∂_σ R| ≤ M_{m+1} E^m/m! + M_4 T³/6 and |∂_t R| ≤ M_{m+1} E^m/m! + ½ M_3 T². Coefficients u_ia lie within δ_a of ũ_a, so that
//! |σ_i| ≤ S = |Σ ũ_a s_a| + Σ δ_a |s_a|: effects that make up for each other, as crossed ones do, do not count. E = S + T and T = h ρ are
//! convex along the move, so the mean of E^m is at most Σ_j E^j E'^{m−j}/(m+1) with E and E' at its ends, and
//!
//! |ΔR| ≤ (Δσ + Δt) M_{m+1}/m! Σ_j E^j E'^{m−j}/(m+1) + Δt ½ M_3 T² + Δσ M_4 T³/6, T at the larger ρ.

use super::Slots;
use crate::patches::bounds::power;
use crate::patches::sums::INVERSE;

/// So that rounding never makes a bound too small.
const SLACK: f64 = 1.0 + 1e-6;

/// The bounds of a patch.
#[derive(Clone, Copy, Debug)]
pub struct Ball {
    /// m
    pub order: usize,
    pub rows: f64,
    /// ũ and δ
    pub middle: Slots,
    pub spread: Slots,
    /// h and r
    pub reach: f64,
    pub radius: f64,
    /// M_3, M_4 and M_{m+1}
    pub most: [f64; 3],
}

/// Where the effects of a patch are, and how far β is from the reference.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub s: Slots,
    pub rho: f64,
}

impl Ball {
    pub fn is_finite(&self) -> bool {
        self.most.iter().chain([&self.radius]).all(|most| most.is_finite())
    }

    /// The largest |Σ u_ia s_a|.
    pub fn size(&self, s: Slots) -> f64 {
        let middle: f64 = self.middle.iter().zip(s).map(|(u, s)| u * s).sum();
        let spread: f64 = self.spread.iter().zip(s).map(|(u, s)| u * s.abs()).sum();
        middle.abs() + spread
    }

    /// Whether the patch stays in its ball.
    pub fn holds(&self, at: Place) -> bool {
        self.size(at.s) + self.reach * at.rho <= self.radius
    }

    /// Λ of a straight move in which β goes a whitened length.
    pub fn of_move(&self, [from, to]: [Place; 2], length: f64) -> f64 {
        let m = self.order;
        let mut by = [0.0; super::MOST_MEMBERS];
        by.iter_mut().zip(to.s.iter().zip(from.s)).for_each(|(by, (to, from))| *by = to - from);
        let (of_effects, of_shared) = (self.size(by), self.reach * length);
        let [a, b] = [from, to].map(|at| self.size(at.s) + self.reach * at.rho);
        let mean =
            (0..=m).map(|j| power_of(a, j) * power_of(b, m - j)).sum::<f64>() * INVERSE[m + 1];
        let factorial: f64 = (1..=m).map(|k| INVERSE[k]).product();
        let t = self.reach * from.rho.max(to.rho);
        let [cubic, quartic, last] = self.most;
        let each = (of_effects + of_shared) * last * factorial * mean
            + of_shared * 0.5 * cubic * t * t
            + of_effects * quartic * t * t * t / 6.0;
        SLACK * self.rows * each
    }
}

fn power_of(x: f64, k: usize) -> f64 {
    if k == 0 { 1.0 } else { power(x, k) }
}
