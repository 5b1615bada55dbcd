//! The laws that every maker obeys, by methods that are each shown to catch a broken twin.
//!
//! * exchangeability: log predictives along any order sum to the log marginal, after any history;
//! * taking out what was put in restores the statistics;
//! * draws follow the predictive;
//! * a change of parameters moves the log marginal as it moves the predictives;
//! * uncollapsed and collapsed twins agree (Bayes' rule holds to rounding; marginalising the
//!   latent parameter by simulation gives the collapsed law).

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
fn counts_restore_to_the_bit_and_sums_have_snapshots() {
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
        let copy = stats.snapshot();
        assert_eq!(
            copy.is_some(),
            case.name.contains("normal"),
            "{}: snapshots are for sums of reals",
            case.name
        );
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
        match copy {
            Some(copy) => assert_eq!(fingerprint(&*copy, &params, &probes), before),
            None => assert_eq!(fingerprint(&*stats, &params, &probes), before, "{}", case.name),
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

// ---------------------------------------------------------------- draws

const SIGNIFICANCE: f64 = 1e-6;

/// The chi-square p-value of counts against probabilities; bins of few expected draws are merged.
fn chi_square(observed: &[f64], probabilities: &[f64]) -> f64 {
    let n: f64 = observed.iter().sum();
    let (mut statistic, mut bins) = (0.0, 0);
    let (mut o, mut e) = (0.0, 0.0);
    let mut close = |o: f64, e: f64| {
        statistic += (o - e) * (o - e) / e;
        bins += 1;
    };
    for (observed, probability) in observed.iter().zip(probabilities) {
        (o, e) = (o + observed, e + n * probability);
        if e >= 10.0 {
            close(o, e);
            (o, e) = (0.0, 0.0);
        }
    }
    if e > 1.0 {
        close(o, e);
    } else {
        assert!(o < 20.0, "{o} draws where {e} were expected");
    }
    assert!(bins > 1, "one bin tests nothing");
    1.0 - math::gamma_p(0.5 * f64::from(bins - 1), 0.5 * statistic)
}

/// The integral of a density over a box, by the midpoint rule on a fine grid.
fn mass(density: &dyn Fn(&[f64]) -> f64, low: &[f64], high: &[f64], steps: usize) -> f64 {
    fn over(
        density: &dyn Fn(&[f64]) -> f64,
        at: &mut Vec<f64>,
        low: &[f64],
        high: &[f64],
        steps: usize,
    ) -> f64 {
        let d = at.len();
        if d == low.len() {
            return density(at);
        }
        let width = (high[d] - low[d]) / steps as f64;
        let mut total = 0.0;
        for i in 0..steps {
            at.push(low[d] + (i as f64 + 0.5) * width);
            total += over(density, at, low, high, steps) * width;
            at.pop();
        }
        total
    }
    over(density, &mut Vec::new(), low, high, steps)
}

/// Draws against a density, binned over a box; one more bin is everything outside.
fn continuous_p(
    draws: &[Vec<f64>],
    density: &dyn Fn(&[f64]) -> f64,
    low: &[f64],
    high: &[f64],
    bins: usize,
    steps: usize,
) -> f64 {
    let d = low.len();
    let cells = bins.pow(d as u32);
    let mut observed = vec![0.0; cells + 1];
    for x in draws {
        let mut cell = Some(0);
        for i in 0..d {
            let place = ((x[i] - low[i]) / (high[i] - low[i]) * bins as f64).floor();
            let inside = (0.0..bins as f64).contains(&place);
            cell = cell.filter(|_| inside).map(|cell| cell * bins + place as usize);
        }
        observed[cell.unwrap_or(cells)] += 1.0;
    }
    let mut probabilities: Vec<f64> = (0..cells)
        .map(|cell| {
            let (mut l, mut h) = (vec![0.0; d], vec![0.0; d]);
            let mut rest = cell;
            for i in (0..d).rev() {
                let width = (high[i] - low[i]) / bins as f64;
                l[i] = low[i] + (rest % bins) as f64 * width;
                h[i] = l[i] + width;
                rest /= bins;
            }
            mass(density, &l, &h, steps)
        })
        .collect();
    let outside = 1.0 - probabilities.iter().sum::<f64>();
    assert!(outside > -1e-4, "a density has mass one at most: {outside}");
    probabilities.push(outside.max(0.0));
    chi_square(&observed, &probabilities)
}

fn flat(x: &Value) -> Vec<f64> {
    match x {
        Value::Vector(xs) => xs.to_vec(),
        Value::Matrix(m) => m.as_slice().to_vec(),
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        x => vec![x.as_number().unwrap()],
    }
}

type Draw<'a> = &'a dyn Fn(&mut Rng) -> Value;

/// The p-value of draws against the predictive of the statistics.
fn predictive_p(stats: &dyn Statistics, params: Params<'_>, draw: Draw<'_>, rng: &mut Rng) -> f64 {
    let n = 20_000;
    let draws: Vec<Value> = (0..n).map(|_| draw(rng)).collect();
    let predictive = |x: &Value| math::exp(stats.log_predictive(x, params).unwrap());
    let listed = stats.enumerate(params).unwrap();
    let support = stats.support(params).unwrap();
    assert!(draws.iter().all(|x| support.contains(x)));
    match support {
        Support::Reals => {
            let density = |x: &[f64]| predictive(&num(x[0]));
            let draws: Vec<_> = draws.iter().map(flat).collect();
            continuous_p(&draws, &density, &[-8.0], &[8.0], 60, 40)
        }
        Support::Vectors { .. } => {
            // Three dimensions take too fine a grid: the caller gives two.
            let density = |x: &[f64]| predictive(&Value::vector(x));
            let draws: Vec<_> = draws.iter().map(flat).collect();
            continuous_p(&draws, &density, &[-5.0, -5.0], &[5.0, 5.0], 20, 8)
        }
        _ => {
            let values = listed.unwrap_or_else(|| (0..60).map(|i| num(f64::from(i))).collect());
            let mut probabilities: Vec<f64> = values.iter().map(predictive).collect();
            let mut observed: Vec<f64> = values
                .iter()
                .map(|value| draws.iter().filter(|x| *x == value).count() as f64)
                .collect();
            let rest = 1.0 - probabilities.iter().sum::<f64>();
            assert!(rest.abs() < 1e-6, "the probabilities sum to one: {rest}");
            probabilities.push(rest.max(0.0));
            observed.push(f64::from(n) - observed.iter().sum::<f64>());
            chi_square(&observed, &probabilities)
        }
    }
}

/// The cases, with the multivariate ones in two dimensions.
fn drawing_cases() -> Vec<Case> {
    let mut all: Vec<_> = cases()
        .into_iter()
        .filter(|c| !c.name.contains("niw") && !c.name.contains("multi"))
        .collect();
    // 6000 categories cannot be tested one by one.
    all.retain(|case| case.params.get(1) != Some(&num(6000.0)));
    let value: Source = |rng| {
        let x = rng.uniform();
        Value::vector([2.0 + 2.0 * x, 2.0 * x - rng.uniform()])
    };
    let scale = matrix(2, &[1.0, 0.6, 0.6, 2.0]);
    let mean = Value::vector([0.5, -0.5]);
    for (name, params) in [
        (
            "make_collapsed_multivariate_normal",
            vec![mean.clone(), num(0.5), num(3.0), scale.clone()],
        ),
        ("make_uc_niw_normal", vec![Value::array(vec![mean, scale])]),
    ] {
        all.push(Case { name, params: params.clone(), other: params, value });
    }
    all
}

#[test]
fn draws_follow_the_predictive() {
    for (seed, case) in drawing_cases().iter().enumerate() {
        let mut rng = Rng::for_chain(21, seed as u64);
        for n in [0, 1, 12] {
            if case.name == "make_crp" && n == 0 {
                continue; // One table is certain: its own test.
            }
            let params = refs(&case.params);
            let mut stats = empty(case);
            for _ in 0..n {
                stats.add(&(case.value)(&mut rng));
            }
            let draw = |rng: &mut Rng| stats.sample(&params, rng).unwrap();
            let p = predictive_p(&*stats, &params, &draw, &mut rng);
            assert!(p > SIGNIFICANCE, "{} n = {n}: p = {p}", case.name);
            let independent = case.name.contains("_uc_") || case.name.contains("suff_stat");
            if n == 12 && !independent && case.name != "make_crp" {
                // The twin's draws do not know what was drawn before.
                let forgetful = empty(case);
                let draw = |rng: &mut Rng| forgetful.sample(&params, rng).unwrap();
                let p = predictive_p(&*stats, &params, &draw, &mut rng);
                assert!(p < SIGNIFICANCE, "{} twin: p = {p}", case.name);
            }
        }
    }
}

#[test]
fn draws_from_the_wrong_parameters_are_caught() {
    // The twins of the independent makers: draws with one setting, tested against another.
    let mut rng = Rng::from_seed(31);
    for (name, params, drawn) in [
        ("make_suff_stat_bernoulli", numbers(&[0.3]), numbers(&[0.34])),
        ("make_suff_stat_poisson", numbers(&[4.0]), numbers(&[4.2])),
        ("make_suff_stat_normal", numbers(&[0.0, 2.0]), numbers(&[0.0, 2.2])),
        ("make_uc_dir_cat", vec![Value::vector([0.5, 0.5])], vec![Value::vector([0.46, 0.54])]),
        ("make_crp", numbers(&[1.5]), numbers(&[2.0])),
    ] {
        let mut stats = maker(name).empty(&refs(&params)).unwrap();
        stats.add(&num(1.0));
        let drawn = refs(&drawn);
        let draw = |rng: &mut Rng| stats.sample(&drawn, rng).unwrap();
        let p = predictive_p(&*stats, &refs(&params), &draw, &mut rng);
        assert!(p < SIGNIFICANCE, "{name}: p = {p}");
    }
}

/// Large and small parameters, where samplers switch methods.
#[test]
fn extreme_parameters_draw_from_the_support() {
    let mut rng = Rng::from_seed(41);
    for (name, params) in [
        ("make_beta_bernoulli", numbers(&[1e-12, 1e-12])),
        ("make_crp", numbers(&[1e-300])),
        ("make_crp", numbers(&[1e300])),
        ("make_gamma_poisson", numbers(&[1e-5, 1e-5])),
        ("make_gamma_poisson", numbers(&[1e6, 1e3])),
        ("make_nig_normal", numbers(&[0.0, 1.0, 1e-3, 1.0])),
        ("make_sym_dir_cat", numbers(&[1e-8, 5.0])),
    ] {
        let params = refs(&params);
        let mut stats = maker(name).empty(&params).unwrap();
        let mut along = 0.0;
        for _ in 0..50 {
            let x = stats.sample(&params, &mut rng).unwrap();
            assert!(stats.support(&params).unwrap().contains(&x), "{name}: {x}");
            let predictive = stats.log_predictive(&x, &params).unwrap();
            assert!(predictive.is_finite(), "{name}: {x} {predictive}");
            along += predictive;
            stats.add(&x);
        }
        let marginal = stats.log_marginal(&params).unwrap();
        let tolerance = 1e-9 * along.abs().max(1.0) + 1e-14 * 50.0 * 700.0;
        assert!((marginal - along).abs() < tolerance, "{name}: {marginal} {along}");
    }
    for (name, args) in [
        ("make_uc_beta_bernoulli", numbers(&[1e-6, 1e-6])),
        ("make_uc_gamma_poisson", numbers(&[1e-6, 1.0])),
        ("make_uc_sym_dir_cat", numbers(&[1e-4, 5.0])),
        ("make_uc_nig_normal", numbers(&[0.0, 1.0, 1e-3, 1.0])),
    ] {
        let args = refs(&args);
        let prior = maker(name).latent().unwrap();
        for _ in 0..100 {
            let latent = prior.sample(&args, &mut rng).unwrap();
            let density = prior.log_density(&latent, &args).unwrap();
            assert!(density.is_finite(), "{name}: {latent} {density}");
            maker(name).empty(&[&latent]).expect("a drawn latent value is valid");
        }
    }
}

// ---------------------------------------------------------------- twins

struct Twin {
    collapsed: &'static str,
    uncollapsed: &'static str,
    args: Vec<Value>,
    data: Vec<Value>,
    /// The arguments of the posterior, which has the form of the prior.
    posterior: Vec<Value>,
}

fn twins() -> Vec<Twin> {
    let objects = symbols(&["a", "b", "a"]);
    let letters: Vec<_> = ["a", "b", "a", "a"].iter().map(|l| Value::symbol(l)).collect();
    vec![
        Twin {
            collapsed: "make_beta_bernoulli",
            uncollapsed: "make_uc_beta_bernoulli",
            args: numbers(&[2.0, 3.0]),
            data: vec![Value::TRUE, Value::FALSE, Value::TRUE, Value::TRUE],
            posterior: numbers(&[5.0, 4.0]),
        },
        Twin {
            collapsed: "make_dir_cat",
            uncollapsed: "make_uc_dir_cat",
            args: vec![Value::vector([0.5, 1.0, 2.0])],
            data: numbers(&[0.0, 2.0, 2.0, 0.0, 2.0]),
            posterior: vec![Value::vector([2.5, 1.0, 5.0])],
        },
        Twin {
            collapsed: "make_sym_dir_cat",
            uncollapsed: "make_uc_sym_dir_mult",
            args: numbers(&[1.5, 3.0]),
            data: numbers(&[0.0, 2.0, 1.0]),
            posterior: numbers(&[2.5, 3.0]),
        },
        Twin {
            collapsed: "make_dir_mult",
            uncollapsed: "make_uc_dir_mult",
            args: vec![Value::vector([0.7, 1.0, 2.0]), objects.clone()],
            data: letters,
            // With repeated objects the posterior is a mixture of Dirichlets: no closed form.
            posterior: vec![],
        },
        Twin {
            collapsed: "make_gamma_poisson",
            uncollapsed: "make_uc_gamma_poisson",
            args: numbers(&[2.0, 1.5]),
            data: numbers(&[3.0, 0.0, 5.0, 1.0]),
            posterior: numbers(&[11.0, 5.5]),
        },
        Twin {
            collapsed: "make_nig_normal",
            uncollapsed: "make_uc_nig_normal",
            args: numbers(&[0.0, 1.0, 2.0, 3.0]),
            data: numbers(&[1.2, -0.4, 2.0, 0.7]),
            posterior: numbers(&[0.7, 0.2, 4.0, 4.82]),
        },
        Twin {
            collapsed: "make_niw_normal",
            uncollapsed: "make_uc_cmvn",
            args: vec![
                Value::vector([0.0, 0.0]),
                num(0.5),
                num(4.0),
                matrix(2, &[1.0, 0.2, 0.2, 2.0]),
            ],
            data: [[1.0, 0.5], [0.2, -0.3], [-0.7, 1.1], [0.4, 0.9]].map(Value::vector).to_vec(),
            posterior: vec![
                Value::vector([0.2, 2.2 / 4.5]),
                num(4.5),
                num(8.0),
                matrix(2, &[2.51, -0.21, -0.21, 4.36 - 4.5 * (2.2 / 4.5) * (2.2 / 4.5)]),
            ],
        },
    ]
}

fn log_joint(name: &str, params: Params<'_>, data: &[Value]) -> f64 {
    let mut stats = maker(name).empty(params).unwrap();
    data.iter().for_each(|x| stats.add(x));
    stats.log_marginal(params).unwrap()
}

/// log p(latent) + log p(data | latent) - log p(data) - log p(latent | data): zero by Bayes' rule.
fn bayes_gap(twin: &Twin, latent: &Value, marginal: f64) -> f64 {
    let prior = maker(twin.uncollapsed).latent().unwrap();
    prior.log_density(latent, &refs(&twin.args)).unwrap()
        + log_joint(twin.uncollapsed, &[latent], &twin.data)
        - marginal
        - prior.log_density(latent, &refs(&twin.posterior)).unwrap()
}

#[test]
fn collapsed_and_uncollapsed_twins_obey_bayes_rule() {
    let mut rng = Rng::from_seed(51);
    for twin in twins().iter().filter(|twin| !twin.posterior.is_empty()) {
        let args = refs(&twin.args);
        let marginal = log_joint(twin.collapsed, &args, &twin.data);
        for _ in 0..20 {
            let latent = maker(twin.uncollapsed).latent().unwrap().sample(&args, &mut rng).unwrap();
            let gap = bayes_gap(twin, &latent, marginal);
            assert!(gap.abs() < 1e-10, "{}: {gap}", twin.collapsed);
            let twisted = bayes_gap(twin, &latent, marginal - 2.0 * math::LN_2);
            assert!(twisted.abs() > 1.0, "{}: a lost constant shows", twin.collapsed);
        }
    }
}

/// How many standard errors the average likelihood over latent draws lies from `marginal`.
fn simulation_z(twin: &Twin, marginal: f64, rng: &mut Rng) -> f64 {
    let args = refs(&twin.args);
    let prior = maker(twin.uncollapsed).latent().unwrap();
    let n = 40_000;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..n {
        let latent = prior.sample(&args, rng).unwrap();
        let ratio = math::exp(log_joint(twin.uncollapsed, &[&latent], &twin.data) - marginal);
        sum += ratio;
        squares += ratio * ratio;
    }
    let n = f64::from(n);
    let mean = sum / n;
    (mean - 1.0) / math::sqrt((squares / n - mean * mean) / n)
}

#[test]
fn simulating_the_latent_parameter_gives_the_collapsed_marginal() {
    let mut rng = Rng::from_seed(52);
    for twin in &twins() {
        let marginal = log_joint(twin.collapsed, &refs(&twin.args), &twin.data);
        let z = simulation_z(twin, marginal, &mut rng);
        assert!(z.abs() < 4.9, "{}: z = {z}", twin.collapsed);
        let z = simulation_z(twin, marginal + 0.1, &mut rng);
        assert!(z.abs() > 4.9, "{} twin: z = {z}", twin.collapsed);
    }
}

#[test]
fn two_stage_draws_follow_the_collapsed_predictive() {
    // latent ~ prior, x ~ law(latent): x follows the predictive of the empty statistics.
    let mut rng = Rng::from_seed(53);
    for twin in &twins() {
        let args = refs(&twin.args);
        let empty = maker(twin.collapsed).empty(&args).unwrap();
        let two_stages = |prior: &[Value], rng: &mut Rng| {
            let maker = maker(twin.uncollapsed);
            let latent = maker.latent().unwrap().sample(&refs(prior), rng).unwrap();
            maker.empty(&[&latent]).unwrap().sample(&[&latent], rng).unwrap()
        };
        let p = predictive_p(&*empty, &args, &|rng| two_stages(&twin.args, rng), &mut rng);
        assert!(p > SIGNIFICANCE, "{}: p = {p}", twin.uncollapsed);
        // The twin draws its latent parameter from other arguments. (A symmetric posterior leaves
        // the law of the first draw as it was: nothing to catch there.)
        if !twin.posterior.is_empty() && twin.collapsed != "make_sym_dir_cat" {
            let p = predictive_p(&*empty, &args, &|rng| two_stages(&twin.posterior, rng), &mut rng);
            assert!(p < SIGNIFICANCE, "{} twin: p = {p}", twin.uncollapsed);
        }
    }
}

#[test]
fn latent_draws_follow_their_density() {
    let p_of = |name: &str, args: &[Value], drawn: &[Value], low: &[f64], high: &[f64]| {
        let prior = maker(name).latent().unwrap();
        let mut rng = Rng::from_seed(54);
        let draws: Vec<_> =
            (0..20_000).map(|_| flat(&prior.sample(&refs(drawn), &mut rng).unwrap())).collect();
        let density = |x: &[f64]| {
            let x = match name {
                "make_uc_dir_cat" => Value::vector([x[0], 1.0 - x[0]]),
                "make_uc_nig_normal" => Value::vector(x),
                "make_uc_niw_normal" => {
                    Value::array(vec![Value::vector([x[0]]), matrix(1, &[x[1]])])
                }
                _ => num(x[0]),
            };
            math::exp(prior.log_density(&x, &refs(args)).unwrap())
        };
        let bins = if low.len() == 1 { 60 } else { 20 };
        continuous_p(&draws, &density, low, high, bins, 400 / bins)
    };
    let one_dimensional =
        |k: f64, v: f64| vec![Value::vector([0.5]), num(k), num(v), matrix(1, &[2.0])];
    for (name, args, wrong, low, high) in [
        (
            "make_uc_beta_bernoulli",
            numbers(&[2.0, 3.0]),
            numbers(&[2.0, 3.2]),
            vec![0.0],
            vec![1.0],
        ),
        ("make_uc_gamma_poisson", numbers(&[2.0, 1.5]), numbers(&[2.0, 1.6]), vec![0.0], vec![9.0]),
        (
            "make_uc_dir_cat",
            vec![Value::vector([2.0, 1.5])],
            vec![Value::vector([2.0, 1.6])],
            vec![0.0],
            vec![1.0],
        ),
        (
            "make_uc_nig_normal",
            numbers(&[0.5, 0.5, 3.0, 2.0]),
            numbers(&[0.5, 0.7, 3.0, 2.0]),
            vec![-3.0, 0.0],
            vec![4.0, 4.0],
        ),
        (
            "make_uc_niw_normal",
            one_dimensional(2.0, 5.0),
            one_dimensional(2.0, 5.5),
            vec![-3.0, 0.0],
            vec![4.0, 4.0],
        ),
    ] {
        let p = p_of(name, &args, &args, &low, &high);
        assert!(p > SIGNIFICANCE, "{name}: p = {p}");
        let p = p_of(name, &args, &wrong, &low, &high);
        assert!(p < SIGNIFICANCE, "{name} twin: p = {p}");
    }
}
