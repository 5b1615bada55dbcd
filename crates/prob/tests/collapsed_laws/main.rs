//! The laws that every maker obeys, by methods that are each shown to catch a broken twin.
//!
//! * exchangeability: log predictives along any order sum to the log marginal, after any history;
//! * taking out what was put in restores the statistics;
//! * draws follow the predictive;
//! * a change of parameters moves the log marginal as it moves the predictives;
//! * uncollapsed and collapsed twins agree (Bayes' rule holds to rounding; marginalising the
//!   latent parameter by simulation gives the collapsed law).

mod draws;
mod twins;

use std::sync::Arc;

use smidgen_prob::collapsed;
use smidgen_prob::{Maker, Statistics, Support};
use smidgen_value::{ArgumentError, Matrix, Rng, Value, math};

type Params<'a> = &'a [&'a Value];

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

fn symbols(names: &[&str]) -> Value {
    Value::array(names.iter().map(|name| Value::symbol(name)).collect())
}

fn matrix(n: usize, data: &[f64]) -> Value {
    Value::matrix(Matrix::new(n, n, data.to_vec()))
}

type Source = fn(&mut Rng) -> Value;

/// One made procedure with two settings of its parameters and data to feed it.
struct Case {
    name: &'static str,
    params: Vec<Value>,
    other: Vec<Value>,
    /// A value the procedure can take, not by its own law.
    value: Source,
}

fn coin(rng: &mut Rng) -> Value {
    Value::Bool(rng.uniform() < 0.3)
}

fn event(rng: &mut Rng) -> Value {
    num(rng.below(9) as f64)
}

fn real(rng: &mut Rng) -> Value {
    num(5.0 * (rng.uniform() - 0.4))
}

fn point(rng: &mut Rng) -> Value {
    let (x, y) = (rng.uniform(), rng.uniform());
    Value::vector([3.0 * x - 1.0, x + y, 2.0 * y - 5.0 * rng.uniform()])
}

fn category(rng: &mut Rng) -> Value {
    num(rng.below(3) as f64)
}

fn letter(rng: &mut Rng) -> Value {
    Value::symbol(["a", "b", "c"][rng.below(3)])
}

fn far_category(rng: &mut Rng) -> Value {
    num([0.0, 7.0, 4999.0, 5000.0][rng.below(4)])
}

fn niw(mean: [f64; 3], k: f64, v: f64, scale: &[f64]) -> Vec<Value> {
    vec![Value::vector(mean), num(k), num(v), matrix(3, scale)]
}

const SCALE: [f64; 9] = [2.0, 0.3, 0.1, 0.3, 1.0, -0.2, 0.1, -0.2, 3.0];
const OTHER_SCALE: [f64; 9] = [1.0, 0.0, 0.2, 0.0, 2.0, 0.0, 0.2, 0.0, 0.5];

fn latent(mean: [f64; 3], covariance: &[f64]) -> Vec<Value> {
    vec![Value::array(vec![Value::vector(mean), matrix(3, covariance)])]
}

/// Every maker at least once, with the made procedure's parameters.
fn cases() -> Vec<Case> {
    let case = |name, params, other, value| Case { name, params, other, value };
    let repeated = symbols(&["a", "b", "a", "c"]);
    let weights =
        |w: &[f64], objects: &Value| Value::array(vec![Value::vector(w), objects.clone()]);
    vec![
        case("make_crp", numbers(&[1.5]), numbers(&[0.4]), |rng| num(1.0 + rng.below(6) as f64)),
        case("make_crp", numbers(&[1.5, 0.3]), numbers(&[-0.2, 0.6]), |rng| {
            num([3.0, 1.0, 17.0, 400.0][rng.below(4)])
        }),
        case("make_beta_bernoulli", numbers(&[2.0, 3.0]), numbers(&[0.2, 40.0]), coin),
        case(
            "make_dir_cat",
            vec![Value::vector([0.5, 1.0, 2.0])],
            vec![Value::list(numbers(&[3.0, 0.1, 0.1]))],
            category,
        ),
        case(
            "make_dir_cat",
            vec![Value::vector([0.5, 1.0, 2.0, 0.25]), repeated.clone()],
            vec![Value::array(numbers(&[1.0, 1.0, 1.0, 1.0])), symbols(&["c", "a", "b", "b"])],
            letter,
        ),
        case("make_sym_dir_cat", numbers(&[0.5, 3.0]), numbers(&[2.0, 4.0]), category),
        case("make_sym_dir_cat", numbers(&[0.5, 6000.0]), numbers(&[0.01, 5001.0]), far_category),
        case(
            "make_sym_dir_cat",
            vec![num(0.5), num(4.0), repeated.clone()],
            vec![num(0.7), num(4.0), repeated.clone()],
            letter,
        ),
        case("make_gamma_poisson", numbers(&[2.0, 1.5]), numbers(&[0.3, 0.01]), event),
        case(
            "make_nig_normal",
            numbers(&[0.3, 0.25, 2.0, 3.0]),
            numbers(&[-9.0, 4.0, 0.3, 0.1]),
            real,
        ),
        case(
            "make_collapsed_multivariate_normal",
            niw([0.0, 0.5, -1.0], 0.5, 4.0, &SCALE),
            niw([3.0, 0.0, 0.0], 2.0, 2.5, &OTHER_SCALE),
            point,
        ),
        case("make_suff_stat_bernoulli", numbers(&[0.3]), numbers(&[0.9]), coin),
        case("make_suff_stat_poisson", numbers(&[4.0]), numbers(&[0.5]), event),
        case("make_suff_stat_normal", numbers(&[0.3, 2.0]), numbers(&[-5.0, 0.5]), real),
        case("make_uc_beta_bernoulli", numbers(&[0.3]), numbers(&[0.6]), coin),
        case(
            "make_uc_dir_cat",
            vec![Value::vector([0.2, 0.3, 0.5])],
            vec![Value::vector([0.6, 0.3, 0.1])],
            category,
        ),
        case(
            "make_uc_dir_cat",
            vec![weights(&[0.2, 0.3, 0.4, 0.1], &repeated)],
            vec![weights(&[0.1, 0.5, 0.2, 0.2], &repeated)],
            letter,
        ),
        case(
            "make_uc_sym_dir_cat",
            vec![Value::vector([0.2, 0.3, 0.5])],
            vec![Value::vector([0.6, 0.3, 0.1])],
            category,
        ),
        case("make_uc_gamma_poisson", numbers(&[4.0]), numbers(&[0.5]), event),
        case(
            "make_uc_nig_normal",
            vec![Value::vector([0.3, 4.0])],
            vec![Value::vector([-5.0, 0.25])],
            real,
        ),
        case(
            "make_uc_niw_normal",
            latent([0.0, 0.5, -1.0], &SCALE),
            latent([3.0, 0.0, 0.0], &OTHER_SCALE),
            point,
        ),
    ]
}

#[test]
fn the_cases_cover_every_maker() {
    let cases = cases();
    for maker in collapsed::ALL {
        assert!(cases.iter().any(|case| case.name == maker.spec().name), "{}", maker.spec().name);
    }
}

// ---------------------------------------------------------------- broken twins

/// What is wrong with a twin.
#[derive(Clone, Copy)]
enum Fault {
    /// A factor 2^(-n/2) too many in the joint density.
    LostConstant,
    /// The joint density of counts rather than of a sequence.
    CountsNotSequence,
    /// The value taken out is the least one, whichever was meant.
    WrongValueLeaves,
}

struct Broken {
    inner: Box<dyn Statistics>,
    added: Vec<Value>,
    fault: Fault,
}

impl Statistics for Broken {
    fn sample(&self, params: Params<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        self.inner.sample(params, rng)
    }
    fn log_predictive(&self, x: &Value, params: Params<'_>) -> Result<f64, ArgumentError> {
        self.inner.log_predictive(x, params)
    }
    fn enumerate_weighed(
        &self,
        current: &Value,
        params: Params<'_>,
        values: &mut Arc<Vec<Value>>,
        log_p: &mut Vec<f64>,
    ) -> Result<bool, ArgumentError> {
        self.inner.enumerate_weighed(current, params, values, log_p)
    }
    fn is_exact(&self) -> bool {
        self.inner.is_exact()
    }
    fn log_leave_one_out(&self, x: &Value, params: Params<'_>) -> Result<f64, ArgumentError> {
        self.inner.log_leave_one_out(x, params)
    }
    fn log_marginal(&self, params: Params<'_>) -> Result<f64, ArgumentError> {
        let n = self.inner.count() as f64;
        Ok(self.inner.log_marginal(params)?
            + match self.fault {
                Fault::LostConstant => -0.5 * n * math::LN_2,
                Fault::CountsNotSequence => math::ln_gamma(n + 1.0),
                _ => 0.0,
            })
    }
    fn add(&mut self, x: &Value) {
        self.inner.add(x);
        self.added.push(x.clone());
    }
    fn remove(&mut self, x: &Value) {
        match self.fault {
            Fault::WrongValueLeaves => {
                self.added.sort();
                let least = self.added.remove(0);
                self.inner.remove(&least);
            }
            _ => self.inner.remove(x),
        }
    }
    fn count(&self) -> usize {
        self.inner.count()
    }
    fn copy(&self) -> Box<dyn Statistics> {
        let (inner, added) = (self.inner.copy(), self.added.clone());
        Box::new(Broken { inner, added, fault: self.fault })
    }
    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        self.inner.admit(x)
    }
    fn support(&self, params: Params<'_>) -> Result<Support, ArgumentError> {
        self.inner.support(params)
    }
}

