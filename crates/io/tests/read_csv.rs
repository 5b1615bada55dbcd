//! Reading CSV files: the types of columns, vectors, and every message.

mod support;

use std::path::Path;

use smidgen_io::{ColumnSelection, TableOptions, VectorColumn, read_table};
use smidgen_value::{Column, Rng, Symbol, Table, Value};

use support::{Folder, cells};

fn vector(name: &str, columns: ColumnSelection) -> TableOptions {
    let vectors = vec![VectorColumn { name: Symbol::new(name), columns }];
    TableOptions { vectors, ..TableOptions::default() }
}

fn glob(pattern: &str) -> ColumnSelection {
    ColumnSelection::Glob(pattern.to_owned())
}

fn names(columns: &[&str]) -> ColumnSelection {
    ColumnSelection::List(columns.iter().map(|&name| name.to_owned()).collect())
}

fn read(path: &Path, options: &TableOptions) -> Table {
    read_table(path, options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_type_of_a_column_follows_from_its_cells() {
    let folder = Folder::new("types");
    let text = "x, y ,b,s,mixed\n\
                1,-2.5e3,true,red,1\n \
                2 ,inf,FALSE,\"a, \"\"b\"\"\nc\",x\n\
                .5,+3,True, blank ,true\n";
    for (name, bytes) in [
        ("plain.csv", text.as_bytes().to_vec()),
        ("bom.CSV", format!("\u{feff}{text}").into_bytes()),
        ("unended.csv", text.trim_end().as_bytes().to_vec()),
    ] {
        let table = read(&folder.file(name, &bytes), &TableOptions::default());
        assert_eq!(table.rows(), 3);
        let expected = ["x", "y", "b", "s", "mixed"].map(Symbol::new);
        assert_eq!(table.names(), expected);
        assert_eq!(cells(&table, "x"), [1.0, 2.0, 0.5].map(Value::Number));
        assert_eq!(cells(&table, "y"), [-2500.0, f64::INFINITY, 3.0].map(Value::Number));
        let b = table.column(Symbol::new("b"));
        assert!(matches!(b, Some(Column::Booleans(cells)) if **cells == [true, false, true]));
        assert_eq!(cells(&table, "s"), ["red", "a, \"b\"\nc", " blank "].map(Value::text));
        assert_eq!(cells(&table, "mixed"), ["1", "x", "true"].map(Value::text));
    }
    let windows = folder.file("windows.csv", b"x,s\r\n1,a\r\n\r\n2,b\r\n");
    let table = read(&windows, &TableOptions::default());
    assert_eq!(cells(&table, "x"), [1.0, 2.0].map(Value::Number));
    assert_eq!(cells(&table, "s"), ["a", "b"].map(Value::text));
}

/// A column of both kinds is text only if words prevail, or if the program says so.
#[test]
fn a_word_among_numbers_is_named_when_the_column_is_used() {
    let folder = Folder::new("mixed");
    let mut text = "x,late,b,words,numbered\n".to_owned();
    for i in 0..5000 {
        let x = if i == 4321 { "12a".to_owned() } else { i.to_string() };
        let late = if i == 0 { "one" } else { "1" };
        let b = if i == 2 { "1" } else { "true" };
        let word = if i == 1 { "7" } else { "w" };
        let number = if i % 2 == 0 { "7" } else { "w" };
        text.push_str(&format!("{x},{late},{b},{word},{number}\n"));
    }
    let path = folder.file("t.csv", text.as_bytes());
    let table = read(&path, &TableOptions::default());
    let reason = |name: &str| table.unusable(Symbol::new(name)).unwrap_or("usable").to_owned();
    let expected: [(&str, &[&str]); 3] = [
        ("x", &["t.csv", "row 4322 (line 4323)", "number", "\"12a\"", "(text x)"]),
        ("late", &["row 1 (line 2)", "number", "\"one\""]),
        ("b", &["row 3 (line 4)", "boolean", "\"1\""]),
    ];
    for (name, words) in expected {
        assert!(table.column(Symbol::new(name)).is_none() && table.has(Symbol::new(name)));
        for word in words {
            assert!(reason(name).contains(word), "{name}: {} lacks {word}", reason(name));
        }
    }
    assert_eq!(cells(&table, "words")[..3], ["w", "7", "w"].map(Value::text));
    assert_eq!(cells(&table, "numbered")[..3], ["7", "w", "7"].map(Value::text));
    let texts = vec!["x".to_owned(), "late".to_owned()];
    let table = read(&path, &TableOptions { texts, ..TableOptions::default() });
    assert_eq!(cells(&table, "x")[4321], Value::text("12a"));
    assert_eq!(cells(&table, "x")[0], Value::text("0"));
    assert_eq!(cells(&table, "late")[..2], ["one", "1"].map(Value::text));
    let unknown = TableOptions { texts: vec!["z".to_owned()], ..TableOptions::default() };
    let message = read_table(&path, &unknown).map(|_| ()).expect_err("no such column").to_string();
    assert!(message.contains("`z`") && message.contains("`x`"), "{message}");
}

#[test]
fn several_columns_become_one_vector() {
    let folder = Folder::new("vectors");
    let path = folder.file("t.csv", b"x2,label,x1\n1,a,2\n3,b,4\n");
    let all = read(&path, &vector("x", glob("x*")));
    assert_eq!(all.names(), ["x", "label"].map(Symbol::new));
    assert_eq!(cells(&all, "x"), [Value::vector([1.0, 2.0]), Value::vector([3.0, 4.0])]);
    let listed = read(&path, &vector("x1", names(&["x1", "x2"])));
    assert_eq!(cells(&listed, "x1"), [Value::vector([2.0, 1.0]), Value::vector([4.0, 3.0])]);
    let data = listed.column(Symbol::new("x1"));
    assert!(matches!(data, Some(Column::Vectors { data, width: 2 }) if data.len() == 4));
}

#[test]
fn every_fault_is_named_with_its_place() {
    let folder = Folder::new("faults");
    let plain = TableOptions::default;
    let x = |columns| vector("x", columns);
    let cases: Vec<(&str, &[u8], TableOptions, &[&str])> = vec![
        ("empty", b"", plain(), &["is empty"]),
        ("blank", b"\n\n", plain(), &["is empty"]),
        ("header alone", b"x,y1,y2\n", plain(), &["no rows"]),
        ("blank cell", b"a\n1\n\n2", plain(), &["line before row 2 (line 4)", "`a`"]),
        ("blank cell, CRLF", b"a\r\n1\r\n\r\n2\r\n", plain(), &["before row 2 (line 4)"]),
        ("short", b"a,b\n1,2\n3\n", plain(), &["row 2 (line 3)", "1 cells", "2 columns"]),
        ("long", b"a,b\n1,2,3\n", plain(), &["row 1 (line 2)", "3 cells", "2 columns"]),
        ("open", b"a,b\n1,x\n2,\"y\n3,z\n", plain(), &["row 2 (line 3)", "quote"]),
        ("open, short", b"a,b\n\"y\n3,z", plain(), &["row 1 (line 2)", "quote"]),
        ("twice", b"a,b,a\n", plain(), &["`a` twice"]),
        ("nameless", b"a,,c\n", plain(), &["column 2 has no name"]),
        ("semicolons", b"a;b\n1;2\n", plain(), &["\"a;b\"", "commas"]),
        ("latin-1 header", b"\xe9,b\n", plain(), &["header", "UTF-8"]),
        ("latin-1 cell", b"a,b\n1,x\n2,\xe9\n", plain(), &["row 2 (line 3)", "`b`", "UTF-8"]),
        ("latin-1 late", b"a\n1\n\xe9\n", plain(), &["row 2 (line 3)", "`a`", "UTF-8"]),
        ("no match", b"a,b\n", x(glob("x*")), &["\"x*\"", "`x`", "`a`, `b`"]),
        ("unknown", b"a,b\n", x(names(&["a", "c"])), &["no column `c`", "`x`", "`a`, `b`"]),
        ("repeated", b"a,b\n", x(names(&["a", "a"])), &["`x`", "`a` twice"]),
        ("nothing", b"a,b\n", x(names(&[])), &["`x` lists no columns"]),
        ("taken", b"a,x\n", x(names(&["a"])), &["`x`", "different name"]),
        ("large", b"x1,x2\n1,2\n3,9007199254740993\n", x(glob("x*")), &["row 2 ", "2^53"]),
        ("words", b"x1,x2\n1,2\n3,red\n", x(glob("x*")), &["row 2 (line 3)", "`x2`", "\"red\""]),
    ];
    for (name, bytes, options, words) in cases {
        let path = folder.file("t.csv", bytes);
        let message = read_table(&path, &options).map(|_| ()).expect_err(name).to_string();
        assert!(message.contains("t.csv: "), "{name}: {message}");
        for word in words {
            assert!(message.contains(word), "{name}: {message:?} lacks {word:?}");
        }
    }
}

fn missing(table: &Table, name: &str) -> (Vec<usize>, String) {
    let Some(missing) = table.missing(Symbol::new(name)) else { return Default::default() };
    let rows = (0..table.rows()).filter(|row| missing.mask[*row]).collect();
    (rows, missing.first.clone())
}

/// Every way to say that a cell is missing, in columns of every type; the type is that of the other cells.
#[test]
fn missing_cells_are_noted_by_row_and_have_no_type() {
    let folder = Folder::new("missing");
    let text = "n,b,w,none,late,full\n1,,x,,NA,1\n NA ,true,n/a,?,,2\n\n3,False,\"y\nz\",null,7,3\nNaN,-nan,,NULL,8,4\n";
    let table = read(&folder.file("t.csv", text.as_bytes()), &TableOptions::default());
    assert_eq!(table.rows(), 4);
    assert_eq!(missing(&table, "n"), (vec![1, 3], "t.csv: row 2 (line 3)".to_owned()));
    assert_eq!(missing(&table, "b"), (vec![0, 3], "t.csv: row 1 (line 2)".to_owned()));
    assert_eq!(missing(&table, "w"), (vec![1, 3], "t.csv: row 2 (line 3)".to_owned()));
    assert_eq!(missing(&table, "none").0, [0, 1, 2, 3]);
    assert_eq!(missing(&table, "late").0, [0, 1]);
    assert_eq!(missing(&table, "full").0, Vec::<usize>::new());
    let column = |name: &str| table.column(Symbol::new(name)).expect("a column").clone();
    assert!(matches!(column("n"), Column::Reals(x) if x[0] == 1.0 && x[1].is_nan() && x[2] == 3.0));
    assert!(matches!(column("b"), Column::Booleans(b) if b[1] && !b[2]));
    assert_eq!(column("w").cell(0), Value::text("x"));
    assert_eq!(column("w").cell(2), Value::text("y\nz"));
    assert!(matches!(column("none"), Column::Reals(x) if x.iter().all(|x| x.is_nan())));
    assert!(matches!(column("late"), Column::Reals(x) if x[2] == 7.0 && x.len() == 4));
    let parts =
        read(&folder.file("v.csv", b"x1,x2,x3\n1,2,3\n4,,6\nNA,?,9\n"), &vector("x", glob("x*")));
    assert_eq!(missing(&parts, "x").0, [1, 2]);
    let of_part = |part: &str| {
        let mask = parts.missing(Symbol::new("x"))?.mask_of(Symbol::new("x"), Symbol::new(part))?;
        Some(mask.to_vec())
    };
    assert_eq!(of_part("x1"), Some(vec![false, false, true]));
    assert_eq!(of_part("x2"), Some(vec![false, true, true]));
    assert_eq!(of_part("x3"), None);
}

/// A number that a double does not hold spoils its column, not the table.
#[test]
fn a_number_that_no_double_holds_is_named_when_the_column_is_used() {
    let folder = Folder::new("inexact");
    let text = "id,far,edge,wide,float,end\n\
                9007199254740991,1,9007199254740992,1e300,12345678901234567890.0,inf\n\
                9007199254740993,1e999,-9007199254740992,-1e-400,1e20,-Infinity\n";
    let path = folder.file("t.csv", text.as_bytes());
    let table = read(&path, &TableOptions::default());
    for (name, words) in [
        ("id", ["row 2 (line 3)", "9007199254740993", "2^53", "(text id)"]),
        ("far", ["row 2 (line 3)", "1e999", "1.8e308", "(text far)"]),
    ] {
        let reason = table.unusable(Symbol::new(name)).unwrap_or("usable");
        assert!(words.iter().all(|word| reason.contains(word)), "{name}: {reason}");
    }
    for name in ["edge", "wide", "float", "end"] {
        assert!(table.column(Symbol::new(name)).is_some(), "{name}");
    }
    let options = TableOptions { texts: vec!["id".to_owned()], ..TableOptions::default() };
    let table = read(&path, &options);
    assert_eq!(cells(&table, "id"), ["9007199254740991", "9007199254740993"].map(Value::text));
}

#[test]
fn what_is_no_readable_file_is_said_so() {
    let folder = Folder::new("files");
    let directory = folder.0.join("d.csv");
    std::fs::create_dir(&directory).expect("a directory");
    for (path, word) in [
        (folder.0.join("absent.csv"), "no such file"),
        (directory, "directory"),
        (folder.file("t.xlsx", b""), ".csv"),
        (folder.file("t", b"a\n1\n"), ".parquet"),
    ] {
        let error = read_table(&path, &TableOptions::default()).map(|_| ()).expect_err(word);
        assert!(error.to_string().contains(word), "{error}");
    }
}

/// Whatever texts a CSV writer writes are read back, quotes, commas and newlines included.
#[test]
fn texts_read_back() {
    let folder = Folder::new("texts");
    let mut rng = Rng::from_seed(1);
    let mut below = |n: usize| rng.below(n);
    for _ in 0..300 {
        let (n_columns, n_rows) = (1 + below(4), 1 + below(6));
        let mut rows: Vec<Vec<String>> = vec![(0..n_columns).map(|j| format!("c{j}")).collect()];
        for _ in 0..n_rows {
            let mut cell = || {
                let pieces = ["a", "7", ",", "\"", "\n", "\r\n", " ", "\u{e9}", ".5", ";"];
                let text: String = (0..below(6)).map(|_| pieces[below(pieces.len())]).collect();
                format!("t{text}")
            };
            rows.push((0..n_columns).map(|_| cell()).collect());
        }
        let mut writer = csv::Writer::from_writer(Vec::new());
        rows.iter().for_each(|row| writer.write_record(row).expect("written"));
        let path = folder.file("t.csv", &writer.into_inner().expect("written"));
        let table = read(&path, &TableOptions::default());
        for j in 0..n_columns {
            let expected: Vec<Value> =
                rows[1..].iter().map(|row| Value::text(row[j].as_str())).collect();
            assert_eq!(cells(&table, &rows[0][j]), expected);
        }
    }
}
