//! Draws lie in the support and are admitted as they are.

use crate::distributions_common::{Call, value};
use proptest::prelude::*;
use smidgen_prob::distributions;
use smidgen_value::{Matrix, Rng, Value, math};

/// Every distribution with the kinds of its arguments: r real, + positive over many orders of
/// magnitude, u probability, U positive probability, n small count, N dimension, w weights,
/// p probabilities, o objects, v real and V positive vector, S positive definite matrix,
/// L Cholesky factor, d degrees of freedom for it, < two ends of a range, i two whole ends, m a
/// mean inside (0, 1), c cut points, h draws from an urn and what is in it.
const KINDS: &[(&str, &str)] = &[
    ("bernoulli", "u"),
    ("flip", "u"),
    ("bernoulli_logit", "r"),
    ("beta_binomial", "n++"),
    ("hypergeometric", "h"),
    ("negative_binomial_mean", "++"),
    ("poisson_log", "a"),
    ("categorical_logit", "v"),
    ("ordered_logistic", "rc"),
    ("ordered_probit", "rc"),
    ("skew_normal", "r+r"),
    ("beta_mean", "m+"),
    ("inverse_gaussian", "++"),
    ("gumbel", "r+"),
    ("pareto", "++"),
    ("multivariate_normal_cholesky", "vL"),
    ("multivariate_student_t", "dvS"),
    ("lkj", "Nd"),
    ("lkj_cholesky", "N+"),
    ("zero_inflated", "Pu+"),
    ("hurdle", "PU+"),
    ("mixture", "M"),
    ("ordered", "O"),
    ("truncate", "T"),
    ("censor", "T"),
    ("random_walk", "N+"),
    ("random_walk", "N+r"),
    ("ar", "Nv+"),
    ("ar", "Nv+r"),
    ("dirichlet_multinomial", "nV"),
    ("binomial", "nu"),
    ("geometric", "U"),
    ("negative_binomial", "+U"),
    ("poisson", "+"),
    ("categorical", "w"),
    ("categorical", "wo"),
    ("uniform_discrete", "i"),
    ("normal", "r+"),
    ("uniform_continuous", "<"),
    ("beta", "++"),
    ("gamma", "++"),
    ("inv_gamma", "++"),
    ("expon", "+"),
    ("student_t", "+"),
    ("student_t", "+r"),
    ("student_t", "+r+"),
    ("cauchy", "r+"),
    ("laplace", "r+"),
    ("logistic_dist", "r+"),
    ("lognormal", "r+"),
    ("weibull", "++"),
    ("chi_squared", "+"),
    ("half_normal", "+"),
    ("half_cauchy", "+"),
    ("half_student_t", "++"),
    ("truncated_normal", "r+<"),
    ("vonmises", "r+"),
    ("multivariate_normal", "vS"),
    ("multivariate_diag_normal", "vV"),
    ("wishart", "Sd"),
    ("inv_wishart", "Sd"),
    ("dirichlet", "V"),
    ("symmetric_dirichlet", "+N"),
    ("multinomial", "np"),
    ("flat", ""),
    ("flat_pos", ""),
    ("[factor]", "r"),
];

const DIMENSION: usize = 3;

