//! Arrow files that are mapped: which columns stay where they lie, that they are the same as
//! copied ones, and what becomes of them when the file goes.

#[path = "support/arrow.rs"]
mod arrow;
mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::builder::{FixedSizeListBuilder, Float64Builder, ListBuilder};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{CompressionType, root_as_footer};
use smidgen_io::{
    ColumnSelection, Progress, Reading, TableOptions, VectorColumn, read_table, read_table_with,
};
use smidgen_value::{Column, Symbol, Table};

use arrow::{arrow_file, batch, stream_file};
use support::{Folder, cells};

const ROWS: usize = 40_000;

fn doubles(scale: f64) -> Vec<f64> {
    (0..ROWS).map(|i| scale * (i as f64 + 0.5)).collect()
}

fn fixed_lists() -> ArrayRef {
    let mut lists = FixedSizeListBuilder::new(Float64Builder::new(), 2);
    for x in doubles(3.0) {
        lists.values().append_slice(&[x, -x]);
        lists.append(true);
    }
    Arc::new(lists.finish())
}

fn lists() -> ArrayRef {
    let mut lists = ListBuilder::new(Float64Builder::new());
    for x in doubles(5.0) {
        lists.values().append_slice(&[x, 1.0, -x]);
        lists.append(true);
    }
    Arc::new(lists.finish())
}

fn columns() -> arrow::Columns {
    let words = (0..ROWS).map(|i| ["a", "b", "c"][i % 3]);
    vec![
        ("x", Arc::new(Float64Array::from(doubles(1.0)))),
        ("y", Arc::new(BooleanArray::from_iter((0..ROWS).map(|i| Some(i % 3 == 0))))),
        ("f", fixed_lists()),
        ("l", lists()),
        ("k", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))),
        ("s", Arc::new(StringArray::from_iter_values(words))),
        ("z", Arc::new(Float64Array::from(doubles(-7.0)))),
    ]
}

const NAMES: [&str; 7] = ["x", "y", "f", "l", "k", "s", "z"];

fn read(path: &Path) -> Table {
    read_table(path, &TableOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn column<'a>(table: &'a Table, name: &str) -> &'a Column {
    table.column(Symbol::new(name)).expect("the column is there")
}

fn lent(table: &Table) -> Vec<&'static str> {
    NAMES.into_iter().filter(|name| column(table, name).is_lent()).collect()
}

/// What the file is called, without its folder.
fn message(path: &Path) -> String {
    let error = read_table(path, &TableOptions::default()).expect_err("a wrong file").to_string();
    let (_, text) = error.split_once(": ").expect("the path comes first");
    text.to_owned()
}

/// The file with its only block moved on by four bytes, so that no double is aligned.
fn shifted(bytes: &[u8]) -> Vec<u8> {
    let tail = bytes.last_chunk::<10>().expect("a whole file");
    let length = read_footer_length(*tail).expect("a footer");
    let start = bytes.len() - 10 - length;
    let footer = root_as_footer(&bytes[start..start + length]).expect("a footer");
    let blocks = footer.recordBatches().expect("blocks");
    assert_eq!(blocks.len(), 1);
    let offset = blocks.get(0).offset();
    let mut footer = bytes[start..].to_vec();
    let known = |at: &usize| footer[*at..].starts_with(&offset.to_le_bytes());
    let at = (0..footer.len()).find(known).expect("the footer knows the block");
    footer[at..at + 8].copy_from_slice(&(offset + 4).to_le_bytes());
    let (before, block) = bytes[..start].split_at(offset as usize);
    [before, &[0; 4], block, &footer].concat()
}

