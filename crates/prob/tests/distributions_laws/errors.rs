//! Errors are in the promised words.

use crate::distributions_common::{Call, value};
use smidgen_prob::distributions;
use smidgen_value::Rng;

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
        ("poisson_log inf", "rate", true),
        ("poisson_log nan", "rate", true),
        ("bernoulli_logit nan", "log odds", true),
        ("categorical_logit [-inf,-inf]", "finite", true),
        ("categorical_logit [0,inf]", "infinitely large", true),
        ("categorical_logit 3", "a vector of numbers", false),
        ("beta_binomial 2.5 1 1", "whole", true),
        ("beta_binomial 2 0 1", "positive", true),
        ("beta_binomial 2 1 inf", "positive", true),
        ("hypergeometric 14 6 7", "range", true),
        ("hypergeometric 3 0.5 7", "whole", true),
        ("hypergeometric 3 6 -7", "whole", true),
        ("negative_binomial_mean 0 1", "positive", true),
        ("negative_binomial_mean 1 0", "positive", true),
        ("ordered_logistic 0 [1,1]", "increasing", true),
        ("ordered_logistic 0 []", "cut points", true),
        ("ordered_logistic inf [1]", "finite", true),
        ("ordered_probit 0 [2,1]", "increasing", true),
        ("ordered_probit 0 1", "a vector of numbers", false),
        ("skew_normal 0 0 1", "positive", true),
        ("skew_normal 0 1 inf", "finite", true),
        ("beta_mean 0 1", "probability", true),
        ("beta_mean 1 1", "probability", true),
        ("beta_mean 0.5 0", "positive", true),
        ("inverse_gaussian 0 1", "positive", true),
        ("wald 1 0", "positive", true),
        ("gumbel 0 0", "positive", true),
        ("pareto 0 1", "positive", true),
        ("pareto 1 0", "positive", true),
        ("random_walk 0 1", "length", true),
        ("truncate normal 1 1 0 1", "range", true),
        ("truncate normal 2 1 0 1", "range", true),
        ("truncate normal 0 1 0 -1", "positive", true),
        ("truncate expon -2 -1 3", "range", true),
        ("truncate vonmises 0 1 0 1", "distribution function", false),
        ("truncate normal 0 1 0", "arguments", false),
        ("censor normal 1 1 0 1", "range", true),
        ("censor normal 0 nan 0 1", "range", true),
        ("censor dirichlet 0 1 [1,1]", "numbers", false),
        ("zero_inflated poisson 1.5 4", "probability", true),
        ("zero_inflated poisson 0.5 -4", "positive", true),
        ("zero_inflated poisson 0.5", "arguments", false),
        ("zero_inflated normal 0.5 0 1", "counts", false),
        ("zero_inflated 3 0.5 0 1", "a distribution", false),
        ("zero_inflated categorical 0.5 [1,2]", "numbers", false),
        ("hurdle poisson -1 4", "probability", true),
        ("hurdle poisson 0.5 a", "a number", false),
        ("mixture [1,1] normal (0,1) normal (0,-1)", "positive", true),
        ("mixture [1,-1] normal (0,1) normal (0,1)", "weights", true),
        ("mixture [1] normal (0,1) normal (0,1)", "dimension", false),
        ("mixture [1,1] normal (0,1) normal (0)", "arguments", false),
        ("ordered normal 0 0 1", "length", true),
        ("ordered normal 2 0 -1", "positive", true),
        ("ordered beta 2 1 1", "real numbers", false),
        ("ordered poisson 2 1", "real numbers", false),
        ("ordered flat 2", "proper", false),
        ("lkj 0 1", "dimension", true),
        ("lkj 2 0", "positive", true),
        ("lkj_cholesky 2.5 1", "dimension", true),
        ("lkj_cholesky 2 inf", "positive", true),
        ("random_walk 2.5 1", "whole", true),
        ("random_walk 2 0", "positive", true),
        ("random_walk 2 1 inf", "finite", true),
        ("ar 0 [1] 1", "length", true),
        ("ar 2 1 1", "a vector of numbers", false),
        ("ar 2 [nan] 1", "finite", true),
        ("ar 2 [1] -1", "positive", true),
        ("multivariate_normal_cholesky [0,0] [1;]", "dimension", false),
        ("multivariate_normal_cholesky [0,0] [1,1;0,1]", "triangular", true),
        ("multivariate_normal_cholesky [0,0] [1,0;0,-1]", "positive", true),
        ("multivariate_student_t 0 [0] [1;]", "degrees of freedom", true),
        ("multivariate_student_t 1 [0,0] [1;]", "dimension", false),
        ("multivariate_student_t 1 [0,0] [1,2;2,1]", "positive definite", true),
        ("dirichlet_multinomial 3 [1,0]", "positive", true),
        ("dirichlet_multinomial 3 []", "dimension", true),
        ("dirichlet_multinomial -1 [1]", "number of trials", true),
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
    let spellable = distributions::ALL.iter().filter(|d| d.spec().is_spellable());
    let names: Vec<_> = spellable.map(|d| d.spec().name).collect();
    let language = "bernoulli flip bernoulli_logit binomial beta_binomial hypergeometric geometric \
        negative_binomial negative_binomial_mean poisson poisson_log categorical categorical_logit \
        ordered_logistic ordered_probit uniform_discrete normal skew_normal uniform_continuous beta \
        beta_mean gamma inv_gamma inverse_gaussian expon student_t cauchy laplace logistic_dist \
        lognormal weibull gumbel pareto chi_squared half_normal half_cauchy half_student_t \
        truncated_normal vonmises multivariate_normal multivariate_normal_cholesky \
        multivariate_diag_normal multivariate_student_t random_walk ar wishart inv_wishart lkj lkj_cholesky \
        dirichlet symmetric_dirichlet multinomial dirichlet_multinomial ordered zero_inflated \
        hurdle mixture truncate censor flat flat_pos";
    assert_eq!(names, language.split_whitespace().collect::<Vec<_>>());
}
