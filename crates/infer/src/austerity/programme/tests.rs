//! The worked examples and tables of the theory, and the programme against simulations of the test.

use super::*;
use crate::austerity::{Accumulator, CriticalValues, Schedule};
use crate::proposer::standard_normal;
use smidgen_value::Rng;

fn assert_near(got: Outcome, error: f64, usage: f64, tolerance: f64, what: &str) {
    let near = |got: f64, want: f64| (got - want).abs() <= tolerance;
    assert!(near(got.error, error) && near(got.usage, usage), "{what}: {got:?}, {error} {usage}");
}

#[test]
fn three_looks() {
    // theory 3.3, example A: exact values from the bivariate normal distribution
    for (mu, error, usage) in [
        (0.0, 0.087751, 0.908166),
        (0.5, 0.030030, 0.874364),
        (1.0, 0.010204, 0.782653),
        (2.0, 0.001113, 0.564656),
    ] {
        for cells in [None, Some(40)] {
            let got = programme(mu, &[100, 200, 300], 0.05, cells);
            assert_near(got, error, usage, 1e-6, &format!("{mu} {cells:?}"));
            assert_eq!(got, programme(-mu, &[100, 200, 300], 0.05, cells));
        }
    }
}

#[test]
fn many_equal_batches() {
    // theory 3.3, example B; the last digits there are those of 201 cells
    for (population, batch, epsilon, mu, error, usage) in [
        (10_000, 500, 0.05, 0.0, 0.2820, 0.6525),
        (10_000, 500, 0.05, 1.0, 0.0758, 0.4875),
        (10_000, 500, 0.05, 2.0, 0.0311, 0.3264),
        (10_000, 500, 0.05, 4.0, 0.0065, 0.1700),
        (10_000, 100, 0.01, 0.0, 0.1501, 0.8277),
        (10_000, 100, 0.01, 1.0, 0.0367, 0.6358),
        (10_000, 100, 0.01, 4.0, 0.0065, 0.2122),
        (12_214, 500, 0.05, 1.0, 0.0853, 0.4660),
    ] {
        let sizes = Schedule::new(batch, 1.0).sizes(population);
        let got = programme(mu, &sizes, epsilon, None);
        assert_near(got, error, usage, 2e-4, &format!("{population} {batch} {mu}"));
    }
    // E = .05927, .05911, .05907 with 101, 201 and 401 cells: the limit is .05906
    let sizes = Schedule::new(100, 1.0).sizes(10_000);
    assert!((programme(0.5, &sizes, 0.01, None).error - 0.05906).abs() < 1e-5);
}

#[test]
fn equal_and_growing_batches() {
    // theory 2.5: N = 10 000, m = 100, ε = .01; growth 1, 1.5, 2. There n_j = 100 g^j is rounded to
    // the nearest, which the fourth digit feels.
    let sizes = |growth: f64| -> Vec<usize> {
        let powers = (0..).map(|j| (100.0 * growth.powi(j)).round() as usize);
        match growth {
            1.0 => Schedule::new(100, 1.0).sizes(10_000),
            _ => powers.take_while(|n| *n < 10_000).chain([10_000]).collect(),
        }
    };
    for (mu, outcomes) in [
        (0.0, [(0.15012, 0.8277), (0.07268, 0.8876), (0.05269, 0.9134)]),
        (1.0, [(0.03674, 0.6358), (0.02913, 0.7718), (0.02260, 0.8480)]),
        (2.0, [(0.01840, 0.4302), (0.01671, 0.5716), (0.01306, 0.6429)]),
        (4.0, [(0.00646, 0.2122), (0.00676, 0.2775), (0.00536, 0.3379)]),
    ] {
        for (growth, (error, usage)) in [1.0, 1.5, 2.0].into_iter().zip(outcomes) {
            let got = programme(mu, &sizes(growth), 0.01, None);
            assert_near(got, error, usage, 2e-4, &format!("{mu} {growth}"));
        }
    }
}

#[test]
fn merged_looks_agree_with_all_looks() {
    for (population, batch, epsilon) in
        [(100_000, 100, 0.01), (100_000, 50, 0.001), (50_000, 100, 0.1)]
    {
        let sizes = Schedule::new(batch, 1.0).sizes(population);
        let merged = Walk::new(&sizes, epsilon, None);
        let cells = nodes(&looks(&sizes, merged.boundary, false));
        let all = Walk::new(&sizes, epsilon, Some(cells));
        assert!(merged.steps.len() < all.steps.len());
        for mu in [0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0] {
            let (got, want) = (merged.outcome(mu), all.outcome(mu));
            let what = format!("{population} {epsilon} {mu}: {got:?} {want:?}");
            assert!((got.error / want.error - 1.0).abs() < 1e-3, "{what}");
            assert!((got.usage / want.usage - 1.0).abs() < 4e-3, "{what}");
        }
    }
}

#[test]
fn ten_million_are_no_burden() {
    let sizes = Schedule::new(100, 1.0).sizes(10_000_000);
    let walk = Walk::new(&sizes, 0.01, None);
    assert!(walk.steps.len() < 1500, "{}", walk.steps.len());
    let got = walk.outcome(0.0);
    assert!(got.error > 0.3 && got.error < 0.5 && got.usage > 0.3 && got.usage < 0.7, "{got:?}");
}

/// The real test: Student quantiles, estimated variance, sampling without replacement.
fn decide(
    values: &mut [f64],
    mu0: f64,
    critical: &mut CriticalValues,
    rng: &mut Rng,
) -> (bool, usize) {
    let population = values.len();
    let sizes = Schedule::new(100, 1.0).sizes(population);
    let mut seen = Accumulator::default();
    for n in sizes {
        for i in seen.n as usize..n {
            values.swap(i, i + rng.below(population - i));
            seen.push(values[i]);
        }
        let correction = (population - n) as f64 / (population - 1) as f64;
        let error = math::sqrt(seen.variance() / n as f64 * correction);
        if n == population || (seen.mean - mu0).abs() > error * critical.at(n as u64) {
            return (seen.mean > mu0, n);
        }
    }
    unreachable!("the last look decides")
}

#[test]
fn the_programme_predicts_the_real_test() {
    let mut rng = Rng::from_seed(20);
    let (population, runs, epsilon) = (2000, 3000, 0.05);
    let mut values: Vec<f64> = (0..population).map(|_| standard_normal(&mut rng)).collect();
    let all: Accumulator = values.iter().copied().collect();
    let sd = math::sqrt(all.m2 / population as f64);
    let mut critical = CriticalValues::new(epsilon);
    for mu in [0.5, 1.0, 2.0] {
        let mu0 = all.mean - mu * sd / math::sqrt(population as f64 - 1.0);
        let (mut wrong, mut read) = (0.0, Accumulator::default());
        for _ in 0..runs {
            let (accept, n) = decide(&mut values, mu0, &mut critical, &mut rng);
            wrong += if accept { 0.0 } else { 1.0 / f64::from(runs) };
            read.push(n as f64 / population as f64);
        }
        let want = programme(mu, &Schedule::new(100, 1.0).sizes(population), epsilon, None);
        let se = math::sqrt(want.error * (1.0 - want.error) / f64::from(runs));
        assert!((wrong - want.error).abs() < 4.0 * se, "{mu}: {wrong} {want:?}");
        let se = math::sqrt(read.variance() / f64::from(runs));
        assert!((read.mean - want.usage).abs() < 4.0 * se, "{mu}: {read:?} {want:?}");
    }
}