fn empty(case: &Case) -> Box<dyn Statistics> {
    maker(case.name).empty(&refs(&case.params)).expect("valid parameters")
}

fn broken(case: &Case, fault: Fault) -> Box<dyn Statistics> {
    Box::new(Broken { inner: empty(case), added: Vec::new(), fault })
}

// ---------------------------------------------------------------- exchangeability

fn shuffled(data: &[Value], rng: &mut Rng) -> Vec<Value> {
    let mut data = data.to_vec();
    for i in (1..data.len()).rev() {
        data.swap(i, rng.below(i + 1));
    }
    data
}

/// The largest difference between the log marginal and the sum of log predictives, over two
/// orders and, at the end, after values came and went.
fn exchangeability_gap(
    make: &dyn Fn() -> Box<dyn Statistics>,
    params: Params<'_>,
    data: &[Value],
    rng: &mut Rng,
) -> f64 {
    let mut gap = 0.0f64;
    let mut sums = Vec::new();
    for _ in 0..2 {
        let mut stats = make();
        let mut sum = 0.0;
        for x in shuffled(data, rng) {
            sum += stats.log_predictive(&x, params).unwrap();
            stats.add(&x);
            gap = gap.max((sum - stats.log_marginal(params).unwrap()).abs());
        }
        sums.push(sum);
    }
    gap = gap.max((sums[0] - sums[1]).abs());
    // A history of comings and goings that ends with the same values.
    let mut stats = make();
    for x in data {
        stats.add(x);
    }
    for _ in 0..200 {
        let x = &data[rng.below(data.len())];
        if rng.coin() {
            stats.remove(x);
            stats.add(x);
        } else {
            stats.add(x);
            stats.remove(x);
        }
    }
    assert_eq!(stats.count(), data.len());
    gap.max((sums[0] - stats.log_marginal(params).unwrap()).abs())
}

