//! Laws that random programs draw from, besides the plainest: as choices, as observations, above many rows, and written by hand.
//! Numbers stay where a kernel comes about: data are drawn from the program itself.

use super::features::rows;
use super::program::Item;
use super::writer::Writer;

/// A law of a real number: its name and its arguments.
fn of_reals(w: &mut Writer) -> (&'static str, String) {
    let (m, s) = (w.mean(), w.number(0.5, 1.5));
    match w.rng.below(7) {
        0 => ("skew_normal", format!("{m} {s} {}", w.number(-3.0, 3.0))),
        1 => ("gumbel", format!("{m} {s}")),
        2 => ("logistic_dist", format!("{m} {s}")),
        3 => ("student_t", format!("(+ 2 {}) {m} {s}", w.positive())),
        4 => ("cauchy", format!("{m} 0.5")),
        _ => ("normal", format!("{m} {s}")),
    }
}

/// A law of a positive number.
fn of_positives(w: &mut Writer) -> (&'static str, String) {
    let (a, s) = (w.positive(), w.positive());
    match w.rng.below(8) {
        0 => ("inverse_gaussian", format!("{a} {s}")),
        1 => ("pareto", format!("{s} 3")),
        2 => ("weibull", format!("1.5 {s}")),
        3 => ("expon", s),
        4 => ("inv_gamma", format!("3 {s}")),
        5 => ("half_student_t", format!("4 {s}")),
        6 => ("chi_squared", format!("(+ 1 {s})")),
        _ => ("gamma", format!("(+ 1 {a}) {s}")),
    }
}

fn of_counts(w: &mut Writer) -> (&'static str, String) {
    let (a, p) = (w.positive(), w.probability());
    match w.rng.below(6) {
        0 => ("poisson_log", format!("(sin {})", w.atom())),
        1 => ("negative_binomial_mean", format!("{a} 2")),
        2 => ("binomial", format!("4 {p}")),
        3 => ("beta_binomial", format!("4 {a} 1")),
        4 => ("negative_binomial", "2 0.6".to_owned()),
        _ => ("poisson", a),
    }
}

/// A law that is made of another.
fn made(w: &mut Writer) -> String {
    let p = w.number(0.2, 0.7);
    match w.rng.below(9) {
        0 => {
            let (law, arguments) = of_counts(w);
            format!("(zero_inflated {law} {p} {arguments})")
        }
        1 => {
            let (law, arguments) = of_counts(w);
            format!("(hurdle {law} {p} {arguments})")
        }
        2 | 3 => {
            let (one, other, q) = (of_reals(w), of_reals(w), w.probability());
            let parts = format!("{} (list {}) {} (list {})", one.0, one.1, other.0, other.1);
            format!("(mixture (vector {q} {p}) {parts})")
        }
        4 => {
            let ((law, arguments), a) = (of_reals(w), w.atom());
            format!("(truncate {law} (- {a} 1) (+ {a} 1.5) {arguments})")
        }
        5 => {
            let (law, arguments) = of_positives(w);
            format!("(truncate {law} 0.3 inf {arguments})")
        }
        6 => {
            let ((law, arguments), a) = (of_reals(w), w.atom());
            format!("(censor {law} -inf (+ {a} 0.3) {arguments})")
        }
        7 => {
            let (law, arguments) = of_positives(w);
            format!("(censor {law} 0.3 1.2 {arguments})")
        }
        _ => {
            let (law, arguments) = of_counts(w);
            format!("(truncate {law} 1 4 {arguments})")
        }
    }
}

/// The expression of a choice of a real number that can move by small steps.
pub fn choice(w: &mut Writer) -> String {
    let (law, arguments) = match w.rng.below(5) {
        0 => {
            let ((law, arguments), a) = (of_reals(w), w.atom());
            return format!("(truncate {law} (- {a} 1) (+ {a} 1.5) {arguments})");
        }
        1 => {
            let (one, other, p) = (of_reals(w), of_reals(w), w.probability());
            let parts = format!("{} (list {}) {} (list {})", one.0, one.1, other.0, other.1);
            return format!("(mixture (vector {p} 0.5) {parts})");
        }
        2 => of_positives(w),
        3 => ("beta_mean", format!("{} 4", w.probability())),
        _ => of_reals(w),
    };
    format!("({law} {arguments})")
}

/// The expression of a choice of 0, 1 or 2.
pub fn finite_choice(w: &mut Writer) -> String {
    let (p, m) = (w.probability(), w.mean());
    match w.rng.below(9) {
        0 => format!("(bernoulli_logit {m})"),
        1 => format!("(categorical_logit (vector 0 {m} 0.3))"),
        2 => format!("(ordered_logistic {m} (vector -0.7 0.6))"),
        3 => format!("(ordered_probit {m} (vector -0.7 0.6))"),
        4 => "(hypergeometric 2 3 4)".to_owned(),
        5 => format!("(beta_binomial 2 {} 1)", w.positive()),
        6 => format!("(zero_inflated binomial 0.3 2 {p})"),
        7 => format!("(hurdle binomial {p} 2 0.4)"),
        _ => format!("(censor poisson 0 2 {})", w.positive()),
    }
}

