//! Reading Parquet, Arrow and NumPy files: types, vectors, missing values, and files that are cut
//! off, damaged or wrong.

#[path = "support/arrow.rs"]
mod arrow;
mod numpy;
mod support;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::builder::{FixedSizeListBuilder, Float64Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float32Array, Float64Array, Int8Array,
    Int64Array, NullArray, RecordBatch, StringArray, StringViewArray, UInt16Array, UInt64Array,
};
use arrow_ipc::CompressionType;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use smidgen_io::{
    ColumnSelection, Progress, Reading, TableOptions, VectorColumn, read_table, read_table_with,
};
use smidgen_value::{Column, Symbol, Table, Value};

use arrow::{arrow_file, batch, stream_file};
use support::{Folder, cells};

// ---------------------------------------------------------------- writing

fn parquet_file(path: &Path, batches: &[RecordBatch], compression: Compression) {
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(7));
    let file = File::create(path).expect("a file");
    let schema = batches[0].schema();
    let mut writer =
        ArrowWriter::try_new(file, schema, Some(properties.build())).expect("a writer");
    batches.iter().for_each(|batch| writer.write(batch).expect("written"));
    writer.close().expect("written");
}

/// The same batches in every format of the Arrow family.
fn in_every_format(folder: &Folder, batches: &[RecordBatch]) -> Vec<PathBuf> {
    let path = |name: &str| folder.0.join(name);
    for (name, compression) in [
        ("plain.parquet", Compression::UNCOMPRESSED),
        ("snappy.parquet", Compression::SNAPPY),
        ("gzip.parquet", Compression::GZIP(Default::default())),
        ("lz4.parquet", Compression::LZ4_RAW),
        ("zstd.parquet", Compression::ZSTD(Default::default())),
    ] {
        parquet_file(&path(name), batches, compression);
    }
    arrow_file(&path("plain.arrow"), batches, None);
    arrow_file(&path("lz4.feather"), batches, Some(CompressionType::LZ4_FRAME));
    arrow_file(&path("zstd.ipc"), batches, Some(CompressionType::ZSTD));
    stream_file(&path("stream.arrow"), batches);
    let names = ["plain.parquet", "snappy.parquet", "gzip.parquet", "lz4.parquet", "zstd.parquet"];
    let more = ["plain.arrow", "lz4.feather", "zstd.ipc", "stream.arrow"];
    names.into_iter().chain(more).map(path).collect()
}

fn fixed_lists(rows: &[[f64; 2]]) -> ArrayRef {
    let mut lists = FixedSizeListBuilder::new(Float64Builder::new(), 2);
    for row in rows {
        row.iter().for_each(|&x| lists.values().append_value(x));
        lists.append(true);
    }
    Arc::new(lists.finish())
}

fn lists(rows: &[&[f64]]) -> ArrayRef {
    let mut lists = ListBuilder::new(Float64Builder::new());
    for row in rows {
        row.iter().for_each(|&x| lists.values().append_value(x));
        lists.append(true);
    }
    Arc::new(lists.finish())
}

