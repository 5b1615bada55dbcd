//! `--init`: where chains begin. A JSON object of values by name (or a list of objects, one per chain), or the draws
//! of a former run: its last states if they were kept, else the last values of what was recorded.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;
use smidgen::draws::{Draws, Run};
use smidgen::io::json_to_value;
use smidgen::sampling::Init;
use smidgen::value::Value;

use crate::failure::Failure;
use crate::former;

type Values = Vec<(String, Value)>;

pub fn read(path: &Path) -> Result<Arc<Init>, Failure> {
    let shown = path.display();
    let is_json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
    let json = match is_json {
        false => None,
        true => {
            let problem = |error: String| Failure::message(format!("--init {shown}: {error}"));
            let text = std::fs::read_to_string(path)
                .map_err(|error| problem(format!("cannot read the file: {error}")))?;
            let json: Json = serde_json::from_str(&text)
                .map_err(|error| problem(format!("not JSON: {error}")))?;
            // What `sample` wrote is a run.
            let is_run =
                json.get("draws").is_some_and(Json::is_object) && json.get("chains").is_some();
            (!is_run).then_some(json)
        }
    };
    let init = match json {
        Some(json) => Init::Values(
            values(&json).map_err(|error| Failure::message(format!("--init {shown}: {error}")))?,
        ),
        None => {
            let run = former::read(path)?;
            match former::kept_states(path, &run)? {
                Some(states) => Init::States(states),
                None => Init::Recorded(last(&run)),
            }
        }
    };
    Ok(Arc::new(init))
}

fn values(json: &Json) -> Result<Vec<Values>, String> {
    let one = |json: &Json| {
        let object = json.as_object().ok_or("expected an object of values by name")?;
        let value = |(name, json): (&String, &Json)| {
            json_to_value(json)
                .map(|value| (name.clone(), value))
                .map_err(|e| format!("{name}: {e}"))
        };
        object.iter().map(value).collect::<Result<Values, String>>()
    };
    match json {
        Json::Array(chains) if chains.is_empty() => Err("the list has no chain".to_owned()),
        Json::Array(chains) => chains.iter().map(one).collect(),
        json => Ok(vec![one(json)?]),
    }
}

/// What each chain recorded last.
fn last(run: &Run) -> Vec<Values> {
    let draws: &Draws = if run.draws.is_empty() { &run.warmup } else { &run.draws };
    let chain = |k: usize| {
        let mut values: Values = Vec::new();
        for quantity in draws.quantities() {
            let Some(value) = quantity.chains.get(k).and_then(|chain| chain.last()) else {
                continue;
            };
            match quantity.name.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
                // The entries of a vector in a table stand one after the other.
                Some((name, "0")) => values.push((name.to_owned(), Value::vector([number(value)]))),
                Some((name, _)) if values.last().is_some_and(|(last, _)| last == name) => {
                    if let Some((_, Value::Vector(xs))) = values.pop() {
                        let longer: Vec<f64> = xs.iter().copied().chain([number(value)]).collect();
                        values.push((name.to_owned(), Value::vector(longer)));
                    }
                }
                _ => values.push((quantity.name.clone(), value.clone())),
            }
        }
        values
    };
    (0..run.chains.max(1)).map(chain).filter(|values| !values.is_empty()).collect()
}

fn number(value: &Value) -> f64 {
    value.as_number().unwrap_or(f64::NAN)
}
