//! A former run: its draws, and the states of the program beside them.

use std::path::Path;

use smidgen::draws::{Run, States};
use smidgen::io::read_run;
use smidgen::replay;

use crate::args::InputArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::interrupt::Interrupt;

pub fn read(path: &Path) -> Result<Run, Failure> {
    read_run(path).map_err(|error| Failure::message(error.to_string()))
}

/// The states of a run: those beside it, or the draws themselves if they have every random choice of the program.
pub fn states(
    path: &Path,
    run: &Run,
    file: &Path,
    args: &InputArgs,
    interrupt: &Interrupt,
) -> Result<States, Failure> {
    if let Some(states) = smidgen::former::kept_states(path, run).map_err(Failure::message)? {
        return Ok(states);
    }
    if run.draws.is_empty() {
        let path = path.display();
        return Err(Failure::message(format!("{path}: there are no draws after the warm-up")));
    }
    let mut session = inputs::session(args, run.seed, interrupt.flag.clone())?;
    let program = inputs::parse(&mut session, file)?;
    replay::from_draws(&mut session, &program, run)
        .map_err(|error| Failure::sample(&session, error))
}