fn read(path: &Path) -> Table {
    read_table(path, &TableOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn message(path: &Path, options: &TableOptions) -> String {
    match read_table(path, options) {
        Ok(_) => panic!("{} was read", path.display()),
        Err(error) => error.to_string(),
    }
}

fn says(path: &Path, words: &[&str]) {
    let message = message(path, &TableOptions::default());
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    for word in words.iter().copied().chain([name.as_str()]) {
        assert!(message.contains(word), "{message:?} lacks {word:?}");
    }
}

// ---------------------------------------------------------------- types

#[test]
fn every_type_reads_back_from_every_format() {
    let folder = Folder::new("types-of-columns");
    let words: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    let first = batch(vec![
        ("f64", Arc::new(Float64Array::from(vec![0.1, -2.5e300, f64::INFINITY]))),
        ("f32", Arc::new(Float32Array::from(vec![0.5, 1.0, 3.0]))),
        ("i8", Arc::new(Int8Array::from(vec![-128, 0, 127]))),
        ("i64", Arc::new(Int64Array::from(vec![-(1 << 53), 0, 1 << 53]))),
        ("u16", Arc::new(UInt16Array::from(vec![0, 1, 65535]))),
        ("u64", Arc::new(UInt64Array::from(vec![0, 1, 1 << 53]))),
        ("b", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("s", Arc::new(StringArray::from(vec!["x", "", "x"]))),
        ("v", Arc::new(StringViewArray::from(vec!["long enough to be no prefix", "y", "\u{e9}"]))),
        ("d", Arc::new(words)),
        ("x", fixed_lists(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])),
        ("l", lists(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], &[7.0, 8.0, 9.0]])),
        ("day", Arc::new(Date32Array::from(vec![1, 2, 3]))),
    ]);
    let batches: Vec<RecordBatch> =
        (0..5).map(|_| first.clone()).chain([first.slice(1, 2)]).collect();
    for path in in_every_format(&folder, &batches) {
        let table = read(&path);
        assert_eq!(table.rows(), 17, "{}", path.display());
        let starts = |name: &str, expected: Vec<Value>| {
            let found = cells(&table, name);
            assert_eq!(found[..3], expected, "{} {name}", path.display());
            assert_eq!(found[12..15], expected, "{} {name}", path.display());
            assert_eq!(found[15..], expected[1..], "{} {name}", path.display());
        };
        let numbers = |xs: [f64; 3]| xs.map(Value::Number).to_vec();
        let texts = |xs: [&str; 3]| xs.map(Value::text).to_vec();
        starts("f64", numbers([0.1, -2.5e300, f64::INFINITY]));
        starts("f32", numbers([0.5, 1.0, 3.0]));
        starts("i8", numbers([-128.0, 0.0, 127.0]));
        starts("i64", numbers([-9007199254740992.0, 0.0, 9007199254740992.0]));
        starts("u16", numbers([0.0, 1.0, 65535.0]));
        starts("u64", numbers([0.0, 1.0, 9007199254740992.0]));
        starts("b", [true, false, true].map(Value::Bool).to_vec());
        starts("s", texts(["x", "", "x"]));
        starts("v", texts(["long enough to be no prefix", "y", "\u{e9}"]));
        starts("d", texts(["a", "b", "a"]));
        starts("x", [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]].map(Value::vector).to_vec());
        let rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
        starts("l", rows.map(Value::vector).to_vec());
        assert!(table.column(Symbol::new("day")).is_none());
        let reason = table.unusable(Symbol::new("day")).expect("dates are set aside");
        assert!(reason.contains("dates"), "{reason}");
        let d = table.column(Symbol::new("d")).and_then(Column::texts).expect("texts");
        assert_eq!((d.words().len(), d.codes().len()), (2, 17));
    }
}

#[test]
fn several_columns_become_one_vector() {
    let folder = Folder::new("columns-to-vectors");
    let one = batch(vec![
        ("x2", Arc::new(Float64Array::from(vec![1.0, 3.0]))),
        ("y", Arc::new(BooleanArray::from(vec![true, false]))),
        ("x1", Arc::new(Int64Array::from(vec![2, 4]))),
    ]);
    let columns = |columns| TableOptions {
        vectors: vec![VectorColumn { name: Symbol::new("x"), columns }],
        ..TableOptions::default()
    };
    let names =
        |names: &[&str]| ColumnSelection::List(names.iter().map(|&n| n.to_owned()).collect());
    for path in in_every_format(&folder, &[one.clone(), one]) {
        let all = columns(ColumnSelection::Glob("x*".to_owned()));
        let table = read_table(&path, &all).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(table.names(), ["x", "y"].map(Symbol::new));
        let x = table.column(Symbol::new("x")).and_then(Column::reals).expect("vectors");
        assert_eq!((x.width, x.data), (2, &[1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0][..]));
        let wrong = message(&path, &columns(names(&["x1", "y"])));
        assert!(["`y`", "`x`", "numbers", "booleans"].iter().all(|w| wrong.contains(w)), "{wrong}");
        let absent = message(&path, &columns(names(&["x1", "z"])));
        assert!(absent.contains("no column `z`"), "{absent}");
        let text = TableOptions { texts: vec!["x1".to_owned()], ..TableOptions::default() };
        assert!(message(&path, &text).contains("found numbers"));
    }
}

