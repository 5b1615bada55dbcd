//! The plots of a comparison. The exact kernel is always the first colour (solid lines, discs), the
//! approximate one the second (dashed lines, squares), theory the third (hollow diamonds).

use super::{KernelComparison, PairComparison, QuantityComparison};
use crate::density::{density, drawable_sorted, frequencies, view};
use crate::page::Figure;
use crate::plot::{Axis, Colour, Mark, Plot, Point, Shape};
use crate::scale::drawable;

/// Bars of one row of categories reach so far from its middle.
const HALF: f64 = 0.36;

/// A kernel estimate for each run, or bars if the draws are a few whole numbers.
pub(super) fn densities(q: &QuantityComparison) -> Figure {
    let runs = [&q.exact_draws, &q.approximate_draws]
        .map(|draws| drawable_sorted(draws.iter().flatten().copied()));
    let few = [&runs[0], &runs[1]].map(|run| frequencies(run, 24));
    let svg = match few {
        [Some(exact), Some(approximate)] => bars(&q.name, &exact, &approximate),
        _ => curves(&q.name, &runs),
    };
    let all: usize =
        [&q.exact_draws, &q.approximate_draws].into_iter().flatten().map(Vec::len).sum();
    let lost = all - runs[0].len() - runs[1].len();
    let caption = match lost {
        0 => String::new(),
        1 => "1 draw that is not finite is left out.".to_owned(),
        lost => format!("{lost} draws that are not finite are left out."),
    };
    Figure { svg, caption }
}

fn curves(name: &str, runs: &[Vec<f64>; 2]) -> String {
    let views = [view(&runs[0]), view(&runs[1])];
    let seen = views.into_iter().flatten();
    let range = seen.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0.0, 1.0));
    let x = Axis::new("").range(range.0, range.1);
    let mut plot = Plot::new(name, x, Axis::new("").from_zero().bare(), 150.0);
    plot.description = format!("Posterior density of {name}, exact and approximate");
    let [exact, approximate] = [&runs[0], &runs[1]].map(|run| density(run, range, 161));
    plot.add(Colour::First, Mark::Band(exact.iter().map(|&(x, y)| (x, 0.0, y)).collect()));
    // A run that never moved has no density, but a place.
    let stuck = |run: &[f64], curve: &[(f64, f64)]| {
        run.first().copied().filter(|_| curve.is_empty()).map(Mark::Vertical)
    };
    let [no_exact, no_approximate] = [stuck(&runs[0], &exact), stuck(&runs[1], &approximate)];
    plot.named("exact", Colour::First, no_exact.unwrap_or(Mark::Line(exact)));
    let approximate = no_approximate.unwrap_or(Mark::Dashed(approximate));
    plot.named("approximate", Colour::Second, approximate);
    plot.svg()
}

fn bars(name: &str, exact: &[(f64, usize)], approximate: &[(f64, usize)]) -> String {
    let mut plot = Plot::new(name, Axis::whole(""), Axis::new("probability").from_zero(), 133.0);
    plot.description = format!("Posterior probabilities of {name}, exact and approximate");
    let boxes = |run: &[(f64, usize)], left: f64, right: f64| {
        let all = run.iter().map(|(_, count)| *count).sum::<usize>().max(1) as f64;
        let bar = |&(x, count): &(f64, usize)| ((x + left, x + right), (0.0, count as f64 / all));
        Mark::Boxes(run.iter().map(bar).collect())
    };
    plot.named("exact", Colour::First, boxes(exact, -HALF, 0.0));
    plot.named("approximate", Colour::Second, boxes(approximate, 0.0, HALF));
    plot.svg()
}

/// Points drawn of one chain.
const TRACE: usize = 200;

