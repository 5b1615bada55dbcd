//! Models from program text, and plain Metropolis-Hastings moves on them.

use smidgen_engine::environment::Environment;
use smidgen_engine::model::Code;
use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{EvalError, Model, NodeId, Proposal, Scaffold};
use smidgen_lang::SourceId;
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::{self, Nothing, Scope};
use smidgen_lang::parser;
use smidgen_lang::syntax::{Directive, DirectiveKind, Syntax};
use smidgen_value::{Rng, Symbol};

fn lowered(syntax: &Syntax) -> ExprRef {
    lower::lower(syntax, &Scope::global(), &Nothing(0)).expect("the text of a test is right")
}

/// Runs the directives of a text one by one, up to the first that fails.
pub fn run(model: &mut Model, text: &str, rng: &mut Rng) -> Result<(), EvalError> {
    let parsed = parser::parse(SourceId(0), text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    parsed.directives.into_iter().try_for_each(|directive| one(model, directive, rng))
}

fn one(model: &mut Model, directive: Directive, rng: &mut Rng) -> Result<(), EvalError> {
    let environment = Environment::default();
    let label = directive.label.map(|label| label.name);
    model.whole(|model| match &directive.kind {
        DirectiveKind::Assume { name, expr } => {
            let code = Code { expr: &lowered(expr), environment: &environment };
            model.assume(name.name, code, label, rng).map(drop)
        }
        DirectiveKind::Observe { expr, value } => {
            let constant = Code { expr: &lowered(value), environment: &environment };
            let value = model.constant(constant, rng)?;
            let code = Code { expr: &lowered(expr), environment: &environment };
            model.observe(code, value, label, rng)
        }
        DirectiveKind::Predict { expr } => {
            let code = Code { expr: &lowered(expr), environment: &environment };
            model.predict(code, label, rng).map(drop)
        }
        DirectiveKind::Force { expr, value } => {
            let constant = Code { expr: &lowered(value), environment: &environment };
            let value = model.constant(constant, rng)?;
            let code = Code { expr: &lowered(expr), environment: &environment };
            model.force(code, &value, rng).map(drop)
        }
        DirectiveKind::Forget { label } => model.forget(&label.name),
        DirectiveKind::Freeze { label } => model.freeze(&label.name).map(drop),
        other => panic!("not a directive for a test: {other:?}"),
    })
}

#[allow(dead_code)] // The tests of sections observe before they look.
pub fn model(text: &str, rng: &mut Rng) -> Model {
    let mut model = Model::new();
    run(&mut model, text, rng).unwrap_or_else(|error| panic!("{text}\n{error}"));
    model
}

/// The node that a name is bound to.
#[allow(dead_code)] // Nor do they name nodes.
pub fn node(model: &mut Model, name: &str) -> NodeId {
    let operand = model.trace_mut().global(Symbol::new(name)).expect("an assumed name");
    operand.node().expect("a name of a node")
}

#[allow(dead_code)] // The tests of the invariants look at no scaffold.
pub fn scaffold_of(model: &mut Model, principals: &[NodeId]) -> Scaffold {
    let mut scaffold = Scaffold::new();
    scaffold.build(model.trace_mut(), principals);
    scaffold
}

/// One move of one choice, proposed from its prior. Whether it was accepted.
#[allow(dead_code)] // The tests of the pictures make no moves.
pub fn step(model: &mut Model, rng: &mut Rng) -> bool {
    let blocks = model.choices().len();
    let principal = model.choices()[rng.below(blocks)];
    let mut scaffold = Scaffold::new();
    let log_u = rng.log_uniform();
    let proposal =
        Proposal::propose(model.trace_mut(), &mut scaffold, &[principal], &mut FromPrior, rng)
            .expect("a move of a test is possible");
    let accepted = log_u < proposal.log_ratio();
    if accepted {
        proposal.commit();
    }
    accepted
}
