//! Applications: of built-in procedures, closures, memoised and made procedures.

use smallvec::SmallVec;
use smidgen_lang::Span;
use smidgen_lang::core::ExprKind;
use smidgen_prob::registry::Builtin;
use smidgen_prob::{Arity, Distribution, Function, Maker, Spec};
use smidgen_value::{ArgumentError, Rng, Symbol, Value};

use crate::error::{EvalError, Mistake};
use crate::id::{FamilyId, NodeId};
use crate::operand::{Operand, Operands};
use crate::procedure::Procedure;
use crate::tag::{Tag, Tags};
use crate::trace::Trace;
use crate::trace::address::address;
use crate::trace::eval::{Evaluation, Phase, Portion, Site};
use crate::trace::journal::Edit;
use crate::trace::node::{Made, MemoEntry, MemoKey, Observed, Op, StructureKind};
use crate::trace::proposal::given_up;
use crate::trace::script::{does_not_fit, not_alike};

impl Trace {
    pub(crate) fn apply(
        &mut self,
        operator: Operand,
        operands: Operands,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
        want: Option<&Observed>,
    ) -> Result<Operand, EvalError> {
        let procedure = match operator {
            Operand::Constant(procedure) => procedure,
            Operand::Node(_) => {
                let kind = StructureKind::Call { operands };
                let arguments = SmallVec::from_iter([operator]);
                return self.structure(kind, &Default::default(), arguments, site.span, cx, want);
            }
        };
        match Procedure::of(&procedure) {
            Some(Procedure::Builtin(builtin)) => {
                self.apply_builtin(*builtin, operands, site, cx, want)
            }
            Some(Procedure::Compound { lambda, environment }) => {
                let (wanted, found) = (lambda.params.len(), operands.len());
                let name = lambda.name.or_else(|| operator_name(site));
                if wanted != found {
                    let procedure =
                        name.map_or_else(|| "the procedure".to_owned(), |n| n.to_string());
                    let wanted = Arity::exactly(wanted);
                    return cx.fail(EvalError::new(
                        Mistake::WrongCount { procedure, wanted, found },
                        site.span,
                    ));
                }
                self.enter_call(cx, site.span)?;
                cx.path.push((name.unwrap_or_else(|| Symbol::new("a procedure")), site.span));
                let result = self.eval(&lambda.body, &environment.push(operands), cx, want);
                cx.path.pop();
                cx.depth -= 1;
                result
            }
            Some(Procedure::Memoised(memo)) => self.apply_memoised(*memo, operands, site, cx, want),
            Some(Procedure::Made(maker)) => {
                let maker = *maker;
                if !operands.is_empty() {
                    let procedure = format!("what {} made", self.maker_name(maker));
                    let mistake = Mistake::WrongCount {
                        procedure,
                        wanted: Arity::exactly(0),
                        found: operands.len(),
                    };
                    return cx.fail(EvalError::new(mistake, site.span));
                }
                self.draw(maker, site.span, cx, want)
            }
            None => {
                let at = site.operator.map_or(site.span, |operator| operator.span);
                cx.fail(EvalError::new(Mistake::NotAProcedure(procedure), at))
            }
        }
    }

    pub(crate) fn apply_builtin(
        &mut self,
        builtin: Builtin,
        operands: Operands,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
        want: Option<&Observed>,
    ) -> Result<Operand, EvalError> {
        check_count(builtin.spec(), operands.len(), site.span, cx)?;
        match builtin {
            Builtin::Function(function) => self.apply_function(function, operands, site, cx),
            Builtin::Distribution(distribution) => {
                self.apply_distribution(distribution, operands, site, cx, want)
            }
            Builtin::Maker(maker) => self.apply_maker(maker, operands, site, cx),
            Builtin::HigherOrder(which) => self.apply_higher_order(which, operands, site, cx, want),
        }
    }

