//! No-U-turn trajectories (Hoffman & Gelman 2014; with multinomial weights and the criterion on
//! summed momenta of Betancourt 2017, appendix A).
//!
//! A state is (z, p), with energy H = −log π(z) + ½ p' M⁻¹ p. A leapfrog step of size h is
//!
//!   p ← p + (h/2) ∇log π(z),  z ← z + h M⁻¹ p,  p ← p + (h/2) ∇log π(z).
//!
//! The velocity v = M⁻¹ p goes along: it changes by (h/2) M⁻¹ ∇log π(z), so that a step needs one
//! product with M⁻¹. From a fresh momentum p ~ N(0, M) the trajectory doubles, each time into the
//! past or the future by a fair coin, until
//!
//! * it turns: with ρ the sum of its momenta, ρ'v ≤ 0 at one of its ends. The same is asked of each
//!   subtree of the doubling, and of each half together with the next state of the other half, since a
//!   turn just at a join shows in neither of the three;
//! * the energy has grown by more than 1000: a divergence;
//! * it leaves the support, or has doubled as often as is allowed.
//!
//! A doubling that turns or fails inside itself is thrown away. Its states are drawn with weights
//! e^{H₀ − H}; that draw replaces the one from before with probability min(1, W_new / W_old), W the sums
//! of weights of the doubling and of everything before it, which favours states far away and
//! leaves the law of the trajectory's states invariant all the same.
//!
//! Everything is kept in buffers, one more when a trajectory is twice as long as any before; other steps
//! allocate nothing.

use smidgen_value::{Rng, math};

use super::Point;
use super::metric::Metric;

/// log π and its gradient; −∞ outside the support.
pub type LogDensity<'a> = dyn FnMut(&[f64], &mut [f64]) -> f64 + 'a;

/// An energy that has grown by more is a divergence.
const MOST_ERROR: f64 = 1000.0;

/// What is known about a transition.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drawn {
    /// Whether the energy error grew beyond bounds.
    pub diverged: bool,
    pub gradients: u64,
    /// The mean of min(1, e^{−ΔH}) along the trajectory.
    pub acceptance: f64,
    /// The mean of 1 − tanh(|ΔH|/2), which is the same to first order and has less noise, because at
    /// rest energy is lost as often as won.
    pub balance: f64,
    /// Whether the trajectory was cut short.
    pub cut: bool,
    /// Whether it ended elsewhere than it began.
    pub moved: bool,
    /// Doublings that were begun.
    pub depth: u32,
    /// The energy of the state that was drawn, with its momentum.
    pub energy: f64,
}

/// One end of the trajectory.
#[derive(Clone, Default)]
struct End {
    z: Vec<f64>,
    gradient: Vec<f64>,
    /// M⁻¹ times the gradient.
    push: Vec<f64>,
    p: Vec<f64>,
    velocity: Vec<f64>,
    log_p: f64,
}

/// Some states in a row: their first and last, and ρ. Of a single state only the first is written.
#[derive(Clone, Default)]
struct Stretch {
    doublings: u32,
    rho: Vec<f64>,
    first: Moving,
    last: Moving,
}

#[derive(Clone, Default)]
struct Moving {
    p: Vec<f64>,
    velocity: Vec<f64>,
}

/// Follows trajectories. The buffers are for one number of coordinates.
pub struct Sampler {
    past: End,
    future: End,
    all: Stretch,
    /// Stretches of the doubling at hand, each shorter than the one before.
    stack: Vec<Stretch>,
    /// The draw from the doubling at hand, and from everything before it.
    fresh: Point,
    draw: Point,
    /// H₀ − H of the draw from the doubling at hand.
    fresh_gain: f64,
    log_weight: fn(f64) -> f64,
}

/// How a doubling ended.
enum Doubled {
    /// With this log of the sum of its weights.
    Whole(f64),
    Turned,
    Diverged,
    Outside,
}

/// One leapfrog step.
enum Step {
    /// H₀ − H
    Gain(f64),
    Diverged,
    Outside,
}

