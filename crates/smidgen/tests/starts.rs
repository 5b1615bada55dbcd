//! Starts: programs whose first draws from the prior do not fit their observations, or leave the
//! domain of a parameter.

use smidgen::sampling::{self, Progress, Sampled};
use smidgen::value::{Value, math};
use smidgen::{OutcomeKind, SampleRequest, Session, Settings};

const SEEDS: u64 = 20;

fn session(seed: u64) -> Session {
    Session::new(Settings { seed, ..Settings::default() })
}

fn sampled(text: &str, request: SampleRequest) -> Result<Sampled, String> {
    let mut session = session(request.seed);
    let program = session.parse_text("test", text).expect("a program");
    sampling::sample(&mut session, &program, &request, &Progress::default()).map_err(|error| {
        let found = &error.0[0];
        format!("{} {}", found.message, found.hints.join(" "))
    })
}

fn short(seed: u64) -> SampleRequest {
    SampleRequest { draws: 5, warmup: 5, chains: 2, threads: 1, seed, ..SampleRequest::default() }
}

/// Executes the directives one by one, as `run` and the prompt do.
fn run(text: &str, seed: u64) -> Result<Vec<f64>, String> {
    let mut session = session(seed);
    let mut shown = Vec::new();
    for directive in &session.parse_text("test", text).expect("a program") {
        let outcomes = session.execute(directive).map_err(|d| d[0].message.clone())?;
        for outcome in outcomes {
            match outcome.kind {
                OutcomeKind::Predict(value) | OutcomeKind::Sample(value) => {
                    shown.extend(value.as_number());
                }
                OutcomeKind::Infer(inferred) => shown.extend(inferred.log_marginal_likelihood),
                _ => {}
            }
        }
        smidgen::engine::check::check(session.model()).expect("a sound trace");
    }
    Ok(shown)
}

fn numbers(sampled: &Sampled, name: &str) -> Vec<f64> {
    let quantity = sampled.run.draws.get(name).expect("a recorded quantity");
    quantity.values().filter_map(Value::as_number).collect()
}

