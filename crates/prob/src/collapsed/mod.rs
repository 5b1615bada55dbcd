//! Makers of exchangeable procedures, one family per file.

use crate::procedure::Maker;

/// Every maker, in the order of the documentation.
pub static ALL: &[&dyn Maker] = &[];
