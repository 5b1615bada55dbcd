//! The chain's own part of a table that lies elsewhere: G, the rows on the reel at hand, and whom to ask for the rest.

use smidgen_engine::taylor::Sums;
use smidgen_infer::reference::Tall;
use smidgen_value::Rng;
use smidgen_value::rng::StreamPosition;

use super::{Desk, Shards};

/// Where a point of the clock falls: the block, the place in [0, C_b), and C_b.
pub type Place = (usize, f64, f64);

pub(super) struct Sharded<'a> {
    pub front: Desk,
    pub shards: &'a mut dyn Shards,
    /// C_b, and added up.
    pub each: Vec<f64>,
    cumulated: Vec<f64>,
    /// What rows are drawn ahead from.
    stream: Rng,
    length: usize,
    on_reel: Vec<f32>,
    next: usize,
    /// Where in the stream the reel at hand begins, and the one that was asked for.
    began: Option<StreamPosition>,
    coming: Option<StreamPosition>,
    pub reels: u64,
    pub has_failed: bool,
}

impl<'a> Sharded<'a> {
    pub fn new(front: Desk, shards: &'a mut dyn Shards, length: usize) -> Sharded<'a> {
        Sharded {
            front,
            shards,
            each: Vec::new(),
            cumulated: Vec::new(),
            stream: Rng::from_seed(0),
            length: length.max(1),
            on_reel: Vec::new(),
            next: 0,
            began: None,
            coming: None,
            reels: 0,
            has_failed: false,
        }
    }

    fn got<T>(&mut self, answer: Option<T>) -> Option<T> {
        self.has_failed |= answer.is_none();
        answer
    }

    /// C_b as they were found: by whoever has the blocks now, or before.
    pub fn bound_by(&mut self, each: Vec<f64>) -> Option<f64> {
        let mut total = 0.0;
        let mut add = |c: &f64| {
            total += c;
            total
        };
        self.cumulated = each.iter().map(&mut add).collect();
        self.each = each;
        self.cumulated.last().copied()
    }

    /// Another chain begins: rows are drawn ahead from this stream.
    pub fn begin(&mut self, stream: Rng) {
        self.stream = stream;
        (self.began, self.coming) = (None, None);
        (self.next, self.on_reel) = (0, Vec::new());
    }

    /// Where the reel at hand begins, and how many of its rows are used.
    pub fn place(&self) -> Option<(StreamPosition, usize)> {
        self.began.map(|began| (began, self.next))
    }

    /// A chain that stood at such a place goes on: its reel is brought again.
    pub fn go_on(&mut self, (began, next): (StreamPosition, usize)) -> Option<()> {
        self.stream.go_back(began);
        self.wind()?;
        self.next = next;
        Some(())
    }

    /// Draws rows ahead, and asks for them.
    fn ask(&mut self) -> Option<()> {
        let total = *self.cumulated.last()?;
        self.coming = Some(self.stream.place());
        let place = |_| {
            let v = self.stream.uniform() * total;
            let block = self.cumulated.partition_point(|sum| *sum <= v);
            let block = block.min(self.cumulated.len() - 1);
            let before = block.checked_sub(1).map_or(0.0, |before| self.cumulated[before]);
            (block, v - before, self.each[block])
        };
        let places: Vec<Place> = (0..self.length).map(place).collect();
        self.shards.ask_for_reel(places);
        Some(())
    }

    /// Takes the next reel, which may be there by now.
    fn wind(&mut self) -> Option<()> {
        if self.coming.is_none() {
            self.ask()?;
        }
        let answer = self.shards.reel();
        let (front, on_reel) = self.got(answer)?;
        // Choices that hang on rows would be others here.
        let is_same = front.addresses() == self.front.addresses() && on_reel.len() == self.length;
        self.got(is_same.then_some(()))?;
        (self.front, self.on_reel) = (front, on_reel);
        (self.began, self.next) = (self.coming.take(), 0);
        self.reels += 1;
        Some(())
    }
}

impl Tall for Sharded<'_> {
    fn dimension(&self) -> usize {
        self.front.dimension()
    }

    fn rows(&self) -> usize {
        self.shards.rows()
    }

    fn log_rest(&mut self, theta: &[f64]) -> f64 {
        self.front.density.log_rest(&self.front.taylor, theta)
    }

    fn log_rest_with_gradient(&mut self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.front.density.log_rest_with_gradient(&self.front.taylor, theta, gradient)
    }

    fn log_sections(&mut self, theta: &[f64]) -> f64 {
        let mut out = [f64::NAN];
        self.log_sections_of_many(theta, &mut out);
        out[0]
    }

    fn log_sections_of_many(&mut self, thetas: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        let answer = self.shards.log_sections_of_many(thetas);
        for block in self.got(answer).into_iter().flatten() {
            out.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
        }
    }

    fn sums(&mut self, theta: &[f64], stride: usize) -> Option<Sums> {
        let answer = self.shards.sums(theta, stride);
        let blocks = self.got(answer)?;
        let d = theta.len();
        let mut all = Sums { value: 0.0, gradient: vec![0.0; d], hessian: vec![0.0; d * d] };
        for block in blocks {
            let block = block?;
            all.value += block.value;
            all.gradient.iter_mut().zip(block.gradient).for_each(|(sum, x)| *sum += x);
            all.hessian.iter_mut().zip(block.hessian).for_each(|(sum, x)| *sum += x);
        }
        Some(all)
    }

    fn bounds(&mut self, _: &[f64], _: &[f64], _: f64, out: &mut Vec<f32>) {
        // Nobody here has those of single rows.
        out.clear();
    }

    fn remainders(&mut self, centre: &[f64], rows: &[u32], at: [&[f64]; 2], out: &mut [[f64; 2]]) {
        self.front.taylor.remainders(centre, rows, at, out);
    }

    fn total_bound(&mut self, centre: &[f64], lower: &[f64], radius: f64) -> Option<f64> {
        let answer = self.shards.bounds(centre, lower, radius);
        let each = self.got(answer)?;
        self.bound_by(each)
    }

    fn drawn(&mut self, _: &mut Rng) -> Option<(u32, f32)> {
        if self.next >= self.on_reel.len() {
            self.wind()?;
        }
        self.next += 1;
        // While the second half is used, the next reel is on its way.
        if 2 * self.next >= self.on_reel.len() && self.coming.is_none() {
            self.ask()?;
        }
        Some((self.next as u32 - 1, self.on_reel[self.next - 1]))
    }
}
