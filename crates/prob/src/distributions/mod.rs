//! The distributions, one file each.

use crate::procedure::Distribution;

/// Every distribution, in the order of the documentation.
pub static ALL: &[&dyn Distribution] = &[];
