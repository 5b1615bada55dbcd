//! A collapsed maker and its uncollapsed twin describe one law.

use super::draws::*;
use super::*;

// ---------------------------------------------------------------- twins

pub struct Twin {
    collapsed: &'static str,
    uncollapsed: &'static str,
    args: Vec<Value>,
    data: Vec<Value>,
    /// The arguments of the posterior, which has the form of the prior.
    posterior: Vec<Value>,
}

pub fn twins() -> Vec<Twin> {
    let objects = symbols(&["a", "b", "a"]);
    let letters: Vec<_> = ["a", "b", "a", "a"].iter().map(|l| Value::symbol(l)).collect();
    vec![
        Twin {
            collapsed: "make_beta_bernoulli",
            uncollapsed: "make_uc_beta_bernoulli",
            args: numbers(&[2.0, 3.0]),
            data: vec![Value::TRUE, Value::FALSE, Value::TRUE, Value::TRUE],
            posterior: numbers(&[5.0, 4.0]),
        },
        Twin {
            collapsed: "make_dir_cat",
            uncollapsed: "make_uc_dir_cat",
            args: vec![Value::vector([0.5, 1.0, 2.0])],
            data: numbers(&[0.0, 2.0, 2.0, 0.0, 2.0]),
            posterior: vec![Value::vector([2.5, 1.0, 5.0])],
        },
        Twin {
            collapsed: "make_sym_dir_cat",
            uncollapsed: "make_uc_sym_dir_mult",
            args: numbers(&[1.5, 3.0]),
            data: numbers(&[0.0, 2.0, 1.0]),
            posterior: numbers(&[2.5, 3.0]),
        },
        Twin {
            collapsed: "make_dir_mult",
            uncollapsed: "make_uc_dir_mult",
            args: vec![Value::vector([0.7, 1.0, 2.0]), objects.clone()],
            data: letters,
            // With repeated objects the posterior is a mixture of Dirichlets: no closed form.
            posterior: vec![],
        },
        Twin {
            collapsed: "make_gamma_poisson",
            uncollapsed: "make_uc_gamma_poisson",
            args: numbers(&[2.0, 1.5]),
            data: numbers(&[3.0, 0.0, 5.0, 1.0]),
            posterior: numbers(&[11.0, 5.5]),
        },
        Twin {
            collapsed: "make_nig_normal",
            uncollapsed: "make_uc_nig_normal",
            args: numbers(&[0.0, 1.0, 2.0, 3.0]),
            data: numbers(&[1.2, -0.4, 2.0, 0.7]),
            posterior: numbers(&[0.7, 0.2, 4.0, 4.82]),
        },
        Twin {
            collapsed: "make_niw_normal",
            uncollapsed: "make_uc_cmvn",
            args: vec![
                Value::vector([0.0, 0.0]),
                num(0.5),
                num(4.0),
                matrix(2, &[1.0, 0.2, 0.2, 2.0]),
            ],
            data: [[1.0, 0.5], [0.2, -0.3], [-0.7, 1.1], [0.4, 0.9]].map(Value::vector).to_vec(),
            posterior: vec![
                Value::vector([0.2, 2.2 / 4.5]),
                num(4.5),
                num(8.0),
                matrix(2, &[2.51, -0.21, -0.21, 4.36 - 4.5 * (2.2 / 4.5) * (2.2 / 4.5)]),
            ],
        },
    ]
}

pub fn log_joint(name: &str, params: Params<'_>, data: &[Value]) -> f64 {
    let mut stats = maker(name).empty(params).unwrap();
    data.iter().for_each(|x| stats.add(x));
    stats.log_marginal(params).unwrap()
}

/// log p(latent) + log p(data | latent) - log p(data) - log p(latent | data): zero by Bayes' rule.
pub fn bayes_gap(twin: &Twin, latent: &Value, marginal: f64) -> f64 {
    let prior = maker(twin.uncollapsed).latent().unwrap();
    prior.log_density(latent, &refs(&twin.args)).unwrap()
        + log_joint(twin.uncollapsed, &[latent], &twin.data)
        - marginal
        - prior.log_density(latent, &refs(&twin.posterior)).unwrap()
}

#[test]
fn collapsed_and_uncollapsed_twins_obey_bayes_rule() {
    let mut rng = Rng::from_seed(51);
    for twin in twins().iter().filter(|twin| !twin.posterior.is_empty()) {
        let args = refs(&twin.args);
        let marginal = log_joint(twin.collapsed, &args, &twin.data);
        for _ in 0..20 {
            let latent = maker(twin.uncollapsed).latent().unwrap().sample(&args, &mut rng).unwrap();
            let gap = bayes_gap(twin, &latent, marginal);
            assert!(gap.abs() < 1e-10, "{}: {gap}", twin.collapsed);
            let twisted = bayes_gap(twin, &latent, marginal - 2.0 * math::LN_2);
            assert!(twisted.abs() > 1.0, "{}: a lost constant shows", twin.collapsed);
        }
    }
}