// ---------------------------------------------------------------- wrong cells

#[test]
fn missing_and_wrong_cells_spoil_nothing_but_their_column() {
    let folder = Folder::new("wrong-cells");
    let fine = |n: usize| -> ArrayRef { Arc::new(Float64Array::from(vec![1.0; n])) };
    let mut hollow = FixedSizeListBuilder::new(Float64Builder::new(), 2);
    for x in [Some(1.0), None] {
        hollow.values().append_value(0.0);
        hollow.values().append_option(x);
        hollow.append(true);
    }
    let null = vec![Some(1.0), None, Some(2.0)];
    let cases: Vec<(&str, ArrayRef, usize, &[&str])> = vec![
        ("null", Arc::new(Float64Array::from(null)), 3, &["row 5 (row.index 4)"]),
        ("nan", Arc::new(Float64Array::from(vec![1.0, f64::NAN])), 2, &["row 5 "]),
        ("text", Arc::new(StringArray::from(vec![Some("a"), None])), 2, &["row 5 "]),
        ("bool", Arc::new(BooleanArray::from(vec![None, Some(true)])), 2, &["row 4 "]),
        ("all", Arc::new(NullArray::new(2)), 2, &["row 4 "]),
        (
            "big",
            Arc::new(Int64Array::from(vec![0, (1 << 53) + 1])),
            2,
            &["row 5 ", "2^53", "9007199254740993"],
        ),
        ("huge", Arc::new(UInt64Array::from(vec![u64::MAX])), 1, &["row 4 ", "2^53"]),
        ("long", lists(&[&[1.0, 2.0], &[1.0]]), 2, &["row 5 ", "1 elements", "2"]),
        ("none", lists(&[&[]]), 1, &["row 4 ", "empty"]),
        ("hole", Arc::new(hollow.finish()), 2, &["row 5 "]),
    ];
    for (name, bad, rows, words) in cases {
        let good: ArrayRef = match name {
            "text" => Arc::new(StringArray::from(vec!["a"; 3])),
            "bool" => Arc::new(BooleanArray::from(vec![true; 3])),
            "all" => Arc::new(NullArray::new(0)),
            "big" => Arc::new(Int64Array::from(vec![1; 3])),
            "huge" => Arc::new(UInt64Array::from(vec![1; 3])),
            "long" | "none" => lists(&[&[1.0, 2.0][..]; 3]),
            "hole" => fixed_lists(&[[1.0, 2.0]; 3]),
            _ => fine(3),
        };
        let words: Vec<&str> = words.to_vec();
        let (batches, words) = if name == "all" {
            let only = vec![batch(vec![("ok", fine(2)), ("bad", bad)])];
            (only, vec!["row 1 "])
        } else {
            let first = batch(vec![("ok", fine(3)), ("bad", good)]);
            (vec![first, batch(vec![("ok", fine(rows)), ("bad", bad)])], words)
        };
        for path in in_every_format(&folder, &batches) {
            let table = read_table(&path, &TableOptions::default()).expect(name);
            let bad = Symbol::new("bad");
            let found = match table.missing(bad) {
                Some(missing) => missing.first.clone(),
                None => table.unusable(bad).unwrap_or("usable").to_owned(),
            };
            assert!(words.iter().all(|word| found.contains(word)), "{name}: {found}");
            assert!(table.missing(Symbol::new("ok")).is_none());
            assert!(table.column(Symbol::new("ok")).is_some());
        }
    }
}

