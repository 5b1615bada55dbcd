//! Unconstrained coordinates: x = T(z), with log|dx/dz| as a term of the density.
//!
//! | support | x | log|dx/dz| |
//! |---|---|---|
//! | reals | z | 0 |
//! | (a, ∞) | a + e^z | z |
//! | (−∞, b) | b − e^z | z |
//! | (a, b) | a + (b − a) logistic(z) | log(b − a) + log logistic(z) + log logistic(−z) |
//! | circle | z less whole turns | 0 |
//! | simplex of K | softmax(z_1, ..., z_{K−1}, 0) | Σ log x_k |
//! | positive definite | L L', L lower with e^{z_jj} on its diagonal | Σ_j (d + 2 − j) z_jj, j from 1 |
//! | increasing, above a | x_k = x_{k−1} + e^{z_k}, x_0 = a (or x_1 = z_1, with no a) | Σ z_k |
//! | correlations and their factors | `prob::correlation`: partial correlations tanh z_ij | there |
//!
//! On the circle z runs over the whole line, and the density repeats itself every turn. A move on the line that
//! treats all turns alike (trajectories do: they know differences of positions only) and is reversible
//! there is reversible on the circle: Σ_k π(z) K(z, z' + 2πk) is symmetric if π(z) K(z, z') is. So any
//! lift of an angle may serve as its z.
//!
//! The ends of an interval may themselves depend on the block. So may the location and the scale
//! of a choice; in *standardised* form its coordinates are relative to these ([`super::standardise`]).

use smidgen_prob::Support;
use smidgen_prob::smooth::Elementary;
use smidgen_value::{Matrix, Value, math};

use crate::program::{Program, Source};

/// The places of the location and the scale among so many arguments.
pub(super) fn location_and_scale(distribution: &str, arguments: usize) -> Option<[usize; 2]> {
    match (distribution, arguments) {
        ("normal" | "cauchy" | "laplace" | "logistic_dist", 2) => Some([0, 1]),
        ("student_t", 3) => Some([1, 2]),
        _ => None,
    }
}

/// The marked value of a choice whose coordinates start at input `first`. `ends` are those of an
/// interval, marked where they can change.
pub(super) fn constrain(
    program: &mut Program,
    support: &Support,
    ends: (f64, f64),
    first: u32,
) -> Value {
    let dimension = support.dimension().expect("only continuous choices have coordinates");
    let start = program.leaf(dimension as u32, Source::Input(first));
    let z: Vec<f64> = (start..start + dimension as u32).map(|r| program.mark(r)).collect();
    match support {
        Support::Interval { low, high } => {
            Value::Number(interval(program, z[0], ends, (low.is_finite(), high.is_finite())))
        }
        Support::Circle => Value::Number(program.elementary(Elementary::Wrap, z[0], 0.0)),
        Support::Vectors { .. } => Value::vector(z),
        Support::Simplex { .. } => simplex(program, z),
        Support::PositiveDefinite { size } => positive_definite(program, &z, *size),
        Support::Ordered { low, .. } => ordered(program, z, *low),
        Support::CorrelationFactor { size } => {
            Value::matrix(Matrix::new(*size, *size, correlation_factor(program, &z, *size).entries))
        }
        Support::Correlation { size } => correlation(program, &z, *size),
        _ => Value::Number(z[0]),
    }
}

fn interval(program: &mut Program, z: f64, (low, high): (f64, f64), finite: (bool, bool)) -> f64 {
    use Elementary::{Add, Exp, Log, LogLogistic, Logistic, Multiply, Negate, Subtract};
    match finite {
        (false, false) => z,
        (true, false) => {
            program.term(z);
            let e = program.elementary(Exp, z, 0.0);
            if low == 0.0 { e } else { program.elementary(Add, low, e) }
        }
        (false, true) => {
            program.term(z);
            let e = program.elementary(Exp, z, 0.0);
            program.elementary(Subtract, high, e)
        }
        (true, true) => {
            let width = program.elementary(Subtract, high, low);
            let log_width = program.elementary(Log, width, 0.0);
            let minus = program.elementary(Negate, z, 0.0);
            let left = program.elementary(LogLogistic, z, 0.0);
            let right = program.elementary(LogLogistic, minus, 0.0);
            let share = program.elementary(Logistic, z, 0.0);
            program.term(log_width);
            program.term(left);
            program.term(right);
            let inside = program.elementary(Multiply, width, share);
            program.elementary(Add, low, inside)
        }
    }
}

/// log x_k = z_k − log(1 + Σ e^z), with the largest exponent taken out as far as one pair of
/// numbers at a time allows: log(e^a + e^b) = a + log(1 + e^(b − a)) = a − log logistic(a − b).
fn simplex(program: &mut Program, mut z: Vec<f64>) -> Value {
    use Elementary::{Exp, LogLogistic, Subtract};
    z.push(0.0);
    let mut total = *z.last().expect("just pushed");
    for z in &z[..z.len() - 1] {
        let gap = program.elementary(Subtract, total, *z);
        let share = program.elementary(LogLogistic, gap, 0.0);
        total = program.elementary(Subtract, total, share);
    }
    let mut x = Vec::with_capacity(z.len());
    for z in z {
        let log_x = program.elementary(Subtract, z, total);
        program.term(log_x);
        x.push(program.elementary(Exp, log_x, 0.0));
    }
    Value::vector(x)
}

