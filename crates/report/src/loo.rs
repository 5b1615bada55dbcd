//! Leaving out, as text: one model, or several compared.

use std::fmt::Write as _;

use smidgen_draws::loo::{Compared, Loo};

/// The estimate of one model, for a terminal.
pub fn loo_text(found: &Loo) -> String {
    let mut text = String::new();
    let units = found.units.len();
    let _ = writeln!(text, "elpd_loo {:>10.3}  se {:.3}", found.elpd, found.se);
    let _ = writeln!(text, "p_loo    {:>10.3}  {units} units, {} draws", found.p_loo, found.draws);
    let most = found.units.iter().max_by(|a, b| a.k_hat.total_cmp(&b.k_hat));
    if let Some(worst) = most {
        let _ = writeln!(text, "k_hat at most {:.3}, at {}", worst.k_hat, worst.name);
    }
    for warning in found.warnings() {
        let _ = writeln!(text, "warning: {}", warning);
    }
    text
}

/// Several models, the best first, and the verdict.
pub fn models_text(compared: &[Compared], models: &[Loo], names: &[String]) -> String {
    let mut text = String::new();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let _ = writeln!(
        text,
        "{:width$}  {:>10}  {:>7}  {:>8}  {:>7}  {:>7}  {:>6}",
        "", "elpd_loo", "se", "diff", "diff_se", "p_loo", "weight"
    );
    for row in compared {
        let Compared { elpd, se, difference, difference_se, p_loo, weight, model } = row;
        let name = &names[*model];
        let _ = writeln!(
            text,
            "{name:width$}  {elpd:>10.2}  {se:>7.2}  {difference:>8.2}  {difference_se:>7.2}  {p_loo:>7.2}  {weight:>6.3}"
        );
    }
    if let [best, second, ..] = compared {
        let _ = writeln!(text, "\n{}", verdict(best, second, names));
    }
    for (loo, name) in models.iter().zip(names) {
        for warning in loo.warnings() {
            let _ = writeln!(text, "warning: {name}: {}", warning);
        }
    }
    text
}

fn verdict(best: &Compared, second: &Compared, names: &[String]) -> String {
    let (name, other) = (&names[best.model], &names[second.model]);
    let Compared { difference, difference_se, .. } = second;
    if *difference < 4.0 {
        return format!(
            "{name} and {other} predict about equally well (a difference below 4 is small)"
        );
    }
    match *difference > 2.0 * difference_se {
        true => format!("{name} predicts better than {other}"),
        false => format!(
            "{name} may predict better than {other}, but the difference is within two of its standard errors"
        ),
    }
}
