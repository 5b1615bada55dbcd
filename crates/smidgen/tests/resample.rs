//! `(resample particles)`: the estimate of the log marginal likelihood and the particles against
//! exact values.

use smidgen::sampling::{self, Progress};
use smidgen::value::{Rng, Value, math};
use smidgen::{OutcomeKind, SampleRequest, Session, Settings};
use smidgen_infer::kernel::pgibbs::{Multinomial, Resampler};
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::{Story, exact_start};
use smidgen_testkit::{PValue, World};

fn session(seed: u64) -> Session {
    Session::new(Settings { seed, ..Settings::default() })
}

/// The last estimate, and the predicted values.
fn run(text: &str, seed: u64) -> (f64, Vec<f64>) {
    let mut session = session(seed);
    let program = session.parse_text("test", text).unwrap();
    let (mut estimate, mut shown) = (f64::NAN, Vec::new());
    for directive in &program {
        let outcomes = session.execute(directive).unwrap_or_else(|d| panic!("{d:?}\n{text}"));
        for outcome in outcomes {
            match outcome.kind {
                OutcomeKind::Infer(inferred) => {
                    estimate = inferred.log_marginal_likelihood.unwrap_or(estimate);
                }
                OutcomeKind::Predict(value) | OutcomeKind::Sample(value) => {
                    shown.extend(value.as_number());
                }
                _ => {}
            }
        }
        smidgen::engine::check::check(session.model()).unwrap();
    }
    (estimate, shown)
}

fn error(text: &str) -> String {
    let mut session = session(1);
    let program = session.parse_text("test", text).unwrap();
    let failed = program.iter().find_map(|directive| session.execute(directive).err());
    failed.expect("an error")[0].message.clone()
}

/// Theory 8.1's hidden Markov model.
const HMM: &str = "
    [assume x (mem (lambda (t) (if (= t 0) (bernoulli 0.4) (bernoulli (if (x (- t 1)) 0.8 0.1)))))]
    [assume y (lambda (t) (bernoulli (if (x t) 0.7 0.2)))]
    [observe (y 0) 0] [infer (resample 20)]
    [observe (y 1) 1] [infer (resample 20)]
    [observe (y 2) 1] [infer (do (resample 20) (mh default one 2))]
    [observe (y 3) 0] [infer (resample 20)]
    [predict (x 0)] [predict (x 3)]";

/// The same, cut where it is resampled.
const DEFINED: &str = "
    [assume x (mem (lambda (t) (if (= t 0) (bernoulli 0.4) (bernoulli (if (x (- t 1)) 0.8 0.1)))))]
    [assume y (lambda (t) (bernoulli (if (x t) 0.7 0.2)))]";
const STAGES: [&str; 4] =
    ["[observe (y 0) 0]", "[observe (y 1) 1]", "[observe (y 2) 1]", "[observe (y 3) 0]"];

/// What a filter can do wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bug {
    Nothing,
    /// Particles keep the weight for which they were chosen.
    WeightsNotReset,
    /// exp of the mean of log w in place of the mean of w.
    MeanOfLogs,
    /// The average is over one particle too few.
    OneTooFew,
    /// The particles stay as they are, whatever their weights.
    NotResampled,
}

/// Sequential Monte Carlo by hand, on copies of a model.
fn by_hand(seed: u64, bug: Bug) -> (f64, Vec<f64>) {
    const COUNT: usize = 20;
    let mut rng = Rng::for_chain(seed, 1);
    let (mut log_marginal, mut number, mut lots) = (0.0, 0, Multinomial::default());
    let mut copy = |world: &World| {
        number += 1;
        let (model, rng) = (world.model.copy(number), Rng::for_chain(seed + 1, number.into()));
        world.with_copy(model, rng)
    };
    let first = World::new(DEFINED, seed);
    let mut particles: Vec<World> = (0..COUNT).map(|_| copy(&first)).collect();
    for stage in STAGES {
        particles.iter_mut().for_each(|world| world.execute(stage).unwrap());
        let log_weights: Vec<f64> =
            particles.iter().map(|world| world.model.log_weight()).collect();
        log_marginal += match bug {
            Bug::MeanOfLogs => log_weights.iter().sum::<f64>() / COUNT as f64,
            Bug::OneTooFew => math::logsumexp(&log_weights) - math::ln(COUNT as f64 - 1.0),
            _ => math::logsumexp(&log_weights) - math::ln(COUNT as f64),
        };
        assert!(lots.weigh(&log_weights));
        let mut next = |k: usize| {
            let from = if bug == Bug::NotResampled { k } else { lots.draw(&mut rng) };
            let mut world = copy(&particles[from]);
            if bug != Bug::WeightsNotReset {
                world.model.take_log_weight();
            }
            world
        };
        particles = (0..COUNT).map(&mut next).collect();
    }
    // All have the same weight (or should have).
    let shown = &mut particles[0];
    (log_marginal, vec![shown.number("(x 0)"), shown.number("(x 3)")])
}

