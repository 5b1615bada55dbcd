//! Plots as SVG: two axes and a few kinds of marks, in the numbers of the data.
//!
//! A plot is narrow (about the width of a phone) and stretches with its container, so that its text
//! is readable everywhere; wide pages put plots side by side. Colours come from the page's style
//! (`style.css`), which knows light, dark and paper. Series differ in dash or shape as well as in
//! colour. The label of the vertical axis stands above it, where it can be read.
//!
//! Marks are clipped to the plot; what has no place on it (NaN, infinities, zero on a logarithmic
//! axis) is left out, and lines have a gap there.

use crate::mark::{corners, draw, sample, segment, text_at};
use crate::picture::standalone;
use crate::scale::{Kind, Scale, Tick, drawable};
use crate::svg::{coordinate, escape, fit, text_width};

pub use crate::mark::{Colour, Mark, Point, Shape};

#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the legend says; a series without a name is not in it.
    pub name: Option<String>,
    pub colour: Colour,
    pub mark: Mark,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    pub label: String,
    pub kind: Kind,
    /// Instead of the range of the data.
    pub range: Option<(f64, f64)>,
    /// The axis starts at 0 (or ends there), with no room beyond.
    pub from_zero: bool,
    /// No numbers on it.
    pub bare: bool,
}

impl Axis {
    pub fn new(label: &str) -> Axis {
        Axis { label: label.to_owned(), ..Axis::default() }
    }

    pub fn log(label: &str) -> Axis {
        Axis { kind: Kind::Log, ..Axis::new(label) }
    }

    pub fn categories(names: impl IntoIterator<Item = String>) -> Axis {
        Axis { kind: Kind::Categories(names.into_iter().collect()), ..Axis::default() }
    }

    /// For numbers that are whole.
    pub fn whole(label: &str) -> Axis {
        Axis { kind: Kind::Whole, ..Axis::new(label) }
    }

    pub fn from_zero(self) -> Axis {
        Axis { from_zero: true, ..self }
    }

    pub fn bare(self) -> Axis {
        Axis { bare: true, ..self }
    }

    pub fn range(self, low: f64, high: f64) -> Axis {
        Axis { range: Some((low, high)), ..self }
    }

    /// The range to show: the given one, or that of the data with a little room.
    fn shown(&self, data: impl Iterator<Item = f64>) -> (f64, f64) {
        if let Some(range) = self.range {
            return range;
        }
        let log = self.kind == Kind::Log;
        let data = data.filter(|&x| drawable(x) && (!log || x > 0.0));
        let (low, high) = data
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        if low > high || log {
            return (low / 1.15, high * 1.15);
        }
        let room = 0.04 * (high - low);
        match self.from_zero {
            true if low >= 0.0 => (0.0, if high > 0.0 { high + room } else { 1.0 }),
            true if high <= 0.0 => (low - room, 0.0),
            _ => (low - room, high + room),
        }
    }
}

/// Axes, marks in their order (later ones on top), and the height of the plotted region.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// Shown above the plot.
    pub title: String,
    /// For those who do not see it; the title if empty.
    pub description: String,
    pub x: Axis,
    pub y: Axis,
    pub height: f64,
    /// Of the whole, with labels; 0 stands for the usual width.
    pub width: f64,
    pub series: Vec<Series>,
}

const WIDTH: f64 = 400.0;
const NARROW: f64 = 300.0;
/// There must be room for the marks beside the labels.
const LEAST_WIDTH: f64 = 200.0;
const FONT: f64 = 12.0;
/// From one line of text to the next.
const LINE: f64 = 17.0;
/// Room for names of categories.
const WIDEST_CATEGORY: f64 = 130.0;
/// Marks may stand out of their region by so much.
const EDGE: f64 = 6.0;
/// Room to the right of the marks, if the labels need no more.
const RIGHT: f64 = 14.0;

impl Plot {
    pub fn new(title: &str, x: Axis, y: Axis, height: f64) -> Plot {
        Plot { title: title.to_owned(), x, y, height, ..Plot::default() }
    }

