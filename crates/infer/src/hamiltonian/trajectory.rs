//! No-U-turn trajectories by `nuts-rs`, in two ways.
//!
//! [`Adapting`] is a chain of that library with its own warm-up adaptation: right where nothing
//! but the chain itself changes the density. [`step`] makes one transition from anywhere, with a
//! metric and a step size that are ours: right in a cycle, where other kernels change the density
//! between one transition and the next, which a chain of the library would not notice.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nuts_rs::{
    Chain, CpuLogpFunc, CpuMath, CpuMathError, FlowNutsSettings, HasDims, KineticEnergyKind,
    LogpError, LowRankNutsSettings, Settings, StepSizeAdaptMethod, Storable,
};
use smidgen_engine::EvalError;
use smidgen_value::{Rng, math};

use super::metric::Metric;
use super::{Point, Smoothed};
use crate::proposer::standard_normal;

/// One transition.
pub struct Drawn {
    pub z: Vec<f64>,
    /// Whether the energy error grew beyond bounds.
    pub diverged: bool,
    pub gradients: u64,
    pub step: f64,
    /// The mean acceptance probability along the trajectory, if it is known.
    pub acceptance: f64,
    /// Whether the trajectory was cut short.
    pub cut: bool,
}

/// What both ways need.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Doublings of a trajectory after which it ends all the same.
    pub doublings: u64,
    /// The acceptance probability to tune for.
    pub target: f64,
}

/// How a chain that learns by itself treats directions that are not those of the coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metrics {
    /// All in which scales differ by a factor of 2 or more are learnt: best where the posterior
    /// is nearly normal.
    Bold,
    /// Only those with a factor of 100 and more. Where the scales themselves vary over the
    /// posterior, as in a funnel, what draws and gradients say about the others is true in one
    /// part and wrong in the next.
    Careful,
}

/// The ratio of variances from which on a direction counts for a careful metric.
const CAREFUL: f64 = 100.0;

/// The step size is varied by this share from one transition to the next, so that no trajectory
/// is periodic for ever.
const JITTER: f64 = 0.1;

fn failed(error: impl std::fmt::Display) -> EvalError {
    EvalError::other(None, format!("nuts cannot go on: {error}"))
}

/// One transition from a point, with a given metric and step size.
pub fn step(
    smoothed: &Smoothed,
    metric: &Arc<Metric>,
    step: f64,
    start: Point,
    options: Options,
    rng: &mut Rng,
) -> Result<Drawn, EvalError> {
    let mut settings = FlowNutsSettings {
        num_tune: 0,
        maxdepth: options.doublings,
        trajectory_kind: KineticEnergyKind::Euclidean,
        ..FlowNutsSettings::default()
    };
    let step = step * (1.0 + JITTER * (2.0 * rng.uniform() - 1.0));
    settings.adapt_options.step_size_settings.jitter = None;
    settings.adapt_options.step_size_settings.adapt_options.method =
        StepSizeAdaptMethod::Fixed(step);
    let z = start.z.clone();
    let left_support = Arc::new(AtomicBool::new(false));
    let target = Target {
        smoothed: smoothed.clone(),
        metric: metric.clone(),
        start: Some(start),
        left_support: left_support.clone(),
    };
    let mut chain = settings.new_chain(0, CpuMath::new(target), rng).map_err(failed)?;
    chain.set_position(&z).map_err(failed)?;
    let (z, _, stats, progress) = chain.expanded_draw().map_err(failed)?;
    Ok(Drawn {
        z: z.into(),
        diverged: progress.diverging && !left_support.load(Ordering::Relaxed),
        gradients: progress.num_gradients,
        step,
        acceptance: stats.adapt.step_size.mean_tree_accept,
        cut: stats.maxdepth_reached,
    })
}

/// A chain that learns by itself.
pub struct Adapting {
    chain: <LowRankNutsSettings as Settings>::Chain<CpuMath<Target>>,
    left_support: Arc<AtomicBool>,
}

