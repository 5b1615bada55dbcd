//! What a kernel learns in the warm-up: a step size by dual averaging (theory 8.9) and a metric from draws and
//! gradients ([`super::estimate`]). Frozen afterwards.
//!
//! The metric is that of a window of the newest draws. In the first three tenths of the warm-up windows
//! are short, because the chain is on its way and soon better draws are to be had; then they grow. A window is
//! the current stretch of draws and the one before it, so that there are always enough. In the last
//! part the metric stays, and the step size settles.

use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::bytes_of_fields;

use super::Point;
use super::estimate::Window;
use super::metric::Metric;
use super::trajectory::Drawn;
use crate::adaptation::DualAveraging;

/// Shares of the warm-up: short windows, and the last part.
const EARLY: f64 = 0.3;
const LATE: f64 = 0.15;
/// Draws of the stretches at first, later, and how they grow.
const SHORT: usize = 10;
const LONG: usize = 80;
const GROWTH: f64 = 1.5;
/// The metric is looked at anew after so many draws, and after so large a share of the draws seen.
const LOOK: u64 = 20;
const LOOK_SHARE: f64 = 0.15;
/// Without a plan windows are short for so long.
const UNPLANNED: u64 = 100;

/// What the metric is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metrics {
    /// Draws and gradients, with all directions in which variances differ by a factor of 2 or more: best where
    /// the posterior is nearly normal.
    Bold,
    /// Only with those of a factor of 100 and more. Where the scales themselves vary over the
    /// posterior, as in a funnel, what draws and gradients say about the others is true in one
    /// part and wrong in the next.
    Careful,
    /// Draws alone: where other kernels change the density, the gradients belong to as many densities as
    /// there are draws.
    Draws,
}

impl Metrics {
    fn of(self, window: &Window) -> Option<Metric> {
        match self {
            Metrics::Bold => window.metric(2.0),
            Metrics::Careful => window.metric(100.0),
            Metrics::Draws => window.metric_of_draws(),
        }
    }
}

pub struct Learning {
    metric: Metric,
    metrics: Metrics,
    step: DualAveraging,
    target: f64,
    window: Window,
    /// Draws of the stretch at hand, and how many it will have in the main part.
    stretch: usize,
    long: usize,
    /// Transitions seen, until when windows are short, until when the metric is learnt.
    seen: u64,
    early: u64,
    end: Option<u64>,
    /// When the metric was last looked at.
    looked: Option<u64>,
    frozen: bool,
}

bytes_of_fields!(Learning {
    metric,
    metrics,
    step,
    target,
    window,
    stretch,
    long,
    seen,
    early,
    end,
    looked,
    frozen,
});

impl Bytes for Metrics {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(match self {
            Metrics::Bold => 0,
            Metrics::Careful => 1,
            Metrics::Draws => 2,
        });
    }

    fn take(from: &mut Input<'_>) -> Option<Metrics> {
        [Metrics::Bold, Metrics::Careful, Metrics::Draws].get(usize::from(u8::take(from)?)).copied()
    }
}

impl Learning {
    /// Starts with a metric and a step size that was searched for. `planned`: the transitions of
    /// the warm-up, if they are known.
    pub fn new(
        metric: Metric,
        step: f64,
        target: f64,
        metrics: Metrics,
        planned: Option<u64>,
    ) -> Learning {
        let share = |part: f64| planned.map(|n| (part * n as f64) as u64);
        Learning {
            window: Window::new(metric.size()),
            metric,
            metrics,
            step: DualAveraging::new(step, target),
            target,
            stretch: 0,
            long: LONG,
            seen: 0,
            early: share(EARLY).unwrap_or(UNPLANNED),
            end: share(1.0 - LATE),
            looked: None,
            frozen: false,
        }
    }

    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    pub fn step(&self) -> f64 {
        if self.frozen { self.step.averaged() } else { self.step.step() }
    }

    /// Learns from a transition and where it led. Whether the metric is another for the first time: the
    /// caller then searches for a step size anew, see [`Learning::restart`]. Later ones differ little.
    pub fn learn(&mut self, point: &Point, drawn: &Drawn) -> bool {
        if self.frozen {
            return false;
        }
        self.seen += 1;
        let early = self.seen <= self.early;
        self.step.learn(if early { drawn.acceptance } else { drawn.balance });
        if self.end.is_some_and(|end| self.seen > end) {
            return false;
        }
        if drawn.moved {
            self.window.add(&point.z, &point.gradient);
            self.stretch += 1;
        }
        let length = if early { SHORT } else { self.long };
        let next = if early { SHORT } else { (GROWTH * self.long as f64) as usize };
        let there_is_time = self.end.is_none_or(|end| self.seen + next as u64 <= end);
        let mut due = false;
        if self.stretch >= length && there_is_time {
            self.window.keep(self.stretch);
            self.stretch = 0;
            self.long = if early { self.long } else { next };
            due = true;
        }
        let spacing = LOOK.max((LOOK_SHARE * self.seen as f64) as u64);
        due |= self.seen >= self.looked.unwrap_or(0) + spacing;
        if !due {
            return false;
        }
        let Some(metric) = self.metrics.of(&self.window) else { return false };
        self.metric = metric;
        self.looked.replace(self.seen).is_none()
    }

    /// Goes on with another step size, after the metric has changed.
    pub fn restart(&mut self, step: f64) {
        self.step = DualAveraging::new(step, self.target);
    }

    /// What the metric is being made from; nothing any more after the warm-up.
    pub fn metrics(&self) -> Option<Metrics> {
        (!self.frozen).then_some(self.metrics)
    }

    /// From now on other kernels change the density.
    pub fn go_by_draws(&mut self) {
        self.metrics = Metrics::Draws;
    }

    /// A warm-up begins again, above other data: the metric stays, and the step size settles anew from where it was.
    pub fn reopen(&mut self) {
        self.step = DualAveraging::new(self.step(), self.target);
        (self.seen, self.early, self.end, self.frozen) = (0, 0, Some(0), false);
    }

    pub fn freeze(&mut self) {
        self.frozen = true;
    }
}
