//! What a statistician wants to be told, in sentences: what was compared, how wrong the
//! approximation is, what that does to the posterior, how much was saved, and whether it pays.

use super::{Comparison, KernelComparison, PairComparison, QuantityComparison};
use crate::number::{amount, count, fixed, p_value, percent, plural, signed, significant, times};
use crate::{Finding, Verdict};

/// Beyond so many standard errors a difference is not chance.
const CLEAR: f64 = 3.0;

pub(super) fn title(c: &Comparison) -> String {
    let what = "Approximate against exact";
    if c.file.is_empty() { what.to_owned() } else { format!("{what}: {}", c.file) }
}

/// The report in a paragraph or two.
pub(super) fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut sentences = vec![compared(comparison)];
    let labels = comparison.labels();
    sentences.extend(labels.iter().zip(&comparison.kernels).map(|(label, k)| decisions(label, k)));
    let approximate = comparison.approximate();
    sentences.extend(approximate.iter().filter_map(|(label, k)| acceptance(label, k)));
    sentences.extend(posterior(&comparison.quantities));
    sentences.extend(comparison.mmd.map(together));
    sentences.extend(approximate.iter().filter_map(|(label, k)| usage(label, k)));
    sentences.extend(speed(comparison));
    sentences
}

fn compared(c: &Comparison) -> String {
    format!(
        "{} was sampled with the approximate {} and with the exact {}: {} each, {} warm-up and {} \
         draws per chain, seed {}.",
        if c.file.is_empty() { "The program" } else { &c.file },
        c.approximate_kernel,
        c.exact_kernel,
        plural(c.chains as u64, "chain"),
        count(c.warmup as u64),
        count(c.draws as u64),
        c.seed
    )
}

/// A sentence begins with a capital letter, but a kernel's own text is left as it is.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Why a kernel was not approximate after all.
pub(super) fn fallback(label: &str, k: &KernelComparison) -> Option<String> {
    let why = k.fallback.as_ref()?.trim_end_matches('.');
    Some(format!("{} ran exactly: {why}.", introduced(label, k)))
}

/// The first mention of a kernel.
fn introduced(label: &str, k: &KernelComparison) -> String {
    if label == k.kernel { label.to_owned() } else { format!("{}, {},", capital(label), k.kernel) }
}

/// How often the test decided otherwise.
fn decisions(label: &str, k: &KernelComparison) -> String {
    if let Some(text) = fallback(label, k) {
        return text;
    }
    let name = introduced(label, k);
    if k.shadow == 0 {
        return format!("{name} had no decision checked against the exact one.");
    }
    let (rate, low, high) = k.disagreement;
    let wrong = k.wrongly_accepted + k.wrongly_rejected;
    let mut text = format!(
        "{} decided {} of {} checked transitions otherwise than the exact test: {} (95% interval {} \
         to {})",
        name,
        count(wrong),
        count(k.shadow),
        percent(rate),
        percent(low),
        percent(high)
    );
    if wrong > 0 {
        text += &format!(
            ", {} wrongly accepted and {} wrongly rejected",
            count(k.wrongly_accepted),
            count(k.wrongly_rejected)
        );
    }
    text += ".";
    let predicted = percent(k.predicted_error);
    if k.predicted_error < low {
        text += &format!(
            " Theory predicts only {predicted}: the means of its batches are not as normal as the \
             test assumes, or the predicted pairs are not typical."
        );
    } else if k.predicted_error > high {
        text += &format!(" Theory predicts {predicted}, more than was seen.");
    } else if !k.predicted_error.is_nan() {
        text += &format!(" Theory predicts {predicted}, which agrees.");
    }
    text
}

