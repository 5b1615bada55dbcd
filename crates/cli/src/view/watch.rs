//! A run folder while it grows: what is new since the last look is read, and of each chain at most some draws are kept, evenly
//! spread, so that memory does not grow with the run; all of them are added up.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value as Json, json};
use smidgen::draws::{Draws, LongRun, Online, Quantity, Run, summarise_run};
use smidgen::io::folder::{Row, Standing, Tail, chains_of, manifest, standing};
use smidgen::value::Value;

/// Draws of a chain that are kept, and points of a trace that are sent.
const KEPT: usize = 8192;
const POINTS: usize = 400;

struct Chain {
    tail: Tail,
    /// Its draws are of this epoch: when the data grow, those before are no draws of the posterior any more.
    epoch: u32,
    /// Draws seen, and kept: every so many.
    seen: u64,
    every: u64,
    rows: Vec<Vec<Value>>,
    /// All draws, by column and entry; none from where a quantity had no numbers, or more or fewer than before.
    added_up: Vec<Option<Vec<Online>>>,
    /// Draws and time at an earlier look, for the rate; none before the first.
    before: Option<(u64, Instant)>,
    rate: Option<f64>,
}

pub struct Watcher {
    path: PathBuf,
    chains: Vec<Chain>,
    manifest: Json,
}

impl Watcher {
    pub fn new(path: &Path) -> Watcher {
        let manifest = manifest(path).unwrap_or(Json::Null);
        let chains = chains_of(&manifest);
        let chain = |k: usize| Chain {
            tail: Tail::new(path, k),
            epoch: 0,
            seen: 0,
            every: 1,
            rows: Vec::new(),
            added_up: Vec::new(),
            before: None,
            rate: None,
        };
        Watcher { path: path.to_owned(), chains: (0..chains).map(chain).collect(), manifest }
    }

    /// Reads what is new.
    pub fn look(&mut self) {
        for chain in &mut self.chains {
            let rows = chain.tail.read();
            rows.into_iter().filter(|row| !row.is_warmup).for_each(|row| chain.add(row));
            // What the first look finds has been there for who knows how long.
            let (draws, time) = *chain.before.get_or_insert((chain.seen, Instant::now()));
            let passed = time.elapsed().as_secs_f64();
            if passed > 0.5 {
                chain.rate = Some(chain.seen.saturating_sub(draws) as f64 / passed);
                chain.before = Some((chain.seen, Instant::now()));
            }
        }
    }

    pub fn snapshot(&self) -> Json {
        let is_finished = standing(&self.path) == Standing::Finished;
        let wanted = self.manifest["draws"].as_u64().unwrap_or(0);
        let chains: Vec<Json> = self
            .chains
            .iter()
            .map(|chain| {
                let phase = match chain.seen {
                    0 => "no draws yet",
                    n if n >= wanted => "finished",
                    _ => "draws",
                };
                json!({"draws": chain.seen, "rate": chain.rate, "phase": phase, "every": chain.every})
            })
            .collect();
        json!({
            "run": self.path.file_name().and_then(|name| name.to_str()),
            "finished": is_finished,
            "wanted": wanted,
            "epoch": self.manifest["follow"].as_str().map(|_| self.epoch()),
            "seed": self.manifest["seed"],
            "chains": chains,
            "numbers": self.numbers(),
        })
    }

    /// The last epoch that a chain has come to.
    fn epoch(&self) -> u32 {
        self.chains.iter().map(|chain| chain.epoch).max().unwrap_or(0)
    }

    /// Every number that is recorded, with what can be said about it so far.
    fn numbers(&self) -> Vec<Json> {
        let names = self.chains.iter().map(|chain| chain.tail.names()).find(|n| !n.is_empty());
        let Some(names) = names else { return Vec::new() };
        // Chains keep draws at different spacings: the widest is taken of all.
        let every = self.chains.iter().map(|chain| chain.every).max().unwrap_or(1);
        let mut draws = Draws::default();
        for (k, name) in names.iter().enumerate() {
            let column = |chain: &Chain| {
                let step = (every / chain.every) as usize;
                chain.rows.iter().step_by(step).map(|row| row[k].clone()).collect::<Vec<Value>>()
            };
            let drawn = self
                .chains
                .iter()
                .filter(|chain| !chain.rows.is_empty() && chain.epoch == self.epoch());
            draws.add(Quantity::new(name.clone(), drawn.map(column).collect()));
        }
        let scalars = draws.scalars();
        let finite = |x: f64| if x.is_finite() { json!(x) } else { Json::Null };
        let long =
            (every > 1).then(|| LongRun { every: every as usize, added_up: self.added_up(names) });
        let rows = summarise_run(&Run { draws, long, ..Run::default() });
        rows.iter()
            .zip(&scalars)
            .map(|(row, scalar)| {
                let trace = |chain: &Vec<f64>| {
                    let step = chain.len().div_ceil(POINTS).max(1);
                    chain.iter().step_by(step).map(|x| finite(*x)).collect::<Vec<Json>>()
                };
                json!({
                    "name": scalar.name,
                    "mean": finite(row.mean),
                    "sd": finite(row.sd),
                    "rhat": finite(row.r_hat),
                    "ess": finite(row.ess_bulk),
                    "is_sample": row.is_sample,
                    "traces": scalar.chains.iter().map(trace).collect::<Vec<_>>(),
                })
            })
            .collect()
    }

    /// What all chains that have draws have added up, by name.
    fn added_up(&self, names: &[String]) -> HashMap<String, Vec<Vec<Online>>> {
        let drawn: Vec<&Chain> =
            self.chains.iter().filter(|chain| !chain.rows.is_empty()).collect();
        let of = |k: usize| -> Option<Vec<Vec<Online>>> {
            drawn.iter().map(|chain| chain.added_up.get(k).cloned().flatten()).collect()
        };
        names.iter().enumerate().filter_map(|(k, name)| Some((name.clone(), of(k)?))).collect()
    }
}

/// The numbers of a value.
fn numbers_of(value: &Value) -> Option<Vec<f64>> {
    match value {
        Value::Vector(xs) => Some(xs.to_vec()),
        other => other.as_number().map(|x| vec![x]),
    }
}

impl Chain {
    fn add_up(&mut self, values: &[Value]) {
        self.added_up.resize_with(values.len(), || Some(Vec::new()));
        for (sums, value) in self.added_up.iter_mut().zip(values) {
            let numbers = numbers_of(value);
            let Some(numbers) = numbers.filter(|xs| {
                sums.as_ref().is_some_and(|sums| sums.is_empty() || sums.len() == xs.len())
            }) else {
                *sums = None;
                continue;
            };
            let sums = sums.get_or_insert_default();
            sums.resize_with(numbers.len(), Online::default);
            sums.iter_mut().zip(numbers).for_each(|(online, x)| online.push(x));
        }
    }

    fn add(&mut self, row: Row) {
        if row.epoch != self.epoch {
            (self.epoch, self.seen, self.every) = (row.epoch, 0, 1);
            self.rows.clear();
            self.added_up.clear();
            self.before = None;
        }
        self.add_up(&row.values);
        if self.seen.is_multiple_of(self.every) {
            self.rows.push(row.values);
        }
        self.seen += 1;
        if self.rows.len() >= KEPT {
            let mut place = 0;
            self.rows.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every *= 2;
        }
    }
}
