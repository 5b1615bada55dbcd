//! The terms of members: brought and taken off, and what is asked of all of them.

use smidgen_value::Rng;

use super::{Around, Buckets, Members, Slot, Standing};
use crate::program::run::bounds::Ball;
use crate::program::run::remainder::Points;
use crate::taylor::Sums;
use crate::taylor::bounds::{columns_of, of_third};

/// Sums are made anew after so many changes, and as many as this for each section.
const CHANGES: usize = 4096;
const CHANGES_OF_EACH: usize = 4;

impl Members {
    /// The places of slots, by kind.
    fn by_kind(&self, slots: &[u32]) -> Vec<(usize, Vec<u32>, Vec<u32>)> {
        let mut kinds: Vec<(usize, Vec<u32>, Vec<u32>)> = Vec::new();
        for slot in slots {
            let of = &self.slots[*slot as usize];
            let kind = of.kind as usize;
            let at = kinds.iter().position(|(known, ..)| *known == kind).unwrap_or_else(|| {
                kinds.push((kind, Vec::new(), Vec::new()));
                kinds.len() - 1
            });
            kinds[at].1.push(of.place);
            kinds[at].2.push(*slot);
        }
        kinds
    }

    /// Adds the terms of slots, times a factor, to the sums that are kept.
    fn count(&mut self, slots: &[u32], factor: f64) {
        let Some(around) = &self.around else { return };
        let centre = around.centre.clone();
        for (kind, places, _) in self.by_kind(slots) {
            let kind = &mut self.kinds[kind];
            let tally = kind.tally(&mut self.desk, &centre, &places);
            kind.kept.add_times(factor, &tally);
        }
        if let Some(around) = &mut self.around {
            around.changes += slots.len();
        }
    }

    /// The terms of these slots come.
    pub(super) fn bring(&mut self, slots: &[u32]) {
        self.count(slots, 1.0);
        let Some(around) = self.around.take() else { return };
        let mut bounds = Vec::new();
        self.bounds_of(slots, (&around.centre, &around.columns, around.radius), &mut bounds);
        self.around = Some(around);
        for (slot, bound) in bounds {
            self.set_bound(slot, bound);
        }
    }

    /// The terms of these slots go, and they are free.
    pub(super) fn take_off(&mut self, slots: &[u32]) {
        self.count(slots, -1.0);
        for slot in slots {
            self.forget_bound(*slot);
            let of = &self.slots[*slot as usize];
            self.kinds[of.kind as usize].free(of.place);
            self.free.push(*slot);
        }
    }

    /// Sums that many have come to and gone from are made anew.
    pub(super) fn mend(&mut self) {
        let most = CHANGES + CHANGES_OF_EACH * self.units.len();
        if self.around.as_ref().is_some_and(|around| around.changes > most) {
            self.sum_anew();
        }
    }

    fn sum_anew(&mut self) {
        let Some(around) = &mut self.around else { return };
        around.changes = 0;
        let centre = around.centre.clone();
        let units = std::mem::take(&mut self.units);
        let of_kinds = self.by_kind(&units);
        self.units = units;
        for kind in &mut self.kinds {
            kind.kept = kind.nothing();
        }
        for (kind, places, _) in of_kinds {
            let kind = &mut self.kinds[kind];
            kind.kept = kind.tally(&mut self.desk, &centre, &places);
        }
    }

    /// From now on sums and bounds are kept around this centre, for the ball of this radius in the coordinates of the lower
    /// factor, which is given row by row. Members with bounds above `most` are read at every move.
    pub fn settle(&mut self, centre: &[f64], lower: &[f64], radius: f64, most: f64) {
        let columns = columns_of(lower, self.dimension);
        let (soft, hard, changes) = (Buckets::default(), Vec::new(), 0);
        let centre = centre.to_vec();
        self.around = Some(Around { centre, columns, radius, most, soft, hard, changes });
        for slot in &mut self.slots {
            slot.standing = Standing::Silent;
        }
        self.kinds.iter_mut().for_each(|kind| kind.kept = kind.nothing());
        let units = self.units.clone();
        self.bring(&units);
        if let Some(around) = &mut self.around {
            around.changes = 0;
        }
    }

    /// Σ l_i, Σ ∇l_i and Σ ∇²l_i at the centre, as they are kept. None before there is a centre, and where something is no
    /// finite number.
    pub fn kept(&self) -> Option<Sums> {
        self.around.as_ref()?;
        let mut sums = Sums::zero(self.dimension);
        for kind in &self.kinds {
            kind.spread(&kind.kept, 1.0, &mut sums);
        }
        sums.finite()
    }

    /// The same made anew, at any point, from every `stride`-th section.
    pub fn sums(&mut self, z: &[f64], stride: usize) -> Option<Sums> {
        let some: Vec<u32> = self.units.iter().step_by(stride.max(1)).copied().collect();
        let factor = self.units.len() as f64 / some.len().max(1) as f64;
        let mut sums = Sums::zero(self.dimension);
        for (kind, places, _) in self.by_kind(&some) {
            let tally = self.kinds[kind].tally(&mut self.desk, z, &places);
            self.kinds[kind].spread(&tally, factor, &mut sums);
        }
        sums.finite()
    }

