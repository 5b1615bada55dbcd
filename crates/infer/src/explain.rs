//! What a kernel would do to the trace as it is now, and at what cost: plain data, for
//! `smidgen explain`.
//!
//! Every block a kernel moves is looked at: its choices, the border, the sections below it by kind,
//! or why there are none. Blocks that look alike are told once. Trial proposals, all of them dropped,
//! then say what a test of such proposals would read and how often it would err.
//!
//! Reading order: [`blocks`] (what there is to move), [`predict`] (trial proposals and what
//! follows from them), [`advice`] (why it is not faster, and what to do).

pub mod advice;
pub mod blocks;
pub mod predict;

use rustc_hash::FxHashMap;
use smidgen_engine::{NodeId, Trace};
use smidgen_lang::Span;
use smidgen_value::{Rng, Symbol};

pub use predict::Prediction;

use crate::record::Tally;

/// Blocks of different looks that are told of one kernel.
pub const SHOWN: usize = 8;

/// What an explanation looks at.
pub struct Look<'a> {
    pub trace: &'a mut Trace,
    /// Names that `assume` gave.
    pub names: &'a FxHashMap<NodeId, Symbol>,
    pub rng: &'a mut Rng,
}

/// One kernel of a program.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// Its text.
    pub kernel: String,
    /// How often the text occurs in the program, in the rounds of loops for example. The first is
    /// the one that is explained.
    pub occurrences: usize,
    /// Transitions in one run of the whole program; expected, if a mixture draws its kernels.
    pub transitions: f64,
    /// What one transition moves, in words.
    pub target: String,
    /// Whether a transition moves one block that is drawn at random.
    pub draws_block: bool,
    pub number_of_blocks: usize,
    /// How many of them were looked at.
    pub looked_at: usize,
    /// Those that look different, at most [`SHOWN`].
    pub blocks: Vec<BlockExplanation>,
    /// How many look different.
    pub sorts: usize,
    /// What it did in the warm-up.
    pub warmup: Tally,
    pub notes: Vec<String>,
    /// About the kernel as a whole.
    pub advice: Vec<String>,
}

/// A block, and others that look like it.
#[derive(Clone, Debug, Default)]
pub struct BlockExplanation {
    /// The id of the block with the most sections; none in scope `default`.
    pub id: Option<String>,
    /// How many blocks look like it, itself included.
    pub count: usize,
    pub choices: Vec<Choices>,
    /// Where its change fans out; none if it cannot be decided by sections.
    pub border: Vec<Border>,
    /// Values that a transition changes before it looks at sections.
    pub global_nodes: usize,
    /// Sections below the border, and the least and the most among the blocks like it.
    pub population: usize,
    pub populations: (usize, usize),
    pub kinds: Vec<SectionKind>,
    /// In how many parts a test by kind would draw sections.
    pub strata: usize,
    pub refusal: Option<Refused>,
    /// Whether its transitions read sections one by one, rather than move the whole scaffold.
    pub reads_sections: bool,
    /// Whether sections are weighed many at a time.
    pub compiled: bool,
    pub scaffold: ScaffoldSizes,
    pub prediction: Option<Prediction>,
    /// Why it is not faster, and what to do.
    pub advice: Vec<String>,
}

impl BlockExplanation {
    pub fn evaluator(&self) -> &'static str {
        match (self.reads_sections, self.compiled) {
            (true, true) => "compiled sections",
            (true, false) => "interpreted sections",
            (false, _) => "trace",
        }
    }
}

/// A node as users know it.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub name: Option<String>,
    pub procedure: String,
    pub span: Span,
}

impl Place {
    fn of(look: &Look<'_>, id: NodeId) -> Place {
        let (procedure, span) = look.trace.origin(id);
        let name = look.names.get(&id).map(Symbol::to_string);
        Place { name, procedure: procedure.to_owned(), span }
    }
}

/// Choices made at the same place of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    pub place: Place,
    pub count: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Border {
    pub place: Place,
    /// Whether it is a choice of the block itself, not something computed from it.
    pub is_choice: bool,
    /// Values that use it directly.
    pub children: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SectionKind {
    /// The procedures of a section.
    pub description: String,
    pub signature: String,
    pub sections: usize,
    /// Edges from the border into the section.
    pub entries: usize,
    pub nodes: usize,
    pub absorbing: usize,
    /// Whether a proposal may make such a section impossible.
    pub hard: bool,
}

/// Why a block cannot be decided by sections.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    pub reason: String,
    pub span: Option<Span>,
    pub remedy: &'static str,
}

/// How much a move of the whole scaffold touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScaffoldSizes {
    /// Values that change.
    pub target: usize,
    /// Choices and made procedures whose densities change.
    pub absorbing: usize,
    /// Values that go and are made anew.
    pub transient: usize,
}

impl ScaffoldSizes {
    pub fn size(&self) -> usize {
        self.target + self.absorbing + self.transient
    }
}
