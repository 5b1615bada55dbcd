//! One exact chain above a table that lies in parts elsewhere, block by block.
//!
//! Sums and bounds are made by those who have the blocks and added in the order of these, so that nobody sees in the result who
//! has which. Whoever runs the chain has the reference, Σ T_i and the sum C_b of the bounds of every block. Points of the clock
//! need row i with probability c_i/C whatever state, proposal and other points are, so rows are drawn ahead, from a stream of
//! their own: v uniform in [0, C), the block by C_b, the row in it by c_i. Such a *reel* of rows is brought here with its c_i, and
//! its rows are used once each, in order. That they are drawn earlier changes no joint law: the chain is exact. At half a reel the
//! next one is asked for.
//!
//! Served is one plate over one table, and choices that do not hang on rows. A proposal outside the ball takes a pass over all
//! rows.

mod desk;
mod reels;
mod saved;

use std::sync::atomic::{AtomicBool, Ordering};

use smidgen_draws::{Draws, LongRun};
use smidgen_engine::taylor::Sums;
use smidgen_infer::Tally;
use smidgen_infer::reference::Tall;
use smidgen_infer::reference::chain::Chain;
use smidgen_infer::reference::preparation::Preparation;
use smidgen_io::folder::{Trouble, read_chain, spacing};
use smidgen_lang::Diagnostic;
use smidgen_value::Rng;

pub use desk::{Desk, blocks, table_of};
pub use reels::Place;
use reels::Sharded;
use saved::{Found, Mark, Prepared, Sink};

use super::{Durable, Progress, RECORDING, SampleError};

/// Streams of the rows that are drawn ahead: beyond those of all chains.
const REELS: u64 = 1 << 35;

fn plain(message: impl Into<String>) -> SampleError {
    Diagnostic::error(None, message).into()
}

fn troubled(trouble: Trouble) -> SampleError {
    plain(trouble.0)
}

/// Those who have the rows. None where that fails: then the run is over.
pub trait Shards {
    fn rows(&self) -> usize;

    /// Of all blocks, in order; None in the place of one that has none there.
    fn sums(&mut self, theta: &[f64], stride: usize) -> Option<Vec<Option<Sums>>>;

    fn log_sections_of_many(&mut self, thetas: &[f64]) -> Option<Vec<Vec<f64>>>;

    /// C_b of all blocks, in order. Rows are brought by the bounds in this ball from then on.
    fn bounds(&mut self, centre: &[f64], lower: &[f64], radius: f64) -> Option<Vec<f64>>;

    /// Rows will be brought by the bounds in this ball, which were made before.
    fn stand_in(&mut self, centre: &[f64], lower: &[f64], radius: f64);

    /// Asks for the rows at these places in blocks, and does not wait. What was asked for before and not taken is given up.
    fn ask_for_reel(&mut self, places: Vec<Place>);

    /// Waits for the rows that were asked for last: in order, with their bounds.
    fn reel(&mut self) -> Option<(Desk, Vec<f32>)>;
}

/// What is asked of a sharded run.
#[derive(Clone, Debug)]
pub struct Exact {
    pub chains: usize,
    pub draws: usize,
    pub tune: usize,
    pub thin: usize,
    pub seed: u64,
    /// Rows that are brought at once.
    pub reel: usize,
    /// Where draws and checkpoints go.
    pub durable: Option<Durable>,
}

/// What came of a sharded run.
pub struct Drawn {
    pub chains: Vec<Draws>,
    /// What all draws say, if there are too many of them in a folder to take them all.
    pub long: Option<LongRun>,
    pub tally: Tally,
    /// Reels that were brought.
    pub reels: u64,
    /// C
    pub total: f64,
}

/// Prepares, and runs the chains one after the other. `front` has any rows of the table.
pub fn run(
    front: Desk,
    shards: &mut dyn Shards,
    asked: &Exact,
    progress: &Progress,
    interrupt: &AtomicBool,
) -> Result<Drawn, SampleError> {
    let applications = asked.chains * (asked.tune + asked.draws);
    progress.total.store(applications as u64, Ordering::Relaxed);
    let mut found = Vec::new();
    for k in 0..asked.chains {
        let of = |durable: &Durable| Found::of(durable, k);
        found.push(asked.durable.as_ref().map(of).transpose().map_err(troubled)?.flatten());
    }
    let mut tall = Sharded::new(front, shards, asked.reel);
    let before = found.iter().flatten().next().map(|found| &found.prepared);
    let prepared = prepared(&mut tall, before)?;
    let total = prepared.bounds.as_ref().map_or(0.0, |bounds| bounds.total);
    let (chains, long, tally) = (Vec::new(), None, Tally::default());
    let mut drawn = Drawn { chains, long, tally, reels: 0, total };
    for (k, found) in found.into_iter().enumerate() {
        let course = Course { asked, k, prepared: &prepared, progress, interrupt };
        let (mark, draws) = course.run(&mut tall, found)?;
        drawn.tally.add(&mark.tally);
        drawn.reels += mark.reels;
        drawn.chains.extend(draws);
    }
    if let Some(durable) = &asked.durable {
        read_back(durable, asked.chains, &mut drawn)?;
    }
    Ok(drawn)
}

/// The preparation: made now, or the one that was.
fn prepared(tall: &mut Sharded<'_>, before: Option<&Prepared>) -> Result<Preparation, SampleError> {
    if let Some(Prepared { afar, each }) = before {
        let prepared = Preparation::again(afar.clone(), tall.rows());
        let total = tall.bound_by(each.clone());
        if prepared.reference.dimension() != tall.dimension() || total != Some(afar.total) {
            return Err(plain("the checkpoint is not one of this program"));
        }
        let reference = &prepared.reference;
        tall.shards.stand_in(&reference.centre, &reference.lower, prepared.radius);
        return Ok(prepared);
    }
    let start = vec![0.0; tall.dimension()];
    let prepared = Preparation::from_afar(tall, &start);
    if tall.has_failed {
        return Err(nobody_answers());
    }
    prepared.map_err(|unfit| plain(format!("a sharded chain cannot move these choices: {unfit}")))
}

