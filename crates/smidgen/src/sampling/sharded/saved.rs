//! A sharded chain as a checkpoint: what was prepared, where the chain stands between two draws, and where on which reel. All of it
//! comes back to the bit (rows of a reel are drawn again from where it began), so unlike in `durable.rs` nothing is re-based.

use std::time::Instant;

use smidgen_draws::Draws;
use smidgen_infer::Tally;
use smidgen_infer::reference::chain::Standing;
use smidgen_infer::reference::preparation::{Afar, Preparation};
use smidgen_io::folder::{ChainWriter, Checkpoint, Out, Row, Trouble, out_of};
use smidgen_value::Value;
use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::bytes_of_fields;
use smidgen_value::rng::StreamPosition;

use crate::sampling::Durable;
use crate::sampling::durable::{SELDOM, canary_section, foreign, usable};

const PREPARED: &[u8; 4] = b"REF ";
const CHAIN: &[u8; 4] = b"SHA ";

/// What all chains share: the preparation, and C_b.
pub(super) struct Prepared {
    pub afar: Afar,
    pub each: Vec<f64>,
}

bytes_of_fields!(Prepared { afar, each });

/// A chain between two draws.
pub(super) struct Mark {
    /// Draws so far, those of the warm-up included.
    pub made: usize,
    pub standing: Standing,
    /// Of the chain, and of what is recorded.
    pub streams: (StreamPosition, StreamPosition),
    /// Where its reel begins, and how many rows of it are used.
    pub reel: Option<(StreamPosition, usize)>,
    pub reels: u64,
    pub tally: Tally,
}

bytes_of_fields!(Mark { made, standing, streams, reel, reels, tally });

/// What a folder has of a chain.
pub(super) struct Found {
    pub prepared: Prepared,
    pub mark: Mark,
    pub out: Option<Out>,
}

impl Found {
    pub fn of(durable: &Durable, chain: usize) -> Result<Option<Found>, Trouble> {
        let Some(checkpoint) = usable(durable, chain)? else { return Ok(None) };
        let found = Found::read(&checkpoint).ok_or_else(|| foreign(durable, chain))?;
        Ok(Some(found))
    }

    fn read(checkpoint: &Checkpoint) -> Option<Found> {
        let prepared = Prepared::take(&mut Input::new(checkpoint.section(PREPARED)?))?;
        let mark = Mark::take(&mut Input::new(checkpoint.section(CHAIN)?))?;
        Some(Found { prepared, mark, out: out_of(checkpoint) })
    }
}

/// Where the draws of a chain go: to a folder, with checkpoints, or into memory.
pub(super) enum Sink {
    Folder {
        writer: Box<ChainWriter>,
        every: Option<u64>,
        prepared: Vec<u8>,
        last: (Instant, usize),
    },
    Here(Draws),
}

impl Sink {
    /// `out`: what a checkpoint says about the streams that are there.
    pub fn new(
        durable: Option<&Durable>,
        chain: usize,
        names: Vec<String>,
        prepared: (&Preparation, &[f64]),
        out: Option<&Out>,
    ) -> Result<Sink, Trouble> {
        let Some(durable) = durable else { return Ok(Sink::Here(Draws::new(names, 1))) };
        let writer = Box::new(durable.folder.writer(chain, names, out)?);
        let (preparation, each) = prepared;
        let mut bytes = Vec::new();
        Prepared { afar: preparation.afar(), each: each.to_vec() }.put(&mut bytes);
        let last = (Instant::now(), 0);
        Ok(Sink::Folder { writer, every: durable.every, prepared: bytes, last })
    }

    pub fn push(&mut self, draw: usize, values: Vec<Value>) -> Result<(), Trouble> {
        match self {
            Sink::Here(draws) => {
                draws.push(0, values);
                Ok(())
            }
            Sink::Folder { writer, .. } => {
                let draw = draw as u64;
                writer.push(Row { draw, epoch: 0, is_warmup: false, values })
            }
        }
    }

    /// Whether a chain that has made so many draws is to be written down.
    pub fn is_due(&self, made: usize) -> bool {
        match self {
            Sink::Here(_) => false,
            Sink::Folder { every: Some(every), last, .. } => (made - last.1) as u64 >= *every,
            // A glance at the clock is dearer than a draw.
            Sink::Folder { every: None, last, .. } => {
                made.is_multiple_of(256) && last.0.elapsed() >= SELDOM
            }
        }
    }

    pub fn commit(&mut self, mark: &Mark) -> Result<(), Trouble> {
        let Sink::Folder { writer, prepared, last, .. } = self else { return Ok(()) };
        let mut chain = Vec::new();
        mark.put(&mut chain);
        writer.commit(vec![(*PREPARED, prepared.clone()), (*CHAIN, chain), canary_section()])?;
        *last = (Instant::now(), mark.made);
        Ok(())
    }

    /// The draws, if they are here.
    pub fn finish(self) -> Result<Option<Draws>, Trouble> {
        match self {
            Sink::Here(draws) => Ok(Some(draws)),
            Sink::Folder { mut writer, .. } => writer.finish().map(|()| None),
        }
    }
}
