//! What went wrong while a program ran, where in its text, and on which way there.

use std::fmt;

use smidgen_lang::diagnostic::closest;
use smidgen_lang::{Diagnostic, Span};
use smidgen_prob::{Arity, registry};
use smidgen_value::{ArgumentError, Symbol, Value};

/// Deeper nesting of calls than this is refused.
pub const CALL_LIMIT: u32 = 100_000;

#[derive(Clone, Debug)]
pub enum Mistake {
    Unbound {
        name: Symbol,
        suggestion: Option<String>,
    },
    UsedTooEarly(Symbol),
    NotAProcedure(Value),
    WrongCount {
        procedure: String,
        wanted: Arity,
        found: usize,
    },
    Argument {
        procedure: &'static str,
        error: ArgumentError,
    },
    Condition(Value),
    TooDeep,
    MemoLoop,
    /// A draw from an improper distribution.
    Improper(&'static str),
    /// A density that is not a number.
    NotANumber {
        procedure: String,
        value: Value,
    },
    Other {
        message: String,
        hint: Option<String>,
    },
    /// Not a mistake: somebody asked to stop.
    Interrupted,
    /// Not a mistake of the program: the move would make two observations meet in one choice.
    Clash,
    /// Likewise: the move would leave an observation without a choice to refer to.
    Nowhere,
}

#[derive(Clone, Debug)]
pub struct EvalError(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    mistake: Mistake,
    span: Option<Span>,
    path: Vec<(String, Span)>,
    /// Whether other values of the random choices may avoid it.
    hangs: bool,
    /// What to do about it, besides what the mistake itself suggests.
    advice: Option<String>,
}

impl EvalError {
    pub fn new(mistake: Mistake, span: impl Into<Option<Span>>) -> EvalError {
        let (span, path) = (span.into(), Vec::new());
        EvalError(Box::new(Inner { mistake, span, path, hangs: false, advice: None }))
    }

    pub fn other(span: impl Into<Option<Span>>, message: impl Into<String>) -> EvalError {
        EvalError::new(Mistake::Other { message: message.into(), hint: None }, span)
    }

    pub fn hint(mut self, text: impl Into<String>) -> EvalError {
        if let Mistake::Other { hint, .. } = &mut self.0.mistake {
            *hint = Some(text.into());
        }
        self
    }

    /// Says that it depends on values that can change.
    pub(crate) fn hanging(mut self, hangs: bool) -> EvalError {
        self.0.hangs |= hangs;
        self
    }

    /// Whether another draw of the random choices may avoid it: a parameter is out of its domain,
    /// and hangs on values that can change.
    pub(crate) fn may_pass(&self) -> bool {
        self.0.hangs && self.rejects()
    }

    pub(crate) fn advise(mut self, text: impl Into<String>) -> EvalError {
        self.0.advice = Some(text.into());
        self
    }

    pub fn with_path(mut self, path: &[(Symbol, Span)]) -> EvalError {
        /// Frames shown at each end of a long path.
        const SHOWN: usize = 6;
        if self.0.path.is_empty() {
            let mut shown: Vec<_> =
                path.iter().map(|(f, at)| (format!("in a call of {f}"), *at)).collect();
            if shown.len() > 2 * SHOWN {
                let left_out = shown.len() - 2 * SHOWN;
                shown.drain(SHOWN..SHOWN + left_out);
                shown[SHOWN].0 = format!("({left_out} calls left out) {}", shown[SHOWN].0);
            }
            self.0.path = shown;
        }
        self
    }

    pub fn mistake(&self) -> &Mistake {
        &self.0.mistake
    }

    pub fn span(&self) -> Option<Span> {
        self.0.span
    }

    pub fn is_interruption(&self) -> bool {
        matches!(self.0.mistake, Mistake::Interrupted)
    }

