//! smidgen: probabilistic programming whose inference reads only as much of the data as each
//! decision needs. This crate is the one boundary for every front end: plain data in, plain data
//! out.
//!
//! * [`Session`] executes directives one after the other on one trace (`smidgen run`, the prompt);
//! * [`sampling`] runs several chains of a program (`smidgen sample`), [`Background`] does so in a thread of its own;
//! * [`mod@compare`] runs them with and without subsampling (`smidgen compare`);
//! * [`mod@explain`] says what the kernels of a program would do (`smidgen explain`);
//! * [`mod@check`] looks at a program without running it;
//! * [`reference`] is what `smidgen help` and the reference page are made of.
//!
//! ```
//! use smidgen::{Session, Settings};
//!
//! let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
//! let program = session.parse_text("example", "
//!     [assume p (beta 1 1)]
//!     [observe (binomial 10 p) 7]
//!     [infer (mh default one 1000)]
//!     [predict p]").unwrap();
//! for directive in &program {
//!     session.execute(directive).unwrap();
//! }
//! ```

mod append;
pub mod background;
pub mod calibrate;
pub mod catalog;
pub mod check;
mod columns;
pub mod compare;
pub mod compile;
pub mod contents;
pub mod enumerate;
pub mod execute;
pub mod explain;
pub mod former;
pub mod impute;
mod kernels;
pub mod likelihood;
pub mod load;
mod missing;
pub mod noted;
pub mod observed;
pub mod outcome;
pub mod population;
pub mod predict;
pub mod reference;
pub mod replay;
pub mod sampling;
mod selection;
pub mod session;
mod simulated;
pub mod steps;
pub mod stopwatch;
pub mod tables;

pub use append::Appended;
pub use background::{Background, Task};
pub use catalog::Catalog;
pub use compare::CompareRequest;
pub use load::TopDirective;
pub use outcome::{Outcome, OutcomeKind};
pub use sampling::{SampleError, SampleRequest, Sampled};
pub use session::{Session, Settings};

pub use smidgen_draws as draws;
pub use smidgen_engine as engine;
pub use smidgen_infer as infer;
pub use smidgen_io as io;
pub use smidgen_lang as lang;
pub use smidgen_prob as prob;
pub use smidgen_report as report;
pub use smidgen_value as value;