fn arguments(kinds: &str, rng: &mut Rng) -> Vec<Value> {
    let real = |rng: &mut Rng| 100.0 * (rng.uniform() - 0.5);
    let positive = |rng: &mut Rng| math::exp(30.0 * (rng.uniform() - 0.5));
    let probability = |rng: &mut Rng| match rng.below(6) {
        0 => 0.0,
        1 => 1.0,
        2 => 1e-12 * rng.uniform(),
        _ => rng.uniform(),
    };
    let mut args = Vec::new();
    for kind in kinds.chars() {
        let mut vector =
            |one: &dyn Fn(&mut Rng) -> f64| (0..DIMENSION).map(|_| one(rng)).collect::<Vec<f64>>();
        let arg = match kind {
            'v' => Value::vector(vector(&real)),
            'V' => Value::vector(vector(&positive)),
            'w' => {
                let mut weights = vector(&probability);
                weights[1] += 1e-3;
                Value::array(weights.into_iter().map(Value::Number).collect())
            }
            'p' => {
                let mut weights = vector(&probability);
                weights[2] += 1e-3;
                let total: f64 = weights.iter().sum();
                Value::vector(weights.iter().map(|w| w / total).collect::<Vec<_>>())
            }
            'o' => value("(a,true,a)"),
            'S' => {
                let z = vector(&real);
                Value::matrix(Matrix::from_fn(DIMENSION, DIMENSION, |i, j| {
                    z[i] * z[j] + if i == j { 1.0 } else { 0.0 }
                }))
            }
            'L' => {
                let z = vector(&real);
                Value::matrix(Matrix::from_fn(DIMENSION, DIMENSION, |i, j| match i.cmp(&j) {
                    std::cmp::Ordering::Less => 0.0,
                    std::cmp::Ordering::Equal => z[i].abs() + 1e-3,
                    std::cmp::Ordering::Greater => z[j],
                }))
            }
            'c' => {
                let mut cuts = vector(&real);
                cuts.sort_by(f64::total_cmp);
                Value::vector(cuts)
            }
            'P' => Value::symbol("poisson"),
            'T' => {
                let (mean, sd) = (real(rng), 0.1 + positive(rng));
                args.push(Value::symbol("normal"));
                args.push(Value::Number(mean - 3.0 * sd * rng.uniform()));
                args.push(Value::Number(mean + 3.0 * sd * rng.uniform()));
                args.push(Value::Number(mean));
                Value::Number(sd)
            }
            'M' => {
                let [a, b, s, t] = [real(rng), real(rng), positive(rng), positive(rng)];
                args.push(Value::vector(vec![rng.uniform(), 1.0]));
                args.push(Value::symbol("normal"));
                args.push(Value::vector(vec![a, s]));
                args.push(Value::symbol("cauchy"));
                Value::vector(vec![b, t])
            }
            'O' => {
                args.push(Value::symbol("normal"));
                args.push(Value::Number(1.0 + rng.below(5) as f64));
                args.push(Value::Number(real(rng)));
                Value::Number(0.1 + positive(rng))
            }
            'a' => Value::Number(20.0 * (rng.uniform() - 0.5)),
            'm' => Value::Number(0.01 + 0.98 * rng.uniform()),
            'h' => {
                let (good, bad) = (rng.below(30), rng.below(30));
                args.push(Value::Number(rng.below(good + bad + 1) as f64));
                args.push(Value::Number(good as f64));
                Value::Number(bad as f64)
            }
            'd' => Value::Number(2.5 + 10.0 * rng.uniform()),
            'N' => Value::Number(1.0 + rng.below(5) as f64),
            'n' => Value::Number(rng.below(30) as f64),
            'r' => Value::Number(real(rng)),
            '+' => Value::Number(positive(rng)),
            'u' => Value::Number(probability(rng)),
            'U' => Value::Number(probability(rng).max(1e-14)),
            '<' => {
                let low = real(rng);
                args.push(Value::Number(low));
                Value::Number(low + positive(rng))
            }
            'i' => {
                let low = rng.below(100) as f64 - 50.0;
                args.push(Value::Number(low));
                Value::Number(low + 1.0 + rng.below(20) as f64)
            }
            other => panic!("no kind {other}"),
        };
        args.push(arg);
    }
    args
}

fn same_type(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

#[test]
fn the_properties_are_tested_for_every_distribution() {
    for distribution in distributions::ALL {
        let name = distribution.spec().name;
        assert!(KINDS.iter().any(|(known, _)| *known == name), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_draw_lies_in_the_support_and_is_admitted_as_it_is(seed in any::<u64>()) {
        let mut rng = Rng::from_seed(seed);
        for (name, kinds) in KINDS {
            let args = arguments(kinds, &mut rng);
            let call = Call::applied(name, args);
            let shown = format!("{name} {:?}", call.args);
            let x = match call.try_sample(&mut rng) {
                Ok(x) => x,
                // A truncation that its normal law cannot reach.
                Err(error) => {
                    prop_assert!(error.rejects() && *name == "truncated_normal", "{shown}: {error}");
                    continue;
                }
            };
            let admitted = call.distribution.admit(&x);
            prop_assert!(admitted.as_ref() == Ok(&x), "{shown}: {x}");
            prop_assert!(same_type(&admitted.expect("it is equal to x"), &x), "{shown}: {x}");
            let support = call.support();
            prop_assert!(support.contains(&x), "{shown}: {x} is not in {support:?}");
            let log_density = call.log_density(&x);
            prop_assert!(log_density.is_finite(), "{shown} at {x}: {log_density}");
            let Some(values) = call.enumerate() else { continue };
            prop_assert!(values.contains(&x), "{shown}: {x} is not enumerated");
            let mut distinct = values.clone();
            distinct.sort();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), values.len());
            let mut total = 0.0;
            for value in &values {
                let log_probability = call.log_density(value);
                prop_assert!(log_probability.is_finite(), "{shown} at {value}");
                prop_assert!(support.contains(value), "{shown}: {value}");
                total += math::exp(log_probability);
            }
            // No other value has any probability left.
            prop_assert!((total - 1.0).abs() < 1e-12, "{shown}: {total}");
        }
    }
}
