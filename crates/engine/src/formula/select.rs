//! Structures of D that only select among values: `(if s 0.98 0.02)` with s in a chain, `(P s)` with rows
//! that exist, `((if s f g) x)`.
//!
//! What a branch comes to on either side is found from the program's text ([`Formula`]): every path can then
//! be weighed without making anything. That holds where the text makes no random choice, but for
//! the one that takes an observed value, whose density is then what the structure adds. Anything else is
//! refused: the choices decide what exists.
//!
//! What counts as existing is what is left when the families that go with D (T) are taken away: so whether a
//! structure selects, and what it reads on any of its sides, is the same from every state that a move
//! can lead to. A row that only the path itself asks for does not exist in this sense. Which row is asked
//! for is known only with a value; whether all of them exist is asked when paths are weighed. Whoever weighs the values of a
//! single choice can ask for rows at once ([`Standing`]): where a key is one of a few constants, the rows are those of
//! these constants, and if one does not exist, nothing is found.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smidgen_lang::Span;
use smidgen_lang::core::{Expr, ExprKind};
use smidgen_prob::registry::Builtin;
use smidgen_value::Value;

use super::strict::stands_for;
use super::{Density, Formula, Term};
use crate::environment::Environment;
use crate::id::{FamilyId, NodeId};
use crate::operand::Operand;
use crate::procedure::Procedure;
use crate::trace::Trace;
use crate::trace::node::{MemoEntry, MemoKey, Op, Role, StructureKind};
use crate::trace::scaffold::Scaffold;

/// Expressions that are followed for one structure.
const MOST_STEPS: usize = 4000;

/// What moves, and goes: D, and the families of T.
#[derive(Default)]
pub(crate) struct Away {
    target: FxHashSet<NodeId>,
    families: FxHashSet<FamilyId>,
}

impl Away {
    fn of(scaffold: &Scaffold) -> Away {
        Away {
            target: scaffold.target.iter().copied().collect(),
            families: scaffold.transient.iter().copied().collect(),
        }
    }

    pub fn holds_family(&self, id: FamilyId) -> bool {
        self.families.contains(&id)
    }

    pub fn holds(&self, trace: &Trace, id: NodeId) -> bool {
        self.target.contains(&id) || self.holds_family(trace.node(id).family)
    }
}

/// A structure that selects.
pub(crate) struct Select {
    pub formula: Term,
    /// The nodes whose values it is a function of, in D or not.
    pub reads: Vec<NodeId>,
    /// Whether it is the log density of an observed choice, rather than a value.
    pub is_density: bool,
}

#[derive(Default)]
pub(crate) struct Selects {
    pub of: FxHashMap<NodeId, Select>,
    pub away: Away,
}

impl Selects {
    /// All structures of D that select, and those that decide more.
    pub fn find(trace: &mut Trace, scaffold: &Scaffold) -> (Selects, Vec<NodeId>) {
        let mut selects = Selects { of: FxHashMap::default(), away: Away::of(scaffold) };
        let mut deciding = Vec::new();
        for id in &scaffold.target {
            if trace.role(*id) != Some(Role::Restructured) {
                continue;
            }
            let mut builder = Builder::new(trace, &selects.away);
            builder.known = Some(&selects.of);
            let Some((formula, is_density)) = builder.structure(*id) else {
                deciding.push(*id);
                continue;
            };
            let reads = builder.into_reads();
            selects.of.insert(*id, Select { formula, reads, is_density });
        }
        (selects, deciding)
    }

    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The nodes that a node reads.
    pub fn parents(&self, trace: &Trace, id: NodeId) -> Vec<NodeId> {
        match self.of.get(&id) {
            Some(select) => select.reads.clone(),
            None => trace.node(id).args.iter().filter_map(|arg| arg.operand.node()).collect(),
        }
    }
}

/// Structures of D that select, with the rows of memoised procedures that they ask for.
#[derive(Default)]
pub(crate) struct Standing {
    pub of: FxHashMap<NodeId, Select>,
    /// The families of these rows, none of which goes with D: only requests of D itself have any. What was found holds as
    /// long as they are there and somebody outside D asks for them.
    pub rows: Vec<FamilyId>,
    /// Whether nothing was found of a structure because a row does not exist, or goes with D.
    pub misses_rows: bool,
}

