//! Recipes written as formulas: a [`Term`] is a part with the arithmetic of numbers, and every operation on terms writes a
//! step. What can be computed of numbers alone is computed here.

use std::cell::RefCell;
use std::ops::{Add, Mul, Neg, Sub};

use smidgen_value::Link;

use super::{Part, Recipe, RecipeStep};
use crate::cumulative::Side;
use crate::procedure::Distribution;
use crate::smooth::{Curve, CurveFamily};

/// The recipe being written.
pub struct Writer<'a> {
    arguments: &'a [Option<f64>],
    link: Option<Link>,
    steps: RefCell<Vec<RecipeStep>>,
}

#[derive(Clone, Copy)]
pub struct Term<'w> {
    writer: &'w Writer<'w>,
    part: Part,
}

impl Recipe {
    /// What `formula` gives, for arguments as in [`crate::Distribution::recipe`].
    pub fn write(
        arguments: &[Option<f64>],
        link: Option<Link>,
        formula: impl for<'w> FnOnce(&'w Writer<'w>) -> Option<Term<'w>>,
    ) -> Option<Recipe> {
        let writer = Writer { arguments, link, steps: RefCell::new(Vec::new()) };
        let result = formula(&writer)?.part;
        let mut steps = writer.steps.take();
        if steps.is_empty() || result != Part::Step(steps.len() - 1) {
            steps.push(RecipeStep::Add(result, Part::Number(0.0)));
        }
        Some(Recipe { steps })
    }
}

impl<'w> Writer<'w> {
    fn term(&'w self, part: Part) -> Term<'w> {
        Term { writer: self, part }
    }

    fn step(&'w self, step: RecipeStep) -> Term<'w> {
        let mut steps = self.steps.borrow_mut();
        // What has been computed already is not computed again.
        let place = steps.iter().position(|earlier| *earlier == step);
        let place = place.unwrap_or_else(|| {
            steps.push(step);
            steps.len() - 1
        });
        self.term(Part::Step(place))
    }

    pub fn number(&'w self, x: f64) -> Term<'w> {
        self.term(Part::Number(x))
    }

    pub fn outcome(&'w self) -> Term<'w> {
        self.term(Part::Outcome)
    }

    pub fn argument(&'w self, i: usize) -> Term<'w> {
        self.term(self.arguments[i].map_or(Part::Argument(i), Part::Number))
    }

    /// An argument that may be left out.
    pub fn argument_or(&'w self, i: usize, default: f64) -> Term<'w> {
        if i < self.arguments.len() { self.argument(i) } else { self.number(default) }
    }

    /// The number that an argument is known to be.
    pub fn known(&self, i: usize) -> Option<f64> {
        self.arguments[i]
    }

    /// The log density of another law at `x`, if it has a recipe.
    pub fn density(
        &'w self,
        law: &dyn Distribution,
        x: Term<'w>,
        args: &[Term<'w>],
    ) -> Option<Term<'w>> {
        let known: Vec<Option<f64>> = args.iter().map(|arg| arg.number()).collect();
        self.inlined(&law.recipe(&known, None)?, x, args)
    }

    /// The log probability that another law gives to what lies on a side of `x`, if it has a recipe for that.
    pub fn tail(
        &'w self,
        law: &dyn Distribution,
        side: Side,
        x: Term<'w>,
        args: &[Term<'w>],
    ) -> Option<Term<'w>> {
        let known: Vec<Option<f64>> = args.iter().map(|arg| arg.number()).collect();
        self.inlined(&law.tail_recipe(side, &known)?, x, args)
    }

    /// The log probability that another law, without atoms, gives to what lies between two numbers, if it has recipes for what lies on
    /// their sides.
    pub fn between(
        &'w self,
        law: &dyn Distribution,
        [low, high]: [Term<'w>; 2],
        args: &[Term<'w>],
    ) -> Option<Term<'w>> {
        let sides = |x: Term<'w>| {
            Some([self.tail(law, Side::Below, x, args)?, self.tail(law, Side::Above, x, args)?])
        };
        Some(log_difference(sides(low)?, sides(high)?))
    }

    /// Another recipe, with its parts in place.
    fn inlined(&'w self, recipe: &Recipe, x: Term<'w>, args: &[Term<'w>]) -> Option<Term<'w>> {
        let mut done: Vec<Term<'w>> = Vec::with_capacity(recipe.steps.len());
        for step in &recipe.steps {
            let of = |part: Part| match part {
                Part::Outcome => x,
                Part::Argument(i) => args[i],
                Part::Step(i) => done[i],
                Part::Number(x) => self.number(x),
            };
            let term = match *step {
                RecipeStep::Add(a, b) => of(a) + of(b),
                RecipeStep::Subtract(a, b) => of(a) - of(b),
                RecipeStep::Multiply(a, b) => of(a) * of(b),
                RecipeStep::Curve(curve, a) => of(a).curve(curve),
                RecipeStep::Member(family, number, a) => of(a).member(family, of(number)),
                RecipeStep::Equal(a, b) => of(a).equals(of(b)),
                RecipeStep::Either(c, a, b) => of(c).either(of(a), of(b)),
            };
            done.push(term);
        }
        done.pop()
    }

    /// For a law whose arguments are given through no link.
    pub fn unlinked(&self) -> Option<()> {
        self.link.is_none().then_some(())
    }
}

/// log(F(b) − F(a)) from the logarithms of F and of S = 1 − F at a and at b > a. As F(b) − F(a) = F(b) S(a) (1 − e^t) with
/// t = log F(a)/S(a) − log F(b)/S(b), nothing is lost however far out both are, and t stays away from 0 on both sides alike.
pub fn log_difference<'w>(
    [below_a, above_a]: [Term<'w>; 2],
    [below_b, above_b]: [Term<'w>; 2],
) -> Term<'w> {
    let gap = (below_a - above_a) - (below_b - above_b);
    below_b + above_a + gap.curve(Curve::Log1mExp)
}

impl<'w> Term<'w> {
    /// The argument that may be given by its logarithm; None if it is given through another link.
    pub fn positive(self) -> Option<Positive<'w>> {
        match self.writer.link {
            None => Some(Positive::Plain(self)),
            Some(Link::Log) => Some(Positive::Log(self)),
            Some(Link::LogOdds) => None,
        }
    }

    /// The argument that may be given by its log odds; None if it is given through another link.
    pub fn chance(self) -> Option<Chance<'w>> {
        match self.writer.link {
            None => Some(Chance::Plain(self)),
            Some(Link::LogOdds) => Some(Chance::LogOdds(self)),
            Some(Link::Log) => None,
        }
    }

    pub fn curve(self, curve: Curve) -> Term<'w> {
        match self.part {
            Part::Number(x) => self.writer.number(curve.value(x)),
            part => self.writer.step(RecipeStep::Curve(curve, part)),
        }
    }

    pub fn log(self) -> Term<'w> {
        self.curve(Curve::Log)
    }

    pub fn exp(self) -> Term<'w> {
        self.curve(Curve::Exp)
    }

    pub fn square(self) -> Term<'w> {
        self.curve(Curve::Square)
    }

    pub fn power(self, power: f64) -> Term<'w> {
        match power {
            1.0 => self,
            -1.0 => self.curve(Curve::Reciprocal),
            _ => self.curve(Curve::Power(power)),
        }
    }

    pub fn log_gamma(self) -> Term<'w> {
        self.curve(Curve::LogGamma)
    }

