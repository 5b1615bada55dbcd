//! What is observed in random programs: every family, after every link, with outcomes up to the ends of supports.

mod by_hand;
mod counts;
mod made_of_others;
mod more_numbers;
mod whole_vectors;

use super::numbers::{self, Range, pick};
use super::writer::Writer;

/// An observed expression, and outcomes that rows take at random.
pub struct Observed {
    /// What is observed, or a whole `[factor ...]`.
    pub expr: String,
    pub outcomes: Outcomes,
}

pub enum Outcomes {
    Numbers(Vec<f64>),
    /// Of equal length.
    Vectors(Vec<Vec<f64>>),
}

pub struct Family {
    pub name: &'static str,
    pub write: fn(&mut Writer) -> Observed,
}

pub static FAMILIES: &[Family] = &[
    Family { name: "bernoulli", write: bernoulli },
    Family { name: "bernoulli after linear_logistic", write: linear_logistic },
    Family { name: "binomial", write: binomial },
    Family { name: "poisson", write: poisson },
    Family { name: "poisson after exp", write: poisson_exp },
    Family { name: "negative_binomial", write: negative_binomial },
    Family { name: "geometric", write: geometric },
    Family { name: "normal", write: normal },
    Family { name: "normal after exp", write: normal_exp },
    Family { name: "heavy tails", write: heavy_tails },
    Family { name: "lognormal", write: lognormal },
    Family { name: "gamma", write: gamma },
    Family { name: "inv_gamma", write: inv_gamma },
    Family { name: "beta", write: beta },
    Family { name: "expon", write: expon },
    Family { name: "weibull", write: weibull },
    Family { name: "halves", write: halves },
    Family { name: "truncated_normal", write: truncated_normal },
    Family { name: "vonmises", write: vonmises },
    Family { name: "uniform", write: uniform },
    Family { name: "categorical", write: categorical },
    Family { name: "categorical after normalised exps", write: softmax },
    Family { name: "multivariate_diag_normal", write: diag_normal },
    Family { name: "multivariate_normal", write: multivariate_normal },
    Family { name: "dirichlet", write: dirichlet },
    Family { name: "bernoulli_logit", write: counts::bernoulli_logit },
    Family { name: "poisson_log", write: counts::poisson_log },
    Family { name: "categorical_logit", write: counts::categorical_logit },
    Family { name: "ordered categories", write: counts::ordered_category },
    Family { name: "beta_binomial", write: counts::beta_binomial },
    Family { name: "hypergeometric", write: counts::hypergeometric },
    Family { name: "negative_binomial_mean", write: counts::negative_binomial_mean },
    Family { name: "uniform_discrete", write: counts::uniform_discrete },
    Family { name: "skew_normal", write: more_numbers::skew_normal },
    Family { name: "gumbel", write: more_numbers::gumbel },
    Family { name: "pareto", write: more_numbers::pareto },
    Family { name: "inverse_gaussian", write: more_numbers::inverse_gaussian },
    Family { name: "beta_mean", write: more_numbers::beta_mean },
    Family { name: "chi_squared", write: more_numbers::chi_squared },
    Family { name: "student_t of unknown freedom", write: more_numbers::student_t },
    Family { name: "zero_inflated", write: made_of_others::zero_inflated },
    Family { name: "hurdle", write: made_of_others::hurdle },
    Family { name: "mixture", write: made_of_others::mixture },
    Family { name: "mixture of counts", write: made_of_others::mixture_of_counts },
    Family { name: "truncate", write: made_of_others::truncate },
    Family { name: "truncate counts", write: made_of_others::truncate_counts },
    Family { name: "censor", write: made_of_others::censor },
    Family { name: "censor counts", write: made_of_others::censor_counts },
    Family { name: "multivariate_normal_cholesky", write: whole_vectors::cholesky },
    Family { name: "multivariate_student_t", write: whole_vectors::student_t },
    Family { name: "Gaussian process", write: whole_vectors::gaussian_process },
    Family { name: "random_walk", write: whole_vectors::random_walk },
    Family { name: "ar", write: whole_vectors::ar },
    Family { name: "counts of outcomes", write: whole_vectors::counts_of_outcomes },
    Family { name: "a choice of a matrix", write: whole_vectors::matrices },
    Family { name: "factor", write: by_hand::factor },
    Family { name: "factor of a density", write: by_hand::log_density },
    Family { name: "factor of a tail", write: by_hand::tail },
    Family { name: "through cdf and quantile", write: by_hand::through_quantile },
];

