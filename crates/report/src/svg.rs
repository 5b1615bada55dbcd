//! Text and coordinates that are safe to write into SVG and HTML.
//!
//! Every coordinate goes through [`coordinate`], which writes nothing but a plain decimal number,
//! so a NaN cannot reach a page.

/// Text as it may stand in an element or in a quoted attribute. Characters that XML does not allow
/// become a replacement character.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' | '\r' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                escaped.push(char::REPLACEMENT_CHARACTER);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// A coordinate with one decimal. What is far out is brought near, and NaN is 0: who draws has
/// dropped those before.
pub fn coordinate(x: f64) -> String {
    const FAR: f64 = 1e5;
    let x = if x.is_nan() { 0.0 } else { x.clamp(-FAR, FAR) };
    let mut text = format!("{x:.1}");
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
    if text == "-0" { "0".to_owned() } else { text }
}

/// The data of a path: lines through points, which may be lifted over gaps.
#[derive(Clone, Debug, Default)]
pub struct Path {
    data: String,
    down: bool,
}

impl Path {
    pub fn line_to(&mut self, x: f64, y: f64) {
        self.data.push(if self.down { 'L' } else { 'M' });
        self.data.push_str(&coordinate(x));
        self.data.push(' ');
        self.data.push_str(&coordinate(y));
        self.down = true;
    }

    /// The next point starts a new line.
    pub fn lift(&mut self) {
        self.down = false;
    }

    /// Back to the first point of the line.
    pub fn close(&mut self) {
        if self.down {
            self.data.push('Z');
        }
        self.down = false;
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The element with the given classes.
    pub fn element(&self, class: &str) -> String {
        format!("<path class=\"{class}\" d=\"{}\"/>", self.data)
    }
}

/// How wide a text will be, roughly: fonts differ, so err on the wide side.
pub fn text_width(text: &str, font_size: f64) -> f64 {
    let width = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | '\'' | '|' | ':' | ';' | '(' | ')' | '[' | ']' | ' ' => 0.36,
        'm' | 'w' | 'M' | 'W' | '%' => 0.88,
        c if c.is_ascii_lowercase() || c.is_ascii_digit() => 0.58,
        c if c.is_ascii() => 0.66,
        _ => 0.8,
    };
    text.chars().map(width).sum::<f64>() * font_size
}

/// At most so wide: a longer text loses its middle, since entries of one vector differ at the end.
pub fn fit(text: &str, font_size: f64, widest: f64) -> String {
    let text: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let mut keep = text.chars().count();
    let mut shown = text.clone();
    while keep > 4 && text_width(&shown, font_size) > widest {
        keep -= 1;
        shown = without_middle(&text, keep);
    }
    shown
}

/// At most so many characters, with an ellipsis for the middle.
pub fn without_middle(text: &str, most: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= most {
        return text.to_owned();
    }
    let tail = most.saturating_sub(1) / 2;
    let head = most.saturating_sub(1) - tail;
    chars[..head].iter().chain(&['…']).chain(&chars[chars.len() - tail..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b & \"c\" 'd'>"), "a&lt;b &amp; &quot;c&quot; &#39;d&#39;&gt;");
        assert_eq!(escape("x\u{0}\u{1b}y\nμ"), "x\u{fffd}\u{fffd}y\nμ");
    }

    #[test]
    fn coordinates_are_plain_numbers() {
        for (x, text) in [(1.0, "1"), (1.26, "1.3"), (-0.01, "0"), (f64::NAN, "0")] {
            assert_eq!(coordinate(x), text);
        }
        assert_eq!(coordinate(f64::INFINITY), "100000");
        assert_eq!(coordinate(-1e300), "-100000");
    }

    #[test]
    fn paths_have_gaps() {
        let mut path = Path::default();
        assert!(path.is_empty());
        path.line_to(0.0, 1.0);
        path.line_to(1.0, 2.0);
        path.lift();
        path.line_to(3.0, 4.5);
        assert_eq!(path.element("line"), "<path class=\"line\" d=\"M0 1L1 2M3 4.5\"/>");
    }

    #[test]
    fn long_texts_lose_their_middle() {
        assert_eq!(without_middle("abcdefghij", 5), "ab…ij");
        assert_eq!(without_middle("abc", 5), "abc");
        let shown = fit(&format!("{}[17]", "weights".repeat(9)), 12.0, 100.0);
        assert!(shown.ends_with("17]") && text_width(&shown, 12.0) <= 100.0, "{shown}");
    }
}
