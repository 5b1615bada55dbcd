//! The derivatives of the log densities, with respect to the outcome and to the arguments.

use smidgen_prob::registry::{self, Builtin};
use smidgen_prob::{Distribution, Score, Support, lookup};
use smidgen_value::math::exp;
use smidgen_value::{Matrix, Rng, Symbol, Value};

use crate::difference::{Tally, agrees};
use crate::distributions_common::Call;

/// Distributions without derivatives.
const NO_SCORE: &[&str] = &[];

/// Every distribution with arguments to draw, in the words of [`argument`].
pub const CASES: &[&str] = &[
    "bernoulli",
    "bernoulli probability",
    "flip",
    "flip probability",
    "binomial count probability",
    "geometric probability",
    "negative_binomial positive probability",
    "negative_binomial large probability",
    "poisson positive",
    "poisson large",
    "categorical weights",
    "uniform_discrete count after_count",
    "normal real positive",
    "uniform_continuous real after",
    "beta positive positive",
    "beta large large",
    "beta large positive",
    "gamma positive positive",
    "gamma large positive",
    "inv_gamma positive positive",
    "inv_gamma large positive",
    "expon positive",
    "student_t positive",
    "student_t large",
    "student_t positive real",
    "student_t positive real positive",
    "cauchy real positive",
    "laplace real positive",
    "logistic_dist real positive",
    "lognormal real positive",
    "weibull positive positive",
    "chi_squared positive",
    "chi_squared large",
    "half_normal positive",
    "half_cauchy positive",
    "half_student_t positive positive",
    "truncated_normal real positive real after",
    "truncated_normal real positive near_below near_above",
    "truncated_normal real positive far_above after",
    "truncated_normal real positive far_above infinity",
    "truncated_normal real positive far_below near_after",
    "truncated_normal real positive minus_infinity real",
    "truncated_normal real positive minus_infinity far_below",
    "truncated_normal real positive minus_infinity infinity",
    "vonmises real positive",
    "vonmises real large",
    "multivariate_normal vector covariance",
    "multivariate_diag_normal vector sds",
    "wishart covariance dof",
    "inv_wishart covariance dof",
    "dirichlet weights",
    "dirichlet large_weights",
    "symmetric_dirichlet positive size",
    "symmetric_dirichlet large size",
    "multinomial count simplex",
    "flat",
    "flat_pos",
    "[factor] real",
];

/// How a number, a vector or a matrix may be moved.
#[derive(Clone, Copy, PartialEq)]
pub enum Motion {
    /// Not at all.
    Fixed,
    /// Every entry by itself.
    Free,
    /// The entries stay above 0.
    Positive,
    /// The entries stay between 0 and 1.
    Unit,
    /// The sum of the entries stays.
    Simplex,
    /// Two entries move as one.
    Symmetric,
}

#[derive(Clone)]
pub struct Part {
    pub value: Value,
    pub motion: Motion,
}

fn entries(value: &Value) -> Vec<f64> {
    match value {
        Value::Vector(xs) => xs.to_vec(),
        Value::Matrix(m) => m.as_slice().to_vec(),
        other => vec![other.as_number().expect("numbers")],
    }
}

/// A value of the same form with these entries.
fn like(value: &Value, entries: &[f64]) -> Value {
    match value {
        Value::Vector(_) => Value::vector(entries.to_vec()),
        Value::Matrix(m) => Value::matrix(Matrix::new(m.rows(), m.cols(), entries.to_vec())),
        _ => Value::Number(entries[0]),
    }
}

