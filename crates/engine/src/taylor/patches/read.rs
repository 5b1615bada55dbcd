//! Rows of patches.

use smidgen_prob::smooth::Interval;

use super::{Forms, PatchPlate, Patches};
use crate::program::Register;
use crate::program::cells::Pick;
use crate::program::rows::BLOCK;
use crate::program::run::Store;
use crate::program::run::series::{Coefficient, FACTORIAL, Lane, WIDTH, WIDTH_OF_BOUNDS, Wide};

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

    /// A form of wide rows, as it hangs on ζ, and its slope in η.
    fn wide_form<T: Coefficient, const W: usize>(
        &self,
        store: &Store,
        lane: usize,
        k: usize,
        at: [T; 2],
    ) -> (Wide<T, W>, f64) {
        let [eta, zeta] = at;
        let mut out = Wide::<T, W>::of(0.0);
        match &self.forms {
            Forms::One { eta: number, .. } if *number != k => {
                (out.0[0], out.0[1]) = (zeta, T::of(1.0));
                (out, 0.0)
            }
            Forms::One { .. } => {
                out.0[0] = eta;
                (out, 1.0)
            }
            Forms::OfEffect(columns) => {
                let slope = number(store, columns[k], lane);
                out.0[0] = eta.times(T::of(slope));
                (out, slope)
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

    /// The coefficients of η in the shared coordinates, one coordinate after the other, and in the effects of the patch; of wide
    /// rows also those of ζ in the shared coordinates.
    pub fn coefficients(&mut self, rows: PatchRows, out: &mut [f64]) {
        let p = self.shared.len();
        let is_wide = self.is_wide();
        out.fill(0.0);
        self.each_plate(rows, |plate, desk, place, count| match &plate.forms {
            Forms::One { shared, own, zeta, .. } => {
                let of_zeta = p + own.len();
                let own = own.iter().enumerate().map(|(slot, column)| (p + slot, column));
                let zeta = zeta.iter().filter(|_| is_wide).map(|(k, column)| (of_zeta + k, column));
                let shared = shared.iter().map(|(k, column)| (*k, column));
                for (k, column) in shared.chain(own).chain(zeta) {
                    let out = &mut out[k * rows.count + place..][..count];
                    out.copy_from_slice(desk.store.lanes(*column, count));
                }
            }
            Forms::OfEffect(_) => out[p * rows.count + place..][..count].fill(1.0),
        });
    }

    /// Σ f(η, ζ); −∞ or no number where some row is impossible. Of ζ there is nothing unless rows are wide.
    pub fn log_weight(&mut self, rows: PatchRows, [eta, zeta]: [&[f64]; 2]) -> f64 {
        let mut total = 0.0;
        self.each_plate(rows, |plate, desk, place, count| {
            for lane in 0..count {
                let at = Lane { curved: &plate.kind.curved, data: &desk.store, lane };
                let value = match zeta.get(place + lane) {
                    None => {
                        let form = |k: usize| plate.form(&desk.store, lane, k, eta[place + lane]);
                        desk.series.run(at, form, 1).map(|series| series[0])
                    }
                    Some(zeta) => {
                        let here = [eta[place + lane], *zeta];
                        let form = |k: usize| plate.wide_form(&desk.store, lane, k, here);
                        desk.wide_series.run(at, form, 1).map(|series| series[0].0[0])
                    }
                };
                total += value.unwrap_or(f64::NAN);
            }
        });
        total
    }

    /// f(η), then f', and so on, as many orders as there is room for. Of wide rows: so many in η; after them those of
    /// ∂f/∂ζ, and of ∂²f/∂ζ². Those with more orders in both than there are in η mean nothing.
    pub fn derivatives(&mut self, rows: PatchRows, [eta, zeta]: [&[f64]; 2], out: &mut [f64]) {
        let parts = if zeta.is_empty() { 1 } else { WIDTH };
        let terms = out.len() / (parts * rows.count.max(1));
        self.each_plate(rows, |plate, desk, place, count| {
            for lane in 0..count {
                let at = Lane { curved: &plate.kind.curved, data: &desk.store, lane };
                let mut put = |j: usize, k: usize, coefficient: Option<f64>| {
                    let derivative = FACTORIAL[j] * FACTORIAL[k] * coefficient.unwrap_or(f64::NAN);
                    out[(j * terms + k) * rows.count + place + lane] = derivative;
                };
                if let Some(zeta) = zeta.get(place + lane) {
                    let here = [eta[place + lane], *zeta];
                    let form = |k: usize| plate.wide_form(&desk.store, lane, k, here);
                    let series = desk.wide_series.run(at, form, terms);
                    for j in 0..parts {
                        (0..terms).for_each(|k| put(j, k, series.map(|series| series[k].0[j])));
                    }
                } else {
                    let form = |k: usize| plate.form(&desk.store, lane, k, eta[place + lane]);
                    let series = desk.series.run(at, form, terms);
                    (0..terms).for_each(|k| put(0, k, series.map(|series| series[k])));
                }
            }
        });
    }

    /// Of wide rows: upper bounds of |∂^(k+j) f/∂η^k ∂ζ^j| for η and ζ within radii, k + j up to an order, and j up to 3; k by k, and then
    /// j by j. Infinite where there is none.
    pub fn most_of_wide(
        &mut self,
        rows: PatchRows,
        [eta, zeta]: [&[f64]; 2],
        [radius, width]: [f64; 2],
        order: usize,
        out: &mut [f64],
    ) {
        let around = |x: f64, radius: f64| Interval { lo: x - radius, hi: x + radius };
        self.each_plate(rows, |plate, desk, place, count| {
            for lane in 0..count {
                let at = Lane { curved: &plate.kind.curved, data: &desk.store, lane };
                let here = [around(eta[place + lane], radius), around(zeta[place + lane], width)];
                let form = |k: usize| plate.wide_form(&desk.store, lane, k, here);
                let series = desk.wide_enclosures.run(at, form, order + 1);
                for j in 0..WIDTH_OF_BOUNDS {
                    for k in 0..=order {
                        let most =
                            series.map_or(f64::INFINITY, |series| series[k].0[j].magnitude());
                        let most = if most.is_finite() { most } else { f64::INFINITY };
                        let most = FACTORIAL[j] * FACTORIAL[k] * most;
                        out[(j * (order + 1) + k) * rows.count + place + lane] = most;
                    }
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
