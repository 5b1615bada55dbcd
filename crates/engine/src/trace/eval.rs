//! Core expressions to operands and nodes.
//!
//! An expression whose parts are constants is computed on the spot. A condition or an operator
//! that may change becomes a [`Structure`] node with the chosen body as its family. `want` is an
//! observed value on its way down: it passes through variables, taken branches, calls and scopes
//! in tail position to the random choice that is made there, which takes the value instead of
//! drawing one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;
use smidgen_lang::Span;
use smidgen_lang::core::{Expr, ExprKind, ExprRef};
use smidgen_value::Value;

pub(crate) use super::evaluation::{Evaluation, Making, NewClaim, Phase, Portion, Regeneration};
use crate::environment::Environment;
use crate::error::{CALL_LIMIT, EvalError, Mistake};
use crate::id::{FamilyId, NodeId};
use crate::operand::{Operand, Operands};
use crate::procedure::{NamedEnvironment, Procedure};
use crate::tag::Tags;
use crate::trace::Trace;
use crate::trace::address::address;
use crate::trace::journal::Edit;
use crate::trace::node::{Observed, Op, Structure, StructureKind};

type Want<'a> = Option<&'a Observed>;

impl Trace {
    pub(crate) fn eval(
        &mut self,
        expr: &ExprRef,
        env: &Environment,
        cx: &mut Evaluation<'_>,
        want: Want<'_>,
    ) -> Result<Operand, EvalError> {
        match &expr.kind {
            ExprKind::Constant(value) => Ok(Operand::Constant(value.clone())),
            ExprKind::Local { depth, slot, name } => match env.get(*depth, *slot) {
                Some(operand) => self.rehearsed_operand(operand.clone(), cx),
                None => cx.fail(EvalError::new(Mistake::UsedTooEarly(*name), expr.span)),
            },
            ExprKind::Global(name) => match self.global(*name) {
                Some(operand) => self.rehearsed_operand(operand, cx),
                None => cx.fail(self.unbound(*name, expr.span)),
            },
            ExprKind::Lambda(lambda) => {
                let procedure =
                    Procedure::Compound { lambda: lambda.clone(), environment: env.clone() };
                Ok(Operand::Constant(procedure.into_value(self.next_creation())))
            }
            ExprKind::Cell { column, depth, slot, .. } => {
                let row = env.get(*depth, *slot).and_then(Operand::constant);
                let row = row.and_then(Value::as_integer).expect("a for binds a row number");
                Ok(Operand::Constant(column.cell(row as usize)))
            }
            ExprKind::CurrentEnvironment(names) => {
                let named = NamedEnvironment {
                    environment: env.clone(),
                    names: names.to_vec(),
                    sees_program: true,
                };
                Ok(Operand::Constant(named.into_value(self.next_creation())))
            }
            _ => stacker::maybe_grow(128 << 10, 2 << 20, || self.eval_nested(expr, env, cx, want)),
        }
    }

    fn eval_nested(
        &mut self,
        expr: &ExprRef,
        env: &Environment,
        cx: &mut Evaluation<'_>,
        want: Want<'_>,
    ) -> Result<Operand, EvalError> {
        match &expr.kind {
            ExprKind::If(condition, then, otherwise) => {
                let condition = self.eval(condition, env, cx, None)?;
                if let Operand::Constant(value) = &condition {
                    let taken = if self.truth(value, expr.span, cx)? { then } else { otherwise };
                    return self.eval(taken, env, cx, want);
                }
                let kind =
                    StructureKind::Branch { then: then.clone(), otherwise: otherwise.clone() };
                self.structure(kind, env, SmallVec::from_iter([condition]), expr.span, cx, want)
            }
            ExprKind::Let { value, body, .. } => {
                let value = self.eval(value, env, cx, None)?;
                self.eval(body, &env.push([value]), cx, want)
            }
            ExprKind::LetRec { values, body, .. } => {
                let inner = env.push_empty();
                let values: Result<Operands, _> =
                    values.iter().map(|value| self.eval(value, &inner, cx, None)).collect();
                inner.fill(values?);
                self.eval(body, &inner, cx, want)
            }
            ExprKind::Begin(parts) => {
                let (last, before) = parts.split_last().expect("begin is never empty");
                for part in before {
                    self.eval(part, env, cx, None)?;
                }
                self.eval(last, env, cx, want)
            }
            ExprKind::Apply { operator, operands } => {
                let site = Site { operator: Some(operator), operands, span: expr.span };
                if let ExprKind::Global(name) = operator.kind
                    && let Some(builtin) = self.known_builtin(name)
                {
                    let values = self.eval_operands(operands, env, cx)?;
                    return self.apply_builtin(builtin, values, site, cx, want);
                }
                let operator_value = self.eval(operator, env, cx, None)?;
                let values = self.eval_operands(operands, env, cx)?;
                self.apply(operator_value, values, site, cx, want)
            }
            ExprKind::ScopeInclude { scope, block, body } => {
                let scope = self.eval(scope, env, cx, None)?;
                let block = self.eval(block, env, cx, None)?;
                match (&scope, &block) {
                    (Operand::Constant(scope), Operand::Constant(block)) => {
                        self.check_scope(scope, expr.span, cx)?;
                        let tags = cx.tags.include(scope.clone(), block.clone());
                        self.eval_tagged(body, env, tags, cx, want)
                    }
                    _ => {
                        let kind = StructureKind::Include { body: body.clone() };
                        let arguments = SmallVec::from_iter([scope, block]);
                        self.structure(kind, env, arguments, expr.span, cx, want)
                    }
                }
            }
            ExprKind::ScopeExclude { scope, body } => match self.eval(scope, env, cx, None)? {
                Operand::Constant(scope) => {
                    self.check_scope(&scope, expr.span, cx)?;
                    let tags = cx.tags.exclude(scope);
                    self.eval_tagged(body, env, tags, cx, want)
                }
                scope => {
                    let kind = StructureKind::Exclude { body: body.clone() };
                    self.structure(kind, env, SmallVec::from_iter([scope]), expr.span, cx, want)
                }
            },
            ExprKind::Constant(_)
            | ExprKind::Local { .. }
            | ExprKind::Global(_)
            | ExprKind::Lambda(_)
            | ExprKind::Cell { .. }
            | ExprKind::CurrentEnvironment(_) => unreachable!("handled without growing the stack"),
        }
    }

