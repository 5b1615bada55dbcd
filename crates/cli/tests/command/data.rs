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
