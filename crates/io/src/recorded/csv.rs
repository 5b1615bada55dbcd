//! CSV with a header line: numbers, `nan`, `inf`, `-inf`, or `true` and `false`.

use std::fs::File;

use csv::{ErrorKind, ReaderBuilder, StringRecord};
use smidgen_draws::Run;
use smidgen_value::Value;

use super::{Chains, Header, from_rows};

pub(super) fn read(file: File) -> Result<Run, String> {
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file);
    let mut record = StringRecord::new();
    if !reader.read_record(&mut record).map_err(unreadable)? {
        return Err("the file is empty".to_owned());
    }
    let names = record.iter().map(|name| name.trim_start_matches('\u{feff}').trim());
    let names = names.map(|name| unguarded(name).to_owned());
    let header = Header::new(names)?;
    let columns = record.len();
    let (mut chains, mut warmup) = (Chains::new(&header), Chains::new(&header));
    while reader.read_record(&mut record).map_err(unreadable)? {
        let line = record.position().map_or(0, csv::Position::line);
        let wrong = |problem: String| format!("line {line}: {problem}");
        if record.len() != columns {
            let cells = record.len();
            return Err(wrong(format!("{cells} cells, but the header names {columns} columns")));
        }
        let chain = match header.chain {
            Some(place) => chain_number(record[place].trim()).map_err(wrong)?,
            None => 0,
        };
        let is_warm = header.warmup.is_some_and(|place| record[place].trim() == "1");
        let into = if is_warm { &mut warmup } else { &mut chains };
        into.push(chain, |place, name| value(record[place].trim(), name)).map_err(wrong)?;
    }
    Ok(from_rows(chains, warmup))
}

/// A name without the apostrophe that keeps spreadsheets from taking it for a formula.
pub(crate) fn unguarded(name: &str) -> &str {
    let is_guarded = name.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r']);
    name.strip_prefix('\'').filter(|_| is_guarded).unwrap_or(name)
}

fn unreadable(error: csv::Error) -> String {
    match error.into_kind() {
        ErrorKind::Io(error) => format!("cannot read the file: {error}"),
        ErrorKind::Utf8 { pos, .. } => {
            format!("line {}: the text is not UTF-8", pos.map_or(0, |pos| pos.line()))
        }
        other => format!("cannot read the file: {other:?}"),
    }
}

fn chain_number(cell: &str) -> Result<u64, String> {
    cell.parse().map_err(|_| format!("column `chain`: {cell:?} is no whole number"))
}

fn value(cell: &str, name: &str) -> Result<Option<Value>, String> {
    if cell.is_empty() {
        return Ok(None);
    }
    match cell.parse() {
        Ok(x) => Ok(Some(Value::Number(x))),
        Err(_) if cell.eq_ignore_ascii_case("true") => Ok(Some(Value::TRUE)),
        Err(_) if cell.eq_ignore_ascii_case("false") => Ok(Some(Value::FALSE)),
        Err(_) => Err(format!("column `{name}`: {cell:?} is no number")),
    }
}
