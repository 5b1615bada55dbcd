//! NumPy's files, written by hand, and what is read from them.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use smidgen_io::{ColumnSelection, TableOptions, VectorColumn, read_table};
use smidgen_value::{Column, Symbol, Value};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::support::{Folder, cells};
use crate::{read, says};

/// An array of version 1; the type is a name, or a list of fields.
pub fn npy(kind: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    versioned(1, kind, fortran, shape, data)
}

fn versioned(version: u8, kind: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let kind = if kind.starts_with('[') { kind.to_owned() } else { format!("'{kind}'") };
    let fortran = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': {kind}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while !(header.len() + 13).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    let length = u32::try_from(header.len()).expect("short").to_le_bytes();
    bytes.extend(&length[..if version == 1 { 2 } else { 4 }]);
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

pub fn f8(xs: &[f64]) -> Vec<u8> {
    xs.iter().flat_map(|x| x.to_le_bytes()).collect()
}

pub fn npz(path: &Path, arrays: &[(&str, Vec<u8>)], compressed: bool) {
    let method = if compressed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let options = SimpleFileOptions::default().compression_method(method);
    let mut archive = ZipWriter::new(File::create(path).expect("a file"));
    for (name, bytes) in arrays {
        archive.start_file(format!("{name}.npy"), options).expect("written");
        archive.write_all(bytes).expect("written");
    }
    archive.finish().expect("written");
}

#[test]
fn numbers_of_every_type_and_order() {
    let folder = Folder::new("numpy-types");
    let path = folder.0.join("t.npy");
    let check = |bytes: Vec<u8>, expected: [f64; 3]| {
        std::fs::write(&path, bytes).expect("written");
        assert_eq!(cells(&read(&path), "x"), expected.map(Value::Number));
    };
    macro_rules! check_type {
        ($name:expr, $type:ty, $cells:expr) => {
            let cells: [$type; 3] = $cells;
            let little: Vec<u8> = cells.iter().flat_map(|x| x.to_le_bytes()).collect();
            let big: Vec<u8> = cells.iter().flat_map(|x| x.to_be_bytes()).collect();
            let expected = cells.map(|x| x as f64);
            check(npy(concat!("<", $name), false, "(3,)", &little), expected);
            check(npy(concat!(">", $name), false, "(3,)", &big), expected);
            check(npy(concat!("<", $name), true, "(3,)", &little), expected);
            check(versioned(2, concat!("<", $name), false, "(3,)", &little), expected);
            check(versioned(3, concat!("=", $name), false, "(3,)", &little), expected);
        };
    }
    check_type!("f8", f64, [0.1, -2e300, f64::INFINITY]);
    check_type!("f4", f32, [0.5, -2.0, 3.25]);
    check_type!("i1", i8, [-128, 0, 127]);
    check_type!("i2", i16, [-300, 0, 300]);
    check_type!("i4", i32, [-70_000, 0, 70_000]);
    check_type!("i8", i64, [-(1 << 53), 0, 1 << 40]);
    check_type!("u1", u8, [0, 1, 255]);
    check_type!("u2", u16, [0, 1, 65535]);
    check_type!("u4", u32, [0, 1, u32::MAX]);
    check_type!("u8", u64, [0, 1, 1 << 53]);
    // 1, -2 and 0.5 in half precision.
    check(npy("<f2", false, "(3,)", &[0x00, 0x3c, 0x00, 0xc0, 0x00, 0x38]), [1.0, -2.0, 0.5]);
    check(npy("|i1", false, "(3L,)", &[1, 2, 3]), [1.0, 2.0, 3.0]);
}

#[test]
fn two_dimensions_are_vectors_in_either_order() {
    let folder = Folder::new("numpy-vectors");
    let rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let c = npy("<f8", false, "(2, 3)", &f8(rows.as_flattened()));
    let f = npy("<f8", true, "(2, 3)", &f8(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    for bytes in [c, f] {
        let table = read(&folder.file("t.npy", &bytes));
        let x = table.column(Symbol::new("x")).and_then(Column::reals).expect("vectors");
        assert_eq!((table.rows(), x.width, x.data), (2, 3, rows.as_flattened()));
    }
    // Many rows, so that they come in several parts.
    let n = 200_001;
    let column = |j: usize| (0..n).map(move |i| (i * 3 + j) as f64);
    let data: Vec<f64> = (0..3).flat_map(column).collect();
    let table = read(&folder.file("t.npy", &npy("<f8", true, "(200001, 3)", &f8(&data))));
    let x = table.column(Symbol::new("x")).and_then(Column::reals).expect("vectors");
    assert!((0..n * 3).all(|k| x.data[k] == k as f64));
}

#[test]
fn fields_are_columns_by_their_names() {
    let folder = Folder::new("numpy-fields");
    let kind = "[('y', '<i2'), ('', '|V2'), ('b', '|b1'), ('x', '<f8', (2,)), ('s', '<U2'), \
                ('t', '|S3'), ('z', '<c8')]";
    let mut data = Vec::new();
    for (y, b, x, s, t) in [
        (-1i16, 1u8, [1.0, 2.0], ['a', '\0'], b"abc"),
        (2, 0, [3.0, 4.0], ['\u{e9}', 'b'], b"d\0\0"),
    ] {
        data.extend(y.to_le_bytes());
        data.extend([7, 7, b]);
        data.extend(f8(&x));
        s.iter().for_each(|&c| data.extend(u32::from(c).to_le_bytes()));
        data.extend(t);
        data.extend([0; 8]);
    }
    let table = read(&folder.file("t.npy", &npy(kind, false, "(2,)", &data)));
    assert_eq!(table.names(), ["y", "b", "x", "s", "t"].map(Symbol::new));
    assert_eq!(cells(&table, "y"), [-1.0, 2.0].map(Value::Number));
    assert_eq!(cells(&table, "b"), [true, false].map(Value::Bool));
    assert_eq!(cells(&table, "x"), [[1.0, 2.0], [3.0, 4.0]].map(Value::vector));
    assert_eq!(cells(&table, "s"), ["a", "\u{e9}b"].map(Value::text));
    assert_eq!(cells(&table, "t"), ["abc", "d"].map(Value::text));
    let reason = table.unusable(Symbol::new("z")).expect("set aside");
    assert!(reason.contains("complex"), "{reason}");
}

#[test]
fn arrays_of_an_archive_are_columns_by_their_names() {
    let folder = Folder::new("numpy-archives");
    let path = folder.0.join("t.npz");
    for compressed in [false, true] {
        let arrays = [
            ("x", npy("<f8", true, "(2, 2)", &f8(&[1.0, 3.0, 2.0, 4.0]))),
            ("a", npy("<i4", false, "(2,)", &[5, 0, 0, 0, 6, 0, 0, 0])),
            ("b", npy("<f8", false, "(2,)", &f8(&[7.0, 8.0]))),
            ("note", npy("<f8", false, "()", &f8(&[1.0]))),
            ("cube", npy("<f8", false, "(2, 1, 1)", &f8(&[1.0, 2.0]))),
            ("what", npy("|O", false, "(2,)", &[1, 2, 3])),
        ];
        npz(&path, &arrays, compressed);
        let table = read(&path);
        assert_eq!(table.names(), ["x", "a", "b"].map(Symbol::new));
        assert_eq!(cells(&table, "x"), [[1.0, 2.0], [3.0, 4.0]].map(Value::vector));
        assert_eq!(cells(&table, "a"), [5.0, 6.0].map(Value::Number));
        for (name, word) in
            [("note", "shape []"), ("cube", "[2, 1, 1]"), ("what", "Python objects")]
        {
            let reason = table.unusable(Symbol::new(name)).expect("set aside");
            assert!(reason.contains(word), "{reason}");
        }
        let columns = ColumnSelection::List(vec!["b".to_owned(), "a".to_owned()]);
        let vectors = vec![VectorColumn { name: Symbol::new("v"), columns }];
        let options = TableOptions { vectors, ..TableOptions::default() };
        let table = read_table(&path, &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(cells(&table, "v"), [[7.0, 5.0], [8.0, 6.0]].map(Value::vector));
    }
}

#[test]
fn what_is_wrong_with_an_array_is_said() {
    let folder = Folder::new("numpy-faults");
    let number = f8(&[1.0, 2.0]);
    let nan = f8(&[1.0, 2.0, 3.0, f64::NAN]);
    let cases: Vec<(Vec<u8>, &[&str])> = vec![
        (npy("<f8", false, "(3,)", &number), &["cut off"]),
        (npy("<f8", false, "(1152921504606846976,)", &number), &["cut off"]),
        (npy("<f8", false, "(2, 1, 1)", &number), &["[2, 1, 1]"]),
        (npy("<f8", false, "()", &number), &["shape []"]),
        (npy("<f8", false, "(2, 0)", &[]), &["[2, 0]"]),
        (npy("<f8", false, "(0,)", &[]), &["no rows"]),
        (npy("<U0", false, "(9,)", &[]), &["shape [9]"]),
        (npy("<U1", false, "(2,)", &[97, 0, 0, 0, 0, 0xd8, 0, 0]), &["row 2 ", "UTF-8"]),
        (npy("|O", false, "(2,)", b"pickled"), &["Python objects"]),
        (npy("what", false, "(2,)", &number), &["header"]),
        (b"\x93NUMPY\x09\x00\x10\x00".to_vec(), &["cut off"]),
        (b"NUMPY and more".to_vec(), &["damaged"]),
    ];
    for (bytes, words) in cases {
        says(&folder.file("t.npy", &bytes), words);
    }
    // What is wrong with a column alone is said when it is used.
    let read = |bytes: Vec<u8>| {
        let path = folder.file("t.npy", &bytes);
        read_table(&path, &TableOptions::default()).unwrap_or_else(|error| panic!("{error}"))
    };
    let (x, table) = (Symbol::new("x"), read(npy("<f8", false, "(2, 2)", &nan)));
    let missing = table.missing(x).expect("a missing cell");
    assert_eq!((&missing.mask[..], &*missing.first), (&[false, true][..], "row 2 (row.index 1)"));
    let large = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1];
    let table = read(npy("<i8", false, "(2,)", &large));
    let reason = table.unusable(x).expect("a number that no double holds");
    assert!(reason.contains("row 2 ") && reason.contains("2^53"), "{reason}");
    let path = folder.0.join("t.npz");
    let two = npy("<f8", false, "(2,)", &number);
    let one = npy("<f8", false, "(1,)", &f8(&[1.0]));
    npz(&path, &[("a", two), ("b", one)], true);
    says(&path, &["`a` has 2", "`b` has 1"]);
    let options = TableOptions { arrays: vec!["a".to_owned()], ..TableOptions::default() };
    let table = read_table(&path, &options).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((table.names(), table.rows()), (&[Symbol::new("a")][..], 2));
    npz(&path, &[], true);
    says(&path, &["no columns"]);
}
