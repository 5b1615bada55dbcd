//! A folder of files that are added one by one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use smidgen_value::Table;

use super::{Followed, Gathered, Look, Stamp, changed, note_texts, stamp_of};
use crate::source::{DataError, TableOptions, read_table_with};

/// Files that were read, in the order of their names.
#[derive(Debug, Default)]
pub(super) struct Files(Vec<Piece>);

#[derive(Debug)]
struct Piece {
    path: PathBuf,
    stamp: Stamp,
    sum: u64,
    rows: usize,
}

impl Files {
    pub fn position(&self) -> u64 {
        self.0.len() as u64
    }

    pub fn next(&mut self, options: &mut TableOptions, look: &Look) -> Followed<Option<Table>> {
        let paths = self.check(files_of(look.path)?)?;
        let most = look.upto.map_or(usize::MAX, |upto| usize::try_from(upto).unwrap_or(usize::MAX));
        if look.upto.is_some() && self.0.len() + paths.len() < most {
            let (there, shown) = (self.0.len() + paths.len(), look.path.display());
            return Err(format!("{shown} had {most} files, now it has {there}"));
        }
        let mut gathered = Gathered::default();
        for path in paths.into_iter().take(most - self.0.len().min(most)) {
            let (stamp, sum) = (stamp_of(&path)?, sum_of(&path)?);
            let table = read_table_with(&path, options, look.reading);
            let table = table.map_err(|error: DataError| error.to_string())?;
            if self.0.is_empty() {
                note_texts(options, &table);
            }
            self.0.push(Piece { rows: table.rows(), path: path.clone(), stamp, sum });
            gathered.add(look, table).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        Ok(gathered.table(look))
    }

    /// The files that are new, if the others are what they were.
    fn check(&mut self, mut paths: Vec<PathBuf>) -> Followed<Vec<PathBuf>> {
        let mut first = 0;
        for piece in &mut self.0 {
            if !paths.contains(&piece.path) {
                return Err(format!(
                    "{} is gone, which had {} rows from row {first} on",
                    piece.path.display(),
                    piece.rows
                ));
            }
            let now = stamp_of(&piece.path)?;
            if now != piece.stamp {
                if sum_of(&piece.path)? != piece.sum {
                    return Err(changed(&piece.path, first, piece.rows));
                }
                piece.stamp = now;
            }
            first += piece.rows;
        }
        paths.retain(|path| self.0.iter().all(|piece| piece.path != *path));
        if let (Some(last), Some(path)) = (self.0.last(), paths.first())
            && *path < last.path
        {
            return Err(format!(
                "{} has come before files that were read: the order of the rows is that of the names",
                path.display()
            ));
        }
        Ok(paths)
    }
}

/// The files of a folder by their names, but for those that are being written: these are called otherwise until they are whole.
fn files_of(folder: &Path) -> Followed<Vec<PathBuf>> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_hidden =
            name.is_none_or(|name| name.starts_with(['.', '_']) || name.ends_with(".tmp"));
        if path.is_file() && !is_hidden {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn sum_of(path: &Path) -> Followed<u64> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let sum = super::sum_of(&mut file, length).map_err(failed)?;
    sum.ok_or_else(|| format!("{} has become shorter while it was read", path.display()))
}
