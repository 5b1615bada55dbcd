//! Principal components: with X the centred training rows, the eigenvectors v_j of XᵀX/N with the
//! largest eigenvalues; the features of a row x are v_j · (x − mean). They are not divided by their
//! standard deviations. An eigenvector's sign is such that its largest entry is positive.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// What turns rows into features.
#[derive(Clone, Debug)]
pub struct Components {
    mean: DVector<f64>,
    /// One component a column.
    directions: DMatrix<f64>,
    /// Of the variance of all pixels.
    pub share: f64,
}

impl Components {
    /// The first `wanted` components of rows of so many numbers each.
    ///
    /// # Panics
    /// If there are no rows, or a row is shorter than `wanted`.
    pub fn of(rows: &[f64], width: usize, wanted: usize) -> Components {
        let count = rows.len() / width;
        assert!(
            count > 0 && wanted <= width,
            "rows to learn from, and no more components than pixels"
        );
        // A column of this matrix is a row of the data, as they lie in memory.
        let mut centred = DMatrix::from_column_slice(width, count, rows);
        let mean = centred.column_mean();
        for mut column in centred.column_iter_mut() {
            column -= &mean;
        }
        let covariance = &centred * centred.transpose() / count as f64;
        let SymmetricEigen { eigenvalues, eigenvectors } = SymmetricEigen::new(covariance);
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|&a, &b| eigenvalues[b].total_cmp(&eigenvalues[a]));
        order.truncate(wanted);
        let directions: Vec<DVector<f64>> = order
            .iter()
            .map(|&j| {
                let direction = eigenvectors.column(j).into_owned();
                let largest = direction[direction.icamax()];
                if largest < 0.0 { -direction } else { direction }
            })
            .collect();
        let kept: f64 = order.iter().map(|&j| eigenvalues[j]).sum();
        let share = kept / eigenvalues.sum();
        Components { mean, directions: DMatrix::from_columns(&directions), share }
    }

    /// The features of rows, row by row.
    pub fn features(&self, rows: &[f64]) -> Vec<f64> {
        let width = self.mean.len();
        let offset = self.directions.tr_mul(&self.mean);
        let rows = DMatrix::from_column_slice(width, rows.len() / width, rows);
        let mut features = self.directions.tr_mul(&rows);
        for mut column in features.column_iter_mut() {
            column -= &offset;
        }
        features.as_slice().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smidgen::infer::proposer::standard_normal;
    use smidgen::value::Rng;

    /// Independent coordinates of these standard deviations, turned by the given unit vectors.
    fn rows(count: usize) -> (Vec<f64>, [[f64; 3]; 3]) {
        let turned = [
            [2.0 / 3.0, 2.0 / 3.0, 1.0 / 3.0],
            [-2.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0],
            [1.0 / 3.0, -2.0 / 3.0, 2.0 / 3.0],
        ];
        let mut rng = Rng::from_seed(8);
        let mut all = Vec::new();
        for _ in 0..count {
            let z = [1.0, 5.0, 0.1].map(|sd| sd * standard_normal(&mut rng));
            all.extend((0..3).map(|i| 10.0 + (0..3).map(|j| z[j] * turned[j][i]).sum::<f64>()));
        }
        (all, turned)
    }

    #[test]
    fn known_components_are_found() {
        let (all, turned) = rows(20_000);
        let found = Components::of(&all, 3, 2);
        assert!((found.share - 26.0 / 26.01).abs() < 1e-3, "{}", found.share);
        for (j, want) in [turned[1], turned[0]].iter().enumerate() {
            let dot: f64 = found.directions.column(j).iter().zip(want).map(|(a, b)| a * b).sum();
            assert!(dot.abs() > 0.999, "{dot}");
        }
        // The largest entry is positive.
        assert!(found.directions.column(1)[0] > 0.0);
    }

    #[test]
    fn features_are_centred_and_uncorrelated() {
        let (all, _) = rows(5000);
        let found = Components::of(&all, 3, 3);
        let features = found.features(&all);
        for j in 0..3 {
            for k in 0..=j {
                let pairs = features.chunks_exact(3);
                let moment = pairs.map(|row| row[j] * row[k]).sum::<f64>() / 5000.0;
                match j == k {
                    // The standard deviations of the coordinates, descending.
                    true => assert!((moment / [25.0, 1.0, 0.01][j] - 1.0).abs() < 0.1, "{moment}"),
                    false => assert!(moment.abs() < 1e-9, "{j} {k}: {moment}"),
                }
            }
            let mean = features.iter().skip(j).step_by(3).sum::<f64>() / 5000.0;
            assert!(mean.abs() < 1e-9, "{mean}");
        }
        // New rows are shifted by the old mean.
        let one = found.features(&all[..3]);
        assert!((one[0] - features[0]).abs() < 1e-9);
    }
}
