//! What holds for every distribution: total mass one, a closed support, edge values, and errors
//! in the promised words.

mod distributions_common;

use distributions_common::{Call, value};
use proptest::prelude::*;
use smidgen_prob::{Support, distributions};
use smidgen_value::{Matrix, Rng, Value, math};

// ---------------------------------------------------------------- total mass

/// Total mass by the trapezoid rule in a coordinate in which the law decays doubly
/// exponentially: y = m + s sinh t, with y the value, its logarithm or its logit.
fn integral(law: &Call) -> f64 {
    let support = law.support();
    let (low, high) = match support {
        Support::Interval { low, high } => (low, high),
        // A circle cut open.
        Support::Circle => (-math::PI, math::PI),
        support => {
            assert_eq!(support, Support::Reals);
            return integral_in(law, &|x| x, &|y| (y, 0.0));
        }
    };
    let log_slope = |y: f64| -math::ln_1p_exp(-y) - math::ln_1p_exp(y);
    match (low.is_finite(), high.is_finite()) {
        (true, false) => integral_in(law, &|x| math::ln(x - low), &|y| (low + math::exp(y), y)),
        (false, true) => integral_in(law, &|x| math::ln(high - x), &|y| (high - math::exp(y), y)),
        (true, true) => integral_in(law, &|x| math::ln((x - low) / (high - x)), &|y| {
            (low + (high - low) * math::logistic(y), math::ln(high - low) + log_slope(y))
        }),
        (false, false) => integral_in(law, &|x| x, &|y| (y, 0.0)),
    }
}

/// `place` gives the value at a coordinate, and the logarithm of its slope.
fn integral_in(law: &Call, to: &dyn Fn(f64) -> f64, place: &dyn Fn(f64) -> (f64, f64)) -> f64 {
    let mut rng = Rng::from_seed(1);
    let mut pilot: Vec<f64> = (0..1001).map(|_| to(law.draw(&mut rng))).collect();
    pilot.sort_by(f64::total_cmp);
    let (middle, spread) = (pilot[500], pilot[750] - pilot[250]);
    let per_unit = 500;
    let term = |i: i32| {
        let t = f64::from(i) / f64::from(per_unit);
        let sinh = 0.5 * (math::exp(t) - math::exp(-t));
        let cosh = 0.5 * (math::exp(t) + math::exp(-t));
        let (x, log_slope) = place(middle + spread * sinh);
        if !x.is_finite() {
            return 0.0;
        }
        math::exp(law.log_density(&Value::Number(x)) + log_slope) * spread * cosh
    };
    let sum: f64 = (-30 * per_unit..=30 * per_unit).map(term).filter(|t| t.is_finite()).sum();
    sum / f64::from(per_unit)
}

#[test]
fn continuous_densities_integrate_to_one() {
    for text in [
        "normal 3 2",
        "beta 2 3",
        "beta 0.5 3",
        "beta 1e6 2e6",
        "gamma 2 3",
        "gamma 0.05 3",
        "gamma 1e6 1",
        "inv_gamma 3 2",
        "inv_gamma 0.5 10",
        "expon 3",
        "student_t 4",
        "student_t 1 3 0.1",
        "student_t 1e8 1 2",
        "cauchy -1 3",
        "logistic_dist 1 3",
        "lognormal 1 2",
        "weibull 0.5 3",
        "weibull 7 3",
        "chi_squared 3",
        "half_normal 3",
        "half_cauchy 3",
        "half_student_t 3 2",
        "truncated_normal 0 1 -1 2",
        "truncated_normal 0 1 10 11",
        "truncated_normal 0 1 40 inf",
        "truncated_normal 0 1 -inf -3",
        "vonmises 1 3",
        "vonmises 0 0",
        "vonmises 0 500",
        "uniform_continuous -3 5",
    ] {
        let total = integral(&Call::new(text));
        assert!((total - 1.0).abs() < 1e-9, "{text}: {total}");
    }
    // The trapezoid rule sees the kink.
    let total = integral(&Call::new("laplace 1 3"));
    assert!((total - 1.0).abs() < 1e-6, "laplace: {total}");
}

