//! Writing draws: what a file holds is what was drawn, in every format.

use std::fs::File;
use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use smidgen_draws::{Draws, KernelReport, Quantity, Run};
use smidgen_io::{TableOptions, read_table, write_draws};
use smidgen_value::{Matrix, Symbol, Value};

/// A path for a test's file, removed at the end.
struct Target(PathBuf);

impl Target {
    fn new(name: &str) -> Target {
        let folder = std::env::temp_dir().join(format!("smidgen-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary directory");
        Target(folder.join(name))
    }

    fn folder(&self) -> PathBuf {
        self.0.parent().expect("it is in a directory").to_owned()
    }

    fn files(&self) -> usize {
        std::fs::read_dir(self.folder()).expect("a directory").count()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        std::fs::remove_dir_all(self.folder()).expect("the directory is still there");
    }
}

/// Two chains, the second interrupted; one quantity that no table can hold.
fn run() -> Run {
    let mut draws = Draws::new(["mu", "coin", "v", "m", "word"], 2);
    for (chain, x) in [(0, 0.1), (0, -1e-7), (1, f64::INFINITY)] {
        draws.push(
            chain,
            [
                Value::Number(x),
                Value::Bool(x > 0.0),
                Value::vector([x, 2.0]),
                Value::matrix(Matrix::new(1, 2, vec![3.0, x])),
                Value::symbol("red"),
            ],
        );
    }
    let kernel = KernelReport {
        kernel: "(mh default one 1)".to_owned(),
        transitions: 10,
        accepted: 4,
        sections_used: 7,
        population: 70,
        evaluator: "vectorised".to_owned(),
        ..KernelReport::default()
    };
    Run {
        seed: u64::MAX,
        chains: 2,
        draws,
        kernels: vec![kernel],
        warnings: vec!["a \"warning\"".to_owned()],
        program: "[assume mu (normal 0 1)]\n".to_owned(),
        version: "0.1.0".to_owned(),
        ..Run::default()
    }
}

const COLUMNS: [&str; 8] = ["chain", "draw", "mu", "coin", "v[0]", "v[1]", "m[0,0]", "m[0,1]"];

fn rows() -> Vec<[f64; 8]> {
    let row = |c, d, x, coin| [c, d, x, coin, x, 2.0, 3.0, x];
    vec![row(0.0, 0.0, 0.1, 1.0), row(0.0, 1.0, -1e-7, 0.0), row(1.0, 0.0, f64::INFINITY, 1.0)]
}

fn skipped() -> Vec<(String, String)> {
    vec![("word".to_owned(), "it is a symbol".to_owned())]
}

/// All rows of the batches, with integers as doubles.
fn doubles(batches: &[RecordBatch]) -> Vec<Vec<f64>> {
    let cell = |batch: &RecordBatch, column: usize, row: usize| match batch.column(column) {
        array if array.data_type() == &DataType::Int64 => {
            array.as_primitive::<Int64Type>().value(row) as f64
        }
        array => array.as_primitive::<Float64Type>().value(row),
    };
    let rows = |batch: &RecordBatch| -> Vec<Vec<f64>> {
        let row = |row| (0..batch.num_columns()).map(|column| cell(batch, column, row)).collect();
        (0..batch.num_rows()).map(row).collect()
    };
    batches.iter().flat_map(rows).collect()
}

fn check_metadata(get: impl Fn(&str) -> Option<String>) {
    let run = run();
    assert_eq!(get("program"), Some(run.program));
    assert_eq!(get("seed"), Some(u64::MAX.to_string()));
    assert_eq!(get("version"), Some(run.version));
    assert_eq!(get("warnings"), Some(r#"["a \"warning\""]"#.to_owned()));
    let kernels = r#"[{"kernel":"(mh default one 1)","transitions":10,"accepted":4,"sections_used":7,"population":70,"evaluator":"vectorised"}]"#;
    assert_eq!(get("kernels"), Some(kernels.to_owned()));
}

#[test]
fn csv_holds_one_line_per_draw() {
    let target = Target::new("draws.csv");
    let report = write_draws(&target.0, &run()).expect("written");
    assert_eq!(report.skipped, skipped());
    let text = std::fs::read_to_string(&target.0).expect("text");
    let expected = "chain,draw,mu,coin,v[0],v[1],\"m[0,0]\",\"m[0,1]\"\n\
                    0,0,0.1,1,0.1,2,3,0.1\n\
                    0,1,-1e-7,0,-1e-7,2,3,-1e-7\n\
                    1,0,inf,1,inf,2,3,inf\n";
    assert_eq!(text, expected);
    let table = read_table(&target.0, &TableOptions::default()).expect("a table");
    for (j, name) in COLUMNS.iter().enumerate() {
        let column = table.column(Symbol::new(name)).expect("the column is there");
        for (i, row) in rows().iter().enumerate() {
            assert_eq!(column.cell(i), Value::Number(row[j]), "{name}");
        }
    }
}

#[test]
fn parquet_reads_back() {
    let target = Target::new("draws.parquet");
    let report = write_draws(&target.0, &run()).expect("written");
    assert_eq!(report.skipped, skipped());
    let file = File::open(&target.0).expect("a file");
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
    let names: Vec<&str> = builder.schema().fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, COLUMNS);
    check_metadata(|key| builder.schema().metadata().get(key).cloned());
    let entries = builder.metadata().file_metadata().key_value_metadata().cloned();
    let entries = entries.expect("metadata");
    check_metadata(|key| entries.iter().find(|e| e.key == key).and_then(|e| e.value.clone()));
    let batches: Result<Vec<RecordBatch>, _> = builder.build().expect("a reader").collect();
    assert_eq!(doubles(&batches.expect("batches")), rows());
}

#[test]
fn arrow_reads_back() {
    let target = Target::new("draws.arrow");
    let report = write_draws(&target.0, &run()).expect("written");
    assert_eq!(report.skipped, skipped());
    let reader = FileReader::try_new(File::open(&target.0).expect("a file"), None).expect("Arrow");
    let schema = reader.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, COLUMNS);
    check_metadata(|key| schema.metadata().get(key).cloned());
    let batches: Result<Vec<RecordBatch>, _> = reader.collect();
    assert_eq!(doubles(&batches.expect("batches")), rows());
}

#[test]
fn json_is_the_object_of_the_contract() {
    let target = Target::new("draws.json");
    let report = write_draws(&target.0, &run()).expect("written");
    assert!(report.skipped.is_empty());
    let text = std::fs::read_to_string(&target.0).expect("text");
    let expected = concat!(
        r#"{"seed":18446744073709551615,"chains":2,"draws":{"#,
        r#""mu":[[0.1,-1e-7],["inf"]],"coin":[[true,false],[true]],"#,
        r#""v":[[[0.1,2],[-1e-7,2]],[["inf",2]]],"m":[[[[3,0.1]],[[3,-1e-7]]],[[[3,"inf"]]]],"#,
        r#""word":[["red","red"],["red"]]},"#,
        r#""kernels":[{"kernel":"(mh default one 1)","transitions":10,"accepted":4,"#,
        r#""sections_used":7,"population":70,"evaluator":"vectorised"}],"#,
        r#""warnings":["a \"warning\""],"program":"[assume mu (normal 0 1)]\n","#,
        r#""version":"0.1.0","summary":[{"name":"mu","#,
    );
    assert!(text.starts_with(expected) && text.ends_with("}]}\n"), "{text}");
}

#[test]
fn a_quantity_with_fewer_draws_has_empty_cells() {
    let mut draws = Draws::default();
    draws.add(Quantity::new("a", vec![vec![1.0.into(), 2.0.into()]]));
    draws.add(Quantity::new("b", vec![vec![3.0.into()], vec![4.0.into()]]));
    let run = Run { draws, ..Run::default() };
    let target = Target::new("ragged.csv");
    write_draws(&target.0, &run).expect("written");
    let text = std::fs::read_to_string(&target.0).expect("text");
    assert_eq!(text, "chain,draw,a,b\n0,0,1,3\n0,1,2,\n1,0,,4\n");
    let target = Target::new("ragged.arrow");
    write_draws(&target.0, &run).expect("written");
    let reader = FileReader::try_new(File::open(&target.0).expect("a file"), None).expect("Arrow");
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.expect("a batch")).collect();
    assert!(batches[0].column(3).is_null(1) && batches[1].column(2).is_null(0));
    assert_eq!(batches[0].column(2).null_count(), 0);
}

