//! Exact transitions that read almost nothing: numbers only, no trace.
//!
//! log π(θ) = G(θ) + Σ_i l_i(θ): G is everything that is computed whole at every move, the sum runs over many
//! *sections*. Around a reference point θ* with L Lᵀ = (−∇² log π(θ*))⁻¹, T_i is the second-order Taylor
//! polynomial of l_i, R_i = l_i − T_i its remainder, y = L⁻¹(θ − θ*), ρ = |y|. Σ T_i costs O(d²) from sums made once; and
//!
//! |R_i(θ)| ≤ c_i ρ³ for ρ ≤ r, C = Σ c_i ~ N^{−1/2}: the more sections, the smaller all remainders together.
//!
//! | module | what it is |
//! |---|---|
//! | [`quadratic`] | Σ T_i, and the reference law's coordinates |
//! | [`newton`] | where the reference point lies |
//! | [`law`] | what is proposed |
//! | [`thinning`] | which rows may object to a move, and when |
//! | [`preparation`] | all of it for a block, made once and never changed in the draws |
//! | [`chain`] | one transition, by thinning, by a scan, or by delayed acceptance |

pub mod chain;
pub mod law;
pub mod newton;
pub mod preparation;
pub mod quadratic;
pub mod thinning;

#[cfg(test)]
mod tests;

pub use quadratic::Sums;

use smidgen_value::Rng;

/// A density above many sections, as the methods here ask for it. Sections are numbered from 0.
pub trait Tall {
    fn dimension(&self) -> usize;

    /// The number of sections, N.
    fn rows(&self) -> usize;

    /// G(θ); −∞ where θ is impossible.
    fn log_rest(&mut self, theta: &[f64]) -> f64;

    /// The same with its gradient.
    fn log_rest_with_gradient(&mut self, theta: &[f64], gradient: &mut [f64]) -> f64;

    /// Σ_i l_i(θ)
    fn log_sections(&mut self, theta: &[f64]) -> f64;

    /// The same at several points, one after the other in `thetas`, by one pass over the data.
    fn log_sections_of_many(&mut self, thetas: &[f64], out: &mut [f64]);

    /// Value, gradient and Hessian of Σ l_i at θ, from every `stride`-th section, scaled up. None where some
    /// section has no derivatives.
    fn sums(&mut self, theta: &[f64], stride: usize) -> Option<Sums>;

    /// c_i for all sections, given L and r; infinite where there is no bound. Empty if no section has one.
    fn bounds(&mut self, centre: &[f64], lower: &[f64], radius: f64, out: &mut Vec<f32>);

    /// R_i at two points, for the sections asked for.
    fn remainders(&mut self, centre: &[f64], rows: &[u32], at: [&[f64]; 2], out: &mut [[f64; 2]]);

    /// C = Σ c_i, where the sections lie elsewhere and their bounds with them.
    fn total_bound(&mut self, _centre: &[f64], _lower: &[f64], _radius: f64) -> Option<f64> {
        None
    }

    /// A section in proportion to its bound, and that, where who has them draws them: ahead, or as they are asked for.
    fn drawn(&mut self, _rng: &mut Rng) -> Option<(u32, f32)> {
        None
    }
}
