//! `(reference_mh scope block ['test auto|thinned|scan|delayed] n)`: exact moves of continuous choices above many rows, by
//! proposals from a reference law.
//!
//! The reference is found once, in the warm-up, by Newton's method; the sums, the bounds and the test are chosen for it
//! ([`crate::reference`]) and then stay. A move by the thinned test reads almost none of the rows, and the more there are, the
//! fewer it reads. Where the rest of the program moves what the rows read, sums and bounds are made anew for the same
//! reference: they are functions of the rest, so each move leaves the posterior invariant; where it lets members in and out, they
//! are kept ([`members`]). A block that comes up outside a warm-up
//! has a reference that is a function of the rest as well, made anew when the rest has changed.

mod explain;
mod members;
mod patched;
mod saved;
mod tall;

use rustc_hash::FxHashMap;
use smidgen_engine::smooth::Form;
use smidgen_engine::taylor::Unserved;
use smidgen_engine::{EvalError, Fault, NodeId, Trace};
use smidgen_lang::Diagnostic;
use smidgen_value::bytes::Input;
use smidgen_value::{Rng, Value};

use crate::block::Target;
use crate::explain::{Explanation, Look};
use crate::hamiltonian::metric::Metric;
use crate::hamiltonian::{Block, Smoothed};
use crate::kernel::Kernel;
use crate::reference::preparation::{Test, Want};
use crate::run::{Log, Phase};
use crate::spec::{Arguments, KernelSpec};
use members::MemberBlocks;
pub use members::Service;
use patched::PatchedBlock;
use tall::TallBlock;
pub(super) use tall::TallDensity;

pub static SPEC: KernelSpec = KernelSpec {
    name: "reference_mh",
    shape: "(reference_mh scope block ['test auto|thinned|scan|delayed] n)",
    summary: "Exact moves of continuous choices above many rows from a reference law; reads few rows, or none",
    example: "(reference_mh default all 100)",
    positional: &[],
    optional: &[],
    options: &["test"],
    build,
};

/// Rows of one kind from which on they are sections, for who asked for this kernel (all others are computed whole at every move)
/// and for who did not.
const LEAST_ROWS: usize = 8;
const WORTH_IT: usize = 1000;
/// More coordinates than these make no reference for who did not ask for this kernel.
const MOST_COORDINATES: usize = 150;
/// Blocks that are prepared for where nobody asked for it, and blocks that are remembered.
const MOST_TRIED: usize = 16;
const MOST_BLOCKS: usize = 10_000;
/// How often trajectories accompany these moves at most, and the share of the work that they may take.
const SELDOM: u64 = 50;
const PREMIUM: f64 = 0.1;

fn build(arguments: &Arguments<'_>) -> Result<Box<dyn Kernel>, Diagnostic> {
    let want = match arguments.option("test") {
        None => Want::Any,
        Some(given) => match &given.value {
            Value::Symbol(name) => match name.as_str() {
                "auto" => Want::Any,
                "thinned" => Want::This(Test::Thinned),
                "scan" => Want::This(Test::Scan),
                "delayed" => Want::This(Test::Delayed),
                _ => return Err(given.error("auto, thinned, scan or delayed")),
            },
            _ => return Err(given.error("auto, thinned, scan or delayed")),
        },
    };
    let blocks = Blocks::new(want);
    Ok(Box::new(ReferenceMh { target: arguments.target.clone(), blocks, spare: Vec::new() }))
}

struct ReferenceMh {
    target: Target,
    blocks: Blocks,
    spare: Vec<NodeId>,
}

impl Kernel for ReferenceMh {
    fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let ReferenceMh { target, blocks, spare } = self;
        target.moves(trace, rng, log, spare, &mut |trace, block, _, rng, log| match blocks
            .transition(trace, block.into(), rng, log)?
        {
            Ok(()) => Ok(()),
            Err(unserved) => Err(cannot(trace, block, &unserved)),
        })
    }

    fn save(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let ReferenceMh { target: _, blocks, spare: _ } = self;
        blocks.save(out)
    }

    fn load(&mut self, from: &mut Input<'_>) -> Option<()> {
        self.blocks.load(from)
    }

    fn explain(&mut self, look: &mut Look<'_>) -> Result<Explanation, EvalError> {
        explain::explain(look, &self.target, &mut self.blocks)
    }
}

fn cannot(trace: &Trace, block: &[NodeId], why: &str) -> EvalError {
    let span = block.first().map(|id| trace.origin(*id).1);
    EvalError::other(span, format!("reference_mh cannot move this block: {why}"))
        .hint("nuts moves any block with a gradient")
}

/// What is known about every block.
pub struct Blocks {
    want: Want,
    known: Vec<Result<Known, String>>,
    /// Where each is, by the addresses of its choices in the order of their coordinates.
    places: FxHashMap<Vec<u64>, usize>,
    /// What the warm-up has found about blocks that have not been moved since the program was run anew: that they have a
    /// reference which is a function of the program and its data, or why they have none.
    learnt: FxHashMap<Vec<u64>, Result<(), String>>,
    /// Choices above members that come and go.
    members: MemberBlocks,
    /// The block that was asked for last. It is asked for several times a move, and its moves change no structure.
    last: Option<Last>,
}

