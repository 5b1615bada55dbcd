//! Painting the elements of a plot: lines, paths of straight lines, rectangles, circles and text,
//! in groups that move the origin, and in inner pictures that clip what is in them.

use std::rc::Rc;

use tiny_skia::{
    Color, FillRule, Mask, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};

use super::PngError;
use super::letters::{Letters, Line};
use super::markup::{Part, Parts, Tag, number, unescape};
use super::style::{Ink, Sheet, Style};

/// Pixels in the width and in the height, at most.
const LARGEST: f32 = 16_384.0;

/// What holds inside of an element.
#[derive(Clone)]
struct Surroundings {
    origin: (f32, f32),
    color: Color,
    font_size: f32,
    /// Where something can be seen; everywhere if there is none.
    mask: Option<Rc<Mask>>,
}

/// What the next text is for.
enum Waiting<'a> {
    /// A title or a description, which is not painted.
    Nothing,
    Style,
    Letters(Tag<'a>),
}

/// A picture while it is painted.
struct Painter<'a> {
    pixels: Pixmap,
    scale: f32,
    sheet: Sheet,
    letters: Letters,
    /// Those of all elements that are open, innermost last.
    stack: Vec<Surroundings>,
    waiting: Waiting<'a>,
}

/// The pixels of a picture that stands alone.
pub(super) fn paint(svg: &str, scale: f32) -> Result<Pixmap, PngError> {
    let mut parts = Parts::new(svg);
    let root = match parts.next().transpose()? {
        Some(Part::Open(tag)) if tag.name == "svg" => tag,
        _ => return Err(PngError("the SVG has no picture".to_owned())),
    };
    let mut painter = Painter {
        pixels: paper(&root, scale)?,
        scale,
        sheet: Sheet::default(),
        letters: Letters::new()?,
        stack: Vec::new(),
        waiting: Waiting::Nothing,
    };
    painter.stack.push(Surroundings {
        origin: (0.0, 0.0),
        color: Color::BLACK,
        font_size: 12.0,
        mask: None,
    });
    for part in parts {
        match part? {
            Part::Open(tag) => painter.open(&tag)?,
            Part::Text(text) => painter.text(text, &root)?,
            Part::Close => {
                painter.waiting = Waiting::Nothing;
                painter.surroundings()?;
                painter.stack.pop();
            }
        }
    }
    match painter.stack.is_empty() {
        true => Ok(painter.pixels),
        false => Err(PngError("the SVG ends before its picture".to_owned())),
    }
}

/// White pixels for the whole picture.
fn paper(root: &Tag, scale: f32) -> Result<Pixmap, PngError> {
    let [width, height] =
        [root.coordinate("width")?, root.coordinate("height")?].map(|size| (size * scale).ceil());
    let fits = |size: f32| (1.0..=LARGEST).contains(&size);
    if !fits(width) || !fits(height) {
        let message = format!("a picture cannot have {width} x {height} pixels");
        return Err(PngError(message));
    }
    let mut pixels = Pixmap::new(width as u32, height as u32)
        .ok_or_else(|| PngError("there is no memory for the picture".to_owned()))?;
    pixels.fill(Color::WHITE);
    Ok(pixels)
}

impl<'a> Painter<'a> {
    fn surroundings(&self) -> Result<&Surroundings, PngError> {
        self.stack.last().ok_or_else(|| PngError("the SVG goes on after its picture".to_owned()))
    }

    fn open(&mut self, tag: &Tag<'a>) -> Result<(), PngError> {
        let style = self.sheet.style(tag)?;
        let mut inside = self.surroundings()?.clone();
        inside.color = style.color.unwrap_or(inside.color);
        inside.font_size = style.font_size.unwrap_or(inside.font_size);
        match tag.name {
            "g" => {
                let (x, y) = tag.translation()?;
                inside.origin = (inside.origin.0 + x, inside.origin.1 + y);
            }
            "svg" => self.clip(tag, &mut inside)?,
            "title" => self.waiting = Waiting::Nothing,
            "style" => self.waiting = Waiting::Style,
            "text" => self.waiting = Waiting::Letters(*tag),
            _ => {
                if let Some(path) = outline(tag)? {
                    self.ink(&path, &style, &inside);
                }
            }
        }
        if !tag.is_empty {
            self.stack.push(inside);
        }
        Ok(())
    }

