//! `smidgen run`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::support::{Folder, finish};

#[test]
fn json_lines_have_the_promised_shape() {
    let folder = Folder::with_program(
        "[assume x (normal 0 1)]
         [observe (normal x 1) 2]
         p1: [predict (+ 1 2)]
         [sample (list 1 true 'a \"b\" (vector 1 2))]
         [report p1]
         [force x 0]
         [log_likelihood]
         [infer (cycle ((mh default one 1) (collect x (* 2 3))) 5)]
         [for i in (range 0 2) q: [predict i]]",
    );
    let lines = folder.call(&["run", "m.smg", "--seed", "1", "--format", "json"]).json_lines();
    assert_eq!(lines.len(), 8, "{lines:#?}");
    assert_eq!(lines[0], json!({"directive": 3, "label": "p1", "kind": "predict", "value": 3}));
    let value = json!([1, true, "a", "b", [1, 2]]);
    assert_eq!(lines[1], json!({"directive": 4, "label": null, "kind": "sample", "value": value}));
    assert_eq!(lines[2], json!({"directive": 5, "label": null, "kind": "report", "value": 3}));
    assert_eq!(lines[3], json!({"directive": 6, "label": null, "kind": "force", "value": 0}));
    assert_eq!((&lines[4]["directive"], &lines[4]["kind"]), (&json!(7), &json!("log_likelihood")));
    let density = lines[4]["value"].as_f64().expect("a number");
    assert!((density + 2.918_938_533).abs() < 1e-6, "{density}");
    let infer = &lines[5];
    assert_eq!((&infer["directive"], &infer["label"]), (&json!(8), &json!(null)));
    assert_eq!((&infer["kind"], &infer["transitions"]), (&json!("infer"), &json!(5)));
    assert!(infer["accepted"].is_u64() && infer["sections"].is_u64());
    assert_eq!(infer["draws"]["x"].as_array().map(Vec::len), Some(5));
    assert_eq!(infer["draws"]["(* 2 3)"], json!([6, 6, 6, 6, 6]));
    assert_eq!(lines[7], json!({"directive": 9, "label": "q[1]", "kind": "predict", "value": 1}));
}

#[test]
fn text_names_what_it_shows() {
    let folder = Folder::with_program(
        "[assume x (normal 0 1)]
         [predict (+  1
            2)]
         a: [predict 4]
         [for i in (range 0 2) [predict (* i 10)]]
         [infer (do (mh default one 3) (collect 7))]",
    );
    let text = folder.call(&["run", "m.smg", "--seed", "1"]).good();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..4], ["(+ 1 2) = 3", "a = 4", "(* i 10) = 0", "(* i 10) = 10"]);
    assert!(lines[4].starts_with("infer (mh default one 3): 3 transitions, "), "{text}");
    assert!(lines[5].contains("mean") && lines[6].starts_with('7'), "{text}");
}

#[test]
fn a_seed_repeats_a_run_and_a_fresh_one_is_shown() {
    let folder = Folder::with_program("[sample (normal 0 1)]");
    let first = folder.call(&["run", "m.smg"]);
    let seed = first.err.trim().strip_prefix("seed ").expect("the seed").to_owned();
    let again = folder.call(&["run", "m.smg", "--seed", &seed]);
    assert_eq!(again.err, "");
    assert_eq!(again.good(), first.good());
}

#[test]
fn outcomes_appear_as_they_happen() {
    let program = "[assume x (normal 0 1)] [predict 1] [infer (mh default one 1000000000000)]";
    let folder = Folder::with_program(program);
    let mut child = folder.start(&["run", "m.smg", "--seed", "1"], Stdio::null());
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    out.read_line(&mut line).expect("a line before the end");
    child.kill().expect("the command is still running");
    finish(child);
    assert_eq!(line, "1 = 1\n");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::with_program("[for i in (range 0 20000) [predict i]] [predict 1]");
    for format in ["text", "json"] {
        let args = ["run", "m.smg", "--seed", "1", "--format", format];
        let mut child = folder.start(&args, Stdio::null());
        drop(child.stdout.take());
        let done = finish(child);
        assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    }
}

#[test]
fn what_was_shown_before_an_error_stays() {
    let folder = Folder::with_program("[predict 1] [predict (nothing 2)]");
    let done = folder.call(&["run", "m.smg", "--seed", "1", "--format", "json"]);
    done.fails(1, &["m.smg:1:23", "unbound"]);
    assert_eq!(done.out.lines().count(), 1);
}