impl Adapting {
    /// A chain that starts at a point and learns for so many transitions.
    pub fn new(
        smoothed: &Smoothed,
        start: &Point,
        transitions: u64,
        options: Options,
        metrics: Metrics,
        rng: &mut Rng,
    ) -> Result<Adapting, EvalError> {
        let mut settings = LowRankNutsSettings {
            num_tune: transitions,
            maxdepth: options.doublings,
            ..LowRankNutsSettings::default()
        };
        settings.adapt_options.step_size_settings.target_accept = options.target;
        if metrics == Metrics::Careful {
            settings.adapt_options.mass_matrix_options.eigval_cutoff = CAREFUL;
        }
        settings.adapt_options.step_size_settings.jitter = Some(JITTER);
        let left_support = Arc::new(AtomicBool::new(false));
        let target = Target {
            smoothed: smoothed.clone(),
            metric: Arc::new(Metric::unit(start.z.len())),
            start: None,
            left_support: left_support.clone(),
        };
        let mut chain = settings.new_chain(0, CpuMath::new(target), rng).map_err(failed)?;
        chain.set_position(&start.z).map_err(failed)?;
        Ok(Adapting { chain, left_support })
    }

    pub fn draw(&mut self) -> Result<Drawn, EvalError> {
        self.left_support.store(false, Ordering::Relaxed);
        let (z, _, stats, progress) = self.chain.expanded_draw().map_err(failed)?;
        Ok(Drawn {
            z: z.into(),
            diverged: progress.diverging && !self.left_support.load(Ordering::Relaxed),
            gradients: progress.num_gradients,
            step: stats.adapt.step_size.step_size_bar,
            acceptance: stats.adapt.step_size.mean_tree_accept,
            cut: stats.maxdepth_reached,
        })
    }
}

/// The usual search for a first step size, from several momenta: one that happens to lead uphill
/// would admit any step. The smallest is taken.
pub fn search_step(
    smoothed: &Smoothed,
    metric: &Metric,
    start: &Point,
    target: f64,
    rng: &mut Rng,
) -> f64 {
    const MOMENTA: usize = 8;
    let once = |_| search_once(smoothed, metric, start, target, rng);
    (0..MOMENTA).map(once).fold(f64::INFINITY, f64::min)
}

/// Doubles or halves the step until one leapfrog step is accepted about as often as wanted.
fn search_once(
    smoothed: &Smoothed,
    metric: &Metric,
    start: &Point,
    target: f64,
    rng: &mut Rng,
) -> f64 {
    let size = start.z.len();
    let (mut w, mut slope) = (vec![0.0; size], vec![0.0; size]);
    metric.to_w(&start.z, &mut w);
    metric.pull(&start.gradient, &mut slope);
    let momentum: Vec<f64> = (0..size).map(|_| standard_normal(rng)).collect();
    let energy = |momentum: &[f64]| 0.5 * momentum.iter().map(|p| p * p).sum::<f64>();
    let (mut z, mut gradient, mut pulled) = (vec![0.0; size], vec![0.0; size], vec![0.0; size]);
    let mut acceptance = |h: f64| {
        let half: Vec<f64> = momentum.iter().zip(&slope).map(|(p, g)| p + 0.5 * h * g).collect();
        let moved: Vec<f64> = w.iter().zip(&half).map(|(w, p)| w + h * p).collect();
        metric.to_z(&moved, &mut z);
        let log_p = smoothed.density().log_density(&z, &mut gradient);
        metric.pull(&gradient, &mut pulled);
        let last: Vec<f64> = half.iter().zip(&pulled).map(|(p, g)| p + 0.5 * h * g).collect();
        let log_ratio = log_p - energy(&last) - start.log_p + energy(&momentum);
        if log_ratio.is_nan() { 0.0 } else { math::exp(log_ratio.min(0.0)) }
    };
    let mut h = 0.1;
    let grows = acceptance(h) > target;
    for _ in 0..60 {
        let next = if grows { 2.0 * h } else { 0.5 * h };
        let reached = (acceptance(next) > target) != grows;
        h = next;
        if reached {
            break;
        }
    }
    h
}

/// The density in the form that `nuts-rs` asks for. Points outside the support end a trajectory.
struct Target {
    smoothed: Smoothed,
    metric: Arc<Metric>,
    /// Where the trajectory starts, which the library asks for more than once.
    start: Option<Point>,
    /// Whether the support was left since the last look.
    left_support: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Outside;

impl std::fmt::Display for Outside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("outside the support")
    }
}