/// Each with a condition that every state must fulfil.
const PROGRAMS: [(&str, &str); 20] = [
    ("[assume s (normal 0 1)] [observe (normal 0 s) 1.5]", "(> s 0)"),
    ("[assume n (poisson 10)] [observe (binomial n 0.5) 11]", "(>= n 11)"),
    ("[assume n (poisson 10)] [assume k (binomial n 0.5)] [observe k 11]", "(>= n 11)"),
    // A log link that overflows at most draws of the prior.
    (
        "[assume a (normal 0 2000)] [assume b (normal 0 2000)]
         [observe (poisson (exp (+ a b))) 2] [observe (poisson (exp (- a b))) 4]",
        "(< (+ a b) 709)",
    ),
    // The same over rows, which are one node.
    (
        "[assume a (normal 0 300)] [assume b (normal 0 300)]
         [for i in (range 0 150) [observe (poisson (exp (+ a (* b (/ i 50))))) 2]]",
        "(< (+ a (* 2 b)) 709)",
    ),
    // Hardly a draw of the prior fits: how many rows do not leads there.
    (
        "[assume a (normal 0 1000)] [assume b (normal 0 1000)]
         [for i in (range 0 160) [observe (bernoulli (cdf normal (+ a (* b (- (/ i 80) 1))) 0 1)) (= 0 (int_mod i 2))]]",
        "(and (< (+ a (* 0.9 b)) 9) (< (- a (* 0.9 b)) 9))",
    ),
    // One draw of the prior in 5,040 fits.
    (
        "[assume x (mem (lambda (i) (normal 0 1)))]
         [for i in (range 0 6) [observe (bernoulli (if (< (x i) (x (+ i 1))) 1 0)) true]]",
        "(and (< (x 0) (x 1)) (< (x 5) (x 6)))",
    ),
    // One condition, of which parts are missing: the nearer the better.
    (
        "[assume x (mem (lambda (i) (normal 0 1)))]
         [observe (flip (if (and (< (x 0) (x 1)) (< (x 1) (x 2)) (< (x 2) (x 3)) (< (x 3) (x 4)) (< (x 4) (x 5)) (< (x 5) (x 6)) (< (x 6) (x 7))) 1 0)) true]",
        "(and (< (x 0) (x 1)) (< (x 3) (x 4)) (< (x 6) (x 7)))",
    ),
    (
        "[assume x (mem (lambda (i) (normal 0 1)))]
         [observe (flip (if (< (x 0) (x 1) (x 2) (x 3) (x 4) (x 5) (x 6) (x 7)) 1 0)) true]",
        "(< (x 0) (x 1) (x 2) (x 3) (x 4) (x 5) (x 6) (x 7))",
    ),
    (
        "[assume b (mem (lambda (i) (bernoulli 0.5)))]
         [observe (flip (if (>= (sum (map b (range 0 20))) 19) 1 0)) true]",
        "(>= (sum (map b (range 0 20))) 19)",
    ),
    (
        "[assume a0 (flip 0.01)] [assume a1 (flip 0.01)] [assume a2 (flip 0.01)]
         [observe (flip (if (and a0 a1 a2) 1 0)) true]",
        "(and a0 a1 a2)",
    ),
    // Choices that come and go while they are looked at.
    (
        "[assume a (mem (lambda (i) (flip 0.0001)))] [observe (flip (if (or (a 0) (a 1)) 1 0)) true]",
        "(or (a 0) (a 1))",
    ),
    (
        "[assume c (flip 0.5)] [assume a (normal 0 1)] [assume b (normal a 1)] [observe (if c a b) 0.4]
         [assume d (normal 0 1)] [observe (flip (if (> d 1.5) 1 0)) true]",
        "(> d 1.5)",
    ),
    // One in 10^15.
    ("[assume x (normal 0 1)] [observe (bernoulli (if (> x 8) 1 0)) true]", "(> x 8)"),
    ("[assume a (flip 1e-9)] [observe (flip (if a 1 0)) true]", "a"),
    // No value of a choice that is not observed can be drawn.
    ("[assume s (normal -5 1)] [assume y (gamma s 1)] [observe (normal y 1) 3]", "(> s 0)"),
    ("[assume s (normal 0 1)] [assume r (sqrt s)] [observe (normal r 1) 3]", "(>= s 0)"),
    ("[assume s (normal 0 1)] [predict (normal 0 s)]", "(> s 0)"),
    // The other branch can take the value.
    ("[assume c (flip 0.9)] [observe (if c (uniform_continuous 0 1) (normal 0 1)) 5]", "(not c)"),
    (
        "[assume lo (normal 0 1)] [assume hi (normal 0 1)] [observe (uniform_continuous lo hi) 0.3]",
        "(and (< lo 0.3) (> hi 0.3))",
    ),
];

#[test]
fn programs_start_on_every_seed() {
    for (text, holds) in PROGRAMS {
        for seed in 0..SEEDS {
            let request = SampleRequest { record: vec![holds.to_owned()], ..short(seed) };
            let sampled = sampled(text, request).unwrap_or_else(|e| panic!("{text} {seed}: {e}"));
            let truths = sampled.run.draws.get(holds).expect("it is recorded");
            let all = truths.values().all(|value| value.truth() == Some(true));
            assert!(all, "{text} {seed}");
        }
    }
}

