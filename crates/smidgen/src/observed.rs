//! What a program has observed: every datum by the name that its prediction has, `y[17]`.

use smidgen_value::{Rng, State, Value};

use crate::compile::Observations;
use crate::load::TopDirective;
use crate::noted::Noted;
use crate::replay::{Replay, compile};
use crate::sampling::SampleError;
use crate::session::Session;

/// The data in the order of the program, rows in ascending order; None if there are more than `most`.
pub fn observed(
    session: &mut Session,
    program: &[TopDirective],
    most: usize,
) -> Result<Option<Vec<(String, Value)>>, SampleError> {
    let steps = compile(session, program, Observations::Constrain, &Vec::new())?;
    let (catalog, sources) = (&session.catalog, &session.sources);
    let replay = Replay { steps, catalog, sources, interrupt: session.interrupt.clone() };
    let noted = Noted { seen: Some(Vec::new()), most, ..Noted::default() };
    let mut rng = Rng::from_seed(0);
    let replayed = replay.run_noting(&State::default(), None, noted, &mut rng)?;
    Ok(replayed.noted.seen.filter(|seen| seen.len() <= most))
}
