//! epsilon > 0: decisions err and read as the dynamic programme says; where the log weights are
//! not what the test assumes, it is said; automatic choices keep what they promise; and looking at
//! decisions does not change them.

use smidgen_infer::audit::{Audit, Tables};
use smidgen_infer::austerity::{Pair, Trust, pair_outcome};
use smidgen_infer::record::KernelRecord;
use smidgen_infer::run::Phase;
use smidgen_testkit::budget::demand;
use smidgen_testkit::{PValue, World, pvalue};
use smidgen_value::{Rng, math};

/// Logistic regression with an intercept and one slope: truth (0.3, 1), start at the truth.
fn logistic(n: usize, seed: u64) -> World {
    let mut rng = Rng::for_chain(seed, 9);
    let mut text = "[assume w (multivariate_diag_normal (vector 0 0) (vector 1 1))]
                    [force w (vector 0.3 1)] "
        .to_owned();
    for _ in 0..n {
        let x = 4.0 * rng.uniform() - 2.0;
        let y = rng.uniform() < 1.0 / (1.0 + math::exp(-0.3 - x));
        text.push_str(&format!("[observe (bernoulli (linear_logistic w (vector {x:?}))) {y}] "));
    }
    World::new(&text, seed)
}

fn record(world: &mut World) -> &mut KernelRecord {
    world.run.kernel(0)
}

/// The wrong decisions among audited ones, and the sections that they read, against what is
/// expected of them at this level.
fn errors_and_usage(audits: &[Audit], level: impl Fn(&Audit) -> f64) -> (PValue, PValue) {
    let mut tables = Tables::default();
    let (mut wrong, mut expected, mut variance) = (0.0, 0.0, 0.0);
    let mut excess = Vec::new();
    for audit in audits {
        let table = tables.table(audit.population, audit.schedule, level(audit));
        let outcome = table.at(audit.mu_std());
        wrong += f64::from(audit.accepted != audit.exactly_accepted());
        expected += outcome.error;
        variance += outcome.error * (1.0 - outcome.error);
        excess.push(audit.sections as f64 / audit.population as f64 - outcome.usage);
    }
    let n = excess.len() as f64;
    let mean = excess.iter().sum::<f64>() / n;
    let spread = excess.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let mut errors = pvalue::z(wrong, expected, math::sqrt(variance));
    errors.report = format!("{wrong} wrong of {n}, {expected:.1} expected: {}", errors.report);
    let mut usage = pvalue::z(mean, 0.0, math::sqrt(spread / n));
    usage.report = format!("{mean:.4} more of the sections than expected: {}", usage.report);
    (errors, usage)
}

/// Audited decisions, of as many runs as are needed: one run keeps two thousand at most.
fn audits(decisions: usize, seed: u64) -> Vec<Audit> {
    let mut audits = Vec::new();
    while audits.len() < decisions {
        let n = (decisions - audits.len()).min(1000);
        let mut world = logistic(2000, seed.wrapping_add(audits.len() as u64));
        world.infer(&format!("(subsampled_mh default all 100 0.05 'drift 0.08 'audit 1 {n})"));
        let record = record(&mut world);
        assert_eq!((record.tally.approximate, record.audits.len()), (n as u64, n));
        audits.append(&mut record.audits);
    }
    audits
}

#[test]
fn decisions_err_and_read_as_predicted() {
    let own = |audit: &Audit| audit.epsilon;
    demand("decision errors", 1000, |n, seed| errors_and_usage(&audits(n, seed), own).0);
    demand("decision usage", 1000, |n, seed| errors_and_usage(&audits(n, seed), own).1);
    // A level that is read as two-sided, and one that is ten times too small, do not fit.
    let audits = audits(1000, 5);
    println!("{:?}", errors_and_usage(&audits, own));
    let (errors, _) = errors_and_usage(&audits, |audit| audit.epsilon / 10.0);
    assert!(errors.p < 1e-6, "{}", errors.report);
    let (_, usage) = errors_and_usage(&audits, |audit| audit.epsilon / 2.0);
    assert!(usage.p < 1e-6, "{}", usage.report);
}

/// Two kinds of sections, with weights of opposite signs that hardly vary within a kind.
fn two_kinds(seed: u64) -> World {
    let mut text = "[assume mu (normal 0 1)] [force mu 0] ".to_owned();
    let mut rng = Rng::from_seed(8);
    for _ in 0..1000 {
        let (a, b) = (3.0 + 0.2 * rng.uniform(), 3.1 + 0.2 * rng.uniform());
        text.push_str(&format!(
            "[observe (normal mu 1) {a:?}] [observe (normal (- 0 mu) 1) {b:?}] "
        ));
    }
    World::new(&text, seed)
}

#[test]
fn the_stratified_test() {
    let run = |epsilon: &str, test: &str| {
        let mut world = two_kinds(4);
        let text = format!(
            "(subsampled_mh default one 50 {epsilon} 'drift 0.02 'audit 1 'test '{test} 150)"
        );
        world.infer(&text);
        record(&mut world).clone()
    };
    let careful = run("1e-9", "stratified");
    let wrong = careful.audits.iter().filter(|a| a.accepted != a.exactly_accepted()).count();
    assert_eq!((careful.audits.len(), wrong), (150, 0));
    assert!(careful.tally.accepted > 10 && careful.tally.accepted < 140);
    assert!(careful.tally.sections_used < careful.tally.population / 2, "{:?}", careful.tally);
    let (stratified, plain) = (run("0.01", "stratified"), run("0.01", "student_t"));
    let share =
        |record: &KernelRecord| record.tally.sections_used as f64 / record.tally.population as f64;
    assert!(share(&stratified) < 0.5 * share(&plain), "{} {}", share(&stratified), share(&plain));
    let wrong = stratified.audits.iter().filter(|a| a.accepted != a.exactly_accepted()).count();
    assert!(wrong < 8, "{wrong} of 150");
}

