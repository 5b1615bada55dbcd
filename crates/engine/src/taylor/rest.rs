//! The rest of a density: all but its sections.

use super::Taylor;
use crate::program::run::NO_LINEAR;
use crate::smooth::Density;

impl Density {
    /// G(z): the log density of all but the sections; −∞ if it is impossible.
    pub fn log_rest(&mut self, taylor: &Taylor, z: &[f64]) -> f64 {
        let mut log_p = taylor.quadratic.value(z);
        if let Some(beyond) = &taylor.beyond {
            self.set_inputs(z);
            log_p += self.store.value(&self.globals, 1, &NO_LINEAR);
            let rows = self.rows.iter_mut().enumerate().filter(|(k, _)| beyond.has_rows(*k));
            for (_, (rows, store)) in rows {
                log_p += rows.total(store, &self.store.values);
            }
            let plates = self.plates.iter_mut().enumerate();
            for (_, plate) in plates.filter(|(k, _)| beyond.has_plate(*k)) {
                log_p += plate.value(&self.store.values);
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
