//! A comparison for other programs: the same fields under the same names, without the draws.
//! JSON has no infinities and no NaN; they are the strings "inf", "-inf" and "nan".

use serde_json::{Value, json};

use super::{Comparison, KernelComparison, Moments, PairComparison, QuantityComparison};
use crate::Verdict;

fn number(x: f64) -> Value {
    match x {
        x if x.is_nan() => json!("nan"),
        x if x.is_infinite() => json!(if x > 0.0 { "inf" } else { "-inf" }),
        x => json!(x),
    }
}

fn verdict(verdict: Verdict) -> Value {
    json!(verdict.word().to_lowercase())
}

pub fn comparison_json(comparison: &Comparison) -> Value {
    let c = comparison;
    let findings = c.findings.iter();
    let findings = findings.map(|f| json!({ "verdict": verdict(f.verdict), "text": f.text }));
    let rates = c.speed.ess_per_second.iter().map(|(name, exact, approximate)| {
        json!({ "name": name, "exact": number(*exact), "approximate": number(*approximate) })
    });
    json!({
        "verdict": verdict(c.verdict),
        "findings": findings.collect::<Vec<_>>(),
        "warnings": c.warnings,
        "file": c.file,
        "program": c.program,
        "version": c.version,
        "seed": c.seed,
        "chains": c.chains,
        "warmup": c.warmup,
        "draws": c.draws,
        "approximate_kernel": c.approximate_kernel,
        "exact_kernel": c.exact_kernel,
        "kernels": c.kernels.iter().map(kernel).collect::<Vec<_>>(),
        "quantities": c.quantities.iter().map(quantity).collect::<Vec<_>>(),
        "speed": {
            "exact_seconds": number(c.speed.exact_seconds),
            "approximate_seconds": number(c.speed.approximate_seconds),
            "transitions_ratio": number(c.speed.transitions_ratio),
            "sections_ratio": number(c.speed.sections_ratio),
            "ess_per_second": rates.collect::<Vec<_>>(),
        },
        "mmd": c.mmd.map(|(mmd, p)| json!({ "mmd2": number(mmd), "p": number(p) })),
    })
}

fn kernel(k: &KernelComparison) -> Value {
    let (rate, low, high) = k.disagreement;
    json!({
        "kernel": k.kernel,
        "epsilon": number(k.epsilon),
        "batch": k.batch,
        "transitions": k.transitions,
        "accepted": k.accepted,
        "transitions_exact": k.transitions_exact,
        "accepted_exact": k.accepted_exact,
        "population": number(k.population),
        "sections": {
            "mean": number(k.sections.mean),
            "p50": number(k.sections.p50),
            "p95": number(k.sections.p95),
            "max": number(k.sections.max),
            "fraction_full": number(k.sections.fraction_full),
        },
        "shadow": k.shadow,
        "wrongly_accepted": k.wrongly_accepted,
        "wrongly_rejected": k.wrongly_rejected,
        "disagreement": { "rate": number(rate), "low": number(low), "high": number(high) },
        "predicted_error": number(k.predicted_error),
        "predicted_usage": number(k.predicted_usage),
        "pairs": k.pairs.iter().map(pair).collect::<Vec<_>>(),
        "fallback": k.fallback,
        "normality": k.normality,
    })
}

fn pair(p: &PairComparison) -> Value {
    json!({
        "log_alpha": number(p.log_alpha),
        "sigma": number(p.sigma),
        "p_accept": number(p.p_accept),
        "p_approximate": number(p.p_approximate),
        "p_approximate_se": number(p.p_approximate_se),
        "predicted": number(p.predicted),
    })
}

fn moments(m: &Moments) -> Value {
    json!({
        "mean": number(m.mean),
        "sd": number(m.sd),
        "mcse": number(m.mcse),
        "ess_bulk": number(m.ess_bulk),
    })
}

fn quantity(q: &QuantityComparison) -> Value {
    json!({
        "name": q.name,
        "exact": moments(&q.exact),
        "approximate": moments(&q.approximate),
        "mean_difference": number(q.mean_difference),
        "mean_difference_z": number(q.mean_difference_z),
        "sd_ratio": number(q.sd_ratio),
        "sd_ratio_z": number(q.sd_ratio_z),
        "ks_p": number(q.ks_p),
        "verdict": verdict(q.verdict),
    })
}
