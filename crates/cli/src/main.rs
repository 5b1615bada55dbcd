//! The program `smidgen`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(smidgen_cli::command(std::env::args_os()))
}
