//! Functions of one or two numbers with their derivatives, over many numbers at once.

/// A function of one or two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elementary {
    Add,
}

impl Elementary {
    /// Number of arguments.
    pub fn arity(self) -> usize {
        2
    }

    /// out[i] = f(a[i], b[i]); a function of one number ignores `b`.
    pub fn value(self, a: &[f64], b: &[f64], out: &mut [f64]) {
        match self {
            Elementary::Add => {
                for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                    *out = a + b;
                }
            }
        }
    }

    /// Adds out_slope[i] * df/da at (a[i], b[i]) to a_slope[i]. `out` is what `value` gave.
    pub fn pull_first(
        self,
        _a: &[f64],
        _b: &[f64],
        _out: &[f64],
        out_slope: &[f64],
        a_slope: &mut [f64],
    ) {
        match self {
            Elementary::Add => {
                for (slope, out) in a_slope.iter_mut().zip(out_slope) {
                    *slope += out;
                }
            }
        }
    }

    /// Likewise for the second argument.
    pub fn pull_second(
        self,
        _a: &[f64],
        _b: &[f64],
        _out: &[f64],
        out_slope: &[f64],
        b_slope: &mut [f64],
    ) {
        match self {
            Elementary::Add => {
                for (slope, out) in b_slope.iter_mut().zip(out_slope) {
                    *slope += out;
                }
            }
        }
    }
}

/// Functions of one or two numbers, by name.
pub(super) fn find(_name: &str) -> Option<Elementary> {
    None
}

/// Functions of any number of numbers, by name.
pub(super) fn chain(name: &str) -> Option<Elementary> {
    match name {
        "+" => Some(Elementary::Add),
        _ => None,
    }
}
