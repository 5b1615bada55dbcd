//! Total mass is one.

use crate::distributions_common::Call;
use smidgen_prob::Support;
use smidgen_value::{Matrix, Rng, Value, math};

/// Total mass by the trapezoid rule in a coordinate in which the law decays doubly
/// exponentially: y = m + s sinh t, with y the value, its logarithm or its logit.
fn integral(law: &Call) -> f64 {
    let support = law.support();
    let (low, high) = match support {
        Support::Interval { low, high } => (low, high),
        // A circle cut open.
        Support::Circle => (-math::PI, math::PI),
        support => {
            assert_eq!(support, Support::Reals);
            return integral_in(law, &|x| x, &|y| (y, 0.0));
        }
    };
    let log_slope = |y: f64| -math::ln_1p_exp(-y) - math::ln_1p_exp(y);
    match (low.is_finite(), high.is_finite()) {
        (true, false) => integral_in(law, &|x| math::ln(x - low), &|y| (low + math::exp(y), y)),
        (false, true) => integral_in(law, &|x| math::ln(high - x), &|y| (high - math::exp(y), y)),
        (true, true) => integral_in(law, &|x| math::ln((x - low) / (high - x)), &|y| {
            (low + (high - low) * math::logistic(y), math::ln(high - low) + log_slope(y))
        }),
        (false, false) => integral_in(law, &|x| x, &|y| (y, 0.0)),
    }
}

/// `place` gives the value at a coordinate, and the logarithm of its slope.
fn integral_in(law: &Call, to: &dyn Fn(f64) -> f64, place: &dyn Fn(f64) -> (f64, f64)) -> f64 {
    let mut rng = Rng::from_seed(1);
    let mut pilot: Vec<f64> = (0..1001).map(|_| to(law.draw(&mut rng))).collect();
    pilot.sort_by(f64::total_cmp);
    let (middle, spread) = (pilot[500], pilot[750] - pilot[250]);
    let per_unit = 500;
    let term = |i: i32| {
        let t = f64::from(i) / f64::from(per_unit);
        let sinh = 0.5 * (math::exp(t) - math::exp(-t));
        let cosh = 0.5 * (math::exp(t) + math::exp(-t));
        let (x, log_slope) = place(middle + spread * sinh);
        if !x.is_finite() {
            return 0.0;
        }
        math::exp(law.log_density(&Value::Number(x)) + log_slope) * spread * cosh
    };
    let sum: f64 = (-30 * per_unit..=30 * per_unit).map(term).filter(|t| t.is_finite()).sum();
    sum / f64::from(per_unit)
}

#[test]
fn continuous_densities_integrate_to_one() {
    for text in [
        "normal 3 2",
        "beta 2 3",
        "beta 0.5 3",
        "beta 1e6 2e6",
        "gamma 2 3",
        "gamma 0.05 3",
        "gamma 1e6 1",
        "inv_gamma 3 2",
        "inv_gamma 0.5 10",
        "expon 3",
        "student_t 4",
        "student_t 1 3 0.1",
        "student_t 1e8 1 2",
        "cauchy -1 3",
        "logistic_dist 1 3",
        "lognormal 1 2",
        "weibull 0.5 3",
        "weibull 7 3",
        "chi_squared 3",
        "half_normal 3",
        "half_cauchy 3",
        "half_student_t 3 2",
        "truncated_normal 0 1 -1 2",
        "truncated_normal 0 1 10 11",
        "truncated_normal 0 1 40 inf",
        "truncated_normal 0 1 -inf -3",
        "vonmises 1 3",
        "vonmises 0 0",
        "vonmises 0 500",
        "uniform_continuous -3 5",
        "skew_normal 1 2 3",
        "truncate normal -1 2 0.5 1",
        "truncate gamma 1 4 2 1",
        "truncate student_t 2 inf 3 0 1",
        "truncate lognormal -inf 2 0 1",
        "mixture [1,3] normal (0,1) cauchy (3,0.5)",
        "mixture [1,3,2] gamma (2,1) lognormal (1,0.5) expon (3)",
        "skew_normal 1 2 -30",
        "beta_mean 0.3 5",
        "beta_mean 0.3 1e6",
        "inverse_gaussian 2 3",
        "inverse_gaussian 5 0.1",
        "gumbel 1 2",
        "pareto 2 0.5",
        "pareto 2 30",
    ] {
        let total = integral(&Call::new(text));
        assert!((total - 1.0).abs() < 1e-9, "{text}: {total}");
    }
    // The trapezoid rule sees the kink.
    let total = integral(&Call::new("laplace 1 3"));
    assert!((total - 1.0).abs() < 1e-6, "laplace: {total}");
}

