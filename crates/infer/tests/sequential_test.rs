//! Algorithm 2 on numbers in a given order: the fixtures of theory 2.3 and the unit cases of the
//! conformance suite.

use smidgen_infer::acceptance::{Verdict, sequential_test};
use smidgen_infer::austerity::{Schedule, student_t_tail};

fn test(mu0: f64, l: &[f64], (batch, min_batches): (usize, usize), epsilon: f64) -> Verdict {
    sequential_test(mu0, l, Schedule { first: batch * min_batches, batch, growth: 1.0 }, epsilon)
}

const F1: [f64; 20] = [
    0.733, -0.221, -0.293, 0.270, 0.207, 0.036, 0.201, 0.643, 0.069, -0.369, -0.057, 0.340, 0.186,
    0.029, 0.333, 0.356, -0.323, -0.394, 0.384, 0.277,
];

#[test]
fn decisions_of_f1() {
    for (mu0, epsilon, accept, n, t) in [
        (0.0, 0.05, true, 8, 1.921077),
        (0.0, 0.01, true, 16, 4.398121),
        (0.05, 0.05, true, 16, 2.969580),
        (0.3, 0.05, false, 12, -2.641139),
        (0.3, 0.01, false, 16, -4.173126),
        (-0.2, 0.05, true, 8, 3.871409),
    ] {
        let found = test(mu0, &F1, (4, 1), epsilon);
        assert_eq!((found.accept, found.sections), (accept, n), "mu0 {mu0}, epsilon {epsilon}");
        let statistic = found.statistic.expect("it stopped early");
        assert!((statistic - t).abs() < 1e-5 * t.abs(), "{statistic} for {t}");
        let p = student_t_tail(n as f64 - 1.0, statistic.abs());
        assert!(p < epsilon);
        assert_eq!(found.looks as usize, n / 4);
    }
}

/// Equal weights decide nothing, however many.
#[test]
fn equal_weights_go_on() {
    let mut l = vec![0.1; 8];
    l.extend([-2.0, 0.5, 0.3, -0.1]);
    let found = test(0.0, &l, (4, 1), 0.05);
    assert_eq!((found.accept, found.sections, found.statistic), (false, 12, None));
    // Also when they are equal only up to rounding.
    let noisy: Vec<f64> = (0..40).map(|i| 1e8 + f64::from(i % 2) * 1e-8).collect();
    assert_eq!(test(1e8 - 1.0, &noisy, (4, 1), 0.05).sections, 40);
}

#[test]
fn impossible_sections() {
    let mut l = F1.to_vec();
    l[6] = f64::NEG_INFINITY;
    let found = test(0.0, &l, (4, 1), 0.001);
    assert!(!found.accept && found.impossible && found.sections == 8);
    // The current state is impossible: everything is read, and any possible state is better.
    l[6] = f64::INFINITY;
    let found = test(0.3, &l, (4, 1), 0.05);
    assert!(found.accept && found.sections == 20);
    l[15] = f64::NEG_INFINITY;
    assert!(!test(0.3, &l, (4, 1), 0.05).accept);
}

#[test]
fn the_ends_of_the_range() {
    // epsilon 0 reads everything, 0.5 stops at the first look.
    assert_eq!(test(-100.0, &F1, (4, 1), 0.0).sections, 20);
    assert_eq!(test(0.12, &F1, (4, 1), 0.5).sections, 4);
    // A batch as large as the population, a short last batch, a single section.
    assert_eq!(test(0.0, &F1, (50, 1), 0.5).sections, 20);
    assert_eq!(test(0.12035, &F1, (7, 1), 1e-9).sections, 20);
    assert_eq!(test(0.0, &F1[..1], (4, 1), 0.1).sections, 1);
    // Strict: a tie is a rejection.
    assert!(!test(0.25, &[0.25, 0.25], (1, 1), 0.1).accept);
}

struct Case {
    id: &'static str,
    mu0: f64,
    shape: (usize, usize),
    epsilon: f64,
    l: &'static [f64],
    accept: bool,
    n: usize,
    tstat: Option<f64>,
}

#[test]
fn conformance_cases() {
    for case in CASES {
        let found = test(case.mu0, case.l, case.shape, case.epsilon);
        assert_eq!((found.accept, found.sections), (case.accept, case.n), "{}", case.id);
        match (found.statistic, case.tstat) {
            (None, None) => {}
            (Some(t), Some(wanted)) => assert!((t - wanted).abs() < 1e-5, "{}: {t}", case.id),
            other => panic!("{}: {other:?}", case.id),
        }
    }
}

/// The `subsampled-sequential-test` inputs.
#[rustfmt::skip]
static CASES: &[Case] = &[
    Case { id: "seqtest-4", mu0: 0.1, shape: (4, 2), epsilon: 0.01,
        l: &[-0.91, 1.36, -1.16, 0.67, 1.4, -1.5, -0.2, -1.21, 0.34, 1.61, 2.12, -1.68, -0.47, 0.8, 1.68, 0.52, -0.65, 0.4, 0.08, -0.1, -0.63, 0.49, 0.41, 0.01, -0.12, -1.18, -0.39, 1.31, -0.09, -1.34],
        accept: false, n: 30, tstat: None },
    Case { id: "seqtest-5", mu0: 0.0, shape: (10, 3), epsilon: 0.3,
        l: &[1.63, 0.83, 2.41, 0.36, -0.16, -1.15, 1.62, 2.87, -0.52, -0.35, 0.9, -0.53, 0.03, -0.05, 0.49, 1.39, 0.32, 1.22, -0.12, 0.63, -1.84, -1.15, 1.1, -0.29, 0.88, 0.84, 1.62, 1.11, 1.32, 0.19, -0.4, -0.43, -0.19, -0.83, -0.25, 0.21, 0.55, -0.04, -1.62, 0.23, 0.53, 1.38, 0.88, -0.34, -0.42, 2.31, 1.06, 2.13, 2.43, -0.52, 0.69, 0.76, 0.86, 0.84, 0.5, 0.47, -1.2, 0.13, -0.45, 0.43, -0.17, 0.92, 1.12, 0.61, 0.62, 0.39, -0.15, 0.14, -0.2, 0.69, 0.31, 0.88, -1.03, 1.19, -0.46, -0.43, 0.1, -0.26, 0.59, -0.27, -0.77, -0.55, 1.61, 0.34, -0.87, 0.31, -1.26, 2.09, -1.22, 0.78, 0.84, -1.15, 0.6, 1.3, 0.77, 0.56, 1.25, 0.46, 0.64, 0.17],
        accept: true, n: 30, tstat: Some(3.216446) },
    Case { id: "seqtest-1", mu0: 0.2, shape: (2, 3), epsilon: 0.1,
        l: &[0.23, 1.56, 1.42, -0.31, -0.1, -0.33, 0.77, 0.14, 0.95, -1.65, 1.77, 0.1, 0.88, 0.06, -0.18, 0.66, 1.02, -0.0, 0.05, 0.89],
        accept: true, n: 14, tstat: Some(1.408621) },
];
