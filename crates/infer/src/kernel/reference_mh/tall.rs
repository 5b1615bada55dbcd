//! Blocks above many sections: a transition is one of [`crate::reference`].

use std::sync::Arc;

use smidgen_engine::smooth::{Density, Validity};
use smidgen_engine::taylor::{Sums, Taylor, Wanted};
use smidgen_engine::{EvalError, Fault, Trace};
use smidgen_value::Rng;

use super::{First, LEAST_ROWS, MOST_COORDINATES, WORTH_IT, near, order, origin};
use crate::hamiltonian::estimate::metric_of_covariance;
use crate::hamiltonian::metric::Metric;
use crate::hamiltonian::{Block, Smoothed};
use crate::reference::Tall;
use crate::reference::chain::{Chain, Moved};
use crate::reference::preparation::{Forecast, Preparation, Want};
use crate::reference::quadratic::square;
use crate::run::{Log, Phase};

/// A block above many sections.
pub(super) struct TallBlock {
    smoothed: Smoothed,
    pub(super) taylor: Taylor,
    pub(super) prepared: Arc<Preparation>,
    chain: Chain,
    /// Whether nothing else moves what its rows read.
    pub(super) is_alone: bool,
    /// Whether the reference was made outside a warm-up, for the rest as it is.
    pub(super) is_of_the_rest: bool,
    /// The addresses of the choices in the order of their coordinates.
    order: Vec<u64>,
    /// The revision of the trace that the last transition left.
    left: Option<u64>,
    is_faulty: bool,
    stands: Stands,
}

/// How many moves of the warm-up a chain has stood between independent proposals that it took.
#[derive(Default)]
struct Stands {
    moves: f64,
    squares: f64,
    /// Of the present stand.
    now: f64,
}

/// So many moves say something about how long stands are; so many moves for an effective draw are too many; and by an estimate,
/// another kernel is better if it seems to be so many times as good.
const ENOUGH: f64 = 100.0;
const MOST_STOOD: f64 = 50.0;
const CLEARLY: f64 = 2.0;

impl Stands {
    fn note(&mut self, moved: Moved) {
        self.now += 1.0;
        if moved.accepted && moved.is_independent {
            self.moves += self.now;
            self.squares += self.now * self.now;
            self.now = 0.0;
        }
    }

    /// The mean over all moves of the length of the stand that each is part of: about the moves for an effective draw.
    fn mean(&self) -> Option<f64> {
        let moves = self.moves + self.now;
        (moves >= ENOUGH).then(|| (self.squares + self.now * self.now) / moves)
    }
}

/// A density with its sections, as the methods of [`crate::reference`] ask for it.
pub(in crate::kernel) struct TallDensity<'a> {
    pub density: &'a mut Density,
    pub taylor: &'a mut Taylor,
    /// Whether the bounds are made too small, by mistake.
    pub is_faulty: bool,
}

impl Tall for TallDensity<'_> {
    fn dimension(&self) -> usize {
        self.taylor.dimension()
    }

    fn rows(&self) -> usize {
        self.taylor.rows()
    }

    fn log_rest(&mut self, theta: &[f64]) -> f64 {
        self.density.log_rest(self.taylor, theta)
    }

    fn log_rest_with_gradient(&mut self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.density.log_rest_with_gradient(self.taylor, theta, gradient)
    }

    fn log_sections(&mut self, theta: &[f64]) -> f64 {
        self.taylor.log_sections(theta)
    }

    fn log_sections_of_many(&mut self, thetas: &[f64], out: &mut [f64]) {
        let thetas: Vec<&[f64]> = thetas.chunks_exact(self.taylor.dimension()).collect();
        self.taylor.log_sections_of_many(&thetas, out);
    }

    fn sums(&mut self, theta: &[f64], stride: usize) -> Option<Sums> {
        self.taylor.sums(theta, stride)
    }

    fn bounds(&mut self, centre: &[f64], lower: &[f64], radius: f64, out: &mut Vec<f32>) {
        self.taylor.bounds(centre, lower, radius, out);
        if self.is_faulty {
            out.fill(0.0);
        }
    }

    fn remainders(&mut self, centre: &[f64], rows: &[u32], at: [&[f64]; 2], out: &mut [[f64; 2]]) {
        self.taylor.remainders(centre, rows, at, out);
    }
}

impl TallBlock {
    /// Sections and a preparation for a density, or why there are none.
    pub(super) fn first(
        smoothed: Smoothed,
        given: &First<'_>,
        want: Want,
        trace: &Trace,
        rng: &mut Rng,
        log: &Log<'_>,
    ) -> Result<TallBlock, String> {
        let First { key, state, is_best, may_learn, is_alone, is_faulty } = *given;
        let least_rows = if is_best { WORTH_IT } else { LEAST_ROWS };
        let wanted = Wanted { least_rows, is_strict: is_best };
        let mut taylor = smoothed.density().taylor(wanted).map_err(|why| why.to_string())?;
        if is_best && state.len() > MOST_COORDINATES {
            let d = state.len();
            return Err(format!("{d} coordinates are too many for one reference"));
        }
        let start = if may_learn && !is_alone { state.to_vec() } else { origin(state.len()) };
        let mut prepare = || {
            let mut density = smoothed.density();
            let mut tall = TallDensity { density: &mut density, taylor: &mut taylor, is_faulty };
            Preparation::new(&mut tall, &start, want).map(Arc::new)
        };
        // Chains that would all prepare the same share one preparation.
        let prepared = match is_alone {
            true => log.run.shared.get_or_make(key, prepare),
            false => prepare(),
        };
        let prepared = prepared.map_err(|unfit| unfit.to_string())?;
        let mut block = TallBlock {
            order: order(trace, &smoothed),
            smoothed,
            taylor,
            prepared,
            chain: Chain::new(rng),
            is_alone,
            is_of_the_rest: !may_learn && !is_alone,
            left: None,
            is_faulty,
            stands: Stands::default(),
        };
        if may_learn {
            // Where the reference is narrower than the posterior, a state far out would be left in small steps only.
            let centre = block.prepared.reference.centre.clone();
            block.go(&centre);
            block.left = Some(trace.revision());
        } else {
            block.go(state);
        }
        Ok(block)
    }

