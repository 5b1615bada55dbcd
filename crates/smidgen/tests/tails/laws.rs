//! Laws whose parameter is known through a link, with their closed forms as functions of η, and the ways by which such a
//! parameter comes to them.

use smidgen::value::math::{HALF_LN_2PI, LN_2, LN_PI, exp, ln, ln_1p_exp, log_logistic, logistic};

/// A law with P in the place of its parameter, an outcome, and log p with its slope in η.
pub struct Law {
    pub law: &'static str,
    pub outcome: &'static str,
    pub log_p: fn(f64) -> f64,
    pub slope: fn(f64) -> f64,
    /// Up to which η log p is a finite number of some accuracy.
    pub most: f64,
}

/// Laws of one link: P is LINK(a), or what stands for it.
pub struct Tail {
    /// What is assumed, and the expression of the parameter.
    pub ways: &'static [(&'static str, &'static str)],
    pub laws: &'static [Law],
}

pub const TAILS: [Tail; 2] = [
    Tail { ways: WAYS_OF_ODDS, laws: LAWS_OF_ODDS },
    Tail { ways: WAYS_OF_LOGS, laws: LAWS_OF_LOGS },
];

const WAYS_OF_ODDS: &[(&str, &str)] = &[
    ("", "(logistic a)"),
    ("", "(linear_logistic (vector 0 a) (vector 1))"),
    ("", "(linear_logistic (vector a 1) (vector (* 0 a)))"),
    ("", "(let ((p (logistic a))) p)"),
    ("", "(if (< 0 1) (logistic a) 0.3)"),
    ("", "(if (< a 2000) (logistic a) 0.3)"),
    ("", "(probability (logistic a))"),
    ("", "(- 1 (logistic (- 0 a)))"),
    ("", "(- 1 (- 1 (logistic a)))"),
    ("", "(lookup (array 0.2 (logistic a)) 1)"),
    ("", "(first (list (logistic a) 3))"),
    ("[assume k (uniform_discrete 0 2)] [force k 1]", "(lookup (array 0.2 (logistic a)) k)"),
    ("[assume k (uniform_discrete 0 2)] [force k 1]", "(biplex k (logistic a) (logistic 3))"),
    ("[assume k (uniform_discrete 0 2)] [force k 1]", "(if (= k 1) (logistic a) 0.5)"),
    ("[assume p (logistic a)]", "p"),
    ("[assume q (logistic (- 0 a))]", "(- 1 q)"),
    ("[assume p (mem (lambda (i) (logistic (+ a (* 0 i)))))]", "(p 1)"),
    ("[assume k (flip 0.5)] [force k true] [assume p (if k (logistic a) 0.5)]", "p"),
];

const WAYS_OF_LOGS: &[(&str, &str)] = &[
    ("", "(exp a)"),
    ("", "(let ((s (exp a))) s)"),
    ("", "(real (exp a))"),
    ("", "(exp (log (exp a)))"),
    ("", "(lookup (array 0.2 (exp a)) 1)"),
    ("[assume k (uniform_discrete 0 2)] [force k 1]", "(lookup (array 0.2 (exp a)) k)"),
    ("[assume k (uniform_discrete 0 2)] [force k 1]", "(biplex k (exp a) 0.5)"),
    ("[assume s (exp a)]", "s"),
    ("[assume s (mem (lambda (i) (exp (+ a (* 0 i)))))]", "(s 1)"),
    ("[assume k (flip 0.5)] [force k true] [assume s (if k (exp a) 0.5)]", "s"),
];

/// k log σ(η) + m log σ(-η) + log(ways)
fn coins(eta: f64, k: f64, m: f64, ways: f64) -> f64 {
    let times = |n: f64, log_p: f64| if n == 0.0 { 0.0 } else { n * log_p };
    times(k, log_logistic(eta)) + times(m, log_logistic(-eta)) + ln(ways)
}

fn coins_slope(eta: f64, k: f64, m: f64) -> f64 {
    k * logistic(-eta) - m * logistic(eta)
}

macro_rules! coin {
    ($law:literal, $outcome:literal, $k:literal, $m:literal, $ways:literal) => {
        Law {
            law: $law,
            outcome: $outcome,
            log_p: |eta| coins(eta, $k, $m, $ways),
            slope: |eta| coins_slope(eta, $k, $m),
            most: f64::INFINITY,
        }
    };
}

