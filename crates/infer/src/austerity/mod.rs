//! The mathematics of the sequential test: how often it errs, how much it reads, and when its
//! assumptions deserve no trust. Nothing here sees a trace, a section or a kernel: numbers in,
//! numbers out.
//!
//! A test looks at n_1 < n_2 < … < n_J = N of the N log weights l_i, drawn without replacement,
//! and stops when their mean ȳ is farther from the threshold μ0 than T⁻¹_{n−1}(1 − ε) standard
//! errors.
//!
//! Reading order: [`tails`] (Student and normal tails and quantiles), [`moments`] (running mean
//! and variance, the shape of a population), [`schedule`] (when the test looks),
//! [`mod@programme`] (error and usage at one margin), [`table`] (at all margins), [`pair`] (of one
//! proposal), [`mod@design`] (the choice of batch and ε), [`normality`] and [`mod@check`] (whether
//! to trust any of it), [`agreement`] (whether two runs tell the same story).

pub mod agreement;
pub mod check;
pub mod design;
pub mod moments;
pub mod normality;
pub mod pair;
pub mod programme;
mod quadrature;
pub mod schedule;
pub mod table;
pub mod tails;

pub use check::{Check, Trust, check};
pub use design::{Design, design};
pub use moments::{Accumulator, Shape, Tail};
pub use normality::Tested;
pub use pair::{Pair, PairOutcome, pair_outcome};
pub use programme::{Outcome, programme};
pub use schedule::Schedule;
pub use table::ErrorTable;
pub use tails::{
    CriticalValues, normal_cdf, normal_density, normal_quantile, normal_tail, student_t_critical,
    student_t_tail,
};
