//! What is computed although nobody reads it. A program computes every argument and every `let` before what they are for, so it
//! stops where one of them has no value, `(let ((r (int_mod 7 k))) 1)` at k = 0; a formula has only what is read. It says
//! the same where such a part never fails, or where the whole has no value without it.

use std::sync::Arc;

use super::{Formula, Term};
use crate::total::never_stops;

/// Parts that are looked at for one argument.
const MOST_PARTS: usize = 400;

/// Whether the whole has a value only where the part has one.
pub(super) fn stands_for(whole: &Term, part: &Term) -> bool {
    never_fails(part, &mut MOST_PARTS.clone()) || needs(whole, part, &mut MOST_PARTS.clone())
}

/// In doubt it is no.
fn never_fails(formula: &Formula, left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    match formula {
        Formula::Constant(_) | Formula::Read(_) => true,
        Formula::Apply(function, args, _) => {
            never_stops(function.spec.name) && args.iter().all(|arg| never_fails(arg, left))
        }
        Formula::If(parts, _) => parts.iter().all(|part| never_fails(part, left)),
        Formula::Request(..) | Formula::Call(..) | Formula::Density(_) => false,
    }
}

/// Whether it is computed whichever way branches go.
fn needs(whole: &Term, part: &Term, left: &mut usize) -> bool {
    if Arc::ptr_eq(whole, part) {
        return true;
    }
    if *left == 0 {
        return false;
    }
    *left -= 1;
    let mut reads = |whole: &Term| needs(whole, part, left);
    match &**whole {
        Formula::Constant(_) | Formula::Read(_) => false,
        Formula::Apply(_, args, _) | Formula::Request(_, args, _) => args.iter().any(reads),
        Formula::Density(density) => density.args.iter().any(reads),
        Formula::If(parts, _) => {
            let [condition, then, otherwise] = &**parts;
            reads(condition) || reads(then) && reads(otherwise)
        }
        Formula::Call(operator, cases, _) => {
            reads(operator) || cases.iter().all(|(_, case)| reads(case))
        }
    }
}
