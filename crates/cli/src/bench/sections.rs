//! What one section costs in each of the ways to weigh it, everything included: the time of a
//! transition over the sections that it read; and how a transition grows with the data.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use smidgen::value::{Column, Rng, Symbol, Table, math};
use smidgen::{Session, Settings};
use smidgen_experiment::synthetic::Logistic;
use smidgen_experiment::timing::{self, Timed};

use super::anchor::Anchor;
use super::kernels::Cost;
use super::subjects::normal;
use crate::failure::Failure;

/// A logistic regression with weights of about 1.
fn logistic(features: usize, rows: usize) -> Logistic {
    Logistic::new(features, rows, 4)
}

/// The features and the labels as files of NumPy, for the anchor.
fn write(data: &Logistic, folder: &Path) -> std::io::Result<[PathBuf; 2]> {
    let paths = ["x.npy", "y.npy"].map(|name| folder.join(name));
    let rows = data.y.len();
    std::fs::write(&paths[0], npy(&format!("{rows}, {}", data.features), &data.x))?;
    std::fs::write(&paths[1], npy(&format!("{rows},"), &data.y))?;
    Ok(paths)
}

fn observed(data: Logistic) -> Result<Session, Failure> {
    let weights = data.features + 1;
    let program = format!(
        "[assume w (multivariate_diag_normal (zeros {weights}) (fill {weights} 0.316))]
[for row in train [observe (bernoulli (linear_logistic w row.x)) row.y]]"
    );
    session(data.into_table(), &program)
}

/// The format of NumPy, version 1: a header of a length that is a multiple of 64, then the numbers.
fn npy(shape: &str, numbers: &[f64]) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape}), }}");
    let padding = 63 - (10 + header.len()) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    bytes
}

fn session(table: Arc<Table>, program: &str) -> Result<Session, Failure> {
    let mut session = Session::new(Settings { seed: 1, ..Settings::default() });
    session.add_table("train", table);
    let directives =
        session.parse_text("<bench>", program).map_err(|d| Failure::wrong(&session, d))?;
    for top in &directives {
        session.execute(top).map_err(|d| Failure::wrong(&session, d))?;
    }
    Ok(session)
}

