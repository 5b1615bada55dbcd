//! `smidgen explain`: border, sections, cost and advice, as text and as JSON.

use serde_json::Value as Json;

use crate::support::Folder;

/// 1000 observations of one unknown mean.
const MEAN: &str = "[assume mu (scope_include 'm 0 (normal 0 1))]
[for i in (range 0 1000)
  [observe (normal mu 1) (/ i 1000)]]
";

fn explain(folder: &Folder, more: &[&str]) -> Json {
    let call = ["explain", "m.smg", "--seed", "1", "--format", "json"];
    folder.call(&[&call[..], more].concat()).json()
}

fn mean_with(kernel: &str) -> Folder {
    Folder::with_program(&format!("{MEAN}[infer {kernel}]"))
}

fn advises(block: &Json, word: &str) -> bool {
    let advice = block["advice"].as_array().expect("advice");
    advice.iter().any(|text| text.as_str().is_some_and(|text| text.contains(word)))
}

/// Chains are moved as a whole, and what is drawn from a conditional law is not said to be accepted.
#[test]
fn chains_under_the_default_kernel() {
    let states = "[assume p (beta 2 2)]
        [assume z (mem (lambda (t)
          (if (= t 0) (bernoulli 0.5) (bernoulli (lookup (array p 0.9) (z (- t 1)))))))]
        [for t in (range 0 20) [observe (normal (z t) 1) (* 0.1 t)]]";
    let text = Folder::with_program(states).call(&["explain", "m.smg", "--seed", "1"]).good();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("forward filtering and backward sampling: bernoulli"), "{text}");
    assert!(text.contains("bernoulli (19 choices)"), "{text}");
    let counts = "[assume n (mem (lambda (t)
          (if (= t 0) (poisson 5) (poisson (+ 1 (n (- t 1)))))))]
        [for t in (range 0 20) [observe (normal (n t) 1) (* 0.1 t)]]";
    let text = Folder::with_program(counts).call(&["explain", "m.smg", "--seed", "1"]).good();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("pgibbs, whole chains: poisson"), "{text}");
    assert!(text.contains("poisson (19 choices)"), "{text}");
    assert!(text.contains("(each hangs on the one before; neither a gradient nor"), "{text}");
    assert!(text.contains("by 30 particles, the path may change its past"), "{text}");
    let rare = "[assume z (mem (lambda (t) (scope_include 'z t (bernoulli 0.001))))]
                [for t in (range 0 20) [predict (z t)]] [infer (gibbs z one 100)]";
    let text = Folder::with_program(rare).call(&["explain", "m.smg", "--seed", "1"]).good();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("changed a value") && !text.contains("accepted"), "{text}");
    assert!(!text.contains("smaller steps"), "{text}");
}

/// However a chain of states is spelt, it is drawn as a whole; where a row would have to be made, it is not.
#[test]
fn chains_are_found_however_they_are_spelt() {
    let explained = |states: &str, observed: &str| {
        let program = format!(
            "[assume row (mem (lambda (k) (dirichlet (vector 1 1))))]
             [assume high (lambda (x) (+ x 0.7))] [assume low (lambda (x) x)]
             [assume s (mem (lambda (t) (if (= t 0) (flip 0.5) {states})))]
             [for t in (range 0 20) [observe {observed} 0.3]]"
        );
        let text = Folder::with_program(&program).call(&["explain", "m.smg", "--seed", "1"]).good();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let sticky = "(flip (if (s (- t 1)) 0.98 0.02))";
    let observed = "(normal (if (s t) 1 -1) 1)";
    for (states, observed) in [
        (sticky, observed),
        (sticky, "(if (s t) (normal 1 2) (student_t 4))"),
        (sticky, "(normal (cond ((not (s t)) 0) ((= t 3) 2) (else 1)) 1)"),
        ("(flip ((if (s (- t 1)) high low) 0.1))", observed),
        ("(flip (lookup (array 0.1 0.9) (if (s (- t 1)) 1 0)))", observed),
        ("(flip (lookup (vector 0.1 0.9) (s (- t 1))))", "(normal (s t) 1)"),
    ] {
        let text = explained(states, observed);
        assert!(text.contains("backward sampling: flip"), "{text}");
        assert!(text.contains("flip (19 choices)") && !text.contains("one by one"), "{text}");
    }
    let rows = "(= 1 (categorical (row (s (- t 1)))))";
    let text = explained(rows, observed);
    assert!(text.contains("gibbs, one by one: ") && !text.contains("backward"), "{text}");
}

/// Counts without end move by slices, names of tables do not.
#[test]
fn whole_numbers_under_the_default_kernel() {
    let counts = "[assume n (poisson 5)] [assume b (binomial 1000 0.3)]
                  [observe (binomial n 0.5) 2] [observe (normal b 1) 310]
                  [assume f (make_crp 1)] [assume c (f)]";
    let text = Folder::with_program(counts).call(&["explain", "m.smg", "--seed", "1"]).good();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("slices over the integers, one by one: n, b"), "{text}");
    assert!(text.contains("gibbs, one by one: c"), "{text}");
}

