//! When a test looks: the numbers n_1 < n_2 < … < n_J = N of log weights seen at each look.
//!
//! With growth 1 the batches are equal, n_{j+1} = n_j + batch; otherwise n_{j+1} = ⌈growth · n_j⌉,
//! about log(N / n_1) / log(growth) looks. The last look sees everything and is exact.

use smidgen_value::bytes_of_fields;

/// The first look, the batch added by each further one, and the factor that replaces it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    pub first: usize,
    pub batch: usize,
    pub growth: f64,
}

bytes_of_fields!(Schedule { first, batch, growth });

impl Schedule {
    /// Looks from the first batch on.
    pub fn new(batch: usize, growth: f64) -> Schedule {
        Schedule { first: batch, batch, growth }
    }

    /// The size after `n`, not yet cut at the population.
    pub fn after(&self, n: usize) -> usize {
        if self.growth > 1.0 {
            ((n as f64 * self.growth).ceil() as usize).max(n + 1)
        } else {
            n + self.batch.max(1)
        }
    }

    /// All sizes, ascending, the population last. Two values at least are needed for a variance.
    pub fn sizes(&self, population: usize) -> Vec<usize> {
        let mut sizes = Vec::new();
        let mut n = self.first.max(2);
        while n < population {
            sizes.push(n);
            n = self.after(n);
        }
        sizes.push(population);
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_to_the_population() {
        assert_eq!(Schedule::new(100, 1.0).sizes(350), [100, 200, 300, 350]);
        assert_eq!(Schedule::new(100, 1.5).sizes(500), [100, 150, 225, 338, 500]);
        assert_eq!(Schedule { first: 250, batch: 50, growth: 1.0 }.sizes(310), [250, 300, 310]);
        assert_eq!(Schedule::new(1, 1.1).sizes(5), [2, 3, 4, 5]);
        assert_eq!(Schedule::new(100, 2.0).sizes(100), [100]);
        assert_eq!(Schedule::new(100, 2.0).sizes(3), [3]);
    }

    #[test]
    fn looks_are_as_many_as_the_theory_says() {
        // theory 2.5
        for (growth, looks) in [(1.0, 100), (1.1, 50), (1.2, 27), (1.5, 13), (2.0, 8)] {
            let sizes = Schedule::new(100, growth).sizes(10_000);
            assert!(sizes.len().abs_diff(looks) <= 1, "{growth}: {}", sizes.len());
        }
    }
}
