//! Listings and graphs of traces and scaffolds.

mod debug_common;

use std::io::Write;
use std::process::{Command, Stdio};

use debug_common::{model, node, run, scaffold_of};
use smidgen_engine::debug::{scaffold_dot, scaffold_text, trace_dot, trace_text};
use smidgen_engine::{Model, Scaffold};
use smidgen_value::Rng;

const BLUE: &str = "#9ecae1";
const ORANGE: &str = "#fdbe85";
const GREEN: &str = "#a1d99b";

fn paper(b: &str) -> (Model, Scaffold) {
    let mut rng = Rng::from_seed(1);
    let text = "
        [assume b (bernoulli 0.5)]
        [assume mu (if b 1 (gamma 1 1))]
        [assume y (normal mu 0.1)]
        [observe y 10.0]";
    let mut model = model(text, &mut rng);
    run(&mut model, &format!("[force b {b}]"), &mut rng).expect("b is free");
    let b = node(&mut model, "b");
    let scaffold = scaffold_of(&mut model, &[b]);
    (model, scaffold)
}

/// The line of a graph or listing that shows this.
fn line<'t>(text: &'t str, part: &str) -> &'t str {
    let mut found = text.lines().filter(|line| line.contains(part));
    let line = found.next().unwrap_or_else(|| panic!("no line has {part:?}:\n{text}"));
    assert!(found.next().is_none(), "several lines have {part:?}:\n{text}");
    line
}

/// The name that the graph gives to the node with this label.
fn graph_name<'t>(dot: &'t str, label: &str) -> &'t str {
    line(dot, label).split_whitespace().next().expect("a line of a node")
}

/// A graph is well formed, by count and, where Graphviz is installed, by Graphviz.
fn valid(dot: &str) {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    for c in dot.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '{' if !in_string => depth += 1,
            '}' if !in_string => {
                depth -= 1;
                assert!(depth >= 0, "{dot}");
            }
            _ => {}
        }
    }
    assert!(depth == 0 && !in_string, "{dot}");
    let started = Command::new("dot")
        .arg("-Tsvg")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        eprintln!("dot is not installed: only brackets and quotes were checked");
        return;
    };
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(dot.as_bytes()).expect("dot reads its input");
    drop(input);
    let output = child.wait_with_output().expect("dot ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}\n{dot}");
}

#[test]
fn the_scaffold_of_the_papers_example_is_that_of_its_figure() {
    let (mut model, scaffold) = paper("1");
    assert_eq!(
        scaffold_text(&mut model, &scaffold),
        "scaffold of b
D, target: these values change: 2 nodes
  #0    b: bernoulli(0.5) = 1  principal
  #1    mu: if(b) = 1
T, transient: these exist because of values in D: 0 nodes
A, absorbing: only the densities of these change: 1 node
  #2    y: normal(mu, 0.1) = 10 (observed)
"
        .replace("#2", &format!("#{}", node(&mut model, "y").index()))
        .replace("#1", &format!("#{}", node(&mut model, "mu").index())),
    );
    let dot = scaffold_dot(&mut model, &scaffold);
    valid(&dot);
    let b = line(&dot, "b: bernoulli(0.5) = 1");
    assert!(b.contains(BLUE) && b.contains("peripheries=2"), "{b}");
    let mu = line(&dot, "mu: if(b) = 1");
    assert!(mu.contains(BLUE) && !mu.contains("peripheries"), "{mu}");
    let y = line(&dot, "y: normal(mu, 0.1) = 10 (observed)");
    assert!(y.contains(GREEN) && y.contains("shape=box"), "{y}");
    let [b, mu, y] = ["b: ", "mu: ", "y: "].map(|name| graph_name(&dot, &format!("\"{name}")));
    line(&dot, &format!("{b} -> {mu};"));
    line(&dot, &format!("{mu} -> {y};"));
    assert_eq!(dot.matches("style=dashed").count(), 1, "that of the legend: {dot}");
}

