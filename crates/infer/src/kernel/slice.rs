//! `(slice scope block [width max_steps] n)` and `(slice_doubling scope block [width max_doublings] n)`:
//! slice sampling of a single continuous choice (theory 8.3, Neal 2003).
//!
//! (8.4) f(x) = log p(x | Par) + Σ_A log p(· | x).
//!
//! Exact and without rejections. A transition evaluates f some four to ten times if the width is right
//! within a factor of a few, and each evaluation reads all of A: not for choices with very many
//! sections. The scaffold is built once for a transition. A slice needs fixed structure: where the
//! choice decides what exists, f would be another function of other choices at each x.
//!
//! An angle moves on the circle, which has no ends: the interval is a full turn, whatever the width.
//!
//! Defaults: width 1; at most 100 steps, or 20 doublings (10⁶ widths), so that a width far too small costs
//! evaluations and nothing else.

pub mod integers;
pub mod neal;

use smidgen_engine::{Choice, EvalError, NodeId, Proposal, Proposed, Proposer, Scaffold, Trace};
use smidgen_lang::Diagnostic;
use smidgen_prob::Support;
use smidgen_prob::support::{TURN, wrap};
use smidgen_value::bytes::Input;
use smidgen_value::{Rng, Value};

use crate::block::Target;
use crate::explain::{Explanation, Look, advice, blocks};
use crate::kernel::Kernel;
use crate::record::Tally;
use crate::run::Log;
use crate::spec::{Argument, Arguments, KernelSpec};
use neal::{Interval, Slice};

pub static STEPPING_OUT: KernelSpec = KernelSpec {
    name: "slice",
    shape: "(slice scope block [width max_steps] n)",
    summary: "Slice sampling of a single continuous choice, stepping out; width 1 and max_steps 100 if left out",
    example: "(slice default one 0.5 100 1000)",
    positional: &[],
    optional: &["width", "max_steps"],
    options: &[],
    build: |arguments| build(arguments, Search::StepOut, 100),
};

pub static DOUBLING: KernelSpec = KernelSpec {
    name: "slice_doubling",
    shape: "(slice_doubling scope block [width max_doublings] n)",
    summary: "Slice sampling of a single continuous choice by doubling, for posteriors of unknown width; width 1 and max_doublings 20 if left out",
    example: "(slice_doubling default one 0.5 10 1000)",
    positional: &[],
    optional: &["width", "max_doublings"],
    options: &[],
    build: |arguments| build(arguments, Search::Double, 20),
};

const WIDTH: f64 = 1.0;
/// 2⁶⁰ widths are more than any posterior has.
const MOST_DOUBLINGS: u64 = 60;

fn build(
    arguments: &Arguments<'_>,
    search: Search,
    most: u64,
) -> Result<Box<dyn Kernel>, Diagnostic> {
    let (width, most) = match &arguments.positional[..] {
        [width, most] => (read_width(width)?, read_most(most, search)?),
        _ => (WIDTH, most),
    };
    let how = How { search, width, most };
    Ok(Box::new(SliceKernel {
        target: arguments.target.clone(),
        how,
        scaffold: Scaffold::new(),
        spare: Vec::new(),
    }))
}

fn read_width(argument: &Argument<'_>) -> Result<f64, Diagnostic> {
    let width = argument.value.as_number().filter(|width| *width > 0.0 && width.is_finite());
    width.ok_or_else(|| argument.error("a positive width"))
}

