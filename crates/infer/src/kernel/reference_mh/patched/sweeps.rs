//! Two kinds of sweeps behind one face: over patches that read one effect each, and over any others.

use std::sync::Arc;

use smidgen_engine::smooth::Density;
use smidgen_engine::taylor::Patches;
use smidgen_engine::taylor::patches::PatchRows;
use smidgen_prob::linalg;
use smidgen_value::{Rng, math};

use crate::crossed::{self, Crossed, Point};
use crate::patches::arrowhead::{self, NoReference};
use crate::patches::chain::Swept;
use crate::patches::{self, Patched, Predicted, Predictors, Rows};

/// A density in patches, as the methods of [`crate::patches`] and [`crate::crossed`] ask for it.
pub(super) struct PatchedDensity<'a> {
    density: &'a mut Density,
    patches: &'a mut Patches,
    /// Whether the bounds are too small, by mistake.
    is_faulty: bool,
    is_wide: bool,
}

impl<'a> PatchedDensity<'a> {
    pub fn new(
        density: &'a mut Density,
        patches: &'a mut Patches,
        is_faulty: bool,
    ) -> PatchedDensity<'a> {
        let is_wide = patches.is_wide();
        PatchedDensity { density, patches, is_faulty, is_wide }
    }
}

fn rows(Rows { first, step, count }: Rows) -> PatchRows {
    PatchRows { first, step, count }
}

fn range(range: std::ops::Range<usize>) -> Rows {
    Rows { first: range.start, step: 1, count: range.len() }
}

impl Predicted for PatchedDensity<'_> {
    fn shared(&self) -> usize {
        self.patches.shared()
    }

    fn coefficients(&mut self, these: Rows, out: &mut [f64]) {
        // What a row adds to its linear predictor is in its log weight.
        let (coefficients, offsets) = out.split_at_mut(out.len() - these.count);
        self.patches.coefficients(rows(these), coefficients);
        offsets.fill(0.0);
    }

    fn is_wide(&self) -> bool {
        self.is_wide
    }

    fn log_weight(&mut self, these: Rows, at: Predictors<'_>) -> f64 {
        self.patches.log_weight(rows(these), at)
    }

    fn derivatives(&mut self, these: Rows, at: Predictors<'_>, out: &mut [f64]) {
        self.patches.derivatives(rows(these), at, out);
    }

    fn most_of_wide(
        &mut self,
        these: Rows,
        at: Predictors<'_>,
        radii: [f64; 2],
        order: usize,
        out: &mut [f64],
    ) {
        self.patches.most_of_wide(rows(these), at, radii, order, out);
        if self.is_faulty {
            out.iter_mut().for_each(|most| *most *= 0.05);
        }
    }

    fn most(&mut self, these: Rows, eta: &[f64], radius: f64, order: usize, out: &mut [f64]) {
        self.patches.most(rows(these), eta, radius, order, out);
        if self.is_faulty {
            out.iter_mut().for_each(|most| *most *= 0.05);
        }
    }
}

impl Patched for PatchedDensity<'_> {
    fn groups(&self) -> usize {
        self.patches.groups()
    }

    fn patch(&self, group: usize) -> Rows {
        range(self.patches.rows_of(group))
    }

    fn location(&self, group: usize, out: &mut [f64]) -> f64 {
        self.patches.location(group, out)
    }

    fn is_scale_free(&self) -> bool {
        self.patches.is_scale_free(0)
    }

    fn log_prior(&mut self, shared: &[f64], log_scale: f64) -> f64 {
        self.patches.log_prior(self.density, shared, &[log_scale])
    }
}

impl Crossed for PatchedDensity<'_> {
    fn effects(&self) -> usize {
        self.patches.groups()
    }

    fn scales(&self) -> usize {
        self.patches.scales()
    }

    fn scale_of(&self, effect: usize) -> usize {
        self.patches.scale_of(effect)
    }

    fn patches(&self) -> usize {
        self.patches.patches()
    }

    fn patch(&self, number: usize) -> Rows {
        range(self.patches.patch(number))
    }

    fn members(&self, number: usize) -> &[u32] {
        self.patches.members(number)
    }

    fn location(&self, effect: usize, out: &mut [f64]) -> f64 {
        self.patches.location(effect, out)
    }

    fn is_scale_free(&self, scale: usize) -> bool {
        self.patches.is_scale_free(scale)
    }

    fn log_prior(&mut self, shared: &[f64], log_scales: &[f64]) -> f64 {
        self.patches.log_prior(self.density, shared, log_scales)
    }
}

/// What sweeps need.
#[derive(Clone)]
pub(super) enum Prepared {
    Simple(Arc<patches::preparation::Preparation>),
    Crossed(Arc<crossed::preparation::Preparation>),
}

fn one_scale(point: &Point) -> arrowhead::Point {
    let Point { shared, effects, log_scales } = point.clone();
    arrowhead::Point { shared, effects, log_scale: log_scales[0] }
}

fn of_one_scale(point: arrowhead::Point) -> Point {
    let arrowhead::Point { shared, effects, log_scale } = point;
    Point { shared, effects, log_scales: vec![log_scale] }
}

impl Prepared {
    /// Searching from a point.
    pub(super) fn new(
        model: &mut PatchedDensity<'_>,
        from: &Point,
    ) -> Result<Prepared, NoReference> {
        if model.patches.is_simple() {
            let want = patches::preparation::Want::default();
            let made = patches::preparation::Preparation::new(model, one_scale(from), want)?;
            return Ok(Prepared::Simple(Arc::new(made)));
        }
        let want = crossed::preparation::Want::default();
        let made = crossed::preparation::Preparation::new(model, from.clone(), want)?;
        Ok(Prepared::Crossed(Arc::new(made)))
    }

