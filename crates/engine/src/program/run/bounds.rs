//! Bounds of curved steps over a ball: an interval that holds the value everywhere in it, and a1, a2, a3, which the first, second
//! and third derivatives along any unit direction of the whitened coordinates nowhere exceed.
//!
//! With z = z* + L w, |w| ≤ r, a form x·z moves by n = |L'x| per unit at most, and
//!
//! | step | a1 | a2 | a3 |
//! |---|---|---|---|
//! | form | n | 0 | 0 |
//! | a ± b | a1 + b1 | a2 + b2 | a3 + b3 |
//! | a b | \|a\| b1 + \|b\| a1 | \|a\| b2 + 2κ a1 b1 + \|b\| a2 | \|a\| b3 + 3κ (a1 b2 + a2 b1) + \|b\| a3 |
//! | f(a) | F1 a1 | F2 a1² + F1 a2 | F3 a1³ + 3 F2 a1 a2 + F1 a3 |
//!
//! with \|a\| the largest size of the value and F_k that of f^(k) on its interval. κ is 1, unless a hangs on one form alone and
//! b on another: no direction follows both further than κ = (1 + cos)/2 of the way, cos that of the angle between
//! them, and the first derivatives add up like vectors. Only what the third derivative of the result needs is computed.
//!
//! Rounding is far below the widening of the curves' ranges.

use smidgen_prob::smooth::{Curve, Interval};

use super::Store;
use crate::program::curved::{Curved, CurvedOp, CurvedStep, Degree, Orders, Read, named};
use crate::program::rows::BLOCK;

/// The ball: its centre, the columns of L one after the other, and its radius.
pub(crate) struct Ball<'a> {
    pub centre: &'a [f64],
    pub columns: &'a [f64],
    pub radius: f64,
}

/// Lanes of a step: the interval, a1, a2, a3.
const FIELDS: usize = 5;

/// Where the bounds of all steps stand, lane by lane.
#[derive(Default)]
pub(crate) struct Enclosures {
    /// The interval and a1 of each form.
    forms: Vec<f64>,
    steps: Vec<f64>,
    /// L'x of each form.
    whitened: Vec<f64>,
    /// cos of the angles between forms that are multiplied.
    cosines: Vec<f64>,
    zeros: Vec<f64>,
    /// Rows that have no bound.
    is_open: Vec<bool>,
}

/// Bounds of what a step reads.
#[derive(Clone, Copy)]
struct Enclosure<'a> {
    lo: &'a [f64],
    hi: &'a [f64],
    derivatives: [&'a [f64]; 3],
}

impl Enclosure<'_> {
    fn interval(&self, l: usize) -> Interval {
        Interval { lo: self.lo[l], hi: self.hi[l] }
    }

    fn at(&self, l: usize) -> [f64; 3] {
        self.derivatives.map(|lanes| lanes[l])
    }
}

/// What a step writes.
struct Out<'a> {
    lo: &'a mut [f64],
    hi: &'a mut [f64],
    derivatives: [&'a mut [f64]; 3],
}

impl Out<'_> {
    fn put(&mut self, l: usize, interval: Interval, [a1, a2, a3]: [f64; 3]) {
        (self.lo[l], self.hi[l]) = (interval.lo, interval.hi);
        let [d1, d2, d3] = &mut self.derivatives;
        (d1[l], d2[l], d3[l]) = (a1, a2, a3);
    }
}

impl Enclosures {
    /// Gives it the size that the steps need.
    pub(crate) fn fit(&mut self, curved: &Curved, dimension: usize) {
        let grow = |lanes: &mut Vec<f64>, count: usize| {
            if lanes.len() < count * BLOCK {
                lanes.resize(count * BLOCK, 0.0);
            }
        };
        grow(&mut self.forms, 3 * curved.forms.len());
        grow(&mut self.steps, FIELDS * curved.steps.len());
        grow(&mut self.whitened, dimension * curved.forms.len());
        grow(&mut self.cosines, curved.crossed.len());
        grow(&mut self.zeros, 1);
        self.is_open.resize(BLOCK, false);
    }