/// Two hundred short series of stochastic volatility, and rows that no program can follow.
fn series() -> Result<Session, Failure> {
    let mut rng = Rng::from_seed(5);
    let (mut s, mut t, mut x) = (Vec::new(), Vec::new(), Vec::new());
    for k in 0..200 {
        let mut h = 0.0;
        for i in 1..=5 {
            h = 0.95 * h + 0.1 * normal(&mut rng);
            s.push(f64::from(k));
            t.push(f64::from(i));
            x.push(math::exp(h / 2.0) * normal(&mut rng));
        }
    }
    let column = |cells: Vec<f64>| Column::Reals(cells.into());
    let table = Table::new(vec![
        (Symbol::new("s"), column(s)),
        (Symbol::new("t"), column(t)),
        (Symbol::new("x"), column(x)),
    ]);
    session(
        Arc::new(table),
        "[assume sig (sqrt (inv_gamma 5 0.05))]
[assume phi (scope_include 'phi 0 (beta 5 1))]
[assume h (mem (lambda (s t) (if (<= t 0) 0 (normal (* phi (h s (- t 1))) sig))))]
[for row in train [observe (normal 0 (exp (/ (h row.s row.t) 2))) row.x]]",
    )
}

fn interpreted() -> Result<Session, Failure> {
    let mut rng = Rng::from_seed(6);
    let column = |cells: Vec<f64>| Column::Reals(cells.into());
    let table = Table::new(vec![(
        Symbol::new("x"),
        column((0..10_000).map(|_| normal(&mut rng)).collect()),
    )]);
    session(
        Arc::new(table),
        "[assume w (normal 0 1)]
[for row in train [observe (normal (floor (* w row.x)) 1) row.x]]",
    )
}

fn time(session: &mut Session, kernel: &str, seconds: f64) -> Result<Timed, Failure> {
    timing::time(session, kernel, seconds, 0.0).map_err(Failure::experiment)
}

const EXACT: &str = "(mh default all 'drift SD N)";
const SUBSAMPLED: &str = "(subsampled_mh default all 100 0.01 'drift SD 'audit 0 N)";

/// A logistic regression whose sections are timed, and the anchor's method for the same.
struct Regression {
    name: &'static str,
    features: usize,
    rows: usize,
    kernel: &'static str,
    method: &'static str,
    sd: &'static str,
    /// The target: so many times what the anchor needs, and what it needed elsewhere.
    times: f64,
    reference: f64,
}

const REGRESSIONS: &[Regression] = &[
    Regression {
        name: "section, logistic 50 x 12214, exact",
        features: 50,
        rows: 12_214,
        kernel: EXACT,
        method: "exact",
        sd: "0.01",
        times: 3.0,
        reference: 14.0,
    },
    Regression {
        name: "section, logistic 50 x 12214, subsampled",
        features: 50,
        rows: 12_214,
        kernel: SUBSAMPLED,
        method: "austerity",
        sd: "0.01",
        times: 2.5,
        reference: 36.0,
    },
    Regression {
        name: "section, logistic 2 x 10^4, exact",
        features: 2,
        rows: 10_000,
        kernel: EXACT,
        method: "exact",
        sd: "0.1",
        times: 12.0,
        reference: 0.85,
    },
    Regression {
        name: "section, logistic 2 x 10^4, subsampled",
        features: 2,
        rows: 10_000,
        kernel: SUBSAMPLED,
        method: "austerity",
        sd: "0.1",
        times: 4.0,
        reference: 8.0,
    },
    Regression {
        name: "section, logistic 2 x 10^6, subsampled",
        features: 2,
        rows: 1_000_000,
        kernel: SUBSAMPLED,
        method: "austerity",
        sd: "0.1",
        times: 3.0,
        reference: 22.0,
    },
];

/// Targets are multiples of what the anchor needs, or of what it needed where the targets were set.
pub fn measure_all(folder: &Path, seconds: f64, anchor: &Anchor) -> Result<Vec<Cost>, Failure> {
    let mut costs = Vec::new();
    let small = seconds < super::A_LOOK;
    let size = |full: usize| if small { 200 } else { full };
    for regression in REGRESSIONS {
        let Regression { name, features, rows, kernel, method, sd, times, reference } = *regression;
        let data = logistic(features, size(rows));
        let hand_written = match anchor.is_there() {
            true => {
                let [x, y] = write(&data, folder).map_err(|error| {
                    Failure::message(format!("cannot write a temporary file: {error}"))
                })?;
                let (x, y) = (x.display().to_string(), y.display().to_string());
                let arguments =
                    ["bayeslr", "--x", &x, "--y", &y, "--bias", "--method", method, "--sd", sd];
                anchor.ask(&arguments, &["ns_per_section", "median"])?
            }
            false => None,
        };
        let mut session = observed(data)?;
        let timed = time(&mut session, &kernel.replace("SD", sd), seconds)?;
        costs.push(Cost {
            name,
            unit: "ns",
            measured: 1e9 * timed.seconds / timed.sections,
            target: times * hand_written.unwrap_or(reference),
            more_is_better: false,
            anchor: hand_written,
        });
    }
    let arguments = ["sv", "--series", "200", "--len", "5"];
    let term =
        anchor.ask_method(&arguments, "subsampled", &["ns_per_transition_term", "median"])?;
    let kernel = "(subsampled_mh phi all 100 0.001 'drift 0.05 'audit 0 N)";
    let timed = time(&mut series()?, kernel, seconds)?;
    costs.push(Cost {
        name: "section, volatility, subsampled",
        unit: "ns",
        measured: 1e9 * timed.seconds / timed.sections,
        target: 8.0 * term.unwrap_or(4.1),
        more_is_better: false,
        anchor: term,
    });
    let timed = time(&mut interpreted()?, &SUBSAMPLED.replace("SD", "0.1"), seconds)?;
    costs.push(Cost {
        name: "section, node by node",
        unit: "ns",
        measured: 1e9 * timed.seconds / timed.sections,
        target: 1500.0,
        more_is_better: false,
        anchor: None,
    });
    Ok(costs)
}

/// A transition at some number of rows.
pub struct Growth {
    pub rows: usize,
    pub sections: f64,
    /// Microseconds of an exact and of a subsampled transition.
    pub exact: f64,
    pub subsampled: f64,
    /// The same of the anchor.
    pub anchor: Option<(f64, f64)>,
}

/// Two features, drift 0.1, batches of 100, epsilon 0.01.
pub fn growth(seconds: f64, largest: usize, anchor: &Anchor) -> Result<Vec<Growth>, Failure> {
    let mut found = Vec::new();
    let mut rows = 1000;
    while rows <= largest {
        let mut session = observed(logistic(2, rows))?;
        // To where the posterior is.
        time(&mut session, &EXACT.replace("SD", "0.1"), seconds)?;
        let exact = time(&mut session, &EXACT.replace("SD", "0.1"), seconds)?;
        let subsampled = time(&mut session, &SUBSAMPLED.replace("SD", "0.1"), seconds)?;
        let n = rows.to_string();
        let of = |method: &str| {
            let arguments = ["bayeslr", "--n", &n, "--method", method];
            anchor.ask(&arguments, &["us_per_transition"])
        };
        found.push(Growth {
            rows,
            sections: subsampled.sections_per_transition(),
            exact: exact.microseconds_per_transition(),
            subsampled: subsampled.microseconds_per_transition(),
            anchor: of("exact")?.zip(of("austerity")?),
        });
        rows *= 10;
    }
    Ok(found)
}

pub fn growth_table(found: &[Growth]) -> String {
    let mut text = format!(
        "\n{:<10}{:>12}{:>14}{:>14}{:>16}{:>16}\n",
        "rows", "sections", "exact, us", "subsampled", "anchor: exact", "subsampled"
    );
    for g in found {
        let (exact, subsampled) = match g.anchor {
            Some((exact, subsampled)) => (format!("{exact:.1}"), format!("{subsampled:.1}")),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let Growth { rows, sections, .. } = g;
        writeln!(
            text,
            "{rows:<10}{sections:>12.0}{:>14.1}{:>14.1}{exact:>16}{subsampled:>16}",
            g.exact, g.subsampled
        )
        .expect("a string takes everything");
    }
    text
}
