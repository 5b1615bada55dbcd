//! Covariances of Gaussian processes against values of 17 digits from mpmath (40 digits, by the formulas at the head of
//! `src/covariance.rs`).

// References are computed as anybody would.
#![allow(clippy::disallowed_methods)]

use smidgen_prob::registry::Builtin;
use smidgen_prob::{linalg, lookup};
use smidgen_value::{Matrix, Symbol, Value};

fn apply(name: &str, args: &[Value]) -> Result<Value, String> {
    let Some(Builtin::Function(function)) = lookup(Symbol::new(name)) else { panic!("{name}") };
    (function.apply)(&args.iter().collect::<Vec<_>>()).map_err(|error| error.to_string())
}

fn matrix(value: Result<Value, String>) -> Matrix {
    match value {
        Ok(Value::Matrix(m)) => (*m).clone(),
        other => panic!("{other:?}"),
    }
}

/// A kernel, two points, its parameters, and what it gives.
type Row = (&'static str, &'static [f64], &'static [f64], &'static [f64], f64);

const TABLE: &[Row] = &[
    ("cov_exp_quad", &[0.0], &[0.0], &[1.5, 0.7], 2.25),
    ("cov_exp_quad", &[0.25], &[1.0], &[1.5, 0.7], 1.2673785386287202),
    ("cov_exp_quad", &[0.0], &[30.0], &[2.0, 1.0], 1.4775532273949024e-195),
    ("cov_exp_quad", &[1.0, -2.0], &[0.5, 3.0], &[0.3, 4.0], 0.04088434268554085),
    ("cov_exp_quad", &[1e-09], &[0.0], &[1.0, 1.0], 1.0),
    ("cov_exp_quad", &[0.0], &[500.0], &[0.001, 2.5], 0.0),
    ("cov_exp_quad", &[1000000.0], &[1000003.0], &[100000.0, 10.0], 9559974818.331),
    ("cov_matern32", &[0.0], &[0.0], &[1.5, 0.7], 2.25),
    ("cov_matern32", &[0.25], &[1.0], &[1.5, 0.7], 1.0045127071993185),
    ("cov_matern32", &[0.0], &[30.0], &[2.0, 1.0], 5.746682770563122e-21),
    ("cov_matern32", &[1.0, -2.0], &[0.5, 3.0], &[0.3, 4.0], 0.03244436679554811),
    ("cov_matern32", &[1e-09], &[0.0], &[1.0, 1.0], 1.0),
    ("cov_matern32", &[0.0], &[500.0], &[0.001, 2.5], 1.2497435283045647e-154),
    ("cov_matern32", &[1000000.0], &[1000003.0], &[100000.0, 10.0], 9037901598.990385),
    ("cov_matern52", &[0.0], &[0.0], &[1.5, 0.7], 2.25),
    ("cov_matern52", &[0.25], &[1.0], &[1.5, 0.7], 1.0882342904476312),
    ("cov_matern52", &[0.0], &[30.0], &[2.0, 1.0], 4.613911480149776e-26),
    ("cov_matern52", &[1.0, -2.0], &[0.5, 3.0], &[0.3, 4.0], 0.034924675790335265),
    ("cov_matern52", &[1e-09], &[0.0], &[1.0, 1.0], 1.0),
    ("cov_matern52", &[0.0], &[500.0], &[0.001, 2.5], 4.0218147445548225e-196),
    ("cov_matern52", &[1000000.0], &[1000003.0], &[100000.0, 10.0], 9309653427.75005),
    ("cov_periodic", &[0.0], &[0.0], &[1.5, 0.7, 2.0], 2.25),
    ("cov_periodic", &[0.25], &[1.0], &[1.5, 0.7, 2.0], 0.06904746074443999),
    ("cov_periodic", &[0.0], &[30.0], &[2.0, 1.0, 7.0], 1.177947393973116),
    ("cov_periodic", &[1.0, -2.0], &[0.5, 3.0], &[0.3, 4.0, 3.5], 0.0780591777944523),
    ("cov_periodic", &[1e-09], &[0.0], &[1.0, 1.0, 1.0], 1.0),
    ("cov_periodic", &[0.0], &[500.0], &[0.001, 2.5, 10000.0], 9.921996246730493e-07),
    ("cov_periodic", &[1000000.0], &[1000003.0], &[100000.0, 10.0, 0.3], 10000000000.0),
];

