//! Runs read back from the files that [`crate::sink`] writes. The extension names the format; one
//! file of this folder per format.
//!
//! CSV has the draws only; JSON, Parquet and Arrow also say how they came about. A table has a row
//! per chain and draw. Without a column `chain`, all its rows are one chain, so that draws of other
//! programs can be read too. Rows of a chain are taken in the order of the file. A cell may be
//! empty where a quantity has no more draws, at the end of a chain that was interrupted.

#[cfg(feature = "columnar")]
mod columnar;
pub(crate) mod csv;
mod json;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use smidgen_draws::{Draws, Quantity, Run, STATISTICS};
use smidgen_value::Value;

use crate::folder::Extent;
use crate::sink::{ASIDE, WARMUP};
pub use json::run_from_json;
pub(crate) use json::{kernels, warnings};

/// A file that holds no draws that could be read, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedError {
    path: PathBuf,
    problem: String,
}

impl fmt::Display for RecordedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for RecordedError {}

/// The run of which a file holds the draws.
pub fn read_run(path: &Path) -> Result<Run, RecordedError> {
    read_extent(path, Extent::All)
}

/// The same for whoever only looks at it: of a very long run in a folder not all draws are kept in memory, see [`Extent::Fitting`].
pub fn look_at_run(path: &Path) -> Result<Run, RecordedError> {
    read_extent(path, Extent::Fitting)
}

fn read_extent(path: &Path, extent: Extent) -> Result<Run, RecordedError> {
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let run = match extension.as_deref() {
        Some("csv") => opened(path).and_then(csv::read),
        Some("json") => opened(path).and_then(json::read),
        Some("parquet" | "arrow") => read_columnar(path),
        Some("run") => crate::folder::read_folder(path, extent).map(|folder| folder.run),
        _ => Err("the extension names no format of draws; they are read from .csv, .json, \
                  .parquet and .arrow files and from .run folders"
            .to_owned()),
    };
    let run = run.and_then(|run| match run.draws.is_empty() && run.warmup.is_empty() {
        true => Err("it has no draws".to_owned()),
        false => Ok(run),
    });
    run.map_err(|problem| RecordedError { path: path.to_owned(), problem })
}

/// The chains of several files, one after the other. Vectors in one and their entries in another
/// (tables have no vectors) meet as entries. Kernels are told apart by their file, because
/// what they did cannot be added up.
pub fn join_runs(runs: Vec<(PathBuf, Run)>) -> Result<Run, RecordedError> {
    let several = runs.len() > 1;
    let mut runs = runs.into_iter();
    let Some((first_path, mut joined)) = runs.next() else { return Ok(Run::default()) };
    tell_apart(&mut joined, &first_path, several);
    for (path, mut run) in runs {
        let wrong = |problem: String| RecordedError { path: path.clone(), problem };
        if names(&joined) != names(&run) {
            joined.draws = entries(&joined.draws);
            run.draws = entries(&run.draws);
        }
        let has = |run: &Run, name: &str| run.draws.get(name).is_some();
        let lost = joined.draws.quantities().iter().find(|q| !has(&run, &q.name));
        if let Some(lost) = lost {
            let (name, first) = (&lost.name, first_path.display());
            return Err(wrong(format!("there is no column `{name}`, which {first} has")));
        }
        if let Some(new) = run.draws.quantities().iter().find(|q| !has(&joined, &q.name)) {
            let (name, first) = (&new.name, first_path.display());
            return Err(wrong(format!("there is a column `{name}`, which {first} has not")));
        }
        tell_apart(&mut run, &path, several);
        if run.program != joined.program && !run.program.is_empty() && !joined.program.is_empty() {
            let (this, first) = (path.display(), first_path.display());
            joined.warnings.push(format!("{this} was drawn by another program than {first}"));
        }
        let mut draws = Draws::default();
        for quantity in joined.draws.quantities() {
            let more = run.draws.get(&quantity.name).expect("the columns are the same");
            let chains = quantity.chains.iter().chain(&more.chains).cloned().collect();
            draws.add(Quantity::new(quantity.name.clone(), chains));
        }
        joined.draws = draws;
        joined.chains += run.chains;
        joined.kernels.append(&mut run.kernels);
        let new = run.warnings.into_iter().filter(|warning| !joined.warnings.contains(warning));
        joined.warnings.extend(new.collect::<Vec<_>>());
        if joined.program.is_empty() {
            joined.program = run.program;
        }
    }
    Ok(joined)
}

fn names(run: &Run) -> Vec<&str> {
    run.draws.quantities().iter().map(|quantity| quantity.name.as_str()).collect()
}