#[test]
fn enumerable_probabilities_sum_to_one() {
    for text in [
        "bernoulli 0.3",
        "bernoulli 0",
        "flip 0.7",
        "flip 1",
        "binomial 20 0.3",
        "binomial 10000 0.37",
        "binomial 0 0.5",
        "geometric 1",
        "negative_binomial 3 1",
        "categorical [2,0,3]",
        "categorical_logit [2,0,-3,-inf]",
        "bernoulli_logit 0.7",
        "bernoulli_logit -inf",
        "beta_binomial 20 2 3",
        "beta_binomial 1000 0.1 1e-3",
        "beta_binomial 10000 1e5 1e3",
        "beta_binomial 0 1 1",
        "hypergeometric 5 6 7",
        "hypergeometric 12 6 7",
        "hypergeometric 400 1000 2000",
        "hypergeometric 0 0 0",
        "ordered_logistic 0.3 [-1,0.5,2]",
        "ordered_logistic -30 [-1,0.5,2]",
        "ordered_probit 0.3 [-1,0.5,2]",
        "ordered_probit 8 [-1,0.5,2]",
        "dirichlet_multinomial 5 [0.2,3,0.5]",
        "dirichlet_multinomial 30 [1e-3,1e3,1]",
        "categorical (1,2,3) (a,b,a)",
        "uniform_discrete -3 8",
        "multinomial 5 [0.2,0.3,0.5]",
        "multinomial 30 [0.2,0,0.3,0.5]",
    ] {
        let law = Call::new(text);
        let values = law.enumerate().unwrap_or_else(|| panic!("{text} is finite"));
        let total: f64 = values.iter().map(|x| math::exp(law.log_density(x))).sum();
        assert!((total - 1.0).abs() < 1e-12, "{text}: {total}");
    }
}

#[test]
fn probabilities_of_counts_sum_to_one() {
    for (text, last) in [
        ("geometric 0.1", 500),
        ("negative_binomial 2.5 0.1", 700),
        ("negative_binomial 0.01 0.1", 700),
        ("poisson 4", 100),
        ("poisson_log 1.5", 100),
        ("truncate poisson 2 6 4", 10),
        ("truncate negative_binomial_mean 3.5 inf 4 2", 300),
        ("censor poisson 2 6 4", 10),
        ("zero_inflated poisson 0.3 4", 100),
        ("zero_inflated binomial 0.3 20 0.4", 20),
        ("hurdle poisson 0.3 4", 100),
        ("hurdle poisson 0.3 1e-9", 100),
        ("hurdle negative_binomial_mean 0 4 0.5", 1000),
        ("mixture [1,2] poisson (1) poisson (40)", 200),
        ("poisson_log -inf", 10),
        ("negative_binomial_mean 4 2.5", 200),
        ("negative_binomial_mean 4 0.05", 10_000),
        ("negative_binomial_mean 2000 1e5", 4000),
        ("poisson 2000", 4000),
        ("binomial 20000 0.3", 20_000),
    ] {
        let law = Call::new(text);
        let total: f64 = (0..=last).map(|k| law.density(f64::from(k))).sum();
        assert!((total - 1.0).abs() < 1e-12, "{text}: {total}");
    }
}

/// The points from -reach to reach, `step` apart.
fn grid(reach: f64, step: f64) -> impl Iterator<Item = f64> + Clone {
    let n = (reach / step) as i32;
    (-n..=n).map(move |i| f64::from(i) * step)
}

