//! Plates as terms of a density: they read and pull registers of the global part.

use crate::plate::{Plate, PlateScratch};
use crate::program::Register;

pub(crate) struct PlateTerm {
    pub(crate) plate: Plate,
    /// Where the numbers around it stand.
    pub(crate) registers: Vec<Register>,
    numbers: Vec<f64>,
    slopes: Vec<f64>,
    desk: PlateScratch,
}

impl PlateTerm {
    pub(super) fn new(plate: Plate, registers: Vec<Register>, threads: usize) -> PlateTerm {
        let zeros = vec![0.0; registers.len()];
        let (numbers, slopes) = (zeros.clone(), zeros);
        PlateTerm { plate, registers, numbers, slopes, desk: PlateScratch::with_threads(threads) }
    }

    pub(crate) fn threads(&self) -> usize {
        self.desk.threads
    }

    /// Σ of the rows, without slopes; −∞ where it is no finite number.
    pub(crate) fn value(&mut self, globals: &[f64]) -> f64 {
        for (number, register) in self.numbers.iter_mut().zip(&self.registers) {
            *number = globals[*register as usize];
        }
        self.plate.total(&mut self.desk, &self.numbers).unwrap_or(f64::NEG_INFINITY)
    }

    pub(super) fn rows(&self) -> usize {
        self.plate.rows()
    }

    /// Σ of the rows; adds the slopes of the global registers.
    pub(super) fn evaluate(&mut self, globals: &[f64], slopes: &mut [f64]) -> f64 {
        for (number, register) in self.numbers.iter_mut().zip(&self.registers) {
            *number = globals[*register as usize];
        }
        self.slopes.fill(0.0);
        let log_p = self.plate.total_with_slopes(&mut self.desk, &self.numbers, &mut self.slopes);
        for (slope, register) in self.slopes.iter().zip(&self.registers) {
            slopes[*register as usize] += slope;
        }
        log_p
    }
}
