//! Categories of unknown weights: w ~ dirichlet(alphas), each application category j with
//! probability w_j. The value is the index j, from 0 on, or the j-th object if objects are given.
//!
//! `make_dir_cat` and `make_sym_dir_cat` (all alphas equal) integrate the weights out. With
//! A = sum_j alpha_j and c_j the number of applications in category j,
//!
//! * P(j) = (alpha_j + c_j) / (A + n);
//! * log p(x_1..x_n) = sum_j [log G(alpha_j + c_j) - log G(alpha_j)] - [log G(A + n) - log G(A)],
//!
//! with G the gamma function. Objects that are equal form one category, whose alpha is the sum of
//! theirs: by the aggregation property of the Dirichlet this is exact.
//!
//! The uncollapsed makers draw w, with density G(A) prod_j w_j^(alpha_j - 1) / G(alpha_j). Their
//! latent value is the vector w; with objects, the array of w and the objects.

use std::borrow::Cow;

use smidgen_value::math;
use smidgen_value::{ArgumentError, Rng, Value};

use super::counted::{Law, Made, Summary, admit_number, admit_vector, counted};
use super::draw;
use crate::arguments;
use crate::procedure::{Args, Arity, Distribution, Spec, Statistics};
use crate::support::Support;

// ---------------------------------------------------------------- the categories

enum Weights<'a> {
    Each(Cow<'a, [f64]>),
    Same { weight: f64, categories: usize },
}

/// Categories, their weights and their values, as the parameters give them.
struct Categories<'a> {
    weights: Weights<'a>,
    total: f64,
    objects: Option<&'a Value>,
}

