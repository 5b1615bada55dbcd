//! A chain from its first state to its last draw.

use smidgen_draws::states::StepMark;
use smidgen_engine::model::Ties;
use smidgen_engine::{EvalError, Model};
use smidgen_infer::run::{Phase, Shared};
use smidgen_infer::{Program, Run};
use smidgen_io::folder::{Row, Trouble, read_chain};
use smidgen_lang::Diagnostic;
use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::{Rng, State};

use super::diary::Diary;
use super::durable::{Counts, Durable, Recorder, Saved, phase};
use super::follow::Epoch;
use super::live::Pulse;
use super::stand::{Ground, Stand};
use super::{Chain, Plan};
use crate::execute::{ExecutionContext, Executor, Mode};
use crate::stopwatch::Stopwatch;

use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A chain under way: what stays when the program is run anew.
pub(super) struct Journey<'p, 'a> {
    plan: &'p Plan<'a>,
    k: usize,
    stand: Stand,
    /// For the chain, for what is recorded, and for that in the warm-up.
    streams: [Rng; 3],
    run: Run,
    diary: Diary,
    made: usize,
    times: Vec<f64>,
    ties: Vec<Ties>,
    /// Whether what a quantity hangs on had moved before the last re-base.
    moved: Vec<bool>,
    diverged: Vec<usize>,
    divergences: u64,
    pulse: Option<Pulse>,
    recorder: Option<Recorder>,
    /// Whether it has come to where somebody else goes on.
    is_handed_on: bool,
    /// How far its data have grown, if they do.
    epoch: Option<Arc<Epoch>>,
    /// Whether it does not stand as the others do, because its choices could not be written when they stood anew.
    is_apart: bool,
}

/// Draws in which a trajectory diverged that are remembered.
const MOST_DIVERGED: usize = 1_000_000;

fn troubled(trouble: &Trouble) -> EvalError {
    EvalError::other(None, trouble.to_string())
}

impl Plan<'_> {
    /// What a chain is to keep beside its trace.
    pub fn run(&self, shared: Arc<Shared>) -> Run {
        let request = self.request;
        Run {
            interrupt: self.interrupt.clone(),
            exact: request.exact,
            approximate: request.approximate,
            detailed: request.detailed,
            audit: request.audit,
            shared,
            ..Run::default()
        }
    }
}

impl<'p, 'a> Journey<'p, 'a> {
    pub fn new(
        plan: &'p Plan<'a>,
        k: usize,
        stand: Stand,
        streams: [Rng; 3],
        epoch: Option<Arc<Epoch>>,
    ) -> Self {
        let request = plan.request;
        let shared = epoch.as_ref().map_or(&plan.shared, |epoch| &epoch.shared).clone();
        Journey {
            plan,
            k,
            diary: Diary::new(&stand.watch, request),
            stand,
            streams,
            run: plan.run(shared),
            made: 0,
            times: Vec::new(),
            ties: Vec::new(),
            moved: Vec::new(),
            diverged: Vec::new(),
            divergences: 0,
            pulse: request.live.as_ref().map(|live| live.chain(k)),
            recorder: None,
            is_handed_on: false,
            epoch,
            is_apart: false,
        }
    }

