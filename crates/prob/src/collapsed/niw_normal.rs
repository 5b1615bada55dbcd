//! Vectors of unknown mean and covariance, in d dimensions: Sigma ~ inv_wishart(S0, v0),
//! mu ~ multivariate normal with mean m0 and covariance Sigma / k0, each application multivariate
//! normal with mean mu and covariance Sigma.
//!
//! `make_collapsed_multivariate_normal` integrates both out. After n vectors of average x and
//! scatter C about it the posterior has the same form with
//!
//! * k = k0 + n, v = v0 + n, m = m0 + (n / k) (x - m0),
//!   S = S0 + C + (k0 n / k) (x - m0)(x - m0)'.
//!
//! The next vector is multivariate t with v - d + 1 degrees of freedom, location m and shape
//! S (k + 1) / (k (v - d + 1)); with w = sqrt(k / (k + 1)) (x - m), G the gamma function and G_d
//! the multivariate one,
//!
//! * log p(x) = -(d/2) log pi + log G((v + 1)/2) - log G((v + 1 - d)/2) - log|S| / 2
//!   + (d/2) log(k / (k + 1)) - ((v + 1)/2) log(1 + w' S^-1 w);
//! * log p(x_1..x_n) = -(n d/2) log pi + log G_d(v/2) - log G_d(v0/2) + (v0/2) log|S0|
//!   - (v/2) log|S| + (d/2) log(k0 / k).
//!
//! Sums are kept in twice the working precision, so no origin has to be chosen and long runs of
//! `add` and `remove` do not drift. The Cholesky factor of S is computed when it is first needed and then
//! follows: a vector that comes adds (k / (k + 1)) (x - m)(x - m)' to S, one that goes takes
//! (k / (k - 1)) (x - m)(x - m)' away, each a change of rank one in O(d^2). It is computed afresh from the sums
//! after so many changes, and where taking away would lose too many digits.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use smidgen_value::math::{self, LN_PI};
use smidgen_value::{ArgumentError, Matrix, Rng, Value};

use super::counted::{Law, Made, Summary, admit_vector, counted, log_predictive_without};
use super::draw;
use super::suff_stat::LARGEST;
use super::wide::Wide;
use crate::arguments;
use crate::linalg::{cholesky, log_det_from_cholesky};
use crate::procedure::{Args, Arity, Spec};
use crate::support::Support;

// ---------------------------------------------------------------- what was drawn

/// Number, sum and sum of outer products (lower triangle, row by row) of vectors.
#[derive(Clone)]
pub(super) struct Sums {
    pub(super) n: usize,
    sum: Vec<Wide>,
    products: Vec<Wide>,
    pub(super) outside: usize,
}

impl Sums {
    pub(super) fn new(dimension: usize) -> Sums {
        let products = vec![Wide::default(); dimension * (dimension + 1) / 2];
        Sums { n: 0, sum: vec![Wide::default(); dimension], products, outside: 0 }
    }

    pub(super) fn dimension(&self) -> usize {
        self.sum.len()
    }

    /// The numbers of a vector that can be counted here.
    fn inside<'a>(&self, x: &'a Value) -> Option<&'a [f64]> {
        as_point(x, self.dimension())
    }

    fn update(&mut self, x: &[f64], change: impl Fn(Wide, Wide) -> Wide) {
        let mut products = self.products.iter_mut();
        for (i, a) in x.iter().enumerate() {
            self.sum[i] = change(self.sum[i], Wide::new(*a));
            for (b, product) in x[..=i].iter().zip(&mut products) {
                *product = change(*product, Wide::product(*a, *b));
            }
        }
    }

    /// The average less `origin`.
    pub(super) fn mean_from(&self, origin: &[f64]) -> Vec<f64> {
        let n = self.n as f64;
        let parts = self.sum.iter().zip(origin);
        parts.map(|(sum, o)| sum.over(n).minus(Wide::new(*o)).value()).collect()
    }

    /// Entry (i, j), j <= i, of the scatter about the average.
    pub(super) fn scatter(&self, i: usize, j: usize) -> f64 {
        if self.n < 2 {
            return 0.0;
        }
        let square = self.sum[i].times(self.sum[j]).over(self.n as f64);
        self.products[i * (i + 1) / 2 + j].minus(square).value()
    }
}

