//! Pairs of quantities against each other, in blocks that are small enough: the entries of a short
//! vector, or the quantities that stand alone.

use smidgen_draws::Scalar;

use super::plots::colour;
use super::{base, constant};
use crate::number::fixed;
use crate::page::Figure;
use crate::plot::{Axis, Mark, Plot};
use crate::scale::drawable;

/// A block has no more quantities, and a page no more blocks.
pub(super) const LARGEST: usize = 5;
const MOST: usize = 3;
/// Points of one plot, about.
pub(super) const POINTS: usize = 500;

/// The blocks of these quantities (places), without those that never change.
pub(super) fn blocks(scalars: &[Scalar], places: &[usize]) -> Vec<Vec<usize>> {
    let varying = |&place: &usize| {
        let chains = &scalars[place].chains;
        constant(chains).is_none() && chains.iter().map(Vec::len).sum::<usize>() > 2
    };
    let places: Vec<usize> = places.iter().copied().filter(varying).collect();
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    if places.len() <= LARGEST {
        blocks.push(places);
    } else {
        let same = |a: &usize, b: &usize| base(&scalars[*a].name) == base(&scalars[*b].name);
        let mut alone = Vec::new();
        for block in places.chunk_by(same) {
            match block {
                [single] => alone.push(*single),
                block => blocks.push(block.to_vec()),
            }
        }
        alone.truncate(LARGEST);
        blocks.insert(0, alone);
    }
    blocks.retain(|block| (2..=LARGEST).contains(&block.len()));
    blocks.truncate(MOST);
    blocks
}

/// Every pair of a block.
pub(super) fn figures(scalars: &[Scalar], block: &[usize]) -> Vec<(String, Figure)> {
    let mut figures = Vec::new();
    for (k, &a) in block.iter().enumerate() {
        for &b in &block[k + 1..] {
            let (a, b) = (&scalars[a], &scalars[b]);
            figures.push((format!("{} and {}", a.name, b.name), figure(a, b)));
        }
    }
    figures
}

fn figure(a: &Scalar, b: &Scalar) -> Figure {
    const HEIGHT: f64 = 220.0;
    let (x, y) = (Axis::new(&a.name), Axis::new(&b.name));
    let mut plot = Plot::new("", x, y, HEIGHT).narrow();
    plot.description = format!("{} against {}", b.name, a.name);
    let all: usize = a.chains.iter().map(Vec::len).sum();
    let stride = all.div_ceil(POINTS).max(1);
    let mut pairs = Vec::new();
    for (c, (xs, ys)) in a.chains.iter().zip(&b.chains).enumerate() {
        let own = xs.iter().copied().zip(ys.iter().copied());
        let own: Vec<(f64, f64)> = own.filter(|p| drawable(p.0) && drawable(p.1)).collect();
        let shown = own.iter().copied().step_by(stride).collect();
        plot.add(colour(c, a.chains.len()), Mark::Dots(shown));
        pairs.extend(own);
    }
    let caption = format!("Correlation {}.", fixed(correlation(&pairs), 2));
    Figure { svg: plot.svg(), caption }
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let mean_x = pairs.iter().map(|p| p.0 / n).sum::<f64>();
    let mean_y = pairs.iter().map(|p| p.1 / n).sum::<f64>();
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for &(x, y) in pairs {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    xy / (xx.sqrt() * yy.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(name: &str, chain: Vec<f64>) -> Scalar {
        Scalar { name: name.to_owned(), chains: vec![chain] }
    }

    #[test]
    fn blocks_are_small() {
        let names = [
            "mu", "w[0]", "w[1]", "w[2]", "sd", "v[0]", "v[1]", "v[2]", "v[3]", "v[4]", "v[5]", "c",
        ];
        let mut scalars: Vec<Scalar> =
            names.iter().map(|name| scalar(name, vec![0.0, 1.0, 3.0])).collect();
        scalars[11].chains = vec![vec![1.0; 3]];
        let all: Vec<usize> = (0..scalars.len()).collect();
        assert_eq!(blocks(&scalars, &all), [vec![0, 4], vec![1, 2, 3]]);
        assert_eq!(blocks(&scalars, &[0, 1, 11]), [[0, 1]]);
        assert_eq!(blocks(&scalars, &[0, 11]), Vec::<Vec<usize>>::new());
        assert_eq!(figures(&scalars, &[0, 1, 4]).len(), 3);
    }

    #[test]
    fn correlations() {
        assert!((correlation(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]) - 1.0).abs() < 1e-12);
        assert!((correlation(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)])).abs() < 1e-12);
        assert!(correlation(&[]).is_nan());
    }
}
