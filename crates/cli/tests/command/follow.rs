//! Runs that follow a table.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use smidgen::io::folder::read_chain;

use crate::durable::{Times, number};
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
    // It can have more epochs, and not more draws in each.
    let longer = folder.call(&["sample", "--resume", "fit.run", "--draws", "300"]);
    longer.fails(2, &["every epoch of fit.run has 200 draws"]);
    let resumed = ["sample", "--resume", "fit.run", "--epochs", "4"];
    add(&folder, &rows(400, 450));
    let again = folder.call(&resumed);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(again.out.contains("epoch 3: 451 rows of `t`, 50 of them new"), "{}", again.out);
    assert_eq!(folder.call(&resumed).good().matches("epoch").count(), 1, "it is over");
    // What an epoch had read must be what it was.
    let text = folder.read("rows.csv").replacen("2.5\n", "2.6\n", 1);
    folder.write("rows.csv", &text);
    let other = folder.call(&["sample", "--resume", "fit.run", "--epochs", "5"]);
    other.fails(1, &["the table `t` is not what it was, in rows 200 to 299"]);
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
    std::thread::sleep(Duration::from_secs(3));
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

/// A model of each kind of chain: what stands anew with few rows, groups that come with the rows, an exact kernel.
const FOLLOWED: [&str; 3] = [
    "[assume mu (normal 0 10)] [assume s (gamma 2 1)]
        [for row in t [observe (normal mu s) row.y]] [predict mu] [predict s]",
    "[assume m (normal 0 3)] [assume level (mem (lambda (g) (normal m 1)))]
        [for row in t [observe (normal (level (int_div row.index 400)) 1) row.y]] [predict m] [predict (level 1)]
        [assume c (bernoulli 0.4)] [assume nu (normal (if c m 0) 1)] [predict nu]",
    "[assume mu (normal 0 10)] [assume nu (normal mu 1)]
        [for row in t [observe (normal mu 1) row.y]] [predict mu] [predict nu]
        [infer (cycle ((reference_mh default all 2) (slice default one 1)) 1)]",
];

const STEPS: [usize; 7] = [200, 150, 30, 300, 1, 500, 200];

/// Rows up to a step.
fn until(step: usize) -> usize {
    STEPS[..=step].iter().sum()
}

/// Feeds a run that follows a table step by step. At random times it is killed and resumed, if there are such times.
fn fed(
    folder: &Folder,
    run: &str,
    window: Option<&str>,
    mut kills: Option<(&mut Times, f64)>,
) -> usize {
    folder.write("rows.csv", &format!("y\n{}", rows(0, until(0))));
    let _ = std::fs::remove_dir_all(folder.path(run));
    let epochs = STEPS.len().to_string();
    let mut begin = CALL.to_vec();
    begin[7] = "80";
    begin[9] = "150";
    begin.extend(["--epochs", &epochs, "--checkpoint-every", "40", "--out", run]);
    begin.extend(window.iter().flat_map(|window| ["--window", window]));
    let resume = ["sample", "--resume", run];
    let mut running = folder.start(&begin, Stdio::null());
    let (mut fed, mut killed) = (1, 0);
    let mut patience = || kills.as_mut().map(|(times, takes)| *takes * (0.02 + 0.6 * times.next()));
    let opened = || {
        let text = std::fs::read_to_string(folder.path(run).join("events.jsonl"));
        text.unwrap_or_default().lines().count()
    };
    let mut left = patience();
    let begun = Instant::now();
    let mut since = Instant::now();
    loop {
        assert!(begun.elapsed().as_secs() < 300, "it does not end");
        if running.try_wait().expect("it can be waited for").is_some() {
            finish(running).good();
            return killed;
        }
        // Rows come while the epoch before is drawn.
        if fed < STEPS.len() && opened() >= fed {
            // All at once, or they would be several epochs.
            folder.write("rows.new", &format!("y\n{}", rows(0, until(fed))));
            std::fs::rename(folder.path("rows.new"), folder.path("rows.csv")).expect("renamed");
            fed += 1;
        }
        if left.is_some_and(|left| since.elapsed().as_secs_f64() > left) {
            signal("KILL", running.id());
            let _ = finish(running);
            killed += 1;
            let has_begun = folder.path(run).join("run.json").exists();
            if !has_begun {
                let _ = std::fs::remove_dir_all(folder.path(run));
            }
            running = match has_begun {
                true => folder.start(&resume, Stdio::null()),
                false => folder.start(&begin, Stdio::null()),
            };
            since = Instant::now();
            left = patience();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The draws of all epochs, and what the epochs were.
fn kept(folder: &Folder, run: &str) -> (Vec<String>, Vec<serde_json::Value>) {
    let text = folder.read(&format!("{run}/events.jsonl"));
    let events = text.lines().map(|line| {
        let mut event: serde_json::Value = serde_json::from_str(line).expect("JSON");
        event["time"] = 0.into();
        event
    });
    let events: Vec<_> = events.collect();
    let mut draws = Vec::new();
    for (chain, epoch) in (0..2).flat_map(|chain| (0..events.len()).map(move |k| (chain, k))) {
        let read = read_chain(&folder.path(run), chain, 1, epoch as u32).expect("draws");
        let of = read.draws.quantities().iter();
        let of: Vec<_> =
            of.map(|quantity| (quantity.name.clone(), quantity.chains.clone())).collect();
        assert!(of.iter().all(|(_, chains)| chains[0].len() == 150), "epoch {epoch}: {of:?}");
        draws.push(format!("{of:?}"));
    }
    (draws, events)
}

/// The proof of the whole for data that grow: wherever a run is killed, its draws are those of one that was not and saw the same epochs.
#[test]
fn a_followed_run_that_is_killed_has_the_same_draws() {
    let (wanted, seed) = (number("SMIDGEN_KILLS", 9) as usize, number("SMIDGEN_KILL_SEED", 1));
    let mut times = Times(seed);
    let (mut kills, mut differ) = (0, 0);
    for (k, model) in FOLLOWED.iter().enumerate() {
        let folder = Folder::with_program(&format!("[table t \"rows.csv\"] {model}"));
        let window = [None, Some("t=400"), Some("t=100")][k];
        let begun = Instant::now();
        fed(&folder, "whole.run", window, None);
        let takes = begun.elapsed().as_secs_f64();
        let (expected, epochs) = kept(&folder, "whole.run");
        let mut of_this = 0;
        while of_this < wanted.div_ceil(FOLLOWED.len()) {
            of_this += fed(&folder, "cut.run", window, Some((&mut times, takes)));
            let (draws, of) = kept(&folder, "cut.run");
            assert_eq!(of, epochs, "the epochs are those that were fed");
            differ += usize::from(draws != expected);
        }
        kills += of_this;
    }
    eprintln!("{kills} kills of runs that follow a table (seed {seed}), {differ} runs differ");
    assert_eq!(differ, 0, "after {kills} kills, seed {seed}");
}
