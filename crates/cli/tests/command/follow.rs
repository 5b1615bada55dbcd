//! Runs that follow a table.

use std::io::Write;
use std::process::Stdio;

use crate::support::{Folder, finish, signal, wait_until};

const MODEL: &str = "[table t \"rows.csv\"] [assume mu (normal 0 10)]
    [for row in t [observe (normal mu 1) row.y]] [predict mu]";

fn rows(from: usize, to: usize) -> String {
    (from..to).map(|k| format!("{}\n", k as f64 / 100.0)).collect()
}

fn add(folder: &Folder, text: &str) {
    let file = std::fs::OpenOptions::new().append(true).open(folder.path("rows.csv"));
    file.and_then(|mut file| file.write_all(text.as_bytes())).expect("the rows are written");
}

fn events(folder: &Folder) -> usize {
    let text = std::fs::read_to_string(folder.path("fit.run/events.jsonl"));
    text.unwrap_or_default().lines().count()
}

const CALL: [&str; 12] = [
    "sample", "m.smg", "--seed", "1", "--chains", "2", "--warmup", "100", "--draws", "200",
    "--follow", "t",
];

#[test]
fn a_file_that_grows_makes_epochs() {
    let folder = Folder::with_program(MODEL);
    folder.write("rows.csv", &format!("y\n{}", rows(0, 200)));
    let call = [&CALL[..], &["--epochs", "3", "--out", "fit.run", "--format", "json"]].concat();
    let running = folder.start(&call, Stdio::null());
    wait_until(|| events(&folder) == 1);
    // Half a line waits for its end.
    add(&folder, &format!("{}9", rows(200, 300)));
    wait_until(|| events(&folder) == 2);
    add(&folder, &format!(".5\n{}", rows(300, 400)));
    let done = finish(running);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let lines: Vec<serde_json::Value> =
        done.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3, "{}", done.out);
    for (k, (line, rows)) in lines.iter().zip([200, 300, 401]).enumerate() {
        assert_eq!((line["epoch"].as_u64(), line["rows"].as_u64()), (Some(k as u64), Some(rows)));
        let draws = line["draws"]["mu"].as_array().expect("two chains");
        assert!(draws.iter().all(|chain| chain.as_array().map(Vec::len) == Some(200)));
    }
    // Whoever reads the folder gets one epoch, and is told.
    let report = folder.call(&["report", "fit.run", "-o", "fit.html"]);
    assert_eq!(report.code, Some(0), "{}", report.err);
    let page = folder.read("fit.html");
    assert!(page.contains("draws of epoch 2") && page.contains("401 rows"), "no mark of the epoch");
    let again = folder.call(&["sample", "--resume", "fit.run", "--draws", "300"]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("cannot be resumed: it followed `t`"), "{}", again.err);
}

#[test]
fn rows_that_change_end_a_followed_run() {
    let folder = Folder::with_program(MODEL);
    folder.write("rows.csv", &format!("y\n{}", rows(0, 200)));
    let running = folder.start(&[&CALL[..], &["--out", "fit.run"]].concat(), Stdio::null());
    wait_until(|| events(&folder) == 1);
    let text = folder.read("rows.csv").replacen("0.5\n", "0.6\n", 1);
    folder.write("rows.csv", &format!("{text}7\n"));
    let done = finish(running);
    assert_eq!(done.code, Some(1), "{}", done.out);
    assert!(
        done.err.contains("the table `t`") && done.err.contains("in rows 0 to 199"),
        "{}",
        done.err
    );
    assert!(done.out.contains("epoch 0: 200 rows of `t`"), "{}", done.out);
}

#[test]
fn an_interrupt_ends_a_followed_run_that_waits() {
    let folder = Folder::with_program(MODEL);
    folder.write("rows.csv", &format!("y\n{}", rows(0, 200)));
    let running = folder.start(&[&CALL[..], &["--out", "fit.run"]].concat(), Stdio::null());
    wait_until(|| events(&folder) == 1);
    std::thread::sleep(std::time::Duration::from_secs(3));
    signal("INT", running.id());
    let done = finish(running);
    assert_eq!(done.code, Some(130), "{}", done.err);
    assert!(done.out.contains("epoch 0: 200 rows"), "{}", done.out);
    assert!(folder.path("fit.run/report.json").is_file());
}

#[test]
fn what_does_not_go_with_following_is_refused() {
    let folder = Folder::with_program(MODEL);
    folder.write("rows.csv", &format!("y\n{}", rows(0, 200)));
    let file = folder.call(&[&CALL[..], &["--out", "fit.csv"]].concat());
    assert_eq!(file.code, Some(2), "{}", file.err);
    assert!(file.err.contains("go to a folder"), "{}", file.err);
    folder.write("m.smg", &format!("{MODEL} [predict (rows t)]"));
    let whole = folder.call(&CALL);
    assert_eq!(whole.code, Some(1));
    assert!(whole.err.contains("(rows t)") && whole.err.contains("m.smg"), "{}", whole.err);
    folder.write("m.smg", MODEL);
    let typo = folder.call(&[&CALL[..11], &["u"]].concat());
    assert_eq!(typo.code, Some(1));
    assert!(typo.err.contains("`u`"), "{}", typo.err);
}