fn nobody_answers() -> SampleError {
    plain("those who have the rows did not answer")
}

/// The draws of all chains of a folder.
fn read_back(durable: &Durable, chains: usize, drawn: &mut Drawn) -> Result<(), SampleError> {
    let path = &durable.folder.path;
    let numbers: Vec<usize> = (0..chains).collect();
    let every = spacing(path, &numbers);
    let mut long = LongRun { every, ..LongRun::default() };
    for k in numbers {
        let read = read_chain(path, k, every, 0).map_err(plain)?;
        drawn.chains.push(read.draws);
        long.add(read.added_up);
    }
    drawn.long = (every > 1).then(|| long.of(chains));
    Ok(())
}

/// A chain from where it stands to its last draw.
struct Course<'a> {
    asked: &'a Exact,
    k: usize,
    prepared: &'a Preparation,
    progress: &'a Progress,
    interrupt: &'a AtomicBool,
}

/// A chain under way.
struct Walk {
    chain: Chain,
    rng: Rng,
    recording: Rng,
    made: usize,
    tally: Tally,
    /// Reels before those that [`Sharded`] counts.
    reels: u64,
}

impl Course<'_> {
    fn run(
        &self,
        tall: &mut Sharded<'_>,
        found: Option<Found>,
    ) -> Result<(Mark, Option<Draws>), SampleError> {
        let (mark, out) = match found {
            Some(Found { mark, out, .. }) => (Some(mark), out),
            None => (None, None),
        };
        let names = tall.front.names();
        let prepared = (self.prepared, &tall.each[..]);
        let durable = self.asked.durable.as_ref();
        let sink = Sink::new(durable, self.k, names, prepared, out.as_ref());
        let mut sink = sink.map_err(troubled)?;
        let is_new = mark.is_none();
        let mut walk = self.begin(tall, mark)?;
        self.progress.done.fetch_add(walk.made as u64, Ordering::Relaxed);
        if is_new {
            // What was prepared took longest.
            sink.commit(&walk.mark(tall)).map_err(troubled)?;
        }
        while walk.made < self.asked.tune + self.asked.draws {
            self.draw(tall, &mut walk, &mut sink)?;
            let is_stopped = self.interrupt.load(Ordering::Relaxed);
            if is_stopped || sink.is_due(walk.made) {
                sink.commit(&walk.mark(tall)).map_err(troubled)?;
            }
            if is_stopped {
                return Err(plain("interrupted"));
            }
        }
        let mark = walk.mark(tall);
        sink.commit(&mark).map_err(troubled)?;
        Ok((mark, sink.finish().map_err(troubled)?))
    }

    fn begin(&self, tall: &mut Sharded<'_>, mark: Option<Mark>) -> Result<Walk, SampleError> {
        let (seed, k) = (self.asked.seed, self.k as u64);
        tall.begin(Rng::for_chain(seed, REELS + k));
        tall.reels = 0;
        let mut rng = Rng::for_chain(seed, k);
        let mut recording = Rng::for_chain(seed, RECORDING + k);
        let Some(Mark { made, standing, streams, reel, reels, tally }) = mark else {
            let mut chain = Chain::new(&mut rng);
            chain.go(tall, self.prepared, &self.prepared.reference.centre.clone());
            let tally = Tally::default();
            return Ok(Walk { chain, rng, recording, made: 0, tally, reels: 0 });
        };
        rng.go_back(streams.0);
        recording.go_back(streams.1);
        let wants_rows = made < self.asked.tune + self.asked.draws;
        let mut before = reels;
        if let Some(place) = reel.filter(|_| wants_rows) {
            tall.go_on(place).ok_or_else(nobody_answers)?;
            // It was counted when it was brought for the first time.
            before -= 1;
        }
        let chain = Chain::again(standing, tall, self.prepared);
        Ok(Walk { chain, rng, recording, made, tally, reels: before })
    }

    /// One draw.
    fn draw(
        &self,
        tall: &mut Sharded<'_>,
        walk: &mut Walk,
        sink: &mut Sink,
    ) -> Result<(), SampleError> {
        for _ in 0..self.asked.thin.max(1) {
            let moved = walk.chain.transition(tall, self.prepared, &mut walk.rng);
            let tally = &mut walk.tally;
            tally.transitions += 1;
            tally.accepted += u64::from(moved.accepted);
            tally.sections_used += moved.rows;
            tally.population += tall.rows() as u64;
            tally.by_reference += 1;
            tally.reference_rows += moved.rows;
            tally.reference_population += tall.rows() as u64;
            tally.violations += moved.violations;
        }
        if tall.has_failed {
            return Err(nobody_answers());
        }
        if walk.tally.violations > 0 {
            let message = "a row's remainder was beyond its bound: the rows that came are not those that the bounds were made for";
            return Err(plain(message));
        }
        if walk.made >= self.asked.tune {
            let values = tall.front.record(walk.chain.theta(), &mut walk.recording)?;
            sink.push(walk.made - self.asked.tune, values).map_err(troubled)?;
        }
        walk.made += 1;
        self.progress.done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Walk {
    fn mark(&self, tall: &Sharded<'_>) -> Mark {
        Mark {
            made: self.made,
            standing: self.chain.standing(),
            streams: (self.rng.place(), self.recording.place()),
            reel: tall.place(),
            reels: self.reels + tall.reels,
            tally: self.tally,
        }
    }
}
