//! Whether the mean of a mini-batch can be trusted to be normal, judged on all log weights of one
//! proposal. Costs O(N) and is meant for trial runs only.
//!
//! The size of the effect decides. A batch of m has skewness γ1/√m and excess kurtosis γ2/m left,
//! and the studentised mean falls below −G with probability about
//!
//!   ε + |γ1| (2G² + 1) φ(G)/(6√m),  G = Φ⁻¹(1 − ε)
//!
//! on its worse side, hence the least batch [|γ1| (2G² + 1) φ(G)/(6 r ε)]² for a distortion of at
//! most r = ½. A formal test (Anderson–Darling on the means of 500 subsamples) is only a note: with
//! enough subsamples it rejects anything. A heavy tail that is not among the values is invisible.

use smidgen_value::{Rng, bytes_of_fields, math};

use super::moments::{Shape, Tail};
use super::normality::anderson_darling;
use super::tails::{normal_density, normal_quantile};

/// How many subsamples, and how many values at most they may take together.
const SUBSAMPLES: usize = 500;
const MOST_VALUES: usize = 20_000_000;
/// The tolerated relative distortion r of ε.
const DISTORTION: f64 = 0.5;

/// What a population of log weights means for batches of a given size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    pub population: usize,
    pub batch: usize,
    pub epsilon: f64,
    pub skewness: f64,
    /// Excess kurtosis.
    pub kurtosis: f64,
    /// The largest |l − mean| / sd.
    pub largest: f64,
    pub tail: Option<Tail>,
    /// Of the means of subsamples.
    pub anderson_darling_p: f64,
    /// The error of one look on its worse side, ε if the mean were normal.
    pub edgeworth: f64,
    /// From here on that error is at most 1.5 ε.
    pub least_batch: usize,
}

bytes_of_fields!(Check {
    population,
    batch,
    epsilon,
    skewness,
    kurtosis,
    largest,
    tail,
    anderson_darling_p,
    edgeworth,
    least_batch,
});

/// How far to trust the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    Fine,
    Doubtful,
    Refuse,
}

/// Checks all log weights of one proposal.
pub fn check(values: &[f64], batch: usize, epsilon: f64, rng: &mut Rng) -> Check {
    let shape = Shape::of(values);
    let batch = batch.max(1);
    // A batch of everything is exact, and without spread the test never stops.
    let nothing_to_distrust = batch >= values.len() || shape.sd == 0.0;
    let finite = shape.sd.is_finite();
    let distortion = shape.skewness.abs() * distortion_factor(epsilon);
    let least_batch = math::pow(distortion / (DISTORTION * epsilon), 2.0).ceil() as usize;
    let mut check = Check {
        population: values.len(),
        batch,
        epsilon,
        skewness: shape.skewness,
        kurtosis: shape.kurtosis,
        largest: shape.largest,
        tail: shape.tail,
        anderson_darling_p: 1.0,
        edgeworth: epsilon,
        least_batch: least_batch.clamp(1, values.len().max(1)),
    };
    if !nothing_to_distrust && finite {
        check.edgeworth += distortion / math::sqrt(batch as f64);
        check.anderson_darling_p = anderson_darling(&subsample_means(values, batch, rng)).p;
    }
    check
}

/// (2G² + 1) φ(G)/6.
fn distortion_factor(epsilon: f64) -> f64 {
    if epsilon <= 0.0 || epsilon >= 0.5 {
        return 0.0;
    }
    let g = normal_quantile(epsilon);
    (2.0 * g * g + 1.0) * normal_density(g) / 6.0
}

/// Means of independent batches drawn without replacement.
fn subsample_means(values: &[f64], batch: usize, rng: &mut Rng) -> Vec<f64> {
    let (population, mut values) = (values.len(), values.to_vec());
    let count = (MOST_VALUES / batch).clamp(50, SUBSAMPLES);
    let mut mean = || {
        let mut sum = 0.0;
        for i in 0..batch {
            let j = i + rng.below(population - i);
            values.swap(i, j);
            sum += values[i];
        }
        sum / batch as f64
    };
    (0..count).map(|_| mean()).collect()
}

impl Check {
    /// The verdict, by the worst of the findings.
    pub fn trust(&self) -> Trust {
        self.findings().iter().map(|(trust, _)| *trust).max().unwrap_or(Trust::Fine)
    }

