//! Numbers, words and edge cases of the makers. Reference values were computed with mpmath at
//! 30 digits, by sequential predictives, closed forms or quadrature.

use smidgen_prob::collapsed;
use smidgen_prob::{Maker, Statistics, Support};
use smidgen_value::{ArgumentError, Matrix, Rng, Value, math};

fn maker(name: &str) -> &'static dyn Maker {
    let named = |m: &&&'static dyn Maker| m.spec().name == name || m.spec().aliases.contains(&name);
    *collapsed::ALL.iter().find(named).unwrap_or_else(|| panic!("no maker {name}"))
}

fn refs(params: &[Value]) -> Vec<&Value> {
    params.iter().collect()
}

fn num(x: f64) -> Value {
    Value::Number(x)
}

fn numbers(xs: &[f64]) -> Vec<Value> {
    xs.iter().copied().map(num).collect()
}

fn matrix(n: usize, data: &[f64]) -> Value {
    Value::matrix(Matrix::new(n, n, data.to_vec()))
}

fn fed(name: &str, params: &[Value], data: &[Value]) -> Box<dyn Statistics> {
    let mut stats = maker(name).empty(&refs(params)).unwrap();
    data.iter().for_each(|x| stats.add(x));
    stats
}

#[track_caller]
fn close(got: f64, want: f64) {
    assert!((got - want).abs() < 1e-12 * want.abs().max(1.0), "{got} is not {want}");
}

// ---------------------------------------------------------------- numbers

#[test]
fn names_come_in_the_order_of_the_documentation() {
    let names: Vec<_> = collapsed::ALL.iter().map(|maker| maker.spec().name).collect();
    assert_eq!(
        names,
        [
            "make_crp",
            "make_beta_bernoulli",
            "make_dir_cat",
            "make_sym_dir_cat",
            "make_gamma_poisson",
            "make_nig_normal",
            "make_collapsed_multivariate_normal",
            "make_suff_stat_bernoulli",
            "make_suff_stat_poisson",
            "make_suff_stat_normal",
            "make_uc_beta_bernoulli",
            "make_uc_dir_cat",
            "make_uc_sym_dir_cat",
            "make_uc_gamma_poisson",
            "make_uc_nig_normal",
            "make_uc_niw_normal",
        ]
    );
    for maker in collapsed::ALL {
        let uncollapsed = maker.spec().name.starts_with("make_uc_");
        assert_eq!(maker.latent().is_some(), uncollapsed, "{}", maker.spec().name);
        if let Some(latent) = maker.latent() {
            assert_eq!(latent.spec().name, maker.spec().name);
        }
    }
    for alias in
        ["make_dir_mult", "make_sym_dir_mult", "make_cmvn", "make_niw_normal", "make_uc_dir_mult"]
    {
        maker(alias);
    }
    maker("make_uc_sym_dir_mult");
    maker("make_uc_cmvn");
}

#[test]
fn restaurant_numbers() {
    let seating = numbers(&[1.0, 1.0, 2.0, 1.0, 3.0, 2.0]);
    for (params, want) in [
        (vec![1.5], -5.745_603_969_509_54),
        (vec![1.5, 0.0], -5.745_603_969_509_54),
        (vec![1.5, 0.3], -6.102_678_993_469_612),
        (vec![-0.1, 0.3], -7.036_722_595_568_519),
    ] {
        let params = numbers(&params);
        close(fed("make_crp", &params, &seating).log_marginal(&refs(&params)).unwrap(), want);
    }
    let params = numbers(&[1.5]);
    let stats = fed("make_crp", &params, &seating);
    for (label, want) in [(1.0, 0.4), (2.0, 2.0 / 7.5), (3.0, 1.0 / 7.5), (4.0, 0.2), (77.0, 0.2)] {
        let got = math::exp(stats.log_predictive(&num(label), &refs(&params)).unwrap());
        close(got, want);
    }
}

