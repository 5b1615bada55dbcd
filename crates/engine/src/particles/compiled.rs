//! Particles beside the trace: a compiled pass. Each step is done for all particles before the
//! next, one lane each; the trace is read at the start and written at the end.
//!
//! A particle that leaves the domain of some parameter has weight 0 from there on.

use smidgen_value::{Rng, Value};

use super::Particles;
use super::bound::{Bound, Lanes};
use super::host::OfTrace;
use super::pass_plan::{From, Part, PassPlan};
use crate::error::EvalError;
use crate::program::lanes::{Outcome, are_all};
use crate::program::values::LaneStore;
use crate::trace::Trace;
use crate::trace::fault::Fault;

/// Reused from pass to pass.
#[derive(Default)]
pub(super) struct Buffers {
    /// Columns of all segments, and who came from whom.
    numbers: Vec<f64>,
    boxed: Vec<Value>,
    ancestors: Vec<u32>,
    /// Columns carried into the segment, and room for those of the next.
    carried: Carried,
    next: Carried,
    alive: Vec<bool>,
    /// Registers of steps, and of looks ahead.
    store: LaneStore,
    ahead: LaneStore,
}

#[derive(Default)]
struct Carried {
    numbers: Vec<f64>,
    boxed: Vec<Value>,
}

/// Below so many bytes nobody asks.
const MUCH: usize = 64 << 20;

impl Buffers {
    /// An error that says how much memory a pass takes, if the system has not so much: better than an end without a word in
    /// the middle of it.
    fn ask_for(&self, plan: &PassPlan, particles: usize) -> Result<(), EvalError> {
        let value = size_of::<Value>();
        let registers = |bound: &Bound| {
            let program = &plan.library.of(bound).lane_program;
            8 * program.program.registers as usize + value * program.boxed as usize
        };
        let own = plan.parts.iter().map(|part| registers(&part.program)).max().unwrap_or(0);
        let ahead = plan.parts.iter().filter_map(|part| part.ahead.as_ref()).map(registers).max();
        let carried = 8 * plan.most_numbers + value * plan.most_boxed;
        let kept = 8 * plan.number_columns + value * plan.boxed_columns + 4 * plan.parts.len();
        // Weights and lots beside them.
        let each = kept + 2 * carried + own + ahead.unwrap_or(0) + 64;
        let needed = each.saturating_mul(particles);
        // What was there for the last pass is there for this one.
        let is_there = self.numbers.capacity() >= plan.number_columns * particles;
        if needed < MUCH || is_there {
            return Ok(());
        }
        if Vec::<u8>::new().try_reserve_exact(needed).is_ok() {
            return Ok(());
        }
        let (steps, megabytes) = (plan.parts.len(), needed >> 20);
        let message = format!(
            "{particles} particles over {steps} steps take about {megabytes} MB of memory, and there is not so much"
        );
        Err(EvalError::other(None, message)
            .hint("use fewer particles, or fewer chains at a time (--threads)"))
    }
}

/// Room for so many numbers. New memory comes from the system as zeros page by page when it is written to, step by step: to fill
/// it here would take a second for a million particles, in which nobody could interrupt.
fn make_room(numbers: &mut Vec<f64>, n: usize) {
    if numbers.capacity() < n {
        // First the old one goes.
        *numbers = Vec::new();
        *numbers = vec![0.0; n];
    }
    numbers.resize(n, 0.0);
}

pub(super) struct CompiledPass<'a> {
    trace: &'a mut Trace,
    plan: &'a PassPlan,
    buffers: &'a mut Buffers,
    particles: usize,
    touched: u64,
    /// The segments whose numbers the registers hold: of the step made last, and of the look ahead made last.
    made: Option<usize>,
    looked: Option<usize>,
}

