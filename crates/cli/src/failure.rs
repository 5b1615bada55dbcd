//! How a command ends when it does not end well, and its exit code.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use smidgen::io::source::DECODER;
use smidgen::lang::printer::printable;
use smidgen::lang::{Diagnostic, SourceMap};
use smidgen::{SampleError, Session};

use crate::render;

pub const INTERRUPTED: u8 = 130;

pub enum Failure {
    /// The program or its data are wrong.
    Wrong(Vec<Diagnostic>, SourceMap),
    /// The command was called in a wrong way.
    Usage(String),
    /// Somebody asked to stop; what there was to show has been shown.
    Interrupted,
    /// The output cannot be written.
    Output(io::Error),
    /// A broken invariant of ours, which has been described already.
    Bug,
}

impl Failure {
    pub fn wrong(session: &Session, diagnostics: Vec<Diagnostic>) -> Failure {
        Failure::Wrong(diagnostics, session.sources().clone())
    }

    pub fn sample(session: &Session, error: SampleError) -> Failure {
        Failure::wrong(session, error.0)
    }

    pub fn experiment(error: smidgen_experiment::Error) -> Failure {
        use smidgen_experiment::Error;
        match error {
            Error::Program(diagnostics, sources) => Failure::Wrong(diagnostics, sources),
            Error::Message { text, hint } => {
                let diagnostic = Diagnostic::error(None, text);
                let diagnostic = match hint {
                    Some(hint) => diagnostic.hint(hint),
                    None => diagnostic,
                };
                Failure::Wrong(vec![diagnostic], SourceMap::default())
            }
            Error::Interrupted => Failure::Interrupted,
        }
    }

    /// A mistake that has no place in a program.
    pub fn message(message: impl Into<String>) -> Failure {
        Failure::Wrong(vec![Diagnostic::error(None, message)], SourceMap::default())
    }

    /// Says what is wrong, on the standard error stream.
    pub fn report(self) -> u8 {
        match self {
            Failure::Wrong(diagnostics, sources) => {
                render::show(&diagnostics, &sources);
                1
            }
            Failure::Usage(message) => {
                say(&format!(
                    "error: {}\n\nFor more information, try '--help'.",
                    printable(&message)
                ));
                2
            }
            Failure::Interrupted => {
                say("interrupted");
                INTERRUPTED
            }
            // Whoever read our output has seen enough.
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Failure::Output(error) => {
                say(&format!("error: cannot write the output: {error}"));
                1
            }
            Failure::Bug => 1,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

/// A line on the standard error stream. If nobody listens there, it is lost.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Runs `body`; None if it hit a bug of ours.
pub fn guarded<T>(body: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(body)).ok()
}

/// A bug of ours is one line for the user; `SMIDGEN_BACKTRACE` asks for the details.
pub fn describe_bugs_in_one_line() {
    std::panic::set_hook(Box::new(|info| {
        // A damaged file, which is reported as such.
        if std::thread::current().name() == Some(DECODER) {
            return;
        }
        let what = info.payload_as_str().unwrap_or("no details").lines().next().unwrap_or_default();
        let place = info.location().map_or_else(String::new, |at| format!(" at {at}"));
        say(&format!("internal error: this is a bug of smidgen ({what}{place})"));
        if std::env::var_os("SMIDGEN_BACKTRACE").is_some() {
            say(&std::backtrace::Backtrace::force_capture().to_string());
        }
    }));
}