pub fn observed(w: &mut Writer) {
    let law = match w.rng.below(3) {
        0 => choice(w),
        1 => finite_choice(w),
        _ => made(w),
    };
    w.observe(law);
}

/// What is observed is written as a weight.
pub fn by_hand(w: &mut Writer) {
    let (law, arguments) = match w.rng.below(3) {
        0 => of_reals(w),
        1 => of_positives(w),
        _ => of_counts(w),
    };
    w.items.push(Item::Weigh(law.to_owned(), arguments));
}

pub fn plate_of_families(w: &mut Writer) {
    let (a, b) = (w.atom(), w.atom());
    let mean = format!("(* 0.2 (+ {a} (* {b} row.x)))");
    let expr = match w.rng.below(12) {
        0 => format!("(poisson_log (sin {mean}))"),
        1 => format!("(bernoulli_logit {mean})"),
        2 => format!("(ordered_logistic {mean} (vector -0.7 0.6))"),
        3 => format!("(zero_inflated poisson 0.3 (exp (sin {mean})))"),
        4 => format!("(hurdle poisson (logistic {mean}) 2)"),
        5 => format!("(mixture (vector 0.3 0.7) normal (list {mean} 3) normal (list 2 4))"),
        6 => format!("(censor normal -inf 2 {mean} 3)"),
        7 => format!("(truncate normal -5 inf {mean} 3)"),
        8 => format!("(student_t (+ 3 (abs {a})) {mean} 3)"),
        9 => format!("(negative_binomial_mean (exp (sin {mean})) 2)"),
        10 => format!("(skew_normal {mean} 3 2)"),
        _ => format!("(gumbel {mean} 3)"),
    };
    rows(w, expr);
}

/// A path as one vector, seen through noise.
pub fn path(w: &mut Writer) {
    let (s, v, x) = (w.name("s"), w.name("v"), w.name("x"));
    let scale = w.tagged(&["line", "smooth"], "(gamma 3 4)".to_owned());
    w.assume(&s, scale);
    let a = w.atom();
    let law = match w.rng.below(4) {
        0 => format!("(random_walk 3 {s})"),
        1 => format!("(random_walk 3 {s} {a})"),
        2 => format!("(ar 3 (vector 0.6 -0.2) {s} {a})"),
        _ => format!("(multivariate_normal (zeros 3) (cov_matern32 (vector 0 1 2) {s} 1))"),
    };
    let choice = w.tagged(&["smooth"], law);
    w.assume(&v, choice);
    w.assume(&x, format!("(lookup {v} 2)"));
    w.observe(format!("(normal (lookup {v} 1) 0.8)"));
    w.observe(format!("(poisson_log (sin {x}))"));
    w.reals.push(x);
}

/// Correlated effects.
pub fn correlated(w: &mut Writer) {
    let (l, v, x) = (w.name("l"), w.name("v"), w.name("x"));
    let is_factor = w.coin();
    let law = if is_factor { "(lkj_cholesky 2 1.5)" } else { "(lkj 2 1.5)" };
    let choice = w.tagged(&["smooth"], law.to_owned());
    w.assume(&l, choice);
    let a = w.atom();
    let law = match (is_factor, w.coin()) {
        (true, _) => format!("(multivariate_normal_cholesky (vector {a} 0) {l})"),
        (false, true) => format!("(multivariate_student_t 5 (vector {a} 0) {l})"),
        (false, false) => format!("(multivariate_normal (vector {a} 0) {l})"),
    };
    let choice = w.tagged(&["smooth"], law.clone());
    w.assume(&v, choice);
    w.assume(&x, format!("(lookup {v} 1)"));
    w.observe(law);
    w.observe(format!("(normal {x} 1)"));
    w.reals.push(x);
}

/// Categories in an order whose cut points are unknown.
pub fn ordinal(w: &mut Writer) {
    let cuts = w.name("c");
    let choice = w.tagged(&["smooth"], "(ordered normal 2 0 1)".to_owned());
    w.assume(&cuts, choice);
    let law = w.one_of(&["ordered_logistic", "ordered_probit"]);
    for _ in 0..2 {
        let m = w.mean();
        w.observe(format!("({law} {m} {cuts})"));
    }
}

/// Counts of several outcomes.
pub fn tallied(w: &mut Writer) {
    let (p, a) = (w.name("p"), w.positive());
    let choice = w.tagged(&["smooth"], "(symmetric_dirichlet 1.2 3)".to_owned());
    w.assume(&p, choice);
    w.observe(format!("(multinomial 4 {p})"));
    w.observe(format!("(dirichlet_multinomial 4 (vector 1 {a} 2))"));
}
