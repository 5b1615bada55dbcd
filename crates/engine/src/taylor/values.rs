//! Log densities of sections: all of them at one point, all of them at many points in one pass of the data, or a few.

use std::ops::Range;

use super::{Desk, Taylor};
use crate::program::chunks::in_chunks;

/// What rows come to that is no finite number.
struct Impossible;

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
                let mut total = 0.0;
                for start in places.clone().step_by(rows.stride()) {
                    let lanes = rows.stride().min(places.end - start);
                    let pick = kind.pick(start);
                    rows.load(&mut desk.store, globals, pick, lanes);
                    total += rows.value(&mut desk.store, globals, pick, lanes);
                }
                if total.is_finite() { Ok(total) } else { Err(Impossible) }
            };
            let scanned = in_chunks(kind.rows(), desks, chunk, |log_p| total += log_p);
            if scanned.is_err() {
                return f64::NEG_INFINITY;
            }
        }
        total
    }
}
