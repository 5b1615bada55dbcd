//! Log densities, ratios, weights and gradients against their closed form.

use smidgen::Session;
use smidgen::engine::smooth::{Density, Form};
use smidgen::engine::{DrawnFrom, Enumeration, NodeId};
use smidgen::value::{Rng, Symbol};
use smidgen_testkit::two_ways::two_ways;

use super::laws::{Law, TAILS, Tail};
use super::{ETAS, ROWS, session};

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + b.abs())
}

fn choice(session: &mut Session, name: &str) -> NodeId {
    let operand = session.model().trace_mut().global(Symbol::new(name)).expect("it was assumed");
    operand.node().expect("a node")
}

/// A law seen through one of the ways to its parameter, in so many rows.
struct Case {
    assumed: &'static str,
    observed: String,
    rows: usize,
    law: &'static Law,
}

impl Case {
    fn program(&self, eta: f64) -> String {
        let Case { assumed, observed, .. } = self;
        format!("[assume a (normal 0 1000)] [force a {eta:?}] {assumed} {observed}")
    }

    /// log p of all rows.
    fn log_p(&self, eta: f64) -> f64 {
        self.rows as f64 * (self.law.log_p)(eta)
    }

    fn etas(&self) -> impl Iterator<Item = f64> {
        let most = self.law.most;
        ETAS.into_iter().filter(move |eta| *eta <= most)
    }
}

/// All ways to all laws, with rows as nodes (so many) or as a plate.
fn cases() -> impl Iterator<Item = Case> {
    let laws = |tail: Tail| {
        tail.ways.iter().flat_map(move |way| tail.laws.iter().map(move |law| (way, law)))
    };
    TAILS.into_iter().flat_map(laws).flat_map(|((assumed, parameter), law)| {
        let (text, outcome) = (law.law.replace('P', parameter), law.outcome);
        let node = format!("[observe {text} {outcome}]");
        let row = format!("[for row in t [observe {text} (+ row.zero {outcome})]]");
        [(node.repeat(3), 3), (row, ROWS)].map(|(observed, rows)| {
            let observed = observed.replace("(+ row.zero true)", "(= row.zero 0)");
            let observed = observed.replace("(+ row.zero false)", "(= row.zero 1)");
            Case { assumed, observed, rows, law }
        })
    })
}

#[test]
fn traces_and_plates() {
    for case in cases() {
        for eta in case.etas() {
            let text = case.program(eta);
            let found = session(&text, 1).model().log_likelihood().expect("a density");
            let want = case.log_p(eta);
            assert!(close(found, want), "{found} is not {want} in {text}");
        }
    }
}

#[test]
fn sections_and_proposals() {
    for mut case in cases() {
        if case.rows < ROWS {
            case.observed = case.observed.repeat(20);
            case.rows *= 20;
        }
        for eta in case.etas() {
            let text = case.program(eta);
            let mut session = session(&text, 1);
            let a = choice(&mut session, "a");
            for seed in 0..2 {
                // A branch that hangs on `a` has no sections.
                let Ok(both) = two_ways(session.model().trace_mut(), &[a], seed, true) else {
                    continue;
                };
                assert!(both.agree() && both.population == case.rows, "{both:?} in {text}");
                assert!(both.exact.is_finite(), "{both:?} in {text}");
            }
        }
    }
}

#[test]
fn gradients() {
    for case in cases() {
        for eta in case.etas() {
            let text = case.program(eta);
            let mut session = session(&text, 1);
            let a = choice(&mut session, "a");
            let trace = session.model().trace_mut();
            let mut density = match Density::compile(trace, &[a], Form::Plain).expect("no error") {
                Ok(density) => density,
                // A condition on `a` that decides more than a coin.
                Err(why) if text.contains("(< a 2000)") => {
                    assert!(why.reason.contains("jumps"), "{}", why.reason);
                    continue;
                }
                Err(why) => panic!("{} in {text}", why.reason),
            };
            let mut gradient = [0.0];
            let mut at = |x: f64| {
                let log_density = density.log_density(&[x], &mut gradient);
                (log_density + x * x / 2e6 - case.log_p(x), gradient[0])
            };
            let (here, slope) = at(eta);
            let (there, _) = at(0.5);
            // Up to a constant, the same everywhere.
            let size = case.log_p(eta).abs();
            assert!((here - there).abs() <= 1e-9 * (1.0 + size), "{here} {there} in {text}");
            let want = case.rows as f64 * (case.law.slope)(eta) - eta / 1e6;
            assert!((slope - want).abs() <= 1e-9 * (1.0 + want.abs()), "{slope} {want} in {text}");
        }
    }
}

/// A coin that decides between two values of `a`, weighed by Gibbs on both its roads.
#[test]
fn gibbs() {
    for case in cases() {
        for eta in case.etas() {
            let other = eta - 0.5;
            let Case { assumed, observed, .. } = &case;
            let text = format!(
                "[assume c (flip 0.5)] [force c true] [assume a (if c {eta:?} {other:?})] {assumed} {observed}"
            );
            let mut session = session(&text, 1);
            let c = choice(&mut session, "c");
            let want = case.log_p(eta) - case.log_p(other);
            for mut enumeration in [Enumeration::new(), Enumeration::of_proposals()] {
                let (trace, mut rng) = (session.model().trace_mut(), Rng::from_seed(1));
                let weighed = enumeration.weigh(trace, &[c], DrawnFrom::Nothing, &mut rng);
                weighed.expect("a finite choice");
                let [a, b] = enumeration.log_weights() else { panic!("two values in {text}") };
                // Which of the two comes first is the enumeration's business.
                let found = if (a - b - want).abs() < (b - a - want).abs() { a - b } else { b - a };
                let size = case.log_p(eta).abs() + case.log_p(other).abs();
                assert!((found - want).abs() <= 1e-9 * (1.0 + size), "{found} {want} in {text}");
            }
        }
    }
}
