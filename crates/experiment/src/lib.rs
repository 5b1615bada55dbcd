//! The paper's experiments, and one that goes on from there: each brings its data, runs exact and subsampled
//! inference on the very program that stands in `examples/`, and leaves a folder with draws, figures, a summary and a
//! page.
//!
//! Reading order: [`chain`] (a program run with a kernel while the clock is watched), [`timing`]
//! (what a transition costs), [`output`] (the folder), then one module per experiment:
//! [`bayeslr`], [`sublinearity`], [`exact`], [`jointdpm`], [`sv`]. [`EXPERIMENTS`] lists them.
//!
//! All times are processor seconds of the thread that runs a chain, so that other work on the
//! machine does not count.

pub mod bayeslr;
pub mod chain;
pub mod exact;
pub mod grown;
pub mod jointdpm;
pub mod output;
pub mod regression;
pub mod sublinearity;
pub mod sv;
pub mod synthetic;
pub mod timing;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smidgen::lang::{Diagnostic, SourceMap};
use smidgen::{SampleError, Session};

/// How much is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// Seconds: whether everything works.
    Tiny,
    /// About two minutes.
    #[default]
    Quick,
    /// As much as the figures deserve.
    Full,
}

impl Size {
    /// One of three settings.
    pub fn pick<T>(self, tiny: T, quick: T, full: T) -> T {
        match self {
            Size::Tiny => tiny,
            Size::Quick => quick,
            Size::Full => full,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Options {
    pub size: Size,
    /// The folder that everything is written to; it is made if it is not there.
    pub out: PathBuf,
    pub seed: u64,
    /// Data from there instead of those that the experiment fetches, makes or carries.
    pub data: Option<PathBuf>,
    /// Data made up with this seed.
    pub generate: Option<u64>,
    /// Set it to stop.
    pub interrupt: Arc<AtomicBool>,
}

impl Options {
    pub fn new(size: Size, out: impl Into<PathBuf>, seed: u64) -> Options {
        let interrupt = Arc::default();
        Options { size, out: out.into(), seed, data: None, generate: None, interrupt }
    }

    /// An error if somebody asked to stop.
    pub fn go_on(&self) -> Result<(), Error> {
        match self.interrupt.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
}

/// What an experiment leaves.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The tables, for a terminal.
    pub text: String,
    /// The page that shows everything.
    pub page: PathBuf,
}

/// Takes a line about what is being done.
pub type Progress<'a> = &'a dyn Fn(&str);

#[derive(Debug)]
pub enum Error {
    /// A program, with its places.
    Program(Vec<Diagnostic>, SourceMap),
    Message {
        text: String,
        hint: Option<String>,
    },
    Interrupted,
}

impl Error {
    pub fn message(text: impl Into<String>) -> Error {
        Error::Message { text: text.into(), hint: None }
    }

    pub fn hint(self, hint: impl Into<String>) -> Error {
        match self {
            Error::Message { text, .. } => Error::Message { text, hint: Some(hint.into()) },
            other => other,
        }
    }

    pub fn program(session: &Session, diagnostics: Vec<Diagnostic>) -> Error {
        Error::Program(diagnostics, session.sources().clone())
    }

    pub fn sample(session: &Session, error: SampleError) -> Error {
        Error::program(session, error.0)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Program(diagnostics, _) => {
                let texts: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
                f.write_str(&texts.join("; "))
            }
            Error::Message { text, hint: None } => f.write_str(text),
            Error::Message { text, hint: Some(hint) } => write!(f, "{text} ({hint})"),
            Error::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}

pub struct Experiment {
    pub name: &'static str,
    pub about: &'static str,
    run: fn(&Options, Progress<'_>) -> Result<Outcome, Error>,
}

pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "bayeslr",
        about: "logistic regression on images of sevens and nines: risk against time",
        run: bayeslr::run,
    },
    Experiment {
        name: "sublinearity",
        about: "sections and time per transition as the data grow",
        run: sublinearity::run,
    },
    Experiment {
        name: "exact",
        about: "exact draws that read almost no rows, as the data grow",
        run: exact::run,
    },
    Experiment {
        name: "jointdpm",
        about: "a mixture of logistic regressions that grows",
        run: jointdpm::run,
    },
    Experiment {
        name: "sv",
        about: "parameters and states of stochastic volatility",
        run: sv::run,
    },
];

/// Runs the experiment of that name.
pub fn run(name: &str, options: &Options, progress: Progress<'_>) -> Result<Outcome, Error> {
    let Some(experiment) = EXPERIMENTS.iter().find(|experiment| experiment.name == name) else {
        let names: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
        return Err(Error::message(format!("there is no experiment `{name}`"))
            .hint(format!("there are {}", names.join(", "))));
    };
    // Whatever was told to stop says so in its own words.
    (experiment.run)(options, progress).map_err(|error| match options.go_on() {
        Ok(()) => error,
        Err(interrupted) => interrupted,
    })
}
