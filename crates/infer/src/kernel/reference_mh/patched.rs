//! Blocks whose rows fall into patches, each with an effect of its own: a transition is a sweep of [`crate::patches`].
//!
//! As for other blocks, the reference is made in the warm-up and stays; if the rest of the program moves what the rows
//! read, sums, bounds and hard patches are made anew for the same reference, as functions of the rest.

mod sweeps;

use smidgen_engine::smooth::{Density, Validity};
use smidgen_engine::taylor::Patches;
use smidgen_engine::{EvalError, Fault, Trace};
use smidgen_value::Rng;

use super::{First, WORTH_IT, near, order, origin};
use crate::crossed::Point;
use crate::hamiltonian::metric::Metric;
use crate::hamiltonian::{Block, Smoothed};
use crate::patches::chain::Swept;
use crate::run::Log;
use sweeps::{PatchedDensity, Prepared, Sweeps};

/// More shared coordinates than these make sums of patches too large.
const MOST_SHARED: usize = 30;
/// β is accepted less often than this in a pilot: another kernel is better.
const LEAST_ACCEPTED: f64 = 0.1;
/// Names what chains share.
const PATCHES: u64 = 0x7061_7463_6865_7300;

/// A block that is moved by sweeps.
pub(super) struct PatchedBlock {
    smoothed: Smoothed,
    patches: Patches,
    prepared: Prepared,
    sweeps: Sweeps,
    pub(super) is_alone: bool,
    pub(super) is_of_the_rest: bool,
    order: Vec<u64>,
    left: Option<u64>,
    is_faulty: bool,
    /// Where the chain is, in the coordinates of the block.
    z: Vec<f64>,
}

impl First<'_> {
    /// The patches of a density and what sweeps over them need, or why it has none, or sweeps would not serve it.
    fn prepare(&self, density: &mut Density, log: &Log<'_>) -> Result<(Patches, Prepared), String> {
        let mut patches = density.patches().map_err(|why| why.to_string())?;
        if patches.shared() > MOST_SHARED {
            return Err(format!("its groups share more than {MOST_SHARED} coordinates"));
        }
        if self.is_best && patches.rows() < WORTH_IT {
            return Err("its groups have too few rows".to_owned());
        }
        // Only in a warm-up may a reference hang on the state.
        let is_from_state = self.may_learn && !self.is_alone;
        let start = match is_from_state {
            true => point(&patches, self.state),
            false => point(&patches, &origin(self.state.len())),
        };
        let is_faulty = self.is_faulty;
        let mut prepare = || {
            let mut model = PatchedDensity::new(density, &mut patches, is_faulty);
            Prepared::new(&mut model, &start)
        };
        let prepared = match self.is_alone {
            // Another kind of reference may be kept under the addresses alone.
            true => log.run.shared.get_or_make(&[self.key, &[PATCHES]].concat(), prepare),
            false => prepare(),
        };
        let prepared = prepared.map_err(|_| "its groups have no reference".to_owned())?;
        let accepted = prepared.pilot().shared_share();
        if self.is_best && accepted < LEAST_ACCEPTED {
            let percent = 100.0 * accepted;
            return Err(format!(
                "{percent:.0} % of the moves of what groups share would be accepted"
            ));
        }
        if self.is_best && prepared.gain(patches.rows() as f64) < 1.0 {
            return Err("a sweep would cost more readings of rows than a trajectory".to_owned());
        }
        Ok((patches, prepared))
    }
}

impl PatchedBlock {
    /// Gives the density back if it is not served, with the reason.
    pub(super) fn first(
        smoothed: Smoothed,
        given: &First<'_>,
        trace: &Trace,
        rng: &mut Rng,
        log: &Log<'_>,
    ) -> Result<PatchedBlock, (Smoothed, String)> {
        let found = given.prepare(&mut smoothed.density(), log);
        let (patches, prepared) = match found {
            Ok(found) => found,
            Err(why) => return Err((smoothed, why)),
        };
        let mut block = PatchedBlock {
            order: order(trace, &smoothed),
            smoothed,
            patches,
            sweeps: Sweeps::new(&prepared, rng),
            prepared,
            is_alone: given.is_alone,
            is_of_the_rest: !given.may_learn && !given.is_alone,
            left: None,
            is_faulty: given.is_faulty,
            z: Vec::new(),
        };
        if given.may_learn {
            // Polynomials are of no use far from the reference, and sweeps from there would not come near it soon.
            let Point { shared, effects, log_scales } = block.prepared.centre();
            let mut centre = Vec::new();
            block.patches.join(&shared, &effects, &log_scales, &mut centre);
            block.go(&centre, rng);
            block.left = Some(trace.revision());
        } else {
            block.go(given.state, rng);
        }
        Ok(block)
    }

