//! What programs mean: `language/cases.txt`, whose expected answers were derived by hand, by
//! enumeration or by quadrature, never by running a program.
//!
//! A case is a block of lines: `case NAME`, the program, `kernel K` and `restarts N` (or nothing),
//! `query Q` and `expect ...`:
//!
//! * `exact JSON`: the query's value, with a relative tolerance of 1e-9;
//! * `error WORD, WORD/WORD`: the diagnostic, with the line it points at, has each word, or one of
//!   several;
//! * `discrete VALUE:P ...`, `deciles E1 .. E9`, `mean M SD`: the law of the query over
//!   independent restarts. A case that looks bad is run again with another seed and five times
//!   the restarts, and fails if it looks bad twice: by chance less than once in a million cases.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use smidgen::io::json::value_to_json;
use smidgen::sampling::{Progress, SampleRequest, sample};
use smidgen::value::math;
use smidgen::{Session, Settings};

const CASES: &str = include_str!("language/cases.txt");
const RESTARTS: usize = 400;

#[derive(Default)]
struct Case {
    name: String,
    program: String,
    kernel: String,
    query: String,
    expect: String,
    restarts: Option<usize>,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in CASES.lines() {
        if let Some(name) = line.strip_prefix("case ") {
            cases.push(Case { name: name.to_owned(), ..Case::default() });
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        if let Some(kernel) = line.strip_prefix("kernel ") {
            case.kernel = kernel.to_owned();
        } else if let Some(query) = line.strip_prefix("query ") {
            case.query = query.to_owned();
        } else if let Some(restarts) = line.strip_prefix("restarts ") {
            case.restarts = Some(restarts.parse().expect("a number of restarts"));
        } else if let Some(expect) = line.strip_prefix("expect ") {
            case.expect = expect.to_owned();
        } else if !line.starts_with("--") {
            case.program.push_str(line);
            case.program.push('\n');
        }
    }
    cases
}

/// Runs all directives; the value shown last, or the text of the diagnostics.
fn run(text: &str) -> Result<Option<Json>, String> {
    let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
    let say = |diagnostics: Vec<smidgen::lang::Diagnostic>| {
        let one = |d: &smidgen::lang::Diagnostic| {
            let start = d.span.map_or(0, |span| (span.start as usize).min(text.len()));
            let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
            let shown = text[line..].lines().next().unwrap_or_default();
            format!("{} {} {shown}", d.message, d.hints.join(" "))
        };
        diagnostics.iter().map(one).collect::<Vec<_>>().join("\n")
    };
    let program = session.parse_text("case", text).map_err(say)?;
    let mut last = None;
    for directive in &program {
        let outcomes = session.execute(directive).map_err(say)?;
        if let Some(value) = outcomes.last().and_then(|outcome| outcome.kind.value()) {
            last = Some(value_to_json(&value));
        }
        smidgen::engine::check::check(session.model()).map_err(|e| format!("broken trace: {e}"))?;
    }
    Ok(last)
}

fn draws(case: &Case, restarts: usize, seed: u64) -> Result<Vec<Json>, String> {
    let mut session = Session::new(Settings::default());
    let words = |diagnostics: Vec<smidgen::lang::Diagnostic>| {
        diagnostics.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("\n")
    };
    let program = session.parse_text("case", &case.program).map_err(words)?;
    let kernel = if case.kernel.is_empty() { "(do)" } else { &case.kernel };
    let request = SampleRequest {
        kernel: Some(kernel.to_owned()),
        draws: 1,
        warmup: 0,
        chains: restarts,
        seed,
        record: vec![case.query.clone()],
        ..SampleRequest::default()
    };
    let sampled = sample(&mut session, &program, &request, &Progress::default());
    let sampled = sampled.map_err(|e| words(e.0))?;
    let quantity = sampled.run.draws.get(&case.query).ok_or("nothing was recorded")?;
    Ok(quantity.values().map(value_to_json).collect())
}

fn number(json: &Json) -> f64 {
    match json {
        Json::Bool(b) => f64::from(u8::from(*b)),
        _ => json.as_f64().unwrap_or(f64::NAN),
    }
}

fn same(found: &Json, wanted: &Json) -> bool {
    match (found, wanted) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| same(v, w)))
        }
        (Json::Bool(_) | Json::Number(_), Json::Bool(_) | Json::Number(_)) => {
            let (a, b) = (number(found), number(wanted));
            (a - b).abs() <= 1e-9 * b.abs().max(1.0)
        }
        _ => found == wanted,
    }
}

fn chi_square(counts: &[f64], expected: &[f64]) -> f64 {
    let cells = || counts.iter().zip(expected);
    if cells().any(|(count, wanted)| *wanted <= 0.0 && *count > 0.0) {
        return 0.0;
    }
    let possible = || cells().filter(|(_, wanted)| **wanted > 0.0);
    let statistic: f64 = possible().map(|(c, e)| (c - e) * (c - e) / e).sum();
    let freedom = possible().count().saturating_sub(1).max(1) as f64;
    1.0 - math::gamma_p(freedom / 2.0, statistic / 2.0)
}

