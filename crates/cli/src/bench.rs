use crate::failure::Failure; pub fn bench(_: &crate::args::BenchArgs) -> Result<(), Failure> { Err(Failure::message("soon")) }
