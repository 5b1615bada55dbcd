//! Pareto smoothed importance sampling (Vehtari, Simpson, Gelman, Yao, Gabry 2024).
//!
//! The largest M of S importance ratios are replaced by the expected order statistics of a generalised Pareto
//! distribution that is fitted to them,
//!
//! M = min(S/5, 3 √(S/r)),   F⁻¹(p) = u + σ ((1 − p)^−k − 1)/k,   p = (j − ½)/M,
//!
//! where r is the efficiency of the draws relative to independent ones and u the largest ratio that is not in the
//! tail. k̂ says how far to trust the result. The fit is that of Zhang and Stephens (2009) with the weak prior
//! of the paper: k and σ follow from one parameter b, which is averaged over a grid by its profile likelihood.

use smidgen_value::math;

/// Log weights that are smoothed and sum to 1, and k̂ (infinite if the tail is too short to be fitted).
pub fn smooth(log_ratios: &[f64], efficiency: f64) -> (Vec<f64>, f64) {
    let mut x = log_ratios.to_vec();
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    x.iter_mut().for_each(|x| *x -= largest);
    let n = x.len() as f64;
    let tail = (n / 5.0).min(3.0 * math::sqrt(n / efficiency)).ceil() as usize;
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|a, b| x[*a].total_cmp(&x[*b]));
    let mut k = f64::INFINITY;
    if x.len() > tail {
        let last = x[order[x.len() - tail - 1]].max(math::ln(f64::MIN_POSITIVE));
        let ends: Vec<usize> = order.into_iter().filter(|i| x[*i] > last).collect();
        if ends.len() > 4 {
            k = smooth_tail(&mut x, &ends, last);
        }
    }
    let total = math::logsumexp(&x);
    x.iter_mut().for_each(|x| *x -= total);
    (x, k)
}

/// Replaces the log weights at these places, which are in rising order, and gives k̂.
fn smooth_tail(x: &mut [f64], places: &[usize], last: f64) -> f64 {
    let below = math::exp(last);
    let excess: Vec<f64> = places.iter().map(|i| math::exp(x[*i]) - below).collect();
    let (k, scale) = fit(&excess);
    if k.is_finite() && scale > 0.0 {
        let m = places.len() as f64;
        for (j, place) in places.iter().enumerate() {
            let log_rest = math::ln_1p(-(j as f64 + 0.5) / m);
            let quantile = match k.abs() < f64::EPSILON {
                true => -log_rest,
                false => math::expm1(-k * log_rest) / k,
            };
            x[*place] = math::ln(scale * quantile + below).min(0.0);
        }
    }
    k
}

/// k and σ of a generalised Pareto distribution of these excesses, in rising order.
pub fn fit(excess: &[f64]) -> (f64, f64) {
    const PRIOR_B: f64 = 3.0;
    const PRIOR_K: f64 = 10.0;
    let n = excess.len() as f64;
    let points = 30 + math::sqrt(n) as usize;
    let quarter = excess[((n / 4.0 + 0.5) as usize).max(1) - 1];
    let largest = excess[excess.len() - 1];
    let mean_log = |b: f64| excess.iter().map(|x| math::ln_1p(-b * x)).sum::<f64>() / n;
    let grid: Vec<(f64, f64)> = (1..=points)
        .map(|j| {
            let b = (1.0 - math::sqrt(points as f64 / (j as f64 - 0.5))) / (PRIOR_B * quarter)
                + 1.0 / largest;
            let k = mean_log(b);
            (b, n * (math::ln(-(b / k)) - k - 1.0))
        })
        .collect();
    let weight = |l: f64| 1.0 / grid.iter().map(|(_, other)| math::exp(other - l)).sum::<f64>();
    let weighed = grid.iter().map(|(b, l)| (*b, weight(*l)));
    let weighed: Vec<(f64, f64)> = weighed.filter(|(_, w)| *w >= 10.0 * f64::EPSILON).collect();
    let total: f64 = weighed.iter().map(|(_, w)| w).sum();
    let b = weighed.iter().map(|(b, w)| b * w / total).sum::<f64>();
    let k = mean_log(b);
    ((n * k + PRIOR_K * 0.5) / (n + PRIOR_K), -k / b)
}
