//! Sequences of directives that nobody would type: a random program (or none), then assumptions, observations, predictions, rows,
//! tables, files, forgetting, freezing, forcing, moves by many kernels, right and wrong ones. After each directive the
//! trace is in order, and one that failed has left everything as it was ([`crate::programs::step`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smidgen::value::Rng;
use smidgen_testkit::anything::{Writer, meeting};
use smidgen_testkit::programs::{EVERYTHING, program};

use crate::programs::{patiently, session, step};

/// Directives about rows, files and kernels, beside those of [`smidgen_testkit::anything`].
const OTHERS: &[&str] = &[
    "[for row in t [observe (normal g1 (+ 1 (square row.x))) row.x]]",
    "rows: [for row in t [observe (bernoulli (logistic row.x)) row.y]]",
    "[for i in (range 0 3) [predict (walk i)]]",
    "[for i in (range 0 4) [observe (flip (if (g0 i) 0.2 0.7)) true]]",
    "[for row in t [observe (normal (dot row.v row.v) (exp g1)) row.nothing]]",
    "[table t \"t.csv\"]",
    "[table t2 \"absent.csv\"]",
    "[load \"good.smg\"]",
    "[load \"bad.smg\"]",
    "[load \"absent.smg\"]",
    "[define n 3]",
    "[factor (- 0 (square g1))]",
    "[predict n]",
    "[clear]",
    "[report here]",
    "[log_joint]",
    "[infer (do (mh default one 2) (foo))]",
    "[infer (gibbs default one 2)]",
    "[infer (gibbs default all 1)]",
    "[infer (slice default one 2)]",
    "[infer (nuts default all 1)]",
    "[infer (hmc default all 0.1 3 1)]",
    "[infer (pgibbs default ordered 3 1)]",
    "[infer (subsampled_mh default one 2 0.1 'drift 0.1 3)]",
    "[infer (reference_mh default all 1)]",
    "[infer (rejection default all 1)]",
    "[infer (map default all 1)]",
    "[infer (resample 3)]",
    "[infer (mh g1 all 'adapt true 2)]",
    "[infer (cycle ((gibbs g2 each 1) (mh s each 1)) 2)]",
    "[infer (mixture (0.5 (mh default one 1) 0.5 (gibbs default one 1)) 3)]",
    "[infer (collect g1 (nobody))]",
];

/// Files that directives load.
const LOADED: [(&str, &str); 2] = [
    ("good.smg", "[assume loaded (normal 0 1)] [observe (normal loaded 1) 0.5]"),
    // It fails in the middle.
    (
        "bad.smg",
        "[assume half (normal 0 1)] [observe (normal half 1) 0.5] [observe (gamma half 1) -1]",
    ),
];

/// A folder with what sequences load, gone at the end.
pub struct Ground(PathBuf);

impl Ground {
    pub fn new() -> Ground {
        let path = std::env::temp_dir().join(format!("smidgen-directives-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for what is loaded");
        for (name, text) in LOADED {
            std::fs::write(path.join(name), text).expect("a file that is loaded");
        }
        Ground(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for Ground {
    fn default() -> Ground {
        Ground::new()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The sequence of this number.
pub fn sequence(seed: u64) -> Vec<String> {
    let mut writer = Writer::new(seed);
    let mut directives: Vec<String> = Vec::new();
    if writer.rng.below(4) > 0 {
        let tape: Vec<u16> =
            (0..writer.rng.below(90)).map(|_| writer.rng.below(1 << 16) as u16).collect();
        directives.extend(program(&tape, EVERYTHING).lines().map(str::to_owned));
    }
    for _ in 0..2 + writer.rng.below(10) {
        directives.push(match writer.rng.below(6) {
            0 | 1 => meeting(&mut writer.rng),
            2 => writer.directive(),
            _ => OTHERS[writer.rng.below(OTHERS.len())].to_owned(),
        });
    }
    directives
}

/// Counts of directives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub done: u64,
    pub refused: u64,
}

/// Runs a sequence.
///
/// # Panics
/// If the trace is not in order after a directive, or a directive that failed left something.
pub fn run(directives: &[String], ground: &Ground, counts: &mut Counts) {
    patiently(|interrupt| all(directives, ground, counts, interrupt));
}

fn all(directives: &[String], ground: &Ground, counts: &mut Counts, interrupt: Arc<AtomicBool>) {
    let mut session = session(interrupt.clone());
    for directive in directives {
        // Rejection of what is nearly impossible takes as long as it takes.
        if interrupt.load(Ordering::Relaxed) {
            return;
        }
        let Ok(program) = session.parse_text_in("any.smg", directive, ground.path()) else {
            counts.refused += 1;
            continue;
        };
        for top in &program {
            match step(&mut session, top) {
                true => counts.done += 1,
                false => counts.refused += 1,
            }
        }
    }
}

/// Runs so many sequences from this one on, and gives those that fail, shortened as far as they still do.
pub fn soak(n: u64, first: u64, mut say: impl FnMut(u64, Counts)) -> (Counts, Vec<(u64, String)>) {
    let ground = Ground::new();
    let mut counts = Counts::default();
    let mut faults = Vec::new();
    for seed in first..first.saturating_add(n) {
        let directives = sequence(seed);
        if fails(&directives, &ground, &mut counts) {
            faults.push((seed, shortened(directives, &ground).join("\n")));
        }
        say(seed - first + 1, counts);
    }
    (counts, faults)
}

fn fails(directives: &[String], ground: &Ground, counts: &mut Counts) -> bool {
    let mut own = *counts;
    let fails = catch_unwind(AssertUnwindSafe(|| run(directives, ground, &mut own))).is_err();
    *counts = own;
    fails
}

/// Without the directives that do not matter.
fn shortened(mut directives: Vec<String>, ground: &Ground) -> Vec<String> {
    let mut k = 0;
    while k < directives.len() {
        let mut fewer = directives.clone();
        fewer.remove(k);
        match fails(&fewer, ground, &mut Counts::default()) {
            true => directives = fewer,
            false => k += 1,
        }
    }
    directives
}

/// A number for a first sequence that is another one each time.
pub fn any_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Rng::from_seed(now.map_or(0, |since| since.as_nanos() as u64)).seed() >> 32
}
