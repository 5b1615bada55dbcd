//! `smidgen check`: mistakes and remarks without running anything.

use std::io::{self, Write};

use smidgen::check::{check as find, has_errors};

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::{inputs, render};

pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let mut session = inputs::session(&args.inputs, 0, Default::default())?;
    let program = inputs::parse(&mut session, &args.file)?;
    inputs::check_all_used(&session, &program)?;
    let found = find(&mut session, &program);
    if has_errors(&found) {
        return Err(Failure::wrong(&session, found));
    }
    render::show(&found, session.sources());
    let plural = if program.len() == 1 { "" } else { "s" };
    writeln!(io::stdout(), "ok: {} directive{plural}", program.len())?;
    Ok(())
}
