//! What there is to move: the blocks of a kernel's target, each with its border and sections or the
//! reason why it has none. Of very many blocks some are looked at, evenly spread.

use smidgen_engine::{EvalError, NodeId, Partition, Refusal, Scaffold, Trace};
use smidgen_value::Value;

use super::advice;
use super::{
    BlockExplanation, Border, Choices, Explanation, Look, Place, Refused, SHOWN, ScaffoldSizes,
    SectionKind,
};
use crate::block::{Block, Scope, Target};

/// Blocks that are looked at.
const LOOKED_AT: usize = 200;

/// What a kernel adds to the description of a block, given its choices.
pub type Detail<'a> =
    dyn FnMut(&mut Look<'_>, &[NodeId], &mut BlockExplanation) -> Result<(), EvalError> + 'a;

/// Explains the blocks of a target; `detail` is asked once for blocks that look alike.
pub fn explain(
    look: &mut Look<'_>,
    target: &Target,
    detail: &mut Detail<'_>,
) -> Result<Explanation, EvalError> {
    let blocks = list(look.trace, target);
    let mut explanation = Explanation {
        target: words(target, blocks.len()),
        draws_block: matches!(target.block, Block::One),
        number_of_blocks: blocks.len(),
        ..Explanation::default()
    };
    if blocks.is_empty() {
        explanation.target.clear();
        explanation.notes.push(target.nothing(look.trace));
        return Ok(explanation);
    }
    let (mut partition, mut scaffold) = (Partition::new(), Scaffold::new());
    let mut sorts: Vec<(BlockExplanation, Vec<NodeId>)> = Vec::new();
    let step = blocks.len().div_ceil(LOOKED_AT).max(1);
    for (id, principals) in blocks.into_iter().step_by(step) {
        explanation.looked_at += 1;
        let found = describe(look, id, &principals, &mut partition, &mut scaffold);
        match sorts.iter_mut().find(|(known, _)| look_alike(known, &found)) {
            Some((known, example)) => {
                if merge(known, found) {
                    *example = principals;
                }
            }
            None => sorts.push((found, principals)),
        }
    }
    explanation.sorts = sorts.len();
    if sorts.len() > SHOWN {
        sorts.sort_by_key(|(block, _)| std::cmp::Reverse(block.scaffold.absorbing));
        sorts.truncate(SHOWN);
    }
    for (mut block, principals) in sorts {
        detail(look, &principals, &mut block)?;
        explanation.blocks.push(block);
    }
    Ok(explanation)
}

/// The blocks that transitions move, each as one.
fn list(trace: &Trace, target: &Target) -> Vec<(Option<Value>, Vec<NodeId>)> {
    let scope = match (&target.scope, &target.block) {
        (Scope::Default, Block::All) if trace.choices().is_empty() => return Vec::new(),
        (Scope::Default, Block::All) => return vec![(None, trace.choices().to_vec())],
        (Scope::Default, _) => {
            let choices = trace.choices_by_address().into_iter();
            return choices.map(|(_, id)| (None, vec![id])).collect();
        }
        (Scope::Named(scope), _) => scope,
    };
    let mut ids = trace.scopes().ordered_blocks(scope);
    let members = |id: &Value| trace.scopes().block(scope, id).to_vec();
    match &target.block {
        Block::All if ids.is_empty() => Vec::new(),
        Block::All => vec![(None, ids.iter().flat_map(members).collect())],
        Block::Id(wanted) => {
            ids.retain(|id| id == wanted);
            ids.into_iter().map(|id| (Some(id.clone()), members(&id))).collect()
        }
        Block::Range { low, high } => {
            ids.retain(|id| low <= id && id <= high);
            ids.into_iter().map(|id| (Some(id.clone()), members(&id))).collect()
        }
        Block::One | Block::Each => {
            ids.into_iter().map(|id| (Some(id.clone()), members(&id))).collect()
        }
    }
}

/// What one transition moves.
fn words(target: &Target, blocks: usize) -> String {
    let single = matches!(target.scope, Scope::Default);
    let noun = if single { "random choice" } else { "block" };
    let of = match &target.scope {
        Scope::Default => String::new(),
        Scope::Named(scope) => format!(" of scope {scope}"),
    };
    match &target.block {
        Block::Id(id) => format!("block {id}{of}"),
        Block::One if blocks == 1 => format!("the one {noun}{of}"),
        Block::One => format!("one of {blocks} {noun}s{of}, drawn at random"),
        Block::All if single => "all random choices together".to_owned(),
        Block::All => format!("all blocks{of} together"),
        Block::Each => format!("each {noun}{of} in turn ({blocks} now)"),
        Block::Range { low, high } => {
            format!("each of the blocks {low} to {high}{of} in turn ({blocks} now)")
        }
    }
}

fn describe(
    look: &mut Look<'_>,
    id: Option<Value>,
    principals: &[NodeId],
    partition: &mut Partition,
    scaffold: &mut Scaffold,
) -> BlockExplanation {
    let mut block = BlockExplanation {
        id: id.map(|id| id.to_string()),
        count: 1,
        ..BlockExplanation::default()
    };
    for choice in principals {
        let place = Place::of(look, *choice);
        match block.choices.iter_mut().find(|known| known.place == place) {
            Some(known) => known.count += 1,
            None => block.choices.push(Choices { place, count: 1 }),
        }
    }
    match partition.find(look.trace, principals) {
        Ok(()) => describe_sections(&mut block, look, principals, partition),
        Err(refusal) => block.refusal = Some(refused(&refusal)),
    }
    scaffold.build(look.trace, principals);
    block.scaffold = ScaffoldSizes {
        target: scaffold.target.len(),
        absorbing: scaffold.sections() + scaffold.makers.len(),
        transient: scaffold.transient_nodes(look.trace).count(),
    };
    block
}

fn describe_sections(
    block: &mut BlockExplanation,
    look: &Look<'_>,
    principals: &[NodeId],
    partition: &Partition,
) {
    let border = |hub: &NodeId| Border {
        place: Place::of(look, *hub),
        is_choice: principals.contains(hub),
        children: look.trace.uses(*hub),
    };
    for border in partition.hubs.iter().map(border) {
        // Borders made at the same place are told once.
        match block.border.iter_mut().find(|known| known.place == border.place) {
            Some(known) => known.children += border.children,
            None => block.border.push(border),
        }
    }
    block.global_nodes = partition.global.len();
    block.population = partition.population();
    block.compiled = partition.is_compiled(look.trace);
    block.populations = (block.population, block.population);
    block.strata = partition.strata(look.trace).iter().filter(|size| **size > 0).count();
    block.kinds = (partition.kinds(look.trace).into_iter())
        .map(|count| SectionKind {
            description: count.kind.to_string(),
            sections: count.sections,
            entries: count.kind.entries,
            nodes: count.kind.nodes,
            absorbing: count.kind.absorbing,
            hard: count.kind.hard,
            signature: count.kind.signature,
        })
        .collect();
}

fn refused(refusal: &Refusal) -> Refused {
    Refused { reason: refusal.to_string(), span: refusal.span(), remedy: advice::remedy(refusal) }
}

/// Whether two blocks differ in nothing but numbers.
fn look_alike(a: &BlockExplanation, b: &BlockExplanation) -> bool {
    let places = |block: &BlockExplanation| -> Vec<Place> {
        let choices = block.choices.iter().map(|choices| choices.place.clone());
        choices.chain(block.border.iter().map(|border| border.place.clone())).collect()
    };
    let kinds = |block: &BlockExplanation| -> Vec<String> {
        let mut kinds: Vec<String> =
            block.kinds.iter().map(|kind| kind.description.clone()).collect();
        kinds.sort();
        kinds
    };
    let structure = |block: &BlockExplanation| block.scaffold.transient > 0;
    a.refusal == b.refusal
        && structure(a) == structure(b)
        && places(a) == places(b)
        && kinds(a) == kinds(b)
}

/// Counts a block to those like it; true if it is the new example.
fn merge(known: &mut BlockExplanation, mut found: BlockExplanation) -> bool {
    let (low, high) = known.populations;
    let populations = (low.min(found.population), high.max(found.population));
    let count = known.count + 1;
    let larger =
        (found.population, found.scaffold.absorbing) > (known.population, known.scaffold.absorbing);
    if larger {
        std::mem::swap(known, &mut found);
    }
    (known.populations, known.count) = (populations, count);
    larger
}
