//! What a run folder says about its run (`run.json`), so that nobody has to type it again and a run is never continued with
//! another program or other data: what differs is refused and named.
//!
//! The texts, the parameters and sums of the tables by blocks of rows are compared; options are taken from the folder.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use smidgen_draws::Run;
use smidgen_io::folder::{Folder, Patience, Trouble};
use smidgen_io::json::{json_to_value, kernels_to_json, value_to_json};

use super::{Durable, Init, SampleRequest};
use crate::contents::Contents;
use crate::session::Session;

/// Of what is written into run.json.
pub const FORMAT: u64 = 1;

/// What is known about a run beside its program and its request.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// The program, if it is a file.
    pub file: Option<PathBuf>,
    /// Where relative paths in the program start, if it is none.
    pub folder: Option<PathBuf>,
    /// Parameters as text: JSON, or `@` and the file that has it.
    pub params: Vec<(String, String)>,
    /// Files of tables.
    pub data: Vec<(String, PathBuf)>,
    /// Tables that came from memory: whoever resumes has to bring them again.
    pub frames: Vec<String>,
    /// (name, expression) of what is recorded under a name of its own.
    pub labels: Vec<(String, String)>,
    /// A file of starting values, or of a former run.
    pub init: Option<PathBuf>,
    /// The run folder at whose ends the chains began.
    pub restart_from: Option<PathBuf>,
    pub checkpoint_every: Option<u64>,
    /// The table that grows, whose rows are taken as they come; how many of its last rows count, and how many epochs there will be.
    pub follow: Option<String>,
    pub window: Option<usize>,
    pub epochs: Option<usize>,
}

