//! Programs nobody wrote, and whether kernels leave their laws alone.
//!
//! | module | what it is |
//! |---|---|
//! | [`program`] | a program whose data are drawn with its choices: every start is an exact draw |
//! | [`writer`] | random programs from a seed |
//! | [`features`], [`families`] | what they are made of |
//! | [`kernels`] | the kernels that are run on them |
//! | [`steps`] | one step from an exact draw: the law unchanged, the trace that of a fresh run |

pub mod families;
pub mod features;
pub mod kernels;
pub mod program;
pub mod steps;
mod stopping;
pub mod writer;

pub use program::Wild;
