//! `--init`: where chains begin. A JSON object of values by name (or a list of objects, one per chain), or the draws
//! of a former run: its last states if they were kept, else the last values of what was recorded.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;
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
            let states = smidgen::former::kept_states(path, &run).map_err(Failure::message)?;
            Init::after(&run, states)
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
