//! A dense matrix of reals, row-major. Arithmetic on matrices lives with the procedures
//! that offer it (`prob`); this type only stores and indexes.

use std::sync::OnceLock;

#[derive(Clone, Debug)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Box<[f64]>,
    /// Its Cholesky factor, once somebody has asked: a covariance that stays the same is factored once. Entries never
    /// change, so it stays true.
    factor: OnceLock<Option<Box<Matrix>>>,
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Matrix) -> bool {
        (self.rows, self.cols, &self.data) == (other.rows, other.cols, &other.data)
    }
}

impl Matrix {
    /// # Panics
    /// If `data` does not have `rows * cols` entries.
    pub fn new(rows: usize, cols: usize, data: Vec<f64>) -> Matrix {
        assert_eq!(data.len(), rows * cols, "a matrix has rows x cols entries");
        Matrix { rows, cols, data: data.into_boxed_slice(), factor: OnceLock::new() }
    }

    pub fn from_fn(rows: usize, cols: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Matrix {
        let mut data = Vec::with_capacity(rows * cols);
        for i in 0..rows {
            for j in 0..cols {
                data.push(entry(i, j));
            }
        }
        Matrix::new(rows, cols, data)
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn is_square(&self) -> bool {
        self.rows == self.cols
    }

    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.data[i * self.cols + j]
    }

    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Its Cholesky factor, if it has one, as `compute` finds it the first time.
    pub fn factor(&self, compute: impl FnOnce(&Matrix) -> Option<Matrix>) -> Option<&Matrix> {
        self.factor.get_or_init(|| compute(self).map(Box::new)).as_deref()
    }

    /// All entries, row by row.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }
}