/// Whole lists that are missing, before and after the first that is there.
#[test]
fn missing_lists_take_the_length_of_the_others() {
    let folder = Folder::new("missing-lists");
    let mut lists = ListBuilder::new(Float64Builder::new());
    for row in [None, None, Some([1.0, 2.0]), None, Some([3.0, 4.0])] {
        match row {
            Some(row) => {
                lists.values().append_slice(&row);
                lists.append(true);
            }
            None => lists.append(false),
        }
    }
    let whole = batch(vec![("v", Arc::new(lists.finish()) as ArrayRef)]);
    for path in in_every_format(&folder, &[whole]) {
        let table = read_table(&path, &TableOptions::default()).expect("read");
        let v = Symbol::new("v");
        let mask = table.missing(v).expect("some are missing").mask.to_vec();
        assert_eq!(mask, [true, true, false, true, false]);
        let column = table.column(v).expect("a column");
        assert_eq!(column.cell(2), Value::vector([1.0, 2.0]));
        assert_eq!(column.cell(4), Value::vector([3.0, 4.0]));
        assert_eq!(column.len(), 5);
    }
}

#[test]
fn a_table_without_rows_or_columns_is_an_error() {
    let folder = Folder::new("no-rows");
    let none = batch(vec![("x", Arc::new(Float64Array::from(Vec::<f64>::new())))]);
    for path in in_every_format(&folder, &[none]) {
        says(&path, &["no rows"]);
    }
    for path in ["e.parquet", "e.arrow", "e.npy", "e.npz"].map(|name| folder.file(name, b"")) {
        says(&path, &["cut off"]);
    }
}

// ---------------------------------------------------------------- wrong files

/// Some rows in every format, and how many bytes each file has.
fn good_files(folder: &Folder) -> Vec<(PathBuf, Vec<u8>)> {
    let words: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    let one = batch(vec![
        ("x", fixed_lists(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])),
        ("y", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("b", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("s", Arc::new(StringArray::from(vec!["x", "yy", "x"]))),
        ("d", Arc::new(words)),
    ]);
    let mut paths = in_every_format(folder, &[one.clone(), one]);
    paths.push(
        folder.file("c.npy", &numpy::npy("<f8", false, "(2, 2)", &numpy::f8(&[1., 2., 3., 4.]))),
    );
    paths.push(folder.file("f.npy", &numpy::npy(">i2", true, "(2, 2)", &[0, 1, 0, 2, 0, 3, 0, 4])));
    paths.push(folder.0.join("a.npz"));
    numpy::npz(
        &folder.0.join("a.npz"),
        &[
            ("x", numpy::npy("<f8", false, "(2, 2)", &numpy::f8(&[1., 2., 3., 4.]))),
            ("y", numpy::npy("|b1", false, "(2,)", &[1, 0])),
        ],
        true,
    );
    let bytes = |path: &PathBuf| std::fs::read(path).expect("just written");
    paths.into_iter().map(|path| (path.clone(), bytes(&path))).collect()
}

#[test]
fn a_file_that_is_cut_off_is_an_error() {
    let folder = Folder::new("cut-off");
    for (path, bytes) in good_files(&folder) {
        read(&path);
        let steps = bytes.len().div_ceil(150);
        for length in (0..bytes.len()).rev().step_by(steps) {
            std::fs::write(&path, &bytes[..length]).expect("written");
            let message = message(&path, &TableOptions::default());
            let plain = ["cut off", "damaged"].iter().any(|word| message.contains(word));
            assert!(plain, "{length} bytes: {message}");
        }
    }
}

/// Damaged files are errors or tables of other numbers, never panics.
#[test]
fn no_bytes_make_a_reader_panic() {
    let folder = Folder::new("damaged");
    let mut rng = smidgen_value::Rng::from_seed(7);
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().name() != Some(smidgen_io::source::DECODER) {
            quiet(info);
        }
    }));
    let mut errors = 0;
    for (path, bytes) in good_files(&folder) {
        for _ in 0..250 {
            let mut bytes = bytes.clone();
            for _ in 0..1 + rng.below(4) {
                let at = rng.below(bytes.len());
                match rng.below(4) {
                    0 => bytes[at] = rng.below(256) as u8,
                    1 => bytes[at] ^= 1 << rng.below(8),
                    2 => bytes[at] = 0xff,
                    _ => {
                        let (from, length) = (rng.below(bytes.len()), rng.below(16));
                        let copy = bytes[from..(from + length).min(bytes.len())].to_vec();
                        let end = (at + copy.len()).min(bytes.len());
                        bytes[at..end].copy_from_slice(&copy[..end - at]);
                    }
                }
            }
            std::fs::write(&path, &bytes).expect("written");
            errors += usize::from(read_table(&path, &TableOptions::default()).is_err());
        }
        for _ in 0..20 {
            let noise: Vec<u8> = (0..rng.below(300)).map(|_| rng.below(256) as u8).collect();
            std::fs::write(&path, &noise).expect("written");
            assert!(read_table(&path, &TableOptions::default()).is_err());
        }
    }
    assert!(errors > 500, "only {errors} files were found to be damaged");
}

