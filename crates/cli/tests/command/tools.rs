//! `smidgen check`, `debug` and `bench`.

use serde_json::json;

use crate::support::Folder;

#[test]
fn check_counts_directives_or_lists_mistakes() {
    let folder = Folder::with_program("[assume x (normal 0 1)]\n[observe (normal x 1) 2]");
    assert_eq!(folder.call(&["check", "m.smg"]).good(), "ok: 2 directives\n");
    folder.call(&["check", "m.smg", "--param", "a=1"]).fails(1, &["`a`"]);
    folder.write("m.smg", "[assume x (foo 1)]\n[predict (bar 2)]");
    folder.call(&["check", "m.smg"]).fails(1, &["m.smg:1:", "m.smg:2:", "unbound", "2 errors"]);
    folder.write("m.smg", "[assume normal 3]");
    let done = folder.call(&["check", "m.smg"]);
    assert!(done.err.contains("warning: ") && done.err.contains("shadows"), "{}", done.err);
    done.good();
}

#[test]
fn check_finds_what_needs_no_run() {
    let folder = Folder::new();
    for (program, words) in [
        ("[assume x (normal 0)]", &["m.smg:1:11", "normal takes 2 arguments, found 1"][..]),
        ("[assume x (truncate gamma 5 1 2 2)]", &["an upper end above the lower one"]),
        ("[assume x (zero_inflated normal 0.3 0 1)]", &["a distribution of counts"]),
        ("[assume x (normal 0 -1)]", &["m.smg:1:21", "positive", "-1"]),
        ("[assume s (gamma 1 1)] [assume x (normal s (- 2 3))]", &["m.smg:1:44", "positive"]),
        ("[assume x (bernoulli 1.5)]", &["probability"]),
        ("[assume a (gamma 1 1)] [assume f (make_beta_bernoulli a 0)]", &["positive"]),
        ("[assume f (lambda (x) (uniform_continuous 3 1))]", &["m.smg:1:"]),
        ("[assume x (normal 0 1)] [infer (mh weights all 1)]", &["no scope", "weights"]),
        (
            "[assume p (cdf normal 1 0)]",
            &["m.smg:1:11", "normal takes 2 arguments (mean sd), not 1"],
        ),
        (
            "[assume m (normal 0 1)] [assume q (quantile normal 1.5 m 1)]",
            &["m.smg:1:52", "probability"],
        ),
        ("[assume l (log_density dirichlet 1 (vector 1 1))]", &["argument 2 of log_density"]),
        ("[assume c (cov_exp_quad (vector 1 2) -1 1)]", &["m.smg:1:38", "positive amplitude"]),
        ("[assume c (cov_exp_quad (array (vector 1 2)) 1 1)]", &["a matrix with a row for each"]),
        ("[assume x (lookup (vector 1 2 3) 5)]", &["index"]),
        ("[assume x (dot (vector 1 2) (vector 1 2 3))]", &["dimension"]),
        ("[assume m (multivariate_normal (vector 0 0) (id_matrix 3))]", &["dimension"]),
        ("[assume x (sigmoid 3)]", &["`sigmoid` is unbound", "did you mean `logistic`?"]),
        ("[assume x (norm 0 1)]", &["did you mean `normal`?"]),
    ] {
        folder.write("m.smg", program);
        folder.call(&["check", "m.smg"]).fails(1, words);
    }
    // What may be right for some value of the rest is left alone, and so is a procedure of the program's own.
    for program in [
        "[assume a (normal 0 1)] [assume x (uniform_continuous a 0.5)] [assume y (normal 0 (exp a))]",
        "[assume normal (lambda (m) m)] [predict (normal 0)]",
        "[assume w (dirichlet (vector 1 1))] [assume x (categorical w)] [assume m (multivariate_normal w (id_matrix 2))]",
        "[assume n (poisson 3)] [observe (binomial n 0.5) 2]",
        "[assume m (normal 0 1)] [factor (log_density normal 1 m 2)] [assume q (quantile normal 0.5 m 1)]",
        "[assume k (poisson 3)] [assume x (lookup (vector 1 2 3) k)] [assume l (lambda (v) (dot v (vector 1 2)))]",
    ] {
        folder.write("m.smg", program);
        folder.call(&["check", "m.smg"]).good();
    }
    folder.write("m.smg", "[assume x 1] [assume y 2] [define z 3] [predict x]");
    let done = folder.call(&["check", "m.smg"]);
    for name in ["`y` is never used", "`z` is never used"] {
        assert!(done.err.contains(name), "{}", done.err);
    }
    assert!(!done.err.contains("`x` is never used"), "{}", done.err);
    done.good();
}

#[test]
fn pictures_of_a_trace_and_a_scaffold() {
    let folder = Folder::with_program(
        "[assume mu (scope_include 'hypers 0 (normal 0 1))]
         [assume f (lambda (x) (normal mu x))]
         [observe (f 1) 2]
         [infer (mh default one 1000000000000)]
         [for i in (range 0 2) [infer (mh default one 1000000000000)]]",
    );
    let debug = |more: &[&str]| {
        let view = [more[0], "m.smg", "--seed", "1"];
        folder.call(&[&["debug"][..], &view, &more[1..]].concat())
    };
    let trace = debug(&["trace"]).good();
    assert!(trace.contains("mu: normal(0, 1)") && trace.contains("observed"), "{trace}");
    assert!(debug(&["trace", "--format", "dot"]).good().starts_with("digraph"));
    let default = debug(&["scaffold"]).good();
    assert!(default.contains("principal"), "{default}");
    assert_eq!(debug(&["scaffold", "--scope", "hypers", "--block", "0"]).good(), default);
    assert_eq!(debug(&["scaffold", "--scope", "'hypers"]).good(), default);
    assert_eq!(debug(&["scaffold", "--block", "all"]).good(), default);
    debug(&["scaffold", "--block", "7"]).fails(1, &["below 1"]);
    debug(&["scaffold", "--scope", "none"]).fails(1, &["none", "hypers"]);
    debug(&["scaffold", "--format", "dot", "--out", "s.dot"]).good();
    assert!(folder.read("s.dot").starts_with("digraph"));
}

#[test]
fn bench_measures_every_program() {
    let folder = Folder::new();
    let object = folder.call(&["bench", "--seconds", "0.01", "--format", "json"]).json();
    let rows = object["programs"].as_array().expect("programs");
    let names: Vec<_> = rows.iter().map(|row| &row["program"]).collect();
    assert_eq!(names, ["branching", "geometric", "hmm100", "crp100", "crp1000"]);
    assert!(rows.iter().all(|row| row["transitions_per_second"].as_f64() > Some(0.0)));
    assert_eq!(rows[0]["target"], json!(1.5e6));
    let kernels = object["kernels"].as_array().expect("kernels");
    assert_eq!(kernels.len(), 23);
    assert!(kernels.iter().all(|row| row["measured"].as_f64() > Some(0.0)));
    let growth = ["bench", "--seconds", "0.01", "--only", "growth", "--rows", "1000"];
    let text = folder.call(&growth).good();
    assert!(text.contains("sections") && text.lines().any(|line| line.starts_with("1000 ")));
    folder.call(&["bench", "--seconds", "0"]).fails(2, &["seconds"]);
}
