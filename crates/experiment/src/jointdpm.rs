//! Joint Dirichlet process mixture (section 4.2 of the paper): a classifier that is a mixture of logistic regressions, with as
//! many as the data ask for.
//!
//! A round moves the weights of every cluster once by (subsampled) Metropolis-Hastings and then so many cluster
//! assignments by Gibbs that both take about the same time; the concentration α moves once. Fewer sections per decision
//! therefore mean more rounds in the same time. Now and then, while the clock stands still, the test points are predicted
//! from the state; the prediction of a chain is the mean over its time so far.

pub mod data;
mod page;
pub mod state;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use smidgen::draws::{Draws, Run};
use smidgen::lang::syntax::DirectiveKind;
use smidgen::stopwatch::Stopwatch;
use smidgen::value::{Rng, Value, math};
use smidgen::{OutcomeKind, Session, TopDirective};

use crate::chain::Program;
use crate::output::Folder;
use crate::timing;
use crate::{Error, Options, Outcome, Progress};
use data::Points;
use state::{Prediction, State};

pub(crate) const PROGRAM: &str = include_str!("../../../examples/jointdpm.smg");
/// The data are made with this seed, unless another one is asked for.
const DATA_SEED: u64 = 1;
/// The accuracy to be reached.
const GOAL: f64 = 0.92;

/// Epsilon (0: exact), and Gibbs steps per round for which assignments take about as long as weights, as
/// measured with 10,000 points. They are fixed, so that a seed gives the same chain everywhere.
const SETTINGS: [(f64, usize); 5] = [(0.0, 300), (0.01, 170), (0.05, 80), (0.1, 25), (0.3, 10)];

/// A look at a chain.
#[derive(Clone, Copy, Debug)]
struct Look {
    seconds: f64,
    rounds: usize,
    clusters: usize,
    alpha: f64,
    /// Accuracy of the state alone, and of the chain so far.
    state: f64,
    accuracy: f64,
    /// Mean log probability of the test labels, by the chain so far.
    score: f64,
}

/// What came of one epsilon.
struct Course {
    epsilon: f64,
    steps: usize,
    looks: Vec<Look>,
    /// Of further chains, with other seeds.
    others: Vec<Vec<Look>>,
    /// Sections per decision about weights in the last tenth of the time, and the share of all.
    sections: f64,
    share: f64,
    /// Microseconds of one transition of weights and of one Gibbs step, in the last state.
    weights_us: f64,
    gibbs_us: f64,
    /// Share of wrong decisions in the last state, audited.
    wrong: f64,
    last: State,
    predictions: Vec<Prediction>,
}

impl Course {
    /// When each chain reached the goal for the first time, in order; infinity for never.
    fn reached(&self) -> Vec<f64> {
        let first = |looks: &Vec<Look>| {
            let found = looks.iter().find(|look| look.accuracy >= GOAL);
            found.map_or(f64::INFINITY, |look| look.seconds)
        };
        let mut times: Vec<f64> =
            std::iter::once(&self.looks).chain(&self.others).map(first).collect();
        times.sort_by(f64::total_cmp);
        times
    }

    fn name(&self) -> String {
        name(self.epsilon)
    }

    fn end(&self) -> Look {
        *self.looks.last().expect("every course ends with a look")
    }
}

fn name(epsilon: f64) -> String {
    if epsilon == 0.0 { "exact".to_owned() } else { format!("ε = {epsilon}") }
}

struct JointDpmFindings {
    train: Points,
    test: Points,
    courses: Vec<Course>,
}

pub fn run(options: &Options, progress: Progress<'_>) -> Result<Outcome, Error> {
    if options.data.is_some() {
        return Err(
            Error::message("this experiment makes its data").hint("--generate SEED makes others")
        );
    }
    let folder = Folder::new(options)?;
    folder.program(&Program::new("jointdpm.smg", PROGRAM))?;
    let mut rng = Rng::from_seed(options.generate.unwrap_or(DATA_SEED));
    let train = Points::new(options.size.pick(400, 10_000, 10_000), &mut rng);
    let test = Points::new(options.size.pick(100, 1000, 1000), &mut rng);
    folder.write("train.csv", train.csv().as_bytes())?;
    folder.write("test.csv", test.csv().as_bytes())?;
    progress(&format!("{} points, exact and with four epsilons", train.x.len()));
    let courses = courses(&train, &test, options)?;
    for course in &courses {
        folder.draws(&format!("looks-{}.csv", course.epsilon), &draws(course, options))?;
    }
    let found = JointDpmFindings { train, test, courses };
    folder.summary(&page::json(&found, options))?;
    let page = folder.page(page::page(&found, options, &folder)?)?;
    Ok(Outcome { text: page::text(&found), page })
}