impl Standing {
    /// Of these structures of D, which stand in its order.
    pub fn find(trace: &mut Trace, scaffold: &Scaffold, structures: &[NodeId]) -> Standing {
        let (away, mut standing) = (Away::of(scaffold), Standing::default());
        // That of the choice itself is asked for by whoever decides by it.
        let own = trace.node(scaffold.principals[0]).family;
        for id in structures {
            let mut builder = Builder::new(trace, &away);
            builder.known = Some(&standing.of);
            builder.rows = Some(Vec::new());
            let found = builder.structure(*id);
            let misses_rows = builder.misses_rows;
            let mut rows = builder.rows.take().unwrap_or_default();
            rows.retain(|row| *row != own);
            let reads = builder.into_reads();
            standing.misses_rows |= is_request(trace, *id) && misses_rows && found.is_none();
            if let Some((formula, is_density)) = found {
                standing.rows.extend(rows);
                standing.of.insert(*id, Select { formula, reads, is_density });
            }
        }
        standing.rows.sort_unstable();
        standing.rows.dedup();
        standing
    }
}

fn is_request(trace: &Trace, id: NodeId) -> bool {
    match &trace.node(id).op {
        Op::Structure(structure) => matches!(structure.kind, StructureKind::Request { .. }),
        _ => false,
    }
}

/// Names beyond an environment, innermost last.
#[derive(Clone)]
struct Scope {
    base: Environment,
    frames: Vec<Vec<Term>>,
}

impl Scope {
    fn of(base: &Environment) -> Scope {
        Scope { base: base.clone(), frames: Vec::new() }
    }

    fn push(&self, frame: Vec<Term>) -> Scope {
        let mut scope = self.clone();
        scope.frames.push(frame);
        scope
    }
}

/// Turns text into a formula. Everything gives None where what exists could change.
pub(crate) struct Builder<'a> {
    trace: &'a mut Trace,
    away: &'a Away,
    /// Structures of D that were found to select.
    known: Option<&'a FxHashMap<NodeId, Select>>,
    reads: Vec<NodeId>,
    steps: usize,
    /// The families of rows, if they are asked for at once.
    rows: Option<Vec<FamilyId>>,
    misses_rows: bool,
    /// The value that the choice made last takes, if it is observed.
    observed: Option<Value>,
}

