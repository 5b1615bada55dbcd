//! Text to syntax to core program, with diagnostics. Knows values, but no trace.
//!
//! Reading order: [`source`] (texts and spans), [`diagnostic`] (what is wrong, and where),
//! [`lexer`] (text to tokens, never fails), [`syntax`] (the surface tree), [`parser`] (tokens to
//! syntax, error nodes instead of failure), [`core`] (the small language that is evaluated),
//! [`lower`] (syntax to core: sugar, names, parameters, data cells), [`printer`] (back to text),
//! [`forms`] (the documentation of special forms and directives).

pub mod core;
pub mod diagnostic;
pub mod forms;
pub mod lexer;
pub mod lower;
pub mod parser;
pub mod printer;
pub mod source;
pub mod syntax;

pub use diagnostic::{Diagnostic, Severity};
pub use source::{SourceId, SourceMap, Span};
