//! Gaussian processes: posteriors of length, amplitude and noise against sums over a grid, of a marginal process and of
//! a latent one; a latent process under counts.

// References are computed as anybody would.
#![allow(clippy::disallowed_methods)]

use smidgen::prob::linalg;
use smidgen::sampling::{Progress, SampleRequest, sample};
use smidgen::value::{Matrix, Value};
use smidgen::{Session, Settings};

const X: [f64; 5] = [0.0, 0.4, 1.0, 1.3, 2.5];
const Y: [f64; 5] = [0.9, 0.3, -0.6, -0.4, 0.8];

fn draws(text: &str, record: &[&str]) -> Vec<Vec<f64>> {
    let mut session = Session::new(Settings { seed: 5, ..Settings::default() });
    let program = session.parse_text("test", text).expect("a program");
    let request = SampleRequest {
        draws: 3000,
        warmup: 1000,
        chains: 2,
        seed: 4,
        record: record.iter().map(|text| (*text).to_owned()).collect(),
        ..SampleRequest::default()
    };
    let sampled = sample(&mut session, &program, &request, &Progress::default());
    let sampled = sampled.unwrap_or_else(|error| panic!("{:?}", error.0));
    let number = |value: &Value| value.as_number().expect("a number");
    let quantities = sampled.run.draws.quantities().iter();
    quantities.map(|q| q.chains.iter().flatten().map(number).collect()).collect()
}

/// How far the mean of the draws is from `expected`, in Monte Carlo errors (from batches of draws).
fn errors(draws: &[f64], expected: f64) -> f64 {
    let mean = |xs: &[f64]| xs.iter().sum::<f64>() / xs.len() as f64;
    let batches: Vec<f64> = draws.chunks(draws.len() / 40).map(mean).collect();
    let all = mean(&batches);
    let var = batches.iter().map(|b| (b - all).powi(2)).sum::<f64>() / (batches.len() - 1) as f64;
    (all - expected) / (var / batches.len() as f64).sqrt()
}

fn list(xs: &[f64]) -> String {
    let words: Vec<String> = xs.iter().map(f64::to_string).collect();
    format!("(vector {})", words.join(" "))
}

fn exp_quad(x: f64, y: f64, amplitude: f64, length: f64) -> f64 {
    amplitude * amplitude * (-0.5 * ((x - y) / length).powi(2)).exp()
}

/// The posterior means of length, amplitude and noise under log-normal priors.
fn on_a_grid() -> [f64; 3] {
    const POINTS: usize = 36;
    let log =
        |i: usize, middle: f64| middle + 0.6 * 3.8 * ((2 * i + 1) as f64 / POINTS as f64 - 1.0);
    let mut means = [0.0; 3];
    let mut total = 0.0;
    for a in 0..POINTS {
        for b in 0..POINTS {
            for c in 0..POINTS {
                let logs = [log(a, 0.0), log(b, 0.0), log(c, -1.0)];
                let [length, amplitude, noise] = logs.map(f64::exp);
                let z = [logs[0] / 0.6, logs[1] / 0.6, (logs[2] + 1.0) / 0.6];
                let prior: f64 = z.iter().map(|z| -0.5 * z * z).sum();
                let covariance = Matrix::from_fn(5, 5, |i, j| {
                    let k = exp_quad(X[i], X[j], amplitude, length);
                    if i == j { k + noise * noise } else { k }
                });
                let lower = linalg::cholesky(&covariance).expect("positive definite");
                let mut residual = Y;
                linalg::solve_lower(&lower, &mut residual);
                let square: f64 = residual.iter().map(|r| r * r).sum();
                let log_p = -0.5 * square - 0.5 * linalg::log_det_from_cholesky(&lower);
                let weight = (prior + log_p).exp();
                total += weight;
                for (mean, value) in means.iter_mut().zip([length, amplitude, noise]) {
                    *mean += weight * value;
                }
            }
        }
    }
    means.map(|mean| mean / total)
}

const PRIORS: &str = "[assume length (lognormal 0 0.6)]
    [assume amplitude (lognormal 0 0.6)]
    [assume noise (lognormal -1 0.6)]\n";

#[test]
fn a_regression_by_a_marginal_and_by_a_latent_process() {
    let (x, y) = (list(&X), list(&Y));
    let marginal = format!(
        "{PRIORS}[observe (multivariate_normal (zeros 5)
            (matrix_add (cov_exp_quad {x} amplitude length) (diag_matrix (fill 5 (* noise noise))))) {y}]"
    );
    let observed: String =
        (0..5).map(|i| format!("[observe (normal (lookup f {i}) noise) {}]\n", Y[i])).collect();
    let latent = format!(
        "{PRIORS}[assume z (multivariate_diag_normal (zeros 5) (ones 5))]
        [assume k (matrix_add (cov_exp_quad {x} amplitude length) (scale_matrix 1e-9 (id_matrix 5)))]
        [assume f (matrix_times_vector (cholesky k) z)]\n{observed}"
    );
    let expected = on_a_grid();
    for text in [marginal, latent] {
        let found = draws(&text, &["length", "amplitude", "noise"]);
        for (found, expected) in found.iter().zip(expected) {
            let z = errors(found, expected);
            assert!(z.abs() < 4.5, "{z:.1} errors from {expected}\n{text}");
        }
    }
    // Another length in the prior is another posterior, which this test tells apart.
    let other = PRIORS.replace("length (lognormal 0", "length (lognormal 0.3");
    let text = format!(
        "{other}[observe (multivariate_normal (zeros 5)
            (matrix_add (cov_exp_quad {x} amplitude length) (diag_matrix (fill 5 (* noise noise))))) {y}]"
    );
    let found = draws(&text, &["length"]);
    assert!(errors(&found[0], expected[0]).abs() > 6.0);
}

#[test]
fn counts_above_a_latent_process() {
    let text = "[assume z (multivariate_diag_normal (zeros 2) (ones 2))]
        [assume f (matrix_times_vector (cholesky (cov_matern52 (vector 0 1) 1.2 2)) z)]
        [observe (poisson_log (lookup f 0)) 4]
        [observe (poisson_log (lookup f 1)) 0]";
    let a = 5f64.sqrt() / 2.0;
    let cov = 1.44 * (1.0 + a + a * a / 3.0) * (-a).exp();
    let det = 1.44 * 1.44 - cov * cov;
    let (mut total, mut means) = (0.0, [0.0; 2]);
    for i in 0..800 {
        for j in 0..800 {
            let [f, g] = [i, j].map(|k| -8.0 + 16.0 * (k as f64 + 0.5) / 800.0);
            let prior = -0.5 * (1.44 * f * f - 2.0 * cov * f * g + 1.44 * g * g) / det;
            let weight = (prior + 4.0 * f - f.exp() - g.exp()).exp();
            total += weight;
            means = [means[0] + weight * f, means[1] + weight * g];
        }
    }
    let found = draws(text, &["(lookup f 0)", "(lookup f 1)"]);
    for (found, mean) in found.iter().zip(means) {
        let z = errors(found, mean / total);
        assert!(z.abs() < 4.5, "{z:.1} errors from {}", mean / total);
    }
}
