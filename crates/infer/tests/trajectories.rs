//! No-U-turn trajectories and their metric, on densities whose draws and moments are known exactly: one
//! transition from an exact draw is an exact draw. Twins: other weights of the states, another density.

use smidgen_infer::hamiltonian::Point;
use smidgen_infer::hamiltonian::estimate::Window;
use smidgen_infer::hamiltonian::learning::{Learning, Metrics};
use smidgen_infer::hamiltonian::metric::Metric;
use smidgen_infer::hamiltonian::trajectory::Sampler;
use smidgen_infer::proposer::standard_normal;
use smidgen_prob::linalg::dot;
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::{PValue, pvalue};
use smidgen_value::{Rng, math};

/// y = C z has independent logistic coordinates, C lower triangular: heavy tails, correlated.
const C: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [-0.8, 0.5, 0.0], [0.3, -2.0, 3.0]];

fn residuals(z: &[f64]) -> [f64; 3] {
    C.map(|row| row.iter().zip(z).map(|(c, z)| c * z).sum())
}

/// Σ (−|y| − 2 log(1 + e^−|y|)); d/dy = −tanh(y/2).
fn logistics(z: &[f64], gradient: &mut [f64]) -> f64 {
    gradient.fill(0.0);
    let mut log_p = 0.0;
    for (row, y) in C.iter().zip(residuals(z)) {
        log_p -= y.abs() + 2.0 * math::ln_1p_exp(-y.abs());
        let slope = -math::tanh(0.5 * y);
        gradient.iter_mut().zip(row).for_each(|(g, c)| *g += slope * c);
    }
    log_p
}

fn exact_draw(rng: &mut Rng) -> Vec<f64> {
    let y: Vec<f64> = (0..3)
        .map(|_| {
            let u = rng.open_uniform();
            math::ln(u / (1.0 - u))
        })
        .collect();
    let mut z = vec![0.0; 3];
    for i in 0..3 {
        let known: f64 = (0..i).map(|j| C[i][j] * z[j]).sum();
        z[i] = (y[i] - known) / C[i][i];
    }
    z
}

fn point(z: Vec<f64>, log_density: &mut dyn FnMut(&[f64], &mut [f64]) -> f64) -> Point {
    let mut gradient = vec![0.0; z.len()];
    let log_p = log_density(&z, &mut gradient);
    Point { z, log_p, gradient }
}

/// A metric with directions that is far from right: any leaves the density invariant.
fn crooked() -> Metric {
    Metric::new(vec![1.0, 2.0, 0.7], vec![0.6, 0.8, 0.0], vec![4.0])
}

/// The law of three transitions from exact draws, against the logistic law of each residual.
fn from_exact_draws(
    sampler: impl Fn() -> Sampler,
    log_density: fn(&[f64], &mut [f64]) -> f64,
    (repeats, seed): (usize, u64),
) -> PValue {
    let mut rng = Rng::from_seed(seed);
    let (metric, mut sampler) = (crooked(), sampler());
    let mut found: [Vec<f64>; 3] = Default::default();
    let mut moved = 0;
    for _ in 0..repeats {
        let mut at = point(exact_draw(&mut rng), &mut |z, g| log_density(z, g));
        for _ in 0..3 {
            let density = &mut |z: &[f64], g: &mut [f64]| log_density(z, g);
            // So large a step that energies are off by about 1.
            let drawn = sampler.transition(density, &metric, 0.35, 4, &mut at, &mut rng);
            moved += usize::from(drawn.moved);
        }
        found.iter_mut().zip(residuals(&at.z)).for_each(|(found, y)| found.push(y));
    }
    assert!(moved > repeats, "{moved} of {repeats} moved");
    let test = |ys: &Vec<f64>| pvalue::ks(ys, math::logistic);
    PValue::smallest_of(found.iter().map(test).collect())
}