    /// A function of constants is computed on the spot; otherwise it becomes a node.
    pub(crate) fn apply_function(
        &mut self,
        function: &'static Function,
        operands: Operands,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
    ) -> Result<Operand, EvalError> {
        let mut constant = true;
        for operand in &operands {
            self.settle_operand(operand, cx)?;
            constant &= operand.constant().is_some();
        }
        let value = match self.with_operands(&operands, |values| (function.apply)(values)) {
            Ok(value) => value,
            Err(error) => {
                return self.bad_application(function.spec.name, error, !constant, site, cx);
            }
        };
        if constant {
            return Ok(Operand::Constant(value));
        }
        let place = (cx.family, Tags::default(), site.span);
        Ok(Operand::Node(self.add_node(Op::Function(function), operands, value, place)))
    }

    fn apply_distribution(
        &mut self,
        distribution: &'static dyn Distribution,
        operands: Operands,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
        want: Option<&Observed>,
    ) -> Result<Operand, EvalError> {
        for operand in &operands {
            self.settle_operand(operand, cx)?;
        }
        let name = distribution.spec().name;
        let claim = if want.is_none() { cx.claim_on_next() } else { None };
        if claim.is_some() {
            // Drawn and put aside, so that what comes after draws what it drew before.
            let rng = &mut *cx.rng;
            let aside = self.with_operands(&operands, |values| distribution.sample(values, rng));
            if let Err(error) = aside {
                let hangs = may_change(distribution, &error, |i| operands.get(i));
                return self.bad_application(name, error, hangs, site, cx);
            }
        }
        let want = want.or(claim.as_ref());
        let observed = take_observed(want, name, |value| distribution.admit(value), site.span, cx)?;
        let value = match &observed {
            Some(value) => value.clone(),
            None => {
                let may_draw = distribution.is_proper()
                    || matches!(cx.phase, Phase::Directive { improper: true });
                if !may_draw {
                    return cx.fail(EvalError::new(Mistake::Improper(name), site.span));
                }
                let draw = |rng: &mut Rng| {
                    self.with_operands(&operands, |values| distribution.sample(values, rng))
                };
                let drawn = match self.explorer.is_some() {
                    false => self.drawn(site.span, cx, draw)?,
                    true => {
                        let list = |values: &[&Value]| distribution.enumerate(values);
                        let values = self.with_operands(&operands, list);
                        self.explored(name, values, site.span)?
                    }
                };
                match drawn {
                    Ok(value) => value,
                    Err(error) => {
                        let hangs = may_change(distribution, &error, |i| operands.get(i));
                        return self.bad_application(name, error, hangs, site, cx);
                    }
                }
            }
        };
        let value = match self.given.is_some() && observed.is_none() {
            true => self.fitting(distribution, &operands, value, site.span)?,
            false => value,
        };
        if cx.rehearsal.is_some() {
            return self.rehearsed_choice(value, site, cx);
        }
        let place = (cx.family, cx.tags.clone(), site.span);
        let id = self.add_node(Op::Random(distribution), operands, value, place);
        self.finish_choice(id, observed.is_some(), cx)?;
        Ok(Operand::Node(id))
    }

    /// A value that was given, in the type that the distribution draws.
    #[cold]
    fn fitting(
        &self,
        distribution: &'static dyn Distribution,
        operands: &Operands,
        value: Value,
        span: Span,
    ) -> Result<Value, EvalError> {
        let admitted = distribution.admit(&value).ok().filter(|value| {
            let support = self.with_operands(operands, |values| distribution.support(values));
            support.is_ok_and(|support| support.contains(value))
        });
        admitted.ok_or_else(|| does_not_fit(distribution.spec().name, &value, span))
    }

