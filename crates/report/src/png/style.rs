//! The rules of `plot.css`, as far as they say how something is painted.
//!
//! A rule holds for an element's name or for one class; what stands before the last word of a
//! selector is always the plot itself. A class says more than a name, and a later rule more than
//! an earlier one. `color` and the size of letters pass on to what is inside.

use tiny_skia::{Color, LineCap, LineJoin};

use super::PngError;
use super::markup::{Tag, number};

/// What an element is filled or stroked with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ink {
    None,
    /// The `color` that holds there.
    Current,
    Own(Color),
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Anchor {
    #[default]
    Start,
    Middle,
    End,
}

/// How an element is painted. The opacity is that of the whole element; since nothing with an
/// opacity is both filled and stroked, it is that of its ink.
#[derive(Clone, Debug)]
pub(super) struct Style {
    /// If it is set here rather than outside.
    pub color: Option<Color>,
    pub fill: Ink,
    pub stroke: Ink,
    pub opacity: f32,
    pub width: f32,
    pub cap: LineCap,
    pub join: LineJoin,
    pub dashes: Vec<f32>,
    pub font_size: Option<f32>,
    pub bold: bool,
    pub anchor: Anchor,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            color: None,
            fill: Ink::Own(Color::BLACK),
            stroke: Ink::None,
            opacity: 1.0,
            width: 1.0,
            cap: LineCap::Butt,
            join: LineJoin::Miter,
            dashes: Vec::new(),
            font_size: None,
            bold: false,
            anchor: Anchor::Start,
        }
    }
}

impl Style {
    fn set(&mut self, property: &str, value: &str) -> Result<(), PngError> {
        let unknown = || PngError(format!("the style `{property}: {value}` is not known"));
        match property {
            "color" => self.color = Some(colour(value).ok_or_else(unknown)?),
            "fill" => self.fill = ink(value).ok_or_else(unknown)?,
            "stroke" => self.stroke = ink(value).ok_or_else(unknown)?,
            "opacity" => self.opacity = number(value)?.clamp(0.0, 1.0),
            "stroke-width" => self.width = number(value)?,
            "stroke-linecap" => {
                self.cap = match value {
                    "round" => LineCap::Round,
                    "butt" => LineCap::Butt,
                    _ => return Err(unknown()),
                };
            }
            "stroke-linejoin" => {
                self.join = match value {
                    "round" => LineJoin::Round,
                    _ => return Err(unknown()),
                };
            }
            "stroke-dasharray" => {
                self.dashes = value.split(' ').map(number).collect::<Result<_, _>>()?;
            }
            // The size stands first; the family is the one that is built in.
            "font" | "font-size" => {
                let size = value.split(' ').next().and_then(|size| size.strip_suffix("px"));
                self.font_size = Some(number(size.ok_or_else(unknown)?)?);
            }
            "font-weight" => self.bold = number(value)? >= 600.0,
            "text-anchor" => {
                self.anchor = match value {
                    "middle" => Anchor::Middle,
                    "end" => Anchor::End,
                    _ => return Err(unknown()),
                };
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

/// `#rrggbb`.
fn colour(text: &str) -> Option<Color> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let [_, r, g, b] = u32::from_str_radix(digits, 16).ok()?.to_be_bytes();
    Some(Color::from_rgba8(r, g, b, 255))
}

fn ink(text: &str) -> Option<Ink> {
    match text {
        "none" => Some(Ink::None),
        "currentColor" => Some(Ink::Current),
        _ => colour(text).map(Ink::Own),
    }
}

#[derive(Clone, Debug)]
struct Rule {
    /// A class with its dot, or the name of an element.
    selector: String,
    properties: Vec<(String, String)>,
}

/// All rules of a picture.
#[derive(Clone, Debug, Default)]
pub(super) struct Sheet(Vec<Rule>);

impl Sheet {
    pub fn read(css: &str) -> Result<Sheet, PngError> {
        let mut rules = Vec::new();
        for rule in css.split('}').map(str::trim).filter(|rule| !rule.is_empty()) {
            let (selector, inside) = rule
                .split_once('{')
                .ok_or_else(|| PngError(format!("the style has no rule in `{rule}`")))?;
            let selector = selector.split_whitespace().last().unwrap_or_default().to_owned();
            let properties = inside.split(';').filter_map(|property| property.split_once(':'));
            let trimmed = |(name, value): (&str, &str)| (name.trim().into(), value.trim().into());
            rules.push(Rule { selector, properties: properties.map(trimmed).collect() });
        }
        Ok(Sheet(rules))
    }

    /// How an element is painted.
    pub fn style(&self, tag: &Tag) -> Result<Style, PngError> {
        let mut style = Style::default();
        let by_name = |rule: &&Rule| rule.selector == tag.name;
        // The picture itself is called `svg.plot`.
        let has = |class: &str| tag.classes().any(|own| own == class);
        let by_class = |rule: &&Rule| rule.selector.rsplit_once('.').is_some_and(|c| has(c.1));
        for rule in self.0.iter().filter(by_name).chain(self.0.iter().filter(by_class)) {
            for (property, value) in &rule.properties {
                style.set(property, value)?;
            }
        }
        Ok(style)
    }
}

#[cfg(test)]
mod tests {
    use super::super::markup::{Part, Parts};
    use super::*;

    fn style(tag: &str) -> Style {
        let sheet = Sheet::read(&crate::picture::style()).expect("the style is understood");
        match Parts::new(tag).next() {
            Some(Ok(Part::Open(tag))) => sheet.style(&tag).expect("a style"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn classes_go_before_names_and_later_rules_before_earlier_ones() {
        let ink = Ink::Own(Color::from_rgba8(0x1b, 0x1f, 0x24, 255));
        assert_eq!(style("<text>").fill, ink);
        assert_eq!(style("<text class=\"words\">").fill, Ink::Current);
        assert_eq!(style("<text class=\"words\">").font_size, Some(11.0));
        assert_eq!(style("<svg class=\"plot\">").font_size, Some(12.0));
        assert!(style("<text class=\"title\">").bold);
        assert_eq!(style("<text class=\"label end\">").anchor, Anchor::End);
        let dashed = style("<path class=\"line dashed\">");
        assert_eq!(
            (dashed.cap, dashed.dashes, dashed.fill),
            (LineCap::Butt, vec![6.0, 4.0], Ink::None)
        );
        assert_eq!(style("<path class=\"line\">").cap, LineCap::Round);
        assert_eq!(style("<g class=\"c1\">").color, Some(Color::from_rgba8(0, 0x72, 0xb2, 255)));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert!(Sheet::read("nonsense").is_err());
        let sheet = Sheet::read(".a { filter: blur(3px); }").expect("a rule");
        let Some(Ok(Part::Open(tag))) = Parts::new("<g class=\"a\">").next() else { panic!() };
        assert!(sheet.style(&tag).is_err());
    }
}