#[test]
fn vector_densities_integrate_to_one() {
    let step = 0.2;
    for text in [
        "multivariate_normal [0.3,-0.2] [2,0.5;0.5,1]",
        "multivariate_diag_normal [0.3,-0.2] [1.5,0.7]",
        "multivariate_normal_cholesky [0.3,-0.2] [1.5,0;0.4,0.7]",
        "multivariate_student_t 40 [0.3,-0.2] [1,0.25;0.25,0.5]",
        "random_walk 2 0.8 0.3",
        "ar 2 [0.5,0.25] 0.8 0.3",
    ] {
        let law = Call::new(text);
        let at = |x: f64, y: f64| math::exp(law.log_density(&Value::vector([x, y])));
        let sum: f64 = grid(15.0, step)
            .flat_map(|x| grid(15.0, step).map(move |y| (x, y)))
            .map(|(x, y)| at(x, y))
            .sum();
        assert!((sum * step * step - 1.0).abs() < 1e-9, "{text}: {}", sum * step * step);
    }
    // On the simplex by stick breaking, each stick in its logit.
    for text in ["dirichlet [0.5,2,3.5]", "dirichlet [20,20,30]", "symmetric_dirichlet 1.5 3"] {
        let law = Call::new(text);
        let mut sum = 0.0;
        for u in grid(60.0, step) {
            for v in grid(60.0, step) {
                let (a, rest) = (math::logistic(u), math::logistic(-u));
                let x = [a, rest * math::logistic(v), rest * math::logistic(-v)];
                let slope = a * rest * rest * math::logistic(v) * math::logistic(-v);
                let density = math::exp(law.log_density(&Value::vector(x)));
                sum += if slope > 0.0 { density * slope } else { 0.0 };
            }
        }
        assert!((sum * step * step - 1.0).abs() < 1e-9, "{text}: {}", sum * step * step);
    }
}

/// Over X = L L' with L = (e^u, 0; w, e^v): dX = 4 e^3u e^2v du dv dw.
#[test]
fn matrix_densities_integrate_to_one() {
    let step = 0.125;
    for text in ["wishart [2,0.5;0.5,1] 4.5", "inv_wishart [20,5;5,10] 9.5"] {
        let law = Call::new(text);
        let mut sum = 0.0;
        for u in grid(6.0, step) {
            for v in grid(6.0, step) {
                for s in grid(4.0, 0.5 * step) {
                    let (w, slope) = (math::exp(s) - math::exp(-s), math::exp(s) + math::exp(-s));
                    let (a, b) = (math::exp(u), math::exp(v));
                    let x = Matrix::new(2, 2, vec![a * a, a * w, a * w, w * w + b * b]);
                    let density = math::exp(law.log_density(&Value::matrix(x)));
                    sum += density * slope * 4.0 * a * a * a * b * b;
                }
            }
        }
        let total = sum * step * step * (0.5 * step);
        // Some of the mass lies beyond the grid.
        assert!((total - 1.0).abs() < 1e-6, "{text}: {total}");
    }
}

/// With two correlations tanh u and tanh v and a third that makes up tanh w of what they leave free.
#[test]
fn densities_of_correlations_integrate_to_one() {
    let step = 0.125;
    for text in ["lkj 3 2", "lkj 3 1", "lkj 3 4.5", "lkj_cholesky 3 2", "lkj_cholesky 3 4.5"] {
        let law = Call::new(text);
        let is_factor = text.starts_with("lkj_cholesky");
        let tanh = |t: f64| 2.0 * math::logistic(2.0 * t) - 1.0;
        let mut sum = 0.0;
        for u in grid(9.0, step) {
            for v in grid(9.0, step) {
                for w in grid(9.0, step) {
                    let (a, b, c) = (tanh(u), tanh(v), tanh(w));
                    let (p, q, r) = (1.0 - a * a, 1.0 - b * b, 1.0 - c * c);
                    let (x, free) = if is_factor {
                        let rest = math::sqrt(q);
                        let l = vec![
                            1.,
                            0.,
                            0.,
                            a,
                            math::sqrt(p),
                            0.,
                            b,
                            rest * c,
                            rest * math::sqrt(r),
                        ];
                        (Matrix::new(3, 3, l), rest)
                    } else {
                        let free = math::sqrt(p * q);
                        let third = a * b + free * c;
                        (Matrix::new(3, 3, vec![1., a, b, a, 1., third, b, third, 1.]), free)
                    };
                    let density = math::exp(law.log_density(&Value::matrix(x)));
                    sum += density * p * q * r * free;
                }
            }
        }
        let total = sum * step * step * step;
        // Near the edge a matrix is singular to rounding.
        assert!((total - 1.0).abs() < 1e-6, "{text}: {total}");
    }
}
