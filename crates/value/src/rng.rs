//! Reproducible random streams.
//!
//! A chain's stream is a function of (seed, chain number) alone, so draws do not depend on
//! how many threads run the chains. ChaCha with eight rounds is seekable and its output is
//! fixed by specification, so a seed means the same draws in every version of `rand`.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng, TryRng};
use std::convert::Infallible;

use crate::bytes::{Bytes, Input};
use crate::math;

/// A seed for stream `number` of those that belong to a seed: the finaliser of SplitMix64.
pub fn seed_of(seed: u64, number: u64) -> u64 {
    let mut mixed = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Deliberately not `Clone`: a copied stream would repeat its draws.
#[derive(Debug)]
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// The stream of one chain.
    pub fn for_chain(seed: u64, chain: u64) -> Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(chain);
        Rng(rng)
    }

    pub fn from_seed(seed: u64) -> Rng {
        Rng::for_chain(seed, 0)
    }

    /// A stream for where nothing is drawn, though a stream has to be given.
    pub fn unused() -> Rng {
        Rng::for_chain(0, u64::MAX)
    }

    /// Whether anything was drawn from a stream. One that is [`Rng::unused`] must not be: its draws would be the same each
    /// time.
    pub fn was_used(&self) -> bool {
        self.0.get_word_pos() != 0
    }

    /// Uniform on [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        self.0.random::<f64>()
    }

    /// Uniform on the open interval (0, 1): safe under a logarithm.
    #[inline]
    pub fn open_uniform(&mut self) -> f64 {
        // 52 random bits and a half: never 0, never 1.
        ((self.0.random::<u64>() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// log u for u uniform on (0, 1).
    #[inline]
    pub fn log_uniform(&mut self) -> f64 {
        math::ln(self.open_uniform())
    }

    /// Uniform on 0 .. n.
    ///
    /// # Panics
    /// If `n` is 0.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        self.0.random_range(0..n)
    }

    /// Words of 32 random bits.
    #[inline]
    pub fn fill_words(&mut self, words: &mut [u32]) {
        self.0.fill(words);
    }

    /// A seed for another stream.
    pub fn seed(&mut self) -> u64 {
        self.0.random::<u64>()
    }

    /// Where the stream stands, to go back to when what was drawn since is undone.
    pub fn place(&self) -> StreamPosition {
        StreamPosition(self.0.get_word_pos())
    }

    pub fn go_back(&mut self, place: StreamPosition) {
        self.0.set_word_pos(place.0);
    }

    /// A fair coin.
    #[inline]
    pub fn coin(&mut self) -> bool {
        self.0.random::<bool>()
    }
}

/// A place in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPosition(u128);

impl Bytes for StreamPosition {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(from: &mut Input<'_>) -> Option<StreamPosition> {
        u128::take(from).map(StreamPosition)
    }
}

/// A stream that goes on elsewhere where it was left.
impl Bytes for Rng {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.get_seed().put(out);
        self.0.get_stream().put(out);
        self.0.get_word_pos().put(out);
    }

    fn take(from: &mut Input<'_>) -> Option<Rng> {
        let mut rng = ChaCha8Rng::from_seed(<[u8; 32]>::take(from)?);
        rng.set_stream(u64::take(from)?);
        rng.set_word_pos(u128::take(from)?);
        Some(Rng(rng))
    }
}

impl TryRng for Rng {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_chain_only() {
        let draw = |seed, chain| {
            let mut rng = Rng::for_chain(seed, chain);
            (0..5).map(|_| rng.uniform()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn a_stream_goes_on_where_it_was_left() {
        let mut rng = Rng::for_chain(7, 3);
        for n in 0..40 {
            (0..n).for_each(|_| assert!(rng.uniform() < 1.0));
            rng.fill_words(&mut [0; 3]);
            let mut bytes = Vec::new();
            rng.put(&mut bytes);
            let mut other = Rng::take(&mut Input::new(&bytes)).expect("just written");
            let place = rng.place();
            assert_eq!(other.seed(), rng.seed());
            assert_eq!(other.uniform(), rng.uniform());
            rng.go_back(place);
        }
    }

    #[test]
    fn an_open_uniform_is_never_an_end() {
        let mut rng = Rng::from_seed(3);
        assert!((0..100_000).map(|_| rng.open_uniform()).all(|u| u > 0.0 && u < 1.0));
    }
}
