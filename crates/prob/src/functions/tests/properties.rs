//! Laws that hold for all values.

use proptest::collection::vec;
use proptest::prelude::*;
use smidgen_value::{Matrix, Value};

use super::call;

fn apply(name: &str, args: &[&Value]) -> Value {
    let args: Vec<Value> = args.iter().map(|x| (*x).clone()).collect();
    call(name, &args).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn a_number() -> impl Strategy<Value = f64> {
    prop_oneof![(-100i32..100).prop_map(f64::from), -1e3..1e3]
}

/// A list, an array or a vector of numbers.
fn a_container() -> impl Strategy<Value = Value> {
    (vec(a_number(), 0..12), 0..3).prop_map(|(xs, kind)| match kind {
        0 => Value::list(xs.into_iter().map(Value::Number)),
        1 => Value::array(xs.into_iter().map(Value::Number).collect()),
        _ => Value::vector(xs),
    })
}

fn a_matrix(rows: usize, cols: usize) -> impl Strategy<Value = Value> {
    vec(-10.0..10.0, rows * cols).prop_map(move |xs| Value::matrix(Matrix::new(rows, cols, xs)))
}

fn any_matrix() -> impl Strategy<Value = Value> {
    (0usize..5, 0usize..5).prop_flat_map(|(rows, cols)| a_matrix(rows, cols))
}

/// A square matrix that is well away from singular: its diagonal outweighs its rows.
fn an_invertible_matrix() -> impl Strategy<Value = Value> {
    (1usize..6).prop_flat_map(|n| a_matrix(n, n)).prop_map(|m| {
        let Value::Matrix(m) = m else { unreachable!("a matrix") };
        let heavy = |i, j| if i == j { 60.0 } else { 0.0 };
        Value::matrix(Matrix::from_fn(m.rows(), m.cols(), |i, j| m.get(i, j) + heavy(i, j)))
    })
}

/// The largest difference between two equally shaped numeric values.
fn distance(a: &Value, b: &Value) -> f64 {
    let entries = |x: &Value| match x {
        Value::Matrix(m) => m.as_slice().to_vec(),
        Value::Number(x) => vec![*x],
        other => other.to_reals().expect("numbers"),
    };
    let (a, b) = (entries(a), entries(b));
    assert_eq!(a.len(), b.len());
    a.iter().zip(&b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

proptest! {
    #[test]
    fn reversing_twice_gives_the_same(xs in a_container()) {
        prop_assert_eq!(apply("reverse", &[&apply("reverse", &[&xs])]), xs);
    }

    #[test]
    fn append_is_associative_and_keeps_sizes(a in a_container(), b in a_container(), c in a_container()) {
        let left = apply("append", &[&apply("append", &[&a, &b]), &c]);
        let right = apply("append", &[&a, &apply("append", &[&b, &c])]);
        let size = |x: &Value| apply("size", &[x]);
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(&left, &apply("append", &[&a, &b, &c]));
        prop_assert_eq!(size(&left), apply("+", &[&size(&a), &size(&b), &size(&c)]));
    }

    #[test]
    fn the_reverse_of_an_append_is_the_append_of_reverses(a in a_container(), b in a_container()) {
        let listed = |x: &Value| apply("to_list", &[x]);
        let (a, b) = (listed(&a), listed(&b));
        prop_assert_eq!(
            apply("reverse", &[&apply("append", &[&a, &b])]),
            apply("append", &[&apply("reverse", &[&b]), &apply("reverse", &[&a])])
        );
    }

    #[test]
    fn lookup_finds_what_was_put_in(xs in vec(a_number(), 1..10), kind in 0..3, at in any::<prop::sample::Index>()) {
        let name = ["list", "array", "vector"][kind as usize];
        let numbers: Vec<Value> = xs.iter().copied().map(Value::Number).collect();
        let container = call(name, &numbers).unwrap();
        let i = at.index(xs.len());
        prop_assert_eq!(apply("lookup", &[&container, &Value::Number(i as f64)]), Value::Number(xs[i]));
        prop_assert_eq!(apply("contains", &[&container, &numbers[i]]), Value::TRUE);
        let past = call("lookup", &[container, Value::Number(xs.len() as f64)]);
        prop_assert!(past.unwrap_err().to_string().contains("index"));
    }

    #[test]
    fn first_and_rest_make_the_list_again(xs in vec(a_number(), 1..10)) {
        let list = Value::list(xs.into_iter().map(Value::Number));
        let again = apply("pair", &[&apply("first", &[&list]), &apply("rest", &[&list])]);
        prop_assert_eq!(again, list);
    }

    #[test]
    fn conversions_keep_the_elements(xs in a_container()) {
        for (there, and_back) in [("to_list", "to_array"), ("to_array", "to_vector"), ("to_vector", "to_list")] {
            let direct = apply(and_back, &[&xs]);
            prop_assert_eq!(apply(and_back, &[&apply(there, &[&xs])]), direct);
        }
    }

    #[test]
    fn a_dictionary_returns_what_was_zipped_into_it(keys in prop::collection::btree_set(-50i32..50, 0..10)) {
        let keys: Vec<Value> = keys.into_iter().map(|k| Value::Number(f64::from(k))).collect();
        let values: Vec<Value> = keys.iter().map(|k| apply("square", &[k])).collect();
        let zipped = call("zip", &[Value::list(keys.clone()), Value::list(values.clone())]).unwrap();
        let dict = call("dict", &zipped.elements().unwrap()).unwrap();
        prop_assert_eq!(apply("keys", &[&dict]), Value::list(keys.clone()));
        prop_assert_eq!(apply("values", &[&dict]), Value::list(values.clone()));
        for (key, value) in keys.iter().zip(values) {
            prop_assert_eq!(apply("lookup", &[&dict, key]), value);
        }
    }

    #[test]
    fn elementwise_arithmetic_is_arithmetic_of_elements(
        pairs in vec((a_number(), a_number()), 0..12),
        name in prop::sample::select(vec!["+", "-", "*", "/"]),
    ) {
        let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let each: Vec<f64> = pairs
            .iter()
            .map(|(x, y)| apply(name, &[&Value::Number(*x), &Value::Number(*y)]).as_number().unwrap())
            .collect();
        prop_assert_eq!(apply(name, &[&Value::vector(xs), &Value::vector(ys)]), Value::vector(each));
    }

    #[test]
    fn quotient_and_remainder_belong_together(x in -1000i32..1000, y in -30i32..30) {
        prop_assume!(y != 0);
        let (a, b) = (Value::Number(f64::from(x)), Value::Number(f64::from(y)));
        let quotient = apply("int_div", &[&a, &b]);
        let remainder = apply("int_mod", &[&a, &b]);
        prop_assert_eq!(apply("+", &[&apply("*", &[&quotient, &b]), &remainder]), a);
        prop_assert!(quotient.as_number().unwrap() == (f64::from(x) / f64::from(y)).floor());
    }

    #[test]
    fn logit_is_the_inverse_of_logistic(x in -30.0..15.0f64) {
        let p = apply("logistic", &[&Value::Number(x)]);
        // A last digit of p near 1 is worth e^x of them in x.
        prop_assert!(distance(&apply("logit", &[&p]), &Value::Number(x)) < 1e-8);
    }

    #[test]
    fn logsumexp_is_the_logarithm_of_the_sum(xs in vec(-5.0..5.0f64, 1..10)) {
        let exps = xs.iter().map(|x| apply("exp", &[&Value::Number(*x)])).collect();
        let direct = apply("log", &[&apply("sum", &[&Value::array(exps)])]);
        prop_assert!(distance(&apply("logsumexp", &[&Value::vector(xs)]), &direct) < 1e-13);
    }

    #[test]
    fn a_linear_logistic_is_the_logistic_of_its_parts(w in vec(-2.0..2.0f64, 1..40), seed in vec(-2.0..2.0f64, 40)) {
        let x = Value::vector(&seed[..w.len() - 1]);
        let w = Value::vector(w);
        let dot = apply("dot", &[&apply("rest", &[&w]), &x]);
        let parts = apply("logistic", &[&apply("+", &[&apply("first", &[&w]), &dot])]);
        prop_assert_eq!(apply("linear_logistic", &[&w, &x]), parts);
    }

    #[test]
    fn a_scalar_product_is_the_sum_of_products(pairs in vec((a_number(), a_number()), 0..40)) {
        let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let (xs, ys) = (Value::vector(xs), Value::vector(ys));
        let sum = apply("sum", &[&apply("*", &[&xs, &ys])]);
        prop_assert!(distance(&apply("dot", &[&xs, &ys]), &sum) < 1e-7);
    }

    #[test]
    fn normalized_numbers_are_a_simplex(xs in vec(0.001..1e3f64, 1..20)) {
        let normalized = apply("normalize", &[&Value::vector(xs)]);
        prop_assert_eq!(apply("simplex", &[&normalized]), normalized);
    }

    #[test]
    fn transposing_twice_gives_the_same(m in any_matrix()) {
        prop_assert_eq!(apply("transpose", &[&apply("transpose", &[&m])]), m);
    }

    #[test]
    fn a_matrix_is_made_of_its_rows(m in any_matrix()) {
        let Value::Matrix(inner) = &m else { unreachable!("a matrix") };
        // Without a row nothing says how many columns there are.
        prop_assume!(inner.rows() > 0);
        prop_assert_eq!(&apply("matrix", &[&apply("to_list", &[&m])]), &m);
        for j in 0..inner.cols() {
            let j = Value::Number(j as f64);
            prop_assert_eq!(apply("col", &[&m, &j]), apply("row", &[&apply("transpose", &[&m]), &j]));
        }
    }

    #[test]
    fn products_transpose_in_reverse_order(
        (a, b) in (1usize..5, 0usize..12, 1usize..5)
            .prop_flat_map(|(n, k, m)| (a_matrix(n, k), a_matrix(k, m))),
    ) {
        let transposed = |m: &Value| apply("transpose", &[m]);
        let product = apply("matrix_mul", &[&a, &b]);
        prop_assert_eq!(
            transposed(&product),
            apply("matrix_mul", &[&transposed(&b), &transposed(&a)])
        );
        let zero = Value::Number(0.0);
        prop_assert_eq!(
            apply("row", &[&product, &zero]),
            apply("vector_times_matrix", &[&apply("row", &[&a, &zero]), &b])
        );
        prop_assert_eq!(
            apply("col", &[&product, &zero]),
            apply("matrix_times_vector", &[&a, &apply("col", &[&b, &zero])])
        );
    }

    #[test]
    fn an_inverse_undoes_its_matrix(m in an_invertible_matrix()) {
        let identity = apply("id_matrix", &[&apply("size", &[&m])]);
        let inverse = apply("matrix_inverse", &[&m]);
        prop_assert!(distance(&apply("matrix_mul", &[&inverse, &m]), &identity) < 1e-12);
        prop_assert!(distance(&apply("matrix_mul", &[&m, &inverse]), &identity) < 1e-12);
        let sum = apply("+", &[&apply("log_det", &[&m]), &apply("log_det", &[&inverse])]);
        prop_assert!(distance(&sum, &Value::Number(0.0)) < 1e-11);
    }

    #[test]
    fn a_solution_solves(m in an_invertible_matrix(), seed in vec(-10.0..10.0f64, 6)) {
        let n = apply("size", &[&m]);
        let b = apply("take", &[&n, &Value::vector(seed)]);
        let x = apply("matrix_solve", &[&m, &b]);
        prop_assert!(distance(&apply("matrix_times_vector", &[&m, &x]), &b) < 1e-11);
    }

    #[test]
    fn a_cholesky_factor_squares_to_its_matrix(m in an_invertible_matrix()) {
        let square = apply("matrix_mul", &[&m, &apply("transpose", &[&m])]);
        let lower = apply("cholesky", &[&square]);
        let again = apply("matrix_mul", &[&lower, &apply("transpose", &[&lower])]);
        prop_assert!(distance(&again, &square) < 1e-9);
        let twice = apply("*", &[&Value::Number(2.0), &apply("log_det", &[&m])]);
        prop_assert!(distance(&apply("log_det", &[&square]), &twice) < 1e-10);
    }
}
