//! The derivatives of the deterministic procedures.

use smidgen_prob::registry::{self, Builtin};
use smidgen_prob::smooth::{self, Aggregate, Elementary, Shape, Smooth};
use smidgen_prob::{Function, law, lookup};
use smidgen_value::{Matrix, Rng, Symbol, Value};

use crate::difference::{Tally, agrees};

/// What only puts values in other places, or copies them.
const ARRANGING: &[&str] = &[
    "biplex",
    "list",
    "pair",
    "first",
    "second",
    "rest",
    "append",
    "reverse",
    "take",
    "zip",
    "lookup",
    "array",
    "to_list",
    "to_array",
    "to_vector",
    "vector",
    "fill",
    "matrix",
    "diag_matrix",
    "ravel",
    "row",
    "col",
    "transpose",
    "dict",
    "keys",
    "values",
    "keys",
    "values",
];

/// What jumps, gives no number, or a container whose size depends on a number.
const NOT_SMOOTH: &[&str] = &[
    "signum",
    "floor",
    "ceil",
    "round",
    "int_div",
    "int_mod",
    "=",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "not",
    "xor",
    "all_p",
    "any_p",
    "unique",
    "sort",
    "size",
    "is_empty",
    "contains",
    "range",
    "zeros",
    "ones",
    "linspace",
    "arange",
    "id_matrix",
    "zero_matrix",
    "is_number",
    "is_integer",
    "is_boolean",
    "is_symbol",
    "is_string",
    "is_procedure",
    "is_pair",
    "is_list",
    "is_array",
    "is_vector",
    "is_matrix",
    "is_dict",
    "is_environment",
    "integer",
];

fn function(name: &str) -> &'static Function {
    match lookup(Symbol::new(name)) {
        Some(Builtin::Function(function)) => function,
        _ => panic!("{name} is no function"),
    }
}

fn apply(name: &str, args: &[Value]) -> Option<Value> {
    (function(name).apply)(&args.iter().collect::<Vec<_>>()).ok()
}

fn apply_numbers(name: &str, args: &[f64]) -> f64 {
    let args: Vec<Value> = args.iter().map(|x| Value::Number(*x)).collect();
    apply(name, &args).and_then(|x| x.as_number()).expect("a number")
}

/// The derivatives of the procedure `name` against those of `claim`.
trait Claim {
    fn value(&self, a: f64, b: f64) -> f64;
    /// With respect to both arguments, times `g`.
    fn pull(&self, a: f64, b: f64, g: f64) -> [f64; 2];
}

impl Claim for Elementary {
    fn value(&self, a: f64, b: f64) -> f64 {
        let mut out = [0.0];
        Elementary::value(*self, &[a], &[b], &mut out);
        out[0]
    }

    fn pull(&self, a: f64, b: f64, g: f64) -> [f64; 2] {
        let out = [Claim::value(self, a, b)];
        // What was there stays there.
        let (mut first, mut second) = ([2.0], [3.0]);
        self.pull_first(&[a], &[b], &out, &[g], &mut first);
        self.pull_second(&[a], &[b], &out, &[g], &mut second);
        [first[0] - 2.0, second[0] - 3.0]
    }
}

fn check_elementary(name: &str, arity: usize, claim: &dyn Claim) -> Result<(), String> {
    let mut rng = Rng::from_seed(5);
    let mut tally = Tally::default();
    for _ in 0..400 {
        let size = [0.3, 2.0, 8.0][rng.below(3)];
        let mut draw = || size * (2.0 * rng.uniform() - 1.0);
        let at = [draw(), draw()];
        let g = 1.0 + draw().abs();
        let value = apply_numbers(name, &at[..arity]);
        let claimed = claim.value(at[0], at[1]);
        if value.to_bits() != claimed.to_bits() && !(value.is_nan() && claimed.is_nan()) {
            return Err(format!("{at:?}: value {claimed}, not {value}"));
        }
        if !value.is_finite() {
            continue;
        }
        let slopes = claim.pull(at[0], at[1], g);
        for i in 0..arity {
            let moved = |t: f64| {
                let mut at = at;
                at[i] += t;
                g * apply_numbers(name, &at[..arity])
            };
            // The rounding of 2.0 + slope is that of numbers of size 1.
            let verdict = agrees(moved, 0.1 * at[i].abs().max(1e-3), slopes[i], 1e-6);
            tally.add(verdict, || format!("argument {i} at {at:?}"));
        }
    }
    tally.verdict(60)
}

