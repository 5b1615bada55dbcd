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
    ("python", &["cli"]),
    ("fuzzing", &["cli", "testkit"]),
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

/// The modules of a crate in the order of the table at the head of its `lib.rs`: each names those in backticks.
fn modules_in_order(crate_name: &str) -> Vec<String> {
    let path = root().join("crates").join(crate_name).join("src/lib.rs");
    let text = fs::read_to_string(path).expect("a crate has a lib.rs");
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | "));
    let first_cells = rows.filter_map(|row| row.split(" | ").next());
    let names = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

/// The modules that a source names after `crate::`, without its tests.
fn named_modules(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or("");
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let joined = lines.collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for rest in joined.split("crate::").skip(1) {
        let word = |text: &str| -> String {
            text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        match rest.strip_prefix('{') {
            Some(list) => {
                let list = list.split('}').next().unwrap_or("");
                found.extend(list.split(',').map(word));
            }
            None => found.push(word(rest)),
        }
    }
    found
}

#[test]
fn imports_go_down_inside_a_crate() {
    for crate_name in ["engine", "infer"] {
        let order = modules_in_order(crate_name);
        let folder = root().join("crates").join(crate_name).join("src");
        let mut files = Vec::new();
        sources(&folder, &mut files);
        let mut seen = 0;
        for file in files {
            let path = file.strip_prefix(&folder).expect("a source of the crate");
            let first = path.iter().next().and_then(|name| name.to_str()).expect("a name");
            let module = first.trim_end_matches(".rs");
            if module == "lib" || path.ends_with("tests.rs") {
                continue;
            }
            let place = |name: &str| order.iter().position(|known| known == name);
            let own = place(module);
            assert!(own.is_some(), "{module} is missing in the table of {crate_name}/src/lib.rs");
            let text = fs::read_to_string(&file).expect("a source is text");
            for name in named_modules(&text) {
                // A name that is no module is an item that lib.rs shows again: of which module?
                let is_item = name.chars().next().is_some_and(char::is_uppercase);
                let other = place(&name);
                assert!(
                    other.is_some() || is_item || name.is_empty() || name == "self",
                    "{} names crate::{name}, which the table does not know",
                    file.display()
                );
                seen += usize::from(other.is_some_and(|other| Some(other) < own));
                assert!(
                    other.is_none_or(|other| Some(other) <= own),
                    "{} uses crate::{name}, which comes later",
                    file.display()
                );
            }
        }
        assert!(seen > 50, "the test has seen the imports of {crate_name}");
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