#[test]
fn covariances_match_the_reference() {
    for (name, x, y, parameters, want) in TABLE {
        let point = |x: &[f64]| Value::matrix(Matrix::new(1, x.len(), x.to_vec()));
        let both = Value::matrix(Matrix::new(2, x.len(), [*x, *y].concat()));
        let numbers = parameters.iter().map(|x| Value::Number(*x));
        let one: Vec<Value> = [both].into_iter().chain(numbers.clone()).collect();
        let two: Vec<Value> = [point(x), point(y)].into_iter().chain(numbers).collect();
        let (one, two) = (matrix(apply(name, &one)), matrix(apply(name, &two)));
        for found in [one.get(0, 1), one.get(1, 0), two.get(0, 0)] {
            let error = (found - want).abs();
            // A sine of a large angle has lost digits before it is taken.
            let slack = if x[0].abs() > 1e5 { 1e-7 } else { 2e-13 };
            assert!(error <= slack * want.abs(), "{name} {x:?} {y:?}: {found}, not {want}");
        }
        assert_eq!(one.get(0, 0), parameters[0] * parameters[0]);
    }
}

/// Vectors are points of one number; the matrices have Cholesky factors once something is added on the diagonal.
#[test]
fn vectors_are_points_and_matrices_are_covariances() {
    let n = 40;
    let xs: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin() * 5.0).collect();
    for (name, parameters) in [
        ("cov_exp_quad", &[1.3, 0.8][..]),
        ("cov_matern32", &[1.3, 0.8]),
        ("cov_matern52", &[1.3, 0.8]),
        ("cov_periodic", &[1.3, 0.8, 2.0]),
    ] {
        let numbers: Vec<Value> = parameters.iter().map(|x| Value::Number(*x)).collect();
        let args = |points: Value| [vec![points], numbers.clone()].concat();
        let by_vector = matrix(apply(name, &args(Value::vector(xs.clone()))));
        let column = Value::matrix(Matrix::new(n, 1, xs.clone()));
        assert_eq!(by_vector.as_slice(), matrix(apply(name, &args(column))).as_slice());
        let list = Value::list(xs.iter().map(|x| Value::Number(*x)).collect::<Vec<_>>());
        assert_eq!(by_vector.as_slice(), matrix(apply(name, &args(list))).as_slice());
        let with_noise =
            Matrix::from_fn(n, n, |i, j| by_vector.get(i, j) + if i == j { 1e-8 } else { 0.0 });
        let lower = linalg::cholesky(&with_noise).expect("positive definite");
        // Long sums run in several parts; the factor is a factor all the same.
        let again = linalg::product(&lower, &linalg::transpose(&lower));
        for (a, b) in again.as_slice().iter().zip(with_noise.as_slice()) {
            assert!((a - b).abs() < 1e-14 * 40.0);
        }
        let inverse = linalg::inverse_from_cholesky(
            &linalg::cholesky(&Matrix::from_fn(n, n, |i, j| {
                by_vector.get(i, j) + if i == j { 0.5 } else { 0.0 }
            }))
            .expect("positive definite"),
        );
        let whole =
            Matrix::from_fn(n, n, |i, j| by_vector.get(i, j) + if i == j { 0.5 } else { 0.0 });
        let unit = linalg::product(&inverse, &whole);
        for i in 0..n {
            for j in 0..n {
                let want = if i == j { 1.0 } else { 0.0 };
                assert!((unit.get(i, j) - want).abs() < 1e-11, "{i} {j}: {}", unit.get(i, j));
            }
        }
    }
}

#[test]
fn what_is_wrong_is_said() {
    let (n, v) = (Value::Number, || Value::vector([0.0, 1.0]));
    for (args, word) in [
        (vec![v(), n(-1.0), n(1.0)], "positive amplitude"),
        (vec![v(), n(1.0), n(0.0)], "positive length"),
        (vec![Value::vector([]), n(1.0), n(1.0)], "at least one point"),
        (vec![Value::vector([f64::NAN]), n(1.0), n(1.0)], "finite"),
        (vec![v(), Value::matrix(Matrix::new(1, 2, vec![0.0; 2])), n(1.0), n(1.0)], "dimension"),
        (vec![n(1.0), n(1.0), n(1.0)], "a vector of numbers"),
    ] {
        let error = apply("cov_exp_quad", &args).expect_err(word);
        assert!(error.contains(word), "{error}");
    }
    let period = apply("cov_periodic", &[v(), n(1.0), n(1.0), n(0.0)]).expect_err("no period");
    assert!(period.contains("positive period"), "{period}");
}