#[test]
fn enumerable_probabilities_sum_to_one() {
    for text in [
        "bernoulli 0.3",
        "bernoulli 0",
        "flip 0.7",
        "flip 1",
        "binomial 20 0.3",
        "binomial 10000 0.37",
        "binomial 0 0.5",
        "geometric 1",
        "negative_binomial 3 1",
        "categorical [2,0,3]",
        "categorical (1,2,3) (a,b,a)",
        "uniform_discrete -3 8",
        "multinomial 5 [0.2,0.3,0.5]",
        "multinomial 30 [0.2,0,0.3,0.5]",
    ] {
        let law = Call::new(text);
        let values = law.enumerate().unwrap_or_else(|| panic!("{text} is finite"));
        let total: f64 = values.iter().map(|x| math::exp(law.log_density(x))).sum();
        assert!((total - 1.0).abs() < 1e-12, "{text}: {total}");
    }
}

#[test]
fn probabilities_of_counts_sum_to_one() {
    for (text, last) in [
        ("geometric 0.1", 500),
        ("negative_binomial 2.5 0.1", 700),
        ("negative_binomial 0.01 0.1", 700),
        ("poisson 4", 100),
        ("poisson 2000", 4000),
        ("binomial 20000 0.3", 20_000),
    ] {
        let law = Call::new(text);
        let total: f64 = (0..=last).map(|k| law.density(f64::from(k))).sum();
        assert!((total - 1.0).abs() < 1e-12, "{text}: {total}");
    }
}

/// The points from -reach to reach, `step` apart.
fn grid(reach: f64, step: f64) -> impl Iterator<Item = f64> + Clone {
    let n = (reach / step) as i32;
    (-n..=n).map(move |i| f64::from(i) * step)
}

#[test]
fn vector_densities_integrate_to_one() {
    let step = 0.2;
    for text in [
        "multivariate_normal [0.3,-0.2] [2,0.5;0.5,1]",
        "multivariate_diag_normal [0.3,-0.2] [1.5,0.7]",
    ] {
        let law = Call::new(text);
        let at = |x: f64, y: f64| math::exp(law.log_density(&Value::vector([x, y])));
        let sum: f64 = grid(15.0, step)
            .flat_map(|x| grid(15.0, step).map(move |y| (x, y)))
            .map(|(x, y)| at(x, y))
            .sum();
        assert!((sum * step * step - 1.0).abs() < 1e-9, "{text}: {}", sum * step * step);
    }
    // On the simplex by stick breaking, each stick in its logit.
    for text in ["dirichlet [0.5,2,3.5]", "dirichlet [20,20,30]", "symmetric_dirichlet 1.5 3"] {
        let law = Call::new(text);
        let mut sum = 0.0;
        for u in grid(60.0, step) {
            for v in grid(60.0, step) {
                let (a, rest) = (math::logistic(u), math::logistic(-u));
                let x = [a, rest * math::logistic(v), rest * math::logistic(-v)];
                let slope = a * rest * rest * math::logistic(v) * math::logistic(-v);
                let density = math::exp(law.log_density(&Value::vector(x)));
                sum += if slope > 0.0 { density * slope } else { 0.0 };
            }
        }
        assert!((sum * step * step - 1.0).abs() < 1e-9, "{text}: {}", sum * step * step);
    }
}

/// Over X = L L' with L = (e^u, 0; w, e^v): dX = 4 e^3u e^2v du dv dw.
#[test]
fn matrix_densities_integrate_to_one() {
    let step = 0.125;
    for text in ["wishart [2,0.5;0.5,1] 4.5", "inv_wishart [20,5;5,10] 9.5"] {
        let law = Call::new(text);
        let mut sum = 0.0;
        for u in grid(6.0, step) {
            for v in grid(6.0, step) {
                for s in grid(4.0, 0.5 * step) {
                    let (w, slope) = (math::exp(s) - math::exp(-s), math::exp(s) + math::exp(-s));
                    let (a, b) = (math::exp(u), math::exp(v));
                    let x = Matrix::new(2, 2, vec![a * a, a * w, a * w, w * w + b * b]);
                    let density = math::exp(law.log_density(&Value::matrix(x)));
                    sum += density * slope * 4.0 * a * a * a * b * b;
                }
            }
        }
        let total = sum * step * step * (0.5 * step);
        // Some of the mass lies beyond the grid.
        assert!((total - 1.0).abs() < 1e-6, "{text}: {total}");
    }
}

// ---------------------------------------------------------------- edges

