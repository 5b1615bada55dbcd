//! The hot loops over lanes, compiled once more for processors with wide registers and chosen at
//! run time. The order of every sum is fixed: the numbers are the same on every machine.

use pulp::{Arch, Simd, WithSimd};
use smidgen_prob::smooth::Elementary;
use smidgen_value::Reals;

use super::cells::Pick;

mod densities;
mod elementary;
mod products;
mod ratios;
mod student_t;
mod sums;

pub(crate) use candidates::Summed;
pub(crate) use products::{SUMS, SideBySide, TOGETHER};
pub(crate) use sums::Sum;

#[derive(Clone, Copy)]
pub(crate) struct Wide(Arch);

impl Default for Wide {
    fn default() -> Wide {
        Wide(Arch::new())
    }
}

/// Runs one of the loops below with the widest registers there are. A closure would be compiled on
/// its own, for the smallest processor; a call that is inlined for certain is compiled for each.
macro_rules! widely {
    ($arch:expr, $simd:ident, { $($name:ident: $kind:ty),* } -> $result:ty, $body:expr) => {{
        struct Loop<'a> { $($name: $kind,)* all: std::marker::PhantomData<&'a ()> }
        impl<'a> WithSimd for Loop<'a> {
            type Output = $result;
            #[inline(always)]
            fn with_simd<S: Simd>(self, $simd: S) -> $result {
                let Loop { $($name,)* .. } = self;
                $body
            }
        }
        $arch.dispatch(Loop { $($name,)* all: std::marker::PhantomData })
    }};
}

mod candidates;
mod curves;
pub(crate) mod lanes;

impl Wide {
    /// out_l = Σ_k w_k x_kl: entry k of lane l at k·stride + l.
    pub(crate) fn linear(self, weights: &[f64], data: &[f64], stride: usize, out: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { weights: &'a [f64], data: &'a [f64], stride: usize, out: &'a mut [f64] } -> (),
            products::linear(weights, data, stride, out)
        );
    }

