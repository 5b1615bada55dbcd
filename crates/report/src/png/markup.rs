//! Reading the markup that this crate writes itself: tags with quoted attributes, text with the
//! five entities of [`escape`](crate::svg::escape). No comments, no namespaces, no declarations.

use super::PngError;

/// What comes next in a text of markup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part<'a> {
    Open(Tag<'a>),
    Close,
    Text(&'a str),
}

/// The beginning of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tag<'a> {
    pub name: &'a str,
    attributes: &'a str,
    /// Nothing is inside, and no [`Part::Close`] follows.
    pub is_empty: bool,
}

impl<'a> Tag<'a> {
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        // Values hold no quotes, so what is between quotes are names and values in turn.
        let mut parts = self.attributes.split('"');
        while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
            if key.trim().strip_suffix('=') == Some(name) {
                return Some(value);
            }
        }
        None
    }

    pub fn classes(&self) -> impl Iterator<Item = &'a str> {
        self.attribute("class").unwrap_or_default().split(' ')
    }

    /// A coordinate; 0 where there is none, as in SVG.
    pub fn coordinate(&self, name: &str) -> Result<f32, PngError> {
        self.attribute(name).map_or(Ok(0.0), number)
    }

    /// Where `transform="translate(x y)"` moves the origin.
    pub fn translation(&self) -> Result<(f32, f32), PngError> {
        let Some(transform) = self.attribute("transform") else { return Ok((0.0, 0.0)) };
        let inside = transform.strip_prefix("translate(").and_then(|t| t.strip_suffix(')'));
        let (x, y) = inside
            .and_then(|inside| inside.split_once(' '))
            .ok_or_else(|| PngError(format!("the transform `{transform}` is not known")))?;
        Ok((number(x)?, number(y)?))
    }
}

pub(super) fn number(text: &str) -> Result<f32, PngError> {
    match text.trim().parse() {
        Ok(x) if f32::is_finite(x) => Ok(x),
        _ => Err(PngError(format!("the SVG has `{text}` in the place of a number"))),
    }
}

/// The parts of a text of markup, in order.
pub(super) struct Parts<'a> {
    rest: &'a str,
}

impl<'a> Parts<'a> {
    pub fn new(text: &'a str) -> Parts<'a> {
        Parts { rest: text.trim() }
    }

    fn tag(&mut self) -> Result<Part<'a>, PngError> {
        let unfinished = || PngError("the SVG ends within a tag".to_owned());
        let (tag, rest) = self.rest[1..].split_once('>').ok_or_else(unfinished)?;
        self.rest = rest;
        if tag.starts_with('/') {
            return Ok(Part::Close);
        }
        let inside = tag.strip_suffix('/');
        let (is_empty, tag) = (inside.is_some(), inside.unwrap_or(tag));
        let (name, attributes) = tag.split_at(tag.find(' ').unwrap_or(tag.len()));
        Ok(Part::Open(Tag { name, attributes, is_empty }))
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<Part<'a>, PngError>;

    fn next(&mut self) -> Option<Result<Part<'a>, PngError>> {
        if self.rest.is_empty() {
            return None;
        }
        if self.rest.starts_with('<') {
            return Some(self.tag());
        }
        let (text, rest) = self.rest.split_at(self.rest.find('<').unwrap_or(self.rest.len()));
        self.rest = rest;
        Some(Ok(Part::Text(text)))
    }
}

/// The text that [`escape`](crate::svg::escape) was given.
pub(super) fn unescape(text: &str) -> String {
    const ENTITIES: [(&str, char); 5] =
        [("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&#39;", '\''), ("&amp;", '&')];
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let entity = ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity));
        let (length, c) = entity.map_or((c.len_utf8(), c), |&(entity, c)| (entity.len(), c));
        plain.push(c);
        rest = &rest[length..];
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::escape;

    #[test]
    fn parts_come_in_order() {
        let text = "<g class=\"a b\" transform=\"translate(1 -2.5)\">x<line x1=\"3\"/></g>";
        let parts: Vec<Part> = Parts::new(text).map(|part| part.expect("markup")).collect();
        let [Part::Open(group), Part::Text("x"), Part::Open(line), Part::Close] = parts[..] else {
            panic!("{parts:?}");
        };
        assert_eq!(group.classes().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(group.translation(), Ok((1.0, -2.5)));
        assert!(line.is_empty && line.name == "line");
        assert_eq!((line.coordinate("x1"), line.coordinate("y1")), (Ok(3.0), Ok(0.0)));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let first = |text| match Parts::new(text).next() {
            Some(Ok(Part::Open(tag))) => tag,
            other => panic!("{other:?}"),
        };
        assert!(first("<g transform=\"rotate(3)\">").translation().is_err());
        assert!(first("<line x1=\"NaN\"/>").coordinate("x1").is_err());
        assert!(Parts::new("<svg").next().is_some_and(|part| part.is_err()));
    }

    #[test]
    fn text_comes_back() {
        for text in ["a<b & \"c\" 'd'>", "&amp;lt;", "α ≤ β", "", "R&D"] {
            assert_eq!(unescape(&escape(text)), text);
        }
    }
}