    /// Σ l_i(z); −∞ where a section is impossible.
    pub fn log_sections(&mut self, z: &[f64]) -> f64 {
        let mut total = 0.0;
        let units = std::mem::take(&mut self.units);
        let of_kinds = self.by_kind(&units);
        self.units = units;
        for (kind, places, _) in of_kinds {
            total += self.kinds[kind].tally(&mut self.desk, z, &places).value();
        }
        if total.is_finite() { total } else { f64::NEG_INFINITY }
    }

    /// c_i of slots for a ball.
    fn bounds_of(
        &mut self,
        slots: &[u32],
        (centre, columns, radius): (&[f64], &[f64], f64),
        out: &mut Vec<(u32, f32)>,
    ) {
        let ball = Ball { centre, columns, radius };
        let mut thirds = Vec::new();
        for (kind, places, slots) in self.by_kind(slots) {
            thirds.clear();
            self.kinds[kind].thirds(&mut self.desk, &ball, &places, &mut thirds);
            let bounds = thirds.iter().map(|third| of_third(*third));
            out.extend(slots.into_iter().zip(bounds));
        }
    }

    /// c_i of all sections, by slot, as [`crate::taylor::Taylor::bounds`] gives those of rows. Slots are the numbers of units
    /// as long as nobody has gone.
    pub fn bounds(&mut self, centre: &[f64], lower: &[f64], radius: f64, out: &mut Vec<f32>) {
        let columns = columns_of(lower, self.dimension);
        let units = self.units.clone();
        let mut found = Vec::with_capacity(units.len());
        self.bounds_of(&units, (centre, &columns, radius), &mut found);
        out.clear();
        out.resize(self.slots.len(), 0.0);
        found.into_iter().for_each(|(slot, bound)| out[slot as usize] = bound);
    }

    fn set_bound(&mut self, slot: u32, bound: f32) {
        let Some(around) = &mut self.around else { return };
        let standing = if bound.is_nan() || f64::from(bound) > around.most {
            around.hard.push(slot);
            Standing::Hard(around.hard.len() as u32 - 1)
        } else if bound > 0.0 {
            Standing::Soft(around.soft.add(slot, bound))
        } else {
            Standing::Silent
        };
        self.slots[slot as usize].standing = standing;
    }

    fn forget_bound(&mut self, slot: u32) {
        let Some(around) = &mut self.around else { return };
        let standing = std::mem::replace(&mut self.slots[slot as usize].standing, Standing::Silent);
        match standing {
            Standing::Silent => {}
            Standing::Soft(place) => {
                if let Some(moved) = around.soft.remove(place) {
                    self.slots[moved as usize].standing = Standing::Soft(place);
                }
            }
            Standing::Hard(place) => {
                around.hard.swap_remove(place as usize);
                if let Some(moved) = around.hard.get(place as usize) {
                    self.slots[*moved as usize].standing = Standing::Hard(place);
                }
            }
        }
    }

    /// C of the sections that may object.
    pub fn total_bound(&self) -> f64 {
        self.around.as_ref().map_or(0.0, |around| around.soft.total())
    }

    /// The sections that are read at every move.
    pub fn hard(&self) -> &[u32] {
        self.around.as_ref().map_or(&[], |around| &around.hard)
    }

    /// A section in proportion to what it may object, and that.
    pub fn draw(&self, rng: &mut Rng) -> Option<(u32, f32)> {
        self.around.as_ref()?.soft.draw(rng)
    }

    /// R_i = l_i − T_i of sections by slot, at two points.
    pub fn remainders(
        &mut self,
        centre: &[f64],
        slots: &[u32],
        zs: [&[f64]; 2],
        out: &mut [[f64; 2]],
    ) {
        let differences =
            zs.map(|z| z.iter().zip(centre).map(|(z, centre)| z - centre).collect::<Vec<f64>>());
        let points = Points { centre, differences: [&differences[0], &differences[1]], order: 2 };
        for (slot, out) in slots.iter().zip(out) {
            let of = &self.slots[*slot as usize];
            *out = self.kinds[of.kind as usize].remainder(&mut self.desk, &points, of.place);
            if !out.iter().all(|rest| rest.is_finite()) {
                *out = self.by_values(*slot, centre, zs).unwrap_or(*out);
            }
        }
        self.touched += slots.len() as u64;
    }

    /// R_i of a section from its values and its polynomial: what is put together step by step, from where each step was and
    /// how it changed, may leave a domain by rounding where the section does not.
    fn by_values(&mut self, slot: u32, centre: &[f64], zs: [&[f64]; 2]) -> Option<[f64; 2]> {
        let Slot { kind, place, .. } = self.slots[slot as usize];
        let kind = &self.kinds[kind as usize];
        let mut here = Sums::zero(self.dimension);
        kind.spread(&kind.tally(&mut self.desk, centre, &[place]), 1.0, &mut here);
        let here = here.finite()?;
        let mut value = |z| kind.tally(&mut self.desk, z, &[place]).value();
        Some(zs.map(|z| value(z) - here.polynomial(centre, z)))
    }
}
