//! States of draws and what is made from them: predictions, log likelihoods, starting points; and what is kept of a
//! chain on request. None of it changes the draws.

// References are computed as anybody would.
#![allow(clippy::disallowed_methods)]

use std::sync::Arc;

use smidgen::draws::{KeepStates, Run, STATISTICS, Scalar, States, summarise, summarise_scalar};
use smidgen::likelihood::{LikelihoodRequest, log_likelihood};
use smidgen::predict::{PredictRequest, predict, prior};
use smidgen::sampling::{Init, Progress, SampleRequest, Sampled, sample};
use smidgen::value::{Column, Symbol, Table, Value};
use smidgen::{Session, Settings, engine, replay};

// ---------------------------------------------------------------- programs and data

const ROWS: usize = 200;

/// x, a group of five, and y.
fn rows() -> Table {
    let xs: Vec<f64> = (0..ROWS).map(|i| (i as f64 * 0.7).sin() * 2.0).collect();
    let groups: Vec<f64> = (0..ROWS).map(|i| (i % 5) as f64).collect();
    let noise = |i: usize| ((i * 7919 % 1000) as f64 / 1000.0 - 0.5) * 2.0;
    let ys = (0..ROWS).map(|i| 1.0 + 0.5 * xs[i] + 0.3 * groups[i] + noise(i)).collect();
    table(&[("x", xs), ("g", groups), ("y", ys)])
}

fn table(columns: &[(&str, Vec<f64>)]) -> Table {
    let column =
        |(name, xs): &(&str, Vec<f64>)| (Symbol::new(name), Column::Reals(xs.clone().into()));
    Table::new(columns.iter().map(column).collect())
}

fn session(table: Table) -> Session {
    let mut session = Session::new(Settings::default());
    session.give_table("t", Arc::new(table));
    session
}

/// Effects of groups that no recorded name has, above rows that are one plate.
const EFFECTS: &str = "[table t]
    [assume a (normal 0 5)] [assume b (normal 0 5)] [assume s (half_normal 2)]
    [assume tau (half_normal 1)]
    [assume effect (mem (lambda (g) (normal 0 tau)))]
    [for row in t [observe (normal (+ a (* b row.x) (effect row.g)) s) row.y]]
    [assume after (normal a 1)]";

const STRUCTURES: [&str; 6] = [
    EFFECTS,
    // A choice decides what exists, and an observation moves.
    "[assume c (flip 0.4)] [assume x (if c (normal 0 1) (+ (normal 3 1) (gamma 2 1)))]
     [assume u (normal 0 1)] [assume v (normal 1 1)]
     [observe (if c u v) 0.5] [observe (normal x 1) 1.5]",
    // Clusters, each with parameters of its own, and recursion.
    "[assume crp (make_crp 1)] [assume z (mem (lambda (i) (crp)))]
     [assume centre (mem (lambda (k) (normal 0 3)))]
     [for i in (range 0 6) [observe (normal (centre (z i)) 1) i]]
     [assume n (letrec ((f (lambda (k) (if (flip 0.5) k (f (+ k 1)))))) (f 0))]",
    // A choice that is observed after it was made, forced values, a frozen one, a weight.
    "[assume m (normal 0 1)] [assume y (normal m 1)] [observe y 2] [assume k (poisson 3)]
     frozen: [assume w (gamma 2 2)] [force k 5] [freeze frozen] [factor (* -0.5 (square (- m w)))]",
    // Rows with choices of their own; vectors and matrices.
    "[assume w (multivariate_diag_normal (zeros 2) (ones 2))] [assume p (dirichlet (vector 1 1 1))]
     [assume q (wishart (id_matrix 2) 4)]
     [for i in (range 0 5) [observe (normal (normal (lookup w 0) 1) 1) i]]
     [observe (categorical p) 1]",
    // An uncollapsed maker, whose parameter is a choice.
    "[assume coin (make_uc_beta_bernoulli 1 1)] [observe (coin) true] [assume next (coin)]
     [predict (normal (if next 1 0) 1)]",
];

fn request(keep_states: KeepStates) -> SampleRequest {
    let (draws, warmup, chains) = (30, 100, 2);
    SampleRequest { draws, warmup, chains, seed: 5, keep_states, ..SampleRequest::default() }
}

