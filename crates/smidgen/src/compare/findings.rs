//! What a comparison comes to (theory 5.2). A difference of the posterior that is no chance and
//! matters fails; one that is no chance, a kernel that should not be trusted, and too few draws to
//! tell are to be looked at.

use smidgen_infer::austerity::{Check, Trust, student_t_critical};
use smidgen_report::comparison::{KernelComparison, QuantityComparison};
use smidgen_report::{Comparison, Finding, Verdict};

use crate::sampling::Sampled;

/// A shift of a mean by more exact standard deviations matters.
const SHIFT: f64 = 0.1;
/// So does a ratio of standard deviations outside of this.
const RATIOS: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// A shift that the draws could hide: from here on they say too little.
const HIDDEN: f64 = 0.5;
/// With fewer effective draws the exact run is nothing to compare with.
const LEAST: f64 = 40.0;
/// The chance that any of all quantities is flagged by chance, at most; and the level of a single
/// test, which is three standard errors.
const FALSE_ALARM: f64 = 0.01;
const LEVEL: f64 = 0.00135;
const CLEAR: f64 = 3.0;
/// Of the tests of whole distributions.
const DIFFERENT: f64 = 1e-4;
const DIFFERENT_TOGETHER: f64 = 0.01;
/// Share of wrong decisions from which on the posterior is at risk, and below which it is not.
const WRONG: f64 = 0.05;
const RIGHT: f64 = 0.02;

/// Sets all verdicts and says why. `checks` are the worst ones of the compared kernels.
pub fn judge(comparison: &mut Comparison, checks: &[Option<Check>]) {
    let level = level(comparison.quantities.len());
    let mut findings = Vec::new();
    findings.extend(posterior(&mut comparison.quantities, level));
    findings.extend(together(comparison));
    for (kernel, check) in comparison.kernels.iter().zip(checks) {
        findings.extend(decisions(kernel, *check));
    }
    findings.extend(unexplained(comparison, &findings));
    comparison.verdict = findings.iter().map(|f| f.verdict).max().unwrap_or_default();
    comparison.findings = findings;
}

/// The level of each test, one-sided, with two of them for each quantity.
fn level(quantities: usize) -> f64 {
    LEVEL.min(FALSE_ALARM / (4.0 * quantities.max(1) as f64))
}

/// Standard errors that are no chance. Errors estimated from few effective draws are uncertain
/// themselves, hence Student's distribution.
fn clear(q: &QuantityComparison, level: f64) -> f64 {
    let known = [q.exact.ess_bulk, q.approximate.ess_bulk];
    // NaN, or too few: nothing is clear.
    if !known.iter().all(|ess| *ess >= 2.0) {
        return f64::INFINITY;
    }
    student_t_critical(known[0].min(known[1]) - 1.0, level)
}

fn finding(verdict: Verdict, text: String) -> Finding {
    Finding { verdict, text }
}

// ---------------------------------------------------------------- the posterior

/// What is wrong with one quantity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Shifted,
    Spread,
    /// Clear, but too small to matter.
    Small,
    Shape,
    TooFew,
}

impl Trouble {
    fn verdict(self) -> Verdict {
        match self {
            Trouble::Shifted | Trouble::Spread => Verdict::Fail,
            Trouble::Small | Trouble::Shape | Trouble::TooFew => Verdict::Warn,
        }
    }
}

fn troubles(q: &QuantityComparison, level: f64) -> Vec<Trouble> {
    if q.exact.sd > 0.0 && (q.exact.ess_bulk.is_nan() || q.exact.ess_bulk < LEAST) {
        return vec![Trouble::TooFew];
    }
    let clear = clear(q, level);
    let (shifted, spread) = (q.mean_difference_z.abs() > clear, q.sd_ratio_z.abs() > clear);
    let mut found = Vec::new();
    if shifted && q.mean_difference.abs() > SHIFT {
        found.push(Trouble::Shifted);
    }
    if spread && !RATIOS.contains(&q.sd_ratio) {
        found.push(Trouble::Spread);
    }
    if found.is_empty() && (shifted || spread) {
        found.push(Trouble::Small);
    }
    if found.is_empty() && q.ks_p < DIFFERENT {
        found.push(Trouble::Shape);
    }
    let still = q.exact.sd == 0.0 && q.approximate.sd == 0.0;
    let hidden = CLEAR * q.exact.mcse.hypot(q.approximate.mcse) / q.exact.sd;
    if found.is_empty() && !still && (hidden.is_nan() || hidden > HIDDEN) {
        found.push(Trouble::TooFew);
    }
    found
}

