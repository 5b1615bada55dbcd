//! Everything with a name in the language, for stubs, completion and the compiler.

use pyo3::prelude::*;

/// (group, name, aliases, how it is written, what it does, example)
type Entry = (&'static str, &'static str, Vec<&'static str>, String, &'static str, &'static str);

/// Everything with a name.
#[pyfunction]
pub fn entries() -> Vec<Entry> {
    smidgen::reference::entries()
        .into_iter()
        .map(|e| (e.group, e.name, e.aliases.to_vec(), e.shape, e.summary, e.example))
        .collect()
}

/// The command; gives its exit code.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| smidgen_cli::main_with(arguments))
}

#[pyfunction]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
