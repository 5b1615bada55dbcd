//! A run folder as a run: what its chains have drawn so far.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use arrow_ipc::reader::StreamReader;
use serde_json::Value as Json;
use smidgen_draws::{Draws, Quantity, Run, STATISTICS};
use smidgen_value::Value;

use super::chain::{check_streams, out_of, stream_name};
use super::checkpoint::{self, Found};
use super::columns::{self, BESIDE, Row};
use super::{Directory, Standing, events, manifest, report, standing};
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
}

/// All whole batches of a chain, in a thread of its own: the decoder may panic on damage.
/// Only every so many draws are taken, and those of one epoch: of a run whose data do not grow there is one, 0.
pub fn read_chain(
    folder: &Path,
    chain: usize,
    every: usize,
    epoch: u32,
) -> Result<ChainDraws, String> {
    in_thread(chain, || decode(folder, chain, every as u64, epoch))
}

/// The last epoch that a chain has draws of.
fn last_epoch(folder: &Path, chain: usize) -> Result<Option<u32>, String> {
    in_thread(chain, || {
        let mut last = None;
        each_row(folder, chain, &mut |_, row| {
            last = last.max((!row.is_warmup).then_some(row.epoch));
        })?;
        Ok(last)
    })
}

fn in_thread<T: Send>(
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

fn decode(folder: &Path, chain: usize, every: u64, epoch: u32) -> Result<ChainDraws, String> {
    let mut columns: [Vec<Vec<Value>>; 2] = Default::default();
    let names = each_row(folder, chain, &mut |names, row| {
        if row.epoch != epoch || row.draw % every != 0 {
            return;
        }
        let into = &mut columns[usize::from(row.is_warmup)];
        into.resize_with(names.len(), Vec::new);
        into.iter_mut().zip(row.values).for_each(|(column, value)| column.push(value));
    })?;
    columns.iter_mut().for_each(|columns| columns.resize_with(names.len(), Vec::new));
    let [draws, warmup] = columns;
    let (draws, stats) = told_apart(&names, draws);
    let (warmup, warmup_stats) = match warmup.iter().all(Vec::is_empty) {
        true => Default::default(),
        false => told_apart(&names, warmup),
    };
    Ok(ChainDraws { draws, stats, warmup, warmup_stats })
}

/// Shows every row of a chain, with the names of its columns, which are given at the end.
fn each_row(
    folder: &Path,
    chain: usize,
    show: &mut dyn FnMut(&[String], Row),
) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    for number in 0.. {
        let name = stream_name(chain, number);
        let Ok(file) = File::open(folder.join(&name)) else { break };
        let wrong = |error: String| format!("{name}: {error}");
        // A stream that has only just begun has no schema yet.
        let Ok(reader) = StreamReader::try_new(BufReader::new(file), None) else { break };
        let schema = reader.schema();
        let fields = schema.fields().iter().skip(BESIDE).map(|field| field.name().clone());
        let own: Vec<String> = fields.collect();
        if number == 0 {
            names = own;
        } else if own != names {
            return Err(wrong("it has other columns than the stream before it".to_owned()));
        }
        // The last batch may be half written.
        for batch in reader.map_while(Result::ok) {
            columns::rows_of(&batch).map_err(wrong)?.into_iter().for_each(|row| show(&names, row));
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
pub fn read_folder(path: &Path) -> Result<FolderRun, String> {
    let manifest = manifest(path).map_err(|trouble| trouble.0)?;
    let chains = manifest["chains"].as_u64().unwrap_or(0);
    let chains = usize::try_from(chains).unwrap_or(0);
    let disk = Directory { path: path.to_owned() };
    let follows = manifest["follow"].as_str();
    // The last that all chains have come to: draws of several belong to several posteriors.
    let mut epoch = 0;
    if follows.is_some() {
        let last: Result<Vec<_>, _> = (0..chains).map(|chain| last_epoch(path, chain)).collect();
        epoch = last?.into_iter().min().flatten().unwrap_or(0);
    }
    let mut read: [Vec<Draws>; 4] = Default::default();
    for chain in 0..chains {
        let found = checkpoint::read(&disk, chain).map_err(|error| error.to_string())?;
        if let Found::Last(checkpoint) | Found::Previous(checkpoint) = found
            && let Some(out) = out_of(&checkpoint)
        {
            check_streams(&disk, chain, &out).map_err(|trouble| trouble.0)?;
        }
        let ChainDraws { draws, stats, warmup, warmup_stats } = read_chain(path, chain, 1, epoch)?;
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
        let counts = draws.quantities().first().map(|q| q.chains.iter().map(Vec::len).collect());
        let counts: Vec<usize> = counts.unwrap_or_default();
        let wanted = manifest["draws"].as_u64().unwrap_or(0);
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        warnings.insert(
            0,
            format!(
                "unfinished: the chains have {} of {wanted} draws{}",
                counts.join(", "),
                match follows {
                    Some(_) => String::new(),
                    None => format!("; `smidgen sample --resume {}` goes on", path.display()),
                }
            ),
        );
    }
    let run = Run {
        seed: manifest["seed"].as_u64().unwrap_or(0),
        chains: draws.quantities().first().map_or(0, |q| q.chains.len()),
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
