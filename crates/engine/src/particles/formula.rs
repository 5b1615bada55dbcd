//! What a structure that only selects comes to, as a function of the values that it reads.
//!
//! A formula is the program's text with names resolved and calls followed, both sides of every branch: it can
//! be computed for values that the trace does not have. Only the side that is taken is computed.

use std::sync::Arc;

use smallvec::SmallVec;
use smidgen_lang::Span;
use smidgen_prob::{Distribution, Function};
use smidgen_value::Value;

use super::select::{Away, Builder};
use crate::error::{EvalError, Mistake};
use crate::id::NodeId;
use crate::node::{MemoEntry, MemoKey};
use crate::operand::Operand;
use crate::trace::Trace;

pub(super) type Term = Arc<Formula>;

pub(super) enum Formula {
    Constant(Value),
    /// The value of this number among those that are read.
    Read(u32),
    Apply(&'static Function, Vec<Term>, Span),
    If(Box<[Term; 3]>, Span),
    /// What a memoised procedure has for a key.
    Request(NodeId, Vec<Term>),
    /// A call of one of these procedures: what each comes to.
    Call(Term, Vec<(Value, Term)>),
    /// The log density of an observed value.
    Density(Density),
}

pub(super) struct Density {
    pub distribution: &'static dyn Distribution,
    pub args: Vec<Term>,
    pub observed: Value,
    pub span: Span,
}

/// Why there is no value.
pub(super) enum Stop {
    /// It would take a random choice that does not exist, or is part of what moves.
    Missing,
    Error(EvalError),
}

impl From<EvalError> for Stop {
    fn from(error: EvalError) -> Stop {
        Stop::Error(error)
    }
}

type Values = SmallVec<[Value; 4]>;

impl Formula {
    pub fn constant(&self) -> Option<&Value> {
        match self {
            Formula::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The value, where these are the values that are read.
    pub fn value(&self, trace: &mut Trace, away: &Away, read: &[Value]) -> Result<Value, Stop> {
        match self {
            Formula::Constant(value) => Ok(value.clone()),
            Formula::Read(place) => Ok(read[*place as usize].clone()),
            Formula::Apply(function, args, span) => {
                let args = values(args, trace, away, read)?;
                let args: SmallVec<[&Value; 4]> = args.iter().collect();
                let result = (function.apply)(&args);
                Ok(result.map_err(|e| trace.argument_error(function.spec.name, e, *span))?)
            }
            Formula::If(parts, span) => {
                let [condition, then, otherwise] = &**parts;
                let condition = condition.value(trace, away, read)?;
                match condition.truth() {
                    Some(true) => then.value(trace, away, read),
                    Some(false) => otherwise.value(trace, away, read),
                    None => Err(EvalError::new(Mistake::Condition(condition), *span).into()),
                }
            }
            Formula::Request(memo, keys) => {
                let key = values(keys, trace, away, read)?.into_iter().collect();
                requested(trace, away, *memo, key)
            }
            Formula::Call(operator, cases) => {
                let operator = operator.value(trace, away, read)?;
                let case = cases.iter().find(|(known, _)| *known == operator);
                case.ok_or(Stop::Missing)?.1.value(trace, away, read)
            }
            Formula::Density(density) => density.value(trace, away, read),
        }
    }
}

impl Density {
    fn value(&self, trace: &mut Trace, away: &Away, read: &[Value]) -> Result<Value, Stop> {
        let Density { distribution, args, observed, span } = self;
        let name = distribution.spec().name;
        let args = values(args, trace, away, read)?;
        let args: SmallVec<[&Value; 4]> = args.iter().collect();
        // A value of the wrong type makes the branch impossible.
        let Ok(x) = distribution.admit(observed) else {
            return Ok(Value::Number(f64::NEG_INFINITY));
        };
        let log_p = distribution.log_density(&x, &args);
        let log_p = log_p.map_err(|e| trace.argument_error(name, e, *span))?;
        if log_p.is_nan() {
            let mistake = Mistake::NotANumber { procedure: name.to_owned(), value: x };
            return Err(EvalError::new(mistake, *span).into());
        }
        Ok(Value::Number(log_p))
    }
}

fn values(terms: &[Term], trace: &mut Trace, away: &Away, read: &[Value]) -> Result<Values, Stop> {
    terms.iter().map(|term| term.value(trace, away, read)).collect()
}

/// What a memoised procedure gives for a key: the value of a family that stays whatever moves, or what its
/// body comes to if that is a function of values that stay.
fn requested(trace: &mut Trace, away: &Away, memo: NodeId, key: MemoKey) -> Result<Value, Stop> {
    let family = match trace.memo(memo).families.get(&key) {
        Some(MemoEntry::Family(family)) if !away.holds_family(*family) => Some(*family),
        _ => None,
    };
    if let Some(family) = family {
        let root = trace.families[family.index()].root.clone();
        return standing(trace, away, &root.expect("an evaluated family has a root"));
    }
    let mut builder = Builder::new(trace, away);
    let body = builder.body_of(memo, key).ok_or(Stop::Missing)?;
    let reads = builder.into_reads();
    let read: Result<Values, Stop> =
        reads.into_iter().map(|id| standing(trace, away, &Operand::Node(id))).collect();
    body.value(trace, away, &read?)
}

/// The value of an operand that does not move.
fn standing(trace: &mut Trace, away: &Away, operand: &Operand) -> Result<Value, Stop> {
    match operand {
        Operand::Node(id) if away.holds(trace, *id) => Err(Stop::Missing),
        operand => Ok(trace.operand_value(operand)?.clone()),
    }
}