fn numbers(expr: String, outcomes: Vec<f64>) -> Observed {
    Observed { expr, outcomes: Outcomes::Numbers(outcomes) }
}

fn bernoulli(w: &mut Writer) -> Observed {
    let (name, p) = (w.one_of(&["bernoulli", "flip"]), w.probability());
    numbers(format!("({name} {p})"), vec![0.0, 1.0])
}

fn linear_logistic(w: &mut Writer) -> Observed {
    let (v, x) = (w.vector(3), w.covariates(2));
    numbers(format!("(bernoulli (linear_logistic {v} {x}))"), vec![0.0, 1.0])
}

fn binomial(w: &mut Writer) -> Observed {
    let n = numbers::trials(&mut w.rng, w.range);
    let p = w.probability();
    numbers(format!("(binomial {n} {p})"), vec![0.0, n, (n / 2.0).floor(), 1.0])
}

fn poisson(w: &mut Writer) -> Observed {
    let rate = w.positive();
    numbers(format!("(poisson {rate})"), numbers::counts(w.range))
}

fn poisson_exp(w: &mut Writer) -> Observed {
    let eta = w.predictor();
    numbers(format!("(poisson (exp {eta}))"), numbers::counts(w.range))
}

fn negative_binomial(w: &mut Writer) -> Observed {
    let (r, p) = (w.positive(), w.probability());
    numbers(format!("(negative_binomial {r} {p})"), numbers::counts(w.range))
}

fn geometric(w: &mut Writer) -> Observed {
    let p = w.probability();
    numbers(format!("(geometric {p})"), numbers::counts(w.range))
}

fn normal(w: &mut Writer) -> Observed {
    let (m, s) = (w.predictor(), w.positive());
    numbers(format!("(normal {m} {s})"), numbers::reals(w.range))
}

fn normal_exp(w: &mut Writer) -> Observed {
    let (m, eta) = (w.one_of(&["0", "1"]), w.predictor());
    let scale = w.one_of(&["(exp eta)", "(exp (/ eta 2))", "(exp (* 0.5 eta))"]);
    numbers(format!("(normal {m} {})", scale.replace("eta", &eta)), numbers::reals(w.range))
}

fn heavy_tails(w: &mut Writer) -> Observed {
    let name = w.one_of(&["cauchy", "laplace", "logistic_dist", "student_t 4", "student_t 1"]);
    let (m, s) = (w.predictor(), w.positive());
    numbers(format!("({name} {m} {s})"), numbers::reals(w.range))
}

fn lognormal(w: &mut Writer) -> Observed {
    let (m, s) = (w.predictor(), w.positive());
    numbers(format!("(lognormal {m} {s})"), numbers::positives(w.range, false))
}

fn gamma(w: &mut Writer) -> Observed {
    let (a, b) = (w.positive(), w.positive());
    numbers(format!("(gamma {a} {b})"), numbers::positives(w.range, false))
}

fn inv_gamma(w: &mut Writer) -> Observed {
    let (a, b) = (w.positive(), w.positive());
    numbers(format!("(inv_gamma {a} {b})"), numbers::positives(w.range, false))
}

fn beta(w: &mut Writer) -> Observed {
    let (a, b) = (w.positive(), w.positive());
    numbers(format!("(beta {a} {b})"), numbers::units(w.range))
}

