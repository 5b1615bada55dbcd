//! Damage of every kind is found, and found by its name.

use smidgen_lang::lower::{self, Nothing, Scope};
use smidgen_lang::syntax::{DirectiveKind, Syntax};
use smidgen_lang::{SourceId, parser};
use smidgen_value::{Rng, Symbol};

use super::*;
use crate::environment::Environment;
use crate::model::{Code, Model};

const TEXT: &str = "
    [assume a (scope_include 's 0 (normal 0 1))]
    [assume b (scope_include 's 0 (normal 0 1))]
    [assume sum (+ a b)]
    [assume c (flip 0.5)]
    [assume coin (make_beta_bernoulli 1 5)]
    [assume toss (coin)]
    [assume again (coin)]
    [assume f (mem (lambda (i) (normal 0 1)))]
    [assume g (f (if c 0 1))]
    [observe (if c a b) 2]";

fn model() -> Model {
    let mut model = Model::new();
    let mut rng = Rng::from_seed(1);
    let environment = Environment::default();
    let lowered = |syntax: &Syntax| {
        lower::lower(syntax, &Scope::global(), &Nothing(0)).expect("the text is right")
    };
    for directive in parser::parse(SourceId(0), TEXT).directives {
        let made = model.whole(|model| match &directive.kind {
            DirectiveKind::Assume { name, expr } => {
                let code = Code { expr: &lowered(expr), environment: &environment };
                model.assume(name.name, code, None, &mut rng).map(drop)
            }
            DirectiveKind::Observe { expr, .. } => {
                let code = Code { expr: &lowered(expr), environment: &environment };
                model.observe(code, Value::Number(2.0), None, &mut rng)
            }
            other => panic!("not in this test: {other:?}"),
        });
        made.expect("the program runs");
    }
    model
}

fn node(trace: &mut Trace, name: &str) -> NodeId {
    trace.global(Symbol::new(name)).and_then(|operand| operand.node()).expect("a node")
}

fn maker(trace: &Trace) -> NodeId {
    trace.live_nodes().find(|id| matches!(trace.node(*id).op, Op::Maker(_))).expect("a maker")
}

fn observed(trace: &Trace) -> NodeId {
    trace.live_nodes().find(|id| trace.node(*id).constrained).expect("an observation")
}

type Damage = fn(&mut Trace);

const DAMAGES: &[(&str, Damage)] = &[
    ("a parent lists its child", |trace| {
        let id = node(trace, "a");
        trace.node_mut(id).children.clear();
    }),
    ("a listed child has that argument", |trace| {
        let id = node(trace, "sum");
        trace.node_mut(id).children.push(Child { node: id, slot: 0 });
    }),
    ("arguments are live", |trace| {
        let a = node(trace, "a");
        trace.free_node(a);
    }),
    ("the trace has no cycle", |trace| {
        let (a, sum) = (node(trace, "a"), node(trace, "sum"));
        trace.node_mut(a).args[0].operand = Operand::Node(sum);
        trace.link(a, 0);
    }),
    ("the free list holds the free slots", |trace| {
        let a = node(trace, "a");
        trace.free_nodes.push(a);
    }),
    ("nothing is pending", |trace| {
        let a = node(trace, "a");
        trace.node_mut(a).pending = true;
    }),
    ("nothing is dead", |trace| {
        let a = node(trace, "a");
        trace.node_mut(a).dead = true;
    }),
    ("the journal is empty", |trace| {
        let a = node(trace, "a");
        trace.set_forced(a, true);
    }),
    ("references are counted", |trace| trace.families[0].references += 1),
    ("a node is in one family", |trace| {
        let sum = node(trace, "sum");
        let family = trace.node(sum).family.index();
        trace.families[family].nodes.push(sum);
    }),
    ("no memoised body is in progress", |trace| {
        let memo = trace.live_nodes().find(|id| matches!(trace.node(*id).op, Op::Memo(_)));
        let table = trace.memo_mut(memo.expect("a memo node"));
        table.families.values_mut().for_each(|entry| *entry = MemoEntry::InProgress);
    }),
    ("a memoised family is in its table", |trace| {
        let memo = trace.live_nodes().find(|id| matches!(trace.node(*id).op, Op::Memo(_)));
        trace.memo_mut(memo.expect("a memo node")).families.clear();
    }),
    ("a request has the family of its arguments", |trace| {
        let g = node(trace, "g");
        let key = trace.node(g).args[0].operand.node().expect("a key that changes");
        trace.replace_value(key, Value::Number(9.0));
    }),
    ("choices are the unconstrained random nodes", |trace| {
        let id = *trace.choices.last().expect("a choice");
        trace.choices.pop();
        trace.node_mut(id).choice_place = NOWHERE;
    }),
    ("a choice is live and knows its place", |trace| trace.choices.swap(0, 1)),
    ("the members of a block know their places", |trace| {
        let id = trace.scopes().block(&Value::symbol("s"), &Value::Number(0.0))[0];
        trace.node_mut(id).memberships[0].moved_to(7);
    }),
    ("a maker counts its draws", |trace| {
        let maker = maker(trace);
        trace.statistics_mut(maker).add(&Value::TRUE);
    }),
    ("statistics are those of the draws", |trace| {
        let (maker, toss) = (maker(trace), node(trace, "toss"));
        let drawn = trace.node(toss).value.clone();
        let other = Value::Bool(drawn.truth() == Some(false));
        trace.statistics_mut(maker).remove(&drawn);
        trace.statistics_mut(maker).add(&other);
    }),
    ("values follow from arguments", |trace| {
        let sum = node(trace, "sum");
        trace.replace_value(sum, Value::Number(100.0));
    }),
    ("what is constrained is random", |trace| {
        let sum = node(trace, "sum");
        trace.node_mut(sum).constrained = true;
    }),
    ("an observed choice holds the observed value", |trace| {
        let (choice, sum) = (observed(trace), node(trace, "sum"));
        let through = trace.live_nodes().find(|id| trace.node(*id).observed.is_some());
        let through = through.expect("an observation through a structure");
        for id in [choice, through] {
            trace.replace_value(id, Value::Number(3.0));
        }
        let value = trace.follow_arguments(sum).expect("a sum");
        trace.replace_value(sum, value);
    }),
    ("names are bound to live nodes", |trace| {
        let free = NodeId(trace.nodes.len() as u32);
        trace.globals[Symbol::new("a").index()] = Some(Operand::Node(free));
    }),
    ("procedures are live", |trace| {
        let a = node(trace, "a");
        trace.globals[Symbol::new("coin").index()] =
            Some(Operand::Constant(Procedure::Made(a).into_value(0)));
    }),
];

#[test]
fn every_damage_is_found_by_its_name() {
    assert_eq!(check(&model()), Ok(()));
    for (invariant, damage) in DAMAGES {
        let mut model = model();
        let before = dump(&model);
        damage(model.trace_mut());
        let found = check(&model).expect_err(invariant);
        assert!(found.starts_with(invariant), "{invariant}: found {found}");
        assert_ne!(before, dump(&model), "{invariant}");
    }
}

/// What stands beside the nodes is not part of a dump.
#[test]
fn a_number_that_differs_from_its_value_is_found() {
    let mut model = model();
    let sum = node(model.trace_mut(), "sum");
    model.trace_mut().numbers[sum.index()] += 1.0;
    let found = check(&model).expect_err("a damage");
    assert!(found.starts_with("numbers stand beside the nodes"), "{found}");
}