    /// The metric that suits the reference law.
    pub(super) fn metric(&self) -> Option<Metric> {
        metric_of_covariance(&self.prepared.reference.covariance())
    }

    /// Whether the state lies where the reference does not reach.
    pub(super) fn is_outside(&self, trace: &mut Trace) -> Result<bool, EvalError> {
        let Preparation { reference, radius, .. } = &*self.prepared;
        let state = self.smoothed.density().position(trace)?;
        let state = state.filter(|state| state.len() == reference.dimension());
        Ok(state.is_some_and(|state| {
            let mut y = vec![0.0; state.len()];
            reference.whiten(&state, &mut y);
            square(&y) > radius * radius
        }))
    }

    /// Why trajectories would be better, if chains of the warm-up stood for long.
    pub(super) fn is_held(&self) -> Option<String> {
        let Forecast { cost, efficiency, nuts, .. } = self.prepared.forecast;
        let moves = self.stands.mean()?;
        let is_dear = cost * efficiency * moves > CLEARLY * nuts;
        (is_dear || moves > MOST_STOOD).then(|| {
            format!("the posterior is far from normal: in the warm-up about {moves:.0} moves were worth one independent draw")
        })
    }

    fn go(&mut self, state: &[f64]) {
        let TallBlock { smoothed, taylor, prepared, chain, is_faulty, .. } = self;
        let mut density = smoothed.density();
        chain.go(
            &mut TallDensity { density: &mut density, taylor, is_faulty: *is_faulty },
            prepared,
            state,
        );
    }

    /// Follows what other moves have changed.
    pub(super) fn bring_up_to_date(
        &mut self,
        trace: &mut Trace,
        block: Block<'_>,
        want: Want,
    ) -> Result<Result<(), String>, EvalError> {
        if self.left == Some(trace.revision()) || trace.has_fault(Fault::KeptRows) {
            return Ok(Ok(()));
        }
        let validity = self.smoothed.refresh(trace, block, "reference_mh")?;
        let sections_changed = match validity {
            Validity::Same => false,
            Validity::Changed => {
                if let Err(unserved) = self.taylor.refresh(&self.smoothed.density()) {
                    return Ok(Err(unserved.to_string()));
                }
                true
            }
            Validity::Gone => {
                let taylor = self.smoothed.density().taylor(self.taylor.wanted());
                match taylor {
                    Ok(taylor) => self.taylor = taylor,
                    Err(unserved) => return Ok(Err(unserved.to_string())),
                }
                // A reference for other coordinates is none.
                let order = order(trace, &self.smoothed);
                self.is_of_the_rest |= order != self.order;
                self.order = order;
                true
            }
        };
        if sections_changed || (self.is_of_the_rest && validity != Validity::Same) {
            let mut density = self.smoothed.density();
            let mut tall = TallDensity {
                density: &mut density,
                taylor: &mut self.taylor,
                is_faulty: self.is_faulty,
            };
            let renewed = match self.is_of_the_rest {
                true => {
                    let start = origin(tall.dimension());
                    Preparation::new(&mut tall, &start, want).map(Arc::new)
                }
                false => {
                    let mut prepared = (*self.prepared).clone();
                    prepared.renew(&mut tall).map(|()| Arc::new(prepared))
                }
            };
            match renewed {
                Ok(prepared) => self.prepared = prepared,
                Err(unfit) => return Ok(Err(unfit.to_string())),
            }
        }
        let state = self.smoothed.density().position(trace)?;
        let Some(state) = state else {
            return Ok(Err("the state lies on the edge of what is possible".to_owned()));
        };
        // Coordinates are read off values, which costs the last digits: only another place is another place.
        if validity != Validity::Same || !near(&state, self.chain.theta()) {
            self.go(&state);
        }
        Ok(Ok(()))
    }

    pub(super) fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let TallBlock { smoothed, taylor, prepared, chain, left, is_faulty, stands, .. } = self;
        let mut density = smoothed.density();
        let moved = {
            let mut tall = TallDensity { density: &mut density, taylor, is_faulty: *is_faulty };
            chain.transition(&mut tall, prepared, rng)
        };
        if log.run.phase == Phase::Warmup {
            stands.note(moved);
        }
        if moved.accepted {
            density.install(trace, chain.theta(), rng)?;
        }
        *left = Some(trace.revision());
        note(moved, taylor.rows(), log);
        Ok(())
    }
}

/// Counts a transition of a block above so many rows.
pub(super) fn note(moved: Moved, rows: usize, log: &mut Log<'_>) {
    let tally = &mut log.tally;
    tally.transitions += 1;
    tally.accepted += u64::from(moved.accepted);
    tally.sections_used += moved.rows;
    tally.population += rows as u64;
    tally.by_reference += 1;
    tally.reference_rows += moved.rows;
    tally.reference_population += rows as u64;
    tally.violations += moved.violations;
}
