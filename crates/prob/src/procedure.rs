//! The interfaces of procedures, by capability.
//!
//! A [`Function`] is deterministic. A [`Distribution`] draws and knows its log density, so it
//! can absorb a change of its arguments. A [`Maker`] makes an exchangeable procedure whose
//! applications are summarised by [`Statistics`], so that a change of the maker's parameters
//! is absorbed in O(1), whatever the number of applications.

use std::sync::Arc;

use smidgen_value::{ArgumentError, Link, Rng, Value};

use crate::cumulative::Side;
use crate::distributions::binomial::MOST_ENUMERATED;
use crate::recipe::Recipe;
use crate::support::Support;

pub type Args<'a> = &'a [&'a Value];

/// How many arguments a procedure takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    pub least: usize,
    /// None: any number from `least` on.
    pub most: Option<usize>,
}

impl Arity {
    pub const fn exactly(n: usize) -> Arity {
        Arity { least: n, most: Some(n) }
    }

    pub const fn between(least: usize, most: usize) -> Arity {
        Arity { least, most: Some(most) }
    }

    pub const fn at_least(least: usize) -> Arity {
        Arity { least, most: None }
    }

    pub fn admits(self, n: usize) -> bool {
        n >= self.least && self.most.is_none_or(|most| n <= most)
    }
}

/// "2", "1 or 2", "between 1 and 4", "at least 1"
impl std::fmt::Display for Arity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.most {
            Some(most) if most == self.least => write!(f, "{most}"),
            Some(most) if most == self.least + 1 => write!(f, "{} or {most}", self.least),
            Some(most) => write!(f, "between {} and {most}", self.least),
            None => write!(f, "at least {}", self.least),
        }
    }
}

/// What a procedure is to a reader: the source of `smidgen help` and the reference table.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// Parameter names as documentation shows them: `mean sd`, `df [loc scale]`, `x ...`.
    pub parameters: &'static str,
    pub arity: Arity,
    /// One sentence, without a full stop at the end.
    pub summary: &'static str,
    /// One line of program text that runs as it stands, as an expression.
    pub example: &'static str,
}

impl Spec {
    /// Whether a program can write the name. What only directives make has none that can be written.
    pub fn is_spellable(&self) -> bool {
        !self.name.starts_with('[')
    }
}

/// A deterministic procedure.
pub struct Function {
    pub spec: Spec,
    /// The engine has checked the number of arguments.
    pub apply: fn(Args<'_>) -> Result<Value, ArgumentError>,
}

/// The log density with its derivatives, for inference by gradients. Everything is numbers: a
/// vector is its entries, a matrix its entries row by row, `true` is 1.
///
/// Outside the support or the parameters' domain the log density is -inf (NaN is never given) and
/// the derivatives do not matter. With respect to a discrete outcome, or to a parameter that has to
/// be a whole number, the derivative is 0.
///
/// Who wants the value alone gives no room for derivatives: none is computed then, and the value is the same
/// to the bit.
#[derive(Clone, Copy)]
pub enum Score {
    /// The outcome and all arguments are single numbers. Fills `slope`, unless it is empty, with the
    /// derivatives with respect to the outcome and to each argument given, in this order.
    Scalar(ScalarScore),
    /// Some are vectors or matrices. Adds the derivatives to `x_slope` and `slopes`, which have
    /// the lengths of `x` and `args`; an empty slope is not wanted. The two entries of a symmetric
    /// pair share the slope of moving both equally. The outcome of `categorical` is its index, or
    /// the indices of all objects equal to it.
    General(GeneralScore),
}

pub type GeneralScore =
    fn(x: &[f64], args: &[&[f64]], x_slope: &mut [f64], slopes: &mut [&mut [f64]]) -> f64;

pub type ScalarScore = fn(x: f64, args: &[f64], slope: &mut [f64]) -> f64;

/// A [`Score::Scalar`] as the sum of a term that hangs on one argument alone and the rest, in this order.
#[derive(Clone, Copy)]
pub struct SharedTerm {
    pub place: usize,
    /// The term and its derivative.
    pub of: fn(f64) -> [f64; 2],
    /// −∞ where the whole is.
    pub rest: ScalarScore,
}

/// Writes the derivatives of a [`Score::Scalar`] if they are wanted.
#[inline(always)]
pub(crate) fn wanted<const N: usize>(slope: &mut [f64], slopes: impl FnOnce() -> [f64; N]) {
    if !slope.is_empty() {
        slope.copy_from_slice(&slopes()[..slope.len()]);
    }
}

/// The same law with one argument given through a link: the log odds in place of a probability, the
/// logarithm in place of a positive number (or of each number of a vector). It keeps its digits where the number has none left.
#[derive(Clone, Copy)]
pub struct Linked {
    /// Which argument.
    pub place: usize,
    pub link: Link,
    pub score: Score,
}

/// Laws whose formula is worth a loop of its own for whoever evaluates many at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// 0 or 1, with the probability of 1 as the only argument.
    Coin,
    /// Real, with mean and sd as arguments.
    Normal,
    /// Real, with degrees of freedom, location and scale as arguments.
    Student,
    /// A count, with the rate as the only argument.
    Poisson,
    /// An index, with a vector of weights as the first argument.
    Categorical,
    Other,
}