    /// What speaks against the test, in sentences, worst first; notes that alone are no reason for
    /// doubt come last.
    pub fn reasons(&self) -> Vec<String> {
        let mut findings = self.findings();
        findings.sort_by(|(a, _), (b, _)| b.cmp(a));
        findings.into_iter().map(|(_, reason)| reason).collect()
    }

    fn findings(&self) -> Vec<(Trust, String)> {
        // Everything is read, or nothing varies.
        if self.batch >= self.population || self.largest == 0.0 {
            return Vec::new();
        }
        [self.tail(), self.skew(), self.peak(), self.outlier(), self.first_look(), self.formal()]
            .into_iter()
            .flatten()
            .collect()
    }

    fn tail(&self) -> Option<(Trust, String)> {
        let tail = self.tail?;
        let (trust, consequence) = match tail.upper() {
            upper if upper < 2.0 => (
                Trust::Refuse,
                "below 2): a few of them carry the variance, and no mini-batch estimates it",
            ),
            upper if upper < 3.0 => {
                (Trust::Doubtful, "below 3): the mean of a mini-batch becomes normal only slowly")
            }
            _ => return None,
        };
        let index = tail.index;
        let reason =
            format!("the log weights have a heavy tail (Hill index {index:.1}, {consequence}");
        Some((trust, reason))
    }

    fn skew(&self) -> Option<(Trust, String)> {
        let left = self.skewness.abs() / math::sqrt(self.batch as f64);
        let trust = grade(left, 0.25, 1.0)?;
        let (skewness, batch) = (self.skewness, self.batch);
        Some((
            trust,
            format!(
                "the log weights are skewed ({skewness:.1}), and the mean of a mini-batch of {batch} still is ({left:.2}): wrong decisions on one side are more frequent than epsilon says"
            ),
        ))
    }

    fn peak(&self) -> Option<(Trust, String)> {
        let left = self.kurtosis / self.batch as f64;
        let trust = grade(left, 0.5, 5.0)?;
        let (kurtosis, batch) = (self.kurtosis, self.batch);
        Some((
            trust,
            format!(
                "the excess kurtosis of the log weights is {kurtosis:.0}, {left:.1} in the mean of a mini-batch of {batch}: its standard error is often far too small"
            ),
        ))
    }

    fn outlier(&self) -> Option<(Trust, String)> {
        if self.largest.is_infinite() {
            let reason = "some log weights are infinite: a mini-batch without them decides as if they were not there";
            return Some((Trust::Refuse, reason.to_string()));
        }
        (self.largest > math::sqrt(self.batch as f64)).then(|| {
            let (largest, batch) = (self.largest, self.batch);
            let reason = format!(
                "the largest log weight lies {largest:.0} standard deviations from the mean: a mini-batch of {batch} rarely sees it"
            );
            (Trust::Doubtful, reason)
        })
    }

    fn first_look(&self) -> Option<(Trust, String)> {
        (self.least_batch > self.batch).then(|| {
            let Check { batch, epsilon, least_batch, .. } = self;
            // The expansion means nothing beyond.
            let error = self.edgeworth.min(0.5);
            let remedy = if *least_batch < self.population {
                let bound = (1.0 + DISTORTION) * epsilon;
                format!("a first look at {least_batch} would keep it below {bound:.3}")
            } else {
                "no first look short of everything would do".to_string()
            };
            let reason = format!(
                "one look at {batch} errs on its worse side with probability {error:.3} where {epsilon} is asked for; {remedy}"
            );
            (Trust::Fine, reason)
        })
    }

    fn formal(&self) -> Option<(Trust, String)> {
        (self.anderson_darling_p < 0.01).then(|| {
            let (batch, p) = (self.batch, self.anderson_darling_p.max(1e-20));
            let reason = format!(
                "the means of mini-batches of {batch} can be told from normal ones (Anderson-Darling, p = {p:.0e})"
            );
            (Trust::Fine, reason)
        })
    }
}

fn grade(effect: f64, doubtful: f64, refuse: f64) -> Option<Trust> {
    match effect {
        effect if effect > refuse => Some(Trust::Refuse),
        effect if effect > doubtful => Some(Trust::Doubtful),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
