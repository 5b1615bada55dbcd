//! How far a row's remainder can change in a move.
//!
//! R = A + B: A is the remainder of order 2 in t at s, B = Σ_{j≤2} t^j/j! × (the remainder of order m−j in s of f^(j)). With h_g = max_i |L⁻¹ x̃_i|,
//! ρ = |Lᵀ (β − β*)| (L Lᵀ the precision of β), T = h_g ρ ≥ |t_i|, E = |s| + T, and M_k ≥ |f^(k)| on the *ball* E ≤ r_g:
//! |∂B| ≤ M_{m+1} E^m/m!, |∂_t A| ≤ M_3 T²/2, |∂_s A| ≤ M_4 T³/6. Integrated along the move:
//!
//! * s → s': |ΔR| ≤ M_{m+1}/(m+1)! |φ(s') − φ(s)| + M_4/6 T³ |s' − s|, φ = sgn(s)(E^{m+1} − T^{m+1});
//! * β → β': |ΔR| ≤ h_g |Lᵀ(β' − β)| (M_{m+1}/m! E^m + ½ M_3 T²), E and T at the larger ρ.
//!
//! *Wide* rows: with h'_g = max_i |L⁻¹ z_i|, a derivative along β is h ∂_η + h' ∂_ζ at most. The formulas hold with the larger reach as h_g and
//! M's so large that they bound what stands in their places: h³ M_3 ≥ Σ_j C(3, j) h^{3−j} h'^j |∂_η^{3−j} ∂_ζ^j f|, the same with one more
//! ∂_η for h³ M_4, and M_{m+1}, h M_{m+1}, h² M_{m+1} ≥ what the last derivative, with none, one or two of them along β, may be.
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
    /// ρ reaches no further in any patch: of wide rows ζ is bounded by it.
    pub most_rho: f64,
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

/// M_3, M_4 and M_{m+1} of wide rows, from h_g, h'_g and the largest |∂_ζ^j ∂_η^k f| as `most(j, k)`.
pub fn most_of_wide(
    m: usize,
    [h, other]: [f64; 2],
    most: impl Fn(usize, usize) -> f64,
) -> [f64; 3] {
    let larger = h.max(other);
    if larger == 0.0 {
        return [0.0, 0.0, most(0, m + 1)];
    }
    // What cannot be reached is 0 even where there is no bound.
    let times = |by: f64, most: f64| if by == 0.0 { 0.0 } else { by * most };
    let (h, other) = (h / larger, other / larger);
    let thirds = |more: usize| {
        times(h * h * h, most(0, 3 + more))
            + times(3.0 * h * h * other, most(1, 2 + more))
            + times(3.0 * h * other * other, most(2, 1 + more))
            + times(other * other * other, most(3, more))
    };
    let none = most(0, m + 1);
    let one = times(h, most(0, m + 1)) + times(other, most(1, m));
    let two = times(h * h, most(0, m + 1))
        + times(2.0 * h * other, most(1, m))
        + times(other * other, most(2, m - 1));
    [thirds(0), thirds(1), none.max(one).max(two)]
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
            most_rho: f64::INFINITY,
        }
    }

    /// Whether a patch stays in its ball.
    pub fn holds(&self, patch: usize, s: f64, rho: f64) -> bool {
        rho <= self.most_rho
            && self.lever[patch] * s.abs() + self.reach[patch] * rho <= self.radius[patch]
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
