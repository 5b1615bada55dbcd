//! What a plot is made of: lines, bands, bars, points and reference lines, given in the numbers of
//! the data and drawn through the scales of two axes.
//!
//! What has no place on an axis (NaN, infinities, zero on a logarithmic one) is left out, and lines
//! have a gap there. The end of an interval that lies beyond is drawn at the edge.

use crate::scale::Scale;
use crate::svg::{Path, coordinate, escape};

/// The colours of the style, safe for colour-blind eyes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    #[default]
    First,
    Second,
    Third,
    Neutral,
}

impl Colour {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Colour::First => "c1",
            Colour::Second => "c2",
            Colour::Third => "c3",
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
    /// A line that is one of many.
    Faint(Vec<(f64, f64)>),
    /// x, lower and upper edge.
    Band(Vec<(f64, f64, f64)>),
    /// Bars of any direction: the interval on each axis.
    Boxes(Vec<((f64, f64), (f64, f64))>),
    Points(Shape, Vec<Point>),
    /// Reference lines: they do not stretch the axes.
    Vertical(f64),
    Horizontal(f64),
    Diagonal,
}

/// The numbers that the axes must show.
pub(crate) fn corners(mark: &Mark) -> Vec<(f64, f64)> {
    match mark {
        Mark::Line(points) | Mark::Dashed(points) | Mark::Faint(points) => points.clone(),
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
        Mark::Faint(points) => line("line faint", points, x, y),
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
        Shape::Diamond => {
            let mut path = Path::default();
            for (dx, dy) in [(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)] {
                path.line_to(x + dx, y + dy);
            }
            path.close();
            path.element("hollow")
        }
    }
}

/// What stands for a series in the legend, 20 wide.
pub(crate) fn sample(mark: &Mark, left: f64, middle: f64) -> String {
    let stroke = |class: &str| segment(class, (left, middle), (left + 20.0, middle));
    match mark {
        Mark::Line(_) => stroke("line"),
        Mark::Dashed(_) => stroke("line dashed"),
        Mark::Faint(_) => stroke("line"),
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