/// A normal model of data that are far from normal (theory 6.10), started near its mode.
fn heavy_tails(seed: u64) -> World {
    let mut rng = Rng::from_seed(17);
    let data: Vec<f64> = (0..2500)
        .map(|_| math::exp(2.0 * smidgen_infer::proposer::standard_normal(&mut rng)))
        .collect();
    let n = data.len() as f64;
    let mean = data.iter().sum::<f64>() / n;
    let sd = math::sqrt(data.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n);
    let mut text = format!(
        "[assume m (scope_include 'p 0 (normal 0 100))] [assume s (scope_include 'p 0 (normal 0 10))]
         [assume sd (exp s)] [force m {mean:?}] [force s {:?}] ",
        math::ln(sd)
    );
    text.extend(data.iter().map(|x| format!("[observe (normal m sd) {x:?}] ")));
    World::new(&text, seed)
}

#[test]
fn heavy_tails_are_refused() {
    let mut world = heavy_tails(1);
    world.run.phase = Phase::Warmup;
    world.infer("(subsampled_mh p 0 100 0.05 'drift 0.03 300)");
    let found = record(&mut world);
    let worst = found.worst_check().expect("checks in the warm-up");
    assert_eq!(worst.trust(), Trust::Refuse, "{worst:?}");
    let warnings = found.warnings("the kernel", &|_| String::new());
    assert!(warnings.iter().any(|w| w.contains("should not be trusted")), "{warnings:?}");
}

#[test]
fn automatic_decisions_stay_exact_with_heavy_tails() {
    let mut world = heavy_tails(2);
    world.infer("(subsampled_mh p 0 auto auto 'drift 0.03 'audit 1 120)");
    let found = record(&mut world);
    assert!(matches!(found.choice, Some(Err(_))), "{:?}", found.choice);
    let tally = found.tally;
    assert_eq!((tally.transitions, tally.approximate), (120, 0));
    assert_eq!(tally.sections_used, tally.population);
    let warnings = found.warnings("the kernel", &|_| String::new());
    assert!(warnings.iter().any(|w| w.contains("stays exact")), "{warnings:?}");
}

/// What an automatic choice came to with this walk, and what became of it.
fn automatic(rows: usize, drift: f64) -> KernelRecord {
    let mut world = logistic(rows, 6);
    let text = format!("(subsampled_mh default all auto auto 'drift {drift} 'audit 0.5 1)");
    let mut program = world.program(&text);
    world.run.phase = Phase::Warmup;
    (0..60).for_each(|_| world.step(&mut program));
    world.run.begin_draws();
    (0..300).for_each(|_| world.step(&mut program));
    record(&mut world).clone()
}

#[test]
fn an_automatic_choice_keeps_its_promise() {
    let found = automatic(5000, 0.3);
    let note = found.choice.as_ref().expect("a choice").as_ref().expect("a test that pays");
    assert!(note.contains("chose batch"), "{note}");
    assert_eq!(found.tally.approximate, 300);
    assert!(found.audits.len() > 100, "{} audits", found.audits.len());
    println!("{note}; {:?}", errors_and_usage(&found.audits, |audit| audit.epsilon));
    demand("automatic decision errors", 0, |_, _| {
        errors_and_usage(&found.audits, |audit| audit.epsilon).0
    });
    // The error of the acceptance probability, designed to be 0.01 on average.
    let mut tables = Tables::default();
    let delta = |audit: &Audit| {
        let Audit { log_alpha, sigma, population, schedule, epsilon, .. } = *audit;
        let pair = Pair { log_alpha, sigma_l: sigma, population };
        pair_outcome(tables.table(population, schedule, epsilon), &pair).delta.abs()
    };
    let mean = found.audits.iter().map(delta).sum::<f64>() / found.audits.len() as f64;
    assert!(mean < 0.02, "{mean}");
}

/// Steps as small as the posterior: a test would read nearly everything.
#[test]
fn an_automatic_choice_says_why_it_stays_exact() {
    let found = automatic(3000, 0.05);
    let reason = found.choice.as_ref().expect("a choice").as_ref().expect_err("no test pays");
    assert!(reason.contains("does not pay") || reason.contains("no mini-batch"), "{reason}");
    assert_eq!((found.tally.approximate, found.tally.transitions), (0, 300));
}

#[test]
fn audits_and_checks_do_not_change_the_chain() {
    let draws = |audit: &str, phase: Phase, detailed: bool| {
        let mut world = logistic(500, 3);
        (world.run.phase, world.run.detailed) = (phase, detailed);
        let text = format!("(subsampled_mh default all 20 0.05 'drift 0.1 'audit {audit} 1)");
        let mut program = world.program(&text);
        let draws: Vec<String> = (0..150)
            .map(|_| {
                world.step(&mut program);
                world.value("w").to_string()
            })
            .collect();
        let tally = record(&mut world).tally;
        (draws, tally.accepted, tally.sections_used, tally.audit_sections)
    };
    let silent = draws("0", Phase::Free, false);
    let audited = draws("1", Phase::Free, true);
    assert!(silent.3 == 0 && audited.3 == 150 * 500 && silent.1 > 10);
    assert_eq!((&silent.0, silent.2), (&audited.0, audited.2));
    for (audit, phase) in [("1", Phase::Warmup), ("0.3", Phase::Draws), ("0", Phase::Warmup)] {
        assert_eq!(silent.0, draws(audit, phase, false).0, "{audit} {phase:?}");
    }
}
