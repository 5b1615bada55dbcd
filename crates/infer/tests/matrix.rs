//! The engine matrix: whatever path evaluates a density, it is that of the trace, in the tails too. Programs that were
//! wrong once by name, and random ones; `cargo run --release -p smidgen-testkit --example matrix -- N SEED` tries more.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use smidgen_prob::distributions::ALL;
use smidgen_testkit::matrix::known::{KNOWN, is_known};
use smidgen_testkit::matrix::named::{Case, PRIORS, at_one, cases, stage_at_one};
use smidgen_testkit::matrix::paths::{Meets, PATHS};
use smidgen_testkit::matrix::run::{Count, Failure, Outcome, Stage, TWINS};
use smidgen_testkit::matrix::subject::House;
use smidgen_testkit::matrix::writer::program;

/// Random programs.
const PROGRAMS: u64 = 600;
/// Random programs that mistakes are looked for in.
const MOST_PROGRAMS: u64 = 400;
/// Times that each path is asked about a program by name.
const TIMES: u64 = 4;

fn demand_none(failures: &[Failure]) {
    let failures: Vec<&Failure> = failures.iter().filter(|failure| !is_known(failure)).collect();
    let shown: Vec<String> = failures.iter().take(4).map(|failure| failure.to_string()).collect();
    assert!(failures.is_empty(), "{} failures, such as\n{}", failures.len(), shown.join("\n"));
}

#[test]
fn every_path_on_random_programs() {
    let (next, all) = (AtomicU64::new(0), Mutex::new(Outcome::default()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= PROGRAMS {
                return;
            }
            let subject = program(seed).unwrap_or_else(|error| panic!("program {seed}: {error}"));
            let mut outcome = Outcome::default();
            outcome.ask_all(&subject, seed);
            all.lock().expect("nobody panics while counting").merge(outcome);
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let outcome = all.into_inner().expect("nobody panics while counting");
    demand_none(&outcome.failures);
    // No path is silently empty.
    for (path, count) in PATHS.iter().zip(&outcome.counts) {
        let Count { tried, applied, finite, far, impossible, slopes, unknown, .. } = *count;
        let name = path.name;
        assert!(tried > PROGRAMS as usize * 4 / 5, "{name}: {tried} programs of {PROGRAMS}");
        assert!(applied * 8 > tried, "{name} applied to {applied} of {tried}");
        assert!(finite > 60 && far > 5, "{name}: {finite} finite claims, {far} far ones");
        assert!(finite + slopes > 4 * unknown, "{name}: {unknown} unknown");
        assert_eq!(impossible > 0, path.meets == Meets::Anything, "{name}: {impossible} of -inf");
        assert_eq!(slopes > 50, path.has_slopes, "{name}: {slopes} slopes");
    }
}

/// What programs compute with laws, besides drawing from them and observing them.
const PROCEDURES: [&str; 10] = [
    "log_density",
    "log_cdf",
    "log_ccdf",
    "cdf",
    "ccdf",
    "quantile",
    "cov_exp_quad",
    "cov_matern32",
    "cov_matern52",
    "cov_periodic",
];

/// A law that is added has to be written into the programs, or no path ever meets it.
#[test]
fn every_law_is_met() {
    let text: String = (0..PROGRAMS).filter_map(|seed| Some(program(seed).ok()?.text())).collect();
    let words: HashSet<&str> =
        text.split(|c: char| c.is_whitespace() || "()".contains(c)).collect();
    let laws = ALL.iter().map(|law| law.spec().name.trim_end_matches(']'));
    let unmet: Vec<&str> = laws.chain(PROCEDURES).filter(|name| !words.contains(name)).collect();
    assert!(unmet.is_empty(), "no program has {unmet:?}");
}

#[test]
fn every_mistake_of_every_path_is_noticed() {
    let mut unnoticed: Vec<_> = PATHS
        .iter()
        .flat_map(|path| TWINS.map(|twin| (path, twin)))
        .filter(|(path, twin)| twin.concerns(path))
        .collect();
    for seed in 0..MOST_PROGRAMS {
        let subject = program(seed).unwrap_or_else(|error| panic!("program {seed}: {error}"));
        if unnoticed.is_empty() {
            break;
        }
        let Some(stage) = Stage::new(&subject, seed) else { continue };
        unnoticed.retain(|(path, twin)| !stage.notices(path, *twin, seed));
    }
    let names: Vec<String> =
        unnoticed.iter().map(|(path, twin)| format!("{}: {twin:?}", path.name)).collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn what_is_known_to_differ_still_does() {
    for known in KNOWN {
        assert!(known.is_shown(), "right now: take its line away. {}", known.reason);
    }
}

// ------------------------------------------------------------ by name

/// Rows that are nodes, and that are a plate.
const ROWS: [usize; 2] = [100, 200];

fn close(a: f64, b: f64) -> bool {
    let size = a.abs().max(b.abs());
    a == b || size.is_finite() && (a - b).abs() <= 1e-9 * (1.0 + size)
}

/// What is not as on paper, as users get it.
fn wrong_on_paper(case: &Case) -> Vec<String> {
    let mut wrong = Vec::new();
    for prior in PRIORS {
        for rows in ROWS {
            let subject = case.subject(prior, rows);
            let (says, wanted) = (log_likelihood_at_one(&subject), case.log_likelihood(rows));
            if !close(says, wanted) {
                wrong.push(format!("{} with {rows} rows is {says}, not {wanted}", case.name));
            }
        }
    }
    wrong
}

fn log_likelihood_at_one(subject: &smidgen_testkit::matrix::subject::Subject) -> f64 {
    // A state that cannot be evaluated is impossible.
    let world = subject.world(House::AsUsual, at_one(subject), 0);
    world.map_or(f64::NEG_INFINITY, |mut world| {
        world.model.log_likelihood().unwrap_or(f64::NEG_INFINITY)
    })
}

#[test]
fn programs_by_name_are_as_on_paper() {
    for case in cases() {
        let wrong = wrong_on_paper(&case);
        match case.known {
            None => assert!(wrong.is_empty(), "{wrong:?}"),
            Some(reason) => assert!(
                !wrong.is_empty(),
                "{} is right now: take the mark away ({reason})",
                case.name
            ),
        }
    }
}

#[test]
fn every_path_on_programs_by_name() {
    let mut outcome = Outcome::default();
    for case in cases() {
        for prior in PRIORS {
            for rows in [1, 3, 70] {
                let subject = case.subject(prior, rows);
                // Where the state itself cannot be evaluated, claims are about moves from another one.
                let stages = [stage_at_one(&subject), Stage::new(&subject, rows as u64)];
                for stage in stages.iter().flatten() {
                    for (path, count) in PATHS.iter().zip(&mut outcome.counts) {
                        for seed in (0..TIMES).map(|time| 100 * rows as u64 + time) {
                            outcome.failures.extend(stage.ask(path, seed, count));
                        }
                    }
                }
            }
        }
    }
    demand_none(&outcome.failures);
    for (path, count) in PATHS.iter().zip(&outcome.counts) {
        // The programs have one choice, and the dry run leaves plates to proposals.
        let needs_more = [
            "smooth, standardised",
            "particles look ahead",
            "sections of a block",
            "gibbs dry, plates",
        ];
        let applies = !needs_more.iter().any(|name| path.name.starts_with(name));
        assert_eq!(count.far > 10, applies, "{}: {count:?}", path.name);
    }
}