#[test]
fn doubles_of_one_batch_stay_where_they_lie_and_are_the_same_as_copies() {
    let folder = Folder::new("mapped");
    let path = |name: &str| folder.0.join(name);
    let whole = batch(columns());
    let half = ROWS / 2;
    let halves: [RecordBatch; 2] = [whole.slice(0, half), whole.slice(half, ROWS - half)];
    arrow_file(&path("one.arrow"), std::slice::from_ref(&whole), None);
    arrow_file(&path("two.arrow"), &halves, None);
    arrow_file(&path("z.arrow"), std::slice::from_ref(&whole), Some(CompressionType::ZSTD));
    stream_file(&path("stream.arrow"), std::slice::from_ref(&whole));
    let bytes = std::fs::read(path("one.arrow")).expect("just written");
    folder.file("shifted.arrow", &shifted(&bytes));
    let mapped = read(&path("one.arrow"));
    assert_eq!((mapped.rows(), lent(&mapped)), (ROWS, vec!["x", "f", "l", "z"]));
    for name in ["two.arrow", "z.arrow", "stream.arrow", "shifted.arrow"] {
        let copied = read(&path(name));
        assert_eq!(lent(&copied), [""; 0], "{name}");
        for column in NAMES {
            assert_eq!(cells(&copied, column), cells(&mapped, column), "{name}: {column}");
        }
    }
    assert_eq!(column(&mapped, "x").reals().map(|x| x.data.to_vec()), Some(doubles(1.0)));
    let copy = column(&mapped, "x").clone();
    assert!(copy.is_same(column(&mapped, "x")) && !copy.is_same(column(&mapped, "z")));
}

/// The system says which addresses belong to the file.
#[cfg(target_os = "linux")]
#[test]
fn lent_columns_lie_in_the_file() {
    let folder = Folder::new("mapped-addresses");
    let path = folder.0.join("addresses.arrow");
    arrow_file(&path, &[batch(columns())], None);
    let maps = || {
        let text = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
        let lines = text.lines().filter(|line| line.ends_with("/addresses.arrow"));
        let range = |line: &str| {
            let (start, rest) = line.split_once('-')?;
            let number = |digits: &str| usize::from_str_radix(digits, 16).ok();
            Some(number(start)?..number(rest.split_once(' ')?.0)?)
        };
        lines.map(|line| range(line).expect("a range")).collect::<Vec<_>>()
    };
    let table = read(&path);
    let ranges = maps();
    assert_eq!(ranges.len(), 1);
    for name in ["x", "f", "l", "z"] {
        let data = column(&table, name).reals().expect("numbers").data.as_ptr_range();
        let (start, end) = (data.start as usize, data.end as usize);
        assert!(ranges[0].start <= start && end <= ranges[0].end, "{name}");
    }
    let row = column(&table, "f").cell(7);
    drop(table);
    assert_eq!(maps().len(), 1, "a cell keeps the file mapped");
    drop(row);
    assert_eq!(maps().len(), 0, "nobody needs it any more");
}

#[test]
fn small_files_and_vectors_of_several_columns_are_copied() {
    let folder = Folder::new("mapped-not");
    let path = folder.0.join("t.arrow");
    let whole = batch(columns());
    arrow_file(&path, &[whole.slice(0, 100)], None);
    assert_eq!(lent(&read(&path)), [""; 0]);
    arrow_file(&path, &[whole], None);
    let vectors = VectorColumn {
        name: Symbol::new("v"),
        columns: ColumnSelection::List(vec!["z".to_owned(), "x".to_owned()]),
    };
    let options = TableOptions { vectors: vec![vectors], ..TableOptions::default() };
    let table = read_table(&path, &options).unwrap_or_else(|error| panic!("{error}"));
    let v = column(&table, "v");
    assert_eq!((v.is_lent(), column(&table, "f").is_lent()), (false, true));
    let expected: Vec<f64> =
        doubles(-7.0).into_iter().zip(doubles(1.0)).flat_map(|(z, x)| [z, x]).collect();
    assert_eq!(v.reals().map(|v| (v.width, v.data.to_vec())), Some((2, expected)));
}

#[test]
fn wrong_cells_are_named_as_in_a_file_that_is_copied() {
    let folder = Folder::new("mapped-wrong");
    let (mapped, copied) = (folder.0.join("t.arrow"), folder.0.join("stream.arrow"));
    let at = ROWS - 3;
    let nan =
        Float64Array::from_iter_values((0..ROWS).map(|i| if i == at { f64::NAN } else { 1.0 }));
    let null = Float64Array::from_iter((0..ROWS).map(|i| (i != at).then_some(1.0)));
    let (mut hole, mut long) = (
        FixedSizeListBuilder::new(Float64Builder::new(), 2),
        ListBuilder::new(Float64Builder::new()),
    );
    for i in 0..ROWS {
        hole.values().append_value(1.0);
        hole.values().append_option((i != at).then_some(2.0));
        hole.append(true);
        long.values().append_slice(&[1.0; 3][..if i == at { 3 } else { 2 }]);
        long.append(true);
    }
    let wrong: [ArrayRef; 4] =
        [Arc::new(nan), Arc::new(null), Arc::new(hole.finish()), Arc::new(long.finish())];
    for array in wrong {
        let mut columns = columns();
        columns.push(("bad", array));
        let one = batch(columns);
        arrow_file(&mapped, std::slice::from_ref(&one), None);
        stream_file(&copied, &[one]);
        let said = |path| {
            let table = read_table(path, &TableOptions::default()).expect("read");
            let bad = Symbol::new("bad");
            let missing = table.missing(bad).map(|missing| missing.first.clone());
            missing.or(table.unusable(bad).map(str::to_owned)).expect("something is wrong")
        };
        let text = said(&mapped);
        assert_eq!(text, said(&copied));
        let row = format!("row {} (row.index {at})", at + 1);
        assert!(text.contains(&row), "{text}");
    }
}

