//! Exact answers against answers by hand.

// References are computed as anybody would.
#![allow(clippy::disallowed_methods)]

use smidgen::enumerate::{EnumerateRequest, Enumerated, enumerate};
use smidgen::sampling::Progress;
use smidgen::{Session, Settings};

fn answers(text: &str, record: &[&str], most: usize) -> Result<Enumerated, String> {
    let mut session = Session::new(Settings::default());
    let program = session.parse_text("test", text).expect("the program reads");
    let record = record.iter().map(|text| (*text).to_owned()).collect();
    let request = EnumerateRequest { record, most };
    enumerate(&mut session, &program, &request, &Progress::default())
        .map_err(|errors| errors.0[0].message.clone())
}

fn law(found: &Enumerated, name: &str) -> Vec<(String, f64)> {
    let marginal = found.marginals.iter().find(|m| m.name == name).expect("it is recorded");
    marginal.values.iter().map(|(value, p)| (value.to_string(), *p)).collect()
}

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-12, "{found} and {wanted}");
}

#[test]
fn a_noisy_or_has_bayes_answer() {
    let text = "[assume a (flip 0.1)] [assume b (flip 0.2)]
        [observe (flip (if a (if b 0.9 0.8) (if b 0.5 0.01))) true] [predict a] [predict (and a b)]";
    let found = answers(text, &[], 100).expect("finite");
    let joint = [0.9 * 0.8 * 0.01, 0.9 * 0.2 * 0.5, 0.1 * 0.8 * 0.8, 0.1 * 0.2 * 0.9];
    let evidence: f64 = joint.iter().sum();
    near(found.log_evidence, evidence.ln());
    let a = law(&found, "a");
    assert_eq!((a[1].0.as_str(), a.len()), ("true", 2));
    near(a[1].1, (joint[2] + joint[3]) / evidence);
    near(law(&found, "(and a b)")[1].1, joint[3] / evidence);
    assert_eq!((found.states, found.runs), (4, 4));
}

/// A choice that is observed after it was made counts once, and structure that hangs on a choice is followed.
#[test]
fn what_is_observed_later_counts_once() {
    let text = "[assume y (flip 0.3)] [observe y true]
        [assume n (if (flip 0.5) (binomial 2 0.5) (uniform_discrete 0 5))] [predict n]";
    let found = answers(text, &[], 100).expect("finite");
    near(found.log_evidence, 0.3f64.ln());
    let n = law(&found, "n");
    near(n[0].1, 0.5 * 0.25 + 0.5 * 0.2);
    near(n[1].1, 0.5 * 0.5 + 0.5 * 0.2);
    near(n[4].1, 0.1);
    assert_eq!(found.states, 8);
}

#[test]
fn clusters_and_collapsed_coins() {
    let text = "[assume crp (make_crp 1)] [assume z (mem (lambda (i) (crp)))]
        [predict (size (unique (map z (range 0 3))))]";
    let found = answers(text, &[], 100).expect("finite");
    let sizes = law(&found, "(size (unique (map z (range 0 3))))");
    for ((_, p), wanted) in sizes.iter().zip([2.0 / 6.0, 3.0 / 6.0, 1.0 / 6.0]) {
        near(*p, wanted);
    }
    let text = "[assume c (make_beta_bernoulli 1 1)] [observe (c) true] [observe (c) true]
        [predict (c)]";
    let found = answers(text, &[], 100).expect("finite");
    near(found.log_evidence, (1.0f64 / 3.0).ln());
    near(law(&found, "(c)")[1].1, 0.75);
}

/// Values that lead to a parameter outside its domain are outside the prior.
#[test]
fn impossible_values_are_left_out() {
    let text = "[assume k (uniform_discrete -1 3)] [assume x (binomial 3 (/ k 2))] [predict k]";
    let found = answers(text, &[], 100).expect("finite");
    let k = law(&found, "k");
    assert_eq!(k.iter().map(|(v, _)| v.as_str()).collect::<Vec<_>>(), ["0", "1", "2"]);
    let error = answers("[assume a (flip)] [observe (flip (if a 0 0)) true]", &[], 9);
    assert!(error.expect_err("no state").contains("impossible"));
}

#[test]
fn what_is_not_finite_is_refused() {
    let error = |text: &str, record: &[&str]| answers(text, record, 50).expect_err("refused");
    assert!(error("[assume x (normal 0 1)]", &[]).contains("normal"));
    assert!(error("[assume x (poisson 3)]", &[]).contains("infinitely many"));
    assert!(error("[assume x (binomial 100 0.5)]", &[]).contains("more than 50 runs"));
    assert!(error("[assume x (flip 0.5)]", &["(flip 0.5)"]).contains("draws"));
    assert!(error("[assume x (uniform_discrete 0 1000000)]", &[]).contains("too many"));
}
