//! What the documents show is true: every fenced block of README.md and docs/*.md is run, as it is
//! printed, in a folder with a copy of `examples/`.
//!
//! | fence | what is done with the block |
//! |---|---|
//! | `smidgen` | a program: a few draws are made from it |
//! | `smidgen coin.smg` | a program that commands below name: it is put into that file; if the repository has the file, the two must be equal |
//! | `smidgen continues` | more of the program before it: both are run as one |
//! | `csv people.csv` | a file that programs below name |
//! | `sh` | commands, run by `sh -e`, all of which must go well |
//! | `text` | how the output of the commands before it begins |
//! | `text about` | the same, where numbers may differ by a factor of two, or by one: another version draws other numbers |
//! | `python`, `python continues` | run by Python (`SMIDGEN_PYTHON`, else `python3`) where the package `smidgen` is installed, with the data of `data/before.py` |
//! | any, and `skip="why"` | nothing |
//!
//! Any other fence is an error. `SNIPPETS=write cargo test -p smidgen-cli --test snippets` puts what
//! the commands print today into the `text` blocks, for you to read before you commit it.

mod gallery;
mod page;
mod run;

use std::path::{Path, PathBuf};

use run::Folder;

/// The folder of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a page and returns the folder in which that was done.
fn run_page(name: &str) -> Folder {
    let path = repository().join(name);
    let text = std::fs::read_to_string(&path).expect("a page");
    let blocks = page::blocks(name, &text);
    assert!(!blocks.is_empty() || !text.contains("```"), "{name} has blocks");
    let folder = Folder::new(name);
    let printed = folder.run(&blocks);
    if std::env::var("SNIPPETS").is_ok_and(|word| word == "write") {
        let text = page::with_outputs(&text, &blocks, &printed);
        std::fs::write(&path, text).expect("the page can be written");
    } else {
        run::compare(&blocks, &printed);
    }
    folder
}

#[test]
fn the_readme_runs_as_printed() {
    run_page("README.md");
}

#[test]
fn the_gallery_runs_as_printed_and_agrees_with_its_references() {
    let folder = run_page("docs/gallery.md");
    gallery::check(&folder);
}

#[test]
fn the_other_documents_run_as_printed() {
    let entries = std::fs::read_dir(repository().join("docs")).expect("the documents");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a document").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".md") && name != "gallery.md")
        .collect();
    names.sort();
    assert!(names.contains(&"language.md".to_owned()));
    for name in names {
        run_page(&format!("docs/{name}"));
    }
}
