//! `smidgen experiment`: the paper's experiments, from data to page.

use std::path::PathBuf;

use smidgen_experiment::{Options, Size};

use crate::args::ExperimentArgs;
use crate::failure::{Failure, say};
use crate::interrupt::Interrupt;
use crate::screen;

pub fn experiment(args: &ExperimentArgs) -> Result<(), Failure> {
    let size = match (args.tiny, args.full) {
        (true, _) => Size::Tiny,
        (_, true) => Size::Full,
        _ => Size::Quick,
    };
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("smidgen-{}", args.name)));
    let options = Options {
        data: args.data.clone(),
        generate: args.generate,
        interrupt: Interrupt::listen(true).flag,
        ..Options::new(size, out, args.seed)
    };
    let outcome =
        smidgen_experiment::run(&args.name, &options, &say).map_err(Failure::experiment)?;
    screen::show(&outcome.text)?;
    say(&format!("everything is in {}; look at {}", options.out.display(), outcome.page.display()));
    Ok(())
}