/// Numbers whose chain is what the procedure gives.
fn check_chain(name: &str, claim: Elementary) -> Result<(), String> {
    let mut rng = Rng::from_seed(6);
    for _ in 0..50 {
        let at: Vec<f64> = (0..5).map(|_| 6.0 * rng.uniform() - 3.0).collect();
        let chained = at.iter().copied().reduce(|a, b| Claim::value(&claim, a, b));
        let chained = chained.expect("some numbers");
        if chained != apply_numbers(name, &at) {
            return Err(format!("{at:?}: {chained}"));
        }
    }
    check_elementary(name, 2, &claim)
}

#[test]
fn every_function_has_its_derivative_or_none() {
    let mut wrong = Vec::new();
    let mut report = |name: &str, verdict: Result<(), String>| {
        if let Err(how) = verdict {
            wrong.push(format!("{name}: {how}"));
        }
    };
    for builtin in registry::all() {
        let Builtin::Function(function) = builtin else {
            continue;
        };
        let name = function.spec.name;
        let lists =
            [ARRANGING.contains(&name), NOT_SMOOTH.contains(&name), smooth::is_identity(name)];
        let listed = lists.iter().filter(|listed| **listed).count();
        match smooth::find(name) {
            None if listed == 1 => {}
            Some(_) if listed > 0 => report(name, Err("is listed as without derivative".into())),
            None => report(name, Err(format!("no derivative, and in {listed} lists"))),
            Some(Smooth::Elementary(f)) => report(name, check_elementary(name, f.arity(), &f)),
            Some(Smooth::Chain(f)) => report(name, check_chain(name, f)),
            Some(Smooth::Aggregate(f)) => report(name, check_aggregate(f)),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn of_one_argument_minus_and_slash_are_others() {
    assert_eq!(check_elementary("-", 1, &Elementary::Negate), Ok(()));
    assert_eq!(check_elementary("/", 1, &Elementary::Reciprocal), Ok(()));
}

#[test]
fn the_lists_name_functions() {
    for name in ARRANGING.iter().chain(NOT_SMOOTH) {
        assert_eq!(function(name).spec.name, *name);
    }
    for name in ["real", "probability"] {
        assert!(smooth::is_identity(name));
        assert_eq!(apply_numbers(name, &[0.3]), 0.3);
    }
    let simplex = Value::vector(vec![0.3, 0.7]);
    assert_eq!(apply("simplex", std::slice::from_ref(&simplex)), Some(simplex));
}

#[test]
fn a_wrong_derivative_is_caught() {
    /// The reciprocal's slope without its sign, and a quotient's with a factor.
    struct Broken(Elementary);
    impl Claim for Broken {
        fn value(&self, a: f64, b: f64) -> f64 {
            Claim::value(&self.0, a, b)
        }
        fn pull(&self, a: f64, b: f64, g: f64) -> [f64; 2] {
            let [first, second] = Claim::pull(&self.0, a, b, g);
            match self.0 {
                Elementary::Reciprocal => [-first, second],
                _ => [first, second * (1.0 + 1e-5)],
            }
        }
    }
    assert!(check_elementary("/", 1, &Broken(Elementary::Reciprocal)).is_err());
    assert!(check_elementary("/", 2, &Broken(Elementary::Divide)).is_err());
    assert!(check_elementary("log", 1, &Elementary::Log1p).is_err());
}

#[test]
fn kinks_and_ends_have_no_nan() {
    let inf = f64::INFINITY;
    let slope = |f: Elementary, a: f64, b: f64, g: f64| Claim::pull(&f, a, b, g);
    assert_eq!(slope(Elementary::Sqrt, 0.0, 0.0, 1.0)[0], inf);
    for (f, a, b) in [
        (Elementary::Sqrt, 0.0, 0.0),
        (Elementary::Log, 0.0, 0.0),
        (Elementary::Log1p, -1.0, 0.0),
        (Elementary::Logit, 0.0, 0.0),
        (Elementary::Logit, 1.0, 0.0),
        (Elementary::Pow, 0.0, 0.5),
        (Elementary::Pow, 0.0, 0.0),
        (Elementary::Divide, 1.0, 0.0),
        (Elementary::Reciprocal, 0.0, 0.0),
        (Elementary::Exp, 1000.0, 0.0),
    ] {
        assert_eq!(slope(f, a, b, 0.0), [0.0, 0.0], "{f:?} at {a} {b}");
    }
    for (f, a, b, want) in [
        (Elementary::Abs, 0.0, 0.0, [0.0, 0.0]),
        (Elementary::Hypot, 0.0, 0.0, [0.0, 0.0]),
        (Elementary::Min, 1.0, 1.0, [0.0, 1.0]),
        (Elementary::Max, 1.0, 1.0, [0.0, 1.0]),
        (Elementary::Pow, 0.0, 1.0, [1.0, 0.0]),
        (Elementary::Pow, 0.0, 2.0, [0.0, 0.0]),
        (Elementary::Pow, -2.0, 2.0, [-4.0, 0.0]),
        (Elementary::Pow, 1.0, 0.0, [0.0, 0.0]),
    ] {
        assert_eq!(slope(f, a, b, 1.0), want, "{f:?} at {a} {b}");
    }
}

/// Arguments of an aggregate: their shapes, and whether a matrix has to stay symmetric and
/// positive definite.
fn forms(name: &str) -> Vec<(Vec<Shape>, bool)> {
    use Shape::{Matrix, Number, Vector};
    let plain = |shapes: &[&[Shape]]| shapes.iter().map(|s| (s.to_vec(), false)).collect();
    let (v, m) = (Vector(4), Matrix(3, 3));
    match name {
        "sum" | "prod" | "mean" | "normalize" => plain(&[&[v], &[Vector(1)], &[Vector(9)]]),
        "logsumexp" => plain(&[&[v], &[Number], &[Number, Number, Number]]),
        "dot" | "vector_add" => plain(&[&[v, v], &[Vector(17), Vector(17)]]),
        "linear_logistic" => plain(&[&[v, Vector(3)], &[Vector(1), Vector(0)]]),
        "scale_vector" => plain(&[&[Number, v], &[v, Number], &[Number, Vector(1)]]),
        "scale_matrix" => plain(&[&[Number, m], &[Matrix(2, 3), Number]]),
        "matrix_add" => plain(&[&[Matrix(2, 3), Matrix(2, 3)]]),
        "matrix_mul" => {
            plain(&[&[Matrix(2, 4), Matrix(4, 3)], &[m, m], &[Matrix(2, 0), Matrix(0, 2)]])
        }
        "matrix_times_vector" => plain(&[&[Matrix(2, 3), Vector(3)], &[Matrix(1, 1), Vector(1)]]),
        "vector_times_matrix" => plain(&[&[Vector(2), Matrix(2, 3)], &[Vector(1), Matrix(1, 1)]]),
        "matrix_trace" | "matrix_inverse" => plain(&[&[m], &[Matrix(1, 1)]]),
        "matrix_solve" => plain(&[&[m, Vector(3)], &[m, Matrix(3, 2)]]),
        "log_det" => vec![(vec![m], false), (vec![m], true), (vec![Matrix(1, 1)], true)],
        "cholesky" => [1, 2, 3, 6].iter().map(|n| (vec![Matrix(*n, *n)], true)).collect(),
        "cov_exp_quad" | "cov_matern32" | "cov_matern52" => plain(&[
            &[v, Number, Number],
            &[Matrix(3, 2), Number, Number],
            &[v, Vector(2), Number, Number],
            &[Matrix(3, 2), Matrix(2, 2), Number, Number],
        ]),
        "cov_periodic" => plain(&[
            &[v, Number, Number, Number],
            &[Matrix(3, 2), Matrix(2, 2), Number, Number, Number],
        ]),
        "log_density" | "cdf" | "ccdf" | "log_cdf" | "log_ccdf" | "quantile" => {
            plain(&[&[Shape::Law, Number, Number, Number]])
        }
        _ => panic!("{name}: no arguments to try it on"),
    }
}

fn value_of(entries: &[f64], shape: Shape) -> Value {
    match shape {
        Shape::Number => Value::Number(entries[0]),
        Shape::Law => {
            law::numbered(entries[0]).map_or(Value::Nil, |d| Value::symbol(d.spec().name))
        }
        Shape::Vector(_) => Value::vector(entries.to_vec()),
        Shape::Matrix(n, m) => Value::matrix(Matrix::new(n, m, entries.to_vec())),
    }
}

fn entries_of(value: &Value) -> Vec<f64> {
    match value {
        Value::Vector(xs) => xs.to_vec(),
        Value::Matrix(m) => m.as_slice().to_vec(),
        other => vec![other.as_number().unwrap_or_else(|| panic!("{other:?}"))],
    }
}

fn positive_definite(n: usize, rng: &mut Rng) -> Vec<f64> {
    let a: Vec<f64> = (0..n * n).map(|_| 2.0 * rng.uniform() - 1.0).collect();
    let entry = |i: usize, j: usize| -> f64 {
        let dot: f64 = (0..n).map(|k| a[i * n + k] * a[j * n + k]).sum();
        dot + if i == j { 0.3 } else { 0.0 }
    };
    (0..n * n).map(|at| entry(at / n, at % n)).collect()
}

/// The slope of g . f along a direction against the difference, in every direction of every
/// argument.
fn check_aggregate(f: &Aggregate) -> Result<(), String> {
    let mut rng = Rng::from_seed(7);
    let mut tally = Tally::default();
    for (shapes, symmetric) in forms(f.name) {
        for _ in 0..20 {
            let args: Vec<Vec<f64>> = shapes
                .iter()
                .map(|shape| match shape {
                    Shape::Matrix(n, _) if symmetric => positive_definite(*n, &mut rng),
                    // A normal law, at numbers that may be a scale and a probability.
                    Shape::Law => law::number(&Value::symbol("normal")).into_iter().collect(),
                    Shape::Number if f.name.starts_with("cov_") => vec![0.5 + rng.uniform()],
                    Shape::Number if shapes[0] == Shape::Law => vec![0.1 + 0.8 * rng.uniform()],
                    _ => (0..shape.len()).map(|_| 4.0 * rng.uniform() - 2.0).collect(),
                })
                .collect();
            check_at(f, &shapes, symmetric, &args, &mut rng, &mut tally)?;
        }
    }
    tally.verdict(40)
}

fn check_at(
    f: &Aggregate,
    shapes: &[Shape],
    symmetric: bool,
    args: &[Vec<f64>],
    rng: &mut Rng,
    tally: &mut Tally,
) -> Result<(), String> {
    let procedure = |args: &[Vec<f64>]| {
        let values: Vec<Value> =
            args.iter().zip(shapes).map(|(x, shape)| value_of(x, *shape)).collect();
        apply(f.name, &values).map(|value| entries_of(&value))
    };
    let shape = (f.shape)(shapes).ok_or("the shapes do not fit")?;
    let slices: Vec<&[f64]> = args.iter().map(Vec::as_slice).collect();
    let mut out = vec![0.0; shape.len()];
    let inside = (f.value)(&slices, shapes, &mut out);
    let want = procedure(args);
    if !inside || want.as_ref() != Some(&out) {
        return Err(format!("{args:?}: {inside} {out:?}, not {want:?}"));
    }
    let g: Vec<f64> = (0..out.len()).map(|_| 2.0 * rng.uniform() - 1.0).collect();
    let mut slopes: Vec<Vec<f64>> = args.iter().map(|x| vec![0.5; x.len()]).collect();
    let mut given: Vec<&mut [f64]> = slopes.iter_mut().map(Vec::as_mut_slice).collect();
    (f.pull)(&slices, shapes, &out, &g, &mut given);
    for i in 0..args.len() {
        // With no slope wanted, the others come out the same.
        let mut others: Vec<Vec<f64>> = args.iter().map(|x| vec![0.5; x.len()]).collect();
        others[i].clear();
        let mut given: Vec<&mut [f64]> = others.iter_mut().map(Vec::as_mut_slice).collect();
        (f.pull)(&slices, shapes, &out, &g, &mut given);
        if (0..args.len()).any(|j| j != i && others[j] != slopes[j]) {
            return Err(format!("without the slope of argument {i} others differ"));
        }
        for at in (0..args[i].len()).filter(|_| shapes[i] != Shape::Law) {
            let n = args[i].len().isqrt();
            let mirror = if symmetric { at % n * n + at / n } else { at };
            let moved = |t: f64| {
                let mut args = args.to_vec();
                args[i][at] += t;
                if mirror != at {
                    args[i][mirror] += t;
                }
                let out = procedure(&args);
                out.map_or(f64::NAN, |out| out.iter().zip(&g).map(|(x, g)| x * g).sum())
            };
            let slope = slopes[i][at] - 0.5;
            let slope = if mirror == at { slope } else { slope + slopes[i][mirror] - 0.5 };
            let verdict = agrees(moved, 0.02, slope, 1e-3);
            tally.add(verdict, || format!("entry {at} of argument {i} in {args:?}"));
        }
    }
    Ok(())
}

#[test]
fn a_wrong_aggregate_is_caught() {
    let Some(Smooth::Aggregate(cholesky)) = smooth::find("cholesky") else {
        panic!("cholesky has a derivative");
    };
    let broken = Aggregate {
        name: cholesky.name,
        shape: cholesky.shape,
        value: cholesky.value,
        // The slope of the upper triangle's transpose instead.
        pull: |args, shapes, out, g, slopes| {
            let Some(Smooth::Aggregate(cholesky)) = smooth::find("cholesky") else {
                return;
            };
            let n = args[0].len().isqrt();
            let turned: Vec<f64> = (0..n * n).map(|at| g[at % n * n + at / n]).collect();
            (cholesky.pull)(args, shapes, out, &turned, slopes);
        },
    };
    assert_eq!(check_aggregate(cholesky), Ok(()));
    assert!(check_aggregate(&broken).is_err());
}

#[test]
fn outside_the_domain_there_is_no_value() {
    for (name, shapes, args) in [
        ("matrix_inverse", vec![Shape::Matrix(2, 2)], vec![vec![1.0, 2.0, 2.0, 4.0]]),
        ("log_det", vec![Shape::Matrix(2, 2)], vec![vec![1.0, 2.0, 2.0, 4.0]]),
        ("cholesky", vec![Shape::Matrix(2, 2)], vec![vec![1.0, 2.0, 2.0, 1.0]]),
        (
            "matrix_solve",
            vec![Shape::Matrix(2, 2), Shape::Vector(2)],
            vec![vec![1.0, 2.0, 2.0, 4.0], vec![1.0, 1.0]],
        ),
        ("normalize", vec![Shape::Vector(2)], vec![vec![1.0, -1.0]]),
        ("mean", vec![Shape::Vector(0)], vec![vec![]]),
    ] {
        let Some(Smooth::Aggregate(f)) = smooth::find(name) else {
            panic!("{name} has a derivative");
        };
        let slices: Vec<&[f64]> = args.iter().map(Vec::as_slice).collect();
        let shape = (f.shape)(&shapes).expect("fitting shapes");
        assert!(!(f.value)(&slices, &shapes, &mut vec![0.0; shape.len()]), "{name}");
        let values: Vec<Value> = args.iter().zip(&shapes).map(|(x, s)| value_of(x, *s)).collect();
        assert!(apply(name, &values).is_none(), "{name}");
    }
    let Some(Smooth::Aggregate(dot)) = smooth::find("dot") else {
        panic!("dot has a derivative");
    };
    assert_eq!((dot.shape)(&[Shape::Vector(2), Shape::Vector(3)]), None);
}