#[test]
fn coin_numbers() {
    let params = numbers(&[2.0, 3.0]);
    let data = [Value::TRUE, Value::FALSE, Value::TRUE, Value::TRUE];
    let stats = fed("make_beta_bernoulli", &params, &data);
    close(stats.log_marginal(&refs(&params)).unwrap(), -3.149_882_953_381_249_3);
    close(math::exp(stats.log_predictive(&Value::TRUE, &refs(&params)).unwrap()), 5.0 / 9.0);
    let prior = maker("make_uc_beta_bernoulli").latent().unwrap();
    close(prior.log_density(&num(0.3), &refs(&params)).unwrap(), 0.567_583_957_584_599_6);
    let flat = numbers(&[0.5, 0.4]);
    close(prior.log_density(&num(0.3), &refs(&flat)).unwrap(), -0.486_675_152_365_533_46);
    let stats = fed("make_suff_stat_bernoulli", &numbers(&[0.3]), &data);
    let want = 3.0 * math::ln(0.3) + math::ln(0.7);
    close(stats.log_marginal(&[&num(0.3)]).unwrap(), want);
    assert_eq!(stats.log_marginal(&[&num(1.0)]).unwrap(), f64::NEG_INFINITY);
    assert_eq!(stats.enumerate(&[&num(1.0)]).unwrap(), Some(vec![Value::TRUE]));
}

#[test]
fn category_numbers() {
    let params = vec![Value::vector([0.5, 1.0, 2.0])];
    let stats = fed("make_dir_cat", &params, &numbers(&[0.0, 2.0, 2.0, 0.0, 2.0]));
    let params = refs(&params);
    close(stats.log_marginal(&params).unwrap(), -5.457_921_897_057_759);
    for (category, want) in [(0.0, 2.5 / 8.5), (1.0, 1.0 / 8.5), (2.0, 5.0 / 8.5)] {
        close(math::exp(stats.log_predictive(&num(category), &params).unwrap()), want);
    }
    let prior = maker("make_uc_dir_cat").latent().unwrap();
    let weights = Value::vector([0.2, 0.3, 0.5]);
    close(prior.log_density(&weights, &params).unwrap(), 0.740_180_435_079_479);
    // Symmetric is the same with equal alphas.
    let data = numbers(&[0.0, 2.0, 2.0]);
    let (each, same) = (vec![Value::vector([0.7, 0.7, 0.7])], numbers(&[0.7, 3.0]));
    close(
        fed("make_sym_dir_cat", &same, &data).log_marginal(&refs(&same)).unwrap(),
        fed("make_dir_cat", &each, &data).log_marginal(&refs(&each)).unwrap(),
    );
}

#[test]
fn equal_objects_are_one_category() {
    let (a, b) = (Value::symbol("a"), Value::symbol("b"));
    let repeated =
        vec![Value::vector([0.5, 1.0, 2.0]), Value::list([a.clone(), b.clone(), a.clone()])];
    let merged = vec![Value::vector([2.5, 1.0]), Value::array(vec![a.clone(), b.clone()])];
    let data = [a.clone(), b.clone(), a.clone()];
    let stats = fed("make_dir_cat", &repeated, &data);
    let twin = fed("make_dir_cat", &merged, &data);
    let (repeated, merged) = (refs(&repeated), refs(&merged));
    close(stats.log_marginal(&repeated).unwrap(), twin.log_marginal(&merged).unwrap());
    for x in [&a, &b] {
        close(
            stats.log_predictive(x, &repeated).unwrap(),
            twin.log_predictive(x, &merged).unwrap(),
        );
    }
    assert_eq!(stats.enumerate(&repeated).unwrap(), Some(vec![a.clone(), b.clone()]));
    assert_eq!(stats.support(&repeated).unwrap(), Support::Finite(vec![a, b]));
    let stranger = Value::symbol("c");
    assert_eq!(stats.log_predictive(&stranger, &repeated).unwrap(), f64::NEG_INFINITY);
    assert!(!stats.support(&repeated).unwrap().contains(&stranger));
}

#[test]
fn count_numbers() {
    let params = numbers(&[2.0, 1.5]);
    let stats = fed("make_gamma_poisson", &params, &numbers(&[3.0, 0.0, 5.0, 1.0]));
    close(stats.log_marginal(&refs(&params)).unwrap(), -9.416_137_437_340_934);
    close(stats.log_predictive(&num(2.0), &refs(&params)).unwrap(), -1.391_544_543_071_585_4);
    let prior = maker("make_uc_gamma_poisson").latent().unwrap();
    close(prior.log_density(&num(0.7), &refs(&params)).unwrap(), -0.595_744_727_722_403_6);
}

