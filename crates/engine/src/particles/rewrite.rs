//! Writes a path that changes which branches run: as a proposal of just these values, so that structure
//! follows by the one way in which it ever changes. Nothing is drawn: no branch makes a choice, but
//! those that take an observed value.

use rustc_hash::FxHashMap;
use smidgen_value::{Rng, Value};

use crate::error::EvalError;
use crate::id::NodeId;
use crate::trace::Trace;
use crate::trace::proposal::{Choice, Proposal, Proposed, Proposer};
use crate::trace::scaffold::Scaffold;

struct Given(FxHashMap<NodeId, Value>);

impl Proposer for Given {
    fn is_local(&self, _: &Choice<'_>) -> Result<bool, EvalError> {
        Ok(false)
    }

    fn propose(&mut self, choice: &Choice<'_>, _: &mut Rng) -> Result<Proposed, EvalError> {
        let value = self.0.get(&choice.node).unwrap_or(choice.current());
        Ok(Proposed::Drawn(value.clone()))
    }
}

/// Gives choices these values; the number of those that changed. 0, and nothing done, if something that
/// follows from them leaves its domain.
pub(super) fn rewrite(
    trace: &mut Trace,
    scaffold: &mut Scaffold,
    values: impl IntoIterator<Item = (NodeId, Value)>,
    rng: &mut Rng,
) -> Result<usize, EvalError> {
    let changes = |(id, value): &(NodeId, Value)| !trace.node(*id).value.is_identical(value);
    let values: Vec<(NodeId, Value)> = values.into_iter().filter(changes).collect();
    if values.is_empty() {
        return Ok(0);
    }
    let principals: Vec<NodeId> = values.iter().map(|(id, _)| *id).collect();
    let mut given = Given(values.into_iter().collect());
    let proposal = Proposal::propose(trace, scaffold, &principals, &mut given, rng)?;
    if proposal.log_new() == f64::NEG_INFINITY {
        return Ok(0);
    }
    proposal.commit();
    Ok(principals.len())
}
