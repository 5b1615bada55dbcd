//! JSON: the object that `sample --format json` prints.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use smidgen_draws::Run;

use super::Problem;
use crate::json::run_to_json;

pub(super) fn write(file: File, run: &Run) -> Result<File, Problem> {
    let mut writer = BufWriter::new(file);
    serde_json::to_writer(&mut writer, &run_to_json(run))
        .map_err(|error| Problem::Io(error.into()))?;
    writer.write_all(b"\n")?;
    writer.into_inner().map_err(|error| Problem::Io(error.into_error()))
}
