//! Long vectors by their index: a curve, a path of states, the rows of a table. Median, and where the
//! middle half and nine tenths of the draws lie at each entry; of coins, the share of ones.

use smidgen_draws::Scalar;

use super::base;
use crate::density::drawable_sorted;
use crate::page::Figure;
use crate::plot::{Axis, Colour, Mark, Plot, Point, Shape};

/// Fewer entries are better read one by one, and more figures than this crowd the page.
const LEAST: usize = 8;
const MOST: usize = 6;
/// So many entries are points, more are a curve.
const POINTS: usize = 12;
const HEIGHT: f64 = 160.0;

/// The index of an entry of a vector: 3 for `w[3]`, none for `m[0,1]`.
fn index(quantity: &str) -> Option<usize> {
    quantity[base(quantity).len()..].strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// The least draw that a share p of them does not exceed.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    sorted[((p * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
}

/// A figure for each long vector among the quantities, with a name.
pub(super) fn figures(scalars: &[Scalar]) -> Vec<(String, Figure)> {
    let same = |a: &Scalar, b: &Scalar| {
        index(&a.name).is_some() && index(&b.name).is_some() && base(&a.name) == base(&b.name)
    };
    let long = scalars.chunk_by(same).filter(|entries| entries.len() >= LEAST).take(MOST);
    long.map(|entries| {
        let name = base(&entries[0].name);
        (format!("{name} by index"), figure(name, entries))
    })
    .collect()
}

fn figure(name: &str, entries: &[Scalar]) -> Figure {
    let coins =
        entries.iter().flat_map(|e| e.chains.iter().flatten()).all(|&x| x == 0.0 || x == 1.0);
    if coins { shares(name, entries) } else { bands(name, entries) }
}

fn shares(name: &str, entries: &[Scalar]) -> Figure {
    let share = |entry: &Scalar| {
        let draws = entry.chains.iter().map(Vec::len).sum::<usize>().max(1) as f64;
        entry.chains.iter().flatten().sum::<f64>() / draws
    };
    let bars = entries.iter().filter_map(|entry| {
        let x = index(&entry.name)? as f64;
        Some(((x - 0.4, x + 0.4), (0.0, share(entry))))
    });
    let y = Axis::new("").range(0.0, 1.0);
    let title = format!("{name} by index");
    let mut plot = Plot::new(&title, Axis::whole("index"), y, HEIGHT);
    plot.add(Colour::First, Mark::Boxes(bars.collect()));
    Figure::new(plot.svg(), "The share of draws that are 1.")
}

fn bands(name: &str, entries: &[Scalar]) -> Figure {
    let (mut outer, mut inner, mut middle) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        let draws = drawable_sorted(entry.chains.iter().flatten().copied());
        let Some(x) = index(&entry.name).filter(|_| !draws.is_empty()) else { continue };
        let x = x as f64;
        outer.push((x, quantile(&draws, 0.05), quantile(&draws, 0.95)));
        inner.push((x, quantile(&draws, 0.25), quantile(&draws, 0.75)));
        middle.push((x, quantile(&draws, 0.5)));
    }
    let x = Axis::whole("index");
    let mut plot = Plot::new(&format!("{name} by index"), x, Axis::new(""), HEIGHT);
    if middle.len() <= POINTS {
        let point = |(&(x, y), &(_, low, high)): (&(f64, f64), &(f64, f64, f64))| {
            let y_interval = Some((low, high));
            Point { x, y, y_interval, ..Point::default() }
        };
        let points = middle.iter().zip(&outer).map(point).collect();
        plot.add(Colour::First, Mark::Points(Shape::Disc, points));
        return Figure::new(plot.svg(), "Median and nine tenths of the draws.");
    }
    plot.add(Colour::First, Mark::Band(outer));
    plot.add(Colour::First, Mark::Band(inner));
    plot.add(Colour::First, Mark::Line(middle));
    Figure::new(plot.svg(), "Median, the middle half and nine tenths of the draws.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_vectors_are_told_from_others() {
        assert_eq!(index("w[12]"), Some(12));
        for other in ["w", "m[0,1]", "(f x)", "[3]"] {
            assert_eq!(index(other), None, "{other}");
        }
        let entry = |name: String| Scalar { name, chains: vec![vec![1.0, 2.0, 3.0]] };
        let mut scalars: Vec<Scalar> = (0..9).map(|k| entry(format!("f[{k}]"))).collect();
        scalars.push(entry("mu".to_owned()));
        scalars.extend((0..3).map(|k| entry(format!("w[{k}]"))));
        let names: Vec<String> = figures(&scalars).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["f by index"]);
    }

    #[test]
    fn quantiles_are_draws() {
        let draws: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(
            [0.0, 0.05, 0.5, 0.95, 1.0].map(|p| quantile(&draws, p)),
            [1., 1., 10., 19., 20.]
        );
    }
}