#[test]
fn a_file_that_is_cut_off_is_an_error_before_anything_is_read() {
    let folder = Folder::new("mapped-cut");
    let path = folder.0.join("t.arrow");
    arrow_file(&path, &[batch(columns())], None);
    let bytes = std::fs::read(&path).expect("just written");
    for length in (0..bytes.len()).rev().step_by(bytes.len() / 40) {
        std::fs::write(&path, &bytes[..length]).expect("written");
        let text = message(&path);
        assert!(["cut off", "damaged"].iter().any(|word| text.contains(word)), "{length}: {text}");
    }
}

/// Damage to what describes the rows: an error or other numbers, never a panic or a fault.
#[test]
fn no_bytes_make_a_mapped_file_dangerous() {
    let folder = Folder::new("mapped-damaged");
    let path = folder.0.join("t.arrow");
    arrow_file(&path, &[batch(columns())], None);
    let bytes = std::fs::read(&path).expect("just written");
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().name() != Some(smidgen_io::source::DECODER) {
            quiet(info);
        }
    }));
    let mut rng = smidgen_value::Rng::from_seed(11);
    let mut errors = 0;
    // The schema and the head of the batch stand at the beginning, the footer at the end.
    let described = 2_500;
    for _ in 0..150 {
        let mut damaged = bytes.clone();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(2 * described);
            let at = if at < described { at } else { bytes.len() - 1 - (at - described) };
            damaged[at] = [0xff, 0, 1, rng.below(256) as u8][rng.below(4)];
        }
        std::fs::write(&path, &damaged).expect("written");
        match read_table(&path, &TableOptions::default()) {
            Err(_) => errors += 1,
            Ok(table) => table.names().iter().for_each(|name| {
                let column = table.column(*name).expect("its own name");
                assert_eq!(column.len(), table.rows());
                column.cell(table.rows() - 1);
            }),
        }
    }
    assert!(errors > 20, "only {errors} files were found to be damaged");
}

#[test]
fn a_file_may_be_deleted_or_replaced_while_it_is_mapped() {
    let folder = Folder::new("mapped-vanishing");
    let path = folder.0.join("t.arrow");
    arrow_file(&path, &[batch(columns())], None);
    let table = read(&path);
    let before = cells(&table, "x");
    let other = folder.file("other.arrow", b"something else");
    std::fs::rename(&other, &path).expect("replaced");
    assert_eq!(cells(&table, "x"), before);
    std::fs::remove_file(&path).expect("removed");
    assert_eq!(cells(&table, "x"), before);
}

#[test]
fn the_look_through_a_mapped_file_can_be_watched_and_stopped() {
    let folder = Folder::new("mapped-watched");
    let path = folder.0.join("t.arrow");
    arrow_file(&path, &[batch(columns())], None);
    let (progress, stop) = (Progress::default(), AtomicBool::new(false));
    let reading = Reading { progress: &progress, stop: &stop };
    assert!(read_table_with(&path, &TableOptions::default(), reading).is_ok());
    let [done, total] = [&progress.done, &progress.total].map(|n| n.load(Ordering::Relaxed));
    assert!(done <= total && 10 * done > 9 * total, "{done} of {total}");
    stop.store(true, Ordering::Relaxed);
    let stopped = read_table_with(&path, &TableOptions::default(), reading).map(|_| ());
    let message = stopped.expect_err("it was stopped").to_string();
    assert!(message.contains("interrupted"), "{message}");
}
