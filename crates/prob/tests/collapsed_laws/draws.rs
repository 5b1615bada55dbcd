//! Draws follow the predictive, whatever was counted before.

use super::*;

// ---------------------------------------------------------------- draws

pub const SIGNIFICANCE: f64 = 1e-6;

/// The chi-square p-value of counts against probabilities; bins of few expected draws are merged.
pub fn chi_square(observed: &[f64], probabilities: &[f64]) -> f64 {
    let n: f64 = observed.iter().sum();
    let (mut statistic, mut bins) = (0.0, 0);
    let (mut o, mut e) = (0.0, 0.0);
    let mut close = |o: f64, e: f64| {
        statistic += (o - e) * (o - e) / e;
        bins += 1;
    };
    for (observed, probability) in observed.iter().zip(probabilities) {
        (o, e) = (o + observed, e + n * probability);
        if e >= 10.0 {
            close(o, e);
            (o, e) = (0.0, 0.0);
        }
    }
    if e > 1.0 {
        close(o, e);
    } else {
        assert!(o < 20.0, "{o} draws where {e} were expected");
    }
    assert!(bins > 1, "one bin tests nothing");
    1.0 - math::gamma_p(0.5 * f64::from(bins - 1), 0.5 * statistic)
}

/// The integral of a density over a box, by the midpoint rule on a fine grid.
pub fn mass(density: &dyn Fn(&[f64]) -> f64, low: &[f64], high: &[f64], steps: usize) -> f64 {
    fn over(
        density: &dyn Fn(&[f64]) -> f64,
        at: &mut Vec<f64>,
        low: &[f64],
        high: &[f64],
        steps: usize,
    ) -> f64 {
        let d = at.len();
        if d == low.len() {
            return density(at);
        }
        let width = (high[d] - low[d]) / steps as f64;
        let mut total = 0.0;
        for i in 0..steps {
            at.push(low[d] + (i as f64 + 0.5) * width);
            total += over(density, at, low, high, steps) * width;
            at.pop();
        }
        total
    }
    over(density, &mut Vec::new(), low, high, steps)
}

/// Draws against a density, binned over a box; one more bin is everything outside.
pub fn continuous_p(
    draws: &[Vec<f64>],
    density: &dyn Fn(&[f64]) -> f64,
    low: &[f64],
    high: &[f64],
    bins: usize,
    steps: usize,
) -> f64 {
    let d = low.len();
    let cells = bins.pow(d as u32);
    let mut observed = vec![0.0; cells + 1];
    for x in draws {
        let mut cell = Some(0);
        for i in 0..d {
            let place = ((x[i] - low[i]) / (high[i] - low[i]) * bins as f64).floor();
            let inside = (0.0..bins as f64).contains(&place);
            cell = cell.filter(|_| inside).map(|cell| cell * bins + place as usize);
        }
        observed[cell.unwrap_or(cells)] += 1.0;
    }
    let mut probabilities: Vec<f64> = (0..cells)
        .map(|cell| {
            let (mut l, mut h) = (vec![0.0; d], vec![0.0; d]);
            let mut rest = cell;
            for i in (0..d).rev() {
                let width = (high[i] - low[i]) / bins as f64;
                l[i] = low[i] + (rest % bins) as f64 * width;
                h[i] = l[i] + width;
                rest /= bins;
            }
            mass(density, &l, &h, steps)
        })
        .collect();
    let outside = 1.0 - probabilities.iter().sum::<f64>();
    assert!(outside > -1e-4, "a density has mass one at most: {outside}");
    probabilities.push(outside.max(0.0));
    chi_square(&observed, &probabilities)
}

pub fn flat(x: &Value) -> Vec<f64> {
    match x {
        Value::Vector(xs) => xs.to_vec(),
        Value::Matrix(m) => m.as_slice().to_vec(),
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        x => vec![x.as_number().unwrap()],
    }
}

pub type Draw<'a> = &'a dyn Fn(&mut Rng) -> Value;

/// The p-value of draws against the predictive of the statistics.
pub fn predictive_p(
    stats: &dyn Statistics,
    params: Params<'_>,
    draw: Draw<'_>,
    rng: &mut Rng,
) -> f64 {
    let n = 20_000;
    let draws: Vec<Value> = (0..n).map(|_| draw(rng)).collect();
    let predictive = |x: &Value| math::exp(stats.log_predictive(x, params).unwrap());
    let listed = stats.enumerate(params).unwrap();
    let support = stats.support(params).unwrap();
    assert!(draws.iter().all(|x| support.contains(x)));
    match support {
        Support::Reals => {
            let density = |x: &[f64]| predictive(&num(x[0]));
            let draws: Vec<_> = draws.iter().map(flat).collect();
            continuous_p(&draws, &density, &[-8.0], &[8.0], 60, 40)
        }
        Support::Vectors { .. } => {
            // Three dimensions take too fine a grid: the caller gives two.
            let density = |x: &[f64]| predictive(&Value::vector(x));
            let draws: Vec<_> = draws.iter().map(flat).collect();
            continuous_p(&draws, &density, &[-5.0, -5.0], &[5.0, 5.0], 20, 8)
        }
        _ => {
            let values = listed.unwrap_or_else(|| (0..60).map(|i| num(f64::from(i))).collect());
            let mut probabilities: Vec<f64> = values.iter().map(predictive).collect();
            let mut observed: Vec<f64> = values
                .iter()
                .map(|value| draws.iter().filter(|x| *x == value).count() as f64)
                .collect();
            let rest = 1.0 - probabilities.iter().sum::<f64>();
            assert!(rest.abs() < 1e-6, "the probabilities sum to one: {rest}");
            probabilities.push(rest.max(0.0));
            observed.push(f64::from(n) - observed.iter().sum::<f64>());
            chi_square(&observed, &probabilities)
        }
    }
}

