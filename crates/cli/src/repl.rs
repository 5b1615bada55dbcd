use crate::failure::Failure; pub fn repl(_: &crate::args::ReplArgs) -> Result<(), Failure> { Err(Failure::message("soon")) }