/// What is wrong with the estimates and the particles shown by many runs, if anything: exp of the
/// estimate has the evidence as its mean, and one particle the posterior, nearly.
fn fault(runs: &[(f64, Vec<f64>)]) -> Option<String> {
    let evidence: Vec<f64> = runs.iter().map(|(estimate, _)| math::exp(*estimate)).collect();
    let z = z_score(&evidence, 0.0404688);
    if z.abs() > 4.5 {
        return Some(format!("evidence: z = {z:.1}"));
    }
    for (place, exact) in [(0, 0.441110), (1, 0.387783)] {
        let ones: Vec<f64> = runs.iter().map(|(_, shown)| shown[place]).collect();
        let mean = ones.iter().sum::<f64>() / ones.len() as f64;
        // Twenty particles: a bias of order 1/20 of the posterior's spread.
        if (mean - exact).abs() > 0.06 {
            return Some(format!("particles: {place}: {mean} and not {exact}"));
        }
    }
    None
}

#[test]
fn a_hidden_markov_model() {
    let runs: Vec<(f64, Vec<f64>)> = (0..1500).map(|seed| run(HMM, seed)).collect();
    assert_eq!(fault(&runs), None);
    let by_hand = |bug| (0..500).map(|seed| by_hand(seed, bug)).collect::<Vec<_>>();
    assert_eq!(fault(&by_hand(Bug::Nothing)), None);
    for bug in [Bug::WeightsNotReset, Bug::MeanOfLogs, Bug::OneTooFew, Bug::NotResampled] {
        assert!(fault(&by_hand(bug)).is_some(), "nobody notices {bug:?}");
    }
}

/// How many standard errors the mean is from what it should be.
fn z_score(xs: &[f64], expected: f64) -> f64 {
    let n = xs.len() as f64;
    let mean = xs.iter().sum::<f64>() / n;
    let variance = xs.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean - expected) / (variance / n).sqrt()
}

/// Conjugate models with known evidence, observed in a loop.
#[test]
fn conjugate_models() {
    // y_i ~ normal(mu, 1), mu ~ normal(0, 1): y = (1, 2): a bivariate normal with covariance I + 1.
    let text = "[assume mu (normal 0 1)]
        [for i in (range 1 3) [observe (normal mu 1) i] [infer (resample 20000)]]
        [sample mu]";
    let exact = -math::ln(2.0 * std::f64::consts::PI)
        - 0.5 * math::ln(3.0)
        - 0.5 * (2.0 * (1.0 + 4.0) - 2.0 * 2.0) / 3.0;
    let (estimate, _) = run(text, 1);
    assert!((estimate - exact).abs() < 0.05, "{estimate} {exact}");
    // Beta-Bernoulli, by hand and collapsed: three successes and a failure: B(4, 2)/B(1, 1) = 1/20.
    for model in [
        "[assume p (beta 1 1)] [assume f (lambda () (flip p))]",
        "[assume f (make_beta_bernoulli 1 1)]",
        "[assume f (make_uc_beta_bernoulli 1 1)]",
    ] {
        let text = format!(
            "{model} [observe (f) true] [observe (f) true] [infer (resample 4000)]
             [observe (f) false] [observe (f) true] [infer (resample 3000)]"
        );
        let (estimate, _) = run(&text, 2);
        assert!((estimate - math::ln(0.05)).abs() < 0.1, "{model}: {estimate}");
    }
    // A choice that is observed after it was made, with one that depends on it.
    let late = "[assume x (normal 0 1)] [assume y (normal x 1)] [observe y 0.5] [observe x 1]
                [infer (resample 5000)]";
    let exact = -math::ln(2.0 * std::f64::consts::PI) - 0.5 - 0.125;
    let (estimate, _) = run(late, 3);
    assert!((estimate - exact).abs() < 0.1, "{estimate} {exact}");
}

const WALK: Story<'static> = Story {
    prior: "[assume r (beta 5 2)]
            [assume x (mem (lambda (t) (if (< t 1) 0 (normal (* r (x (- t 1))) 1))))]
            [predict (x 3)]",
    data: &["(normal (x 1) 0.5)", "(normal (x 2) 0.5)", "(normal (x 3) 0.5)"],
    look: &["r", "(x 1)", "(x 2)", "(x 3)", "(abs (- (x 3) (x 2)))"],
};

