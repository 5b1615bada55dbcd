//! What a power cut may leave of a run folder.
//!
//! The writer's file operations go to a disk in memory that knows what is safe: bytes of a file once it was synced, names once the
//! folder was. After every operation of a short history all outcomes of a cut are tried: of each file's bytes that are not safe
//! none, half or all are there, and of the changes of names that are not safe any subset has come about. Whatever is left must
//! be read as what was committed, or as something later; never as nothing, never as something else.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use smidgen_io::folder::chain::{check_streams, out_of};
use smidgen_io::folder::checkpoint;
use smidgen_io::folder::{ChainWriter, Disk, Found, Patience, Row};

/// A file: its bytes, and how many of them are safe.
#[derive(Clone, Debug, Default)]
struct Inode {
    bytes: Vec<u8>,
    safe: usize,
}

/// A change of names that is not safe yet.
#[derive(Clone, Debug)]
enum Change {
    Name(String, usize),
    Rename(String, String),
    Remove(String),
}

#[derive(Clone, Debug, Default)]
struct Image {
    inodes: Vec<Inode>,
    /// As the process sees it, and as it is on the disk for sure.
    names: BTreeMap<String, usize>,
    safe: BTreeMap<String, usize>,
    changes: Vec<Change>,
}

impl Image {
    /// Every disk that a cut may leave.
    fn cut(&self) -> Vec<Image> {
        let mut left = Vec::new();
        let n = self.changes.len();
        assert!(n <= 8, "few changes of names are open at any time");
        for subset in 0..1usize << n {
            let mut names = self.safe.clone();
            let chosen = self.changes.iter().enumerate().filter(|(k, _)| subset >> k & 1 == 1);
            for (_, change) in chosen {
                match change {
                    Change::Name(name, inode) => drop(names.insert(name.clone(), *inode)),
                    Change::Rename(from, to) => {
                        if let Some(inode) = names.remove(from).or_else(|| self.renamed(from, to)) {
                            names.insert(to.clone(), inode);
                        }
                    }
                    Change::Remove(name) => drop(names.remove(name)),
                }
            }
            let open: Vec<usize> = names
                .values()
                .copied()
                .filter(|inode| self.inodes[*inode].safe < self.inodes[*inode].bytes.len())
                .collect();
            for outcome in 0..3usize.pow(open.len() as u32) {
                let mut image = Image { inodes: self.inodes.clone(), ..Image::default() };
                let mut outcome = outcome;
                for inode in &open {
                    let Inode { bytes, safe } = &mut image.inodes[*inode];
                    let kept = match outcome % 3 {
                        0 => *safe,
                        1 => *safe + (bytes.len() - *safe) / 2,
                        _ => bytes.len(),
                    };
                    bytes.truncate(kept);
                    outcome /= 3;
                }
                (image.names, image.safe) = (names.clone(), names.clone());
                left.push(image);
            }
        }
        left
    }

    /// What a rename moved, where the making of its old name has not reached the disk.
    fn renamed(&self, from: &str, to: &str) -> Option<usize> {
        let made = |change: &Change| match change {
            Change::Name(name, inode) if name == from => Some(*inode),
            _ => None,
        };
        self.changes.iter().rev().find_map(made).or_else(|| self.names.get(to).copied())
    }
}

/// Keeps an image after every operation.
#[derive(Debug, Default)]
struct Memory {
    now: Mutex<Image>,
    /// Images, each with how many commits had been made.
    history: Mutex<Vec<(Image, usize)>>,
    commits: Mutex<usize>,
    /// Whether names are never made safe: the broken twin.
    forgets_names: bool,
}

impl Memory {
    fn with(image: Image) -> Memory {
        Memory { now: Mutex::new(image), ..Memory::default() }
    }

    fn change<T>(&self, f: impl FnOnce(&mut Image) -> io::Result<T>) -> io::Result<T> {
        let mut now = self.now.lock().expect("one thread");
        let done = f(&mut now);
        let commits = *self.commits.lock().expect("one thread");
        self.history.lock().expect("one thread").push((now.clone(), commits));
        done
    }
}

fn missing() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

impl Disk for Memory {
    fn length(&self, name: &str) -> io::Result<Option<u64>> {
        let now = self.now.lock().expect("one thread");
        Ok(now.names.get(name).map(|inode| now.inodes[*inode].bytes.len() as u64))
    }