const LAWS_OF_ODDS: &[Law] = &[
    coin!("(bernoulli P)", "1", 1.0, 0.0, 1.0),
    coin!("(bernoulli P)", "0", 0.0, 1.0, 1.0),
    coin!("(flip P)", "true", 1.0, 0.0, 1.0),
    coin!("(flip P)", "false", 0.0, 1.0, 1.0),
    coin!("(binomial 5 P)", "2", 2.0, 3.0, 10.0),
    coin!("(binomial 5 P)", "0", 0.0, 5.0, 1.0),
    coin!("(binomial 5 P)", "5", 5.0, 0.0, 1.0),
    coin!("(geometric P)", "3", 1.0, 3.0, 1.0),
    coin!("(negative_binomial 2 P)", "3", 2.0, 3.0, 4.0),
];

macro_rules! by_log {
    ($law:literal, $outcome:literal, $log_p:expr, $slope:expr) => {
        by_log!($law, $outcome, $log_p, $slope, f64::INFINITY)
    };
    ($law:literal, $outcome:literal, $log_p:expr, $slope:expr, $most:expr) => {
        Law { law: $law, outcome: $outcome, log_p: $log_p, slope: $slope, most: $most }
    };
}

/// log(1 + z²) and its slope in η, for z = e^-η.
fn log_1p_square(eta: f64) -> f64 {
    ln_1p_exp(-2.0 * eta)
}

fn square_slope(eta: f64) -> f64 {
    -2.0 * logistic(-2.0 * eta)
}

const LN_3: f64 = 1.098_612_288_668_109_8;

/// log(1 + z²/3) likewise, and the constant of three degrees of freedom.
fn third(eta: f64) -> f64 {
    ln_1p_exp(-2.0 * eta - LN_3)
}

const STUDENT_3: f64 = -1.000_888_849_623_509_5;

const LAWS_OF_LOGS: &[Law] = &[
    by_log!("(poisson P)", "3", |e| 3.0 * e - exp(e) - ln(6.0), |e| 3.0 - exp(e), 100.0),
    by_log!("(poisson P)", "0", |e| -exp(e), |e| -exp(e), 100.0),
    by_log!("(normal 0 P)", "0", |e| -e - HALF_LN_2PI, |_| -1.0),
    by_log!("(half_normal P)", "0", |e| LN_2 - e - HALF_LN_2PI, |_| -1.0),
    by_log!("(lognormal 0 P)", "1", |e| -e - HALF_LN_2PI, |_| -1.0),
    by_log!("(laplace 0 P)", "0", |e| -e - LN_2, |_| -1.0),
    by_log!("(logistic_dist 0 P)", "0", |e| -e - 2.0 * LN_2, |_| -1.0),
    by_log!("(cauchy 0 P)", "1", |e| -LN_PI - e - log_1p_square(e), |e| -1.0 - square_slope(e)),
    by_log!("(half_cauchy P)", "1", |e| LN_2 - LN_PI - e - log_1p_square(e), |e| -1.0
        - square_slope(e)),
    by_log!("(student_t 3 0 P)", "1", |e| STUDENT_3 - e - 2.0 * third(e), |e| -1.0
        + 4.0 * logistic(-2.0 * e - LN_3)),
    by_log!("(half_student_t 3 P)", "1", |e| LN_2 + STUDENT_3 - e - 2.0 * third(e), |e| -1.0
        + 4.0 * logistic(-2.0 * e - LN_3)),
    by_log!("(expon P)", "0", |e| e, |_| 1.0),
    by_log!("(gamma 2 P)", "1e-300", |e| 2.0 * e + ln(1e-300) - exp(e + ln(1e-300)), |e| 2.0
        - exp(e + ln(1e-300))),
    by_log!(
        "(inv_gamma 2 P)",
        "1e300",
        |e| 2.0 * e - 3.0 * ln(1e300) - exp(e - ln(1e300)),
        |e| 2.0 - exp(e - ln(1e300))
    ),
    by_log!("(weibull 0.5 P)", "1", |e| -LN_2 - 0.5 * e - exp(-0.5 * e), |e| -0.5
        + 0.5 * exp(-0.5 * e)),
    by_log!("(categorical (array P 1))", "0", log_logistic, |e| logistic(-e)),
    by_log!("(categorical (array P 1))", "1", |e| log_logistic(-e), |e| -logistic(e)),
];
