//! What the kernels of a program would do, and at what cost: `smidgen explain`.
//!
//! The directives but `infer` run as in the first chain of `smidgen sample`. A short warm-up then takes
//! the trace from a draw from the prior towards the posterior, where sections look as they will in a
//! long run; its length is bounded in transitions, and in time in case a transition is slow. Nothing of it is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use smidgen_engine::environment::Environment;
use smidgen_engine::{EvalError, Model};
use smidgen_infer::{Explanation, Program, Run};
use smidgen_lang::Diagnostic;
use smidgen_lang::lower::Scope;
use smidgen_lang::syntax::Syntax;
use smidgen_value::Rng;

use crate::compile::Compiler;
use crate::execute::{ExecutionContext, Executor, Mode, may_wait};
use crate::load::TopDirective;
use crate::sampling::{SampleError, check_parameters};
use crate::session::Session;

/// Bounds of the warm-up.
const RUNS: usize = 200;
const TRANSITIONS: u64 = 1000;
const PATIENCE: Duration = Duration::from_secs(2);

/// How often the interrupt of the session is looked at during the warm-up.
const GLANCE: Duration = Duration::from_millis(50);

/// The kernels of a program, and the state that they were looked at in.
pub struct Explained {
    pub kernels: Vec<Explanation>,
    pub warmup: Warmup,
    /// Whether the kernel is the default one because nothing else was asked for.
    pub is_default: bool,
    /// Unconstrained random choices.
    pub choices: usize,
}

/// The way from the prior to the state that was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warmup {
    /// Runs of the whole program, the last of which may have been cut short.
    pub runs: usize,
    pub transitions: u64,
    /// Whether time ran out before the transitions did.
    pub hurried: bool,
}

/// Explains the program's kernels, or `kernel` instead of them.
pub fn explain(
    session: &mut Session,
    program: &[TopDirective],
    kernel: Option<&str>,
    seed: u64,
) -> Result<Explained, SampleError> {
    let kernel = kernel.map(|text| session.parse_option("--kernel", text)).transpose()?;
    check_parameters(session, program, kernel.iter())?;
    let mut compiler = Compiler::new(&mut session.catalog, &session.sources);
    let mut steps = Vec::new();
    for top in program {
        let step = compiler.top_level(&top.directive, top.number, &top.folder);
        steps.extend(step.map_err(SampleError)?);
    }
    let interrupt = session.interrupt.clone();
    let mut rng = Rng::for_chain(seed, 0);
    let mut model = Model::new();
    model.trace_mut().interrupt = interrupt.clone();
    let desk = ExecutionContext::new(
        &mut rng,
        &session.catalog,
        &session.sources,
        interrupt.clone(),
        Mode::Sample,
    );
    let mut executor = Executor { model: &mut model, desk };
    executor.desk.may_wait = may_wait(&steps);
    for step in &steps {
        executor.execute(step)?;
    }
    let (mut program, is_default) = kernels(&mut executor, kernel.as_ref())?;
    look(&mut model, &mut rng, &mut program, &interrupt)
        .map(|(kernels, warmup)| {
            let choices = model.trace_mut().choices().len();
            Explained { kernels, warmup, is_default, choices }
        })
        .map_err(|error| error.into_diagnostic().into())
}

fn kernels(
    executor: &mut Executor<'_>,
    kernel: Option<&Syntax>,
) -> Result<(Program, bool), Diagnostic> {
    let own = std::mem::take(&mut executor.desk.programs);
    Ok(match kernel {
        Some(kernel) => {
            (executor.read_program(kernel, &Scope::global(), &Environment::default())?, false)
        }
        None if own.is_empty() => (Program::default_sweeps(1), true),
        None => (Program::sequence(own), false),
    })
}

fn look(
    model: &mut Model,
    rng: &mut Rng,
    program: &mut Program,
    interrupt: &Arc<AtomicBool>,
) -> Result<(Vec<Explanation>, Warmup), EvalError> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut run = Run {
        interrupt: stop.clone(),
        // What is learnt on the side is learnt again from trial proposals.
        audit: Some(0.0),
        left: Some(TRANSITIONS),
        ..Run::default()
    };
    let warmup = hurried(&stop, interrupt, || warm_up(model, rng, program, &mut run))?;
    // A warm-up that was cut by the user leaves the flag for the caller to see.
    program.explain(model, rng, &mut run).map(|kernels| (kernels, warmup))
}

fn warm_up(
    model: &mut Model,
    rng: &mut Rng,
    program: &mut Program,
    run: &mut Run,
) -> Result<Warmup, EvalError> {
    let mut warmup = Warmup::default();
    while warmup.runs < RUNS && !run.is_interrupted() {
        program.execute(model, rng, run)?;
        warmup.runs += 1;
    }
    warmup.transitions = TRANSITIONS - run.left.unwrap_or(0);
    warmup.hurried = run.interrupt.load(Ordering::Relaxed);
    Ok(warmup)
}

/// Calls `body` and sets `stop` when it has taken too long, or when the user wants to stop.
fn hurried<T>(stop: &AtomicBool, interrupt: &AtomicBool, body: impl FnOnce() -> T) -> T {
    let (done, waiting) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let begin = Instant::now();
            while waiting.recv_timeout(GLANCE) == Err(RecvTimeoutError::Timeout) {
                if begin.elapsed() > PATIENCE || interrupt.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                    break;
                }
            }
        });
        let result = body();
        drop(done);
        result
    })
}