#[test]
fn log_predictives_in_any_order_sum_to_the_log_marginal() {
    for (seed, case) in cases().iter().enumerate() {
        for n in [1, 2, 7, 60] {
            let mut rng = Rng::for_chain(seed as u64, n);
            let data: Vec<_> = (0..n).map(|_| (case.value)(&mut rng)).collect();
            for params in [&case.params, &case.other] {
                let gap = exchangeability_gap(&|| empty(case), &refs(params), &data, &mut rng);
                assert!(gap < 1e-10, "{} n = {n}: {gap}", case.name);
            }
            if n == 60 {
                for fault in
                    [Fault::LostConstant, Fault::CountsNotSequence, Fault::WrongValueLeaves]
                {
                    let twin = || broken(case, fault);
                    let gap = exchangeability_gap(&twin, &refs(&case.params), &data, &mut rng);
                    assert!(gap > 1e-6, "{} twin: {gap}", case.name);
                }
            }
        }
    }
}

/// Values and predictives together are those asked for one by one; also right after the only customer
/// of a table has left it.
#[test]
fn values_are_enumerated_with_their_predictives() {
    let mut enumerable = 0;
    for (seed, case) in cases().iter().enumerate() {
        let mut rng = Rng::for_chain(17, seed as u64);
        let mut stats = empty(case);
        // What the lists held before does not matter.
        let (mut values, mut log_p) = (Arc::new(vec![Value::Nil, Value::Number(7.0)]), vec![0.5]);
        for n in 0..40 {
            let params = refs(if n % 2 == 0 { &case.params } else { &case.other });
            let x = stats.sample(&params, &mut rng).unwrap();
            let all = stats.enumerate_for(&x, &params).unwrap();
            let finite = stats.enumerate_weighed(&x, &params, &mut values, &mut log_p).unwrap();
            assert_eq!(finite, all.is_some(), "{}", case.name);
            let Some(all) = all else { break };
            assert_eq!(*values, all, "{}", case.name);
            let before = values.clone();
            stats.enumerate_weighed(&x, &params, &mut values, &mut log_p).unwrap();
            assert!(Arc::ptr_eq(&values, &before), "{}", case.name);
            for (x, log_p) in values.iter().zip(&log_p) {
                assert_eq!(*log_p, stats.log_predictive(x, &params).unwrap(), "{}", case.name);
            }
            assert_eq!(values.len(), log_p.len());
            enumerable += 1;
            stats.add(&x);
        }
    }
    assert!(enumerable >= 80, "{enumerable}");
}

