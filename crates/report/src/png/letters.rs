//! Text as outlines of Noto Sans, which is built in, so that a machine without fonts, such as a
//! server, draws it too, and every machine the same.
//!
//! Letters stand one after the other at the widths that the font gives them. There is no kerning
//! and no shaping: the font has Latin, Greek and Cyrillic letters, and what it lacks is a box.

use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use super::PngError;
use super::style::Anchor;

pub(super) struct Letters {
    regular: Face<'static>,
    bold: Face<'static>,
}

/// A text and where it stands.
pub(super) struct Line<'a> {
    pub text: &'a str,
    pub x: f32,
    pub y: f32,
    pub size: f32,
    pub bold: bool,
    pub anchor: Anchor,
}

impl Letters {
    pub fn new() -> Result<Letters, PngError> {
        let face = |font| {
            Face::parse(font, 0).map_err(|error| PngError(format!("the font is bad: {error}")))
        };
        Ok(Letters { regular: face(notosans::REGULAR_TTF)?, bold: face(notosans::BOLD_TTF)? })
    }

    /// The outlines of a text; `None` if nothing is to be seen.
    pub fn outline(&self, line: &Line) -> Option<Path> {
        let face = if line.bold { &self.bold } else { &self.regular };
        let scale = line.size / f32::from(face.units_per_em());
        // What a font lacks is its first glyph.
        let glyphs: Vec<GlyphId> =
            line.text.chars().map(|c| face.glyph_index(c).unwrap_or(GlyphId(0))).collect();
        let advance =
            |&glyph: &GlyphId| f32::from(face.glyph_hor_advance(glyph).unwrap_or_default()) * scale;
        let width: f32 = glyphs.iter().map(advance).sum();
        let left = match line.anchor {
            Anchor::Start => line.x,
            Anchor::Middle => line.x - 0.5 * width,
            Anchor::End => line.x - width,
        };
        let mut pen = Pen { path: PathBuilder::new(), x: left, y: line.y, scale };
        for glyph in glyphs {
            face.outline_glyph(glyph, &mut pen);
            pen.x += advance(&glyph);
        }
        pen.path.finish()
    }
}

/// Draws one letter after the other; fonts count upwards, pictures downwards.
struct Pen {
    path: PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + self.scale * x, self.y - self.scale * y)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &str, bold: bool, anchor: Anchor) -> (f32, f32) {
        let letters = Letters::new().expect("the font is good");
        let line = Line { text, x: 100.0, y: 50.0, size: 12.0, bold, anchor };
        let bounds = letters.outline(&line).expect("something to see").bounds();
        // A capital letter of Noto Sans is 0.714 of its size high and stands on the line.
        assert!((bounds.top() - (50.0 - 0.714 * 12.0)).abs() < 0.2, "{bounds:?}");
        assert!((bounds.bottom() - 50.0).abs() < 0.2, "{bounds:?}");
        (bounds.left(), bounds.right())
    }

    #[test]
    fn text_stands_where_it_should() {
        let (left, right) = ends("HEHEH", false, Anchor::Start);
        let width = right - left;
        assert!((100.0..102.0).contains(&left) && (30.0..50.0).contains(&width), "{left} {right}");
        let (left, right) = ends("HEHEH", false, Anchor::Middle);
        assert!((0.5 * (left + right) - 100.0).abs() < 0.5, "{left} {right}");
        let (left, right) = ends("HEHEH", false, Anchor::End);
        assert!((98.0..=100.0).contains(&right) && left < 70.0, "{left} {right}");
        let (left, right) = ends("HEHEH", true, Anchor::Start);
        assert!(right - left > 1.02 * width, "bold letters are wider");
    }

    #[test]
    fn the_letters_of_reports_are_there() {
        let letters = Letters::new().expect("the font is good");
        for c in "azAZ09αβγθλμσφΣ±≤≥−×…–éüß°².,:;()[]{}<>=+*/'\"#_%&|~^".chars()
        {
            for face in [&letters.regular, &letters.bold] {
                assert!(face.glyph_index(c).is_some(), "{c}");
            }
        }
        let line =
            Line { text: "漢", x: 0.0, y: 0.0, size: 12.0, bold: false, anchor: Anchor::End };
        assert!(letters.outline(&line).is_some(), "a letter that is not there is a box");
        assert!(letters.outline(&Line { text: " ", ..line }).is_none());
    }
}