    /// out_l = Σ_k w_k x_lk for rows whose cells stand side by side, [`TOGETHER`] at a time.
    pub(crate) fn linear_together(self, weights: &[f64], data: &[SideBySide], out: &mut [f64]) {
        widely!(
            self.0,
            simd,
            { weights: &'a [f64], data: &'a [SideBySide], out: &'a mut [f64] } -> (),
            products::linear_together(simd, weights, data, out)
        );
    }

    /// slopes_k += Σ_l out_slope_l x_kl
    pub(crate) fn pull_linear(
        self,
        out_slope: &[f64],
        data: &[f64],
        stride: usize,
        slopes: &mut [f64],
    ) {
        widely!(
            self.0,
            simd,
            { out_slope: &'a [f64], data: &'a [f64], stride: usize, slopes: &'a mut [f64] } -> (),
            products::pull_linear(simd, out_slope, data, stride, slopes)
        );
    }

    /// out_l = Σ_k w_k x_lk for the vectors of these rows.
    pub(crate) fn linear_rows(
        self,
        weights: &[f64],
        rows: Reals<'_>,
        pick: Pick<'_>,
        out: &mut [f64],
    ) {
        widely!(
            self.0,
            simd,
            { weights: &'a [f64], rows: Reals<'a>, pick: Pick<'a>, out: &'a mut [f64] } -> (),
            products::linear_rows(simd, [weights], rows, pick, [out])
        );
    }

    /// The same with two vectors of weights, those before and after a move.
    pub(crate) fn linear_rows_on_both_sides(
        self,
        weights: [&[f64]; 2],
        rows: Reals<'_>,
        pick: Pick<'_>,
        out: [&mut [f64]; 2],
    ) {
        widely!(
            self.0,
            simd,
            { weights: [&'a [f64]; 2], rows: Reals<'a>, pick: Pick<'a>, out: [&'a mut [f64]; 2] } -> (),
            products::linear_rows(simd, weights, rows, pick, out)
        );
    }

    /// slopes_k += Σ_l out_slope_l x_lk for the vectors of these rows.
    pub(crate) fn pull_rows(
        self,
        out_slope: &[f64],
        rows: Reals<'_>,
        pick: Pick<'_>,
        slopes: &mut [f64],
    ) {
        widely!(
            self.0,
            _simd,
            { out_slope: &'a [f64], rows: Reals<'a>, pick: Pick<'a>, slopes: &'a mut [f64] } -> (),
            products::pull_rows(out_slope, rows, pick, slopes)
        );
    }

    /// out_l = f(a_l, b_l)
    pub(crate) fn elementary(self, f: Elementary, a: &[f64], b: &[f64], out: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { f: Elementary, a: &'a [f64], b: &'a [f64], out: &'a mut [f64] } -> (),
            f.value(a, b, out)
        );
    }

    /// The same before and after a move.
    pub(crate) fn elementary_on_both_sides(
        self,
        f: Elementary,
        a: [&[f64]; 2],
        b: [&[f64]; 2],
        out: [&mut [f64]; 2],
    ) {
        widely!(
            self.0,
            _simd,
            { f: Elementary, a: [&'a [f64]; 2], b: [&'a [f64]; 2], out: [&'a mut [f64]; 2] } -> (),
            {
                for ((a, b), out) in a.into_iter().zip(b).zip(out) {
                    f.value(a, b, out);
                }
            }
        );
    }

    /// Whether some are no numbers; counted to the end, without branches.
    pub(crate) fn holds_nan(self, xs: &[f64]) -> bool {
        widely!(
            self.0,
            _simd,
            { xs: &'a [f64] } -> bool,
            xs.iter().map(|x| u64::from(x.is_nan())).sum::<u64>() > 0
        )
    }

    /// Copies numbers. Whether all of them are finite.
    pub(crate) fn copy_finite(self, from: &[f64], to: &mut [f64]) -> bool {
        widely!(
            self.0,
            _simd,
            { from: &'a [f64], to: &'a mut [f64] } -> bool,
            ratios::copy_finite(from, to)
        )
    }

    /// Adds the slopes of the first argument, given both, the results and their slopes.
    pub(crate) fn pull_first(self, f: Elementary, given: [&[f64]; 4], slope: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { f: Elementary, given: [&'a [f64]; 4], slope: &'a mut [f64] } -> (),
            f.pull_first(given[0], given[1], given[2], given[3], slope)
        );
    }

    /// The same for the second argument.
    pub(crate) fn pull_second(self, f: Elementary, given: [&[f64]; 4], slope: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { f: Elementary, given: [&'a [f64]; 4], slope: &'a mut [f64] } -> (),
            f.pull_second(given[0], given[1], given[2], given[3], slope)
        );
    }

    /// out_l += x_l
    pub(crate) fn add(self, xs: &[f64], out: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { xs: &'a [f64], out: &'a mut [f64] } -> (),
            out.iter_mut().zip(xs).for_each(|(out, x)| *out += x)
        );
    }

    /// out_l += a_l b_l
    pub(crate) fn multiply_add(self, a: &[f64], b: &[f64], out: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { a: &'a [f64], b: &'a [f64], out: &'a mut [f64] } -> (),
            products::multiply_add(a, b, out)
        );
    }

    /// Σ_l x_l
    pub(crate) fn sum(self, xs: &[f64]) -> f64 {
        widely!(self.0, simd, { xs: &'a [f64] } -> f64, products::sum(simd, xs))
    }

    /// log p of coins x with log odds η, and its slope in η.
    pub(crate) fn coins(self, x: &[f64], eta: &[f64], out: &mut [f64], slope: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { x: &'a [f64], eta: &'a [f64], out: &'a mut [f64], slope: &'a mut [f64] } -> (),
            densities::coins(x, eta, out, slope)
        );
    }

    /// The same without the slope.
    pub(crate) fn log_coins(self, x: &[f64], eta: &[f64], out: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { x: &'a [f64], eta: &'a [f64], out: &'a mut [f64] } -> (),
            densities::log_coins(x, eta, out)
        );
    }

    /// Adds log p of coins x with log odds η to a sum.
    pub(crate) fn add_coins(self, x: &[f64], eta: &[f64], sum: &mut Sum) {
        widely!(
            self.0,
            simd,
            { x: &'a [f64], eta: &'a [f64], sum: &'a mut Sum } -> (),
            sums::coins(simd, x, eta, sum)
        );
    }

    /// Adds log p of normal x to a sum, if all have the same sd. Whether they have.
    pub(crate) fn add_normals(self, [x, mean, sd]: [&[f64]; 3], sum: &mut Sum) -> bool {
        widely!(
            self.0,
            _simd,
            { x: &'a [f64], mean: &'a [f64], sd: &'a [f64], sum: &'a mut Sum } -> bool,
            match sums::one_sd(sd) {
                Some(sd) => { sums::normals(x, mean, sd, sum); true }
                None => false,
            }
        )
    }

    /// Adds numbers to a sum.
    pub(crate) fn add_to(self, xs: &[f64], sum: &mut Sum) {
        widely!(self.0, simd, { xs: &'a [f64], sum: &'a mut Sum } -> (), sum.add(simd, xs));
    }

    /// Adds log p after a move minus log p before it of coins, given on both sides.
    pub(crate) fn coin_ratios(self, x: [&[f64]; 2], eta: [&[f64]; 2], out: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { x: [&'a [f64]; 2], eta: [&'a [f64]; 2], out: &'a mut [f64] } -> (),
            ratios::coins(x, eta, out)
        );
    }

    /// The same of normal x, if all have the same sd on each side. Whether they have.
    pub(crate) fn normal_ratios(self, [x, mean, sd]: [[&[f64]; 2]; 3], out: &mut [f64]) -> bool {
        widely!(
            self.0,
            _simd,
            { x: [&'a [f64]; 2], mean: [&'a [f64]; 2], sd: [&'a [f64]; 2], out: &'a mut [f64] } -> bool,
            ratios::normals(x, mean, sd, out)
        )
    }

    /// The same of normal x given the logarithms of the sds, if none is extreme. Whether that is so.
    pub(crate) fn normal_ratios_by_log(
        self,
        [x, mean, log_sd]: [[&[f64]; 2]; 3],
        out: &mut [f64],
    ) -> bool {
        widely!(
            self.0,
            _simd,
            { x: [&'a [f64]; 2], mean: [&'a [f64]; 2], log_sd: [&'a [f64]; 2], out: &'a mut [f64] } -> bool,
            ratios::normals_by_log(x, mean, log_sd, out)
        )
    }

    /// log p of normal x, given means and sds.
    pub(crate) fn log_normals(self, arguments: [&[f64]; 3], out: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { arguments: [&'a [f64]; 3], out: &'a mut [f64] } -> (),
            densities::log_normals(arguments, out)
        );
    }

    /// The same given the logarithms of the sds.
    pub(crate) fn log_normals_by_log(self, arguments: [&[f64]; 3], out: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { arguments: [&'a [f64]; 3], out: &'a mut [f64] } -> (),
            densities::log_normals_by_log(arguments, out)
        );
    }

    /// log p of counts, given the logarithms of the rates.
    pub(crate) fn log_poissons_by_log(self, arguments: [&[f64]; 2], out: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { arguments: [&'a [f64]; 2], out: &'a mut [f64] } -> (),
            densities::log_poissons_by_log(arguments, out)
        );
    }

    /// log p of normal x, given the logarithms of the sds, with the slopes.
    pub(crate) fn normals_by_log(
        self,
        arguments: [&[f64]; 3],
        out: &mut [f64],
        slopes: [&mut [f64]; 3],
    ) {
        widely!(
            self.0,
            _simd,
            { arguments: [&'a [f64]; 3], out: &'a mut [f64], slopes: [&'a mut [f64]; 3] } -> (),
            densities::normals_by_log(arguments, out, slopes)
        );
    }

    /// log p of normal x. The slopes in x, mean and sd stand one after the other.
    pub(crate) fn normals(self, arguments: [&[f64]; 3], out: &mut [f64], slopes: [&mut [f64]; 3]) {
        widely!(
            self.0,
            _simd,
            { arguments: [&'a [f64]; 3], out: &'a mut [f64], slopes: [&'a mut [f64]; 3] } -> (),
            densities::normals(arguments, out, slopes)
        );
    }

    /// out_l += a_l − b_l log(1 + c_l |y_l|²), L_l y_l = x − m_l, with one field of `numbers` for each
    /// number of [`Statistics::student`](smidgen_prob::Statistics::student). `spare` has a register for each number of x;
    /// |y_l|² is left in the first.
    pub(crate) fn predictives(
        self,
        x: &[f64],
        numbers: &[f64],
        stride: usize,
        spare: &mut [f64],
        out: &mut [f64],
    ) {
        widely!(
            self.0,
            simd,
            { x: &'a [f64], numbers: &'a [f64], stride: usize, spare: &'a mut [f64], out: &'a mut [f64] } -> (),
            densities::predictives(simd, x, numbers, stride, spare, out)
        );
    }

    /// Log densities of Student's t by the logarithm of the scale, without what hangs on the degrees of freedom alone.
    pub(crate) fn log_students(self, x: &[f64], arguments: [&[f64]; 3], out: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { x: &'a [f64], arguments: [&'a [f64]; 3], out: &'a mut [f64] } -> (),
            student_t::log_students(x, arguments, out)
        );
    }

    /// The same with the slopes in x, the degrees of freedom, the location and the logarithm of the scale.
    pub(crate) fn students(
        self,
        x: &[f64],
        arguments: [&[f64]; 3],
        out: &mut [f64],
        slopes: [&mut [f64]; 4],
    ) {
        widely!(
            self.0,
            _simd,
            { x: &'a [f64], arguments: [&'a [f64]; 3], out: &'a mut [f64], slopes: [&'a mut [f64]; 4] } -> (),
            student_t::students(x, arguments, out, slopes)
        );
    }

    /// x_l becomes e^(x_l − largest), for numbers of which none is above the largest; that of an infinite
    /// largest one is 1.
    pub(crate) fn shares(self, largest: f64, xs: &mut [f64]) {
        widely!(
            self.0,
            _simd,
            { largest: f64, xs: &'a mut [f64] } -> (),
            densities::shares(largest, xs)
        );
    }
}
