//! `smidgen run`: directives in order, each shown as it happens.

use std::io::{self, Write};

use smidgen::lang::printer::printable;
use smidgen::{Outcome, OutcomeKind, Session, TopDirective};

use crate::args::{Format, RunArgs};
use crate::failure::Failure;
use crate::inputs::Seed;
use crate::interrupt::Interrupt;
use crate::{inputs, output, render};

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let seed = Seed::new(&args.seed);
    let interrupt = Interrupt::listen(true);
    let mut session = inputs::session(&args.inputs, seed.value, interrupt.flag.clone())?;
    let program = inputs::parse(&mut session, &args.file)?;
    inputs::check_all_used(&session, &program)?;
    seed.show();
    for top in &program {
        let noted = session.catalog().notes().len();
        let result = session.execute(top);
        render::notes(&session, noted);
        if interrupt.is_set() {
            show(&session, top, &result.unwrap_or_default(), args.format)?;
            return Err(Failure::Interrupted);
        }
        let outcomes = result.map_err(|diagnostics| Failure::wrong(&session, diagnostics))?;
        show(&session, top, &outcomes, args.format)?;
    }
    Ok(())
}

fn show(
    session: &Session,
    top: &TopDirective,
    outcomes: &[Outcome],
    format: Format,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for outcome in outcomes {
        match (format, &outcome.kind) {
            (_, OutcomeKind::Assume { .. }) => {}
            (Format::Text, _) => {
                let text = output::text(outcome, &top.directive, session.sources());
                out.write_all(printable(&text).as_bytes())?;
            }
            (Format::Json, _) => {
                output::json_line(outcome).map_or(Ok(()), |line| writeln!(out, "{line}"))?;
            }
        }
    }
    out.flush()?;
    show_warnings(outcomes);
    Ok(())
}

/// What inference warns about, on the standard error stream.
pub fn show_warnings(outcomes: &[Outcome]) {
    for outcome in outcomes {
        if let OutcomeKind::Infer(inferred) = &outcome.kind {
            inferred.warnings.iter().for_each(|warning| render::warn(warning));
        }
    }
}