/// The elements of a list, array or vector, without copying it.
enum Walk<'a> {
    Slice(std::slice::Iter<'a, Value>),
    Reals(std::slice::Iter<'a, f64>),
    Links(&'a Value),
}

impl<'a> Walk<'a> {
    fn new(sequence: &'a Value) -> Walk<'a> {
        match sequence {
            Value::Array(items) => Walk::Slice(items.iter()),
            Value::Vector(xs) => Walk::Reals(xs.iter()),
            links => Walk::Links(links),
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Cow<'a, Value>;

    fn next(&mut self) -> Option<Cow<'a, Value>> {
        match self {
            Walk::Slice(items) => items.next().map(Cow::Borrowed),
            Walk::Reals(xs) => xs.next().map(|x| Cow::Owned(Value::Number(*x))),
            Walk::Links(Value::Pair(pair)) => {
                *self = Walk::Links(&pair.rest);
                Some(Cow::Borrowed(&pair.first))
            }
            Walk::Links(_) => None,
        }
    }
}

/// The number of elements of a list, array or vector.
fn length(sequence: &Value) -> Option<usize> {
    match sequence {
        Value::Array(items) => Some(items.len()),
        Value::Vector(xs) => Some(xs.len()),
        Value::Nil => Some(0),
        Value::Pair(_) => {
            let (mut n, mut link) = (0, sequence);
            while let Value::Pair(pair) = link {
                n += 1;
                link = &pair.rest;
            }
            matches!(link, Value::Nil).then_some(n)
        }
        _ => None,
    }
}

impl<'a> Categories<'a> {
    fn with_objects(
        mut self,
        params: Args<'a>,
        argument: usize,
    ) -> Result<Categories<'a>, ArgumentError> {
        if let Some(&objects) = params.get(argument) {
            let n = length(objects)
                .ok_or_else(|| ArgumentError::wrong_type(argument, "a list or array", objects))?;
            if n != self.len() {
                let expected = "one object for each category";
                return Err(ArgumentError::domain(argument, expected, objects));
            }
            self.objects = Some(objects);
        }
        Ok(self)
    }

    fn len(&self) -> usize {
        match &self.weights {
            Weights::Each(weights) => weights.len(),
            Weights::Same { categories, .. } => *categories,
        }
    }

    /// The weight of a category, 0 beyond the last.
    fn weight(&self, category: usize) -> f64 {
        match &self.weights {
            Weights::Each(weights) => weights.get(category).copied().unwrap_or(0.0),
            Weights::Same { weight, categories } if category < *categories => *weight,
            Weights::Same { .. } => 0.0,
        }
    }

    /// The weights of all categories with this value; 0 if there is none.
    fn weight_of(&self, x: &Value) -> f64 {
        match self.objects {
            None => match x.as_integer() {
                Some(category) if category >= 0 => self.weight(category as usize),
                _ => 0.0,
            },
            Some(objects) => {
                let equal = Walk::new(objects).enumerate().filter(|(_, object)| **object == *x);
                equal.map(|(category, _)| self.weight(category)).sum()
            }
        }
    }

    fn value(&self, category: usize) -> Value {
        match self.objects {
            None => Value::Number(category as f64),
            Some(objects) => {
                Walk::new(objects).nth(category).expect("one object for each category").plain()
            }
        }
    }

    /// The value at `place`, in 0 .. total, of the weights laid end to end.
    fn pick(&self, mut place: f64) -> Value {
        let last = self.len() - 1;
        let category = match &self.weights {
            Weights::Same { weight, .. } => ((place / weight) as usize).min(last),
            Weights::Each(weights) => {
                let found = weights.iter().position(|weight| {
                    place -= weight;
                    place < 0.0
                });
                // Rounding can carry the place past the end: the last category that can be.
                found.or_else(|| weights.iter().rposition(|w| *w > 0.0)).unwrap_or(last)
            }
        };
        self.value(category)
    }

    /// Each value of positive weight once, in order of first appearance.
    fn distinct(&self) -> Vec<Value> {
        match self.objects {
            None => (0..self.len())
                .filter(|category| self.weight(*category) > 0.0)
                .map(|category| Value::Number(category as f64))
                .collect(),
            Some(objects) => {
                let mut seen = rustc_hash::FxHashSet::default();
                Walk::new(objects)
                    .enumerate()
                    .filter(|(category, _)| self.weight(*category) > 0.0)
                    .map(|(_, object)| object.plain())
                    .filter(|object| seen.insert(object.clone()))
                    .collect()
            }
        }
    }

    fn support(&self) -> Support {
        match self.objects {
            None => Support::Integers { low: 0.0, high: (self.len() - 1) as f64 },
            Some(_) => Support::Finite(self.distinct()),
        }
    }

    fn enumerate(&self) -> Option<Vec<Value>> {
        (self.len() <= MOST_ENUMERATED).then(|| self.distinct())
    }
}

/// (alphas [, objects])
fn of_alphas<'a>(params: Args<'a>) -> Result<Categories<'a>, ArgumentError> {
    let alphas = arguments::reals(params, 0)?;
    if alphas.is_empty() || !alphas.iter().all(|alpha| *alpha > 0.0 && alpha.is_finite()) {
        return Err(ArgumentError::domain(0, "a vector of positive numbers", params[0]));
    }
    let total: f64 = alphas.iter().sum();
    if !total.is_finite() {
        return Err(ArgumentError::domain(0, "positive numbers with a finite sum", params[0]));
    }
    Categories { weights: Weights::Each(alphas), total, objects: None }.with_objects(params, 1)
}

/// (alpha, k [, objects])
fn symmetric<'a>(params: Args<'a>) -> Result<Categories<'a>, ArgumentError> {
    let weight = arguments::positive(params, 0, "a positive number")?;
    let expected = "a positive whole number of categories";
    let categories = arguments::count(params, 1, expected)?;
    if categories == 0 {
        return Err(ArgumentError::domain(1, expected, params[1]));
    }
    let total = weight * categories as f64;
    if !total.is_finite() {
        let expected = "a number whose sum over all categories is finite";
        return Err(ArgumentError::domain(0, expected, params[0]));
    }
    Categories { weights: Weights::Same { weight, categories }, total, objects: None }
        .with_objects(params, 2)
}

/// The same where every category has a weight that is drawn, and so takes memory.
fn symmetric_drawn<'a>(params: Args<'a>) -> Result<Categories<'a>, ArgumentError> {
    let categories = symmetric(params)?;
    if categories.len() > MOST_DRAWN {
        return Err(ArgumentError::domain(1, "at most 10 million categories", params[1]));
    }
    Ok(categories)
}

