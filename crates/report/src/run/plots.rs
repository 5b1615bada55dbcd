//! The plots of one quantity, chain by chain: trace, density, ranks, autocorrelation.
//!
//! Ranks (Vehtari et al. 2021): all draws are ranked together and the ranks of each chain counted in
//! bins. Where chains agree every bin has its share, with the binomial spread of independent draws:
//! of n draws of a chain in B equal bins, a count relative to n / B has variance (B - 1) / n.
//! Draws that are equal share their ranks evenly.

use smidgen_draws::Scalar;
use smidgen_draws::diagnostics::autocovariance;

use super::constant;
use crate::density::{density, drawable_sorted, frequencies, view};
use crate::number::{count, plural};
use crate::page::Figure;
use crate::plot::{Axis, Colour, Mark, Plot};
use crate::scale::drawable;

const HEIGHT: f64 = 120.0;
/// More chains are not told apart by colour.
pub(super) const COLOURED: usize = 6;
/// Points drawn of all chains together, and of one at least.
const TRACE: usize = 1200;
const LEAST_TRACE: usize = 60;

/// The colour of a chain.
pub(super) fn colour(chain: usize, chains: usize) -> Colour {
    if chains <= COLOURED { Colour::nth(chain) } else { Colour::Neutral }
}

/// What is plotted of a quantity, each with the word for it.
pub(super) fn all(s: &Scalar) -> Vec<(&'static str, Figure)> {
    let mut figures = vec![("trace", trace(s))];
    if constant(&s.chains).is_none() {
        figures.push(("density", densities(s)));
        figures.extend(ranks(s).map(|figure| ("ranks", figure)));
        figures.extend(autocorrelation(s).map(|figure| ("autocorrelation", figure)));
    }
    figures
}

fn left_out(s: &Scalar) -> String {
    let lost = s.chains.iter().flatten().filter(|&&x| !drawable(x)).count();
    match lost {
        0 => String::new(),
        1 => "1 draw that is not finite is left out.".to_owned(),
        lost => format!("{} that are not finite are left out.", plural(lost as u64, "draw")),
    }
}

fn trace(s: &Scalar) -> Figure {
    let longest = s.chains.iter().map(Vec::len).max().unwrap_or(0);
    let most = (TRACE / s.chains.len().max(1)).max(LEAST_TRACE);
    let stride = longest.div_ceil(most).max(1);
    let x = Axis::whole("draw").range(0.0, longest.max(1) as f64);
    let mut plot = Plot::new(&format!("trace of {}", s.name), x, Axis::new(""), HEIGHT).narrow();
    let named = (2..=COLOURED).contains(&s.chains.len());
    for (c, chain) in s.chains.iter().enumerate() {
        let points = chain.iter().enumerate().step_by(stride);
        let line = Mark::Faint(points.map(|(k, &x)| (k as f64 + 1.0, x)).collect());
        let colour = colour(c, s.chains.len());
        match named {
            true => {
                plot.named(&if c == 0 { "chain 0".to_owned() } else { c.to_string() }, colour, line)
            }
            false => plot.add(colour, line),
        };
    }
    let thinned = match stride {
        1 => String::new(),
        stride => format!("One draw of every {} is shown. ", count(stride as u64)),
    };
    Figure { svg: plot.svg(), caption: (thinned + &left_out(s)).trim().to_owned() }
}

/// All draws as an area and each chain as a line, or bars if the draws are a few whole numbers.
fn densities(s: &Scalar) -> Figure {
    const FEW: usize = 120;
    let all = drawable_sorted(s.chains.iter().flatten().copied());
    let title = format!("density of {}", s.name);
    let svg = match frequencies(&all, FEW) {
        Some(found) => bars(s, &found),
        None => curves(&title, s, &all),
    };
    Figure { svg, caption: String::new() }
}