/// The cases, with the multivariate ones in two dimensions.
pub fn drawing_cases() -> Vec<Case> {
    let mut all: Vec<_> = cases()
        .into_iter()
        .filter(|c| !c.name.contains("niw") && !c.name.contains("multi"))
        .collect();
    // 6000 categories cannot be tested one by one.
    all.retain(|case| case.params.get(1) != Some(&num(6000.0)));
    let value: Source = |rng| {
        let x = rng.uniform();
        Value::vector([2.0 + 2.0 * x, 2.0 * x - rng.uniform()])
    };
    let scale = matrix(2, &[1.0, 0.6, 0.6, 2.0]);
    let mean = Value::vector([0.5, -0.5]);
    for (name, params) in [
        (
            "make_collapsed_multivariate_normal",
            vec![mean.clone(), num(0.5), num(3.0), scale.clone()],
        ),
        ("make_uc_niw_normal", vec![Value::array(vec![mean, scale])]),
    ] {
        all.push(Case { name, params: params.clone(), other: params, value });
    }
    all
}

#[test]
fn draws_follow_the_predictive() {
    for (seed, case) in drawing_cases().iter().enumerate() {
        let mut rng = Rng::for_chain(21, seed as u64);
        for n in [0, 1, 12] {
            if case.name == "make_crp" && n == 0 {
                continue; // One table is certain: its own test.
            }
            let params = refs(&case.params);
            let mut stats = empty(case);
            for _ in 0..n {
                stats.add(&(case.value)(&mut rng));
            }
            let draw = |rng: &mut Rng| stats.sample(&params, rng).unwrap();
            let p = predictive_p(&*stats, &params, &draw, &mut rng);
            assert!(p > SIGNIFICANCE, "{} n = {n}: p = {p}", case.name);
            let independent = case.name.contains("_uc_") || case.name.contains("suff_stat");
            if n == 12 && !independent && case.name != "make_crp" {
                // The twin's draws do not know what was drawn before.
                let forgetful = empty(case);
                let draw = |rng: &mut Rng| forgetful.sample(&params, rng).unwrap();
                let p = predictive_p(&*stats, &params, &draw, &mut rng);
                assert!(p < SIGNIFICANCE, "{} twin: p = {p}", case.name);
            }
        }
    }
}

#[test]
fn draws_from_the_wrong_parameters_are_caught() {
    // The twins of the independent makers: draws with one setting, tested against another.
    let mut rng = Rng::from_seed(31);
    for (name, params, drawn) in [
        ("make_suff_stat_bernoulli", numbers(&[0.3]), numbers(&[0.34])),
        ("make_suff_stat_poisson", numbers(&[4.0]), numbers(&[4.2])),
        ("make_suff_stat_normal", numbers(&[0.0, 2.0]), numbers(&[0.0, 2.2])),
        ("make_uc_dir_cat", vec![Value::vector([0.5, 0.5])], vec![Value::vector([0.46, 0.54])]),
        ("make_crp", numbers(&[1.5]), numbers(&[2.0])),
    ] {
        let mut stats = maker(name).empty(&refs(&params)).unwrap();
        stats.add(&num(1.0));
        let drawn = refs(&drawn);
        let draw = |rng: &mut Rng| stats.sample(&drawn, rng).unwrap();
        let p = predictive_p(&*stats, &refs(&params), &draw, &mut rng);
        assert!(p < SIGNIFICANCE, "{name}: p = {p}");
    }
}

/// Large and small parameters, where samplers switch methods.
#[test]
fn extreme_parameters_draw_from_the_support() {
    let mut rng = Rng::from_seed(41);
    for (name, params) in [
        ("make_beta_bernoulli", numbers(&[1e-12, 1e-12])),
        ("make_crp", numbers(&[1e-300])),
        ("make_crp", numbers(&[1e300])),
        ("make_gamma_poisson", numbers(&[1e-5, 1e-5])),
        ("make_gamma_poisson", numbers(&[1e6, 1e3])),
        ("make_nig_normal", numbers(&[0.0, 1.0, 1e-3, 1.0])),
        ("make_sym_dir_cat", numbers(&[1e-8, 5.0])),
    ] {
        let params = refs(&params);
        let mut stats = maker(name).empty(&params).unwrap();
        let mut along = 0.0;
        for _ in 0..50 {
            let x = stats.sample(&params, &mut rng).unwrap();
            assert!(stats.support(&params).unwrap().contains(&x), "{name}: {x}");
            let predictive = stats.log_predictive(&x, &params).unwrap();
            assert!(predictive.is_finite(), "{name}: {x} {predictive}");
            along += predictive;
            stats.add(&x);
        }
        let marginal = stats.log_marginal(&params).unwrap();
        let tolerance = 1e-9 * along.abs().max(1.0) + 1e-14 * 50.0 * 700.0;
        assert!((marginal - along).abs() < tolerance, "{name}: {marginal} {along}");
    }
    for (name, args) in [
        ("make_uc_beta_bernoulli", numbers(&[1e-6, 1e-6])),
        ("make_uc_gamma_poisson", numbers(&[1e-6, 1.0])),
        ("make_uc_sym_dir_cat", numbers(&[1e-4, 5.0])),
        ("make_uc_nig_normal", numbers(&[0.0, 1.0, 1e-3, 1.0])),
    ] {
        let args = refs(&args);
        let prior = maker(name).latent().unwrap();
        for _ in 0..100 {
            let latent = prior.sample(&args, &mut rng).unwrap();
            let density = prior.log_density(&latent, &args).unwrap();
            assert!(density.is_finite(), "{name}: {latent} {density}");
            maker(name).empty(&[&latent]).expect("a drawn latent value is valid");
        }
    }
}
