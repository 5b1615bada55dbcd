//! Text to core, from outside: what is accepted and what it means, and what is said about the
//! rest.

mod depth;
mod diagnostics;
mod given;
mod lexing;
mod lowering;
mod parsing;
mod printing;
mod properties;
mod support;