#[test]
fn real_numbers() {
    let params = numbers(&[0.0, 1.0, 2.0, 3.0]);
    let data = numbers(&[1.2, -0.4, 2.0, 0.7]);
    let stats = fed("make_nig_normal", &params, &data);
    close(stats.log_marginal(&refs(&params)).unwrap(), -6.782_584_754_721_503);
    close(stats.log_predictive(&num(0.5), &refs(&params)).unwrap(), -1.150_042_499_763_167_6);
    let params = numbers(&[0.3, 0.25, 2.0, 3.0]);
    close(stats.log_marginal(&refs(&params)).unwrap(), -6.344_616_628_748_944);
    let prior = maker("make_uc_nig_normal").latent().unwrap();
    let latent = Value::vector([0.4, 1.7]);
    close(prior.log_density(&latent, &refs(&params)).unwrap(), -1.662_236_242_261_398_6);
}

#[test]
fn vector_numbers() {
    let params = vec![
        Value::list(numbers(&[0.0, 0.0])),
        num(0.5),
        num(4.0),
        matrix(2, &[1.0, 0.2, 0.2, 2.0]),
    ];
    let data = [[1.0, 0.5], [0.2, -0.3], [-0.7, 1.1], [0.4, 0.9]].map(Value::vector);
    let along = [
        -2.922_089_987_371_111,
        -1.932_699_959_914_789_7,
        -4.189_090_017_546_179,
        -1.689_326_055_962_140_5,
    ];
    let params = refs(&params);
    let mut stats = maker("make_cmvn").empty(&params).unwrap();
    for (x, want) in data.iter().zip(along) {
        close(stats.log_predictive(x, &params).unwrap(), want);
        stats.add(x);
    }
    close(stats.log_marginal(&params).unwrap(), -10.733_206_020_794_22);
    let origin = Value::vector([0.0, 0.0]);
    close(stats.log_predictive(&origin, &params).unwrap(), -1.478_781_624_614_898_6);
    // The last one leaves again.
    stats.remove(&data[3]);
    close(stats.log_predictive(&data[3], &params).unwrap(), along[3]);
    let latent = Value::array(vec![Value::vector([0.3, -0.2]), matrix(2, &[0.8, 0.1, 0.1, 0.6])]);
    let prior = maker("make_uc_niw_normal").latent().unwrap();
    close(prior.log_density(&latent, &params).unwrap(), -3.739_216_390_901_544);
}

#[test]
fn one_dimension_of_vectors_is_the_law_of_reals() {
    // sigma^2 ~ inv_wishart(S0, v0) in one dimension is inv_gamma(v0 / 2, S0 / 2).
    let reals = numbers(&[0.3, 0.25, 2.0, 3.0]);
    let vectors = vec![Value::vector([0.3]), num(4.0), num(4.0), matrix(1, &[6.0])];
    let data = [1.2, -0.4, 2.0, 0.7];
    let one = fed("make_nig_normal", &reals, &numbers(&data));
    let other = fed("make_niw_normal", &vectors, &data.map(|x| Value::vector([x])));
    let (reals, vectors) = (refs(&reals), refs(&vectors));
    close(one.log_marginal(&reals).unwrap(), other.log_marginal(&vectors).unwrap());
    close(
        one.log_predictive(&num(0.1), &reals).unwrap(),
        other.log_predictive(&Value::vector([0.1]), &vectors).unwrap(),
    );
    let (prior, twin) =
        (maker("make_uc_nig_normal").latent(), maker("make_uc_niw_normal").latent());
    let latent = Value::array(vec![Value::vector([0.4]), matrix(1, &[1.7])]);
    close(
        prior.unwrap().log_density(&Value::vector([0.4, 1.7]), &reals).unwrap(),
        twin.unwrap().log_density(&latent, &vectors).unwrap(),
    );
}

