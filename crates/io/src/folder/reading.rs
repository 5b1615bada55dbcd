//! A run folder as a run: what its chains have drawn so far.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use arrow_ipc::reader::StreamReader;
use serde_json::Value as Json;
use smidgen_draws::{Draws, Online, Quantity, Run, STATISTICS};
use smidgen_value::Value;

use super::chain::{check_streams, out_of, stream_name};
use super::checkpoint::{self, Found};
use super::columns::{self, BESIDE};
use super::frames;
use super::{Directory, Standing, begun_chains, manifest, report, standing};
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
}

/// How long the streams of a chain are.
pub fn bytes_of_chain(folder: &Path, chain: usize) -> u64 {
    let length = |number| std::fs::metadata(folder.join(stream_name(chain, number))).ok();
    (0..).map_while(length).map(|file| file.len()).sum()
}

/// All whole batches of a chain, in a thread of its own: the decoder may panic on damage.
/// Only every so many draws are taken; the others are added up.
pub fn read_chain(folder: &Path, chain: usize, every: usize) -> Result<ChainDraws, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(DECODER.to_owned());
        let running = thread.spawn_scoped(scope, || decode(folder, chain, every as u64));
        let running = running.map_err(|error| error.to_string())?;
        running.join().unwrap_or_else(|_| Err(format!("the draws of chain {chain} are damaged")))
    })
}

fn decode(folder: &Path, chain: usize, every: u64) -> Result<ChainDraws, String> {
    let mut names: Vec<String> = Vec::new();
    let mut columns: [Vec<Vec<Value>>; 2] = Default::default();
    let mut sums: Vec<Option<Vec<Online>>> = Vec::new();
    for number in 0.. {
        let name = stream_name(chain, number);
        let Ok(mut file) = File::open(folder.join(&name)) else { break };
        let wrong = |error: String| format!("{name}: {error}");
        let length = file.metadata().map_or(0, |file| file.len());
        let whole = frames::whole(&mut file, length);
        file.rewind().map_err(|error| wrong(error.to_string()))?;
        // A stream that has only just begun has no schema yet.
        let whole = BufReader::new(file.take(whole));
        let Ok(reader) = StreamReader::try_new(whole, None) else { break };
        let schema = reader.schema();
        let fields = schema.fields().iter().skip(BESIDE).map(|field| field.name().clone());
        let own: Vec<String> = fields.collect();
        if number == 0 {
            names = own;
            columns = [0, 1].map(|_| vec![Vec::new(); names.len()]);
            sums = vec![Some(Vec::new()); names.len()];
        } else if own != names {
            return Err(wrong("it has other columns than the stream before it".to_owned()));
        }
        // The last batch may be half written.
        for batch in reader.map_while(Result::ok) {
            let rows = columns::every_row_of(&batch, every).map_err(wrong)?;
            if every > 1 {
                columns::add_up(&batch, &mut sums);
            }
            for row in rows {
                let into = &mut columns[usize::from(row.is_warmup)];
                into.iter_mut().zip(row.values).for_each(|(column, value)| column.push(value));
            }
        }
    }
    let [draws, warmup] = columns;
    let (draws, stats) = told_apart(&names, draws);
    let (warmup, warmup_stats) = match warmup.iter().all(Vec::is_empty) {
        true => Default::default(),
        false => told_apart(&names, warmup),
    };
    let added_up = names.into_iter().zip(sums).filter_map(|(name, sums)| Some((name, sums?)));
    let added_up = added_up.filter(|(_, sums)| !sums.is_empty()).collect();
    Ok(ChainDraws { draws, stats, warmup, warmup_stats, added_up })
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
    let disk = Directory { path: path.to_owned() };
    let mut read: [Vec<Draws>; 4] = Default::default();
    for chain in 0..begun_chains(path, &manifest) {
        let found = checkpoint::read(&disk, chain).map_err(|error| error.to_string())?;
        if let Found::Last(checkpoint) | Found::Previous(checkpoint) = found
            && let Some(out) = out_of(&checkpoint)
        {
            check_streams(&disk, chain, &out).map_err(|trouble| trouble.0)?;
        }
        let ChainDraws { draws, stats, warmup, warmup_stats, .. } = read_chain(path, chain, 1)?;
        for (all, own) in read.iter_mut().zip([draws, stats, warmup, warmup_stats]) {
            all.push(own);
        }
    }
    let [draws, stats, warmup, warmup_stats] = read.map(joined);
    let report = report(path).unwrap_or(Json::Null);
    let text = |key: &str| manifest[key].as_str().unwrap_or_default().to_owned();
    let is_finished = standing(path) == Standing::Finished;
    let mut warnings = recorded::warnings(&report["warnings"])?;
    if !is_finished {
        let counts = draws.quantities().first().map(|q| q.chains.iter().map(Vec::len).collect());
        let counts: Vec<usize> = counts.unwrap_or_default();
        let wanted = manifest["draws"].as_u64().unwrap_or(0);
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        warnings.insert(0, format!(
            "unfinished: the chains have {} of {wanted} draws; `smidgen sample --resume {}` goes on",
            counts.join(", "), path.display()
        ));
    }
    let run = Run {
        seed: manifest["seed"].as_u64().unwrap_or(0),
        chains: draws.quantities().first().map_or(0, |q| q.chains.len()),
        draws,
        long: None,
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
