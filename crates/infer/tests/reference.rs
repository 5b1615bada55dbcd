//! `reference_mh` from exact draws: alone, in cycles with other kernels, with a rest that moves what its sections read, and with
//! members that come and go. Bounds of 0 are noticed.

use smidgen_engine::Fault;
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::{PValue, World};

use super::subsampled_invariance::moved;

const REPEATS: usize = 500;

/// The exact-start test of an inference program.
fn program<'a>(story: &'a Story<'a>, text: &'a str) -> impl FnMut(usize, u64) -> PValue + 'a {
    move |repeats, seed| moved(story, repeats, seed, |world| world.infer(text))
}

/// The same with bounds of 0.
fn broken<'a>(story: &'a Story<'a>, text: &'a str) -> impl FnMut(usize, u64) -> PValue + 'a {
    move |repeats, seed| {
        moved(story, repeats, seed, |world: &mut World| {
            world.model.trace_mut().put_fault(Some(Fault::NoBounds));
            world.infer(text);
        })
    }
}

/// Twelve coins at different places of a regression, few of them heads.
const COINS: Story<'static> = Story {
    prior: "[assume a (normal -2 1)] [assume b (normal 0 1)]",
    data: &[
        "(flip (logistic (+ a (* b -1.5))))",
        "(flip (logistic (+ a (* b -1.1))))",
        "(flip (logistic (+ a (* b -0.7))))",
        "(flip (logistic (+ a (* b -0.3))))",
        "(flip (logistic (+ a (* b 0.1))))",
        "(flip (logistic (+ a (* b 0.5))))",
        "(flip (logistic (+ a (* b 0.9))))",
        "(flip (logistic (+ a (* b 1.3))))",
        "(flip (logistic (+ a (* b 1.7))))",
        "(flip (logistic (+ a (* b 2.1))))",
        "(flip (logistic (+ a (* b 2.5))))",
        "(flip (logistic (+ a (* b 2.9))))",
    ],
    look: &["a", "b", "(* a b)", "(abs (+ a 2))"],
};

#[test]
fn every_test_keeps_the_law() {
    for test in ["auto", "thinned", "scan", "delayed"] {
        let text = format!("(reference_mh default all 'test '{test} 5)");
        demand(&format!("exact start: reference_mh, {test}"), REPEATS, program(&COINS, &text));
    }
}

/// Laws whose recipes are written into one another, ten rows of each.
const MADE_OF_LAWS: &[(&str, &str)] = &[
    ("probit", "(flip (cdf normal {} 0 1))"),
    ("complementary log-log", "(flip (- 1 (exp (- 0 (exp {})))))"),
    ("zeros beside counts", "(zero_inflated poisson 0.3 (exp {}))"),
    ("censored", "(censor normal -1 0.5 {} 1)"),
    ("truncated", "(truncate normal 0 inf {} 1)"),
    ("truncated at both ends", "(truncate normal -1 1.5 {} 1)"),
    ("ordered", "(ordered_logistic {} (vector -1 0.5))"),
    ("ordered, probit", "(ordered_probit {} (vector -1 0.5))"),
    ("two kinds of errors", "(mixture (list 0.8 0.2) normal (list {} 0.5) normal (list 0 3))"),
];

#[test]
fn laws_made_of_laws_keep_the_law() {
    for (name, law) in MADE_OF_LAWS {
        let row = |k: usize| {
            let predictor = format!("(+ a (* b {}))", 0.3 * k as f64 - 1.2);
            law.replace("{}", &predictor)
        };
        let rows: Vec<String> = (0..10).map(row).collect();
        let data: Vec<&str> = rows.iter().map(String::as_str).collect();
        let story = Story {
            prior: "[assume a (normal -1 1)] [assume b (normal 0 0.7)]",
            data: &data,
            look: &["a", "b", "(* a b)", "(abs (+ a b))"],
        };
        let text = "(reference_mh default all 'test 'thinned 6)";
        let claim = format!("exact start: thinned, {name}");
        demand(&claim, REPEATS / 2, program(&story, text));
        if *name == "probit" {
            catches(&claim, "bounds of 0", 4 * REPEATS, broken(&story, text));
        }
    }
}

