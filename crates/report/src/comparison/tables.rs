//! The tables of a comparison, for the page and for the terminal alike.

use super::{Comparison, KernelComparison, Moments, QuantityComparison};
use crate::number::{
    amount, count, fixed, p_value, percent, signed, significant, times, with_error,
};
use crate::table::{Cell, Table};

fn name(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn number(text: impl Into<String>) -> Cell {
    Cell::Number(text.into())
}

/// What each run says about the quantities.
pub(super) fn moments<'a>(quantities: impl Iterator<Item = &'a QuantityComparison>) -> Table {
    let mut table = Table::new(&[
        "quantity",
        "mean exact",
        "approx.",
        "sd exact",
        "approx.",
        "mcse exact",
        "approx.",
        "ess exact",
        "approx.",
    ]);
    for q in quantities {
        let both = |digits: usize, x: f64, y: f64| {
            [number(significant(x, digits)), number(significant(y, digits))]
        };
        let mut row = vec![name(&q.name)];
        let mean = |m: &Moments| number(with_error(m.mean, m.mcse, 4));
        row.extend([mean(&q.exact), mean(&q.approximate)]);
        row.extend(both(3, q.exact.sd, q.approximate.sd));
        row.extend(both(2, q.exact.mcse, q.approximate.mcse));
        row.extend([q.exact.ess_bulk, q.approximate.ess_bulk].map(|ess| number(fixed(ess, 0))));
        table.row(row);
    }
    table
}

/// How the runs differ.
pub(super) fn differences<'a>(quantities: impl Iterator<Item = &'a QuantityComparison>) -> Table {
    let mut table = Table::new(&["quantity", "shift/sd", "z", "sd ratio", "z", "KS p", "verdict"]);
    for q in quantities {
        table.row(vec![
            name(&q.name),
            number(signed(q.mean_difference, 3)),
            number(signed(q.mean_difference_z, 1)),
            number(fixed(q.sd_ratio, 3)),
            number(signed(q.sd_ratio_z, 1)),
            number(p_value(q.ks_p)),
            Cell::Verdict(q.verdict),
        ]);
    }
    table
}

fn rate(accepted: u64, transitions: u64) -> String {
    percent(accepted as f64 / transitions as f64)
}

fn interval(low: f64, high: f64) -> String {
    let unknown = low.is_nan() && high.is_nan();
    if unknown { percent(low) } else { format!("{} to {}", percent(low), percent(high)) }
}

/// How the kernels decided.
pub(super) fn decisions(c: &Comparison) -> Table {
    let mut table = Table::new(&[
        "kernel",
        "accepts",
        "exact",
        "checked",
        "wrong yes",
        "wrong no",
        "rate",
        "95% interval",
        "predicted",
    ]);
    for (label, k) in c.approximate() {
        let unknown = (f64::NAN, f64::NAN, f64::NAN);
        let (wrong, low, high) = if k.shadow > 0 { k.disagreement } else { unknown };
        table.row(vec![
            name(&label),
            number(rate(k.accepted, k.transitions)),
            number(rate(k.accepted_exact, k.transitions_exact)),
            number(count(k.shadow)),
            number(count(k.wrongly_accepted)),
            number(count(k.wrongly_rejected)),
            number(percent(wrong)),
            number(interval(low, high)),
            number(percent(k.predicted_error)),
        ]);
    }
    table
}

/// How much the kernels read.
pub(super) fn sections(c: &Comparison) -> Table {
    let mut table = Table::new(&[
        "kernel",
        "epsilon",
        "batch",
        "sections",
        "mean",
        "median",
        "95%",
        "max",
        "used",
        "predicted",
        "all read",
    ]);
    for (label, k) in c.approximate() {
        let s = &k.sections;
        table.row(vec![
            name(&label),
            number(significant(k.epsilon, 2)),
            number(count(k.batch as u64)),
            number(amount(k.population)),
            number(amount(s.mean)),
            number(amount(s.p50)),
            number(amount(s.p95)),
            number(amount(s.max)),
            number(percent(s.mean / k.population)),
            number(percent(k.predicted_usage)),
            number(percent(s.fraction_full)),
        ]);
    }
    table
}

/// The decisions that were repeated.
pub(super) fn pairs(k: &KernelComparison) -> Table {
    let mut table =
        Table::new(&["log α", "N sd", "exact", "approx.", "se", "error", "predicted error"]);
    for p in &k.pairs {
        table.row(vec![
            number(signed(p.log_alpha, 2)),
            number(significant(p.sigma, 2)),
            number(fixed(p.p_accept, 3)),
            number(fixed(p.p_approximate, 3)),
            number(fixed(p.p_approximate_se, 3)),
            number(signed(p.p_approximate - p.p_accept, 3)),
            number(signed(p.predicted - p.p_accept, 3)),
        ]);
    }
    table
}

/// Effective draws per second.
pub(super) fn speed<'a>(rows: impl Iterator<Item = &'a (String, f64, f64)>) -> Table {
    let mut table = Table::new(&["quantity", "ess/s exact", "approx.", "times"]);
    for (quantity, exact, approximate) in rows {
        table.row(vec![
            name(quantity),
            number(significant(*exact, 3)),
            number(significant(*approximate, 3)),
            number(times(approximate / exact)),
        ]);
    }
    table
}
