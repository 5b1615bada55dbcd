//! Instructions per transition, counted by callgrind: the same on a busy machine as on a quiet one, so
//! a change that makes a transition dearer can be told from noise.
//!
//! Each subject is run twice by this very program, with different numbers of transitions: what the
//! two differ by is what the transitions cost, without reading, building and writing.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::subjects::{Written, joint_dpm, logistic, volatility};
use super::transitions;
use crate::failure::Failure;

/// What a transition costs.
pub struct Counted {
    pub name: String,
    pub per_transition: f64,
    /// What it cost when the counts to compare with were made.
    pub before: Option<f64>,
}

impl Counted {
    pub fn ratio(&self) -> Option<f64> {
        self.before.map(|before| self.per_transition / before)
    }
}

/// Growth up to this is no regression: libraries and compilers differ a little.
pub const TOLERANCE: f64 = 1.1;

/// A program, a kernel that makes N transitions, and how many are counted.
struct Subject {
    name: String,
    program: PathBuf,
    kernel: &'static str,
    transitions: usize,
}

/// The counts of all subjects; none if callgrind is not there.
pub fn count_all(folder: &Path, against: Option<&Path>) -> Result<Option<Vec<Counted>>, Failure> {
    let before = against.map(read_counts).transpose()?;
    let found = Command::new("valgrind").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        return Ok(None);
    }
    let mut counted = Vec::new();
    for subject in subjects(folder)? {
        let [few, many] = [1, 1 + subject.transitions].map(|n| count(&subject, n, folder));
        let per_transition = (many? - few?) / subject.transitions as f64;
        let before = before.as_ref().and_then(|counts| counts.get(&subject.name)?.as_f64());
        counted.push(Counted { name: subject.name, per_transition, before });
    }
    Ok(Some(counted))
}

fn subjects(folder: &Path) -> Result<Vec<Subject>, Failure> {
    let mut subjects = Vec::new();
    for (name, program) in transitions::write_all(folder)? {
        let kernel = "(mh default one N)";
        subjects.push(Subject { name: name.to_owned(), program, kernel, transitions: 2000 });
    }
    let subsampled = "(subsampled_mh default all 100 0.01 'drift 0.01 'audit 0 N)";
    let dear: [(&str, Written, &str, usize); 4] = [
        ("logistic, exact", logistic(1000), "(mh default all 'drift 0.01 N)", 50),
        ("logistic, subsampled", logistic(1000), subsampled, 50),
        ("mixture, gibbs", joint_dpm(2, 500), "(gibbs z one N)", 1000),
        ("volatility, pgibbs", volatility(200), "(pgibbs h ordered 10 N)", 5),
    ];
    for (name, written, kernel, transitions) in dear {
        let program = written.write(folder)?;
        subjects.push(Subject { name: name.to_owned(), program, kernel, transitions });
    }
    Ok(subjects)
}

/// Instructions of a run with so many transitions.
fn count(subject: &Subject, transitions: usize, folder: &Path) -> Result<f64, Failure> {
    let cannot = |what: String| Failure::message(format!("cannot count instructions: {what}"));
    let this = std::env::current_exe().map_err(|error| cannot(error.to_string()))?;
    let (counts, out) = (folder.join("callgrind.out"), folder.join("draws.csv"));
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(this)
        .arg("sample")
        .arg(&subject.program)
        .args(["--kernel", &subject.kernel.replace('N', &transitions.to_string())])
        .args(["--seed", "1", "--threads", "1", "--chains", "1", "--warmup", "0", "--draws", "1"])
        .arg("--out")
        .arg(&out)
        .output()
        .map_err(|error| cannot(error.to_string()))?;
    if !output.status.success() {
        return Err(cannot(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let text = std::fs::read_to_string(&counts).map_err(|error| cannot(error.to_string()))?;
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")));
    let total = total.and_then(|total| total.split(' ').next()?.parse().ok());
    total.ok_or_else(|| cannot("callgrind said no total".to_owned()))
}

/// The counts of an earlier run: what `--only instructions --format json` printed.
fn read_counts(path: &Path) -> Result<serde_json::Map<String, serde_json::Value>, Failure> {
    let wrong = |what: String| Failure::message(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let json: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let counts = json.get("instructions").and_then(|counts| counts.as_object());
    counts.cloned().ok_or_else(|| {
        wrong("expected what `smidgen bench --only instructions --format json` prints".to_owned())
    })
}

pub fn table(counted: &[Counted]) -> String {
    let mut text = format!(
        "{:<24}{:>26}{:>14}{:>8}\n",
        "program", "instructions/transition", "before", "ratio"
    );
    for c in counted {
        let before = c.before.map_or("-".to_owned(), |before| format!("{before:.0}"));
        let ratio = c.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        text.push_str(&format!("{:<24}{:>26.0}{before:>14}{ratio:>8}\n", c.name, c.per_transition));
    }
    text
}

pub fn json(counted: &[Counted]) -> serde_json::Value {
    let counts = counted.iter().map(|c| (c.name.clone(), c.per_transition.round().into()));
    serde_json::Value::Object(counts.collect())
}

/// Subjects that have become dearer than is tolerated.
pub fn regressions(counted: &[Counted]) -> Option<Failure> {
    let worse = counted.iter().filter(|c| c.ratio().is_some_and(|ratio| ratio > TOLERANCE));
    let worse: Vec<String> =
        worse.map(|c| format!("{} ({:.2} times)", c.name, c.ratio().unwrap_or(f64::NAN))).collect();
    (!worse.is_empty()).then(|| {
        let message =
            format!("a transition takes more instructions than before: {}", worse.join(", "));
        Failure::message(message)
    })
}