impl<'a> Builder<'a> {
    pub fn new(trace: &'a mut Trace, away: &'a Away) -> Builder<'a> {
        Builder {
            trace,
            away,
            known: None,
            reads: Vec::new(),
            steps: 0,
            rows: None,
            misses_rows: false,
            observed: None,
        }
    }

    pub fn into_reads(self) -> Vec<NodeId> {
        self.reads
    }

    /// The formula of a structure of D, and whether it is a log density.
    fn structure(&mut self, id: NodeId) -> Option<(Term, bool)> {
        let node = self.trace.node(id);
        let Op::Structure(structure) = &node.op else { return None };
        let (structure, span) = (structure.clone(), node.origin);
        // Who reads an observed value could not be told that it is another node's.
        self.observed = node.observed.as_ref().map(|observed| observed.value.clone());
        let last = self.observed.is_some();
        if last && !node.children.is_empty() {
            return None;
        }
        let existential = &node.args[..node.args.len() - 1];
        let deciding: Vec<Operand> = existential.iter().map(|arg| arg.operand.clone()).collect();
        let deciding: Option<Vec<Term>> = deciding.iter().map(|o| self.operand(o)).collect();
        let mut deciding = deciding?;
        let formula = match &structure.kind {
            StructureKind::Branch { then, otherwise } => {
                let scope = Scope::of(&structure.environment);
                self.branch(deciding.pop()?, (then, otherwise), &scope, (last, span))?
            }
            StructureKind::Request { memo } if !last => self.request(*memo, deciding)?,
            StructureKind::Call { operands } => {
                let operands: Option<Vec<Term>> =
                    operands.iter().map(|o| self.operand(o)).collect();
                self.call(deciding.pop()?, operands?, (last, span))?
            }
            _ => return None,
        };
        Some((formula, last))
    }

    fn operand(&mut self, operand: &Operand) -> Option<Term> {
        let id = match operand {
            Operand::Constant(value) => return Some(Arc::new(Formula::Constant(value.clone()))),
            Operand::Node(id) => *id,
        };
        if self.away.holds_family(self.trace.node(id).family) {
            return None;
        }
        let place = self.reads.iter().position(|read| *read == id).unwrap_or_else(|| {
            self.reads.push(id);
            self.reads.len() - 1
        });
        Some(Arc::new(Formula::Read(place as u32)))
    }

    fn branch(
        &mut self,
        condition: Term,
        (then, otherwise): (&Expr, &Expr),
        scope: &Scope,
        (last, span): (bool, Span),
    ) -> Option<Term> {
        if let Some(value) = condition.constant() {
            return self.expression(if value.truth()? { then } else { otherwise }, scope, last);
        }
        let then = self.expression(then, scope, last)?;
        let otherwise = self.expression(otherwise, scope, last)?;
        Some(Arc::new(Formula::If(Box::new([condition, then, otherwise]), span)))
    }

    /// `last`: the random choice that it makes last takes the observed value.
    fn expression(&mut self, expr: &Expr, scope: &Scope, last: bool) -> Option<Term> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return None;
        }
        stacker::maybe_grow(64 << 10, 1 << 20, || match &expr.kind {
            ExprKind::If(condition, then, otherwise) => {
                let condition = self.expression(condition, scope, false)?;
                self.branch(condition, (then, otherwise), scope, (last, expr.span))
            }
            ExprKind::Let { value, body, .. } => {
                let value = self.expression(value, scope, false)?;
                self.within(body, scope, vec![value], last)
            }
            ExprKind::Apply { operator, operands } => {
                let operands =
                    operands.iter().map(|operand| self.expression(operand, scope, false));
                let operands = operands.collect::<Option<Vec<Term>>>()?;
                if let ExprKind::Lambda(lambda) = &operator.kind {
                    let fits = lambda.params.len() == operands.len();
                    return self.within(&lambda.body, scope, fits.then_some(operands)?, last);
                }
                let operator = self.expression(operator, scope, false)?;
                self.call(operator, operands, (last, expr.span))
            }
            // The observed value would have to pass on to a choice that exists.
            _ if last => None,
            ExprKind::Constant(value) => Some(Arc::new(Formula::Constant(value.clone()))),
            ExprKind::Local { depth, slot, .. } => {
                let (depth, slot) = (*depth as usize, *slot);
                match scope.frames.len().checked_sub(depth + 1) {
                    Some(frame) => scope.frames[frame].get(slot as usize).cloned(),
                    None => {
                        let beyond = (depth - scope.frames.len()) as u32;
                        let operand = scope.base.get(beyond, slot)?.clone();
                        self.operand(&operand)
                    }
                }
            }
            ExprKind::Global(name) => {
                let operand = self.trace.global(*name)?;
                self.operand(&operand)
            }
            ExprKind::Cell { column, depth, slot, .. } => {
                let beyond = (*depth as usize).checked_sub(scope.frames.len())?;
                let row = scope.base.get(beyond as u32, *slot)?.constant()?.as_integer()?;
                Some(Arc::new(Formula::Constant(column.cell(row as usize))))
            }
            _ => None,
        })
    }

    /// A body under names for these, all of which are computed first.
    fn within(&mut self, body: &Expr, scope: &Scope, named: Vec<Term>, last: bool) -> Option<Term> {
        let whole = self.expression(body, &scope.push(named.clone()), last)?;
        named.iter().all(|part| stands_for(&whole, part)).then_some(whole)
    }

    /// A call of a procedure, or of one of several.
    fn call(
        &mut self,
        operator: Term,
        operands: Vec<Term>,
        (last, span): (bool, Span),
    ) -> Option<Term> {
        let mut procedures = Vec::new();
        self.constants(&operator, &mut procedures)?;
        if let [procedure] = &procedures[..] {
            return self.apply(procedure, operands, (last, span));
        }
        let mut cases = Vec::new();
        for procedure in procedures {
            let case = self.apply(&procedure, operands.clone(), (last, span))?;
            cases.push((procedure, case));
        }
        Some(Arc::new(Formula::Call(operator, cases, span)))
    }

    /// All that a formula can come to, if these are constants.
    fn constants(&self, formula: &Formula, found: &mut Vec<Value>) -> Option<()> {
        match formula {
            Formula::Constant(value) => {
                if !found.contains(value) {
                    found.push(value.clone());
                }
                Some(())
            }
            Formula::If(parts, _) => {
                self.constants(&parts[1], found)?;
                self.constants(&parts[2], found)
            }
            Formula::Read(place) => {
                let select = self.known?.get(&self.reads[*place as usize])?;
                self.constants(&select.formula, found)
            }
            _ => None,
        }
    }

    fn apply(
        &mut self,
        procedure: &Value,
        args: Vec<Term>,
        (last, span): (bool, Span),
    ) -> Option<Term> {
        match Procedure::of(procedure)? {
            Procedure::Builtin(Builtin::Function(function))
                if !last && function.spec.arity.admits(args.len()) =>
            {
                let constants: Option<Vec<&Value>> =
                    args.iter().map(|arg| arg.constant()).collect();
                if let Some(Ok(value)) = constants.map(|values| (function.apply)(&values)) {
                    return Some(Arc::new(Formula::Constant(value)));
                }
                Some(Arc::new(Formula::Apply(function, args, span)))
            }
            Procedure::Builtin(Builtin::Distribution(distribution))
                if last && distribution.spec().arity.admits(args.len()) =>
            {
                let (distribution, observed) = (*distribution, self.observed.clone()?);
                let density = Density { distribution, args, observed, span };
                Some(Arc::new(Formula::Density(density)))
            }
            Procedure::Compound { lambda, environment } if lambda.params.len() == args.len() => {
                self.within(&lambda.body, &Scope::of(environment), args, last)
            }
            Procedure::Memoised(memo) if !last => self.request(*memo, args),
            _ => None,
        }
    }

    fn request(&mut self, memo: NodeId, keys: Vec<Term>) -> Option<Term> {
        let constants: Option<MemoKey> = keys.iter().map(|key| key.constant().cloned()).collect();
        let Some(key) = constants else {
            if let (Some(_), [key]) = (&self.rows, &keys[..]) {
                return self.request_by_case(memo, key);
            }
            let span = self.trace.node(memo).origin;
            return Some(Arc::new(Formula::Request(memo, keys, span)));
        };
        match self.trace.memo(memo).families.get(&key) {
            Some(MemoEntry::Family(family)) if !self.away.holds_family(*family) => {
                let root = self.trace.families[family.index()].root.clone()?;
                self.rows.iter_mut().for_each(|rows| rows.push(*family));
                self.operand(&root)
            }
            Some(MemoEntry::InProgress) => None,
            // Nobody else asks for it: it is what its body comes to.
            _ => {
                let body = self.body_of(memo, key);
                self.misses_rows |= body.is_none();
                body
            }
        }
    }

    /// The row of a key that is one of a few constants.
    fn request_by_case(&mut self, memo: NodeId, key: &Term) -> Option<Term> {
        match &**key {
            Formula::Constant(_) => self.request(memo, vec![key.clone()]),
            Formula::If(parts, span) => {
                let [condition, then, otherwise] = &**parts;
                let then = self.request_by_case(memo, then)?;
                let otherwise = self.request_by_case(memo, otherwise)?;
                Some(Arc::new(Formula::If(Box::new([condition.clone(), then, otherwise]), *span)))
            }
            Formula::Read(place) => {
                let key = self.followed(self.reads[*place as usize])?;
                self.request_by_case(memo, &key)
            }
            _ => None,
        }
    }

    /// What a structure of D comes to in terms of others.
    fn followed(&mut self, id: NodeId) -> Option<Term> {
        if let Some(select) = self.known?.get(&id) {
            return self.imported(&select.formula, &select.reads);
        }
        let node = self.trace.node(id);
        let keeps_root = self.trace.role(id) == Some(Role::Target);
        let root = node.root().filter(|_| keeps_root)?.clone();
        self.operand(&root)
    }

    /// The formula of another structure, which reads these, as a part of this one.
    fn imported(&mut self, formula: &Formula, reads: &[NodeId]) -> Option<Term> {
        match formula {
            Formula::Constant(value) => Some(Arc::new(Formula::Constant(value.clone()))),
            Formula::Read(place) => self.operand(&Operand::Node(reads[*place as usize])),
            Formula::Apply(function, args, span) => {
                let args = args.iter().map(|arg| self.imported(arg, reads));
                let args = args.collect::<Option<Vec<Term>>>()?;
                Some(Arc::new(Formula::Apply(function, args, *span)))
            }
            Formula::If(parts, span) => {
                let [condition, then, otherwise] = &**parts;
                let parts = [
                    self.imported(condition, reads)?,
                    self.imported(then, reads)?,
                    self.imported(otherwise, reads)?,
                ];
                Some(Arc::new(Formula::If(Box::new(parts), *span)))
            }
            Formula::Request(..) | Formula::Call(..) | Formula::Density(_) => None,
        }
    }

    /// What the body of a memoised procedure comes to for a key.
    pub fn body_of(&mut self, memo: NodeId, key: MemoKey) -> Option<Term> {
        let (target, span) = (self.trace.memo(memo).target.clone(), self.trace.node(memo).origin);
        let key = key.into_iter().map(|value| Arc::new(Formula::Constant(value))).collect();
        self.apply(&target, key, (false, span))
    }
}