impl Sampler {
    pub fn new(size: usize) -> Sampler {
        let zeros = || vec![0.0; size];
        let point = || Point { z: zeros(), log_p: 0.0, gradient: zeros() };
        let end = || End {
            z: zeros(),
            gradient: zeros(),
            push: zeros(),
            p: zeros(),
            velocity: zeros(),
            log_p: 0.0,
        };
        Sampler {
            past: end(),
            future: end(),
            all: Stretch::new(size),
            stack: Vec::new(),
            fresh: point(),
            draw: point(),
            fresh_gain: 0.0,
            log_weight: |gain| gain,
        }
    }

    /// For twins in tests: states are drawn by another weight than e^{H₀ − H}, given H₀ − H.
    pub fn weighing_by(mut self, log_weight: fn(f64) -> f64) -> Sampler {
        self.log_weight = log_weight;
        self
    }

    /// One transition from a point, which becomes that of the draw.
    pub fn transition(
        &mut self,
        log_density: &mut LogDensity<'_>,
        metric: &Metric,
        step: f64,
        doublings: u32,
        point: &mut Point,
        rng: &mut Rng,
    ) -> Drawn {
        self.begin(metric, point, rng);
        let energy = self.future.energy();
        let mut log_sum = (self.log_weight)(0.0);
        let mut drawn = Drawn { cut: true, energy, ..Drawn::default() };
        for depth in 0..doublings {
            drawn.depth = depth + 1;
            let forward = rng.coin();
            let h = if forward { step } else { -step };
            let run = Doubling { metric, h, forward, energy, depth };
            let log_new = match self.double(log_density, &run, &mut drawn, rng) {
                Doubled::Whole(log_new) => log_new,
                ended => {
                    drawn.diverged = matches!(ended, Doubled::Diverged);
                    drawn.cut = false;
                    break;
                }
            };
            if rng.log_uniform() < log_new - log_sum {
                std::mem::swap(&mut self.draw, &mut self.fresh);
                (drawn.moved, drawn.energy) = (true, energy - self.fresh_gain);
            }
            log_sum = log_add(log_sum, log_new);
            if self.joins(forward) {
                drawn.cut = false;
                break;
            }
        }
        let steps = drawn.gradients.max(1) as f64;
        drawn.acceptance /= steps;
        drawn.balance /= steps;
        if drawn.moved {
            std::mem::swap(point, &mut self.draw);
        }
        drawn
    }

    /// H₀ − H after one step from where the trajectory began; −∞ if that leads nowhere.
    pub(super) fn gain_of_one_step(
        &mut self,
        log_density: &mut LogDensity<'_>,
        metric: &Metric,
        h: f64,
    ) -> f64 {
        self.future.copy_from(&self.past);
        let energy = self.past.energy();
        let run = Doubling { metric, h, forward: true, energy, depth: 0 };
        match self.future.step(log_density, &run) {
            Step::Gain(gain) => gain,
            Step::Diverged | Step::Outside => f64::NEG_INFINITY,
        }
    }

    /// The least H₀ − H over some steps from where the trajectory began, or up to where it leads nowhere.
    pub(super) fn least_gain(
        &mut self,
        log_density: &mut LogDensity<'_>,
        metric: &Metric,
        h: f64,
        steps: usize,
    ) -> f64 {
        self.future.copy_from(&self.past);
        let run = Doubling { metric, h, forward: true, energy: self.past.energy(), depth: 0 };
        let mut least = f64::INFINITY;
        for _ in 0..steps {
            match self.future.step(log_density, &run) {
                Step::Gain(gain) => least = least.min(gain),
                Step::Diverged => return f64::NEG_INFINITY,
                Step::Outside => break,
            }
        }
        least
    }

    /// Both ends at a point, with a fresh momentum.
    pub(super) fn begin(&mut self, metric: &Metric, point: &Point, rng: &mut Rng) {
        let end = &mut self.future;
        end.z.copy_from_slice(&point.z);
        end.gradient.copy_from_slice(&point.gradient);
        end.log_p = point.log_p;
        metric.draw(&mut end.p, &mut end.velocity, rng);
        metric.velocity(&end.gradient, &mut end.push);
        self.past.copy_from(end);
        self.all.set(end);
    }

