//! Plots as PNG, drawn by `resvg` with a font that is built in (Noto Sans), so that a machine
//! without fonts, such as a server, draws them too, and every machine the same.

use std::fmt;
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Source};
use resvg::usvg::{Options, Tree};

use crate::picture::standalone;

/// Pixels in the width and in the height, at most.
const LARGEST: f32 = 16_384.0;

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PngError(String);

impl fmt::Display for PngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PngError {}

fn fonts() -> Database {
    let mut fonts = Database::new();
    for font in [notosans::REGULAR_TTF, notosans::BOLD_TTF] {
        fonts.load_font_source(Source::Binary(Arc::new(font)));
    }
    fonts.set_sans_serif_family("Noto Sans");
    fonts
}

/// The picture of a plot, as it stands on a page or alone, with `scale` pixels for each of its
/// units: 2 gives 800 pixels for a plot of the usual width.
pub fn render(svg: &str, scale: f64) -> Result<Vec<u8>, PngError> {
    let options = Options {
        fontdb: Arc::new(fonts()),
        font_family: "Noto Sans".to_owned(),
        ..Options::default()
    };
    let tree = Tree::from_str(&standalone(svg), &options)
        .map_err(|error| PngError(format!("the SVG cannot be read: {error}")))?;
    let scale = scale as f32;
    let [width, height] =
        [tree.size().width(), tree.size().height()].map(|size| (size * scale).ceil());
    let fits = |size: f32| (1.0..=LARGEST).contains(&size);
    if !fits(width) || !fits(height) {
        let message = format!("a picture cannot have {width} x {height} pixels");
        return Err(PngError(message));
    }
    let mut pixels = Pixmap::new(width as u32, height as u32)
        .ok_or_else(|| PngError("there is no memory for the picture".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError(format!("the PNG cannot be made: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{Axis, Colour, Mark, Plot};

    fn example(title: &str) -> Plot {
        let mut plot = Plot::new(title, Axis::new("x"), Axis::new("y"), 100.0);
        plot.named("line", Colour::Second, Mark::Line(vec![(0.0, 0.0), (1.0, 1.0)]));
        plot
    }

    fn pixels(svg: &str) -> Pixmap {
        Pixmap::decode_png(&render(svg, 1.0).expect("a picture")).expect("a PNG")
    }

    #[test]
    fn the_picture_is_in_colour() {
        let png = render(&example("title").svg(), 2.0).expect("a picture");
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        let pixels = Pixmap::decode_png(&png).expect("a PNG");
        assert_eq!(pixels.width(), 800);
        let is = |[r, g, b]: [u8; 3]| {
            pixels.pixels().iter().filter(|p| [p.red(), p.green(), p.blue()] == [r, g, b]).count()
        };
        assert!(is([255, 255, 255]) > 100_000, "the paper is white");
        assert!(is([0xc4, 0x4e, 0x00]) > 500, "the line has its colour");
    }

    #[test]
    fn there_is_a_font() {
        let dark = |svg: &str| {
            pixels(svg).pixels().iter().filter(|p| p.red() < 80 && p.green() < 80).count()
        };
        let (none, title) = (dark(&example("").svg()), dark(&example("αβγ title ± ≤").svg()));
        assert!(title > none + 100, "{none} {title}");
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        assert!(render("<svg", 1.0).is_err());
        let svg = example("x").svg();
        for scale in [0.0, -1.0, f64::NAN, 1e9, f64::INFINITY] {
            assert!(render(&svg, scale).is_err(), "{scale}");
        }
    }
}