impl<'a> CompiledPass<'a> {
    /// Begins a pass; what the plan reads from the trace is fresh.
    pub fn begin(
        trace: &'a mut Trace,
        plan: &'a PassPlan,
        buffers: &'a mut Buffers,
        particles: usize,
    ) -> Result<CompiledPass<'a>, EvalError> {
        buffers.ask_for(plan, particles)?;
        let Buffers { numbers, boxed, ancestors, carried, next, .. } = &mut *buffers;
        make_room(numbers, plan.number_columns * particles);
        boxed.resize(plan.boxed_columns * particles, Value::Nil);
        for carried in [carried, next] {
            make_room(&mut carried.numbers, plan.most_numbers * particles);
            carried.boxed.resize(plan.most_boxed * particles, Value::Nil);
        }
        ancestors.clear();
        Ok(CompiledPass { trace, plan, buffers, particles, touched: 0, made: None, looked: None })
    }

    fn gather(&mut self, t: usize, ancestors: &[u32]) {
        let particles = self.particles;
        let (part, before) = (&self.plan.parts[t], &self.plan.parts[t - 1]);
        let Buffers { numbers, boxed, carried, next, .. } = &mut *self.buffers;
        for (to, from) in next.numbers.chunks_exact_mut(particles).zip(&part.numbers) {
            let from = match from {
                From::Carried(k) => &carried.numbers[*k as usize * particles..][..particles],
                From::Own(k) => {
                    &numbers[(before.first_number + *k as usize) * particles..][..particles]
                }
            };
            if self.trace.has_fault(Fault::OwnValues) {
                to.copy_from_slice(from);
                continue;
            }
            for (to, ancestor) in to.iter_mut().zip(ancestors) {
                *to = from[*ancestor as usize];
            }
        }
        for (to, from) in next.boxed.chunks_exact_mut(particles).zip(&part.boxed) {
            let from = match from {
                From::Carried(k) => &carried.boxed[*k as usize * particles..][..particles],
                From::Own(k) => {
                    &boxed[(before.first_boxed + *k as usize) * particles..][..particles]
                }
            };
            for (to, ancestor) in to.iter_mut().zip(ancestors) {
                *to = from[*ancestor as usize].clone();
            }
        }
        std::mem::swap(carried, next);
    }

    /// Runs a program whose leaves are loaded. Weights of 0 for the dead.
    fn run(
        &mut self,
        bound: &Bound,
        rng: Option<&mut Rng>,
        log_weights: &mut [f64],
    ) -> Result<(), EvalError> {
        let plan = self.plan;
        let shared = plan.library.of(bound);
        let Buffers { alive, store, ahead, .. } = &mut *self.buffers;
        let store = if rng.is_some() { store } else { ahead };
        log_weights.fill(0.0);
        let mut host = OfTrace { trace: self.trace, places: &bound.places, rng, rows: None };
        let mut outcome = Outcome { alive, log_weights };
        let uniforms = plan.inputs.uniforms(bound);
        shared.lane_program.run(uniforms, store, &mut outcome, &mut host)?;
        self.touched += (bound.places.len() * self.particles) as u64;
        if are_all(&self.buffers.alive) {
            return Ok(());
        }
        let lost = if self.trace.has_fault(Fault::LostLanes) { 0.0 } else { f64::NEG_INFINITY };
        for (log_weight, alive) in log_weights.iter_mut().zip(&self.buffers.alive) {
            if !alive {
                *log_weight = lost;
            }
        }
        Ok(())
    }

    /// Keeps the columns of a segment.
    fn keep(&mut self, part: &Part) {
        let (particles, shared) = (self.particles, self.plan.library.of(&part.program));
        let Buffers { numbers, boxed, store, .. } = &mut *self.buffers;
        let own = numbers[part.first_number * particles..].chunks_exact_mut(particles);
        for (to, register) in own.zip(&shared.numbers) {
            to.copy_from_slice(store.row(*register));
        }
        let own = boxed[part.first_boxed * particles..].chunks_exact_mut(particles);
        for (to, register) in own.zip(&shared.boxed) {
            to.clone_from_slice(store.boxed_row(*register));
        }
    }

    /// The value that a particle made for a node of segment t; none for one that stands still.
    fn value(&self, t: usize, node: usize, particle: usize) -> Option<Value> {
        let (part, particles) = (&self.plan.parts[t], self.particles);
        let at = |first: usize, column: u32| (first + column as usize) * particles + particle;
        self.plan.library.of(&part.program).value(
            node,
            &|column| self.buffers.numbers[at(part.first_number, column)],
            &|column| self.buffers.boxed[at(part.first_boxed, column)].clone(),
        )
    }
}

