//! Numbers known beforehand.

use smidgen_value::{Rng, math};

use super::model::{MOST, Outcome, Plan, derivatives, log_weight};
use crate::patches::arrowhead::{self, Point};
use crate::patches::bounds::{self, Ball, Bounds};
use crate::patches::chain::{Chain, polynomial, polynomial_of_wide};
use crate::patches::preparation::{Preparation, Want};
use crate::patches::sums::{Collapsed, Quadratic};
use crate::patches::{Patched, Rows};

fn near(found: f64, known: f64, relative: f64) {
    assert!((found - known).abs() <= relative * known.abs(), "{found}, not {known}");
}

pub fn origin(model: &dyn Patched) -> Point {
    let [shared, effects] = [model.shared(), model.groups()].map(|n| vec![0.0; n]);
    Point { shared, effects, log_scale: 0.0 }
}

#[test]
fn remainders() {
    let rest = |outcome: Outcome, y: f64, m: usize| {
        let f = derivatives(outcome, y, 0.3);
        log_weight(outcome, y, 0.55) - polynomial(&f[..=m], 0.2, 0.05)
    };
    near(rest(Outcome::Coin, 1.0, 2), 1.12714e-4, 1e-5);
    near(rest(Outcome::Coin, 1.0, 3), 1.86910e-5, 1e-5);
    near(rest(Outcome::Coin, 1.0, 4), 6.24999e-7, 1e-5);
    near(rest(Outcome::Count, 2.0, 4), -4.55578e-5, 1e-5);
}

#[test]
fn the_largest_derivatives_of_the_log_sigmoid() {
    for (k, most) in MOST.into_iter().enumerate() {
        let at = |i: i32| derivatives(Outcome::Coin, 1.0, 1e-3 * f64::from(i))[k + 3].abs();
        let found = (-9000..9000).map(at).fold(0.0, f64::max);
        assert!(found <= most && found > 0.9999 * most, "order {}: {found}", k + 3);
    }
}

#[test]
fn a_shear() {
    let weights = [0.3, -0.2].map(|eta| -derivatives(Outcome::Coin, 0.0, eta)[2]);
    let wx = [0.0, weights[0] - 0.5 * weights[1]];
    let mut k = [0.0; 2];
    let h = arrowhead::shear(weights[0] + weights[1], &wx, &[1.0, 0.0], 1.0 / 0.49, &mut k);
    near(k[0], 0.805758, 1e-6);
    near(k[1], -0.0476549, 1e-6);
    near(1.0 / math::sqrt(h), 0.628348, 1e-6);
}

/// The polynomial collapsed at d, the quadratic at s, and the sum over rows are the same number.
#[test]
fn sums_are_the_polynomials_of_their_rows() {
    let plan = Plan {
        outcome: Outcome::Coin,
        rows: 60,
        groups: 4,
        is_uneven: true,
        intercept: -1.0,
        seed: 3,
    };
    let mut model = plan.make();
    for m in 2..=6 {
        let want = Want { order: Some(m), least_soft: Some(1), ..Want::default() };
        let start = origin(&model);
        let prepared = Preparation::new(&mut model, start, want).expect("it fits");
        let centre = &prepared.reference.centre;
        let d = [0.11, -0.07, 0.05];
        let mut collapsed = Collapsed::default();
        prepared.sums.collapse(&d, &mut collapsed);
        for (place, group) in prepared.groups.iter().enumerate() {
            let rows = model.patch(*group as usize);
            let sheared: f64 = prepared.sheared(place, &d);
            let sum = |s: f64, d: &[f64], sheared: f64| -> f64 {
                let each = (rows.first..rows.first + rows.count).map(|row| {
                    let x = [0.0, model.x[row][0], model.x[row][1]];
                    let along = |d: &[f64]| x.iter().zip(d).map(|(x, d)| x * d).sum::<f64>();
                    let eta = centre.effects[*group as usize] + along(&centre.shared);
                    let f = derivatives(Outcome::Coin, model.y[row], eta);
                    polynomial(&f[..=m], s, along(d) + sheared)
                });
                each.sum()
            };
            let along_s = sum(0.3, &d, sheared) - sum(0.0, &d, sheared);
            near(collapsed.value(place, 0.3), along_s, 1e-10);
            let mut quadratic = Quadratic::new(3);
            prepared.sums.quadratic_of(place, 0.3, &mut quadratic);
            let along_d = sum(0.3, &d, sheared) - sum(0.3, &[0.0; 3], 0.0);
            assert!((quadratic.at(&d) - along_d).abs() < 1e-11, "order {m}");
        }
        // All patches at once are the patches one by one.
        let s: Vec<f64> = (0..4).map(|k| 0.1 * f64::from(k) - 0.2).collect();
        let [mut all, mut one_by_one] = [Quadratic::new(3), Quadratic::new(3)];
        prepared.sums.quadratic(&s, &mut Vec::new(), &mut all);
        (0..4).for_each(|place| prepared.sums.quadratic_of(place, s[place], &mut one_by_one));
        assert!((all.at(&d) - one_by_one.at(&d)).abs() < 1e-12);
        let mut slope = [0.0; 4];
        collapsed.derivative(1, 0..4, &s, &mut slope);
        for (place, slope) in slope.into_iter().enumerate() {
            let [above, below] = [1e-5, -1e-5].map(|h| collapsed.value(place, s[place] + h));
            assert!((slope - (above - below) / 2e-5).abs() < 1e-6);
        }
    }
}

