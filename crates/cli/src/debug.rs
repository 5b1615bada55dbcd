use crate::failure::Failure; pub fn debug(_: &crate::args::DebugArgs) -> Result<(), Failure> { Err(Failure::message("soon")) }