#[test]
fn a_run_without_draws_gives_a_file_without_rows() {
    let run = Run { draws: Draws::new(["x"], 4), ..Run::default() };
    for name in ["none.csv", "none.parquet", "none.arrow", "none.json"] {
        let target = Target::new(name);
        let report = write_draws(&target.0, &run).expect("written");
        assert_eq!(report.skipped.is_empty(), name.ends_with("json"), "{name}");
        assert!(target.0.metadata().expect("a file").len() > 0, "{name}");
    }
}

#[test]
fn a_file_is_replaced_whole_and_nothing_else_is_left() {
    let target = Target::new("again.csv");
    std::fs::write(&target.0, "old").expect("written");
    write_draws(&target.0, &run()).expect("written");
    assert!(std::fs::read_to_string(&target.0).expect("text").starts_with("chain,draw,mu"));
    assert_eq!(target.files(), 1);
}

#[test]
fn what_cannot_be_written_is_said_so() {
    let target = Target::new("directory.csv");
    std::fs::create_dir(&target.0).expect("a directory");
    for (path, word) in [
        (target.0.clone(), "directory"),
        (target.folder().join("absent").join("draws.csv"), "cannot write"),
        (target.folder().join("draws.xls"), ".parquet"),
        (target.folder().join("draws"), ".parquet"),
    ] {
        let error = write_draws(&path, &run()).expect_err(word).to_string();
        assert!(error.contains(word), "{error}");
        assert!(error.starts_with(&path.display().to_string()), "{error}");
    }
    assert_eq!(target.files(), 1, "no partial file is left");
}
