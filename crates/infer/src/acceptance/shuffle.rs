//! Drawing without replacement, O(1) per draw (theory 10.3).
//!
//! An element is drawn uniformly from 0..N, and once more if it has been drawn before; a bit for each element says so. The bits
//! of a million elements stay close to the processor, where a permutation of them would not. Once a good part of N has been
//! drawn, which makes repetitions frequent, the permutation is written out, with what was drawn first, and the rest is shuffled
//! as Fisher and Yates do: step i swaps place i with a uniform place j ≥ i. That costs no more than what was read. The
//! permutation stays for later shuffles, which may start from any, if it is small or the last one drew much.
//!
//! A number below n is the high half of w·n for a word w of 32 random bits; where the low half is below 2^32 mod n, which
//! would favour some numbers, another word is taken. A lot takes its words at once, so that they are made and used several at a
//! time.

use smidgen_value::Rng;

/// Elements are drawn in lots of at most this size.
pub const LOT: usize = 128;

#[derive(Default)]
pub struct Shuffle {
    population: usize,
    drawn: usize,
    /// Whether the whole permutation is written out.
    is_whole: bool,
    /// The permutation, or as much of it as has been drawn.
    order: Vec<u32>,
    /// A bit for each element that has been drawn; none is set where there is a whole permutation.
    bits: Vec<u64>,
}

/// The share of the population from which on the permutation is written out.
const DENSE: usize = 8;
/// A permutation of at most so many stays close to the processor.
const NEAR: usize = 1 << 14;

impl Shuffle {
    /// Begins a new permutation of 0..population.
    pub fn begin(&mut self, population: usize) {
        let drew_much = std::mem::take(&mut self.drawn) > population / DENSE;
        let stays = population == self.population && (population <= NEAR || drew_much);
        if self.is_whole && stays {
            return;
        }
        if !self.is_whole {
            self.clear_bits();
        }
        (self.population, self.is_whole) = (population, false);
        self.order.clear();
        let words = population.div_ceil(WORD);
        if self.bits.len() < words {
            self.bits.resize(words, 0);
        }
    }

    /// The next element of the permutation; none at its end.
    #[inline]
    pub fn next(&mut self, rng: &mut Rng) -> Option<usize> {
        self.next_lot(1, rng).first().map(|element| *element as usize)
    }

    /// The next n elements, at most [`LOT`], or all that are left; as by [`Shuffle::next`].
    pub fn next_lot(&mut self, n: usize, rng: &mut Rng) -> &[u32] {
        let (first, sparse) = (self.drawn, self.population / DENSE);
        let end = (first + n.min(LOT)).min(self.population);
        if !self.is_whole {
            self.draw_new(end.min(sparse) - first, rng);
            if end > sparse {
                self.write_out();
            }
        }
        if self.drawn < end {
            self.swap(end - self.drawn, rng);
        }
        &self.order[first..end]
    }

    /// Draws n elements that have not been drawn before.
    fn draw_new(&mut self, n: usize, rng: &mut Rng) {
        let mut room = [0; LOT];
        let (mut found, mut count) = ([0; LOT], 0);
        while count < n {
            let elements = uniform(rng, self.population as u32, &mut room[..n - count]);
            for element in elements {
                let word = &mut self.bits[*element as usize / WORD];
                let bit = 1 << (*element as usize % WORD);
                found[count] = *element;
                count += usize::from(*word & bit == 0);
                *word |= bit;
            }
        }
        self.order.extend_from_slice(&found[..n]);
        self.drawn += n;
    }

    /// Puts what has not been drawn behind what has.
    fn write_out(&mut self) {
        let population = self.population as u32;
        for (first, word) in (0..population).step_by(WORD).zip(&self.bits) {
            let mut left = !word;
            while left != 0 {
                self.order.push(first + left.trailing_zeros());
                left &= left - 1;
            }
        }
        self.order.truncate(self.population);
        self.clear_bits();
        self.is_whole = true;
    }

    fn clear_bits(&mut self) {
        let drawn = &self.order[..self.order.len().min(self.population)];
        if drawn.len() > self.bits.len() / 4 {
            return self.bits.fill(0);
        }
        drawn.iter().for_each(|element| self.bits[*element as usize / WORD] = 0);
    }

    /// The next n places of a whole permutation, each of which is swapped with one that is not drawn yet.
    fn swap(&mut self, n: usize, rng: &mut Rng) {
        let first = self.drawn;
        self.drawn += n;
        let order = &mut self.order[..self.population];
        if order.len() <= NEAR {
            let mut i = first;
            return places(first, order.len(), rng, n, |j| {
                order.swap(i, j);
                i += 1;
            });
        }
        // The places to swap with lie far apart in memory: looked at in a loop without dependencies they arrive
        // several at a time.
        let (mut far, mut count) = ([0; LOT], 0);
        places(first, order.len(), rng, n, |j| {
            far[count] = j as u32;
            count += 1;
        });
        let seen = far[..n].iter().fold(0, |seen, j| seen ^ order[*j as usize]);
        std::hint::black_box(seen);
        for (i, j) in (first..).zip(&far[..n]) {
            order.swap(i, *j as usize);
        }
    }
}

