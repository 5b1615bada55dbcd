//! The draws that the gallery's commands leave, against references that were found without smidgen.
//!
//! `examples/gallery/reference.json` has for every model a mean and an sd of some quantities, how
//! they were found, and `within`: how far the mean of the draws may be from it, in posterior
//! standard deviations, and how far from 1 the ratio of the sds.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value as Json;

use crate::repository;
use crate::run::Folder;

/// The columns of a CSV file by name.
fn columns(text: &str) -> BTreeMap<String, Vec<f64>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let mut found: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in lines {
        for (name, cell) in names.iter().zip(line.split(',')) {
            let value = match cell {
                "true" => 1.0,
                "false" => 0.0,
                number => number.parse().expect("a number"),
            };
            found.entry((*name).to_owned()).or_default().push(value);
        }
    }
    found
}

fn mean_and_sd(draws: &[f64]) -> (f64, f64) {
    let n = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / n;
    let square = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    (mean, (square / (n - 1.0)).sqrt())
}

/// What speaks against the draws of one model.
fn objections(model: &str, reference: &Json, draws: &BTreeMap<String, Vec<f64>>) -> Vec<String> {
    let within = reference["within"].as_f64().expect("a tolerance");
    assert!(reference["how"].is_string(), "{model}: how was its reference found?");
    let quantities = reference["quantities"].as_object().expect("quantities");
    assert!(!quantities.is_empty(), "{model} has quantities");
    let mut found = Vec::new();
    for (name, wanted) in quantities {
        let draws = draws.get(name).unwrap_or_else(|| panic!("{model} records no {name}"));
        let (mean, sd) = mean_and_sd(draws);
        let true_mean = wanted["mean"].as_f64().expect("a mean");
        let true_sd = wanted["sd"].as_f64().expect("an sd");
        println!("{model}: {name}: {mean:.4} ± {sd:.4}, reference {true_mean:.4} ± {true_sd:.4}");
        // A heavy tail makes the sd of the draws uncertain.
        let within = wanted["within"].as_f64().unwrap_or(within);
        let shift = (mean - true_mean).abs() / true_sd;
        if !(shift <= within && (sd / true_sd - 1.0).abs() <= within) {
            found.push(format!("{model}: {name} is {mean} ± {sd}, not {true_mean} ± {true_sd}"));
        }
    }
    found
}

/// Compares all models of the gallery.
pub fn check(folder: &Folder) {
    let path = repository().join("examples/gallery/reference.json");
    let text = fs::read_to_string(path).expect("references");
    let references: Json = serde_json::from_str(&text).expect("JSON");
    let models = references.as_object().expect("models by name");
    let programs = fs::read_dir(repository().join("examples/gallery")).expect("the gallery");
    let programs = programs.map(|entry| entry.expect("an entry").path());
    for path in programs.filter(|path| path.extension().is_some_and(|ending| ending == "smg")) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(models.contains_key(&name), "{name} has no reference");
    }
    let mut found = Vec::new();
    for (model, reference) in models {
        let text = fs::read_to_string(folder.path(&format!("{model}.csv")));
        let text = text.unwrap_or_else(|_| panic!("the gallery leaves {model}.csv"));
        found.extend(objections(model, reference, &columns(&text)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn draws_that_are_off_are_noticed() {
    let reference = serde_json::json!({
        "how": "by hand", "within": 0.1, "quantities": { "x": { "mean": 2.0, "sd": 1.0 } }
    });
    let text = |shift: f64, scale: f64| {
        let rows = [1.0, 3.0].map(|x: f64| 2.0 + shift + scale * (x - 2.0) / 2.0_f64.sqrt());
        format!("chain,x\n1,{}\n1,{}\n", rows[0], rows[1])
    };
    let objections = |shift, scale| objections("m", &reference, &columns(&text(shift, scale)));
    assert!(objections(0.0, 1.0).is_empty());
    assert!(!objections(0.2, 1.0).is_empty());
    assert!(!objections(0.0, 1.2).is_empty());
}
