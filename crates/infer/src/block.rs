//! Which choices a kernel moves: a scope and a block of it.

use smidgen_engine::tag::{Scopes, name_of_scope};
use smidgen_engine::{EvalError, NodeId, Proposal, Trace};
use smidgen_value::{Rng, Symbol, Value};

use crate::run::Log;

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

/// As in a kernel.
impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.scope {
            Scope::Default => write!(f, "default ")?,
            Scope::Named(scope) => write!(f, "{} ", shown(scope))?,
        }
        match &self.block {
            Block::Id(id) => write!(f, "{id}"),
            Block::One => write!(f, "one"),
            Block::All => write!(f, "all"),
            Block::Each => write!(f, "each"),
            Block::Range { low, high } => write!(f, "(ordered_range {low} {high})"),
        }
    }
}

/// A scope as a program writes it.
fn shown(scope: &Value) -> String {
    name_of_scope(scope).map_or_else(|| scope.to_string(), str::to_owned)
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
    /// Every block in turn, see [`Sweep`].
    Sweep(Sweep),
    /// There is nothing to move.
    Nothing,
}

/// The scope and the number of its blocks, if the block was drawn among them.
pub type Selection<'a> = Option<(&'a Scope, usize)>;

/// One move of a block.
pub type OneMove<'a> = dyn FnMut(&mut Trace, &[NodeId], Selection<'_>, &mut Rng, &mut Log<'_>) -> Result<(), EvalError>
    + 'a;

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

    /// The same in the trace as proposed. What is rehearsed has no tags.
    pub fn count_in(&self, proposal: &Proposal<'_>) -> usize {
        match self {
            Scope::Default => proposal.choices(),
            Scope::Named(_) => self.count(proposal.trace()),
        }
    }
}

/// An unconstrained choice, drawn uniformly, and of how many.
fn draw_choice(trace: &Trace, rng: &mut Rng) -> Option<(NodeId, usize)> {
    let choices = trace.choices();
    (!choices.is_empty()).then(|| (choices[rng.below(choices.len())], choices.len()))
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
                spare.extend(draw_choice(trace, rng).map(|(choice, _)| choice));
                Turn::Drawn { principals: spare, blocks }
            }
            (Scope::Default, Block::All) => {
                spare.extend_from_slice(trace.choices());
                Turn::Block(spare)
            }
            (Scope::Default, _) => Turn::Sweep(Sweep::of(self.clone())),
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
            (Scope::Named(_), Block::Each) => Turn::Sweep(Sweep::of(self.clone())),
            (Scope::Named(scope), Block::Range { low, high }) => {
                let ids = trace.scopes().ordered_blocks(scope);
                match ids.iter().any(|id| low <= id && id <= high) {
                    true => Turn::Sweep(Sweep::of(self.clone())),
                    false => Turn::Nothing,
                }
            }
        }
    }

    /// Makes the moves of one transition: of the block drawn, or of every block in turn.
    pub fn moves(
        &self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
        spare: &mut Vec<NodeId>,
        one_move: &mut OneMove<'_>,
    ) -> Result<(), EvalError> {
        if let (Scope::Default, Block::One) = (&self.scope, &self.block)
            && let Some((choice, blocks)) = draw_choice(trace, rng)
        {
            // By far the most frequent: no list is filled.
            one_move(trace, &[choice], Some((&self.scope, blocks)), rng, log)?;
            log.kinds(trace, &[choice]);
            return Ok(());
        }
        match self.turn(trace, rng, std::mem::take(spare)) {
            Turn::Nothing => log.warn(self.nothing(trace)),
            Turn::Drawn { principals, blocks } => {
                one_move(trace, &principals, Some((&self.scope, blocks)), rng, log)?;
                log.kinds(trace, &principals);
                *spare = principals;
            }
            Turn::Block(principals) => {
                one_move(trace, &principals, None, rng, log)?;
                log.kinds(trace, &principals);
                *spare = principals;
            }
            Turn::Sweep(mut sweep) => {
                while let Some(principals) = sweep.next(trace) {
                    one_move(trace, &principals, None, rng, log)?;
                    log.kinds(trace, &principals);
                }
            }
        }
        Ok(())
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
            ids => {
                let ids: Vec<Value> = ids.iter().map(|id| Value::symbol(&shown(id))).collect();
                format!("scopes with random choices: {}", list(&ids))
            }
        };
        match &self.scope {
            Scope::Default => {
                "the program has no unconstrained random choice: nothing to infer".into()
            }
            Scope::Named(scope) if trace.scopes().number_of_blocks(scope) == 0 => {
                format!(
                    "scope {} holds no unconstrained random choice ({})",
                    shown(scope),
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
                let scope = shown(scope);
                format!(
                    "{wanted} of scope {scope} holds no unconstrained random choice (blocks: {blocks})"
                )
            }
        }
    }
}

/// Every block in turn, in a fixed order: of their ids, or of the choices' addresses. Blocks come and
/// go under way, so after each move the sweep goes on with the first live block that comes after
/// the last one in that order. That is the static schedule over all blocks there could ever be,
/// with those that do not exist left out, and keeps the posterior invariant whatever the moves
/// change; a list made at the start would not.
pub struct Sweep {
    target: Target,
    /// The rest of the schedule, last first, as of `population`.
    rest: Vec<Stop>,
    last: Option<Key>,
    population: Option<u64>,
}

#[derive(Clone, PartialEq, PartialOrd)]
enum Key {
    Address(u64),
    Block(Value),
}

struct Stop {
    key: Key,
    choice: Option<NodeId>,
}

impl Sweep {
    pub fn of(target: Target) -> Sweep {
        Sweep { target, rest: Vec::new(), last: None, population: None }
    }

    /// The choices of the next block; none at the end.
    pub fn next(&mut self, trace: &Trace) -> Option<Vec<NodeId>> {
        if self.population != Some(trace.population()) {
            self.population = Some(trace.population());
            self.rest = self.target.stops(trace);
            self.rest.retain(|stop| self.last.as_ref().is_none_or(|last| stop.key > *last));
            self.rest.reverse();
        }
        let stop = self.rest.pop()?;
        let principals = match (&stop.key, &self.target.scope) {
            (Key::Block(id), Scope::Named(scope)) => trace.scopes().block(scope, id).to_vec(),
            _ => stop.choice.into_iter().collect(),
        };
        self.last = Some(stop.key);
        Some(principals)
    }
}

impl Target {
    /// All stops of a sweep, in order.
    fn stops(&self, trace: &Trace) -> Vec<Stop> {
        match &self.scope {
            Scope::Default => trace
                .choices_by_address()
                .into_iter()
                .map(|(address, id)| Stop { key: Key::Address(address), choice: Some(id) })
                .collect(),
            Scope::Named(scope) => {
                let mut ids = trace.scopes().ordered_blocks(scope);
                if let Block::Range { low, high } = &self.block {
                    ids.retain(|id| low <= id && id <= high);
                }
                ids.into_iter().map(|id| Stop { key: Key::Block(id), choice: None }).collect()
            }
        }
    }
}
