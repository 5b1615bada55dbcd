//! Chains that survive: re-bases and checkpoints.
//!
//! At a *re-base* a chain writes its choices by address, where its streams stand, what its kernels have learnt and what it has
//! counted; then it forgets its trace, runs the directives anew with those choices, and goes on from what it wrote. A run that
//! is resumed does the same from the same bytes: both are equal by construction, and nothing else has to be saved. What is
//! not among the bytes is forgotten in both.
//!
//! When it is time for one must not hang on the clock, or the draws would. A chain counts its work, and re-bases when it has done
//! [`RATIO`] times what a re-base costs, at the end of the warm-up, or after as many draws as somebody asked for. The clock
//! only decides which of them are written to the disk: those after [`SELDOM`].

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use smidgen_draws::States;
use smidgen_draws::states::StepMark;
use smidgen_infer::run::{Motion, Phase};
use smidgen_infer::{KernelRecord, Tally};
use smidgen_io::folder::{self, ChainWriter, Checkpoint, Directory, Folder, Found, Out, Trouble};
use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::rng::StreamPosition;
use smidgen_value::{State, bytes_of_fields, math};

/// A re-base is due after so many times its own cost.
const RATIO: u64 = 200;
/// From one checkpoint on the disk to the next, unless somebody counts draws.
pub(super) const SELDOM: Duration = Duration::from_secs(10);
/// What a transition costs beside what it reads, and what it costs to make a node or to look at a row, in readings of a section.
const TRANSITION: u64 = 8;
const NODE: u64 = 50;

/// Where and how often chains are made durable.
#[derive(Clone, Debug)]
pub struct Durable {
    pub folder: Arc<Folder>,
    /// Draws from one checkpoint to the next, instead of by what they cost.
    pub every: Option<u64>,
    /// Whether the run begins anew from the seed, whatever checkpoints there are.
    pub from_seed: bool,
    /// Draws after which a chain stops, at the first re-base.
    pub until: Option<usize>,
}

/// A chain at a re-base.
pub(super) struct Saved {
    pub marks: Vec<(u64, u64)>,
    pub state: State,
    pub kernels: Vec<u8>,
    pub streams: [StreamPosition; 3],
    pub counts: Counts,
    /// Where the data grow: the number of the epoch, and of the loops over rows that were appended.
    pub epoch: Option<(u32, u64)>,
    pub out: Option<Out>,
}

/// What a chain has counted and noted.
pub(super) struct Counts {
    pub made: usize,
    pub records: Vec<KernelRecord>,
    pub warnings: Vec<String>,
    pub motion: Motion,
    pub before: Tally,
    pub divergences: u64,
    pub diverged: Vec<usize>,
    pub moved: Vec<bool>,
    /// Whether there was a warm-up.
    pub was_warmed: bool,
}

bytes_of_fields!(Counts {
    made,
    records,
    warnings,
    motion,
    before,
    divergences,
    diverged,
    moved,
    was_warmed,
});

const CHOICES: &[u8; 4] = b"CHO ";
const KERNELS: &[u8; 4] = b"KRN ";
const STREAMS: &[u8; 4] = b"RNG ";
const COUNTS: &[u8; 4] = b"RUN ";
const EPOCH: &[u8; 4] = b"EPO ";
const CANARY: &[u8; 4] = b"CAN ";

impl Saved {
    pub fn sections(&self) -> Vec<([u8; 4], Vec<u8>)> {
        let mut choices = Vec::new();
        self.marks.put(&mut choices);
        self.state.put(&mut choices);
        let (mut streams, mut counts) = (Vec::new(), Vec::new());
        self.streams.put(&mut streams);
        self.counts.put(&mut counts);
        let mut sections = vec![
            (*CHOICES, choices),
            (*KERNELS, self.kernels.clone()),
            (*STREAMS, streams),
            (*COUNTS, counts),
            canary_section(),
        ];
        if let Some(epoch) = &self.epoch {
            let mut bytes = Vec::new();
            epoch.put(&mut bytes);
            sections.push((*EPOCH, bytes));
        }
        sections
    }