/// A random argument of this kind, which may depend on the arguments before it.
pub fn argument(kind: &str, before: &[Part], rng: &mut Rng) -> Part {
    use Motion::{Fixed, Free, Positive, Simplex, Symmetric, Unit};
    let earlier = |i: usize| entries(&before[i].value)[0];
    let last = || earlier(before.len() - 1);
    let u = rng.uniform();
    let mut several = |n: usize, least: f64, range: f64| -> Vec<f64> {
        (0..n).map(|_| exp(least + range * rng.uniform())).collect()
    };
    let number = |x: f64, motion: Motion| Part { value: Value::Number(x), motion };
    match kind {
        "real" => number(6.0 * u - 3.0, Free),
        "positive" => number(exp(5.0 * u - 2.5), Positive),
        "large" => number(exp(4.0 * u + 3.5), Positive),
        "probability" => number(0.02 + 0.96 * u, Unit),
        "count" => number((40.0 * u).floor(), Fixed),
        "after_count" => number(last() + 1.0 + (20.0 * u).floor(), Fixed),
        "size" => number(3.0, Fixed),
        "dof" => number(2.5 + 5.0 * u, Positive),
        "after" => number(last() + exp(4.0 * u - 2.0), Free),
        "near_after" => number(last() + earlier(1) * (0.01 + 4.0 * u), Free),
        "near_below" => number(earlier(0) - earlier(1) * 0.3 * u, Free),
        "near_above" => number(earlier(0) + earlier(1) * 0.3 * u, Free),
        "far_above" => number(earlier(0) + earlier(1) * (5.0 + 50.0 * u), Free),
        "far_below" => number(earlier(0) - earlier(1) * (5.0 + 50.0 * u), Free),
        "infinity" => number(f64::INFINITY, Fixed),
        "minus_infinity" => number(f64::NEG_INFINITY, Fixed),
        "vector" => Part {
            value: Value::vector(several(3, -1.0, 2.0).iter().map(|x| x - 1.0).collect::<Vec<_>>()),
            motion: Free,
        },
        "weights" | "sds" => Part { value: Value::vector(several(3, -1.5, 3.0)), motion: Positive },
        "large_weights" => Part { value: Value::vector(several(3, 1.0, 5.0)), motion: Positive },
        "simplex" => {
            let weights = several(3, -1.0, 2.0);
            let total: f64 = weights.iter().sum();
            let p: Vec<f64> = weights.iter().map(|w| w / total).collect();
            Part { value: Value::vector(p), motion: Simplex }
        }
        "covariance" => {
            let a: Vec<f64> = several(9, -1.0, 2.0).iter().map(|x| x - 1.0).collect();
            let entry = |i: usize, j: usize| {
                let dot: f64 = (0..3).map(|k| a[3 * i + k] * a[3 * j + k]).sum();
                dot + if i == j { 0.3 } else { 0.0 }
            };
            Part { value: Value::matrix(Matrix::from_fn(3, 3, entry)), motion: Symmetric }
        }
        other => panic!("no argument is called {other}"),
    }
}

pub fn motion_of_outcome(support: &Support) -> Motion {
    match support {
        Support::Reals | Support::Vectors { .. } => Motion::Free,
        Support::Interval { low: 0.0, high } if *high == f64::INFINITY => Motion::Positive,
        Support::Interval { low: 0.0, high: 1.0 } => Motion::Unit,
        Support::Interval { .. } | Support::Circle => Motion::Free,
        Support::Simplex { .. } => Motion::Simplex,
        Support::PositiveDefinite { .. } => Motion::Symmetric,
        _ => Motion::Fixed,
    }
}

/// Places among the entries, with the signs of their moves.
type Direction = Vec<(usize, f64)>;

/// Directions to move in, each with the first step.
fn directions(entries: &[f64], motion: Motion) -> Vec<(Direction, f64)> {
    let each = 0..entries.len();
    let alone = |reach: &dyn Fn(f64) -> f64| -> Vec<(Direction, f64)> {
        entries.iter().enumerate().map(|(i, x)| (vec![(i, 1.0)], reach(*x))).collect()
    };
    let mut directions = match motion {
        Motion::Fixed => Vec::new(),
        Motion::Free => alone(&|x| 0.05 * x.abs().max(0.5)),
        Motion::Positive => alone(&|x| 0.2 * x),
        Motion::Unit => alone(&|x| 0.2 * x.min(1.0 - x)),
        Motion::Simplex => each
            .skip(1)
            .map(|i| (vec![(i, 1.0), (i - 1, -1.0)], 0.2 * entries[i].min(entries[i - 1])))
            .collect(),
        Motion::Symmetric => {
            let n = entries.len().isqrt();
            let least = (0..n).map(|i| entries[i * n + i]).fold(f64::INFINITY, f64::min);
            let pair = |i: usize, j: usize| match i == j {
                true => vec![(i * n + j, 1.0)],
                false => vec![(i * n + j, 1.0), (j * n + i, 1.0)],
            };
            let pairs = (0..n).flat_map(|i| (0..=i).map(move |j| (i, j)));
            pairs.map(|(i, j)| (pair(i, j), 0.02 * least)).collect()
        }
    };
    // So near to an end that a step is lost in rounding, no difference can be taken.
    directions.retain(|(direction, reach)| *reach > 1e-9 * entries[direction[0].0].abs());
    directions
}

