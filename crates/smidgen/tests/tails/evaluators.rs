//! Log densities, ratios, weights and gradients against their closed form.

use smidgen::Session;
use smidgen::engine::smooth::{Density, Form};
use smidgen::engine::{DrawnFrom, Enumeration, NodeId};
use smidgen::value::math::{ln, log_logistic, logistic};
use smidgen::value::{Rng, Symbol};
use smidgen_testkit::two_ways::two_ways;

use super::{ETAS, ROWS, session};

/// Ways of a probability with the log odds `a` to a law: what is assumed, and the expression.
const WAYS: &[(&str, &str)] = &[
    ("", "(logistic a)"),
    ("", "(linear_logistic (vector 0 a) (vector 1))"),
    ("", "(linear_logistic (vector a 1) (vector (* 0 a)))"),
    ("", "(let ((p (logistic a))) p)"),
    ("", "(if (< 0 1) (logistic a) 0.3)"),
    ("", "(if (< a 2000) (logistic a) 0.3)"),
    ("", "(probability (logistic a))"),
    ("", "(- 1 (logistic (- 0 a)))"),
    ("", "(- 1 (- 1 (logistic a)))"),
    ("", "(lookup (array 0.2 (logistic a)) 1)"),
    ("", "(first (list (logistic a) 3))"),
    ("[assume k (uniform_discrete 0 2)] [force k 1]", "(lookup (array 0.2 (logistic a)) k)"),
    ("[assume k (uniform_discrete 0 2)] [force k 1]", "(biplex k (logistic a) (logistic 3))"),
    ("[assume k (uniform_discrete 0 2)] [force k 1]", "(if (= k 1) (logistic a) 0.5)"),
    ("[assume p (logistic a)]", "p"),
    ("[assume q (logistic (- 0 a))]", "(- 1 q)"),
    ("[assume p (mem (lambda (i) (logistic (+ a (* 0 i)))))]", "(p 1)"),
    ("[assume k (flip 0.5)] [force k true] [assume p (if k (logistic a) 0.5)]", "p"),
];

/// Laws with an outcome, so many successes and failures, and how often the outcome can come about.
const LAWS: &[(&str, &str, [f64; 2], f64)] = &[
    ("(bernoulli P)", "1", [1.0, 0.0], 1.0),
    ("(bernoulli P)", "0", [0.0, 1.0], 1.0),
    ("(flip P)", "true", [1.0, 0.0], 1.0),
    ("(flip P)", "false", [0.0, 1.0], 1.0),
    ("(binomial 5 P)", "2", [2.0, 3.0], 10.0),
    ("(binomial 5 P)", "0", [0.0, 5.0], 1.0),
    ("(binomial 5 P)", "5", [5.0, 0.0], 1.0),
    ("(geometric P)", "3", [1.0, 3.0], 1.0),
    ("(negative_binomial 2 P)", "3", [2.0, 3.0], 4.0),
];

/// k log σ(η) + m log σ(-η) + log(ways)
fn log_p(eta: f64, [k, m]: [f64; 2], ways: f64) -> f64 {
    let times = |n: f64, log_p: f64| if n == 0.0 { 0.0 } else { n * log_p };
    times(k, log_logistic(eta)) + times(m, log_logistic(-eta)) + ln(ways)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + b.abs())
}

fn choice(session: &mut Session, name: &str) -> NodeId {
    let operand = session.model().trace_mut().global(Symbol::new(name)).expect("it was assumed");
    operand.node().expect("a node")
}

/// All ways to all laws, with rows as nodes (so many) or as a plate.
fn cases() -> impl Iterator<Item = (String, String, [f64; 2], f64, usize)> {
    WAYS.iter().flat_map(|(assumed, p)| {
        LAWS.iter().flat_map(move |(law, outcome, counts, ways)| {
            let law = law.replace('P', p);
            let node = format!("[observe {law} {outcome}]");
            let row = format!("[for row in t [observe {law} (+ row.zero {outcome})]]");
            [(node.repeat(3), 3), (row, ROWS)].map(|(observed, rows)| {
                let observed = observed.replace("(+ row.zero true)", "(= row.zero 0)");
                let observed = observed.replace("(+ row.zero false)", "(= row.zero 1)");
                ((*assumed).to_owned(), observed, *counts, *ways, rows)
            })
        })
    })
}