/// The change of a remainder in random moves, over its bound.
fn tightest(outcome: Outcome, m: usize, share: f64) -> f64 {
    let mut rng = Rng::from_seed(m as u64);
    let mut worst = 0.0_f64;
    for _ in 0..4000 {
        let eta = 6.0 * rng.uniform() - 3.0;
        let reach = 0.3 * rng.uniform();
        let (rho, radius) = (3.0 * rng.uniform(), 2.0);
        let t = reach * rho * (2.0 * rng.uniform() - 1.0);
        let mut s = || (radius - reach * rho) * (2.0 * rng.uniform() - 1.0);
        let s = [s(), s()];
        let f = derivatives(outcome, 1.0, eta);
        let rest =
            |s: f64, t: f64| log_weight(outcome, 1.0, eta + s + t) - polynomial(&f[..=m], s, t);
        let most = Ball::orders(m).map(|k| {
            let at =
                |i: i32| derivatives(outcome, 1.0, eta + radius * f64::from(i) / 500.0)[k].abs();
            share * 1.001 * (-500..=500).map(at).fold(0.0, f64::max)
        });
        let bounds = Bounds::new(m, &[Ball { rows: 1.0, lever: 1.0, reach, radius, most }]);
        assert!(bounds.holds(0, s[0], rho) && !bounds.holds(0, 2.0 * radius, rho));
        let change = (rest(s[1], t) - rest(s[0], t)).abs();
        worst = worst.max((change - 1e-13) / bounds.of_effect(0, s, rho));
        // Along β: t' within the same ρ, as far as its reach allows.
        let there = reach * rho * (2.0 * rng.uniform() - 1.0);
        let length = (there - t).abs() / reach;
        let change = (rest(s[0], there) - rest(s[0], t)).abs();
        worst = worst.max((change - 1e-13) / bounds.of_shared(0, s[0], rho, length));
    }
    worst
}

#[test]
fn differences_are_bounded() {
    for outcome in [Outcome::Coin, Outcome::Count] {
        for m in 2..=6 {
            let right = tightest(outcome, m, 1.0);
            assert!(right <= 1.0, "{outcome:?}, order {m}: {right} of the bound");
            let wrong = tightest(outcome, m, 0.2);
            assert!(wrong > 1.0, "{outcome:?}, order {m}: bounds of a fifth are kept: {wrong}");
        }
    }
}

/// ∂^(k+j)/∂η^k ∂ζ^j of the log density of normal(η, e^ζ) at y = 1.
fn of_normal(j: usize, k: usize, eta: f64, zeta: f64) -> f64 {
    let precision = math::exp(-2.0 * zeta);
    let gap = 1.0 - eta;
    let of_eta = [-0.5 * gap * gap, gap, -1.0].get(k).map_or(0.0, |x| x * precision);
    let by_zeta: f64 = (0..j).map(|_| -2.0).product();
    let line = match (j, k) {
        (0, 0) => -zeta,
        (1, 0) => -1.0,
        _ => 0.0,
    };
    by_zeta * of_eta + line
}