    pub fn add(&mut self, colour: Colour, mark: Mark) -> &mut Plot {
        self.series.push(Series { name: None, colour, mark });
        self
    }

    /// Adds a series with an entry in the legend.
    pub fn named(&mut self, name: &str, colour: Colour, mark: Mark) -> &mut Plot {
        self.series.push(Series { name: Some(name.to_owned()), colour, mark });
        self
    }

    /// For places where several stand side by side.
    pub fn narrow(self) -> Plot {
        Plot { width: NARROW, ..self }
    }

    fn width(&self) -> f64 {
        if self.width > 0.0 { self.width.max(LEAST_WIDTH) } else { WIDTH }
    }

    /// A picture that needs no page: its colours, those of the light style, are inside.
    pub fn standalone(&self) -> String {
        standalone(&self.svg())
    }

    /// The `svg` element.
    pub fn svg(&self) -> String {
        let frame = self.frame();
        let total = frame.top + self.height + frame.bottom;
        let name = if self.description.is_empty() { &self.title } else { &self.description };
        let mut svg = format!(
            "<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\"><title>{}</title>",
            coordinate(self.width()),
            coordinate(total),
            escape(name)
        );
        svg.push_str(&frame.heading);
        let (left, top) = (coordinate(frame.left), coordinate(frame.top));
        svg.push_str(&format!("<g transform=\"translate({left} {top})\">"));
        svg.push_str(&self.axes(&frame));
        // An inner picture clips its content, without a name that would have to be unique; a
        // point on the edge stays whole.
        svg.push_str(&format!(
            "<svg x=\"-{EDGE}\" y=\"-{EDGE}\" width=\"{}\" height=\"{}\">\
             <g transform=\"translate({EDGE} {EDGE})\">{}</g></svg></g></svg>",
            coordinate(frame.width + 2.0 * EDGE),
            coordinate(self.height + 2.0 * EDGE),
            self.marks(&frame)
        ));
        svg
    }

    /// Where everything goes.
    fn frame(&self) -> Frame {
        let corners: Vec<(f64, f64)> =
            self.series.iter().flat_map(|series| corners(&series.mark)).collect();
        let x_range = self.x.shown(corners.iter().map(|corner| corner.0));
        let y_range = self.y.shown(corners.iter().map(|corner| corner.1));
        let (heading, top) = self.heading();
        let lines = [!self.x.bare, !self.x.label.is_empty()].map(f64::from).iter().sum::<f64>();

        // Categories are read from the top.
        let places = match self.y.kind {
            Kind::Categories(_) => (0.0, self.height),
            _ => (self.height, 0.0),
        };
        let y = Scale::new(self.y.kind.clone(), y_range, places);
        let mut y_ticks = Vec::new();
        if !self.y.bare {
            y_ticks = y.ticks((self.height / 28.0) as usize, |_| true);
        }
        for tick in &mut y_ticks {
            tick.label = fit(&tick.label, FONT, WIDEST_CATEGORY);
        }
        let widest = y_ticks.iter().map(|t| text_width(&t.label, FONT)).fold(0.0, f64::max);
        let left = if self.y.bare { 14.0 } else { widest + 14.0 };
        let across = |right: f64| {
            let x = Scale::new(self.x.kind.clone(), x_range, (0.0, self.width() - left - right));
            let ticks = if self.x.bare { Vec::new() } else { x.ticks(7, |t| labels_fit(t, &x)) };
            (x, ticks)
        };
        let (mut x, mut x_ticks) = across(RIGHT);
        // The last label must not stand out.
        let end = x_ticks.last().map_or(0.0, |tick| label_ends(tick, &x).1);
        let mut right = RIGHT;
        if left + end > self.width() - 2.0 {
            right = RIGHT + left + end - self.width() + 2.0;
            (x, x_ticks) = across(right);
        }
        let (width, bottom) = (self.width() - left - right, 6.0 + LINE * lines);
        Frame { heading, top, bottom, left, width, x, y, x_ticks, y_ticks }
    }

