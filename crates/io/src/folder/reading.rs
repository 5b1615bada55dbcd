//! A run folder as a run: what its chains have drawn so far.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use serde_json::Value as Json;
use smidgen_draws::{Draws, LongRun, Online, Quantity, Run, STATISTICS};
use smidgen_value::Value;

use super::chain::{check_streams, out_of, stream_name};
use super::checkpoint::{self, Found};
use super::columns::{self, BESIDE};
use super::frames;
use super::{
    Directory, Extent, SHARDED, Standing, begun_chains, events, manifest, report, standing,
};
use crate::recorded;
use crate::sink::ASIDE;
use crate::source::DECODER;

/// What a folder holds, and whether the run is over.
pub struct FolderRun {
    pub run: Run,
    pub is_finished: bool,
}

/// The draws of one chain: quantities, statistics, and both in the warm-up.
#[derive(Default)]
pub struct ChainDraws {
    pub draws: Draws,
    pub stats: Draws,
    pub warmup: Draws,
    pub warmup_stats: Draws,
    /// All draws of a quantity added up, entry by entry; of those that have numbers, if only some draws were taken.
    pub added_up: Vec<(String, Vec<Online>)>,
    /// Draws that there are, taken or not.
    pub rows: u64,
}

/// Bytes of draws in a folder that are taken into memory: two million numbers.
const MOST_BYTES: u64 = 16_000_000;
/// Of more, so many draws of a chain, at equal distances; all are added up.
const KEPT: u64 = 8192;

/// From one draw of a folder that is taken into memory to the next: 1, unless there are too many.
pub fn spacing(folder: &Path, chains: &[usize]) -> usize {
    let lengths = |chain: usize| {
        let files = streams_of(folder, chain).map(|(_, file)| file);
        files.map(|file| file.metadata().map_or(0, |file| file.len()))
    };
    if chains.iter().flat_map(|chain| lengths(*chain)).sum::<u64>() <= MOST_BYTES {
        return 1;
    }
    let rows = |chain: &usize| {
        let files = streams_of(folder, *chain).map(|(_, file)| file).zip(lengths(*chain));
        files.map(|(file, length)| frames::rows(&mut BufReader::new(file), length)).sum::<u64>()
    };
    let rows = chains.iter().map(rows).max().unwrap_or(0);
    rows.div_ceil(KEPT).max(1).next_power_of_two() as usize
}

/// All whole batches of a chain, in a thread of its own: the decoder may panic on damage.
/// Of one epoch (there is one, 0, where the data do not grow) only every so many draws are taken; all are added up.
pub fn read_chain(
    folder: &Path,
    chain: usize,
    every: usize,
    epoch: u32,
) -> Result<ChainDraws, String> {
    apart(chain, || decode(streams_of(folder, chain), every as u64, epoch))
}

/// The draws of a chain from the bytes of its streams, in order.
pub fn read_streams(chain: usize, streams: Vec<Vec<u8>>) -> Result<ChainDraws, String> {
    let streams = streams.into_iter().enumerate();
    apart(chain, || {
        decode(streams.map(|(k, bytes)| (stream_name(chain, k), Cursor::new(bytes))), 1, 0)
    })
}

/// The rows that streams hold, with the names of their quantities.
pub fn rows_of_streams(
    chain: usize,
    streams: &[Vec<u8>],
) -> Result<(Vec<String>, Vec<columns::Row>), String> {
    apart(chain, || {
        let streams = streams.iter().enumerate();
        let streams = streams.map(|(k, bytes)| (stream_name(chain, k), Cursor::new(bytes)));
        let mut rows = Vec::new();
        let names = each_batch(streams, &mut |_, batch| {
            rows.extend(columns::rows_of(batch)?);
            Ok(())
        })?;
        Ok((names, rows))
    })
}

/// The last epoch that a chain has draws of.
fn last_epoch(folder: &Path, chain: usize) -> Result<Option<u32>, String> {
    apart(chain, || {
        let mut last = None;
        each_batch(streams_of(folder, chain), &mut |_, batch| {
            let rows = columns::rows_of(batch)?.into_iter().filter(|row| !row.is_warmup);
            last = last.max(rows.map(|row| row.epoch).max());
            Ok(())
        })?;
        Ok(last)
    })
}

/// The streams of a chain, each with its name.
fn streams_of(folder: &Path, chain: usize) -> impl Iterator<Item = (String, File)> {
    (0..).map_while(move |number| {
        let name = stream_name(chain, number);
        let file = File::open(folder.join(&name)).ok()?;
        Some((name, file))
    })
}