    /// What is the same for all rows, in all lanes.
    pub(crate) fn begin(&mut self, curved: &Curved, data: &Store, ball: &Ball<'_>) {
        let d = ball.centre.len();
        self.is_open.fill(false);
        for k in (0..curved.forms.len()).filter(|k| curved.uniform_forms[*k]) {
            self.form(curved, k, data, ball, 1);
            spread(&mut self.forms[3 * k * BLOCK..][..3 * BLOCK]);
            spread(&mut self.whitened[k * d * BLOCK..][..d * BLOCK]);
        }
        for (pair, (a, b)) in curved.crossed.iter().enumerate() {
            if curved.uniform_forms[*a as usize] && curved.uniform_forms[*b as usize] {
                self.cosine(pair, (*a, *b), d, 1);
                spread(&mut self.cosines[pair * BLOCK..][..BLOCK]);
            }
        }
        for (k, step) in curved.steps.iter().enumerate().filter(|(_, step)| step.is_uniform) {
            self.step(curved, k, step, data, 1);
            spread(&mut self.steps[FIELDS * k * BLOCK..][..FIELDS * BLOCK]);
        }
        let is_open = self.is_open[0];
        self.is_open.fill(is_open);
    }

    /// The largest third derivative of the rows whose data are loaded; infinite where there is no bound.
    pub(crate) fn run(&mut self, curved: &Curved, data: &Store, ball: &Ball<'_>, out: &mut [f64]) {
        let (lanes, d) = (out.len(), ball.centre.len());
        let is_open = self.is_open[0];
        for k in (0..curved.forms.len()).filter(|k| !curved.uniform_forms[*k]) {
            self.form(curved, k, data, ball, lanes);
        }
        for (pair, (a, b)) in curved.crossed.iter().enumerate() {
            if !(curved.uniform_forms[*a as usize] && curved.uniform_forms[*b as usize]) {
                self.cosine(pair, (*a, *b), d, lanes);
            }
        }
        for (k, step) in curved.steps.iter().enumerate().filter(|(_, step)| !step.is_uniform) {
            self.step(curved, k, step, data, lanes);
        }
        let last = (FIELDS * (curved.steps.len() - 1) + 4) * BLOCK;
        for (l, out) in out.iter_mut().enumerate() {
            let a3 = self.steps[last + l];
            *out = if a3.is_finite() && !self.is_open[l] { a3 } else { f64::INFINITY };
        }
        self.is_open.fill(is_open);
    }

    fn form(&mut self, curved: &Curved, k: usize, data: &Store, ball: &Ball<'_>, lanes: usize) {
        let Ball { centre, columns, radius } = *ball;
        let d = centre.len();
        let form = &curved.forms[k];
        let (lo, rest) = self.forms[3 * k * BLOCK..].split_at_mut(BLOCK);
        let (hi, rest) = rest.split_at_mut(BLOCK);
        let (lo, hi, n) = (&mut lo[..lanes], &mut hi[..lanes], &mut rest[..lanes]);
        form.value(data, centre, lo);
        n.fill(0.0);
        let whitened = self.whitened[k * d * BLOCK..].chunks_exact_mut(BLOCK);
        for (j, (column, whitened)) in columns.chunks_exact(d).zip(whitened).enumerate() {
            let whitened = &mut whitened[..lanes];
            // L is 0 above its diagonal.
            form.value_from(j as u32, data, column, whitened);
            for l in 0..lanes {
                n[l] += whitened[l] * whitened[l];
            }
        }
        for l in 0..lanes {
            n[l] = n[l].sqrt();
            let (middle, reach) = (lo[l], radius * n[l]);
            (lo[l], hi[l]) = (middle - reach, middle + reach);
        }
    }