    fn read_at(&self, name: &str, start: u64, most: usize) -> io::Result<Vec<u8>> {
        let now = self.now.lock().expect("one thread");
        let inode = now.names.get(name).ok_or_else(missing)?;
        let bytes = now.inodes[*inode].bytes.get(start as usize..).unwrap_or_default();
        Ok(bytes[..bytes.len().min(most)].to_vec())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.change(|now| {
            let inode = now.inodes.len();
            now.inodes.push(Inode { bytes: bytes.to_vec(), safe: 0 });
            now.names.insert(name.to_owned(), inode);
            now.changes.push(Change::Name(name.to_owned(), inode));
            Ok(())
        })
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if self.length(name)?.is_none() {
            self.create(name, &[])?;
        }
        self.change(|now| {
            let inode = now.names[name];
            now.inodes[inode].bytes.extend_from_slice(bytes);
            Ok(())
        })
    }

    fn cut(&self, name: &str, length: u64) -> io::Result<()> {
        self.change(|now| {
            let inode = *now.names.get(name).ok_or_else(missing)?;
            let inode = &mut now.inodes[inode];
            inode.bytes.truncate(length as usize);
            inode.safe = inode.safe.min(length as usize);
            Ok(())
        })
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.change(|now| {
            let inode = *now.names.get(name).ok_or_else(missing)?;
            now.inodes[inode].safe = now.inodes[inode].bytes.len();
            Ok(())
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change(|now| {
            let inode = now.names.remove(from).ok_or_else(missing)?;
            now.names.insert(to.to_owned(), inode);
            now.changes.push(Change::Rename(from.to_owned(), to.to_owned()));
            Ok(())
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change(|now| {
            now.names.remove(name);
            now.changes.push(Change::Remove(name.to_owned()));
            Ok(())
        })
    }

    fn sync_names(&self) -> io::Result<()> {
        self.change(|now| {
            if self.forgets_names {
                // They come about some day; that is no promise.
                now.changes.drain(..now.changes.len().saturating_sub(6));
                return Ok(());
            }
            now.changes.clear();
            now.safe = now.names.clone();
            Ok(())
        })
    }

    fn shown(&self, name: &str) -> String {
        name.to_owned()
    }
}

fn row(draw: u64) -> Row {
    let values = vec![(draw as f64 * 0.1).into(), smidgen_value::Value::vector([1.0, draw as f64])];
    Row { draw, epoch: 0, is_warmup: false, values }
}

fn writer(disk: &Arc<Memory>) -> ChainWriter {
    let names = vec!["x".to_owned(), "v".to_owned()];
    let opened = ChainWriter::open(disk.clone(), Patience::default(), 0, names, None);
    opened.expect("an empty disk")
}

/// Draws and commits, with what a checkpoint says besides: its number.
fn history(forgets_names: bool, commits: usize) -> Vec<(Image, usize)> {
    let disk = Arc::new(Memory { forgets_names, ..Memory::default() });
    let mut writer = writer(&disk);
    for commit in 0..commits {
        for k in 0..3 {
            writer.push(row((3 * commit + k) as u64)).expect("in memory");
            if k == 1 {
                writer.flush().expect("in memory");
            }
        }
        writer.commit(vec![(*b"NUM ", vec![commit as u8])]).expect("in memory");
        *disk.commits.lock().expect("one thread") += 1;
    }
    writer.finish().expect("in memory");
    disk.history.lock().expect("one thread").clone()
}

/// What is left after a cut is at least the last commit, and whole.
fn is_sound(image: &Image, commits: usize) -> bool {
    let disk = Memory::with(image.clone());
    let found = checkpoint::read(&disk, 0).expect("in memory");
    let (Found::Last(checkpoint) | Found::Previous(checkpoint)) = found else {
        return commits == 0;
    };
    let number = usize::from(checkpoint.section(b"NUM ").expect("it is written")[0]);
    let Some(out) = out_of(&checkpoint) else { return false };
    if number + 1 < commits || out.rows != 3 * (number as u64 + 1) {
        return false;
    }
    if check_streams(&disk, 0, &out).is_err() {
        return false;
    }
    // Who goes on finds a stream that ends there.
    let disk = Arc::new(disk);
    let names = vec!["x".to_owned(), "v".to_owned()];
    let opened = ChainWriter::open(disk.clone(), Patience::default(), 0, names, Some(&out));
    let mut writer = opened.expect("it can be gone on with");
    let more = (out.rows..out.rows + 3).try_for_each(|draw| writer.push(row(draw)));
    more.is_ok() && writer.commit(vec![(*b"NUM ", vec![number as u8 + 1])]).is_ok()
}

#[test]
fn all_that_a_power_cut_leaves_is_at_least_what_was_committed() {
    let (mut images, mut operations) = (0, 0);
    for (image, commits) in history(false, 3) {
        operations += 1;
        for left in image.cut() {
            images += 1;
            assert!(
                is_sound(&left, commits),
                "after {operations} operations, {commits} commits: {left:?}"
            );
        }
    }
    assert!(operations > 20 && images > 60, "{operations} operations, {images} disks");
}

#[test]
fn a_writer_that_does_not_sync_the_folder_is_caught() {
    let bad = history(true, 2)
        .into_iter()
        .any(|(image, commits)| image.cut().iter().any(|left| !is_sound(left, commits)));
    assert!(bad, "no outcome shows that names are not safe");
}

/// Fails the k-th operation that changes something, once or for ever.
#[derive(Debug)]
struct Failing {
    inner: Memory,
    fails: Mutex<(usize, bool)>,
    kind: io::ErrorKind,
}

impl Failing {
    fn may(&self) -> io::Result<()> {
        let mut fails = self.fails.lock().expect("one thread");
        match fails.0 {
            0 if fails.1 => Err(io::Error::from(self.kind)),
            0 => Ok(()),
            1 => {
                fails.0 = 0;
                Err(io::Error::from(self.kind))
            }
            _ => {
                fails.0 -= 1;
                Ok(())
            }
        }
    }
}

impl Disk for Failing {
    fn length(&self, name: &str) -> io::Result<Option<u64>> {
        self.inner.length(name)
    }
    fn read_at(&self, name: &str, start: u64, most: usize) -> io::Result<Vec<u8>> {
        self.inner.read_at(name, start, most)
    }
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.may()?;
        self.inner.create(name, bytes)
    }
    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        // Half of it is written before it fails.
        if let Err(error) = self.may() {
            self.inner.append(name, &bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        self.inner.append(name, bytes)
    }
    fn cut(&self, name: &str, length: u64) -> io::Result<()> {
        self.may()?;
        self.inner.cut(name, length)
    }
    fn sync(&self, name: &str) -> io::Result<()> {
        self.may()?;
        self.inner.sync(name)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.may()?;
        self.inner.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.may()?;
        self.inner.remove(name)
    }
    fn sync_names(&self) -> io::Result<()> {
        self.may()?;
        self.inner.sync_names()
    }
    fn shown(&self, name: &str) -> String {
        name.to_owned()
    }
}

fn quick(at_most: u64) -> Patience {
    let millis = std::time::Duration::from_millis;
    Patience { between: millis(1), at_most: millis(at_most), ..Patience::default() }
}

/// Writes six draws and two checkpoints; whether all went well.
fn write_through(disk: Arc<Failing>, patience: Patience) -> Result<(), String> {
    let names = vec!["x".to_owned(), "v".to_owned()];
    let mut writer = ChainWriter::open(disk, patience, 0, names, None).map_err(|t| t.0)?;
    for commit in 0..2u64 {
        (0..3).try_for_each(|k| writer.push(row(3 * commit + k))).map_err(|t| t.0)?;
        writer.commit(vec![(*b"NUM ", vec![commit as u8])]).map_err(|t| t.0)?;
    }
    Ok(())
}

#[test]
fn whichever_operation_fails_once_is_tried_again_and_nothing_is_lost() {
    use io::ErrorKind::{Interrupted, Other, StorageFull};
    for kind in [StorageFull, Interrupted, Other] {
        for k in 2..25 {
            let disk =
                Arc::new(Failing { inner: Memory::default(), fails: Mutex::new((k, false)), kind });
            write_through(disk.clone(), quick(500)).expect("it passes");
            let image = disk.inner.now.lock().expect("one thread").clone();
            assert!(is_sound(&image, 2), "{kind:?} at operation {k}");
        }
    }
}

#[test]
fn a_disk_that_stays_full_ends_the_chain_and_names_the_file() {
    for k in 2..15 {
        let fails = Mutex::new((k, true));
        let kind = io::ErrorKind::StorageFull;
        let disk = Arc::new(Failing { inner: Memory::default(), fails, kind });
        let error = write_through(disk.clone(), quick(20)).expect_err("it is full");
        assert!(error.contains("chain-0") && error.contains("cannot be written"), "{error}");
        let image = disk.inner.now.lock().expect("one thread").clone();
        assert!(is_sound(&image, 0), "full at operation {k}");
    }
}