/// Why a folder cannot be written.
#[derive(Debug)]
pub enum Refusal {
    Trouble(Trouble),
    /// What is run differs from what was run.
    Differs(String),
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Refusal {
        Refusal::Trouble(trouble)
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// What the folder says about a run.
pub fn manifest(call: &Call, request: &SampleRequest, session: &Session) -> Json {
    let texts = session.sources().all().map(|source| json!([source.name, *source.text]));
    let texts: Vec<Json> = texts.collect();
    let data: Vec<Json> =
        call.data.iter().map(|(name, path)| json!([name, absolute(path)])).collect();
    let path = |path: &Option<PathBuf>| path.as_deref().map(absolute);
    json!({
        "format": FORMAT,
        "version": env!("CARGO_PKG_VERSION"),
        "file": path(&call.file),
        "folder": path(&call.folder),
        "program": session.sources().all().next().map(|source| source.text.to_string()),
        "texts": texts,
        "params": call.params,
        "data": data,
        "frames": call.frames,
        "tables": tables(session),
        "labels": call.labels,
        "seed": request.seed,
        "chains": request.chains,
        "draws": request.draws,
        "warmup": request.warmup,
        "thin": request.thin,
        "kernel": request.kernel,
        "record": request.record,
        "approximate": request.approximate,
        "exact": request.exact,
        "audit": request.audit,
        "stats": request.stats,
        "stats_density": request.stats_density,
        "keep_warmup": request.keep_warmup,
        "init": path(&call.init),
        "init_values": request.init.as_deref().and_then(init_to_json),
        "restart_from": path(&call.restart_from),
        "checkpoint_every": call.checkpoint_every,
        "follow": call.follow,
        "window": call.window,
        "epochs": call.epochs,
        "upto": session.position(),
    })
}

/// Sums of the tables of a session.
pub fn tables(session: &Session) -> Json {
    session.contents().iter().map(table_to_json).collect()
}

/// Sums of a table.
pub fn table_to_json(contents: &Contents) -> Json {
    let blocks: Vec<String> = contents.blocks.iter().map(|sum| format!("{sum:016x}")).collect();
    let Contents { name, rows, columns, .. } = contents;
    json!({"name": name, "rows": rows, "columns": columns, "blocks": blocks})
}

fn table_from_json(json: &Json) -> Option<Contents> {
    let text = |json: &Json| json.as_str().map(str::to_owned);
    let sum = |json: &Json| u64::from_str_radix(json.as_str()?, 16).ok();
    Some(Contents {
        name: text(&json["name"])?,
        rows: usize::try_from(json["rows"].as_u64()?).ok()?,
        columns: json["columns"].as_array()?.iter().map(text).collect::<Option<_>>()?,
        blocks: json["blocks"].as_array()?.iter().map(sum).collect::<Option<_>>()?,
    })
}

/// Starting values that were given by name.
fn init_to_json(init: &Init) -> Option<Json> {
    let Init::Values(chains) = init else { return None };
    let chain = |values: &Vec<(String, smidgen_value::Value)>| -> Json {
        values.iter().map(|(name, value)| json!([name, value_to_json(value)])).collect()
    };
    Some(chains.iter().map(chain).collect())
}

/// The starting values that a folder has, if it has some.
pub fn init_values(manifest: &Json) -> Option<Init> {
    let value = |pair: &Json| Some((pair[0].as_str()?.to_owned(), json_to_value(&pair[1]).ok()?));
    let chain = |values: &Json| values.as_array()?.iter().map(value).collect::<Option<Vec<_>>>();
    let chains = manifest["init_values"].as_array()?.iter().map(chain);
    Some(Init::Values(chains.collect::<Option<_>>()?))
}

// ---------------------------------------------------------------- what differs

/// How what is run differs from what was; None if it does not.
pub fn difference(then: &Json, now: &Json) -> Option<String> {
    // Whoever cannot follow a table would go on as if it had stopped growing.
    if let Some(table) = then["follow"].as_str().filter(|_| then["follow"] != now["follow"]) {
        return Some(format!(
            "it follows `{table}`, which only `smidgen sample --resume` goes on with"
        ));
    }
    // Starting values are of no interest once the chains have begun.
    let texts = |json: &Json| -> Vec<Json> {
        let all = json["texts"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|text| text[0] != "--init").collect()
    };
    let (before, after) = (texts(then), texts(now));
    for (k, (before, after)) in before.iter().zip(&after).enumerate() {
        let text = |json: &Json| json[1].as_str().unwrap_or_default().to_owned();
        let name = match (k, before[0].as_str().unwrap_or_default()) {
            (0, _) => "the program",
            (_, name) => name,
        };
        if let Some(lines) = first_difference(&text(before), &text(after)) {
            return Some(format!("{name} is not what it was, {lines}"));
        }
    }
    if before.len() != after.len() {
        return Some("the program loads other files".to_owned());
    }
    if let Some(what) = tables_differ(&then["tables"], &now["tables"]) {
        return Some(what);
    }
    let params = |json: &Json| -> Vec<(String, Json)> {
        let mut all: Vec<_> = json["params"].as_array().into_iter().flatten().map(param).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    if params(then) != params(now) {
        return Some(format!("--param was {}, now it is {}", then["params"], now["params"]));
    }
    None
}

/// How tables differ from those of a folder.
pub fn tables_differ(then: &Json, now: &Json) -> Option<String> {
    let tables = |json: &Json| -> Vec<Contents> {
        json.as_array().into_iter().flatten().filter_map(table_from_json).collect()
    };
    let (before, after) = (tables(then), tables(now));
    for table in &before {
        match after.iter().find(|now| now.name == table.name) {
            None => return Some(format!("there is no table `{}` any more", table.name)),
            Some(now) => {
                if let Some(what) = table.difference(now) {
                    return Some(what);
                }
            }
        }
    }
    None
}

/// The name of a parameter and its value, however that was typed.
fn param(pair: &Json) -> (String, Json) {
    let text = pair[1].as_str().unwrap_or_default();
    let value = serde_json::from_str(text).ok().and_then(|json| json_to_value(&json).ok());
    let value = value.map_or_else(|| Json::from(text), |value| value_to_json(&value));
    (pair[0].as_str().unwrap_or_default().to_owned(), value)
}

fn first_difference(then: &str, now: &str) -> Option<String> {
    if then == now {
        return None;
    }
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (then, now) = (lines(then), lines(now));
    let n = then.len().max(now.len());
    let k = (0..n).find(|k| then.get(*k) != now.get(*k))?;
    let shown =
        |lines: &[String]| lines.get(k).map_or("nothing".to_owned(), |l| format!("`{}`", l.trim()));
    Some(format!("line {}: {} was {}", k + 1, shown(&now), shown(&then)))
}

// ---------------------------------------------------------------- folders

/// The folder of a run that goes on, if it is the same run; it may have become longer.
pub fn reopen(path: &Path, now: &Json, patience: Patience) -> Result<Folder, Refusal> {
    let mut folder = Folder::open(path, patience)?;
    if let Some(what) = difference(&folder.manifest, now) {
        return Err(Refusal::Differs(what));
    }
    folder.unfinish()?;
    folder.mend_events()?;
    let mut manifest = folder.manifest.clone();
    for key in ["draws", "epochs"] {
        manifest[key] = now[key].clone();
    }
    if manifest != folder.manifest {
        folder.set_manifest(manifest)?;
    }
    Ok(folder)
}

/// The run is finished.
pub fn finish(durable: &Durable, run: &Run) -> Result<(), Trouble> {
    let report = json!({"kernels": kernels_to_json(&run.kernels), "warnings": run.warnings});
    durable.folder.finish(&report)
}

/// What of a request only a folder may know, put into a request that goes on with it.
pub fn recall(manifest: &Json, request: &mut SampleRequest) {
    request.exact = manifest["exact"].as_bool() == Some(true);
    request.audit = manifest["audit"].as_f64();
    request.stats_density = manifest["stats_density"].as_bool() != Some(false);
    if let Some(init) = init_values(manifest) {
        request.init = Some(std::sync::Arc::new(init));
    }
}
