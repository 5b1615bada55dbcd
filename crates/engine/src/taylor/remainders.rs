//! R_i and l_i of a few sections.

use super::{Desk, Taylor};
use crate::program::cells::Pick;
use crate::program::rows::BLOCK;
use crate::program::run::remainder::{Points, Rest};

impl Taylor {
    /// R_i = l_i − T_i at two points, for sections by number; T_i is the second-order Taylor polynomial at `z_ref`.
    pub fn remainders(
        &mut self,
        z_ref: &[f64],
        rows: &[u32],
        zs: [&[f64]; 2],
        out: &mut [[f64; 2]],
    ) {
        self.remainders_beyond(2, z_ref, rows, zs, out);
    }

    /// The same for the polynomials of another order: of order 0, l_i − l_i(`z_ref`).
    pub fn remainders_beyond(
        &mut self,
        order: usize,
        z_ref: &[f64],
        rows: &[u32],
        zs: [&[f64]; 2],
        out: &mut [[f64; 2]],
    ) {
        let d = self.dimension;
        let mut differences = std::mem::take(&mut self.differences);
        differences.clear();
        for z in zs {
            differences.extend(z.iter().zip(z_ref).map(|(z, centre)| z - centre));
        }
        let (a, b) = differences.split_at(d);
        let points = Points { centre: z_ref, differences: [a, b], order };
        let mut odd: Vec<(usize, [f64; 2])> = Vec::new();
        self.each_kind(rows, |taylor, kind, places, these| {
            let (kind, desk) = (&taylor.kinds[kind], &mut taylor.desks[0]);
            if desk.at_hand != Some(kind.first) {
                kind.data.fit(&mut desk.store);
                kind.data.begin(&mut desk.store, &[]);
                desk.at_hand = Some(kind.first);
            }
            kind.data.load(&mut desk.store, &[], Pick::These(these), these.len());
            kind.data.run(&mut desk.store, these.len());
            let mut found = [[Rest::default(); 2]; BLOCK];
            let found = &mut found[..these.len()];
            desk.rests.run(&kind.curved, &desk.store, &points, found);
            for (place, rests) in places.iter().zip(found) {
                out[*place] = rests.map(|rest| rest.beyond);
                if !out[*place].iter().all(|rest| rest.is_finite()) {
                    odd.push((*place, rests.map(|rest| rest.polynomial)));
                }
            }
        });
        self.differences = differences;
        for (place, polynomials) in odd {
            self.by_its_row((rows[place], z_ref), zs, polynomials, &mut out[place]);
        }
    }

    /// What comes to no finite number step by step is decided by the row itself: a probability that has become 1, put together
    /// from where it was and how it changed, may lie beyond 1 by rounding.
    fn by_its_row(
        &mut self,
        (row, z_ref): (u32, &[f64]),
        zs: [&[f64]; 2],
        polynomials: [f64; 2],
        out: &mut [f64; 2],
    ) {
        let log_row = |taylor: &mut Taylor, z: &[f64]| {
            let mut log_p = [0.0];
            taylor.log_rows(&[row], z, &mut log_p);
            log_p[0]
        };
        let here = log_row(self, z_ref);
        for ((out, z), polynomial) in out.iter_mut().zip(zs).zip(polynomials) {
            if !out.is_finite() {
                *out = log_row(self, z) - here - polynomial;
            }
        }
    }

    /// l_i at z, for sections by number; not finite where the row is impossible.
    pub fn log_rows(&mut self, rows: &[u32], z: &[f64], out: &mut [f64]) {
        let Some(globals) = self.globals(z) else { return out.fill(f64::NEG_INFINITY) };
        self.each_kind(rows, |taylor, number, places, these| {
            let (kind, globals) = (&taylor.kinds[number], &globals[number]);
            taylor.desks[0].at_hand = None;
            let store = &mut taylor.desks[0].store;
            let rows = kind.scan.rows();
            rows.fit(store);
            rows.begin(store, globals);
            rows.load(store, globals, Pick::These(these), these.len());
            rows.value(store, globals, Pick::These(these), these.len());
            let mut found = [0.0; BLOCK];
            let found = &mut found[..these.len()];
            rows.terms(store, found);
            places.iter().zip(found).for_each(|(place, log_p)| out[*place] = *log_p);
        });
    }

    /// Hands sections to `ask` by their kinds, at most a block at a time: the number of the kind, the places among those asked
    /// for, and the rows of the table.
    fn each_kind(
        &mut self,
        rows: &[u32],
        mut ask: impl FnMut(&mut Taylor, usize, &[usize], &[u32]),
    ) {
        if self.desks.is_empty() {
            self.desks.push(Desk::default());
        }
        let (mut places, mut these) = ([0; BLOCK], [0; BLOCK]);
        for number in 0..self.kinds.len() {
            let kind = &self.kinds[number];
            let numbers = kind.first..kind.first + kind.rows();
            let mut count = 0;
            for (place, row) in rows.iter().enumerate() {
                if !numbers.contains(&(*row as usize)) {
                    continue;
                }
                let kind = &self.kinds[number];
                (places[count], these[count]) =
                    (place, kind.members.row(*row as usize - kind.first));
                count += 1;
                if count == BLOCK {
                    ask(self, number, &places, &these);
                    count = 0;
                }
            }
            if count > 0 {
                ask(self, number, &places[..count], &these[..count]);
            }
        }
    }
}