/// The chains of both runs, one plot below the other with the same vertical axis.
pub(super) fn traces(q: &QuantityComparison) -> Figure {
    let all = [&q.exact_draws, &q.approximate_draws];
    let values = || all.into_iter().flatten().flatten().copied().filter(|&x| drawable(x));
    let (low, high) =
        values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    let room = 0.04 * (high - low);
    let longest = all.into_iter().flatten().map(Vec::len).max().unwrap_or(0);
    let stride = longest.div_ceil(TRACE).max(1);
    let trace = |name: &str, chains: &[Vec<f64>], colour: Colour, x: Axis| {
        let x = x.range(0.0, longest.max(1) as f64);
        let mut plot = Plot::new(name, x, Axis::new("").range(low - room, high + room), 84.0);
        plot.description = format!("Draws of {} in order, {name}", q.name);
        for chain in chains {
            let points = chain.iter().enumerate().step_by(stride);
            plot.add(colour, Mark::Faint(points.map(|(k, &x)| (k as f64 + 1.0, x)).collect()));
        }
        plot.svg()
    };
    let title = format!("{}, exact", q.name);
    let exact = trace(&title, &q.exact_draws, Colour::First, Axis::whole("").bare());
    let title = format!("{}, approximate", q.name);
    let approximate = trace(&title, &q.approximate_draws, Colour::Second, Axis::whole("draw"));
    let caption = match stride {
        1 => String::new(),
        stride => format!("One draw of every {stride} is shown."),
    };
    Figure { svg: exact + &approximate, caption }
}

/// Acceptance probabilities of pairs.
pub(super) fn pairs(label: &str, k: &KernelComparison) -> Figure {
    let axis = |label: &str| Axis::new(label).range(-0.03, 1.03);
    let (x, y) = (axis("exact probability of acceptance"), axis("approximate"));
    let mut plot = Plot::new(&format!("Acceptance, {label}"), x, y, 240.0);
    plot.named("equal", Colour::Neutral, Mark::Diagonal);
    add_pairs(&mut plot, k, |_| 0.0);
    Figure::new(
        plot.svg(),
        "Each square is one move, decided many times: above the diagonal the approximate test \
         accepts it too often, below too rarely.",
    )
}

/// The same, exact probabilities subtracted.
pub(super) fn pair_errors(label: &str, k: &KernelComparison) -> Figure {
    let x = Axis::new("exact probability of acceptance").range(-0.03, 1.03);
    let y = Axis::new("approximate minus exact");
    let mut plot = Plot::new(&format!("Error of acceptance, {label}"), x, y, 240.0);
    plot.named("none", Colour::Neutral, Mark::Horizontal(0.0));
    add_pairs(&mut plot, k, |p| p.p_accept);
    Figure::new(
        plot.svg(),
        "The same moves, enlarged: too many acceptances of unlikely moves and too few of likely ones \
         make the posterior too wide; a square whose line misses its diamond contradicts the theory.",
    )
}

fn add_pairs(plot: &mut Plot, k: &KernelComparison, subtracted: fn(&PairComparison) -> f64) {
    let theory = |p: &PairComparison| Point {
        x: p.p_accept,
        y: p.predicted - subtracted(p),
        ..Point::default()
    };
    let theory = Mark::Points(Shape::Diamond, k.pairs.iter().map(theory).collect());
    plot.named("theory", Colour::Third, theory);
    let measured = |p: &PairComparison| {
        let (y, se) = (p.p_approximate - subtracted(p), p.p_approximate_se);
        let y_interval = Some((y - 2.0 * se, y + 2.0 * se));
        Point { x: p.p_accept, y, y_interval, ..Point::default() }
    };
    let measured = Mark::Points(Shape::Square, k.pairs.iter().map(measured).collect());
    plot.named("measured ± 2 se", Colour::Second, measured);
}

/// A row for each kernel.
struct Rows<'a> {
    axis: Axis,
    height: f64,
    /// Where it is, and what.
    kernels: Vec<(f64, &'a KernelComparison)>,
}

