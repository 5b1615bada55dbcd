//! What the program would make for a candidate's T_k, made aside: a small evaluator in which
//! everything is a value. It follows [`crate::trace::eval`] and [`crate::trace::apply`] step by step, draws from
//! the same streams in the same order, and gives up (none) where it cannot follow.
//! Bodies that are known from before are made again by [`super::template`].

use smallvec::SmallVec;
use smidgen_lang::core::{ExprKind, ExprRef};
use smidgen_prob::registry::Builtin;
use smidgen_prob::{Maker, Statistics};
use smidgen_value::rng::seed_of;
use smidgen_value::{Rng, Value};

use super::DrawnFrom;
use super::dry_run::{Bench, live_root};
use super::template::Templates;
use crate::environment::Environment;
use crate::id::NodeId;
use crate::operand::Operand;
use crate::procedure::Procedure;
use crate::tag::name_of_scope;
use crate::trace::Trace;
use crate::trace::address::address;
use crate::trace::eval::Portion;
use crate::trace::node::{MemoKey, Op, Structure, StructureKind};

/// Nested calls that are followed.
const DEPTH: u32 = 60;
/// Names of made procedures from here on are places in `made`.
const ASIDE: u32 = 1 << 31;

pub(super) type Values = SmallVec<[Value; 4]>;

pub(super) fn refs(values: &[Value]) -> SmallVec<[&Value; 4]> {
    values.iter().collect()
}

#[derive(Default)]
pub(super) struct BrushEvaluator {
    /// Log density of the observed choices that were made, and the number of the others.
    pub log_observed: f64,
    pub choices: usize,
    /// Whether the program would make something.
    pub makes: bool,
    /// Seed and number of the candidate's stream; whether every portion of T' has one of its own, and
    /// the portion at hand.
    stream: (u64, u64),
    pub replays: bool,
    portion: Option<Portion>,
    pub(super) open: Option<Rng>,
    /// Memoised families made for this candidate.
    families: Vec<Family>,
    /// Makers that were applied for this candidate.
    applied: SmallVec<[NodeId; 4]>,
    pub(super) made: Vec<Made>,
    pub(super) templates: Templates,
    pub(super) scope: Option<Value>,
    pub(super) in_scope: bool,
    /// Whether the observed value handed down was taken.
    taken: bool,
    /// Whether nothing but constants was read, and nothing drawn.
    pub(super) constant: bool,
    depth: u32,
}

/// A portion that was left for another, and its stream, if it has one of its own. A stream is large, and mostly there is none.
pub(super) struct Outside {
    portion: Option<Portion>,
    stream: Option<Box<Rng>>,
}

/// What a maker made aside.
pub(super) struct Made {
    maker: &'static dyn Maker,
    statistics: Box<dyn Statistics>,
    params: Values,
}

/// A memoised family made for the candidate at hand.
struct Family {
    memo: NodeId,
    key: MemoKey,
    value: Value,
}

impl Family {
    fn of(memo: NodeId, key: &[Value], value: &Value) -> Family {
        Family { memo, key: key.iter().cloned().collect(), value: value.clone() }
    }
}

impl BrushEvaluator {
    pub fn begin(&mut self, stream: (u64, u64)) {
        self.stream = stream;
        (self.portion, self.open) = (None, None);
        (self.log_observed, self.choices, self.depth) = (0.0, 0, 0);
        self.makes = false;
        self.families.clear();
        self.applied.clear();
        self.made.truncate(self.templates.made());
    }

    /// The stream that a proposal for the candidate at hand would draw from.
    pub(super) fn rng(&mut self) -> &mut Rng {
        if self.open.is_none() {
            let (seed, stream) = self.stream;
            self.open = Some(match self.replays {
                true => {
                    let portion = self.portion.expect("only structures are expanded");
                    Rng::for_chain(seed_of(seed, stream), portion.stream())
                }
                false => Rng::for_chain(seed, stream),
            });
        }
        self.open.as_mut().expect("it was just opened")
    }

    /// Goes on with a portion of T'. Gives what to go back to.
    pub(super) fn enter(&mut self, portion: Portion) -> Outside {
        let stream = if self.replays { self.open.take().map(Box::new) } else { None };
        Outside { portion: self.portion.replace(portion), stream }
    }

    pub(super) fn leave(&mut self, outside: Outside) {
        self.portion = outside.portion;
        if self.replays {
            self.open = outside.stream.map(|stream| *stream);
        }
    }

