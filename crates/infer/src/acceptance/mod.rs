//! Decisions: accept or not, given the log weights of some of the sections.
//!
//! The question of equation 6: with u drawn first, is μ > μ₀ for μ₀ = (log u − G)/N and μ the
//! mean of all N log weights? A test sees numbers only. It asks a source for log weights, drawn
//! without replacement, and says what it decided and at what cost.
//!
//! | file | test | error |
//! |---|---|---|
//! | [`exact`] | all N sections | none |
//! | [`student_t`] | algorithm 2 of the paper | about ε at each look |
//! | [`stratified`] | the same, sections of several kinds drawn by kind | about ε at each look |

pub mod exact;
pub mod shuffle;
pub mod stratified;
pub mod student_t;

use smidgen_engine::EvalError;

pub use exact::{Exact, read_all};
pub use stratified::Stratified;
pub use student_t::{StudentT, sequential_test};

/// Is log u < G + Σ l_i?
#[derive(Clone, Copy, Debug)]
pub struct Question {
    pub log_u: f64,
    /// G: the log weight of the global part.
    pub log_global: f64,
    /// N.
    pub population: usize,
}

impl Question {
    pub fn mu0(&self) -> f64 {
        (self.log_u - self.log_global) / self.population as f64
    }
}

/// Where a test gets log weights from. What was drawn once is not drawn again.
pub trait LogWeights {
    /// Appends the log weights of the next `n` sections, which are drawn at random.
    fn draw(&mut self, n: usize, weights: &mut Vec<f64>) -> Result<(), EvalError>;

    /// Calls `visit` with the log weights of all sections, drawn or not, lot by lot, until it gives false.
    fn scan(&mut self, visit: &mut dyn FnMut(&[f64]) -> bool) -> Result<(), EvalError>;

    /// How many sections there are of each kind.
    fn strata(&mut self) -> Vec<usize>;

    /// Like [`LogWeights::draw`], from the sections of one kind.
    fn draw_from(
        &mut self,
        stratum: usize,
        n: usize,
        weights: &mut Vec<f64>,
    ) -> Result<(), EvalError>;
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    pub accept: bool,
    /// Sections read for the decision.
    pub sections: usize,
    pub looks: u32,
    /// t = (ȳ − μ₀)/s of the look that decided; none if all sections were read.
    pub statistic: Option<f64>,
    /// Whether a section was impossible after the move.
    pub impossible: bool,
}

/// How far a test's decisions can be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exactness {
    Exact,
    /// Right in the limit; at every look wrong with about this probability if the mean of the
    /// log weights is normal.
    Asymptotic {
        epsilon: f64,
    },
}

/// What a test asks of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// Draws by kind of section.
    pub strata: bool,
}

pub trait AcceptanceTest: Send {
    fn decide(
        &mut self,
        question: &Question,
        weights: &mut dyn LogWeights,
    ) -> Result<Verdict, EvalError>;

    fn exactness(&self) -> Exactness;

    fn requirements(&self) -> Requirements {
        Requirements { strata: false }
    }
}
