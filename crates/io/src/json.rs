//! Values and runs as JSON.
//!
//! Numbers (whole ones without a point), booleans, strings for symbols and texts, lists for
//! lists, arrays and vectors, lists of rows for matrices, objects for dictionaries, the shown
//! text for procedures. Non-finite numbers are the strings `"inf"`, `"-inf"`, `"nan"`.
//!
//! JSON parsers refuse deep nesting (many beyond 128 levels), and so do the recursive writers
//! and destructors of JSON trees: what lies deeper than [`DEEPEST`] levels is given as its
//! printed text. Long lists are not deep.

use serde_json::{Map, Number, Value as Json, json};
use smidgen_draws::{Draws, KernelReport, Run, SummaryRow, summarise_run};
use smidgen_value::Value;

/// Levels of nesting that are kept as JSON.
pub const DEEPEST: usize = 100;

// ---------------------------------------------------------------- values

pub fn value_to_json(value: &Value) -> Json {
    to_json(value, DEEPEST)
}

fn to_json(value: &Value, levels: usize) -> Json {
    let is_container = !matches!(
        value,
        Value::Bool(_)
            | Value::Number(_)
            | Value::Linked(..)
            | Value::Symbol(_)
            | Value::Text(_)
            | Value::Vector(_)
    );
    if is_container && levels == 0 {
        return Json::String(value.to_string());
    }
    let inner = |value: &Value| to_json(value, levels - 1);
    match value {
        Value::Nil => Json::Array(Vec::new()),
        Value::Bool(b) => Json::Bool(*b),
        Value::Number(x) => number_to_json(*x),
        Value::Linked(..) => value.as_number().map_or(Json::Null, number_to_json),
        Value::Symbol(name) => Json::String(name.to_string()),
        Value::Text(text) => Json::String(text.to_string()),
        Value::Pair(_) => {
            let mut items = Vec::new();
            let mut link = value;
            while let Value::Pair(pair) = link {
                items.push(inner(&pair.first));
                link = &pair.rest;
            }
            // A pair that ends in no list is the list of its parts.
            if !matches!(link, Value::Nil) {
                items.push(inner(link));
            }
            Json::Array(items)
        }
        Value::Array(items) => items.iter().map(inner).collect(),
        Value::Vector(xs) => numbers_to_json(xs),
        Value::Matrix(m) => (0..m.rows()).map(|i| numbers_to_json(m.row(i))).collect(),
        Value::Dict(dict) => {
            let mut object = Map::new();
            for (key, value) in dict.entries() {
                let mut name = match key {
                    Value::Symbol(name) => name.to_string(),
                    Value::Text(text) => text.to_string(),
                    other => other.to_string(),
                };
                // The string "1" beside the number 1: the later one as program text.
                if object.contains_key(&name) {
                    name = key.to_string();
                }
                object.insert(name, inner(value));
            }
            Json::Object(object)
        }
        Value::Procedure(_) | Value::Environment(_) => Json::String(value.to_string()),
    }
}

fn numbers_to_json(xs: &[f64]) -> Json {
    xs.iter().map(|x| number_to_json(*x)).collect()
}

fn number_to_json(x: f64) -> Json {
    /// Up to here every whole number is a double.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if x.fract() == 0.0 && x.abs() <= EXACT {
        return Json::Number(Number::from(x as i64));
    }
    match Number::from_f64(x) {
        Some(number) => Json::Number(number),
        None if x.is_nan() => Json::String("nan".to_owned()),
        None => Json::String(if x > 0.0 { "inf" } else { "-inf" }.to_owned()),
    }
}

/// A list of numbers becomes a vector, any other list an array, an object a dictionary with
/// strings as keys. `null` has no counterpart in the language.
pub fn json_to_value(json: &Json) -> Result<Value, String> {
    from_json(json, 0)
}

