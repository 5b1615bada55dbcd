//! Values at the edges, and values that are observed.

use crate::distributions_common::{Call, value};
use smidgen_prob::distributions;
use smidgen_value::{Rng, Value};

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
        ("poisson_log 1", "-1", -infinite),
        ("poisson_log 1", "0.5", -infinite),
        ("poisson_log -inf", "0", 0.0),
        ("poisson_log -inf", "1", -infinite),
        ("bernoulli_logit inf", "1", 0.0),
        ("bernoulli_logit inf", "0", -infinite),
        ("bernoulli_logit 0", "0.5", -infinite),
        ("categorical_logit [0,-inf]", "1", -infinite),
        ("categorical_logit [0,1]", "2", -infinite),
        ("beta_binomial 5 1 1", "6", -infinite),
        ("beta_binomial 5 1 1", "2.5", -infinite),
        ("hypergeometric 5 6 7", "6", -infinite),
        ("hypergeometric 12 6 7", "4", -infinite),
        ("negative_binomial_mean 1 1", "-1", -infinite),
        ("ordered_logistic 0 [1,2]", "3", -infinite),
        ("ordered_probit 0 [1,2]", "-1", -infinite),
        ("beta_mean 0.5 1", "0", infinite),
        ("beta_mean 0.5 4", "1", -infinite),
        ("inverse_gaussian 1 1", "0", -infinite),
        ("pareto 2 1", "1.9", -infinite),
        ("gumbel 0 1", "-1000", -infinite),
        ("skew_normal 0 1 2", "nan", -infinite),
        ("random_walk 3 1", "[1,2]", -infinite),
        ("truncate normal 0 1 0 1", "1.5", -infinite),
        ("truncate poisson 2 6 4", "2.5", -infinite),
        ("censor normal 0 1 0 1", "1.5", -infinite),
        ("censor expon 1 2 1", "0.5", -infinite),
        ("zero_inflated poisson 0.3 4", "-1", -infinite),
        ("zero_inflated poisson 1 4", "2", -infinite),
        ("hurdle poisson 0 4", "0", -infinite),
        ("hurdle poisson 0.5 0", "3", -infinite),
        ("hurdle poisson 0.5 4", "0.5", -infinite),
        ("mixture [1,1] gamma (2,1) expon (3)", "-1", -infinite),
        ("ordered normal 2 0 1", "[1,0]", -infinite),
        ("ordered normal 2 0 1", "[1,1]", -infinite),
        ("ordered gamma 2 2 1", "[-1,1]", -infinite),
        ("ordered normal 2 0 1", "[1]", -infinite),
        ("lkj 2 1", "[1,1;1,1]", -infinite),
        ("lkj 2 1", "[1,0.5;0.5,2]", -infinite),
        ("lkj 2 1", "[1;]", -infinite),
        ("lkj_cholesky 2 1", "[1,0;0.5,0.5]", -infinite),
        ("lkj_cholesky 2 1", "[1,0;0.6,-0.8]", -infinite),
        ("lkj_cholesky 2 1", "[0.8,0.6;0,1]", -infinite),
        ("ar 2 [0.5] 1", "[1,2,3]", -infinite),
        ("multivariate_student_t 3 [0] [1;]", "[1,2]", -infinite),
        ("multivariate_normal_cholesky [0] [1;]", "[1,2]", -infinite),
        ("dirichlet_multinomial 3 [1,1]", "[2,2]", -infinite),
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
