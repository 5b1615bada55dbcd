//! Reports about runs: pages of HTML that need no other file, text for a terminal, and JSON.
//! Pure: strings are made, nothing is written.
//!
//! Reading order: [`number`] (how numbers are written), [`table`] (one table, as text or HTML),
//! [`scale`] and [`plot`] (plots as SVG, on top of [`svg`]), [`picture`] and `png` (plots as files of
//! their own), [`density`] (what is plotted of draws),
//! [`page`] (the skeleton of a page), [`run`] (the report of `smidgen report`),
//! [`comparison`] (that of `smidgen compare`), [`calibration`] (that of `smidgen calibrate`), [`loo`].
//!
//! Whatever a run can produce must come out as a page: constant draws, no draws, infinities.
//! A number that is not known is NaN, and is written as a dash.

pub mod calibration;
pub mod comparison;
pub mod density;
pub mod loo;
mod mark;
pub mod number;
pub mod page;
pub mod picture;
pub mod plot;
#[cfg(feature = "png")]
pub mod png;
pub mod run;
pub mod scale;
pub mod svg;
pub mod table;
mod verdict;

pub use calibration::{
    CalibrationPage, calibration_html, calibration_json, calibration_text, calibration_verdict,
};
pub use comparison::{Comparison, comparison_html, comparison_json, comparison_text};
pub use loo::{loo_text, models_text};
pub use run::{RunPage, RunReport, run_report};
pub use verdict::{Finding, Verdict};
