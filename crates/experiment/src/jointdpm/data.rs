//! The paper's synthetic data: each point lies in one of four directions from the origin, 45°, 135°, 225° or
//! 315°. Class 1 is about 1.5 away, class 0 about 1.8 (standard deviation 0.1), and both stray 0.2 to the
//! side. Half of the points are of each class; the order is random. Who knows all this decides by the distance
//! along the direction: above or below 1.65, right with probability Φ(1.5) = 0.933.

use std::sync::Arc;

use smidgen::infer::proposer::standard_normal;
use smidgen::value::{Column, Rng, Symbol, Table, math};

/// Accuracy of the best classifier.
pub const BAYES: f64 = 0.933;

#[derive(Clone, Debug, Default)]
pub struct Points {
    pub x: Vec<[f64; 2]>,
    pub y: Vec<bool>,
}

impl Points {
    pub fn new(n: usize, rng: &mut Rng) -> Points {
        let mut points = Points { x: Vec::new(), y: (0..n).map(|i| i % 2 == 1).collect() };
        for i in (1..n).rev() {
            points.y.swap(i, rng.below(i + 1));
        }
        for &y in &points.y {
            let angle = (45 + 90 * rng.below(4)) as f64 * std::f64::consts::PI / 180.0;
            let along = if y { 1.5 } else { 1.8 } + 0.1 * standard_normal(rng);
            let aside = 0.2 * standard_normal(rng);
            let (sin, cos) = (math::sin(angle), math::cos(angle));
            points.x.push([along * cos - aside * sin, along * sin + aside * cos]);
        }
        points
    }

    /// Columns `i`, `x` (vectors) and `y`.
    pub fn table(&self) -> Arc<Table> {
        let numbers = |values: Vec<f64>| Column::Reals(values.into());
        let data: Vec<f64> = self.x.iter().flatten().copied().collect();
        Arc::new(Table::new(vec![
            (Symbol::new("i"), numbers((0..self.x.len()).map(|i| i as f64).collect())),
            (Symbol::new("x"), Column::Vectors { data: data.into(), width: 2 }),
            (Symbol::new("y"), numbers(self.y.iter().map(|&y| f64::from(y)).collect())),
        ]))
    }

    pub fn csv(&self) -> String {
        let mut text = "i,x1,x2,y\n".to_owned();
        for (i, ([a, b], y)) in self.x.iter().zip(&self.y).enumerate() {
            text += &format!("{i},{a:.6},{b:.6},{}\n", u8::from(*y));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The four moments that the published figure shows, and the accuracy of the best rule.
    #[test]
    fn points_lie_where_the_paper_has_them() {
        let points = Points::new(20_000, &mut Rng::from_seed(1));
        let turned = |x: &[f64; 2]| {
            let quarter = (x[0].abs() + x[1].abs()) / 2f64.sqrt();
            let aside = (x[0].abs() - x[1].abs()) / 2f64.sqrt();
            (quarter, aside)
        };
        for (class, radius) in [(true, 1.5), (false, 1.8)] {
            let those = points.x.iter().zip(&points.y).filter(|(_, y)| **y == class);
            let those: Vec<(f64, f64)> = those.map(|(x, _)| turned(x)).collect();
            let n = those.len() as f64;
            assert_eq!(n, 10_000.0);
            let mean = those.iter().map(|p| p.0).sum::<f64>() / n;
            let sd = (those.iter().map(|p| (p.0 - mean).powi(2)).sum::<f64>() / n).sqrt();
            let side = (those.iter().map(|p| p.1 * p.1).sum::<f64>() / n).sqrt();
            assert!((mean - radius).abs() < 0.005, "{mean}");
            assert!((sd - 0.1).abs() < 0.005 && (side - 0.2).abs() < 0.01, "{sd} {side}");
        }
        let right = points.x.iter().zip(&points.y).filter(|(x, y)| (turned(x).0 < 1.65) == **y);
        assert!((right.count() as f64 / 20_000.0 - BAYES).abs() < 0.006);
    }
}