/// The latent value of an uncollapsed maker.
fn of_latent<'a>(params: Args<'a>) -> Result<Categories<'a>, ArgumentError> {
    let (weights, objects) = parts(params[0]);
    let Value::Vector(weights) = weights else {
        return Err(ArgumentError::wrong_type(0, "a vector of probabilities", params[0]));
    };
    let total: f64 = weights.iter().sum();
    let valid = weights.iter().all(|w| *w >= 0.0) && total > 0.0 && total.is_finite();
    if !valid || objects.is_some_and(|objects| length(objects) != Some(weights.len())) {
        return Err(ArgumentError::domain(0, "a vector of probabilities", params[0]));
    }
    Ok(Categories { weights: Weights::Each(Cow::Borrowed(weights)), total, objects })
}

const MOST_ENUMERATED: usize = 1 << 20;

const MOST_DRAWN: usize = 10_000_000;

// ---------------------------------------------------------------- what was drawn

/// How often each value was drawn. Small whole numbers have a place of their own; other values
/// are kept in order, so that equal tallies look alike whatever their history.
#[derive(Clone)]
struct Tally {
    n: usize,
    small: Vec<usize>,
    others: Vec<(Value, usize)>,
    /// Whether the values are objects rather than indices.
    objects: bool,
}

const SMALL: f64 = 4096.0;

enum CountPlace {
    Small(usize),
    Other(Result<usize, usize>),
}

impl Tally {
    fn new(objects: bool) -> Tally {
        Tally { n: 0, small: Vec::new(), others: Vec::new(), objects }
    }

    fn place(&self, x: &Value) -> CountPlace {
        match x.as_number() {
            Some(x) if (0.0..SMALL).contains(&x) && x.fract() == 0.0 => {
                CountPlace::Small(x as usize)
            }
            _ => CountPlace::Other(self.others.binary_search_by(|(value, _)| value.cmp(x))),
        }
    }

    fn of(&self, x: &Value) -> usize {
        match self.place(x) {
            CountPlace::Small(i) => self.small.get(i).copied().unwrap_or(0),
            CountPlace::Other(found) => found.map_or(0, |i| self.others[i].1),
        }
    }

    /// The value at `place`, in 0 .. n, of the counts laid end to end.
    fn pick(&self, mut place: usize) -> Option<Value> {
        let mut falls = |count: usize| {
            let here = place < count;
            place = place.saturating_sub(count);
            here
        };
        if let Some(i) = self.small.iter().position(|count| falls(*count)) {
            return Some(Value::Number(i as f64));
        }
        self.others.iter().find(|(_, count)| falls(*count)).map(|(value, _)| value.clone())
    }

    /// (weight, count) of every value drawn; weight 0 for a value that is no category.
    fn groups(&self, categories: &Categories<'_>, mut each: impl FnMut(f64, usize)) {
        match categories.objects {
            None => {
                for (i, count) in self.small.iter().enumerate().filter(|(_, count)| **count > 0) {
                    each(categories.weight(i), *count);
                }
                for (value, count) in &self.others {
                    each(categories.weight_of(value), *count);
                }
            }
            Some(objects) => {
                let mut small = vec![0.0; self.small.len()];
                let mut others = vec![0.0; self.others.len()];
                for (category, object) in Walk::new(objects).enumerate() {
                    let weight = match self.place(&object) {
                        CountPlace::Small(i) => small.get_mut(i),
                        CountPlace::Other(found) => found.ok().map(|i| &mut others[i]),
                    };
                    if let Some(weight) = weight {
                        *weight += categories.weight(category);
                    }
                }
                for (weight, count) in small.iter().zip(&self.small) {
                    if *count > 0 {
                        each(*weight, *count);
                    }
                }
                for (weight, (_, count)) in others.iter().zip(&self.others) {
                    each(*weight, *count);
                }
            }
        }
    }
}

impl Summary for Tally {
    const EXACT: bool = true;

    fn add(&mut self, x: &Value) {
        self.n += 1;
        match self.place(x) {
            CountPlace::Small(i) => {
                if i >= self.small.len() {
                    self.small.resize(i + 1, 0);
                }
                self.small[i] += 1;
            }
            CountPlace::Other(Ok(i)) => self.others[i].1 += 1,
            CountPlace::Other(Err(i)) => self.others.insert(i, (x.clone(), 1)),
        }
    }

    fn remove(&mut self, x: &Value) {
        self.n -= 1;
        match self.place(x) {
            CountPlace::Small(i) => self.small[i] -= 1,
            CountPlace::Other(found) => {
                let i = found.expect("a value that is forgotten was counted");
                self.others[i].1 -= 1;
                if self.others[i].1 == 0 {
                    self.others.remove(i);
                }
            }
        }
    }