/// One after the other on every processor; times are those of the thread. Several chains of each setting: how soon the
/// clusters are found is largely luck.
fn courses(train: &Points, test: &Points, options: &Options) -> Result<Vec<Course>, Error> {
    let chains: u64 = options.size.pick(1, 3, 5);
    let jobs: Vec<(f64, usize, u64)> = (0..chains)
        .flat_map(|k| SETTINGS.map(|(epsilon, steps)| (epsilon, steps, options.seed + k)))
        .collect();
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<Course, Error>>>> =
        Mutex::new(jobs.iter().map(|_| None).collect());
    let work = || {
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(epsilon, steps, seed)) = jobs.get(k) else { return };
            let options = Options { seed, ..options.clone() };
            let result = course(epsilon, steps, train, test, &options);
            results.lock().expect("no thread panics while it holds the results")[k] = Some(result);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 1..threads.min(jobs.len()) {
            scope.spawn(work);
        }
        work();
    });
    let results = results.into_inner().expect("no thread panics while it holds the results");
    let mut courses: Vec<Course> = Vec::new();
    for result in results {
        let course = result.expect("every job was done")?;
        match courses.iter_mut().find(|first| first.epsilon == course.epsilon) {
            Some(first) => first.others.push(course.looks),
            None => courses.push(course),
        }
    }
    Ok(courses)
}

fn course(
    epsilon: f64,
    steps: usize,
    train: &Points,
    test: &Points,
    options: &Options,
) -> Result<Course, Error> {
    let seconds = options.size.pick(0.4, 12.0, 240.0);
    let (mut session, infer) = loaded(epsilon, steps, train, options)?;
    let mut votes = Votes::new(test);
    let (mut looks, mut clock, mut rounds) = (Vec::new(), 0.0, 0);
    let (mut sections, mut population, mut transitions) = (0, 0, 0);
    let mut next = options.size.pick(0.1, 0.05, 0.05);
    let (last, predictions) = loop {
        // Sections are counted in the last tenth of the time, or at the last turn.
        if clock <= 0.9 * seconds {
            (sections, population, transitions) = (0, 0, 0);
        }
        let stopwatch = Stopwatch::start();
        let outcomes = session.execute(&infer).map_err(|d| Error::program(&session, d))?;
        clock += stopwatch.seconds();
        options.go_on()?;
        rounds += ROUNDS;
        for outcome in outcomes {
            let OutcomeKind::Infer(inferred) = outcome.kind else { continue };
            for kernel in inferred.kernels.iter().filter(|k| k.kernel.starts_with("(subsampled")) {
                sections += kernel.sections_used;
                population += kernel.population;
                transitions += kernel.transitions;
            }
        }
        if clock < next {
            continue;
        }
        next = (clock * 1.1).min(seconds);
        let state = State::read(&mut session, train)?;
        let predictions: Vec<Prediction> = test.x.iter().map(|&x| state.predict(x)).collect();
        let look = votes.look(&state, &predictions, clock, rounds);
        looks.push(look);
        if clock >= seconds {
            break (state, predictions);
        }
    };
    let brief = options.size.pick(0.01, 0.3, 1.0);
    let weights = format!("(subsampled_mh w each 10 {epsilon} 'drift 0.2 'audit 0 N)");
    let wrong = if epsilon > 0.0 { audited(&mut session, epsilon)? } else { 0.0 };
    let of = |timed: timing::Timed| timed.microseconds_per_transition();
    Ok(Course {
        epsilon,
        steps,
        looks,
        others: Vec::new(),
        sections: sections as f64 / transitions as f64,
        share: sections as f64 / population as f64,
        weights_us: of(timing::time(&mut session, &weights, brief, 1.0)?),
        gibbs_us: of(timing::time(&mut session, "(gibbs z one N)", brief, 1.0)?),
        wrong,
        last,
        predictions,
    })
}

