//! The factor of `make_collapsed_multivariate_normal` that follows vectors as they come and go is the one
//! computed from the sums.

use smidgen_prob::registry::Builtin;
use smidgen_prob::{Statistics, lookup};
use smidgen_value::{Matrix, Rng, Symbol, Value};

fn statistics(params: &[&Value]) -> Box<dyn Statistics> {
    match lookup(Symbol::new("make_collapsed_multivariate_normal")) {
        Some(Builtin::Maker(maker)) => maker.empty(params).expect("a prior"),
        _ => panic!("it is built in"),
    }
}

/// A vector about a far origin, almost in a plane, now and then far out.
fn vector(d: usize, origin: f64, rng: &mut Rng) -> Value {
    let scale = [1.0, 1.0, 1e3][rng.below(3)];
    let along = scale * (rng.uniform() - 0.5);
    let entry = |j: usize| origin + along * (1.0 + j as f64) + 1e-2 * (rng.uniform() - 0.5);
    Value::vector((0..d).map(entry).collect::<Vec<f64>>())
}

#[test]
fn the_factor_follows() {
    for (d, origin) in [(1, 0.0), (2, 0.0), (2, 1e4), (5, -3.0), (10, 100.0)] {
        let params = [
            Value::vector(vec![origin; d]),
            Value::Number(0.05),
            Value::Number(d as f64 + 2.0),
            Value::matrix(Matrix::from_fn(d, d, |i, j| f64::from(u8::from(i == j)))),
        ];
        let params: Vec<&Value> = params.iter().collect();
        let mut rng = Rng::for_chain(7, d as u64);
        let (mut following, mut counted) = (statistics(&params), Vec::new());
        for step in 0..600 {
            // Reading after each change keeps the factor at hand.
            if counted.len() > 30 || (!counted.is_empty() && rng.coin()) {
                let gone: Value = counted.swap_remove(rng.below(counted.len()));
                following.remove(&gone);
            } else {
                let come = vector(d, origin, &mut rng);
                following.add(&come);
                counted.push(come);
            }
            let mut afresh = statistics(&params);
            counted.iter().for_each(|x| afresh.add(x));
            let x = vector(d, origin, &mut rng);
            let (a, b) =
                (following.log_predictive(&x, &params), afresh.log_predictive(&x, &params));
            let (a, b) = (a.expect("a density"), b.expect("a density"));
            assert!((a - b).abs() < 1e-7 * (1.0 + b.abs()), "d {d}, step {step}: {a} and {b}");
            let (a, b) = (following.log_marginal(&params), afresh.log_marginal(&params));
            let (a, b) = (a.expect("a density"), b.expect("a density"));
            assert!((a - b).abs() < 1e-8 * (1.0 + b.abs()), "d {d}, step {step}: {a} and {b}");
        }
    }
}
