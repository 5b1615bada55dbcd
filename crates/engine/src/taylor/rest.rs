//! The rest of a density: all but its sections.

use super::Taylor;
use crate::smooth::{Density, Parts, Terms};

impl Density {
    /// G(z): the log density of all but the sections; −∞ if it is impossible.
    pub fn log_rest(&mut self, taylor: &Taylor, z: &[f64]) -> f64 {
        let known = taylor.quadratic.value(z);
        let beyond = taylor.beyond.as_ref().map_or(0.0, |beyond| self.log_value_of(beyond, z));
        if known.is_nan() { f64::NEG_INFINITY } else { known + beyond }
    }

    /// The log density of some terms, without its gradient; −∞ if it is impossible.
    pub(super) fn log_value_of(&mut self, terms: &Terms, z: &[f64]) -> f64 {
        if !self.run_globals(z) {
            return f64::NEG_INFINITY;
        }
        let Parts { globals, rows, plates, .. } = &mut self.parts;
        let mut log_p = globals.total();
        let rows = rows.iter().zip(&mut self.stores).enumerate();
        for (_, (rows, store)) in rows.filter(|(k, _)| terms.has_rows(*k)) {
            log_p += rows.total(store, globals.values());
        }
        // There may be very many, and none of them meant.
        if terms.has_plates(plates.len()) {
            let plates = plates.iter_mut().enumerate();
            for (_, plate) in plates.filter(|(k, _)| terms.has_plate(*k)) {
                log_p += plate.value(globals.values());
            }
        }
        if log_p.is_nan() { f64::NEG_INFINITY } else { log_p }
    }

    /// The same with its gradient, which does not matter where it is impossible.
    pub fn log_rest_with_gradient(
        &mut self,
        taylor: &Taylor,
        z: &[f64],
        gradient: &mut [f64],
    ) -> f64 {
        self.log_density_of(&taylor.rest, z, gradient)
    }
}
