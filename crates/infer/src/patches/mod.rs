//! Exact sweeps over groups with effects that read almost nothing: numbers only, no trace.
//!
//! η_i = o_i + u_i b_g + x_i·β for the rows i of group g, log weights f_i(η_i); b_g ~ N(a_g·β + c_g, σ²); any prior of (β, ln σ). Below,
//! u_i = 1; otherwise s_g stands for u_i s_g and K_g for u_i K_g. Rows that read several effects: [`crate::crossed`].
//! The rows that read one b_g are a *patch*. Around a reference (β*, b*, σ*), made once:
//!
//! * **shear**: v_g = b_g − K_g·(β − β*), so that η_i = η*_i + s_g + t_i with s_g = v_g − b*_g and t_i = x̃_i·(β − β*),
//!   x̃_i = x_i + K_g. At fixed v, β takes the effects along, and is nearly free of them.
//! * **anisotropic sums**: Σ_i f_i is nearly P(s, β) = Σ_{j≤2} Σ_{k≤m−j} f^{(j+k)} t^j s^k / (j! k!) summed over the patch,
//!   for s ~ n_g^{−1/2} and t ~ N^{−1/2}: a polynomial of degree m in s given β, a quadratic in β given all s.
//! * **difference bounds**: how far a row's remainder R_i = f_i − P_i can change in a move; their sum Λ falls with N.
//!
//! A move is accepted by one factor min(1, e^·) for all that is computed whole, and one factor min(1, e^{ΔR_i}) for every row of
//! the other patches, these by a Poisson process of mean Λ as in [`crate::reference::thinning`]. The exponents add up to
//! that of Metropolis and Hastings, and which row is in which factor hangs on the unordered pair of states, so each move is
//! reversible. Everything made in the preparation is a fixed number in the draws; each proposal is a function of what
//! its move holds fixed.
//!
//! *Wide* rows hang on a second predictor ζ_i = z_i·β as well, such as the logarithm of a scale of the errors: f_i(η_i, ζ_i). With
//! r_i = z_i·(β − β*) and D = t ∂_η + r ∂_ζ in the place of t d/dη, P = Σ_{j≤2} D^j/j! Σ_{k≤m−j} s^k/k! ∂_η^k f_i: sums are of the same
//! shape, and derivatives are along (h_g, h'_g) where they were along h_g.
//!
//! A sweep costs O(G p²), whatever the number of rows.
//!
//! | module | what it is |
//! |---|---|
//! | [`reading`] | rows by chunks: linear predictors, log weights, derivatives |
//! | [`prior`] | how the prior bends |
//! | [`arrowhead`] | the reference and the shear |
//! | [`sums`] | the anisotropic sums |
//! | [`bounds`] | balls and difference bounds |
//! | [`preparation`] | all of it, made once |
//! | [`chain`] | the state, and when rows object |
//! | [`effects`], [`shared`], [`scale`] | the moves of b, of β, of σ |

pub mod arrowhead;
pub mod bounds;
pub mod chain;
mod effects;
pub mod preparation;
pub mod prior;
pub mod reading;
mod scale;
pub mod shared;
pub mod sums;

#[cfg(test)]
pub mod tests;

/// Derivatives that are asked for at most.
pub const MOST_ORDER: usize = 7;

/// Some rows: `first`, `first + step`, and so on, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    pub first: usize,
    pub step: usize,
    pub count: usize,
}

impl Rows {
    pub fn one(row: usize) -> Rows {
        Rows { first: row, step: 1, count: 1 }
    }

    /// Those from `skip` on, at most `count`.
    fn part(self, skip: usize, count: usize) -> Rows {
        let left = self.count.saturating_sub(skip);
        Rows { first: self.first + skip * self.step, count: count.min(left), ..self }
    }

    /// Every `stride`-th of them.
    fn thinned(self, stride: usize) -> Rows {
        Rows { step: self.step * stride, count: self.count.div_ceil(stride), ..self }
    }
}

/// η of some rows, and ζ of them if they are wide.
pub type Predictors<'a> = [&'a [f64]; 2];

/// Parts of the derivatives of wide rows: by ∂/∂ζ, up to the second; and of their bounds, up to the third.
pub const PARTS: usize = 3;
pub const PARTS_OF_BOUNDS: usize = 4;

/// Rows whose log weights hang on linear predictors. Numbers of several rows stand beside each other; those that are asked for
/// together are of one patch.
pub trait Predicted {
    /// The number of shared coordinates, p.
    fn shared(&self) -> usize;

    /// Whether rows hang on a second predictor.
    fn is_wide(&self) -> bool {
        false
    }

    /// x_i, one coordinate after the other, the coefficients u_i of each effect of the patch, z_i if rows are wide, and then o_i.
    fn coefficients(&mut self, rows: Rows, out: &mut [f64]);

    /// Σ f_i(η_i, ζ_i)
    fn log_weight(&mut self, rows: Rows, at: Predictors<'_>) -> f64;

    /// f_i, then f_i', and so on, as many orders as there is room for. Of wide rows as many of ∂f_i/∂ζ and of ∂²f_i/∂ζ² follow.
    fn derivatives(&mut self, rows: Rows, at: Predictors<'_>, out: &mut [f64]);

    /// An upper bound of |f_i^(order)| over [η_i − radius, η_i + radius], infinite where there is none.
    fn most(&mut self, rows: Rows, eta: &[f64], radius: f64, order: usize, out: &mut [f64]);

    /// The same of all derivatives of wide rows, up to an order in η and ζ together and to the third in ζ: by the order in ζ, and then by
    /// that in η.
    fn most_of_wide(
        &mut self,
        _rows: Rows,
        _at: Predictors<'_>,
        _radii: [f64; 2],
        _order: usize,
        out: &mut [f64],
    ) {
        out.fill(f64::INFINITY);
    }
}

/// A density of rows in patches that read one effect each, as the methods here ask for it.
pub trait Patched: Predicted {
    /// The number of groups, G.
    fn groups(&self) -> usize;

    /// The rows of a group, one after the other.
    fn patch(&self, group: usize) -> Rows;

    /// a_g into `out`; c_g.
    fn location(&self, group: usize, out: &mut [f64]) -> f64;

    /// Whether σ moves.
    fn is_scale_free(&self) -> bool;

    /// The log prior density of β and ln σ; −∞ where they are impossible.
    fn log_prior(&mut self, shared: &[f64], log_scale: f64) -> f64;
}
