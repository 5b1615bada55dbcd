//! How a walk learns its scale (`'adapt true`; theory 8.6).
//!
//! Each block learns for itself; a block is known by the addresses of its continuous choices, so `one` and
//! `each` learn a scale for every block, and what exists may change. (The choices that walk are the
//! same on the way back, so a move and its reverse use the same scale.)
//!
//! The scale follows (8.7) from the acceptance probability of each move; of a test on mini-batches only the decision
//! is known. A block of several coordinates also learns its covariance Σ̂, in windows of the warm-up that
//! double in length, so that the way to the posterior is forgotten: then z' = z + s L ξ with L Lᵀ = (2.38²/d) Σ̂
//! (8.8), the diagonal raised by a millionth. Five in a hundred of its proposals stay small and as they
//! were given, so that a bad Σ̂ is never the last word.
//!
//! In the draws nothing is learnt any more. Without a warm-up (`infer` in a program, or `--warmup 0`) learning
//! goes on but vanishes, as t^−0.6 and at windows twice as far apart each time: the draws are then right in the limit only.

use std::collections::BTreeMap;
use std::ops::Range;

use smidgen_prob::linalg;
use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::bytes_of_fields;
use smidgen_value::{Matrix, Rng};

use super::standard_normal;
use crate::adaptation::{RobbinsMonro, Welford, walk_target};
use crate::run::{Log, Phase};

/// The share of small proposals, and how small they are.
const SMALL_SHARE: f64 = 0.05;
const SMALL: f64 = 0.1;
/// Blocks of more coordinates than this learn their scale alone.
const MOST_COORDINATES: usize = 100;
/// Blocks that are told apart; more of them keep the scale that was given.
const MOST_BLOCKS: usize = 100_000;

#[derive(Default)]
pub struct Learning {
    blocks: BTreeMap<Vec<u64>, Block>,
    open: Option<Open>,
    /// Moves that were learnt from.
    moves: u64,
    /// Whether the end of learning was told.
    told: bool,
}

/// Between two proposals.
impl Bytes for Learning {
    fn put(&self, out: &mut Vec<u8>) {
        let Learning { blocks, open: _, moves, told } = self;
        blocks.put(out);
        moves.put(out);
        told.put(out);
    }

    fn take(from: &mut Input<'_>) -> Option<Learning> {
        let (blocks, moves) = (Bytes::take(from)?, Bytes::take(from)?);
        Some(Learning { blocks, open: None, moves, told: Bytes::take(from)? })
    }
}

/// The proposal that is under way.
struct Open {
    block: Vec<u64>,
    steps: Vec<f64>,
    sds: Vec<f64>,
    is_small: bool,
    /// The coordinates before and after; NaN as long as they are not known.
    before: Vec<f64>,
    after: Vec<f64>,
}

impl Learning {
    pub fn begin(&mut self) {
        self.open = None;
    }

    pub fn is_under_way(&self) -> bool {
        self.open.is_some()
    }

    /// Draws the steps of a block whose coordinates have these standard deviations to begin with.
    pub fn draw_steps(&mut self, block: Vec<u64>, sds: &[f64], rng: &mut Rng) {
        let d = sds.len();
        let is_small = d > 1 && rng.uniform() < SMALL_SHARE;
        let mut steps: Vec<f64> = (0..d).map(|_| standard_normal(rng)).collect();
        match self.blocks.get(&block) {
            _ if is_small => steps.iter_mut().zip(sds).for_each(|(step, sd)| *step *= SMALL * sd),
            Some(known) => known.shape_steps(&mut steps),
            None => steps.iter_mut().zip(sds).for_each(|(step, sd)| *step *= sd),
        }
        let unknown = vec![f64::NAN; d];
        let (sds, after) = (sds.to_vec(), unknown.clone());
        self.open = Some(Open { block, steps, sds, is_small, before: unknown, after });
    }

    pub fn steps(&self, range: Range<usize>) -> &[f64] {
        &self.open.as_ref().expect("steps were drawn").steps[range]
    }

    /// Coordinates of one choice, from `first` on, before and after the step.
    pub fn note(&mut self, first: usize, before: &[f64], after: &[f64]) {
        let open = self.open.as_mut().expect("steps were drawn");
        open.before[first..first + before.len()].copy_from_slice(before);
        // Another principal may have changed the number of coordinates: then the move is impossible.
        let after = &after[..after.len().min(before.len())];
        open.after[first..first + after.len()].copy_from_slice(after);
    }

