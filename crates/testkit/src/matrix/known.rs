//! Where paths are known to differ from the trace today. Random programs may show these; each has an example that has to
//! show it, so that the line is taken out here as soon as it does not hold any more.

use super::named::{PRIORS, stage_at_one, with_one_row};
use super::paths::{PATHS, Path};
use super::run::{Count, Failure};

pub struct Known {
    pub reason: &'static str,
    /// Whether a failure is of this kind.
    pub concerns: fn(&Failure) -> bool,
    /// One observation given `b` of one of the [`PRIORS`] and `row.x`, one row (x, y), and the path that is wrong near b = 1.
    pub prior: usize,
    pub expr: &'static str,
    pub row: (f64, f64),
    pub path: &'static str,
}

pub static KNOWN: &[Known] = &[
    Known {
        reason: "a vector forgets the log odds of its entries in the trace, programs in lanes know them",
        concerns: |failure| failure.program.contains("(vector (logistic"),
        prior: 0,
        expr: "(bernoulli (lookup (vector (logistic (* b row.x)) 0.5) 0))",
        row: (300.0, 0.0),
        path: "log joint, plates",
    },
    Known {
        reason: "the slope of a weight e^η that is nearly 0 is lost in normalize: vectors hold plain numbers",
        concerns: |failure| failure.is_slope && !failure.says.is_finite(),
        prior: 0,
        expr: "(categorical (normalize (vector (exp (* b row.x)) 1)))",
        row: (-720.0, 0.0),
        path: "smooth",
    },
    Known {
        reason: "Gibbs in lanes takes the 1 of 1 - p for a number like any other and loses digits of the difference",
        concerns: |failure| {
            failure.path.starts_with("gibbs") && failure.program.contains("(- 1 (logistic")
        },
        prior: 1,
        expr: "(beta_mean (- 1 (logistic (* b row.x))) 2)",
        row: (20.0, 0.5),
        path: "gibbs dry",
    },
];

/// Slopes that cannot be judged: the text itself rounds 1 − p, and differences of a step function are none.
fn is_stepwise(failure: &Failure) -> bool {
    let rounds = ["(- 1 (", "(min 1 (exp", "(exp (log_logistic"];
    failure.is_slope && rounds.iter().any(|text| failure.program.contains(text))
}

/// Times that the path of an example is asked.
const TIMES: u64 = 400;

/// Whether a failure is known, or none.
pub fn is_known(failure: &Failure) -> bool {
    is_stepwise(failure) || KNOWN.iter().any(|known| (known.concerns)(failure))
}

impl Known {
    /// Whether the example still shows it.
    pub fn is_shown(&self) -> bool {
        let subject = with_one_row(PRIORS[self.prior], self.expr, self.row);
        let is_path = |path: &&Path| path.name == self.path;
        let path = PATHS.iter().find(is_path).expect("a path of the table");
        let Some(stage) = stage_at_one(&subject) else { return false };
        let mut count = Count::default();
        let mut failures = (0..TIMES).flat_map(|seed| stage.ask(path, seed, &mut count));
        failures.any(|failure| (self.concerns)(&failure))
    }
}