/// The change of a wide row's remainder in random moves, over its bound.
fn tightest_of_wide(m: usize, share: f64) -> f64 {
    let mut rng = Rng::from_seed(m as u64);
    let mut worst = 0.0_f64;
    for _ in 0..4000 {
        let mut number = |most: f64| most * (2.0 * rng.uniform() - 1.0);
        let (eta, zeta) = (number(3.0), number(1.0));
        let reaches = [0.15 + number(0.15), 0.1 + number(0.1)];
        let (reach, radius, rho) = (reaches[0].max(reaches[1]), 2.0, 1.5 + number(1.0));
        // β in two whitened coordinates: what η and ζ read of it point in any directions.
        let angles = [number(std::f64::consts::PI), number(std::f64::consts::PI)];
        let mut spot = || {
            let (angle, length) = (number(std::f64::consts::PI), number(rho));
            [length * math::cos(angle), length * math::sin(angle)]
        };
        let (from, to) = (spot(), spot());
        let along = |w: [f64; 2], i: usize| {
            reaches[i] * (math::cos(angles[i]) * w[0] + math::sin(angles[i]) * w[1])
        };
        let mut s = || (radius - reach * rho) * (2.0 * rng.uniform() - 1.0);
        let s = [s(), s()];
        let f: Vec<f64> =
            (0..3).flat_map(|j| (0..=m).map(move |k| of_normal(j, k, eta, zeta))).collect();
        let rest = |s: f64, w: [f64; 2]| {
            let by = [along(w, 0), along(w, 1)];
            of_normal(0, 0, eta + s + by[0], zeta + by[1]) - polynomial_of_wide(&f, s, by)
        };
        let most = bounds::most_of_wide(m, reaches, |j, k| {
            // Largest at a corner of the box.
            let corners = [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)];
            let corner = |(a, b): (f64, f64)| {
                of_normal(j, k, eta + a * radius, zeta + b * reaches[1] * rho).abs()
            };
            share * corners.into_iter().map(corner).fold(0.0, f64::max)
        });
        let bounds = Bounds::new(m, &[Ball { rows: 1.0, lever: 1.0, reach, radius, most }]);
        let change = (rest(s[1], from) - rest(s[0], from)).abs();
        worst = worst.max((change - 1e-12) / bounds.of_effect(0, s, rho));
        let by = [to[0] - from[0], to[1] - from[1]];
        let length = math::sqrt(by[0] * by[0] + by[1] * by[1]);
        let change = (rest(s[0], to) - rest(s[0], from)).abs();
        worst = worst.max((change - 1e-12) / bounds.of_shared(0, s[0], rho, length));
    }
    worst
}

#[test]
fn differences_of_wide_rows_are_bounded() {
    for m in 2..=6 {
        let right = tightest_of_wide(m, 1.0);
        assert!(right <= 1.0, "order {m}: {right} of the bound");
        let wrong = tightest_of_wide(m, 0.2);
        assert!(wrong > 1.0, "order {m}: bounds of a fifth are kept: {wrong}");
    }
}

#[test]
fn a_normal_outcome_is_always_accepted_and_never_read() {
    let plan = Plan {
        outcome: Outcome::Normal,
        rows: 4000,
        groups: 40,
        is_uneven: false,
        intercept: -0.5,
        seed: 1,
    };
    let mut model = plan.make();
    let start = origin(&model);
    let prepared = Preparation::new(&mut model, start, Want::default()).expect("it fits");
    let mut rng = Rng::from_seed(2);
    let mut chain = Chain::new(&mut rng);
    chain.go(&mut model, &prepared, &prepared.reference.centre);
    // One sweep of twenty is a walk, which may be refused.
    for _ in 0..19 {
        let swept = chain.sweep(&mut model, &prepared, &mut rng);
        assert_eq!([swept.asked, swept.scanned, swept.violations], [0; 3]);
        assert_eq!([swept.effects_accepted, swept.shared_accepted], [40, 1]);
    }
}

#[test]
fn the_more_rows_the_fewer_are_read() {
    let read = |rows: usize| {
        let plan = Plan {
            outcome: Outcome::Coin,
            rows,
            groups: 50,
            is_uneven: false,
            intercept: -0.5,
            seed: 1,
        };
        let mut model = plan.make();
        let start = origin(&model);
        let want = Want { order: Some(4), ..Want::default() };
        let prepared = Preparation::new(&mut model, start, want).expect("it fits");
        assert_eq!(prepared.soft, 50);
        let mut rng = Rng::from_seed(2);
        let mut chain = Chain::new(&mut rng);
        chain.go(&mut model, &prepared, &prepared.reference.centre);
        let sweeps = 400;
        let swept = (0..sweeps).map(|_| chain.sweep(&mut model, &prepared, &mut rng));
        let asked: u64 = swept.map(|swept| swept.asked).sum();
        asked as f64 / f64::from(sweeps)
    };
    let [few, many] = [1_000, 30_000].map(read);
    assert!(few > 0.05 && few < 20.0, "{few} rows of 1,000");
    assert!(many < 0.3 * few, "{many} rows of 30,000, {few} of 1,000");
}

#[test]
fn rows_by_steps() {
    let rows = Rows { first: 10, step: 1, count: 7 };
    assert_eq!(rows.thinned(3), Rows { first: 10, step: 3, count: 3 });
    assert_eq!(rows.thinned(3).part(2, 64), Rows { first: 16, step: 3, count: 1 });
}
