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
//! `make_uc_niw_normal` draws the latent array (mu, Sigma) from the prior.
//!
//! Sums are kept in twice the working precision, so no origin has to be chosen and long runs of
//! `add` and `remove` do not drift; the Cholesky factor of S is computed when it is first needed
//! after a change.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use smidgen_value::math::{self, HALF_LN_2PI, LN_2, LN_PI};
use smidgen_value::{ArgumentError, Matrix, Rng, Value, Vector};

use super::counted::{Law, Made, Summary, admit_vector, counted};
use super::draw;
use super::suff_stat::LARGEST;
use super::wide::Wide;
use crate::arguments;
use crate::linalg::{cholesky, log_det_from_cholesky, solve_lower};
use crate::procedure::{Args, Arity, Distribution, Spec};
use crate::support::Support;

// ---------------------------------------------------------------- what was drawn

/// Number, sum and sum of outer products (lower triangle, row by row) of vectors.
#[derive(Clone)]
struct Sums {
    n: usize,
    sum: Vec<Wide>,
    products: Vec<Wide>,
    outside: usize,
}

impl Sums {
    fn new(dimension: usize) -> Sums {
        let products = vec![Wide::default(); dimension * (dimension + 1) / 2];
        Sums { n: 0, sum: vec![Wide::default(); dimension], products, outside: 0 }
    }

    fn dimension(&self) -> usize {
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
    fn mean_from(&self, origin: &[f64]) -> Vec<f64> {
        let n = self.n as f64;
        let parts = self.sum.iter().zip(origin);
        parts.map(|(sum, o)| sum.over(n).minus(Wide::new(*o)).value()).collect()
    }

    /// Entry (i, j), j <= i, of the scatter about the average.
    fn scatter(&self, i: usize, j: usize) -> f64 {
        if self.n < 2 {
            return 0.0;
        }
        let square = self.sum[i].times(self.sum[j]).over(self.n as f64);
        self.products[i * (i + 1) / 2 + j].minus(square).value()
    }
}

fn as_point(x: &Value, dimension: usize) -> Option<&[f64]> {
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
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Vector(a), Value::Vector(b)) if Arc::ptr_eq(a, b) => true,
        (Value::Matrix(a), Value::Matrix(b)) if Arc::ptr_eq(a, b) => true,
        (Value::Array(a), Value::Array(b)) if Arc::ptr_eq(a, b) => true,
        _ => a == b,
    }
}

/// y' y
fn square_norm(y: &[f64]) -> f64 {
    y.iter().map(|y| y * y).sum()
}

/// L z, added to `start` with a factor.
fn combine(start: &[f64], lower: &Matrix, z: &[f64], factor: f64) -> Vec<f64> {
    let along = |i: usize| (0..=i).map(|j| lower.get(i, j) * z[j]).sum::<f64>();
    (0..start.len()).map(|i| start[i] + factor * along(i)).collect()
}

fn standard_normals(n: usize, rng: &mut Rng) -> Vec<f64> {
    (0..n).map(|_| draw::standard_normal(rng)).collect()
}

// ---------------------------------------------------------------- parameters integrated out

struct Prior<'a> {
    mean: Cow<'a, [f64]>,
    k: f64,
    v: f64,
    scale: &'a Matrix,
}