struct Last {
    choices: Vec<NodeId>,
    structure: u64,
    place: usize,
}

enum Known {
    Tall(Box<TallBlock>),
    Patched(Box<PatchedBlock>),
}

impl Known {
    fn is_of_the_rest(&self) -> bool {
        match self {
            Known::Tall(known) => known.is_of_the_rest,
            Known::Patched(known) => known.is_of_the_rest,
        }
    }

    /// What trajectories cost, over what a transition does.
    fn gain(&self) -> f64 {
        match self {
            Known::Tall(known) => {
                let forecast = known.prepared.forecast;
                forecast.nuts / (forecast.cost * forecast.accepted)
            }
            Known::Patched(known) => known.gain(),
        }
    }
}

/// What a block is prepared from.
struct First<'a> {
    key: &'a [u64],
    state: &'a [f64],
    /// Whether another kernel is taken where that is better.
    is_best: bool,
    may_learn: bool,
    is_alone: bool,
    /// Whether the bounds are made too small, by mistake.
    is_faulty: bool,
}

/// Where a search for a reference begins, if the state must not matter.
fn origin(dimension: usize) -> Vec<f64> {
    vec![0.0; dimension]
}

impl Blocks {
    pub fn new(want: Want) -> Blocks {
        let (places, learnt) = Default::default();
        let members = MemberBlocks::default();
        Blocks { want, known: Vec::new(), places, learnt, members, last: None }
    }

    /// Where a block is, if it is known.
    fn place(&self, trace: &Trace, block: &[NodeId]) -> Option<usize> {
        let same =
            |last: &&Last| last.structure == trace.structure_revision() && last.choices == block;
        match self.last.as_ref().filter(same) {
            Some(last) => Some(last.place),
            None => self.places.get(&addresses(trace, block)).copied(),
        }
    }

    fn get(&self, trace: &Trace, block: &[NodeId]) -> Option<&Known> {
        self.known[self.place(trace, block)?].as_ref().ok()
    }

    /// Whether the block has a reference that the warm-up has found.
    pub fn serves(&self, trace: &Trace, block: &[NodeId]) -> bool {
        match self.get(trace, block) {
            Some(known) => !known.is_of_the_rest(),
            None => !self.learnt.is_empty() && self.is_learnt(&addresses(trace, block)),
        }
    }

    /// One of so many transitions of a block should be accompanied by a trajectory: so that these are a small part of
    /// the work, and no fewer than one of [`SELDOM`] where they are cheap.
    pub fn insurance(&self, trace: &Trace, block: &[NodeId]) -> u64 {
        let Some(known) = self.get(trace, block) else { return SELDOM };
        SELDOM.max((known.gain() / PREMIUM) as u64)
    }

    /// The scales of a block as its reference has them.
    pub fn metric(&self, trace: &Trace, block: &[NodeId]) -> Option<Metric> {
        match self.get(trace, block)? {
            Known::Tall(known) => known.metric(),
            Known::Patched(known) => Some(known.metric()),
        }
    }

    /// Whether the block has come, by other moves, to where its reference does not reach. Then it is not moved by it any more.
    pub fn is_doubtful(&mut self, trace: &mut Trace, block: &[NodeId]) -> Result<bool, EvalError> {
        let Some(place) = self.place(trace, block) else { return Ok(false) };
        let known = &mut self.known[place];
        let is_outside = match known {
            Ok(Known::Tall(tall)) => tall.is_outside(trace)?,
            _ => false,
        };
        if is_outside {
            *known = Err("trajectories came to where the reference law does not reach".to_owned());
        }
        Ok(is_outside)
    }

