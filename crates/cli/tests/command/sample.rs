//! `smidgen sample`.

use serde_json::{Value as Json, json};

use crate::support::Folder;

const PROGRAM: &str = "[assume mu (normal 0 1)]
[assume w (multivariate_diag_normal (vector 0 0) (vector 1 1))]
[assume b (flip 0.5)]
[observe (normal mu 1) 2]
[infer (mh default one 5)]
";

const SHORT: [&str; 6] = ["--draws", "20", "--warmup", "10", "--seed", "7"];

fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["sample", "m.smg"].iter().chain(&SHORT).chain(more).copied().collect()
}

#[test]
fn the_object_has_the_promised_shape() {
    let folder = Folder::with_program(PROGRAM);
    let object = folder.call(&args(&["--format", "json", "--chains", "3"])).json();
    assert_eq!((&object["seed"], &object["chains"]), (&json!(7), &json!(3)));
    let names: Vec<&String> = object["draws"].as_object().expect("draws").keys().collect();
    assert_eq!(names, ["mu", "w", "b"]);
    let chains = object["draws"]["mu"].as_array().expect("chains");
    assert!(
        chains.len() == 3 && chains.iter().all(|c| c.as_array().is_some_and(|c| c.len() == 20))
    );
    assert!(object["draws"]["b"][0][0].is_boolean());
    assert_eq!(object["draws"]["w"][0][0].as_array().map(Vec::len), Some(2));
    let kernel = &object["kernels"][0];
    assert_eq!(kernel["kernel"], "(mh default one 5)");
    assert_eq!(kernel["transitions"], json!(3 * 20 * 5));
    for field in ["accepted", "sections_used", "population"] {
        assert!(kernel[field].is_u64(), "{field}");
    }
    assert!(kernel["evaluator"].is_string());
    assert!(object["warnings"].is_array());
}

#[test]
fn draws_do_not_depend_on_the_number_of_threads() {
    let folder = Folder::with_program(PROGRAM);
    let with = |threads: &str| {
        folder.call(&args(&["--format", "json", "--chains", "5", "--threads", threads])).good()
    };
    assert_eq!(with("1"), with("4"));
}

#[test]
fn the_text_ends_with_a_table_and_the_kernels() {
    let folder = Folder::with_program(PROGRAM);
    let text = folder.call(&args(&["--record", "(* 2 mu)"])).good();
    let header: Vec<&str> = text.lines().next().expect("a header").split_whitespace().collect();
    assert_eq!(header, ["mean", "sd", "mcse", "5%", "50%", "95%", "ess_bulk", "ess_tail", "r_hat"]);
    assert!(text.contains("\n(* 2 mu) "), "{text}");
    assert!(text.contains("\n(mh default one 5): 400 transitions, "), "{text}");
    assert!(text.contains("accepted") && text.contains("sections used"), "{text}");
    // 20 draws a chain are too few, and it says so.
    assert!(text.contains("warning: ") && text.contains("--draws"), "{text}");
}

#[test]
fn a_kernel_and_records_can_be_given() {
    let folder = Folder::with_program(&format!("{PROGRAM}nu: [predict mu]\n[predict mu]"));
    let options = ["--kernel", "(repeat 2 (mh default all 1))", "--record", "mu", "--thin", "3"];
    let object = folder.call(&args(&[&options[..], &["--format", "json"]].concat())).json();
    let names: Vec<&String> = object["draws"].as_object().expect("draws").keys().collect();
    assert_eq!(names, ["nu", "mu", "mu #2"]);
    assert_eq!(object["kernels"][0]["kernel"], "(mh default all 1)");
    assert_eq!(object["kernels"][0]["transitions"], json!(4 * 20 * 3 * 2));
}