pub(super) fn as_point(x: &Value, dimension: usize) -> Option<&[f64]> {
    match x {
        Value::Vector(x) => {
            let fits = x.len() == dimension && x.iter().all(|x| x.abs() <= LARGEST);
            fits.then(|| x.as_slice())
        }
        _ => None,
    }
}

impl Summary for Sums {
    const EXACT: bool = false;

    fn add(&mut self, x: &Value) {
        // Nothing counted yet: the dimension is that of the first vector.
        if self.count() == 0
            && let Value::Vector(x) = x
            && x.len() != self.dimension()
        {
            *self = Sums::new(x.len());
        }
        match self.inside(x) {
            Some(x) => {
                self.n += 1;
                self.update(x, Wide::plus);
            }
            None => self.outside += 1,
        }
    }

    fn remove(&mut self, x: &Value) {
        match self.inside(x) {
            Some(x) => {
                self.n -= 1;
                if self.n == 0 {
                    self.sum.fill(Wide::default());
                    self.products.fill(Wide::default());
                } else {
                    self.update(x, Wide::minus);
                }
            }
            None => self.outside -= 1,
        }
    }

    fn count(&self) -> usize {
        self.n + self.outside
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        admit_vector(x)
    }
}

/// Whether two parameters are the same: by address first, by content if need be.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b,
        (Value::Vector(a), Value::Vector(b)) if Arc::ptr_eq(a, b) => true,
        (Value::Matrix(a), Value::Matrix(b)) if Arc::ptr_eq(a, b) => true,
        (Value::Array(a), Value::Array(b)) if Arc::ptr_eq(a, b) => true,
        _ => a == b,
    }
}

/// y' y
pub(super) fn square_norm(y: &[f64]) -> f64 {
    y.iter().map(|y| y * y).sum()
}

/// L z, added to `start` with a factor.
pub(super) fn combine(start: &[f64], lower: &Matrix, z: &[f64], factor: f64) -> Vec<f64> {
    let along = |i: usize| (0..=i).map(|j| lower.get(i, j) * z[j]).sum::<f64>();
    (0..start.len()).map(|i| start[i] + factor * along(i)).collect()
}

pub(super) fn standard_normals(n: usize, rng: &mut Rng) -> Vec<f64> {
    (0..n).map(|_| draw::standard_normal(rng)).collect()
}

// ---------------------------------------------------------------- parameters integrated out

pub(super) struct Prior<'a> {
    pub(super) mean: Cow<'a, [f64]>,
    pub(super) k: f64,
    pub(super) v: f64,
    scale: &'a Matrix,
}