    /// None if the bytes are not those of a chain.
    pub fn read(checkpoint: &Checkpoint) -> Option<Saved> {
        let choices = &mut Input::new(checkpoint.section(CHOICES)?);
        let (marks, state) = (Bytes::take(choices)?, State::take(choices)?);
        let streams = Bytes::take(&mut Input::new(checkpoint.section(STREAMS)?))?;
        let counts = Counts::take(&mut Input::new(checkpoint.section(COUNTS)?))?;
        let kernels = checkpoint.section(KERNELS)?.to_vec();
        let epoch = match checkpoint.section(EPOCH) {
            Some(bytes) => Some(Bytes::take(&mut Input::new(bytes))?),
            None => None,
        };
        let out = folder::out_of(checkpoint);
        choices.is_empty().then_some(Saved { marks, state, kernels, streams, counts, epoch, out })
    }

    pub fn marks(&self) -> Vec<StepMark> {
        self.marks.iter().map(|(start, rows)| StepMark { start: *start, rows: *rows }).collect()
    }
}

/// Results of elementary functions and of a sum in parts: on a machine that computes others no run goes on bit for bit.
pub(super) fn canary() -> u64 {
    let mix =
        |sum: u64, x: f64| (sum ^ x.to_bits()).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23);
    let xs = (1..200).map(|k| f64::from(k) * 0.37);
    let functions = [math::exp, math::ln, math::sqrt, math::ln_gamma, math::ln_1p];
    let mut sum = 0xCBF2_9CE4_8422_2325;
    let mut total = 0.0;
    for x in xs {
        for f in functions {
            let y = f(x);
            total += y * 1e-3;
            sum = mix(sum, y);
        }
    }
    mix(sum, total)
}

/// The last checkpoint of a chain, if there is one from which it can go on; else why not.
pub(super) fn found(durable: &Durable, chain: usize) -> Result<Option<Saved>, Trouble> {
    let Some(checkpoint) = usable(durable, chain)? else { return Ok(None) };
    let saved = Saved::read(&checkpoint).ok_or_else(|| foreign(durable, chain))?;
    Ok(Some(saved))
}

/// What there is to say about a checkpoint of something else.
pub(super) fn foreign(durable: &Durable, chain: usize) -> Trouble {
    let shown = durable.folder.path.display();
    Trouble(format!("{shown}: the checkpoint of chain {chain} is not one of this program"))
}

/// The last whole checkpoint of a chain, if it was made by this smidgen on such a machine.
pub(super) fn usable(durable: &Durable, chain: usize) -> Result<Option<Checkpoint>, Trouble> {
    if durable.from_seed {
        return Ok(None);
    }
    let shown = durable.folder.path.display();
    let say = &durable.folder.patience.say;
    let checkpoint = match durable.folder.checkpoint(chain)? {
        Found::Nothing => return Ok(None),
        Found::Last(checkpoint) => checkpoint,
        Found::Previous(checkpoint) => {
            say(&format!(
                "warning: {shown}: the last checkpoint of chain {chain} is damaged or missing; the one before it is taken"
            ));
            checkpoint
        }
        Found::Damaged => {
            return Err(Trouble(format!(
                "{shown}: both checkpoints of chain {chain} are damaged; --from-seed draws everything again and compares"
            )));
        }
    };
    let of = |name: &str, then: u64, now: u64| {
        Err(Trouble(format!(
            "{shown}: the checkpoint was made by another smidgen or on another machine: its {name} is {then}, here it is {now}; --restart-from {shown} begins a new run where it stood"
        )))
    };
    if checkpoint.image != folder::checkpoint::IMAGE {
        return of("layout", checkpoint.image.into(), folder::checkpoint::IMAGE.into());
    }
    if checkpoint.arithmetic != folder::checkpoint::ARITHMETIC {
        let now = folder::checkpoint::ARITHMETIC;
        return of("arithmetic", checkpoint.arithmetic.into(), now.into());
    }
    let then = checkpoint.section(CANARY).and_then(|bytes| bytes.try_into().ok());
    let then = u64::from_le_bytes(then.unwrap_or_default());
    if then != canary() {
        return of("sum of computed numbers", then, canary());
    }
    Ok(Some(checkpoint))
}

/// What tells a checkpoint of another machine.
pub(super) fn canary_section() -> ([u8; 4], Vec<u8>) {
    (*CANARY, canary().to_le_bytes().to_vec())
}

/// Where a chain writes, and when it is time.
pub(super) struct Recorder {
    pub writer: ChainWriter,
    every: Option<u64>,
    until: Option<usize>,
    /// Draws, and work, since the last re-base.
    draws: u64,
    work: u64,
    seen: Tally,
    /// What a re-base costs.
    cost: u64,
    written: Option<Instant>,
    /// Whether it was said that the chain has no checkpoints.
    said: bool,
}

