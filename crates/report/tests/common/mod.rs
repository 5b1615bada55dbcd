//! Made-up comparisons: a typical one, and one with everything that can be odd.

use smidgen_report::comparison::{
    Comparison, KernelComparison, Moments, PairComparison, QuantityComparison, Sections, Speed,
};
use smidgen_report::{Finding, Verdict};
use smidgen_value::math::{PI, cos, exp, ln, sqrt};

type Chains = Vec<Vec<f64>>;

/// Numbers between 0 and 1 that look random.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        sqrt(-2.0 * ln(self.uniform())) * cos(2.0 * PI * self.uniform())
    }

    fn chain(&mut self, mean: f64, sd: f64, rho: f64, n: usize) -> Vec<f64> {
        let mut z = self.normal();
        let mut next = || {
            z = rho * z + sqrt(1.0 - rho * rho) * self.normal();
            mean + sd * z
        };
        (0..n).map(|_| next()).collect()
    }
}

fn moments(chains: &[Vec<f64>], ess_bulk: f64) -> Moments {
    let all = chains.concat();
    let n = all.len() as f64;
    let mean = all.iter().sum::<f64>() / n;
    let sd = sqrt(all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0));
    Moments { mean, sd, mcse: sd / sqrt(ess_bulk), ess_bulk }
}

fn quantity(name: &str, exact: Chains, approximate: Chains) -> QuantityComparison {
    let (e, a) = (moments(&exact, 420.0), moments(&approximate, 1310.0));
    let shift = a.mean - e.mean;
    let sd_ratio = a.sd / e.sd;
    let sd_ratio_z = (sd_ratio - 1.0) / sqrt(0.5 / e.ess_bulk + 0.5 / a.ess_bulk);
    let mean_difference_z = shift / sqrt(e.mcse * e.mcse + a.mcse * a.mcse);
    let verdict = match mean_difference_z.abs().max(sd_ratio_z.abs()) {
        z if z > 6.0 => Verdict::Fail,
        z if z > 3.0 => Verdict::Warn,
        _ => Verdict::Pass,
    };
    QuantityComparison {
        name: name.to_owned(),
        mean_difference: shift / e.sd,
        mean_difference_z,
        sd_ratio,
        sd_ratio_z,
        ks_p: 0.31,
        verdict,
        exact: e,
        approximate: a,
        exact_draws: exact,
        approximate_draws: approximate,
    }
}

fn kernel(text: &str, population: f64, error: f64) -> KernelComparison {
    let mut noise = Noise(9);
    let pair = |k: usize| {
        let log_alpha = 1.0 - 0.5 * k as f64;
        let p_accept = exp(log_alpha).min(1.0);
        let delta = error * (1.0 - 1.9 * p_accept);
        PairComparison {
            log_alpha,
            sigma: 50.0,
            p_accept,
            p_approximate: (p_accept + delta + 0.02 * noise.normal()).clamp(0.0, 1.0),
            p_approximate_se: 0.03,
            predicted: p_accept + delta,
        }
    };
    KernelComparison {
        kernel: text.to_owned(),
        epsilon: 0.05,
        batch: 100,
        transitions: 40_000,
        accepted: 13_204,
        transitions_exact: 40_000,
        accepted_exact: 11_950,
        population,
        sections: Sections {
            mean: 0.19 * population,
            p50: 0.06 * population,
            p95: 0.71 * population,
            max: population,
            fraction_full: 0.031,
        },
        shadow: 2000,
        wrongly_accepted: 47,
        wrongly_rejected: 21,
        disagreement: (0.034, 0.0269, 0.0429),
        predicted_error: 0.037,
        predicted_usage: 0.192,
        pairs: (0..10).map(pair).collect(),
        fallback: None,
        normality: vec![
            "Skewness of batch means is at most 0.08, which the test tolerates.".into(),
        ],
    }
}

