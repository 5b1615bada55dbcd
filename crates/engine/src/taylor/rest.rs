//! The rest of a density: all but its sections.

use super::Taylor;
use crate::smooth::{Density, Parts};

impl Density {
    /// G(z): the log density of all but the sections; −∞ if it is impossible.
    pub fn log_rest(&mut self, taylor: &Taylor, z: &[f64]) -> f64 {
        let mut log_p = taylor.quadratic.value(z);
        if let Some(beyond) = &taylor.beyond {
            if !self.run_globals(z) {
                return f64::NEG_INFINITY;
            }
            let Parts { globals, rows, plates, .. } = &mut self.parts;
            log_p += globals.total();
            let rows = rows.iter().zip(&mut self.stores).enumerate();
            for (_, (rows, store)) in rows.filter(|(k, _)| beyond.has_rows(*k)) {
                log_p += rows.total(store, globals.values());
            }
            let plates = plates.iter_mut().enumerate();
            for (_, plate) in plates.filter(|(k, _)| beyond.has_plate(*k)) {
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