impl Recorder {
    pub fn new(writer: ChainWriter, durable: &Durable) -> Recorder {
        Recorder {
            writer,
            every: durable.every,
            until: durable.until,
            draws: 0,
            work: 0,
            seen: Tally::default(),
            cost: 0,
            written: None,
            said: false,
        }
    }

    /// The chain has just been re-based, or begins to draw: counts begin again. `nodes` of its trace, `rows` of its loops.
    pub fn begin(&mut self, total: Tally, nodes: usize, rows: usize) {
        (self.draws, self.work, self.seen) = (0, 0, total);
        self.cost = NODE * (nodes as u64) + rows as u64;
    }

    /// A draw was made: whether it is time to re-base.
    pub fn is_due(&mut self, total: Tally) -> bool {
        self.draws += 1;
        self.work_until(total);
        self.is_time()
    }

    /// The chain has settled, and counts begin again: whether it is time to re-base.
    pub fn is_due_after(&mut self, settled: Tally) -> bool {
        self.work_until(settled);
        self.counts_begin_again();
        self.is_time()
    }

    /// What the kernels count begins again; the work since the last re-base stays.
    pub fn counts_begin_again(&mut self) {
        self.seen = Tally::default();
    }

    fn is_time(&self) -> bool {
        match self.every {
            Some(every) => self.draws >= every,
            None => self.work >= RATIO * self.cost,
        }
    }

    fn work_until(&mut self, total: Tally) {
        let since = |part: fn(&Tally) -> u64| part(&total) - part(&self.seen);
        let transitions = since(|tally| tally.transitions);
        let gradients = since(|tally| tally.gradients).div_ceil(transitions.max(1));
        let read = since(|tally| tally.sections_used);
        self.work += TRANSITION * transitions + read * (1 + gradients);
        self.seen = total;
    }

    /// Whether a chain that has made so many draws stops at the re-base at hand.
    pub fn is_stop(&self, made: usize) -> bool {
        self.until.is_some_and(|until| made >= until)
    }

    /// Whether the re-base at hand, after so many draws, goes to the disk.
    pub fn wants_file(&self, made: usize) -> bool {
        if self.until.is_some() {
            return self.is_stop(made);
        }
        self.every.is_some() || self.written.is_none_or(|written| written.elapsed() >= SELDOM)
    }

    pub fn commit(&mut self, saved: &Saved) -> Result<(), Trouble> {
        self.writer.commit(saved.sections())?;
        self.written = Some(Instant::now());
        Ok(())
    }

    /// The chain cannot be re-based as it stands. Said once.
    pub fn cannot(&mut self, durable: &Durable, chain: usize, why: &str) {
        if !std::mem::replace(&mut self.said, true) {
            let say = &durable.folder.patience.say;
            say(&format!(
                "note: no checkpoint of chain {chain}: {why}; --resume draws it again from the seed or its last checkpoint"
            ));
        }
    }
}

/// The phase that a chain is in when its draws are made.
pub(super) fn phase(was_warmed: bool) -> Phase {
    if was_warmed { Phase::Draws } else { Phase::Free }
}

/// Where the chains of a folder stood at their last checkpoints, for a new run that begins there.
pub fn last_states(path: &Path) -> Result<States, Trouble> {
    let manifest = folder::manifest(path)?;
    let disk = Directory { path: path.to_owned() };
    let mut states = States::default();
    for chain in 0..folder::begun_chains(path, &manifest) {
        let found = folder::checkpoint::read(&disk, chain);
        let found = found.map_err(|error| Trouble::new(path.display().to_string(), &error))?;
        let (Found::Last(checkpoint) | Found::Previous(checkpoint)) = found else { continue };
        let Some(saved) = Saved::read(&checkpoint) else { continue };
        states.steps = saved.marks();
        // Another run has the loops of the program alone.
        let appended = saved.epoch.map_or(0, |(_, parts)| parts as usize);
        states.steps.truncate(states.steps.len().saturating_sub(appended));
        states.last.push(saved.state);
    }
    match states.last.is_empty() {
        true => Err(Trouble(format!("{}: no chain has a checkpoint", path.display()))),
        false => Ok(states),
    }
}