#[test]
fn a_transition_keeps_exact_draws() {
    let test = "exact start: trajectories";
    let plain = || Sampler::new(3);
    demand(test, 20_000, |n, seed| from_exact_draws(plain, logistics, (n, seed)));
    // e^{H − H₀} instead of e^{H₀ − H}
    let upside_down = || Sampler::new(3).weighing_by(|gain| -gain);
    catches(test, "the wrong sign", 20_000, |n, seed| {
        from_exact_draws(upside_down, logistics, (n, seed))
    });
    // Leapfrog steps are not exact: their states are not equally likely.
    let even = || Sampler::new(3).weighing_by(|_| 0.0);
    catches(test, "equal weights", 20_000, |n, seed| from_exact_draws(even, logistics, (n, seed)));
    // Weights are right but for the first state, which is left too often.
    let restless = || Sampler::new(3).weighing_by(|gain| if gain == 0.0 { -1.0 } else { gain });
    catches(test, "too eager to leave", 20_000, |n, seed| {
        from_exact_draws(restless, logistics, (n, seed))
    });
}

/// A normal beyond a wall, which trajectories run into all the time.
fn beyond_a_wall(z: &[f64], gradient: &mut [f64]) -> f64 {
    gradient[0] = -z[0];
    if z[0] > 0.0 { -0.5 * z[0] * z[0] } else { f64::NEG_INFINITY }
}

/// |z| of a standard normal is below √2 erf⁻¹(½) half of the time.
const MEDIAN: f64 = 0.674_489_750_196_081_7;

fn at_a_wall(log_density: fn(&[f64], &mut [f64]) -> f64, (repeats, seed): (usize, u64)) -> PValue {
    let mut rng = Rng::from_seed(seed);
    let mut sampler = Sampler::new(1);
    let mut counts = [0, 0, 0];
    let unit = Metric::unit(1);
    for _ in 0..repeats {
        let start = vec![standard_normal(&mut rng).abs()];
        let mut at = point(start, &mut |z, g| log_density(z, g));
        for _ in 0..4 {
            let density = &mut |z: &[f64], g: &mut [f64]| log_density(z, g);
            sampler.transition(density, &unit, 0.5, 6, &mut at, &mut rng);
        }
        // A quarter of the mass lies below 0.3186393639643752.
        counts[usize::from(at.z[0] > 0.318_639_363_964_375_2) + usize::from(at.z[0] > MEDIAN)] += 1;
    }
    pvalue::chi_square(&counts, &[0.25, 0.25, 0.5])
}

#[test]
fn a_transition_keeps_exact_draws_beside_a_wall() {
    let test = "exact start: trajectories at a wall";
    demand(test, 20_000, |n, seed| at_a_wall(beyond_a_wall, (n, seed)));
    catches(test, "another slope of the density", 20_000, |n, seed| {
        let steeper = |z: &[f64], g: &mut [f64]| beyond_a_wall(z, g) - 0.2 * z[0];
        at_a_wall(steeper, (n, seed))
    });
}

/// A normal with covariance D R D: unit scales but for two directions.
struct Normal {
    metric: Metric,
    precision: Metric,
}

