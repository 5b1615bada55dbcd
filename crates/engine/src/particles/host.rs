//! What lane programs ask the trace for.

use smidgen_value::{ArgumentError, Rng, Value};

use super::bound::{Inputs, Lanes, Library};
use super::writer::{NodePlace, Read, Writer};
use crate::error::{EvalError, Mistake};
use crate::formula::{Away, Builder, Formula};
use crate::id::NodeId;
use crate::operand::Operand;
use crate::program::lanes::{Call, Failed, Host, Outcome, Rule};
use crate::program::values::LaneStore;
use crate::trace::Trace;
use crate::trace::node::{MemoEntry, MemoKey, Op};

/// Rows of memoised procedures that branches ask for.
pub(super) struct Rows<'a> {
    pub away: &'a Away,
    /// Whether one was asked for that does not exist, or is part of what moves.
    pub is_missing: bool,
}

pub(super) struct OfTrace<'a> {
    pub trace: &'a mut Trace,
    pub places: &'a [NodePlace],
    /// If choices are drawn; the last lane is then the reference.
    pub rng: Option<&'a mut Rng>,
    pub rows: Option<Rows<'a>>,
}

impl OfTrace<'_> {
    pub fn misses_rows(&self) -> bool {
        self.rows.as_ref().is_some_and(|rows| rows.is_missing)
    }

    fn name(&self, call: &Call) -> &'static str {
        match call.rule {
            Rule::Function(function) => function.spec.name,
            Rule::Draw(distribution) | Rule::Density(distribution) => distribution.spec().name,
            _ => self.trace.maker_name(self.places[call.place as usize].node),
        }
    }
}

impl Host for OfTrace<'_> {
    #[cold]
    fn fails(&mut self, call: &Call, error: ArgumentError) -> Result<(), EvalError> {
        let span = self.places[call.place as usize].span;
        let error = self.trace.argument_error(self.name(call), error, span);
        if error.rejects() { Ok(()) } else { Err(error) }
    }

    #[cold]
    fn not_a_number(&mut self, call: &Call, x: &Value) -> EvalError {
        let place = self.places[call.place as usize];
        let procedure = match call.rule {
            Rule::Density(distribution) => distribution.spec().name,
            _ => self.trace.node(place.node).op_name(),
        };
        let mistake = Mistake::NotANumber { procedure: procedure.to_owned(), value: x.clone() };
        EvalError::new(mistake, place.span)
    }

    #[cold]
    fn improper(&mut self, call: &Call) -> EvalError {
        let span = self.places[call.place as usize].span;
        EvalError::new(Mistake::Improper(self.name(call)), span)
    }

    #[cold]
    fn no_condition(&mut self, place: u32, condition: Value) -> EvalError {
        // A procedure that is none of those that were found in the text.
        if let (Some(rows), Value::Number(_)) = (&mut self.rows, &condition) {
            rows.is_missing = true;
        }
        EvalError::new(Mistake::Condition(condition), self.places[place as usize].span)
    }

    fn ask(&mut self, call: &Call, args: &[&Value]) -> Result<Value, Failed> {
        let NodePlace { node: id, span } = self.places[call.place as usize];
        if let (Rule::Request, Some(rows)) = (call.rule, &mut self.rows) {
            let key = args.iter().map(|key| key.plain()).collect();
            let found = requested(self.trace, rows.away, id, key).map_err(Failed::Error)?;
            rows.is_missing |= found.is_none();
            let missing = || EvalError::other(span, "a row that does not exist");
            return found.ok_or_else(|| Failed::Error(missing()));
        }
        match &self.trace.node(id).op {
            Op::Maker(made) => {
                if made.maker.latent().is_none() {
                    made.maker.check(args)?;
                }
                Ok(Value::Number(made.statistics.log_marginal(args)?))
            }
            _ => unreachable!("only makers have applications"),
        }
    }

    #[inline]
    fn given(&self, place: u32) -> Option<&Value> {
        Some(&self.trace.node(self.places[place as usize].node).value)
    }

    #[inline]
    fn rng(&mut self) -> &mut Rng {
        self.rng.as_mut().expect("choices are drawn in steps")
    }
}

/// What a memoised procedure gives for a key: the value of a family that stays whatever moves, or what its
/// body comes to if that is a function of values that stay. None if it would take a random choice that
/// does not exist, or is part of what moves.
fn requested(
    trace: &mut Trace,
    away: &Away,
    memo: NodeId,
    key: MemoKey,
) -> Result<Option<Value>, EvalError> {
    let family = match trace.memo(memo).families.get(&key) {
        Some(MemoEntry::Family(family)) if !away.holds_family(*family) => Some(*family),
        _ => None,
    };
    if let Some(family) = family {
        let root = trace.families[family.index()].root.clone();
        return standing(trace, away, &root.expect("an evaluated family has a root"));
    }
    let mut builder = Builder::new(trace, away);
    let Some(body) = builder.body_of(memo, key) else { return Ok(None) };
    let mut reads = Vec::new();
    for id in builder.into_reads() {
        let Some(value) = standing(trace, away, &Operand::Node(id))? else { return Ok(None) };
        reads.push(Read::Constant(value));
    }
    value_of(trace, away, memo, &body, &reads)
}

/// The value of an operand that does not move.
fn standing(trace: &mut Trace, away: &Away, operand: &Operand) -> Result<Option<Value>, EvalError> {
    match operand {
        Operand::Node(id) if away.holds(trace, *id) => Ok(None),
        operand => Ok(Some(trace.operand_value(operand)?.clone())),
    }
}

/// What a formula comes to where everything that it reads is known: a program of one lane.
fn value_of(
    trace: &mut Trace,
    away: &Away,
    node: NodeId,
    formula: &Formula,
    reads: &[Read],
) -> Result<Option<Value>, EvalError> {
    let mut writer = Writer::default();
    let read = formula.write(&mut writer, node, reads);
    let held = match read {
        Read::Constant(value) => return Ok(Some(value)),
        read => writer.held(&read),
    };
    let (mut library, mut inputs) = (Library::default(), Inputs::default());
    let (bound, _) = library.add(writer, &[], &mut inputs);
    let (mut store, shared) = (LaneStore::default(), library.of(&bound));
    let lanes = [Lanes { bound: &bound, lanes: 0..1 }];
    library.load(&lanes, None, &inputs, &mut store, |_, _, _| {}, |_, _, _| {});
    let (mut alive, mut log_weights) = ([true], [0.0]);
    let mut outcome = Outcome { alive: &mut alive, log_weights: &mut log_weights };
    let rows = Some(Rows { away, is_missing: false });
    let mut host = OfTrace { trace, places: &bound.places, rng: None, rows };
    let uniforms = inputs.uniforms(&bound);
    let run = shared.lane_program.run(uniforms, &mut store, &mut outcome, &mut host);
    if host.misses_rows() {
        return Ok(None);
    }
    run?;
    match alive {
        [true] => Ok(Some(shared.lane_program.value(uniforms, &store, &held, 0))),
        // It has left a domain, as whoever asks for it then does.
        [false] => Err(EvalError::new(Mistake::Nowhere, None)),
    }
}
