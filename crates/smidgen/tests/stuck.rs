//! Quantities and kernels that did not move, and what is said about them.

use smidgen::sampling::{self, Progress};
use smidgen::{OutcomeKind, SampleRequest, Session, Settings};

fn warnings(text: &str, kernel: Option<&str>, draws: usize) -> Vec<String> {
    let mut session = Session::new(Settings::default());
    let program = session.parse_text("test", text).expect("a program");
    let request = SampleRequest {
        kernel: kernel.map(str::to_owned),
        draws,
        warmup: draws,
        threads: 1,
        seed: 5,
        ..SampleRequest::default()
    };
    let sampled = sampling::sample(&mut session, &program, &request, &Progress::default());
    sampled.unwrap_or_else(|e| panic!("{text}: {e:?}")).run.warnings
}

fn about<'a>(warnings: &'a [String], name: &str) -> Vec<&'a String> {
    let name = format!("`{name}`");
    let moves =
        |w: &&String| w.contains("moved") || w.contains("one value") || w.contains("move in");
    warnings.iter().filter(|w| w.contains(&name)).filter(moves).collect()
}

const TWO: &str = "[assume x (normal 0 1)] [assume y (scope_include 'y 0 (normal 0 1))]
    [assume z (+ x 1)] [assume w (vector y 3)] [assume three (+ 1 2)]
    [observe (normal (+ x y) 1) 1] [predict x] [predict y] [predict z] [predict w] [predict three]
    [predict (> y -100)]
    effects: [predict (append (vector 0) (vector y 1))]";

#[test]
fn what_never_moved_is_named_with_its_kernel() {
    let kernel = "(mh y all 'drift 1 1)";
    let warnings = warnings(TWO, Some(kernel), 200);
    // x is what it was at the start of each chain, and so is what follows from it.
    for name in ["x", "z"] {
        let said = about(&warnings, name);
        assert_eq!(said.len(), 1, "{name}: {warnings:#?}");
        assert!(said[0].contains("different values") && said[0].contains(kernel), "{said:?}");
    }
    // y moves; what hangs on no random choice is a constant, also as an entry of a vector.
    for name in ["y", "w[0]", "w[1]", "three", "effects[0]", "effects[1]", "effects[2]"] {
        assert!(about(&warnings, name).is_empty(), "{name}: {warnings:#?}");
    }
    let certain = about(&warnings, "(> y -100)");
    assert!(certain.len() == 1 && certain[0].contains("all but certain"), "{warnings:#?}");
    let rest: Vec<&String> = warnings.iter().filter(|w| w.contains("disagree")).collect();
    assert!(rest.iter().all(|w| !w.contains("`x`")), "no r_hat of what never moved: {rest:?}");
}

#[test]
fn forced_to_one_value_the_chains_agree_and_are_stuck_all_the_same() {
    let text = "[assume x (normal 0 1)] [assume y (scope_include 'y 0 (normal 0 1))] [force x 0.5]
        [observe (normal (+ x y) 1) 1] [predict x]";
    let warnings = warnings(text, Some("(mh y all 'drift 1 1)"), 100);
    let said = about(&warnings, "x");
    assert!(said.len() == 1 && said[0].contains("never moved, although"), "{warnings:#?}");
}

#[test]
fn nothing_is_said_about_draws_that_move() {
    let text = "[assume x (normal 0 1)] [assume b (flip 0.5)] [observe (normal x 1) 1]";
    assert_eq!(warnings(text, None, 1000), Vec::<String>::new());
}

#[test]
fn advice_fits_the_kernel_and_the_choice() {
    let continuous = "[assume x (normal 0 1)] [force x 50] [observe (normal x 1e-6) 50]";
    let discrete =
        "[assume k (uniform_discrete 0 100000)] [force k 77] [observe (normal k 0.001) 77]";
    let stuck = |text: &str, kernel: &str| {
        let all = warnings(text, Some(kernel), 200);
        let about = |w: &&String| w.contains("changed nothing in 800 transitions");
        let found = all.iter().find(about).cloned();
        found.unwrap_or_else(|| panic!("{kernel}: {all:#?}"))
    };
    let prior = stuck(continuous, "(mh default one 1)");
    assert!(prior.contains("(mh default one 'drift 0.1 10)"), "{prior}");
    let walk = stuck(continuous, "(mh default one 'drift 100 1)");
    assert!(walk.contains("smaller sd"), "{walk}");
    let jumps = stuck(discrete, "(mh default one 1)");
    assert!(!jumps.contains("'drift") && jumps.contains("gibbs"), "{jumps}");
    let gibbs = stuck("[assume b (flip 0.5)] [observe (normal b 0.01) 1]", "(gibbs default one 1)");
    assert!(gibbs.contains("all but certain") && !gibbs.contains("'drift"), "{gibbs}");
    // At a maximum there is nowhere to go.
    let map = warnings(
        "[assume x (normal 0 1)] [observe (normal x 1) 1]",
        Some("(map default all 1)"),
        200,
    );
    assert!(
        !map.iter().any(|w| w.contains("changed nothing") || w.contains("never moved")),
        "{map:?}"
    );
}

#[test]
fn a_run_says_it_too() {
    let mut session = Session::new(Settings::default());
    let text = "[assume x (normal 0 1)] [force x 50] [observe (normal x 1e-6) 50]
        [infer (mh default one 150)]";
    let mut said = Vec::new();
    for directive in &session.parse_text("test", text).expect("a program") {
        for outcome in session.execute(directive).expect("it runs") {
            if let OutcomeKind::Infer(inferred) = outcome.kind {
                said.extend(inferred.warnings);
            }
        }
    }
    assert!(said.iter().any(|w| w.contains("changed nothing in 150 transitions")), "{said:?}");
}

/// Centred: some trajectories diverge in the neck of the funnel, which the other coordinates reach.
const EIGHT_SCHOOLS: &str = "[assume mu (normal 0 5)] [assume tau (half_cauchy 5)]
    [assume theta (mem (lambda (i) (normal mu tau)))]
    [observe (normal (theta 0) 15) 28] [observe (normal (theta 1) 10) 8]
    [observe (normal (theta 2) 16) -3] [observe (normal (theta 3) 11) 7]
    [observe (normal (theta 4) 9) -1] [observe (normal (theta 5) 11) 1]
    [observe (normal (theta 6) 10) 18] [observe (normal (theta 7) 18) 12]
    [predict mu] [predict tau]";

#[test]
fn divergences_are_reported_where_they_matter() {
    assert_eq!(warnings(EIGHT_SCHOOLS, None, 1000), Vec::<String>::new());
    // By nuts in these coordinates alone they do matter, and where they are is said.
    let nuts = warnings(EIGHT_SCHOOLS, Some("(nuts default all 'accept 0.7 1)"), 1000);
    let said = nuts.iter().find(|w| w.contains("diverged"));
    let said = said.unwrap_or_else(|| panic!("{nuts:#?}"));
    assert!(said.contains("'accept 0.99") && said.contains("where `tau` is small"), "{said}");
}
