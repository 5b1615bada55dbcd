//! Columns of plain numbers: the fast way through elementary functions and scalar distributions.
//! Whoever meets a value that is no number, or an argument out of its domain, goes the general way.

use smidgen_prob::smooth::{self, Elementary, Smooth};
use smidgen_prob::{Function, Scalar};
use smidgen_value::{Rng, Value};

use super::compiled::Column;

/// More arguments go the general way.
const MOST_ARGUMENTS: usize = 2;

/// The arguments of one node, a row of numbers each, and its results.
#[derive(Default)]
pub(super) struct Lanes {
    args: [Vec<f64>; MOST_ARGUMENTS],
    out: Vec<f64>,
}

/// The elementary function that a procedure is for so many arguments.
pub(super) fn elementary(function: &Function, arguments: usize) -> Option<Elementary> {
    let found = match (function.spec.name, arguments) {
        ("-", 1) => Some(Elementary::Negate),
        ("/", 1) => Some(Elementary::Reciprocal),
        (name, _) => match smooth::find(name)? {
            Smooth::Elementary(elementary) | Smooth::Chain(elementary) => Some(elementary),
            Smooth::Aggregate(_) => None,
        },
    };
    found.filter(|elementary| elementary.arity() == arguments)
}

impl Lanes {
    /// False if there are too many arguments, or some are no numbers.
    #[inline]
    fn load(&mut self, columns: &[Column<'_>], particles: usize) -> bool {
        if columns.len() > MOST_ARGUMENTS {
            return false;
        }
        for (lane, column) in self.args.iter_mut().zip(columns) {
            lane.clear();
            if column.stride == 0 {
                let Value::Number(x) = column.values[0] else { return false };
                lane.resize(particles, x);
                continue;
            }
            for value in column.values {
                let Value::Number(x) = *value else { return false };
                lane.push(x);
            }
        }
        true
    }

    /// The numbers of particle i.
    #[inline]
    fn row(&self, arguments: usize, i: usize) -> [f64; MOST_ARGUMENTS] {
        let mut row = [0.0; MOST_ARGUMENTS];
        for (x, lane) in row.iter_mut().zip(&self.args[..arguments]) {
            *x = lane[i];
        }
        row
    }

    /// The values of an elementary function. False if it has to go the general way.
    #[inline]
    pub fn apply(
        &mut self,
        elementary: Elementary,
        columns: &[Column<'_>],
        out: &mut [Value],
    ) -> bool {
        if !self.load(columns, out.len()) {
            return false;
        }
        self.out.resize(out.len(), 0.0);
        let [a, b] = &self.args;
        elementary.value(a, if columns.len() > 1 { b } else { a }, &mut self.out);
        for (i, (value, x)) in out.iter_mut().zip(&self.out).enumerate() {
            *value = match elementary.link() {
                // Such a value may be more than its number.
                Some(link) => Value::linked_number(link, a[i], *x),
                None => Value::Number(*x),
            };
        }
        true
    }

    /// Draws for all but the last particle. Those whose arguments are out of the domain get none:
    /// `refused` is told. False, with nothing drawn, if it has to go the general way.
    #[inline]
    pub fn sample<E>(
        &mut self,
        scalar: Scalar,
        columns: &[Column<'_>],
        (out, rng): (&mut [Value], &mut Rng),
        mut refused: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<bool, E> {
        let (others, arguments) = (out.len() - 1, columns.len());
        if !self.load(columns, out.len()) {
            return Ok(false);
        }
        for (i, value) in out[..others].iter_mut().enumerate() {
            match (scalar.sample)(&self.row(arguments, i)[..arguments], rng) {
                Some(x) => *value = Value::Number(x),
                None => refused(i)?,
            }
        }
        Ok(true)
    }

    /// Adds log densities. False, with nothing added, if it has to go the general way.
    #[inline]
    pub fn weigh(
        &mut self,
        scalar: Scalar,
        x: &Value,
        columns: &[Column<'_>],
        log_weights: &mut [f64],
    ) -> bool {
        let (particles, arguments) = (log_weights.len(), columns.len());
        let Value::Number(x) = *x else { return false };
        if !self.load(columns, particles) {
            return false;
        }
        self.out.clear();
        for i in 0..particles {
            let log_p = (scalar.log_density)(x, &self.row(arguments, i)[..arguments]);
            match log_p {
                Some(log_p) if !log_p.is_nan() => self.out.push(log_p),
                _ => return false,
            }
        }
        for (log_weight, log_p) in log_weights.iter_mut().zip(&self.out) {
            *log_weight += log_p;
        }
        true
    }
}