#[test]
fn draws_are_written_in_four_formats() {
    let folder = Folder::with_program(PROGRAM);
    for name in ["d.csv", "d.json", "d.parquet", "d.arrow"] {
        folder.call(&args(&["--out", name])).good();
    }
    let csv = folder.read("d.csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "chain,draw,mu,w[0],w[1],b");
    assert_eq!(lines.len(), 1 + 4 * 20);
    assert!(lines[1].starts_with("0,0,") && lines[80].starts_with("3,19,"));
    let object: Json = serde_json::from_str(&folder.read("d.json")).expect("JSON");
    assert_eq!(object["draws"]["mu"].as_array().map(Vec::len), Some(4));
    assert!(object["program"].as_str().is_some_and(|text| text == PROGRAM));
    for (name, magic) in [("d.parquet", &b"PAR1"[..]), ("d.arrow", b"ARROW1")] {
        let bytes = std::fs::read(folder.path(name)).expect("a file");
        let has = |text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
        assert!(bytes.starts_with(magic) && bytes.ends_with(magic), "{name}");
        assert!(["chain", "draw", "mu", "w[1]", "b"].iter().all(|column| has(column)), "{name}");
    }
}

#[test]
fn what_a_table_cannot_hold_is_a_warning() {
    let folder = Folder::with_program("[predict (list 1 'a)] [predict (normal 0 1)]");
    let done = folder.call(&args(&["--out", "d.csv"]));
    assert!(done.err.contains("warning: ") && done.err.contains("`(list 1 'a)`"), "{}", done.err);
    assert!(done.good().contains("(list 1 'a)"));
    assert!(folder.read("d.csv").starts_with("chain,draw,(normal 0 1)\n"));
}

#[test]
fn a_bad_target_is_known_before_the_chains_run() {
    let folder = Folder::with_program(PROGRAM);
    let endless = ["sample", "m.smg", "--draws", "1000000000000", "--out"];
    folder.call(&[&endless[..], &["d.xls"]].concat()).fails(2, &["d.xls", ".parquet"]);
    folder.call(&[&endless[..], &["no/d.csv"]].concat()).fails(1, &["no folder", "no"]);
}

#[test]
fn odd_numbers_are_refused_or_harmless() {
    let folder = Folder::with_program(PROGRAM);
    for bad in [["--chains", "0"], ["--thin", "0"], ["--threads", "0"], ["--draws", "-1"]] {
        folder.call(&[&["sample", "m.smg"][..], &bad].concat()).fails(2, &[bad[0]]);
    }
    let none = ["sample", "m.smg", "--draws", "0", "--warmup", "0", "--seed", "1"];
    folder.call(&none).good();
    let object = folder.call(&[&none[..], &["--format", "json"]].concat()).json();
    assert_eq!(object["draws"]["mu"], json!([[], [], [], []]));
    folder.call(&args(&["--approximate", "--chains", "1"])).good();
}

#[test]
fn a_mistake_in_an_option_points_into_the_option() {
    let folder = Folder::with_program(PROGRAM);
    folder.call(&args(&["--kernel", "(mhh default one 1)"])).fails(1, &["--kernel:1:2", "mhh"]);
    folder.call(&args(&["--kernel", "(mh default"])).fails(1, &["--kernel:1:1", "parenthesis"]);
    folder.call(&args(&["--record", "(+ 1 q)"])).fails(1, &["--record:1:6", "unbound"]);
}

#[test]
fn recorded_values_may_change_their_kind_between_chains() {
    let program = "[assume b (flip 0.5)] [assume x (if b (normal 0 1) (list 1 2))]";
    let folder = Folder::with_program(program);
    let object = folder.call(&args(&["--format", "json", "--chains", "12"])).json();
    assert_eq!(object["draws"]["b"].as_array().map(Vec::len), Some(12));
}

/// x moves in none of the chains, `three` cannot.
const STUCK: &str = "[assume x (normal 0 1)]
[assume y (scope_include 'y 0 (normal 0 1))]
[assume three (+ 1 2)]
[observe (normal (+ x y) 1) 1]
[infer (mh y all 'drift 1 1)]
[predict x]
[predict y]
[predict three]
";

#[test]
fn being_stuck_is_said_everywhere() {
    let folder = Folder::with_program(STUCK);
    let short = ["sample", "m.smg", "--draws", "100", "--warmup", "10", "--seed", "7"];
    let text = folder.call(&[&short[..], &["--html", "page.html"]].concat()).good();
    let line = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).expect("a row of the table");
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    // mcse, ess_bulk, ess_tail, r_hat
    for name in ["x ", "three "] {
        let cells = line(name);
        assert!([3, 7, 8, 9].iter().all(|k| cells[*k] == "-"), "{cells:?}");
    }
    assert!(line("y ")[7..].iter().all(|cell| cell != "-"), "{text}");
    let stuck = "`x` never moved in any chain, and the chains are at different values: (mh y all 'drift 1 1) never changed";
    assert!(text.contains(&format!("warning: {stuck}")), "{text}");
    let object = folder.call(&[&short[..], &["--format", "json"]].concat()).json();
    let warnings: Vec<&str> =
        object["warnings"].as_array().expect("a list").iter().filter_map(Json::as_str).collect();
    assert!(warnings.iter().any(|warning| warning.starts_with(stuck)), "{warnings:?}");
    assert!(!warnings.iter().any(|warning| warning.contains("`three`")), "{warnings:?}");
    let page = folder.read("page.html");
    assert!(page.contains("`x`") || page.contains("<code>x</code>"), "x is named");
    assert!(page.contains("never moved in any chain") && page.contains("badge fail"), "a finding");
    assert!(!page.contains("three</code> (always"), "a constant is no finding");
}

#[test]
fn programs_start_where_the_first_draw_does_not_fit() {
    let folder = Folder::with_program("[assume s (normal 0 1)]\n[observe (normal 0 s) 1.5]\n");
    for seed in 0..12 {
        let seed = seed.to_string();
        let args =
            ["sample", "m.smg", "--draws", "2", "--warmup", "2", "--chains", "1", "--seed", &seed];
        folder.call(&args).good();
        folder.call(&["run", "m.smg", "--seed", &seed]).good();
    }
}

/// Procedures as keys and blocks: the draws are those of another process, and of the program with comments.
#[test]
fn another_process_makes_the_same_draws() {
    let program = "[assume f (mem (lambda (k) (scope_include 'f k (normal 0 1))))]
[assume s (+ (f normal) (* 2 (f +)))]
[observe (normal s 1) 3]
[infer (mh f each 1)]
";
    let commented = program.replace("(scope_include", "; of its own\n\n(scope_include");
    let unused = format!("[define unused '(zebra ant)]\n{program}");
    let drawn = |text: &str| {
        let folder = Folder::with_program(text);
        let json = args(&["--format", "json", "--chains", "5", "--record", "(f normal)"]);
        folder.call(&json).json()["draws"].clone()
    };
    let first = drawn(program);
    for text in [program, program, program, &commented, &unused] {
        assert_eq!(drawn(text), first, "{text}");
    }
}
