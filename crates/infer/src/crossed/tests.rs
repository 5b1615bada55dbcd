//! Rows that read two effects, written by hand: sweeps against chains that scan every patch, and these against a walk on the joint density.

use smidgen_prob::collapsed::draw::standard_normal;
use smidgen_value::{Rng, math};

use super::chain::Chain;
use super::preparation::{Line, Preparation, Want};
use super::{Crossed, Point};
use crate::patches::chain::Swept;
use crate::patches::tests::law::{MOST, Moments};
use crate::patches::tests::model::{Outcome, derivatives, log_weight, most};
use crate::patches::{Predicted, Predictors, Rows};

/// η = level_g + u kind_h + β_1 x: level ~ normal(β_0, σ_0), kind ~ normal(0, σ_1); u is 1, or a number of the row where kinds are slopes
/// of the same groups. β ~ normal(0, 3) each, ln σ ~ normal(−0.5, 0.7).
#[derive(Clone)]
struct TwoWays {
    outcome: Outcome,
    levels: usize,
    kinds: usize,
    /// Rows in the order of their patches: the number of the patch, u, x and y.
    rows: Vec<[f64; 3]>,
    members: Vec<[u32; 2]>,
    starts: Vec<usize>,
    /// What the bounds are multiplied by.
    share: f64,
}

impl TwoWays {
    fn new(pairs: &[[usize; 2]], rows_of: impl Fn(usize) -> usize, is_slope: bool) -> TwoWays {
        let most = |k: usize| pairs.iter().map(|pair| pair[k]).max().unwrap_or(0) + 1;
        let (levels, kinds) = (most(0), most(1));
        let mut rng = Rng::from_seed(7);
        let mut normals = |n: usize, scale: f64| -> Vec<f64> {
            (0..n).map(|_| scale * standard_normal(&mut rng)).collect()
        };
        let (level, kind) = (normals(levels, 0.7), normals(kinds, 0.4));
        let (mut rows, mut starts, mut members) = (Vec::new(), vec![0], Vec::new());
        for (number, [g, h]) in pairs.iter().enumerate() {
            for i in 0..rows_of(number) {
                let u = if is_slope { 0.5 * (i % 7) as f64 - 1.4 } else { 1.0 };
                let x = standard_normal(&mut rng);
                let eta = -0.8 + level[*g] + u * kind[*h] + 0.5 * x;
                let y = f64::from(u8::from(rng.uniform() < math::logistic(eta)));
                rows.push([u, x, y]);
            }
            starts.push(rows.len());
            members.push([*g as u32, (levels + h) as u32]);
        }
        TwoWays { outcome: Outcome::Coin, levels, kinds, rows, members, starts, share: 1.0 }
    }

    /// Levels and kinds, every pair.
    fn crossed(rows: usize) -> TwoWays {
        let pairs: Vec<[usize; 2]> = (0..5).flat_map(|g| (0..4).map(move |h| [g, h])).collect();
        TwoWays::new(&pairs, |number| if number % 6 == 5 { 4 } else { rows }, false)
    }

    /// A level and a slope for each group.
    fn slopes(rows: usize) -> TwoWays {
        let pairs: Vec<[usize; 2]> = (0..12).map(|g| [g, g]).collect();
        TwoWays::new(&pairs, |number| if number % 6 == 5 { 4 } else { rows }, true)
    }

    fn origin(&self) -> Point {
        let effects = vec![0.0; self.levels + self.kinds];
        Point { shared: vec![0.0; 2], effects, log_scales: vec![0.0; 2] }
    }
}

fn each(rows: Rows) -> impl Iterator<Item = usize> {
    (0..rows.count).map(move |i| rows.first + i * rows.step)
}

impl Predicted for TwoWays {
    fn shared(&self) -> usize {
        2
    }

    fn coefficients(&mut self, rows: Rows, out: &mut [f64]) {
        let n = rows.count;
        out.fill(0.0);
        for (i, row) in each(rows).enumerate() {
            let [u, x, _] = self.rows[row];
            (out[n + i], out[2 * n + i], out[3 * n + i]) = (x, 1.0, u);
        }
    }

    fn log_weight(&mut self, rows: Rows, [eta, _]: Predictors<'_>) -> f64 {
        each(rows)
            .zip(eta)
            .map(|(row, eta)| log_weight(self.outcome, self.rows[row][2], *eta))
            .sum()
    }

    fn derivatives(&mut self, rows: Rows, [eta, _]: Predictors<'_>, out: &mut [f64]) {
        for (i, (row, eta)) in each(rows).zip(eta).enumerate() {
            let f = derivatives(self.outcome, self.rows[row][2], *eta);
            for (f, out) in f.into_iter().zip(out[i..].iter_mut().step_by(rows.count)) {
                *out = f;
            }
        }
    }

    fn most(&mut self, rows: Rows, eta: &[f64], radius: f64, order: usize, out: &mut [f64]) {
        for ((row, eta), out) in each(rows).zip(eta).zip(out) {
            *out = self.share * most(self.outcome, self.rows[row][2], *eta, radius, order);
        }
    }
}