#[test]
fn files_of_another_kind_are_said_to_be_so() {
    let folder = Folder::new("other-kinds");
    for name in ["t.parquet", "t.arrow", "t.npy", "t.npz"] {
        let path = folder.file(name, b"x,y\n1,2\n3,4\n and so on: this is a text\n");
        let message = message(&path, &TableOptions::default());
        assert!(message.contains("damaged") || message.contains("cut off"), "{message}");
        says(&folder.0.join(format!("absent-{name}")), &["no such file"]);
        let directory = folder.0.join(format!("d-{name}"));
        std::fs::create_dir(&directory).expect("a directory");
        says(&directory, &["directory"]);
    }
}

// ---------------------------------------------------------------- while it is read

#[test]
fn reading_can_be_watched_and_stopped() {
    let folder = Folder::new("watched");
    for (path, _) in good_files(&folder) {
        let (progress, stop) = (Progress::default(), AtomicBool::new(false));
        let reading = Reading { progress: &progress, stop: &stop };
        assert!(read_table_with(&path, &TableOptions::default(), reading).is_ok());
        let total = progress.total.load(Ordering::Relaxed);
        assert!(total > 0 && progress.done.load(Ordering::Relaxed) > 0, "{}", path.display());
        stop.store(true, Ordering::Relaxed);
        let stopped = read_table_with(&path, &TableOptions::default(), reading).map(|_| ());
        let message = stopped.expect_err("it was stopped").to_string();
        assert!(message.contains("interrupted"), "{message}");
    }
}

/// A table of a small file owns its data: what becomes of the file does not matter. (`mapped.rs` has
/// large ones.)
#[test]
fn a_file_may_shrink_or_vanish_once_it_is_read() {
    let folder = Folder::new("vanishing");
    for (path, _) in good_files(&folder) {
        let table = read(&path);
        let before = cells(&table, "x");
        File::options().write(true).open(&path).and_then(|f| f.set_len(3)).expect("shortened");
        assert_eq!(cells(&table, "x"), before);
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(cells(&table, "x"), before);
    }
}

/// Somebody shortens a pipe's or a file's data while it is read: an error, never a table of a part.
#[test]
fn a_csv_that_shrinks_while_it_is_read_is_an_error() {
    let folder = Folder::new("shrinking");
    let mut text = "x\n".to_owned();
    (0..400_000).for_each(|i| text.push_str(&format!("{i}\n")));
    let path = folder.file("t.csv", text.as_bytes());
    let (progress, stop) = (Progress::default(), AtomicBool::new(false));
    let reading = Reading { progress: &progress, stop: &stop };
    let half = text.len() as u64 / 2;
    let outcome = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_table_with(&path, &TableOptions::default(), reading));
        while progress.done.load(Ordering::Relaxed) == 0 && !reader.is_finished() {
            std::hint::spin_loop();
        }
        File::options().write(true).open(&path).and_then(|f| f.set_len(half)).expect("shortened");
        reader.join().expect("no panic")
    });
    match outcome {
        // It was faster than we were.
        Ok(table) => assert_eq!(table.rows(), 400_000),
        Err(error) => assert!(error.to_string().contains("shorter"), "{error}"),
    }
    let mut file = File::create(&path).expect("a file");
    file.write_all(b"x\n1\n").expect("written");
    assert_eq!(read(&path).rows(), 1);
}
