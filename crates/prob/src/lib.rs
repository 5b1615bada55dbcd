//! The procedures of the language as pure mathematics: nothing here knows a trace.
//!
//! * [`procedure`]: the interfaces ([`Function`], [`Distribution`], [`Maker`], [`Statistics`]);
//! * [`arguments`]: reading arguments with errors in the language's words;
//! * [`chance`]: a probability, as a number or by its log odds;
//! * [`support`]: where a distribution lives, and the transforms of drift proposals;
//! * [`correlation`]: correlation matrices by their Cholesky factors and coordinates;
//! * [`covariance`]: covariances of Gaussian processes;
//! * [`cumulative`]: distribution functions and quantiles;
//! * [`functions`], [`distributions`], [`collapsed`]: the procedures, one family or one
//!   distribution per file;
//! * [`law`]: laws as arguments of laws;
//! * [`bounds`]: upper bounds of log densities, for rejection sampling;
//! * [`smooth`]: the derivatives of functions, for inference by gradients;
//! * [`recipe`]: log densities as sums, products and curves, for derivatives of higher order and their bounds;
//! * [`standard`]: vectors as functions of standard normal numbers;
//! * [`registry`]: name to procedure, the source of `smidgen help` and of the reference table.

pub mod arguments;
pub mod bounds;
pub mod chance;
pub mod collapsed;
pub mod correlation;
pub mod covariance;
pub mod cumulative;
pub mod distributions;
pub mod functions;
pub mod law;
pub mod linalg;
pub mod positive;
pub mod procedure;
pub mod recipe;
pub mod registry;
pub mod smooth;
pub mod standard;
pub mod support;

pub use procedure::{
    Args, Arity, Distribution, Family, Function, GeneralScore, Linked, Maker, Scalar, ScalarScore,
    Score, SharedTerm, Spec, Statistics, relist,
};
pub use recipe::{Part, Recipe, RecipeStep};
pub use registry::{Builtin, lookup};
pub use support::Support;
