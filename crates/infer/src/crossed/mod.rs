//! Exact sweeps over rows that read several effects each: slopes by group, crossed groups. Numbers only, no trace.
//!
//! η_i = o_i + Σ_a u_ia b_{e_a} + x_i·β, with up to three effects e_a, the same for the rows of a *patch*; b_e ~ N(a_e·β + c_e, σ_k²), k the scale that e
//! has; any prior of β and of all ln σ_k. Everything is as in [`crate::patches`], where each row reads one effect:
//!
//! * **shear**: K = −H_bb⁻¹ H_bβ, all effects together, and s_e = b_e − b*_e − K_e·(β − β*);
//! * **sums** over the rows of a patch, for every multi-index κ of its effects: F_κ = Σ f^(|κ|) u^κ, X_κ = Σ f^(|κ|+1) u^κ x̃,
//!   XX_κ = Σ f^(|κ|+2) u^κ x̃x̃ᵀ, so that P(s, d) = Σ_κ s^κ/κ! (F_κ + X_κ·d + ½ dᵀXX_κ d) is the polynomial of order m − j in
//!   Σ_a u_a s_a for each order j ≤ 2 of t = x̃·d;
//! * **difference bounds** for a straight move of any coordinates ([`bounds`]);
//! * moves of each effect alone, of β with the effects sheared along, of each scale, and along *lines* that leave the rows nearly
//!   as they are: all effects of one scale shifted, with the others in their way, or stretched with the scale.
//!
//! Patches with few rows, or without bounds, are hard: scanned whenever one of their effects, or β, moves. So sparse crossed groups cost
//! as much as a scan, and filled ones O(patches) a sweep, whatever the number of rows.

pub mod bounds;
pub mod chain;
pub mod climb;
mod effects;
mod lines;
pub mod preparation;
mod shared;
pub mod sums;

#[cfg(test)]
mod tests;

use crate::patches::{Predicted, Rows};

/// Effects that a row reads at most.
pub const MOST_MEMBERS: usize = 3;

/// One number for each effect of a patch.
pub type Slots = [f64; MOST_MEMBERS];

/// A density of rows in patches, as the methods here ask for it.
pub trait Crossed: Predicted {
    /// The number of effects.
    fn effects(&self) -> usize;

    /// The number of scales, and the one that an effect has.
    fn scales(&self) -> usize;
    fn scale_of(&self, effect: usize) -> usize;

    /// The number of patches, the rows of each, and the effects that it reads.
    fn patches(&self) -> usize;
    fn patch(&self, number: usize) -> Rows;
    fn members(&self, number: usize) -> &[u32];

    /// a_e into `out`; c_e.
    fn location(&self, effect: usize, out: &mut [f64]) -> f64;

    /// Whether a scale moves.
    fn is_scale_free(&self, scale: usize) -> bool;

    /// The log prior density of β and the ln σ_k; −∞ where they are impossible.
    fn log_prior(&mut self, shared: &[f64], log_scales: &[f64]) -> f64;
}

/// β, b and the ln σ_k.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub shared: Vec<f64>,
    pub effects: Vec<f64>,
    pub log_scales: Vec<f64>,
}
