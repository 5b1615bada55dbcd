//! Drawing without replacement, O(1) per draw (theory 10.3).
//!
//! The Fisher–Yates shuffle of 0..N, of which only the places that differ from the identity are
//! kept: step i swaps place i with a uniform place j ≥ i and gives what comes to stand at i. Once
//! a good part of N has been drawn, in this shuffle or in earlier ones of the same N, the whole permutation is
//! written out: then an array is cheaper than a map, and costs no more than what was read. It stays for later
//! shuffles, which may start from any permutation.
//!
//! A place among n is the high half of w·n for a word w of 32 random bits; where the low half is below 2^32 mod n, which
//! would favour some places, another one is drawn. A lot takes its words at once, so that they are made and used several at a
//! time.

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
/// A permutation of at most so many stays close to the processor.
const NEAR: usize = 1 << 14;
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
        let mut element = SmallVec::new();
        self.next_lot(1, rng, &mut element);
        element.pop()
    }

    /// The next n elements, or all that are left, at the end of a list; as by [`Shuffle::next`].
    pub fn next_lot(&mut self, n: usize, rng: &mut Rng, out: &mut SmallVec<[usize; LOT]>) {
        let mut more = n.min(self.population - self.drawn);
        while more > 0 {
            self.next_few(more.min(LOT), rng, out);
            more -= more.min(LOT);
        }
    }

    /// The same for at most [`LOT`] that are left.
    fn next_few(&mut self, n: usize, rng: &mut Rng, out: &mut SmallVec<[usize; LOT]>) {
        let first = self.drawn;
        let mut places = [0; LOT];
        let places = &mut places[..n];
        self.draw_places(rng, places);
        self.drawn += n;
        if self.dense.is_empty() {
            let swaps = (first..).zip(&*places);
            out.extend(swaps.map(|(i, j)| self.next_sparse(i, *j as usize)));
            return;
        }
        let dense = &mut self.dense[..self.population];
        if dense.len() > NEAR {
            // The places to swap with lie far apart in memory: looked at in a loop without dependencies they arrive
            // several at a time.
            let seen = places.iter().fold(0, |seen, j| seen ^ dense[*j as usize]);
            std::hint::black_box(seen);
        }
        for (i, j) in (first..).zip(&*places) {
            dense.swap(i, *j as usize);
        }
        let drawn = &dense[first..first + n];
        out.extend(drawn.iter().map(|element| *element as usize));
    }

    /// Places to swap with those from the first that is not drawn yet on.
    #[inline]
    fn draw_places(&self, rng: &mut Rng, places: &mut [u32]) {
        let mut words = [0; LOT];
        let words = &mut words[..places.len()];
        rng.fill_words(words);
        let (first, population) = (self.drawn as u32, self.population as u32);
        let mut doubtful = 0;
        for (k, (place, word)) in places.iter_mut().zip(&*words).enumerate() {
            let left = population - first - k as u32;
            let product = u64::from(*word) * u64::from(left);
            doubtful += u32::from((product as u32) < left);
            *place = first + k as u32 + (product >> 32) as u32;
        }
        if doubtful > 0 {
            for (k, (place, word)) in places.iter_mut().zip(&*words).enumerate() {
                let left = population - first - k as u32;
                if word.wrapping_mul(left) < left.wrapping_neg() % left {
                    *place = first + k as u32 + rng.below(left as usize) as u32;
                }
            }
        }
    }

    fn next_sparse(&mut self, i: usize, j: usize) -> usize {
        if !self.dense.is_empty() {
            self.dense.swap(i, j);
            return self.dense[i] as usize;
        }
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

    /// With one word for each draw, the places of 3·2^30 that are multiples of three would come twice as often as the others. A
    /// third of 30,000 has a standard deviation of 82: five of them.
    #[test]
    fn large_populations_are_uniform() {
        let mut rng = Rng::for_chain(5, 0);
        let shuffle = Shuffle { population: 3 << 30, ..Shuffle::default() };
        let mut counts = [0.0; 3];
        for _ in 0..30_000 {
            let mut place = [0];
            shuffle.draw_places(&mut rng, &mut place);
            counts[(place[0] % 3) as usize] += 1.0;
        }
        assert!(counts.iter().all(|count: &f64| (count - 10_000.0).abs() < 410.0), "{counts:?}");
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
