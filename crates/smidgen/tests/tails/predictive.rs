//! Outcomes drawn for the rows of a plate: their moments, and the very draws that the rows would be one by one.

use smidgen::value::Rng;
use smidgen::value::math::logistic;

use super::{ROWS, session};

/// Mean and mean square of so many rounds of draws for all rows.
fn moments(text: &str, rounds: usize) -> [f64; 2] {
    let mut session = session(text, 1);
    let mut rng = Rng::from_seed(3);
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..rounds {
        let drawn = session.model().trace_mut().draw_rows(&mut rng).expect("draws");
        assert_eq!(drawn.len(), ROWS);
        for (place, row) in drawn.iter().enumerate() {
            assert_eq!(row.row as usize, place);
            let x = row.value.as_number().expect("a number");
            sum += x;
            squares += x * x;
        }
    }
    let n = (rounds * ROWS) as f64;
    [sum / n, squares / n]
}

#[test]
fn rows_are_drawn_from_their_law() {
    // (program, mean, mean square, six standard errors of each at 40,000 draws)
    let row = |law: &str| {
        format!("[assume a (normal 0 1)] [force a 0.5] [for row in t [observe {law} row.zero]]")
    };
    let p = logistic(0.5);
    for (law, mean, square, errors) in [
        ("(normal (+ a row.zero) (exp a))", 0.5, 0.25 + std::f64::consts::E, [0.05, 0.16]),
        ("(bernoulli (logistic a))", p, p, [0.015, 0.015]),
        ("(poisson (exp a))", 1.648_721, 1.648_721 + std::f64::consts::E, [0.04, 0.17]),
        ("(categorical (array (exp a) 1))", 1.0 - p, 1.0 - p, [0.015, 0.015]),
    ] {
        let [found, found_square] = moments(&row(law), 200);
        assert!((found - mean).abs() < errors[0], "{found} is not {mean} for {law}");
        assert!((found_square - square).abs() < errors[1], "{found_square} {square} for {law}");
    }
}

#[test]
fn a_parameter_that_is_no_double_is_drawn_by_its_link() {
    let row = |law: &str, a: f64| {
        format!(
            "[assume a (normal 0 1000)] [force a {a:?}] [for row in t [observe {law} row.zero]]"
        )
    };
    assert_eq!(moments(&row("(bernoulli (logistic a))", -800.0), 2), [0.0, 0.0]);
    assert_eq!(moments(&row("(normal 7 (exp a))", -800.0), 2), [7.0, 49.0]);
    assert_eq!(moments(&row("(poisson (exp a))", -800.0), 2), [0.0, 0.0]);
}
