//! How far a row's remainder can change in a move.
//!
//! R = A + B: A is the remainder of order 2 in t at s, B = Σ_{j≤2} t^j/j! × (the remainder of order m−j in s of f^(j)). With h_g = max_i |L⁻¹ x̃_i|,
//! ρ = |Lᵀ (β − β*)| (L Lᵀ the precision of β), T = h_g ρ ≥ |t_i|, E = |s| + T, and M_k ≥ |f^(k)| on the *ball* E ≤ r_g:
//! |∂B| ≤ M_{m+1} E^m/m!, |∂_t A| ≤ M_3 T²/2, |∂_s A| ≤ M_4 T³/6. Integrated along the move:
//!
//! * s → s': |ΔR| ≤ M_{m+1}/(m+1)! |φ(s') − φ(s)| + M_4/6 T³ |s' − s|, φ = sgn(s)(E^{m+1} − T^{m+1});
//! * β → β': |ΔR| ≤ h_g |Lᵀ(β' − β)| (M_{m+1}/m! E^m + ½ M_3 T²), E and T at the larger ρ.
//!
//! Times n_g this is Λ_g, for rows picked uniformly: within a patch bounds are much alike.

use super::sums::{INVERSE, MOST_SUMS};

/// Bounds of all soft patches, each kind beside its like.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// m
    pub order: usize,
    /// n_g
    pub rows: Vec<f64>,
    /// max |u_i|: s stands for s times this
    pub lever: Vec<f64>,
    /// h_g
    pub reach: Vec<f64>,
    /// r_g
    pub radius: Vec<f64>,
    /// n_g M_3/2
    cubic: Vec<f64>,
    /// n_g M_4/6
    quartic: Vec<f64>,
    /// n_g M_{m+1}/m!
    last: Vec<f64>,
}

/// M_3, M_4 and M_{m+1} of a patch, n_g, max |u_i|, h_g and r_g.
#[derive(Clone, Copy, Debug)]
pub struct Ball {
    pub rows: f64,
    pub lever: f64,
    pub reach: f64,
    pub radius: f64,
    pub most: [f64; 3],
}

/// So that rounding never makes a bound too small.
const SLACK: f64 = 1.0 + 1e-6;

impl Ball {
    /// The orders that M is asked for.
    pub fn orders(m: usize) -> [usize; 3] {
        [3, 4, m + 1]
    }

    pub fn is_finite(&self) -> bool {
        self.most.iter().chain([&self.radius]).all(|most| most.is_finite())
    }
}

/// x^k
pub fn power(x: f64, k: usize) -> f64 {
    (1..k).fold(x, |power, _| power * x)
}

impl Bounds {
    pub fn new(order: usize, balls: &[Ball]) -> Bounds {
        debug_assert!((2..=MOST_SUMS).contains(&order));
        let factorial: f64 = (1..=order).map(|k| INVERSE[k]).product();
        let each = |of: fn(&Ball) -> f64| balls.iter().map(of).collect::<Vec<f64>>();
        let last = |ball: &Ball| SLACK * factorial * ball.rows * ball.most[2];
        Bounds {
            order,
            rows: each(|ball| ball.rows),
            lever: each(|ball| ball.lever),
            reach: each(|ball| ball.reach),
            radius: each(|ball| ball.radius),
            cubic: each(|ball| SLACK * 0.5 * ball.rows * ball.most[0]),
            quartic: each(|ball| SLACK * ball.rows * ball.most[1] / 6.0),
            last: balls.iter().map(last).collect(),
        }
    }

    /// Whether a patch stays in its ball.
    pub fn holds(&self, patch: usize, s: f64, rho: f64) -> bool {
        self.lever[patch] * s.abs() + self.reach[patch] * rho <= self.radius[patch]
    }

    /// Λ_g of a move s → s' at ρ.
    #[inline]
    pub fn of_effect(&self, patch: usize, s: [f64; 2], rho: f64) -> f64 {
        let m = self.order;
        let t = self.reach[patch] * rho;
        let base = power(t, m + 1);
        let s = s.map(|s| self.lever[patch] * s);
        let [from, to] = s.map(|s| (power(s.abs() + t, m + 1) - base).copysign(s));
        self.last[patch] * INVERSE[m + 1] * (to - from).abs()
            + self.quartic[patch] * t * t * t * (s[1] - s[0]).abs()
    }

    /// Λ_g of a move of β by a whitened length, at the larger ρ.
    #[inline]
    pub fn of_shared(&self, patch: usize, s: f64, rho: f64, length: f64) -> f64 {
        let t = self.reach[patch] * rho;
        let e = power(self.lever[patch] * s.abs() + t, self.order);
        self.reach[patch] * length * (self.last[patch] * e + self.cubic[patch] * t * t)
    }
}