    /// An application of what a maker made.
    fn draw(
        &mut self,
        maker: NodeId,
        span: Span,
        cx: &mut Evaluation<'_>,
        want: Option<&Observed>,
    ) -> Result<Operand, EvalError> {
        if cx.rehearsal.is_some() {
            return Err(given_up(Site::at(span)));
        }
        // Settles a maker that has yet to absorb a change of its parameters, before anything
        // new is counted.
        self.settle(maker, cx)?;
        self.settle_arguments(maker, cx)?;
        let name = self.maker_name(maker);
        let admit = |value: &Value| self.statistics(maker).admit(value);
        let observed = take_observed(want, name, admit, span, cx)?;
        let value = match &observed {
            Some(value) => value.clone(),
            None => {
                let draw = |rng: &mut Rng| {
                    self.with_params(maker, |params| self.statistics(maker).sample(params, rng))
                };
                let drawn = match self.explorer.is_some() {
                    false => self.drawn(span, cx, draw)?,
                    true => {
                        let list = |params: &[&Value]| self.statistics(maker).enumerate(params);
                        let values = self.with_params(maker, list);
                        self.explored(name, values, span)?
                    }
                };
                match drawn {
                    Ok(value) => value,
                    Err(error) => {
                        let hangs = self.has_changing_argument(maker);
                        return self.bad_application(name, error, hangs, Site::at(span), cx);
                    }
                }
            }
        };
        let value = match self.given.is_some() && observed.is_none() {
            true => {
                let admitted = self.statistics(maker).admit(&value);
                admitted.map_err(|_| does_not_fit(name, &value, span))?
            }
            false => value,
        };
        let place = (cx.family, cx.tags.clone(), span);
        let id = self.add_node(Op::Draw(maker), [], value.clone(), place);
        self.finish_choice(id, observed.is_some(), cx)?;
        self.count(maker, &value);
        Ok(Operand::Node(id))
    }

    /// Registers a new choice, or scores it if it is observed.
    fn finish_choice(
        &mut self,
        id: NodeId,
        observed: bool,
        cx: &mut Evaluation<'_>,
    ) -> Result<(), EvalError> {
        cx.note_made(id);
        if observed {
            self.node_mut(id).constrained = true;
            cx.observed_at = Some(id);
            if !cx.is_proposal() {
                self.check_observed(id, cx)?;
            }
            match self.log_density(id) {
                Ok(log_p) => cx.log_observed += log_p,
                Err(error) => return cx.fail(error),
            }
        } else {
            self.enter_choices(id);
        }
        Ok(())
    }

    /// An observation with a parameter out of its domain is impossible where other values of the
    /// random choices may mend that; otherwise it is a mistake.
    fn check_observed(&self, id: NodeId, cx: &Evaluation<'_>) -> Result<(), EvalError> {
        let Err(error) = self.strict_log_density(id, &self.node(id).value) else { return Ok(()) };
        let hangs = match (&self.node(id).op, error.mistake()) {
            (Op::Random(distribution), Mistake::Argument { error, .. }) => {
                may_change(*distribution, error, |i| {
                    self.node(id).args.get(i).map(|arg| &arg.operand)
                })
            }
            (Op::Draw(maker), _) => self.has_changing_argument(*maker),
            _ => false,
        };
        if hangs && error.rejects() { Ok(()) } else { cx.fail(error) }
    }

    fn has_changing_argument(&self, id: NodeId) -> bool {
        self.node(id).args.iter().any(|arg| arg.operand.node().is_some())
    }

    fn apply_maker(
        &mut self,
        maker: &'static dyn Maker,
        operands: Operands,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
    ) -> Result<Operand, EvalError> {
        if cx.rehearsal.is_some() {
            return Err(given_up(site));
        }
        for operand in &operands {
            self.settle_operand(operand, cx)?;
        }
        let made = self.with_operands(&operands, |values| {
            maker.check(values)?;
            maker.latent().map_or_else(|| maker.empty(values).map(Some), |_| Ok(None))
        });
        let made = match (made, maker.latent()) {
            (Ok(None), Some(latent)) if self.explorer.is_some() => {
                let list = |values: &[&Value]| latent.enumerate(values);
                let values = self.with_operands(&operands, list);
                self.explored(maker.spec().name, values, site.span)?
                    .and_then(|value| maker.empty(&[&value]).map(|statistics| (value, statistics)))
            }
            (Ok(None), Some(latent)) => {
                let draw = |rng: &mut Rng| {
                    self.with_operands(&operands, |values| latent.sample(values, rng))
                };
                self.drawn(site.span, cx, draw)?
                    .and_then(|value| maker.empty(&[&value]).map(|statistics| (value, statistics)))
            }
            (Ok(statistics), _) => {
                Ok((Value::Nil, statistics.expect("made above where nothing is latent")))
            }
            (Err(error), _) => Err(error),
        };
        let (value, statistics) = match made {
            Ok(made) => made,
            Err(error) => {
                let hangs = operands.iter().any(|operand| operand.node().is_some());
                return self.bad_application(maker.spec().name, error, hangs, site, cx);
            }
        };
        let place = (cx.family, cx.tags.clone(), site.span);
        let op = Op::Maker(Box::new(Made { maker, statistics, stamp: self.next_stamp() }));
        let id = self.add_node(op, operands, value, place);
        if maker.latent().is_some() {
            self.enter_choices(id);
        }
        Ok(Operand::Constant(Procedure::Made(id).into_value(self.next_creation())))
    }