/// What a user would see of a logistic regression with a cluster count and a flag.
pub fn typical() -> Comparison {
    let mut noise = Noise(1);
    let mut chains = |mean: f64, sd: f64, rho: f64| -> Chains {
        (0..4).map(|_| noise.chain(mean, sd, rho, 1000)).collect()
    };
    let mut quantities = Vec::new();
    for (k, mean) in [-0.62, 1.37, 0.08].into_iter().enumerate() {
        let wide = if k == 1 { 1.24 } else { 1.01 };
        let (exact, approximate) = (chains(mean, 0.05, 0.8), chains(mean, 0.05 * wide, 0.8));
        quantities.push(quantity(&format!("w[{k}]"), exact, approximate));
    }
    let whole = |draws: Chains| -> Chains {
        draws.into_iter().map(|chain| chain.into_iter().map(f64::round).collect()).collect()
    };
    quantities.push(quantity(
        "clusters",
        whole(chains(6.0, 1.2, 0.5)),
        whole(chains(6.1, 1.2, 0.5)),
    ));
    let positive = |draws: Chains| -> Chains {
        draws.into_iter().map(|chain| chain.into_iter().map(exp).collect()).collect()
    };
    let (exact, approximate) = (chains(8.0, 0.4, 0.6), chains(8.03, 0.4, 0.6));
    quantities.push(quantity("sigma", positive(exact), positive(approximate)));
    let rate = |q: &QuantityComparison| {
        (q.name.clone(), q.exact.ess_bulk / 31.5, q.approximate.ess_bulk / 24.1)
    };
    Comparison {
        program: "[assume w (multivariate_normal (vector 0 0 0) ...)]\n[observe (< 1 2) true]"
            .into(),
        file: "logistic.smg".into(),
        version: "0.1.0".into(),
        seed: 20,
        chains: 4,
        warmup: 500,
        draws: 1000,
        approximate_kernel: "(subsampled_mh w one drift(0.1) 0.05 100 10)".into(),
        exact_kernel: "(mh w one drift(0.1) 10)".into(),
        kernels: vec![
            kernel("(subsampled_mh w one drift(0.1) 0.05 100 10)", 12_214.0, 0.07),
            kernel("(subsampled_mh sigma one 0.01 100 1)", 3000.0, 0.01),
            KernelComparison {
                kernel: "(subsampled_mh z one 0.01 100 1)".into(),
                fallback: Some("each choice has a single section".into()),
                ..KernelComparison::default()
            },
        ],
        speed: Speed {
            exact_seconds: 31.5,
            approximate_seconds: 24.1,
            transitions_ratio: 4.12,
            sections_ratio: 5.26,
            ess_per_second: quantities.iter().map(rate).collect(),
        },
        mmd: Some((0.00123, 0.002)),
        findings: vec![
            Finding { verdict: Verdict::Warn, text: "KS p of sigma is 0.03.".into() },
            Finding {
                verdict: Verdict::Fail,
                text:
                    "The standard deviation of w[1] is 1.24 times the exact one, outside of 0.9 to \
                       1.1 and 10.6 standard errors from 1."
                        .into(),
            },
        ],
        verdict: Verdict::Fail,
        warnings: vec!["too few effective draws of `w[0]`: draw more (--draws).".into()],
        quantities,
    }
}

/// Everything that a run can produce but a plot cannot show.
#[allow(dead_code)]
pub fn odd() -> Comparison {
    let nan = f64::NAN;
    let inf = f64::INFINITY;
    let constant = vec![vec![2.5; 50]; 2];
    let infinite = vec![vec![1.0, inf, -inf, nan, 2.0, 3.5], vec![]];
    let huge = vec![vec![1e308, -1e308, f64::MAX, 5e-324, 0.0]];
    let tiny = vec![vec![5e-324, 1e-310, 0.0, 2e-300]];
    let close: Vec<f64> = (0..40).map(|k| 1e9 + 1e-7 * f64::from(k)).collect();
    let draws: Vec<(&str, Chains, Chains)> = vec![
        ("constant", constant.clone(), constant.clone()),
        ("moved once", constant.clone(), vec![vec![2.5, 2.5, 3.0]]),
        ("infinite", infinite.clone(), infinite),
        ("huge", huge.clone(), huge),
        ("tiny", tiny.clone(), tiny),
        ("close", vec![close.clone()], vec![close]),
        ("<script>alert(\"&\")</script>", vec![], vec![vec![]]),
        ("one", vec![vec![0.3]], vec![vec![0.3]]),
        ("flags", vec![vec![0.0, 1.0]], vec![vec![1.0]]),
    ];
    let mut quantities: Vec<QuantityComparison> = draws
        .into_iter()
        .map(|(name, exact, approximate)| quantity(name, exact, approximate))
        .collect();
    for k in 0..20 {
        let mut more = quantity(&format!("more[{k}]"), vec![vec![1.0, 2.5]], vec![vec![0.5, 2.0]]);
        (more.mean_difference, more.sd_ratio, more.ks_p) = (nan, inf, nan);
        more.verdict = Verdict::Pass;
        quantities.push(more);
    }
    let unknown = KernelComparison {
        kernel: "(a 'kernel' with <odd> \"text\" & a very long name that goes on and on 0.05)"
            .into(),
        epsilon: nan,
        population: inf,
        sections: Sections { mean: nan, p50: 0.0, p95: inf, max: nan, fraction_full: nan },
        disagreement: (nan, nan, nan),
        predicted_error: inf,
        predicted_usage: nan,
        pairs: vec![
            PairComparison { log_alpha: -inf, p_approximate_se: nan, ..PairComparison::default() },
            PairComparison { p_accept: nan, p_approximate: inf, ..PairComparison::default() },
        ],
        shadow: 1,
        ..KernelComparison::default()
    };
    Comparison {
        file: "a \"strange\" & <odd> file\u{1b}.smg".into(),
        kernels: vec![unknown, KernelComparison::default()],
        speed: Speed {
            exact_seconds: nan,
            approximate_seconds: inf,
            transitions_ratio: 0.4,
            sections_ratio: 0.0,
            ess_per_second: vec![
                ("a".into(), inf, 0.0),
                ("b".into(), nan, -1.0),
                ("c".into(), 2.0, 1.0),
            ],
        },
        mmd: Some((nan, nan)),
        quantities,
        ..Comparison::default()
    }
}