#[test]
fn densities_at_the_edges_are_their_limits() {
    let infinite = f64::INFINITY;
    for (text, x, want) in [
        ("beta 0.5 2", "0", infinite),
        ("beta 2 0.5", "1", infinite),
        ("beta 2 2", "0", -infinite),
        ("beta 1e6 1e6", "1", -infinite),
        ("beta 1 1", "0", 0.0),
        ("gamma 0.5 1", "0", infinite),
        ("gamma 1 1", "0", 0.0),
        ("gamma 2 1", "0", -infinite),
        ("inv_gamma 2 1", "0", -infinite),
        ("lognormal 0 1", "0", -infinite),
        ("weibull 0.5 1", "0", infinite),
        ("weibull 2 1", "0", -infinite),
        ("weibull 20 1", "1e300", -infinite),
        ("chi_squared 1", "0", infinite),
        ("expon 1", "-1e-300", -infinite),
        ("bernoulli 0", "1", -infinite),
        ("bernoulli 1", "0", -infinite),
        ("bernoulli 0.5", "0.5", -infinite),
        ("binomial 5 0", "0", 0.0),
        ("binomial 5 0", "2", -infinite),
        ("binomial 5 1", "2", -infinite),
        ("binomial 5 1", "0", -infinite),
        ("binomial 5 0.5", "6", -infinite),
        ("binomial 5 0.5", "2.5", -infinite),
        ("geometric 1", "1", -infinite),
        ("negative_binomial 2 1", "1", -infinite),
        ("poisson 3", "-1", -infinite),
        ("poisson 3", "inf", -infinite),
        ("categorical [1,0]", "1", -infinite),
        ("categorical [1,1]", "2", -infinite),
        ("categorical [1,1]", "0.5", -infinite),
        ("categorical [1,1] (a,b)", "c", -infinite),
        ("uniform_discrete 0 3", "3", -infinite),
        ("uniform_continuous 0 3", "3.5", -infinite),
        ("truncated_normal 0 1 0 1", "1.5", -infinite),
        ("vonmises 0 1", "3.2", -infinite),
        ("half_normal 1", "-1", -infinite),
        ("normal 0 1", "inf", -infinite),
        ("normal 0 1", "nan", -infinite),
        ("cauchy 0 1", "nan", -infinite),
        ("flat", "inf", -infinite),
        ("flat_pos", "0", -infinite),
        ("dirichlet [0.5,1]", "[0,1]", infinite),
        ("dirichlet [2,1]", "[0,1]", -infinite),
        ("dirichlet [0.5,2,1]", "[0,0,1]", -infinite),
        ("dirichlet [1,1]", "[0.5,0.6]", -infinite),
        ("dirichlet [1,1]", "[0.5,0.3,0.2]", -infinite),
        ("multinomial 3 [0.5,0.5]", "[2,2]", -infinite),
        ("multinomial 3 [1,0]", "[2,1]", -infinite),
        ("multivariate_normal [0] [1;]", "[1,2]", -infinite),
        ("wishart [1,0;0,1] 3", "[1,2;2,1]", -infinite),
        ("wishart [1,0;0,1] 3", "[1;]", -infinite),
    ] {
        let got = Call::new(text).log_density(&value(x));
        assert!(got == want, "{text} at {x}: {got}, not {want}");
    }
}

#[test]
fn draws_deep_in_a_tail_stay_in_their_interval() {
    let mut rng = Rng::from_seed(2);
    for (text, low, high) in [
        ("truncated_normal 0 1 10 11", 10.0, 11.0),
        ("truncated_normal 0 1 40 inf", 40.0, 41.0),
        ("truncated_normal 0 1 -inf -1e8", -1e8 - 1e-6, -1e8),
        ("truncated_normal 1e9 1 0 1", 0.0, 1.0),
    ] {
        let law = Call::new(text);
        assert!((0..1000).map(|_| law.draw(&mut rng)).all(|x| low <= x && x <= high), "{text}");
    }
}