impl Particles for CompiledPass<'_> {
    fn steps(&self) -> usize {
        self.plan.parts.len()
    }

    fn advance(
        &mut self,
        t: usize,
        ancestors: &[u32],
        rng: &mut Rng,
        log_weights: &mut [f64],
    ) -> Result<(), EvalError> {
        self.trace.stop_if_asked()?;
        self.buffers.ancestors.extend_from_slice(ancestors);
        if t > 0 {
            self.gather(t, ancestors);
            self.trace.stop_if_asked()?;
        }
        let (plan, particles) = (self.plan, self.particles);
        let part = &plan.parts[t];
        let Buffers { carried, alive, store, .. } = &mut *self.buffers;
        alive.clear();
        alive.resize(particles, true);
        plan.library.load(
            &[Lanes { bound: &part.program, lanes: 0..particles }],
            self.made.replace(t).map(|before| &plan.parts[before].program),
            &plan.inputs,
            store,
            |_, column, row| {
                row.copy_from_slice(&carried.numbers[column as usize * particles..][..particles])
            },
            |_, column, row| {
                row.clone_from_slice(&carried.boxed[column as usize * particles..][..particles])
            },
        );
        self.run(&part.program, Some(rng), log_weights)?;
        self.trace.stop_if_asked()?;
        self.keep(part);
        Ok(())
    }

    fn looks_ahead(&self) -> bool {
        self.plan.looks_ahead
    }

    fn look_ahead(&mut self, t: usize, log_future: &mut [f64]) -> Result<(), EvalError> {
        let (plan, particles) = (self.plan, self.particles);
        self.trace.stop_if_asked()?;
        let Some(ahead) = &plan.parts[t].ahead else { unreachable!("it looks ahead") };
        let before = &plan.parts[t - 1];
        // Those that died at the last step stay dead; the next step begins with all.
        let Buffers { numbers, boxed, carried, ahead: store, .. } = &mut *self.buffers;
        let number = |_: usize, column: u32, row: &mut [f64]| {
            let from = match From::named(column) {
                From::Carried(k) => &carried.numbers[k as usize * particles..],
                From::Own(k) => &numbers[(before.first_number + k as usize) * particles..],
            };
            row.copy_from_slice(&from[..particles]);
        };
        let value = |_: usize, column: u32, row: &mut [Value]| {
            let from = match From::named(column) {
                From::Carried(k) => &carried.boxed[k as usize * particles..],
                From::Own(k) => &boxed[(before.first_boxed + k as usize) * particles..],
            };
            row.clone_from_slice(&from[..particles]);
        };
        let lanes = [Lanes { bound: ahead, lanes: 0..particles }];
        let earlier = self.looked.replace(t).and_then(|before| plan.parts[before].ahead.as_ref());
        plan.library.load(&lanes, earlier, &plan.inputs, store, number, value);
        self.run(ahead, None, log_future)
    }

    fn drawn(&self, t: usize, particle: usize) -> Vec<Value> {
        let nodes = self.plan.parts[t].nodes.iter().enumerate();
        let choices = nodes.filter(|(_, id)| self.trace.node(**id).is_random());
        choices.filter_map(|(k, _)| self.value(t, k, particle)).collect()
    }

    fn touched(&self) -> u64 {
        self.touched
    }

    fn settle(self: Box<Self>, k: usize) -> Result<bool, EvalError> {
        let start = self.trace.savepoint();
        let this = *self;
        let (steps, mut k) = (this.plan.parts.len(), k);
        let mut path = vec![k; steps];
        for (t, place) in path.iter_mut().enumerate().rev() {
            *place = k;
            k = this.buffers.ancestors[t * this.particles + k] as usize;
        }
        // As long as it is the reference's path, the state is what it was.
        let is_reference = |k: &&usize| **k + 1 == this.particles;
        let stays = path.iter().take_while(is_reference).count();
        for (t, part) in this.plan.parts.iter().enumerate().skip(stays).rev() {
            for (place, node) in part.nodes.iter().enumerate() {
                let Some(value) = this.value(t, place, path[t]) else { continue };
                if !this.trace.node(*node).value.is_identical(&value) {
                    this.trace.set_value(*node, value);
                }
            }
        }
        if this.trace.savepoint() != start {
            this.trace.commit();
        }
        Ok(stays < steps)
    }
}