#[test]
fn directives_one_by_one_start_as_well() {
    for (text, holds) in PROGRAMS {
        for seed in 0..SEEDS {
            let text = format!("{text} [infer (mh default one 1)] [sample (if {holds} 1 0)]");
            let shown = run(&text, seed).unwrap_or_else(|e| panic!("{text} {seed}: {e}"));
            assert_eq!(shown.last(), Some(&1.0), "{text} {seed}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_draws() {
    for (text, _) in PROGRAMS {
        let with = |threads: usize| {
            let request = SampleRequest { chains: 3, threads, ..short(7) };
            let sampled = sampled(text, request).expect("a start");
            format!("{:?}", sampled.run.draws.quantities())
        };
        assert_eq!(with(1), with(3), "{text}");
    }
}

#[test]
fn chains_start_where_the_prior_puts_them() {
    // s is a half normal at the start, since only its sign is decided by the search.
    let request = SampleRequest {
        kernel: Some("(do)".to_owned()),
        draws: 1,
        warmup: 0,
        chains: 400,
        threads: 1,
        ..SampleRequest::default()
    };
    let sampled = sampled(PROGRAMS[0].0, request).expect("a start");
    let s = numbers(&sampled, "s");
    let n = s.len() as f64;
    let mean = s.iter().sum::<f64>() / n;
    let variance = s.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    // sqrt(2/pi) and 1 - 2/pi; five standard errors.
    assert!((mean - 0.798).abs() < 5.0 * 0.603 / n.sqrt(), "{mean}");
    assert!((variance - 0.363).abs() < 0.15, "{variance}");
}

#[test]
fn what_no_choice_can_change_is_an_error_at_once() {
    for (text, words) in [
        ("[observe (normal 0 -1) 1]", "positive"),
        ("[assume m (normal 0 1)] [observe (normal m -1) 1]", "positive"),
        ("[assume m (normal 0 1)] [assume y (normal m -1)]", "positive"),
        ("[observe (bernoulli 0.5) 7]", "support"),
        ("[assume m (normal 0 1)] [observe (poisson (exp m)) -1]", "support"),
    ] {
        let error = run(text, 1).expect_err(text);
        assert!(error.contains(words), "{text}: {error}");
        assert!(!error.contains("draws from the prior"), "{text}: {error}");
    }
    // A bad cell of a table, among rows that only their mean makes impossible.
    let text = "[assume m (normal -2000 1)]
        [for i in (range 0 200) [observe (normal (exp m) (if (= i 150) -1 1)) 0]]";
    let error = run(text, 1).expect_err(text);
    assert!(error.contains("positive"), "{error}");
}

#[test]
fn without_a_start_the_error_says_what_was_tried() {
    let never = "[assume x (normal 0 1)] [assume y (poisson 3)]
        [observe (bernoulli (if (< (+ x y) (+ x y)) 1 0)) true]";
    let error = sampled(never, short(1)).map(|_| ()).expect_err("it cannot be");
    for words in ["impossible", "2000 draws from the prior", "moves of single choices", "[force x "]
    {
        assert!(error.contains(words), "{error}");
    }
    let forced = "[assume x (normal 0 1)] [force x -2] [observe (flip (if (> x 0) 1 0)) true]";
    let error = sampled(forced, short(1)).map(|_| ()).expect_err("x stays");
    assert!(error.contains("impossible") && error.contains("no random choice"), "{error}");
    let unobserved = "[assume s (gamma 1 1)] [assume y (normal 0 (- 0 s))]";
    let error = sampled(unobserved, short(1)).map(|_| ()).expect_err("no sd is positive");
    for words in ["positive standard deviation", "500 other draws", "[force s "] {
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_directive_that_finds_no_start_leaves_nothing() {
    let mut session = session(3);
    let text = "[assume s (gamma 1 1)] [assume y (normal 0 (- 0 s))]";
    let program = session.parse_text("test", text).expect("a program");
    session.execute(&program[0]).expect("s");
    let before = session.model().log_joint().expect("a density");
    session.execute(&program[1]).expect_err("y cannot be");
    assert_eq!(session.model().log_joint().expect("a density"), before);
    smidgen::engine::check::check(session.model()).expect("a sound trace");
}

#[test]
fn forced_values_stay() {
    let text = "[assume x (normal 0 1)] [assume y (scope_include 'y 0 (normal 0 1))] [force x 5]
        [observe (bernoulli (if (< x y) 1 0)) true] [infer (mh y all 'drift 0.1 1)]";
    for seed in 0..SEEDS {
        let sampled = sampled(text, short(seed)).unwrap_or_else(|e| panic!("{e}"));
        assert!(numbers(&sampled, "x").iter().all(|x| *x == 5.0));
        assert!(numbers(&sampled, "y").iter().all(|y| *y > 5.0));
    }
}

/// Kernels whose draws do not depend on the state that is left find their way from anywhere, and
/// the law is right from the first draw on.
#[test]
fn some_kernels_need_no_start() {
    let text = "[assume s (uniform_discrete -3 4)] [assume b (flip 0.05)]
        [observe (normal 0 s) 1.5] [observe (bernoulli (if b 1 0)) true]";
    let log_p = |s: f64| -0.5 * (1.5 / s) * (1.5 / s) - math::ln(s);
    let weights: Vec<f64> = [1.0, 2.0, 3.0].iter().map(|s| math::exp(log_p(*s))).collect();
    let first = weights[0] / weights.iter().sum::<f64>();
    for kernel in ["(gibbs default all 1)", "(rejection default all 1)"] {
        let request = SampleRequest {
            kernel: Some(kernel.to_owned()),
            draws: 1,
            warmup: 0,
            chains: 1500,
            threads: 1,
            ..SampleRequest::default()
        };
        let sampled = sampled(text, request).unwrap_or_else(|e| panic!("{kernel}: {e}"));
        let s = numbers(&sampled, "s");
        let share = s.iter().filter(|s| **s == 1.0).count() as f64 / s.len() as f64;
        let error = (first * (1.0 - first) / s.len() as f64).sqrt();
        assert!((share - first).abs() < 5.0 * error, "{kernel}: {share} {first}");
    }
    let request = SampleRequest { kernel: Some("(pgibbs default all 20 1)".into()), ..short(1) };
    let sampled = sampled(text, request).expect("a start");
    assert!(numbers(&sampled, "s").iter().all(|s| *s > 0.0));
}

#[test]
fn rejection_of_what_cannot_be_ends() {
    let text = "[assume b (flip 0.5)] [observe (bernoulli (if b 0 0)) true]";
    let request = SampleRequest { kernel: Some("(rejection default all 1)".into()), ..short(1) };
    let error = sampled(text, request).map(|_| ()).expect_err("nothing fits");
    assert!(error.contains("under none of them the observations were possible"), "{error}");
}

/// log of ∫_0^∞ φ(s) p(s) ds, by the trapezoidal rule.
fn log_integral(p: impl Fn(f64) -> f64) -> f64 {
    let density = |s: f64| math::exp(-0.5 * s * s) / math::sqrt(2.0 * std::f64::consts::PI);
    let h = 1e-4;
    math::ln((1..100_000).map(|k| f64::from(k) * h).map(|s| density(s) * p(s) * h).sum())
}

fn normal_density(x: f64, sd: f64) -> f64 {
    math::exp(-0.5 * x * x / (sd * sd)) / (sd * math::sqrt(2.0 * std::f64::consts::PI))
}

/// A particle that leaves a domain has weight 0: it is neither an error nor drawn again.
#[test]
fn particles_out_of_a_domain_have_no_weight() {
    let observed = "[assume s (normal 0 1)] [observe (normal 0 s) 1.5] [infer (resample 4000)]";
    let unobserved = "[assume s (normal 0 1)] [assume y (normal 0 s)] [observe (normal y 1) 1]
        [infer (resample 4000)]";
    let later = "[assume s (normal 0 1)] [observe (normal 0 1) 0] [infer (resample 4000)]
        [assume y (normal 0 s)] [observe (normal y 1) 1] [infer (resample 4000)]";
    let hidden = log_integral(|s| normal_density(1.0, math::sqrt(s * s + 1.0)));
    for (text, exact) in [
        (observed, log_integral(|s| normal_density(1.5, s))),
        (unobserved, hidden),
        (later, hidden + math::ln(normal_density(0.0, 1.0))),
    ] {
        let shown = run(&format!("{text} [sample s]"), 11).unwrap_or_else(|e| panic!("{e}"));
        let [.., estimate, s] = shown[..] else { panic!("{shown:?}") };
        assert!((estimate - exact).abs() < 0.12 && s > 0.0, "{text}: {estimate} {exact} {s}");
    }
    let all = "[assume s (gamma 1 1)] [observe (normal 0 1) 0] [infer (resample 10)]
        [assume y (normal 0 (- 0 s))]";
    let error = run(all, 1).expect_err("no particle can");
    assert!(error.contains("positive"), "{error}");
}
