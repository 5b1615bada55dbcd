//! Derivatives against differences, for everything in the registry: a function or distribution
//! that has neither a derivative nor a place in a list of those without fails.
//!
//! * [`difference`]: a derivative from values alone, with an estimate of its error;
//! * [`curves`]: functions of one number to a high order, with their ranges ([`curve_references`]);
//! * [`functions`]: the deterministic procedures;
//! * [`distributions`]: the densities; [`extremes`]: where differences say nothing;
//!   [`recipes`]: the densities as sums, products and curves.

mod curve_references;
mod curves;
mod difference;
#[path = "../distributions_common.rs"]
mod distributions_common;

mod distributions;
mod extremes;
mod functions;
mod recipes;
