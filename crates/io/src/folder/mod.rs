//! Run folders: the draws of a run while it goes on, readable meanwhile, and checkpoints from which it goes on after whatever
//! has stopped it.
//!
//! ```text
//! NAME.run/run.json                what is run: program, options, seed, tables by content
//!          lock                    held by the process that runs it
//!          events.jsonl            what has happened to its data, a line each
//!          chain-0.arrows          draws as an Arrow stream; chain-0.1.arrows after a change of shape
//!          chain-0.ckpt, .prev     the last two checkpoints, see [`checkpoint`]
//!          report.json             what there is to say at the end: there is none as long as the run is unfinished
//! ```

#[cfg(not(feature = "columnar"))]
mod absent;
#[cfg(feature = "columnar")]
pub mod chain;
pub mod checkpoint;
#[cfg(feature = "columnar")]
pub mod columns;
pub mod disk;
#[cfg(feature = "columnar")]
pub(crate) mod frames;
mod memory;
pub mod patience;
#[cfg(feature = "columnar")]
mod reading;
pub mod sums;
#[cfg(feature = "columnar")]
mod tail;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

#[cfg(not(feature = "columnar"))]
pub use absent::{
    ChainDraws, ChainWriter, FolderRun, OUT, Out, Row, Tail, bytes_of_chain, out_of, read_chain,
    read_folder, read_streams, streams,
};
#[cfg(feature = "columnar")]
pub use chain::{ChainWriter, OUT, Out, out_of, streams};
pub use checkpoint::{Checkpoint, Found};
#[cfg(feature = "columnar")]
pub use columns::Row;
pub use disk::{Directory, Disk};
pub use memory::Memory;
pub use patience::{Patience, Trouble};
#[cfg(feature = "columnar")]
pub use reading::{ChainDraws, FolderRun, bytes_of_chain, read_chain, read_folder, read_streams};
#[cfg(feature = "columnar")]
pub use tail::Tail;

const MANIFEST: &str = "run.json";
const REPORT: &str = "report.json";
const LOCK: &str = "lock";
const EVENTS: &str = "events.jsonl";

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Nothing,
    Unfinished,
    Finished,
    /// Something else than a run folder.
    Other,
}

pub fn standing(path: &Path) -> Standing {
    match fs::symlink_metadata(path) {
        Err(_) => Standing::Nothing,
        Ok(_) if !path.join(MANIFEST).is_file() => Standing::Other,
        Ok(_) if path.join(REPORT).is_file() => Standing::Finished,
        Ok(_) => Standing::Unfinished,
    }
}

/// A run folder that this process may write to.
#[derive(Debug)]
pub struct Folder {
    pub path: PathBuf,
    pub disk: Arc<dyn Disk>,
    pub patience: Patience,
    pub manifest: Json,
    /// Held as long as the folder is open, where it is on a disk.
    _lock: Option<File>,
}

impl Folder {
    /// A new folder with what is run. What stood there before has been removed by whoever asked for that.
    pub fn create(path: &Path, manifest: Json, patience: Patience) -> Result<Folder, Trouble> {
        let wrong = |error: std::io::Error| Trouble::new(path.display().to_string(), &error);
        fs::create_dir(path).map_err(wrong)?;
        let lock = lock(path)?;
        let disk = Arc::new(Directory { path: path.to_owned() });
        replace(&*disk, MANIFEST, &manifest).map_err(wrong)?;
        // The folder's own name.
        if let Some(parent) = path.parent() {
            let parent =
                if parent.as_os_str().is_empty() { Path::new(".") } else { parent }.to_owned();
            Directory { path: parent }.sync_names().map_err(wrong)?;
        }
        Ok(Folder { path: path.to_owned(), disk, patience, manifest, _lock: Some(lock) })
    }

    /// A folder that was left unfinished, or is to be made longer.
    pub fn open(path: &Path, patience: Patience) -> Result<Folder, Trouble> {
        let manifest = manifest(path)?;
        let lock = lock(path)?;
        let disk = Arc::new(Directory { path: path.to_owned() });
        Ok(Folder { path: path.to_owned(), disk, patience, manifest, _lock: Some(lock) })
    }

    /// A folder that nobody else sees.
    pub fn in_memory(disk: Arc<dyn Disk>, patience: Patience) -> Folder {
        let (path, manifest) = (PathBuf::from("in memory"), Json::Null);
        Folder { path, disk, patience, manifest, _lock: None }
    }

    /// Says what is run from now on.
    pub fn set_manifest(&mut self, manifest: Json) -> Result<(), Trouble> {
        let wrong = |error: std::io::Error| Trouble::new(self.disk.shown(MANIFEST), &error);
        replace(&*self.disk, MANIFEST, &manifest).map_err(wrong)?;
        self.manifest = manifest;
        Ok(())
    }

    /// The last checkpoint of a chain.
    pub fn checkpoint(&self, chain: usize) -> Result<Found, Trouble> {
        let wrong =
            |error: std::io::Error| Trouble::new(self.disk.shown(&checkpoint::name(chain)), &error);
        checkpoint::read(&*self.disk, chain).map_err(wrong)
    }

