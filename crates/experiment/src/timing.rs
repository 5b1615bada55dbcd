//! What a transition costs: a kernel is run in rounds that double until a round is long enough to
//! be timed; the short ones before are not counted.

use smidgen::stopwatch::Stopwatch;
use smidgen::{OutcomeKind, Session};

use crate::Error;

/// The system's clock of processor time goes in such steps; nothing is known about less.
pub const TICK: f64 = 0.004;

/// Processor seconds, sections and transitions of a kernel that was run for about so long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timed {
    pub seconds: f64,
    pub sections: f64,
    pub transitions: f64,
    pub accepted: f64,
}

impl Timed {
    pub fn sections_per_transition(&self) -> f64 {
        self.sections / self.transitions
    }

    pub fn microseconds_per_transition(&self) -> f64 {
        1e6 * self.seconds / self.transitions
    }
}

/// Runs a kernel whose text ends in `N)`, the number of transitions, for at least so many seconds
/// and so many transitions.
pub fn time(
    session: &mut Session,
    kernel: &str,
    seconds: f64,
    transitions: f64,
) -> Result<Timed, Error> {
    let mut total = Timed::default();
    let mut n = 1;
    while total.seconds < seconds || total.transitions < transitions {
        let text = format!("[infer {}]", kernel.replace("N)", &format!("{n})")));
        let infer =
            session.parse_text("<kernel>", &text).map_err(|d| Error::program(session, d))?;
        let stopwatch = Stopwatch::start();
        let outcomes = session.execute(&infer[0]).map_err(|d| Error::program(session, d))?;
        let took = stopwatch.seconds();
        // The first rounds are short: what they find out is not counted.
        if took > 0.2 * seconds || n > 1 << 20 {
            total.seconds += took;
            for outcome in outcomes {
                if let OutcomeKind::Infer(inferred) = outcome.kind {
                    if inferred.interrupted {
                        return Err(Error::Interrupted);
                    }
                    let tally = inferred.total();
                    total.sections += tally.sections_used as f64;
                    total.transitions += tally.transitions as f64;
                    total.accepted += tally.accepted as f64;
                }
            }
        } else {
            n *= 2;
        }
    }
    Ok(total)
}
