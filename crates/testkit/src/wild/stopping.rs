//! Procedures that stop where they have no value: such a state is impossible, whether a density reads them or not. A start
//! that meets one is drawn again, which is a draw from what is left of the joint law.

use super::program::Item;
use super::writer::Writer;

/// Beginnings of what may stop. Nothing else in random programs does.
const STOPS: [&str; 3] = ["(int_mod ", "(probability ", "(cholesky "];

/// Whether starts of a program may have to be drawn again.
pub(super) fn may_stop(items: &[Item]) -> bool {
    items.iter().any(is_stop)
}

/// Whether a directive may stop.
pub(super) fn is_stop(item: &Item) -> bool {
    let text = match item {
        Item::Assume(_, text) | Item::Predict(text) => text,
        Item::Observe(text) | Item::ObserveRows(text) | Item::Weigh(_, text) => text,
    };
    STOPS.iter().any(|stop| text.contains(stop))
}

/// An expression that has a value in most states.
fn stops(w: &mut Writer) -> String {
    let (a, n, c) = (w.atom(), w.count(), w.number(0.1, 0.3));
    match w.rng.below(3) {
        0 => format!("(int_mod 7 {n})"),
        1 => format!("(probability (+ 0.5 (* {c} {a})))"),
        _ => format!(
            "(lookup (col (cholesky (matrix (list (list 1 (* {c} {a})) (list (* {c} {a}) 1)))) 0) 0)"
        ),
    }
}

/// Nobody reads it.
pub fn unread_stop(w: &mut Writer) {
    let name = w.name("s");
    let expr = stops(w);
    match w.coin() {
        true => w.assume(&name, expr),
        false => w.predict(expr),
    }
}

/// Read on one side of a branch, or on none.
pub fn named_stop(w: &mut Writer) {
    let name = w.name("s");
    let (stop, a, condition) = (stops(w), w.atom(), w.condition());
    let expr = match w.rng.below(3) {
        0 => format!("(let ((r {stop})) (if {condition} {a} r))"),
        1 => format!("(if {condition} (let ((r {stop})) {a}) 0.5)"),
        _ => format!("((lambda (r b) (* 0.5 b)) {stop} {a})"),
    };
    w.assume(&name, expr);
    w.reals.push(name);
}

/// In what is observed, of one row or of many.
pub fn observed_stop(w: &mut Writer) {
    let (stop, a, s) = (stops(w), w.atom(), w.number(0.6, 1.5));
    let mean = match w.coin() {
        true => format!("(let ((r {stop})) {a})"),
        false => format!("(+ {a} {stop})"),
    };
    match w.coin() {
        true => w.observe(format!("(normal {mean} {s})")),
        false => w.items.push(Item::ObserveRows(format!("(normal (* row.x {mean}) {s})"))),
    }
}