impl Crossed for TwoWays {
    fn effects(&self) -> usize {
        self.levels + self.kinds
    }

    fn scales(&self) -> usize {
        2
    }

    fn scale_of(&self, effect: usize) -> usize {
        usize::from(effect >= self.levels)
    }

    fn patches(&self) -> usize {
        self.members.len()
    }

    fn patch(&self, number: usize) -> Rows {
        let [first, end] = [self.starts[number], self.starts[number + 1]];
        Rows { first, step: 1, count: end - first }
    }

    fn members(&self, number: usize) -> &[u32] {
        &self.members[number]
    }

    fn location(&self, effect: usize, out: &mut [f64]) -> f64 {
        out.copy_from_slice(&[f64::from(u8::from(effect < self.levels)), 0.0]);
        0.0
    }

    fn is_scale_free(&self, _: usize) -> bool {
        true
    }

    fn log_prior(&mut self, shared: &[f64], log_scales: &[f64]) -> f64 {
        let of_shared: f64 = shared.iter().map(|b| -b * b / 18.0).sum();
        let of_scale = |log_scale: &f64| -(log_scale + 0.5) * (log_scale + 0.5) / 0.98;
        of_shared + log_scales.iter().map(of_scale).sum::<f64>()
    }
}

fn all(point: &Point) -> Vec<f64> {
    point.shared.iter().chain(&point.effects).chain(&point.log_scales).copied().collect()
}

fn run(model: &mut TwoWays, want: Want, sweeps: usize, seed: u64) -> (Moments, Swept, Preparation) {
    let start = model.origin();
    let prepared = Preparation::new(model, start, want).expect("it fits");
    let mut rng = Rng::from_seed(seed);
    let mut chain = Chain::new(&mut rng);
    chain.go(model, &prepared, &prepared.reference.centre);
    let mut swept = Swept::default();
    (0..100).for_each(|_| swept.add(chain.sweep(model, &prepared, &mut rng)));
    let moments = Moments::collect(sweeps, || {
        swept.add(chain.sweep(model, &prepared, &mut rng));
        all(&chain.point(&prepared))
    });
    (moments, swept, prepared)
}

const SCANNED: Want = Want { order: Some(4), least_soft: Some(usize::MAX), lines: Some(true) };

/// The law of scanned chains, whichever moves there are; bounds of a share of what they should be are seen.
fn compare(model: &TwoWays, sweeps: usize) {
    let (truth, scanned, _) = run(&mut model.clone(), SCANNED, sweeps, 1);
    assert_eq!(scanned.asked, 0);
    for (k, (m, lines)) in [(2, true), (3, false), (4, true)].into_iter().enumerate() {
        let want = Want { order: Some(m), least_soft: None, lines: Some(lines) };
        let (found, swept, prepared) = run(&mut model.clone(), want, 2 * sweeps, 2 + k as u64);
        assert!(prepared.soft() > 0 && prepared.soft() < prepared.patches.len());
        assert!(swept.asked > 0);
        assert_eq!(swept.violations, 0, "{want:?}");
        let rms = found.rms(&truth);
        assert!((0.6..1.35).contains(&rms), "{want:?}: rms z {rms}");
    }
    let want = Want { order: Some(2), least_soft: None, lines: Some(true) };
    let mut broken = TwoWays { share: 0.1, ..model.clone() };
    let (found, swept, _) = run(&mut broken, want, 2 * sweeps, 5);
    assert!(swept.violations > 100, "{} violations", swept.violations);
    let rms = found.rms(&truth);
    assert!(rms > 1.6, "broken bounds: rms z {rms}");
}

/// The largest difference is judged, as nothing is known of how the moments hang together.
#[test]
fn crossed_groups_have_the_law_of_scanned_chains() {
    let model = TwoWays::crossed(60);
    let (truth, scanned, _) = run(&mut model.clone(), SCANNED, 8_000, 1);
    assert_eq!(scanned.asked, 0);
    for (k, (m, lines)) in [(2, true), (3, false), (4, true)].into_iter().enumerate() {
        let want = Want { order: Some(m), least_soft: None, lines: Some(lines) };
        let (found, swept, prepared) = run(&mut model.clone(), want, 16_000, 2 + k as u64);
        assert!(prepared.soft() > 0 && prepared.soft() < prepared.patches.len());
        assert!(swept.asked > 0);
        assert_eq!(swept.violations, 0, "{want:?}");
        let most = found.most(&truth);
        assert!(most < MOST, "{want:?}: {most} standard errors");
    }
    let want = Want { order: Some(2), least_soft: None, lines: Some(true) };
    // Polynomials of crossed groups miss so little that the law does not show broken bounds: their violations do.
    let mut broken = TwoWays { share: 0.03, ..model };
    let (_, swept, _) = run(&mut broken, want, 1_000, 5);
    assert!(swept.violations > 100, "{} violations", swept.violations);
}

#[test]
fn slopes_by_group_have_the_law_of_scanned_chains() {
    compare(&TwoWays::slopes(90), 8_000);
}

/// Everything by a walk, coordinate by coordinate, on the density as it is written down.
struct Walk {
    model: TwoWays,
    at: Point,
    rng: Rng,
}

