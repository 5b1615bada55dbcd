//! What every other crate of smidgen speaks: values, names, random streams and
//! the elementary functions. Knows nothing of programs, traces or inference.
//!
//! Reading order: [`symbol`] (interned names), [`value`] (the one value type),
//! [`buffer`] (shared items), [`vector`] and [`matrix`] (numeric containers), [`table`] (named columns), [`missing`] (its empty cells),
//! [`error`] (a bad argument, in words), [`math`] (the only home of `exp`, `ln`, `lgamma`),
//! [`link`] (numbers known by their log odds or logarithm),
//! [`rng`] (reproducible streams).

pub mod buffer;
pub mod bytes;
pub mod error;
pub mod link;
pub mod math;
pub mod matrix;
pub mod missing;
pub mod rng;
pub mod state;
pub mod symbol;
pub mod table;
pub mod value;
pub mod vector;

pub use buffer::Buffer;
pub use error::ArgumentError;
pub use link::Link;
pub use matrix::Matrix;
pub use missing::{Missing, MissingRule};
pub use rng::Rng;
pub use state::State;
pub use symbol::Symbol;
pub use table::{Column, Lender, Reals, Table, Texts};
pub use value::{Dict, Opaque, Origin, Pair, Value};
pub use vector::Vector;
