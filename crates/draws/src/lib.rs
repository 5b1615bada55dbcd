//! Recorded draws and what can be said about them: flattening to scalars, R-hat, effective
//! sample size, Monte Carlo error and the summary table. Pure: no files, no printing.
//!
//! Reading order: [`store`] (draws of any value, by chain), [`numbers`] (as blocks of numbers), [`run`] (draws with the story of
//! how they were made), [`diagnostics`] (numbers about one scalar), [`quantile`],
//! [`summary`] (the table a user reads).

pub mod diagnostics;
pub mod normal;
pub mod numbers;
pub mod quantile;
pub mod run;
pub mod store;
pub mod stuck;
pub mod summary;

pub use numbers::Numbers;
pub use run::{Approximation, KernelReport, Run};
pub use store::{Draws, Quantity, Scalar};
pub use stuck::{Ties, stuck};
pub use summary::{SummaryRow, advice, summarise, summarise_scalar, table};