/// What the test does to acceptance probabilities.
fn acceptance(label: &str, k: &KernelComparison) -> Option<String> {
    if k.pairs.is_empty() {
        return None;
    }
    let mean = |of: &dyn Fn(&PairComparison) -> f64| {
        k.pairs.iter().map(of).sum::<f64>() / k.pairs.len() as f64
    };
    let error = |p: &PairComparison| p.p_approximate - p.p_accept;
    let largest = k.pairs.iter().map(|p| error(p).abs()).fold(0.0, f64::max);
    Some(format!(
        "Repeated many times, {} of {label} are accepted with a probability that is off by {} on \
         average and by {} at most (theory: {} on average).",
        plural(k.pairs.len() as u64, "proposal"),
        fixed(mean(&|p| error(p).abs()), 3),
        fixed(largest, 3),
        fixed(mean(&|p| (p.predicted - p.p_accept).abs()), 3)
    ))
}

/// What the approximation does to the posterior.
fn posterior(quantities: &[QuantityComparison]) -> Vec<String> {
    let largest = quantities
        .iter()
        .filter(|q| !q.mean_difference.is_nan())
        .max_by(|a, b| a.mean_difference.abs().total_cmp(&b.mean_difference.abs()));
    let ratios = || quantities.iter().map(|q| q.sd_ratio).filter(|ratio| !ratio.is_nan());
    let (narrowest, widest) =
        (ratios().fold(f64::INFINITY, f64::min), ratios().fold(f64::NEG_INFINITY, f64::max));
    let mut sentences = Vec::new();
    if let Some(q) = largest {
        sentences.push(format!(
            "Posterior means differ by at most {} exact standard deviations ({}, {} Monte Carlo \
             standard errors); the approximate standard deviations are {} times the exact ones.",
            significant(q.mean_difference.abs(), 2),
            q.name,
            fixed(q.mean_difference_z.abs(), 1),
            match narrowest == widest {
                true => fixed(widest, 2),
                false => format!("{} to {}", fixed(narrowest, 2), fixed(widest, 2)),
            }
        ));
    }
    sentences.extend(bias(quantities));
    // What the error of both runs would hide, at the usual number of standard errors.
    let hidden =
        |q: &QuantityComparison| CLEAR * q.exact.mcse.hypot(q.approximate.mcse) / q.exact.sd;
    let hidden = quantities.iter().map(hidden).filter(|h| h.is_finite()).fold(f64::NAN, f64::max);
    if hidden.is_finite() {
        sentences.push(format!(
            "With this many draws, a shift of a mean by less than {} standard deviations could go \
             unnoticed{}.",
            significant(hidden, 2),
            if hidden > 0.5 { ": draw more before you trust a pass" } else { "" }
        ));
    }
    sentences
}

/// Says plainly what is biased, and how.
fn bias(quantities: &[QuantityComparison]) -> Vec<String> {
    let suspects: Vec<&QuantityComparison> =
        quantities.iter().filter(|q| q.verdict == Verdict::Fail).collect();
    let of = |chosen: &dyn Fn(&QuantityComparison) -> bool,
              remark: &dyn Fn(&QuantityComparison) -> String| {
        let named: Vec<String> = suspects
            .iter()
            .filter(|q| chosen(q))
            .map(|q| format!("{} ({})", q.name, remark(q)))
            .collect();
        listed(&named)
    };
    let mut sentences = Vec::new();
    let ratio = |q: &QuantityComparison| format!("{} times", fixed(q.sd_ratio, 2));
    let clear = |q: &QuantityComparison| q.sd_ratio_z.abs() > CLEAR;
    if let Some(names) = of(&|q| clear(q) && q.sd_ratio > 1.0, &ratio) {
        sentences.push(format!("The approximate posterior is too wide for {names}."));
    }
    if let Some(names) = of(&|q| clear(q) && q.sd_ratio < 1.0, &ratio) {
        sentences.push(format!("The approximate posterior is too narrow for {names}."));
    }
    let shift = |q: &QuantityComparison| format!("{} sd", signed(q.mean_difference, 2));
    if let Some(names) = of(&|q| q.mean_difference_z.abs() > CLEAR, &shift) {
        sentences.push(format!("The approximate mean is biased for {names}."));
    }
    sentences
}

