//! Programs in given states whose log likelihood is known on paper: where formulas that are right lose everything.
//!
//! A case that fails today is marked with the reason. The mark has to go as soon as it does not fail any more.

use std::sync::Arc;

use smidgen_engine::check::again::Choices;
use smidgen_value::math::{self, HALF_LN_2PI};
use smidgen_value::{Column, Symbol, Table, Value};

use super::run::Stage;
use super::subject::{House, Line, Subject};

/// One observation in a loop, at b = 1.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    /// What is observed given `b` and `row.x`.
    pub expr: &'static str,
    /// The first row.
    pub x: f64,
    pub y: f64,
    /// All other rows.
    pub others: (f64, f64),
    /// log p of the first row, and of each of the others.
    pub log_p: (f64, f64),
    /// Why the trace says something else today.
    pub known: Option<&'static str>,
}

/// What b is drawn from: what gradients, slices and sections move, and what Gibbs enumerates.
pub const PRIORS: [&str; 2] = ["(normal 0 2)", "(uniform_discrete 0 3)"];

const UNDERFLOW: Option<&str> = Some("e^η is 0 before the density sees it: no fused form yet");
const OVERFLOW: Option<&str> = Some("e^η is infinite before it is normalised: no fused form yet");

/// log(1/(1 + e^−η)), for a small η.
fn log_logistic(eta: f64) -> f64 {
    -math::ln(1.0 + math::exp(-eta))
}

/// log of the binomial coefficient 10 over 3.
fn log_120() -> f64 {
    math::ln(120.0)
}

pub fn cases() -> Vec<Case> {
    let coin = log_logistic(0.1);
    let normal = |eta: f64| -eta - HALF_LN_2PI;
    let case = |name, expr, (x, y), log_p, others, log_other| Case {
        name,
        expr,
        x,
        y,
        others,
        log_p: (log_p, log_other),
        known: None,
    };
    let ten = log_120() + 3.0 * coin + 7.0 * log_logistic(-0.1);
    let softmax = "(categorical (normalize (vector (exp (* b row.x)) 1)))";
    let poisson = "(poisson (exp (* b row.x)))";
    let volatile = "(normal 0 (exp (* b row.x)))";
    let rate = |eta: f64, y: f64| y * eta - math::exp(eta) - math::ln_gamma(y + 1.0);
    vec![
        case("coin", "(bernoulli (logistic (* b row.x)))", (300.0, 0.0), -300.0, (0.1, 1.0), coin),
        case("flip", "(flip (logistic (* b row.x)))", (-800.0, 1.0), -800.0, (0.1, 1.0), coin),
        case(
            "linear_logistic",
            "(bernoulli (linear_logistic (vector 0 b) (vector row.x)))",
            (300.0, 0.0),
            -300.0,
            (0.1, 1.0),
            coin,
        ),
        case(
            "binomial",
            "(binomial 10 (logistic (* b row.x)))",
            (300.0, 3.0),
            log_120() - 2100.0,
            (0.1, 3.0),
            ten,
        ),
        case(
            "geometric",
            "(geometric (logistic (* b row.x)))",
            (-300.0, 2.0),
            -300.0,
            (0.1, 0.0),
            coin,
        ),
        case("poisson, low", poisson, (-800.0, 3.0), rate(-800.0, 3.0), (0.1, 2.0), rate(0.1, 2.0)),
        case("poisson, none", poisson, (-800.0, 0.0), 0.0, (0.1, 2.0), rate(0.1, 2.0)),
        case("poisson, high", poisson, (800.0, 3.0), f64::NEG_INFINITY, (0.1, 2.0), rate(0.1, 2.0)),
        case("volatility", volatile, (-400.0, 0.0), normal(-400.0), (0.1, 0.0), normal(0.1)),
        case("volatility, high", volatile, (400.0, 1.0), normal(400.0), (0.1, 0.0), normal(0.1)),
        case(
            "volatility, wall",
            volatile,
            (-400.0, 1.0),
            f64::NEG_INFINITY,
            (0.1, 0.0),
            normal(0.1),
        ),
        case("volatility, low", volatile, (-800.0, 0.0), normal(-800.0), (0.1, 0.0), normal(0.1)),
        Case {
            known: OVERFLOW,
            ..case("softmax, high", softmax, (800.0, 1.0), -800.0, (0.1, 0.0), coin)
        },
        Case {
            known: UNDERFLOW,
            ..case("softmax, low", softmax, (-800.0, 0.0), -800.0, (0.1, 0.0), coin)
        },
    ]
}

impl Case {
    /// The program with so many rows.
    pub fn subject(&self, prior: &str, rows: usize) -> Subject {
        let column = |first: f64, other: f64| {
            let mut cells = vec![other; rows];
            cells[0] = first;
            Column::Reals(cells.into())
        };
        let table = Table::new(vec![
            (Symbol::new("x"), column(self.x, self.others.0)),
            (Symbol::new("y"), column(self.y, self.others.1)),
        ]);
        let lines = vec![
            Line::Assume { name: "b".to_owned(), expr: prior.to_owned() },
            Line::ObserveRows { expr: self.expr.to_owned(), table: Arc::new(table) },
        ];
        Subject::new(lines).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// The log likelihood on paper.
    pub fn log_likelihood(&self, rows: usize) -> f64 {
        self.log_p.0 + (rows - 1) as f64 * self.log_p.1
    }
}

/// A program with one row.
pub fn with_one_row(prior: &str, expr: &'static str, (x, y): (f64, f64)) -> Subject {
    let others = (x, y);
    let case = Case { name: expr, expr, x, y, others, log_p: (0.0, 0.0), known: None };
    case.subject(prior, 1)
}

/// The choices of a program with the single choice b at 1.
pub fn at_one(subject: &Subject) -> Option<Choices> {
    let world = subject.world(House::Nodes, None, 0).ok()?;
    let mut choices = Choices::of(&world.model)?;
    let b = world.model.choices()[0];
    choices.put(world.model.address(b), Value::Number(1.0));
    Some(choices)
}

/// The program at b = 1 in both houses; none if it cannot be evaluated there.
pub fn stage_at_one(subject: &Subject) -> Option<Stage<'_>> {
    Stage::at(subject, || at_one(subject))
}