#[test]
fn observed_values_become_the_type_that_is_drawn() {
    let admit = |name: &str, x: &Value| Call::new(name).distribution.admit(x);
    let is_number = |x: Result<Value, _>, want: f64| matches!(x, Ok(Value::Number(x)) if x == want);
    assert!(is_number(admit("bernoulli", &Value::TRUE), 1.0));
    assert!(is_number(admit("normal 0 1", &Value::Number(2.5)), 2.5));
    assert!(matches!(admit("flip", &Value::Number(1.0)), Ok(Value::Bool(true))));
    assert!(matches!(admit("flip", &Value::Number(0.0)), Ok(Value::Bool(false))));
    let list = Value::list([Value::Number(0.5), Value::Number(0.5)]);
    for x in [list.clone(), value("(0.5,0.5)"), value("[0.5,0.5]")] {
        let admitted = admit("dirichlet [1,1]", &x).expect("numbers");
        assert!(matches!(&admitted, Value::Vector(xs) if xs.as_slice() == [0.5, 0.5]), "{x}");
    }
    let rows = Value::list([value("(1,0)"), value("[0,1]")]);
    assert_eq!(admit("wishart [1,0;0,1] 2", &rows), Ok(value("[1,0;0,1]")));
    for (name, x, wanted) in [
        ("normal 0 1", Value::symbol("a"), "a number"),
        ("flip", Value::Number(0.5), "a boolean"),
        ("dirichlet [1,1]", Value::Number(1.0), "a vector of numbers"),
        ("wishart [1,0;0,1] 2", list, "a matrix"),
    ] {
        assert_eq!(admit(name, &x), Err(wanted));
    }
}

#[test]
fn improper_priors_have_a_starting_value() {
    for (text, start) in [("flat", 0.0), ("flat_pos", 1.0)] {
        let law = Call::new(text);
        assert!(!law.distribution.is_proper());
        assert_eq!(law.draw(&mut Rng::from_seed(1)), start);
    }
    // The third is what `factor` observes.
    let improper = distributions::ALL.iter().filter(|d| !d.is_proper()).count();
    assert_eq!(improper, 3);
}

#[test]
fn a_poisson_law_of_rate_zero_is_a_point() {
    let law = Call::new("poisson 0");
    assert_eq!(law.draw(&mut Rng::from_seed(1)), 0.0);
    for (k, log_mass) in [(0.0, 0.0), (3.0, f64::NEG_INFINITY), (40.0, f64::NEG_INFINITY)] {
        assert_eq!(law.log_density(&Value::Number(k)), log_mass, "at {k}");
    }
}

// ---------------------------------------------------------------- errors

#[test]
fn errors_are_in_the_promised_words() {
    for (text, words, rejects) in [
        ("bernoulli 1.5", "probability", true),
        ("flip -0.1", "probability", true),
        ("flip nan", "probability", true),
        ("binomial 3 2", "probability", true),
        ("binomial -3 0.5", "number of trials", true),
        ("binomial 2.5 0.5", "whole", true),
        ("geometric 0", "positive probability", true),
        ("negative_binomial 0 0.5", "positive", true),
        ("negative_binomial 2 0", "probability", true),
        ("poisson -1", "positive", true),
        ("categorical [0,0]", "positive", true),
        ("categorical [1,-1]", "non-negative", true),
        ("categorical [1,2] (a,b,c)", "dimension", false),
        ("categorical 3", "a vector of numbers", false),
        ("categorical [1e308,1e308]", "finite", true),
        ("uniform_discrete 3 3", "range", true),
        ("uniform_discrete 0.5 3", "whole", true),
        ("normal 0 0", "positive", true),
        ("normal 0 -1", "positive", true),
        ("normal a 1", "a number", false),
        ("normal inf 1", "finite", true),
        ("uniform_continuous 2 1", "range", true),
        ("uniform 2 2", "range", true),
        ("beta 0 1", "positive", true),
        ("beta 1 inf", "positive", true),
        ("gamma -1 1", "positive", true),
        ("gamma 1 0", "positive", true),
        ("inv_gamma 1 0", "positive", true),
        ("expon 0", "positive", true),
        ("exponential -1", "positive", true),
        ("student_t 0", "degrees of freedom", true),
        ("student_t 3 0 0", "positive", true),
        ("cauchy 0 0", "positive", true),
        ("laplace 0 0", "positive", true),
        ("logistic_dist 0 0", "positive", true),
        ("lognormal 0 0", "positive", true),
        ("weibull 0 1", "positive", true),
        ("chi_squared 0", "degrees of freedom", true),
        ("half_normal 0", "positive", true),
        ("half_cauchy 0", "positive", true),
        ("half_student_t 0 1", "degrees of freedom", true),
        ("truncated_normal 0 1 2 2", "range", true),
        ("truncated_normal 0 1 nan 2", "lower end", true),
        ("truncated_normal 0 1 0 nan", "range", true),
        ("truncated_normal 0 1e-320 1 2", "standard deviation", true),
        ("vonmises 0 -1", "positive", true),
        ("multivariate_normal [0,0] [1;]", "dimension", false),
        ("multivariate_normal [0,0] [1,2;2,1]", "positive definite", true),
        ("multivariate_normal [0,0] [1,0.5;0.2,1]", "positive definite", true),
        ("multivariate_normal [0,0] 1", "a matrix", false),
        ("multivariate_diag_normal [0,0] [1]", "dimension", false),
        ("multivariate_diag_normal [0,0] [1,0]", "positive", true),
        ("wishart [1,0;0,1] 1", "degrees of freedom", true),
        ("wishart [1,2;2,1] 4", "positive definite", true),
        ("inv_wishart [1,0;0,1] 0.5", "degrees of freedom", true),
        ("inv_wishart [1,0,0;0,1,0] 5", "positive definite", true),
        ("dirichlet [1,0]", "positive", true),
        ("dirichlet []", "dimension", true),
        ("symmetric_dirichlet 0 3", "positive", true),
        ("symmetric_dirichlet 1 0", "dimension", true),
        ("multinomial 3 [0.5,0.6]", "probability", true),
        ("multinomial 3 [1.5,-0.5]", "probability", true),
        ("multinomial -1 [1]", "number of trials", true),
    ] {
        let call = Call::new(text);
        let at = value("[1,1]");
        let errors = [
            call.try_sample(&mut Rng::from_seed(1)).err(),
            call.with(|d, args| d.log_density(&at, args)).err(),
        ];
        for error in errors {
            let error = error.unwrap_or_else(|| panic!("{text} is an error"));
            assert!(error.to_string().contains(words), "{text}: {error}");
            assert_eq!(error.rejects(), rejects, "{text}: {error}");
        }
    }
}

