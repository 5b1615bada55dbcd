//! One exact chain above a table that lies in parts elsewhere, block by block.
//!
//! Sums and bounds are made by those who have the blocks and added in the order of these, so that nobody sees in the result who
//! has which. Whoever runs the chain has the reference, Σ T_i and the sum C_b of the bounds of every block. Points of the clock
//! need row i with probability c_i/C whatever state, proposal and other points are, so rows are drawn ahead, from a stream of
//! their own: v uniform in [0, C), the block by C_b, the row in it by c_i. Such a *reel* of rows is brought here with its c_i, and
//! its rows are used once each, in order. That they are drawn earlier changes no joint law: the chain is exact.
//!
//! Served is one plate over one table, and choices that do not hang on rows. A proposal outside the ball takes a pass over all
//! rows. The next reel is asked for when the last one is used up, not before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smidgen_draws::Draws;
use smidgen_engine::Model;
use smidgen_engine::smooth::{Density, Form};
use smidgen_engine::taylor::{Sums, Taylor, Wanted};
use smidgen_infer::Tally;
use smidgen_infer::reference::Tall;
use smidgen_infer::reference::chain::Chain;
use smidgen_infer::reference::preparation::Preparation;
use smidgen_lang::Diagnostic;
use smidgen_value::{Rng, Table};

use super::watch::Watch;
use super::{Context, Progress, SampleError, SampleRequest, Stand, prepare};
use crate::contents::BLOCK;
use crate::load::TopDirective;
use crate::session::Session;

/// Streams of the rows that are drawn ahead: beyond those of all chains.
const REELS: u64 = 1 << 35;

/// A block of rows, or a reel of them, with the density above it.
pub struct Desk {
    model: Model,
    density: Density,
    taylor: Taylor,
    watch: Vec<Watch>,
    rng: Rng,
    /// For which ball bounds were made, the bounds, and their sums up to each row.
    held: Option<(Vec<u64>, Vec<f32>, Vec<f64>)>,
}

fn plain(message: impl Into<String>) -> SampleError {
    Diagnostic::error(None, message).into()
}

/// A table in blocks as whoever has all of it would see them.
pub fn blocks(table: &Table) -> Vec<Arc<Table>> {
    let all: Vec<usize> = (0..table.rows()).collect();
    all.chunks(BLOCK).map(|rows| Arc::new(table.take(rows))).collect()
}

/// The table of a program, once it is read.
pub fn table_of(
    session: &mut Session,
    program: &[TopDirective],
    request: &SampleRequest,
    name: &str,
) -> Result<Table, SampleError> {
    prepare(session, program, request)?;
    let missing = || plain(format!("the program has no table `{name}`"));
    let table = session.catalog.tables().find(|(known, _)| *known == name);
    let table = table.ok_or_else(missing)?.1.clone();
    match table.with_holes().is_empty() {
        true => Ok(table),
        false => Err(plain(format!(
            "the table `{name}` has missing cells: its parts cannot be told apart"
        ))),
    }
}

impl Desk {
    /// For a session that was given the rows as the table of its program.
    pub fn open(
        session: &mut Session,
        program: &[TopDirective],
        request: &SampleRequest,
        table: &str,
    ) -> Result<Desk, SampleError> {
        let prepared = prepare(session, program, request)?;
        let progress = Progress::default();
        let Session { catalog, sources, interrupt, .. } = &*session;
        let plan = prepared.plan(Context { catalog, sources, interrupt }, request, &progress);
        let mut rng = Rng::for_chain(request.seed, 0);
        let Stand { mut model, watch, .. } = plan.stand(plan.ground(), 0, None, &mut rng)?;
        let rows = catalog.tables().find(|(name, _)| *name == table).map_or(0, |(_, t)| t.rows());
        let choices = model.trace().choices().to_vec();
        let density = Density::compile(model.trace_mut(), &choices, Form::Plain)
            .map_err(|error| SampleError(vec![error.into_diagnostic()]))?
            .map_err(|why| {
                plain(format!("a sharded chain moves continuous choices alone: {}", why.reason))
            })?;
        let taylor =
            density.taylor(Wanted::all(rows.max(1))).map_err(|why| plain(why.to_string()))?;
        if taylor.rows() != rows || density.reads_outside() {
            let message = "a sharded chain needs all rows of its table in one loop that computes the same for each of them";
            return Err(plain(message));
        }
        Ok(Desk { model, density, taylor, watch, rng, held: None })
    }

