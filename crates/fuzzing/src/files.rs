//! Any bytes as a file: tables in each format, files of draws, run folders. A reader gives an error or something whole: columns of
//! one length whose cells can be looked at, draws that can be summed up and written again.
//!
//! A run folder is given as its files one after the other, each a number for its name, its length in four bytes and its bytes
//! ([`packed`]). A checkpoint whose sums do not fit is never looked into; so there is a name for one whose sections are given
//! alone and are sealed here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use smidgen::draws::Run;
use smidgen::draws::summary::summarise;
use smidgen::io::folder::{Checkpoint, Folder, Patience};
use smidgen::io::{
    ColumnSelection, Progress, TableOptions, VectorColumn, decode_states, encode_states, read_run,
    read_table, run_to_json, write_draws,
};
use smidgen::sampling::{Durable, SampleRequest, sample};
use smidgen::value::Symbol;
use smidgen::{Session, Settings};

/// A folder for one case, gone at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("smidgen-any-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the case");
        Scratch(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a file for the case");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

// ---------------------------------------------------------------- tables

pub fn csv(bytes: &[u8]) {
    table("t.csv", bytes);
}

pub fn parquet(bytes: &[u8]) {
    table("t.parquet", bytes);
}

/// Files as well as streams.
pub fn arrow(bytes: &[u8]) {
    table("t.arrow", bytes);
}

pub fn npy(bytes: &[u8]) {
    table("t.npy", bytes);
}

pub fn npz(bytes: &[u8]) {
    table("t.npz", bytes);
}

fn table(name: &str, bytes: &[u8]) {
    let scratch = Scratch::new();
    let path = scratch.file(name, bytes);
    let vector =
        VectorColumn { name: Symbol::new("x"), columns: ColumnSelection::Glob("x*".to_owned()) };
    let as_vector = TableOptions { vectors: vec![vector], ..TableOptions::default() };
    for options in [TableOptions::default(), as_vector] {
        match read_table(&path, &options) {
            Ok(table) => look_at(&table),
            Err(error) => assert!(error.to_string().contains(name), "{error}"),
        }
    }
}

fn look_at(table: &smidgen::value::Table) {
    assert!(table.rows() > 0, "a table without rows is an error");
    for name in table.names() {
        let column = table.column(*name).expect("names have columns");
        assert_eq!(column.len(), table.rows(), "column {name}");
        for row in [0, table.rows() / 2, table.rows() - 1] {
            let _ = column.cell(row).to_string();
        }
        let _ = table.missing(*name);
    }
}

// ---------------------------------------------------------------- draws

/// A file of draws, or of states beside them. What it begins with says which: nobody else would.
pub fn draws(bytes: &[u8]) {
    if bytes.starts_with(b"SMGstat") {
        return states(bytes);
    }
    let name = match bytes {
        [b'P', b'A', b'R', b'1', ..] => "d.parquet",
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => "d.arrow",
        [b'{', ..] => "d.json",
        _ => "d.csv",
    };
    let scratch = Scratch::new();
    let path = scratch.file(name, bytes);
    match read_run(&path) {
        Ok(run) => use_draws(&scratch, &run),
        Err(error) => assert!(error.to_string().contains(name), "{error}"),
    }
}

fn states(bytes: &[u8]) {
    if let Some(states) = decode_states(bytes)
        && let Ok(again) = encode_states(&states)
    {
        assert!(decode_states(&again).is_some(), "what is written can be read");
    }
}

fn use_draws(scratch: &Scratch, run: &Run) {
    for row in summarise(&run.draws) {
        let _ = row.has_few() || row.disagrees();
    }
    let _ = run_to_json(run).to_string();
    for name in ["again.csv", "again.parquet"] {
        let path = scratch.0.join(name);
        if write_draws(&path, run).is_ok() && !run.draws.scalars().is_empty() {
            let again = read_run(&path).unwrap_or_else(|error| panic!("what was written: {error}"));
            assert_eq!(again.draws.scalars().len(), run.draws.scalars().len());
        }
    }
}

// ---------------------------------------------------------------- run folders

/// The program of the runs in the corpus.
pub const PROGRAM: &str = "[assume mu (normal 0 10)] [assume k (poisson 2)]
[assume g (mem (lambda (i) (normal mu 1)))]
[for i in (range 0 4) [observe (normal (g (int_mod i (+ k 1))) 1) (* 0.7 i)]]
[predict mu] [predict k] [predict (list mu (g 0))]
";
const NAMES: [&str; 8] = [
    "run.json",
    "report.json",
    "chain-0.arrows",
    "chain-0.1.arrows",
    "chain-0.ckpt",
    "chain-0.ckpt.prev",
    // Sections alone.
    "chain-0.ckpt",
    "chain-0.ckpt.prev",
];
const SEALED: usize = 6;

/// The files of a folder as one entry of the corpus; checkpoints as their sections.
pub fn packed(folder: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, name) in NAMES.iter().enumerate() {
        let Ok(bytes) = std::fs::read(folder.join(name)) else { continue };
        let checkpoint = Checkpoint::decode(&bytes).filter(|_| number >= SEALED);
        let bytes = match checkpoint {
            Some(checkpoint) => sections(&checkpoint),
            None if name.contains("ckpt") => continue,
            None => bytes,
        };
        out.push(number as u8);
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(bytes);
    }
    out
}