fn apart<T: Send>(
    chain: usize,
    work: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(DECODER.to_owned());
        let running = thread.spawn_scoped(scope, work);
        let running = running.map_err(|error| error.to_string())?;
        running.join().unwrap_or_else(|_| Err(format!("the draws of chain {chain} are damaged")))
    })
}

fn decode<R: Read + Seek>(
    streams: impl Iterator<Item = (String, R)>,
    every: u64,
    epoch: u32,
) -> Result<ChainDraws, String> {
    let mut columns: [Vec<Vec<Value>>; 2] = Default::default();
    let mut sums: Vec<Option<Vec<Online>>> = Vec::new();
    let mut rows = 0;
    let names = each_batch(streams, &mut |names, batch| {
        columns.iter_mut().for_each(|columns| columns.resize_with(names.len(), Vec::new));
        sums.resize_with(names.len(), || Some(Vec::new()));
        let is_wanted = |draw: u64, of: u32| of == epoch && draw.is_multiple_of(every);
        for row in columns::chosen_rows(batch, is_wanted)? {
            let into = &mut columns[usize::from(row.is_warmup)];
            into.iter_mut().zip(row.values).for_each(|(column, value)| column.push(value));
        }
        rows += columns::draws_in(batch, epoch);
        if every > 1 {
            columns::add_up(batch, epoch, &mut sums);
        }
        Ok(())
    })?;
    columns.iter_mut().for_each(|columns| columns.resize_with(names.len(), Vec::new));
    let [draws, warmup] = columns;
    let (draws, stats) = told_apart(&names, draws);
    let (warmup, warmup_stats) = match warmup.iter().all(Vec::is_empty) {
        true => Default::default(),
        false => told_apart(&names, warmup),
    };
    let added_up = names.into_iter().zip(sums).filter_map(|(name, sums)| Some((name, sums?)));
    let added_up = added_up.filter(|(_, sums)| !sums.is_empty()).collect();
    Ok(ChainDraws { draws, stats, warmup, warmup_stats, added_up, rows })
}

/// What is done with a batch of rows, with the names of its columns.
type Show<'a> = &'a mut dyn FnMut(&[String], &RecordBatch) -> Result<(), String>;

/// Shows all whole batches of a chain; at the end the names of its columns.
fn each_batch<R: Read + Seek>(
    streams: impl Iterator<Item = (String, R)>,
    show: Show<'_>,
) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    for (number, (name, mut stream)) in streams.enumerate() {
        let wrong = |error: String| format!("{name}: {error}");
        let failed = |error: std::io::Error| wrong(error.to_string());
        let length = stream.seek(SeekFrom::End(0)).map_err(failed)?;
        let whole = frames::whole(&mut stream, length);
        stream.rewind().map_err(failed)?;
        // A stream that has only just begun has no schema yet.
        let whole = BufReader::new(stream.take(whole));
        let Ok(reader) = StreamReader::try_new(whole, None) else { break };
        let schema = reader.schema();
        let fields = schema.fields().iter().skip(BESIDE).map(|field| field.name().clone());
        let own: Vec<String> = fields.collect();
        if number == 0 {
            names = own;
        } else if own != names {
            return Err(wrong("it has other columns than the stream before it".to_owned()));
        }
        for batch in reader.map_while(Result::ok) {
            show(&names, &batch).map_err(wrong)?;
        }
    }
    Ok(names)
}

/// Quantities, and statistics beside them.
fn told_apart(names: &[String], columns: Vec<Vec<Value>>) -> (Draws, Draws) {
    let (mut draws, mut stats) = (Draws::default(), Draws::default());
    for (name, column) in names.iter().zip(columns) {
        match name.strip_suffix(ASIDE).filter(|name| STATISTICS.contains(name)) {
            Some(name) => stats.add(Quantity::new(name, vec![column])),
            None => draws.add(Quantity::new(name.clone(), vec![column])),
        }
    }
    (draws, stats)
}

