//! Drawing without replacement, O(1) per draw (theory 10.3).
//!
//! The Fisher–Yates shuffle of 0..N, of which only the places that differ from the identity are
//! kept: step i swaps place i with a uniform place j ≥ i and gives what comes to stand at i. Once
//! a good part of N has been drawn, in this shuffle or in earlier ones of the same N, the whole permutation is
//! written out: then an array is cheaper than a map, and costs no more than what was read. It stays for later
//! shuffles, which may start from any permutation.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smidgen_value::Rng;

/// Elements are drawn in lots of about this size.
pub const LOT: usize = 128;

#[derive(Default)]
pub struct Shuffle {
    population: usize,
    drawn: usize,
    /// Elements drawn since the population was last another.
    drawn_in_all: usize,
    /// Places that differ from the identity.
    moved: FxHashMap<u32, u32>,
    /// The whole permutation, once it pays.
    dense: Vec<u32>,
    /// Whether it was written out after some elements had been drawn, which it does not hold: it
    /// serves this shuffle and no other.
    lacks_drawn: bool,
}

/// The share of the population from which on the permutation is written out.
const DENSE: usize = 8;
/// A map with more room than this many times its contents is given back.
const ROOMY: usize = 16;

impl Shuffle {
    /// Begins a new permutation of 0..population.
    pub fn begin(&mut self, population: usize) {
        if population != self.population {
            (self.population, self.drawn_in_all) = (population, 0);
            self.dense.clear();
            self.lacks_drawn = false;
        }
        self.drawn = 0;
        if std::mem::take(&mut self.lacks_drawn) {
            self.dense.clear();
            self.dense.extend(0..population as u32);
        }
        // Clearing costs what the map has room for, not what it holds.
        if self.moved.capacity() > ROOMY * (self.moved.len() + 64) {
            self.moved = FxHashMap::default();
        }
        self.moved.clear();
    }

    /// The next element of the permutation; none at its end.
    #[inline]
    pub fn next(&mut self, rng: &mut Rng) -> Option<usize> {
        let i = self.drawn;
        if i == self.population {
            return None;
        }
        self.drawn += 1;
        let j = i + rng.below(self.population - i);
        if !self.dense.is_empty() {
            self.dense.swap(i, j);
            return Some(self.dense[i] as usize);
        }
        Some(self.next_sparse(i, j))
    }

    /// The next n elements, or all that are left, at the end of a list; as by [`Shuffle::next`]. The places
    /// to swap with lie far apart in memory: looked at in a loop without dependencies they arrive
    /// several at a time.
    pub fn next_lot(&mut self, n: usize, rng: &mut Rng, out: &mut SmallVec<[usize; LOT]>) {
        let n = n.min(self.population - self.drawn);
        if self.dense.is_empty() {
            out.extend((0..n).map_while(|_| self.next(rng)));
            return;
        }
        let first = self.drawn;
        let mut places: SmallVec<[u32; LOT]> = SmallVec::new();
        places.extend((first..first + n).map(|i| (i + rng.below(self.population - i)) as u32));
        let seen = places.iter().fold(0, |seen, j| seen ^ self.dense[*j as usize]);
        std::hint::black_box(seen);
        for (i, j) in (first..).zip(&places) {
            self.dense.swap(i, *j as usize);
        }
        out.extend(self.dense[first..first + n].iter().map(|element| *element as usize));
        self.drawn += n;
    }

    fn next_sparse(&mut self, i: usize, j: usize) -> usize {
        self.drawn_in_all += 1;
        if self.drawn_in_all > self.population / DENSE {
            self.write_out();
            self.dense.swap(i, j);
            return self.dense[i] as usize;
        }
        let (i, j) = (i as u32, j as u32);
        let at_i = self.moved.remove(&i).unwrap_or(i);
        if i == j {
            return at_i as usize;
        }
        self.moved.insert(j, at_i).unwrap_or(j) as usize
    }

    fn write_out(&mut self) {
        self.lacks_drawn = true;
        self.dense.extend(0..self.population as u32);
        for (place, element) in self.moved.drain() {
            self.dense[place as usize] = element;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_comes_once() {
        let mut rng = Rng::for_chain(1, 0);
        let mut shuffle = Shuffle::default();
        for population in [1, 2, 7, 40, 1000] {
            for drawn in [population, 1, population / 3, population, population] {
                shuffle.begin(population);
                for _ in 0..drawn {
                    assert!(shuffle.next(&mut rng).is_some());
                }
                shuffle.begin(population);
                let mut all: Vec<usize> = std::iter::from_fn(|| shuffle.next(&mut rng)).collect();
                all.sort_unstable();
                assert_eq!(all, (0..population).collect::<Vec<_>>());
            }
        }
    }

    /// Drawn in lots or one by one: the same stream gives the same elements.
    #[test]
    fn lots_are_single_draws() {
        let (mut a, mut b) = (Rng::for_chain(4, 0), Rng::for_chain(4, 0));
        let (mut one, mut many) = (Shuffle::default(), Shuffle::default());
        for round in 0..20 {
            one.begin(300);
            many.begin(300);
            for n in [1, 7, 50, 300] {
                let mut lot = SmallVec::new();
                many.next_lot(n, &mut b, &mut lot);
                let single: Vec<usize> = (0..n).map_while(|_| one.next(&mut a)).collect();
                assert_eq!(&lot[..], single, "round {round}");
            }
        }
    }

    /// All 60 ordered triples of five are equally frequent: χ² with 59 degrees of freedom lies
    /// below 102.7 with probability 0.9996.
    #[test]
    fn ordered_triples_are_uniform() {
        let mut rng = Rng::for_chain(2, 0);
        let mut shuffle = Shuffle::default();
        let mut counts: FxHashMap<[usize; 3], f64> = FxHashMap::default();
        let trials = 60_000;
        for _ in 0..trials {
            shuffle.begin(5);
            let triple = [0; 3].map(|_| shuffle.next(&mut rng).expect("five elements"));
            *counts.entry(triple).or_default() += 1.0;
        }
        let expected = f64::from(trials) / 60.0;
        let chi2: f64 = counts.values().map(|c| (c - expected).powi(2) / expected).sum();
        assert_eq!(counts.len(), 60);
        assert!(chi2 < 102.7, "{chi2}");
    }

    /// What was left over from earlier draws does not matter: the first element of the second
    /// shuffle is uniform given the last one's.
    #[test]
    fn a_new_beginning_forgets() {
        let mut rng = Rng::for_chain(3, 0);
        let mut shuffle = Shuffle::default();
        let mut counts = [0.0; 9];
        for _ in 0..90_000 {
            shuffle.begin(3);
            let first = shuffle.next(&mut rng).expect("three elements");
            shuffle.begin(3);
            counts[3 * first + shuffle.next(&mut rng).expect("three elements")] += 1.0;
        }
        // Standard deviation 94: five of them.
        assert!(counts.iter().all(|c: &f64| (c - 10_000.0).abs() < 470.0), "{counts:?}");
    }
}