#[test]
fn predictives_keep_their_digits_far_from_the_origin() {
    // Shifting data and prior mean together changes nothing.
    let data = [1.25, -0.5, 2.0, 0.75];
    for shift in [1e6, 1e8] {
        let at = |shift: f64| {
            let params = numbers(&[shift, 0.25, 2.0, 3.0]);
            let data: Vec<_> = data.iter().map(|x| num(x + shift)).collect();
            fed("make_nig_normal", &params, &data).log_marginal(&refs(&params)).unwrap()
        };
        assert!((at(shift) - at(0.0)).abs() < 1e-12, "{} {}", at(shift), at(0.0));
    }
}

// ---------------------------------------------------------------- labels

#[test]
fn labels_start_at_one_and_fill_gaps() {
    let params = numbers(&[1.5]);
    let params = refs(&params);
    let mut rng = Rng::from_seed(1);
    let mut stats = maker("make_crp").empty(&params).unwrap();
    for _ in 0..20 {
        assert_eq!(stats.sample(&params, &mut rng).unwrap(), num(1.0));
    }
    assert_eq!(stats.log_predictive(&num(9.0), &params).unwrap(), 0.0);
    let labels = |stats: &dyn Statistics| stats.enumerate(&params).unwrap().unwrap();
    assert_eq!(labels(&*stats), numbers(&[1.0]));
    for label in [1.0, 2.0, 4.0, 900.0] {
        stats.add(&num(label));
    }
    assert_eq!(labels(&*stats), numbers(&[1.0, 2.0, 4.0, 900.0, 3.0]));
    stats.remove(&num(1.0));
    assert_eq!(labels(&*stats), numbers(&[2.0, 4.0, 900.0, 1.0]));
    stats.add(&num(1.0));
    stats.add(&num(3.0));
    assert_eq!(labels(&*stats), numbers(&[1.0, 2.0, 3.0, 4.0, 900.0, 5.0]));
    for bad in [0.0, -1.0, 1.5, f64::INFINITY] {
        assert_eq!(stats.log_predictive(&num(bad), &params).unwrap(), f64::NEG_INFINITY);
        assert!(!stats.support(&params).unwrap().contains(&num(bad)));
    }
}

// ---------------------------------------------------------------- values outside the support

#[test]
fn a_value_outside_the_support_has_no_density_while_it_is_there() {
    let niw = vec![Value::vector([0.0, 0.0]), num(1.0), num(3.0), matrix(2, &[1.0, 0.0, 0.0, 1.0])];
    let latent =
        vec![Value::array(vec![Value::vector([0.0, 0.0]), matrix(2, &[1.0, 0.0, 0.0, 1.0])])];
    let (point, long) = (Value::vector([0.5, 0.5]), Value::vector([1.0, 2.0, 3.0]));
    for (name, params, inside, outside) in [
        ("make_crp", numbers(&[1.0]), num(2.0), num(0.5)),
        ("make_dir_cat", vec![Value::vector([1.0, 1.0])], num(1.0), num(2.0)),
        ("make_sym_dir_cat", numbers(&[1.0, 2.0]), num(1.0), num(-1.0)),
        ("make_uc_dir_cat", vec![Value::vector([0.5, 0.5])], num(1.0), num(0.5)),
        ("make_gamma_poisson", numbers(&[1.0, 1.0]), num(1.0), num(-1.0)),
        ("make_suff_stat_poisson", numbers(&[1.0]), num(1.0), num(0.5)),
        ("make_nig_normal", numbers(&[0.0, 1.0, 1.0, 1.0]), num(1.0), num(f64::INFINITY)),
        ("make_suff_stat_normal", numbers(&[0.0, 1.0]), num(1.0), num(f64::NAN)),
        ("make_cmvn", niw, point.clone(), long.clone()),
        ("make_uc_cmvn", latent, point, long),
    ] {
        let mut stats = fed(name, &params, std::slice::from_ref(&inside));
        let params = refs(&params);
        let before = stats.log_marginal(&params).unwrap();
        assert!(before.is_finite());
        assert!(stats.support(&params).unwrap().contains(&inside), "{name}");
        assert!(!stats.support(&params).unwrap().contains(&outside), "{name}");
        assert_eq!(stats.log_predictive(&outside, &params).unwrap(), f64::NEG_INFINITY, "{name}");
        stats.add(&outside);
        assert_eq!(stats.count(), 2);
        assert_eq!(stats.log_marginal(&params).unwrap(), f64::NEG_INFINITY, "{name}");
        stats.remove(&outside);
        assert_eq!(stats.log_marginal(&params).unwrap(), before, "{name}");
    }
}

