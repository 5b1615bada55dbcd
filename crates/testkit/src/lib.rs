//! What makes a kernel trustworthy: instruments for tests, none of them part of the product.
//!
//! | module | question it answers |
//! |---|---|
//! | [`world`] | a program text, run: the model that a test looks at |
//! | [`oracle`] | what should log α be? densities computed from outside the engine |
//! | [`enumerate`] | is the posterior stationary to 1e-12, on a finite program? |
//! | [`finite`] | programs with finitely many states |
//! | [`gibbs`] | the same for draws from conditional laws with fresh brushes |
//! | [`particles`] | the same for conditional sequential Monte Carlo; twins with one mistake |
//! | [`invariance`] | does a kernel keep the joint law of (θ, y), started from an exact draw? |
//! | [`geweke`], [`sbc`] | the same by a long chain, and by ranks |
//! | [`matrix`] | every path that evaluates densities against the trace |
//! | [`mixture`] | the joint DPM with data of its own |
//! | [`pvalue`], [`budget`] | how surprising is that, and how often may we be surprised? |
//! | [`anything`] | expressions and directives of any kind, right or wrong |
//! | [`programs`] | random programs for properties that hold for all programs |
//! | [`sections`] | decisions by sections: twins with one mistake, transitions with their costs |
//! | [`two_ways`] | log α from the whole scaffold and from sections |
//! | [`wild`] | programs nobody wrote: does a kernel leave their laws alone? |
//! | [`twins`] | kernels with one mistake each, which the instruments have to notice |

pub mod anything;
pub mod budget;
pub mod enumerate;
pub mod finite;
pub mod geweke;
pub mod gibbs;
pub mod invariance;
pub mod matrix;
pub mod mixture;
pub mod oracle;
pub mod particles;
pub mod programs;
pub mod pvalue;
pub mod sbc;
pub mod sections;
pub mod twins;
pub mod two_ways;
pub mod wild;
pub mod world;

pub use pvalue::PValue;
pub use world::World;