fn expon(w: &mut Writer) -> Observed {
    let rate = w.positive();
    numbers(format!("(expon {rate})"), numbers::positives(w.range, true))
}

fn weibull(w: &mut Writer) -> Observed {
    let (k, s) = (w.one_of(&["1", "2", "1.5"]), w.positive());
    numbers(format!("(weibull {k} {s})"), numbers::positives(w.range, true))
}

fn halves(w: &mut Writer) -> Observed {
    let name = w.one_of(&["half_normal", "half_cauchy", "half_student_t 3"]);
    let s = w.positive();
    numbers(format!("({name} {s})"), numbers::positives(w.range, true))
}

fn truncated_normal(w: &mut Writer) -> Observed {
    let (m, s) = (w.predictor(), w.positive());
    numbers(format!("(truncated_normal {m} {s} -1 2)"), vec![-1.0, 0.0, 0.7, 2.0])
}

fn vonmises(w: &mut Writer) -> Observed {
    // Differences of a function that goes round and round show nothing.
    let (m, k) = (w.real(), w.positive());
    numbers(format!("(vonmises {m} {k})"), vec![-3.1, 0.0, 1.0, 3.1])
}

/// The ends of the support move.
fn uniform(w: &mut Writer) -> Observed {
    let s = w.positive();
    numbers(format!("(uniform_continuous 0 {s})"), vec![0.0, 0.2, 0.5])
}

fn categorical(w: &mut Writer) -> Observed {
    let (p, q) = (w.probability(), w.simplex());
    let weights = match w.rng.below(3) {
        0 => format!("(vector {p} (- 1 {p}) 0)"),
        1 => "(vector 0 0.4 0.6)".to_owned(),
        _ => q,
    };
    numbers(format!("(categorical {weights})"), vec![0.0, 1.0, 1.0, 2.0])
}

fn softmax(w: &mut Writer) -> Observed {
    let (a, b) = (w.predictor(), w.predictor());
    let weights = match w.coin() {
        true => format!("(normalize (vector (exp {a}) (exp {b}) 1))"),
        false => format!("(normalize (vector 1 (exp {a}) (exp (- {a}))))"),
    };
    numbers(format!("(categorical {weights})"), vec![0.0, 1.0, 2.0])
}

fn vectors(expr: String, outcomes: Vec<Vec<f64>>) -> Observed {
    Observed { expr, outcomes: Outcomes::Vectors(outcomes) }
}

fn diag_normal(w: &mut Writer) -> Observed {
    let len = pick(&mut w.rng, &[1, 2]);
    let (m, s, x) = (w.vector(len), w.positive(), w.covariates(len));
    let mean = if w.coin() { m } else { format!("(* {m} {x})") };
    let reals = numbers::reals(w.range);
    let outcomes = reals.iter().map(|y| vec![*y; len]).collect();
    vectors(format!("(multivariate_diag_normal {mean} (fill {len} {s}))"), outcomes)
}

fn multivariate_normal(w: &mut Writer) -> Observed {
    let len = pick(&mut w.rng, &[1, 2]);
    let (m, s) = (w.vector(len), w.positive());
    let scale = match w.range {
        Range::Ordinary => "1".to_owned(),
        Range::Extreme => s,
    };
    let covariance = format!("(scale_matrix {scale} (id_matrix {len}))");
    let reals = numbers::reals(Range::Ordinary);
    let outcomes = reals.iter().map(|y| vec![*y; len]).collect();
    vectors(format!("(multivariate_normal {m} {covariance})"), outcomes)
}

fn dirichlet(w: &mut Writer) -> Observed {
    let (a, b) = (w.positive(), w.positive());
    let outcomes = vec![vec![0.2, 0.3, 0.5], vec![1e-9, 1.0 - 2e-9, 1e-9]];
    vectors(format!("(dirichlet (vector {a} {b} 1))"), outcomes)
}