/// Rounds of one `infer` of the program.
const ROUNDS: usize = 10;

/// A session with all data, and the program's `infer`.
pub fn loaded(
    epsilon: f64,
    steps: usize,
    train: &Points,
    options: &Options,
) -> Result<(Session, TopDirective), Error> {
    let mut program = Program::new("jointdpm.smg", PROGRAM);
    program.tables = vec![("train", train.table())];
    let number = |x: f64| Value::Number(x);
    program.params = vec![("epsilon", number(epsilon)), ("steps", number(steps as f64))];
    let (mut session, directives) = program.session(options)?;
    let mut infer = None;
    for directive in directives {
        match directive.directive.kind {
            DirectiveKind::Infer { .. } => infer = Some(directive),
            _ => {
                session.execute(&directive).map_err(|d| Error::program(&session, d))?;
            }
        }
    }
    Ok((session, infer.expect("the program has an infer")))
}

/// The share of wrong decisions among some hundred that are also made exactly.
fn audited(session: &mut Session, epsilon: f64) -> Result<f64, Error> {
    let text = format!("[infer (subsampled_mh w each 10 {epsilon} 'drift 0.2 'audit 1 100)]");
    let infer = session.parse_text("<audit>", &text).map_err(|d| Error::program(session, d))?;
    let outcomes = session.execute(&infer[0]).map_err(|d| Error::program(session, d))?;
    let (mut wrong, mut audits) = (0, 0);
    for outcome in outcomes {
        let OutcomeKind::Infer(inferred) = outcome.kind else { continue };
        for found in inferred.kernels.into_iter().filter_map(|kernel| kernel.approximation) {
            wrong += found.wrongly_accepted + found.wrongly_rejected;
            audits += found.audits;
        }
    }
    Ok(wrong as f64 / audits as f64)
}

/// The predictions of a chain so far, each for as long as its state was the last one seen.
struct Votes<'a> {
    test: &'a Points,
    sums: Vec<f64>,
    since: f64,
}

impl Votes<'_> {
    fn new(test: &Points) -> Votes<'_> {
        Votes { test, sums: vec![0.0; test.x.len()], since: 0.0 }
    }

    fn look(&mut self, state: &State, now: &[Prediction], seconds: f64, rounds: usize) -> Look {
        let weight = seconds - self.since;
        self.since = seconds;
        for (sum, prediction) in self.sums.iter_mut().zip(now) {
            *sum += weight * prediction.p;
        }
        let n = self.test.y.len() as f64;
        let right = |p: &dyn Fn(usize) -> f64| {
            let hits = self.test.y.iter().enumerate().filter(|(i, y)| (p(*i) > 0.5) == **y);
            hits.count() as f64 / n
        };
        let mean = |i: usize| self.sums[i] / seconds;
        let chance = |i: usize, y: bool| if y { mean(i) } else { 1.0 - mean(i) };
        let scores = self.test.y.iter().enumerate().map(|(i, &y)| math::ln(chance(i, y)));
        Look {
            seconds,
            rounds,
            clusters: state.tables.len(),
            alpha: state.alpha,
            state: right(&|i| now[i].p),
            accuracy: right(&mean),
            score: scores.sum::<f64>() / n,
        }
    }
}

/// The looks as a table of draws.
fn draws(course: &Course, options: &Options) -> Run {
    let names =
        ["seconds", "rounds", "clusters", "alpha", "state_accuracy", "accuracy", "log_score"];
    let mut draws = Draws::new(names, 1);
    for look in &course.looks {
        let numbers = [
            look.seconds,
            look.rounds as f64,
            look.clusters as f64,
            look.alpha,
            look.state,
            look.accuracy,
            look.score,
        ];
        draws.push(0, numbers.map(Value::Number));
    }
    Run {
        seed: options.seed,
        chains: 1,
        draws,
        program: PROGRAM.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Run::default()
    }
}
