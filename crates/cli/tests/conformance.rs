//! Programs with known answers, run through the command as a user would.
//!
//! Each case of `conformance/cases.json` is a program, a kernel and a query. `exact`: the query's
//! value; `error`: exit code 1 and words of the diagnostic; `fresh`: the law of the query over
//! independent restarts; `chain`: the same over one long chain, tested loosely. A law that looks
//! bad is looked at again with five times the restarts and fails only if it looks bad twice.
//! Cases of kernels that do not exist yet must give the diagnostic that says so.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value as Json;
use smidgen_testkit::pvalue::{chi_square, z};

/// Kernels that exist.
const KERNELS: &[&str] = &[
    "mh",
    "subsampled_mh",
    "gibbs",
    "pgibbs",
    "slice",
    "slice_doubling",
    "hmc",
    "nuts",
    "map",
    "rejection",
];
const COMBINATORS: &[&str] = &["cycle", "mixture", "repeat", "do", "ordered_range", "quote"];

struct Case<'a>(&'a Json);

impl Case<'_> {
    fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or("")
    }

    fn program(&self) -> String {
        let lines = self.0["program"].as_array().expect("a program is a list of lines");
        lines.iter().map(|line| line.as_str().expect("a line").to_owned() + "\n").collect()
    }

    /// The names of the kernels that its inference program uses.
    fn kernels(&self) -> Vec<String> {
        let heads = self.text("kernel").split('(').skip(1);
        let names = heads.map(|rest| {
            rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>()
        });
        names.filter(|name| !name.is_empty() && !COMBINATORS.contains(&name.as_str())).collect()
    }
}

fn smidgen(case: &Case<'_>, text: &str, args: &[&str]) -> Output {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("{}.smg", case.text("id")));
    std::fs::write(&path, text).expect("the folder for temporary files can be written");
    Command::new(env!("CARGO_BIN_EXE_smidgen"))
        .arg(args[0])
        .arg(&path)
        .args(&args[1..])
        .args(["--format", "json"])
        .output()
        .expect("the command starts")
}

fn number(value: &Json) -> f64 {
    match value {
        Json::Bool(b) => f64::from(u8::from(*b)),
        other => other.as_f64().expect("a number"),
    }
}

fn same(found: &Json, wanted: &Json, tolerance: f64) -> bool {
    let numeric = |v: &Json| v.is_number() || v.is_boolean();
    match (found, wanted) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b, tolerance))
        }
        (a, b) if numeric(a) && numeric(b) => {
            (number(a) - number(b)).abs() <= tolerance * number(b).abs().max(1.0)
        }
        (a, b) => a == b,
    }
}

fn check_exact(case: &Case<'_>) -> Result<(), String> {
    let mut text = case.program();
    if !case.text("kernel").is_empty() {
        text += &format!("[infer {}]\n", case.text("kernel"));
    }
    text += &match case.text("query").strip_prefix('@') {
        Some(directive) => format!("[{directive}]"),
        None => format!("[sample {}]", case.text("query")),
    };
    let output = smidgen(case, &text, &["run", "--seed", "1"]);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = stdout
        .lines()
        .last()
        .ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let found: Json = serde_json::from_str(last).map_err(|e| e.to_string())?;
    let (wanted, tolerance) = (&case.0["check"]["value"], number(&case.0["check"]["tol"]));
    match same(&found["value"], wanted, tolerance) {
        true => Ok(()),
        false => Err(format!("found {}, expected {wanted}", found["value"])),
    }
}

fn check_error(case: &Case<'_>, words: &[String]) -> Result<(), String> {
    let mut text = case.program();
    if !case.text("kernel").is_empty() {
        text += &format!("[infer {}]\n", case.text("kernel"));
    }
    if !case.text("query").is_empty() {
        text += &format!("[sample {}]\n", case.text("query"));
    }
    let output = smidgen(case, &text, &["run", "--seed", "1"]);
    let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
    if output.status.code() != Some(1) || said.contains("panicked") {
        return Err(format!("exit {:?}: {said}", output.status.code()));
    }
    // "a / b": either word will do.
    let missing =
        words.iter().find(|w| !w.split('/').any(|w| said.contains(&w.trim().to_lowercase())));
    missing.map_or(Ok(()), |word| Err(format!("the diagnostic lacks {word:?}: {said}")))
}