    /// Goes on with as many states as there are, and draws one of them.
    fn double(
        &mut self,
        log_density: &mut LogDensity<'_>,
        run: &Doubling<'_>,
        drawn: &mut Drawn,
        rng: &mut Rng,
    ) -> Doubled {
        let mut log_sum = f64::NEG_INFINITY;
        let mut height = 0;
        for _ in 0..1u64 << run.depth {
            let end = if run.forward { &mut self.future } else { &mut self.past };
            drawn.gradients += 1;
            let gain = match end.step(log_density, run) {
                Step::Gain(gain) => gain,
                Step::Diverged => return Doubled::Diverged,
                Step::Outside => return Doubled::Outside,
            };
            drawn.acceptance += math::exp(gain.min(0.0));
            drawn.balance += 2.0 / (1.0 + math::exp(gain.abs()));
            let log_weight = (self.log_weight)(gain);
            log_sum = log_add(log_sum, log_weight);
            if rng.log_uniform() < log_weight - log_sum {
                self.fresh.z.copy_from_slice(&end.z);
                self.fresh.gradient.copy_from_slice(&end.gradient);
                self.fresh.log_p = end.log_p;
                self.fresh_gain = gain;
            }
            if self.stack.len() == height {
                self.stack.push(Stretch::new(end.z.len()));
            }
            self.stack[height].set(end);
            height += 1;
            while height > 1 && self.stack[height - 2].doublings == self.stack[height - 1].doublings
            {
                let (before, after) = self.stack.split_at_mut(height - 1);
                if before[height - 2].join(&mut after[0]) {
                    return Doubled::Turned;
                }
                height -= 1;
            }
        }
        Doubled::Whole(log_sum)
    }

    /// Joins the doubling to what was there; whether the whole turns.
    fn joins(&mut self, forward: bool) -> bool {
        let new = &mut self.stack[0];
        if !forward {
            // The doubling ran into the past: in the order of time it comes first, and its last
            // state is the one that was reached first.
            if new.doublings > 0 {
                std::mem::swap(&mut new.first, &mut new.last);
            }
            std::mem::swap(&mut self.all, new);
        }
        self.all.join(&mut self.stack[0])
    }
}

/// What is the same for all steps of a doubling.
struct Doubling<'a> {
    metric: &'a Metric,
    h: f64,
    forward: bool,
    /// H₀
    energy: f64,
    depth: u32,
}

impl End {
    fn energy(&self) -> f64 {
        0.5 * smidgen_prob::linalg::dot(&self.p, &self.velocity) - self.log_p
    }

    fn copy_from(&mut self, other: &End) {
        self.z.copy_from_slice(&other.z);
        self.gradient.copy_from_slice(&other.gradient);
        self.push.copy_from_slice(&other.push);
        self.p.copy_from_slice(&other.p);
        self.velocity.copy_from_slice(&other.velocity);
        self.log_p = other.log_p;
    }

    fn step(&mut self, log_density: &mut LogDensity<'_>, run: &Doubling<'_>) -> Step {
        let (size, half) = (self.z.len(), 0.5 * run.h);
        {
            let (z, p, v) = (&mut self.z[..size], &mut self.p[..size], &mut self.velocity[..size]);
            let (gradient, push) = (&self.gradient[..size], &self.push[..size]);
            for i in 0..size {
                p[i] += half * gradient[i];
                v[i] += half * push[i];
                z[i] += run.h * v[i];
            }
        }
        self.log_p = log_density(&self.z, &mut self.gradient);
        // 0 g is 0 for every finite g.
        let zero = self.gradient.iter().fold(0.0, |sum, g| sum + 0.0 * g);
        if self.log_p == f64::NEG_INFINITY || zero != 0.0 {
            return Step::Outside;
        }
        run.metric.velocity(&self.gradient, &mut self.push);
        let (p, v) = (&mut self.p[..size], &mut self.velocity[..size]);
        let (gradient, push) = (&self.gradient[..size], &self.push[..size]);
        for i in 0..size {
            p[i] += half * gradient[i];
            v[i] += half * push[i];
        }
        let gain = run.energy - self.energy();
        // NaN counts as a divergence.
        if gain >= -MOST_ERROR { Step::Gain(gain) } else { Step::Diverged }
    }
}

