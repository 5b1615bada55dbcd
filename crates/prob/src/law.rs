//! Laws as arguments of laws: `poisson` in `(zero_inflated poisson 0.3 4)`.
//!
//! A law that is made of another takes it as an argument like any other, so the trace, plates and sections need to
//! know nothing of it: the argument is the built-in procedure (or its name, as a symbol), a constant, and the
//! arguments of the inner law stand behind. To a score, for which everything is numbers, it is the place of the law in the
//! list of all: it does not move. What is made of a law in this way has value and gradient in every path, and bounds where the
//! inner law's recipe can be written into its own.
//!
//! The inner law is one of single numbers whose arguments are single numbers ([`Score::Scalar`]). It reads plain numbers in every path: what
//! they are known by (log odds, a logarithm) is lost on the way, so that the trace and programs say the same. Who needs the tails writes the
//! law with that parameter: `bernoulli_logit`, `poisson_log`.

use smallvec::SmallVec;
use smidgen_value::{ArgumentError, Origin, Rng, Symbol, Value};

use crate::distributions::ALL;
use crate::procedure::{Args, Distribution, ScalarScore, Score};
use crate::registry::{Builtin, lookup};
use crate::support::Support;

type Law = &'static dyn Distribution;

/// The numbers of an inner law's arguments, or the slopes of its outcome and arguments.
pub type Numbers = SmallVec<[f64; 8]>;

/// The law that a value is.
pub fn of(value: &Value) -> Option<Law> {
    let name = match value {
        Value::Symbol(name) => *name,
        Value::Procedure(procedure) if procedure.origin == Origin::Language => {
            Symbol::new(&procedure.shown_as)
        }
        _ => return None,
    };
    match lookup(name)? {
        Builtin::Distribution(law) => Some(law),
        _ => None,
    }
}

/// The number by which a score knows a value that is a law.
pub fn number(value: &Value) -> Option<f64> {
    let name = of(value)?.spec().name;
    ALL.iter().position(|law| law.spec().name == name).map(|place| place as f64)
}

/// The law of that number.
pub fn numbered(number: f64) -> Option<Law> {
    let is_place = number >= 0.0 && number.fract() == 0.0;
    if is_place { ALL.get(number as usize).copied() } else { None }
}

/// A law of numbers with so many arguments, as an argument of another.
#[derive(Clone, Copy)]
pub struct Inner {
    pub law: Law,
    pub score: ScalarScore,
}

impl Inner {
    fn of(law: Law, arguments: usize) -> Option<Inner> {
        match law.score() {
            Some(Score::Scalar(score)) if law.spec().arity.admits(arguments) && law.is_proper() => {
                Some(Inner { law, score })
            }
            _ => None,
        }
    }

    /// Argument `i`, which is to have so many arguments.
    pub fn read(args: Args<'_>, i: usize, arguments: usize) -> Result<Inner, ArgumentError> {
        let law = of(args[i]).ok_or_else(|| {
            ArgumentError::wrong_type(i, "a distribution (the name of a built-in one)", args[i])
        })?;
        let spec = law.spec();
        if !spec.arity.admits(arguments) {
            return Err(ArgumentError::other(format!(
                "{} takes {} arguments ({}), not {arguments}",
                spec.name, spec.arity, spec.parameters
            )));
        }
        Inner::of(law, arguments).ok_or_else(|| {
            let expected = "a proper distribution of numbers whose arguments are numbers";
            ArgumentError::wrong_type(i, expected, args[i])
        })
    }

    /// Likewise as a score knows it.
    pub fn numbered(number: f64, arguments: usize) -> Option<Inner> {
        Inner::of(numbered(number)?, arguments)
    }

    pub fn log_density(&self, x: f64, args: Args<'_>) -> Result<f64, ArgumentError> {
        let x = match self.law.admit(&Value::Number(x)) {
            Ok(x) => x,
            Err(_) => return Ok(f64::NEG_INFINITY),
        };
        with_plain(args, |args| self.law.log_density(&x, args))
    }

    pub fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        with_plain(args, |args| self.law.sample(args, rng))
    }

    /// The log density and, if they are wanted, the slopes of the outcome and of the arguments.
    pub fn slopes(&self, x: f64, args: &[f64], wanted: bool) -> (f64, Numbers) {
        let mut slopes = Numbers::new();
        if wanted {
            slopes.resize(1 + args.len(), 0.0);
        }
        let log_density = (self.score)(x, args, &mut slopes);
        if log_density == f64::NEG_INFINITY {
            slopes.fill(0.0);
        }
        (log_density, slopes)
    }

    /// Whether arguments are in the law's domain.
    pub fn is_valid(&self, args: &[f64]) -> bool {
        let values: SmallVec<[Value; 8]> = args.iter().map(|x| Value::Number(*x)).collect();
        self.law.support(&values.iter().collect::<SmallVec<[&Value; 8]>>()).is_ok()
    }

    /// Where the law lives, as numbers (`true` is 1).
    pub fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(match with_plain(args, |args| self.law.support(args))? {
            Support::Booleans => Support::Integers { low: 0.0, high: 1.0 },
            support => support,
        })
    }
}

/// Asks with the plain numbers of arguments.
pub fn with_plain<T>(args: Args<'_>, ask: impl FnOnce(Args<'_>) -> T) -> T {
    if !args.iter().any(|arg| matches!(arg, Value::Linked(..))) {
        return ask(args);
    }
    let plain: SmallVec<[Value; 4]> = args.iter().map(|arg| arg.plain()).collect();
    ask(&plain.iter().collect::<SmallVec<[&Value; 4]>>())
}

/// The single numbers that arguments of a score are; None if some are not single.
pub fn singles(args: &[&[f64]]) -> Option<Numbers> {
    args.iter().map(|arg| if let [x] = arg { Some(*x) } else { None }).collect()
}

/// slope += weight times the slopes of the arguments
pub fn add(slopes: &mut [&mut [f64]], weight: f64, inner: &[f64]) {
    for (slope, inner) in slopes.iter_mut().zip(inner) {
        // What has no weight counts for nothing, however steep it is.
        if let Some(slope) = slope.first_mut()
            && weight != 0.0
        {
            *slope += weight * inner;
        }
    }
}

pub fn wants_slopes(x_slope: &[f64], slopes: &[&mut [f64]]) -> bool {
    !x_slope.is_empty() || slopes.iter().any(|slope| !slope.is_empty())
}
