//! Curved steps along one number that all their forms hang on, up to a high order: every step is a truncated power series,
//!
//! a ± b, a b = Σ_k (Σ_j a_j b_{k−j}) t^k, f(a) = Σ_k f^(k)(a_0)/k! (a − a_0)^k.
//!
//! With intervals in the place of numbers, and the interval of f^(k) for f^(k)(a_0), coefficient k holds that of the series at
//! every point of an interval: what bounds of remainders are made of. The curves' ranges are wider than they are by far more
//! than the arithmetic here is wrong.

use smidgen_prob::smooth::{Curve, Interval, MOST_ORDER};

use super::Store;
use crate::program::curved::{Curved, CurvedOp, Degree, Read, named};

/// Coefficients of a series.
pub(crate) const TERMS: usize = MOST_ORDER + 1;

/// k!
pub(crate) const FACTORIAL: [f64; TERMS] = [1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0];

/// What coefficients are: numbers, or intervals of them.
pub(crate) trait Coefficient: Copy {
    fn of(x: f64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// f^(k)/k! at it, as many as there is room for; false where there are none.
    fn curve(self, curve: Curve, out: &mut [Self]) -> bool;
}

impl Coefficient for f64 {
    #[inline]
    fn of(x: f64) -> f64 {
        x
    }

    #[inline]
    fn plus(self, other: f64) -> f64 {
        self + other
    }

    #[inline]
    fn minus(self, other: f64) -> f64 {
        self - other
    }

    #[inline]
    fn times(self, other: f64) -> f64 {
        self * other
    }

    fn curve(self, curve: Curve, out: &mut [f64]) -> bool {
        curve.derivatives(self, out);
        out.iter_mut().zip(FACTORIAL).for_each(|(f, k)| *f /= k);
        true
    }
}

impl Coefficient for Interval {
    #[inline]
    fn of(x: f64) -> Interval {
        Interval::point(x)
    }

    #[inline]
    fn plus(self, other: Interval) -> Interval {
        Interval { lo: self.lo + other.lo, hi: self.hi + other.hi }
    }

    #[inline]
    fn minus(self, other: Interval) -> Interval {
        Interval { lo: self.lo - other.hi, hi: self.hi - other.lo }
    }

    #[inline]
    fn times(self, other: Interval) -> Interval {
        let ends = [self.lo * other.hi, self.hi * other.lo, self.hi * other.hi];
        ends.into_iter().fold(Interval::point(self.lo * other.lo), Interval::with)
    }

    fn curve(self, curve: Curve, out: &mut [Interval]) -> bool {
        if !self.is_finite() || !curve.ranges(self.lo, self.hi, out) {
            return false;
        }
        for (f, k) in out.iter_mut().zip(FACTORIAL) {
            *f = Interval { lo: f.lo / k, hi: f.hi / k };
        }
        true
    }
}

/// A number that hangs on a second one, as a series in that: what its parts are coefficients of is known as far as the orders in
/// both numbers together stay below the terms asked for.
#[derive(Clone, Copy)]
pub(crate) struct Wide<T, const W: usize>(pub [T; W]);

/// Orders in the second number, with the value: of derivatives, and of bounds.
pub(crate) const WIDTH: usize = 3;
pub(crate) const WIDTH_OF_BOUNDS: usize = 4;

impl<T: Coefficient, const W: usize> Wide<T, W> {
    /// C(n, i) f
    #[inline]
    fn chosen(f: T, n: usize, i: usize) -> T {
        f.times(T::of(FACTORIAL[n] / (FACTORIAL[i] * FACTORIAL[n - i])))
    }
}

impl<T: Coefficient, const W: usize> Coefficient for Wide<T, W> {
    #[inline]
    fn of(x: f64) -> Wide<T, W> {
        let mut out = [T::of(0.0); W];
        out[0] = T::of(x);
        Wide(out)
    }

    #[inline]
    fn plus(self, other: Wide<T, W>) -> Wide<T, W> {
        let mut out = self.0;
        for (out, other) in out.iter_mut().zip(other.0) {
            *out = out.plus(other);
        }
        Wide(out)
    }

    #[inline]
    fn minus(self, other: Wide<T, W>) -> Wide<T, W> {
        let mut out = self.0;
        for (out, other) in out.iter_mut().zip(other.0) {
            *out = out.minus(other);
        }
        Wide(out)
    }