impl<'a> Prior<'a> {
    /// All but the positive definiteness of the scale matrix, which takes a factorisation.
    pub(super) fn read(params: Args<'a>) -> Result<Prior<'a>, ArgumentError> {
        let mean = arguments::reals(params, 0)?;
        if mean.is_empty() || !mean.iter().all(|x| x.is_finite()) {
            let expected = "a mean of finite numbers, of dimension 1 or more";
            return Err(ArgumentError::domain(0, expected, params[0]));
        }
        let k = arguments::positive(params, 1, "a positive weight of the mean")?;
        let expected = "degrees of freedom above the dimension less 1";
        let v = arguments::number_where(params, 2, expected, |v| {
            v > mean.len() as f64 - 1.0 && v.is_finite()
        })?;
        let scale = arguments::matrix(params, 3)?;
        if scale.rows() != mean.len() || scale.cols() != mean.len() {
            let expected = "a square matrix of the dimension of the mean";
            return Err(ArgumentError::domain(3, expected, params[3]));
        }
        Ok(Prior { mean, k, v, scale })
    }

    pub(super) fn factor(&self, params: Args<'_>) -> Result<Matrix, ArgumentError> {
        cholesky(self.scale).ok_or_else(|| {
            ArgumentError::domain(3, "a symmetric positive definite matrix", params[3])
        })
    }

    pub(super) fn dimension(&self) -> usize {
        self.mean.len()
    }
}

/// A prior that was found valid.
#[derive(Clone)]
struct Checked {
    params: [Value; 4],
    dimension: usize,
    k: f64,
    v: f64,
    factor: Matrix,
    log_det: f64,
}

/// The predictive of one prior and one summary, ready to evaluate.
#[derive(Clone)]
struct Predictive {
    dimension: usize,
    k: f64,
    v: f64,
    log_det: f64,
    /// The log density at the location.
    peak: f64,
    /// The same without one of the vectors counted, whichever it is.
    peak_without: f64,
    /// (v + 1) / 2 and k / (k + 1).
    power: f64,
    shrinkage: f64,
    /// The location; the factor for solving, column by column, with the inverse of the diagonal entry
    /// and what is below it; scratch.
    numbers: Vec<f64>,
    /// Changes since the factor was computed.
    changes: u32,
}

impl Predictive {
    fn new(prior: &Checked, seen: &Sums) -> Result<Predictive, ArgumentError> {
        let d = prior.dimension;
        let mut numbers = Vec::with_capacity(2 * d + d * (d + 1) / 2);
        let mean = prior.params[0].to_reals().expect("the mean was checked");
        let n = seen.n as f64;
        let mut predictive = if seen.n == 0 {
            numbers.extend_from_slice(&mean);
            pack(&prior.factor, &mut numbers);
            Predictive::of(prior, n, prior.log_det, numbers)
        } else {
            let Value::Matrix(scale) = &prior.params[3] else { unreachable!("it was checked") };
            let k = prior.k + n;
            let offset = seen.mean_from(&mean);
            let weight = prior.k * n / k;
            let posterior = Matrix::from_fn(d, d, |i, j| {
                let (i, j) = if i < j { (j, i) } else { (i, j) };
                scale.get(i, j) + seen.scatter(i, j) + weight * offset[i] * offset[j]
            });
            let factor = cholesky(&posterior).ok_or_else(|| {
                let expected = "a matrix that stays positive definite beside the data";
                ArgumentError::domain(3, expected, &prior.params[3])
            })?;
            numbers.extend(mean.iter().zip(&offset).map(|(m, o)| m + n / k * o));
            pack(&factor, &mut numbers);
            Predictive::of(prior, n, log_det_from_cholesky(&factor), numbers)
        };
        predictive.numbers.resize(2 * d + d * (d + 1) / 2, 0.0);
        Ok(predictive)
    }

    fn of(prior: &Checked, n: f64, log_det: f64, numbers: Vec<f64>) -> Predictive {
        let (dimension, k, v) = (prior.dimension, prior.k + n, prior.v + n);
        let mut predictive = Predictive {
            dimension,
            k,
            v,
            log_det,
            peak: 0.0,
            peak_without: 0.0,
            power: 0.0,
            shrinkage: 0.0,
            numbers,
            changes: 0,
        };
        predictive.find_peak();
        predictive
    }

    fn find_peak(&mut self) {
        let half_d = 0.5 * self.dimension as f64;
        let gammas = |v: f64| math::ln_gamma_ratio(0.5 * (v + 1.0) - half_d, half_d);
        let same = -half_d * LN_PI - 0.5 * self.log_det;
        self.peak = gammas(self.v) + same - half_d * math::ln_1p(1.0 / self.k);
        self.peak_without = gammas(self.v - 1.0) + same + half_d * math::ln_1p(-1.0 / self.k);
        self.power = 0.5 * (self.v + 1.0);
        self.shrinkage = self.k / (self.k + 1.0);
    }

    fn mean(&self) -> &[f64] {
        &self.numbers[..self.dimension]
    }

