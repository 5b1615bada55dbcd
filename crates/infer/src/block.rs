//! Which choices a kernel moves: a scope and a block of it.

use smidgen_engine::tag::Scopes;
use smidgen_engine::{NodeId, Trace};
use smidgen_value::{Rng, Symbol, Value};

/// The choices a kernel is about.
#[derive(Clone, Debug)]
pub struct Target {
    pub scope: Scope,
    pub block: Block,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Scope {
    /// Every unconstrained choice is its own block.
    Default,
    Named(Value),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Id(Value),
    /// One block, drawn uniformly.
    One,
    /// All blocks together, as one.
    All,
    /// Every block in turn, in the order of their ids.
    Each,
    /// The same, restricted to ids from `low` to `high`, both included.
    Range {
        low: Value,
        high: Value,
    },
}

/// The blocks of one transition. The names of choices stay valid only until the trace changes:
/// a sweep asks for each block's members when its turn comes.
pub enum Turn {
    /// One block, of so many that could have been drawn.
    Drawn {
        principals: Vec<NodeId>,
        blocks: usize,
    },
    Block(Vec<NodeId>),
    /// Blocks of a named scope, in this order.
    Sweep(Vec<Value>),
    /// Choices of the default scope, in this order.
    SweepChoices(Vec<NodeId>),
    /// There is nothing to move.
    Nothing,
}

impl Scope {
    /// Scope `default`, or the scope of this name.
    pub fn of(value: Value) -> Scope {
        match &value {
            Value::Symbol(name) if *name == Symbol::new("default") => Scope::Default,
            _ => Scope::Named(value),
        }
    }

    /// Number of blocks.
    pub fn count(&self, trace: &Trace) -> usize {
        match self {
            Scope::Default => trace.choices().len(),
            Scope::Named(id) => trace.scopes().number_of_blocks(id),
        }
    }
}

impl Target {
    /// Draws or lists the blocks of one transition. `spare` is a buffer to fill.
    pub fn turn(&self, trace: &Trace, rng: &mut Rng, mut spare: Vec<NodeId>) -> Turn {
        spare.clear();
        let blocks = self.scope.count(trace);
        if blocks == 0 {
            return Turn::Nothing;
        }
        match (&self.scope, &self.block) {
            (Scope::Default, Block::One) => {
                spare.push(trace.choices()[rng.below(blocks)]);
                Turn::Drawn { principals: spare, blocks }
            }
            (Scope::Default, Block::All) => {
                spare.extend_from_slice(trace.choices());
                Turn::Block(spare)
            }
            (Scope::Default, _) => {
                spare.extend_from_slice(trace.choices());
                spare.sort_unstable();
                Turn::SweepChoices(spare)
            }
            (Scope::Named(scope), Block::One) => {
                spare.extend_from_slice(trace.scopes().block_at(scope, rng.below(blocks)));
                Turn::Drawn { principals: spare, blocks }
            }
            (Scope::Named(scope), Block::All) => {
                for k in 0..blocks {
                    spare.extend_from_slice(trace.scopes().block_at(scope, k));
                }
                Turn::Block(spare)
            }
            (Scope::Named(scope), Block::Id(id)) => {
                spare.extend_from_slice(trace.scopes().block(scope, id));
                if spare.is_empty() { Turn::Nothing } else { Turn::Block(spare) }
            }
            (Scope::Named(scope), Block::Each) => Turn::Sweep(trace.scopes().ordered_blocks(scope)),
            (Scope::Named(scope), Block::Range { low, high }) => {
                let mut ids = trace.scopes().ordered_blocks(scope);
                ids.retain(|id| low <= id && id <= high);
                if ids.is_empty() { Turn::Nothing } else { Turn::Sweep(ids) }
            }
        }
    }

    /// Why there is nothing to move, and what there is.
    pub fn nothing(&self, trace: &Trace) -> String {
        let list = |ids: &[Value]| {
            let shown: Vec<String> = ids.iter().take(10).map(Value::to_string).collect();
            let more = if ids.len() > 10 { " ..." } else { "" };
            format!("{}{more}", shown.join(" "))
        };
        let known = |scopes: &Scopes| match scopes.ids() {
            ids if ids.is_empty() => "the program has no scope".to_owned(),
            ids => format!("scopes with random choices: {}", list(&ids)),
        };
        match &self.scope {
            Scope::Default => {
                "the program has no unconstrained random choice: nothing to infer".into()
            }
            Scope::Named(scope) if trace.scopes().number_of_blocks(scope) == 0 => {
                format!(
                    "scope {scope} holds no unconstrained random choice ({})",
                    known(trace.scopes())
                )
            }
            Scope::Named(scope) => {
                let blocks = list(&trace.scopes().ordered_blocks(scope));
                let wanted = match &self.block {
                    Block::Id(id) => format!("block {id}"),
                    Block::Range { low, high } => format!("blocks {low} to {high}"),
                    Block::One | Block::All | Block::Each => "it".to_owned(),
                };
                format!(
                    "{wanted} of scope {scope} holds no unconstrained random choice (blocks: {blocks})"
                )
            }
        }
    }
}