fn from_json(json: &Json, depth: usize) -> Result<Value, String> {
    const TOO_DEEP: usize = 1000;
    if depth > TOO_DEEP {
        return Err(format!("the JSON is nested more than {TOO_DEEP} levels deep"));
    }
    match json {
        Json::Null => Err("null is not a value of the language".to_owned()),
        Json::Bool(b) => Ok(Value::Bool(*b)),
        Json::Number(number) => match number.as_f64() {
            Some(x) if x.is_finite() => Ok(Value::Number(x)),
            _ => Err(format!("the number {number} is out of range")),
        },
        Json::String(text) => Ok(Value::text(text.as_str())),
        Json::Array(items) => {
            let numbers: Option<Vec<f64>> = items.iter().map(Json::as_f64).collect();
            if let Some(numbers) = numbers {
                return Ok(Value::vector(numbers));
            }
            let items: Result<Vec<Value>, String> =
                items.iter().map(|item| from_json(item, depth + 1)).collect();
            Ok(Value::array(items?))
        }
        Json::Object(entries) => {
            let entry = |(key, value): (&String, &Json)| {
                Ok((Value::text(key.as_str()), from_json(value, depth + 1)?))
            };
            let entries: Result<Vec<(Value, Value)>, String> = entries.iter().map(entry).collect();
            Ok(Value::dict(entries?))
        }
    }
}

// ---------------------------------------------------------------- runs

/// The object of `sample --format json`, with the program and the version.
pub fn run_to_json(run: &Run) -> Json {
    let mut object = json!({
        "seed": run.seed,
        "chains": run.chains,
        "draws": draws_to_json(&run.draws),
        "kernels": kernels_to_json(&run.kernels),
        "warnings": run.warnings,
        "program": run.program,
        "version": run.version,
    });
    if !run.draws.is_empty() {
        object["summary"] = summary_to_json(run);
    }
    if !run.stats.is_empty() {
        object["stats"] = draws_to_json(&run.stats);
    }
    if !run.warmup.is_empty() {
        object["warmup"] = json!({"draws": draws_to_json(&run.warmup)});
        if !run.warmup_stats.is_empty() {
            object["warmup"]["stats"] = draws_to_json(&run.warmup_stats);
        }
    }
    object
}

/// The table that the text format ends with: one object for each number. What is not known is `"nan"`.
pub fn summary_to_json(run: &Run) -> Json {
    let row = |row: &SummaryRow| {
        json!({
            "name": row.name,
            "mean": number_to_json(row.mean),
            "sd": number_to_json(row.sd),
            "mcse": number_to_json(row.mcse),
            "q5": number_to_json(row.q5),
            "q50": number_to_json(row.q50),
            "q95": number_to_json(row.q95),
            "ess_bulk": number_to_json(row.ess_bulk),
            "ess_tail": number_to_json(row.ess_tail),
            "r_hat": number_to_json(row.r_hat),
        })
    };
    summarise_run(run).iter().map(row).collect()
}

/// `{"NAME": [[v, ...], ...]}`, chains x draws.
pub fn draws_to_json(draws: &Draws) -> Json {
    let chain = |chain: &Vec<Value>| chain.iter().map(value_to_json).collect::<Json>();
    let quantities = draws.quantities().iter();
    Json::Object(
        quantities.map(|q| (q.name.clone(), q.chains.iter().map(chain).collect())).collect(),
    )
}