fn sampled(text: &str, request: &SampleRequest) -> Sampled {
    let mut session = session(rows());
    let program = session.parse_text("test", text).expect("the program reads");
    match sample(&mut session, &program, request, &Progress::default()) {
        Ok(sampled) => sampled,
        Err(errors) => panic!("{}: {text}", errors.0[0].message),
    }
}

fn states(text: &str, request: &SampleRequest) -> (Run, States) {
    let sampled = sampled(text, request);
    let states = sampled.states.expect("they were asked for").expect("the program has states");
    (sampled.run, states)
}

fn predicted(text: &str, table: Table, states: &States, seed: u64) -> Run {
    let mut session = session(table);
    let program = session.parse_text("test", text).expect("the program reads");
    let request =
        PredictRequest { seed, draws: None, record: Vec::new(), threads: 2, rows: Vec::new() };
    let run = predict(&mut session, &program, states, &request, &Progress::default());
    run.unwrap_or_else(|errors| panic!("{}: {text}", errors.0[0].message)).run
}

fn numbers(run: &Run, name: &str) -> Scalar {
    let found = run.draws.scalars().into_iter().find(|scalar| scalar.name == name);
    found.unwrap_or_else(|| panic!("{name} is recorded"))
}

/// Two estimates of one mean, within four of their errors.
fn agree(a: &Scalar, b: &Scalar) {
    let (a, b) = (summarise_scalar(a), summarise_scalar(b));
    let error = (a.mcse * a.mcse + b.mcse * b.mcse).sqrt();
    assert!((a.mean - b.mean).abs() < 4.0 * error, "{}: {} and {}", a.name, a.mean, b.mean);
    let ratio = a.sd / b.sd;
    assert!((0.8..1.25).contains(&ratio), "{}: {} and {}", a.name, a.sd, b.sd);
}

// ---------------------------------------------------------------- states

/// Every state is come to again, by running the directives and by rewriting a model that has run them: the same
/// choices to the bit, and the log joint density.
#[test]
fn states_are_restored() {
    for text in STRUCTURES {
        let mut request = request(KeepStates::All);
        request.stats = true;
        let (run, states) = states(text, &request);
        let mut session = session(rows());
        let program = session.parse_text("test", text).expect("the program reads");
        let mut restored =
            replay::Restorer::new(&mut session, &program).expect("the program compiles");
        for (c, chain) in states.chains.iter().enumerate() {
            assert_eq!(chain.states.len(), 30, "{text}");
            for (d, state) in chain.states.iter().enumerate() {
                let lp = run.stats.get("lp").expect("a statistic").chains[c][d].as_number();
                let lp = lp.expect("a number");
                let mut fresh = restored.run(state, Some(&states.steps)).expect("it runs again");
                assert!(fresh.is_in(state), "{text}");
                near(fresh.log_joint(), lp, text);
                let other = &chain.states[(d + 7) % 30];
                fresh.rewrite(other, &mut smidgen::value::Rng::from_seed(1)).expect("possible");
                assert!(fresh.is_in(other), "{text}");
                fresh.rewrite(state, &mut smidgen::value::Rng::from_seed(2)).expect("possible");
                assert!(fresh.is_in(state), "{text}");
                near(fresh.log_joint(), lp, text);
            }
        }
    }
}

fn near(found: Result<f64, engine::EvalError>, wanted: f64, text: &str) {
    let found = found.expect("a density");
    assert!((found - wanted).abs() < 1e-8 * (1.0 + wanted.abs()), "{found} {wanted}: {text}");
}

#[test]
fn what_has_no_state_says_why() {
    let text = "[assume f (categorical (vector 1 1) (array sin cos))] [observe (normal (f 1) 1) 0]";
    let kept = sampled(text, &request(KeepStates::Auto)).states.expect("asked for");
    assert!(kept.is_err_and(|reason| reason.contains("procedure")));
}

