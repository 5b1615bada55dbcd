//! A program run again for some rows of its tables only.
//!
//! Rows that nobody wants are left out, which costs nothing where they were one plate. A loop that makes choices of its
//! own for every row counts its addresses row by row, so that without some rows the others would come to the choices of
//! their neighbours; that shows, because then not every choice of the state is there. Such a program is run with all
//! rows, and what nobody wants is dropped.

use std::collections::HashMap;
use std::sync::Arc;

use smidgen_draws::States;
use smidgen_lang::Diagnostic;
use smidgen_value::{Rng, State};

use crate::catalog::Catalog;
use crate::compile::{Observations, OnlyRows, Step, StepKind};
use crate::load::TopDirective;
use crate::noted::split_rounds;
use crate::replay::{Replay, Replayed, compile};
use crate::sampling::SampleError;
use crate::session::Session;

pub(crate) struct Selection<'a> {
    replay: Replay<'a>,
    /// The same with all rows, if some are left out.
    whole: Option<(Vec<Arc<Step>>, Catalog)>,
    /// The rows that are wanted, by the number of the directive, in ascending order.
    wanted: HashMap<usize, Arc<[i64]>>,
}

/// The steps of a program for some rows and for all.
pub(crate) struct Steps {
    some: Vec<Arc<Step>>,
    whole: Option<(Vec<Arc<Step>>, Catalog)>,
}

impl Steps {
    pub fn new(
        session: &mut Session,
        program: &[TopDirective],
        observations: Observations,
        only: &OnlyRows,
    ) -> Result<Steps, SampleError> {
        let whole = match only.is_empty() {
            true => None,
            false => {
                let before = session.catalog.clone();
                let steps = compile(session, program, observations, &Vec::new())?;
                Some((steps, std::mem::replace(&mut session.catalog, before)))
            }
        };
        Ok(Steps { some: compile(session, program, observations, only)?, whole })
    }
}

impl<'a> Selection<'a> {
    pub fn new(session: &'a Session, Steps { some: steps, whole }: Steps) -> Selection<'a> {
        let rows = steps.iter().filter_map(|step| match &step.kind {
            StepKind::For { only: Some(only), .. } => Some((step.number, only.clone())),
            _ => None,
        });
        let wanted = rows.collect();
        let (catalog, sources) = (&session.catalog, &session.sources);
        let replay = Replay { steps, catalog, sources, interrupt: session.interrupt.clone() };
        Selection { replay, whole, wanted }
    }

    pub fn replay(&self) -> &Replay<'a> {
        &self.replay
    }

    /// Runs the directives with the values of a state. `all` says that all rows are needed; it is set when that
    /// comes out.
    pub fn run(
        &self,
        state: &State,
        states: Option<&States>,
        all: &mut bool,
        rng: &mut Rng,
    ) -> Result<Replayed, Diagnostic> {
        let marks = states.map(|states| states.steps.as_slice());
        if let (true, Some((steps, catalog))) = (*all, &self.whole) {
            let Replay { sources, interrupt, .. } = &self.replay;
            let (steps, interrupt) = (steps.clone(), interrupt.clone());
            return Replay { steps, catalog, sources, interrupt }.run(state, marks, rng);
        }
        let replayed = self.replay.run(state, marks, rng)?;
        let stays = |(k, step): (usize, &Arc<Step>)| {
            let then = marks.and_then(|marks| marks.get(k));
            let is_there = then.map(|mark| mark.start) == replayed.marks.get(k).map(|m| m.start);
            self.wanted.contains_key(&step.number) && then.is_some() && is_there
        };
        let is_same_loop = self.replay.steps.iter().enumerate().any(stays);
        if self.whole.is_some() && is_same_loop && !replayed.model.covers(state) {
            *all = true;
            return self.run(state, states, all, rng);
        }
        Ok(replayed)
    }

    /// Whether somebody wants what a directive did in this round.
    pub fn wants(&self, directive: usize, row: Option<i64>) -> bool {
        match (self.wanted.get(&directive), row) {
            (Some(rows), Some(row)) => rows.binary_search(&row).is_ok(),
            _ => true,
        }
    }
}

/// The round of the outermost loop in a name such as `y[17]` or `y[3][17]`.
pub(crate) fn outermost_round(name: &str) -> Option<i64> {
    split_rounds(name).1.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_read_from_names() {
        assert_eq!(split_rounds("y[3][17]"), ("y", vec![3, 17]));
        assert_eq!(split_rounds("y[a]"), ("y[a]", vec![]));
        assert_eq!((outermost_round("y[3][17]"), outermost_round("y")), (Some(3), None));
    }
}
