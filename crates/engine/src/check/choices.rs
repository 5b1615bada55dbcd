//! The lists of choices, the blocks of scopes and the statistics of made procedures are what the nodes say.

use super::*;

/// The choices are the live random nodes that nothing constrains, each at its place.
pub(super) fn check_choices(trace: &Trace) -> Check {
    for (place, id) in trace.choices.iter().enumerate() {
        let there = is_live(trace, *id) && trace.node(*id).choice_place as usize == place;
        ensure(there, || {
            format!("a choice is live and knows its place: {} at place {place}", named(trace, *id))
        })?;
    }
    for id in trace.live_nodes() {
        let node = trace.node(id);
        let may_be_observed = node.is_random() || matches!(node.op, Op::Plate(_));
        ensure(!node.constrained || may_be_observed, || {
            format!("what is constrained is random: {}", named(trace, id))
        })?;
        let listed = trace.choices.get(node.choice_place as usize) == Some(&id);
        ensure(listed || node.choice_place == NOWHERE, || {
            format!("a place among the choices is real: {} has none", named(trace, id))
        })?;
        ensure(listed == (node.is_random() && !node.constrained), || {
            let wrong = if listed { "is listed" } else { "is not listed" };
            format!("choices are the unconstrained random nodes: {} {wrong}", named(trace, id))
        })?;
    }
    Ok(())
}

/// A block: its scope, its id and its members.
pub(super) struct Block<'t> {
    pub scope: Value,
    pub id: Value,
    pub members: &'t [NodeId],
}

/// The blocks of all scopes, those of a scope in the order of history. Fails if a block is empty
/// or cannot be found by its id.
pub(super) fn blocks(trace: &Trace) -> Result<Vec<Block<'_>>, String> {
    let scopes = trace.scopes();
    let mut found = Vec::new();
    for scope in scopes.ids() {
        let mut by_members = FxHashMap::default();
        for id in scopes.ordered_blocks(&scope) {
            by_members.insert(scopes.block(&scope, &id).as_ptr(), id);
        }
        for k in 0..scopes.number_of_blocks(&scope) {
            let members = scopes.block_at(&scope, k);
            ensure(!members.is_empty(), || {
                format!("no live block is empty: number {k} of scope {scope}")
            })?;
            let Some(id) = by_members.remove(&members.as_ptr()) else {
                return Err(format!(
                    "a block is found by its id: number {k} of scope {scope} is not"
                ));
            };
            found.push(Block { scope: scope.clone(), id, members });
        }
    }
    Ok(found)
}

/// Blocks and the memberships of choices agree.
pub(super) fn check_scopes(trace: &Trace) -> Check {
    let mut blocks = blocks(trace)?;
    // A membership does not say its scope. But one that all members of a block share, each at
    // its place, and that no other block has taken, is that block's; the largest blocks first,
    // for a block's members may all share another one.
    blocks.sort_by_key(|block| std::cmp::Reverse(block.members.len()));
    let mut taken: Vec<Membership> = Vec::new();
    let mut members = 0;
    for block in &blocks {
        members += block.members.len();
        for id in block.members {
            ensure(trace.is_choice(*id), || {
                format!(
                    "the members of blocks are choices: {} in block {} of scope {}",
                    named(trace, *id),
                    block.id,
                    block.scope
                )
            })?;
        }
        let has = |id: NodeId, place: usize, wanted: Option<Membership>| {
            let node = trace.node(id);
            let mine = node.memberships.iter().zip(node.tags.blocks(node.address));
            mine.filter(move |(m, tag)| {
                m.place() as usize == place
                    && *tag == block.id
                    && wanted.is_none_or(|wanted| m.same_block(wanted))
            })
        };
        let shared = has(block.members[0], 0, None).map(|(m, _)| *m).find(|m| {
            !taken.iter().any(|other| m.same_block(*other))
                && (block.members.iter().enumerate())
                    .all(|(k, id)| has(*id, k, Some(*m)).next().is_some())
        });
        match shared {
            Some(membership) => taken.push(membership),
            None => {
                return Err(format!(
                    "the members of a block know their places: those of block {} of scope {}, from {} on, do not",
                    block.id,
                    block.scope,
                    named(trace, block.members[0])
                ));
            }
        }
    }
    let mut memberships = 0;
    for id in &trace.choices {
        let node = trace.node(*id);
        ensure(node.memberships.len() == node.tags.blocks(node.address).count(), || {
            format!("a choice is in the blocks of its tags: {} is not", named(trace, *id))
        })?;
        memberships += node.memberships.len();
    }
    ensure(memberships == members, || {
        format!("blocks hold all their choices: {memberships} memberships, {members} members")
    })
}

// ---------------------------------------------------------------- statistics and values

fn draws_by_maker(trace: &Trace) -> FxHashMap<NodeId, Vec<&Value>> {
    let mut draws: FxHashMap<NodeId, Vec<&Value>> = FxHashMap::default();
    for id in trace.live_nodes() {
        if let Op::Draw(maker) = trace.node(id).op {
            draws.entry(maker).or_default().push(&trace.node(id).value);
        }
    }
    draws
}

/// The statistics of a maker are those of its live draws.
pub(super) fn check_statistics(trace: &Trace) -> Check {
    let draws = draws_by_maker(trace);
    for id in trace.live_nodes() {
        let Op::Maker(made) = &trace.node(id).op else { continue };
        let values = draws.get(&id).map_or(&[][..], Vec::as_slice);
        let counted = made.statistics.count();
        ensure(counted == values.len(), || {
            format!(
                "a maker counts its draws: {} counts {counted} of {}",
                named(trace, id),
                values.len()
            )
        })?;
        let kept = trace.with_params(id, |params| made.statistics.log_marginal(params));
        let rebuilt = trace.with_params(id, |params| {
            let mut statistics: Box<dyn Statistics> = made.maker.empty(params)?;
            values.iter().for_each(|value| statistics.add(value));
            statistics.log_marginal(params)
        });
        ensure(agree(&kept, &rebuilt), || {
            format!(
                "statistics are those of the draws: {} has log marginal {kept:?}, rebuilt {rebuilt:?}",
                named(trace, id)
            )
        })?;
    }
    Ok(())
}

fn agree(kept: &Result<f64, ArgumentError>, rebuilt: &Result<f64, ArgumentError>) -> bool {
    match (kept, rebuilt) {
        (Ok(a), Ok(b)) => {
            a.to_bits() == b.to_bits() || (a - b).abs() <= TOLERANCE * (1.0 + a.abs().max(b.abs()))
        }
        (Err(_), Err(_)) => true,
        _ => false,
    }
}