/// The log density with its slopes: that of the outcome, then those of the arguments.
pub fn score_at(score: Score, x: &[f64], args: &[Vec<f64>]) -> (f64, Vec<Vec<f64>>) {
    match score {
        Score::Scalar(score) => {
            let numbers: Vec<f64> = args.iter().map(|arg| arg[0]).collect();
            let mut slope = vec![f64::NAN; 1 + args.len()];
            let log_density = score(x[0], &numbers, &mut slope);
            (log_density, slope.into_iter().map(|slope| vec![slope]).collect())
        }
        Score::General(score) => {
            let slices: Vec<&[f64]> = args.iter().map(Vec::as_slice).collect();
            // What was there stays there.
            let mut x_slope = vec![0.5; x.len()];
            let mut slopes: Vec<Vec<f64>> = args.iter().map(|arg| vec![0.5; arg.len()]).collect();
            let mut given: Vec<&mut [f64]> = slopes.iter_mut().map(Vec::as_mut_slice).collect();
            let log_density = score(x, &slices, &mut x_slope, &mut given);
            // Without any slope wanted the density is the same.
            let mut nothing: Vec<&mut [f64]> = args.iter().map(|_| &mut [][..]).collect();
            let again = score(x, &slices, &mut [], &mut nothing);
            assert_eq!(log_density.to_bits(), again.to_bits());
            slopes.insert(0, x_slope);
            slopes.iter_mut().flatten().for_each(|slope| *slope -= 0.5);
            (log_density, slopes)
        }
    }
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-12 * a.abs().max(1.0)
}

/// All slopes of `score` against differences of the log density of the case's distribution.
fn check(case: &str, score: Score) -> Result<(), String> {
    let mut words = case.split_whitespace();
    let name = words.next().expect("a name");
    let kinds: Vec<&str> = words.collect();
    let mut rng = Rng::from_seed(11);
    let mut tally = Tally::default();
    let mut moving = 0;
    for _ in 0..40 {
        let mut parts: Vec<Part> = Vec::new();
        for kind in &kinds {
            let part = argument(kind, &parts, &mut rng);
            parts.push(part);
        }
        let values = |parts: &[Part]| parts.iter().map(|part| part.value.clone()).collect();
        let call = Call::applied(name, values(&parts));
        let x = call.sample(&mut rng);
        let motion = motion_of_outcome(&call.support());
        // The outcome goes first.
        parts.insert(0, Part { value: x, motion });
        let all: Vec<Vec<f64>> = parts.iter().map(|part| entries(&part.value)).collect();
        let (log_density, slopes) = score_at(score, &all[0], &all[1..]);
        let want = call.log_density(&parts[0].value);
        if !same(want, log_density) {
            return Err(format!("{all:?}: log density {log_density}, not {want}"));
        }
        for (i, part) in parts.iter().enumerate() {
            if part.motion == Motion::Fixed && slopes[i].iter().any(|slope| *slope != 0.0) {
                return Err(format!("{all:?}: part {i} does not move, but has {:?}", slopes[i]));
            }
            for (direction, reach) in directions(&all[i], part.motion) {
                moving += 1;
                let moved = |t: f64| {
                    let mut parts = parts.clone();
                    let mut at = all[i].clone();
                    direction.iter().for_each(|(place, sign)| at[*place] += sign * t);
                    parts[i].value = like(&parts[i].value, &at);
                    let args: Vec<&Value> = parts[1..].iter().map(|part| &part.value).collect();
                    call.distribution.log_density(&parts[0].value, &args).unwrap_or(f64::NAN)
                };
                let slope = direction.iter().map(|(place, sign)| sign * slopes[i][*place]).sum();
                let verdict = agrees(moved, reach, slope, 1e-3);
                tally.add(verdict, || format!("{direction:?} of part {i} in {all:?}"));
            }
        }
    }
    tally.verdict(moving * 2 / 3)
}

pub fn score_of(name: &str) -> Score {
    let Some(Builtin::Distribution(distribution)) = lookup(Symbol::new(name)) else {
        panic!("{name} is no distribution");
    };
    distribution.score().unwrap_or_else(|| panic!("{name} has no derivatives"))
}

pub fn name_of(case: &str) -> &str {
    case.split_whitespace().next().expect("a name")
}

