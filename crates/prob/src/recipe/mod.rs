//! A law's log density as a recipe: straight-line code of sums, products and [`Curve`]s over the outcome and the arguments.
//!
//! Whoever has rules for these few kinds of steps, for second derivatives, say, or for bounds of third ones over a
//! ball, has them for every law with a recipe. A recipe takes the tightest curve there is: log(1 + z^2) as one step has a
//! narrower bound than the logarithm of a sum with a square.
//!
//! Where the arguments lie in the domain and the outcome in the support, a recipe gives the log density. Where an argument
//! leaves the domain, some step leaves that of its curve, which is what [`Curve::Wall`] is for: so a bound over a set of
//! arguments, if there is one, speaks of densities only.
//!
//! A law that is made of others writes their recipes into its own ([`write::Writer::density`]), and the probability of what lies
//! beyond a number is a recipe of its own ([`crate::Distribution::tail_recipe`]).
//!
//! [`write`]: how laws write theirs, as formulas.

pub mod write;

use crate::smooth::{Curve, CurveFamily};

/// What a step reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    Outcome,
    Argument(usize),
    /// The result of an earlier step.
    Step(usize),
    Number(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RecipeStep {
    Add(Part, Part),
    Subtract(Part, Part),
    Multiply(Part, Part),
    Curve(Curve, Part),
    /// The curve of a family that a number names, which does not move, of a part.
    Member(CurveFamily, Part, Part),
    /// 1 where two numbers that do not move are equal, else 0.
    Equal(Part, Part),
    /// The second where the first, which does not move, is not 0, else the third.
    Either(Part, Part, Part),
}

/// The result is that of the last step; there is at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    pub steps: Vec<RecipeStep>,
}
