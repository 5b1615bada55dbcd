//! What is done with any bytes whatever: the answer may be an error, never a panic, a hang or a broken trace.
//!
//! | module | bytes are taken for |
//! |---|---|
//! | [`programs`] | the text of a program: read, checked, its mistakes shown; run, moved, looked over |
//! | [`files`] | a table, a file of draws, a run folder that is read and gone on with |
//! | [`directives`] | no bytes: directives from a seed, each whole or not at all |
//! | [`mutation`] | what such bytes are made of when no fuzzer makes them |
//!
//! [`TARGETS`] is the list. `fuzz/` gives each to libFuzzer (`scripts/fuzz`); `tests/smoke.rs` gives them the corpus and changes
//! of it, from a seed, in `cargo test`.

pub mod directives;
pub mod files;
pub mod mutation;
pub mod programs;

/// A way to take bytes.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name in `fuzz/fuzz_targets` and `fuzz/corpus`.
    pub name: &'static str,
    pub take: fn(&[u8]),
}

pub const TARGETS: &[Target] = &[
    Target { name: "text", take: programs::read },
    Target { name: "programs", take: programs::run },
    Target { name: "csv", take: files::csv },
    Target { name: "parquet", take: files::parquet },
    Target { name: "arrow", take: files::arrow },
    Target { name: "npy", take: files::npy },
    Target { name: "npz", take: files::npz },
    Target { name: "draws", take: files::draws },
    Target { name: "folders", take: files::folder },
];

/// The panics that count are ours: decoders of other people run in threads of their own, which may panic on a damaged file,
/// and that is an error to whoever reads it. Everything else goes to the hook that was there.
pub fn leave_decoders_alone() {
    let other = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().name() != Some(smidgen::io::source::DECODER) {
            other(info);
        }
    }));
}