    /// log Gamma(r + k) - log Gamma(r), for a count k that does not move.
    pub fn log_rising(self, k: Term<'w>) -> Term<'w> {
        let log = self.log();
        match (k.part, log.part) {
            (Part::Number(k), Part::Number(x)) => self.writer.number(Curve::LogRising(k).value(x)),
            (k, log) => self.writer.step(RecipeStep::Member(CurveFamily::LogRising, k, log)),
        }
    }

    fn number(self) -> Option<f64> {
        match self.part {
            Part::Number(x) => Some(x),
            _ => None,
        }
    }

    /// The curve of a family that a number names.
    fn member(self, family: CurveFamily, number: Term<'w>) -> Term<'w> {
        match number.part {
            Part::Number(x) => self.curve(family.member(x)),
            number => self.writer.step(RecipeStep::Member(family, number, self.part)),
        }
    }

    /// 1 where it is equal to another, else 0: for numbers that do not move.
    pub fn equals(self, other: Term<'w>) -> Term<'w> {
        match (self.part, other.part) {
            (Part::Number(a), Part::Number(b)) => self.writer.number(f64::from(u8::from(a == b))),
            (a, b) => self.writer.step(RecipeStep::Equal(a, b)),
        }
    }

    /// `a` where this number, which does not move, is not 0, else `b`.
    pub fn either(self, a: Term<'w>, b: Term<'w>) -> Term<'w> {
        match self.part {
            Part::Number(0.0) => b,
            Part::Number(_) => a,
            c => self.writer.step(RecipeStep::Either(c, a.part, b.part)),
        }
    }

    /// log(e^a + e^b) = a - log logistic(a - b)
    pub fn log_add(self, other: Term<'w>) -> Term<'w> {
        match (self.number(), other.number()) {
            (Some(f64::NEG_INFINITY), _) => other,
            (_, Some(f64::NEG_INFINITY)) => self,
            _ => self - (self - other).curve(Curve::LogLogistic),
        }
    }

    /// log of a count's factorial
    pub fn log_factorial(self) -> Term<'w> {
        (self + 1.0).log_gamma()
    }

    /// 0 where the term is not negative.
    pub fn wall(self) -> Term<'w> {
        self.curve(Curve::Wall)
    }
}

impl<'w> Add for Term<'w> {
    type Output = Term<'w>;