    /// Where a chain writes its draws.
    pub fn writer(
        &self,
        chain: usize,
        names: Vec<String>,
        from: Option<&Out>,
    ) -> Result<ChainWriter, Trouble> {
        ChainWriter::open(self.disk.clone(), self.patience.clone(), chain, names, from)
    }

    /// The run is finished: this is what there is to say about it.
    pub fn finish(&self, report: &Json) -> Result<(), Trouble> {
        self.patience.until(&self.disk.shown(REPORT), || replace(&*self.disk, REPORT, report))
    }

    /// Notes what has happened, on a line of its own.
    pub fn note(&self, event: &Json) -> Result<(), Trouble> {
        let line = format!("{event}\n");
        let wrong = |error: std::io::Error| Trouble::new(self.disk.shown(EVENTS), &error);
        let is_new = self.disk.length(EVENTS).map_err(wrong)?.is_none();
        self.disk.append(EVENTS, line.as_bytes()).map_err(wrong)?;
        self.disk.sync(EVENTS).map_err(wrong)?;
        if is_new { self.disk.sync_names().map_err(wrong) } else { Ok(()) }
    }

    /// Cuts off a note that was half written.
    pub fn mend_events(&self) -> Result<(), Trouble> {
        let wrong = |error: std::io::Error| Trouble::new(self.disk.shown(EVENTS), &error);
        let Some(text) = self.disk.read(EVENTS).map_err(wrong)? else { return Ok(()) };
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            self.disk.cut(EVENTS, whole as u64).map_err(wrong)?;
        }
        Ok(())
    }

    /// The run goes on.
    pub fn unfinish(&self) -> Result<(), Trouble> {
        let name = self.disk.shown(REPORT);
        self.patience
            .until(&name, || self.disk.remove(REPORT).and_then(|()| self.disk.sync_names()))
    }
}

/// What a folder says about its run.
pub fn manifest(path: &Path) -> Result<Json, Trouble> {
    let wrong = |problem: String| Trouble(format!("{}: {problem}", path.display()));
    if standing(path) == Standing::Nothing {
        return Err(wrong("there is no such run folder".to_owned()));
    }
    let text = fs::read_to_string(path.join(MANIFEST))
        .map_err(|error| wrong(format!("this is no run folder: {MANIFEST}: {error}")))?;
    serde_json::from_str(&text).map_err(|error| wrong(format!("{MANIFEST} is damaged: {error}")))
}

/// How many chains a folder says it has: no more than anybody can ask for, whatever it says.
pub fn chains_of(manifest: &Json) -> usize {
    const MOST: u64 = 1_000_000;
    manifest["chains"].as_u64().unwrap_or(0).min(MOST) as usize
}

/// Of these the first so many, among which are all that have left something in the folder.
pub fn begun_chains(path: &Path, manifest: &Json) -> usize {
    let number = |entry: fs::DirEntry| -> Option<usize> {
        let name = entry.file_name();
        name.to_str()?.strip_prefix("chain-")?.split('.').next()?.parse().ok()
    };
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let most = entries.filter_map(number).max().map_or(0, |last| last.saturating_add(1));
    chains_of(manifest).min(most)
}

/// What has happened to the data of a run, in order.
pub fn events(path: &Path) -> Vec<Json> {
    let text = fs::read_to_string(path.join(EVENTS)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// What a finished run says at its end.
pub fn report(path: &Path) -> Option<Json> {
    serde_json::from_str(&fs::read_to_string(path.join(REPORT)).ok()?).ok()
}

/// Removes a run folder and nothing else: files that a run does not make stay, and so does their folder.
pub fn discard(path: &Path) -> Result<(), Trouble> {
    let wrong = |error: std::io::Error| Trouble::new(path.display().to_string(), &error);
    let _lock = lock(path)?;
    for entry in fs::read_dir(path).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| {
            [MANIFEST, REPORT, LOCK, EVENTS].contains(&name)
                || name.starts_with("chain-")
                || name.ends_with(".new")
        });
        if is_ours {
            fs::remove_file(entry.path()).map_err(wrong)?;
        }
    }
    fs::remove_dir(path).map_err(wrong)
}

fn replace(disk: &dyn Disk, name: &str, json: &Json) -> std::io::Result<()> {
    let new = format!("{name}.new");
    disk.create(&new, format!("{json:#}\n").as_bytes())?;
    disk.sync(&new)?;
    disk.rename(&new, name)?;
    disk.sync_names()
}

/// Only one process may run a folder.
fn lock(path: &Path) -> Result<File, Trouble> {
    #[cfg(all(unix, feature = "columnar"))]
    smidgen_mapped::report_size_limits();
    let wrong = |error: std::io::Error| Trouble::new(path.join(LOCK).display().to_string(), &error);
    let mut options = OpenOptions::new();
    let mut file = options
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path.join(LOCK))
        .map_err(wrong)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut who = String::new();
            let _ = file.read_to_string(&mut who);
            let who = who.trim();
            let shown = path.display();
            return Err(Trouble(format!("{shown}: process {who} is running it")));
        }
        // A file system without locks is no reason not to write.
        Err(TryLockError::Error(_)) => {}
    }
    file.set_len(0).map_err(wrong)?;
    write!(file, "{}", std::process::id()).map_err(wrong)?;
    Ok(file)
}
