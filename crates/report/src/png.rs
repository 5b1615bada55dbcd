//! Plots as PNG: the pixels of the SVG that this crate writes, and of no other.
//!
//! The reader knows the few elements and rules that plots are made of (a picture with anything
//! else is an error, never a wrong picture), so none of what a general reader of SVG needs is
//! here: `tiny_skia` fills and strokes outlines, `ttf_parser` gives those of letters.
//!
//! Reading order: `markup` (tags and text), `style` (the rules of `plot.css`), `letters`, `paint`
//! (elements to pixels), `file` (pixels to bytes).

mod file;
mod letters;
mod markup;
mod paint;
mod style;

use std::fmt;

use crate::picture::standalone;

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PngError(String);

impl fmt::Display for PngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PngError {}

/// The picture of a plot, as it stands on a page or alone, with `scale` pixels for each of its
/// units: 2 gives 800 pixels for a plot of the usual width.
pub fn render(svg: &str, scale: f64) -> Result<Vec<u8>, PngError> {
    let pixels = paint::paint(&standalone(svg), scale as f32)?;
    file::encode(pixels.width(), pixels.height(), pixels.data())
        .map_err(|error| PngError(format!("the PNG cannot be made: {error}")))
}

#[cfg(test)]
mod tests {
    use tiny_skia::Pixmap;

    use super::*;
    use crate::plot::{Axis, Colour, Mark, Plot, Point, Shape};

    fn example(title: &str) -> Plot {
        let mut plot = Plot::new(title, Axis::new("x"), Axis::new("y"), 100.0);
        plot.named("line", Colour::Second, Mark::Line(vec![(0.0, 0.0), (1.0, 1.0)]));
        plot
    }

    fn pixels(svg: &str) -> Pixmap {
        paint::paint(&standalone(svg), 1.0).expect("a picture")
    }

    /// How many pixels are just of this colour.
    fn count(pixels: &Pixmap, [r, g, b]: [u8; 3]) -> usize {
        pixels.pixels().iter().filter(|p| [p.red(), p.green(), p.blue()] == [r, g, b]).count()
    }

    #[test]
    fn the_picture_is_in_colour() {
        let svg = example("title").svg();
        let png = render(&svg, 2.0).expect("a picture");
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        assert_eq!(png[16..20], 800_u32.to_be_bytes());
        let pixels = paint::paint(&standalone(&svg), 2.0).expect("a picture");
        assert!(count(&pixels, [255, 255, 255]) > 100_000, "the paper is white");
        assert!(count(&pixels, [0xc4, 0x4e, 0x00]) > 500, "the line has its colour");
        assert!(pixels.pixels().iter().all(|p| p.alpha() == 255), "nothing shines through");
    }

    #[test]
    fn there_is_a_font() {
        let dark = |svg: &str| {
            pixels(svg).pixels().iter().filter(|p| p.red() < 80 && p.green() < 80).count()
        };
        let (none, title) = (dark(&example("").svg()), dark(&example("αβγ title ± ≤").svg()));
        assert!(title > none + 100, "{none} {title}");
    }

    /// A plot of one mark and nothing else, over a square of 100.
    fn bare(mark: Mark) -> Pixmap {
        let axis = || Axis::new("").range(0.0, 1.0).bare();
        let mut plot = Plot::new("", axis(), axis(), 100.0);
        plot.add(Colour::First, mark);
        pixels(&plot.svg())
    }

    #[test]
    fn every_mark_is_painted() {
        let line = || vec![(0.1, 0.1), (0.9, 0.8)];
        let points = |shape| {
            let point = Point { x: 0.5, y: 0.5, y_interval: Some((0.2, 0.8)), ..Point::default() };
            Mark::Points(shape, vec![point])
        };
        use Shape::{Cross, Diamond, Disc, Ring, Square, Triangle};
        let shapes = [Disc, Square, Diamond, Ring, Triangle, Cross].map(points);
        let marks = [
            Mark::Line(line()),
            Mark::Dashed(line()),
            Mark::Dotted(line()),
            Mark::Steps(line()),
            Mark::Faint(line()),
            Mark::Band(vec![(0.1, 0.1, 0.3), (0.9, 0.2, 0.8)]),
            Mark::Boxes(vec![((0.1, 0.4), (0.0, 0.7))]),
            Mark::Dots(line()),
            Mark::Words(vec![(0.1, 0.5, "words".to_owned())]),
            Mark::Vertical(0.5),
            Mark::Horizontal(0.5),
            Mark::Diagonal,
        ];
        // The colour itself, or the one that it makes with white under an opacity.
        let bluish = |p: &tiny_skia::PremultipliedColorU8| {
            p.blue() > p.red().saturating_add(20) && p.green() > p.red()
        };
        let blue = |pixels: &Pixmap| pixels.pixels().iter().filter(|p| bluish(p)).count();
        assert_eq!(blue(&bare(Mark::Line(Vec::new()))), 0);
        for mark in marks.into_iter().chain(shapes) {
            assert!(blue(&bare(mark.clone())) > 4, "{mark:?}");
        }
    }

    #[test]
    fn rectangles_are_where_they_should_be() {
        let half = bare(Mark::Boxes(vec![((0.0, 0.5), (0.0, 1.0))]));
        let all = bare(Mark::Boxes(vec![((0.0, 1.0), (0.0, 1.0))]));
        // 0.75 of #0072b2 over white.
        let tone = [64, 149, 197];
        let near = |pixels: &Pixmap| {
            let close = |p: &&tiny_skia::PremultipliedColorU8| {
                [p.red(), p.green(), p.blue()].iter().zip(tone).all(|(a, b)| a.abs_diff(b) <= 1)
            };
            pixels.pixels().iter().filter(close).count()
        };
        let (half, all) = (near(&half) as f64, near(&all) as f64);
        assert!(all > 30_000.0 && (half / all - 0.5).abs() < 0.01, "{half} {all}");
    }

    #[test]
    fn marks_are_clipped() {
        let outside = bare(Mark::Line(vec![(0.5, 3.0), (0.5, 30.0)]));
        let rule = bare(Mark::Line(vec![(0.5, -20.0), (0.5, 30.0)]));
        let blue = [0x00, 0x72, 0xb2];
        assert_eq!(count(&outside, blue), 0);
        // The region is 100 high, with an edge of 6 on both sides.
        assert!((100..=2 * 113).contains(&count(&rule, blue)), "{}", count(&rule, blue));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let with = |inside: &str| format!("<svg width=\"9\" height=\"9\">{inside}</svg>");
        assert!(render(&with(""), 1.0).is_ok());
        for wrong in
            ["<image/>", "<path d=\"M0 0C1 1 2 2 3 3\"/>", "<g>", "</g>", "<line x1=\"a\"/>"]
        {
            assert!(render(&with(wrong), 1.0).is_err(), "{wrong}");
        }
        assert!(render("<svg", 1.0).is_err());
        let svg = example("x").svg();
        for scale in [0.0, -1.0, f64::NAN, 1e9, f64::INFINITY] {
            assert!(render(&svg, scale).is_err(), "{scale}");
        }
    }
}
