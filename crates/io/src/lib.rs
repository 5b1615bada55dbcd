//! Data in and draws out: the only library crate that touches files.
//!
//! * [`source`]: tables that programs observe, by file extension;
//! * [`sink`]: draws to CSV, JSON, Parquet and Arrow files, by file extension;
//! * [`recorded`]: draws read back from such files;
//! * [`mod@states`]: states of a run, in a file beside its draws;
//! * [`folder`]: a run while it goes on, and checkpoints;
//! * [`json`]: values and runs as JSON.

/// Whether this build reads and writes Parquet, Arrow and NumPy files.
pub const COLUMNAR: bool = cfg!(feature = "columnar");

pub mod folder;
pub mod json;
pub mod recorded;
pub mod sink;
pub mod source;
pub mod states;

pub use json::{json_to_value, run_to_json, value_to_json};
pub use recorded::{RecordedError, join_runs, read_run};
#[cfg(feature = "columnar")]
pub use sink::batches_of_draws;
pub use sink::{SinkError, WriteReport, write_draws};
#[cfg(feature = "columnar")]
pub use source::table_of_batches;
pub use source::{
    ColumnSelection, DataError, Follower, Progress, Reading, TableOptions, VectorColumn, Window,
    bind_vectors, read_table, read_table_with,
};
pub use states::{decode as decode_states, encode as encode_states};
pub use states::{read_states, states_path, write_states};
