//! The deterministic procedures, one file per family.

use crate::procedure::Function;

/// Every function, by family, in the order of the documentation.
pub static ALL: &[&[Function]] = &[];
