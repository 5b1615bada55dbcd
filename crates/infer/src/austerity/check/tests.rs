//! The thresholds on populations of known shape, and the heavy-tailed example of theory 6.10.

use super::*;
use crate::proposer::standard_normal;

fn population(n: usize, rng: &mut Rng, draw: impl Fn(&mut Rng) -> f64) -> Vec<f64> {
    (0..n).map(|_| draw(rng)).collect()
}

fn exponential(rng: &mut Rng) -> f64 {
    -rng.log_uniform()
}

/// log weights of a logistic regression: bounded slopes, moderate covariates.
fn logistic(rng: &mut Rng) -> f64 {
    let x = 2.0 * standard_normal(rng);
    math::ln_1p_exp(0.9 * x) - math::ln_1p_exp(x)
}

#[test]
fn light_tails_are_trusted() {
    let mut rng = Rng::from_seed(31);
    for n in [100, 200, 500, 1000, 10_000, 100_000] {
        for (name, draw) in [
            ("normal", standard_normal as fn(&mut Rng) -> f64),
            ("uniform", Rng::uniform),
            ("logistic", logistic),
            ("exponential", exponential),
        ] {
            for _ in 0..20 {
                let shape = Shape::of(&population(n, &mut rng, draw));
                let heavy = shape.tail.is_some_and(|tail| tail.upper() < 3.0);
                assert!(!heavy, "{name} {n}: {shape:?}");
            }
            let values = population(n, &mut rng, draw);
            let found = check(&values, 400, 0.05, &mut rng);
            assert_eq!(found.trust(), Trust::Fine, "{name} {n}: {found:?}");
        }
    }
}

#[test]
fn heavy_tails_are_refused() {
    // theory 6.10: a normal model on lognormal data, a step in its mean and scale
    let mut rng = Rng::from_seed(5);
    let data = population(20_000, &mut rng, |rng| math::exp(2.0 * standard_normal(rng)));
    let shape = Shape::of(&data);
    let density = |x: f64, centre: f64, sd: f64| {
        -0.5 * ((x - centre) / sd) * ((x - centre) / sd) - math::ln(sd)
    };
    let (mean, sd) = (shape.mean, shape.sd);
    let weights: Vec<f64> =
        data.iter().map(|x| density(*x, mean, 1.005 * sd) - density(*x, mean, sd)).collect();
    let found = check(&weights, 100, 0.05, &mut rng);
    assert_eq!(found.trust(), Trust::Refuse, "{found:?}");
    assert!(found.skewness.abs() > 20.0 && found.largest > 30.0);
    let reasons = found.reasons();
    assert!(reasons.iter().any(|reason| reason.contains("rarely sees it")), "{reasons:#?}");
    // The variance of a Pareto(1.5) population is that of its largest values.
    let pareto = population(20_000, &mut rng, |rng| math::pow(rng.open_uniform(), -1.0 / 1.5));
    let found = check(&pareto, 5000, 0.05, &mut rng);
    assert_eq!(found.trust(), Trust::Refuse, "{found:?}");
    assert!(found.tail.unwrap().upper() < 2.0);
}

#[test]
fn effect_sizes_match_the_theory() {
    // theory 5.1, (5.4) and (5.5): an exponential population, γ1 = 2
    let mut rng = Rng::from_seed(6);
    let n = 100_000;
    let quantile = |i: usize| -math::ln((i as f64 + 0.5) / n as f64);
    let values: Vec<f64> = (0..n).map(quantile).collect();
    let found = check(&values, 100, 0.05, &mut rng);
    assert!((found.skewness - 2.0).abs() < 0.02);
    assert!((found.edgeworth - 0.0720).abs() < 3e-4, "{found:?}");
    assert!(found.least_batch.abs_diff(78) <= 2, "{found:?}");
    assert!(check(&values, 10, 0.05, &mut rng).anderson_darling_p < 0.01);
    let found = check(&values, 500, 0.01, &mut rng);
    assert!((found.edgeworth - 0.0147).abs() < 1e-4, "{found:?}");
    assert!(found.least_batch.abs_diff(441) <= 8, "{found:?}");
}

#[test]
fn nothing_to_distrust() {
    let mut rng = Rng::from_seed(7);
    let mut values = vec![0.0; 300];
    assert_eq!(check(&values, 100, 0.05, &mut rng).reasons(), Vec::<String>::new());
    values[17] = 1e6;
    assert_eq!(check(&values, 300, 0.05, &mut rng).trust(), Trust::Fine);
    assert_eq!(check(&values, 100, 0.05, &mut rng).trust(), Trust::Refuse);
    assert_eq!(check(&[], 100, 0.05, &mut rng).trust(), Trust::Fine);
    // Not even one that no mini-batch is likely to see.
    values[17] = f64::NEG_INFINITY;
    let found = check(&values, 100, 0.05, &mut rng);
    assert_eq!((found.trust(), found.reasons().len()), (Trust::Refuse, 1), "{found:?}");
}