    /// Which choices have to be noticed.
    pub fn count_in(&mut self, drawn_from: DrawnFrom<'_>) {
        match drawn_from {
            DrawnFrom::Scope(scope) if self.scope.as_ref() == Some(scope) => {}
            DrawnFrom::Scope(scope) => self.scope = Some(scope.clone()),
            _ => self.scope = None,
        }
    }
}

impl BrushEvaluator {
    /// Whether choices of a memoised body count in the scope: those of a name do so in its own applications alone.
    pub(super) fn counts_in(&self, trace: &Trace, memo: NodeId) -> bool {
        match &self.scope {
            Some(scope) if name_of_scope(scope).is_some() => {
                trace.memo(memo).scope.as_ref() == Some(scope)
            }
            _ => self.in_scope,
        }
    }
}

impl Bench<'_> {
    fn brush(&mut self) -> &mut BrushEvaluator {
        &mut self.dry_run.brush
    }

    /// The value of a structure of D, from what makes its body.
    pub fn expand(
        &mut self,
        trace: &mut Trace,
        id: NodeId,
        want: Option<&Value>,
        body: impl FnOnce(&mut Self, &mut Trace) -> Option<Value>,
    ) -> Option<Value> {
        let in_scope = self.plan.shape.tagged && self.is_in_scope(trace, id);
        let brush = self.brush();
        let outside = brush.enter(Portion::Below(id));
        let outer_scope = std::mem::replace(&mut brush.in_scope, in_scope);
        let outer_taken = std::mem::replace(&mut brush.taken, false);
        let value = body(self, trace);
        let brush = self.brush();
        let taken = std::mem::replace(&mut brush.taken, outer_taken);
        brush.in_scope = outer_scope;
        brush.leave(outside);
        // An observation that comes to a choice made before moves.
        if want.is_some() && !taken { None } else { value }
    }

    fn is_in_scope(&mut self, trace: &Trace, id: NodeId) -> bool {
        match (&trace.node(id).op, &self.brush().scope) {
            (Op::Structure(structure), Some(scope)) => structure.tags.hold(scope),
            _ => false,
        }
    }

    pub fn body(
        &mut self,
        trace: &mut Trace,
        structure: &Structure,
        values: &[Value],
        want: Option<&Value>,
    ) -> Option<Value> {
        let env = &structure.environment;
        match &structure.kind {
            StructureKind::Request { memo } => self.request(trace, *memo, values, want),
            StructureKind::Branch { then, otherwise } => {
                let taken = if values[0].truth()? { then } else { otherwise };
                self.eval(trace, taken, env, want)
            }
            StructureKind::Call { operands } => {
                let mut arguments = Values::new();
                for operand in operands {
                    arguments.push(self.operand(trace, operand)?);
                }
                self.apply(trace, &values[0], &arguments, want)
            }
            StructureKind::Include { body } => {
                self.include(trace, &values[0], true, body, env, want)
            }
            StructureKind::Exclude { body } => {
                self.include(trace, &values[0], false, body, env, want)
            }
            StructureKind::HigherOrder { .. } => None,
        }
    }

    fn operand(&mut self, trace: &mut Trace, operand: &Operand) -> Option<Value> {
        if let Operand::Node(_) = operand {
            self.brush().constant = false;
        }
        self.dry_run.operand(trace, self.plan, operand)
    }

    fn include(
        &mut self,
        trace: &mut Trace,
        scope: &Value,
        counts: bool,
        body: &ExprRef,
        env: &Environment,
        want: Option<&Value>,
    ) -> Option<Value> {
        let brush = self.brush();
        let outer = brush.in_scope;
        if brush.scope.as_ref() == Some(scope) {
            brush.in_scope = counts;
        }
        let value = self.eval(trace, body, env, want);
        self.brush().in_scope = outer;
        value
    }

    fn eval(
        &mut self,
        trace: &mut Trace,
        expr: &ExprRef,
        env: &Environment,
        want: Option<&Value>,
    ) -> Option<Value> {
        match &expr.kind {
            ExprKind::Constant(value) => Some(value.clone()),
            ExprKind::Local { depth, slot, .. } => {
                let operand = env.get(*depth, *slot)?.clone();
                self.operand(trace, &operand)
            }
            ExprKind::Global(name) => {
                let operand = trace.global(*name)?;
                self.operand(trace, &operand)
            }
            ExprKind::Lambda(lambda) => {
                let (lambda, environment) = (lambda.clone(), env.clone());
                Some(Procedure::Compound { lambda, environment }.into_value(trace.next_creation()))
            }
            ExprKind::Cell { column, depth, slot, .. } => {
                let row = env.get(*depth, *slot)?.constant()?.as_integer()?;
                Some(column.cell(row as usize))
            }
            ExprKind::If(condition, then, otherwise) => {
                let condition = self.eval(trace, condition, env, None)?.truth()?;
                self.eval(trace, if condition { then } else { otherwise }, env, want)
            }
            ExprKind::Let { value, body, .. } => {
                let value = self.eval(trace, value, env, None)?;
                self.eval(trace, body, &env.push([Operand::Constant(value)]), want)
            }
            ExprKind::Begin(parts) => {
                let (last, before) = parts.split_last()?;
                for part in before {
                    self.eval(trace, part, env, None)?;
                }
                self.eval(trace, last, env, want)
            }
            ExprKind::Apply { operator, operands } => {
                let operator = self.eval(trace, operator, env, None)?;
                let mut values = Values::new();
                for operand in operands {
                    values.push(self.eval_operand(trace, operand, env)?);
                }
                self.apply(trace, &operator, &values, want)
            }
            ExprKind::ScopeInclude { scope, block, body } => {
                let scope = self.eval(trace, scope, env, None)?;
                self.eval(trace, block, env, None)?;
                self.include(trace, &scope, true, body, env, want)
            }
            ExprKind::ScopeExclude { scope, body } => {
                let scope = self.eval(trace, scope, env, None)?;
                self.include(trace, &scope, false, body, env, want)
            }
            ExprKind::LetRec { .. } | ExprKind::CurrentEnvironment(_) => None,
        }
    }

    /// As [`Bench::eval`]; an application that holds no variable is computed once.
    fn eval_operand(
        &mut self,
        trace: &mut Trace,
        expr: &ExprRef,
        env: &Environment,
    ) -> Option<Value> {
        if !matches!(expr.kind, ExprKind::Apply { .. }) {
            return self.eval(trace, expr, env, None);
        }
        match self.brush().templates.expression(expr) {
            Some(Some(value)) => return Some(value.clone()),
            Some(None) => return self.eval(trace, expr, env, None),
            None => {}
        }
        let outer = std::mem::replace(&mut self.brush().constant, true);
        let value = self.eval(trace, expr, env, None)?;
        let brush = self.brush();
        brush.templates.keep_expression(expr, &value, brush.constant);
        brush.constant &= outer;
        Some(value)
    }

    pub fn apply(
        &mut self,
        trace: &mut Trace,
        operator: &Value,
        operands: &[Value],
        want: Option<&Value>,
    ) -> Option<Value> {
        let refs = refs(operands);
        match Procedure::of(operator)? {
            Procedure::Builtin(Builtin::Function(function)) => {
                let admits = function.spec.arity.admits(refs.len());
                if admits { (function.apply)(&refs).ok() } else { None }
            }
            Procedure::Builtin(Builtin::Distribution(distribution)) => {
                if !distribution.spec().arity.admits(refs.len()) {
                    return None;
                }
                let brush = self.brush();
                brush.constant = false;
                match want {
                    Some(observed) => {
                        let value = distribution.admit(observed).ok()?;
                        let log_p = distribution.log_density(&value, &refs).ok()?;
                        brush.observe(log_p)?;
                        Some(value)
                    }
                    None if brush.in_scope || !distribution.is_proper() => None,
                    None => {
                        brush.choices += 1;
                        distribution.sample(&refs, brush.rng()).ok()
                    }
                }
            }
            Procedure::Builtin(Builtin::Maker(maker)) => self.make(*maker, operands),
            Procedure::Builtin(Builtin::HigherOrder(_)) => None,
            Procedure::Compound { lambda, environment } => {
                let brush = self.brush();
                if lambda.params.len() != operands.len() || brush.depth >= DEPTH {
                    return None;
                }
                brush.depth += 1;
                let env = environment.push(operands.iter().cloned().map(Operand::Constant));
                let value = self.eval(trace, &lambda.body, &env, want);
                self.brush().depth -= 1;
                value
            }
            Procedure::Memoised(memo) => self.request(trace, *memo, operands, want),
            Procedure::Made(maker) => {
                let observed = want?;
                if !operands.is_empty() {
                    return None;
                }
                if !BrushEvaluator::is_aside(*maker) {
                    trace.refresh_arguments(*maker).ok()?;
                }
                self.brush().constant = false;
                self.dry_run.log_predictive(trace, *maker, observed)
            }
        }
    }

    fn make(&mut self, maker: &'static dyn Maker, params: &[Value]) -> Option<Value> {
        let refs = refs(params);
        if maker.latent().is_some() || !maker.spec().arity.admits(refs.len()) {
            return None;
        }
        maker.check(&refs).ok()?;
        let statistics = maker.empty(&refs).ok()?;
        let brush = self.brush();
        let name = NodeId(ASIDE + brush.made.len() as u32);
        brush.made.push(Made { maker, statistics, params: params.iter().cloned().collect() });
        Some(Procedure::Made(name).into_value(u64::from(name.0)))
    }

    pub fn request(
        &mut self,
        trace: &mut Trace,
        memo: NodeId,
        values: &[Value],
        want: Option<&Value>,
    ) -> Option<Value> {
        if trace.role(memo).is_some() {
            return None;
        }
        let key: MemoKey = values.iter().map(Value::plain).collect();
        if let Some(root) = live_root(trace, memo, &key) {
            self.brush().constant = false;
            return if want.is_some() { None } else { self.operand(trace, &root) };
        }
        self.make_family(trace, memo, &key, want)
    }

    /// The value of a family that the table does not have, or not any more.
    pub fn make_family(
        &mut self,
        trace: &mut Trace,
        memo: NodeId,
        values: &[Value],
        want: Option<&Value>,
    ) -> Option<Value> {
        if trace.role(memo).is_some() {
            return None;
        }
        let brush = &mut self.dry_run.brush;
        brush.makes = true;
        let known = |family: &&Family| family.memo == memo && family.key[..] == *values;
        if let Some(Family { value, .. }) = brush.families.iter().find(known) {
            brush.constant = false;
            return if want.is_some() { None } else { Some(value.clone()) };
        }
        if let (None, Some(known)) = (want, brush.make_again(trace, memo, values)) {
            let value = known?;
            brush.families.push(Family::of(memo, values, &value));
            return Some(value);
        }
        let outside = brush.enter(brush.family(trace, memo, values)?);
        let target = trace.memo(memo).target.clone();
        let outer = std::mem::replace(&mut self.brush().constant, true);
        let counts = self.brush().counts_in(trace, memo);
        let outer_scope = std::mem::replace(&mut self.brush().in_scope, counts);
        let value = self.apply(trace, &target, values, want);
        self.brush().in_scope = outer_scope;
        let value = value?;
        self.brush().leave(outside);
        if want.is_none() {
            self.brush().keep(trace, &target, values, &value);
        }
        let brush = self.brush();
        brush.constant &= outer;
        brush.families.push(Family::of(memo, values, &value));
        Some(value)
    }
}