/// A distribution whose outcome and arguments are plain numbers, without the way through values.
/// None if an argument is out of its domain.
#[derive(Clone, Copy)]
pub struct Scalar {
    pub sample: fn(args: &[f64], rng: &mut Rng) -> Option<f64>,
    /// As [`Distribution::log_density`], to the bit.
    pub log_density: fn(x: f64, args: &[f64]) -> Option<f64>,
}

/// A distribution over values. The engine has checked the number of arguments; every method
/// checks their types and domains.
pub trait Distribution: Send + Sync {
    fn spec(&self) -> &'static Spec;

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError>;

    /// log p(x | args) against the base measure of the support (Lebesgue or counting):
    /// -inf outside the support, never NaN for valid arguments, +inf only where the density is.
    /// `x` has the right type (it was drawn, or has passed [`Distribution::admit`]).
    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError>;

    /// The set of values with positive density, given the arguments.
    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError>;

    /// Which arguments (0-based) the support depends on.
    fn support_arguments(&self) -> &'static [usize] {
        &[]
    }

    /// An observed value in the type that the distribution draws (`true` becomes 1 for
    /// `bernoulli`, 1 becomes `true` for `flip`, a list of numbers becomes a vector), or the
    /// type wanted, with its article ("a number").
    fn admit(&self, x: &Value) -> Result<Value, &'static str>;

    /// All values of positive probability, each once, if there are finitely many, and not too many to list.
    fn enumerate(&self, args: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        let Support::Integers { low, high } = self.support(args)? else { return Ok(None) };
        if !(low.is_finite() && high - low <= MOST_ENUMERATED) {
            return Ok(None);
        }
        let mut values = Vec::new();
        for k in 0..=(high - low) as usize {
            let value = Value::Number(low + k as f64);
            if self.log_density(&value, args)? > f64::NEG_INFINITY {
                values.push(value);
            }
        }
        Ok(Some(values))
    }

    /// How many values there are at most, where that can be told without listing them.
    fn most_values(&self, _args: Args<'_>) -> Option<usize> {
        None
    }

    /// The log density with its derivatives, if it has any.
    fn score(&self) -> Option<Score> {
        None
    }

    /// A term of the score that hangs on one argument alone and takes long: where that argument is the same for many, it is computed once.
    fn shared_term(&self, _link: Option<Link>) -> Option<SharedTerm> {
        None
    }

    /// The same with one of the arguments through a link, if that is worth something.
    fn linked(&self) -> Option<Linked> {
        None
    }

    /// The law of which this one is [`Distribution::linked`], under a name of its own: all arguments alike, but the one
    /// through the link. Whoever evaluates many at a time takes that law's form.
    fn linked_form_of(&self) -> Option<&'static dyn Distribution> {
        None
    }

    /// The log density as sums, products and curves, or that of [`Distribution::linked`] if its link is given. Of the
    /// arguments, those that are the same for all who use the recipe may be known, as given (through the link, if that
    /// is how they are).
    fn recipe(&self, _arguments: &[Option<f64>], _link: Option<Link>) -> Option<Recipe> {
        None
    }

    /// The same given how many numbers each argument has: for laws that take them in containers of any size.
    fn sized_recipe(
        &self,
        arguments: &[Option<f64>],
        _sizes: &[usize],
        link: Option<Link>,
    ) -> Option<Recipe> {
        self.recipe(arguments, link)
    }

    /// The log probability of what lies on a side of the outcome, as a recipe; for continuous laws.
    fn tail_recipe(&self, _side: Side, _arguments: &[Option<f64>]) -> Option<Recipe> {
        None
    }

    /// Whether there are loops for many of its kind.
    fn family(&self) -> Family {
        Family::Other
    }

    /// The argument, which may be left out, that lists the outcomes as objects. The outcome that the score takes is then not
    /// the object but its place in the list, or the places of all that are equal to it.
    fn objects(&self) -> Option<usize> {
        None
    }

    /// A faster way for plain numbers, if there is one.
    fn scalar(&self) -> Option<Scalar> {
        None
    }

    /// Whether the distribution is proper; an improper one has a density and a starting value
    /// (what `sample` returns) but cannot be proposed from.
    fn is_proper(&self) -> bool {
        true
    }
}