    /// Opens the files of the chain, which goes on from a checkpoint if there is one.
    pub fn record(&mut self, durable: &Durable, saved: Option<Saved>) -> Result<(), Diagnostic> {
        let failed = |trouble: Trouble| Diagnostic::error(None, trouble.0);
        let out = saved.as_ref().and_then(|saved| saved.out.clone());
        let names = self.diary.columns();
        let writer = durable.folder.writer(self.k, names, out.as_ref()).map_err(failed)?;
        let keeps_draws = self.plan.request.live.as_ref().is_some_and(|live| live.keeps_draws());
        self.diary.tap(keeps_draws || self.plan.is_followed);
        self.recorder = Some(Recorder::new(writer, durable));
        if let Some(saved) = saved {
            self.take(saved).map_err(EvalError::into_diagnostic)?;
            if let Some(epoch) = &self.epoch {
                // The others are in the folder; draws of an epoch are here as well.
                let read = read_chain(&durable.folder.path, self.k, 1, epoch.number);
                let read = read.map_err(|problem| Diagnostic::error(None, problem))?;
                self.diary.recall(read);
            }
            self.pulse.iter_mut().for_each(|pulse| pulse.goes_on_after(self.made));
            let done = (self.plan.request.warmup + self.made) as u64;
            self.plan.progress.done.fetch_add(done, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The warm-up and the draws, to the end or as far as it comes.
    pub fn go(mut self) -> Result<Chain, EvalError> {
        let warmup = self.plan.request.warmup;
        self.stretch(warmup)
    }

    /// The same with a warm-up of so many steps. It can go on afterwards, with other data.
    pub fn stretch(&mut self, warmup: usize) -> Result<Chain, EvalError> {
        let from_the_start = Stopwatch::start();
        let mut begun = Stopwatch::start();
        let mut spent = false;
        let result = (|| {
            if self.made == 0 && self.run.phase == Phase::Free {
                if !self.warm_up(warmup)? {
                    return Ok(());
                }
                self.begin_draws()?;
            }
            begun = Stopwatch::start();
            while self.made < self.plan.request.draws && !self.is_handed_on {
                if !self.draw()? {
                    return Ok(());
                }
                if let Some(budget) = self.plan.request.budget {
                    self.times.push(from_the_start.seconds());
                    spent = self.times.last().is_some_and(|&time| time >= budget);
                }
                if spent {
                    return Ok(());
                }
            }
            Ok(())
        })();
        self.pulse.iter_mut().for_each(|pulse| pulse.end(&self.run, &self.diary.draws));
        match result {
            Err(error @ EvalError { .. }) if !error.is_interruption() => return Err(error),
            _ => {}
        }
        self.end(begun, spent)
    }

    fn end(&mut self, begun: Stopwatch, spent: bool) -> Result<Chain, EvalError> {
        let Stand { model, program, watch, marks } = &mut self.stand;
        let [_, _, before] = &mut self.streams;
        if self.run.phase == Phase::Warmup {
            // Stopped in the warm-up: where it is now is better than nothing.
            if self.diary.warmup.is_empty() {
                self.diary.warm_up(model, watch, &mut self.run, before)?;
            }
            self.diary.was_cut = true;
            self.diary.begin_draws(&mut self.run);
        }
        self.diary.end(model, watch, before);
        let complete = spent || self.made >= self.plan.request.draws;
        if let Some(recorder) = &mut self.recorder {
            let ended = match complete && !self.plan.is_followed {
                true => recorder.writer.finish(),
                false => recorder.writer.flush(),
            };
            ended.map_err(|trouble| troubled(&trouble))?;
        }
        let run = &mut self.run;
        let records = (0..program.kernels.len()).map(|k| std::mem::take(run.kernel(k))).collect();
        let had_moved = &self.moved;
        let moved = |(k, ties): (usize, Ties)| {
            let moved = had_moved.get(k) == Some(&true) || model.has_moved(&ties);
            (ties.entries, moved)
        };
        Ok(Chain {
            number: self.k,
            made: self.made,
            marks: marks.clone(),
            kernels: program.kernels.clone(),
            records,
            warnings: std::mem::take(&mut run.warnings),
            seconds: begun.seconds(),
            times: std::mem::take(&mut self.times),
            ties: std::mem::take(&mut self.ties).into_iter().enumerate().map(moved).collect(),
            diverged: std::mem::take(&mut self.diverged),
            diary: std::mem::replace(&mut self.diary, Diary::new(watch, self.plan.request)),
            complete,
        })
    }

    /// The data have grown: the new rows join the trace, and the state stays. False if what the kernels had learnt is gone.
    pub fn take_rows(&mut self, epoch: &Arc<Epoch>) -> Result<bool, Diagnostic> {
        let mut learnt = Vec::new();
        let keeps = !epoch.warms_up() && self.stand.program.save(&mut learnt).is_ok();
        let is_anew = epoch.is_anew() && self.stand_anew(epoch)?;
        if !is_anew {
            self.join(epoch)?;
        }
        self.is_apart = !is_anew && (self.is_apart || epoch.is_anew());
        self.epoch = Some(epoch.clone());
        // What a kernel keeps about the rows has gone; what it has learnt is written in numbers.
        let from = &mut Input::new(&learnt);
        let is_learnt = keeps && self.stand.program.load(from).is_some() && from.is_empty();
        if keeps && !is_learnt {
            self.stand.program = self.read_again(epoch)?;
        }
        self.run = self.plan.run(epoch.shared.clone());
        (self.made, self.divergences) = (0, 0);
        if let Some(recorder) = &mut self.recorder {
            recorder.counts_begin_again();
            self.diary.tap(true);
        }
        Ok(is_learnt)
    }

    /// The program runs anew on all rows, with the choices as they are. False if they cannot be written, and nothing has happened.
    fn stand_anew(&mut self, epoch: &Epoch) -> Result<bool, Diagnostic> {
        let why = match self.stand.model.state(None) {
            Err(why) => why.to_owned(),
            Ok(state) => {
                let ground = epoch.ground();
                let marks = &self.stand.marks[..ground.steps.len()];
                let stand = self.plan.restand(ground, self.k, &state, marks)?;
                if stand.names() == self.stand.names() {
                    self.stand = stand;
                    return Ok(true);
                }
                "what is recorded hangs on the state".to_owned()
            }
        };
        match epoch.leaves() {
            false => Ok(false),
            true => Err(Diagnostic::error(None, format!("no rows can leave the window: {why}"))),
        }
    }

    /// The new rows are observed as a loop of their own.
    fn join(&mut self, epoch: &Epoch) -> Result<(), Diagnostic> {
        if let Some(step) = &epoch.step {
            let start = self.stand.model.next_address();
            self.stand.marks.push(StepMark { start, rows: 0 });
            self.with_executor(epoch, |_, executor| executor.execute(step))?;
        }
        self.stand.program = self.read_again(epoch)?;
        Ok(())
    }

    fn read_again(&mut self, epoch: &Epoch) -> Result<Program, Diagnostic> {
        self.with_executor(epoch, |plan, executor| plan.read_again(executor))
    }

    fn with_executor<T>(
        &mut self,
        epoch: &Epoch,
        work: impl FnOnce(&Plan<'_>, &mut Executor<'_>) -> Result<T, Diagnostic>,
    ) -> Result<T, Diagnostic> {
        let Journey { plan, stand: Stand { model, .. }, streams: [rng, ..], .. } = self;
        let (catalog, interrupt) = (&epoch.catalog, plan.interrupt.clone());
        let desk = ExecutionContext::new(rng, catalog, plan.sources, interrupt, Mode::Sample);
        work(plan, &mut Executor { model, desk })
    }

    /// Nothing comes any more. What cannot be written has been said, and the draws are whole without it.
    pub fn close(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            let _ = recorder.writer.finish();
        }
    }

    /// False when the chain has to stop.
    fn warm_up(&mut self, warmup: usize) -> Result<bool, EvalError> {
        let Journey { plan, stand: Stand { model, program, watch, .. }, run, diary, .. } = self;
        let request = plan.request;
        let [rng, _, before] = &mut self.streams;
        if warmup > 0 {
            run.phase = Phase::Warmup;
            let planned = |n: Option<u64>| n.map(|n| n.saturating_mul(warmup as u64));
            run.planned = program.transitions().into_iter().map(planned).collect();
        }
        for step in 0..warmup {
            program.execute(model, rng, run)?;
            plan.progress.done.fetch_add(1, Ordering::Relaxed);
            if plan.is_stopped() {
                return Ok(false);
            }
            if request.keep_warmup {
                diary.warm_up(model, watch, run, before)?;
                if let (Some(recorder), Some(values)) = (&mut self.recorder, diary.tapped()) {
                    let (draw, epoch) = (step as u64, number_of(&self.epoch));
                    let row = Row { draw, epoch, is_warmup: true, values };
                    recorder.writer.push(row).map_err(|trouble| troubled(&trouble))?;
                }
            }
            self.pulse.iter_mut().for_each(|pulse| pulse.beat(run, &diary.draws));
        }
        Ok(true)
    }

    fn begin_draws(&mut self) -> Result<(), EvalError> {
        self.pulse.iter_mut().for_each(|pulse| pulse.begin_draws(&self.run, &self.diary.draws));
        let settled = self.run.total();
        self.diary.begin_draws(&mut self.run);
        self.moved = vec![false; self.stand.watch.len()];
        self.find_ties()?;
        // A chain that new rows have joined need not stand anew for them: it does when its work is worth that.
        let has_joined = self.epoch.as_ref().is_some_and(|epoch| !epoch.is_anew());
        let is_due = self.recorder.as_mut().is_none_or(|own| own.is_due_after(settled));
        if is_due || !has_joined { self.rebase() } else { Ok(()) }
    }

    fn find_ties(&mut self) -> Result<(), EvalError> {
        let Stand { model, watch, .. } = &mut self.stand;
        let aside = &mut self.streams[1];
        self.ties = watch.iter().map(|w| w.ties(model, aside)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// One draw. False when the chain has to stop.
    fn draw(&mut self) -> Result<bool, EvalError> {
        let Journey { plan, stand: Stand { model, program, watch, .. }, run, diary, .. } = self;
        let [rng, aside, _] = &mut self.streams;
        for _ in 0..plan.request.thin {
            program.execute(model, rng, run)?;
        }
        if plan.is_stopped() {
            return Ok(false);
        }
        plan.progress.done.fetch_add(1, Ordering::Relaxed);
        diary.draw(model, watch, run, aside)?;
        self.pulse.iter_mut().for_each(|pulse| pulse.beat(run, &diary.draws));
        let so_far = run.kernels.iter().map(|kernel| kernel.tally.diverged).sum();
        if so_far > self.divergences {
            self.divergences = so_far;
            if self.diverged.len() < MOST_DIVERGED {
                self.diverged.push(self.made);
            }
        }
        let mut is_due = false;
        if let (Some(recorder), Some(values)) = (&mut self.recorder, diary.tapped()) {
            let (draw, epoch) = (self.made as u64, number_of(&self.epoch));
            let row = Row { draw, epoch, is_warmup: false, values };
            recorder.writer.push(row).map_err(|trouble| troubled(&trouble))?;
            is_due = recorder.is_due(run.total());
        }
        self.made += 1;
        if is_due {
            self.rebase()?;
        }
        Ok(true)
    }

    // ---------------------------------------------------------------- re-bases

    /// The chain goes on from what it writes, if it can be written.
    fn rebase(&mut self) -> Result<(), EvalError> {
        let Some(durable) = self.plan.request.durable.clone() else { return Ok(()) };
        if self.recorder.is_none() {
            return Ok(());
        }
        let why = match self.save() {
            Err(why) => Some(why),
            Ok(_) if self.is_apart => Some("it stands on other loops than the others".to_owned()),
            Ok(saved) => match self.restand(&saved) {
                Ok(stand) if stand.names() != self.stand.names() => {
                    Some("what is recorded hangs on the state".to_owned())
                }
                Ok(stand) if !is_in(&stand.model, &saved.state) => {
                    Some("its choices cannot all be restored".to_owned())
                }
                Ok(stand) => {
                    self.stand = stand;
                    let recorder = self.recorder.as_mut().expect("looked at above");
                    if recorder.wants_file(self.made) {
                        recorder.commit(&saved).map_err(|trouble| troubled(&trouble))?;
                    }
                    self.is_handed_on = recorder.is_stop(self.made);
                    return self.take(saved);
                }
                Err(diagnostic) => Some(diagnostic.message.clone()),
            },
        };
        self.count_anew();
        if let (Some(why), Some(recorder)) = (why, &mut self.recorder) {
            recorder.cannot(&durable, self.k, &why);
        }
        Ok(())
    }

    fn ground(&self) -> Ground<'_> {
        self.epoch.as_ref().map_or(self.plan.ground(), |epoch| epoch.ground())
    }

    fn restand(&self, saved: &Saved) -> Result<Stand, Diagnostic> {
        self.plan.restand(self.ground(), self.k, &saved.state, &saved.marks())
    }

    fn save(&self) -> Result<Saved, String> {
        let state = self.stand.model.state(None)?;
        let mut kernels = Vec::new();
        self.stand.program.save(&mut kernels)?;
        let moved = self.ties.iter().enumerate();
        let moved = moved
            .map(|(k, ties)| self.moved.get(k) == Some(&true) || self.stand.model.has_moved(ties));
        let counts = Counts {
            made: self.made,
            records: self.run.kernels.clone(),
            warnings: self.run.warnings.clone(),
            motion: self.run.motion,
            before: self.diary.counted(),
            divergences: self.divergences,
            diverged: self.diverged.clone(),
            moved: moved.collect(),
            was_warmed: self.run.phase == Phase::Draws,
        };
        let marks = self.stand.marks.iter().map(|mark| (mark.start, mark.rows)).collect();
        let [rng, aside, before] = &self.streams;
        let streams = [rng.place(), aside.place(), before.place()];
        let epoch = self.epoch.as_ref().map(|epoch| (epoch.number, epoch.parts().len() as u64));
        let saved = Saved { marks, state, kernels, streams, counts, epoch, out: None };
        // From the bytes, as whoever resumes it.
        let checkpoint = smidgen_io::folder::Checkpoint::new(saved.sections());
        Saved::read(&checkpoint).ok_or_else(|| "a value has no bytes".to_owned())
    }

    /// Goes on from what was written, in a trace that was made anew.
    fn take(&mut self, saved: Saved) -> Result<(), EvalError> {
        let Saved { kernels, streams, counts, .. } = saved;
        let from = &mut Input::new(&kernels);
        let is_whole = self.stand.program.load(from).is_some() && from.is_empty();
        if !is_whole {
            let message = "the checkpoint does not fit the kernels of this program";
            return Err(EvalError::other(None, message.to_owned()));
        }
        for (stream, place) in self.streams.iter_mut().zip(streams) {
            stream.go_back(place);
        }
        self.made = counts.made;
        self.run.kernels = counts.records;
        self.run.warnings = counts.warnings;
        self.run.motion = counts.motion;
        self.run.phase = phase(counts.was_warmed);
        self.diary.count_from(counts.before);
        self.divergences = counts.divergences;
        self.diverged = counts.diverged;
        self.moved = counts.moved;
        self.find_ties()?;
        self.count_anew();
        Ok(())
    }

    fn count_anew(&mut self) {
        let nodes = self.stand.model.trace().live_nodes().count();
        let rows = self.ground().rows();
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(self.run.total(), nodes, rows);
        }
    }
}

fn number_of(epoch: &Option<Arc<Epoch>>) -> u32 {
    epoch.as_ref().map_or(0, |epoch| epoch.number)
}

/// Whether the free choices of a model are those of a state, to the bit.
fn is_in(model: &Model, state: &State) -> bool {
    let bytes = |state: &State| {
        let mut bytes = Vec::new();
        state.put(&mut bytes);
        bytes
    };
    model.state(None).is_ok_and(|now| bytes(&now) == bytes(state))
}
