//! A vector of reals: owned, or a view of one row of a column, so that loading N rows of
//! features copies nothing.

use std::ops::Deref;

use crate::Buffer;

#[derive(Clone, Debug)]
pub struct Vector {
    data: Buffer<f64>,
    start: usize,
    len: usize,
}

impl Vector {
    pub fn new(data: impl Into<Buffer<f64>>) -> Vector {
        let data = data.into();
        let len = data.len();
        Vector { data, start: 0, len }
    }

    /// Elements `start .. start + len` of shared data.
    ///
    /// # Panics
    /// If the range does not lie inside `data`.
    pub fn view(data: Buffer<f64>, start: usize, len: usize) -> Vector {
        assert!(start + len <= data.len(), "a view lies inside its data");
        Vector { data, start, len }
    }

    /// The shared data, if it is all of them.
    pub fn whole(&self) -> Option<&Buffer<f64>> {
        (self.start == 0 && self.len == self.data.len()).then_some(&self.data)
    }

    pub fn as_slice(&self) -> &[f64] {
        &self.data[self.start..self.start + self.len]
    }
}

impl Deref for Vector {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        self.as_slice()
    }
}

impl FromIterator<f64> for Vector {
    fn from_iter<I: IntoIterator<Item = f64>>(items: I) -> Vector {
        Vector::new(items.into_iter().collect::<Vec<_>>())
    }
}

impl PartialEq for Vector {
    fn eq(&self, other: &Vector) -> bool {
        self.as_slice() == other.as_slice()
    }
}