/// Numbers that stand for a Student t law give its log density, with and without the vector.
#[test]
fn student_laws_are_told_by_their_numbers() {
    let mut told = 0;
    for (seed, case) in cases().iter().enumerate() {
        let mut rng = Rng::for_chain(23, seed as u64);
        let (mut stats, params) = (empty(case), refs(&case.params));
        for n in 0..30 {
            let mut numbers = Vec::new();
            let Some(d) = stats.student(&params, &mut numbers) else { break };
            let x = (case.value)(&mut rng);
            let reals = x.to_reals().expect("a vector");
            assert_eq!((reals.len(), numbers.len()), (d, 6 + d + d * (d + 1) / 2), "{}", case.name);
            let square_distance = |x: &[f64], numbers: &[f64]| {
                let mut y: Vec<f64> = (0..d).map(|i| x[i] - numbers[6 + i]).collect();
                let (mut column, mut total) = (6 + d, 0.0);
                for j in 0..d {
                    y[j] *= numbers[column];
                    total += y[j] * y[j];
                    for i in j + 1..d {
                        y[i] -= numbers[column + i - j] * y[j];
                    }
                    column += d - j;
                }
                total
            };
            let q = square_distance(&reals, &numbers);
            let log_p = numbers[0] - numbers[1] * math::ln_1p(numbers[2] * q);
            let want = stats.log_predictive(&x, &params).unwrap();
            assert!((log_p - want).abs() < 1e-10, "{} {n}: {log_p} {want}", case.name);
            stats.add(&x);
            numbers.clear();
            stats.student(&params, &mut numbers);
            let q = square_distance(&reals, &numbers);
            let (log_p, left) = (numbers[3], 1.0 - numbers[5] * q);
            if left > 1e-3 {
                let log_p = log_p + numbers[4] * math::ln(left);
                assert!((log_p - want).abs() < 1e-9, "{} {n}: {log_p} {want}", case.name);
                told += 1;
            }
        }
    }
    assert!(told > 20, "{told}");
}

