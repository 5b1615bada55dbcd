//! Every experiment in its smallest form: it runs, leaves what it promises, the page is well formed,
//! and the same seed gives the same draws.

use std::fs;
use std::path::{Path, PathBuf};

use smidgen_experiment::{EXPERIMENTS, Options, Size, run};

/// A folder of its own, gone at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("smidgen-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the folder for temporary files can be written");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut found: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    found.sort();
    found
}

/// Every element that is opened is closed, in order.
fn check_well_formed(text: &str) {
    let mut open: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        let name: String = tag.trim_start_matches('/').split([' ', '/']).next().unwrap().into();
        match tag {
            _ if tag.starts_with(['!', '?']) || tag.ends_with('/') => {}
            _ if tag.starts_with('/') => assert_eq!(open.pop().as_ref(), Some(&name), "</{name}>"),
            _ => open.push(name),
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
}

#[test]
fn every_experiment_leaves_a_page_with_figures() {
    for experiment in EXPERIMENTS {
        let scratch = Scratch::new(experiment.name);
        let options = Options::new(Size::Tiny, scratch.0.join("out"), 5);
        let said = std::cell::Cell::new(0);
        let outcome = run(experiment.name, &options, &|_| said.set(said.get() + 1))
            .unwrap_or_else(|error| panic!("{}: {error}", experiment.name));
        assert!(said.get() > 0 && outcome.text.lines().count() > 3, "{}", outcome.text);
        let page = fs::read_to_string(&outcome.page).expect("the page is there");
        check_well_formed(&page);
        assert!(!page.contains("NaN"), "{}: a number that is none", experiment.name);
        let out = &options.out;
        let pictures = files(out, "svg");
        assert!(pictures.len() >= 3, "{pictures:?}");
        assert_eq!(page.matches("<figure>").count(), pictures.len());
        for picture in &pictures {
            check_well_formed(&fs::read_to_string(picture).expect("a picture is text"));
        }
        if cfg!(feature = "png") {
            let signature = b"\x89PNG";
            let pngs = files(out, "png");
            assert_eq!(pngs.len(), pictures.len());
            assert!(pngs.iter().all(|png| fs::read(png).unwrap().starts_with(signature)));
        }
        let programs = files(out, "smg");
        assert!(!programs.is_empty());
        for program in programs {
            let name = program.file_name().expect("a file has a name");
            let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
            assert_eq!(fs::read(program).unwrap(), fs::read(example).unwrap(), "the very file");
        }
        let summary = fs::read_to_string(out.join("summary.json")).expect("a summary");
        let summary: serde_json::Value = serde_json::from_str(&summary).expect("it is JSON");
        assert_eq!(summary["experiment"], experiment.name);
    }
}

#[test]
fn exact_tells_what_every_kernel_reads_and_how_far_it_is_off() {
    let scratch = Scratch::new("exact-summary");
    let options = Options::new(Size::Tiny, scratch.0.join("out"), 2);
    run("exact", &options, &|_| ()).expect("it runs");
    let summary = fs::read_to_string(options.out.join("summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("it is JSON");
    let rows = summary["rows"].as_array().expect("numbers of rows");
    assert_eq!(rows.len(), 2);
    for row in rows {
        let n = row["rows"].as_f64().expect("a number");
        let [reference, walk, nuts, subsampled] = &row["kernels"].as_array().expect("kernels")[..]
        else {
            panic!("four kernels: {row}");
        };
        let number =
            |of: &serde_json::Value, what: &str| of[what].as_f64().expect("it was measured");
        assert!(number(reference, "rows_per_move") < 0.1 * n, "{reference}");
        assert!(number(reference, "accepted") > 0.8, "{reference}");
        assert!((number(walk, "rows_per_move") - n).abs() < 1e-9, "{walk}");
        assert!(number(nuts, "rows_per_move") > n, "{nuts}");
        assert!(number(subsampled, "rows_per_move") < n, "{subsampled}");
        // The truth is that of quadrature: an exact kernel is off by chance only.
        for (what, right) in [("shift_sd", 0.0), ("sd_ratio", 1.0)] {
            let [value, error] = ["value", "error"].map(|part| number(&reference[what], part));
            assert!((value - right).abs() < 5.0 * error, "{what}: {value} ± {error}");
            assert!(error < 0.3, "{what}: {error}");
        }
    }
}

#[test]
fn bad_calls_are_errors_that_help() {
    let scratch = Scratch::new("bad");
    let options = |out: &str| Options::new(Size::Tiny, scratch.0.join(out), 1);
    let error = run("nothing", &options("a"), &|_| ()).expect_err("no such experiment");
    assert!(error.to_string().contains("bayeslr"), "{error}");
    let data = |path: &Path| Options { data: Some(path.to_owned()), ..options("b") };
    let error = run("bayeslr", &data(&scratch.0.join("none")), &|_| ()).expect_err("no data");
    assert!(error.to_string().contains("train-images-idx3-ubyte"), "{error}");
    let damaged = scratch.0.join("train-images-idx3-ubyte");
    fs::write(&damaged, [0, 0, 8, 3, 0]).expect("a file");
    let error = run("bayeslr", &data(&scratch.0), &|_| ()).expect_err("a damaged file");
    assert!(error.to_string().contains("cut off"), "{error}");
    fs::write(scratch.0.join("file"), "").expect("a file");
    let error = run("sublinearity", &options("file"), &|_| ()).expect_err("a file in the way");
    assert!(error.to_string().contains("cannot be written"), "{error}");
}

#[test]
fn an_interrupted_experiment_stops() {
    let scratch = Scratch::new("interrupted");
    let options = Options::new(Size::Tiny, scratch.0.join("out"), 1);
    options.interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
    for experiment in EXPERIMENTS {
        let error = run(experiment.name, &options, &|_| ()).expect_err("it was told to stop");
        assert!(matches!(error, smidgen_experiment::Error::Interrupted), "{error}");
    }
}