/// Every number as a quantity of its own.
fn entries(draws: &Draws) -> Draws {
    let mut entries = Draws::default();
    for scalar in draws.scalars() {
        let numbers = |chain: Vec<f64>| chain.into_iter().map(Value::Number).collect();
        let chains = scalar.chains.into_iter().map(numbers).collect();
        entries.add(Quantity::new(scalar.name, chains));
    }
    entries
}

fn tell_apart(run: &mut Run, path: &Path, several: bool) {
    for kernel in run.kernels.iter_mut().filter(|_| several) {
        kernel.kernel += &format!(" ({})", path.display());
    }
}

fn opened(path: &Path) -> Result<std::fs::File, String> {
    let unreadable = |error: std::io::Error| format!("cannot read the file: {error}");
    if path.is_dir() {
        return Err("this is a folder".to_owned());
    }
    std::fs::File::open(path).map_err(unreadable)
}

#[cfg(feature = "columnar")]
use columnar::read as read_columnar;

#[cfg(not(feature = "columnar"))]
fn read_columnar(_: &Path) -> Result<Run, String> {
    Err("this smidgen was built without the feature `columnar`".to_owned())
}

// ---------------------------------------------------------------- rows

/// Which columns of a table are what.
struct Header {
    chain: Option<usize>,
    /// What tells rows of the warm-up.
    warmup: Option<usize>,
    /// The places and names of the quantities.
    quantities: Vec<(usize, String)>,
}

impl Header {
    fn new(names: impl IntoIterator<Item = String>) -> Result<Header, String> {
        let mut header = Header { chain: None, warmup: None, quantities: Vec::new() };
        let mut seen = HashSet::new();
        for (place, name) in names.into_iter().enumerate() {
            if !seen.insert(name.clone()) {
                return Err(format!("there are two columns `{name}`"));
            }
            match name.as_str() {
                "chain" => header.chain = Some(place),
                "draw" => {}
                WARMUP => header.warmup = Some(place),
                _ => header.quantities.push((place, name)),
            }
        }
        if header.quantities.is_empty() {
            return Err("there is no column but `chain` and `draw`".to_owned());
        }
        Ok(header)
    }
}

/// The rows of each chain, while they are read.
struct Chains<'a> {
    header: &'a Header,
    /// How many rows there were, and the draws of every quantity.
    chains: BTreeMap<u64, (usize, Vec<Vec<Value>>)>,
}

impl Chains<'_> {
    fn new(header: &Header) -> Chains<'_> {
        Chains { header, chains: BTreeMap::new() }
    }

    /// Adds a row: what `cell` finds at the place of each quantity, or nothing.
    fn push(
        &mut self,
        chain: u64,
        mut cell: impl FnMut(usize, &str) -> Result<Option<Value>, String>,
    ) -> Result<(), String> {
        let quantities = &self.header.quantities;
        let empty = || (0, vec![Vec::new(); quantities.len()]);
        let (rows, draws) = self.chains.entry(chain).or_insert_with(empty);
        for ((place, name), draws) in quantities.iter().zip(draws) {
            let Some(value) = cell(*place, name)? else { continue };
            if draws.len() < *rows {
                let problem = "a draw after an empty cell of the same chain";
                return Err(format!("column `{name}`: {problem}"));
            }
            draws.push(value);
        }
        *rows += 1;
        Ok(())
    }

    /// The quantities, and the statistics beside them.
    fn draws(self) -> [Draws; 2] {
        let mut chains: Vec<_> = self.chains.into_values().map(|(_, draws)| draws).collect();
        let [mut draws, mut stats] = [Draws::default(), Draws::default()];
        for (k, (_, name)) in self.header.quantities.iter().enumerate() {
            let own = chains.iter_mut().map(|chain| std::mem::take(&mut chain[k])).collect();
            match name.strip_suffix(ASIDE).filter(|name| STATISTICS.contains(name)) {
                Some(name) => stats.add(Quantity::new(name, own)),
                None => draws.add(Quantity::new(name.clone(), own)),
            }
        }
        [draws, stats]
    }
}

/// A run from the rows of its draws and of its warm-up.
fn from_rows(draws: Chains<'_>, warmup: Chains<'_>) -> Run {
    let [warmup, warmup_stats] = match warmup.chains.is_empty() {
        true => [Draws::default(), Draws::default()],
        false => warmup.draws(),
    };
    let [draws, stats] = draws.draws();
    let run = only_draws(draws);
    let chains = |d: &Draws| d.quantities().iter().map(|q| q.chains.len()).max().unwrap_or(0);
    Run { chains: run.chains.max(chains(&warmup)), stats, warmup, warmup_stats, ..run }
}

/// A run of which only the draws are known.
fn only_draws(draws: Draws) -> Run {
    let chains = draws.quantities().iter().map(|q| q.chains.len()).max().unwrap_or(0);
    Run { chains, draws, ..Run::default() }
}
