//! How well a program predicts data that it has not seen, one unit of data left out at a time.
//!
//! elpd = Σ_i log p(y_i | y_−i) is estimated from the draws of one run (PSIS-LOO: Vehtari, Gelman, Gabry 2017): draw s
//! of the posterior is one of the posterior without y_i with weight 1/p(y_i | θ_s), smoothed by [`crate::psis`]. Models
//! are compared by the difference of their elpd, unit by unit, whose standard error is √(n Var(d_i)).

use smidgen_value::math;

use crate::Draws;
use crate::diagnostics::ess_mean;
use crate::psis;

/// The log likelihood of every unit of data in every draw.
#[derive(Clone, Debug, Default)]
pub struct Pointwise {
    /// Of the units: `y[17]`.
    pub names: Vec<String>,
    /// Chain by chain, draw by draw, unit by unit.
    pub chains: Vec<Vec<Vec<f64>>>,
}

impl Pointwise {
    pub fn draws(&self) -> usize {
        self.chains.iter().map(Vec::len).sum()
    }

    /// The log likelihoods of one unit, over all chains.
    pub fn unit(&self, unit: usize) -> Vec<f64> {
        self.chains.iter().flatten().map(|draw| draw[unit]).collect()
    }
}

/// What is known about one unit of data.
#[derive(Clone, Debug, PartialEq)]
pub struct LooUnit {
    pub name: String,
    /// log p(y_i | y_−i)
    pub elpd: f64,
    pub k_hat: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Loo {
    pub units: Vec<LooUnit>,
    /// The sum over units, and its standard error.
    pub elpd: f64,
    pub se: f64,
    /// The effective number of parameters: how much better the units are predicted with themselves.
    pub p_loo: f64,
    pub draws: usize,
    /// The efficiency of the draws that was reckoned with.
    pub efficiency: f64,
}

impl Loo {
    /// Above this, k̂ says that the estimate for a unit is not to be trusted.
    pub fn largest_good_k(&self) -> f64 {
        (1.0 - 1.0 / (math::ln(self.draws as f64) / std::f64::consts::LN_10)).min(0.7)
    }

    /// The units whose estimate is not to be trusted.
    pub fn bad(&self) -> Vec<&LooUnit> {
        let most = self.largest_good_k();
        self.units.iter().filter(|unit| unit.k_hat > most || unit.k_hat.is_nan()).collect()
    }

    /// What to say about them.
    pub fn warnings(&self) -> Vec<String> {
        let bad = self.bad();
        if bad.is_empty() {
            return Vec::new();
        }
        let some: Vec<&str> = bad.iter().take(5).map(|unit| unit.name.as_str()).collect();
        let more = if bad.len() > some.len() { ", ..." } else { "" };
        vec![format!(
            "{} of {} units have k_hat above {:.2}: they change the posterior so much that leaving them out cannot be told from these draws ({}{more}). The sum is too optimistic there; look at these units, or leave them out and sample again",
            bad.len(),
            self.units.len(),
            self.largest_good_k(),
            some.join(", "),
        )]
    }
}

/// How many independent draws one is worth, over all quantities; 1 for a single chain.
pub fn relative_efficiency(draws: &Draws) -> f64 {
    let scalars = draws.scalars();
    let n: usize = scalars.first().map_or(0, |scalar| scalar.chains.iter().map(Vec::len).sum());
    let several = scalars.iter().any(|scalar| scalar.chains.len() > 1);
    let sizes: Vec<f64> =
        scalars.iter().map(|s| ess_mean(&s.chains)).filter(|e| e.is_finite()).collect();
    match several && !sizes.is_empty() && n > 0 {
        true => sizes.iter().sum::<f64>() / sizes.len() as f64 / n as f64,
        false => 1.0,
    }
}

/// The estimate. A unit that is impossible in some draw has elpd −∞.
pub fn loo(pointwise: &Pointwise, efficiency: f64) -> Loo {
    let draws = pointwise.draws();
    let mut lppd = 0.0;
    let mut units = Vec::with_capacity(pointwise.names.len());
    for (i, name) in pointwise.names.iter().enumerate() {
        let log_p = pointwise.unit(i);
        lppd += math::logsumexp(&log_p) - math::ln(draws as f64);
        let ratios: Vec<f64> = log_p.iter().map(|x| -x).collect();
        let (elpd, k_hat) = match ratios.iter().all(|x| x.is_finite()) {
            false => (f64::NEG_INFINITY, f64::INFINITY),
            true => {
                let (weights, k_hat) = psis::smooth(&ratios, efficiency);
                let terms: Vec<f64> = weights.iter().zip(&log_p).map(|(w, l)| w + l).collect();
                (math::logsumexp(&terms), k_hat)
            }
        };
        units.push(LooUnit { name: name.clone(), elpd, k_hat });
    }
    let each: Vec<f64> = units.iter().map(|unit| unit.elpd).collect();
    let (elpd, se) = sum_and_se(&each);
    Loo { units, elpd, se, p_loo: lppd - elpd, draws, efficiency }
}

/// Σ x_i and √(n Var(x_i)).
fn sum_and_se(xs: &[f64]) -> (f64, f64) {
    let n = xs.len() as f64;
    let sum: f64 = xs.iter().sum();
    let mean = sum / n;
    let squares: f64 = xs.iter().map(|x| (x - mean) * (x - mean)).sum();
    (sum, math::sqrt(squares))
}

/// A model among others.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Which of them.
    pub model: usize,
    pub elpd: f64,
    pub se: f64,
    pub p_loo: f64,
    /// elpd of the best minus this one's, and the standard error of that.
    pub difference: f64,
    pub difference_se: f64,
    /// Its share of the mixture of all models that predicts best (stacking).
    pub weight: f64,
}