fn read_most(argument: &Argument<'_>, search: Search) -> Result<u64, Diagnostic> {
    let most = argument.value.as_integer().and_then(|n| u64::try_from(n).ok());
    match search {
        Search::StepOut => most
            .filter(|most| *most >= 1)
            .ok_or_else(|| argument.error("a number of steps, at least 1")),
        Search::Double => most
            .filter(|most| *most <= MOST_DOUBLINGS)
            .ok_or_else(|| argument.error("a number of doublings, from 0 to 60")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Search {
    StepOut,
    Double,
}

/// How the interval around the current value is found.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub search: Search,
    pub width: f64,
    /// Steps or doublings at most.
    pub most: u64,
}

struct SliceKernel {
    target: Target,
    how: How,
    scaffold: Scaffold,
    spare: Vec<NodeId>,
}

impl Kernel for SliceKernel {
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let SliceKernel { target, how, scaffold, spare } = self;
        target.moves(trace, rng, log, spare, &mut |trace, principals, _, rng, log| {
            // The number of blocks cannot change: the structure is fixed.
            let mut conditional = Conditional::of(trace, scaffold, principals, how.name())?;
            let x = how.draw(&mut conditional, rng)?;
            conditional.commit(x, &mut log.tally)
        })
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        let mut explanation =
            blocks::explain(look, &self.target, &mut |look, principals, block| {
                let name = self.how.name();
                match Conditional::of(look.trace, &mut self.scaffold, principals, name) {
                    Ok(_) => block.advice = advice::exact(block),
                    Err(error) => block.advice = vec![error.to_string()],
                }
                Ok(())
            })?;
        let How { width, most, .. } = self.how;
        explanation.notes.push(match self.how.search {
            Search::StepOut => {
                format!("steps out by {width}, to {most} times that at most; each point tried reads the whole scaffold")
            }
            Search::Double => {
                format!("doubles an interval of {width}, {most} times at most; each point tried reads the whole scaffold")
            }
        });
        Ok(explanation)
    }

    /// Nothing is learnt.
    fn save(&self, _: &mut Vec<u8>) -> Result<(), &'static str> {
        let SliceKernel { target: _, how: _, scaffold: _, spare: _ } = self;
        Ok(())
    }

    fn load(&mut self, _: &mut Input<'_>) -> Option<()> {
        Some(())
    }
}

impl How {
    fn name(&self) -> &'static str {
        match self.search {
            Search::StepOut => STEPPING_OUT.name,
            Search::Double => DOUBLING.name,
        }
    }

    /// The next value.
    pub fn draw(&self, conditional: &mut Conditional<'_>, rng: &mut Rng) -> Result<f64, EvalError> {
        if let Line::Whole { .. } = conditional.line {
            return conditional.whole_number(rng);
        }
        let slice = conditional.slice(rng);
        if let Line::Circle = conditional.line {
            let f = &mut |x| conditional.log_density(wrap(x));
            let turn = Interval::around(slice.x0, TURN, rng);
            return Ok(wrap(slice.shrink(turn, f, rng, &mut |_, _| Ok(true))?));
        }
        let f = &mut |x| conditional.log_density(x);
        match self.search {
            Search::StepOut => {
                let interval = slice.step_out(self.width, self.most, f, rng)?;
                slice.shrink(interval, f, rng, &mut |_, _| Ok(true))
            }
            Search::Double => {
                let found = slice.double(self.width, self.most, f, rng)?;
                slice.shrink(found.interval, f, rng, &mut |x, f| found.is_acceptable(x, &slice, f))
            }
        }
    }
}

/// Where a number can be.
#[derive(Clone, Copy, Debug)]
enum Line {
    Reals {
        low: f64,
        high: f64,
    },
    Circle,
    /// Whole numbers, both ends included.
    Whole {
        low: f64,
        high: f64,
    },
}

impl Line {
    fn ends(self) -> (f64, f64) {
        match self {
            Line::Reals { low, high } | Line::Whole { low, high } => (low, high),
            Line::Circle => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }
}

/// The law of a choice that is a single number given everything else: its log density, up to a constant,
/// at any value. Dropped, it leaves the choice as it was.
pub struct Conditional<'t> {
    proposal: Proposal<'t>,
    current: f64,
    line: Line,
    /// Where the density was last asked for: the value that the trace has now.
    asked: Option<f64>,
    evaluations: u64,
    /// Nothing is ever drawn from it: everything that depends on the choice follows from it.
    unused: Rng,
}

/// A given value, as if a symmetric walk had come to it.
struct At(f64);

impl Proposer for At {
    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(true)
    }

    fn propose(&mut self, _: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        Ok(Proposed::Local { value: Value::Number(self.0), log_q_ratio: 0.0 })
    }
}

