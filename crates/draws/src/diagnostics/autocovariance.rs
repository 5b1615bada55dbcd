//! Autocovariance at every lag, gamma_t = (1/n) sum_i (x_i - mean)(x_(i+t) - mean), by the
//! Fourier transform: pad with zeros to at least 2n, take the squared modulus of the transform,
//! and transform back. O(n log n).
//!
//! The mean over chains, which is all that an effective sample size needs, is taken of the
//! squared moduli. Two chains share one complex transform: for z = x + iy,
//! |Z_k|^2 + |Z_(-k)|^2 = 2 |X_k|^2 + 2 |Y_k|^2.

use smidgen_value::math;

use super::mean;

#[derive(Clone, Copy)]
struct Complex {
    re: f64,
    im: f64,
}

/// The autocovariance of one chain; entry t belongs to lag t.
pub fn autocovariance(xs: &[f64]) -> Vec<f64> {
    mean_autocovariance(&[xs])
}

/// The autocovariance averaged over chains of equal length.
pub(super) fn mean_autocovariance(chains: &[&[f64]]) -> Vec<f64> {
    let n = chains.first().map_or(0, |chain| chain.len());
    if n == 0 {
        return Vec::new();
    }
    let size = (2 * n).next_power_of_two();
    let transform = Transform::new(size);
    let mut spectrum = vec![0.0; size];
    let mut z = vec![Complex { re: 0.0, im: 0.0 }; size];
    for pair in chains.chunks(2) {
        z.fill(Complex { re: 0.0, im: 0.0 });
        let centre = mean(pair[0]);
        pair[0].iter().zip(&mut z).for_each(|(x, z)| z.re = x - centre);
        if let Some(second) = pair.get(1) {
            let centre = mean(second);
            second.iter().zip(&mut z).for_each(|(y, z)| z.im = y - centre);
        }
        transform.apply(&mut z);
        for k in 0..size {
            let (a, b) = (z[k], z[(size - k) % size]);
            spectrum[k] += 0.5 * (a.re * a.re + a.im * a.im + b.re * b.re + b.im * b.im);
        }
    }
    // The spectrum is real and even, so the transform is its own inverse up to the scale.
    spectrum.iter().zip(&mut z).for_each(|(power, z)| *z = Complex { re: *power, im: 0.0 });
    transform.apply(&mut z);
    let scale = 1.0 / (size as f64 * n as f64 * chains.len() as f64);
    z[..n].iter().map(|z| z.re * scale).collect()
}

/// The discrete Fourier transform of a fixed power of two: radix 2, in place.
struct Transform {
    /// exp(-2 pi i k / size) for k below size / 2.
    roots: Vec<Complex>,
}

impl Transform {
    fn new(size: usize) -> Transform {
        let root = |k: usize| {
            let angle = -2.0 * math::PI * (k as f64 / size as f64);
            Complex { re: math::cos(angle), im: math::sin(angle) }
        };
        Transform { roots: (0..size / 2).map(root).collect() }
    }

    fn apply(&self, z: &mut [Complex]) {
        let size = z.len();
        let shift = usize::BITS - size.trailing_zeros();
        for i in 0..size {
            let j = i.reverse_bits() >> shift;
            if i < j {
                z.swap(i, j);
            }
        }
        let mut half = 1;
        while half < size {
            let stride = size / (2 * half);
            for block in z.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                    let w = self.roots[k * stride];
                    let t =
                        Complex { re: b.re * w.re - b.im * w.im, im: b.re * w.im + b.im * w.re };
                    *b = Complex { re: a.re - t.re, im: a.im - t.im };
                    *a = Complex { re: a.re + t.re, im: a.im + t.im };
                }
            }
            half *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_definition(xs: &[f64]) -> Vec<f64> {
        let centre = mean(xs);
        let n = xs.len();
        (0..n)
            .map(|t| (0..n - t).map(|i| (xs[i] - centre) * (xs[i + t] - centre)).sum::<f64>())
            .map(|sum| sum / n as f64)
            .collect()
    }

    #[test]
    fn agrees_with_the_definition() {
        let series = |n: usize, a: u64| -> Vec<f64> {
            (0..n as u64).map(|i| ((i * i * a + 3 * i) % 17) as f64 - 5.0).collect()
        };
        for n in [1, 2, 3, 5, 8, 64, 100, 257] {
            let chains = [series(n, 5), series(n, 7), series(n, 11)];
            let each: Vec<Vec<f64>> = chains.iter().map(|xs| by_definition(xs)).collect();
            for (xs, want) in chains.iter().zip(&each) {
                let got = autocovariance(xs);
                assert_eq!(got.len(), n);
                assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12), "{n}");
            }
            let together = mean_autocovariance(&[&chains[0], &chains[1], &chains[2]]);
            for t in 0..n {
                let want = (each[0][t] + each[1][t] + each[2][t]) / 3.0;
                assert!((together[t] - want).abs() < 1e-12, "{n} {t}");
            }
        }
        assert!(autocovariance(&[]).is_empty());
    }

    #[test]
    fn a_constant_has_none() {
        assert_eq!(autocovariance(&[0.1; 7]), [0.0; 7]);
    }
}
