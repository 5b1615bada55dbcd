//! Where paths are known to differ from the trace today. Random programs may show these; each has an example that has to
//! show it, so that the line is taken out here as soon as it does not hold any more.

use super::named::{PRIORS, stage_at_one, with_one_row};
use super::paths::{PATHS, Path};
use super::run::{Count, Failure};

pub struct Known {
    pub reason: &'static str,
    /// Whether a failure is of this kind.
    pub concerns: fn(&Failure) -> bool,
    /// One observation given `b` and `row.x`, one row (x, y), and the path that is wrong near b = 1.
    pub expr: &'static str,
    pub row: (f64, f64),
    pub path: &'static str,
}

pub static KNOWN: &[Known] = &[
    Known {
        reason: "a vector forgets the log odds of its entries in the trace, programs in lanes know them",
        concerns: |failure| failure.program.contains("(vector (logistic"),
        expr: "(bernoulli (lookup (vector (logistic (* b row.x)) 0.5) 0))",
        row: (300.0, 0.0),
        path: "log joint, plates",
    },
    Known {
        reason: "the slope of a weight e^η that is nearly 0 is lost in normalize: vectors hold plain numbers",
        concerns: |failure| failure.is_slope && !failure.says.is_finite(),
        expr: "(categorical (normalize (vector (exp (* b row.x)) 1)))",
        row: (-720.0, 0.0),
        path: "smooth",
    },
];

/// Slopes that cannot be judged: the text itself rounds 1 − p, and differences of a step function are none.
fn is_stepwise(failure: &Failure) -> bool {
    let rounds = ["(- 1 (", "(min 1 (exp", "(exp (log_logistic"];
    failure.is_slope && rounds.iter().any(|text| failure.program.contains(text))
}

/// Candidates of Gibbs whose 1 − p is a difference where the trace knows the log odds: digits are lost, of p near 1.
fn is_rounded(failure: &Failure) -> bool {
    let is_gibbs = failure.path.starts_with("gibbs") && failure.says.is_finite();
    is_gibbs && failure.program.contains("(- 1 (logistic")
}

/// Times that the path of an example is asked.
const TIMES: u64 = 400;

/// Whether a failure is known, or none.
pub fn is_known(failure: &Failure) -> bool {
    is_stepwise(failure)
        || is_rounded(failure)
        || KNOWN.iter().any(|known| (known.concerns)(failure))
}

impl Known {
    /// Whether the example still shows it.
    pub fn is_shown(&self) -> bool {
        let subject = with_one_row(PRIORS[0], self.expr, self.row);
        let is_path = |path: &&Path| path.name == self.path;
        let path = PATHS.iter().find(is_path).expect("a path of the table");
        let Some(stage) = stage_at_one(&subject) else { return false };
        let mut count = Count::default();
        let mut failures = (0..TIMES).flat_map(|seed| stage.ask(path, seed, &mut count));
        failures.any(|failure| (self.concerns)(&failure))
    }
}