    pub fn rows(&self) -> usize {
        self.taylor.rows()
    }

    pub fn dimension(&self) -> usize {
        self.taylor.dimension()
    }

    /// The addresses of the choices in the order of their coordinates: the same for all parts of a table.
    pub fn addresses(&self) -> Vec<u64> {
        let trace = self.model.trace();
        self.density.choices().map(|id| trace.address(id)).collect()
    }

    pub fn sums(&mut self, theta: &[f64], stride: usize) -> Option<Sums> {
        self.taylor.sums(theta, stride)
    }

    pub fn log_sections_of_many(&mut self, thetas: &[f64]) -> Vec<f64> {
        let thetas: Vec<&[f64]> = thetas.chunks_exact(self.dimension()).collect();
        let mut out = vec![0.0; thetas.len()];
        self.taylor.log_sections_of_many(&thetas, &mut out);
        out
    }

    fn hold(
        &mut self,
        centre: &[f64],
        lower: &[f64],
        radius: f64,
    ) -> &(Vec<u64>, Vec<f32>, Vec<f64>) {
        let ball = centre.iter().chain(lower).chain([&radius]);
        let ball: Vec<u64> = ball.map(|x| x.to_bits()).collect();
        if self.held.as_ref().is_none_or(|held| held.0 != ball) {
            let mut each = Vec::new();
            self.taylor.bounds(centre, lower, radius, &mut each);
            let mut total = 0.0;
            let mut add = |c: &f32| {
                total += f64::from(*c);
                total
            };
            let cumulated = each.iter().map(&mut add).collect();
            self.held = Some((ball, each, cumulated));
        }
        self.held.as_ref().expect("made above")
    }

    /// C_b; not finite where some row has no bound.
    pub fn bound(&mut self, centre: &[f64], lower: &[f64], radius: f64) -> f64 {
        self.hold(centre, lower, radius).2.last().copied().unwrap_or(0.0)
    }

    /// The rows at these places of [0, C_b), and their bounds.
    pub fn rows_at(
        &mut self,
        (centre, lower, radius): (&[f64], &[f64], f64),
        places: &[f64],
    ) -> Vec<(usize, f32)> {
        let (_, each, cumulated) = self.hold(centre, lower, radius);
        let row = |place: &f64| {
            let row = cumulated.partition_point(|sum| sum <= place).min(each.len() - 1);
            (row, each[row])
        };
        places.iter().map(row).collect()
    }

    /// What is recorded at a point.
    fn record(&mut self, theta: &[f64], draws: &mut Draws) -> Result<(), Diagnostic> {
        let Desk { model, density, watch, rng, .. } = self;
        let wrong = smidgen_engine::EvalError::into_diagnostic;
        density.install(model.trace_mut(), theta, rng).map_err(wrong)?;
        let mut values = Vec::new();
        Watch::values(watch, model, rng, &mut values).map_err(wrong)?;
        draws.push(0, values);
        Ok(())
    }
}

/// Those who have the rows. None where that fails: then the run is over.
pub trait Shards {
    fn rows(&self) -> usize;

    /// Of all blocks, in order; None in the place of one that has none there.
    fn sums(&mut self, theta: &[f64], stride: usize) -> Option<Vec<Option<Sums>>>;

    fn log_sections_of_many(&mut self, thetas: &[f64]) -> Option<Vec<Vec<f64>>>;

    /// C_b of all blocks, in order.
    fn bounds(&mut self, centre: &[f64], lower: &[f64], radius: f64) -> Option<Vec<f64>>;

    /// The rows at these places in blocks, in order, with their bounds.
    fn reel(&mut self, places: &[(usize, f64)]) -> Option<(Desk, Vec<f32>)>;
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
}