/// How many standard errors the average likelihood over latent draws lies from `marginal`.
pub fn simulation_z(twin: &Twin, marginal: f64, rng: &mut Rng) -> f64 {
    let args = refs(&twin.args);
    let prior = maker(twin.uncollapsed).latent().unwrap();
    let n = 40_000;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..n {
        let latent = prior.sample(&args, rng).unwrap();
        let ratio = math::exp(log_joint(twin.uncollapsed, &[&latent], &twin.data) - marginal);
        sum += ratio;
        squares += ratio * ratio;
    }
    let n = f64::from(n);
    let mean = sum / n;
    (mean - 1.0) / math::sqrt((squares / n - mean * mean) / n)
}

#[test]
fn simulating_the_latent_parameter_gives_the_collapsed_marginal() {
    let mut rng = Rng::from_seed(52);
    for twin in &twins() {
        let marginal = log_joint(twin.collapsed, &refs(&twin.args), &twin.data);
        let z = simulation_z(twin, marginal, &mut rng);
        assert!(z.abs() < 4.9, "{}: z = {z}", twin.collapsed);
        let z = simulation_z(twin, marginal + 0.1, &mut rng);
        assert!(z.abs() > 4.9, "{} twin: z = {z}", twin.collapsed);
    }
}

#[test]
fn two_stage_draws_follow_the_collapsed_predictive() {
    // latent ~ prior, x ~ law(latent): x follows the predictive of the empty statistics.
    let mut rng = Rng::from_seed(53);
    for twin in &twins() {
        let args = refs(&twin.args);
        let empty = maker(twin.collapsed).empty(&args).unwrap();
        let two_stages = |prior: &[Value], rng: &mut Rng| {
            let maker = maker(twin.uncollapsed);
            let latent = maker.latent().unwrap().sample(&refs(prior), rng).unwrap();
            maker.empty(&[&latent]).unwrap().sample(&[&latent], rng).unwrap()
        };
        let p = predictive_p(&*empty, &args, &|rng| two_stages(&twin.args, rng), &mut rng);
        assert!(p > SIGNIFICANCE, "{}: p = {p}", twin.uncollapsed);
        // The twin draws its latent parameter from other arguments. (A symmetric posterior leaves
        // the law of the first draw as it was: nothing to catch there.)
        if !twin.posterior.is_empty() && twin.collapsed != "make_sym_dir_cat" {
            let p = predictive_p(&*empty, &args, &|rng| two_stages(&twin.posterior, rng), &mut rng);
            assert!(p < SIGNIFICANCE, "{} twin: p = {p}", twin.uncollapsed);
        }
    }
}

#[test]
fn latent_draws_follow_their_density() {
    let p_of = |name: &str, args: &[Value], drawn: &[Value], low: &[f64], high: &[f64]| {
        let prior = maker(name).latent().unwrap();
        let mut rng = Rng::from_seed(54);
        let draws: Vec<_> =
            (0..20_000).map(|_| flat(&prior.sample(&refs(drawn), &mut rng).unwrap())).collect();
        let density = |x: &[f64]| {
            let x = match name {
                "make_uc_dir_cat" => Value::vector([x[0], 1.0 - x[0]]),
                "make_uc_nig_normal" => Value::vector(x),
                "make_uc_niw_normal" => {
                    Value::array(vec![Value::vector([x[0]]), matrix(1, &[x[1]])])
                }
                _ => num(x[0]),
            };
            math::exp(prior.log_density(&x, &refs(args)).unwrap())
        };
        let bins = if low.len() == 1 { 60 } else { 20 };
        continuous_p(&draws, &density, low, high, bins, 400 / bins)
    };
    let one_dimensional =
        |k: f64, v: f64| vec![Value::vector([0.5]), num(k), num(v), matrix(1, &[2.0])];
    for (name, args, wrong, low, high) in [
        (
            "make_uc_beta_bernoulli",
            numbers(&[2.0, 3.0]),
            numbers(&[2.0, 3.2]),
            vec![0.0],
            vec![1.0],
        ),
        ("make_uc_gamma_poisson", numbers(&[2.0, 1.5]), numbers(&[2.0, 1.6]), vec![0.0], vec![9.0]),
        (
            "make_uc_dir_cat",
            vec![Value::vector([2.0, 1.5])],
            vec![Value::vector([2.0, 1.6])],
            vec![0.0],
            vec![1.0],
        ),
        (
            "make_uc_nig_normal",
            numbers(&[0.5, 0.5, 3.0, 2.0]),
            numbers(&[0.5, 0.7, 3.0, 2.0]),
            vec![-3.0, 0.0],
            vec![4.0, 4.0],
        ),
        (
            "make_uc_niw_normal",
            one_dimensional(2.0, 5.0),
            one_dimensional(2.0, 5.5),
            vec![-3.0, 0.0],
            vec![4.0, 4.0],
        ),
    ] {
        let p = p_of(name, &args, &args, &low, &high);
        assert!(p > SIGNIFICANCE, "{name}: p = {p}");
        let p = p_of(name, &args, &wrong, &low, &high);
        assert!(p < SIGNIFICANCE, "{name} twin: p = {p}");
    }
}
