//! `smidgen predict`: what the program says about data, with the draws of a run.

use smidgen::predict::{PredictRequest, predict as predictions};
use smidgen::sampling::Progress;

use crate::args::PredictArgs;
use crate::failure::{Failure, say};
use crate::inputs::Seed;
use crate::interrupt::Interrupt;
use crate::{former, inputs, progress, sample};

pub fn predict(args: &PredictArgs) -> Result<(), Failure> {
    if let Some(path) = &args.out {
        sample::check_target(path)?;
    }
    let seed = Seed::new(&args.seed);
    let interrupt = Interrupt::listen(true);
    let run = former::read(&args.draws_from)?;
    let states = former::states(&args.draws_from, &run, &args.file, &args.inputs, &interrupt)?;
    let mut session = inputs::session(&args.inputs, seed.value, interrupt.flag.clone())?;
    let program = inputs::parse(&mut session, &args.file)?;
    inputs::check_data_used(&session, &program)?;
    seed.show();
    if states.len() > args.draws {
        let all = states.len();
        say(&format!("predictions from {} of {all} draws; --draws {all} takes all", args.draws));
    }
    let request = PredictRequest {
        seed: seed.value,
        draws: Some(args.draws),
        record: args.record.clone(),
        threads: sample::threads(args.threads),
        rows: Vec::new(),
    };
    let progress = Progress::default();
    let predicted = progress::with_bar(&progress, || {
        predictions(&mut session, &program, &states, &request, &progress)
    });
    let predicted = match predicted {
        Err(_) if interrupt.is_set() => return Err(Failure::Interrupted),
        result => result.map_err(|error| Failure::sample(&session, error))?,
    };
    sample::deliver(&predicted.run, args.out.as_deref(), args.format)
}