#[test]
fn a_branch_that_is_taken_is_transient_and_exists_by_its_condition() {
    let (mut model, scaffold) = paper("0");
    let dot = scaffold_dot(&mut model, &scaffold);
    valid(&dot);
    assert!(line(&dot, "gamma(1, 1) = ").contains(ORANGE), "{dot}");
    let gamma = graph_name(&dot, "gamma(1, 1) = ");
    let [b, mu] = ["b: ", "mu: "].map(|name| graph_name(&dot, &format!("\"{name}")));
    line(&dot, &format!("{b} -> {gamma} [style=dashed];"));
    line(&dot, &format!("{gamma} -> {mu};"));
    let listing = scaffold_text(&mut model, &scaffold);
    assert!(line(&listing, "gamma(1, 1) = ").ends_with("exists by mu"), "{listing}");
    assert!(line(&listing, "T, transient").ends_with("1 node"), "{listing}");
    let plain = trace_dot(&mut model);
    valid(&plain);
    assert!(![BLUE, ORANGE, GREEN].iter().any(|colour| plain.contains(colour)), "{plain}");
}

#[test]
fn every_kind_of_node_is_shown() {
    let mut rng = Rng::from_seed(3);
    let text = r#"
        [assume alpha (scope_include 'hyper 0 (gamma 1 1))]
        [assume crp (make_crp alpha)]
        [assume z (mem (lambda (i) (crp)))]
        [assume w (mem (lambda (c) (scope_include 'w c (normal 0 1))))]
        [observe (normal (w (z 1)) 0.5) 2]
        [assume f (if (flip 0.5) normal gamma)]
        [assume x (f 1 alpha)]
        [assume tag (list "say \"hi\\\n{" x)]
        [assume s (scope_include 's (z 1) (normal 0 1))]
        [assume xs (map (lambda (i) (normal i 1)) (if (> x 0) (list 1 2) (list 3)))]
        [assume coin (make_uc_beta_bernoulli 1 1)]
        [predict (coin)]
        [assume old (normal 0 1)]
        [freeze old]"#;
    let mut model = model(text, &mut rng);
    let listing = trace_text(&mut model);
    for part in [
        "[hyper 0]",
        "crp: make_crp(alpha), 1 draw",
        "draw from crp = ",
        "z: mem(<procedure",
        "mem request w(#",
        "x: call f(1, alpha) -> #",
        "s: scope_include(s, #",
        "xs: map(<procedure>, #",
        "coin: make_uc_beta_bernoulli(1, 1), 1 draw = ",
        "draw from coin = ",
        "old: frozen = ",
        "for w(",
        "(observed)",
    ] {
        assert!(listing.contains(part), "{part}\n{listing}");
    }
    valid(&trace_dot(&mut model));
    let alpha = node(&mut model, "alpha");
    let scaffold = scaffold_of(&mut model, &[alpha]);
    let dot = scaffold_dot(&mut model, &scaffold);
    valid(&dot);
    assert!(line(&dot, "crp: make_crp(alpha)").contains(GREEN), "a maker absorbs: {dot}");
}

#[test]
fn a_large_trace_is_cut_and_says_so() {
    let mut rng = Rng::from_seed(5);
    let mut model = model("[assume m (normal 0 1)] [assume s (gamma 1 1)]", &mut rng);
    for _ in 0..600 {
        run(&mut model, "[observe (normal 0 s) 1]", &mut rng).expect("an observation");
    }
    run(&mut model, "[observe (normal m s) 1]", &mut rng).expect("an observation");
    let listing = trace_text(&mut model);
    assert!(
        listing.starts_with("trace: 603 nodes, of which 2 choices and 601 observed\n"),
        "{listing}"
    );
    assert!(listing.ends_with("  ... and 203 more\n"), "{listing}");
    let dot = trace_dot(&mut model);
    assert!(dot.contains("the first 400 of 603 nodes"), "{dot}");
    valid(&dot);
    let (m, s) = (node(&mut model, "m"), node(&mut model, "s"));
    let small = scaffold_of(&mut model, &[m]);
    let dot = scaffold_dot(&mut model, &small);
    valid(&dot);
    assert!(dot.contains("the scaffold (2 nodes) and its parents: 3 of 603 nodes"), "{dot}");
    let large = scaffold_of(&mut model, &[s]);
    let dot = scaffold_dot(&mut model, &large);
    assert!(dot.contains("the scaffold (602 nodes) and its parents: 400 of 603 nodes"), "{dot}");
    assert!(scaffold_text(&mut model, &large).ends_with("  ... and 201 more\n"));
}