impl Normal {
    /// Scales from 0.01 to 100, and variances far from 1 along two directions besides.
    fn new(size: usize) -> Normal {
        let scale = |k: usize| math::pow(10.0, 4.0 * k as f64 / (size - 1) as f64 - 2.0);
        let scales: Vec<f64> = (0..size).map(scale).collect();
        let n = (size as f64).sqrt();
        let mut directions = vec![1.0 / n; 2 * size];
        directions[size..].iter_mut().skip(1).step_by(2).for_each(|u| *u = -1.0 / n);
        let variances = vec![400.0, 0.0025];
        let inverse = scales.iter().map(|s| 1.0 / s).collect();
        let precision = Metric::new(inverse, directions.clone(), vec![0.0025, 400.0]);
        Normal { metric: Metric::new(scales, directions, variances), precision }
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> f64 {
        self.precision.velocity(z, gradient);
        gradient.iter_mut().for_each(|g| *g = -*g);
        0.5 * dot(z, gradient)
    }

    /// Its velocities have the covariance of the metric.
    fn draw(&self, rng: &mut Rng) -> Vec<f64> {
        let (mut p, mut z) = (vec![0.0; self.metric.size()], vec![0.0; self.metric.size()]);
        self.metric.draw(&mut p, &mut z, rng);
        z
    }

    fn variances(&self) -> Vec<f64> {
        let size = self.metric.size();
        let entry = |k: usize| {
            let (mut unit, mut column) = (vec![0.0; size], vec![0.0; size]);
            unit[k] = 1.0;
            self.metric.velocity(&unit, &mut column);
            column[k]
        };
        (0..size).map(entry).collect()
    }

    fn window(&self, n: usize, rng: &mut Rng) -> Window {
        let mut window = Window::new(self.metric.size());
        for _ in 0..n {
            let at = point(self.draw(rng), &mut |z, g| self.log_density(z, g));
            window.add(&at.z, &at.gradient);
        }
        window
    }

    /// The largest and the smallest ratio of variances that a metric leaves, along some directions.
    fn spread(&self, found: &Metric, rng: &mut Rng) -> (f64, f64) {
        let size = found.size();
        let (mut least, mut most) = (f64::INFINITY, 0.0f64);
        for _ in 0..200 {
            let (mut p, mut v) = (vec![0.0; size], vec![0.0; size]);
            // v has the covariance of the metric found: how long is it by the right one?
            found.draw(&mut p, &mut v, rng);
            let mut q = vec![0.0; size];
            self.precision.velocity(&v, &mut q);
            let ratio = dot(&v, &q) / dot(&p, &v);
            (least, most) = (least.min(ratio), most.max(ratio));
        }
        (least, most)
    }
}

/// As soon as there are more draws than coordinates, a metric from draws and gradients is exact.
#[test]
fn a_few_draws_of_a_normal_tell_its_covariance() {
    let mut rng = Rng::from_seed(3);
    let normal = Normal::new(20);
    let found = normal.window(25, &mut rng).metric(1.01).expect("they have moved");
    let (least, most) = normal.spread(&found, &mut rng);
    assert!(least > 0.9 && most < 1.1, "{least} {most}");
    // Without directions it is not.
    let scales = normal.window(25, &mut rng).metric(1e9).expect("they have moved");
    assert_eq!(scales.rank(), 0);
    let (least, most) = normal.spread(&scales, &mut rng);
    assert!(most > 5.0 * least, "{least} {most}");
}

/// In many coordinates the two extreme directions are found, and no others.
#[test]
fn extreme_directions_are_found_in_many_coordinates() {
    let mut rng = Rng::from_seed(4);
    let normal = Normal::new(1000);
    let found = normal.window(150, &mut rng).metric(2.0).expect("they have moved");
    assert!((2..=4).contains(&found.rank()), "{}", found.rank());
    let (least, most) = normal.spread(&found, &mut rng);
    assert!(least > 0.3 && most < 3.0, "{least} {most}");
}

/// Means and variances by chains that learnt from a poor start, each coordinate.
fn learnt(size: usize, metrics: Metrics, (draws, seed): (usize, u64)) -> PValue {
    const CHAINS: u64 = 20;
    const WARM: u64 = 300;
    let normal = Normal::new(size);
    let wanted = normal.variances();
    let mut moments = vec![Vec::new(); 2 * size];
    for chain in 0..CHAINS {
        let mut rng = Rng::for_chain(seed, chain);
        let log_density = &mut |z: &[f64], g: &mut [f64]| normal.log_density(z, g);
        let start = (0..size).map(|_| standard_normal(&mut rng)).collect();
        let mut at = point(start, log_density);
        let mut sampler = Sampler::new(size);
        let metric = Metric::of_gradient(&at.gradient);
        let step = sampler.search_step(log_density, &metric, &at, 0.8, &mut rng);
        let mut learning = Learning::new(metric, step, 0.8, metrics, Some(WARM));
        let mut sums = vec![0.0; 2 * size];
        for k in 0..WARM + draws as u64 {
            if k == WARM {
                learning.freeze();
            }
            let (metric, step) = (learning.metric(), learning.step());
            let drawn = sampler.transition(log_density, metric, step, 10, &mut at, &mut rng);
            if learning.learn(&at, &drawn) {
                let metric = learning.metric().clone();
                let step = sampler.search_step(log_density, &metric, &at, 0.8, &mut rng);
                learning.restart(step);
            }
            if k >= WARM {
                for (i, z) in at.z.iter().enumerate() {
                    sums[2 * i] += z / draws as f64;
                    sums[2 * i + 1] += z * z / draws as f64;
                }
            }
        }
        moments.iter_mut().zip(sums).for_each(|(moments, sum)| moments.push(sum));
    }
    let n = CHAINS as f64;
    let tests = moments.iter().enumerate().map(|(k, xs)| {
        let want = if k % 2 == 0 { 0.0 } else { wanted[k / 2] };
        let found = xs.iter().sum::<f64>() / n;
        let spread = xs.iter().map(|x| (x - found) * (x - found)).sum::<f64>() / (n - 1.0);
        pvalue::z(found, want, (spread / n).sqrt())
    });
    PValue::smallest_of(tests.collect())
}

#[test]
fn chains_have_the_moments_of_a_normal() {
    for (test, metrics) in [
        ("trajectories: bold moments", Metrics::Bold),
        ("trajectories: careful moments", Metrics::Careful),
    ] {
        demand(test, 400, |draws, seed| learnt(6, metrics, (draws, seed)));
    }
}

/// The same stream gives the same chain, and a frozen one learns no more.
#[test]
fn nothing_is_learnt_after_the_warm_up() {
    let normal = Normal::new(4);
    let run = || {
        let mut rng = Rng::from_seed(8);
        let log_density = &mut |z: &[f64], g: &mut [f64]| normal.log_density(z, g);
        let mut at = point(vec![1.0; 4], log_density);
        let (mut sampler, metric) = (Sampler::new(4), Metric::unit(4));
        let mut learning = Learning::new(metric, 0.01, 0.8, Metrics::Bold, Some(50));
        for k in 0..100 {
            if k == 40 {
                learning.freeze();
            }
            let before = (learning.metric().clone(), learning.step());
            let drawn = sampler.transition(log_density, &before.0, before.1, 8, &mut at, &mut rng);
            learning.learn(&at, &drawn);
            assert!(k < 40 || before == (learning.metric().clone(), learning.step()));
        }
        at.z
    };
    assert_eq!(run(), run());
}

/// What is left of the support ends a trajectory and is no divergence; energies that explode are one.
#[test]
fn divergences_are_told_from_edges() {
    let mut rng = Rng::from_seed(5);
    let half_line = &mut |z: &[f64], g: &mut [f64]| beyond_a_wall(z, g);
    let mut at = point(vec![0.5], half_line);
    let mut sampler = Sampler::new(1);
    for _ in 0..200 {
        let drawn = sampler.transition(half_line, &Metric::unit(1), 0.5, 10, &mut at, &mut rng);
        assert!(!drawn.diverged && at.z[0] > 0.0);
    }
    let steep = &mut |z: &[f64], g: &mut [f64]| {
        g[0] = -1e4 * z[0];
        -0.5e4 * z[0] * z[0]
    };
    let mut at = point(vec![0.01], steep);
    let drawn = sampler.transition(steep, &Metric::unit(1), 1.0, 10, &mut at, &mut rng);
    assert!(drawn.diverged && drawn.gradients == 1 && !drawn.moved && drawn.acceptance < 1e-10);
    // A flat density never turns: the number of doublings ends it.
    let flat = &mut |_: &[f64], g: &mut [f64]| {
        g.fill(0.0);
        0.0
    };
    let mut at = point(vec![0.0], flat);
    let drawn = sampler.transition(flat, &Metric::unit(1), 1.0, 5, &mut at, &mut rng);
    assert!(drawn.cut && drawn.gradients == 31 && drawn.moved);
}
