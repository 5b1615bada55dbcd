//! Reading CSV files: the types of columns, vectors, and every message.

use std::path::{Path, PathBuf};

use smidgen_io::{ColumnSelection, TableOptions, VectorColumn, read_table};
use smidgen_value::{Column, Rng, Symbol, Table, Value};

/// A directory of its own for a test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("smidgen-read-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Folder(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a temporary file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("the directory is still there");
    }
}

fn vector(name: &str, columns: ColumnSelection) -> TableOptions {
    TableOptions { vectors: vec![VectorColumn { name: Symbol::new(name), columns }] }
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

fn cells(table: &Table, name: &str) -> Vec<Value> {
    let column = table.column(Symbol::new(name)).expect("the column is there");
    (0..table.rows()).map(|i| column.cell(i)).collect()
}

#[test]
fn the_type_of_a_column_follows_from_its_cells() {
    let folder = Folder::new("types");
    let text = "x, y ,b,s,mixed,late\n\
                1,-2.5e3,true,red,1,true\n \
                2 ,inf,FALSE,\"a, \"\"b\"\"\nc\",x,yes\n\
                .5,+3,True, blank ,true,false\n";
    for (name, bytes) in [
        ("plain.csv", text.as_bytes().to_vec()),
        ("bom.CSV", format!("\u{feff}{text}").into_bytes()),
        ("unended.csv", text.trim_end().as_bytes().to_vec()),
    ] {
        let table = read(&folder.file(name, &bytes), &TableOptions::default());
        assert_eq!(table.rows(), 3);
        let expected = ["x", "y", "b", "s", "mixed", "late"].map(Symbol::new);
        assert_eq!(table.names(), expected);
        assert_eq!(cells(&table, "x"), [1.0, 2.0, 0.5].map(Value::Number));
        assert_eq!(cells(&table, "y"), [-2500.0, f64::INFINITY, 3.0].map(Value::Number));
        let b = table.column(Symbol::new("b"));
        assert!(matches!(b, Some(Column::Booleans(cells)) if **cells == [true, false, true]));
        assert_eq!(cells(&table, "s"), ["red", "a, \"b\"\nc", " blank "].map(Value::text));
        assert_eq!(cells(&table, "mixed"), ["1", "x", "true"].map(Value::text));
        assert_eq!(cells(&table, "late"), ["true", "yes", "false"].map(Value::text));
    }
    let windows = folder.file("windows.csv", b"x,s\r\n1,a\r\n\r\n2,b\r\n");
    let table = read(&windows, &TableOptions::default());
    assert_eq!(cells(&table, "x"), [1.0, 2.0].map(Value::Number));
    assert_eq!(cells(&table, "s"), ["a", "b"].map(Value::text));
}

#[test]
fn a_header_alone_is_a_table_without_rows() {
    let folder = Folder::new("header");
    let path = folder.file("t.csv", b"x,y1,y2\n");
    let table = read(&path, &vector("y", glob("y*")));
    assert_eq!((table.rows(), table.names()), (0, &["x", "y"].map(Symbol::new)[..]));
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
        ("empty cell", b"a,b\n1,2\n3,\n", plain(), &["row 2 (line 3)", "`b`", "no value"]),
        ("NA", b"a,b\n1,2\n\nNA,2\n", plain(), &["row 2 (line 4)", "`a`", "\"NA\""]),
        ("nan", b"a\n1\nNaN\n", plain(), &["row 2 (line 3)", "`a`", "\"NaN\""]),
        ("?", b"a\n1\n ? \n", plain(), &["row 2 (line 3)", "\"?\""]),
        ("null", b"a\r\nx\r\ny\r\nnull\r\n", plain(), &["row 3 (line 4)", "\"null\""]),
        ("quoted", b"a,b\n\"x\ny\",1\nz,\n", plain(), &["row 2 (line 4)", "`b`"]),
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
        ("words", b"x1,x2\n1,2\n3,red\n", x(glob("x*")), &["row 2 (line 3)", "`x2`", "\"red\""]),
        ("missing", b"x1,x2\n1,2\n3,\n", x(glob("x*")), &["row 2 (line 3)", "`x2`", "no value"]),
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

#[test]
fn what_is_no_readable_file_is_said_so() {
    let folder = Folder::new("files");
    let directory = folder.0.join("d.csv");
    std::fs::create_dir(&directory).expect("a directory");
    for (path, word) in [
        (folder.0.join("absent.csv"), "no such file"),
        (directory, "directory"),
        (folder.file("t.parquet", b""), ".csv"),
        (folder.file("t", b"a\n1\n"), ".csv"),
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