/// One value taken out of the reckoning, and put there by the statistics themselves.
#[test]
fn leaving_one_out_is_taking_it_out() {
    let mut rng = Rng::from_seed(11);
    for case in cases() {
        let params = refs(&case.params);
        for n in [1, 2, 5, 40] {
            let mut stats = empty(&case);
            let data: Vec<Value> = (0..n).map(|_| (case.value)(&mut rng)).collect();
            data.iter().for_each(|x| stats.add(x));
            for x in &data {
                let found = stats.log_leave_one_out(x, &params).unwrap();
                stats.remove(x);
                let want = stats.log_predictive(x, &params).unwrap();
                stats.add(x);
                let gap = (found - want).abs() / (1.0 + want.abs());
                assert!(gap < 1e-11, "{} of {n}: {found} and {want}", case.name);
            }
        }
    }
    // A vector that is nearly all there is: the difference of determinants has no digits left.
    let scale = [1e-9, 0.0, 0.0, 0.0, 1e-9, 0.0, 0.0, 0.0, 1e-9];
    let params = niw([0.0; 3], 0.5, 4.0, &scale);
    let params = refs(&params);
    let mut stats = maker("make_collapsed_multivariate_normal").empty(&params).unwrap();
    let [near, far] = [[1e-5, 0.0, 2e-5], [30.0, -20.0, 50.0]].map(Value::vector);
    stats.add(&near);
    let want = stats.log_predictive(&far, &params).unwrap();
    stats.add(&far);
    let found = stats.log_leave_one_out(&far, &params).unwrap();
    assert!((found - want).abs() < 1e-11 * want.abs(), "{found} and {want}");
}

#[test]
fn nothing_counted_has_probability_one() {
    for case in cases() {
        assert_eq!(empty(&case).log_marginal(&refs(&case.params)).unwrap(), 0.0, "{}", case.name);
        assert_eq!(empty(&case).count(), 0);
    }
}

/// The parameters may move while the values stay: what was computed for the old ones must not
/// be used for the new ones.
#[test]
fn a_change_of_parameters_is_absorbed() {
    for (seed, case) in cases().iter().enumerate() {
        let mut rng = Rng::for_chain(7, seed as u64);
        let data: Vec<_> = (0..25).map(|_| (case.value)(&mut rng)).collect();
        let (old, new) = (refs(&case.params), refs(&case.other));
        let mut stats = empty(case);
        let mut along = [0.0; 2];
        for x in &data {
            along[0] += stats.log_predictive(x, &old).unwrap();
            along[1] += stats.log_predictive(x, &new).unwrap();
            stats.add(x);
        }
        let moved = stats.log_marginal(&new).unwrap() - stats.log_marginal(&old).unwrap();
        assert!((moved - (along[1] - along[0])).abs() < 1e-10, "{}: {moved} {along:?}", case.name);
        assert!(moved.abs() > 1e-3, "{}: the change matters", case.name);
        let again = stats.log_marginal(&old).unwrap();
        assert!((again - along[0]).abs() < 1e-10, "{}", case.name);
    }
}

// ---------------------------------------------------------------- putting in and taking out

/// Whether the statistics, probed everywhere, answer with the same bits.
fn fingerprint(stats: &dyn Statistics, params: Params<'_>, probes: &[Value]) -> Vec<u64> {
    let mut bits = vec![stats.count() as u64, stats.log_marginal(params).unwrap().to_bits()];
    bits.extend(probes.iter().map(|x| stats.log_predictive(x, params).unwrap().to_bits()));
    let mut rng = Rng::from_seed(5);
    for _ in 0..20 {
        match stats.sample(params, &mut rng).unwrap() {
            Value::Vector(xs) => bits.extend(xs.iter().map(|x| x.to_bits())),
            Value::Symbol(name) => bits.extend(name.as_str().bytes().map(u64::from)),
            x => bits.push(x.as_number().unwrap().to_bits()),
        }
    }
    bits
}