    /// The value of the choice to be made next in a run that is one of all.
    #[cold]
    fn explored(
        &mut self,
        name: &str,
        values: Result<Option<Vec<Value>>, ArgumentError>,
        span: Span,
    ) -> Result<Result<Value, ArgumentError>, EvalError> {
        let explorer = self.explorer.as_mut().expect("asked for where there is one");
        match values {
            Ok(values) => explorer.choose(name, values, span).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    /// A draw for the choice to be made next, or what the script of a particle has for it.
    #[inline]
    fn drawn(
        &self,
        span: Span,
        cx: &mut Evaluation<'_>,
        draw: impl FnOnce(&mut Rng) -> Result<Value, ArgumentError>,
    ) -> Result<Result<Value, ArgumentError>, EvalError> {
        let owner = cx.family;
        let at = || {
            let owner = &self.families[owner.index()];
            address(owner.address, owner.nodes.len() as u64)
        };
        let Some(script) = cx.script() else {
            return match &self.given {
                None => Ok(draw(cx.rng)),
                Some(given) => match given.state.get(at()) {
                    Some(value) => Ok(Ok(value.clone())),
                    None if given.is_whole => Err(not_alike(span)),
                    None => Ok(draw(cx.rng)),
                },
            };
        };
        if let Some(value) = script.next(at(), span)? {
            return Ok(Ok(value));
        }
        let drawn = draw(cx.rng);
        if let (Ok(value), Some(script)) = (&drawn, cx.script()) {
            script.note(value.clone());
        }
        Ok(drawn)
    }

    // ------------------------------------------------------------ mem

    fn apply_memoised(
        &mut self,
        memo: NodeId,
        operands: Operands,
        site: Site<'_>,
        cx: &mut Evaluation<'_>,
        want: Option<&Observed>,
    ) -> Result<Operand, EvalError> {
        let key: Option<MemoKey> =
            operands.iter().map(|o| o.constant().map(Value::plain)).collect();
        let Some(key) = key else {
            let kind = StructureKind::Request { memo };
            return self.structure(kind, &Default::default(), operands, site.span, cx, want);
        };
        if cx.rehearsal.is_some() {
            return self.rehearsed_request(memo, &key, site, cx);
        }
        let family = self.request(memo, key, site.span, cx, want)?;
        self.note_request(family, cx);
        Ok(self.families[family.index()].root.clone().expect("an evaluated family has a root"))
    }

    /// A reference to a family of a memo key belongs to the family that is being made.
    pub(crate) fn note_request(&mut self, family: FamilyId, cx: &Evaluation<'_>) {
        let asking = &mut self.families[cx.family.index()];
        asking.requests.push((asking.nodes.len() as u32, family));
        self.journal.push(Edit::Requested(cx.family));
    }

    /// One more reference to the family of this key, which is made if there is none.
    pub(crate) fn request(
        &mut self,
        memo: NodeId,
        key: MemoKey,
        span: Span,
        cx: &mut Evaluation<'_>,
        want: Option<&Observed>,
    ) -> Result<FamilyId, EvalError> {
        match self.memo(memo).families.get(&key) {
            Some(MemoEntry::Family(family)) => {
                let family = *family;
                self.acquire(family);
                return Ok(family);
            }
            Some(MemoEntry::InProgress) => {
                return cx.fail(EvalError::new(Mistake::MemoLoop, span));
            }
            None => {}
        }
        self.enter_call(cx, span)?;
        self.journal.push(Edit::MemoAdded(memo, Box::new(key.clone())));
        let table = self.memo_mut(memo);
        table.families.insert(key.clone(), MemoEntry::InProgress);
        let target = Operand::Constant(table.target.clone());
        let scope = table.scope.clone();
        let address = address(self.node(memo).address, self.address_of_values(&key));
        let family = self.add_family(address);
        self.families[family.index()].memo = Some(Box::new((memo, key.clone())));
        let outer = std::mem::replace(&mut cx.family, family);
        let mut tags = cx.tags.in_memoised_body();
        if let Some(scope) = scope {
            tags = tags.tagged(scope, application_tag(&key));
        }
        let outer_tags = std::mem::replace(&mut cx.tags, tags);
        let operands = key.iter().cloned().map(Operand::Constant).collect();
        let outside = cx.enter_portion(Portion::Family(address));
        let root = self.apply(target, operands, Site::at(span), cx, want);
        cx.leave_portion(outside);
        (cx.family, cx.tags) = (outer, outer_tags);
        let root = root?;
        self.families[family.index()].root = Some(root);
        self.memo_mut(memo).families.insert(key, MemoEntry::Family(family));
        cx.depth -= 1;
        Ok(family)
    }

    // ------------------------------------------------------------ errors

    /// A bad argument of an application, and whether it may be another one with other values of the
    /// random choices.
    fn bad_application<T>(
        &self,
        procedure: &'static str,
        error: ArgumentError,
        hangs: bool,
        site: Site<'_>,
        cx: &Evaluation<'_>,
    ) -> Result<T, EvalError> {
        self.bad_argument(procedure, error, site, cx).map_err(|error| error.hanging(hangs))
    }

    pub(crate) fn bad_argument<T>(
        &self,
        procedure: &'static str,
        error: ArgumentError,
        site: Site<'_>,
        cx: &Evaluation<'_>,
    ) -> Result<T, EvalError> {
        let span = site.operand_span(error.argument());
        cx.fail(self.argument_error(procedure, error, span))
    }
}

/// The block of an application of a memoised procedure: its argument, or the list of several.
pub(crate) fn application_tag(key: &MemoKey) -> Tag {
    Tag::In(match key.as_slice() {
        [argument] => argument.clone(),
        arguments => Value::list(arguments.iter().cloned()),
    })
}

/// Whether what is wrong with the arguments of a distribution hangs on one that can change: the one
/// to blame or, where arguments bound one another (the ends of an interval), any.
fn may_change<'a>(
    distribution: &dyn Distribution,
    error: &ArgumentError,
    operand: impl Fn(usize) -> Option<&'a Operand>,
) -> bool {
    let changes = |i: usize| operand(i).is_some_and(|operand| operand.node().is_some());
    error.argument().is_none_or(changes)
        || distribution.support_arguments().iter().any(|i| changes(*i))
}

/// The observed value that reaches an application, in the type that it draws. One of the wrong type
/// is an error in a directive, an impossible state in a proposal.
fn take_observed(
    want: Option<&Observed>,
    name: &str,
    admit: impl FnOnce(&Value) -> Result<Value, &'static str>,
    span: Span,
    cx: &mut Evaluation<'_>,
) -> Result<Option<Value>, EvalError> {
    let Some(observed) = want else { return Ok(None) };
    match admit(observed) {
        Ok(value) => Ok(Some(value)),
        Err(_) if cx.is_proposal() => {
            cx.log_observed = f64::NEG_INFINITY;
            Ok(None)
        }
        Err(wanted) => cx.fail(crate::trace::observe::wrong_type(name, wanted, observed, span)),
    }
}

pub(crate) fn check_count(
    spec: &'static Spec,
    found: usize,
    span: Span,
    cx: &Evaluation<'_>,
) -> Result<(), EvalError> {
    if spec.arity.admits(found) {
        return Ok(());
    }
    let mistake =
        Mistake::WrongCount { procedure: spec.name.to_owned(), wanted: spec.arity, found };
    cx.fail(EvalError::new(mistake, span))
}

/// The name that the operator was written with.
fn operator_name(site: Site<'_>) -> Option<Symbol> {
    match &site.operator?.kind {
        ExprKind::Local { name, .. } | ExprKind::Global(name) => Some(*name),
        _ => None,
    }
}
