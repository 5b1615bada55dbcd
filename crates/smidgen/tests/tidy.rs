//! The shape of the house, as a test: layers, sizes of files, the reference page.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Which crates the sources of each crate may name.
const LAYERS: &[(&str, &[&str])] = &[
    ("value", &[]),
    ("mapped", &[]),
    ("lang", &["value"]),
    ("prob", &["value"]),
    ("draws", &["value"]),
    ("engine", &["value", "lang", "prob"]),
    ("infer", &["value", "lang", "prob", "engine", "draws"]),
    ("io", &["value", "mapped", "draws"]),
    ("report", &["value", "draws"]),
    ("smidgen", &["value", "lang", "prob", "draws", "engine", "infer", "io", "report"]),
    ("experiment", &[]),
    ("cli", &["experiment"]),
    ("testkit", &["value", "lang", "prob", "engine", "infer", "draws"]),
];

#[test]
fn a_crate_uses_only_the_layers_above_it() {
    for (name, allowed) in LAYERS {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name).join("src"), &mut files);
        assert!(!files.is_empty(), "crate {name} has sources");
        for file in files {
            let text = fs::read_to_string(&file).expect("a source is text");
            for (other, _) in LAYERS {
                let named = text.contains(&format!("smidgen_{other}::"));
                let fine = other == name || allowed.contains(other);
                assert!(!named || fine, "{} uses smidgen_{other}", file.display());
            }
        }
    }
}

#[test]
fn the_engine_does_not_print_read_files_or_ask_the_clock() {
    let mut files = Vec::new();
    for name in ["value", "lang", "prob", "draws", "engine", "infer", "report"] {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    for file in files {
        let text = fs::read_to_string(&file).expect("a source is text");
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        for banned in ["println!", "eprintln!", "std::fs", "std::time", "thread_local!"] {
            assert!(!code.contains(banned), "{} has {banned}", file.display());
        }
    }
}

#[test]
fn files_stay_readable() {
    let mut files = Vec::new();
    for (name, _) in LAYERS {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    for file in files {
        let lines = fs::read_to_string(&file).expect("a source is text").lines().count();
        assert!(
            lines <= 700,
            "{} has {lines} lines: cut it where the idea changes",
            file.display()
        );
    }
}

#[test]
fn every_source_begins_with_its_idea() {
    let mut files = Vec::new();
    for (name, _) in LAYERS {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    for file in files {
        let text = fs::read_to_string(&file).expect("a source is text");
        assert!(text.starts_with("//!"), "{} has no header", file.display());
    }
}

#[test]
fn the_reference_page_is_up_to_date() {
    let page = fs::read_to_string(root().join("docs/reference.md")).expect("the page exists");
    let made = smidgen::reference::markdown();
    assert!(page == made, "make it anew: smidgen help --markdown > docs/reference.md");
}