impl Stretch {
    fn new(size: usize) -> Stretch {
        let moving = || Moving { p: vec![0.0; size], velocity: vec![0.0; size] };
        Stretch { doublings: 0, rho: vec![0.0; size], first: moving(), last: moving() }
    }

    /// A single state.
    fn set(&mut self, end: &End) {
        self.doublings = 0;
        self.first.p.copy_from_slice(&end.p);
        self.first.velocity.copy_from_slice(&end.velocity);
    }

    /// Takes the states that follow into it; whether the two turn together, or one with the
    /// nearest state of the other.
    fn join(&mut self, next: &mut Stretch) -> bool {
        if self.doublings == 0 {
            self.last.p.copy_from_slice(&self.first.p);
            self.last.velocity.copy_from_slice(&self.first.velocity);
            self.rho.copy_from_slice(&self.first.p);
        }
        let is_single = next.doublings == 0;
        let next_rho = if is_single { &next.first.p } else { &next.rho };
        // The two states at the join, and those at the ends.
        let (left, right) = (&self.last, &next.first);
        let end = if is_single { &next.first } else { &next.last };
        let velocities = [&self.first, end, left, right].map(|state| &state.velocity[..]);
        let [first, last, left_v, right_v] = velocities;
        let given = [next_rho, &right.p, &left.p, first, last, left_v, right_v];
        let turns = add_up(&mut self.rho, given);
        std::mem::swap(&mut self.last, if is_single { &mut next.first } else { &mut next.last });
        self.doublings += 1;
        !turns.iter().all(|turn| *turn > 0.0)
    }
}

/// Sums run in so many parts, side by side.
const PARTS: usize = 2;

/// Adds ρ' to ρ. The products of both with the velocities at their ends, and those of each half together with the nearest
/// state of the other, given ρ', the momenta right and left of the join, the velocities at the ends and at the join.
fn add_up(rho: &mut [f64], given: [&[f64]; 7]) -> [f64; 6] {
    let (wide, rest) = rho.as_chunks_mut::<PARTS>();
    let mut turns = products(wide, given.map(|xs| xs.as_chunks::<PARTS>().0));
    let (rest, _) = rest.as_chunks_mut::<1>();
    let others = products(rest, given.map(|xs| xs.as_chunks::<PARTS>().1.as_chunks::<1>().0));
    turns.iter_mut().zip(others).for_each(|(turn, other)| *turn += other);
    turns
}

fn products<const N: usize>(rho: &mut [[f64; N]], given: [&[[f64; N]]; 7]) -> [f64; 6] {
    let chunks = rho.len();
    let [next_rho, right_p, left_p, first, last, left_v, right_v] = given.map(|xs| &xs[..chunks]);
    let mut sums = [[0.0; N]; 6];
    for i in 0..chunks {
        for k in 0..N {
            let both = rho[i][k] + next_rho[i][k];
            let more = rho[i][k] + right_p[i][k];
            let less = next_rho[i][k] + left_p[i][k];
            sums[0][k] += both * first[i][k];
            sums[1][k] += both * last[i][k];
            sums[2][k] += more * first[i][k];
            sums[3][k] += more * right_v[i][k];
            sums[4][k] += less * left_v[i][k];
            sums[5][k] += less * last[i][k];
            rho[i][k] = both;
        }
    }
    sums.map(|parts| parts.iter().sum())
}

/// log(eᵃ + eᵇ), where one of them at least is finite.
fn log_add(a: f64, b: f64) -> f64 {
    a.max(b) + math::ln_1p_exp(-(a - b).abs())
}
