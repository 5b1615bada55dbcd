//! The engine matrix: programs × every path that can evaluate densities × ordinary and extreme numbers, all held against
//! one semantics, the trace.
//!
//! A path makes *claims* about a program in some state: its log joint density, the ratio of two of them, a
//! slope. The reference is the program run from its text as nodes with the same values of its choices, where nothing
//! is moved, compiled or kept. A claim holds if it is the same −∞ or the same number to 1e-9 relative; a
//! slope, if it is that of differences of the reference.
//!
//! | module | what it is |
//! |---|---|
//! | [`subject`] | a program with its data, as nodes or with plates |
//! | [`reference`] | what is right |
//! | [`claim`] | what a path says, and whether that is so |
//! | [`moves`] | values that choices are moved to |
//! | [`paths`] | the table of paths |
//! | [`numbers`] | ordinary and extreme numbers |
//! | [`writer`], [`families`], `makers` | random programs |
//! | [`named`] | programs whose densities are known on paper |
//! | [`known`] | what is known to differ today |
//! | [`run`] | paths tried on programs, counted; twins with one mistake |

pub mod claim;
pub mod families;
pub mod known;
mod makers;
pub mod moves;
pub mod named;
pub mod numbers;
pub mod paths;
pub mod reference;
pub mod run;
pub mod subject;
pub mod writer;
