//! The file operations of a run folder, behind a small trait: what a power cut may leave of them is enumerated over a disk in
//! memory (`tests/power_cut.rs`), and faults are put into them one by one.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// A folder, by the names in it.
pub trait Disk: fmt::Debug + Send + Sync {
    /// How long a file is; None if there is none.
    fn length(&self, name: &str) -> io::Result<Option<u64>>;
    /// So many bytes of a file from a place on, or as many as there are.
    fn read_at(&self, name: &str, start: u64, most: usize) -> io::Result<Vec<u8>>;

    /// None if there is no such file.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match self.length(name)? {
            None => Ok(None),
            Some(length) => self.read_at(name, 0, length as usize).map(Some),
        }
    }

    /// A new file with these bytes, in the place of what was there.
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()>;
    /// Bytes at the end of a file, which is made if there is none.
    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()>;
    /// Cuts a file to a length.
    fn cut(&self, name: &str, length: u64) -> io::Result<()>;
    /// The bytes of a file are safe from then on.
    fn sync(&self, name: &str) -> io::Result<()>;
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    /// The names in the folder are safe from then on.
    fn sync_names(&self) -> io::Result<()>;
    /// What messages call it.
    fn shown(&self, name: &str) -> String;
}

/// A folder of the file system.
#[derive(Clone, Debug)]
pub struct Directory {
    pub path: PathBuf,
}

impl Directory {
    fn open(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.path.join(name))
    }
}

impl Disk for Directory {
    fn length(&self, name: &str) -> io::Result<Option<u64>> {
        match fs::metadata(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(|found| Some(found.len())),
        }
    }

    fn read_at(&self, name: &str, start: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.path.join(name))?;
        file.seek(io::SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        File::create(self.path.join(name))?.write_all(bytes)
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.create(true).append(true).open(self.path.join(name))?.write_all(bytes)
    }

    fn cut(&self, name: &str, length: u64) -> io::Result<()> {
        self.open(name)?.set_len(length)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.open(name)?.sync_all()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn sync_names(&self) -> io::Result<()> {
        match File::open(&self.path).and_then(|folder| folder.sync_all()) {
            // Some systems cannot sync a folder.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
            synced => synced,
        }
    }

    fn shown(&self, name: &str) -> String {
        Path::new(&self.path).join(name).display().to_string()
    }
}
