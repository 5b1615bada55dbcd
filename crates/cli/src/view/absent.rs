//! A command that was built without pages about running runs.

use std::path::Path;

use crate::args::ViewArgs;
use crate::failure::Failure;

const NONE: &str = "this smidgen was built without the feature `live`";

pub fn view(_: &ViewArgs) -> Result<(), Failure> {
    Err(Failure::Usage(NONE.to_owned()))
}

pub fn beside(_: &Path) -> Result<(), Failure> {
    Err(Failure::Usage(NONE.to_owned()))
}
