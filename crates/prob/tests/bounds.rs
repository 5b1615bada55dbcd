//! Bounds of log densities against a search over the unknown arguments: never exceeded, and where
//! a bound is said to be the maximum, nearly reached.

use smidgen_prob::bounds::log_density_bound;
use smidgen_prob::{Builtin, Distribution, lookup};
use smidgen_value::{Matrix, Rng, Symbol, Value, math};

/// What an argument may be.
#[derive(Clone, Copy)]
enum Kind {
    Real,
    Positive,
    /// Above the real number before it.
    Above,
    Unit,
    Whole,
    /// Above the whole number before it.
    WholeAbove,
    Vector,
    Positives,
    Simplex,
    Matrix,
    /// Degrees of freedom of 2 x 2 matrices.
    Freedom,
    Two,
    /// Increasing.
    Cuts,
    Factor,
    Law(&'static str),
}

use Kind::*;

/// Every distribution, its arguments, and which sets of unknown ones (as bits) have a bound.
const TABLE: &[(&str, &[Kind], &[u32])] = &[
    ("bernoulli", &[Unit], &[1]),
    ("flip", &[Unit], &[1]),
    ("binomial", &[Whole, Unit], &[1, 2, 3]),
    ("categorical", &[Simplex], &[1]),
    ("geometric", &[Unit], &[1]),
    ("multinomial", &[Whole, Simplex], &[1, 2, 3]),
    ("negative_binomial", &[Positive, Unit], &[1, 2, 3]),
    ("poisson", &[Positive], &[1]),
    ("uniform_discrete", &[Whole, WholeAbove], &[1, 2, 3]),
    ("normal", &[Real, Positive], &[1, 2]),
    ("cauchy", &[Real, Positive], &[1, 2]),
    ("laplace", &[Real, Positive], &[1, 2]),
    ("logistic_dist", &[Real, Positive], &[1, 2]),
    ("lognormal", &[Real, Positive], &[1, 2]),
    ("student_t", &[Positive, Real, Positive], &[1, 2, 3, 4, 5]),
    ("student_t", &[Positive], &[1]),
    ("half_normal", &[Positive], &[1]),
    ("half_cauchy", &[Positive], &[1]),
    ("half_student_t", &[Positive, Positive], &[1, 2, 3]),
    ("expon", &[Positive], &[1]),
    ("gamma", &[Positive, Positive], &[1, 2]),
    ("inv_gamma", &[Positive, Positive], &[1, 2]),
    ("chi_squared", &[Positive], &[1]),
    ("beta", &[Positive, Positive], &[1, 2]),
    ("weibull", &[Positive, Positive], &[1, 2]),
    ("uniform_continuous", &[Real, Above], &[1, 2]),
    ("truncated_normal", &[Real, Positive, Real, Above], &[1, 4, 8]),
    ("vonmises", &[Real, Positive], &[1, 2]),
    ("multivariate_normal", &[Vector, Matrix], &[1]),
    ("multivariate_diag_normal", &[Vector, Positives], &[1, 2]),
    ("dirichlet", &[Positives], &[]),
    ("symmetric_dirichlet", &[Positive, Two], &[1]),
    ("wishart", &[Matrix, Freedom], &[1, 2]),
    ("inv_wishart", &[Matrix, Freedom], &[1, 2]),
    ("bernoulli_logit", &[Real], &[1]),
    ("beta_binomial", &[Whole, Positive, Positive], &[1, 2, 3, 4, 5, 6, 7]),
    ("hypergeometric", &[Two, Whole, Whole], &[1, 2, 3, 4, 5, 6, 7]),
    ("negative_binomial_mean", &[Positive, Positive], &[1, 2, 3]),
    ("poisson_log", &[Real], &[1]),
    ("categorical_logit", &[Vector], &[1]),
    ("ordered_logistic", &[Real, Cuts], &[1, 2, 3]),
    ("ordered_probit", &[Real, Cuts], &[1, 2, 3]),
    ("dirichlet_multinomial", &[Whole, Positives], &[1, 2, 3]),
    ("skew_normal", &[Real, Positive, Real], &[1, 4]),
    ("beta_mean", &[Unit, Positive], &[1, 2]),
    ("inverse_gaussian", &[Positive, Positive], &[1, 2]),
    ("gumbel", &[Real, Positive], &[1, 2]),
    ("pareto", &[Positive, Positive], &[1, 2]),
    ("multivariate_normal_cholesky", &[Vector, Factor], &[1]),
    ("multivariate_student_t", &[Positive, Vector, Matrix], &[2]),
    ("random_walk", &[Two, Positive], &[]),
    ("zero_inflated", &[Law("poisson"), Unit, Positive], &[]),
    ("hurdle", &[Law("poisson"), Unit, Positive], &[]),
    ("mixture", &[Positives, Law("gamma"), Positives, Law("gamma"), Positives], &[]),
    ("ordered", &[Law("normal"), Two, Real, Positive], &[]),
    ("truncate", &[Law("normal"), Real, Above, Real, Positive], &[]),
    ("censor", &[Law("normal"), Real, Above, Real, Positive], &[]),
    ("lkj", &[Two, Positive], &[]),
    ("lkj_cholesky", &[Two, Positive], &[]),
    ("ar", &[Two, Vector, Positive], &[]),
];

/// These bounds are upper bounds, not maxima.
const LOOSE: &[(&str, u32)] = &[
    ("binomial", 1),
    ("binomial", 3),
    ("multinomial", 1),
    ("multinomial", 3),
    ("negative_binomial", 1),
    ("negative_binomial", 3),
    ("uniform_discrete", 3),
    ("beta_binomial", 1),
    ("beta_binomial", 2),
    ("beta_binomial", 3),
    ("beta_binomial", 4),
    ("beta_binomial", 5),
    ("beta_binomial", 6),
    ("beta_binomial", 7),
    ("hypergeometric", 1),
    ("hypergeometric", 2),
    ("hypergeometric", 3),
    ("hypergeometric", 4),
    ("hypergeometric", 5),
    ("hypergeometric", 6),
    ("hypergeometric", 7),
    ("negative_binomial_mean", 2),
    ("negative_binomial_mean", 3),
    ("dirichlet_multinomial", 1),
    ("dirichlet_multinomial", 2),
    ("dirichlet_multinomial", 3),
    ("categorical_logit", 1),
    ("ordered_logistic", 1),
    ("ordered_logistic", 2),
    ("ordered_probit", 1),
    ("ordered_probit", 2),
    ("skew_normal", 4),
    // A maximum, but heavy tails go beyond where the search looks.
    ("multivariate_student_t", 2),
    ("student_t", 1),
    ("student_t", 3),
    ("student_t", 5),
    ("half_student_t", 1),
    ("half_student_t", 3),
];

fn draw(kind: Kind, before: Option<&Value>, rng: &mut Rng) -> Value {
    let scale = |rng: &mut Rng| math::exp(4.0 * rng.uniform() - 2.0);
    let after = before.and_then(Value::as_number).unwrap_or(0.0);
    match kind {
        Real => Value::Number(6.0 * rng.uniform() - 3.0),
        Positive => Value::Number(scale(rng)),
        Above => Value::Number(after + scale(rng)),
        Unit => Value::Number(rng.open_uniform()),
        Whole => Value::Number(rng.below(9) as f64 + 1.0),
        WholeAbove => Value::Number(after + rng.below(9) as f64 + 1.0),
        Vector => Value::vector(vec![6.0 * rng.uniform() - 3.0, 6.0 * rng.uniform() - 3.0]),
        Positives => Value::vector(vec![scale(rng), scale(rng)]),
        Simplex => {
            let p = rng.open_uniform();
            Value::vector(vec![p, 1.0 - p])
        }
        Matrix => {
            let (a, b, c) = (scale(rng), 2.0 * rng.uniform() - 1.0, scale(rng));
            Value::matrix(Matrix::new(2, 2, vec![a * a, a * b, a * b, b * b + c * c]))
        }
        Freedom => Value::Number(2.0 + 5.0 * rng.uniform()),
        Two => Value::Number(2.0),
        Cuts => {
            let low = 6.0 * rng.uniform() - 3.0;
            Value::vector(vec![low, low + scale(rng)])
        }
        Law(name) => Value::symbol(name),
        Factor => {
            let below = 2.0 * rng.uniform() - 1.0;
            Value::matrix(Matrix::new(2, 2, vec![scale(rng), 0.0, below, scale(rng)]))
        }
    }
}

fn arguments(kinds: &[Kind], rng: &mut Rng) -> Vec<Value> {
    let mut args: Vec<Value> = Vec::new();
    for kind in kinds {
        args.push(draw(*kind, args.last(), rng));
    }
    args
}

fn distribution(name: &str) -> &'static dyn Distribution {
    match lookup(Symbol::new(name)) {
        Some(Builtin::Distribution(distribution)) => distribution,
        _ => panic!("{name} is no distribution"),
    }
}

