//! Draws to files. The extension names the format; one file of this folder per format.
//!
//! `replace.rs` puts a file in the place of another so that an interrupted write leaves the target as it was.

#[cfg(feature = "columnar")]
mod arrow;
mod csv;
mod json;
#[cfg(feature = "columnar")]
mod parquet;
mod replace;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use smidgen_draws::{Draws, Run, Scalar};

use replace::replace;

/// What a file does not contain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteReport {
    /// Quantities that are no numbers of a fixed shape, which a table cannot hold, with the
    /// reason. Always empty for JSON.
    pub skipped: Vec<(String, String)>,
}

/// A file that could not be written, and why.
#[derive(Debug)]
pub struct SinkError {
    path: PathBuf,
    problem: Problem,
}

#[derive(Debug)]
enum Problem {
    Format,
    /// A device, a pipe or a socket stands there.
    NotAFile,
    Io(io::Error),
    /// The encoder of the format refused.
    Encoder(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.problem {
            Problem::Format => f.write_str(
                "the extension names no format that can be written; draws are written to .csv, \
                 .json, .parquet and .arrow files",
            ),
            Problem::NotAFile => {
                f.write_str("it is a device or a pipe, not a file that could be replaced")
            }
            Problem::Io(error) => write!(f, "cannot write the file: {error}"),
            Problem::Encoder(error) => write!(f, "cannot write the draws: {error}"),
        }
    }
}

impl std::error::Error for SinkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Format | Problem::NotAFile => None,
            Problem::Io(error) => Some(error),
            Problem::Encoder(error) => Some(error.as_ref()),
        }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Problem {
        Problem::Io(error)
    }
}

/// Writes a run in the format that the extension of the path names.
///
/// CSV, Parquet and Arrow have the columns `chain` and `draw` (from 0) and one per scalar; a
/// draw that one quantity has and another has not leaves the latter's cell empty.
pub fn write_draws(path: &Path, run: &Run) -> Result<WriteReport, SinkError> {
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let written = match extension.as_deref() {
        Some("csv") => replace(path, |file| csv::write(file, &Rows::new(run))),
        #[cfg(feature = "columnar")]
        Some("parquet") => replace(path, |file| parquet::write(file, &Rows::new(run), run)),
        #[cfg(feature = "columnar")]
        Some("arrow") => replace(path, |file| arrow::write(file, &Rows::new(run), run)),
        Some("json") => replace(path, |file| json::write(file, run)),
        _ => Err(Problem::Format),
    };
    written.map_err(|problem| SinkError { path: path.to_owned(), problem })?;
    let skipped = match extension.as_deref() {
        Some("json") => Vec::new(),
        _ => run.draws.unflattened(),
    };
    Ok(WriteReport { skipped })
}

/// The table of a run as record batches, one per chain: what an Arrow file of it holds.
#[cfg(feature = "columnar")]
pub fn batches_of_draws(
    run: &Run,
) -> Result<(arrow_schema::SchemaRef, Vec<arrow_array::RecordBatch>), SinkError> {
    let rows = Rows::new(run);
    let schema = std::sync::Arc::new(arrow::schema(&rows).with_metadata(arrow::metadata(run)));
    let batches = (0..rows.lengths.len()).map(|chain| arrow::batch(&schema, &rows, chain));
    let batches: Result<Vec<_>, Problem> = batches.collect();
    let batches = batches.map_err(|problem| SinkError { path: PathBuf::new(), problem })?;
    Ok((schema, batches))
}

/// Writes a file as a whole, under a temporary name first.
pub(crate) fn replace_bytes(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let written = replace(path, |mut file| {
        io::Write::write_all(&mut file, bytes)?;
        Ok(file)
    });
    written.map_err(|problem| {
        let whole = SinkError { path: PathBuf::new(), problem }.to_string();
        whole.trim_start_matches(": ").to_owned()
    })
}

/// What is written beside the quantities: the name of a statistic ends so, and the column that tells rows of the
/// warm-up is called so.
pub(crate) const ASIDE: &str = "__";
pub(crate) const WARMUP: &str = "warmup__";

/// The scalars of a run as rows: chain by chain, the warm-up first, draw by draw.
struct Rows {
    scalars: Vec<Scalar>,
    /// How many rows each chain has.
    lengths: Vec<usize>,
    /// How many of them are of the warm-up, if there are any.
    warmup: Option<Vec<usize>>,
}

impl Rows {
    fn new(run: &Run) -> Rows {
        let mut scalars = with_statistics(&run.draws, &run.stats);
        let warm = with_statistics(&run.warmup, &run.warmup_stats);
        if scalars.is_empty() {
            let empty = |s: &Scalar| Scalar { name: s.name.clone(), chains: Vec::new() };
            scalars = warm.iter().map(empty).collect();
        }
        let warmup = (!warm.is_empty()).then(|| lengths(&warm));
        if let Some(warmup) = &warmup {
            for scalar in &mut scalars {
                let warm = warm.iter().find(|warm| warm.name == scalar.name);
                prepend(scalar, warm, warmup);
            }
        }
        Rows { lengths: lengths(&scalars), scalars, warmup }
    }

    /// The number of a row in its part of a chain, and whether that is the warm-up.
    fn draw(&self, chain: usize, row: usize) -> (usize, bool) {
        let warm = self.warmup.as_ref().and_then(|w| w.get(chain)).copied().unwrap_or(0);
        if row < warm { (row, true) } else { (row - warm, false) }
    }
}

fn with_statistics(draws: &Draws, stats: &Draws) -> Vec<Scalar> {
    let mut scalars = draws.scalars();
    let named = |s: Scalar| Scalar { name: format!("{}{ASIDE}", s.name), ..s };
    scalars.extend(stats.scalars().into_iter().map(named));
    scalars
}

fn lengths(scalars: &[Scalar]) -> Vec<usize> {
    let chains = scalars.iter().map(|scalar| scalar.chains.len()).max().unwrap_or(0);
    let length = |chain: usize| {
        scalars.iter().filter_map(|s| s.chains.get(chain)).map(Vec::len).max().unwrap_or(0)
    };
    (0..chains).map(length).collect()
}

/// Puts the warm-up before the draws. What it lacks is no number.
fn prepend(scalar: &mut Scalar, warm: Option<&Scalar>, lengths: &[usize]) {
    scalar.chains.resize(scalar.chains.len().max(lengths.len()), Vec::new());
    for ((k, chain), length) in scalar.chains.iter_mut().enumerate().zip(lengths) {
        let mut all = warm.and_then(|w| w.chains.get(k)).cloned().unwrap_or_default();
        all.resize(*length, f64::NAN);
        all.append(chain);
        *chain = all;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_told_apart_by_a_guard() {
        for (name, written) in [("b", "b"), ("=1+1", "'=1+1"), ("@x", "'@x"), ("'=a", "''=a")] {
            assert_eq!(csv::guarded(name), written);
            assert_eq!(crate::recorded::csv::unguarded(written), name);
        }
    }
}