fn posterior(quantities: &mut [QuantityComparison], level: f64) -> Vec<Finding> {
    let mut found: Vec<(Trouble, &QuantityComparison)> = Vec::new();
    for q in quantities.iter_mut() {
        let troubles = troubles(q, level);
        q.verdict = troubles.iter().map(|t| t.verdict()).max().unwrap_or_default();
    }
    for q in quantities.iter() {
        found.extend(troubles(q, level).into_iter().map(|trouble| (trouble, q)));
    }
    let sentence = |trouble: Trouble,
                    begin: &str,
                    remark: &dyn Fn(&QuantityComparison) -> String,
                    end: &str| {
        let of_it = found.iter().filter(|(t, _)| *t == trouble);
        let named: Vec<String> =
            of_it.map(|(_, q)| format!("{} ({})", q.name, remark(q))).collect();
        let names = listed(&named)?;
        Some(finding(trouble.verdict(), format!("{begin} {names}{end}")))
    };
    let shift = |q: &QuantityComparison| {
        format!("{:+.2} sd, {:.1} standard errors", q.mean_difference, q.mean_difference_z.abs())
    };
    let ratio = |q: &QuantityComparison| {
        format!("{:.2} times the exact sd, {:.1} standard errors", q.sd_ratio, q.sd_ratio_z.abs())
    };
    let both = |q: &QuantityComparison| {
        format!("mean {:+.2} sd, sd {:.2} times", q.mean_difference, q.sd_ratio)
    };
    let p = |q: &QuantityComparison| format!("p {:.0e}", q.ks_p);
    let ess = |q: &QuantityComparison| {
        format!("{:.0} exact, {:.0} approximate", q.exact.ess_bulk, q.approximate.ess_bulk)
    };
    [
        sentence(Trouble::Shifted, "the posterior mean is shifted:", &shift, ""),
        sentence(Trouble::Spread, "the posterior spread is wrong:", &ratio, ""),
        sentence(Trouble::Small, "differences that are small, but no chance:", &both, ""),
        sentence(Trouble::Shape, "mean and sd agree, but the distributions differ:", &p, ""),
        sentence(
            Trouble::TooFew,
            "too few effective draws to compare",
            &ess,
            &format!(
                ": a shift by {HIDDEN} sd could go unnoticed; draw more (--draws, --thin) or use a kernel that moves further"
            ),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The first few, and how many more; nothing if there are none.
fn listed(names: &[String]) -> Option<String> {
    const SHOWN: usize = 4;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len() {
        0 => None,
        n if n <= SHOWN => Some(shown),
        n => Some(format!("{shown} and {} more", n - SHOWN)),
    }
}

fn together(c: &Comparison) -> Option<Finding> {
    let (_, p) = c.mmd.filter(|(_, p)| *p < DIFFERENT_TOGETHER)?;
    let text = format!("all quantities taken together, the two samples differ (MMD, p {p:.3})");
    Some(finding(Verdict::Warn, text))
}

// ---------------------------------------------------------------- decisions

fn decisions(k: &KernelComparison, check: Option<Check>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut warn = |text: String| findings.push(finding(Verdict::Warn, text));
    let name = &k.kernel;
    if let Some(why) = &k.fallback {
        warn(format!("{name} ran exactly in both runs, so nothing of it is compared: {why}"));
        return findings;
    }
    let (rate, low, _) = k.disagreement;
    let remedy = "use a larger batch or a smaller epsilon";
    let percent = |share: f64| format!("{:.*} %", usize::from(share < 0.1), 100.0 * share);
    if low > 1.5 * k.predicted_error + 0.01 {
        warn(format!(
            "{name} decides wrongly in {} of {} checked transitions, where theory says {}: the means of its batches are not as normal as the test assumes; a larger batch may help, a smaller epsilon hardly",
            percent(rate),
            k.shadow,
            percent(k.predicted_error)
        ));
    } else if low > WRONG {
        let (rate, checked) = (percent(rate), k.shadow);
        warn(format!(
            "{name} decides wrongly in {rate} of {checked} checked transitions: {remedy}"
        ));
    } else if k.predicted_error > WRONG {
        let rate = percent(k.predicted_error);
        warn(format!("{name} decides wrongly in {rate} of transitions by theory: {remedy}"));
    }
    if let Some(check) = check.filter(|check| check.trust() > Trust::Fine) {
        let how = if check.trust() == Trust::Refuse { "should" } else { "may" };
        let why = check.reasons().into_iter().next().unwrap_or_default();
        warn(format!("the decisions of {name} {how} not be trusted: {why}"));
    }
    findings
}

/// Wrong decisions cannot be the cause if there are none. Checked decisions read the same sections,
/// so they do not notice if these are the wrong ones; the posterior does.
fn unexplained(c: &Comparison, findings: &[Finding]) -> Option<Finding> {
    let fails = findings.iter().any(|finding| finding.verdict == Verdict::Fail);
    let mut checked = c.kernels.iter().filter(|k| k.fallback.is_none());
    let right = !c.kernels.is_empty()
        && checked.all(|k| k.disagreement.2 < RIGHT && k.predicted_error < RIGHT);
    (fails && right).then(|| {
        finding(
            Verdict::Warn,
            "the posterior differs although hardly any decision was wrong: one of the runs has not settled (try a longer --warmup and another --seed), or this is a bug of smidgen, which you should report".to_owned(),
        )
    })
}

// ---------------------------------------------------------------- warnings of the runs

/// What the runs said, but for what the findings about these kernels say better.
pub fn warnings(
    approximate: &Sampled,
    exact: &Sampled,
    kernels: &[KernelComparison],
) -> Vec<String> {
    let said_of = |k: &KernelComparison, warning: &str| {
        let ran_exactly = ["makes the exact transition: ", "stays exact: "];
        let about = warning.strip_prefix(k.kernel.as_str()).map(str::trim_start);
        warning.starts_with(&format!("the decisions of {} ", k.kernel))
            || k.fallback.is_some()
                && about.is_some_and(|about| ran_exactly.iter().any(|how| about.starts_with(how)))
    };
    let new = |warning: &&String| {
        !warning.starts_with("too few effective draws")
            && !kernels.iter().any(|k| said_of(k, warning))
    };
    let [approximate, exact] = [&approximate.run.warnings, &exact.run.warnings];
    let mut warnings: Vec<String> = Vec::new();
    for warning in approximate.iter().filter(new) {
        let both = exact.contains(warning);
        warnings.push(if both { warning.clone() } else { format!("approximate run: {warning}") });
    }
    let only_exact = exact.iter().filter(new).filter(|warning| !approximate.contains(warning));
    warnings.extend(only_exact.map(|warning| format!("exact run: {warning}")));
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen_report::comparison::Moments;

    fn quantity(shift: f64, shift_z: f64, ratio: f64, ratio_z: f64) -> QuantityComparison {
        let moments = Moments { mean: 0.0, sd: 1.0, mcse: 0.05, ess_bulk: 400.0 };
        QuantityComparison {
            name: "x".to_owned(),
            exact: moments.clone(),
            approximate: moments,
            mean_difference: shift,
            mean_difference_z: shift_z,
            sd_ratio: ratio,
            sd_ratio_z: ratio_z,
            ks_p: 0.5,
            ..QuantityComparison::default()
        }
    }

    fn judged(quantities: Vec<QuantityComparison>, kernels: Vec<KernelComparison>) -> Comparison {
        let mut comparison = Comparison { quantities, kernels, ..Comparison::default() };
        judge(&mut comparison, &[None]);
        comparison
    }

    #[test]
    fn what_is_clear_and_matters_fails() {
        for (q, verdict) in [
            (quantity(0.05, 1.0, 1.02, 0.5), Verdict::Pass),
            (quantity(0.3, 2.5, 1.2, 2.0), Verdict::Pass),
            (quantity(0.3, -4.0, 1.0, 0.0), Verdict::Fail),
            (quantity(0.0, 0.0, 0.8, -5.0), Verdict::Fail),
            (quantity(0.05, 4.0, 1.0, 0.0), Verdict::Warn),
            (quantity(0.0, 0.0, 1.05, 4.0), Verdict::Warn),
        ] {
            let found = judged(vec![q.clone()], Vec::new());
            assert_eq!((found.verdict, found.quantities[0].verdict), (verdict, verdict), "{q:?}");
            assert_eq!(found.findings.len(), usize::from(verdict != Verdict::Pass));
        }
    }

    #[test]
    fn too_few_draws_do_not_pass() {
        for (mcse, ess) in [(0.2, 400.0), (f64::NAN, 400.0), (0.05, 5.0), (0.05, f64::NAN)] {
            let mut q = quantity(0.3, 1.0, 1.0, 0.0);
            (q.exact.mcse, q.exact.ess_bulk) = (mcse, ess);
            let found = judged(vec![q], Vec::new());
            assert_eq!(found.verdict, Verdict::Warn);
            assert!(found.findings[0].text.contains("too few"), "{}", found.findings[0].text);
        }
    }

    #[test]
    fn many_quantities_need_clearer_differences() {
        let standard_errors = |quantities: usize, ess: f64| {
            let mut q = quantity(0.0, 0.0, 1.0, 0.0);
            q.approximate.ess_bulk = ess;
            q.exact.ess_bulk = 1e6;
            clear(&q, level(quantities))
        };
        for (quantities, ess, wanted) in
            [(1, 1e6, 3.0), (500, 1e6, 4.417), (1, 12.0, 3.845), (1, f64::NAN, f64::INFINITY)]
        {
            let found = standard_errors(quantities, ess);
            assert!(found == wanted || (found - wanted).abs() < 0.01, "{found} for {wanted}");
        }
        let many: Vec<_> = (0..500).map(|_| quantity(0.3, 5.0, 1.0, 0.0)).collect();
        let found = judged(many, Vec::new());
        assert_eq!(found.findings.len(), 1);
        assert!(found.findings[0].text.contains("and 496 more"), "{}", found.findings[0].text);
    }

    #[test]
    fn a_difference_without_wrong_decisions_is_suspicious() {
        let words = |high: f64| {
            let disagreement = (0.5 * high, 0.0, high);
            let kernel =
                KernelComparison { shadow: 500, disagreement, ..KernelComparison::default() };
            let found = judged(vec![quantity(0.0, 0.0, 0.7, -9.0)], vec![kernel]);
            assert_eq!(found.verdict, Verdict::Fail);
            found.findings.iter().map(|f| f.text.clone()).collect::<Vec<_>>().join("\n")
        };
        assert!(words(0.01).contains("hardly any decision was wrong"));
        assert!(!words(0.04).contains("hardly any decision was wrong"));
    }

    #[test]
    fn kernels_are_judged_by_their_decisions() {
        let fine = KernelComparison {
            kernel: "(subsampled_mh w all 100 0.01 1)".to_owned(),
            shadow: 400,
            disagreement: (0.01, 0.005, 0.025),
            predicted_error: 0.012,
            ..KernelComparison::default()
        };
        let words = |k: KernelComparison| -> Vec<String> {
            judged(Vec::new(), vec![k]).findings.into_iter().map(|f| f.text).collect()
        };
        assert!(words(fine.clone()).is_empty());
        let wrong = KernelComparison {
            disagreement: (0.2, 0.16, 0.24),
            predicted_error: 0.19,
            ..fine.clone()
        };
        assert!(words(wrong)[0].contains("wrongly in 20 % of 400"));
        let odd = KernelComparison { disagreement: (0.2, 0.16, 0.24), ..fine.clone() };
        assert!(words(odd)[0].contains("where theory says 1.2 %"));
        let by_theory = KernelComparison { predicted_error: 0.3, ..fine.clone() };
        assert!(words(by_theory)[0].contains("by theory"));
        let exact = KernelComparison { fallback: Some("epsilon is 0".to_owned()), ..fine };
        assert!(words(exact)[0].contains("ran exactly in both runs"));
    }
}