/// The largest log density that random unknown arguments reach, near the best so far as well.
fn search(
    distribution: &dyn Distribution,
    x: &Value,
    args: &[Value],
    (kinds, unknown): (&[Kind], u32),
    rng: &mut Rng,
) -> f64 {
    let mut best = (f64::NEG_INFINITY, args.to_vec());
    for step in 0..3000 {
        let mut tried = best.1.clone();
        for (i, kind) in kinds.iter().enumerate() {
            if unknown & (1 << i) == 0 {
                continue;
            }
            let before = if i > 0 { Some(tried[i - 1].clone()) } else { None };
            let near = 10f64.powi(-(step % 7));
            tried[i] = match (&tried[i], step % 2) {
                (Value::Number(was), 0) if !matches!(kind, Whole | WholeAbove | Two) => {
                    let step = near * (2.0 * rng.uniform() - 1.0);
                    let moved =
                        if matches!(kind, Positive) { was * math::exp(step) } else { was + step };
                    Value::Number(moved)
                }
                _ => draw(*kind, before.as_ref(), rng),
            };
        }
        let found = distribution.log_density(x, &tried.iter().collect::<Vec<_>>());
        if let Ok(found) = found
            && found > best.0
        {
            best = (found, tried);
        }
    }
    best.0
}

