//! Control variates: the test sees what the sections have beyond their Taylor polynomials at a fixed point.
//!
//! Σ_i (l_i' − l_i) = Σ_i (T_i' − T_i) + Σ_i Δ_i: the first sum costs O(d²) and belongs to the global part, the second is what the
//! test decides about. The decision is the same one, but the Δ_i of order 2 have a variance that is smaller by about 1/N at
//! moves as wide as the posterior, so that the first batch is mostly enough. A bad point makes it larger and nothing wrong.

use smallvec::SmallVec;
use smidgen_engine::smooth::{Form, Validity};
use smidgen_engine::taylor::{Sums, Taylor, Wanted};
use smidgen_engine::{EvalError, Fault, NodeId, Proposal, Trace};
use smidgen_value::Rng;

use crate::acceptance::LogWeights;
use crate::acceptance::shuffle::{LOT, Shuffle};
use crate::hamiltonian::{Block, Smoothed};
use crate::kernel::reference_mh::TallDensity;
use crate::reference::newton;
use crate::sections::Source;

/// A scan of all sections weighs so many at a time.
const SCAN: usize = 1024;

/// Polynomials of the sections of the block that was moved last.
pub struct ControlVariates {
    /// 1 or 2.
    order: usize,
    block: Vec<u64>,
    known: Option<Result<Known, String>>,
    shuffle: Shuffle,
}

struct Known {
    smoothed: Smoothed,
    taylor: Taylor,
    centre: Vec<f64>,
    sums: Sums,
    is_faulty: bool,
    /// Before and after the move at hand.
    from: Vec<f64>,
    to: Vec<f64>,
}

impl ControlVariates {
    pub fn new(order: usize) -> ControlVariates {
        ControlVariates { order, block: Vec::new(), known: None, shuffle: Shuffle::default() }
    }

    /// Gets ready for a move of a block with so many sections, or says why there are no polynomials for all of them.
    pub fn prepare(
        &mut self,
        trace: &mut Trace,
        principals: &[NodeId],
        population: usize,
    ) -> Result<Result<(), String>, EvalError> {
        let block: Vec<u64> = principals.iter().map(|id| trace.address(*id)).collect();
        if self.known.is_none() || self.block != block {
            (self.block, self.known) = (block, Some(Known::new(trace, principals.into())?));
        }
        let Some(Ok(known)) = &mut self.known else {
            let why = self.known.as_ref().and_then(|known| known.as_ref().err());
            return Ok(Err(why.cloned().unwrap_or_default()));
        };
        if let Err(why) = known.bring_up_to_date(trace, principals.into())? {
            return Ok(Err(why));
        }
        if known.taylor.rows() != population {
            return Ok(Err("some of its sections are not rows of a kind".to_owned()));
        }
        let Some(from) = known.smoothed.density().position(trace)? else {
            return Ok(Err("the state lies on the edge of what is possible".to_owned()));
        };
        known.from = from;
        Ok(Ok(()))
    }

    /// Σ_i (T_i' − T_i) of a proposal; None if it leads to the edge of what is possible.
    pub fn look_ahead(&mut self, proposal: &mut Proposal<'_>) -> Result<Option<f64>, EvalError> {
        let order = self.order;
        let Some(Ok(known)) = &mut self.known else { return Ok(None) };
        let Some(to) = known.smoothed.density().position_after(proposal)? else { return Ok(None) };
        known.to = to;
        let Known { sums, centre, from, to, .. } = known;
        let difference = match order {
            2 => sums.polynomial(centre, to) - sums.polynomial(centre, from),
            _ => (to.iter().zip(&*from).zip(&sums.gradient))
                .map(|((to, from), g)| g * (to - from))
                .sum(),
        };
        Ok(Some(if known.is_faulty { 0.0 } else { difference }))
    }

    /// Δ_i of the move that was looked at.
    pub fn differences<'a>(&'a mut self, rng: &'a mut Rng) -> Differences<'a> {
        let Some(Ok(known)) = &mut self.known else { unreachable!("a move was looked at") };
        self.shuffle.begin(known.taylor.rows());
        Differences { order: self.order, known, shuffle: &mut self.shuffle, rng }
    }
}

