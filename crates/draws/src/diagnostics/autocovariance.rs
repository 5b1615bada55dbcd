//! Autocovariance at every lag, gamma_t = (1/n) sum_i (x_i - mean)(x_(i+t) - mean), by the
//! Fourier transform: pad with zeros to at least 2n, take the squared modulus of the transform,
//! and transform back. O(n log n).
//!
//! The mean over chains, which is all that an effective sample size needs, is taken of the
//! squared moduli. Two chains share one complex transform: for z = x + iy,
//! |Z_k|^2 + |Z_(-k)|^2 = 2 |X_k|^2 + 2 |Y_k|^2.
//!
//! Draws that are nearly independent are asked about a few lags only. These come from the definition, O(n) each, and the
//! transform is made when a lag beyond them is asked for ([`Autocovariances`]).

use std::cell::{OnceCell, RefCell};

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

/// Lags that are found by the definition, and how many at a time.
const BY_DEFINITION: usize = 24;
const AT_A_TIME: usize = 4;

/// The autocovariances averaged over chains of equal length, each lag when it is asked for.
pub(super) struct Autocovariances<'a> {
    chains: &'a [&'a [f64]],
    /// Deviations from the mean, chain by chain.
    deviations: Vec<Vec<f64>>,
    first: RefCell<Vec<f64>>,
    all: OnceCell<Vec<f64>>,
}

impl<'a> Autocovariances<'a> {
    pub fn new(chains: &'a [&'a [f64]]) -> Autocovariances<'a> {
        let deviations = chains.iter().map(|xs| {
            let centre = mean(xs);
            xs.iter().map(|x| x - centre).collect()
        });
        Autocovariances {
            chains,
            deviations: deviations.collect(),
            first: RefCell::default(),
            all: OnceCell::new(),
        }
    }

    /// That of lag t, which is below the length of the chains.
    pub fn at(&self, t: usize) -> f64 {
        if t >= BY_DEFINITION {
            return self.all.get_or_init(|| mean_autocovariance(self.chains))[t];
        }
        let mut first = self.first.borrow_mut();
        while first.len() <= t {
            let lag = first.len();
            first.extend((lag..lag + AT_A_TIME).map(|lag| self.by_definition(lag)));
        }
        first[t]
    }

    fn by_definition(&self, lag: usize) -> f64 {
        let n = self.deviations.first().map_or(0, Vec::len);
        let of_chain = |d: &Vec<f64>| d.get(lag..).map_or(0.0, |later| product(d, later));
        let sum: f64 = self.deviations.iter().map(of_chain).sum();
        sum / (n * self.deviations.len()) as f64
    }
}

/// The sum of the products of two series as far as both go, in parts that add up beside each other.
fn product(a: &[f64], b: &[f64]) -> f64 {
    const PARTS: usize = 16;
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let mut parts = [0.0; PARTS];
    let rest = n - n % PARTS;
    for (a, b) in a.chunks_exact(PARTS).zip(b.chunks_exact(PARTS)) {
        parts.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    let rest: f64 = a[rest..].iter().zip(&b[rest..]).map(|(a, b)| a * b).sum();
    parts.iter().sum::<f64>() + rest
}

/// The autocovariance averaged over chains of equal length.
fn mean_autocovariance(chains: &[&[f64]]) -> Vec<f64> {
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

    /// Lag by lag, by the definition at first and by the transform beyond.
    #[test]
    fn lags_that_are_asked_for_agree_with_all() {
        let series = |a: u64| -> Vec<f64> {
            (0..100u64).map(|i| ((i * i * a + 3 * i) % 17) as f64 - 5.0).collect()
        };
        let chains = [series(5), series(7), series(11)];
        for n in [3, 20, 100] {
            let cut: Vec<&[f64]> = chains.iter().map(|chain| &chain[..n]).collect();
            let (all, each) = (mean_autocovariance(&cut), Autocovariances::new(&cut));
            for t in (0..n).rev() {
                assert!((all[t] - each.at(t)).abs() < 1e-12, "{n} {t}");
            }
        }
    }

    #[test]
    fn a_constant_has_none() {
        assert_eq!(autocovariance(&[0.1; 7]), [0.0; 7]);
    }
}