#[test]
fn the_border_and_the_sections_of_a_mean() {
    let folder = mean_with("(subsampled_mh m 0 50 0.05 'drift 0.05 20)");
    let object = explain(&folder, &[]);
    assert_eq!(object["choices"], 1);
    let kernel = &object["kernels"][0];
    assert_eq!(kernel["transitions"], 20);
    let block = &kernel["blocks"][0];
    assert_eq!(block["border"][0]["name"], "mu");
    assert_eq!(block["border"][0]["line"], 1);
    assert_eq!(block["border"][0]["is_choice"], true);
    assert_eq!(block["population"], 1000);
    assert_eq!(block["kinds"][0]["description"], "normal");
    assert_eq!(block["kinds"][0]["sections"], 1000);
    assert_eq!(block["evaluator"], "compiled sections");
    assert_eq!(block["refusal"], Json::Null);
    assert_eq!(block["scaffold"]["absorbing"], 1000);

    let text = folder.call(&["explain", "m.smg", "--seed", "1"]).good();
    for word in ["(subsampled_mh m 0 50 0.05", "border", "m.smg:1", "1000, each normal", "warm-up"]
    {
        assert!(text.contains(word), "`{word}` is not in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    // The same seed, the same page.
    assert_eq!(folder.call(&["explain", "m.smg", "--seed", "1"]).good(), text);
}

#[test]
fn predictions_are_about_what_a_run_measures() {
    for (batch, epsilon, drift) in [("50", "0.05", "0.05"), ("100", "0.01", "0.3")] {
        let kernel = format!("(subsampled_mh m 0 {batch} {epsilon} 'drift {drift} 1)");
        let folder = mean_with(&kernel);
        let number = |json: &Json| json.as_f64().expect("a number");
        // What a single state predicts may be far from the average.
        let (mut predicted_sections, mut predicted_acceptance) = (0.0, 0.0);
        for seed in ["1", "2", "3", "4"] {
            let call = ["explain", "m.smg", "--seed", seed, "--format", "json"];
            let object = folder.call(&call).json();
            let prediction = &object["kernels"][0]["blocks"][0]["prediction"];
            predicted_sections += 0.25 * number(&prediction["sections"]);
            predicted_acceptance += 0.25 * number(&prediction["acceptance"]);
        }
        let call = ["sample", "m.smg", "--seed", "2", "--chains", "1", "--format", "json"];
        let measured = &folder.call(&call).json()["kernels"][0];
        let transitions = number(&measured["transitions"]);
        let sections = number(&measured["sections_used"]) / transitions;
        let accepted = number(&measured["accepted"]) / transitions;
        let ratio = predicted_sections / sections;
        assert!((0.6..1.6).contains(&ratio), "{kernel}: {predicted_sections} for {sections}");
        let difference = (predicted_acceptance - accepted).abs();
        assert!(difference < 0.2, "{kernel}: {predicted_acceptance} for {accepted}");
    }
}

#[test]
fn a_refusal_points_at_its_line() {
    let folder = Folder::with_program(
        "[assume p (beta 1 1)]
[assume f (lambda (i)
  (if (< p 0.5)
      (normal 0 1)
      (normal i 1)))]
[for i in (range 0 30) [observe (f i) 1]]
[infer (subsampled_mh default one 10 0.05 10)]",
    );
    let block = &explain(&folder, &[])["kernels"][0]["blocks"][0];
    assert_eq!(block["refusal"]["line"], 3, "{block}");
    assert_eq!(block["evaluator"], "trace");
    assert_eq!(block["prediction"], Json::Null);
    let text = folder.call(&["explain", "m.smg", "--seed", "1"]).good();
    for word in ["none: ", "m.smg:3", "`if`", "exact"] {
        assert!(text.contains(word), "`{word}` is not in:\n{text}");
    }
}

#[test]
fn only_advice_that_applies() {
    // Everything fits into the first look.
    let folder = mean_with("(subsampled_mh m 0 1000 0.05 'drift 0.05 20)");
    let object = explain(&folder, &[]);
    let block = &object["kernels"][0]["blocks"][0];
    assert_eq!(block["evaluator"], "trace");
    assert!(advises(block, "every decision is exact"), "{block}");
    // An exact kernel could be subsampled.
    let object = explain(&folder, &["--kernel", "(mh m 0 'drift 0.05 20)"]);
    let block = &object["kernels"][0]["blocks"][0];
    assert!(advises(block, "subsampled_mh"), "{block}");
    assert!(!advises(block, "stratified"), "{block}");
    // Steps that are far too wide.
    let object = explain(&folder, &["--kernel", "(subsampled_mh m 0 50 0.05 'drift 5000 20)"]);
    assert!(advises(&object["kernels"][0]["blocks"][0], "smaller steps"), "{object}");
}

#[test]
fn kinds_of_sections_and_sections_that_become_impossible() {
    let folder = Folder::with_program(
        "[assume top (gamma 2 1)]
[for i in (range 0 100) [observe (uniform_continuous 0 top) (/ (+ i 1) 100)]]
[for i in (range 0 60) [observe (normal top 1) 1]]",
    );
    let kernel = "(subsampled_mh default one 20 0.05 'drift 0.01 1)";
    let block = &explain(&folder, &["--kernel", kernel])["kernels"][0]["blocks"][0];
    assert_eq!(block["kinds"].as_array().map(Vec::len), Some(2));
    assert_eq!(block["population"], 160);
    assert!(advises(block, "impossible") && advises(block, "'stratified"), "{block}");
}

#[test]
fn blocks_that_look_alike_are_told_once() {
    let folder = Folder::with_program(
        "[assume z (mem (lambda (i) (scope_include 'z i (bernoulli 0.5))))]
[for i in (range 0 50) [observe (normal (if (z i) 1 0) 1) 0.7]]
[infer (repeat 2 (mixture (1 (mh z one 3) 3 (mh default one 1)) 4))]",
    );
    let object = explain(&folder, &[]);
    let kernels = object["kernels"].as_array().expect("kernels");
    assert_eq!(kernels.len(), 2);
    let expected: Vec<_> = kernels.iter().map(|kernel| kernel["transitions"].as_f64()).collect();
    assert_eq!(expected, [Some(6.0), Some(6.0)]);
    for kernel in kernels {
        assert_eq!(kernel["blocks_in_all"], 50);
        assert_eq!(kernel["blocks"].as_array().map(Vec::len), Some(1));
        assert_eq!(kernel["blocks"][0]["count"], 50);
    }
}

#[test]
fn nothing_to_move_and_nothing_to_run() {
    let folder = Folder::with_program("[assume x 3]");
    let text = folder.call(&["explain", "m.smg", "--seed", "1"]).good();
    assert!(text.contains("no unconstrained random choice"), "{text}");
    folder.write("m.smg", "[assume x (normal 0 1)]\n[infer (mh nowhere all 5)]");
    let text = folder.call(&["explain", "m.smg", "--seed", "1"]).good();
    assert!(text.contains("scope nowhere holds no"), "{text}");
    folder.call(&["check", "m.smg"]).fails(1, &["m.smg:2", "no scope", "nowhere"]);
    folder.write(
        "m.smg",
        "[assume x (scope_include 'here 0 (normal 0 1))]\n[infer (mh nowhere all 5)]",
    );
    for command in ["explain", "run", "sample", "check"] {
        folder.call(&[command, "m.smg"]).fails(1, &["m.smg:2", "no scope", "nowhere"]);
    }
    folder.write("m.smg", "[assume x (normal 0 1)]\n[infer (mh default one 1000000000000)]");
    let text = folder.call(&["explain", "m.smg", "--seed", "1"]).good();
    assert!(text.contains("1000000000000 transitions in one run"), "{text}");
    folder.write("m.smg", "[assume x (normal 0 -1)]");
    folder.call(&["explain", "m.smg"]).fails(1, &["m.smg:1", "positive"]);
    folder.write("m.smg", "[assume x (normal 0 1)]");
    folder.call(&["explain", "m.smg", "--kernel", "(foo 1)"]).fails(1, &["foo"]);
    folder.call(&["explain", "m.smg", "--param", "a=1"]).fails(1, &["`a`"]);
    folder.call(&["explain"]).fails(2, &["FILE"]);
}