/// A maker of an exchangeable procedure.
///
/// *Collapsed* and *sufficient-statistics* makers are deterministic: the made procedure's
/// parameters are the maker's arguments. *Uncollapsed* makers ([`Maker::latent`]) draw a latent
/// parameter first; the made procedure's parameters are then that latent value alone.
pub trait Maker: Send + Sync {
    fn spec(&self) -> &'static Spec;

    /// Checks the maker's arguments (types and domains).
    fn check(&self, args: Args<'_>) -> Result<(), ArgumentError>;

    /// Statistics of no application at all. `params` are the made procedure's parameters.
    fn empty(&self, params: Args<'_>) -> Result<Box<dyn Statistics>, ArgumentError>;

    /// The prior of the latent parameter, for an uncollapsed maker: a distribution whose
    /// arguments are the maker's arguments.
    fn latent(&self) -> Option<&'static dyn Distribution> {
        None
    }
}

/// The sufficient statistics of all applications of one made procedure.
///
/// Exchangeability, tested for every implementation: the log predictives along any order of
/// `add` sum to `log_marginal`.
pub trait Statistics: Send {
    /// Draws the next application's value given the others.
    fn sample(&self, params: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError>;

    /// log p(x | the applications counted, params)
    fn log_predictive(&self, x: &Value, params: Args<'_>) -> Result<f64, ArgumentError>;

    /// The log predictive as the log density of a Student t law of vectors, if it is one:
    ///
    /// log p(x) = a - b log(1 + c |y|^2), with L y = x - m,
    ///
    /// and that given all but one of value x, as long as 1 - g |y|^2 is not too small:
    ///
    /// log p(x) = e + f log(1 - g |y|^2).
    ///
    /// Gives the dimension d and adds a, b, c, e, f, g, m and the columns of L, each with the inverse
    /// of its diagonal entry and what is below, to the list.
    fn student(&self, _params: Args<'_>, _numbers: &mut Vec<f64>) -> Option<usize> {
        None
    }

    /// log p(x | all applications counted but one of value x, params)
    fn log_leave_one_out(&self, x: &Value, params: Args<'_>) -> Result<f64, ArgumentError>;

    /// log p(all applications counted | params), in O(number of groups).
    fn log_marginal(&self, params: Args<'_>) -> Result<f64, ArgumentError>;

    /// Counts one more application. `x` was drawn here or admitted.
    fn add(&mut self, x: &Value);

    /// Forgets one application with this value.
    fn remove(&mut self, x: &Value);

    /// Number of applications counted.
    fn count(&self) -> usize;

    /// As [`Distribution::admit`].
    fn admit(&self, x: &Value) -> Result<Value, &'static str>;

    /// Where the applications' values live, given the parameters.
    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError>;

    /// All values the next application can take, if finitely many (for a restaurant process:
    /// the live tables and one new table).
    fn enumerate(&self, _params: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        Ok(None)
    }

    /// The same for an application that was taken out and had this value: a table that it left
    /// empty is the new table, and keeps its label.
    fn enumerate_for(
        &self,
        _current: &Value,
        params: Args<'_>,
    ) -> Result<Option<Vec<Value>>, ArgumentError> {
        self.enumerate(params)
    }

    /// The values of [`Statistics::enumerate_for`] and their log predictives, in place of what two lists
    /// hold; a list that holds these values stays the very same. False if they are not finitely many.
    fn enumerate_weighed(
        &self,
        current: &Value,
        params: Args<'_>,
        values: &mut Arc<Vec<Value>>,
        log_p: &mut Vec<f64>,
    ) -> Result<bool, ArgumentError>;

    /// A copy, for another trace or to go back to.
    fn copy(&self) -> Box<dyn Statistics>;

    /// Whether `remove` after `add` brings back the very bits, as it does where they are made of counts.
    /// Otherwise one goes back to a copy.
    fn is_exact(&self) -> bool;
}

/// A list of these values, the very same if it holds them: whoever has compared it need not do so again.
pub fn relist(list: &mut Arc<Vec<Value>>, values: Vec<Value>) {
    let both = || list.iter().zip(&values);
    if list.len() != values.len() || !both().all(|(a, b)| a.is_identical(b)) {
        *list = Arc::new(values);
    }
}