    fn eval_operands(
        &mut self,
        operands: &[ExprRef],
        env: &Environment,
        cx: &mut Evaluation<'_>,
    ) -> Result<Operands, EvalError> {
        let mut values = Operands::new();
        for operand in operands {
            values.push(self.eval(operand, env, cx, None)?);
        }
        Ok(values)
    }

    pub(crate) fn eval_tagged(
        &mut self,
        body: &ExprRef,
        env: &Environment,
        tags: Tags,
        cx: &mut Evaluation<'_>,
        want: Want<'_>,
    ) -> Result<Operand, EvalError> {
        let outer = std::mem::replace(&mut cx.tags, tags);
        let result = self.eval(body, env, cx, want);
        cx.tags = outer;
        result
    }

    pub(crate) fn check_scope(
        &self,
        scope: &Value,
        span: Span,
        cx: &Evaluation<'_>,
    ) -> Result<(), EvalError> {
        match scope {
            Value::Symbol(name) if name.as_str() == "default" => {
                let message = "the scope `default` belongs to the system: choose another name";
                cx.fail(EvalError::other(span, message))
            }
            Value::Symbol(_)
            | Value::Number(_)
            | Value::Linked(..)
            | Value::Bool(_)
            | Value::Text(_) => Ok(()),
            other => cx.fail(EvalError::other(
                span,
                format!(
                    "a scope is named by a symbol, a number or a string, found {}",
                    other.type_name()
                ),
            )),
        }
    }

    pub(crate) fn truth(
        &self,
        value: &Value,
        span: Span,
        cx: &Evaluation<'_>,
    ) -> Result<bool, EvalError> {
        match value.truth() {
            Some(truth) => Ok(truth),
            None => cx.fail(EvalError::new(Mistake::Condition(value.clone()), span)),
        }
    }

    /// Makes sure that a node's value can be read.
    #[inline]
    pub(crate) fn settle(&mut self, id: NodeId, cx: &mut Evaluation<'_>) -> Result<(), EvalError> {
        if self.node(id).pending {
            return stacker::maybe_grow(128 << 10, 2 << 20, || self.regenerate_node(id, cx));
        }
        self.refresh(id)
    }

    #[inline]
    pub(crate) fn settle_operand(
        &mut self,
        operand: &Operand,
        cx: &mut Evaluation<'_>,
    ) -> Result<(), EvalError> {
        match operand {
            Operand::Constant(_) => Ok(()),
            Operand::Node(id) => self.settle(*id, cx),
        }
    }

    // ------------------------------------------------------------ structure

    /// A node whose existential arguments decide what is evaluated.
    pub(crate) fn structure(
        &mut self,
        kind: StructureKind,
        env: &Environment,
        arguments: Operands,
        span: Span,
        cx: &mut Evaluation<'_>,
        want: Want<'_>,
    ) -> Result<Operand, EvalError> {
        let structure =
            Arc::new(Structure { kind, environment: env.clone(), tags: cx.tags.clone() });
        for argument in &arguments {
            self.settle_operand(argument, cx)?;
        }
        let values: SmallVec<[Value; 2]> =
            arguments.iter().map(|a| self.settled_value(a).clone()).collect();
        let owner = &self.families[cx.family.index()];
        let at = address(owner.address, owner.nodes.len() as u64);
        // What goes wrong in the body may not in another one.
        let expanded = self.expand(&structure, &values, (span, at), cx, want);
        let (expansion, root) = expanded.map_err(|error| error.hanging(true))?;
        self.settle_operand(&root, cx)?;
        let value = self.settled_value(&root).clone();
        let operands = arguments.into_iter().chain([root]);
        let place = (cx.family, Tags::default(), span);
        let id = self.add_node(Op::Structure(structure), operands, value, place);
        let node = self.node_mut(id);
        node.expansion = expansion;
        node.observed = want.map(|observed| Box::new(observed.clone()));
        Ok(Operand::Node(id))
    }