impl<'a> Rows<'a> {
    fn new(kernels: &[(String, &'a KernelComparison)]) -> Rows<'a> {
        Rows {
            axis: Axis::categories(kernels.iter().map(|(label, _)| label.clone())),
            height: 40.0 * kernels.len().max(1) as f64,
            kernels: kernels.iter().enumerate().map(|(n, (_, k))| (n as f64, *k)).collect(),
        }
    }

    /// Points a little below the middle of the rows.
    fn points(&self, shape: Shape, below: f64, of: impl Fn(&KernelComparison) -> f64) -> Mark {
        let point = |&(y, k): &(f64, &KernelComparison)| Point {
            x: of(k),
            y: y + below,
            ..Point::default()
        };
        Mark::Points(shape, self.kernels.iter().map(point).collect())
    }

    fn boxes(&self, half: f64, of: impl Fn(&KernelComparison) -> (f64, f64)) -> Mark {
        let bar = |&(y, k): &(f64, &KernelComparison)| (of(k), (y - half, y + half));
        Mark::Boxes(self.kernels.iter().map(bar).collect())
    }
}

/// How often decisions differ, beside what theory expects.
pub(super) fn disagreements(kernels: &[(String, &KernelComparison)]) -> Figure {
    let rows = Rows::new(kernels);
    let x = Axis::new("rate of wrong decisions").from_zero();
    let mut plot = Plot::new("Wrong decisions", x, rows.axis.clone(), rows.height);
    let checked = rows.kernels.iter().filter(|(_, k)| k.shadow > 0);
    let measured = checked.map(|&(y, k)| {
        let (x, low, high) = k.disagreement;
        Point { x, y: y - 0.12, x_interval: Some((low, high)), y_interval: None }
    });
    let measured = Mark::Points(Shape::Square, measured.collect());
    plot.named("measured, 95% interval", Colour::Second, measured);
    let theory = rows.points(Shape::Diamond, 0.16, |k| k.predicted_error);
    plot.named("theory", Colour::Third, theory);
    Figure::new(
        plot.svg(),
        "The closer to zero, the more the approximate test decides as the exact one; an interval \
         that misses its diamond says that the theory's assumptions fail.",
    )
}

/// How many sections a transition reads.
pub(super) fn sections(kernels: &[(String, &KernelComparison)]) -> Figure {
    let rows = Rows::new(kernels);
    let least = kernels.iter().map(|(_, k)| k.sections.p50).fold(f64::INFINITY, f64::min);
    let most = kernels.iter().map(|(_, k)| k.population).fold(0.0, f64::max);
    let label = "sections read per transition";
    let x = if most > 20.0 * least { Axis::log(label) } else { Axis::new(label).from_zero() };
    let mut plot = Plot::new("Sections", x, rows.axis.clone(), rows.height);
    let upper = rows.boxes(0.2, |k| (k.sections.p50, k.sections.p95));
    plot.named("median to 95%", Colour::Second, upper);
    plot.add(Colour::Second, rows.boxes(0.04, |k| (k.sections.p95, k.sections.max)));
    let mean = rows.points(Shape::Diamond, 0.0, |k| k.sections.mean);
    plot.named("mean", Colour::Neutral, mean);
    let exact = rows.points(Shape::Disc, 0.0, |k| k.population);
    plot.named("exact", Colour::First, exact);
    Figure::new(
        plot.svg(),
        "The bar reaches from the median to 95% of transitions, its line on to the maximum; the \
         further it stays to the left of the disc, the more is saved.",
    )
}

/// Effective draws per second of each quantity.
pub(super) fn rates(rates: &[&(String, f64, f64)]) -> Figure {
    let y = Axis::categories(rates.iter().map(|rate| rate.0.clone()));
    let x = Axis::new("effective draws per second").from_zero();
    let mut plot = Plot::new("Speed", x, y, 30.0 * rates.len().max(1) as f64);
    plot.description = "Effective draws per second, exact and approximate".to_owned();
    let bars = |above: f64, below: f64, of: &dyn Fn(&(String, f64, f64)) -> f64| {
        let bar = |(k, rate): (usize, &&(String, f64, f64))| {
            ((0.0, of(rate)), (k as f64 + above, k as f64 + below))
        };
        Mark::Boxes(rates.iter().enumerate().map(bar).collect())
    };
    plot.named("exact", Colour::First, bars(-HALF, 0.0, &|rate| rate.1));
    plot.named("approximate", Colour::Second, bars(0.0, HALF, &|rate| rate.2));
    Figure::new(
        plot.svg(),
        "Longer is better; where the approximate bar is the shorter one, the approximation costs \
         more than it saves.",
    )
}