#[test]
fn the_distributions_are_those_of_the_language() {
    let names: Vec<_> = distributions::ALL.iter().map(|d| d.spec().name).collect();
    let language = "bernoulli flip binomial geometric negative_binomial poisson categorical \
        uniform_discrete normal uniform_continuous beta gamma inv_gamma expon student_t cauchy \
        laplace logistic_dist lognormal weibull chi_squared half_normal half_cauchy \
        half_student_t truncated_normal vonmises multivariate_normal multivariate_diag_normal \
        wishart inv_wishart dirichlet symmetric_dirichlet multinomial flat flat_pos";
    assert_eq!(names, language.split_whitespace().collect::<Vec<_>>());
}

// ---------------------------------------------------------------- properties

/// Every distribution with the kinds of its arguments: r real, + positive over many orders of
/// magnitude, u probability, U positive probability, n small count, N dimension, w weights,
/// p probabilities, o objects, v real and V positive vector, S positive definite matrix,
/// d degrees of freedom for it, < two ends of a range, i two whole ends.
const KINDS: &[(&str, &str)] = &[
    ("bernoulli", "u"),
    ("flip", "u"),
    ("binomial", "nu"),
    ("geometric", "U"),
    ("negative_binomial", "+U"),
    ("poisson", "+"),
    ("categorical", "w"),
    ("categorical", "wo"),
    ("uniform_discrete", "i"),
    ("normal", "r+"),
    ("uniform_continuous", "<"),
    ("beta", "++"),
    ("gamma", "++"),
    ("inv_gamma", "++"),
    ("expon", "+"),
    ("student_t", "+"),
    ("student_t", "+r"),
    ("student_t", "+r+"),
    ("cauchy", "r+"),
    ("laplace", "r+"),
    ("logistic_dist", "r+"),
    ("lognormal", "r+"),
    ("weibull", "++"),
    ("chi_squared", "+"),
    ("half_normal", "+"),
    ("half_cauchy", "+"),
    ("half_student_t", "++"),
    ("truncated_normal", "r+<"),
    ("vonmises", "r+"),
    ("multivariate_normal", "vS"),
    ("multivariate_diag_normal", "vV"),
    ("wishart", "Sd"),
    ("inv_wishart", "Sd"),
    ("dirichlet", "V"),
    ("symmetric_dirichlet", "+N"),
    ("multinomial", "np"),
    ("flat", ""),
    ("flat_pos", ""),
    ("[factor]", "r"),
];

