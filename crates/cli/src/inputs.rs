//! What a program takes from outside: parameters, tables, the seed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use smidgen::io::json_to_value;
use smidgen::lang::Diagnostic;
use smidgen::sampling::unused_parameters;
use smidgen::tables::Watcher;
use smidgen::value::Value;
use smidgen::{Session, Settings, TopDirective};

use crate::args::{InputArgs, SeedArgs};
use crate::failure::{Failure, say};
use crate::progress;

// ---------------------------------------------------------------- parameters and data

/// `NAME=VALUE`, where the value is JSON or `@file.json`.
pub fn parse_param(text: &str) -> Result<(String, String), String> {
    let (name, value) = split(text, "NAME=VALUE")?;
    if !value.starts_with('@') {
        json_value(&value).map_err(|error| {
            let quoted = serde_json::Value::from(value.as_str());
            format!("{error}; a string is written in quotes: '{name}={quoted}'")
        })?;
    }
    Ok((name, value))
}

/// `NAME=PATH`.
pub fn parse_data(text: &str) -> Result<(String, PathBuf), String> {
    split(text, "NAME=PATH").map(|(name, path)| (name, path.into()))
}

/// `TABLE=ROWS`.
pub fn parse_window(text: &str) -> Result<(String, usize), String> {
    const SHAPE: &str = "TABLE=ROWS";
    let (name, rows) = split(text, SHAPE)?;
    match rows.parse() {
        Ok(rows) if rows > 0 => Ok((name, rows)),
        _ => Err(format!("expected {SHAPE} with at least one row")),
    }
}

fn split(text: &str, shape: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, rest)) if !name.is_empty() => Ok((name.to_owned(), rest.to_owned())),
        _ => Err(format!("expected {shape}")),
    }
}

fn json_value(text: &str) -> Result<Value, String> {
    let json = serde_json::from_str(text).map_err(|_| "the value is not JSON".to_owned())?;
    json_to_value(&json)
}

/// The value of a parameter, from its text or from the file it names.
fn param_value(name: &str, text: &str) -> Result<Value, Failure> {
    let Some(path) = text.strip_prefix('@') else {
        return json_value(text)
            .map_err(|error| Failure::Usage(format!("--param {name}: {error}")));
    };
    let problem = |error: String| Failure::message(format!("--param {name}: {path}: {error}"));
    let text = std::fs::read_to_string(path)
        .map_err(|error| problem(format!("cannot read the file: {error}")))?;
    let json: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| problem(format!("not JSON: {error}")))?;
    json_to_value(&json).map_err(problem)
}

fn distinct<T>(
    option: &str,
    pairs: impl IntoIterator<Item = (String, T)>,
) -> Result<BTreeMap<String, T>, Failure> {
    let mut map = BTreeMap::new();
    for (name, value) in pairs {
        match map.entry(name) {
            Entry::Vacant(free) => free.insert(value),
            Entry::Occupied(taken) => {
                let name = taken.key();
                return Err(Failure::Usage(format!("{option} gives `{name}` twice")));
            }
        };
    }
    Ok(map)
}

// ---------------------------------------------------------------- a session

/// An empty session with what the options give.
pub fn session(
    inputs: &InputArgs,
    seed: u64,
    interrupt: Arc<AtomicBool>,
) -> Result<Session, Failure> {
    let texts = distinct("--param", inputs.params.iter().cloned())?;
    let mut params = BTreeMap::new();
    for (name, text) in texts {
        let value = param_value(&name, &text)?;
        params.insert(name, value);
    }
    let data = distinct("--data", inputs.data.iter().cloned())?;
    let watcher = Some(Arc::new(progress::while_reading) as Watcher);
    Ok(Session::new(Settings { seed, params, data, interrupt, watcher }))
}

/// The directives of a file.
pub fn parse(session: &mut Session, file: &Path) -> Result<Vec<TopDirective>, Failure> {
    session.parse_file(file).map_err(|diagnostics| Failure::wrong(session, diagnostics))
}

/// The directives of a text, whose relative paths start in a folder.
pub fn parse_text(
    session: &mut Session,
    text: &str,
    folder: &Path,
) -> Result<Vec<TopDirective>, Failure> {
    let read = session.parse_text_in("program", text, folder);
    read.map_err(|diagnostics| Failure::wrong(session, diagnostics))
}

/// Options that a program never mentions are errors: typos must not vanish.
pub fn check_all_used(session: &Session, program: &[TopDirective]) -> Result<(), Failure> {
    let unused = session.unused_parameters(program, &[]);
    if !unused.is_empty() {
        return Err(Failure::wrong(session, vec![unused_parameters(&unused)]));
    }
    check_data_used(session, program)
}

/// The same for `--data` alone.
pub fn check_data_used(session: &Session, program: &[TopDirective]) -> Result<(), Failure> {
    let unused = session.unused_data(program);
    let Some(name) = unused.first() else { return Ok(()) };
    let message = format!("--data `{name}` is not used: the program loads no table of that name");
    let hint = format!("a table is loaded by [table {name} \"file.csv\"] or [table {name}]");
    Err(Failure::wrong(session, vec![Diagnostic::error(None, message).hint(hint)]))
}

// ---------------------------------------------------------------- the seed

/// The seed that was given, else a fresh one.
pub struct Seed {
    pub value: u64,
    is_fresh: bool,
}

impl Seed {
    pub fn new(args: &SeedArgs) -> Seed {
        Seed { value: args.seed.unwrap_or_else(fresh_seed), is_fresh: args.seed.is_none() }
    }

    /// Shows a fresh seed, so that the run can be repeated.
    pub fn show(&self) {
        if self.is_fresh {
            say(&format!("seed {}", self.value));
        }
    }
}

/// A number that differs from run to run, short enough to be typed again.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    RandomState::new().hash_one((now, std::process::id())) % 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_json_or_files() {
        for text in ["a=1", "a.b=[1,[2,3]]", "a=true", "a=\"x=y\"", "a=@no/such/file.json"] {
            assert!(parse_param(text).is_ok(), "{text}");
        }
        let error = parse_param("a=word").expect_err("a bare word");
        assert!(error.contains("'a=\"word\"'"), "{error}");
        for text in ["a", "=1", "a=", "a=null", "a=1 2"] {
            assert!(parse_param(text).is_err(), "{text}");
        }
    }
}