/// The first few, and how many more; nothing if there are none.
fn listed(names: &[String]) -> Option<String> {
    const SHOWN: usize = 3;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => None,
        n if n <= SHOWN => Some(shown),
        n => Some(format!("{shown} and {} more", n - SHOWN)),
    }
}

fn together((mmd, p): (f64, f64)) -> String {
    format!(
        "Taken together, the two samples {} (MMD² {}, permutation p {}).",
        match p {
            p if p.is_nan() => "could not be compared",
            p if p < 0.01 => "differ by more than chance",
            _ => "cannot be told apart",
        },
        significant(mmd, 2),
        p_value(p)
    )
}

/// How much of the data was read.
fn usage(label: &str, k: &KernelComparison) -> Option<String> {
    if k.fallback.is_some() || k.sections.mean.is_nan() || k.population.is_nan() {
        return None;
    }
    Some(format!(
        "A transition of {} read {} of {} sections on average ({}{}); {} of transitions read everything.",
        label,
        amount(k.sections.mean),
        amount(k.population),
        percent(k.sections.mean / k.population),
        match k.predicted_usage.is_nan() {
            true => String::new(),
            false => format!(", predicted {}", percent(k.predicted_usage)),
        },
        percent(k.sections.fraction_full)
    ))
}

/// Whether it pays.
fn speed(c: &Comparison) -> Vec<String> {
    let speed = &c.speed;
    let mut sentences = Vec::new();
    // Two exact runs differ in speed by chance only.
    if !c.kernels.is_empty() && c.approximate().is_empty() {
        return sentences;
    }
    let faster = |ratio: f64| match ratio {
        r if r >= 1.05 => format!("{} times as many", times(r)),
        r if r > 0.95 => "about as many".to_owned(),
        r => format!("only {} times as many", times(r)),
    };
    if speed.transitions_ratio > 0.0 {
        sentences.push(format!(
            "The approximation made {} transitions per second{}.",
            faster(speed.transitions_ratio),
            match speed.sections_ratio {
                r if r.is_nan() => String::new(),
                r if r > 1.0 => format!(", each reading {} times fewer sections", times(r)),
                _ => ", each reading no fewer sections".to_owned(),
            }
        ));
    }
    let mut gains: Vec<f64> = (speed.ess_per_second.iter())
        .map(|(_, exact, approximate)| approximate / exact)
        .filter(|gain| gain.is_finite())
        .collect();
    gains.sort_unstable_by(f64::total_cmp);
    let (Some(&least), Some(&most)) = (gains.first(), gains.last()) else { return sentences };
    let median = smidgen_draws::quantile::quantile_of_sorted(&gains, 0.5);
    sentences.push(match times(least) == times(most) {
        true => format!("It made {} effective draws per second as the exact kernel.", faster(median)),
        false => format!(
            "It made {} effective draws per second as the exact kernel (median over quantities; from \
             {} to {} times).",
            faster(median),
            times(least),
            times(most)
        ),
    });
    if median < 1.0 {
        sentences.push(
            "The approximation does not pay here: per second, the exact kernel gives more effective \
             draws."
                .to_owned(),
        );
    } else if c.verdict == Verdict::Fail {
        sentences.push(
            "The gain does not count as long as the posterior is wrong: effective draws of a biased \
             chain are effective draws of something else."
                .to_owned(),
        );
    }
    sentences
}

/// What the verdict means.
pub(super) fn verdict(c: &Comparison) -> String {
    let of = |verdict: Verdict| {
        c.findings.iter().filter(|finding| finding.verdict == verdict).count() as u64
    };
    match c.verdict {
        Verdict::Pass => "no difference that this many draws could show".to_owned(),
        other if of(other) == 0 => "see above".to_owned(),
        Verdict::Warn => format!("{} to look at", plural(of(Verdict::Warn), "finding")),
        Verdict::Fail => {
            format!("{} against the approximation", plural(of(Verdict::Fail), "finding"))
        }
    }
}

/// The gravest first.
pub(super) fn findings(c: &Comparison) -> Vec<Finding> {
    let mut findings = c.findings.clone();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    findings
}