    fn cosine(&mut self, pair: usize, (a, b): (u32, u32), d: usize, lanes: usize) {
        let out = &mut self.cosines[pair * BLOCK..][..lanes];
        out.fill(0.0);
        for i in 0..d {
            let of = |form: u32| &self.whitened[(form as usize * d + i) * BLOCK..][..lanes];
            let (a, b) = (of(a), of(b));
            for l in 0..lanes {
                out[l] += a[l] * b[l];
            }
        }
        let size = |form: u32| &self.forms[(3 * form as usize + 2) * BLOCK..][..lanes];
        let (a, b) = (size(a), size(b));
        for l in 0..lanes {
            let product = a[l] * b[l];
            let cosine = if product > 0.0 { (out[l] / product).abs() } else { 0.0 };
            // A little more than rounding may have lost.
            out[l] = (cosine + 1e-9).min(1.0);
        }
    }

    fn step(
        &mut self,
        curved: &Curved,
        number: usize,
        step: &CurvedStep,
        data: &Store,
        lanes: usize,
    ) {
        let Enclosures { forms, steps, cosines, zeros, is_open, .. } = self;
        let (below, above) = steps.split_at_mut(FIELDS * number * BLOCK);
        let mut fields = above.chunks_exact_mut(BLOCK).map(|field| &mut field[..lanes]);
        let mut field = || fields.next().expect("five fields");
        let mut out = Out { lo: field(), hi: field(), derivatives: [field(), field(), field()] };
        let zero = &zeros[..lanes];
        let of = |read: Read| -> Enclosure<'_> {
            match read {
                Read::Data(register) => {
                    let x = data.lanes(register, lanes);
                    Enclosure { lo: x, hi: x, derivatives: [zero; 3] }
                }
                Read::Form(k) => {
                    let at = |field: usize| &forms[(3 * k as usize + field) * BLOCK..][..lanes];
                    Enclosure { lo: at(0), hi: at(1), derivatives: [at(2), zero, zero] }
                }
                Read::Step(k) => {
                    let at = |f: usize| &below[(FIELDS * k as usize + f) * BLOCK..][..lanes];
                    Enclosure { lo: at(0), hi: at(1), derivatives: [at(2), at(3), at(4)] }
                }
            }
        };
        let needed = step.needed;
        match &step.op {
            CurvedOp::Add(a, b) => sum(&of(*a), &of(*b), false, &mut out),
            CurvedOp::Subtract(a, b) => sum(&of(*a), &of(*b), true, &mut out),
            CurvedOp::Multiply(a, b) => {
                let crossed = curved.crossing(*a, *b);
                let cosines = crossed.map(|pair| &cosines[pair * BLOCK..][..lanes]);
                product(&of(*a), &of(*b), cosines, needed.has(0), &mut out);
            }
            CurvedOp::Curve(..) | CurvedOp::Member { .. } if step.degree == Degree::Constant => {
                constant(step, data, &of, &mut out);
            }
            CurvedOp::Curve(curve, a) => {
                let is_line = curved.degree_of(*a) == Degree::Linear;
                let (a, orders) = (of(*a), needed.most());
                let [a1, ..] = a.derivatives;
                let thirds = &mut *out.derivatives[2];
                match curve {
                    Curve::LogLogistic if is_line && needed == Orders::only(3) => {
                        data.wide.log_logistic_thirds(a.lo, a.hi, a1, thirds);
                    }
                    Curve::Exp
                        if is_line
                            && needed == Orders::only(3)
                            && data.wide.exponentials(a.hi, thirds) =>
                    {
                        thirds.iter_mut().zip(a1).for_each(|(third, a1)| *third *= a1 * a1 * a1);
                    }
                    _ => {
                        for (l, is_open) in is_open[..lanes].iter_mut().enumerate() {
                            *is_open |= !through(*curve, &a, l, orders, &mut out);
                        }
                    }
                }
            }
            CurvedOp::Member { family, number, of: a } => {
                let (a, numbers) = (of(*a), data.lanes(*number, lanes));
                for (l, number) in numbers.iter().enumerate() {
                    let curve = family.member(*number);
                    is_open[l] |= !through(curve, &a, l, needed.most(), &mut out);
                }
            }
            CurvedOp::Choose { index, options } => {
                for (l, index) in data.lanes(*index, lanes).iter().enumerate() {
                    match named(options, *index) {
                        Some(option) => {
                            let chosen = of(option);
                            out.put(l, chosen.interval(l), chosen.at(l));
                        }
                        None => is_open[l] = true,
                    }
                }
            }
        }
    }
}