    /// Whether a proposal that meets this is simply rejected: it left the domain of a
    /// distribution's parameter or made two observations meet.
    pub fn rejects(&self) -> bool {
        match &self.0.mistake {
            Mistake::Argument { error, .. } => error.rejects(),
            Mistake::Clash | Mistake::Nowhere => true,
            _ => false,
        }
    }

    pub fn into_diagnostic(self) -> Diagnostic {
        let message = self.to_string();
        let Inner { mistake, span, path, hangs, advice } = *self.0;
        let mut diagnostic = Diagnostic::error(span, message);
        diagnostic.path = path;
        match mistake {
            Mistake::Unbound { suggestion: Some(name), .. } => {
                diagnostic.hints.push(format!("did you mean `{name}`?"));
            }
            Mistake::TooDeep => diagnostic.hints.push(
                "is there a recursion without an end, or one whose depth grows with the data?"
                    .into(),
            ),
            Mistake::Improper(_) => diagnostic
                .hints
                .push("move it by a random walk instead: (mh scope block 'drift sd n)".into()),
            Mistake::Other { hint: Some(hint), .. } => diagnostic.hints.push(hint),
            Mistake::Argument { error, .. } if hangs => {
                diagnostic.hints.extend(better_prior(&error).map(str::to_owned));
            }
            _ => {}
        }
        diagnostic.hints.extend(advice);
        diagnostic
    }
}

/// The name that was probably meant by one that is unbound: one of the program's own that is spelt nearly so, ours for what other
/// systems call so, or a built-in one that is spelt nearly so.
pub fn meant<'a>(name: &str, own: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    closest(name, own)
        .or_else(|| registry::called_elsewhere(name))
        .or_else(|| closest(name, registry::names()))
}

/// What to write so that random choices cannot leave the domain of a parameter.
fn better_prior(error: &ArgumentError) -> Option<&'static str> {
    let ArgumentError::Domain { expected, .. } = error else { return None };
    if expected.contains("positive") {
        Some("a random one stays positive as (half_normal 1), (gamma 2 1) or (exp (normal 0 1))")
    } else if expected.contains("probability") {
        Some("a random one stays between 0 and 1 as (beta 1 1) or (logistic (normal 0 1))")
    } else {
        None
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.mistake {
            Mistake::Unbound { name, .. } => write!(f, "the name `{name}` is unbound"),
            Mistake::UsedTooEarly(name) => {
                write!(f, "`{name}` is used before letrec has given it a value")
            }
            Mistake::NotAProcedure(value) => {
                write!(f, "{} {} is not a procedure", value.type_name(), value.brief())
            }
            Mistake::WrongCount { procedure, wanted, found } => {
                write!(f, "{procedure} takes {wanted} arguments, found {found}")
            }
            Mistake::Argument { procedure, error } => match error.argument() {
                Some(i) => write!(f, "argument {} of {procedure}: {error}", i + 1),
                None => write!(f, "{procedure}: {error}"),
            },
            Mistake::Condition(value) => write!(
                f,
                "a condition must be a boolean or a number, found {} {}",
                value.type_name(),
                value.brief()
            ),
            Mistake::TooDeep => write!(f, "calls are nested more than {CALL_LIMIT} levels deep"),
            Mistake::MemoLoop => f.write_str(
                "endless recursion: a procedure made by mem needs its own value for these arguments",
            ),
            Mistake::Improper(name) => write!(
                f,
                "{name} is an improper prior: a value cannot be proposed or predicted from it"
            ),
            Mistake::NotANumber { procedure, value } => {
                write!(f, "the log density of {procedure} at {} is not a number", value.brief())
            }
            Mistake::Other { message, .. } => f.write_str(message),
            Mistake::Interrupted => f.write_str("interrupted"),
            Mistake::Clash => f.write_str("two observations meet in one random choice"),
            Mistake::Nowhere => f.write_str("an observation refers to no random choice"),
        }
    }
}

impl std::error::Error for EvalError {}