    /// Location, factor, scratch.
    #[inline]
    fn parts(&mut self) -> (&mut [f64], &mut [f64], &mut [f64]) {
        let d = self.dimension;
        let (mean, rest) = self.numbers.split_at_mut(d);
        let (columns, scratch) = rest.split_at_mut(d * (d + 1) / 2);
        (mean, columns, scratch)
    }

    /// The location and L z with a factor.
    fn at(&self, z: &[f64], factor: f64) -> Vec<f64> {
        let (mut x, mut place) = (self.mean().to_vec(), self.dimension);
        for (j, z) in z.iter().enumerate() {
            x[j] += factor * z / self.numbers[place];
            for (below, entry) in x[j + 1..].iter_mut().zip(&self.numbers[place + 1..]) {
                *below += factor * z * entry;
            }
            place += self.dimension - j;
        }
        x
    }

    /// (x - m)' S^-1 (x - m): the squared size of L^-1 (x - m), found column by column, so that the
    /// entries below can be worked on at once.
    #[inline]
    fn square_distance(&mut self, x: &[f64]) -> f64 {
        // The same in two dimensions, where the loops would cost more than the work.
        if let ([x, y], [m, n, a, b, c, ..]) = (x, &self.numbers[..]) {
            let first = (x - m) * a;
            let second = (y - n - b * first) * c;
            return first * first + second * second;
        }
        let (mean, columns, scratch) = self.parts();
        for ((y, x), mean) in scratch.iter_mut().zip(x).zip(mean) {
            *y = x - *mean;
        }
        let (mut rest, mut columns, mut total) = (scratch, &columns[..], 0.0);
        while let Some((first, below)) = rest.split_first_mut() {
            let (column, others) = columns.split_at(below.len() + 1);
            let solved = *first * column[0];
            total += solved * solved;
            for (y, entry) in below.iter_mut().zip(&column[1..]) {
                *y -= entry * solved;
            }
            (rest, columns) = (below, others);
        }
        total
    }

    #[inline]
    fn log_density(&mut self, x: &[f64]) -> f64 {
        let distance = self.square_distance(x) * self.shrinkage;
        // The plain logarithm is off by at most 1e-16 where ln_1p would be better, and much faster.
        self.peak - self.power * math::ln(1.0 + distance)
    }

    /// The log predictive of x given all but x, from the factor that has x in it: with S the
    /// matrix without x, |S| = |S'| (1 - w' S'^-1 w), w = sqrt(k / (k - 1)) (x - m). None where
    /// the difference would lose too many digits.
    fn log_leave_one_out(&mut self, x: &[f64]) -> Option<f64> {
        let taken = self.square_distance(x) * (self.k / (self.k - 1.0));
        if taken.is_nan() || taken > 1.0 - LEAST_LEFT {
            return None;
        }
        Some(self.peak_without + 0.5 * (self.v - 1.0) * math::ln_1p(-taken))
    }

