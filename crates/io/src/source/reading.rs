//! How far a long reading is, and how it is stopped.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::error::Problem;

/// How far something long is: read it from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    pub done: AtomicU64,
    /// Zero as long as nothing is known.
    pub total: AtomicU64,
}

/// What a reader tells and is told while it reads.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// In bytes or rows of the file, as suits the format.
    pub progress: &'a Progress,
    /// Set it to stop.
    pub stop: &'a AtomicBool,
}

impl Reading<'_> {
    pub(super) fn begin(&self, total: u64) {
        self.progress.done.store(0, Ordering::Relaxed);
        self.progress.total.store(total, Ordering::Relaxed);
    }

    /// So much more is done; an error if the reading is to stop.
    pub(super) fn advance(&self, more: u64) -> Result<(), Problem> {
        self.progress.done.fetch_add(more, Ordering::Relaxed);
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Problem::Interrupted),
            false => Ok(()),
        }
    }
}

/// A regular file, open once: whoever replaces it by another meanwhile does no harm.
pub(super) struct Opened {
    pub file: File,
    /// When it was opened.
    pub size: u64,
}

impl Opened {
    pub fn new(path: &Path) -> Result<Opened, Problem> {
        let metadata = std::fs::metadata(path).map_err(Problem::Io)?;
        if metadata.is_dir() {
            return Err(Problem::Directory);
        }
        if !metadata.is_file() {
            return Err(Problem::NotAFile);
        }
        let file = File::open(path).map_err(Problem::Io)?;
        let size = file.metadata().map_err(Problem::Io)?.len();
        Ok(Opened { file, size })
    }

    /// So many bytes from `start` on.
    #[cfg(feature = "columnar")]
    pub fn bytes(&self, start: u64, length: u64) -> Result<Vec<u8>, Problem> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start)).map_err(Problem::Io)?;
        let room = usize::try_from(length.min(self.size)).map_err(|_| Problem::CutOff)?;
        room_for(room as u128)?;
        let mut bytes = Vec::with_capacity(room);
        file.take(length).read_to_end(&mut bytes).map_err(Problem::Io)?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(Problem::CutOff) }
    }

    #[cfg(feature = "columnar")]
    pub fn begins_with(&self, magic: &[u8]) -> Result<bool, Problem> {
        let length = self.size.min(magic.len() as u64);
        Ok(self.bytes(0, length)? == magic)
    }

    #[cfg(feature = "columnar")]
    pub fn ends_with(&self, magic: &[u8]) -> Result<bool, Problem> {
        let length = self.size.min(magic.len() as u64);
        Ok(self.bytes(self.size - length, length)? == magic)
    }

    /// From the first byte on.
    pub fn rewound(&self) -> Result<&File, Problem> {
        (&self.file).seek(SeekFrom::Start(0)).map_err(Problem::Io)?;
        Ok(&self.file)
    }
}

/// An error if there is no room for so many bytes, which a reader is going to fill bit by bit. Nothing is taken: pages that
/// nobody touches cost nothing.
pub(super) fn room_for(bytes: u128) -> Result<(), Problem> {
    let needed = usize::try_from(bytes).unwrap_or(usize::MAX);
    match Vec::<u8>::new().try_reserve_exact(needed) {
        Ok(()) => Ok(()),
        Err(_) => {
            Err(Problem::Memory { megabytes: u64::try_from(bytes >> 20).unwrap_or(u64::MAX) })
        }
    }
}

/// Counts what is read.
pub(super) struct Counted<'a, R> {
    pub inner: R,
    pub bytes: u64,
    pub reading: Reading<'a>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes += read as u64;
        let stopped = |_| io::Error::other("reading was interrupted");
        self.reading.advance(read as u64).map_err(stopped)?;
        Ok(read)
    }
}