impl<'a> Prior<'a> {
    /// All but the positive definiteness of the scale matrix, which takes a factorisation.
    fn read(params: Args<'a>) -> Result<Prior<'a>, ArgumentError> {
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

    fn factor(&self, params: Args<'_>) -> Result<Matrix, ArgumentError> {
        cholesky(self.scale).ok_or_else(|| {
            ArgumentError::domain(3, "a symmetric positive definite matrix", params[3])
        })
    }

    fn dimension(&self) -> usize {
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
    k: f64,
    v: f64,
    mean: Vec<f64>,
    factor: Matrix,
    log_det: f64,
    /// The log density at the location.
    peak: f64,
    scratch: Vec<f64>,
}

impl Predictive {
    fn new(prior: &Checked, seen: &Sums) -> Result<Predictive, ArgumentError> {
        let d = prior.dimension;
        let mean = prior.params[0].to_reals().expect("the mean was checked");
        let (k, v, mean, factor, log_det) = if seen.n == 0 {
            (prior.k, prior.v, mean, prior.factor.clone(), prior.log_det)
        } else {
            let Value::Matrix(scale) = &prior.params[3] else { unreachable!("it was checked") };
            let n = seen.n as f64;
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
            let mean = mean.iter().zip(&offset).map(|(m, o)| m + n / k * o).collect();
            let log_det = log_det_from_cholesky(&factor);
            (k, prior.v + n, mean, factor, log_det)
        };
        let half_d = 0.5 * d as f64;
        let peak = math::ln_gamma_ratio(0.5 * (v + 1.0) - half_d, half_d)
            - half_d * LN_PI
            - 0.5 * log_det
            - half_d * math::ln_1p(1.0 / k);
        Ok(Predictive { k, v, mean, factor, log_det, peak, scratch: vec![0.0; d] })
    }

    fn log_density(&mut self, x: &[f64]) -> f64 {
        for ((y, x), mean) in self.scratch.iter_mut().zip(x).zip(&self.mean) {
            *y = x - mean;
        }
        solve_lower(&self.factor, &mut self.scratch);
        let distance = square_norm(&self.scratch) * (self.k / (self.k + 1.0));
        self.peak - 0.5 * (self.v + 1.0) * math::ln_1p(distance)
    }
}

#[derive(Clone, Default)]
struct Ready {
    prior: Option<Checked>,
    predictive: Option<Predictive>,
}

#[derive(Clone, Default)]
struct CollapsedVectors {
    ready: RefCell<Ready>,
}

impl CollapsedVectors {
    /// What `use_it` makes of the prior and the predictive, both computed only if they changed.
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
            *prior = Some(Checked {
                params: std::array::from_fn(|i| params[i].clone()),
                dimension: read.dimension(),
                k: read.k,
                v: read.v,
                log_det: log_det_from_cholesky(&factor),
                factor,
            });
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

impl Law<Sums> for CollapsedVectors {
    fn sample(&self, seen: &Sums, params: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        self.with(seen, params, |prior, predictive| {
            let d = prior.dimension;
            let z = standard_normals(d, rng);
            let half_df = 0.5 * (predictive.v + 1.0 - d as f64);
            let factor = math::sqrt(0.5 * (1.0 + 1.0 / predictive.k) / draw::gamma(half_df, rng));
            let mut x = combine(&predictive.mean, &predictive.factor, &z, factor);
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
}

fn check(args: Args<'_>) -> Result<(), ArgumentError> {
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

// ---------------------------------------------------------------- parameters drawn

/// Mean and covariance of a latent value, if it is one.
fn parts(latent: &Value) -> Option<(&Vector, &Matrix)> {
    match latent {
        Value::Array(items) => match items.as_slice() {
            [Value::Vector(mean), Value::Matrix(covariance)] => Some((mean, covariance)),
            _ => None,
        },
        _ => None,
    }
}

/// A latent value with the factor of its covariance.
#[derive(Clone)]
struct Known {
    latent: Value,
    mean: Vec<f64>,
    factor: Matrix,
    log_det: f64,
    scratch: Vec<f64>,
}

impl Known {
    fn read(params: Args<'_>) -> Result<Known, ArgumentError> {
        let (mean, covariance) = parts(params[0]).ok_or_else(|| {
            ArgumentError::wrong_type(0, "an array of a mean and a covariance", params[0])
        })?;
        if covariance.rows() != mean.len() || !mean.iter().all(|x| x.is_finite()) {
            let expected = "a mean and a covariance of the same dimension";
            return Err(ArgumentError::domain(0, expected, params[0]));
        }
        let factor = cholesky(covariance).ok_or_else(|| {
            ArgumentError::domain(0, "a mean and a positive definite covariance", params[0])
        })?;
        let log_det = log_det_from_cholesky(&factor);
        let scratch = vec![0.0; mean.len()];
        Ok(Known { latent: params[0].clone(), mean: mean.to_vec(), factor, log_det, scratch })
    }

    fn dimension(&self) -> usize {
        self.mean.len()
    }

    fn constant(&self) -> f64 {
        -(self.dimension() as f64) * HALF_LN_2PI - 0.5 * self.log_det
    }
}

#[derive(Clone, Default)]
struct IndependentVectors {
    ready: RefCell<Option<Known>>,
}

impl IndependentVectors {
    fn with<R>(
        &self,
        params: Args<'_>,
        use_it: impl FnOnce(&mut Known) -> R,
    ) -> Result<R, ArgumentError> {
        let mut ready = self.ready.borrow_mut();
        if !ready.as_ref().is_some_and(|known| same(&known.latent, params[0])) {
            *ready = None;
            *ready = Some(Known::read(params)?);
        }
        Ok(use_it(ready.as_mut().expect("it was just made")))
    }
}

impl Law<Sums> for IndependentVectors {
    fn sample(&self, _: &Sums, params: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        self.with(params, |known| {
            let z = standard_normals(known.dimension(), rng);
            Value::vector(combine(&known.mean, &known.factor, &z, 1.0))
        })
    }

    fn log_predictive(&self, x: &Value, _: &Sums, params: Args<'_>) -> Result<f64, ArgumentError> {
        self.with(params, |known| {
            let Some(x) = as_point(x, known.dimension()) else { return f64::NEG_INFINITY };
            for ((y, x), mean) in known.scratch.iter_mut().zip(x).zip(&known.mean) {
                *y = x - mean;
            }
            solve_lower(&known.factor, &mut known.scratch);
            known.constant() - 0.5 * square_norm(&known.scratch)
        })
    }

    fn log_marginal(&self, seen: &Sums, params: Args<'_>) -> Result<f64, ArgumentError> {
        self.with(params, |known| {
            let d = known.dimension();
            if seen.outside > 0 || (seen.n > 0 && seen.dimension() != d) {
                return f64::NEG_INFINITY;
            }
            if seen.n == 0 {
                return 0.0;
            }
            let n = seen.n as f64;
            // The trace of L^-1 C L'^-1, by two triangular solves, and the part of the mean.
            let mut half: Vec<Vec<f64>> = (0..d)
                .map(|j| (0..d).map(|i| seen.scatter(i.max(j), i.min(j))).collect())
                .collect();
            half.iter_mut().for_each(|column| solve_lower(&known.factor, column));
            let mut trace = 0.0;
            for i in 0..d {
                let mut row: Vec<f64> = half.iter().map(|column| column[i]).collect();
                solve_lower(&known.factor, &mut row);
                trace += row[i];
            }
            let mut offset = seen.mean_from(&known.mean);
            solve_lower(&known.factor, &mut offset);
            n * known.constant() - 0.5 * (trace + n * square_norm(&offset))
        })
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        self.with(params, |known| Support::Vectors { len: known.dimension() })
    }
}

/// (mu, Sigma)
struct MeanAndCovariance;

impl Distribution for MeanAndCovariance {
    fn spec(&self) -> &'static Spec {
        MAKE_UC_NIW_NORMAL.spec
    }

    /// Sigma = M M' with M = L B'^-1, where S0 = L L' and B is the lower triangular factor of a
    /// standard Wishart matrix (chi variates on its diagonal, normal ones below).
    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let prior = Prior::read(args)?;
        let lower = prior.factor(args)?;
        let d = prior.dimension();
        let bartlett = Matrix::from_fn(d, d, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Greater => draw::standard_normal(rng),
            std::cmp::Ordering::Equal => {
                math::sqrt(2.0 * draw::gamma(0.5 * (prior.v - i as f64), rng))
            }
        });
        let rows: Vec<Vec<f64>> = (0..d)
            .map(|i| {
                let mut row = lower.row(i).to_vec();
                solve_lower(&bartlett, &mut row);
                row
            })
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let covariance = Matrix::from_fn(d, d, |i, j| dot(&rows[i], &rows[j]));
        let z = standard_normals(d, rng);
        let mean: Vec<f64> =
            (0..d).map(|i| prior.mean[i] + dot(&rows[i], &z) / math::sqrt(prior.k)).collect();
        Ok(Value::array(vec![Value::vector(mean), Value::matrix(covariance)]))
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let prior = Prior::read(args)?;
        let scale = prior.factor(args)?;
        let Some((mean, covariance)) = parts(x) else { return Ok(f64::NEG_INFINITY) };
        let d = prior.dimension();
        if mean.len() != d || covariance.rows() != d {
            return Ok(f64::NEG_INFINITY);
        }
        let Some(factor) = cholesky(covariance) else { return Ok(f64::NEG_INFINITY) };
        let (log_det, real_d) = (log_det_from_cholesky(&factor), d as f64);
        // The trace of S0 Sigma^-1 is the squared size of F^-1 L, F F' = Sigma.
        let trace: f64 = (0..d)
            .map(|j| {
                let mut column: Vec<f64> = (0..d).map(|i| scale.get(i, j)).collect();
                solve_lower(&factor, &mut column);
                square_norm(&column)
            })
            .sum();
        let of_covariance = 0.5 * prior.v * (log_det_from_cholesky(&scale) - log_det)
            - 0.5 * (real_d + 1.0) * log_det
            - 0.5 * prior.v * real_d * LN_2
            - math::ln_gamma_multivariate(d, 0.5 * prior.v)
            - 0.5 * trace;
        let mut offset: Vec<f64> = mean.iter().zip(prior.mean.iter()).map(|(a, b)| a - b).collect();
        solve_lower(&factor, &mut offset);
        let of_mean = real_d * (0.5 * math::ln(prior.k) - HALF_LN_2PI)
            - 0.5 * log_det
            - 0.5 * prior.k * square_norm(&offset);
        let total = of_covariance + of_mean;
        Ok(if total.is_nan() { f64::NEG_INFINITY } else { total })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        Prior::read(args)?;
        Err(ArgumentError::other(
            "the mean and covariance of make_uc_niw_normal move together and cannot drift",
        ))
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        const WANTED: &str = "an array of a mean vector and a covariance matrix";
        let items = x.elements().ok_or(WANTED)?;
        match items.as_slice() {
            [mean, covariance @ Value::Matrix(_)] => {
                let mean = admit_vector(mean).map_err(|_| WANTED)?;
                Ok(Value::array(vec![mean, covariance.clone()]))
            }
            _ => Err(WANTED),
        }
    }
}

pub static MAKE_UC_NIW_NORMAL: Made = Made {
    spec: &Spec {
        name: "make_uc_niw_normal",
        aliases: &["make_uc_cmvn"],
        parameters: "m0 k0 v0 S0",
        arity: Arity::exactly(4),
        summary: "Multivariate normal draws whose covariance is drawn from inv_wishart(S0, v0) and mean from a normal of covariance 1/k0 times that",
        example: "((make_uc_niw_normal (vector 0 0) 1 4 (id_matrix 2)))",
    },
    check,
    empty: |params| {
        let dimension = Known::read(params)?.dimension();
        Ok(counted(Sums::new(dimension), IndependentVectors::default()))
    },
    latent: Some(&MeanAndCovariance),
};
