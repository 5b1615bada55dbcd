//! `--param` and `--data`.

use serde_json::json;

use crate::support::Folder;

const RUN: [&str; 6] = ["run", "m.smg", "--seed", "1", "--format", "json"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().chain(more).copied().collect()
}

#[test]
fn parameters_are_json_or_come_from_a_file() {
    let folder = Folder::with_program("[sample (list {a} {b.c} {d} {e})]");
    folder.write("e.json", "[[1, 2], [3, 4]]");
    let params = ["--param", "a=1.5", "--param", "b.c=true", "--param", "d=\"x=y\""];
    let all = with(&[&params[..], &["--param", "e=@e.json"]].concat());
    let lines = folder.call(&all).json_lines();
    assert_eq!(lines[0]["value"], json!([1.5, true, "x=y", [[1, 2], [3, 4]]]));
    folder.call(&with(&params)).fails(1, &["m.smg:1:29", "`e`"]);
    let unused = with(&[&params[..], &["--param", "e=1", "--param", "typo=1"]].concat());
    folder.call(&unused).fails(1, &["--param", "`typo`", "not used"]);
}

#[test]
fn parameters_that_are_no_parameters() {
    let folder = Folder::with_program("[sample {a}]");
    folder.write("bad.json", "{");
    folder.call(&with(&["--param", "a=word"])).fails(2, &["JSON", "'a=\"word\"'"]);
    folder.call(&with(&["--param", "a"])).fails(2, &["NAME=VALUE"]);
    folder.call(&with(&["--param", "a=1", "--param", "a=2"])).fails(2, &["`a` twice"]);
    folder.call(&with(&["--param", "a=@none.json"])).fails(1, &["none.json", "--param a"]);
    folder.call(&with(&["--param", "a=@bad.json"])).fails(1, &["bad.json", "JSON"]);
}

#[test]
fn a_table_can_be_replaced_or_supplied() {
    let folder = Folder::with_program("[table t \"t.csv\"] [sample (column t x)]");
    folder.write("t.csv", "x\n1\n2\n");
    folder.write("u.csv", "x\n3\n");
    assert_eq!(folder.call(&RUN).json_lines()[0]["value"], json!([1, 2]));
    let replaced = folder.call(&with(&["--data", "t=u.csv"])).json_lines();
    assert_eq!(replaced[0]["value"], json!([3]));
    folder.call(&with(&["--data", "t=none.csv"])).fails(1, &["m.smg:1:8", "none.csv"]);
    folder.call(&with(&["--data", "v=u.csv"])).fails(1, &["--data", "`v`"]);
    folder.write("m.smg", "[table t] [sample (column t x)]");
    folder.call(&RUN).fails(1, &["m.smg:1:8", "--data t="]);
}

/// One table in every format, from the same draws.
#[test]
fn every_format_gives_the_same_draws() {
    let folder = Folder::with_program("[assume a (normal 0 1)] [assume b (flip 0.3)]");
    for file in ["t.csv", "t.parquet", "t.arrow"] {
        let draw = ["sample", "m.smg", "--seed", "5", "--draws", "50", "--warmup", "0"];
        let done = folder.call(&[&draw[..], &["--chains", "1", "--out", file]].concat());
        assert_eq!(done.code, Some(0), "{}", done.err);
    }
    let csv = folder.read("t.csv");
    let header: Vec<&str> = csv.lines().next().expect("a header").split(',').collect();
    let rows: Vec<Vec<f64>> = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|cell| cell.parse().expect("a number")).collect())
        .collect();
    let names: Vec<String> = header.iter().map(|name| format!("('{name}', '<f8')")).collect();
    let npy = npy(&format!("[{}]", names.join(", ")), &rows);
    std::fs::write(folder.path("t.npy"), npy).expect("a file for the test");

    folder.write(
        "m.smg",
        "[table t] [assume m (normal 0 2)] [assume s (gamma 2 2)]
         [for row in t [observe (normal (+ m row.b) s) row.a]]",
    );
    let draws = |file: &str| {
        let data = format!("t={file}");
        let sample = ["sample", "m.smg", "--seed", "1", "--draws", "30", "--warmup", "20"];
        let more = ["--chains", "2", "--format", "json", "--data", &data];
        let done = folder.call(&[&sample[..], &more].concat());
        assert_eq!(done.code, Some(0), "{file}: {}", done.err);
        done.json_lines().remove(0)["draws"].clone()
    };
    let expected = draws("t.csv");
    assert!(expected.is_object(), "{expected}");
    for file in ["t.parquet", "t.arrow", "t.npy"] {
        assert_eq!(draws(file), expected, "{file}");
    }
    let bytes = std::fs::read(folder.path("t.parquet")).expect("a file that was written");
    std::fs::write(folder.path("t.parquet"), &bytes[..bytes.len() / 2]).expect("cut");
    let run = ["run", "m.smg", "--data", "t=t.parquet"];
    folder.call(&run).fails(1, &["m.smg:1:8", "t.parquet", "cut off"]);
}

/// A structured array of doubles.
fn npy(fields: &str, rows: &[Vec<f64>]) -> Vec<u8> {
    let header =
        format!("{{'descr': {fields}, 'fortran_order': False, 'shape': ({},), }}\n", rows.len());
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).expect("a short header").to_le_bytes());
    bytes.extend(header.as_bytes());
    rows.iter().flatten().for_each(|x| bytes.extend(x.to_le_bytes()));
    bytes
}

#[test]
fn a_table_that_fails_leaves_earlier_results() {
    let folder = Folder::with_program("[sample (+ 1 2)] [table t \"t.npy\"] [sample 5]");
    folder.write("t.npy", "no array at all");
    let done = folder.call(&RUN);
    assert!(done.out.contains('3') && !done.out.contains('5'), "{}", done.out);
    done.fails(1, &["m.smg:1:25", "t.npy", "damaged"]);
}
