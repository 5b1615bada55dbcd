//! Files mapped into memory: their bytes can be read where they lie, and the system brings a page
//! in when somebody first reads it. The only crate with `unsafe` code.
//!
//! What becomes of the file while it is mapped:
//!
//! * deleted, or replaced by renaming another one: no harm, the mapping keeps the old file alive;
//! * made shorter: reading a page that is gone raises SIGBUS, which would kill the process with no
//!   word. `fault.rs` says which file it was and ends the process in an orderly way;
//! * overwritten in place: the new bytes are read. Nothing can prevent it;
//!   [`Mapped::is_changed`] notices it afterwards, as far as the file's date tells.
//!
//! Not done: writing, anonymous memory, advice to the system about the order of reading.

#[cfg(unix)]
mod fault;
#[cfg(unix)]
mod limits;

#[cfg(unix)]
pub use limits::report_size_limits;

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The bytes that a file had when it was mapped.
pub struct Mapped {
    // Dropped first: what is watched is a mapping.
    #[cfg(unix)]
    _watched: fault::Watched,
    map: memmap2::Mmap,
    file: File,
    path: PathBuf,
    modified: Option<SystemTime>,
}

impl Mapped {
    pub fn open(path: &Path) -> io::Result<Mapped> {
        Mapped::new(File::open(path)?, path)
    }

    /// A regular file that is open already; the path is for messages. An error if it is no
    /// regular file, empty, or on a file system that does not map.
    pub fn new(file: File, path: &Path) -> io::Result<Mapped> {
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() == 0 {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let map = map(&file, &metadata)?;
        Ok(Mapped {
            #[cfg(unix)]
            _watched: fault::Watched::new(&map, path),
            map,
            file,
            path: path.to_owned(),
            modified: metadata.modified().ok(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file has been written to since it was mapped. A file that was deleted or
    /// replaced is not changed: what is mapped is still there.
    pub fn is_changed(&self) -> bool {
        self.file.metadata().is_ok_and(|now| {
            now.len() != self.map.len() as u64 || now.modified().ok() != self.modified
        })
    }
}

#[allow(unsafe_code)]
fn map(file: &File, metadata: &Metadata) -> io::Result<memmap2::Mmap> {
    let length = usize::try_from(metadata.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    // SAFETY: the mapping is private to us and never written through. What remains is that
    // somebody else writes to the file. We cannot exclude it; users are told not to do it, and
    // these hold nevertheless: a page that is gone ends the process (`fault.rs`); bytes are
    // given out as bytes, of which every pattern is valid; and whoever relies on a property of
    // them that was checked before (lengths, offsets, UTF-8) has to copy them first.
    unsafe { memmap2::MmapOptions::new().len(length).map(file) }
}

impl fmt::Debug for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapped({}, {} bytes)", self.path.display(), self.len())
    }
}

impl Deref for Mapped {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_when_the_file_goes_and_a_change_is_noticed() {
        let folder = std::env::temp_dir().join(format!("smidgen-mapped-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (path, other) = (folder.join("a"), folder.join("b"));
        assert!(Mapped::open(&folder).is_err() && Mapped::open(&path).is_err());
        std::fs::write(&path, b"").expect("written");
        assert!(Mapped::open(&path).is_err());
        std::fs::write(&path, b"some bytes").expect("written");
        std::fs::write(&other, b"others").expect("written");
        let mapped = Mapped::open(&path).expect("a regular file");
        assert_eq!((mapped.path(), &mapped[..]), (path.as_path(), &b"some bytes"[..]));
        std::fs::rename(&other, &path).expect("replaced");
        std::fs::remove_file(&path).expect("removed");
        assert!(!mapped.is_changed() && *mapped == *b"some bytes");
        std::fs::write(&path, b"some bytes").expect("written");
        let mapped = Mapped::open(&path).expect("a regular file");
        File::options().write(true).open(&path).and_then(|f| f.set_len(4)).expect("shortened");
        assert!(mapped.is_changed());
        std::fs::remove_dir_all(&folder).expect("the folder is still there");
    }
}
