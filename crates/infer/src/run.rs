//! What a run keeps besides the trace: tallies per kernel, warnings, collected draws, and
//! whether somebody asked it to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smidgen_value::Value;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub transitions: u64,
    pub accepted: u64,
    /// Absorbing choices whose densities were evaluated, of how many there were.
    pub sections_used: u64,
    pub population: u64,
}

#[derive(Default)]
pub struct Run {
    /// One per kernel of the program, by its number.
    pub tallies: Vec<Tally>,
    /// Each once, in the order of their first occurrence.
    pub warnings: Vec<String>,
    /// What `collect` stored, by name.
    pub collected: Vec<(String, Vec<Value>)>,
    pub interrupt: Arc<AtomicBool>,
}

impl Run {
    pub fn warn(&mut self, message: String) {
        if !self.warnings.contains(&message) {
            self.warnings.push(message);
        }
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    pub fn tally(&mut self, kernel: usize) -> &mut Tally {
        if kernel >= self.tallies.len() {
            self.tallies.resize(kernel + 1, Tally::default());
        }
        &mut self.tallies[kernel]
    }

    pub fn collect(&mut self, name: &str, value: Value) {
        match self.collected.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(value),
            None => self.collected.push((name.to_owned(), vec![value])),
        }
    }
}
