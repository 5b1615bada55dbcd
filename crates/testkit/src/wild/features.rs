//! What random programs are made of besides plain choices: each of these once led a kernel astray, or well
//! might.

use super::families;
use super::program::Item;
use super::stopping;
use super::writer::Writer;

pub type Feature = fn(&mut Writer);

pub static FEATURES: &[Feature] = &[
    unread,
    stopping::unread_stop,
    stopping::named_stop,
    stopping::observed_stop,
    unread_branch,
    family,
    family_of_random_keys,
    continuous_stopping,
    counted_stopping,
    moving_observation,
    moving_among_a_family,
    wall,
    soft_wall,
    mixture,
    chain_by_if,
    chain_by_rows,
    chain_of_reals,
    restaurant,
    collapsed,
    plate,
    plate_of_groups,
    plate_with_a_jump,
    simplex,
    vector,
    procedure,
    folded,
    hierarchy,
    families::observed,
    families::by_hand,
    families::plate_of_families,
    families::path,
    families::correlated,
    families::ordinal,
    families::tallied,
];

/// A value that no density reads.
fn unread(w: &mut Writer) {
    let name = w.name("u");
    let (a, b) = (w.decides(), w.mean());
    let expr = match w.rng.below(4) {
        0 => format!("(exp (* 0.2 {a}))"),
        1 => format!("(if (< {a} 0) 3 4)"),
        2 => format!("(list {a} {b})"),
        _ => format!("(+ {a} {b})"),
    };
    w.assume(&name, expr);
}

/// A branch with choices that no density reads.
fn unread_branch(w: &mut Writer) {
    let name = w.name("u");
    let expr = w.branch(2);
    w.assume(&name, expr);
}

fn family(w: &mut Writer) {
    let (f, v) = (w.name("f"), w.name("v"));
    let (o, s) = (w.atom(), w.number(0.5, 1.5));
    w.assume(&f, format!("(mem (lambda (j) (normal (* j {o}) {s})))"));
    let condition = w.condition();
    w.assume(&v, format!("(+ ({f} (if {condition} 0 1)) ({f} 1))"));
    w.reals.push(v);
}

fn family_of_random_keys(w: &mut Writer) {
    let (f, v) = (w.name("f"), w.name("v"));
    let body = match w.rng.below(3) {
        0 => "(gamma 2 (+ 1 j))".to_owned(),
        1 => {
            let p = w.probability();
            format!("(if (flip {p}) j (normal j 1))")
        }
        _ => format!("(normal {} {})", w.atom(), w.positive()),
    };
    w.assume(&f, format!("(mem (lambda (j) {body}))"));
    let (a, b) = (w.count(), w.count());
    w.assume(&v, format!("(- ({f} {a}) ({f} {b}))"));
    w.reals.push(v);
}

fn continuous_stopping(w: &mut Writer) {
    let (g, x) = (w.name("g"), w.name("x"));
    let c = w.number(0.2, 0.6);
    let given = match w.rng.below(3) {
        0 => format!("(beta 2 (exp (* 0.3 (sin {}))))", w.atom()),
        _ => "(uniform_continuous 0 1)".to_owned(),
    };
    w.assume(
        &g,
        format!("(lambda (k p) (let ((q (* p {given}))) (if (<= q {c}) k ({g} (+ k 1) q))))"),
    );
    w.assume(&x, format!("({g} 0 1)"));
    w.reals.push(x);
}

fn counted_stopping(w: &mut Writer) {
    let (g, x) = (w.name("g"), w.name("x"));
    let p = w.number(0.5, 0.8);
    let step = w.real_choice();
    w.assume(&g, format!("(lambda (k) (if (flip {p}) {step} (+ (normal 0 1) ({g} (+ k 1)))))"));
    w.assume(&x, format!("({g} 0)"));
    w.reals.push(x);
}

/// An observation that constrains one choice or another.
fn moving_observation(w: &mut Writer) {
    let (p, q) = (w.name("p"), w.name("q"));
    for name in [&p, &q] {
        let (m, s) = (w.mean(), w.number(0.6, 1.4));
        w.assume(name, format!("(normal {m} {s})"));
    }
    let condition = w.condition();
    w.observe(format!("(if {condition} {p} {q})"));
    w.reals.push(p);
}

fn moving_among_a_family(w: &mut Writer) {
    let (f, k) = (w.name("f"), w.name("k"));
    let a = w.atom();
    w.assume(&f, format!("(mem (lambda (j) (normal (* j {a}) 1)))"));
    let choice = w.tagged(&["finite"], "(uniform_discrete 0 3)".to_owned());
    w.assume(&k, choice);
    (0..3).for_each(|j| w.predict(format!("({f} {j})")));
    w.observe(format!("({f} {k})"));
    w.counts.push(k);
}

