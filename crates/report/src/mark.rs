//! What a plot is made of: lines, bands, bars, points and reference lines, given in the numbers of
//! the data and drawn through the scales of two axes.
//!
//! What has no place on an axis (NaN, infinities, zero on a logarithmic one) is left out, and lines
//! have a gap there. The end of an interval that lies beyond is drawn at the edge.

use crate::density::Bin;
use crate::scale::Scale;
use crate::svg::{Path, coordinate, escape};

/// The colours of the style, safe for colour-blind eyes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    #[default]
    First,
    Second,
    Third,
    Fourth,
    Fifth,
    Sixth,
    Neutral,
}

impl Colour {
    /// The colours of series that are counted from 0, such as chains; from the seventh on, they
    /// come again.
    pub fn nth(k: usize) -> Colour {
        use Colour::{Fifth, First, Fourth, Second, Sixth, Third};
        [First, Second, Third, Fourth, Fifth, Sixth][k % 6]
    }

    pub(crate) fn class(self) -> &'static str {
        match self {
            Colour::First => "c1",
            Colour::Second => "c2",
            Colour::Third => "c3",
            Colour::Fourth => "c4",
            Colour::Fifth => "c5",
            Colour::Sixth => "c6",
            Colour::Neutral => "c0",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    #[default]
    Disc,
    Square,
    /// Hollow, so that it can lie over another point.
    Diamond,
    /// Hollow.
    Ring,
    Triangle,
    Cross,
}

/// A point, with intervals if there are any.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub x_interval: Option<(f64, f64)>,
    pub y_interval: Option<(f64, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    Line(Vec<(f64, f64)>),
    Dashed(Vec<(f64, f64)>),
    Dotted(Vec<(f64, f64)>),
    /// A staircase: each height holds up to the next point.
    Steps(Vec<(f64, f64)>),
    /// A line that is one of many.
    Faint(Vec<(f64, f64)>),
    /// x, lower and upper edge.
    Band(Vec<(f64, f64, f64)>),
    /// Bars of any direction: the interval on each axis.
    Boxes(Vec<((f64, f64), (f64, f64))>),
    Points(Shape, Vec<Point>),
    /// A cloud of many small points; where they overlap, it is darker.
    Dots(Vec<(f64, f64)>),
    /// Words that begin a little to the right of a point.
    Words(Vec<(f64, f64, String)>),
    /// Reference lines: they do not stretch the axes.
    Vertical(f64),
    Horizontal(f64),
    Diagonal,
}

impl Mark {
    /// The bars of a histogram, of area 1 together.
    pub fn histogram(bins: &[Bin]) -> Mark {
        let all = bins.iter().map(|bin| bin.count).sum::<usize>().max(1) as f64;
        let height = |bin: &Bin| bin.count as f64 / (all * (bin.high - bin.low));
        Mark::Boxes(bins.iter().map(|bin| ((bin.low, bin.high), (0.0, height(bin)))).collect())
    }
}

/// The numbers that the axes must show.
pub(crate) fn corners(mark: &Mark) -> Vec<(f64, f64)> {
    match mark {
        Mark::Line(points)
        | Mark::Dashed(points)
        | Mark::Dotted(points)
        | Mark::Steps(points)
        | Mark::Dots(points)
        | Mark::Faint(points) => points.clone(),
        Mark::Words(words) => words.iter().map(|&(x, y, _)| (x, y)).collect(),
        Mark::Band(points) => {
            points.iter().flat_map(|&(x, low, high)| [(x, low), (x, high)]).collect()
        }
        Mark::Boxes(boxes) => {
            boxes.iter().flat_map(|&((x0, x1), (y0, y1))| [(x0, y0), (x1, y1)]).collect()
        }
        Mark::Points(_, points) => {
            let corner = |p: &Point| {
                let (x0, x1) = p.x_interval.unwrap_or((p.x, p.x));
                let (y0, y1) = p.y_interval.unwrap_or((p.y, p.y));
                [(p.x, p.y), (x0, y0), (x1, y1)]
            };
            points.iter().flat_map(corner).collect()
        }
        Mark::Vertical(_) | Mark::Horizontal(_) | Mark::Diagonal => Vec::new(),
    }
}

pub(crate) fn draw(mark: &Mark, x: &Scale, y: &Scale) -> String {
    match mark {
        Mark::Line(points) => line("line", points, x, y),
        Mark::Dashed(points) => line("line dashed", points, x, y),
        Mark::Dotted(points) => line("line dotted", points, x, y),
        Mark::Faint(points) => line("line faint", points, x, y),
        Mark::Steps(points) => line("line", &corners_of_steps(points), x, y),
        Mark::Dots(points) => dots(points, x, y),
        Mark::Words(words) => words.iter().filter_map(|w| words_at(w, x, y)).collect(),
        Mark::Band(points) => band(points, x, y),
        Mark::Boxes(boxes) => boxes.iter().filter_map(|&(h, v)| bar(h, v, x, y)).collect(),
        Mark::Points(shape, points) => {
            points.iter().filter_map(|p| point(*shape, p, x, y)).collect()
        }
        Mark::Vertical(at) => rule(&[(*at, y.range().0), (*at, y.range().1)], x, y),
        Mark::Horizontal(at) => rule(&[(x.range().0, *at), (x.range().1, *at)], x, y),
        Mark::Diagonal => {
            let (low, high) = (x.range().0.max(y.range().0), x.range().1.min(y.range().1));
            if low < high { rule(&[(low, low), (high, high)], x, y) } else { String::new() }
        }
    }
}

fn rule(ends: &[(f64, f64)], x: &Scale, y: &Scale) -> String {
    line("rule", ends, x, y)
}

fn line(class: &str, points: &[(f64, f64)], x: &Scale, y: &Scale) -> String {
    let place = |&(px, py): &(f64, f64)| Some((x.place(px)?, y.place(py)?));
    let mut path = Path::default();
    for part in points.split(|p| place(p).is_none()) {
        for (px, py) in part.iter().filter_map(place) {
            path.line_to(px, py);
        }
        // A point between gaps is a line of no length, which has round ends.
        if let [single] = part
            && let Some((px, py)) = place(single)
        {
            path.line_to(px, py);
        }
        path.lift();
    }
    if path.is_empty() { String::new() } else { path.element(class) }
}

/// The points of a staircase and the corners between them.
fn corners_of_steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let first = points.first().copied();
    let rest = points.windows(2).flat_map(|pair| [(pair[1].0, pair[0].1), pair[1]]);
    first.into_iter().chain(rest).collect()
}