fn p_value(expect: &str, values: &[Json]) -> f64 {
    let n = values.len() as f64;
    let mut words = expect.split_whitespace();
    let kind = words.next().unwrap_or_default();
    match kind {
        "discrete" => {
            let (mut counts, mut expected) = (Vec::new(), Vec::new());
            let mut rest = n;
            for word in words {
                let (value, p) = word.rsplit_once(':').expect("VALUE:P");
                let value: Json = serde_json::from_str(value).expect("a JSON value");
                let count = values.iter().filter(|v| same(v, &value)).count() as f64;
                rest -= count;
                counts.push(count);
                expected.push(n * p.parse::<f64>().expect("a probability"));
            }
            let slack = n - expected.iter().sum::<f64>();
            counts.push(rest);
            expected.push(if slack < 1e-6 * n { 0.0 } else { slack });
            chi_square(&counts, &expected)
        }
        "deciles" => {
            let edges: Vec<f64> = words.map(|w| w.parse().expect("a number")).collect();
            let mut counts = vec![0.0; edges.len() + 1];
            for value in values {
                counts[edges.iter().filter(|edge| number(value) > **edge).count()] += 1.0;
            }
            let expected = vec![n / counts.len() as f64; counts.len()];
            chi_square(&counts, &expected)
        }
        "mean" => {
            let known: Vec<f64> = words.map(|w| w.parse().expect("a number")).collect();
            let mean = values.iter().map(number).sum::<f64>() / n;
            math::erfc((mean - known[0]).abs() / (known[1] * (2.0 / n).sqrt()))
        }
        other => panic!("unknown expectation {other}"),
    }
}

fn judge(case: &Case) -> Result<(), String> {
    let with_query = |query: &str| {
        let mut text = case.program.clone();
        if !case.kernel.is_empty() {
            text.push_str(&format!("[infer {}]\n", case.kernel));
        }
        match query.strip_prefix('@') {
            _ if query.is_empty() => {}
            Some(directive) => text.push_str(&format!("[{directive}]")),
            None => text.push_str(&format!("[sample {query}]")),
        }
        text
    };
    if let Some(wanted) = case.expect.strip_prefix("exact ") {
        let wanted: Json = serde_json::from_str(wanted).expect("a JSON value");
        return match run(&with_query(&case.query))? {
            Some(found) if same(&found, &wanted) => Ok(()),
            found => Err(format!("found {found:?}, wanted {wanted}")),
        };
    }
    if let Some(words) = case.expect.strip_prefix("error ") {
        return match run(&with_query(&case.query)) {
            Ok(value) => Err(format!("no error, but {value:?}")),
            Err(message) => {
                let low = message.to_lowercase();
                let said = |word: &&str| word.split('/').any(|w| low.contains(w.trim()));
                match words.split(", ").find(|word| !said(word)) {
                    Some(word) => Err(format!("no word {word} in: {message}")),
                    None => Ok(()),
                }
            }
        };
    }
    let usual = if case.kernel.is_empty() { 4 * RESTARTS } else { RESTARTS };
    let restarts = case.restarts.unwrap_or(usual);
    if p_value(&case.expect, &draws(case, restarts, 1)?) > 1e-3 {
        return Ok(());
    }
    let values = draws(case, 5 * restarts, 7919)?;
    let p = p_value(&case.expect, &values);
    if p > 1e-4 {
        return Ok(());
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for value in &values {
        *seen.entry(value.to_string()).or_default() += 1;
    }
    let mean = values.iter().map(number).sum::<f64>() / values.len() as f64;
    let seen = if seen.len() > 12 { String::new() } else { format!("{seen:?}") };
    Err(format!("p = {p:.1e}, mean {mean:.4} {seen}, wanted {}", case.expect))
}

fn judge_all(part: usize, of: usize) {
    let only = std::env::var("CASE").unwrap_or_default();
    let cases = cases();
    let mine =
        cases.iter().enumerate().filter(|(k, case)| k % of == part && case.name.contains(&only));
    let verdict = |(_, case): (usize, &Case)| match judge(case) {
        Ok(()) => None,
        Err(why) => Some(format!("{}: {why}", case.name)),
    };
    let failures: Vec<String> = mine.filter_map(verdict).collect();
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn names_are_unique() {
    let mut names: Vec<String> = cases().into_iter().map(|case| case.name).collect();
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(count > 150);
}

#[test]
fn first_quarter_of_the_cases() {
    judge_all(0, 4);
}

#[test]
fn second_quarter_of_the_cases() {
    judge_all(1, 4);
}

#[test]
fn third_quarter_of_the_cases() {
    judge_all(2, 4);
}

#[test]
fn fourth_quarter_of_the_cases() {
    judge_all(3, 4);
}
