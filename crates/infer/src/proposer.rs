//! Drift: a symmetric random walk in unconstrained coordinates ([`coordinates`]). Choices with a
//! discrete support are proposed from their prior.
//!
//! The coordinates of a block are those of its continuous choices, in the order in which they stand
//! in the program. Standard deviations may be given for each of them, or learnt ([`learning`]).

pub mod coordinates;
pub mod learning;

use smallvec::SmallVec;
use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{Choice, EvalError, NodeId, Proposed, Proposer};
use smidgen_lang::Diagnostic;
use smidgen_prob::Support;
use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::{Rng, Value, math};

use crate::run::Log;
use crate::spec::{Argument, Arguments};
use learning::Learning;

/// The scale of a walk, in unconstrained coordinates.
#[derive(Clone, Debug)]
pub enum Scale {
    Same(f64),
    PerCoordinate(Vec<f64>),
}

impl Scale {
    fn at(&self, i: usize) -> f64 {
        match self {
            Scale::Same(sd) => *sd,
            Scale::PerCoordinate(sds) => sds[i],
        }
    }

    fn check(&self, coordinates: usize) -> Result<(), EvalError> {
        match self {
            Scale::PerCoordinate(sds) if sds.len() != coordinates => Err(EvalError::other(
                None,
                format!(
                    "'drift has {} standard deviations for {coordinates} coordinates (dimension mismatch)",
                    sds.len()
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// A proposer that may learn from what became of its proposals.
pub trait Learner: Proposer + Send {
    /// What became of what was proposed last.
    fn learn(&mut self, _moved: MoveOutcome, _log: &mut Log<'_>) {}

    /// Writes what was learnt; most learn nothing.
    fn save(&self, _out: &mut Vec<u8>) {}

    /// Takes it back.
    fn load(&mut self, _from: &mut Input<'_>) -> Option<()> {
        Some(())
    }
}

/// What became of a proposal: its log α, and whether it was accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveOutcome {
    pub log_ratio: f64,
    pub accepted: bool,
}

impl MoveOutcome {
    /// One of which only the decision is known.
    pub fn decided(accepted: bool) -> MoveOutcome {
        MoveOutcome { log_ratio: if accepted { 0.0 } else { f64::NEG_INFINITY }, accepted }
    }

    /// The probability with which it was accepted.
    pub fn acceptance(self) -> f64 {
        math::exp(self.log_ratio.min(0.0))
    }
}

impl Learner for FromPrior {}

pub struct Drift {
    scale: Scale,
    /// The continuous choices of the open proposal.
    choices: Vec<Walker>,
    /// The sd of each coordinate of the block; empty until the choices are in order.
    sds: Vec<f64>,
    learning: Option<Learning>,
}

/// A choice that walks.
struct Walker {
    node: NodeId,
    /// Its place in the program, and in the program's run.
    place: ((u32, u32), u64),
    /// Where it lived before the proposal: another principal of the block may change that.
    before: Support,
    /// Its first coordinate in the block, and how many it has.
    first: usize,
    dimension: usize,
}

impl Drift {
    pub fn new(scale: Scale) -> Drift {
        Drift { scale, choices: Vec::new(), sds: Vec::new(), learning: None }
    }

    /// A walk that learns its scale, from this one on.
    pub fn adaptive(scale: Scale) -> Drift {
        Drift { learning: Some(Learning::default()), ..Drift::new(scale) }
    }

    /// Puts the choices of the block in order, once all are known. Sds are for the coordinates of the
    /// block, or for those of each choice.
    fn put_in_order(&mut self) -> Result<(), EvalError> {
        if !self.sds.is_empty() || self.choices.is_empty() {
            return Ok(());
        }
        self.choices.sort_by_key(|walker| walker.place);
        let mut coordinates = 0;
        for walker in &mut self.choices {
            walker.first = coordinates;
            coordinates += walker.dimension;
        }
        let of_each = |walker: &Walker| self.scale.check(walker.dimension).is_ok();
        if !self.choices.iter().all(of_each) {
            self.scale.check(coordinates)?;
        }
        match &self.scale {
            Scale::Same(sd) => self.sds.resize(coordinates, *sd),
            Scale::PerCoordinate(sds) => self.sds.extend(sds.iter().cycle().take(coordinates)),
        }
        Ok(())
    }
}

impl Proposer for Drift {
    fn begin(&mut self) {
        self.choices.clear();
        self.sds.clear();
        self.learning.iter_mut().for_each(Learning::begin);
    }

    fn is_local(&self, choice: &Choice<'_>) -> Result<bool, EvalError> {
        // A latent parameter of several parts has no support to walk in.
        Ok(choice.support().is_ok_and(|support| support.is_continuous()))
    }

    fn prepare(&mut self, choice: &Choice<'_>) -> Result<(), EvalError> {
        let (before, span) = (choice.support()?, choice.origin().1);
        self.choices.push(Walker {
            node: choice.node,
            place: ((span.source.0, span.start), choice.address()),
            dimension: dimension(&before),
            before,
            first: 0,
        });
        Ok(())
    }

    fn propose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Result<Proposed, EvalError> {
        self.put_in_order()?;
        let Some(walker) = self.choices.iter().find(|walker| walker.node == choice.node) else {
            return Ok(Proposed::Prior);
        };
        let Walker { before, first, dimension, .. } = walker;
        let (current, after) = (choice.current(), choice.support()?);
        let range = *first..first + dimension;
        let Some(learning) = &mut self.learning else {
            let steps = self.sds[range].iter().map(|sd| sd * standard_normal(rng));
            let steps: SmallVec<[f64; 4]> = steps.collect();
            return Ok(local(coordinates::step(current, before, &after, &steps)));
        };
        if !learning.is_under_way() {
            let addresses = self.choices.iter().map(|walker| walker.place.1).collect();
            learning.draw_steps(addresses, &self.sds, rng);
        }
        let steps = learning.steps(range);
        let (value, log_q_ratio) = coordinates::step(current, before, &after, steps);
        let z = before.coordinates(current);
        learning.note(*first, &z, &after.coordinates(&value));
        Ok(local((value, log_q_ratio)))
    }
}

impl Learner for Drift {
    fn learn(&mut self, moved: MoveOutcome, log: &mut Log<'_>) {
        if let Some(learning) = &mut self.learning {
            learning.learn(moved.acceptance(), moved.accepted, log);
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        let Drift { scale: _, choices: _, sds: _, learning } = self;
        learning.put(out);
    }

    fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        self.learning = Bytes::take(from)?;
        Some(())
    }
}

/// What `'drift` and `'adapt` of a kernel ask for.
pub fn read(arguments: &Arguments<'_>) -> Result<Box<dyn Learner>, Diagnostic> {
    let adapt = match arguments.option("adapt") {
        Some(argument) => {
            let adapt = argument.value.truth().ok_or_else(|| argument.error("true or false"))?;
            if adapt && arguments.option("drift").is_none() {
                let message = "'adapt learns the scale of a walk, and there is none";
                let diagnostic = Diagnostic::error(argument.syntax.span, message);
                return Err(diagnostic.hint("give 'drift sd as well: the scale to begin with"));
            }
            adapt
        }
        None => false,
    };
    Ok(match arguments.option("drift") {
        Some(scale) if adapt => Box::new(Drift::adaptive(read_scale(scale)?)),
        Some(scale) => Box::new(Drift::new(read_scale(scale)?)),
        None => Box::new(FromPrior),
    })
}

/// The coordinates of a choice that walks; one for what only counts as one.
fn dimension(support: &Support) -> usize {
    support.dimension().unwrap_or(1)
}

fn local((value, log_q_ratio): (Value, f64)) -> Proposed {
    Proposed::Local { value, log_q_ratio }
}

/// One step of the walk from `current`, which lives in `before`, to a value in `after`.
pub fn walk(
    current: &Value,
    before: &Support,
    after: &Support,
    scale: &Scale,
    rng: &mut Rng,
) -> Result<Proposed, EvalError> {
    let dimension = dimension(before);
    scale.check(dimension)?;
    let steps: Vec<f64> = (0..dimension).map(|i| scale.at(i) * standard_normal(rng)).collect();
    Ok(local(coordinates::step(current, before, after, &steps)))
}

/// By the polar method.
pub fn standard_normal(rng: &mut Rng) -> f64 {
    loop {
        let (u, v) = (2.0 * rng.uniform() - 1.0, 2.0 * rng.uniform() - 1.0);
        let s = u * u + v * v;
        if s > 0.0 && s < 1.0 {
            return u * (-2.0 * math::ln(s) / s).sqrt();
        }
    }
}

/// Standard deviations of a walk.
fn read_scale(argument: &Argument<'_>) -> Result<Scale, Diagnostic> {
    let wanted = "a positive standard deviation (a number, or a vector of one per coordinate)";
    let scale = match argument.value.as_number() {
        Some(sd) => Scale::Same(sd),
        None => {
            Scale::PerCoordinate(argument.value.to_reals().ok_or_else(|| argument.error(wanted))?)
        }
    };
    let positive = |sd: &f64| *sd > 0.0 && sd.is_finite();
    let fine = match &scale {
        Scale::Same(sd) => positive(sd),
        Scale::PerCoordinate(sds) => !sds.is_empty() && sds.iter().all(positive),
    };
    if fine { Ok(scale) } else { Err(argument.error(wanted)) }
}
