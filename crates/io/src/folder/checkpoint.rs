//! The file of a checkpoint.
//!
//! ```text
//! 89 'SMGc' 0D 0A 1A | u32 format | u32 image | u32 arithmetic | u64 length of the file | u32 sections
//! tag[4] | u64 length | bytes                                                       (each section)
//! 'END ' | u64 quick sum | u32 CRC-32, both of everything before
//! ```
//!
//! Sums are looked at before anything else is. The file is written under another name, synced, the old one kept as `.prev`, the
//! new one renamed, and the folder synced: at every moment one of the two is whole.

use std::io;

use smidgen_value::bytes::{Bytes, Input};

use super::disk::Disk;
use super::sums::Sums;

const HEAD: [u8; 8] = [0x89, b'S', b'M', b'G', b'c', 0x0D, 0x0A, 0x1A];
const END: [u8; 4] = *b"END ";
/// Of this container, of what is in the sections, and of the numbers that a program computes: a release that raises none of
/// these goes on with the runs of the one before, bit for bit.
pub const FORMAT: u32 = 1;
pub const IMAGE: u32 = 1;
pub const ARITHMETIC: u32 = 1;

/// Named parts of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    pub image: u32,
    pub arithmetic: u32,
    pub sections: Vec<([u8; 4], Vec<u8>)>,
}

impl Checkpoint {
    pub fn new(sections: Vec<([u8; 4], Vec<u8>)>) -> Checkpoint {
        Checkpoint { image: IMAGE, arithmetic: ARITHMETIC, sections }
    }

    pub fn section(&self, tag: &[u8; 4]) -> Option<&[u8]> {
        self.sections.iter().find(|(known, _)| known == tag).map(|(_, bytes)| bytes.as_slice())
    }

    pub fn encode(&self) -> Vec<u8> {
        let body: usize = self.sections.iter().map(|(_, bytes)| 12 + bytes.len()).sum();
        let length = HEAD.len() + 12 + 8 + 4 + body + END.len() + 12;
        let mut out = Vec::with_capacity(length);
        HEAD.put(&mut out);
        FORMAT.put(&mut out);
        self.image.put(&mut out);
        self.arithmetic.put(&mut out);
        length.put(&mut out);
        (self.sections.len() as u32).put(&mut out);
        for (tag, bytes) in &self.sections {
            tag.put(&mut out);
            bytes.put(&mut out);
        }
        END.put(&mut out);
        let sums = Sums::of(&out);
        sums.quick().put(&mut out);
        sums.crc().put(&mut out);
        out
    }

    /// None if a bit of it is not as it was written.
    pub fn decode(bytes: &[u8]) -> Option<Checkpoint> {
        let (body, sums) = bytes.split_last_chunk::<12>()?;
        let from = &mut Input::new(sums);
        let now = Sums::of(body);
        if u64::take(from)? != now.quick() || u32::take(from)? != now.crc() {
            return None;
        }
        let from = &mut Input::new(body);
        if <[u8; 8]>::take(from)? != HEAD || u32::take(from)? != FORMAT {
            return None;
        }
        let (image, arithmetic) = (u32::take(from)?, u32::take(from)?);
        if usize::take(from)? != bytes.len() {
            return None;
        }
        let mut sections = Vec::new();
        for _ in 0..u32::take(from)? {
            let tag = <[u8; 4]>::take(from)?;
            let length = from.count(1)?;
            sections.push((tag, from.bytes(length)?.to_vec()));
        }
        let ends = <[u8; 4]>::take(from)? == END && from.is_empty();
        ends.then_some(Checkpoint { image, arithmetic, sections })
    }
}

/// What was found of a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    Nothing,
    /// The last one.
    Last(Checkpoint),
    /// The last one is damaged or missing; the one before it.
    Previous(Checkpoint),
    Damaged,
}

pub fn name(chain: usize) -> String {
    format!("chain-{chain}.ckpt")
}

/// Puts a checkpoint in the place of the last one, whose draws are safe already.
pub fn write(disk: &dyn Disk, chain: usize, bytes: &[u8]) -> io::Result<()> {
    let (name, old) = (name(chain), format!("{}.prev", name(chain)));
    let new = format!("{name}.new");
    disk.create(&new, bytes)?;
    disk.sync(&new)?;
    if disk.read(&name)?.is_some() {
        disk.rename(&name, &old)?;
    }
    disk.rename(&new, &name)?;
    disk.sync_names()
}

pub fn read(disk: &dyn Disk, chain: usize) -> io::Result<Found> {
    let name = name(chain);
    let last = disk.read(&name)?;
    if let Some(checkpoint) = last.as_deref().and_then(Checkpoint::decode) {
        return Ok(Found::Last(checkpoint));
    }
    let previous = disk.read(&format!("{name}.prev"))?;
    Ok(match previous.as_deref().and_then(Checkpoint::decode) {
        Some(checkpoint) => Found::Previous(checkpoint),
        None if last.is_none() && previous.is_none() => Found::Nothing,
        None => Found::Damaged,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Vec<u8> {
        let bytes = (0..2000u32).map(|k| (k * k) as u8).collect();
        Checkpoint::new(vec![(*b"CHO ", bytes), (*b"RNG ", vec![1, 2, 3])]).encode()
    }

    #[test]
    fn what_is_written_is_read() {
        let read = Checkpoint::decode(&example()).expect("just written");
        assert_eq!(read.section(b"RNG "), Some(&[1, 2, 3][..]));
        assert_eq!(read.section(b"none"), None);
        assert_eq!(read.encode(), example());
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_noticed() {
        let bytes = example();
        for n in 0..bytes.len() {
            assert!(Checkpoint::decode(&bytes[..n]).is_none(), "cut at {n}");
            for change in [0x01, 0x80, 0xFF] {
                let mut changed = bytes.clone();
                changed[n] ^= change;
                assert!(Checkpoint::decode(&changed).is_none(), "changed at {n}");
            }
        }
    }

    #[test]
    fn claims_about_lengths_are_not_believed() {
        let bytes = example();
        let body = &bytes[..bytes.len() - 12];
        for place in 8..body.len().min(200) {
            for claim in [1u64 << 60, u64::MAX, 1 << 40] {
                let mut changed = body.to_vec();
                let end = (place + 8).min(changed.len());
                changed[place..end].copy_from_slice(&claim.to_le_bytes()[..end - place]);
                let sums = Sums::of(&changed);
                sums.quick().put(&mut changed);
                sums.crc().put(&mut changed);
                // Neither a panic nor a large allocation.
                let _ = Checkpoint::decode(&changed);
            }
        }
    }
}
