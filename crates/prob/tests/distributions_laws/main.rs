//! What holds for every distribution: total mass one, a closed support, edge values, and errors in the promised words.

#[path = "../distributions_common.rs"]
mod distributions_common;
mod edges;
mod errors;
mod mass;
mod properties;