/// Draws that have all choices are states, and say so; others do not.
#[test]
fn recorded_choices_are_states() {
    let text = "[assume w (multivariate_diag_normal (zeros 2) (ones 2))] [assume c (flip 0.3)]
        label: [predict c] [predict w] [observe (normal (lookup w (if c 0 1)) 1) 1]";
    let (run, kept) = states(text, &request(KeepStates::Auto));
    assert!(kept.is_recorded);
    let mut session = session(rows());
    let program = session.parse_text("test", text).expect("the program reads");
    let found = replay::from_draws(&mut session, &program, &run);
    let found = found.unwrap_or_else(|errors| panic!("{}", errors.0[0].message));
    for (found, kept) in found.chains.iter().zip(&kept.chains) {
        let pairs = found.states.iter().zip(&kept.states);
        assert!(pairs.clone().count() == 30);
        assert!(pairs.into_iter().all(|(a, b)| a.addresses() == b.addresses()));
    }
    assert_eq!(predicted(text, rows(), &found, 1).draws.quantities().len(), 3);
    let (run, kept) = states(EFFECTS, &request(KeepStates::Auto));
    assert!(!kept.is_recorded);
    let mut session = self::session(rows());
    let program = session.parse_text("test", EFFECTS).expect("the program reads");
    let error = replay::from_draws(&mut session, &program, &run).expect_err("effects are missing");
    assert!(error.0[0].message.contains("not recorded"), "{}", error.0[0].message);
}

// ---------------------------------------------------------------- what is kept of a chain

#[test]
fn what_is_kept_does_not_change_the_draws() {
    let text = "[assume k (poisson 4)] [assume x (normal k 1)] [observe (normal x 1) 3]
        [predict x] [predict k]";
    let plain = sampled(
        text,
        &SampleRequest { record: vec!["(normal x 1)".into()], ..request(KeepStates::No) },
    );
    let kept = sampled(
        text,
        &SampleRequest {
            record: vec!["(normal x 1)".into()],
            stats: true,
            keep_warmup: true,
            ..request(KeepStates::All)
        },
    );
    assert_eq!(plain.run.draws.fingerprint(), kept.run.draws.fingerprint());
    assert!(plain.run.stats.is_empty() && plain.run.warmup.is_empty() && plain.states.is_none());
    let stats = &kept.run.stats;
    assert_eq!(stats.quantities().len(), STATISTICS.len());
    assert!(stats.quantities().iter().all(|q| q.chains.iter().all(|c| c.len() == 30)));
    let acceptance = &stats.get("acceptance_rate").expect("a statistic").chains[0];
    assert!(acceptance.iter().all(|x| x.as_number().is_some_and(|x| (0.0..=1.0).contains(&x))));
    let warm = kept.run.warmup.get("x").expect("recorded");
    assert!(warm.chains.iter().all(|chain| chain.len() == 100));
}

#[test]
fn chains_begin_where_they_are_told() {
    let text = "[assume mu (normal 0 10)] [assume e (mem (lambda (i) (normal mu 1)))]
        [observe (normal (e 1) 1) 0] [predict mu] [predict (e 1)]";
    let start = |init: Init| {
        let init = Some(Arc::new(init));
        let kernel = Some("(mh default one 'drift 1e-9 1)".to_owned());
        let chains = 2;
        sampled(
            text,
            &SampleRequest {
                warmup: 0,
                draws: 1,
                chains,
                kernel,
                init,
                ..request(KeepStates::Auto)
            },
        )
    };
    let value = |name: &str, x: f64| (name.to_owned(), Value::Number(x));
    let values = vec![vec![value("mu", 7.0), value("(e 1)", 6.0)], vec![value("mu", -7.0)]];
    let begun = start(Init::Values(values));
    let at = |run: &Run, name: &str, chain: usize| numbers(run, name).chains[chain][0];
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
    near(at(&begun.run, "mu", 0), 7.0);
    near(at(&begun.run, "(e 1)", 0), 6.0);
    near(at(&begun.run, "mu", 1), -7.0);
    let again = start(Init::States(begun.states.expect("asked for").expect("states")));
    for (name, chain) in [("mu", 0), ("(e 1)", 0), ("mu", 1), ("(e 1)", 1)] {
        near(at(&again.run, name, chain), at(&begun.run, name, chain));
    }
    let mut session = session(rows());
    let program = session.parse_text("test", text).expect("the program reads");
    let init = Some(Arc::new(Init::Values(vec![vec![value("nu", 1.0)]])));
    let wrong = SampleRequest { init, ..request(KeepStates::No) };
    let error = sample(&mut session, &program, &wrong, &Progress::default()).err().expect("a typo");
    assert!(error.0[0].message.contains("nu"), "{}", error.0[0].message);
}

