//! Samplers against their densities, with fixed seeds at significance 10^-6. Each method of
//! testing also has to catch a sampler that is slightly wrong.

mod distributions_common;

use distributions_common::{Call, significance, value};
use smidgen_prob::Support;
use smidgen_value::{Rng, Value, math};

const SIGNIFICANCE: f64 = 1e-6;
const PILOT: usize = 20_000;
const DRAWS: usize = 100_000;

// ---------------------------------------------------------------- one number

/// The probability of [low, high) by Simpson's rule, or by summing if the law is discrete.
fn mass(law: &Call, low: f64, high: f64) -> f64 {
    let support = law.support();
    if !support.is_continuous() {
        let first = low.ceil();
        return (0..(high.ceil() - first) as usize).map(|i| law.density(first + i as f64)).sum();
    }
    let simpson = |from: f64, to: f64, f: &dyn Fn(f64) -> f64| {
        let n = 400;
        let h = (to - from) / f64::from(n);
        let weight = |i| if i == 0 || i == n { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
        (0..=n).map(|i| weight(i) * f(from + h * f64::from(i))).sum::<f64>() * h / 3.0
    };
    match support {
        // In log(x - end), because a density may have a pole at the end.
        Support::Interval { low: end, .. } if end.is_finite() && low > end => {
            simpson(math::ln(low - end), math::ln(high - end), &|t| {
                let distance = math::exp(t);
                law.density(end + distance) * distance
            })
        }
        _ => simpson(low, high, &|x| law.density(x)),
    }
}

/// The significance of draws against a law. Bins end at the quantiles of other draws, so that
/// they suit the law, but are fixed before those that count are seen.
fn significance_of(mut draw: impl FnMut(&mut Rng) -> f64, law: &Call, seed: u64) -> f64 {
    let mut rng = Rng::from_seed(seed);
    let mut pilot: Vec<f64> = (0..PILOT).map(|_| draw(&mut rng)).collect();
    pilot.sort_by(f64::total_cmp);
    let mut ends: Vec<f64> = (1..40).map(|i| pilot[i * PILOT / 40]).collect();
    if !law.support().is_continuous() {
        // A bin for the last value too.
        let last = ends[ends.len() - 1];
        ends.push(last + 1.0);
    }
    ends.dedup();
    let mut probabilities: Vec<f64> = ends.windows(2).map(|e| mass(law, e[0], e[1])).collect();
    let inside: f64 = probabilities.iter().sum();
    assert!(inside < 1.0 + 1e-6, "{}: the bins have mass {inside}", law.text);
    probabilities.push((1.0 - inside).max(0.0));
    let mut counts = vec![0.0; probabilities.len()];
    for _ in 0..DRAWS {
        let x = draw(&mut rng);
        let place = ends.partition_point(|end| *end <= x);
        let bin = if place == 0 || place == ends.len() { counts.len() } else { place };
        counts[bin - 1] += 1.0;
    }
    significance(&counts, &probabilities)
}

fn check(laws: &[&str]) {
    for (i, text) in laws.iter().enumerate() {
        let law = Call::new(text);
        let p = significance_of(|rng| law.draw(rng), &law, 1000 + i as u64);
        assert!(p > SIGNIFICANCE, "{text}: {p:e}");
    }
}

#[test]
fn continuous_samplers_follow_their_densities() {
    check(&[
        "normal 0 1",
        "normal 100 0.01",
        "uniform_continuous -1 3",
        "uniform_continuous 1e10 10000000001",
        "beta 2 3",
        "beta 0.5 0.5",
        "beta 0.05 0.3",
        "beta 1 1",
        "beta 1 0.5",
        "beta 1e6 2e6",
        "beta 0.3 1e5",
        "gamma 2 3",
        "gamma 1 3",
        "gamma 0.5 1",
        "gamma 0.02 1e3",
        "gamma 1e6 1e-3",
        "inv_gamma 3 2",
        "inv_gamma 0.5 1e-3",
        "inv_gamma 1e5 1e5",
        "expon 2.5",
        "student_t 4",
        "student_t 0.5 3 2",
        "student_t 1e8 -1 5",
        "cauchy 1 2",
        "laplace 1 2",
        "logistic_dist 1 2",
        "lognormal 0.5 1.5",
        "weibull 1.5 2",
        "weibull 0.2 1",
        "chi_squared 3",
        "chi_squared 0.7",
        "half_normal 2",
        "half_cauchy 3",
        "half_student_t 3 2",
        "truncated_normal 0 1 -1 2",
        "truncated_normal 0 1 -0.1 0.3",
        "truncated_normal 0 1 0 inf",
        "truncated_normal 0 1 0.5 1.5",
        "truncated_normal 0 1 1 5",
        "truncated_normal 0 1 10 11",
        "truncated_normal 0 1 40 inf",
        "truncated_normal 0 1 1000 1000.0005",
        "truncated_normal 2 3 -inf -10",
        "truncated_normal 2 3 -inf 4",
        "vonmises 0 2",
        "vonmises 3 5",
        "vonmises -3 0.5",
        "vonmises 1 0",
        "vonmises 1 1e-9",
        "vonmises 20 100",
        "vonmises 0.5 1e6",
        "vonmises 0.5 1e18",
        "skew_normal 1 2 3",
        "truncate normal -1 2 0.5 1",
        "truncate normal 10 11 0 1",
        "truncate gamma 1 4 2 1",
        "truncate cauchy -inf -50 0 1",
        "mixture [1,3] normal (0,1) cauchy (3,0.5)",
        "mixture [0,3] normal (0,1) gamma (3,0.5)",
        "skew_normal 1 2 -0.5",
        "skew_normal 0 1 100",
        "beta_mean 0.3 5",
        "beta_mean 0.9 1e5",
        "inverse_gaussian 2 3",
        "inverse_gaussian 1e3 0.1",
        "inverse_gaussian 1 1e6",
        "gumbel 1 2",
        "pareto 2 0.5",
        "pareto 2 30",
    ]);
}

#[test]
fn discrete_samplers_follow_their_probabilities() {
    check(&[
        "bernoulli 0.3",
        "bernoulli",
        "binomial 20 0.3",
        "binomial 20 0.9",
        "binomial 1000 0.004",
        "binomial 1000 0.4",
        "binomial 1000000000 0.3",
        "binomial 1000000000 0.9999999",
        "binomial 1000000000 5e-9",
        "binomial 1000000000000000 3e-15",
        "binomial 5000000000000 1e-12",
        "geometric 0.3",
        "geometric 0.001",
        "negative_binomial 3 0.5",
        "negative_binomial 0.3 0.05",
        "negative_binomial 1e6 0.999",
        "poisson 0.3",
        "poisson_log -1",
        "truncate poisson 2 6 4",
        "truncate poisson 20 inf 4",
        "censor poisson 2 6 4",
        "zero_inflated poisson 0.3 4",
        "zero_inflated binomial 0.3 20 0.4",
        "hurdle poisson 0.3 4",
        "hurdle poisson 0.3 0.01",
        "hurdle negative_binomial_mean 0.1 4 0.1",
        "mixture [1,2] poisson (1) poisson (40)",
        "poisson_log 5",
        "bernoulli_logit 0.7",
        "bernoulli_logit -3",
        "categorical_logit [0.7,-1,0,2]",
        "beta_binomial 20 2 3",
        "beta_binomial 1000 0.5 0.3",
        "beta_binomial 50 0.01 3",
        "hypergeometric 5 6 7",
        "hypergeometric 12 6 7",
        "hypergeometric 1000 5000 100000",
        "hypergeometric 1000000 3000000000 7000000000",
        "negative_binomial_mean 4 2",
        "negative_binomial_mean 10 0.3",
        "negative_binomial_mean 1000 1e6",
        "ordered_logistic 0.3 [-1,0.5,2]",
        "ordered_probit 0.3 [-1,0.5,2]",
        "poisson 4",
        "poisson 50",
        "poisson 1e8",
        "categorical [2,0,3,5]",
        "uniform_discrete -3 7",
    ]);
}

/// The ends are seen as often as their probabilities say.
#[test]
fn censored_draws_have_their_ends() {
    for text in ["censor normal -1 2 0.5 1", "censor gamma 1 4 2 1"] {
        let law = Call::new(text);
        let [low, high] = [1, 2].map(|i| law.args[i].as_number().expect("an end"));
        let mut rng = Rng::from_seed(9);
        let mut counts = [0.0; 3];
        for _ in 0..DRAWS {
            let x = law.draw(&mut rng);
            counts[if x == low {
                0
            } else if x == high {
                1
            } else {
                2
            }] += 1.0;
        }
        let (p, q) = (law.density(low), law.density(high));
        let p = significance(&counts, &[p, q, 1.0 - p - q]);
        assert!(p > SIGNIFICANCE, "{text}: {p:e}");
    }
}

#[test]
fn a_sampler_of_one_number_that_is_slightly_wrong_is_caught() {
    for (wrong, law) in [
        ("normal 0 1.05", "normal 0 1"),
        ("gamma 2 3.1", "gamma 2 3"),
        ("truncated_normal 2 1 40 41", "truncated_normal 0 1 40 41"),
        ("binomial 20 0.31", "binomial 20 0.3"),
        ("hypergeometric 1000 5100 99900", "hypergeometric 1000 5000 100000"),
        ("inverse_gaussian 2 3.2", "inverse_gaussian 2 3"),
        ("zero_inflated poisson 0.31 4", "hurdle poisson 0.31 4"),
        (
            "mixture [1,3.3] normal (0,1) normal (3,0.5)",
            "mixture [1,3] normal (0,1) normal (3,0.5)",
        ),
        ("ordered_probit 0.35 [-1,0.5,2]", "ordered_probit 0.3 [-1,0.5,2]"),
        ("poisson 100005000", "poisson 1e8"),
    ] {
        let (wrong, law) = (Call::new(wrong), Call::new(law));
        let p = significance_of(|rng| wrong.draw(rng), &law, 7);
        assert!(p < SIGNIFICANCE, "{} for {}: {p:e}", wrong.text, law.text);
    }
}

// ---------------------------------------------------------------- finitely many values

fn significance_of_enumerated(sampler: &Call, law: &Call) -> f64 {
    let values = law.enumerate().expect("finitely many values");
    let probabilities: Vec<f64> = values.iter().map(|x| math::exp(law.log_density(x))).collect();
    let mut counts = vec![0.0; values.len()];
    let mut rng = Rng::from_seed(5);
    for _ in 0..DRAWS {
        let x = sampler.sample(&mut rng);
        counts[values.iter().position(|v| *v == x).expect("an enumerated value")] += 1.0;
    }
    significance(&counts, &probabilities)
}

#[test]
fn enumerable_samplers_follow_their_probabilities() {
    for text in [
        "flip 0.3",
        "flip",
        "categorical (2,0,3,5)",
        "categorical [0.2,0.3,0.5] (a,b,a)",
        "categorical [1,2,3,4] (true,false,1,7)",
        "multinomial 4 [0.2,0,0.3,0.5]",
        "multinomial 7 [0.9,0.1]",
        "dirichlet_multinomial 4 [0.2,3,0.5]",
        "dirichlet_multinomial 6 [2,3]",
    ] {
        let law = Call::new(text);
        let p = significance_of_enumerated(&law, &law);
        assert!(p > SIGNIFICANCE, "{text}: {p:e}");
    }
    for (wrong, law) in [
        ("categorical [0.21,0.3,0.49]", "categorical [0.2,0.3,0.5]"),
        ("multinomial 4 [0.21,0.29,0.5]", "multinomial 4 [0.2,0.3,0.5]"),
    ] {
        let p = significance_of_enumerated(&Call::new(wrong), &Call::new(law));
        assert!(p < SIGNIFICANCE, "{wrong} for {law}: {p:e}");
    }
}

// ---------------------------------------------------------------- vectors and matrices

fn entries(x: &Value) -> Vec<f64> {
    match x {
        Value::Vector(xs) => xs.to_vec(),
        Value::Matrix(m) => m.as_slice().to_vec(),
        other => panic!("{other} has no entries"),
    }
}

/// The largest distance of a sample mean of f from its expectation, in standard errors.
fn worst_z(sampler: &Call, functions: usize, f: impl Fn(&[f64], usize) -> f64) -> f64 {
    let mut rng = Rng::from_seed(11);
    let mut sums = vec![(0.0, 0.0); functions];
    for _ in 0..DRAWS {
        let x = entries(&sampler.sample(&mut rng));
        for (i, (sum, squares)) in sums.iter_mut().enumerate() {
            let y = f(&x, i);
            *sum += y;
            *squares += y * y;
        }
    }
    let n = DRAWS as f64;
    let z = |(sum, squares): &(f64, f64)| {
        let variance = (squares / n - (sum / n) * (sum / n)).max(1e-300);
        (sum / n).abs() / (variance / n).sqrt()
    };
    sums.iter().map(z).fold(0.0, f64::max)
}

fn worst_z_of_moments(sampler: &Call, mean: &[f64], covariance: &[f64]) -> f64 {
    let d = mean.len();
    let of_mean = worst_z(sampler, d, |x, i| x[i] - mean[i]);
    let of_covariance = worst_z(sampler, d * d, |x, k| {
        let (i, j) = (k / d, k % d);
        (x[i] - mean[i]) * (x[j] - mean[j]) - covariance[k]
    });
    of_mean.max(of_covariance)
}

/// Significance 10^-6 for the worst of up to twenty.
const Z_LIMIT: f64 = 5.5;

#[test]
fn vectors_have_their_moments() {
    let dirichlet = |a: &[f64]| {
        let total: f64 = a.iter().sum();
        let mean: Vec<f64> = a.iter().map(|a| a / total).collect();
        let entry = |i: usize, j: usize| {
            (if i == j { mean[i] } else { 0.0 } - mean[i] * mean[j]) / (total + 1.0)
        };
        let d = a.len();
        let covariance = (0..d * d).map(|k| entry(k / d, k % d)).collect::<Vec<_>>();
        (mean, covariance)
    };
    let (skewed_mean, skewed) = dirichlet(&[0.5, 2.0, 3.5]);
    let (even_mean, even) = dirichlet(&[0.7; 3]);
    let cases: [(&str, &[f64], &[f64]); 10] = [
        ("multivariate_normal_cholesky [1,-1] [2,0;0.5,1]", &[1.0, -1.0], &[4.0, 1.0, 1.0, 1.25]),
        // Covariance S df / (df - 2); kurtosis is that of 12 degrees of freedom.
        ("multivariate_student_t 12 [1,-1] [2,0.5;0.5,1]", &[1.0, -1.0], &[2.4, 0.6, 0.6, 1.2]),
        ("random_walk 3 2 5", &[5.0; 3], &[4.0, 4.0, 4.0, 4.0, 8.0, 8.0, 4.0, 8.0, 12.0]),
        // x0 = e0, x1 = e0/2 + e1, x2 = x1/2 + x0/4 + e2 = e0/2 + e1/2 + e2
        ("ar 3 [0.5,0.25] 2 5", &[5.0; 3], &[4.0, 2.0, 2.0, 2.0, 5.0, 3.0, 2.0, 3.0, 6.0]),
        ("multivariate_normal [1,-1] [2,0.5;0.5,1]", &[1.0, -1.0], &[2.0, 0.5, 0.5, 1.0]),
        ("multivariate_diag_normal [1,-1] [2,0.5]", &[1.0, -1.0], &[4.0, 0.0, 0.0, 0.25]),
        ("dirichlet [0.5,2,3.5]", &skewed_mean, &skewed),
        ("symmetric_dirichlet 0.7 3", &even_mean, &even),
        (
            "multinomial 1000000 [0.25,0.75]",
            &[2.5e5, 7.5e5],
            &[187_500., -187_500., -187_500., 187_500.],
        ),
        ("multinomial 10 [0.2,0.8]", &[2.0, 8.0], &[1.6, -1.6, -1.6, 1.6]),
    ];
    for (text, mean, covariance) in cases {
        let z = worst_z_of_moments(&Call::new(text), mean, covariance);
        assert!(z < Z_LIMIT, "{text}: {z}");
    }
    let wrong = Call::new("multivariate_normal [1,-1] [2,0.55;0.55,1]");
    let z = worst_z_of_moments(&wrong, &[1.0, -1.0], &[2.0, 0.5, 0.5, 1.0]);
    assert!(z > Z_LIMIT, "{z}");
}

#[test]
fn matrices_have_their_means() {
    let scale = "[4,1,0.5;1,3,0.2;0.5,0.2,1]";
    let entries = entries(&value(scale));
    let z_of_mean =
        |text: &str, factor: f64| worst_z(&Call::new(text), 9, |x, i| x[i] - factor * entries[i]);
    for dof in [2.5, 7.0] {
        let text = format!("wishart {scale} {dof}");
        let z = z_of_mean(&text, dof);
        assert!(z < Z_LIMIT, "{text}: {z}");
    }
    for dof in [9.0, 20.5] {
        let text = format!("inv_wishart {scale} {dof}");
        let z = z_of_mean(&text, 1.0 / (dof - 4.0));
        assert!(z < Z_LIMIT, "{text}: {z}");
    }
    let z = z_of_mean(&format!("wishart {scale} 7.1"), 7.0);
    assert!(z > Z_LIMIT, "{z}");
}

/// The variance of every entry of a Wishart draw: dof (v_ij^2 + v_ii v_jj).
#[test]
fn wishart_draws_have_their_variances() {
    let v = [2.0, 0.5, 0.5, 1.0];
    let dof = 4.5;
    let z = worst_z(&Call::new("wishart [2,0.5;0.5,1] 4.5"), 4, |x, k| {
        let (i, j) = (k / 2, k % 2);
        let error = x[k] - dof * v[k];
        error * error - dof * (v[k] * v[k] + v[3 * i] * v[3 * j])
    });
    assert!(z < Z_LIMIT, "{z}");
}

/// Each correlation is 2b - 1 with b from beta(a, a), a = eta + n/2 - 1.
#[test]
fn correlations_have_their_marginals() {
    let share = |sampler: &Call, (i, j): (usize, usize), rng: &mut Rng| {
        let x = match sampler.sample(rng) {
            Value::Matrix(m) => m,
            other => panic!("{other} is no matrix"),
        };
        let is_factor = sampler.text.starts_with("lkj_cholesky");
        let dot = || x.row(i).iter().zip(x.row(j)).map(|(a, b)| a * b).sum::<f64>();
        0.5 + 0.5 * if is_factor { dot() } else { x.get(i, j) }
    };
    for (text, place, marginal) in [
        ("lkj 2 1", (1, 0), "beta 1 1"),
        ("lkj 3 2", (1, 0), "beta 2.5 2.5"),
        ("lkj 3 2", (2, 1), "beta 2.5 2.5"),
        ("lkj 4 0.5", (3, 2), "beta 1.5 1.5"),
        ("lkj_cholesky 3 2", (2, 1), "beta 2.5 2.5"),
        ("lkj_cholesky 5 0.5", (4, 3), "beta 2 2"),
        ("lkj_cholesky 5 0.5", (3, 0), "beta 2 2"),
    ] {
        let (sampler, law) = (Call::new(text), Call::new(marginal));
        let p = significance_of(|rng| share(&sampler, place, rng), &law, 3);
        assert!(p > SIGNIFICANCE, "{text}, entry {place:?}: {p:e}");
    }
    let (sampler, law) = (Call::new("lkj 3 2.1"), Call::new("beta 2.5 2.5"));
    let p = significance_of(|rng| share(&sampler, (2, 1), rng), &law, 3);
    assert!(p < SIGNIFICANCE, "{p:e}");
}

#[test]
fn marginals_of_vectors_and_matrices_are_known_laws() {
    for (text, entry, marginal) in [
        ("multivariate_normal [1,-1] [2,0.5;0.5,4]", 1, "normal -1 2"),
        ("multivariate_diag_normal [1,-1] [2,0.5]", 0, "normal 1 2"),
        ("dirichlet [0.5,2,3.5]", 0, "beta 0.5 5.5"),
        ("dirichlet [0.02,3]", 0, "beta 0.02 3"),
        ("symmetric_dirichlet 3 4", 2, "beta 3 9"),
        ("dirichlet_multinomial 30 [0.5,2,3.5]", 1, "beta_binomial 30 2 4"),
        ("multivariate_student_t 3 [1,-1] [2,0.5;0.5,4]", 1, "student_t 3 -1 2"),
        ("random_walk 4 2 5", 3, "normal 5 4"),
        // The least of three is exponential too, the largest of uniform draws is beta.
        ("ordered expon 3 2", 0, "expon 6"),
        ("ordered normal 1 2 3", 0, "normal 2 3"),
        ("multinomial 30 [0.2,0.3,0.5]", 1, "binomial 30 0.3"),
        ("wishart [2,0.5;0.5,0.5] 4.5", 0, "gamma 2.25 0.25"),
        ("wishart [2,0.5;0.5,0.5] 4.5", 3, "gamma 2.25 1"),
        ("inv_wishart [2,0.5;0.5,0.5] 4.5", 0, "inv_gamma 1.75 1"),
        ("inv_wishart [2,0.5;0.5,0.5] 4.5", 3, "inv_gamma 1.75 0.25"),
    ] {
        let (sampler, law) = (Call::new(text), Call::new(marginal));
        let p = significance_of(|rng| entries(&sampler.sample(rng))[entry], &law, 3);
        assert!(p > SIGNIFICANCE, "{text}, entry {entry}: {p:e}");
    }
    let (sampler, law) = (Call::new("dirichlet [0.5,2.1,3.5]"), Call::new("beta 2 4"));
    let p = significance_of(|rng| entries(&sampler.sample(rng))[1], &law, 3);
    assert!(p < SIGNIFICANCE, "{p:e}");
}