#[test]
fn latent_densities_vanish_outside_their_support() {
    let simplex = Value::vector([0.5, 0.6]);
    for (name, args, outside) in [
        ("make_uc_beta_bernoulli", numbers(&[2.0, 2.0]), num(1.5)),
        ("make_uc_beta_bernoulli", numbers(&[2.0, 2.0]), num(0.0)),
        ("make_uc_gamma_poisson", numbers(&[2.0, 2.0]), num(-1.0)),
        ("make_uc_dir_cat", vec![Value::vector([1.0, 1.0])], simplex),
        ("make_uc_sym_dir_cat", numbers(&[1.0, 3.0]), Value::vector([0.5, 0.5])),
        ("make_uc_nig_normal", numbers(&[0.0, 1.0, 1.0, 1.0]), Value::vector([0.0, -1.0])),
        (
            "make_uc_niw_normal",
            vec![Value::vector([0.0]), num(1.0), num(1.0), matrix(1, &[1.0])],
            Value::array(vec![Value::vector([0.0]), matrix(1, &[-1.0])]),
        ),
    ] {
        let prior = maker(name).latent().unwrap();
        assert_eq!(prior.log_density(&outside, &refs(&args)).unwrap(), f64::NEG_INFINITY, "{name}");
    }
}

#[test]
fn latent_values_carry_their_objects() {
    let objects = Value::array(vec![Value::symbol("x"), Value::symbol("y")]);
    let args = vec![Value::vector([1.0, 2.0]), objects.clone()];
    let made = maker("make_uc_dir_cat");
    let prior = made.latent().unwrap();
    let mut rng = Rng::from_seed(1);
    let latent = prior.sample(&refs(&args), &mut rng).unwrap();
    assert!(prior.log_density(&latent, &refs(&args)).unwrap().is_finite());
    let stats = made.empty(&[&latent]).unwrap();
    assert_eq!(stats.enumerate(&[&latent]).unwrap().unwrap().len(), 2);
    let x = stats.sample(&[&latent], &mut rng).unwrap();
    assert!(stats.support(&[&latent]).unwrap().contains(&x));
    assert_eq!(stats.admit(&x).unwrap(), x);
    // Other objects are another point mass.
    let others = vec![args[0].clone(), Value::array(vec![Value::symbol("x"), Value::symbol("z")])];
    assert_eq!(prior.log_density(&latent, &refs(&others)).unwrap(), f64::NEG_INFINITY);
}