/// Asks with n places to swap with those from the first that is not drawn yet on.
#[inline(always)]
fn places(first: usize, population: usize, rng: &mut Rng, n: usize, mut ask: impl FnMut(usize)) {
    let mut words = [0; LOT];
    let words = &mut words[..n];
    rng.fill_words(words);
    for (i, word) in (first..).zip(&*words) {
        let left = (population - i) as u32;
        let product = u64::from(*word) * u64::from(left);
        let ahead = match (product as u32) < left {
            true => below(*word, left, rng),
            false => (product >> 32) as usize,
        };
        ask(i + ahead);
    }
}

/// A uniform number below n from a word, or from another one where that would favour some.
#[cold]
fn below(word: u32, n: u32, rng: &mut Rng) -> usize {
    match word.wrapping_mul(n) < n.wrapping_neg() % n {
        true => rng.below(n as usize),
        false => ((u64::from(word) * u64::from(n)) >> 32) as usize,
    }
}

/// Bits of a word.
const WORD: usize = 64;

/// Uniform numbers below n, as many as there is room for or a few less.
#[inline]
fn uniform<'a>(rng: &mut Rng, n: u32, room: &'a mut [u32]) -> &'a [u32] {
    let mut words = [0; LOT];
    let words = &mut words[..room.len()];
    rng.fill_words(words);
    let mut doubtful = 0;
    for (number, word) in room.iter_mut().zip(&*words) {
        let product = u64::from(*word) * u64::from(n);
        doubtful += u32::from((product as u32) < n);
        *number = (product >> 32) as u32;
    }
    let mut count = room.len();
    if doubtful > 0 {
        let uneven = n.wrapping_neg() % n;
        count = 0;
        for (k, word) in words.iter().enumerate() {
            room[count] = room[k];
            count += usize::from(word.wrapping_mul(n) >= uneven);
        }
    }
    &room[..count]
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashMap;

    use super::*;

    #[test]
    fn every_element_comes_once() {
        let mut rng = Rng::for_chain(1, 0);
        let mut shuffle = Shuffle::default();
        for population in [1, 2, 7, 40, 1000, NEAR + 1000] {
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
        for population in [300, 3000, 1 << 15] {
            for round in 0..20 {
                one.begin(population);
                many.begin(population);
                for n in [1, 7, 50, LOT, LOT, 9] {
                    let lot = many.next_lot(n, &mut b);
                    let single: Vec<u32> =
                        (0..n).map_while(|_| one.next(&mut a)).map(|e| e as u32).collect();
                    assert_eq!(lot, single, "{population}, round {round}");
                }
            }
        }
    }

    /// With one word for each draw, the places of 3·2^30 that are multiples of three would come twice as often as the others. A
    /// third of 30,000 has a standard deviation of 82: five of them.
    #[test]
    fn large_populations_are_uniform() {
        let mut rng = Rng::for_chain(5, 0);
        let mut counts = [[0.0; 3]; 2];
        for _ in 0..30_000 {
            let mut place = [0];
            places(0, 3 << 30, &mut rng, 1, |j| counts[0][j % 3] += 1.0);
            let number = loop {
                if let [number] = uniform(&mut rng, 3 << 30, &mut place) {
                    break *number;
                }
            };
            counts[1][(number % 3) as usize] += 1.0;
        }
        let is_even = |count: &f64| (count - 10_000.0).abs() < 410.0;
        assert!(counts.iter().flatten().all(is_even), "{counts:?}");
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

    /// The same for triples of sixteen, of which the third is drawn from a permutation: χ² with 3,359 degrees of freedom lies
    /// below 3,640 with probability 0.9996.
    #[test]
    fn what_is_drawn_first_is_not_drawn_again() {
        let mut rng = Rng::for_chain(6, 0);
        let mut counts: FxHashMap<[usize; 3], f64> = FxHashMap::default();
        let trials = 60_000;
        for _ in 0..trials {
            let mut shuffle = Shuffle::default();
            shuffle.begin(16);
            let triple = [0; 3].map(|_| shuffle.next(&mut rng).expect("sixteen elements"));
            *counts.entry(triple).or_default() += 1.0;
        }
        let expected = f64::from(trials) / 3360.0;
        let chi2: f64 = counts.values().map(|c| (c - expected).powi(2) / expected).sum();
        assert_eq!(counts.len(), 3360);
        assert!(chi2 < 3640.0, "{chi2}");
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
