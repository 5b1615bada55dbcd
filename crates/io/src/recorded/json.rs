//! JSON: the object that `sample --format json` prints. What it says beside the draws may be
//! absent. The strings `"nan"`, `"inf"` and `"-inf"` are numbers, and lists of equally long lists
//! of numbers are matrices, as they were before they were written.

use std::fs::File;
use std::io::BufReader;

use serde_json::{Map, Value as Json};
use smidgen_draws::{Approximation, Draws, KernelReport, Quantity, Run};
use smidgen_value::{Matrix, Value};

use super::only_draws;
use crate::json::json_to_value;

pub(super) fn read(file: File) -> Result<Run, String> {
    let json: Json = serde_json::from_reader(BufReader::new(file)).map_err(|error| {
        if error.is_io() {
            format!("cannot read the file: {error}")
        } else {
            format!("not JSON: {error}")
        }
    })?;
    run(json)
}

/// The run of a text that [`crate::run_to_json`] made.
pub fn run_from_json(text: &str) -> Result<Run, String> {
    run(serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?)
}

fn run(json: Json) -> Result<Run, String> {
    let Json::Object(object) = json else {
        return Err("it is no object with the field \"draws\"".to_owned());
    };
    let run = only_draws(draws(object.get("draws"))?);
    let part = |json: Option<&Json>| match json {
        Some(json) => draws(Some(json)),
        None => Ok(Draws::default()),
    };
    let stats = part(object.get("stats"))?;
    let warm = object.get("warmup");
    let warmup = part(warm.and_then(|warm| warm.get("draws")))?;
    let warmup_stats = part(warm.and_then(|warm| warm.get("stats")))?;
    let kernels = object.get("kernels").map_or(Ok(Vec::new()), kernels)?;
    let warnings = object.get("warnings").map_or(Ok(Vec::new()), warnings)?;
    Ok(Run {
        seed: object.get("seed").and_then(Json::as_u64).unwrap_or(0),
        kernels,
        warnings,
        stats,
        warmup,
        warmup_stats,
        program: text(&object, "program"),
        version: text(&object, "version"),
        ..run
    })
}

fn text(object: &Map<String, Json>, field: &str) -> String {
    object.get(field).and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn draws(json: Option<&Json>) -> Result<Draws, String> {
    let Some(Json::Object(quantities)) = json else {
        return Err(
            "there is no object in the field \"draws\", as `sample --format json` writes it".into(),
        );
    };
    let mut draws = Draws::default();
    for (name, chains) in quantities {
        let list = |json: &Json, place: &str| {
            json.as_array().cloned().ok_or_else(|| format!("draws of `{name}`{place}: no list"))
        };
        let mut read = Vec::new();
        for (c, chain) in list(chains, "")?.iter().enumerate() {
            let mut values = Vec::new();
            for (d, draw) in list(chain, &format!(", chain {c}"))?.iter().enumerate() {
                let wrong = |problem| format!("draws of `{name}`, chain {c}, draw {d}: {problem}");
                values.push(value(draw).map_err(wrong)?);
            }
            read.push(values);
        }
        draws.add(Quantity::new(name.clone(), read));
    }
    Ok(draws)
}

fn number(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => match text.as_str() {
            "nan" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn numbers(json: &Json) -> Option<Vec<f64>> {
    json.as_array()?.iter().map(number).collect()
}

fn value(json: &Json) -> Result<Value, String> {
    if let Some(x) = number(json) {
        return Ok(Value::Number(x));
    }
    if let Some(xs) = numbers(json) {
        return Ok(Value::vector(xs));
    }
    let rows: Option<Vec<Vec<f64>>> =
        json.as_array().and_then(|rows| rows.iter().map(numbers).collect());
    if let Some(rows) = rows
        && rows.iter().all(|row| row.len() == rows[0].len())
    {
        return Ok(Value::matrix(Matrix::new(rows.len(), rows[0].len(), rows.concat())));
    }
    json_to_value(json)
}

pub(crate) fn warnings(json: &Json) -> Result<Vec<String>, String> {
    if json.is_null() {
        return Ok(Vec::new());
    }
    let texts = json.as_array().map(|texts| {
        texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect::<Vec<_>>()
    });
    texts.ok_or_else(|| "the field \"warnings\" is no list".to_owned())
}

pub(crate) fn kernels(json: &Json) -> Result<Vec<KernelReport>, String> {
    if json.is_null() {
        return Ok(Vec::new());
    }
    let kernels = json.as_array().ok_or("the field \"kernels\" is no list")?;
    Ok(kernels.iter().map(kernel).collect())
}

/// What is not said is 0, or NaN where 0 would say something.
fn kernel(json: &Json) -> KernelReport {
    let count = |json: &Json, field: &str| json[field].as_u64().unwrap_or(0);
    let text = |field: &str| json[field].as_str().unwrap_or_default().to_owned();
    let share = |json: &Json| json.as_f64().unwrap_or(f64::NAN);
    let approximation = |found: &Json| Approximation {
        decisions: count(found, "decisions"),
        exhausted: count(found, "exhausted"),
        audits: count(found, "audits"),
        audit_sections: count(found, "audit_sections"),
        wrongly_accepted: count(found, "wrongly_accepted"),
        wrongly_rejected: count(found, "wrongly_rejected"),
        interval: (share(&found["interval"][0]), share(&found["interval"][1])),
        predicted_error: share(&found["predicted"]),
        predicted_usage: share(&found["predicted_usage"]),
    };
    KernelReport {
        kernel: text("kernel"),
        transitions: count(json, "transitions"),
        accepted: count(json, "accepted"),
        drawn: count(json, "drawn"),
        changed: count(json, "changed"),
        sections_used: count(json, "sections_used"),
        population: count(json, "population"),
        evaluator: text("evaluator"),
        approximation: json.get("decision_error").map(approximation),
        note: json["note"].as_str().map(str::to_owned),
    }
}
