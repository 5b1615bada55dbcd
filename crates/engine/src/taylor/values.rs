//! Log densities of sections: all of them at one point.

use std::ops::Range;

use super::kind::Kind;
use super::{Desk, Taylor};
use crate::program::chunks::in_chunks;
use crate::program::run::Store;
use crate::program::wide::Sum;

/// What rows come to that is no finite number.
pub(super) struct Impossible;

impl Taylor {
    /// Σ_i l_i(z); −∞ if some row is impossible.
    pub fn log_sections(&mut self, z: &[f64]) -> f64 {
        let Some(globals) = self.globals(z) else { return f64::NEG_INFINITY };
        let Taylor { kinds, desks, threads, .. } = self;
        let mut total = 0.0;
        for (kind, globals) in kinds.iter().zip(&globals) {
            let rows = kind.scan.rows();
            let desks = Taylor::desks(desks, *threads, kind.rows());
            for desk in &mut *desks {
                rows.fit(&mut desk.store);
                rows.begin(&mut desk.store, globals);
            }
            let chunk = |places: Range<usize>, desk: &mut Desk| {
                let (mut sum, mut is_possible) = (Sum::default(), true);
                for start in places.clone().step_by(rows.stride()) {
                    let lanes = rows.stride().min(places.end - start);
                    let pick = kind.pick(start);
                    rows.load(&mut desk.store, globals, pick, lanes);
                    let rows_at = (pick, lanes);
                    is_possible &= rows.add_terms(&mut desk.store, globals, rows_at, &mut sum);
                }
                let total = Some(sum.total()).filter(|total| is_possible && total.is_finite());
                match total.unwrap_or_else(|| kind.total(globals, places, &mut desk.store)) {
                    total if total.is_finite() => Ok(total),
                    _ => Err(Impossible),
                }
            };
            let scanned = in_chunks(kind.rows(), desks, chunk, |log_p| total += log_p);
            if scanned.is_err() {
                return f64::NEG_INFINITY;
            }
        }
        total
    }
}

impl Kind {
    /// Σ of the rows at these places, row by row: where a sum comes to no finite number, this decides.
    pub(super) fn total(&self, globals: &[f64], places: Range<usize>, store: &mut Store) -> f64 {
        let rows = self.scan.rows();
        let block = |start: usize| {
            let (pick, lanes) = (self.pick(start), rows.stride().min(places.end - start));
            rows.load(store, globals, pick, lanes);
            rows.value(store, globals, pick, lanes)
        };
        places.clone().step_by(rows.stride()).map(block).sum()
    }
}