// ---------------------------------------------------------------- predictions

/// The same predictions by hand: the program's own loop of predictions, drawn along with the chain.
#[test]
fn predictions_agree_with_a_loop_by_hand() {
    let by_hand =
        format!("{EFFECTS} [for row in t [predict (normal (+ a (* b row.x) (effect row.g)) s)]]");
    let long = SampleRequest { draws: 1500, warmup: 500, seed: 3, ..request(KeepStates::All) };
    let hand = sampled(&by_hand, &SampleRequest { seed: 4, ..long.clone() }).run;
    let (_, states) = states(EFFECTS, &long);
    let found = predicted(EFFECTS, rows(), &states, 9);
    for i in [0, 17, 101, 199] {
        let by_hand = format!("(normal (+ a (* b row.x) (effect row.g)) s)[{i}]");
        agree(&numbers(&found, &format!("y[{i}]")), &numbers(&hand, &by_hand));
    }
}

/// Rows of a table without the observed column; one of a group that was never seen.
#[test]
fn new_rows_are_predicted() {
    let long = SampleRequest { draws: 1500, warmup: 500, seed: 3, ..request(KeepStates::All) };
    let new = || table(&[("x", vec![0.5, -1.0, 2.0]), ("g", vec![1.0, 2.0, 77.0])]);
    let (_, states) = states(EFFECTS, &long);
    let found = predicted(EFFECTS, new(), &states, 9);
    assert_eq!(found.draws.quantities().len(), 3);
    let by_hand = format!(
        "{EFFECTS} [predict (normal (+ a (* b 0.5) (effect 1)) s)]
         [predict (normal (+ a (* b -1) (effect 2)) s)] [predict (normal (+ a (* b 2) (effect 77)) s)]"
    );
    let hand = sampled(&by_hand, &SampleRequest { seed: 4, ..long }).run;
    for (i, quantity) in hand.draws.scalars().iter().enumerate() {
        agree(&numbers(&found, &format!("y[{i}]")), quantity);
    }
    let mut session = session(table(&[("x", vec![0.5])]));
    let program = session.parse_text("test", EFFECTS).expect("the program reads");
    let request =
        PredictRequest { seed: 1, draws: None, record: Vec::new(), threads: 1, rows: Vec::new() };
    let error = predict(&mut session, &program, &states, &request, &Progress::default());
    let error = error.expect_err("a column is missing").0.remove(0);
    assert!(error.message.contains('g'), "{}", error.message);
}

/// Units come in the order of the rows, whether these are one plate or were observed one by one: models are compared
/// unit by unit.
#[test]
fn units_come_in_the_order_of_rows() {
    let n = 40;
    let y: Vec<f64> = (0..n).map(f64::from).collect();
    let plate = "[table t] [assume m (normal 0 9)] [for row in t [observe (normal m 9) row.y]]";
    let apart = "[table t] [assume m (normal 0 9)] [for row in t [let k (normal m 1)] [observe (normal k 9) row.y]]";
    for text in [plate, apart] {
        let mut session = session(table(&[("y", y.clone())]));
        let program = session.parse_text("test", text).expect("the program reads");
        let request = SampleRequest { draws: 3, ..request(KeepStates::All) };
        let sampled = sample(&mut session, &program, &request, &Progress::default());
        let states = sampled.ok().and_then(|sampled| sampled.states?.ok()).expect("states");
        for rows in [Vec::new(), vec![("t".to_owned(), (0..n).map(|i| i % 9 == 2).collect())]] {
            let wanted: Vec<String> = (0..n)
                .filter(|i| rows.is_empty() || i % 9 == 2)
                .map(|i| format!("y[{i}]"))
                .collect();
            let mut session = self::session(table(&[("y", y.clone())]));
            let program = session.parse_text("test", text).expect("the program reads");
            let request = LikelihoodRequest { seed: 1, draws: None, threads: 1, rows };
            let found =
                log_likelihood(&mut session, &program, &states, &request, &Progress::default());
            let found = found.unwrap_or_else(|errors| panic!("{}: {text}", errors.0[0].message));
            assert_eq!(found.names, wanted, "{text}");
        }
    }
}

