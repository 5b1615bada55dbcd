//! The native half of the Python package `smidgen`: plain data in, plain data out, no opinion on
//! how it is spelt in Python (that is `python/smidgen`).
//!
//! * [`data`]: tables from Arrow streams and from NumPy's buffers, lent or copied;
//! * [`value`]: values of the language from and to Python objects;
//! * [`program`]: a text with its inputs: check, explain, start a run;
//! * [`order`]: what is asked of a run, and the folder it is written to;
//! * [`run`]: a run in threads of its own; the caller waits as long as it likes;
//! * [`result`]: what was drawn, as NumPy sees it and as an Arrow stream;
//! * [`job`]: everything else that takes long; [`likelihood`] and [`groups`]: what comes of it;
//! * [`shard`]: a part of a table for a chain that runs elsewhere; [`logbook`]: the folder of chains that do;
//! * [`session`]: directives one after the other on one trace;
//! * [`error`]: diagnostics as Python data.
//!
//! The interpreter's lock is released whenever anything takes long. A program comes as text; the
//! compiler of Python functions knows which part of the text came from which part of their source, so
//! places are given as bytes of the text.

mod data;
mod error;
mod groups;
mod job;
mod likelihood;
mod logbook;
mod names;
mod order;
mod program;
mod result;
mod run;
mod session;
mod shard;
mod value;

use pyo3::pymodule;

/// What `smidgen/*.py` is built on; not meant to be imported by anybody else.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::data::Table;
    #[pymodule_export]
    use crate::job::Job;
    #[pymodule_export]
    use crate::likelihood::{Likelihood, Loo, compare_models};
    #[pymodule_export]
    use crate::logbook::Logbook;
    #[pymodule_export]
    use crate::names::{entries, main, version};
    #[pymodule_export]
    use crate::order::{pilots, spacing, versions};
    #[pymodule_export]
    use crate::program::Program;
    #[pymodule_export]
    use crate::result::{Numbers, Outcome, discard_folder, read_outcome, standing};
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::shard::{Shard, tables_differ};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("Failure", module.py().get_type::<crate::error::Failure>())
    }
}
