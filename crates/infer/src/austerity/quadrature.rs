//! Gauss–Legendre quadrature: ∫_{−1}^{1} f ≈ Σ w_i f(x_i), exact for polynomials of degree 2n − 1.
//!
//! The nodes are the zeros of the Legendre polynomial P_n, by Newton's method from
//! cos(π (i + 3/4)/(n + 1/2)); w_i = 2 / ((1 − x_i²) P_n'(x_i)²). Costs O(n²), once.

use smidgen_value::math;

/// Nodes in ascending order and their weights.
#[derive(Clone, Debug)]
pub struct GaussLegendre {
    pub nodes: Vec<f64>,
    pub weights: Vec<f64>,
}

impl GaussLegendre {
    pub fn new(n: usize) -> GaussLegendre {
        let (mut nodes, mut weights) = (vec![0.0; n], vec![0.0; n]);
        for i in 0..n.div_ceil(2) {
            let mut x = math::cos(math::PI * (i as f64 + 0.75) / (n as f64 + 0.5));
            let mut slope = 0.0;
            for _ in 0..10 {
                let (value, derivative) = legendre(n, x);
                slope = derivative;
                x -= value / derivative;
                if (value / derivative).abs() < 1e-15 {
                    break;
                }
            }
            let weight = 2.0 / ((1.0 - x * x) * slope * slope);
            (nodes[i], weights[i]) = (-x, weight);
            (nodes[n - 1 - i], weights[n - 1 - i]) = (x, weight);
        }
        GaussLegendre { nodes, weights }
    }

    /// Nodes and weights for an integral from `low` to `high`.
    pub fn between(&self, low: f64, high: f64) -> impl Iterator<Item = (f64, f64)> {
        let (centre, half) = (0.5 * (low + high), 0.5 * (high - low));
        self.nodes.iter().zip(&self.weights).map(move |(x, w)| (centre + half * x, half * w))
    }
}

/// P_n(x) and P_n'(x).
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for k in 2..=n {
        let k = k as f64;
        (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
    }
    (value, n as f64 * (x * value - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_exact() {
        for n in [1, 2, 5, 16, 33, 200] {
            let rule = GaussLegendre::new(n);
            assert!(rule.nodes.is_sorted());
            let degree = (2 * n - 1).min(20);
            let got: f64 = rule.between(0.0, 2.0).map(|(x, w)| w * x.powi(degree as i32)).sum();
            let want = 2f64.powi(degree as i32 + 1) / (degree + 1) as f64;
            assert!((got / want - 1.0).abs() < 1e-12, "{n}: {got} {want}");
        }
    }

    #[test]
    fn smooth_functions_converge_fast() {
        let got: f64 =
            GaussLegendre::new(16).between(0.0, 1.0).map(|(x, w)| w * math::exp(x)).sum();
        assert!((got - math::expm1(1.0)).abs() < 1e-14);
    }
}
