//! The command `smidgen`: programs in files or at a prompt, results as text or JSON. A library, so that the
//! Python package has the same command.
//!
//! Reading order: [`args`] (what can be typed), [`failure`] (how a command ends badly), then one
//! file per command: [`run`], [`sample`], [`compare`], [`report`], [`explain`], [`check`], [`repl`],
//! [`help`], [`debug`], [`experiment`], [`bench`].
//! They share [`inputs`] (parameters, data, seed), [`render`] (diagnostics on a terminal),
//! [`output`] (what directives show), [`target`] (files to be written), [`interrupt`] and [`progress`].

mod args;
mod bench;
mod check;
mod compare;
mod debug;
mod experiment;
mod explain;
mod failure;
mod help;
mod inputs;
mod interrupt;
mod output;
mod progress;
mod render;
mod repl;
mod report;
mod run;
mod sample;
mod target;

use std::ffi::OsString;

use clap::Parser;

use args::{Cli, Command};
use failure::Failure;

pub use explain::page as explain_page;

/// The command with these arguments, the first of which is its own name; gives its exit code. Wrong
/// arguments and `--help` end the process.
pub fn command(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    failure::describe_bugs_in_one_line();
    let command = Cli::parse_from(arguments).command;
    let done = failure::guarded(|| execute(&command)).unwrap_or(Err(Failure::Bug));
    done.map_or_else(Failure::report, |()| 0)
}

fn execute(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run::run(args),
        Command::Sample(args) => sample::sample(args),
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
