//! `smidgen compare`. Seeds are fixed: what is checked here cannot fail by chance.

use serde_json::{Value as Json, json};

use crate::support::{Done, Folder};

/// 300 numbers around 1, and the unknown mean.
const PROGRAM: &str = "[table d \"d.csv\"]
[assume mu (scope_include 'mu 0 (normal 0 3))]
[for row in d [observe (normal mu 1) row.y]]
mu: [predict mu]
[infer (subsampled_mh mu all {batch} {epsilon} 'drift 0.1 4)]
";

fn folder() -> Folder {
    let folder = Folder::with_program(PROGRAM);
    let mut data = "y\n".to_owned();
    for i in 0..300 {
        // Spread like a normal sample, and far from sorted.
        let u = (f64::from(i * 131 % 300) + 0.5) / 300.0;
        data.push_str(&format!("{:.4}\n", 1.0 + smidgen::value::math::ln(u / (1.0 - u)) * 0.6));
    }
    folder.write("d.csv", &data);
    folder
}

fn compare(folder: &Folder, batch: &str, epsilon: &str, more: &[&str]) -> Done {
    let (batch, epsilon) = (format!("batch={batch}"), format!("epsilon={epsilon}"));
    let first = ["compare", "m.smg", "--param", &batch, "--param", &epsilon, "--seed", "1"];
    let short = ["--warmup", "100", "--draws", "500"];
    folder.call(&[&first[..], &short, more].concat())
}

fn number(value: &Json) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn a_careful_test_passes_and_the_object_is_complete() {
    let folder = folder();
    let object = compare(&folder, "100", "0.001", &["--format", "json"]).json();
    assert_eq!(object["verdict"], "pass", "{}", object["findings"]);
    assert_eq!((&object["seed"], &object["chains"]), (&json!(1), &json!(2)));
    assert_eq!((&object["warmup"], &object["draws"]), (&json!(100), &json!(500)));
    assert_eq!((&object["file"], &object["program"]), (&json!("m.smg"), &json!(PROGRAM)));
    assert_eq!(object["exact_kernel"], "(mh mu all 'drift 0.1 4)");
    let kernel = &object["kernels"][0];
    assert_eq!(kernel["kernel"], "(subsampled_mh mu all 100 0.001 'drift 0.1 4)");
    assert_eq!((&kernel["batch"], &kernel["epsilon"]), (&json!(100), &json!(0.001)));
    assert_eq!(number(&kernel["transitions"]), 2.0 * 500.0 * 4.0);
    assert_eq!(kernel["transitions"], kernel["transitions_exact"]);
    assert_eq!(number(&kernel["population"]), 300.0);
    let read = number(&kernel["sections"]["mean"]);
    assert!((100.0..=300.0).contains(&read), "{kernel}");
    assert!(number(&kernel["shadow"]) > 150.0, "{kernel}");
    assert!(number(&kernel["predicted_error"]) < 0.02, "{kernel}");
    assert!(number(&kernel["disagreement"]["high"]) < 0.05, "{kernel}");
    let usage = read / 300.0;
    assert!((number(&kernel["predicted_usage"]) - usage).abs() < 0.1, "{kernel}");
    assert_eq!(
        (&kernel["fallback"], kernel["pairs"].as_array().map(Vec::len)),
        (&Json::Null, Some(16))
    );
    let mu = &object["quantities"][0];
    assert_eq!((&mu["name"], &mu["verdict"]), (&json!("mu"), &json!("pass")));
    for run in ["exact", "approximate"] {
        // The posterior of a mean of 300: 1/sqrt(300) wide.
        assert!((number(&mu[run]["sd"]) - 0.0577).abs() < 0.008, "{mu}");
        assert!(number(&mu[run]["ess_bulk"]) > 100.0, "{mu}");
    }
    assert!(number(&object["mmd"]["p"]) > 0.01);
    assert!(number(&object["speed"]["exact_seconds"]) > 0.0);
    assert_eq!(object["speed"]["ess_per_second"][0]["name"], "mu");
}

#[test]
fn a_rash_test_does_not_pass() {
    let folder = folder();
    let object = compare(&folder, "2", "0.4", &["--format", "json", "--html", "page.html"]).json();
    // The verdict is a report, not a failure: the exit code was 0.
    assert_eq!(object["verdict"], "fail", "{}", object["findings"]);
    let kernel = &object["kernels"][0];
    assert!(number(&kernel["disagreement"]["low"]) > 0.1, "{kernel}");
    assert!(number(&object["quantities"][0]["sd_ratio"]) > 1.3, "{}", object["quantities"][0]);
    assert!(object["findings"].as_array().is_some_and(|findings| findings.len() > 1));
    let page = folder.read("page.html");
    assert!(
        page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"),
        "{page:.80}"
    );
    assert!(page.contains("FAIL") && page.contains("subsampled_mh mu all"));
}

#[test]
fn the_text_ends_in_the_verdict() {
    let folder = folder();
    let text = compare(&folder, "100", "0.001", &["--threads", "1", "--record", "(* 2 mu)"]);
    let text = text.good();
    assert!(text.starts_with("Approximate against exact: m.smg\n"), "{text}");
    assert!(text.contains("(* 2 mu)"), "{text}");
    let last = text.lines().last().expect("a last line");
    assert!(last.starts_with("PASS: "), "{last}");
}

#[test]
fn a_kernel_that_stays_exact_says_why() {
    let program = "[assume b (scope_include 'b 0 (flip 0.5))]
[assume x (if b (normal 0 1) (normal 3 1))]
[observe (normal x 1) 2]
[predict b]
[infer (subsampled_mh b all 10 0.01 5)]";
    let folder = Folder::with_program(program);
    let short =
        ["compare", "m.smg", "--seed", "1", "--warmup", "10", "--draws", "50", "--format", "json"];
    let object = folder.call(&short).json();
    assert_eq!(object["verdict"], "warn");
    let why = object["kernels"][0]["fallback"].as_str().expect("a reason");
    assert!(why.contains("what exists"), "{why}");
    assert!(object["findings"][0]["text"].as_str().is_some_and(|text| text.contains(why)));
}

#[test]
fn without_a_subsampled_kernel_there_is_nothing_to_compare() {
    let folder = Folder::with_program("[assume x (normal 0 1)] [infer (mh default one 1)]");
    let done = folder.call(&["compare", "m.smg", "--seed", "1"]);
    done.fails(
        1,
        &[
            "the program has no subsampled_mh kernel",
            "(subsampled_mh SCOPE all 100 0.01 'drift 0.1 10)",
        ],
    );
    let own = ["compare", "m.smg", "--kernel", "(mh default all 1)"];
    folder.call(&own).fails(1, &["the kernel of --kernel has no subsampled_mh"]);
    folder.call(&["compare", "m.smg", "--kernel", "(subsampled_mh"]).fails(1, &["--kernel:1:1"]);
}

#[test]
fn a_page_that_cannot_be_written_is_known_before_the_chains_run() {
    let folder = folder();
    std::fs::create_dir(folder.path("pages")).expect("a folder");
    for (path, words) in [("pages", "this is a folder"), ("no/page.html", "there is no folder no")]
    {
        let endless = ["compare", "m.smg", "--draws", "1000000000000", "--html", path];
        folder.call(&endless).fails(1, &["--html", words]);
    }
}
