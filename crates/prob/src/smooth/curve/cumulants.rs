//! Derivatives of log integrals: the k-th derivative of log of the integral of e^(s y) against a measure is the k-th cumulant of y
//! under the law that is proportional to e^(s y). Moments of a positive y, or moments around the mean, are sums of
//! positive numbers or nearly so, and cumulants lose few digits from there, where recursions for the derivatives lose all.

use super::ORDERS;

const BINOMIALS: [[f64; 8]; 8] = [
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [1.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [1.0, 3.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    [1.0, 4.0, 6.0, 4.0, 1.0, 0.0, 0.0, 0.0],
    [1.0, 5.0, 10.0, 10.0, 5.0, 1.0, 0.0, 0.0],
    [1.0, 6.0, 15.0, 20.0, 15.0, 6.0, 1.0, 0.0],
    [1.0, 7.0, 21.0, 35.0, 35.0, 21.0, 7.0, 1.0],
];

/// The sum over i of C(n, i) a(i) b(n - i): the n-th derivative of a product.
pub fn of_product(n: usize, a: impl Fn(usize) -> f64, b: impl Fn(usize) -> f64) -> f64 {
    (0..=n).map(|i| BINOMIALS[n][i] * a(i) * b(n - i)).sum()
}

/// Cumulants from the moments of orders 0, 1, ..., of which that of order 0 is 1; the entry of order 0 stays 0.
pub fn from_moments(moments: &[f64]) -> [f64; ORDERS] {
    // moment(n + 1) = the sum over i of C(n, i) cumulant(i + 1) moment(n - i)
    let mut cumulants = [0.0; ORDERS];
    for n in 0..moments.len().saturating_sub(1) {
        let lower = of_product(n, |i| cumulants[i + 1], |i| moments[i]);
        cumulants[n + 1] = moments[n + 1] - lower;
    }
    cumulants
}
