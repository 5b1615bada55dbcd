//! The command `smidgen`: programs in files or at a prompt, results as text or JSON. It is a function, [`main_with`], so that
//! whoever installs a command of their own can call it.
//!
//! Reading order: [`args`] (what can be typed), [`failure`] (how a command ends badly), then one
//! file per command: [`run`], [`sample`], [`predict`], [`loo`], [`calibrate`], [`enumerate`], [`compare`], [`report`], [`explain`], [`check`], [`repl`],
//! [`help`], [`debug`], [`experiment`], [`bench`].
//! They share [`inputs`] (parameters, data, seed), [`render`] (diagnostics on a terminal),
//! [`output`] (what directives show), [`target`] (files to be written), [`interrupt`] and [`progress`].

mod args;
mod bench;
mod calibrate;
mod check;
mod compare;
mod debug;
mod durable;
mod enumerate;
mod experiment;
mod explain;
mod failure;
mod follow;
mod former;
mod help;
mod init;
mod inputs;
mod interrupt;
mod loo;
mod output;
mod predict;
mod progress;
mod render;
mod repl;
mod report;
mod run;
mod sample;
mod screen;
mod target;
#[cfg(feature = "live")]
mod view;
#[cfg(not(feature = "live"))]
#[path = "view/absent.rs"]
mod view;

use std::ffi::OsString;

use clap::Parser;

use args::{Cli, Command};
use failure::Failure;

/// What `smidgen explain` prints: an explanation in words.
pub use explain::page as explain_page;
/// A diagnostic as it is shown where there are no colours.
pub use render::rendered;

/// Runs the command as if it had been typed with these words, the command's own name first, and gives its exit code: 0 fine,
/// 1 the program or its data are wrong, 2 wrong usage, 130 interrupted. What it has to say goes to the process's standard
/// output and error streams. Another front end may install this as its own command.
///
/// ```
/// assert_eq!(smidgen_cli::main_with(["smidgen", "help", "normal"]), 0);
/// assert_eq!(smidgen_cli::main_with(["smidgen", "dance"]), 2);
/// ```
pub fn main_with<Word: Into<OsString> + Clone>(words: impl IntoIterator<Item = Word>) -> u8 {
    failure::describe_bugs_in_one_line();
    let command = match Cli::try_parse_from(words) {
        Ok(cli) => cli.command,
        // Help and the version are no mistakes. If nobody listens, that is no news.
        Err(said) => {
            let _ = said.print();
            return if said.use_stderr() { 2 } else { 0 };
        }
    };
    let done = failure::guarded(|| execute(&command)).unwrap_or(Err(Failure::Bug));
    done.map_or_else(Failure::report, |()| 0)
}

fn execute(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run::run(args),
        Command::View(args) => view::view(args),
        Command::Sample(args) => sample::sample(args),
        Command::Predict(args) => predict::predict(args),
        Command::Calibrate(args) => calibrate::calibrate(args),
        Command::Enumerate(args) => enumerate::enumerate(args),
        Command::Loo(args) => loo::loo(args),
        Command::Compare(args) if args.files.len() > 1 => loo::compare(args),
        Command::Compare(args) => compare::compare(args),
        Command::Report(args) => report::report(args),
        Command::Check(args) => check::check(args),
        Command::Explain(args) => explain::explain(args),
        Command::Repl(args) => repl::repl(args),
        Command::Help(args) => help::help(args),
        Command::Debug(args) => debug::debug(args),
        Command::Experiment(args) => experiment::experiment(args),
        Command::Bench(args) => bench::bench(args),
    }
}