    /// One more vector (sign 1), or one less (sign -1), of n in the end: with w the direction, every
    /// column in turn becomes L_j' = (L_j + sign s w) / c with s = w_j / L_jj, c^2 = 1 + sign s^2 (and c L_jj
    /// on the diagonal), and w becomes c w - s L_j'. |S| grows by the product of all c^2. None where too
    /// many digits would be lost.
    fn change(&mut self, x: &[f64], sign: f64, prior: &Checked, n: f64) -> Option<()> {
        self.changes += 1;
        if self.changes > MOST_CHANGES {
            return None;
        }
        let after = self.k + sign;
        let weight = math::sqrt(self.k / after);
        let (mean, columns, scratch) = self.parts();
        for ((w, x), mean) in scratch.iter_mut().zip(x).zip(mean) {
            let offset = x - *mean;
            *w = weight * offset;
            *mean += sign * offset / after;
        }
        let (mut rest, mut columns, mut grown) = (scratch, columns, 1.0);
        while let Some((first, below)) = rest.split_first_mut() {
            let (column, others) = columns.split_at_mut(below.len() + 1);
            let s = *first * column[0];
            let square = 1.0 + sign * s * s;
            grown *= square;
            if square.is_nan() || grown < LEAST_LEFT {
                return None;
            }
            let c = math::sqrt(square);
            column[0] /= c;
            for (w, entry) in below.iter_mut().zip(&mut column[1..]) {
                *entry = (*entry + sign * s * *w) / c;
                *w = c * *w - s * *entry;
            }
            (rest, columns) = (below, others);
        }
        if grown > MOST_GROWN {
            return None;
        }
        (self.k, self.v) = (prior.k + n, prior.v + n);
        self.log_det += math::ln(grown);
        self.find_peak();
        Some(())
    }
}

/// Appends a factor in the form of [`Predictive::numbers`].
fn pack(factor: &Matrix, numbers: &mut Vec<f64>) {
    let d = factor.rows();
    for j in 0..d {
        numbers.push(1.0 / factor.get(j, j));
        numbers.extend((j + 1..d).map(|i| factor.get(i, j)));
    }
}

/// Changes of rank one after which the factor is computed afresh.
const MOST_CHANGES: u32 = 100;
/// A determinant that grows by more is computed afresh.
const MOST_GROWN: f64 = 1e12;
/// The least share of a determinant that may be left when a vector is taken out of it.
const LEAST_LEFT: f64 = 1e-3;

#[derive(Clone, Default)]
struct Ready {
    prior: Option<Arc<Checked>>,
    predictive: Option<Predictive>,
}

#[derive(Clone, Default)]
struct CollapsedVectors {
    ready: RefCell<Ready>,
}

impl CollapsedVectors {
    /// What `use_it` makes of the prior and the predictive, both computed only if they changed.
    #[inline]
    fn with<R>(
        &self,
        seen: &Sums,
        params: Args<'_>,
        use_it: impl FnOnce(&Checked, &mut Predictive) -> R,
    ) -> Result<R, ArgumentError> {
        let Ready { prior, predictive } = &mut *self.ready.borrow_mut();
        let known = prior.as_ref().is_some_and(|prior| {
            prior.params.iter().zip(params).all(|(known, given)| same(known, given))
        });
        if !known {
            (*prior, *predictive) = (None, None);
            let read = Prior::read(params)?;
            let factor = read.factor(params)?;
            *prior = Some(Arc::new(Checked {
                params: std::array::from_fn(|i| params[i].clone()),
                dimension: read.dimension(),
                k: read.k,
                v: read.v,
                log_det: log_det_from_cholesky(&factor),
                factor,
            }));
        }
        let prior = prior.as_ref().expect("it was just made");
        if predictive.is_none() {
            // Vectors of another dimension than the prior's are outside its support.
            let nothing = Sums::new(0);
            let fits = seen.dimension() == prior.dimension;
            *predictive = Some(Predictive::new(prior, if fits { seen } else { &nothing })?);
        }
        Ok(use_it(prior, predictive.as_mut().expect("it was just made")))
    }
}

impl CollapsedVectors {
    /// Lets the predictive follow a change of the sums, if there is one and it can.
    fn changed(&mut self, x: &Value, sign: f64, seen: &Sums) {
        let Ready { prior, predictive } = self.ready.get_mut();
        let followed = match (prior, predictive.as_mut(), as_point(x, seen.dimension())) {
            (Some(prior), Some(predictive), Some(x))
                if seen.n > 0 && seen.dimension() == prior.dimension =>
            {
                predictive.change(x, sign, prior, seen.n as f64)
            }
            _ => None,
        };
        if followed.is_none() {
            *predictive = None;
        }
    }
}

impl Law<Sums> for CollapsedVectors {
    fn sample(&self, seen: &Sums, params: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        self.with(seen, params, |prior, predictive| {
            let d = prior.dimension;
            let z = standard_normals(d, rng);
            let half_df = 0.5 * (predictive.v + 1.0 - d as f64);
            let factor = math::sqrt(0.5 * (1.0 + 1.0 / predictive.k) / draw::gamma(half_df, rng));
            let mut x = predictive.at(&z, factor);
            for x in &mut x {
                *x = x.clamp(-LARGEST, LARGEST);
            }
            Value::vector(x)
        })
    }

