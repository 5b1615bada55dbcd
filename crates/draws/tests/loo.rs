//! PSIS-LOO against ArviZ on three models, one of them with an outlier that no weight can stand for. The numbers in
//! loo.tsv are made by make_loo_reference.py from the same log likelihoods.

use smidgen_draws::loo::{Loo, compare, loo};
use smidgen_draws::{Draws, Pointwise};
use smidgen_value::math;

const CHAINS: usize = 4;
const DRAWS: usize = 500;
const UNITS: usize = 40;
const HALF_LN_2PI: f64 = 0.918_938_533_204_672_8;

fn theta(s: usize, scale: f64, centre: f64) -> f64 {
    let s = (s * 7) % (CHAINS * DRAWS);
    let u = ((s + 1) as f64 * 0.618_033_988_749_894_9).fract();
    scale * math::ln(u / (1.0 - u)) + centre
}

fn log_p(model: &str, i: f64, t: f64) -> f64 {
    let normal = |y: f64| -HALF_LN_2PI - 0.5 * (y - t) * (y - t);
    match model {
        "normal" => normal(0.3 * math::sin(3.0 * i) + 0.1 * i / 20.0),
        "logistic" => {
            let (eta, y) = (t * math::cos(i) * 2.0, f64::from(u8::from(i % 3.0 == 0.0)));
            y * eta - (eta.max(0.0) + math::ln_1p(math::exp(-eta.abs())))
        }
        _ => normal(if i == 11.0 { 9.0 } else { 0.5 * math::sin(i) }),
    }
}

fn pointwise(model: &str, scale: f64, centre: f64) -> Pointwise {
    let draw = |s: usize| {
        let t = theta(s, scale, centre);
        (0..UNITS).map(|i| log_p(model, i as f64, t)).collect()
    };
    let chain = |c: usize| (c * DRAWS..(c + 1) * DRAWS).map(draw).collect();
    let names = (0..UNITS).map(|i| format!("y[{i}]")).collect();
    Pointwise { names, chains: (0..CHAINS).map(chain).collect() }
}

fn reference() -> Vec<Vec<String>> {
    let lines = include_str!("loo.tsv").lines().skip(1);
    lines.map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn model(name: &str) -> Loo {
    let (scale, centre, efficiency) = match name {
        "normal" => (0.12, 0.05, 1.0),
        "logistic" => (0.3, -0.4, 0.7),
        _ => (0.5, 0.3, 1.3),
    };
    loo(&pointwise(name, scale, centre), efficiency)
}

fn close(found: f64, wanted: &str, what: &str) {
    let wanted: f64 = wanted.parse().expect("a number");
    let near = (found - wanted).abs() <= 1e-6 * (1.0 + wanted.abs());
    assert!(near, "{what}: {found}, ArviZ says {wanted}");
}

#[test]
fn three_models_are_as_arviz_says() {
    for row in reference().iter().filter(|row| row[0] != "compare") {
        let found = model(&row[0]);
        let numbers = [
            found.elpd,
            found.se,
            found.p_loo,
            found.units[0].k_hat,
            found.units[11].k_hat,
            found.units[39].k_hat,
            found.units[11].elpd,
        ];
        for (found, wanted) in numbers.into_iter().zip(&row[2..]) {
            close(found, wanted, &row[0]);
        }
    }
}

#[test]
fn a_comparison_is_as_arviz_says() {
    let names = ["logistic", "normal"];
    let found = compare(&names.map(model)).expect("the same units");
    for (row, found) in reference().iter().filter(|row| row[0] == "compare").zip(&found) {
        assert_eq!(row[1], names[found.model]);
        close(found.elpd, &row[2], "elpd");
        close(found.difference, &row[3], "difference");
        close(found.difference_se, &row[4], "its error");
        let weight: f64 = row[5].parse().expect("a number");
        assert!((found.weight - weight).abs() < 1e-3, "{} and {weight}", found.weight);
    }
    let fewer = loo(&Pointwise { names: vec!["y".into()], chains: vec![vec![vec![0.0]; 9]] }, 1.0);
    assert!(compare(&[model("normal"), fewer]).is_err_and(|error| error.contains("40 and 1")));
}

#[test]
fn an_outlier_is_named() {
    let found = model("outlier");
    assert!((found.largest_good_k() - 0.697_06).abs() < 1e-4);
    let warnings = found.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("k_hat above 0.70"), "{warnings:?}");
    assert!(model("normal").warnings().is_empty());
    assert_eq!(smidgen_draws::loo::relative_efficiency(&Draws::default()), 1.0);
}