fn law(case: &Case<'_>, restarts: usize, seed: u64) -> Result<f64, String> {
    let long = case.text("mode") == "chain";
    let (chains, draws) = if long { (1, restarts) } else { (restarts, 1) };
    let kernel = if case.text("kernel").is_empty() { "(do)" } else { case.text("kernel") };
    let (chains, draws, seed) = (chains.to_string(), draws.to_string(), seed.to_string());
    let warmup = if long { "20" } else { "0" };
    let args = [
        "sample",
        "--chains",
        &chains,
        "--draws",
        &draws,
        "--warmup",
        warmup,
        "--seed",
        &seed,
        "--record",
        case.text("query"),
        "--kernel",
        kernel,
    ];
    let output = smidgen(case, &case.program(), &args);
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let run: Json = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    let chains = run["draws"][case.text("query")].as_array().ok_or("no draws of the query")?;
    let values: Vec<f64> =
        chains.iter().flat_map(|chain| chain.as_array().expect("a chain")).map(number).collect();
    if values.len() != restarts {
        return Err(format!("{} values, expected {restarts}", values.len()));
    }
    Ok(p_value(&case.0["check"], &values))
}

fn p_value(check: &Json, values: &[f64]) -> f64 {
    let numbers = |key: &str| -> Vec<f64> {
        check[key].as_array().expect("a list of numbers").iter().map(number).collect()
    };
    let n = values.len() as f64;
    match check["kind"].as_str() {
        Some("deciles") => {
            let edges = numbers("edges");
            let mut counts = [0u64; 10];
            for v in values {
                counts[edges.iter().filter(|edge| v > edge).count()] += 1;
            }
            chi_square(&counts, &[0.1; 10]).p
        }
        Some("discrete") => {
            let (support, mut probs) = (numbers("support"), numbers("probs"));
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            let mut counts: Vec<u64> = support
                .iter()
                .map(|s| values.iter().filter(|v| near(**v, *s)).count() as u64)
                .collect();
            counts.push(values.len() as u64 - counts.iter().sum::<u64>());
            probs.push((1.0 - probs.iter().sum::<f64>()).max(0.0));
            chi_square(&counts, &probs).p
        }
        Some("mean") => {
            let mean = values.iter().sum::<f64>() / n;
            let sample_variance =
                values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let variance = check["var"].as_f64().unwrap_or(sample_variance);
            z(mean, number(&check["mean"]), (variance / n).sqrt()).p
        }
        other => panic!("unknown kind of check {other:?}"),
    }
}

fn check_law(case: &Case<'_>) -> Result<(), String> {
    let restarts = if case.text("kernel").is_empty() { 4000 } else { 600 };
    let p = law(case, restarts, 1)?;
    if case.text("mode") == "chain" {
        return if p < 1e-6 { Err(format!("p {p:.2e}")) } else { Ok(()) };
    }
    if p >= 1e-3 {
        return Ok(());
    }
    let again = law(case, 5 * restarts, 7920)?;
    if again < 1e-4 { Err(format!("p {p:.2e}, then {again:.2e}")) } else { Ok(()) }
}

#[test]
fn cases_with_known_answers() {
    let cases: Json =
        serde_json::from_str(include_str!("conformance/cases.json")).expect("valid JSON");
    let (mut checked, mut failures) = (0, Vec::new());
    for case in cases.as_array().expect("a list of cases").iter().map(Case) {
        let unknown = case.kernels().into_iter().find(|k| !KERNELS.contains(&k.as_str()));
        if case.text("mode") == "unit" || case.0["manual"].as_bool() == Some(true) {
            continue;
        }
        let result = match (unknown, case.text("mode")) {
            (Some(kernel), _) => check_error(&case, &["unknown kernel".to_owned(), kernel]),
            (None, "exact") => check_exact(&case),
            (None, "error") => {
                let words = case.0["check"]["mention"].as_array().expect("words");
                let words: Vec<String> =
                    words.iter().map(|w| w.as_str().expect("a word").to_owned()).collect();
                check_error(&case, &words)
            }
            (None, _) => check_law(&case),
        };
        checked += 1;
        failures.extend(result.err().map(|why| format!("{}: {why}", case.text("id"))));
    }
    assert!(checked > 70, "only {checked} cases were found");
    assert!(failures.is_empty(), "{} of {checked} failed\n{}", failures.len(), failures.join("\n"));
}