/// Lines of no length, which have round ends. A path is as dark where it crosses itself as
/// elsewhere, so neighbours go to different ones.
fn dots(points: &[(f64, f64)], x: &Scale, y: &Scale) -> String {
    const PATHS: usize = 8;
    let cloud = |k: usize| {
        let mut path = Path::default();
        for &(px, py) in points.iter().skip(k).step_by(PATHS) {
            if let (Some(px), Some(py)) = (x.place(px), y.place(py)) {
                path.line_to(px, py);
                path.line_to(px, py);
                path.lift();
            }
        }
        if path.is_empty() { String::new() } else { path.element("dots") }
    };
    (0..PATHS).map(cloud).collect()
}

fn words_at((px, py, text): &(f64, f64, String), x: &Scale, y: &Scale) -> Option<String> {
    Some(text_at(x.place(*px)? + 6.0, y.place(*py)? + 4.0, "words", text))
}

fn band(points: &[(f64, f64, f64)], x: &Scale, y: &Scale) -> String {
    let place = |&(px, low, high): &(f64, f64, f64)| {
        Some((x.place(px)?, y.place_within(low)?, y.place_within(high)?))
    };
    let mut path = Path::default();
    for part in points.split(|p| place(p).is_none()) {
        let part: Vec<_> = part.iter().filter_map(place).collect();
        for &(px, low, _) in &part {
            path.line_to(px, low);
        }
        for &(px, _, high) in part.iter().rev() {
            path.line_to(px, high);
        }
        path.close();
    }
    if path.is_empty() { String::new() } else { path.element("area") }
}