impl Known {
    fn new(trace: &mut Trace, block: Block<'_>) -> Result<Result<Known, String>, EvalError> {
        let smoothed = match Smoothed::new(trace, block, Form::Plain, "subsampled_mh") {
            Ok(smoothed) => smoothed,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let taylor = smoothed.density().taylor(Wanted::all(2));
        let mut taylor = match taylor {
            Ok(taylor) => taylor,
            Err(unserved) => return Ok(Err(unserved.to_string())),
        };
        // A point that does not hang on the state.
        let found = {
            let start = vec![0.0; taylor.dimension()];
            let mut density = smoothed.density();
            let mut tall =
                TallDensity { density: &mut density, taylor: &mut taylor, is_faulty: false };
            newton::find(&mut tall, &start, false)
        };
        let Ok(mode) = found else { return Ok(Err("no mode was found".to_owned())) };
        let centre = mode.reference.centre;
        let Some(sums) = taylor.sums(&centre, 1) else {
            return Ok(Err("a section has no second derivatives".to_owned()));
        };
        let is_faulty = trace.has_fault(Fault::NoSums);
        let (from, to) = (Vec::new(), Vec::new());
        Ok(Ok(Known { smoothed, taylor, centre, sums, is_faulty, from, to }))
    }

    /// Follows what other moves have changed: the point stays, the sums are those of the sections as they are.
    fn bring_up_to_date(
        &mut self,
        trace: &mut Trace,
        block: Block<'_>,
    ) -> Result<Result<(), String>, EvalError> {
        if self.smoothed.refresh(trace, block, "subsampled_mh")? == Validity::Same {
            return Ok(Ok(()));
        }
        if let Err(unserved) = self.taylor.refresh(&self.smoothed.density()) {
            return Ok(Err(unserved.to_string()));
        }
        if self.taylor.dimension() != self.centre.len() {
            return Ok(Err("the block has other coordinates than before".to_owned()));
        }
        let sums = self.taylor.sums(&self.centre, 1);
        Ok(match sums {
            Some(sums) => {
                self.sums = sums;
                Ok(())
            }
            None => Err("a section has no second derivatives".to_owned()),
        })
    }
}

/// Δ_i, drawn without replacement.
pub struct Differences<'a> {
    order: usize,
    known: &'a mut Known,
    shuffle: &'a mut Shuffle,
    rng: &'a mut Rng,
}

impl Differences<'_> {
    fn weigh(&mut self, rows: &[u32], weights: &mut Vec<f64>) {
        let Known { taylor, centre, from, to, .. } = &mut *self.known;
        let mut found = vec![[0.0; 2]; rows.len()];
        taylor.remainders_beyond(self.order, centre, rows, [from, to], &mut found);
        // What has no number after the move is impossible there.
        let difference = |[from, to]: [f64; 2]| Some(to - from).filter(|d| !d.is_nan());
        weights.extend(found.into_iter().map(|d| difference(d).unwrap_or(f64::NEG_INFINITY)));
    }
}

impl LogWeights for Differences<'_> {
    fn draw(&mut self, n: usize, weights: &mut Vec<f64>) -> Result<(), EvalError> {
        let mut more = n;
        while more > 0 {
            let rows: SmallVec<[u32; LOT]> = self.shuffle.next_lot(more, self.rng).into();
            assert!(!rows.is_empty(), "a test asks for no more than there is");
            more -= rows.len();
            self.weigh(&rows, weights);
        }
        Ok(())
    }

    fn scan(&mut self, visit: &mut dyn FnMut(&[f64]) -> bool) -> Result<(), EvalError> {
        let count = self.known.taylor.rows();
        let mut weights = Vec::new();
        for first in (0..count).step_by(SCAN) {
            let rows: Vec<u32> = (first as u32..(first + SCAN).min(count) as u32).collect();
            weights.clear();
            self.weigh(&rows, &mut weights);
            if !visit(&weights) {
                break;
            }
        }
        Ok(())
    }

    fn strata(&mut self) -> Vec<usize> {
        vec![self.known.taylor.rows()]
    }

    fn draw_from(&mut self, _: usize, n: usize, weights: &mut Vec<f64>) -> Result<(), EvalError> {
        self.draw(n, weights)
    }
}

impl Source for Differences<'_> {
    fn stream_aside(&mut self) -> Rng {
        Rng::for_chain(self.rng.seed(), 0)
    }
}
