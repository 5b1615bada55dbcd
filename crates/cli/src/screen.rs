//! What goes to the standard output stream for people to read. Names of files and columns, labels and texts of
//! programs are theirs; whatever would steer a terminal is shown as an escape.

use std::io::{self, Write};

use smidgen::lang::printer::printable;

/// Writes a text.
pub fn show(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(printable(text).as_bytes())?;
    out.flush()
}
