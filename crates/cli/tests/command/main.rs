//! The command as users and other programs see it: arguments in, text, JSON, files and exit codes
//! out.

mod compare;
mod data;
mod durable;
mod errors;
mod explain;
mod follow;
mod hardening;
mod help;
mod interrupt;
mod live;
mod mapped;
mod repl;
mod report;
mod run;
mod sample;
mod support;
mod tools;
