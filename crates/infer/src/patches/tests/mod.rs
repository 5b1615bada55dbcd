//! Sweeps against scanned chains and against a walk on the joint density; fixtures; and what would be seen if bounds were wrong.

mod fixtures;
pub mod law;
pub mod model;