    fn go(&mut self, state: &[f64], rng: &mut Rng) {
        let PatchedBlock { smoothed, patches, prepared, sweeps, is_faulty, z, .. } = self;
        let to = point(patches, state);
        let mut density = smoothed.density();
        let mut model = PatchedDensity::new(&mut density, patches, *is_faulty);
        sweeps.go(&mut model, prepared, &to, rng);
        z.clear();
        z.extend_from_slice(state);
    }

    /// Follows what other moves have changed.
    pub(super) fn bring_up_to_date(
        &mut self,
        trace: &mut Trace,
        block: Block<'_>,
        rng: &mut Rng,
    ) -> Result<Result<(), String>, EvalError> {
        if self.left == Some(trace.revision()) || trace.has_fault(Fault::KeptRows) {
            return Ok(Ok(()));
        }
        let validity = self.smoothed.refresh(trace, block, "reference_mh")?;
        if validity != Validity::Same {
            let order = order(trace, &self.smoothed);
            // A reference for other coordinates is none.
            self.is_of_the_rest |= order != self.order;
            self.order = order;
            if let Err(why) = self.renew() {
                return Ok(Err(why));
            }
        }
        let Some(state) = self.smoothed.density().position(trace)? else {
            return Ok(Err("the state lies on the edge of what is possible".to_owned()));
        };
        if validity != Validity::Same || !near(&state, &self.z) {
            self.go(&state, rng);
        }
        Ok(Ok(()))
    }

    /// Sums and bounds for rows that have changed.
    fn renew(&mut self) -> Result<(), String> {
        let PatchedBlock { smoothed, patches, prepared, is_faulty, is_of_the_rest, .. } = self;
        let mut density = smoothed.density();
        *patches = density.patches().map_err(|why| why.to_string())?;
        let start = point(patches, &origin(density.dimension()));
        let mut model = PatchedDensity::new(&mut density, patches, *is_faulty);
        let renewed = match is_of_the_rest {
            true => Prepared::new(&mut model, &start),
            false => prepared.renewed(&mut model),
        };
        *prepared = renewed.map_err(|_| "no reference was found".to_owned())?;
        Ok(())
    }

    pub(super) fn transition(
        &mut self,
        trace: &mut Trace,
        rng: &mut Rng,
        log: &mut Log<'_>,
    ) -> Result<(), EvalError> {
        let PatchedBlock { smoothed, patches, prepared, sweeps, left, is_faulty, z, .. } = self;
        let mut density = smoothed.density();
        let (swept, to) = {
            let mut model = PatchedDensity::new(&mut density, patches, *is_faulty);
            sweeps.sweep(&mut model, prepared, rng)
        };
        let Point { shared, effects, log_scales } = to;
        patches.join(&shared, &effects, &log_scales, z);
        density.install(trace, z, rng)?;
        *left = Some(trace.revision());
        let Swept { asked, scanned, violations, shared_accepted, .. } = swept;
        let (read, rows) = (asked + scanned, patches.rows() as u64);
        let tally = &mut log.tally;
        tally.transitions += 1;
        tally.accepted += shared_accepted;
        tally.sections_used += read;
        tally.population += rows;
        tally.by_reference += 1;
        tally.reference_rows += read;
        tally.reference_population += rows;
        tally.violations += violations;
        Ok(())
    }

    /// The scales of the coordinates, as the reference has them.
    pub(super) fn metric(&self) -> Metric {
        let Point { shared, effects, log_scales } = self.prepared.spreads();
        Metric::of_scales(self.patches.spreads(&shared, &effects, &log_scales))
    }

    /// Readings of a row that trajectories would take, over those of a sweep.
    pub(super) fn gain(&self) -> f64 {
        self.prepared.gain(self.patches.rows() as f64)
    }

    pub(super) fn words(&self) -> String {
        let pilot = self.prepared.pilot();
        let read = (pilot.asked + pilot.scanned) as f64 / pilot.sweeps.max(1) as f64;
        let percent = 100.0 * pilot.shared_share();
        let (what, rows) = (self.prepared.words(), self.patches.rows());
        format!(
            "exact, in sweeps over {what}: {read:.3} of {rows} rows read per sweep; {percent:.0} % of the moves of what they share accepted in a pilot"
        )
    }
}

/// A state in the words of patches.
fn point(patches: &Patches, z: &[f64]) -> Point {
    let (mut shared, mut effects, mut log_scales) = (Vec::new(), Vec::new(), Vec::new());
    patches.split(z, &mut shared, &mut effects, &mut log_scales);
    Point { shared, effects, log_scales }
}