/// More rows than before do not take the values of later directives for their own.
#[test]
fn further_rows_are_new_choices() {
    let text = "[table t] [for row in t [observe (normal (normal 0 1) 1) row.y]]
        [assume late (normal 0 0.001)] [predict late]";
    let (_, states) = states(text, &request(KeepStates::All));
    let more = table(&[("y", vec![0.0; ROWS + 50])]);
    let found = predicted(text, more, &states, 2);
    let all: Vec<f64> = (ROWS..ROWS + 50)
        .flat_map(|i| numbers(&found, &format!("y[{i}]")).chains.concat())
        .collect();
    let variance = all.iter().map(|x| x * x).sum::<f64>() / all.len() as f64;
    assert!((1.7..2.3).contains(&variance), "{variance}");
}

#[test]
fn the_prior_predicts_too() {
    let text = "[assume mu (normal 2 3)] [observe (normal mu 4) 100] [factor -1000]";
    let mut session = session(rows());
    let program = session.parse_text("test", text).expect("the program reads");
    let request =
        PredictRequest { seed: 3, draws: None, record: Vec::new(), threads: 2, rows: Vec::new() };
    let drawn = prior(&mut session, &program, (2, 2000), &request, &Progress::default());
    let drawn = drawn.unwrap_or_else(|errors| panic!("{}", errors.0[0].message)).run;
    let rows = summarise(&drawn.draws);
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["mu", "(normal mu 4)"]);
    for (row, sd) in rows.iter().zip([3.0, 5.0]) {
        assert!(
            (row.mean - 2.0).abs() < 4.0 * row.mcse && (row.sd / sd - 1.0).abs() < 0.06,
            "{row:?}"
        );
    }
    let mut session = self::session(self::rows());
    let program = session.parse_text("test", "[assume m (flat)] [observe (normal m 1) 0]");
    let drawn =
        prior(&mut session, &program.expect("reads"), (1, 2), &request, &Progress::default());
    assert!(drawn.expect_err("no prior").0[0].message.contains("improper"));
}

// ---------------------------------------------------------------- log likelihoods

/// By unit they add up to the log likelihood of the state, whether rows are plates or nodes.
#[test]
fn log_likelihoods_add_up() {
    let texts = [
        (EFFECTS, "y[17]", ROWS),
        (
            "[assume m (normal 0 1)] [observe (normal m 1) 2] [observe (poisson (exp m)) 3]",
            "(normal m 1)",
            2,
        ),
        (
            "[assume m (normal 0 1)] [for i in (range 0 4) obs: [observe (normal m 1) i] [factor (* m i)]]",
            "obs[2]",
            4,
        ),
    ];
    for (text, name, units) in texts {
        let (_, states) = states(text, &request(KeepStates::All));
        let mut session = session(rows());
        let program = session.parse_text("test", text).expect("the program reads");
        let request = LikelihoodRequest { seed: 1, draws: None, threads: 2, rows: Vec::new() };
        let found = log_likelihood(&mut session, &program, &states, &request, &Progress::default());
        let found = found.unwrap_or_else(|errors| panic!("{}: {text}", errors.0[0].message));
        assert_eq!(found.names.len(), units, "{text}");
        assert!(found.names.iter().any(|n| n == name), "{:?}", found.names);
        let mut session = self::session(rows());
        let program = session.parse_text("test", text).expect("the program reads");
        let mut restored = replay::Restorer::new(&mut session, &program).expect("it compiles");
        for (chain, kept) in found.chains.iter().zip(&states.chains) {
            for (draw, state) in chain.iter().zip(&kept.states) {
                let mut model = restored.run(state, Some(&states.steps)).expect("it runs again");
                near(model.log_likelihood(), draw.iter().sum(), text);
            }
        }
    }
    let text = "[assume c (make_beta_bernoulli 1 1)] [observe (c) true] [observe (c) false]";
    let (_, states) = states(text, &request(KeepStates::All));
    let mut session = session(rows());
    let program = session.parse_text("test", text).expect("the program reads");
    let request = LikelihoodRequest { seed: 1, draws: None, threads: 1, rows: Vec::new() };
    let error = log_likelihood(&mut session, &program, &states, &request, &Progress::default());
    assert!(error.expect_err("it is collapsed").0[0].message.contains("integrated out"));
}