    /// Evaluates the body that the existential arguments' values choose, for the structure at
    /// this place and address. Gives its family
    /// (with one reference for the asking node) and its root.
    pub(crate) fn expand(
        &mut self,
        structure: &Structure,
        values: &[Value],
        (span, at): (Span, u64),
        cx: &mut Evaluation<'_>,
        want: Want<'_>,
    ) -> Result<(FamilyId, Operand), EvalError> {
        if let StructureKind::Request { memo } = structure.kind {
            let outer = std::mem::replace(&mut cx.tags, structure.tags.clone());
            let family =
                self.request(memo, values.iter().map(Value::plain).collect(), span, cx, want);
            cx.tags = outer;
            let family = family?;
            let root = self.families[family.index()].root.clone();
            return Ok((family, root.expect("an evaluated family has a root")));
        }
        let env = &structure.environment;
        let address = address(at, self.address_of_values(values));
        let place = (structure.tags.clone(), address);
        self.in_new_family(cx, place, |trace, cx| match &structure.kind {
            StructureKind::Branch { then, otherwise } => {
                let taken = if trace.truth(&values[0], span, cx)? { then } else { otherwise };
                trace.eval(taken, env, cx, want)
            }
            StructureKind::Call { operands } => {
                let operator = Operand::Constant(values[0].clone());
                trace.apply(operator, operands.clone(), Site::at(span), cx, want)
            }
            StructureKind::Include { body } => {
                trace.check_scope(&values[0], span, cx)?;
                let tags = cx.tags.include(values[0].clone(), values[1].clone());
                trace.eval_tagged(body, env, tags, cx, want)
            }
            StructureKind::Exclude { body } => {
                trace.check_scope(&values[0], span, cx)?;
                let tags = cx.tags.exclude(values[0].clone());
                trace.eval_tagged(body, env, tags, cx, want)
            }
            StructureKind::HigherOrder { which, operands, deciding } => {
                let mut operands = operands.clone();
                for (place, value) in deciding.iter().zip(values) {
                    operands[*place] = Operand::Constant(value.clone());
                }
                trace.apply_higher_order(*which, operands, Site::at(span), cx, want)
            }
            StructureKind::Request { .. } => unreachable!("a request shares its family"),
        })
    }

    /// Evaluates in a family of its own. A family in which nothing was made is given back at
    /// once: a constant needs none.
    pub(crate) fn in_new_family(
        &mut self,
        cx: &mut Evaluation<'_>,
        (tags, address): (Tags, u64),
        body: impl FnOnce(&mut Trace, &mut Evaluation<'_>) -> Result<Operand, EvalError>,
    ) -> Result<(FamilyId, Operand), EvalError> {
        let family = self.add_family(address);
        let outer_family = std::mem::replace(&mut cx.family, family);
        let outer_tags = std::mem::replace(&mut cx.tags, tags);
        let result = body(self, cx);
        cx.family = outer_family;
        cx.tags = outer_tags;
        let root = result?;
        // Only if nothing else happened meanwhile either (a pending node may have been
        // regenerated because the body read it) can the family be taken back.
        if matches!(self.journal.last(), Some(Edit::FamilyAdded(last)) if *last == family) {
            self.journal.pop();
            self.free_family(family);
            return Ok((FamilyId::NONE, root));
        }
        self.families[family.index()].root = Some(root.clone());
        Ok((family, root))
    }

    pub(crate) fn enter_call(&self, cx: &mut Evaluation<'_>, span: Span) -> Result<(), EvalError> {
        cx.depth += 1;
        if cx.depth > CALL_LIMIT {
            return cx.fail(EvalError::new(Mistake::TooDeep, span));
        }
        self.check_interrupt(span, cx)
    }

    /// An error if somebody has asked the run to stop. One look at a flag: for loops that may take long.
    #[inline]
    pub fn stop_if_asked(&self) -> Result<(), EvalError> {
        match self.interrupt.load(Ordering::Relaxed) {
            true => Err(EvalError::new(Mistake::Interrupted, None)),
            false => Ok(()),
        }
    }

    pub(crate) fn check_interrupt(&self, span: Span, cx: &Evaluation<'_>) -> Result<(), EvalError> {
        match self.interrupt.load(Ordering::Relaxed) {
            true => cx.fail(EvalError::new(Mistake::Interrupted, span)),
            false => Ok(()),
        }
    }
}

/// Where an application stands in the text: for messages that point at an operand.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    pub operator: Option<&'a Expr>,
    pub operands: &'a [ExprRef],
    pub span: Span,
}

impl Site<'_> {
    pub fn at(span: Span) -> Site<'static> {
        Site { operator: None, operands: &[], span }
    }

    /// The place of argument `i`, or of the whole application.
    pub fn operand_span(&self, i: Option<usize>) -> Span {
        i.and_then(|i| self.operands.get(i)).map_or(self.span, |operand| operand.span)
    }
}
