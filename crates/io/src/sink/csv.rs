//! CSV: a header line, then one line per chain and draw. Numbers are the shortest text that
//! reads back as the same double.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;

use csv::{ByteRecord, Writer};

use super::{Problem, Rows, WARMUP};

pub(super) fn write(file: File, rows: &Rows) -> Result<File, Problem> {
    let mut writer = Writer::from_writer(file);
    let names = rows.scalars.iter().map(|scalar| guarded(&scalar.name));
    let warmup = rows.warmup.as_ref().map(|_| WARMUP);
    let head = ["chain", "draw"].into_iter().chain(warmup).map(Cow::Borrowed);
    writer.write_record(head.chain(names).map(Cow::into_owned)).map_err(encoder)?;
    let mut record = ByteRecord::new();
    let mut cell = String::new();
    for (chain, &length) in rows.lengths.iter().enumerate() {
        for row in 0..length {
            let (draw, is_warm) = rows.draw(chain, row);
            record.clear();
            record.push_field(chain.to_string().as_bytes());
            record.push_field(draw.to_string().as_bytes());
            if warmup.is_some() {
                record.push_field(if is_warm { b"1" } else { b"0" });
            }
            for scalar in &rows.scalars {
                cell.clear();
                if let Some(x) = scalar.chains.get(chain).and_then(|draws| draws.get(row)) {
                    write_number(&mut cell, *x);
                }
                record.push_field(cell.as_bytes());
            }
            writer.write_byte_record(&record).map_err(encoder)?;
        }
    }
    writer.into_inner().map_err(|error| Problem::Io(error.into_error()))
}

/// A name that a spreadsheet does not take for a formula: one that begins as a formula does, possibly after
/// such guards, gets an apostrophe in front. `unguarded` of the reader takes it away again.
pub(super) fn guarded(name: &str) -> Cow<'_, str> {
    match name.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => Cow::Owned(format!("'{name}")),
        false => Cow::Borrowed(name),
    }
}

fn encoder(error: csv::Error) -> Problem {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Problem::Io(error),
        other => Problem::Encoder(format!("{other:?}").into()),
    }
}

/// Plain digits for everyday sizes, a power of ten for others; `nan`, `inf`, `-inf`.
fn write_number(cell: &mut String, x: f64) {
    let written = if x.is_nan() {
        cell.write_str("nan")
    } else if x == 0.0 || x.is_infinite() || (1e-5..1e16).contains(&x.abs()) {
        write!(cell, "{x}")
    } else {
        write!(cell, "{x:e}")
    };
    written.expect("a string takes any text");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_as_themselves() {
        for (x, text) in [
            (0.1, "0.1"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e300, "1e300"),
            (5e-324, "5e-324"),
            (-1.25e-7, "-1.25e-7"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            let mut cell = String::new();
            write_number(&mut cell, x);
            assert_eq!(cell, text);
            assert_eq!(cell.parse(), Ok(x));
        }
        let mut cell = String::new();
        write_number(&mut cell, f64::NAN);
        assert_eq!(cell, "nan");
    }
}