impl<'t> Conditional<'t> {
    /// An error if the block is not one continuous number, or decides what exists.
    pub fn of(
        trace: &'t mut Trace,
        scaffold: &'t mut Scaffold,
        principals: &[NodeId],
        kernel: &str,
    ) -> Result<Conditional<'t>, EvalError> {
        let [principal] = principals[..] else {
            let span = trace.origin(principals[0]).1;
            let message = format!(
                "{kernel} moves a single random choice, and this block has {} of them",
                principals.len()
            );
            return Err(EvalError::other(span, message)
                .hint("use the block one or each, or a scope with a block for each choice"));
        };
        let (current, line) = line(&trace.choice(principal)?, kernel)?;
        Conditional::along(trace, scaffold, principal, (current, line), kernel)
    }

    /// The same for a choice that is a whole number; none if it is another kind of choice.
    pub fn of_whole_number(
        trace: &'t mut Trace,
        scaffold: &'t mut Scaffold,
        principal: NodeId,
    ) -> Result<Option<Conditional<'t>>, EvalError> {
        let choice = trace.choice(principal)?;
        let (Support::Integers { low, high }, Value::Number(current)) =
            (choice.support()?, choice.current())
        else {
            return Ok(None);
        };
        let at = (*current, Line::Whole { low, high });
        Conditional::along(trace, scaffold, principal, at, "a slice").map(Some)
    }

    fn along(
        trace: &'t mut Trace,
        scaffold: &'t mut Scaffold,
        principal: NodeId,
        (current, line): (f64, Line),
        kernel: &str,
    ) -> Result<Conditional<'t>, EvalError> {
        let proposal = Proposal::open(trace, scaffold, &[principal], &mut At(current))?;
        if let Some(structure) = proposal.scaffold().restructured(proposal.trace()) {
            let (what, span) = proposal.trace().origin(structure);
            let message = format!(
                "{kernel} needs fixed structure, and here the choice decides what exists ({what})"
            );
            return Err(EvalError::other(span, message).hint("use mh for this choice"));
        }
        let unused = Rng::unused();
        Ok(Conditional { proposal, current, line, asked: None, evaluations: 1, unused })
    }

    /// A slice through the current value.
    pub fn slice(&self, rng: &mut Rng) -> Slice {
        Slice::through(self.current, self.proposal.log_old(), self.line.ends(), rng)
    }

    /// The next value of a whole number.
    fn whole_number(&mut self, rng: &mut Rng) -> Result<f64, EvalError> {
        let (current, log_old, ends) = (self.current, self.proposal.log_old(), self.line.ends());
        integers::draw(current, log_old, ends, &mut |x| self.log_density(x), rng)
    }

    pub fn log_density(&mut self, x: f64) -> Result<f64, EvalError> {
        self.proposal.trace().stop_if_asked()?;
        self.evaluations += 1;
        self.asked = Some(x);
        self.proposal.reconsider(&mut At(x), &mut self.unused)?;
        debug_assert!(!self.unused.was_used(), "the structure is fixed");
        Ok(self.proposal.log_new())
    }

    /// Gives the choice this value, which must be possible.
    pub fn commit(mut self, x: f64, tally: &mut Tally) -> Result<(), EvalError> {
        if self.asked != Some(x) && x != self.current {
            self.log_density(x)?;
        }
        let sections = self.evaluations * self.proposal.scaffold().sections() as u64;
        tally.transitions += 1;
        tally.accepted += 1;
        tally.sections_used += sections;
        tally.population += sections;
        if x != self.current {
            self.proposal.commit();
        }
        Ok(())
    }
}

/// The current value and the support of a choice that is a continuous number.
fn line(choice: &Choice<'_>, kernel: &str) -> Result<(f64, Line), EvalError> {
    let support = choice.support();
    let (what, span) = choice.origin();
    let discrete = match &support {
        Ok(support) => !support.is_continuous(),
        Err(_) => false,
    };
    if discrete || matches!(choice.current(), Value::Bool(_)) {
        let message = format!("{kernel} moves continuous choices, and {what} is discrete");
        return Err(EvalError::other(span, message).hint("use mh or gibbs for this choice"));
    }
    match (support, choice.current()) {
        (Ok(Support::Reals), Value::Number(x)) => {
            Ok((*x, Line::Reals { low: f64::NEG_INFINITY, high: f64::INFINITY }))
        }
        (Ok(Support::Interval { low, high }), Value::Number(x)) => {
            Ok((*x, Line::Reals { low, high }))
        }
        (Ok(Support::Circle), Value::Number(x)) => Ok((*x, Line::Circle)),
        (Err(error), Value::Number(_)) => Err(error),
        _ => {
            let message = format!("{kernel} moves a single number, and {what} has several");
            Err(EvalError::other(span, message).hint("use mh with 'drift for this choice"))
        }
    }
}