/// Models of the same data, the best first. An error says how the data differ.
pub fn compare(models: &[Loo]) -> Result<Vec<Compared>, String> {
    let Some(first) = models.first() else { return Ok(Vec::new()) };
    for other in models {
        if other.units.len() != first.units.len() {
            return Err(format!(
                "the models are of different data: {} and {} units",
                first.units.len(),
                other.units.len()
            ));
        }
    }
    let weights = stacking(models);
    let best = (0..models.len()).max_by(|a, b| models[*a].elpd.total_cmp(&models[*b].elpd));
    let best = &models[best.unwrap_or(0)];
    let compared = |(model, (loo, weight)): (usize, (&Loo, f64))| {
        let pairs = best.units.iter().zip(&loo.units);
        let differences: Vec<f64> = pairs.map(|(best, own)| best.elpd - own.elpd).collect();
        let (difference, difference_se) = sum_and_se(&differences);
        let Loo { elpd, se, p_loo, .. } = *loo;
        Compared { model, elpd, se, p_loo, difference, difference_se, weight }
    };
    let mut rows: Vec<Compared> = models.iter().zip(weights).enumerate().map(compared).collect();
    rows.sort_by(|a, b| b.elpd.total_cmp(&a.elpd));
    Ok(rows)
}

/// Weights w that maximise Σ_i log Σ_k w_k p_k(y_i | y_−i), by the steps of EM for a mixture.
fn stacking(models: &[Loo]) -> Vec<f64> {
    const STEPS: usize = 20_000;
    const CLOSE: f64 = 1e-12;
    let n = models[0].units.len();
    let densities: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let most = models.iter().map(|m| m.units[i].elpd).fold(f64::NEG_INFINITY, f64::max);
            models.iter().map(|m| math::exp(m.units[i].elpd - most)).collect()
        })
        .filter(|row: &Vec<f64>| row.iter().all(|x| !x.is_nan()))
        .collect();
    let mut weights = vec![1.0 / models.len() as f64; models.len()];
    for _ in 0..STEPS {
        let mut next = vec![0.0; models.len()];
        for row in &densities {
            let total: f64 = row.iter().zip(&weights).map(|(p, w)| p * w).sum();
            for ((next, p), w) in next.iter_mut().zip(row).zip(&weights) {
                *next += p * w / total / densities.len() as f64;
            }
        }
        let moved = next.iter().zip(&weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        weights = next;
        if moved < CLOSE {
            break;
        }
    }
    weights
}