    /// What became of the proposal.
    pub fn learn(&mut self, acceptance: f64, accepted: bool, log: &mut Log<'_>) {
        let Some(open) = self.open.take() else {
            self.tell_the_end(log);
            return;
        };
        if log.run.phase == Phase::Draws {
            self.tell_the_end(log);
            return;
        }
        let full = self.blocks.len() >= MOST_BLOCKS;
        if full && !self.blocks.contains_key(&open.block) {
            return;
        }
        let block = self.blocks.entry(open.block).or_insert_with(|| Block::new(open.sds));
        if !open.is_small && !acceptance.is_nan() {
            block.scale.learn(acceptance);
        }
        block.see(if accepted { &open.after } else { &open.before }, accepted);
        self.moves += 1;
        if self.moves.is_power_of_two() {
            log.adapted(self.describe());
        }
    }

    /// At the first move of the draws: says what was learnt.
    fn tell_the_end(&mut self, log: &mut Log<'_>) {
        if log.run.phase != Phase::Draws || std::mem::replace(&mut self.told, true) {
            return;
        }
        if self.moves == 0 {
            log.warn("'adapt true has learnt nothing: in the warm-up its kernel moved no continuous choice by a walk".to_owned());
        } else {
            log.adapted(self.describe());
        }
    }

    fn describe(&self) -> String {
        let all = || self.blocks.values().flat_map(Block::sds);
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        let scale = match low == high {
            true => format!("{low:.3e}"),
            false => format!("{low:.3e} to {high:.3e}"),
        };
        let shaped = self.blocks.values().filter(|block| block.shape.is_some()).count();
        let shaped = if shaped > 0 { ", with covariances" } else { "" };
        let blocks = match self.blocks.len() {
            1 => String::new(),
            n => format!(" over {n} blocks"),
        };
        format!("drift adapted to {scale}{blocks}{shaped}")
    }
}

/// What is known about one block.
struct Block {
    sds: Vec<f64>,
    scale: RobbinsMonro,
    /// L.
    shape: Option<Matrix>,
    window: Option<Window>,
}

bytes_of_fields!(Block { sds, scale, shape, window });

struct Window {
    seen: Welford,
    accepted: u64,
    length: u64,
}

bytes_of_fields!(Window { seen, accepted, length });

impl Window {
    fn new(d: usize, length: u64) -> Window {
        Window { seen: Welford::new(d), accepted: 0, length }
    }
}

impl Block {
    fn new(sds: Vec<f64>) -> Block {
        let d = sds.len();
        let window =
            (2..=MOST_COORDINATES).contains(&d).then(|| Window::new(d, 60 + 20 * d as u64));
        Block { sds, scale: RobbinsMonro::new(walk_target(d)), shape: None, window }
    }

    /// From standard normal numbers to steps.
    fn shape_steps(&self, steps: &mut [f64]) {
        let s = self.scale.scale();
        match &self.shape {
            // From the last row up: a row reads only what stands above it.
            Some(lower) => {
                for i in (0..steps.len()).rev() {
                    steps[i] = s * (0..=i).map(|j| lower.get(i, j) * steps[j]).sum::<f64>();
                }
            }
            None => steps.iter_mut().zip(&self.sds).for_each(|(step, sd)| *step *= s * sd),
        }
    }

    /// The standard deviation of each coordinate's step.
    fn sds(&self) -> Vec<f64> {
        let s = self.scale.scale();
        match &self.shape {
            Some(lower) => {
                let norm =
                    |i: usize| (0..=i).map(|j| lower.get(i, j) * lower.get(i, j)).sum::<f64>();
                (0..self.sds.len()).map(|i| s * norm(i).sqrt()).collect()
            }
            None => self.sds.iter().map(|sd| s * sd).collect(),
        }
    }

    /// The chain stands at these coordinates.
    fn see(&mut self, z: &[f64], accepted: bool) {
        let Some(window) = &mut self.window else { return };
        if z.iter().any(|z| !z.is_finite()) {
            return;
        }
        window.seen.add(z);
        window.accepted += u64::from(accepted);
        if window.seen.count() < window.length {
            return;
        }
        let d = z.len();
        // Few different points have no covariance to speak of.
        let enough = window.accepted >= 2 * d as u64 + 5;
        let shape = if enough { shape(&window.seen) } else { None };
        let length = if shape.is_some() { 2 * window.length } else { window.length };
        *window = Window::new(d, length);
        if let Some(shape) = shape {
            if self.shape.is_none() {
                self.scale.log_scale = 0.0;
            }
            self.shape = Some(shape);
        }
    }
}

/// L with L Lᵀ = (2.38²/d) Σ̂, the diagonal of Σ̂ raised by a millionth.
fn shape(seen: &Welford) -> Option<Matrix> {
    let covariance = seen.covariance()?;
    let d = covariance.rows();
    let factor = 2.38 * 2.38 / d as f64;
    let raised = |i: usize, j: usize| if i == j { 1.0 + 1e-6 } else { 1.0 };
    linalg::cholesky(&Matrix::from_fn(d, d, |i, j| factor * raised(i, j) * covariance.get(i, j)))
}