    fn add(self, other: Term<'w>) -> Term<'w> {
        match (self.part, other.part) {
            (Part::Number(a), Part::Number(b)) => self.writer.number(a + b),
            (Part::Number(0.0), _) => other,
            (_, Part::Number(0.0)) => self,
            (a, b) => self.writer.step(RecipeStep::Add(a, b)),
        }
    }
}

impl<'w> Sub for Term<'w> {
    type Output = Term<'w>;

    fn sub(self, other: Term<'w>) -> Term<'w> {
        match (self.part, other.part) {
            (Part::Number(a), Part::Number(b)) => self.writer.number(a - b),
            (_, Part::Number(0.0)) => self,
            (a, b) => self.writer.step(RecipeStep::Subtract(a, b)),
        }
    }
}

impl<'w> Mul for Term<'w> {
    type Output = Term<'w>;

    fn mul(self, other: Term<'w>) -> Term<'w> {
        match (self.part, other.part) {
            (Part::Number(a), Part::Number(b)) => self.writer.number(a * b),
            (Part::Number(1.0), _) => other,
            (_, Part::Number(1.0)) => self,
            (a, b) => self.writer.step(RecipeStep::Multiply(a, b)),
        }
    }
}

impl<'w> Neg for Term<'w> {
    type Output = Term<'w>;

    fn neg(self) -> Term<'w> {
        -1.0 * self
    }
}

impl<'w> Add<f64> for Term<'w> {
    type Output = Term<'w>;

    fn add(self, number: f64) -> Term<'w> {
        self + self.writer.number(number)
    }
}

impl<'w> Sub<f64> for Term<'w> {
    type Output = Term<'w>;

    fn sub(self, number: f64) -> Term<'w> {
        self - self.writer.number(number)
    }
}

impl<'w> Sub<Term<'w>> for f64 {
    type Output = Term<'w>;

    fn sub(self, term: Term<'w>) -> Term<'w> {
        term.writer.number(self) - term
    }
}

impl<'w> Mul<Term<'w>> for f64 {
    type Output = Term<'w>;

    fn mul(self, term: Term<'w>) -> Term<'w> {
        term.writer.number(self) * term
    }
}

/// A positive parameter s, or its logarithm η.
#[derive(Clone, Copy)]
pub enum Positive<'w> {
    Plain(Term<'w>),
    Log(Term<'w>),
}

impl<'w> Positive<'w> {
    /// log s
    pub fn log(self) -> Term<'w> {
        match self {
            Positive::Plain(s) => s.log(),
            Positive::Log(log_s) => log_s,
        }
    }

    /// s^power
    pub fn power(self, power: f64) -> Term<'w> {
        match self {
            Positive::Plain(s) => s.power(power),
            Positive::Log(log_s) => (power * log_s).exp(),
        }
    }
}

/// A probability p, or its log odds η.
#[derive(Clone, Copy)]
pub enum Chance<'w> {
    Plain(Term<'w>),
    LogOdds(Term<'w>),
}

impl<'w> Chance<'w> {
    /// log p and log(1 - p)
    pub fn logs(self) -> [Term<'w>; 2] {
        match self {
            Chance::Plain(p) => [p.log(), (-p).curve(Curve::Log1p)],
            Chance::LogOdds(log_odds) => [log_odds, -log_odds].map(|x| x.curve(Curve::LogLogistic)),
        }
    }

    /// k log p + m log(1 - p): by log odds k η + (k + m) log(1 - p), with one curve.
    pub fn log_of_trials(self, successes: Term<'w>, failures: Term<'w>) -> Term<'w> {
        match self {
            Chance::Plain(_) => {
                let [log_success, log_failure] = self.logs();
                successes * log_success + failures * log_failure
            }
            Chance::LogOdds(log_odds) => {
                let log_failure = (-log_odds).curve(Curve::LogLogistic);
                successes * log_odds + (successes + failures) * log_failure
            }
        }
    }
}