/// The numbers looked at in one particle, given the data.
fn filtered(data: &[Value], particles: usize, seed: u64) -> Vec<f64> {
    let prior = WALK.prior.rsplit_once("[predict").expect("the last directive").0;
    let observed = WALK.data.iter().zip(data);
    let stages: String = observed
        .map(|(expr, y)| format!("[observe {expr} {y}] [infer (resample {particles})]"))
        .collect();
    let shown: String = WALK.look.iter().map(|expr| format!("[sample {expr}]")).collect();
    run(&format!("{prior} {stages} {shown}"), seed).1
}

/// Parameters and data from the joint law, then a particle given the data: again the joint law, up to an
/// error of one over the number of particles, which is too small to be seen here.
fn joint(repeats: usize, seed: u64, particles: usize) -> PValue {
    let products = |(theta, data): &(Vec<f64>, Vec<Value>)| {
        let data = data.iter().filter_map(Value::as_number);
        let coupled = data.flat_map(|y| theta.iter().map(move |theta| theta * y));
        theta.iter().copied().chain(coupled).collect::<Vec<f64>>()
    };
    exact_start(
        repeats,
        seed,
        |seed| {
            let mut pair = WALK.start(seed);
            let theta = WALK.look.iter().map(|expr| pair.world.number(expr)).collect();
            (theta, pair.data)
        },
        |(theta, data)| {
            let seed = data[0].as_number().expect("a number").to_bits();
            *theta = filtered(data, particles, seed);
        },
        |pair| products(pair),
    )
}

#[test]
fn particles_keep_the_joint_law() {
    let test = "geweke: resample";
    demand(test, 400, |repeats, seed| joint(repeats, seed, 300));
    catches(test, "two particles are not enough", 400, |repeats, seed| joint(repeats, seed, 2));
}

/// In chains every draw is a run of its own.
#[test]
fn chains() {
    let text =
        "[assume mu (normal 0 1)] [observe (normal mu 1) 2] [infer (resample 300)] [predict mu]";
    let mut session = session(1);
    let program = session.parse_text("test", text).unwrap();
    let request =
        SampleRequest { draws: 400, warmup: 10, chains: 2, seed: 4, ..Default::default() };
    let sampled = sampling::sample(&mut session, &program, &request, &Progress::default()).unwrap();
    let row = &smidgen::draws::summarise(&sampled.run.draws)[0];
    assert!((row.mean - 1.0).abs() < 0.12, "{}", row.mean);
    assert!((row.sd - 0.5_f64.sqrt()).abs() < 0.08, "{}", row.sd);
    assert!(row.ess_bulk > 500.0, "{}", row.ess_bulk);
    // Nothing was proposed that could have been accepted.
    assert!(
        !sampled.run.warnings.iter().any(|w| w.contains("accepted")),
        "{:?}",
        sampled.run.warnings
    );
}

#[test]
fn directives_act_on_every_particle_or_on_none() {
    let text = "[assume x (uniform_discrete 0 4)] [observe (flip (if (< x 2) 1 0)) true]
        [infer (resample 50)]
        [assume z (+ x 10)] a: [observe (normal z 1) 10.5] [predict (- z x)] [infer (mh default one 3)]
        [force x 1] [infer (resample 7)] [predict x] [predict z]";
    assert_eq!(run(text, 5).1, [10.0, 1.0, 11.0]);
    let message =
        error("[assume x (flip 0.5)] [infer (resample 20)] [assume y (if x 1 (undefined_name))]");
    assert!(message.contains("unbound"), "{message}");
    let mut session = session(3);
    let ok = "[assume x (flip 0.5)] [infer (resample 20)]";
    for directive in &session.parse_text("test", ok).unwrap() {
        session.execute(directive).unwrap();
    }
    let wrong = session.parse_text("test", "[assume y (if x 1 (lookup (array) 5))]").unwrap();
    session.execute(&wrong[0]).unwrap_err();
    let right = session.parse_text("test", "[assume y 5] [sample y]").unwrap();
    session.execute(&right[0]).unwrap();
    let shown = session.execute(&right[1]).unwrap();
    assert_eq!(shown[0].kind.value(), Some(Value::Number(5.0)));
}

#[test]
fn mistakes() {
    for (text, words) in [
        ("[infer (resample 0)]", "number of particles"),
        ("[infer (resample)]", "resample takes 1 argument"),
        ("[infer (cycle ((resample 10)) 2)]", "stands alone"),
        (
            "[assume x (flip 0.5)] a: [observe (flip (if x 0.1 0.9)) true] [infer (resample 5)] [forget a]",
            "forgotten",
        ),
        ("[assume x (flip 0.5)] [observe (flip (if x 0 0)) true] [infer (resample 5)]", "weight 0"),
    ] {
        let message = error(text);
        assert!(message.contains(words), "{text}: {message}");
    }
}

#[test]
fn the_same_seed_gives_the_same_estimate() {
    assert_eq!(run(HMM, 9), run(HMM, 9));
    assert_ne!(run(HMM, 9).0, run(HMM, 10).0);
}
