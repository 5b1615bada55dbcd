//! `(gibbs scope block n)`: enumerative Gibbs over a block of finite choices (theory 8.2).
//!
//! Every combination of values is weighed (see [`Enumeration`]) and one is drawn in proportion to its
//! weight W: P(k) = W_k / Σ_j W_j. Nothing is rejected; counted is which transitions
//! changed a value. If every weight is 0 the state stays as it is.
//!
//! An observation that moves from one lasting choice to another makes what is redrawn depend on
//! where one comes from, and weights can only be compared with the current one. Then one of the
//! other combinations is drawn uniformly and accepted with probability min(1, W_k / W_current).

use smidgen_engine::{DrawnFrom, Enumeration, EvalError, NodeId, Trace};
use smidgen_value::Rng;
use smidgen_value::bytes::Input;

use crate::block::{Block, Scope, Selection, Target};
use crate::explain::{Explanation, Look, blocks};
use crate::kernel::Kernel;
use crate::record::Tally;
use crate::run::Log;
use crate::spec::{Arguments, KernelSpec};

pub static SPEC: KernelSpec = KernelSpec {
    name: "gibbs",
    shape: "(gibbs scope block n)",
    summary: "Gibbs: n draws of a block of finite choices from their conditional law, by enumeration of all their values",
    example: "(gibbs default one 100)",
    positional: &[],
    optional: &[],
    options: &[],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Box<dyn Kernel>, smidgen_lang::Diagnostic> {
    Ok(Box::new(Gibbs::new(arguments.target.clone())))
}

pub struct Gibbs {
    target: Target,
    enumeration: Enumeration,
    spare: Vec<NodeId>,
}

impl Gibbs {
    pub fn new(target: Target) -> Gibbs {
        Gibbs { target, enumeration: Enumeration::new(), spare: Vec::new() }
    }
}

impl Kernel for Gibbs {
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let Gibbs { target, enumeration, spare } = self;
        target.moves(trace, rng, log, spare, &mut |trace, principals, selection, rng, log| {
            gibbs_move(trace, enumeration, principals, selection, rng, &mut log.tally)
        })
    }

    fn starts_anywhere(&self) -> bool {
        self.target.block == Block::All
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        blocks::explain(look, &self.target, &mut |look, principals, block| {
            let mut enumeration = Enumeration::new();
            let weighed = enumeration.weigh(look.trace, principals, DrawnFrom::Nothing, look.rng);
            block.advice = match weighed {
                Ok(()) => {
                    let of = enumeration.log_weights().len();
                    vec![format!("one of {of} combinations of values is drawn")]
                }
                Err(error) => vec![error.to_string()],
            };
            Ok(())
        })
    }

    /// Nothing is learnt.
    fn save(&self, _: &mut Vec<u8>) -> Result<(), &'static str> {
        let Gibbs { target: _, enumeration: _, spare: _ } = self;
        Ok(())
    }

    fn load(&mut self, _: &mut Input<'_>) -> Option<()> {
        Some(())
    }
}

/// The scope that a block was drawn from.
pub fn drawn_from(selection: Selection<'_>) -> DrawnFrom<'_> {
    match selection {
        None => DrawnFrom::Nothing,
        Some((Scope::Default, _)) => DrawnFrom::Choices,
        Some((Scope::Named(scope), _)) => DrawnFrom::Scope(scope),
    }
}

/// One draw of a block from its conditional law.
pub fn gibbs_move(
    trace: &mut Trace,
    enumeration: &mut Enumeration,
    principals: &[NodeId],
    selection: Selection<'_>,
    rng: &mut Rng,
    tally: &mut Tally,
) -> Result<(), EvalError> {
    enumeration.weigh(trace, principals, drawn_from(selection), rng)?;
    draw_candidate(trace, enumeration, rng, tally)
}

/// One of the candidates that were weighed.
pub fn draw_candidate(
    trace: &mut Trace,
    enumeration: &mut Enumeration,
    rng: &mut Rng,
    tally: &mut Tally,
) -> Result<(), EvalError> {
    let chosen = match enumeration.is_pairwise() {
        true => draw_pair(enumeration.log_weights(), rng),
        false => enumeration.draw(rng.uniform()),
    };
    tally.draw(enumeration.absorbing() as u64, chosen > 0);
    if chosen > 0 {
        enumeration.install(trace, chosen)?;
    }
    Ok(())
}

/// One of the others, drawn uniformly, if it is accepted; else the first.
fn draw_pair(log_weights: &[f64], rng: &mut Rng) -> usize {
    let others = log_weights.len() - 1;
    if others == 0 {
        return 0;
    }
    let (k, log_u) = (1 + rng.below(others), rng.log_uniform());
    let (current, other) = (log_weights[0], log_weights[k]);
    let accepts = match current == f64::NEG_INFINITY {
        true => other > current,
        false => log_u < other - current,
    };
    if accepts { k } else { 0 }
}
