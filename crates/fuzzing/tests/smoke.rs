//! Every target of the fuzzer on its corpus and on changes of it, from a seed: no panic, no hang.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use smidgen::value::Rng;
use smidgen_fuzzing::directives::soak;
use smidgen_fuzzing::mutation::changed;
use smidgen_fuzzing::{TARGETS, Target, leave_decoders_alone, programs};

/// Nothing that is this small may take longer, however busy the machine.
const LONGEST: Duration = Duration::from_secs(60);

fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: PathBuf| (path.clone(), std::fs::read(&path).expect("an entry can be read"));
    paths.into_iter().map(read).collect()
}

/// What the target does not survive: entries by name, changed ones in full.
fn faults(target: Target, changes: usize, seed: u64) -> Vec<String> {
    let entries = corpus(target.name);
    assert!(entries.len() >= 3, "the corpus of {} has {} entries", target.name, entries.len());
    let bytes: Vec<Vec<u8>> = entries.iter().map(|(_, bytes)| bytes.clone()).collect();
    let mut faults = Vec::new();
    let mut take = |bytes: &[u8], name: String| {
        let begun = Instant::now();
        if catch_unwind(AssertUnwindSafe(|| (target.take)(bytes))).is_err() {
            faults.push(name);
        } else if begun.elapsed() > LONGEST {
            faults.push(format!("{name} takes {:?}", begun.elapsed()));
        }
    };
    for (path, bytes) in &entries {
        take(bytes, path.display().to_string());
    }
    let mut rng = Rng::from_seed(seed);
    for _ in 0..changes {
        let bytes = changed(&bytes, &mut rng);
        let shown = bytes.escape_ascii().to_string();
        take(&bytes, shown);
    }
    faults
}

fn survives(name: &str, changes: usize) {
    leave_decoders_alone();
    let target = *TARGETS.iter().find(|target| target.name == name).expect("a target");
    let faults = faults(target, changes, 19);
    assert!(faults.is_empty(), "{} of {name} fail, such as\n{}", faults.len(), faults[0]);
}

#[test]
fn any_text_is_read() {
    survives("text", 20_000);
}

#[test]
fn any_program_runs_or_is_refused() {
    survives("programs", 3000);
}

#[test]
fn any_table_is_read_or_refused() {
    for name in ["csv", "parquet", "arrow", "npy", "npz"] {
        survives(name, 1500);
    }
}

#[test]
fn any_draws_and_run_folders_are_read_or_refused() {
    survives("draws", 1500);
    survives("folders", 300);
}

#[test]
fn any_directives_leave_the_trace_in_order() {
    let (counts, faults) = soak(3000, 1, |_, _| {});
    assert!(faults.is_empty(), "sequence {} fails:\n{}", faults[0].0, faults[0].1);
    // Or the test would be idle.
    assert!(counts.done > 8000 && counts.refused > 1500, "{counts:?}");
}

/// Whatever a directive leaves shows in what is compared after one that failed.
#[test]
fn what_a_directive_leaves_would_be_noticed() {
    let mut session = programs::session(Arc::default());
    for text in
        ["[assume a (normal 0 1)]", "[predict (+ a 1)]", "[observe (normal a 1) 2]", "[force a 3]"]
    {
        let before = programs::Standing::of(session.model());
        let program = session.parse_text("a.smg", text).unwrap_or_else(|_| panic!("{text}"));
        assert!(program.iter().all(|directive| programs::step(&mut session, directive)), "{text}");
        assert_ne!(before, programs::Standing::of(session.model()), "{text}");
    }
}

/// A reader with a mistake, which believes what a file says about its length, is caught.
#[test]
fn a_mistake_would_be_noticed() {
    fn believes(bytes: &[u8]) {
        let length = bytes.get(8..10).map_or(0, |b| usize::from(b[0]) + 256 * usize::from(b[1]));
        let _header = &bytes[10..10 + length];
    }
    let target = Target { name: "npy", take: believes };
    assert!(!faults(target, 200, 19).is_empty());
}

/// Each target has its fuzzer.
#[test]
fn every_target_is_fuzzed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("there");
    for target in TARGETS {
        let name = target.name;
        let source = folder.join(format!("fuzz_targets/{name}.rs"));
        let source = std::fs::read_to_string(&source).expect("a target has a source");
        assert!(source.contains(&format!("\"{name}\"")), "{name}");
        assert!(manifest.contains(&format!("fuzz_targets/{name}.rs")), "{name}");
    }
}