fn sections(checkpoint: &Checkpoint) -> Vec<u8> {
    let mut out = Vec::new();
    for (tag, bytes) in &checkpoint.sections {
        out.extend(tag);
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(bytes);
    }
    out
}

/// A length in four bytes and what it is the length of, as far as there is anything.
fn lengthy<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = (u32::from_le_bytes(*length) as usize).min(rest.len());
    let (part, rest) = rest.split_at(length);
    *bytes = rest;
    Some(part)
}

fn sealed(mut bytes: &[u8]) -> Vec<u8> {
    let mut sections = Vec::new();
    while let Some((tag, rest)) = bytes.split_first_chunk::<4>() {
        bytes = rest;
        let Some(part) = lengthy(&mut bytes) else { break };
        sections.push((*tag, part.to_vec()));
    }
    Checkpoint::new(sections).encode()
}

/// A run folder: it is read, and then gone on with.
pub fn folder(mut bytes: &[u8]) {
    let scratch = Scratch::new();
    let path = scratch.0.join("any.run");
    std::fs::create_dir(&path).expect("a folder for the case");
    while let Some((number, rest)) = bytes.split_first() {
        bytes = rest;
        let number = usize::from(*number) % NAMES.len();
        let Some(part) = lengthy(&mut bytes) else { break };
        let part = if number >= SEALED { sealed(part) } else { part.to_vec() };
        std::fs::write(path.join(NAMES[number]), part).expect("a file for the case");
    }
    if let Ok(run) = read_run(&path) {
        use_draws(&scratch, &run);
    }
    go_on(&path);
}

/// Goes on with the chain, whatever it stands at.
fn go_on(path: &Path) {
    let patience =
        Patience { between: Duration::ZERO, at_most: Duration::ZERO, ..Patience::default() };
    let Ok(folder) = Folder::open(path, patience) else { return };
    let durable = Durable { folder: Arc::new(folder), every: Some(5), from_seed: false };
    let request = request(Some(durable));
    let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
    let program = session.parse_text("any.smg", PROGRAM);
    let program = program.unwrap_or_else(|_| panic!("the program is right"));
    if let Ok(sampled) = sample(&mut session, &program, &request, &Progress::default()) {
        let _ = summarise(&sampled.run.draws);
    }
}

/// As the runs of the corpus were asked for.
pub fn request(durable: Option<Durable>) -> SampleRequest {
    SampleRequest {
        draws: 30,
        warmup: 20,
        chains: 1,
        threads: 1,
        seed: 1,
        durable,
        ..SampleRequest::default()
    }
}