    /// Title, legend and the name of the vertical axis, and how much room they take.
    fn heading(&self) -> (String, f64) {
        let mut svg = String::new();
        let mut top = 0.0;
        let line = |svg: &mut String, top: &mut f64, class: &str, text: &str| {
            if !text.is_empty() {
                *top += LINE;
                svg.push_str(&text_at(
                    6.0,
                    *top - 2.0,
                    class,
                    &fit(text, FONT, self.width() - 10.0),
                ));
            }
        };
        line(&mut svg, &mut top, "title", &self.title);
        let legend = self.legend();
        if legend.rows > 0.0 {
            let down = coordinate(top);
            svg.push_str(&format!("<g transform=\"translate(6 {down})\">{}</g>", legend.svg));
            top += LINE * legend.rows;
        }
        line(&mut svg, &mut top, "label", &self.y.label);
        (svg, top + 8.0)
    }

    fn axes(&self, frame: &Frame) -> String {
        let (width, height) = (frame.width, self.height);
        let mut svg = String::new();
        for tick in &frame.y_ticks {
            let Some(at) = frame.y.place(tick.at) else { continue };
            if !matches!(self.y.kind, Kind::Categories(_)) {
                svg.push_str(&segment("grid", (0.0, at), (width, at)));
            }
            svg.push_str(&text_at(-7.0, at + 0.35 * FONT, "end", &tick.label));
        }
        for tick in &frame.x_ticks {
            let Some(at) = frame.x.place(tick.at) else { continue };
            svg.push_str(&segment("grid", (at, 0.0), (at, height + 4.0)));
            svg.push_str(&text_at(at, height + LINE, "middle", &tick.label));
        }
        svg.push_str(&segment("axis", (0.0, height), (width, height)));
        if !self.x.label.is_empty() {
            let below = height + LINE * if self.x.bare { 1.0 } else { 2.0 };
            let text = fit(&self.x.label, FONT, width);
            svg.push_str(&text_at(width / 2.0, below, "label middle", &text));
        }
        svg
    }

    fn marks(&self, frame: &Frame) -> String {
        let mut svg = String::new();
        for series in &self.series {
            let marks = draw(&series.mark, &frame.x, &frame.y);
            if !marks.is_empty() {
                svg.push_str(&format!("<g class=\"{}\">{marks}</g>", series.colour.class()));
            }
        }
        if svg.is_empty() {
            let middle = (frame.width / 2.0, self.height / 2.0);
            return text_at(middle.0, middle.1, "label middle", "nothing to draw");
        }
        svg
    }

    fn legend(&self) -> Legend {
        let mut legend = Legend { svg: String::new(), rows: 0.0 };
        let mut across = self.width();
        for series in &self.series {
            let Some(name) = &series.name else { continue };
            let name = fit(name, FONT, self.width() - 50.0);
            let wide = 26.0 + text_width(&name, FONT) + 12.0;
            if across + wide > self.width() - 6.0 {
                across = 0.0;
                legend.rows += 1.0;
            }
            let middle = LINE * legend.rows - 0.5 * LINE + 2.0;
            let sample = sample(&series.mark, across, middle);
            legend.svg.push_str(&format!("<g class=\"{}\">{sample}</g>", series.colour.class()));
            legend.svg.push_str(&text_at(across + 26.0, middle + 0.35 * FONT, "", &name));
            across += wide;
        }
        legend
    }
}

/// A plot once it is known what goes where.
struct Frame {
    /// What stands above, as SVG.
    heading: String,
    /// Room around the region of the marks, and its width.
    top: f64,
    bottom: f64,
    left: f64,
    width: f64,
    x: Scale,
    y: Scale,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
}

struct Legend {
    svg: String,
    rows: f64,
}

/// From where to where the label below a tick reaches.
fn label_ends(tick: &Tick, x: &Scale) -> (f64, f64) {
    let middle = x.place(tick.at).unwrap_or(0.0);
    let half = 0.5 * text_width(&tick.label, FONT);
    (middle - half, middle + half)
}

/// Whether labels below an axis keep apart.
fn labels_fit(ticks: &[Tick], x: &Scale) -> bool {
    ticks.windows(2).all(|pair| label_ends(&pair[0], x).1 + 10.0 < label_ends(&pair[1], x).0)
}