/// The number of the first lane in all lanes of each field.
fn spread(fields: &mut [f64]) {
    for lanes in fields.chunks_exact_mut(BLOCK) {
        let x = lanes[0];
        lanes.fill(x);
    }
}

fn sum(a: &Enclosure<'_>, b: &Enclosure<'_>, is_difference: bool, out: &mut Out<'_>) {
    let (b_lo, b_hi, sign) = if is_difference { (b.hi, b.lo, -1.0) } else { (b.lo, b.hi, 1.0) };
    for l in 0..out.lo.len() {
        out.lo[l] = a.lo[l] + sign * b_lo[l];
        out.hi[l] = a.hi[l] + sign * b_hi[l];
    }
    for (k, out) in out.derivatives.iter_mut().enumerate() {
        let (a, b) = (a.derivatives[k], b.derivatives[k]);
        for l in 0..out.len() {
            out[l] = a[l] + b[l];
        }
    }
}

fn product(
    a: &Enclosure<'_>,
    b: &Enclosure<'_>,
    cosines: Option<&[f64]>,
    is_value_needed: bool,
    out: &mut Out<'_>,
) {
    let ([a1, a2, a3], [b1, b2, b3]) = (a.derivatives, b.derivatives);
    for l in 0..out.lo.len() {
        if is_value_needed {
            let ends = [a.lo[l] * b.lo[l], a.lo[l] * b.hi[l], a.hi[l] * b.lo[l], a.hi[l] * b.hi[l]];
            out.lo[l] = ends[0].min(ends[1]).min(ends[2].min(ends[3]));
            out.hi[l] = ends[0].max(ends[1]).max(ends[2].max(ends[3]));
        }
        let size_a = a.lo[l].abs().max(a.hi[l].abs());
        let size_b = b.lo[l].abs().max(b.hi[l].abs());
        let (p, q) = (size_a * b1[l], size_b * a1[l]);
        let cosine = cosines.map_or(1.0, |cosines| cosines[l]);
        let kappa = 0.5 * (1.0 + cosine);
        let first =
            if cosines.is_some() { (p * p + q * q + 2.0 * cosine * p * q).sqrt() } else { p + q };
        out.derivatives[0][l] = first;
        out.derivatives[1][l] = size_a * b2[l] + 2.0 * kappa * a1[l] * b1[l] + size_b * a2[l];
        out.derivatives[2][l] =
            size_a * b3[l] + 3.0 * kappa * (a1[l] * b2[l] + a2[l] * b1[l]) + size_b * a3[l];
    }
}

/// A curve of what the row has: a point, which is found only if it is needed.
fn constant<'a>(
    step: &CurvedStep,
    data: &Store,
    of: &dyn Fn(Read) -> Enclosure<'a>,
    out: &mut Out<'_>,
) {
    for l in 0..out.lo.len() {
        let value = match &step.op {
            _ if !step.needed.has(0) => 0.0,
            CurvedOp::Member { family, number, of: a } => {
                family.member(data.at(*number, l)).value(of(*a).lo[l])
            }
            CurvedOp::Curve(curve, a) => curve.value(of(*a).lo[l]),
            _ => unreachable!("asked for curves"),
        };
        out.put(l, Interval::point(value), [0.0; 3]);
    }
}

/// f of a lane, up to an order of derivatives. False if there is no bound.
fn through(curve: Curve, a: &Enclosure<'_>, l: usize, orders: usize, out: &mut Out<'_>) -> bool {
    let mut ranges = [Interval::point(0.0); 4];
    if !curve.ranges(a.lo[l], a.hi[l], &mut ranges[..=orders]) {
        return false;
    }
    let [_, f1, f2, f3] = ranges.map(Interval::magnitude);
    let [a1, a2, a3] = a.at(l);
    let second = f2 * a1 * a1 + f1 * a2;
    let third = f3 * a1 * a1 * a1 + 3.0 * f2 * a1 * a2 + f1 * a3;
    out.put(l, ranges[0], [f1 * a1, second, third]);
    true
}
