//! p-values: how probable is a result at least as extreme as this one, if the code is right?
//! Nothing here asserts; what to do with a p-value is decided by [`crate::budget`].
//!
//! | test | statistic | law under the hypothesis |
//! |---|---|---|
//! | [`chi_square`] | Σ (o − e)²/e over cells, small ones pooled | χ² with cells − 1 degrees |
//! | [`same_counts`] | the same for two samples of counts | χ² with cells − 1 degrees |
//! | [`ks`], [`ks_two`] | D = sup of the difference of distribution functions | Kolmogorov's, with Stephens' correction λ = (√n + .12 + .11/√n) D, n = ab/(a+b) for two samples |
//! | [`z`] | (x − μ)/s.e. | standard normal, both tails |
//! | [`uniform_ranks`] | χ² over bins of ranks 0..=L | χ² |

use smidgen_value::math;

#[derive(Clone, Debug)]
pub struct PValue {
    pub p: f64,
    /// The statistic and what it was computed from, in words.
    pub report: String,
}

impl PValue {
    pub fn new(p: f64, report: impl Into<String>) -> PValue {
        // A statistic that is not a number is a failure, not a pass.
        let p = if p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) };
        PValue { p, report: report.into() }
    }

    /// The smallest of k p-values, times k: valid whatever their dependence.
    pub fn smallest_of(all: Vec<PValue>) -> PValue {
        let k = all.len() as f64;
        let reports: Vec<String> =
            all.iter().map(|v| format!("{} (p = {:.3e})", v.report, v.p)).collect();
        let least = all.iter().map(|v| v.p).fold(1.0, f64::min);
        PValue::new(least * k, reports.join("; "))
    }
}

/// A cell with fewer expected counts than this is pooled with its neighbours.
const LEAST_EXPECTED: f64 = 5.0;

fn chi_square_tail(statistic: f64, degrees: usize) -> f64 {
    if degrees == 0 {
        return 1.0;
    }
    1.0 - math::gamma_p(0.5 * degrees as f64, 0.5 * statistic)
}

/// Counts against probabilities, cell by cell.
pub fn chi_square(counts: &[u64], probabilities: &[f64]) -> PValue {
    assert_eq!(counts.len(), probabilities.len());
    let n = counts.iter().sum::<u64>() as f64;
    if counts.iter().zip(probabilities).any(|(c, p)| *c > 0 && *p <= 0.0) {
        return PValue::new(0.0, "an impossible cell was hit");
    }
    let mut cells: Vec<(f64, f64)> =
        counts.iter().zip(probabilities).map(|(c, p)| (*c as f64, n * p)).collect();
    cells.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut pooled: Vec<(f64, f64)> = Vec::new();
    let mut open = (0.0, 0.0);
    for (count, expected) in cells {
        open = (open.0 + count, open.1 + expected);
        if open.1 >= LEAST_EXPECTED {
            pooled.push(std::mem::take(&mut open));
        }
    }
    match pooled.last_mut() {
        Some(last) => *last = (last.0 + open.0, last.1 + open.1),
        None => pooled.push(open),
    }
    let statistic: f64 = pooled.iter().map(|(o, e)| (o - e) * (o - e) / e).sum();
    let degrees = pooled.len() - 1;
    let p = chi_square_tail(statistic, degrees);
    PValue::new(p, format!("chi2({degrees}) = {statistic:.2} from {n} draws"))
}

/// Whether two samples of counts come from one law.
pub fn same_counts(a: &[u64], b: &[u64]) -> PValue {
    assert_eq!(a.len(), b.len());
    let (na, nb) = (a.iter().sum::<u64>() as f64, b.iter().sum::<u64>() as f64);
    let share = na / (na + nb);
    let mut cells: Vec<(f64, f64)> = a.iter().zip(b).map(|(x, y)| (*x as f64, *y as f64)).collect();
    cells.sort_by(|x, y| (x.0 + x.1).total_cmp(&(y.0 + y.1)));
    let (mut statistic, mut used, mut open) = (0.0, 0usize, (0.0, 0.0));
    let mut add = |(x, y): (f64, f64)| {
        let (ea, eb) = ((x + y) * share, (x + y) * (1.0 - share));
        statistic += (x - ea) * (x - ea) / ea + (y - eb) * (y - eb) / eb;
        used += 1;
    };
    for (x, y) in cells {
        open = (open.0 + x, open.1 + y);
        if (open.0 + open.1) * share.min(1.0 - share) >= LEAST_EXPECTED {
            add(std::mem::take(&mut open));
        }
    }
    // Cells too small to be tested are left out; they hold fewer than a handful of draws.
    let degrees = used.saturating_sub(1);
    PValue::new(chi_square_tail(statistic, degrees), format!("chi2({degrees}) = {statistic:.2}"))
}