/// The chain's own part: G, the rows on the reel, and whom to ask for the rest.
struct Sharded<'a> {
    front: Desk,
    shards: &'a mut dyn Shards,
    /// C_b, added up.
    cumulated: Vec<f64>,
    stream: Rng,
    length: usize,
    on_reel: Vec<f32>,
    next: usize,
    reels: u64,
    has_failed: bool,
}

impl Sharded<'_> {
    fn got<T>(&mut self, answer: Option<T>) -> Option<T> {
        self.has_failed |= answer.is_none();
        answer
    }

    /// Draws rows ahead, and has them brought.
    fn wind(&mut self) -> Option<()> {
        let total = *self.cumulated.last()?;
        let places: Vec<(usize, f64)> = (0..self.length)
            .map(|_| {
                let v = self.stream.uniform() * total;
                let block = self.cumulated.partition_point(|sum| *sum <= v);
                let block = block.min(self.cumulated.len() - 1);
                (block, v - block.checked_sub(1).map_or(0.0, |before| self.cumulated[before]))
            })
            .collect();
        let answer = self.shards.reel(&places);
        let (front, on_reel) = self.got(answer)?;
        // Choices that hang on rows would be others here.
        let is_same = front.addresses() == self.front.addresses() && on_reel.len() == self.length;
        self.got(is_same.then_some(()))?;
        (self.front, self.on_reel) = (front, on_reel);
        self.next = 0;
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
        let mut total = 0.0;
        let mut add = |c: f64| {
            total += c;
            total
        };
        self.cumulated = each.into_iter().map(&mut add).collect();
        self.cumulated.last().copied()
    }

    fn drawn(&mut self, _: &mut Rng) -> Option<(u32, f32)> {
        if self.next >= self.on_reel.len() {
            self.wind()?;
        }
        self.next += 1;
        Some((self.next as u32 - 1, self.on_reel[self.next - 1]))
    }
}

/// What came of a sharded run.
pub struct Drawn {
    pub chains: Vec<Draws>,
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
    let (cumulated, on_reel) = (Vec::new(), Vec::new());
    let stream = Rng::for_chain(asked.seed, REELS);
    let length = asked.reel.max(1);
    let mut tall = Sharded {
        front,
        shards,
        cumulated,
        stream,
        length,
        on_reel,
        next: 0,
        reels: 0,
        has_failed: false,
    };
    let start = vec![0.0; tall.dimension()];
    let prepared = Preparation::from_afar(&mut tall, &start);
    let failed = || plain("those who have the rows did not answer");
    if tall.has_failed {
        return Err(failed());
    }
    let prepared = prepared
        .map_err(|unfit| plain(format!("a sharded chain cannot move these choices: {unfit}")))?;
    let total = prepared.bounds.as_ref().map_or(0.0, |bounds| bounds.total);
    let mut drawn = Drawn { chains: Vec::new(), tally: Tally::default(), reels: 0, total };
    for k in 0..asked.chains {
        tall.stream = Rng::for_chain(asked.seed, REELS + k as u64);
        (tall.next, tall.on_reel) = (0, Vec::new());
        let mut rng = Rng::for_chain(asked.seed, k as u64);
        let mut chain = Chain::new(&mut rng);
        chain.go(&mut tall, &prepared, &prepared.reference.centre.clone());
        let names = tall.front.watch.iter().map(|w| w.name().to_owned());
        let mut draws = Draws::new(names, 1);
        for n in 0..asked.tune + asked.draws {
            for _ in 0..asked.thin.max(1) {
                let moved = chain.transition(&mut tall, &prepared, &mut rng);
                let tally = &mut drawn.tally;
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
                return Err(failed());
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(plain("interrupted"));
            }
            if n >= asked.tune {
                tall.front.record(chain.theta(), &mut draws)?;
            }
            progress.done.fetch_add(1, Ordering::Relaxed);
        }
        drawn.chains.push(draws);
    }
    drawn.reels = tall.reels;
    if drawn.tally.violations > 0 {
        let message = "a row's remainder was beyond its bound: the rows that came are not those that the bounds were made for";
        return Err(plain(message));
    }
    Ok(drawn)
}