#[test]
fn bounds_hold_and_are_reached() {
    let mut rng = Rng::from_seed(11);
    for (name, kinds, bounded) in TABLE {
        let distribution = distribution(name);
        for unknown in 1..1u32 << kinds.len() {
            let mut reached = 0;
            for _ in 0..12 {
                let args = arguments(kinds, &mut rng);
                let x = distribution.sample(&args.iter().collect::<Vec<_>>(), &mut rng).unwrap();
                let hidden: Vec<Option<&Value>> = (args.iter().enumerate())
                    .map(|(i, arg)| (unknown & (1 << i) == 0).then_some(arg))
                    .collect();
                let bound = log_density_bound(distribution, &x, &hidden);
                if !bounded.contains(&unknown) {
                    assert_eq!(bound, None, "{name} {unknown:b}");
                    continue;
                }
                let bound =
                    bound.unwrap_or_else(|| panic!("{name} {unknown:b} at {x} has no bound"));
                let best = search(distribution, &x, &args, (kinds, unknown), &mut rng);
                assert!(best <= bound, "{name} {unknown:b} at {x}: {best} > {bound}");
                reached += u32::from(best > bound - 0.1);
            }
            if bounded.contains(&unknown) && !LOOSE.contains(&(name, unknown)) {
                assert!(reached > 2, "{name} {unknown:b}: {reached} of 12 bounds are reached");
            }
        }
    }
}

/// Bounds that are too small by a little would be noticed.
#[test]
fn the_search_finds_bounds_that_are_too_small() {
    let mut rng = Rng::from_seed(12);
    for (name, unknown) in [("normal", 2), ("gamma", 1), ("logistic_dist", 2), ("weibull", 1)] {
        let (_, kinds, _) = TABLE.iter().find(|(known, ..)| *known == name).unwrap();
        let distribution = distribution(name);
        let exceeded = (0..12).any(|_| {
            let args = arguments(kinds, &mut rng);
            let x = distribution.sample(&args.iter().collect::<Vec<_>>(), &mut rng).unwrap();
            let hidden: Vec<Option<&Value>> = (args.iter().enumerate())
                .map(|(i, arg)| (unknown & (1 << i) == 0).then_some(arg))
                .collect();
            let bound = log_density_bound(distribution, &x, &hidden).unwrap() - 1e-3;
            search(distribution, &x, &args, (kinds, unknown), &mut rng) > bound
        });
        assert!(exceeded, "{name}");
    }
}

#[test]
fn every_distribution_is_looked_at() {
    for distribution in smidgen_prob::distributions::ALL {
        let name = distribution.spec().name;
        let known = TABLE.iter().any(|(known, ..)| *known == name);
        let is_made = !distribution.spec().is_spellable();
        assert!(known || is_made || distribution.spec().arity.most == Some(0), "{name}");
    }
}

/// Outcomes at which a density that is usually bounded is not.
#[test]
fn outcomes_without_a_bound() {
    let number = Value::Number;
    let unbounded = |name: &str, x: f64, args: &[Option<&Value>]| {
        assert_eq!(log_density_bound(distribution(name), &number(x), args), None, "{name} at {x}");
    };
    let (zero, two) = (number(0.0), number(2.0));
    unbounded("normal", 0.0, &[Some(&zero), None]);
    unbounded("expon", 0.0, &[None]);
    unbounded("gamma", 0.0, &[None, Some(&two)]);
    unbounded("weibull", 2.0, &[None, Some(&two)]);
    unbounded("uniform_continuous", 0.0, &[Some(&zero), None]);
    unbounded("vonmises", 0.0, &[Some(&zero), None]);
    unbounded("half_student_t", 0.0, &[None, None]);
}