fn positive_definite(program: &mut Program, z: &[f64], size: usize) -> Value {
    use Elementary::{Exp, Multiply};
    let mut lower = vec![0.0; size * size];
    let mut k = 0;
    for i in 0..size {
        for j in 0..=i {
            lower[i * size + j] = if i == j {
                let jacobian = program.elementary(Multiply, (size + 1 - i) as f64, z[k]);
                program.term(jacobian);
                program.elementary(Exp, z[k], 0.0)
            } else {
                z[k]
            };
            k += 1;
        }
    }
    let mut x = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..=i {
            let total = entry_of_product(program, &lower, size, (i, j));
            x[i * size + j] = total;
            x[j * size + i] = total;
        }
    }
    Value::matrix(Matrix::new(size, size, x))
}

/// The entry of L L' at (i, j), j not above i.
fn entry_of_product(
    program: &mut Program,
    lower: &[f64],
    size: usize,
    (i, j): (usize, usize),
) -> f64 {
    use Elementary::{Add, Multiply};
    let mut total = program.elementary(Multiply, lower[i * size], lower[j * size]);
    for k in 1..=j {
        let product = program.elementary(Multiply, lower[i * size + k], lower[j * size + k]);
        total = program.elementary(Add, total, product);
    }
    total
}

fn ordered(program: &mut Program, mut z: Vec<f64>, low: f64) -> Value {
    use Elementary::{Add, Exp};
    let mut before = if low.is_finite() { Some(low) } else { None };
    for x in &mut z {
        if let Some(before) = before {
            program.term(*x);
            let gap = program.elementary(Exp, *x, 0.0);
            *x = if before == 0.0 { gap } else { program.elementary(Add, before, gap) };
        }
        before = Some(*x);
    }
    Value::vector(z)
}

/// A factor of a correlation matrix, and the logarithms of its diagonal.
struct CorrelationFactor {
    entries: Vec<f64>,
    log_diagonal: Vec<f64>,
}

/// With u = 2z, tanh z = 2 logistic(u) − 1 and log sqrt(1 − tanh² z) = log 2 + (log logistic(u) + log logistic(−u)) / 2.
fn correlation_factor(program: &mut Program, z: &[f64], size: usize) -> CorrelationFactor {
    use Elementary::{Add, Exp, LogLogistic, Logistic, Multiply, Negate, Subtract};
    let mut entries = vec![0.0; size * size];
    let mut log_diagonal = vec![0.0; size];
    entries[0] = 1.0;
    let mut z = z.iter();
    for i in 1..size {
        let (mut log_w, mut w) = (0.0, 1.0);
        for j in 0..i {
            let z = *z.next().expect("a coordinate for each entry below the diagonal");
            let u = program.elementary(Multiply, 2.0, z);
            let minus = program.elementary(Negate, u, 0.0);
            let share = program.elementary(Logistic, u, 0.0);
            let twice = program.elementary(Multiply, 2.0, share);
            let partial = program.elementary(Subtract, twice, 1.0);
            let right = program.elementary(LogLogistic, u, 0.0);
            let left = program.elementary(LogLogistic, minus, 0.0);
            let both = program.elementary(Add, right, left);
            let half = program.elementary(Multiply, 0.5, both);
            let log_rest = program.elementary(Add, half, math::LN_2);
            entries[i * size + j] =
                if j == 0 { partial } else { program.elementary(Multiply, w, partial) };
            // log w + 2 log of the rest
            let slope = program.elementary(Multiply, 2.0, log_rest);
            program.term(slope);
            if j > 0 {
                program.term(log_w);
            }
            log_w = if j == 0 { log_rest } else { program.elementary(Add, log_w, log_rest) };
            w = program.elementary(Exp, log_w, 0.0);
        }
        (entries[i * size + i], log_diagonal[i]) = (w, log_w);
    }
    CorrelationFactor { entries, log_diagonal }
}

fn correlation(program: &mut Program, z: &[f64], size: usize) -> Value {
    let CorrelationFactor { entries: lower, log_diagonal } = correlation_factor(program, z, size);
    let mut x = vec![1.0; size * size];
    for i in 1..size {
        if i + 1 < size {
            let weight = (size - 1 - i) as f64;
            let jacobian = program.elementary(Elementary::Multiply, weight, log_diagonal[i]);
            program.term(jacobian);
        }
        for j in 0..i {
            let total = entry_of_product(program, &lower, size, (i, j));
            x[i * size + j] = total;
            x[j * size + i] = total;
        }
    }
    Value::matrix(Matrix::new(size, size, x))
}