#[test]
fn drift_is_refused_in_words_where_the_latent_is_composite() {
    let objects = Value::array(numbers(&[5.0, 6.0]));
    for (name, args) in [
        ("make_uc_dir_cat", vec![Value::vector([1.0, 2.0]), objects.clone()]),
        ("make_uc_sym_dir_cat", vec![num(1.0), num(2.0), objects]),
        ("make_uc_nig_normal", numbers(&[0.0, 1.0, 1.0, 1.0])),
        ("make_uc_niw_normal", vec![Value::vector([0.0]), num(1.0), num(1.0), matrix(1, &[1.0])]),
    ] {
        match maker(name).latent().unwrap().support(&refs(&args)) {
            Err(ArgumentError::Other(words)) => {
                assert!(words.contains("cannot drift") && words.contains(name), "{words}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    for (name, args, want) in [
        ("make_uc_beta_bernoulli", numbers(&[1.0, 1.0]), Support::UNIT_INTERVAL),
        ("make_uc_gamma_poisson", numbers(&[1.0, 1.0]), Support::POSITIVE),
        ("make_uc_sym_dir_cat", numbers(&[1.0, 4.0]), Support::Simplex { len: 4 }),
    ] {
        assert_eq!(maker(name).latent().unwrap().support(&refs(&args)).unwrap(), want);
    }
}

// ---------------------------------------------------------------- observed values

#[test]
fn observed_values_take_the_type_that_is_drawn() {
    let coins = fed("make_beta_bernoulli", &numbers(&[1.0, 1.0]), &[]);
    for (x, want) in [(num(1.0), true), (num(0.0), false), (Value::TRUE, true)] {
        assert!(matches!(coins.admit(&x), Ok(Value::Bool(b)) if b == want));
    }
    assert_eq!(coins.admit(&num(2.0)), Err("a boolean"));
    assert_eq!(coins.admit(&Value::symbol("heads")), Err("a boolean"));
    let reals = fed("make_nig_normal", &numbers(&[0.0, 1.0, 1.0, 1.0]), &[]);
    assert_eq!(reals.admit(&Value::symbol("x")), Err("a number"));
    assert!(matches!(reals.admit(&num(2.0)), Ok(Value::Number(2.0))));
    let params = vec![Value::vector([0.0]), num(1.0), num(1.0), matrix(1, &[1.0])];
    let vectors = fed("make_cmvn", &params, &[]);
    assert!(matches!(vectors.admit(&Value::list([num(2.0)])), Ok(Value::Vector(_))));
    assert_eq!(vectors.admit(&num(2.0)), Err("a vector of numbers"));
    let indices = fed("make_sym_dir_cat", &numbers(&[1.0, 2.0]), &[]);
    assert_eq!(indices.admit(&Value::symbol("x")), Err("a number"));
    assert!(matches!(indices.admit(&Value::TRUE), Ok(Value::Number(1.0))));
}

// ---------------------------------------------------------------- words

#[test]
fn bad_arguments_are_named_in_words() {
    let identity = || matrix(2, &[1.0, 0.0, 0.0, 1.0]);
    let origin = || Value::vector([0.0, 0.0]);
    let bad: Vec<(&str, Vec<Value>, usize, &str)> = vec![
        ("make_crp", numbers(&[0.0]), 0, "a positive concentration"),
        ("make_crp", numbers(&[f64::NAN]), 0, "a positive concentration"),
        ("make_crp", numbers(&[-0.4, 0.3]), 0, "a positive concentration"),
        ("make_crp", numbers(&[1.0, 1.0]), 1, "discount between 0 and 1"),
        ("make_crp", numbers(&[1.0, -0.1]), 1, "discount between 0 and 1"),
        ("make_beta_bernoulli", numbers(&[0.0, 1.0]), 0, "positive"),
        ("make_uc_beta_bernoulli", numbers(&[1.0, -1.0]), 1, "positive"),
        ("make_dir_cat", vec![Value::vector([1.0, 0.0])], 0, "positive"),
        ("make_dir_cat", vec![Value::Nil], 0, "positive"),
        ("make_dir_cat", vec![origin(), origin()], 0, "positive"),
        ("make_dir_cat", vec![Value::vector([1.0, 1.0]), Value::Nil], 1, "one object for each"),
        ("make_sym_dir_cat", numbers(&[1.0, 0.0]), 1, "positive"),
        ("make_sym_dir_cat", numbers(&[1.0, 1.5]), 1, "positive"),
        ("make_uc_sym_dir_cat", numbers(&[-1.0, 2.0]), 0, "positive"),
        ("make_gamma_poisson", numbers(&[1.0, 0.0]), 1, "positive"),
        ("make_uc_gamma_poisson", numbers(&[0.0, 1.0]), 0, "positive"),
        ("make_nig_normal", numbers(&[0.0, 0.0, 1.0, 1.0]), 1, "positive"),
        ("make_nig_normal", numbers(&[0.0, 1.0, 0.0, 1.0]), 2, "positive"),
        ("make_uc_nig_normal", numbers(&[0.0, 1.0, 1.0, 0.0]), 3, "positive"),
        ("make_nig_normal", numbers(&[f64::INFINITY, 1.0, 1.0, 1.0]), 0, "finite"),
        ("make_suff_stat_bernoulli", numbers(&[1.5]), 0, "probability"),
        ("make_suff_stat_poisson", numbers(&[-1.0]), 0, "positive"),
        ("make_suff_stat_normal", numbers(&[0.0, 0.0]), 1, "positive"),
        ("make_cmvn", vec![origin(), num(0.0), num(4.0), identity()], 1, "positive"),
        ("make_cmvn", vec![origin(), num(1.0), num(1.0), identity()], 2, "degrees of freedom"),
        ("make_cmvn", vec![Value::vector([0.0]), num(1.0), num(4.0), identity()], 3, "dimension"),
        ("make_cmvn", vec![Value::Nil, num(1.0), num(4.0), identity()], 0, "dimension"),
        (
            "make_uc_cmvn",
            vec![origin(), num(1.0), num(4.0), matrix(2, &[1.0, 2.0, 2.0, 1.0])],
            3,
            "positive definite",
        ),
        (
            "make_cmvn",
            vec![origin(), num(1.0), num(4.0), matrix(2, &[1.0, 0.5, 0.0, 1.0])],
            3,
            "positive definite",
        ),
    ];
    for (name, args, argument, words) in bad {
        let error = maker(name).check(&refs(&args)).expect_err(name);
        assert!(error.rejects(), "{name}: a proposal is rejected: {error:?}");
        assert_eq!(error.argument(), Some(argument), "{name}: {error}");
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
    let wrong_types: Vec<(&str, Vec<Value>, usize, &str)> = vec![
        ("make_crp", vec![Value::symbol("x")], 0, "a number"),
        ("make_dir_cat", vec![num(1.0)], 0, "a vector of numbers"),
        ("make_dir_cat", vec![Value::vector([1.0]), num(1.0)], 1, "a list or array"),
        ("make_cmvn", vec![origin(), num(1.0), num(4.0), num(1.0)], 3, "a matrix"),
    ];
    for (name, args, argument, words) in wrong_types {
        let error = maker(name).check(&refs(&args)).expect_err(name);
        assert!(!error.rejects(), "{name}: {error:?}");
        assert_eq!(error.argument(), Some(argument), "{name}: {error}");
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
}

#[test]
fn parameters_that_turn_bad_are_errors_in_every_method() {
    // The parameters move while the statistics stay: each method checks what it is given.
    let mut rng = Rng::from_seed(1);
    let identity = matrix(2, &[1.0, 0.0, 0.0, 1.0]);
    let niw = |v: f64| vec![Value::vector([0.0, 0.0]), num(1.0), num(v), identity.clone()];
    for (name, good, bad, x) in [
        ("make_crp", numbers(&[1.0]), numbers(&[-1.0]), num(1.0)),
        ("make_beta_bernoulli", numbers(&[1.0, 1.0]), numbers(&[1.0, 0.0]), Value::TRUE),
        ("make_sym_dir_cat", numbers(&[1.0, 2.0]), numbers(&[0.0, 2.0]), num(1.0)),
        ("make_gamma_poisson", numbers(&[1.0, 1.0]), numbers(&[1.0, -1.0]), num(1.0)),
        (
            "make_nig_normal",
            numbers(&[0.0, 1.0, 1.0, 1.0]),
            numbers(&[0.0, 1.0, 1.0, -1.0]),
            num(1.0),
        ),
        ("make_cmvn", niw(3.0), niw(0.5), Value::vector([1.0, 1.0])),
        ("make_suff_stat_normal", numbers(&[0.0, 1.0]), numbers(&[0.0, -1.0]), num(1.0)),
        ("make_uc_gamma_poisson", numbers(&[1.0]), numbers(&[-1.0]), num(1.0)),
    ] {
        let stats = fed(name, &good, std::slice::from_ref(&x));
        let (good, bad) = (refs(&good), refs(&bad));
        assert!(stats.log_predictive(&x, &good).is_ok());
        let errors = [
            stats.sample(&bad, &mut rng).err(),
            stats.log_predictive(&x, &bad).err(),
            stats.log_marginal(&bad).err(),
            stats.support(&bad).err(),
            maker(name).empty(&bad).err(),
        ];
        for error in errors {
            assert!(error.is_some_and(|error| error.rejects()), "{name}");
        }
        assert!(stats.log_marginal(&good).is_ok(), "{name}: and is sound again afterwards");
    }
}
