//! Rows of patches.

use smidgen_prob::smooth::Interval;

use super::{Forms, PatchPlate, Patches};
use crate::program::Register;
use crate::program::cells::Pick;
use crate::program::rows::BLOCK;
use crate::program::run::Store;
use crate::program::run::series::{FACTORIAL, Lane};

/// Some rows: `first`, `first + step`, and so on, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatchRows {
    pub first: usize,
    pub step: usize,
    pub count: usize,
}

impl PatchPlate {
    /// The value of a form and its slope in η.
    fn form(&self, store: &Store, lane: usize, k: usize, eta: f64) -> (f64, f64) {
        match &self.forms {
            Forms::One { .. } => (eta, 1.0),
            Forms::OfEffect(columns) => {
                let slope = number(store, columns[k], lane);
                (slope * eta, slope)
            }
        }
    }
}

fn number(store: &Store, register: Register, lane: usize) -> f64 {
    store.lanes(register, lane + 1)[lane]
}

impl Patches {
    /// Hands rows to `ask` by their plates, at most a block at a time, with their data at hand: the place of the first among those
    /// asked for, and how many they are.
    fn each_plate(
        &mut self,
        rows: PatchRows,
        mut ask: impl FnMut(&PatchPlate, &mut super::PatchDesk, usize, usize),
    ) {
        let Patches { plates, desk, .. } = self;
        let mut place = 0;
        while place < rows.count {
            let row = rows.first + place * rows.step;
            let number = plates.partition_point(|plate| plate.kind.first <= row) - 1;
            let plate = &plates[number];
            let end = plate.kind.first + plate.kind.rows();
            let count = (end - row).div_ceil(rows.step).min(rows.count - place).min(BLOCK);
            let these = PatchRows { first: row, step: rows.step, count };
            if desk.loaded != Some((number, these)) {
                load(plate, desk, number, these);
            }
            ask(plate, desk, place, count);
            place += count;
        }
    }

    /// The coefficients of η in the shared coordinates, one coordinate after the other, and in the effects of the patch.
    pub fn coefficients(&mut self, rows: PatchRows, out: &mut [f64]) {
        let p = self.shared.len();
        out.fill(0.0);
        self.each_plate(rows, |plate, desk, place, count| match &plate.forms {
            Forms::One { shared, own } => {
                let own = own.iter().enumerate().map(|(slot, column)| (p + slot, column));
                for (k, column) in shared.iter().map(|(k, column)| (*k, column)).chain(own) {
                    let out = &mut out[k * rows.count + place..][..count];
                    out.copy_from_slice(desk.store.lanes(*column, count));
                }
            }
            Forms::OfEffect(_) => out[p * rows.count + place..][..count].fill(1.0),
        });
    }

    /// Σ f(η); −∞ or no number where some row is impossible.
    pub fn log_weight(&mut self, rows: PatchRows, eta: &[f64]) -> f64 {
        let mut total = 0.0;
        self.each_plate(rows, |plate, desk, place, count| {
            for (lane, eta) in eta[place..place + count].iter().enumerate() {
                let at = Lane { curved: &plate.kind.curved, data: &desk.store, lane };
                let form = |k: usize| plate.form(&desk.store, lane, k, *eta);
                let series = desk.series.run(at, form, 1);
                total += series.map_or(f64::NAN, |series| series[0]);
            }
        });
        total
    }

    /// f(η), then f', and so on, as many orders as there is room for.
    pub fn derivatives(&mut self, rows: PatchRows, eta: &[f64], out: &mut [f64]) {
        let terms = out.len() / rows.count.max(1);
        self.each_plate(rows, |plate, desk, place, count| {
            for (lane, eta) in eta[place..place + count].iter().enumerate() {
                let at = Lane { curved: &plate.kind.curved, data: &desk.store, lane };
                let form = |k: usize| plate.form(&desk.store, lane, k, *eta);
                let series = desk.series.run(at, form, terms);
                for k in 0..terms {
                    let coefficient = series.map_or(f64::NAN, |series| series[k]);
                    out[k * rows.count + place + lane] = FACTORIAL[k] * coefficient;
                }
            }
        });
    }

    /// An upper bound of |f^(order)| over [η − radius, η + radius]; infinite where there is none.
    pub fn most(
        &mut self,
        rows: PatchRows,
        eta: &[f64],
        radius: f64,
        order: usize,
        out: &mut [f64],
    ) {
        self.each_plate(rows, |plate, desk, place, count| {
            for (lane, eta) in eta[place..place + count].iter().enumerate() {
                let at = Lane { curved: &plate.kind.curved, data: &desk.store, lane };
                let form = |k: usize| {
                    let (low, slope) = plate.form(&desk.store, lane, k, eta - radius);
                    let (high, _) = plate.form(&desk.store, lane, k, eta + radius);
                    (Interval::hull(low, high), slope)
                };
                let series = desk.enclosures.run(at, form, order + 1);
                let most = series.map_or(f64::INFINITY, |series| series[order].magnitude());
                let most = FACTORIAL[order] * most;
                out[place + lane] = if most.is_finite() { most } else { f64::INFINITY };
            }
        });
    }
}

/// Brings rows of one plate into the lanes.
fn load(plate: &PatchPlate, desk: &mut super::PatchDesk, number: usize, these: PatchRows) {
    let data = &plate.kind.data;
    if desk.constants_of != Some(number) {
        data.fit(&mut desk.store);
        data.begin(&mut desk.store, &[]);
        desk.constants_of = Some(number);
    }
    let first = these.first - plate.kind.first;
    let mut rows = [0; BLOCK];
    let pick = match these.step {
        1 => plate.kind.pick(first),
        step => {
            for (k, row) in rows[..these.count].iter_mut().enumerate() {
                *row = plate.kind.members.row(first + k * step);
            }
            Pick::These(&rows[..these.count])
        }
    };
    data.load(&mut desk.store, &[], pick, these.count);
    data.run(&mut desk.store, these.count);
    desk.loaded = Some((number, these));
}
