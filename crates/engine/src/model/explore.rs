//! Models of all runs of a finite program, see [`crate::trace`]'s explorer.

use crate::trace::explore::Explorer;

use super::Model;

/// Where an exploration of a program stands.
#[derive(Default)]
pub struct Exploration(Box<Explorer>);

impl Model {
    /// The choices of the directives from now on follow the path of an exploration. A directive that meets a parameter
    /// outside its domain fails, and the run has come to its end ([`Model::is_broken`]).
    pub fn explore(&mut self, exploration: Exploration) {
        self.trace.explorer = Some(exploration.0);
        self.keep_past();
    }

    /// Ends it; goes to the path of the next run, if there is one.
    pub fn explored(&mut self) -> Option<Exploration> {
        let mut explorer = self.trace.explorer.take()?;
        explorer.next().then_some(Exploration(explorer))
    }
}