    #[inline]
    fn times(self, other: Wide<T, W>) -> Wide<T, W> {
        let (Wide(a), Wide(b)) = (self, other);
        let mut out = [T::of(0.0); W];
        for (j, out) in out.iter_mut().enumerate() {
            *out = (1..=j).fold(a[0].times(b[j]), |sum, i| sum.plus(a[i].times(b[j - i])));
        }
        Wide(out)
    }

    /// f^(k)(a + step)/k! = Σ_i C(k + i, i) f^(k+i)(a)/(k + i)! stepⁱ
    fn curve(self, curve: Curve, out: &mut [Wide<T, W>]) -> bool {
        let orders = out.len();
        let zero = T::of(0.0);
        let mut f = [zero; TERMS];
        if !self.0[0].curve(curve, &mut f[..orders]) {
            return false;
        }
        let mut step = self;
        step.0[0] = zero;
        for (k, out) in out.iter_mut().enumerate() {
            let most = (W - 1).min(orders - 1 - k);
            let mut sum = Wide([zero; W]);
            for i in (0..=most).rev() {
                sum = sum.times(step);
                sum.0[0] = Wide::<T, W>::chosen(f[k + i], k + i, i);
            }
            *out = sum;
        }
        true
    }
}

/// Where the series of all steps stand.
pub(crate) struct AllSeries<T>(Vec<[T; TERMS]>);

impl<T> Default for AllSeries<T> {
    fn default() -> AllSeries<T> {
        AllSeries(Vec::new())
    }
}

/// A row's data are those of a lane of the store.
#[derive(Clone, Copy)]
pub(crate) struct Lane<'a> {
    pub curved: &'a Curved,
    pub data: &'a Store,
    pub lane: usize,
}

impl<T: Coefficient> AllSeries<T> {
    /// The first `terms` coefficients of the last step, where a form is `form(k)`: its value and its slope. None where
    /// some curve has no derivatives.
    pub(crate) fn run(
        &mut self,
        at: Lane<'_>,
        form: impl Fn(usize) -> (T, f64),
        terms: usize,
    ) -> Option<&[T]> {
        let zero = T::of(0.0);
        let AllSeries(known) = self;
        known.clear();
        let number = |register| at.data.lanes(register, at.lane + 1)[at.lane];
        for step in &at.curved.steps {
            let of = |read: Read, known: &[[T; TERMS]]| -> [T; TERMS] {
                let mut series = [zero; TERMS];
                match read {
                    Read::Data(register) => series[0] = T::of(number(register)),
                    Read::Step(step) => return known[step as usize],
                    Read::Form(k) => {
                        let (value, slope) = form(k as usize);
                        (series[0], series[1]) = (value, T::of(slope));
                    }
                }
                series
            };
            let mut out = [zero; TERMS];
            match &step.op {
                CurvedOp::Add(a, b) => {
                    let (a, b) = (of(*a, known), of(*b, known));
                    (0..terms).for_each(|k| out[k] = a[k].plus(b[k]));
                }
                CurvedOp::Subtract(a, b) => {
                    let (a, b) = (of(*a, known), of(*b, known));
                    (0..terms).for_each(|k| out[k] = a[k].minus(b[k]));
                }
                CurvedOp::Multiply(a, b) => {
                    let degrees = [a, b].map(|read| at.curved.degree_of(*read));
                    let (a, b) = (of(*a, known), of(*b, known));
                    match degrees {
                        [Degree::Constant, _] => (0..terms).for_each(|k| out[k] = a[0].times(b[k])),
                        [_, Degree::Constant] => (0..terms).for_each(|k| out[k] = a[k].times(b[0])),
                        _ => product(&a, &b, terms, &mut out),
                    }
                }
                CurvedOp::Curve(curve, a) => {
                    let degree = at.curved.degree_of(*a);
                    through(*curve, &of(*a, known), degree, terms, &mut out)?;
                }
                CurvedOp::Member { family, number: named, of: a } => {
                    let (curve, degree) = (family.member(number(*named)), at.curved.degree_of(*a));
                    through(curve, &of(*a, known), degree, terms, &mut out)?;
                }
                CurvedOp::Choose { index, options } => {
                    out = of(named(options, number(*index))?, known);
                }
            }
            known.push(out);
        }
        known.last().map(|last| &last[..terms])
    }
}