fn bar(h: (f64, f64), v: (f64, f64), x: &Scale, y: &Scale) -> Option<String> {
    let (x0, x1) = (x.place_within(h.0)?, x.place_within(h.1)?);
    let (y0, y1) = (y.place_within(v.0)?, y.place_within(v.1)?);
    Some(format!(
        "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
        coordinate(x0.min(x1)),
        coordinate(y0.min(y1)),
        coordinate((x1 - x0).abs()),
        coordinate((y1 - y0).abs())
    ))
}

fn point(shape: Shape, p: &Point, x: &Scale, y: &Scale) -> Option<String> {
    let (px, py) = (x.place(p.x)?, y.place(p.y)?);
    let mut svg = String::new();
    if let Some((low, high)) = p.x_interval
        && let (Some(low), Some(high)) = (x.place_within(low), x.place_within(high))
    {
        svg.push_str(&segment("line", (low, py), (high, py)));
    }
    if let Some((low, high)) = p.y_interval
        && let (Some(low), Some(high)) = (y.place_within(low), y.place_within(high))
    {
        svg.push_str(&segment("line", (px, low), (px, high)));
    }
    Some(svg + &shape_at(shape, px, py))
}

fn shape_at(shape: Shape, x: f64, y: f64) -> String {
    let (px, py) = (coordinate(x), coordinate(y));
    match shape {
        Shape::Disc => format!("<circle class=\"dot\" cx=\"{px}\" cy=\"{py}\" r=\"3.6\"/>"),
        Shape::Square => {
            let (left, top) = (coordinate(x - 3.5), coordinate(y - 3.5));
            format!("<rect class=\"dot\" x=\"{left}\" y=\"{top}\" width=\"7\" height=\"7\"/>")
        }
        Shape::Ring => format!("<circle class=\"hollow\" cx=\"{px}\" cy=\"{py}\" r=\"3.6\"/>"),
        Shape::Diamond => {
            polygon("hollow", x, y, &[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)])
        }
        Shape::Triangle => polygon("dot", x, y, &[(0.0, -5.0), (4.7, 3.5), (-4.7, 3.5)]),
        Shape::Cross => {
            let ends = [((-3.5, -3.5), (3.5, 3.5)), ((-3.5, 3.5), (3.5, -3.5))];
            let stroke = |(a, b): ((f64, f64), (f64, f64))| {
                segment("cross", (x + a.0, y + a.1), (x + b.0, y + b.1))
            };
            ends.into_iter().map(stroke).collect()
        }
    }
}

fn polygon(class: &str, x: f64, y: f64, corners: &[(f64, f64)]) -> String {
    let mut path = Path::default();
    for (dx, dy) in corners {
        path.line_to(x + dx, y + dy);
    }
    path.close();
    path.element(class)
}

/// What stands for a series in the legend, 20 wide.
pub(crate) fn sample(mark: &Mark, left: f64, middle: f64) -> String {
    let stroke = |class: &str| segment(class, (left, middle), (left + 20.0, middle));
    match mark {
        Mark::Line(_) => stroke("line"),
        Mark::Dashed(_) => stroke("line dashed"),
        Mark::Dotted(_) => stroke("line dotted"),
        Mark::Faint(_) | Mark::Steps(_) => stroke("line"),
        Mark::Dots(_) => shape_at(Shape::Disc, left + 10.0, middle),
        Mark::Words(_) => String::new(),
        Mark::Band(_) | Mark::Boxes(_) => format!(
            "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"16\" height=\"9\"/>",
            if matches!(mark, Mark::Band(_)) { "area" } else { "bar" },
            coordinate(left + 2.0),
            coordinate(middle - 4.5)
        ),
        Mark::Points(shape, points) => {
            let ranged = points.iter().any(|p| p.x_interval.is_some() || p.y_interval.is_some());
            let whisker = if ranged { stroke("line") } else { String::new() };
            whisker + &shape_at(*shape, left + 10.0, middle)
        }
        Mark::Vertical(_) | Mark::Horizontal(_) | Mark::Diagonal => stroke("rule"),
    }
}

pub(crate) fn segment(class: &str, from: (f64, f64), to: (f64, f64)) -> String {
    let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(coordinate);
    format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>")
}

pub(crate) fn text_at(x: f64, y: f64, class: &str, text: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<text{class} x=\"{}\" y=\"{}\">{}</text>", coordinate(x), coordinate(y), escape(text))
}
