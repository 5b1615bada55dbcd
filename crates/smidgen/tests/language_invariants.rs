//! A trace stays in order: after every transition, accepted or rejected, the trace checker finds
//! nothing wrong, rejected moves leave the log density to the bit, and slots are used again.
//! The programs are those of `language/cases.txt` and some that are stranger.

use smidgen::engine::model::{Record, RecordKind};
use smidgen::sampling::{Progress, SampleRequest, sample};
use smidgen::value::Value;
use smidgen::{OutcomeKind, Session, Settings};

const CASES: &str = include_str!("language/cases.txt");

/// Programs whose structure changes in unusual ways.
const STRANGE: &[&str] = &[
    // A memoised family that one move releases and asks for again.
    "[assume c (flip 0.5)] [assume f (mem (lambda (i) (normal i 1)))]
     [assume y (if c (f 1) (+ (f 1) (f 2)))] [observe (normal y 1) 2]",
    // Keys that meet and part.
    "[assume a (uniform_discrete 0 3)] [assume b (uniform_discrete 0 3)]
     [assume f (mem (lambda (i) (if (flip 0.5) (normal 0 1) (f (- -1 i)))))]
     [assume y (+ (f a) (f b))] [observe (normal y 1) 1]",
    // Makers inside branches inside memoised procedures.
    "[assume g (mem (lambda (i) (if (flip 0.5) (make_crp 1) (make_beta_bernoulli 1 1))))]
     [assume k (uniform_discrete 0 2)] [assume y (list ((g k)) ((g k)) ((g 0)))]
     [observe (flip (if (= (first y) (second y)) 0.9 0.2)) true]",
    // Tables of a process that name families.
    "[assume a (gamma 1 1)] [assume crp (make_crp a)] [assume z (mem (lambda (i) (crp)))]
     [assume s (mem (lambda (k) (scope_include 'k k (inv_gamma 3 1))))]
     [assume m (mem (lambda (k) (make_nig_normal 0 (s k) 3 3)))]
     [observe ((m (z 1))) 1] [observe ((m (z 2))) 1.2] [observe ((m (z 3))) -2]",
    // Scopes that follow random blocks.
    "[assume k (uniform_discrete 0 3)] [assume d (flip 0.5)]
     [assume x (scope_include (if d 's 't) k (if (flip 0.5) (normal 0 1) (scope_exclude 's (normal k 1))))]
     [assume w (scope_include 's (+ k 1) (list (flip 0.5) (scope_include 't 9 (flip 0.5))))]
     [observe (normal x 1) 1]",
    // An observation that moves between memoised choices with structure below them.
    "[assume k (uniform_discrete 0 3)] [assume f (mem (lambda (i) (normal i 1)))]
     [assume y (if (> (f 0) 0) (normal (f 1) 1) (normal (f 2) 2))]
     [observe (f k) 0.5] [observe (normal y 1) 1]",
    // One that comes and goes with its choice.
    "[assume c (flip 0.5)] [assume x (normal 0 1)] [assume w (if (> x 0) (normal 0 1) 3)]
     [observe (if c x (normal 1 1)) 0.5]",
    // Procedures that capture choices, called by others.
    "[assume c (flip 0.5)] [assume f (if c (let ((p (beta 1 1))) (lambda () (flip p))) (lambda () (flip 0.5)))]
     [assume g (mem f)] [assume h (lambda (q) (if (q) (g) (f)))] [assume y (h f)] [observe (flip (if y 0.9 0.1)) true]",
    // Random expressions in random environments.
    "[assume c (flip 0.5)] [assume e (if c '(normal a 1) '(if (> a 0) (normal 0 1) a))]
     [assume y (eval e (extend_environment (get_current_environment) 'a (normal 0 1)))] [observe (normal y 1) 1]",
    // Recursion of random depth over one maker.
    "[assume f (make_beta_bernoulli 1 4)] [assume walk (lambda (n) (if (f) (+ n (walk (+ n 1))) n))]
     [assume y (walk 0)] [observe (normal y 3) 4]",
    // Latent makers with hyperparameters in branches.
    "[assume a (gamma 2 1)] [assume c (flip 0.5)]
     [assume f (if c (make_uc_gamma_poisson a 1) (make_suff_stat_poisson a))] [assume y (f)]
     [observe (f) 3] [observe (f) 2]",
    // Procedures as keys, and applications of what a key has made.
    "[assume c (flip 0.5)] [assume f (lambda (x) (+ (normal x 1) (poisson 3)))]
     [assume g (lambda (x) (- (gamma 2 1) (poisson 2)))] [assume h (mem (lambda (p i) (p i)))]
     [assume shift (lambda (a) (lambda (x) (+ a (gamma x 1))))]
     [assume a (h (if c f g) 1)] [assume b (+ (h (if (flip 0.3) g (shift a)) 2) (h (shift 2) 1))]
     [observe (normal (+ a b) 1) 4]",
    // Lists of random length.
    "[assume n (poisson 2)] [assume xs (map (lambda (i) (normal i 1)) (range 0 n))]
     [assume s (fold + 0 xs)] [observe (normal s 1) 2]",
];

const KERNELS: &[&str] = &[
    "(mh default one 1)",
    "(mh default each 1)",
    "(mh default one 'drift 0.7 1)",
    "(mh default all 1)",
    "1",
];

fn programs() -> Vec<String> {
    let mut programs: Vec<String> = Vec::new();
    for line in CASES.lines() {
        if line.starts_with("case ") {
            programs.push(String::new());
        } else if line.starts_with('[')
            && let Some(program) = programs.last_mut()
        {
            program.push_str(line);
        }
    }
    programs.retain(|program| program.contains("assume") && !program.is_empty());
    programs.extend(STRANGE.iter().map(|program| (*program).to_owned()));
    programs
}

/// Whether all went well. Errors of the program itself are no concern of this test.
fn execute(session: &mut Session, text: &str) -> Result<bool, String> {
    let Ok(directives) = session.parse_text("test", text) else { return Ok(false) };
    for directive in &directives {
        let before = session.model().log_joint().ok();
        let result = session.execute(directive);
        let wrong = |what: String| Err(format!("{what}\nafter {text}"));
        if let Err(what) = smidgen::engine::check::check(session.model()) {
            return wrong(what);
        }
        let observed = |record: &&Record| record.kind == RecordKind::Observe;
        let observations = session.model().records().iter().filter(observed).count();
        let model = session.model();
        let constrained = model.live_nodes().filter(|id| model.node(*id).constrained).count();
        if constrained > observations {
            return wrong(format!(
                "{constrained} constrained choices, {observations} observations"
            ));
        }
        let Ok(outcomes) = result else { return Ok(false) };
        let moved = outcomes.iter().any(|outcome| match &outcome.kind {
            OutcomeKind::Infer(inferred) => inferred.total().accepted > 0,
            _ => true,
        });
        if is_infer(text)
            && !moved
            && before.is_some_and(f64::is_finite)
            && before != session.model().log_joint().ok()
        {
            return wrong("rejected moves changed the density".to_owned());
        }
    }
    Ok(true)
}

fn is_infer(text: &str) -> bool {
    text.starts_with("[infer")
}

fn stays_in_order(program: &str, kernel: &str, seed: u64) -> Result<(), String> {
    let mut session = Session::new(Settings { seed, ..Settings::default() });
    if !execute(&mut session, program)? {
        return Ok(());
    }
    let infer = format!("[infer {kernel}]");
    for _ in 0..50 {
        if !execute(&mut session, &infer)? {
            return Ok(());
        }
    }
    Ok(())
}

#[test]
fn every_transition_leaves_the_trace_in_order() {
    let mut wrong = Vec::new();
    for program in programs() {
        for (k, kernel) in KERNELS.iter().enumerate() {
            if let Err(error) = stays_in_order(&program, kernel, k as u64) {
                wrong.push(format!("{error}\n{program}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_forgotten_directive_leaves_nothing() {
    let extra =
        "tail: [predict (list (flip) (if (flip) (normal 0 1) 2) ((mem (lambda (i) (flip))) 1))]";
    for program in STRANGE {
        for seed in 0..5 {
            let mut session = Session::new(Settings { seed, ..Settings::default() });
            let text = format!("{program} [infer (mh default one 40)]");
            if !execute(&mut session, &text).unwrap() {
                continue;
            }
            let before = session.model().live_nodes().count();
            execute(&mut session, &format!("{extra} [forget tail]")).unwrap();
            assert_eq!(session.model().live_nodes().count(), before, "{program}");
            execute(&mut session, &format!("{extra} [infer (mh default one 40)]")).unwrap();
            execute(&mut session, "[forget tail]").unwrap();
        }
    }
}

#[test]
fn draws_do_not_depend_on_threads() {
    let draws = |threads: usize| {
        let mut session = Session::new(Settings::default());
        let program = session.parse_text("test", STRANGE[3]).unwrap();
        let request = SampleRequest {
            kernel: Some("(mh default one 30)".to_owned()),
            draws: 3,
            warmup: 1,
            chains: 7,
            seed: 5,
            record: vec!["a".to_owned(), "(z 1)".to_owned()],
            threads,
            ..SampleRequest::default()
        };
        let sampled = sample(&mut session, &program, &request, &Progress::default());
        let Ok(sampled) = sampled else { panic!("the program runs") };
        let values = sampled.run.draws.quantities().iter().flat_map(|q| q.values());
        values.map(|value| format!("{value:?}")).collect::<Vec<_>>()
    };
    assert_eq!(draws(1), draws(4));
}

/// The log density of the state after every step. Other values lie where the first run had its own, so
/// an order that goes by places in memory would be another one.
fn log_densities(program: &str, kernel: &str) -> Vec<u64> {
    let mut session = Session::new(Settings { seed: 4, ..Settings::default() });
    if !execute(&mut session, program).unwrap() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for _ in 0..20 {
        execute(&mut session, &format!("[infer {kernel}]")).unwrap();
        found.push(session.model().log_joint().unwrap_or(f64::NAN).to_bits());
    }
    found
}

#[test]
fn the_same_seed_gives_the_same_draws() {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for program in STRANGE {
        for kernel in ["1", "(mh default each 1)"] {
            let first = log_densities(program, kernel);
            for size in [40, 56, 72, 120] {
                kept.push(vec![0; size]);
                assert_eq!(log_densities(program, kernel), first, "{program}");
            }
        }
    }
}

#[test]
fn slots_are_used_again() {
    for program in STRANGE {
        let mut session = Session::new(Settings { seed: 3, ..Settings::default() });
        let warm = format!("{program} [infer (mh default one 1500)]");
        if !execute(&mut session, &warm).unwrap() {
            continue;
        }
        let before = session.model().capacity();
        execute(&mut session, "[infer (mh default one 6000)]").unwrap();
        let after = session.model().capacity();
        assert!(after <= 2 * before + 60, "{before} to {after} slots: {program}");
    }
}

/// The draws of an offset that clusters share, moved by reading some of the sections, while the clusters
/// come and go.
fn draws_beside(record: &[&str]) -> Vec<Value> {
    let mut text =
        "[assume crp (make_crp 2)] [assume z (mem (lambda (i) (scope_include 'z i (crp))))]
        [assume b (scope_include 'b 0 (normal 0 1))] [assume u (mem (lambda (k) (normal 0 2)))]
        [assume w (mem (lambda (k) (+ b (u k))))] "
            .to_owned();
    for i in 0..60 {
        let x = f64::from(i % 7) - 3.0;
        text += &format!("[observe (normal (w (z {i})) 1) {x}] [predict (z {i})] ");
    }
    text += "[infer (cycle ((subsampled_mh b all 10 0.1 'drift 0.3 3) (gibbs z one 20)) 1)]";
    let mut session = Session::new(Settings::default());
    let program = session.parse_text("test", &text).unwrap();
    let record = record.iter().map(|text| (*text).to_owned()).collect();
    let request =
        SampleRequest { draws: 40, warmup: 0, chains: 1, record, ..SampleRequest::default() };
    let sampled = sample(&mut session, &program, &request, &Progress::default()).unwrap();
    let quantities = sampled.run.draws.quantities();
    let b = quantities.iter().find(|quantity| quantity.name == "b").expect("it is recorded");
    b.chains[0].clone()
}

/// What is recorded is looked at, and nothing else: not even the order of sections changes.
#[test]
fn records_leave_no_trace() {
    let alone = draws_beside(&["b"]);
    assert!(alone.windows(2).any(|pair| pair[0] != pair[1]), "b moves");
    let beside = draws_beside(&["b", "(sum (map (lambda (i) (w (z i))) (range 0 60)))"]);
    assert_eq!(alone, beside);
}