    fn count(&self) -> usize {
        self.n
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        if self.objects { Ok(x.clone()) } else { admit_number(x) }
    }
}

// ---------------------------------------------------------------- weights integrated out

type Read = for<'a> fn(Args<'a>) -> Result<Categories<'a>, ArgumentError>;

#[derive(Clone)]
struct CollapsedCategories {
    read: Read,
}

impl Law<Tally> for CollapsedCategories {
    /// With probability n / (A + n) a value drawn before, else one by the alphas.
    fn sample(
        &self,
        seen: &Tally,
        params: Args<'_>,
        rng: &mut Rng,
    ) -> Result<Value, ArgumentError> {
        let categories = (self.read)(params)?;
        let n = seen.n as f64;
        let place = rng.uniform() * (categories.total + n);
        if place < n
            && let Some(value) = seen.pick(place as usize)
        {
            return Ok(value);
        }
        Ok(categories.pick(place - n))
    }

    fn log_predictive(
        &self,
        x: &Value,
        seen: &Tally,
        params: Args<'_>,
    ) -> Result<f64, ArgumentError> {
        let categories = (self.read)(params)?;
        let weight = categories.weight_of(x);
        if weight == 0.0 {
            return Ok(f64::NEG_INFINITY);
        }
        Ok(math::ln((weight + seen.of(x) as f64) / (categories.total + seen.n as f64)))
    }

    fn log_marginal(&self, seen: &Tally, params: Args<'_>) -> Result<f64, ArgumentError> {
        let categories = (self.read)(params)?;
        let mut total = -math::ln_gamma_ratio(categories.total, seen.n as f64);
        seen.groups(&categories, |weight, count| {
            total += if weight == 0.0 {
                f64::NEG_INFINITY
            } else {
                math::ln_gamma_ratio(weight, count as f64)
            };
        });
        Ok(total)
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        Ok((self.read)(params)?.support())
    }

    fn enumerate(&self, _: &Tally, params: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        Ok((self.read)(params)?.enumerate())
    }
}

fn collapsed(read: Read, params: Args<'_>) -> Result<Box<dyn Statistics>, ArgumentError> {
    let objects = read(params)?.objects.is_some();
    Ok(counted(Tally::new(objects), CollapsedCategories { read }))
}

pub static MAKE_DIR_CAT: Made = Made {
    spec: &Spec {
        name: "make_dir_cat",
        aliases: &["make_dir_mult"],
        parameters: "alphas [objects]",
        arity: Arity::between(1, 2),
        summary: "Indices or objects whose weights have a dirichlet(alphas) prior and are integrated out",
        example: "((make_dir_cat (vector 1 1 2)))",
    },
    check: |args| of_alphas(args).map(drop),
    empty: |params| collapsed(of_alphas, params),
    latent: None,
};

pub static MAKE_SYM_DIR_CAT: Made = Made {
    spec: &Spec {
        name: "make_sym_dir_cat",
        aliases: &["make_sym_dir_mult"],
        parameters: "alpha k [objects]",
        arity: Arity::between(2, 3),
        summary: "Indices below k or objects whose weights have a symmetric Dirichlet prior and are integrated out",
        example: "((make_sym_dir_cat 0.5 3))",
    },
    check: |args| symmetric(args).map(drop),
    empty: |params| collapsed(symmetric, params),
    latent: None,
};

// ---------------------------------------------------------------- weights drawn

/// Weights and objects of a latent value.
fn parts(latent: &Value) -> (&Value, Option<&Value>) {
    match latent {
        Value::Array(items) => match items.as_slice() {
            [weights @ Value::Vector(_), objects] => (weights, Some(objects)),
            _ => (latent, None),
        },
        _ => (latent, None),
    }
}

#[derive(Clone)]
struct IndependentCategories;

impl Law<Tally> for IndependentCategories {
    fn sample(&self, _: &Tally, params: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let categories = of_latent(params)?;
        Ok(categories.pick(rng.uniform() * categories.total))
    }

    fn log_predictive(&self, x: &Value, _: &Tally, params: Args<'_>) -> Result<f64, ArgumentError> {
        let categories = of_latent(params)?;
        Ok(math::ln(categories.weight_of(x) / categories.total))
    }