pub fn kernels_to_json(kernels: &[KernelReport]) -> Json {
    let report = |kernel: &KernelReport| {
        let mut report = json!({
            "kernel": kernel.kernel,
            "transitions": kernel.transitions,
            "accepted": kernel.accepted,
            "sections_used": kernel.sections_used,
            "population": kernel.population,
            "evaluator": kernel.evaluator,
        });
        if kernel.drawn > 0 {
            report["drawn"] = json!(kernel.drawn);
            report["changed"] = json!(kernel.changed);
        }
        if let Some(note) = &kernel.note {
            report["note"] = json!(note);
        }
        if let Some(found) = &kernel.approximation {
            report["decision_error"] = json!({
                "decisions": found.decisions,
                "exhausted": found.exhausted,
                "audits": found.audits,
                "audit_sections": found.audit_sections,
                "wrongly_accepted": found.wrongly_accepted,
                "wrongly_rejected": found.wrongly_rejected,
                "interval": [found.interval.0, found.interval.1],
                "predicted": found.predicted_error,
                "predicted_usage": found.predicted_usage,
            });
        }
        report
    };
    kernels.iter().map(report).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen_value::{Matrix, Opaque, Origin};
    use std::sync::Arc;

    #[test]
    fn every_kind_of_value_has_a_form() {
        let procedure = Opaque {
            inner: Box::new(()),
            shown_as: "<lambda (x)>".to_owned(),
            origin: Origin::Language,
        };
        for (value, text) in [
            (Value::Nil, "[]"),
            (Value::TRUE, "true"),
            (1.0.into(), "1"),
            ((-0.0).into(), "0"),
            (0.1.into(), "0.1"),
            (1e300.into(), "1e+300"),
            (9_007_199_254_740_992.0.into(), "9007199254740992"),
            (f64::INFINITY.into(), r#""inf""#),
            (f64::NEG_INFINITY.into(), r#""-inf""#),
            (f64::NAN.into(), r#""nan""#),
            (Value::symbol("a"), r#""a""#),
            (Value::text("a\"b"), r#""a\"b""#),
            (Value::list([1.0.into(), Value::list([])]), "[1,[]]"),
            (Value::pair(1.0.into(), 2.0.into()), "[1,2]"),
            (Value::array(vec![1.5.into(), Value::FALSE]), "[1.5,false]"),
            (Value::vector([1.0, f64::NAN]), r#"[1,"nan"]"#),
            (Value::matrix(Matrix::new(2, 2, vec![1.0, 2.0, 3.0, 4.5])), "[[1,2],[3,4.5]]"),
            (
                Value::dict([
                    (Value::symbol("b"), 1.0.into()),
                    (2.0.into(), 3.0.into()),
                    (Value::text("2"), 4.0.into()),
                ]),
                r#"{"b":1,"2":3,"\"2\"":4}"#,
            ),
            (Value::Procedure(Arc::new(procedure)), r#""<lambda (x)>""#),
        ] {
            assert_eq!(value_to_json(&value).to_string(), text);
        }
    }

    #[test]
    fn deep_values_end_in_their_printed_text() {
        let nested = |depth: usize| (0..depth).fold(Value::Nil, |inner, _| Value::list([inner]));
        let deep = value_to_json(&nested(200_000)).to_string();
        assert!(deep.starts_with(&format!("{}\"(list (list", "[".repeat(DEEPEST))));
        let long = Value::list((0..200_000).map(|i| Value::Number(f64::from(i))));
        assert_eq!(value_to_json(&long).as_array().map(Vec::len), Some(200_000));
        let parsed: Result<Json, _> = serde_json::from_str(&deep);
        assert!(parsed.is_ok(), "what is written can be read");
        // As deep as it goes without text.
        let kept = value_to_json(&nested(DEEPEST - 1)).to_string();
        assert_eq!(kept, format!("{}{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST)));
    }

    #[test]
    fn json_becomes_values() {
        for (text, value) in [
            ("1", Value::Number(1.0)),
            ("true", Value::TRUE),
            (r#""inf""#, Value::text("inf")),
            ("[]", Value::vector([])),
            ("[1, 2.5]", Value::vector([1.0, 2.5])),
            ("[true, 1]", Value::array(vec![Value::TRUE, 1.0.into()])),
            ("[[1], [2]]", Value::array(vec![Value::vector([1.0]), Value::vector([2.0])])),
            (r#"{"a": [1]}"#, Value::dict([(Value::text("a"), Value::vector([1.0]))])),
        ] {
            let json: Json = serde_json::from_str(text).expect("JSON");
            assert_eq!(json_to_value(&json).as_ref(), Ok(&value), "{text}");
        }
        assert!(json_to_value(&json!([1, null])).is_err_and(|e| e.contains("null")));
        let deep = (0..1002).fold(json!(true), |inner, _| json!([inner]));
        assert!(json_to_value(&deep).is_err_and(|e| e.contains("deep")));
    }
}