/// P(sup |bridge| > λ)
fn kolmogorov_tail(lambda: f64) -> f64 {
    if lambda < 0.2 {
        return 1.0;
    }
    let mut sum = 0.0;
    for k in 1..=100 {
        let k = f64::from(k);
        let term = math::exp(-2.0 * k * k * lambda * lambda);
        sum += if k % 2.0 == 1.0 { term } else { -term };
        if term < 1e-20 {
            break;
        }
    }
    2.0 * sum
}

fn ks_p(d: f64, n: f64) -> f64 {
    let root = n.sqrt();
    kolmogorov_tail((root + 0.12 + 0.11 / root) * d)
}

/// A sample against a distribution function. Conservative if the law has atoms.
pub fn ks(sample: &[f64], cdf: impl Fn(f64) -> f64) -> PValue {
    let mut xs = sample.to_vec();
    xs.sort_by(f64::total_cmp);
    let n = xs.len() as f64;
    let mut d: f64 = 0.0;
    for (i, x) in xs.iter().enumerate() {
        let f = cdf(*x);
        d = d.max(f - i as f64 / n).max((i + 1) as f64 / n - f);
    }
    PValue::new(ks_p(d, n), format!("KS D = {d:.4} from {n} draws"))
}

/// Whether two samples come from one law. Conservative if the law has atoms.
pub fn ks_two(a: &[f64], b: &[f64]) -> PValue {
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    if a.iter().chain(&b).any(|x| x.is_nan()) {
        return PValue::new(0.0, "a draw is not a number");
    }
    let (na, nb) = (a.len() as f64, b.len() as f64);
    let (mut i, mut j, mut d) = (0, 0, 0.0f64);
    while i < a.len() && j < b.len() {
        let x = a[i].min(b[j]);
        while i < a.len() && a[i] <= x {
            i += 1;
        }
        while j < b.len() && b[j] <= x {
            j += 1;
        }
        d = d.max((i as f64 / na - j as f64 / nb).abs());
    }
    PValue::new(ks_p(d, na * nb / (na + nb)), format!("KS D = {d:.4} from {na} and {nb} draws"))
}

/// A quantity against its expectation, both tails.
pub fn z(value: f64, expected: f64, standard_error: f64) -> PValue {
    let z = if value == expected { 0.0 } else { (value - expected) / standard_error };
    PValue::new(math::erfc(z.abs() / std::f64::consts::SQRT_2), format!("z = {z:.2}"))
}

/// Ranks that should be uniform on 0..=most, in as many equal bins as asked for.
pub fn uniform_ranks(ranks: &[usize], most: usize, bins: usize) -> PValue {
    assert_eq!((most + 1) % bins, 0, "bins of equal size");
    let mut counts = vec![0u64; bins];
    for rank in ranks {
        counts[rank * bins / (most + 1)] += 1;
    }
    chi_square(&counts, &vec![1.0 / bins as f64; bins])
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen_value::Rng;

    #[test]
    fn tails_agree_with_tables() {
        assert!((chi_square_tail(3.841_458_8, 1) - 0.05).abs() < 1e-6);
        assert!((chi_square_tail(30.577_914, 15) - 0.01).abs() < 1e-6);
        assert!((kolmogorov_tail(1.358_1) - 0.05).abs() < 1e-4);
        assert!((z(1.959_964, 0.0, 1.0).p - 0.05).abs() < 1e-6);
        assert_eq!(PValue::new(f64::NAN, "").p, 0.0);
    }

    /// The p-values of a right sample are uniform, those of a wrong one are not.
    #[test]
    fn p_values_are_uniform_under_the_hypothesis() {
        let mut rng = Rng::from_seed(11);
        let mut uniform = |n: usize| (0..n).map(|_| rng.uniform()).collect::<Vec<f64>>();
        let (mut one, mut two, mut chi, mut bent) = (vec![], vec![], vec![], vec![]);
        for _ in 0..400 {
            let xs = uniform(400);
            one.push(ks(&xs, |x| x).p);
            two.push(ks_two(&xs, &uniform(300)).p);
            let ranks: Vec<usize> = xs.iter().map(|x| (x * 64.0) as usize).collect();
            chi.push(uniform_ranks(&ranks, 63, 16).p);
            bent.push(ks(&xs.iter().map(|x| math::pow(*x, 1.3)).collect::<Vec<_>>(), |x| x).p);
        }
        for p in [&one, &two, &chi] {
            assert!(ks(p, |x| x).p > 1e-3, "{:?}", ks(p, |x| x));
        }
        assert!(ks(&bent, |x| x).p < 1e-9);
    }

    #[test]
    fn small_cells_are_pooled_and_impossible_ones_noticed() {
        assert!(chi_square(&[50, 49, 1], &[0.5, 0.49, 0.01]).p > 0.9);
        assert_eq!(chi_square(&[50, 50, 1], &[0.5, 0.5, 0.0]).p, 0.0);
        assert!(same_counts(&[500, 500, 1], &[500, 500, 0]).p > 0.5);
        assert!(same_counts(&[600, 400], &[500, 500]).p < 1e-4);
    }
}
