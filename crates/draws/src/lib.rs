//! Recorded draws and what can be said about them: flattening to scalars, R-hat, effective
//! sample size, Monte Carlo error and the summary table. Pure: no files, no printing.
//!
//! Reading order: [`store`] (draws of any value, by chain), [`numbers`] (as blocks of numbers), [`online`] (added up, not kept), [`run`] (draws with the story of
//! how they were made), [`diagnostics`] (numbers about one scalar), [`quantile`],
//! [`summary`] (the table a user reads).

pub mod calibration;
pub mod diagnostics;
pub mod loo;
pub mod normal;
pub mod numbers;
pub mod online;
pub mod psis;
pub mod quantile;
pub mod run;
pub mod states;
pub mod store;
pub mod stuck;
pub mod summary;

pub use loo::Pointwise;
pub use numbers::Numbers;
pub use online::Online;
pub use run::{Approximation, KernelReport, LongRun, Run, STATISTICS};
pub use states::{KeepStates, States};
pub use store::{Draws, Quantity, Scalar};
pub use stuck::{Ties, stuck};
pub use summary::{SummaryRow, advice, summarise, summarise_run, summarise_scalar, table};
