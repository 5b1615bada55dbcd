//! Run folders of a smidgen that was built without Arrow: there are none.

use std::path::Path;
use std::sync::Arc;

use smidgen_draws::{Draws, Online, Run};
use smidgen_value::Value;
use smidgen_value::bytes::{Bytes, Input};

use super::{Checkpoint, Disk, Extent, Patience, Trouble};

const NONE: &str = "this smidgen was built without the feature `columnar`";

/// One draw.
#[derive(Clone, Debug)]
pub struct Row {
    pub draw: u64,
    pub epoch: u32,
    pub is_warmup: bool,
    pub values: Vec<Value>,
}

pub const OUT: &[u8; 4] = b"OUT ";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Out;

impl Bytes for Out {
    fn put(&self, _: &mut Vec<u8>) {}

    fn take(_: &mut Input<'_>) -> Option<Out> {
        Some(Out)
    }
}

/// Nobody has one.
pub enum ChainWriter {}

impl ChainWriter {
    pub fn open(
        _: Arc<dyn Disk>,
        _: Patience,
        _: usize,
        _: Vec<String>,
        _: Option<&Out>,
    ) -> Result<ChainWriter, Trouble> {
        Err(Trouble(NONE.to_owned()))
    }

    pub fn set_names(&mut self, _: Vec<String>) {
        match *self {}
    }

    pub fn push(&mut self, _: Row) -> Result<(), Trouble> {
        match *self {}
    }

    pub fn flush(&mut self) -> Result<(), Trouble> {
        match *self {}
    }

    pub fn finish(&mut self) -> Result<(), Trouble> {
        match *self {}
    }

    pub fn commit(&mut self, _: Vec<([u8; 4], Vec<u8>)>) -> Result<(), Trouble> {
        match *self {}
    }
}

pub fn out_of(_: &Checkpoint) -> Option<Out> {
    None
}

#[derive(Default)]
pub struct ChainDraws {
    pub draws: Draws,
    pub stats: Draws,
    pub warmup: Draws,
    pub warmup_stats: Draws,
    pub added_up: Vec<(String, Vec<Online>)>,
    pub rows: u64,
}

pub struct FolderRun {
    pub run: Run,
    pub is_finished: bool,
}

pub fn spacing(_: &Path, _: &[usize]) -> usize {
    1
}

pub fn read_chain(_: &Path, _: usize, _: usize, _: u32) -> Result<ChainDraws, String> {
    Err(NONE.to_owned())
}

pub fn streams(_: &dyn Disk, _: usize) -> Result<Vec<Vec<u8>>, Trouble> {
    Err(Trouble(NONE.to_owned()))
}

pub fn read_streams(_: usize, _: Vec<Vec<u8>>) -> Result<ChainDraws, String> {
    Err(NONE.to_owned())
}

pub fn rows_of_streams(_: usize, _: &[Vec<u8>]) -> Result<(Vec<String>, Vec<Row>), String> {
    Err(NONE.to_owned())
}

pub fn read_folder(_: &Path, _: Extent) -> Result<FolderRun, String> {
    Err(NONE.to_owned())
}

/// Nothing ever comes.
pub struct Tail;

impl Tail {
    pub fn new(_: &Path, _: usize) -> Tail {
        Tail
    }

    pub fn names(&self) -> &[String] {
        &[]
    }

    pub fn read(&mut self) -> Vec<Row> {
        Vec::new()
    }
}
