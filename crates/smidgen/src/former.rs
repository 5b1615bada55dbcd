//! A former run: its draws, and the states of the program beside them.

use std::io::ErrorKind;
use std::path::Path;

use smidgen_draws::{Draws, Run, States};
use smidgen_io::{read_states, states_path, write_states};
use smidgen_value::Value;

use crate::sampling::Init;

/// The states that were kept beside a file of draws.
pub fn kept_states(path: &Path, run: &Run) -> Result<Option<States>, String> {
    let beside = states_path(path);
    if !beside.exists() {
        return Ok(None);
    }
    let states = read_states(&beside)?;
    if states.fingerprint != run.fingerprint() {
        let (beside, path) = (beside.display(), path.display());
        return Err(format!(
            "{beside} belongs to other draws than {path}: one of the two was written later or changed; sample again with --out"
        ));
    }
    Ok(Some(states))
}

/// Writes the states beside a file of draws, unless the draws have all of them. What stands there from another run
/// would not belong to these. Gives what is to be said about it.
pub fn keep_states(path: &Path, states: Option<&States>) -> Result<Option<String>, String> {
    let beside = states_path(path);
    if let Some(states) = states.filter(|states| !states.is_recorded) {
        write_states(&beside, states)?;
        return Ok(states.thinned());
    }
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("{}: cannot be removed: {error}", beside.display()))
        }
        _ => Ok(None),
    }
}

type Values = Vec<(String, Value)>;

impl Init {
    /// Where a former run ended: its last states if they were kept, else the last values of what was recorded.
    pub fn after(run: &Run, states: Option<States>) -> Init {
        match states {
            Some(states) if !states.last.is_empty() => Init::States(states),
            _ => Init::Recorded(last(run)),
        }
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
