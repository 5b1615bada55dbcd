//! The directives of a program on a trace whose choices are given by a state.
//!
//! Addresses count the directives that made something, and each row of a loop is one. So a directive gets the address
//! that it had when the state was taken; but a loop over other rows than then gets addresses that nothing had, so that
//! choices of its own are new ones. Choices of memoised procedures belong to their arguments wherever they are asked for.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;
use smidgen_draws::states::StepMark;
use smidgen_engine::environment::Environment;
use smidgen_lang::Diagnostic;
use smidgen_value::{Table, Value};

use crate::compile::{Bounds, Step, StepKind};
use crate::execute::{Executor, range_of};

/// Addresses that no directive has by itself.
const ELSEWHERE: u64 = 1 << 63;
const EACH: u32 = 36;

/// Rows of a table that are looked at to tell it from others.
const LOOKED_AT: usize = 1024;

/// Runs all directives, from the addresses that `marks` say if there are any, and gives the marks of this run.
pub fn run_steps(
    executor: &mut Executor<'_>,
    steps: &[Arc<Step>],
    marks: Option<&[StepMark]>,
) -> Result<Vec<StepMark>, Diagnostic> {
    let mut made = Vec::with_capacity(steps.len());
    for (k, step) in steps.iter().enumerate() {
        let rows = rows_of(executor, step)?;
        if let Some(marks) = marks {
            let mark = marks.get(k).ok_or_else(|| other_program(marks.len(), steps.len()))?;
            let taken = marks.get(k + 1).map(|next| next.start.wrapping_sub(mark.start));
            let start = match mark.rows == rows && !was_plate(executor, step, taken)? {
                true => mark.start,
                false => ELSEWHERE + ((k as u64) << EACH),
            };
            executor.model.set_next_address(start);
        }
        made.push(StepMark { start: executor.model.next_address(), rows });
        executor.execute(step)?;
        let next = marks.and_then(|marks| marks.get(k + 1));
        let beyond = |next: &StepMark| {
            let (now, start) = (executor.model.next_address(), made[k].start);
            start < ELSEWHERE && next.start >= start && now > next.start
        };
        if next.is_some_and(beyond) {
            return Err(Diagnostic::error(
                step.span,
                "this makes more than it did when the draws were made: the program is another one",
            ));
        }
    }
    match marks {
        Some(marks) if marks.len() != steps.len() => Err(other_program(marks.len(), steps.len())),
        _ => Ok(made),
    }
}

/// Whether a loop with names in its rounds was one plate, where names take no addresses. Then no choice was its own,
/// and run row by row it would take more addresses than it had.
fn was_plate(
    executor: &mut Executor<'_>,
    step: &Step,
    taken: Option<u64>,
) -> Result<bool, Diagnostic> {
    let StepKind::For { bounds, body, .. } = &step.kind else { return Ok(false) };
    let is_let = |step: &Arc<Step>| matches!(step.kind, StepKind::Let { .. });
    let (Some(taken), true) = (taken, body.iter().any(is_let)) else { return Ok(false) };
    let rng = &mut *executor.desk.rng;
    let range = range_of(executor.model, bounds, step.span, &Environment::default(), rng)?;
    let rounds = u64::try_from(range.end - range.start).unwrap_or(0);
    Ok(taken < rounds * body.len() as u64)
}

fn other_program(then: usize, now: usize) -> Diagnostic {
    let message =
        format!("the draws are of another program: it had {then} directives, this has {now}");
    Diagnostic::error(None, message)
        .hint("give the program that was sampled, or sample this one first")
}

/// What stands for the rows or rounds of a loop; 0 for other directives.
fn rows_of(executor: &mut Executor<'_>, step: &Step) -> Result<u64, Diagnostic> {
    let StepKind::For { bounds, body, .. } = &step.kind else { return Ok(0) };
    let mut state = FxHasher::default();
    if let Bounds::Range { .. } = bounds {
        let rng = &mut *executor.desk.rng;
        range_of(executor.model, bounds, step.span, &Environment::default(), rng)?.hash(&mut state);
    }
    hash_tables(bounds, body, &mut state);
    Ok(state.finish() | 1)
}

fn hash_tables(bounds: &Bounds, body: &[Arc<Step>], state: &mut FxHasher) {
    if let Bounds::Rows(table) = bounds {
        state.write_u64(fingerprint(table));
    }
    for step in body {
        if let StepKind::For { bounds, body, .. } = &step.kind {
            hash_tables(bounds, body, state);
        }
    }
}

/// A number that a table has and others have not: of its size, its columns and the cells of some rows.
pub fn fingerprint(table: &Table) -> u64 {
    let mut state = FxHasher::default();
    table.rows().hash(&mut state);
    let every = table.rows().div_ceil(LOOKED_AT).max(1);
    for name in table.names() {
        name.as_str().hash(&mut state);
        let Some(column) = table.column(*name) else { continue };
        for row in (0..table.rows()).step_by(every) {
            match column.cell(row) {
                Value::Number(x) => state.write_u64(x.to_bits()),
                cell => cell.hash(&mut state),
            }
        }
    }
    state.finish()
}