    /// The same reference for rows that have changed.
    pub(super) fn renewed(&self, model: &mut PatchedDensity<'_>) -> Result<Prepared, NoReference> {
        match self {
            Prepared::Simple(prepared) if model.patches.is_simple() => {
                Ok(Prepared::Simple(Arc::new(prepared.renewed(model)?)))
            }
            Prepared::Crossed(prepared) if !model.patches.is_simple() => {
                Ok(Prepared::Crossed(Arc::new(prepared.renewed(model)?)))
            }
            _ => Err(NoReference::Impossible),
        }
    }

    pub(super) fn centre(&self) -> Point {
        match self {
            Prepared::Simple(prepared) => of_one_scale(prepared.reference.centre.clone()),
            Prepared::Crossed(prepared) => prepared.reference.centre.clone(),
        }
    }

    /// About what the standard deviations are, in the form of a point.
    pub(super) fn spreads(&self) -> Point {
        let centre = self.centre();
        let (factor, shear, precisions, shares) = match self {
            Prepared::Simple(prepared) => {
                let reference = &prepared.reference;
                (&reference.factor, &reference.shear, &reference.precisions, &prepared.shares)
            }
            Prepared::Crossed(prepared) => {
                let reference = &prepared.reference;
                let precisions = &reference.coupling.diagonal;
                (&reference.factor, &reference.shear, precisions, &prepared.shares)
            }
        };
        let p = centre.shared.len();
        let variance = |j: usize| {
            let mut unit = vec![0.0; p];
            unit[j] = 1.0;
            linalg::solve_lower(factor, &mut unit);
            linalg::dot(&unit, &unit)
        };
        let of_shared: Vec<f64> = (0..p).map(variance).collect();
        let of_effect = |(e, h): (usize, &f64)| {
            let along = shear[e * p..(e + 1) * p].iter().zip(&of_shared).map(|(k, v)| k * k * v);
            math::sqrt(1.0 / h + along.sum::<f64>())
        };
        // What the data say about the effects of a scale, they say about it; one for all is good enough.
        let said: f64 = shares.iter().map(|share| 2.0 * (1.0 - share) * (1.0 - share)).sum();
        let of_scale = 1.0 / math::sqrt((said / centre.log_scales.len() as f64).max(0.5));
        Point {
            effects: precisions.iter().enumerate().map(of_effect).collect(),
            shared: of_shared.into_iter().map(math::sqrt).collect(),
            log_scales: vec![of_scale; centre.log_scales.len()],
        }
    }

    /// What the pilot did.
    pub(super) fn pilot(&self) -> Swept {
        match self {
            Prepared::Simple(prepared) => prepared.pilot,
            Prepared::Crossed(prepared) => prepared.pilot,
        }
    }

    /// Readings of a row that trajectories over so many would take, over those of a sweep.
    pub(super) fn gain(&self, rows: f64) -> f64 {
        match self {
            Prepared::Simple(prepared) => {
                prepared.cost_of_trajectory(rows) / prepared.cost_of_sweep()
            }
            Prepared::Crossed(prepared) => {
                prepared.cost_of_trajectory(rows) / prepared.cost_of_sweep()
            }
        }
    }

    /// What is swept over, and by polynomials of which order.
    pub(super) fn words(&self) -> String {
        match self {
            Prepared::Simple(prepared) => {
                let (all, soft) = (prepared.groups.len(), prepared.soft);
                let order = prepared.sums.order;
                format!("the effects of {all} groups, {soft} of them by sums of order {order}")
            }
            Prepared::Crossed(prepared) => {
                let (effects, all) = (prepared.readers.len(), prepared.patches.len());
                let (soft, order) = (prepared.soft(), prepared.order());
                format!(
                    "{effects} effects, read by rows in {all} patches, {soft} of them by sums of order {order}"
                )
            }
        }
    }
}

/// Where sweeps are.
pub(super) enum Sweeps {
    Simple(patches::chain::Chain),
    Crossed(crossed::chain::Chain),
}

impl Sweeps {
    pub(super) fn new(prepared: &Prepared, rng: &mut Rng) -> Sweeps {
        match prepared {
            Prepared::Simple(_) => Sweeps::Simple(patches::chain::Chain::new(rng)),
            Prepared::Crossed(_) => Sweeps::Crossed(crossed::chain::Chain::new(rng)),
        }
    }

    pub(super) fn go(
        &mut self,
        model: &mut PatchedDensity<'_>,
        prepared: &Prepared,
        to: &Point,
        rng: &mut Rng,
    ) {
        match (&mut *self, prepared) {
            (Sweeps::Simple(chain), Prepared::Simple(prepared)) => {
                chain.go(model, prepared, &one_scale(to));
            }
            (Sweeps::Crossed(chain), Prepared::Crossed(prepared)) => chain.go(model, prepared, to),
            _ => {
                *self = Sweeps::new(prepared, rng);
                self.go(model, prepared, to, rng);
            }
        }
    }

    /// A sweep, and where it leads.
    pub(super) fn sweep(
        &mut self,
        model: &mut PatchedDensity<'_>,
        prepared: &Prepared,
        rng: &mut Rng,
    ) -> (Swept, Point) {
        match (self, prepared) {
            (Sweeps::Simple(chain), Prepared::Simple(prepared)) => {
                let swept = chain.sweep(model, prepared, rng);
                (swept, of_one_scale(chain.point(prepared)))
            }
            (Sweeps::Crossed(chain), Prepared::Crossed(prepared)) => {
                let swept = chain.sweep(model, prepared, rng);
                (swept, chain.point(prepared))
            }
            _ => unreachable!("sweeps go to a point of what is prepared first"),
        }
    }
}