#[test]
fn traces_and_plates() {
    for (assumed, observed, counts, ways, rows) in cases() {
        for eta in ETAS {
            let text = format!("[assume a (normal 0 1000)] [force a {eta:?}] {assumed} {observed}");
            let found = session(&text, 1).model().log_likelihood().expect("a density");
            let want = rows as f64 * log_p(eta, counts, ways);
            assert!(close(found, want), "{found} is not {want} in {text}");
        }
    }
}

#[test]
fn sections_and_proposals() {
    for (assumed, observed, _, _, rows) in cases() {
        let observed = if rows < ROWS { observed.repeat(20) } else { observed };
        let rows = if rows < ROWS { 20 * rows } else { rows };
        for eta in ETAS {
            let text = format!("[assume a (normal 0 1000)] [force a {eta:?}] {assumed} {observed}");
            let mut session = session(&text, 1);
            let a = choice(&mut session, "a");
            for seed in 0..2 {
                // A branch that hangs on `a` has no sections.
                let Ok(both) = two_ways(session.model().trace_mut(), &[a], seed, true) else {
                    continue;
                };
                assert!(both.agree() && both.population == rows, "{both:?} in {text}");
                assert!(both.exact.is_finite(), "{both:?} in {text}");
            }
        }
    }
}

#[test]
fn gradients() {
    for (assumed, observed, counts, ways, rows) in cases() {
        for eta in ETAS {
            let text = format!("[assume a (normal 0 1000)] [force a {eta:?}] {assumed} {observed}");
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
                (log_density + x * x / 2e6 - rows as f64 * log_p(x, counts, ways), gradient[0])
            };
            let (here, slope) = at(eta);
            let (there, _) = at(0.5);
            // Up to a constant, the same everywhere.
            let size = rows as f64 * log_p(eta, counts, ways).abs();
            assert!((here - there).abs() <= 1e-9 * (1.0 + size), "{here} {there} in {text}");
            let [k, m] = counts;
            let want = rows as f64 * (k * logistic(-eta) - m * logistic(eta)) - eta / 1e6;
            assert!((slope - want).abs() <= 1e-9 * (1.0 + want.abs()), "{slope} {want} in {text}");
        }
    }
}

/// A coin that decides between two values of `a`, weighed by Gibbs on both its roads.
#[test]
fn gibbs() {
    for (assumed, observed, counts, ways, rows) in cases() {
        for eta in ETAS {
            let other = eta + 0.5;
            let text = format!(
                "[assume c (flip 0.5)] [force c true] [assume a (if c {eta:?} {other:?})] {assumed} {observed}"
            );
            let mut session = session(&text, 1);
            let c = choice(&mut session, "c");
            let want = rows as f64 * (log_p(eta, counts, ways) - log_p(other, counts, ways));
            for mut enumeration in [Enumeration::new(), Enumeration::of_proposals()] {
                let (trace, mut rng) = (session.model().trace_mut(), Rng::from_seed(1));
                let weighed = enumeration.weigh(trace, &[c], DrawnFrom::Nothing, &mut rng);
                weighed.expect("a finite choice");
                let [a, b] = enumeration.log_weights() else { panic!("two values in {text}") };
                // Which of the two comes first is the enumeration's business.
                let found = if (a - b - want).abs() < (b - a - want).abs() { a - b } else { b - a };
                let size = rows as f64 * log_p(eta, counts, ways).abs();
                assert!((found - want).abs() <= 1e-9 * (1.0 + size), "{found} {want} in {text}");
            }
        }
    }
}