    fn text(&mut self, text: &str, root: &Tag) -> Result<(), PngError> {
        match std::mem::replace(&mut self.waiting, Waiting::Nothing) {
            Waiting::Nothing => Ok(()),
            Waiting::Style => {
                self.sheet = Sheet::read(text)?;
                let size = self.sheet.style(root)?.font_size;
                for outside in &mut self.stack {
                    outside.font_size = size.unwrap_or(outside.font_size);
                }
                Ok(())
            }
            Waiting::Letters(tag) => {
                let style = self.sheet.style(&tag)?;
                let inside = self.surroundings()?.clone();
                // As in SVG, white space of any kind and length is one space.
                let text = unescape(text).split_whitespace().collect::<Vec<_>>().join(" ");
                let line = Line {
                    text: &text,
                    x: tag.coordinate("x")?,
                    y: tag.coordinate("y")?,
                    size: inside.font_size,
                    bold: style.bold,
                    anchor: style.anchor,
                };
                if let Some(path) = self.letters.outline(&line) {
                    self.ink(&path, &style, &inside);
                }
                Ok(())
            }
        }
    }

    /// An inner picture: its corner is the origin, and what is outside of it cannot be seen. (Ours
    /// are never one inside of the other within a plot.)
    fn clip(&self, tag: &Tag, inside: &mut Surroundings) -> Result<(), PngError> {
        let (x, y) = (tag.coordinate("x")?, tag.coordinate("y")?);
        inside.origin = (inside.origin.0 + x, inside.origin.1 + y);
        let (width, height) = (tag.coordinate("width")?, tag.coordinate("height")?);
        let mut mask = Mask::new(self.pixels.width(), self.pixels.height())
            .ok_or_else(|| PngError("there is no memory for the picture".to_owned()))?;
        if let Some(window) = Rect::from_xywh(0.0, 0.0, width, height) {
            let window = PathBuilder::from_rect(window);
            mask.fill_path(&window, FillRule::Winding, true, self.transform(inside));
        }
        inside.mask = Some(Rc::new(mask));
        Ok(())
    }

    fn transform(&self, inside: &Surroundings) -> Transform {
        Transform::from_translate(inside.origin.0, inside.origin.1)
            .post_scale(self.scale, self.scale)
    }

    /// Fills and strokes an outline.
    fn ink(&mut self, path: &Path, style: &Style, inside: &Surroundings) {
        let transform = self.transform(inside);
        let mask = inside.mask.as_deref();
        let paint = |ink: Ink| {
            let mut color = match ink {
                Ink::None => return None,
                Ink::Current => inside.color,
                Ink::Own(color) => color,
            };
            color.apply_opacity(style.opacity);
            let mut paint = Paint::default();
            paint.set_color(color);
            Some(paint)
        };
        if let Some(paint) = paint(style.fill) {
            self.pixels.fill_path(path, &paint, FillRule::Winding, transform, mask);
        }
        if let Some(paint) = paint(style.stroke) {
            let stroke = Stroke {
                width: style.width,
                line_cap: style.cap,
                line_join: style.join,
                dash: StrokeDash::new(style.dashes.clone(), 0.0),
                ..Stroke::default()
            };
            self.pixels.stroke_path(path, &paint, &stroke, transform, mask);
        }
    }
}

/// The outline of a shape; `None` if it is nowhere.
fn outline(tag: &Tag) -> Result<Option<Path>, PngError> {
    let at = |name| tag.coordinate(name);
    match tag.name {
        "path" => path(tag.attribute("d").unwrap_or_default()),
        "line" => {
            let mut line = PathBuilder::new();
            line.move_to(at("x1")?, at("y1")?);
            line.line_to(at("x2")?, at("y2")?);
            Ok(line.finish())
        }
        "rect" => Ok(Rect::from_xywh(at("x")?, at("y")?, at("width")?, at("height")?)
            .map(PathBuilder::from_rect)),
        "circle" => Ok(PathBuilder::from_circle(at("cx")?, at("cy")?, at("r")?)),
        name => Err(PngError(format!("the SVG has an element `{name}`, which is not known"))),
    }
}

/// The data that [`crate::svg::Path`] writes: `M` and `L` with a point, and `Z`.
fn path(data: &str) -> Result<Option<Path>, PngError> {
    let mut path = PathBuilder::new();
    let mut rest = data;
    while let Some(command) = rest.chars().next() {
        let unknown = || PngError(format!("the SVG has a path with `{command}`"));
        rest = &rest[command.len_utf8()..];
        if command == 'Z' {
            path.close();
            continue;
        }
        let (point, after) = rest.split_at(rest.find(['M', 'L', 'Z']).unwrap_or(rest.len()));
        let (x, y) = point.split_once(' ').ok_or_else(unknown)?;
        match command {
            'M' => path.move_to(number(x)?, number(y)?),
            'L' => path.line_to(number(x)?, number(y)?),
            _ => return Err(unknown()),
        }
        rest = after;
    }
    Ok(path.finish())
}