fn curves(title: &str, s: &Scalar, all: &[f64]) -> String {
    const POINTS: usize = 121;
    let chains: Vec<Vec<f64>> =
        s.chains.iter().map(|chain| drawable_sorted(chain.iter().copied())).collect();
    let told = s.chains.len() <= COLOURED;
    let views = chains.iter().filter(|_| told).filter_map(|chain| view(chain)).chain(view(all));
    let (low, high) = views.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0.0, 1.0));
    let y = Axis::new("").from_zero().bare();
    let mut plot = Plot::new(title, Axis::new("").range(low, high), y, HEIGHT).narrow();
    let area = density(all, (low, high), POINTS);
    plot.add(Colour::Neutral, Mark::Band(area.iter().map(|&(x, y)| (x, 0.0, y)).collect()));
    if !told {
        plot.add(Colour::Neutral, Mark::Line(area));
        return plot.svg();
    }
    for (c, chain) in chains.iter().enumerate() {
        let curve = density(chain, (low, high), POINTS);
        // A chain that never moved has no density, but a place.
        let mark = match chain.first() {
            Some(&x) if curve.is_empty() => Mark::Vertical(x),
            _ => Mark::Faint(curve),
        };
        plot.add(colour(c, chains.len()), mark);
    }
    plot.svg()
}

fn bars(s: &Scalar, found: &[(f64, usize)]) -> String {
    const HALF: f64 = 0.4;
    /// More values leave no room for a bar of each chain.
    const TOLD: usize = 12;
    let title = format!("probabilities of {}", s.name);
    let (low, high) = (found.first().map_or(0.0, |f| f.0), found.last().map_or(0.0, |f| f.0));
    let x = Axis::whole("").range(low - 0.6, high + 0.6);
    let mut plot = Plot::new(&title, x, Axis::new("").from_zero(), HEIGHT).narrow();
    let told = s.chains.len() <= COLOURED && found.len() <= TOLD;
    let groups: Vec<Vec<f64>> = match told {
        true => s.chains.clone(),
        false => vec![s.chains.concat()],
    };
    let width = 2.0 * HALF / groups.len().max(1) as f64;
    for (g, group) in groups.iter().enumerate() {
        let left = g as f64 * width - HALF;
        let share = |x: f64| {
            group.iter().filter(|&&draw| draw == x).count() as f64 / group.len().max(1) as f64
        };
        let bar = |&(x, _): &(f64, usize)| ((x + left, x + left + width), (0.0, share(x)));
        let colour = if told { colour(g, groups.len()) } else { Colour::Neutral };
        plot.add(colour, Mark::Boxes(found.iter().map(bar).collect()));
    }
    plot.svg()
}

/// Counts of the ranks of each chain in bins, relative to their expectation.
fn rank_counts(chains: &[&[f64]], bins: usize) -> Vec<Vec<f64>> {
    let mut order: Vec<(f64, usize)> = Vec::new();
    for (c, chain) in chains.iter().enumerate() {
        order.extend(chain.iter().map(|&x| (x, c)));
    }
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let size = order.len() as f64 / bins as f64;
    let mut counts = vec![vec![0.0; bins]; chains.len()];
    let mut start = 0.0;
    for tied in order.chunk_by(|a, b| a.0 == b.0) {
        let end = start + tied.len() as f64;
        // How much of a draw whose rank is anywhere from start to end lies in a bin.
        let share = |bin: usize| {
            let (low, high) = (bin as f64 * size, (bin + 1) as f64 * size);
            (end.min(high) - start.max(low)).max(0.0) / (end - start)
        };
        let (first, last) = ((start / size) as usize, (end / size) as usize);
        for &(_, c) in tied {
            let reached = counts[c].iter_mut().enumerate().take(last + 1).skip(first);
            reached.for_each(|(bin, count)| *count += share(bin));
        }
        start = end;
    }
    for (count, chain) in counts.iter_mut().zip(chains) {
        let expected = chain.len() as f64 / bins as f64;
        count.iter_mut().for_each(|x| *x /= expected);
    }
    counts
}