    fn log_predictive(
        &self,
        x: &Value,
        seen: &Sums,
        params: Args<'_>,
    ) -> Result<f64, ArgumentError> {
        self.with(seen, params, |prior, predictive| match as_point(x, prior.dimension) {
            Some(x) => predictive.log_density(x),
            None => f64::NEG_INFINITY,
        })
    }

    fn student(&self, seen: &Sums, params: Args<'_>, numbers: &mut Vec<f64>) -> Option<usize> {
        let read = self.with(seen, params, |prior, predictive| {
            numbers.extend([predictive.peak, predictive.power, predictive.shrinkage]);
            let Predictive { k, v, peak_without, .. } = *predictive;
            numbers.extend([peak_without, 0.5 * (v - 1.0), k / (k - 1.0)]);
            let (mean, columns, _) = predictive.parts();
            numbers.extend_from_slice(mean);
            numbers.extend_from_slice(columns);
            prior.dimension
        });
        read.ok()
    }

    fn log_leave_one_out(
        &self,
        x: &Value,
        seen: &Sums,
        params: Args<'_>,
    ) -> Result<f64, ArgumentError> {
        let direct = self.with(seen, params, |prior, predictive| {
            let fits = seen.dimension() == prior.dimension;
            let x = as_point(x, prior.dimension).filter(|_| fits)?;
            predictive.log_leave_one_out(x)
        })?;
        match direct {
            Some(log_p) => Ok(log_p),
            None => log_predictive_without(self, x, seen, params),
        }
    }

    fn log_marginal(&self, seen: &Sums, params: Args<'_>) -> Result<f64, ArgumentError> {
        self.with(seen, params, |prior, predictive| {
            if seen.outside > 0 || (seen.n > 0 && seen.dimension() != prior.dimension) {
                return f64::NEG_INFINITY;
            }
            if seen.n == 0 {
                return 0.0;
            }
            let (n, d) = (seen.n as f64, prior.dimension as f64);
            let gammas: f64 = (0..prior.dimension)
                .map(|j| math::ln_gamma_ratio(0.5 * (prior.v - j as f64), 0.5 * n))
                .sum();
            gammas
                - 0.5 * n * d * LN_PI
                - 0.5 * prior.v * (predictive.log_det - prior.log_det)
                - 0.5 * n * predictive.log_det
                - 0.5 * d * math::ln_1p(n / prior.k)
        })
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(Support::Vectors { len: Prior::read(params)?.dimension() })
    }

    fn forget(&mut self) {
        self.ready.get_mut().predictive = None;
    }

    fn added(&mut self, x: &Value, seen: &Sums) {
        self.changed(x, 1.0, seen);
    }

    fn removed(&mut self, x: &Value, seen: &Sums) {
        self.changed(x, -1.0, seen);
    }
}

pub(super) fn check(args: Args<'_>) -> Result<(), ArgumentError> {
    Prior::read(args)?.factor(args).map(drop)
}

pub static MAKE_NIW_NORMAL: Made = Made {
    spec: &Spec {
        name: "make_collapsed_multivariate_normal",
        aliases: &["make_cmvn", "make_niw_normal"],
        parameters: "m0 k0 v0 S0",
        arity: Arity::exactly(4),
        summary: "Multivariate normal draws with mean and covariance integrated out: covariance ~ inv_wishart(S0, v0), mean ~ normal of covariance 1/k0 times that",
        example: "((make_collapsed_multivariate_normal (vector 0 0) 1 4 (id_matrix 2)))",
    },
    check,
    empty: |params| {
        check(params)?;
        let dimension = Prior::read(params)?.dimension();
        Ok(counted(Sums::new(dimension), CollapsedVectors::default()))
    },
    latent: None,
};