    /// One transition of a choice above members that come and go, and how well it is served, or why it has none: then nothing
    /// has been done.
    pub fn move_members(
        &mut self,
        trace: &mut Trace,
        choice: NodeId,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<Result<Service, String>, EvalError> {
        self.members.transition(trace, choice, self.want, rng, log)
    }

    /// How a choice would be moved by its members, or why it would not.
    pub fn words_of_members(
        &self,
        trace: &mut Trace,
        choice: NodeId,
    ) -> Result<Result<String, String>, EvalError> {
        self.members.words(trace, choice, self.want)
    }

    /// Every choice of as many coordinates is moved by members around this centre, with this lower factor, row by row.
    pub fn with_reference(mut self, centre: Vec<f64>, lower: Vec<f64>) -> Blocks {
        self.members = MemberBlocks::given(centre, lower);
        self
    }

    /// Whether the warm-up has shown that the chain stands for long where the reference does not reach. Then the block is not moved
    /// by it any more.
    pub fn is_held(&mut self, trace: &Trace, block: &[NodeId]) -> bool {
        let Some(place) = self.place(trace, block) else { return false };
        let known = &mut self.known[place];
        let why = match known {
            Ok(Known::Tall(tall)) => tall.is_held(),
            _ => None,
        };
        let is_held = why.is_some();
        if let Some(why) = why {
            *known = Err(why);
        }
        is_held
    }

    /// One transition of a block, or why it has none.
    pub fn transition(
        &mut self,
        trace: &mut Trace,
        block: Block<'_>,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<Result<(), String>, EvalError> {
        let want = self.want;
        if let ([choice], Want::Any | Want::This(Test::Thinned)) = (block.choices, want)
            && trace.choices().len() > 1
            && self.move_members(trace, *choice, rng, log)?.is_ok()
        {
            return Ok(Ok(()));
        }
        let known = match self.find(trace, block, rng, log)? {
            Ok(known) => known,
            Err(why) => return Ok(Err(why.clone())),
        };
        let ready = match known {
            Known::Tall(known) => known.bring_up_to_date(trace, block, want)?,
            Known::Patched(known) => known.bring_up_to_date(trace, block, rng)?,
        };
        if ready.is_ok() {
            match known {
                Known::Tall(known) => known.transition(trace, rng, log)?,
                Known::Patched(known) => known.transition(trace, rng, log)?,
            }
        }
        Ok(ready)
    }

    /// What is known about a block, or why it is not served. The first time it is prepared for.
    fn find(
        &mut self,
        trace: &mut Trace,
        block: Block<'_>,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<&mut Result<Known, String>, EvalError> {
        if let Some(place) = self.place(trace, block.choices) {
            self.remember(trace, block.choices, place);
            return Ok(&mut self.known[place]);
        }
        let mut key = addresses(trace, block.choices);
        if self.want == Want::Best && self.known.len() >= MOST_TRIED {
            // Blocks that are new all the time are nothing to prepare for: one answer for all of them.
            key = Vec::new();
            if let Some(place) = self.places.get(&key) {
                return Ok(&mut self.known[*place]);
            }
        }
        let made = match self.learnt.remove(&key) {
            Some(Err(why)) => Err(why),
            _ if key.is_empty() => Err("the block changes all the time".to_owned()),
            _ => self.first(trace, block, &key, rng, log)?,
        };
        if self.known.len() >= MOST_BLOCKS {
            (self.known, self.places) = Default::default();
        }
        let place = self.known.len();
        self.known.push(made);
        self.places.insert(key, place);
        self.remember(trace, block.choices, place);
        Ok(&mut self.known[place])
    }

    fn remember(&mut self, trace: &Trace, block: &[NodeId], place: usize) {
        let structure = trace.structure_revision();
        match &mut self.last {
            Some(last) if last.choices == block => {
                (last.structure, last.place) = (structure, place);
            }
            last => *last = Some(Last { choices: block.to_vec(), structure, place }),
        }
    }

    /// Compiles a block and prepares for it.
    fn first(
        &self,
        trace: &mut Trace,
        block: Block<'_>,
        key: &[u64],
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<Result<Known, String>, EvalError> {
        let mut smoothed = Smoothed::new(trace, block, Form::Plain, "reference_mh")?;
        let Some(state) = smoothed.density().position(trace)? else {
            return Ok(Err("the state lies on the edge of what is possible".to_owned()));
        };
        let is_best = self.want == Want::Best;
        let is_faulty = trace.has_fault(Fault::NoBounds);
        // Only in a warm-up may a reference hang on the state.
        let may_learn = log.run.phase == Phase::Warmup;
        let is_alone = !smoothed.density().reads_outside();
        // Sums and bounds would have to be made anew after every move of the rest.
        let moved = block.choices.len() + block.left_out.map_or(0, |idle| idle.len());
        if is_best && (!is_alone || trace.choices().len() > moved) {
            return Ok(Err("other choices move what its rows read".to_owned()));
        }
        let given = First { key, state: &state, is_best, may_learn, is_alone, is_faulty };
        let mut without_patches = None;
        if !matches!(self.want, Want::This(_)) {
            match PatchedBlock::first(smoothed, &given, trace, rng, log) {
                Ok(block) => return Ok(Ok(Known::Patched(Box::new(block)))),
                Err((other, why)) => (smoothed, without_patches) = (other, Some(why)),
            }
        }
        let block = TallBlock::first(smoothed, &given, self.want, trace, rng, log);
        let block = block.map(|block| Known::Tall(Box::new(block)));
        // Where groups have rows and choices of their own, only patches could have served.
        let is = |why: &String, those: &[Unserved]| {
            those.iter().any(|unserved| unserved.to_string() == *why)
        };
        const OF_GROUPS: [Unserved; 2] = [Unserved::OwnChoices, Unserved::FewRows];
        const NO_GROUPS: [Unserved; 2] = [Unserved::NoEffects, Unserved::FewRows];
        Ok(block.map_err(|why| match without_patches {
            Some(of_patches) if is(&why, &OF_GROUPS) && !is(&of_patches, &NO_GROUPS) => {
                format!("{why}; as groups: {of_patches}")
            }
            _ => why,
        }))
    }
}

fn addresses(trace: &Trace, block: &[NodeId]) -> Vec<u64> {
    block.iter().map(|id| trace.address(*id)).collect()
}

fn order(trace: &Trace, smoothed: &Smoothed) -> Vec<u64> {
    smoothed.density().choices().map(|id| trace.address(id)).collect()
}

fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + b.abs()))
}
