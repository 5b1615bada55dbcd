//! What happens to an Arrow file while a run reads it where it lies.
#![cfg(all(target_os = "linux", feature = "columnar"))]

use std::fs::{File, FileTimes};
use std::process::{Child, Stdio};
use std::time::SystemTime;

use crate::support::{Done, Folder, finish, wait_until};

const PROGRAM: &str = "[table t \"t.arrow\"]
    [assume m (normal 0 1)]
    [for row in t [observe (normal m 1) row.a]]
    [infer (mh default one 'drift 0.01 1)]";

const ROWS: usize = 200_000;

/// A folder with a program and a table of one batch, from draws of the prior.
fn folder() -> Folder {
    let folder = Folder::with_program("[assume a (normal 0 1)]");
    let rows = ROWS.to_string();
    let draw = ["sample", "m.smg", "--seed", "5", "--draws", &rows, "--warmup", "0"];
    folder.call(&[&draw[..], &["--chains", "1", "--out", "t.arrow"]].concat()).good();
    folder.write("m.smg", PROGRAM);
    folder
}

fn sample<'a>(draws: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = ["sample", "m.smg", "--seed", "1", "--warmup", "0", "--draws", draws];
    args.iter().chain(more).copied().collect()
}

/// Starts the command and waits until the table is mapped.
fn start(folder: &Folder, args: &[&str]) -> Child {
    let mut child = folder.start(args, Stdio::null());
    let maps = format!("/proc/{}/maps", child.id());
    let is_mapped = || {
        std::fs::read_to_string(&maps).is_ok_and(|text| text.contains("/t.arrow"))
            || child.try_wait().is_ok_and(|status| status.is_some())
    };
    assert!(wait_until(is_mapped), "the table is never mapped");
    child
}

/// What the system says about a process.
fn said(child: &Child, what: &str) -> String {
    let path = format!("/proc/{}/{what}", child.id());
    std::fs::read_to_string(path).expect("it is running")
}

/// Waits until it has worked for a while, which is longer than reading takes.
fn wait_for_draws(child: &Child) {
    let ticks = || -> Option<u64> {
        let text = said(child, "stat");
        text.rsplit_once(')')?.1.split_whitespace().nth(11)?.parse().ok()
    };
    assert!(wait_until(|| ticks().is_some_and(|ticks| ticks > 100)), "it does nothing");
}

fn table(folder: &Folder) -> File {
    File::options().write(true).open(folder.path("t.arrow")).expect("the table")
}

/// Not killed by a signal: it says what happened, and what earlier runs wrote is still there.
#[test]
fn a_table_that_is_cut_off_ends_the_run_with_an_error() {
    let folder = folder();
    folder.write("d.csv", "earlier draws");
    for length in [0, 1000, 100_000] {
        let child = start(&folder, &sample("100000000", &["--out", "d.csv"]));
        if length > 0 {
            wait_for_draws(&child);
        }
        let whole = std::fs::read(folder.path("t.arrow")).expect("the table");
        table(&folder).set_len(length).expect("shortened");
        let done: Done = finish(child);
        done.fails(1, &["error:", "t.arrow was cut off while it was in use"]);
        assert_eq!((done.err.lines().count(), done.out.as_str()), (1, ""), "{}", done.err);
        assert_eq!(folder.read("d.csv"), "earlier draws");
        std::fs::write(folder.path("t.arrow"), whole).expect("written");
    }
    let names = std::fs::read_dir(folder.path("")).expect("the folder").flatten();
    let left = names.filter(|entry| entry.file_name().to_string_lossy().ends_with("partial"));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_table_may_be_deleted_or_replaced_during_the_run() {
    let folder = folder();
    let args = sample("200", &["--format", "json", "--out", "d.csv"]);
    let before = folder.call(&args);
    assert_eq!(before.code, Some(0), "{}", before.err);
    let draws = folder.read("d.csv");
    std::fs::copy(folder.path("t.arrow"), folder.path("u.arrow")).expect("copied");
    folder.write("other", "something else");
    for replace in [true, false] {
        std::fs::copy(folder.path("u.arrow"), folder.path("t.arrow")).expect("copied");
        let child = start(&folder, &args);
        match replace {
            true => std::fs::rename(folder.path("other"), folder.path("t.arrow")),
            false => std::fs::remove_file(folder.path("t.arrow")),
        }
        .expect("gone");
        let done = finish(child);
        assert_eq!(done.code, Some(0), "{}", done.err);
        assert!(!done.err.contains("was changed"), "{}", done.err);
        assert_eq!(folder.read("d.csv"), draws);
    }
}

#[test]
fn a_table_that_is_written_to_during_the_run_is_warned_of() {
    let folder = folder();
    let child = start(&folder, &sample("200", &["--format", "json"]));
    let later = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
    table(&folder).set_times(later).expect("another date");
    let object = finish(child).json();
    let warnings = object["warnings"].to_string();
    assert!(warnings.contains("t.arrow was changed while its rows were in use"), "{warnings}");
}

#[test]
fn chains_share_the_table() {
    let folder = folder();
    // Memory that is no part of a file.
    let own = |chains: &str| -> usize {
        let args = sample("100000000", &["--chains", chains, "--threads", chains]);
        let mut child = start(&folder, &args);
        wait_for_draws(&child);
        let status = said(&child, "status");
        child.kill().and_then(|()| child.wait()).expect("it was running");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        1024 * kilobytes.and_then(|number| number.parse::<usize>().ok()).expect("a number")
    };
    let (one, four) = (own("1"), own("4"));
    assert!(four < one + 8 * ROWS, "{one} bytes for one chain, {four} for four");
}