/// Σ_j a_j b_{k−j}
fn product<T: Coefficient>(a: &[T; TERMS], b: &[T; TERMS], terms: usize, out: &mut [T; TERMS]) {
    for k in 0..terms {
        out[k] = (1..=k).fold(a[0].times(b[k]), |sum, j| sum.plus(a[j].times(b[k - j])));
    }
}

/// f(a)
fn through<T: Coefficient>(
    curve: Curve,
    a: &[T; TERMS],
    degree: Degree,
    terms: usize,
    out: &mut [T; TERMS],
) -> Option<()> {
    let count = if degree == Degree::Constant { 1 } else { terms };
    let mut f = [T::of(0.0); TERMS];
    if !a[0].curve(curve, &mut f[..count]) {
        return None;
    }
    if degree != Degree::Curved {
        // (slope t)^k
        let mut power = T::of(1.0);
        for k in 0..count {
            out[k] = f[k].times(power);
            power = power.times(a[1]);
        }
        return Some(());
    }
    let mut step = *a;
    step[0] = T::of(0.0);
    out[0] = f[count - 1];
    for k in (0..count - 1).rev() {
        let before = *out;
        product(&before, &step, terms, out);
        out[0] = f[k];
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use smidgen_value::{Rng, math};

    use super::*;

    /// ln(1 + e^{sin a}) and the like, by composition and by differences.
    fn composed(x: f64, terms: usize) -> [f64; TERMS] {
        let line = [x, 0.7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let (mut sine, mut squared, mut out) = ([0.0; TERMS], [0.0; TERMS], [0.0; TERMS]);
        through(Curve::Sin, &line, Degree::Linear, terms, &mut sine).expect("analytic");
        product(&sine, &line, terms, &mut squared);
        through(Curve::LogLogistic, &squared, Degree::Curved, terms, &mut out).expect("analytic");
        out
    }

    #[test]
    fn coefficients_are_derivatives() {
        for x in [-1.3, 0.2, 2.0] {
            let found = composed(x, TERMS);
            let direct = math::log_logistic(x * math::sin(x));
            assert!((found[0] - direct).abs() < 1e-14);
            for k in 1..TERMS {
                // The next derivative from the one before: x moves by 0.7 as t moves by 1.
                let h = 1e-5;
                let [above, below] = [h, -h].map(|h| composed(x + 0.7 * h, TERMS)[k - 1]);
                let slope = (above - below) / (2.0 * h) / k as f64;
                let size = found.iter().fold(1.0, |most: f64, c| most.max(c.abs()));
                assert!((found[k] - slope).abs() < 1e-6 * size, "order {k}: {} {slope}", found[k]);
            }
        }
    }

    /// Coefficients at points of an interval lie in those of the interval; half of it does not hold them.
    #[test]
    fn intervals_hold_coefficients() {
        let mut rng = Rng::from_seed(3);
        let mut outside_of_half = 0;
        for _ in 0..300 {
            let centre = 4.0 * rng.uniform() - 2.0;
            let radius = 0.3 * rng.uniform();
            let enclose = |radius: f64| {
                let zero = Interval::point(0.0);
                let mut line = [zero; TERMS];
                line[0] = Interval { lo: centre - radius, hi: centre + radius };
                line[1] = Interval::point(0.7);
                let (mut sine, mut squared, mut out) =
                    ([zero; TERMS], [zero; TERMS], [zero; TERMS]);
                through(Curve::Sin, &line, Degree::Linear, TERMS, &mut sine).expect("analytic");
                product(&sine, &line, TERMS, &mut squared);
                through(Curve::LogLogistic, &squared, Degree::Curved, TERMS, &mut out)
                    .expect("analytic");
                out
            };
            let (whole, tiny) = (enclose(radius), enclose(0.02 * radius));
            let x = centre + radius * (2.0 * rng.uniform() - 1.0);
            let found = composed(x, TERMS);
            for k in 0..TERMS {
                assert!(whole[k].contains(found[k]), "order {k}: {:?} {}", whole[k], found[k]);
                outside_of_half += usize::from(!tiny[k].contains(found[k]));
            }
        }
        assert!(outside_of_half > 100, "{outside_of_half}");
    }
}