fn ranks(s: &Scalar) -> Option<Figure> {
    let chains: Vec<&[f64]> =
        s.chains.iter().map(Vec::as_slice).filter(|chain| !chain.is_empty()).collect();
    let fewest = chains.iter().map(|chain| chain.len()).min()?;
    let bins = (fewest / 15).min(20);
    if chains.len() < 2 || bins < 4 || chains.iter().copied().flatten().any(|x| x.is_nan()) {
        return None;
    }
    let x = Axis::new("rank among all draws").range(0.0, 1.0);
    let title = format!("ranks of {}", s.name);
    let mut plot = Plot::new(&title, x, Axis::new("").from_zero(), HEIGHT).narrow();
    let spread = 2.58 * ((bins - 1) as f64 / fewest as f64).sqrt();
    let band = [0.0, 1.0].map(|x| (x, (1.0 - spread).max(0.0), 1.0 + spread));
    plot.add(Colour::Neutral, Mark::Band(band.to_vec()));
    for (c, counts) in rank_counts(&chains, bins).iter().enumerate() {
        let edge = |bin: usize| bin as f64 / bins as f64;
        let mut steps: Vec<(f64, f64)> =
            counts.iter().enumerate().map(|(bin, &y)| (edge(bin), y)).collect();
        steps.extend(counts.last().map(|&y| (1.0, y)));
        plot.add(colour(c, chains.len()), Mark::Steps(steps));
    }
    Some(Figure { svg: plot.svg(), caption: String::new() })
}

/// Of one chain, at the lags from 0.
fn correlations(chain: &[f64]) -> Option<Vec<f64>> {
    if !chain.iter().all(|&x| drawable(x)) {
        return None;
    }
    let covariances = autocovariance(chain);
    let variance = covariances.first().copied().filter(|&v| v > 0.0)?;
    Some(covariances.iter().map(|c| c / variance).collect())
}

fn autocorrelation(s: &Scalar) -> Option<Figure> {
    const LAGS: [usize; 4] = [30, 100, 300, 1000];
    const SMALL: f64 = 0.1;
    const POINTS: usize = 200;
    let chains: Vec<(usize, Vec<f64>)> = s
        .chains
        .iter()
        .enumerate()
        .filter_map(|(c, chain)| Some((c, correlations(chain)?)))
        .collect();
    let longest = chains.iter().map(|(_, r)| r.len() / 2).max().filter(|&lag| lag >= 2)?;
    let settled = |lag: usize| {
        let at: Vec<f64> = chains.iter().filter_map(|(_, r)| r.get(lag).copied()).collect();
        at.iter().sum::<f64>() < SMALL * at.len() as f64
    };
    let last = LAGS.into_iter().find(|&lag| settled(lag)).unwrap_or(LAGS[3]).min(longest);
    let title = format!("autocorrelation of {}", s.name);
    let lowest =
        chains.iter().flat_map(|(_, r)| r.iter().take(last + 1)).copied().fold(0.0, f64::min);
    let y = Axis::new("").range(lowest.max(-1.0) - 0.03, 1.03);
    let mut plot = Plot::new(&title, Axis::whole("lag"), y, HEIGHT).narrow();
    plot.add(Colour::Neutral, Mark::Horizontal(0.0));
    for (c, r) in &chains {
        let points = r.iter().take(last + 1).enumerate().step_by(last.div_ceil(POINTS).max(1));
        let line = Mark::Faint(points.map(|(lag, &r)| (lag as f64, r)).collect());
        plot.add(colour(*c, s.chains.len()), line);
    }
    Some(Figure { svg: plot.svg(), caption: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_counted() {
        let low: Vec<f64> = (0..40).map(f64::from).collect();
        let high: Vec<f64> = (40..80).map(f64::from).collect();
        let counts = rank_counts(&[&low, &high], 4);
        assert_eq!(counts, [[2.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 2.0]]);
        // All equal: every chain has its share of every bin.
        for counts in rank_counts(&[&[1.0; 30], &[1.0; 50]], 8) {
            assert!(counts.iter().all(|x| (x - 1.0).abs() < 1e-12), "{counts:?}");
        }
        // A coin that is always 1 in the first chain and half the time in the second.
        let counts = rank_counts(&[&[1.0; 4], &[0.0, 1.0, 0.0, 1.0]], 4);
        assert!((counts[0][0]).abs() < 1e-12 && (counts[0][3] - 4.0 / 3.0).abs() < 1e-12);
        assert!((counts[1][0] - 2.0).abs() < 1e-12, "{counts:?}");
    }

    #[test]
    fn correlations_of_alternating_draws() {
        let chain: Vec<f64> = (0..100).map(|k| f64::from(k % 2)).collect();
        let r = correlations(&chain).expect("it varies");
        assert!((r[0] - 1.0).abs() < 1e-12 && (r[1] + 0.99).abs() < 1e-9);
        assert_eq!(correlations(&[2.0; 9]), None);
        assert_eq!(correlations(&[2.0, f64::NAN]), None);
    }
}
