//! Rows in which a directive does nothing because a cell is missing, and rows that are observed apart from the others
//! because a cell of theirs is a random choice.

use std::sync::Arc;

use smidgen_engine::environment::Environment;
use smidgen_engine::model::Code;
use smidgen_engine::operand::Operand;
use smidgen_engine::{EvalError, Model};
use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::{Absence, AbsenceKind, RowNumber};
use smidgen_value::{Rng, Symbol, Value};

use crate::catalog::Catalog;
use crate::compile::{Step, StepKind};

/// Whether a directive does nothing here.
pub fn is_left_out(
    step: &Step,
    model: &mut Model,
    environment: &Environment,
    rng: &mut Rng,
) -> Result<bool, EvalError> {
    for absence in step.absences.iter().filter(|absence| absence.kind != AbsenceKind::Imputed) {
        if is_missing(absence, model, environment, rng)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_missing(
    absence: &Absence,
    model: &mut Model,
    environment: &Environment,
    rng: &mut Rng,
) -> Result<bool, EvalError> {
    let row = match &absence.row {
        RowNumber::Frame(depth) => {
            environment.get(*depth, 0).and_then(Operand::constant).and_then(Value::as_integer)
        }
        RowNumber::Computed(expr) => model.constant(Code { expr, environment }, rng)?.as_integer(),
    };
    let row = row.and_then(|row| usize::try_from(row).ok());
    // An index out of range is for the lookup to complain of.
    Ok(row.and_then(|row| absence.mask.get(row).copied()).unwrap_or(false))
}

/// The mask of the rows of a loop whose number in another mask this expression gives; None if that hangs on more than
/// the row.
pub fn settled(mask: &[bool], expr: &ExprRef, rows: usize) -> Option<Arc<[bool]>> {
    // Nothing is drawn for a constant, and a trace of its own holds no name of the program.
    let (mut model, mut rng) = (Model::new(), Rng::unused());
    let row_of = |row: usize| {
        let environment = Environment::default().push([Operand::Constant(Value::from(row as f64))]);
        let code = Code { expr, environment: &environment };
        let place = model.constant(code, &mut rng).ok()?.as_integer();
        let place = place.and_then(|place| usize::try_from(place).ok());
        Some(place.and_then(|place| mask.get(place).copied()).unwrap_or(false))
    };
    (0..rows).map(row_of).collect()
}

/// How the rows of a loop are observed.
#[derive(Default)]
pub struct RowsOf {
    /// Those that compute the same; None for all.
    pub together: Option<Vec<u32>>,
    /// Those with cells that are random choices.
    pub apart: Vec<i64>,
}

/// The rows of an observation in a loop.
pub fn rows_of(
    step: &Step,
    model: &mut Model,
    environment: &Environment,
    rows: std::ops::Range<i64>,
    rng: &mut Rng,
) -> Result<RowsOf, EvalError> {
    let mut found = RowsOf::default();
    if step.absences.is_empty() {
        return Ok(found);
    }
    let by_mask = |absence: &Absence| matches!(absence.row, RowNumber::Frame(0));
    let (quick, slow): (Vec<&Absence>, Vec<&Absence>) =
        step.absences.iter().partition(|absence| by_mask(absence));
    let mut together = Vec::new();
    for row in rows {
        let in_mask = |absence: &&&Absence| absence.mask.get(row as usize).copied() == Some(true);
        let mut gone: Vec<AbsenceKind> =
            quick.iter().filter(in_mask).map(|absence| absence.kind).collect();
        if !slow.is_empty() {
            let inner = environment.push([Operand::Constant(Value::Number(row as f64))]);
            for absence in &slow {
                if is_missing(absence, model, &inner, rng)? {
                    gone.push(absence.kind);
                }
            }
        }
        if gone.is_empty() {
            together.push(row as u32);
        } else if gone.iter().all(|kind| *kind == AbsenceKind::Imputed) {
            found.apart.push(row);
        }
    }
    found.together = Some(together);
    Ok(found)
}

/// What is missing, as the row alone sees it and not a directive after so many names of the round, each of which has a
/// frame. None if that is not known before the names are.
pub fn seen_from_row(absences: &[Absence], names: u32) -> Option<Vec<Absence>> {
    absences.iter().map(|absence| shifted(absence, |depth| depth.checked_sub(names))).collect()
}

/// The same absence seen from another frame. A row number that is computed is known where it stands only.
fn shifted(absence: &Absence, shift: impl Fn(u32) -> Option<u32>) -> Option<Absence> {
    let row = match &absence.row {
        RowNumber::Frame(depth) => RowNumber::Frame(shift(*depth)?),
        computed if shift(0) == Some(0) => computed.clone(),
        RowNumber::Computed(_) => return None,
    };
    Some(Absence { row, ..absence.clone() })
}

/// A row of a loop is left out whole: what one directive of the body lacks, all lack.
pub fn skip_together(steps: &mut [Step]) {
    let mut skipped: Vec<Absence> = Vec::new();
    collect_skipped(&mut steps.iter(), 0, &mut skipped);
    let mut names = 0;
    for step in steps {
        // What cannot be seen from the row stays where it is.
        let is_own = |absence: &Absence| shifted(absence, |d| d.checked_sub(names)).is_none();
        step.absences.retain(|absence| absence.kind != AbsenceKind::Skipped || is_own(absence));
        let seen = |absence: &Absence| shifted(absence, |depth| Some(depth + names));
        step.absences.extend(skipped.iter().filter_map(seen));
        names += u32::from(matches!(step.kind, StepKind::Let { .. }));
    }
}

/// What the steps of a loop, and of the loops in it, lack of the rows `frames` around.
fn collect_skipped(
    steps: &mut dyn Iterator<Item = &Step>,
    mut frames: u32,
    found: &mut Vec<Absence>,
) {
    for step in steps {
        let skipped = step.absences.iter().filter(|a| a.kind == AbsenceKind::Skipped);
        for outer in skipped.filter_map(|a| shifted(a, |depth| depth.checked_sub(frames))) {
            let is_same = |known: &Absence| match (&known.row, &outer.row) {
                (RowNumber::Frame(a), RowNumber::Frame(b)) => a == b && known.mask == outer.mask,
                _ => false,
            };
            if !found.iter().any(is_same) {
                found.push(outer);
            }
        }
        if let StepKind::For { body, .. } = &step.kind {
            collect_skipped(&mut body.iter().map(|step| &**step), frames + 1, found);
        }
        frames += u32::from(matches!(step.kind, StepKind::Let { .. }));
    }
}

/// Says how many rows of a loop over a table are left out or not observed.
pub fn remark(catalog: &mut Catalog, table: Symbol, rows: usize, steps: &[Step]) {
    let mut names = 0;
    let absences = steps.iter().map(|step| {
        let seen = |absence: &Absence| shifted(absence, |depth| depth.checked_sub(names));
        let absences: Vec<Absence> = step.absences.iter().filter_map(seen).collect();
        names += u32::from(matches!(step.kind, StepKind::Let { .. }));
        absences
    });
    let absences: Vec<Vec<Absence>> = absences.collect();
    let count = |kind: AbsenceKind, absences: &[Vec<Absence>]| {
        let masks = absences.iter().flatten();
        let masks: Vec<&Absence> =
            masks.filter(|a| a.kind == kind && matches!(a.row, RowNumber::Frame(0))).collect();
        let gone = (0..rows).filter(|row| masks.iter().any(|a| a.mask.get(*row) == Some(&true)));
        let mut cells: Vec<&str> = masks.iter().map(|a| a.cell.as_str()).collect();
        cells.sort_unstable();
        cells.dedup();
        (gone.count(), cells.join(", "))
    };
    let (skipped, cells) = count(AbsenceKind::Skipped, &absences);
    if skipped > 0 {
        catalog.remark(format!(
            "{skipped} of {rows} rows of `{table}` are left out of a loop, where {cells} is missing"
        ));
    }
    for absences in &absences {
        let (unobserved, cells) = count(AbsenceKind::NotObserved, std::slice::from_ref(absences));
        if unobserved > 0 {
            catalog.remark(format!(
                "{unobserved} of {rows} cells {cells} of `{table}` are missing and not observed"
            ));
        }
    }
}