#[test]
fn counts_restore_to_the_bit_and_sums_from_copies() {
    for (seed, case) in cases().iter().enumerate() {
        let mut rng = Rng::for_chain(11, seed as u64);
        let params = refs(&case.params);
        let data: Vec<_> = (0..30).map(|_| (case.value)(&mut rng)).collect();
        let probes: Vec<_> = (0..10).map(|_| (case.value)(&mut rng)).collect();
        let mut stats = empty(case);
        let at_first = fingerprint(&*stats, &params, &probes);
        for x in &data[..20] {
            stats.add(x);
        }
        let before = fingerprint(&*stats, &params, &probes);
        let (copy, is_exact) = (stats.copy(), stats.is_exact());
        assert_eq!(is_exact, !case.name.contains("normal"), "{}: sums are of reals", case.name);
        for x in &data[20..] {
            stats.add(x);
        }
        let after = fingerprint(&*stats, &params, &probes);
        if case.name.starts_with("make_suff") || case.name.starts_with("make_uc") {
            assert_ne!(before[..2], after[..2], "{}", case.name);
        } else {
            assert_ne!(before, after, "{}", case.name);
        }
        for x in shuffled(&data[20..], &mut rng) {
            stats.remove(&x);
        }
        assert_eq!(fingerprint(&*copy, &params, &probes), before, "{}", case.name);
        if is_exact {
            assert_eq!(fingerprint(&*stats, &params, &probes), before, "{}", case.name);
        }
        for x in shuffled(&data[..20], &mut rng) {
            stats.remove(&x);
        }
        let at_last = fingerprint(&*stats, &params, &probes);
        assert_eq!(at_last, at_first, "{}: nothing counted is nothing kept", case.name);
    }
}

#[test]
fn long_runs_of_comings_and_goings_do_not_drift() {
    let outlying: [(&str, Source); 2] = [
        ("make_nig_normal", |rng| {
            let size = if rng.uniform() < 0.01 { 1e6 } else { 1.0 };
            num(1000.0 + size * (rng.uniform() - 0.5))
        }),
        ("make_collapsed_multivariate_normal", |rng| {
            let size = if rng.uniform() < 0.01 { 1e6 } else { 1.0 };
            Value::vector([
                1000.0 + size * rng.uniform(),
                rng.uniform(),
                size * (rng.uniform() - 0.5),
            ])
        }),
    ];
    for (name, value) in outlying {
        let case = cases().into_iter().find(|case| case.name == name).unwrap();
        let params = refs(&case.params);
        let mut rng = Rng::from_seed(2);
        let mut stats = empty(&case);
        let mut live: Vec<Value> = Vec::new();
        for _ in 0..100_000 {
            if live.len() < 20 || (live.len() < 60 && rng.coin()) {
                let x = value(&mut rng);
                stats.add(&x);
                live.push(x);
            } else {
                let x = live.swap_remove(rng.below(live.len()));
                stats.remove(&x);
            }
        }
        // The large values leave; what they left behind must not be seen.
        let large = |x: &Value| match x {
            Value::Vector(xs) => xs.iter().any(|x| (x.abs() - 1000.0).abs() > 1001.0),
            x => (x.as_number().unwrap() - 1000.0).abs() > 1.0,
        };
        let (leaving, staying): (Vec<_>, Vec<_>) = live.into_iter().partition(large);
        for x in &leaving {
            stats.remove(x);
        }
        let mut fresh = empty(&case);
        for x in &staying {
            fresh.add(x);
        }
        let (drifted, exact) =
            (stats.log_marginal(&params).unwrap(), fresh.log_marginal(&params).unwrap());
        assert!(staying.len() > 4, "{name}: {}", staying.len());
        assert!((drifted - exact).abs() < 1e-8, "{name}: {drifted} {exact}");
        let x = &staying[0];
        let (drifted, exact) =
            (stats.log_predictive(x, &params).unwrap(), fresh.log_predictive(x, &params).unwrap());
        assert!((drifted - exact).abs() < 1e-8, "{name}: {drifted} {exact}");
    }
}