#[test]
fn every_distribution_has_its_derivatives() {
    let mut wrong = Vec::new();
    for builtin in registry::all() {
        let Builtin::Distribution(distribution) = builtin else {
            continue;
        };
        let name = distribution.spec().name;
        let cases: Vec<&&str> = CASES.iter().filter(|case| name_of(case) == name).collect();
        match distribution.score() {
            None if NO_SCORE.contains(&name) => {}
            None => wrong.push(format!("{name} has no derivatives")),
            Some(_) if cases.is_empty() => wrong.push(format!("{name} has no case")),
            Some(score) => {
                let failed =
                    |case: &&&str| check(case, score).err().map(|how| format!("{case}: {how}"));
                wrong.extend(cases.iter().filter_map(failed));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_wrong_derivative_is_caught() {
    let sign = Score::Scalar(|x, args, slope| {
        let Score::Scalar(normal) = score_of("normal") else {
            return f64::NAN;
        };
        let log_density = normal(x, args, slope);
        slope[1] = -slope[1];
        log_density
    });
    let constant = Score::Scalar(|x, args, slope| {
        let Score::Scalar(gamma) = score_of("gamma") else {
            return f64::NAN;
        };
        let log_density = gamma(x, args, slope);
        slope[1] += 1e-4;
        log_density
    });
    let no_trace = Score::General(|x, args, x_slope, slopes| {
        let Score::General(normal) = score_of("multivariate_normal") else {
            return f64::NAN;
        };
        let before = slopes[1].to_vec();
        let log_density = normal(x, args, x_slope, slopes);
        let after = slopes[1].iter_mut().zip(before);
        after.for_each(|(after, before)| *after += *after - before);
        log_density
    });
    assert!(check("normal real positive", sign).is_err());
    assert!(check("gamma positive positive", constant).is_err());
    assert!(check("multivariate_normal vector covariance", no_trace).is_err());
    // Right derivatives of another density.
    assert!(check("half_normal positive", score_of("half_cauchy")).is_err());
}

/// The log density as the language sees it; -inf where it refuses.
fn log_density_or_nothing(distribution: &dyn Distribution, x: &Value, args: &[Value]) -> f64 {
    let args: Vec<&Value> = args.iter().collect();
    match distribution.admit(x) {
        Ok(x) => distribution.log_density(&x, &args).unwrap_or(f64::NEG_INFINITY),
        Err(_) => f64::NEG_INFINITY,
    }
}

#[test]
fn outside_the_domain_the_log_density_is_minus_infinity() {
    const ODD: &[f64] = &[
        -1.0,
        -0.0,
        0.0,
        0.5,
        1.0,
        2.0,
        1e300,
        5e-324,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let mut wrong = Vec::new();
    for case in CASES {
        let mut rng = Rng::from_seed(13);
        let name = name_of(case);
        let mut parts: Vec<Part> = Vec::new();
        for kind in case.split_whitespace().skip(1) {
            let part = argument(kind, &parts, &mut rng);
            parts.push(part);
        }
        let call = Call::applied(name, parts.iter().map(|part| part.value.clone()).collect());
        let mut all = vec![call.sample(&mut rng)];
        all.extend(call.args.iter().cloned());
        for part in 0..all.len() {
            for place in 0..entries(&all[part]).len() {
                for odd in ODD {
                    let mut all = all.clone();
                    let mut at = entries(&all[part]);
                    at[place] = *odd;
                    all[part] = like(&all[part], &at);
                    let want = log_density_or_nothing(call.distribution, &all[0], &all[1..]);
                    let numbers: Vec<Vec<f64>> = all.iter().map(entries).collect();
                    let (got, _) = score_at(score_of(name), &numbers[0], &numbers[1..]);
                    if !same(got, want) || got.is_nan() {
                        wrong.push(format!("{case} at {numbers:?}: {got}, not {want}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn equal_objects_of_a_categorical_choice_add_up() {
    let weights = Value::vector(vec![0.5, 1.0, 2.0, 0.25]);
    let objects = Value::array(["a", "b", "a", "c"].map(Value::symbol).to_vec());
    let call = Call::applied("categorical", vec![weights.clone(), objects]);
    let (log_density, slopes) =
        score_at(score_of("categorical"), &[0.0, 2.0], &[entries(&weights)]);
    assert!(same(log_density, call.log_density(&Value::symbol("a"))));
    let each = [1.0 / 2.5, 0.0, 1.0 / 2.5, 0.0].map(|share| share - 1.0 / 3.75);
    assert!(slopes[1].iter().zip(each).all(|(slope, want)| same(*slope, want)), "{slopes:?}");
}
