//! The command `smidgen`, see the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(smidgen_cli::main_with(std::env::args_os()))
}