#[test]
fn rows_far_out_keep_the_law() {
    // Chances that are 1 to rounding, and have been before a move.
    for (name, law) in [MADE_OF_LAWS[0], MADE_OF_LAWS[1], ("logistic", "(flip (logistic {}))")] {
        let row = |x: f64| law.replace("{}", &format!("(+ a (* b {x}))"));
        let rows: Vec<String> = [-1.0, -0.5, 0.0, 0.4, 0.8, 1.2, 40.0, -70.0].map(row).into();
        let data: Vec<&str> = rows.iter().map(String::as_str).collect();
        let story = Story {
            prior: "[assume a (normal 0 0.7)] [assume b (normal 0.4 0.2)]",
            data: &data,
            look: &["a", "b", "(* a b)", "(abs (- b 0.4))"],
        };
        let text = "(reference_mh default all 'test 'thinned 6)";
        demand(&format!("exact start: thinned, far out, {name}"), REPEATS, program(&story, text));
    }
}

#[test]
fn bounds_of_nothing_are_noticed() {
    let text = "(reference_mh default all 'test 'thinned 12)";
    demand("exact start: thinned, long", 2 * REPEATS, program(&COINS, text));
    catches("exact start: thinned, long", "bounds of 0", 2 * REPEATS, broken(&COINS, text));
}

#[test]
fn other_kernels_before_and_after() {
    for others in ["(mh default one 2)", "(nuts default all 'step 0.4 1)", "(slice default each 1)"]
    {
        let text = format!("(cycle ({others} (reference_mh default all 2)) 2)");
        demand(&format!("exact start: reference_mh and {others}"), REPEATS, program(&COINS, &text));
    }
}

#[test]
fn a_rest_that_moves_what_the_sections_read() {
    // The counts of a group hang on its level, which another kernel moves, and on a slope.
    let story = Story {
        prior: "[assume level (scope_include 'level 0 (normal 0 0.7))] [assume slope (scope_include 'slope 0 (normal 0 0.5))]",
        data: &[
            "(poisson (exp (+ level (* slope -1))))",
            "(poisson (exp (+ level (* slope -0.7))))",
            "(poisson (exp (+ level (* slope -0.4))))",
            "(poisson (exp (+ level (* slope -0.1))))",
            "(poisson (exp (+ level (* slope 0.2))))",
            "(poisson (exp (+ level (* slope 0.5))))",
            "(poisson (exp (+ level (* slope 0.8))))",
            "(poisson (exp (+ level (* slope 1.1))))",
            "(poisson (exp (+ level (* slope 1.4))))",
            "(poisson (exp (+ level (* slope 1.7))))",
        ],
        look: &["level", "slope", "(* level slope)"],
    };
    let text = "(cycle ((mh level all 'drift 0.3 2) (reference_mh slope all 'test 'thinned 3)) 3)";
    demand("exact start: reference_mh, a rest that moves", REPEATS, program(&story, text));
}

#[test]
fn members_that_come_and_go() {
    // Each datum belongs to one of two lines; which one is moved by gibbs.
    let data: Vec<String> = (0..16)
        .map(|i| format!("(normal (* (slope (z {i})) {}) 0.5)", 0.25 * f64::from(i) - 2.0))
        .collect();
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    let story = Story {
        prior: "[assume z (mem (lambda (i) (scope_include 'z i (flip 0.4))))]
                [assume slope (mem (lambda (k) (scope_include 'slope k (normal (if k 1 -1) 1))))]
                [predict (list (slope true) (slope false))]
                [predict (map z (range 0 16))]",
        data: &data,
        look: &["(slope true)", "(slope false)", "(* (slope true) (slope false))"],
    };
    let text = "(cycle ((gibbs z each 1) (reference_mh slope all 2)) 2)";
    demand("exact start: reference_mh, members come and go", 300, program(&story, text));
}

#[test]
fn supports_of_several_kinds() {
    // A positive scale, a probability and a real number, over rows that hang on all of them.
    let data: Vec<String> =
        (0..12).map(|i| format!("(normal (* p (+ m {})) s)", 0.3 * f64::from(i) - 1.5)).collect();
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    let story = Story {
        prior: "[assume m (normal 0 1)] [assume s (gamma 3 3)] [assume p (beta 2 2)]",
        data: &data,
        look: &["m", "s", "p", "(* m s)"],
    };
    for test in ["thinned", "scan", "delayed"] {
        let text = format!("(reference_mh default all 'test '{test} 6)");
        let name = format!("exact start: reference_mh on supports, {test}");
        demand(&name, REPEATS, program(&story, &text));
    }
}