/// The run of a folder, finished or not. Draws that a checkpoint was made after are checked against its sums.
pub fn read_folder(path: &Path, extent: Extent) -> Result<FolderRun, String> {
    let manifest = manifest(path).map_err(|trouble| trouble.0)?;
    let chains = begun_chains(path, &manifest);
    let disk = Directory { path: path.to_owned() };
    let follows = manifest["follow"].as_str();
    // The last that all chains have come to: draws of several belong to several posteriors.
    let mut epoch = 0;
    if follows.is_some() {
        let last: Result<Vec<_>, _> = (0..chains).map(|chain| last_epoch(path, chain)).collect();
        epoch = last?.into_iter().min().flatten().unwrap_or(0);
    }
    let every = match extent {
        Extent::All => 1,
        Extent::Fitting => spacing(path, &(0..chains).collect::<Vec<_>>()),
    };
    let mut read: [Vec<Draws>; 4] = Default::default();
    let mut long = LongRun { every, ..LongRun::default() };
    let mut made = Vec::new();
    for chain in 0..chains {
        let found = checkpoint::read(&disk, chain).map_err(|error| error.to_string())?;
        if let Found::Last(checkpoint) | Found::Previous(checkpoint) = found
            && let Some(out) = out_of(&checkpoint)
        {
            check_streams(&disk, chain, &out).map_err(|trouble| trouble.0)?;
        }
        let ChainDraws { draws, stats, warmup, warmup_stats, added_up, rows } =
            read_chain(path, chain, every, epoch)?;
        if !draws.is_empty() {
            made.push(rows);
            long.add(added_up);
        }
        for (all, own) in read.iter_mut().zip([draws, stats, warmup, warmup_stats]) {
            all.push(own);
        }
    }
    let [draws, stats, warmup, warmup_stats] = read.map(joined);
    let report = report(path).unwrap_or(Json::Null);
    let text = |key: &str| manifest[key].as_str().unwrap_or_default().to_owned();
    let is_finished = standing(path) == Standing::Finished;
    let mut warnings = recorded::warnings(&report["warnings"])?;
    if let Some(table) = follows {
        warnings.insert(0, of_epoch(path, table, epoch));
    }
    if !is_finished {
        let wanted = manifest["draws"].as_u64().unwrap_or(0);
        let counts: Vec<String> = made.iter().map(ToString::to_string).collect();
        warnings.insert(
            0,
            format!(
                "unfinished: the chains have {} of {wanted} draws{}",
                counts.join(", "),
                match follows {
                    Some(_) => String::new(),
                    None if manifest[SHARDED].is_object() => format!(
                        "; smidgen.distributed.resume(\"{}\", client) goes on",
                        path.display()
                    ),
                    None => format!("; `smidgen sample --resume {}` goes on", path.display()),
                }
            ),
        );
    }
    let run = Run {
        seed: manifest["seed"].as_u64().unwrap_or(0),
        chains: draws.quantities().first().map_or(0, |q| q.chains.len()),
        long: (every > 1)
            .then(|| long.of(draws.quantities().first().map_or(0, |q| q.chains.len()))),
        draws,
        stats,
        warmup,
        warmup_stats,
        kernels: recorded::kernels(&report["kernels"])?,
        warnings,
        program: text("program"),
        version: text("version"),
    };
    Ok(FolderRun { run, is_finished })
}

/// What is to be said about draws of an epoch.
fn of_epoch(path: &Path, table: &str, epoch: u32) -> String {
    let events = events(path);
    let of = |event: &&Json| event["epoch"].as_u64() == Some(epoch.into());
    let rows = events.iter().find(of).and_then(|event| event["rows"].as_u64());
    let rows = rows.map_or_else(String::new, |rows| format!(", given {rows} rows of `{table}`"));
    let others = match epoch {
        0 => String::new(),
        _ => format!(
            "; those of the {epoch} before, given fewer rows, are in the folder and in no summary with these"
        ),
    };
    format!("`{table}` is followed: these are the draws of epoch {epoch}{rows}{others}")
}

/// The chains that have drawn something, side by side.
fn joined(chains: Vec<Draws>) -> Draws {
    let drawn = chains.into_iter().filter(|draws| !draws.is_empty());
    let drawn: Vec<Draws> = drawn.collect();
    let names = |draws: &Draws| -> Vec<String> {
        draws.quantities().iter().map(|quantity| quantity.name.clone()).collect()
    };
    let mut common = drawn.first().map_or_else(Vec::new, names);
    common.retain(|name| drawn.iter().all(|draws| draws.get(name).is_some()));
    let only = |draws: Draws| {
        let mut kept = Draws::default();
        common.iter().filter_map(|name| draws.get(name)).for_each(|q| kept.add(q.clone()));
        kept
    };
    Draws::join(drawn.into_iter().map(only))
}
