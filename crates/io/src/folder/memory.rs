//! A run folder that is in memory alone: for chains whose files are sent elsewhere.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::disk::Disk;

/// Files by name.
#[derive(Debug, Default)]
pub struct Memory {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
}

fn missing(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, name.to_owned())
}

impl Memory {
    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for Memory {
    fn length(&self, name: &str) -> io::Result<Option<u64>> {
        Ok(self.files().get(name).map(|bytes| bytes.len() as u64))
    }

    fn read_at(&self, name: &str, start: u64, most: usize) -> io::Result<Vec<u8>> {
        let files = self.files();
        let bytes = files.get(name).ok_or_else(|| missing(name))?;
        let start = bytes.len().min(start as usize);
        Ok(bytes[start..start.saturating_add(most).min(bytes.len())].to_vec())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.files().insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.files().entry(name.to_owned()).or_default().extend_from_slice(bytes);
        Ok(())
    }

    fn cut(&self, name: &str, length: u64) -> io::Result<()> {
        self.files().get_mut(name).ok_or_else(|| missing(name))?.truncate(length as usize);
        Ok(())
    }

    fn sync(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files();
        let bytes = files.remove(from).ok_or_else(|| missing(from))?;
        files.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files().remove(name);
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn shown(&self, name: &str) -> String {
        name.to_owned()
    }
}