    fn log_marginal(&self, seen: &Tally, params: Args<'_>) -> Result<f64, ArgumentError> {
        let categories = of_latent(params)?;
        let mut total = 0.0;
        seen.groups(&categories, |weight, count| {
            total += count as f64 * math::ln(weight / categories.total);
        });
        Ok(total)
    }

    fn support(&self, params: Args<'_>) -> Result<Support, ArgumentError> {
        Ok(of_latent(params)?.support())
    }

    fn enumerate(&self, _: &Tally, params: Args<'_>) -> Result<Option<Vec<Value>>, ArgumentError> {
        Ok(of_latent(params)?.enumerate())
    }
}

/// w ~ dirichlet(alphas), and the objects beside it if there are any.
struct CategoryWeights {
    read: Read,
    spec: fn() -> &'static Spec,
}

impl Distribution for CategoryWeights {
    fn spec(&self) -> &'static Spec {
        (self.spec)()
    }

    fn sample(&self, args: Args<'_>, rng: &mut Rng) -> Result<Value, ArgumentError> {
        let categories = (self.read)(args)?;
        let alphas = (0..categories.len()).map(|category| categories.weight(category));
        let weights = Value::vector(draw::dirichlet(alphas, rng));
        Ok(match categories.objects {
            None => weights,
            Some(objects) => Value::array(vec![weights, objects.clone()]),
        })
    }

    fn log_density(&self, x: &Value, args: Args<'_>) -> Result<f64, ArgumentError> {
        let categories = (self.read)(args)?;
        let (weights, objects) = parts(x);
        let Value::Vector(weights) = weights else { return Ok(f64::NEG_INFINITY) };
        let simplex = Support::Simplex { len: categories.len() };
        if objects != categories.objects || !simplex.contains(&Value::Vector(weights.clone())) {
            return Ok(f64::NEG_INFINITY);
        }
        let mut total = math::ln_gamma(categories.total);
        let mut impossible = false;
        for (category, weight) in weights.iter().enumerate() {
            let alpha = categories.weight(category);
            let term = math::xlogy(alpha - 1.0, *weight);
            impossible |= term == f64::NEG_INFINITY;
            total += term - math::ln_gamma(alpha);
        }
        Ok(if impossible { f64::NEG_INFINITY } else { total })
    }

    fn support(&self, args: Args<'_>) -> Result<Support, ArgumentError> {
        let categories = (self.read)(args)?;
        if categories.objects.is_some() {
            return Err(ArgumentError::other(format!(
                "the weights of {} with objects are not a plain vector and cannot drift",
                self.spec().name
            )));
        }
        Ok(Support::Simplex { len: categories.len() })
    }

    fn admit(&self, x: &Value) -> Result<Value, &'static str> {
        match parts(x) {
            (_, Some(_)) => Ok(x.clone()),
            (weights, None) => admit_vector(weights),
        }
    }
}

fn uncollapsed(params: Args<'_>) -> Result<Box<dyn Statistics>, ArgumentError> {
    let objects = of_latent(params)?.objects.is_some();
    Ok(counted(Tally::new(objects), IndependentCategories))
}

pub static MAKE_UC_DIR_CAT: Made = Made {
    spec: &Spec {
        name: "make_uc_dir_cat",
        aliases: &["make_uc_dir_mult"],
        parameters: "alphas [objects]",
        arity: Arity::between(1, 2),
        summary: "Indices or objects whose weights are drawn from dirichlet(alphas)",
        example: "((make_uc_dir_cat (vector 1 1 2)))",
    },
    check: |args| of_alphas(args).map(drop),
    empty: uncollapsed,
    latent: Some(&CategoryWeights { read: of_alphas, spec: || MAKE_UC_DIR_CAT.spec }),
};

pub static MAKE_UC_SYM_DIR_CAT: Made = Made {
    spec: &Spec {
        name: "make_uc_sym_dir_cat",
        aliases: &["make_uc_sym_dir_mult"],
        parameters: "alpha k [objects]",
        arity: Arity::between(2, 3),
        summary: "Indices below k or objects whose weights are drawn from a symmetric Dirichlet",
        example: "((make_uc_sym_dir_cat 0.5 3))",
    },
    check: |args| symmetric_drawn(args).map(drop),
    empty: uncollapsed,
    latent: Some(&CategoryWeights { read: symmetric_drawn, spec: || MAKE_UC_SYM_DIR_CAT.spec }),
};