impl std::error::Error for Outside {}

impl LogpError for Outside {
    fn is_recoverable(&self) -> bool {
        true
    }
}

impl HasDims for Target {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".to_owned(), self.metric.size() as u64)])
    }
}

/// Nothing is stored along the way.
struct Nothing;

impl Storable<Target> for Nothing {
    fn names(_: &Target) -> Vec<&str> {
        Vec::new()
    }
    fn item_type(_: &Target, _: &str) -> nuts_rs::ItemType {
        nuts_rs::ItemType::F64
    }
    fn dims<'a>(_: &'a Target, _: &str) -> Vec<&'a str> {
        Vec::new()
    }
    fn get_all<'a>(&'a mut self, _: &'a Target) -> Vec<(&'a str, Option<nuts_rs::Value>)> {
        Vec::new()
    }
}

impl Target {
    fn evaluate(&mut self, z: &[f64], gradient: &mut [f64]) -> Result<f64, Outside> {
        let log_p = match &self.start {
            Some(start) if start.z == z => {
                gradient.copy_from_slice(&start.gradient);
                start.log_p
            }
            _ => self.smoothed.density().log_density(z, gradient),
        };
        if log_p == f64::NEG_INFINITY || gradient.iter().any(|g| !g.is_finite()) {
            self.left_support.store(true, Ordering::Relaxed);
            return Err(Outside);
        }
        // The library takes a slope of exactly 0 for a mistake.
        for g in gradient.iter_mut().filter(|g| **g == 0.0) {
            *g = f64::MIN_POSITIVE;
        }
        Ok(log_p)
    }
}

impl CpuLogpFunc for Target {
    type LogpError = Outside;
    type FlowParameters = ();
    type ExpandedVector = Nothing;

    fn dim(&self) -> usize {
        self.metric.size()
    }

    fn logp(&mut self, position: &[f64], gradient: &mut [f64]) -> Result<f64, Outside> {
        self.evaluate(position, gradient)
    }

    fn expand_vector<R: nuts_rs::rand::Rng + ?Sized>(
        &mut self,
        _: &mut R,
        _: &[f64],
    ) -> Result<Nothing, CpuMathError> {
        Ok(Nothing)
    }

    fn inv_transform_normalize(
        &mut self,
        _: &(),
        z: &[f64],
        z_gradient: &[f64],
        w: &mut [f64],
        w_gradient: &mut [f64],
    ) -> Result<f64, Outside> {
        self.metric.to_w(z, w);
        self.metric.pull(z_gradient, w_gradient);
        Ok(0.0)
    }

    fn init_from_untransformed_position(
        &mut self,
        _: &(),
        z: &[f64],
        z_gradient: &mut [f64],
        w: &mut [f64],
        w_gradient: &mut [f64],
        _clip: Option<f64>,
    ) -> Result<(f64, f64), Outside> {
        let log_p = self.evaluate(z, z_gradient)?;
        self.metric.to_w(z, w);
        self.metric.pull(z_gradient, w_gradient);
        Ok((log_p, 0.0))
    }

    fn init_from_transformed_position(
        &mut self,
        _: &(),
        z: &mut [f64],
        z_gradient: &mut [f64],
        w: &[f64],
        w_gradient: &mut [f64],
        _clip: Option<f64>,
    ) -> Result<(f64, f64), Outside> {
        self.metric.to_z(w, z);
        let log_p = self.evaluate(z, z_gradient)?;
        self.metric.pull(z_gradient, w_gradient);
        Ok((log_p, 0.0))
    }

    fn init_transformation<R: nuts_rs::rand::Rng + ?Sized>(
        &mut self,
        _: &mut R,
        _: &[f64],
        _: &[f64],
        _: u64,
    ) -> Result<(), Outside> {
        Ok(())
    }

    fn new_transformation<R: nuts_rs::rand::Rng + ?Sized>(
        &mut self,
        _: &mut R,
        _: usize,
        _: u64,
    ) -> Result<(), Outside> {
        Ok(())
    }

    fn transformation_id(&self, _: &()) -> Result<i64, Outside> {
        Ok(0)
    }
}