const DIMENSION: usize = 3;

fn arguments(kinds: &str, rng: &mut Rng) -> Vec<Value> {
    let real = |rng: &mut Rng| 100.0 * (rng.uniform() - 0.5);
    let positive = |rng: &mut Rng| math::exp(30.0 * (rng.uniform() - 0.5));
    let probability = |rng: &mut Rng| match rng.below(6) {
        0 => 0.0,
        1 => 1.0,
        2 => 1e-12 * rng.uniform(),
        _ => rng.uniform(),
    };
    let mut args = Vec::new();
    for kind in kinds.chars() {
        let mut vector =
            |one: &dyn Fn(&mut Rng) -> f64| (0..DIMENSION).map(|_| one(rng)).collect::<Vec<f64>>();
        let arg = match kind {
            'v' => Value::vector(vector(&real)),
            'V' => Value::vector(vector(&positive)),
            'w' => {
                let mut weights = vector(&probability);
                weights[1] += 1e-3;
                Value::array(weights.into_iter().map(Value::Number).collect())
            }
            'p' => {
                let mut weights = vector(&probability);
                weights[2] += 1e-3;
                let total: f64 = weights.iter().sum();
                Value::vector(weights.iter().map(|w| w / total).collect::<Vec<_>>())
            }
            'o' => value("(a,true,a)"),
            'S' => {
                let z = vector(&real);
                Value::matrix(Matrix::from_fn(DIMENSION, DIMENSION, |i, j| {
                    z[i] * z[j] + if i == j { 1.0 } else { 0.0 }
                }))
            }
            'd' => Value::Number(2.5 + 10.0 * rng.uniform()),
            'N' => Value::Number(1.0 + rng.below(5) as f64),
            'n' => Value::Number(rng.below(30) as f64),
            'r' => Value::Number(real(rng)),
            '+' => Value::Number(positive(rng)),
            'u' => Value::Number(probability(rng)),
            'U' => Value::Number(probability(rng).max(1e-14)),
            '<' => {
                let low = real(rng);
                args.push(Value::Number(low));
                Value::Number(low + positive(rng))
            }
            'i' => {
                let low = rng.below(100) as f64 - 50.0;
                args.push(Value::Number(low));
                Value::Number(low + 1.0 + rng.below(20) as f64)
            }
            other => panic!("no kind {other}"),
        };
        args.push(arg);
    }
    args
}

fn same_type(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

#[test]
fn the_properties_are_tested_for_every_distribution() {
    for distribution in distributions::ALL {
        let name = distribution.spec().name;
        assert!(KINDS.iter().any(|(known, _)| *known == name), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_draw_lies_in_the_support_and_is_admitted_as_it_is(seed in any::<u64>()) {
        let mut rng = Rng::from_seed(seed);
        for (name, kinds) in KINDS {
            let args = arguments(kinds, &mut rng);
            let call = Call::applied(name, args);
            let shown = format!("{name} {:?}", call.args);
            let x = match call.try_sample(&mut rng) {
                Ok(x) => x,
                // A truncation that its normal law cannot reach.
                Err(error) => {
                    prop_assert!(error.rejects() && *name == "truncated_normal", "{shown}: {error}");
                    continue;
                }
            };
            let admitted = call.distribution.admit(&x);
            prop_assert!(admitted.as_ref() == Ok(&x), "{shown}: {x}");
            prop_assert!(same_type(&admitted.expect("it is equal to x"), &x), "{shown}: {x}");
            let support = call.support();
            prop_assert!(support.contains(&x), "{shown}: {x} is not in {support:?}");
            let log_density = call.log_density(&x);
            prop_assert!(log_density.is_finite(), "{shown} at {x}: {log_density}");
            let Some(values) = call.enumerate() else { continue };
            prop_assert!(values.contains(&x), "{shown}: {x} is not enumerated");
            let mut distinct = values.clone();
            distinct.sort();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), values.len());
            let mut total = 0.0;
            for value in &values {
                let log_probability = call.log_density(value);
                prop_assert!(log_probability.is_finite(), "{shown} at {value}");
                prop_assert!(support.contains(value), "{shown}: {value}");
                total += math::exp(log_probability);
            }
            // No other value has any probability left.
            prop_assert!((total - 1.0).abs() < 1e-12, "{shown}: {total}");
        }
    }
}
