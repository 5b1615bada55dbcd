//! `smidgen explain`: what the kernels of a program would do, at what cost, and why not faster.

mod json;
mod text;

pub use text::page;

use smidgen::explain::explain as look;

use crate::args::{ExplainArgs, Format};
use crate::failure::Failure;
use crate::inputs::{self, Seed};
use crate::interrupt::Interrupt;
use crate::screen;

pub fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let seed = Seed::new(&args.seed);
    let interrupt = Interrupt::listen(true);
    let mut session = inputs::session(&args.inputs, seed.value, interrupt.flag.clone())?;
    let program = inputs::parse(&mut session, &args.file)?;
    inputs::check_data_used(&session, &program)?;
    seed.show();
    let result = look(&mut session, &program, args.kernel.as_deref(), seed.value);
    if interrupt.is_set() {
        return Err(Failure::Interrupted);
    }
    let explained = result.map_err(|error| Failure::sample(&session, error))?;
    let shown = match args.format {
        Format::Json => format!("{}\n", json::object(&explained, seed.value, session.sources())),
        Format::Text => text::page(&explained, &args.file.display().to_string(), session.sources()),
    };
    screen::show(&shown)?;
    Ok(())
}