/// A hard constraint.
fn wall(w: &mut Writer) {
    let (a, b) = (w.atom(), w.decides());
    let expr = match w.rng.below(3) {
        0 => format!("(bernoulli (if (< {b} 1) 1 0))"),
        1 => format!("(flip (if (< {a} (+ {b} 0.5)) 1 0))"),
        _ => format!("(flip (if (and (< {b} 1) (> {b} -1)) 1 0))"),
    };
    w.observe(expr);
}

fn soft_wall(w: &mut Writer) {
    let (a, b) = (w.decides(), w.atom());
    w.observe(format!("(bernoulli (if (< {a} {b}) 0.9 0.2))"));
}

fn mixture(w: &mut Writer) {
    let (p, z, m) = (w.name("w"), w.name("z"), w.name("m"));
    let weight = w.tagged(&["line", "smooth"], "(beta 1 1)".to_owned());
    w.assume(&p, weight);
    w.assume(&m, "(mem (lambda (c) (scope_include 'smooth c (normal (* 2 c) 1))))".to_owned());
    let draw = match w.coin() {
        true => format!("(categorical (array {p} (- 1 {p})))"),
        false => format!("(flip {p})"),
    };
    w.assume(&z, format!("(mem (lambda (i) (scope_include 'finite i {draw})))"));
    let s = w.number(0.6, 1.4);
    for i in 0..2 + w.rng.below(2) {
        w.predict(format!("({m} ({z} {i}))"));
        w.observe(format!("(normal ({m} ({z} {i})) {s})"));
    }
}

/// States in an order, the last of which is read.
fn chain(w: &mut Writer, states: &str, step: String, emission: impl Fn(String) -> String) {
    let first = w.one_of(&["(flip 0.5)", "(uniform_discrete 0 2)"]);
    w.assume(
        states,
        format!("(mem (lambda (t) (scope_include 'finite t (if (= t 0) {first} {step}))))"),
    );
    for t in 0..3 + w.rng.below(2) {
        w.predict(format!("({states} {t})"));
        w.observe(emission(format!("({states} {t})")));
    }
}

fn chain_by_if(w: &mut Writer) {
    let s = w.name("s");
    let stay = match w.coin() {
        true => "0.9".to_owned(),
        false => w.probability(),
    };
    let step = match w.coin() {
        true => format!("(flip (if ({s} (- t 1)) {stay} 0.15))"),
        false => format!("(flip (lookup (vector 0.2 {stay}) ({s} (- t 1))))"),
    };
    let a = w.atom();
    chain(w, &s, step, |state| format!("(normal (if {state} {a} 1) 0.8)"));
}

fn chain_by_rows(w: &mut Writer) {
    let (rows, s) = (w.name("r"), w.name("s"));
    w.assume(
        &rows,
        "(mem (lambda (k) (scope_include 'smooth k (dirichlet (vector 1 1.5)))))".to_owned(),
    );
    let step = format!("(categorical ({rows} ({s} (- t 1))))");
    // The states of a chain of coins are true and false.
    let a = w.probability();
    chain(w, &s, step, |state| format!("(flip (lookup (vector {a} 0.8) {state}))"));
}

fn chain_of_reals(w: &mut Writer) {
    let h = w.name("h");
    let (a, s) = (w.atom(), w.number(0.3, 0.9));
    w.assume(
        &h,
        format!(
            "(mem (lambda (t) (scope_include 'smooth t (if (< t 1) (normal {a} 1) (normal (* 0.8 ({h} (- t 1))) {s})))))"
        ),
    );
    for t in 0..3 {
        w.predict(format!("({h} {t})"));
        w.observe(format!("(normal 0 (exp (* 0.5 (sin ({h} {t})))))"));
    }
}

fn restaurant(w: &mut Writer) {
    let (a, crp, z, m) = (w.name("a"), w.name("c"), w.name("z"), w.name("m"));
    let concentration = w.tagged(&["line"], "(gamma 2 2)".to_owned());
    w.assume(&a, concentration);
    w.assume(&crp, format!("(make_crp {a})"));
    w.assume(&z, format!("(mem (lambda (i) (scope_include 'finite i ({crp}))))"));
    let s = w.positive();
    w.assume(&m, format!("(mem (lambda (c) (normal 0 {s})))"));
    for i in 0..3 {
        w.predict(format!("({m} ({z} {i}))"));
        w.predict(format!("(= ({z} {i}) ({z} 0))"));
        w.observe(format!("(normal ({m} ({z} {i})) 0.7)"));
    }
}