impl Walk {
    fn log_p(&mut self, at: &Point) -> f64 {
        let model = &mut self.model;
        let mut total = model.log_prior(&at.shared, &at.log_scales);
        for (e, effect) in at.effects.iter().enumerate() {
            let k = model.scale_of(e);
            let mean = if k == 0 { at.shared[0] } else { 0.0 };
            let z = (effect - mean) / math::exp(at.log_scales[k]);
            total -= at.log_scales[k] + 0.5 * z * z;
        }
        for (number, [g, h]) in model.members.iter().enumerate() {
            for [u, x, y] in &model.rows[model.starts[number]..model.starts[number + 1]] {
                let [a, b] = [g, h].map(|e| at.effects[*e as usize]);
                total += log_weight(model.outcome, *y, a + u * b + x * at.shared[1]);
            }
        }
        total
    }

    fn next(&mut self) -> Vec<f64> {
        let mut log_p = self.log_p(&self.at.clone());
        let n = self.at.effects.len();
        for k in 0..n + 4 {
            let mut to = self.at.clone();
            let by = 0.9 * standard_normal(&mut self.rng);
            match k {
                _ if k < n => to.effects[k] += by,
                _ if k < n + 2 => to.shared[k - n] += by,
                _ => to.log_scales[k - n - 2] += by,
            }
            let there = self.log_p(&to);
            if self.rng.log_uniform() < there - log_p {
                (self.at, log_p) = (to, there);
            }
        }
        all(&self.at)
    }
}

#[test]
fn sweeps_have_the_law_of_the_joint_density() {
    let pairs: Vec<[usize; 2]> = (0..3).flat_map(|g| (0..3).map(move |h| [g, h])).collect();
    for is_slope in [false, true] {
        let model = TwoWays::new(&pairs, |_| 7, is_slope);
        let mut walk = Walk { model: model.clone(), at: model.origin(), rng: Rng::from_seed(4) };
        let truth = Moments::collect(60_000, || walk.next());
        for (order, least, lines) in [(4, 1, true), (3, 1, false), (4, usize::MAX, true)] {
            let want = Want { order: Some(order), least_soft: Some(least), lines: Some(lines) };
            let (found, swept, _) = run(&mut model.clone(), want, 40_000, 5);
            assert_eq!(swept.violations, 0);
            let rms = found.rms(&truth);
            assert!((0.4..1.5).contains(&rms), "slopes {is_slope}, {want:?}: rms z {rms}");
        }
    }
}

/// The polynomials of the sums are those of the rows, as one number, along one effect, and in β.
#[test]
fn sums_are_the_polynomials_of_their_rows() {
    let mut model = TwoWays::slopes(20);
    for m in 2..=5 {
        let want = Want { order: Some(m), least_soft: Some(1), lines: None };
        let start = model.origin();
        let prepared = Preparation::new(&mut model, start, want).expect("it fits");
        let centre = &prepared.reference.centre;
        let d = [0.11, -0.07];
        let s = [0.3, -0.2, 0.0];
        for (number, patch) in prepared.patches.iter().enumerate() {
            let mut a = vec![0.0; prepared.sums.indices(number).list.len()];
            prepared.sums.collapse(number, &d, &mut a);
            let found = prepared.sums.indices(number).value(&a, s);
            let mut line = [0.0; 7];
            prepared.sums.indices(number).along(&a, s, 1, &mut line);
            let along: f64 = (0..=m).map(|k| line[k] * power_over_factorial(s[1], k)).sum();
            let [g, h] = [patch.members[0], patch.members[1]].map(|e| e as usize);
            let known: f64 = each(patch.rows)
                .map(|row| {
                    let [u, x, y] = model.rows[row];
                    let eta = centre.effects[g] + u * centre.effects[h] + x * centre.shared[1];
                    let f = derivatives(Outcome::Coin, y, eta);
                    let sheared = prepared.sheared(g, &d) + u * prepared.sheared(h, &d);
                    let t = x * d[1] + sheared;
                    crate::patches::chain::polynomial(&f[..=m], s[0] + u * s[1], t)
                })
                .sum();
            let close = |x: f64| (x - known).abs() < 1e-9 * (1.0 + known.abs());
            assert!(close(found) && close(along), "order {m}: {found} {along} {known}");
        }
        // A line that moves all levels up takes the kinds down.
        let shifts = |line: &Line| matches!(line, Line::Shift { .. });
        assert!(!prepared.lines.iter().any(shifts), "slopes that do not make up for levels");
    }
    let mut model = TwoWays::crossed(60);
    let start = model.origin();
    let prepared = Preparation::new(&mut model, start, Want::default()).expect("it fits");
    let shift = prepared.lines.iter().find_map(|line| match line {
        Line::Shift { by, scale: 0, .. } => Some(by),
        _ => None,
    });
    let by = shift.expect("levels and kinds make up for each other");
    assert!(by[..5].iter().all(|by| *by == 1.0) && by[5..].iter().all(|by| *by < -0.7), "{by:?}");
}

fn power_over_factorial(s: f64, k: usize) -> f64 {
    (1..=k).map(|k| s / k as f64).product()
}
