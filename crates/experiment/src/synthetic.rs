//! Made-up data of logistic regressions: features are standard normal, a label is 1 with the
//! probability logistic(w · x), and the weights are about 1 all together.

use std::sync::Arc;

use smidgen::infer::proposer::standard_normal;
use smidgen::value::{Column, Rng, Symbol, Table, math};

/// Rows of features with a label.
#[derive(Clone, Debug)]
pub struct Logistic {
    pub features: usize,
    /// Row by row.
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}

impl Logistic {
    pub fn new(features: usize, rows: usize, seed: u64) -> Logistic {
        let mut rng = Rng::from_seed(seed);
        let scale = 1.0 / math::sqrt(features as f64 / 2.0);
        let weights: Vec<f64> = (0..features).map(|_| scale * standard_normal(&mut rng)).collect();
        let mut data = Logistic { features, x: Vec::new(), y: Vec::new() };
        data.x.reserve_exact(rows * features);
        data.y.reserve_exact(rows);
        for _ in 0..rows {
            let first = data.x.len();
            data.x.extend((0..features).map(|_| standard_normal(&mut rng)));
            let eta: f64 = weights.iter().zip(&data.x[first..]).map(|(w, x)| w * x).sum();
            data.y.push(f64::from(u8::from(rng.uniform() < math::logistic(eta))));
        }
        data
    }

    /// As a file: columns x1, x2, ... and y.
    pub fn csv(&self) -> String {
        let mut text: String = (1..=self.features).map(|j| format!("x{j},")).collect();
        text.push_str("y\n");
        for (x, y) in self.x.chunks_exact(self.features).zip(&self.y) {
            for x in x {
                text.push_str(&format!("{x:.9},"));
            }
            text.push_str(&format!("{y}\n"));
        }
        text
    }

    /// Columns `x`, of vectors, and `y`.
    pub fn into_table(self) -> Arc<Table> {
        let width = self.features;
        Arc::new(Table::new(vec![
            (Symbol::new("x"), Column::Vectors { data: self.x.into(), width }),
            (Symbol::new("y"), Column::Reals(self.y.into())),
        ]))
    }
}