fn collapsed(w: &mut Writer) {
    let (f, x) = (w.name("f"), w.name("x"));
    let a = w.positive();
    let maker = match w.rng.below(3) {
        0 => format!("(make_beta_bernoulli {a} 1)"),
        1 => format!("(make_uc_beta_bernoulli {a} 1)"),
        _ => format!("(make_nig_normal {} 1 3 {a})", w.atom()),
    };
    w.assume(&f, maker);
    w.assume(&x, format!("({f})"));
    w.observe(format!("({f})"));
    w.reals.push(x);
}

pub(super) fn rows(w: &mut Writer, expr: String) {
    let is_rows = |item: &Item| matches!(item, Item::ObserveRows(_));
    // One is enough to be slow.
    if !w.items.iter().any(is_rows) {
        w.items.push(Item::ObserveRows(expr));
    }
}

fn plate(w: &mut Writer) {
    let (a, b) = (w.atom(), w.atom());
    let expr = match w.rng.below(4) {
        0 => format!("(normal (+ {a} (* 0.3 (* {b} row.x))) 3)"),
        1 => format!("(bernoulli (logistic (* 0.3 (+ {a} (* {b} row.x)))))"),
        2 => format!("(poisson (exp (* 0.2 (+ (sin {a}) row.x))))"),
        _ => format!("(normal (* 0.2 {a}) (* 3 (exp (* 0.1 (sin {b})))))"),
    };
    rows(w, expr);
}

fn plate_of_groups(w: &mut Writer) {
    let m = w.name("m");
    w.assume(&m, "(mem (lambda (g) (scope_include 'smooth g (normal 0 1))))".to_owned());
    (0..3).for_each(|g| w.predict(format!("({m} {g})")));
    rows(w, format!("(normal ({m} row.g) 3)"));
}

fn plate_with_a_jump(w: &mut Writer) {
    let (a, b) = (w.decides(), w.number(0.4, 0.6));
    rows(w, format!("(bernoulli (if (< {a} row.x) 0.55 {b}))"));
}

fn simplex(w: &mut Writer) {
    let (p, k) = (w.name("p"), w.name("k"));
    let a = w.positive();
    let choice = w.tagged(&["smooth"], format!("(dirichlet (vector 1 {a} 2))"));
    w.assume(&p, choice);
    let choice = w.tagged(&["finite"], format!("(categorical {p})"));
    w.assume(&k, choice);
    w.observe(format!("(categorical {p})"));
    w.counts.push(k);
}

fn vector(w: &mut Writer) {
    let (v, x) = (w.name("v"), w.name("x"));
    let a = w.atom();
    let choice = match w.coin() {
        true => format!("(multivariate_diag_normal (vector {a} 0) (vector 1 0.5))"),
        false => "(multivariate_normal (vector 0 1) (matrix (list (list 2 0.5) (list 0.5 1))))"
            .to_owned(),
    };
    let choice = w.tagged(&["smooth"], choice);
    w.assume(&v, choice);
    w.assume(&x, format!("(lookup {v} 1)"));
    w.reals.push(x);
}

/// The operator is decided.
fn procedure(w: &mut Writer) {
    let x = w.name("x");
    let (condition, a) = (w.condition(), w.atom());
    let (f, g) = (w.one_of(&["abs", "sin"]), w.one_of(&["(lambda (y) (normal y 1))", "negate"]));
    w.assume(&x, format!("((if {condition} {f} {g}) {a})"));
    w.reals.push(x);
}

fn folded(w: &mut Writer) {
    let (f, x) = (w.name("f"), w.name("x"));
    let a = w.atom();
    w.assume(&f, format!("(mem (lambda (i) (normal (* 0.5 {a}) 1)))"));
    let n = w.count();
    w.assume(&x, format!("(fold + 0 (map {f} (range 0 (+ 1 {n}))))"));
    w.reals.push(x);
}

fn hierarchy(w: &mut Writer) {
    let (m, s, e) = (w.name("m"), w.name("s"), w.name("e"));
    let location = w.tagged(&["line", "smooth"], "(normal 0 1)".to_owned());
    w.assume(&m, location);
    let scale = w.tagged(&["line", "smooth"], "(gamma 3 3)".to_owned());
    w.assume(&s, scale);
    w.assume(&e, format!("(mem (lambda (i) (scope_include 'smooth i (normal {m} {s}))))"));
    for i in 0..2 {
        w.predict(format!("({e} {i})"));
        w.observe(format!("(normal ({e} {i}) 1)"));
    }
    w.reals.push(m);
}