impl BrushEvaluator {
    /// The portion of T' that a memoised family is. None if its address would be another one than in the
    /// trace, because procedures that were made aside may be in its key.
    pub(super) fn family(&self, trace: &Trace, memo: NodeId, key: &[Value]) -> Option<Portion> {
        if !self.replays {
            return Some(Portion::Family(0));
        }
        let is_plain = |value: &Value| {
            matches!(
                value,
                Value::Number(_)
                    | Value::Bool(_)
                    | Value::Symbol(_)
                    | Value::Text(_)
                    | Value::Vector(_)
            )
        };
        let of_key = || address(trace.node(memo).address, trace.address_of_values(key));
        key.iter().all(is_plain).then(|| Portion::Family(of_key()))
    }

    /// Whether a made procedure was made aside.
    pub fn is_aside(maker: NodeId) -> bool {
        maker.0 >= ASIDE
    }

    /// The observed value in its type and its log density, for what was made aside.
    pub fn read(&self, maker: NodeId, observed: &Value) -> Option<(Value, f64)> {
        let made = &self.made[(maker.0 - ASIDE) as usize];
        let value = made.statistics.admit(observed).ok()?;
        let log_p = made.statistics.log_predictive(&value, &refs(&made.params)).ok()?;
        Some((value, log_p))
    }

    /// What [`Statistics::student`] says of what was made aside by a maker of this kind.
    pub fn student(
        &self,
        made: NodeId,
        kind: &'static dyn Maker,
        numbers: &mut Vec<f64>,
    ) -> Option<usize> {
        if !BrushEvaluator::is_aside(made) {
            return None;
        }
        let made = &self.made[(made.0 - ASIDE) as usize];
        let same = std::ptr::addr_eq(made.maker, kind);
        if same { made.statistics.student(&refs(&made.params), numbers) } else { None }
    }

    /// An application of this maker took the observed value. None for a second one: it would have
    /// to count the first.
    pub fn take(&mut self, maker: NodeId, log_p: f64) -> Option<()> {
        if self.applied.contains(&maker) {
            return None;
        }
        self.applied.push(maker);
        self.observe(log_p)
    }

    /// The observed value was taken, with this log density.
    pub(super) fn observe(&mut self, log_p: f64) -> Option<()> {
        if log_p.is_nan() {
            return None;
        }
        self.log_observed += log_p;
        self.taken = true;
        Some(())
    }
}
