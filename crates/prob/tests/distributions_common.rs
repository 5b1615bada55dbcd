//! What the tests of the distributions share: calls written as text, and significance.

#![allow(dead_code)]

use smidgen_prob::{Builtin, Distribution, Support, lookup};
use smidgen_value::{ArgumentError, Matrix, Rng, Symbol, Value, math};

/// A distribution with its arguments.
pub struct Call {
    pub text: String,
    pub distribution: &'static dyn Distribution,
    pub args: Vec<Value>,
}

impl Call {
    /// `normal 0 1`, `dirichlet [1,2,3]`, `wishart [2,0.5;0.5,1] 4`
    pub fn new(text: &str) -> Call {
        let mut words = text.split_whitespace();
        let name = words.next().expect("a name");
        Call { text: text.to_string(), ..Call::applied(name, words.map(value).collect()) }
    }

    pub fn applied(name: &str, args: Vec<Value>) -> Call {
        let Some(Builtin::Distribution(distribution)) = lookup(Symbol::new(name)) else {
            panic!("{name} is no distribution");
        };
        assert!(distribution.spec().arity.admits(args.len()), "{name} {args:?}");
        Call { text: name.to_string(), distribution, args }
    }

    pub fn with<R>(&self, ask: impl FnOnce(&dyn Distribution, &[&Value]) -> R) -> R {
        ask(self.distribution, &self.args.iter().collect::<Vec<_>>())
    }

    pub fn log_density(&self, x: &Value) -> f64 {
        self.with(|d, args| d.log_density(x, args)).unwrap_or_else(|e| panic!("{}: {e}", self.text))
    }

    pub fn density(&self, x: f64) -> f64 {
        math::exp(self.log_density(&Value::Number(x)))
    }

    pub fn try_sample(&self, rng: &mut Rng) -> Result<Value, ArgumentError> {
        self.with(|d, args| d.sample(args, rng))
    }

    pub fn sample(&self, rng: &mut Rng) -> Value {
        self.try_sample(rng).unwrap_or_else(|e| panic!("{}: {e}", self.text))
    }

    pub fn draw(&self, rng: &mut Rng) -> f64 {
        self.sample(rng).as_number().expect("a number")
    }

    pub fn support(&self) -> Support {
        self.with(|d, args| d.support(args)).unwrap_or_else(|e| panic!("{}: {e}", self.text))
    }

    pub fn enumerate(&self) -> Option<Vec<Value>> {
        self.with(|d, args| d.enumerate(args)).unwrap_or_else(|e| panic!("{}: {e}", self.text))
    }
}

/// A number, `true`, `[1,2]` (a vector), `(1,true)` (an array) or `[1,0;0,1]` (a matrix).
pub fn value(text: &str) -> Value {
    let numbers = |row: &str| -> Vec<f64> {
        row.split(',').filter(|x| !x.is_empty()).map(|x| x.parse().expect("a number")).collect()
    };
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        if !inner.contains(';') {
            return Value::vector(numbers(inner));
        }
        let rows: Vec<Vec<f64>> =
            inner.split(';').filter(|row| !row.is_empty()).map(numbers).collect();
        return Value::matrix(Matrix::new(rows.len(), rows[0].len(), rows.concat()));
    }
    if let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        return Value::array(inner.split(',').map(value).collect());
    }
    match text {
        "true" => Value::TRUE,
        "false" => Value::FALSE,
        _ => text.parse().map_or_else(|_| Value::symbol(text), Value::Number),
    }
}

/// The probability of a chi-square value at least this large.
pub fn chi_square_tail(statistic: f64, freedom: usize) -> f64 {
    1.0 - math::gamma_p(0.5 * freedom as f64, 0.5 * statistic)
}

/// The significance of counts against probabilities; bins that expect less than 10 are pooled.
pub fn significance(counts: &[f64], probabilities: &[f64]) -> f64 {
    let n: f64 = counts.iter().sum();
    let (mut statistic, mut bins) = (0.0, 0);
    let mut pooled = (0.0, 0.0);
    let mut add = |count: f64, expected: f64| {
        statistic += (count - expected) * (count - expected) / expected;
        bins += 1;
    };
    for (count, p) in counts.iter().zip(probabilities) {
        if n * p < 10.0 {
            pooled = (pooled.0 + count, pooled.1 + n * p);
        } else {
            add(*count, n * p);
        }
    }
    if pooled.1 > 1e-9 {
        // A nearly empty pool has a far from normal count: let it expect at least one.
        add(pooled.0, pooled.1.max(1.0));
    } else if pooled.0 > 0.0 {
        return 0.0;
    }
    chi_square_tail(statistic, bins - 1)
}
