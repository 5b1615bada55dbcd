//! What a strict reader demands of pages and plots.

/// Tags are balanced, attributes quoted, `<` and `&` escaped: what a strict reader demands.
pub fn check_markup(text: &str) {
    let text = text.strip_prefix("<!DOCTYPE html>").unwrap_or(text);
    let style = text.find("<style>").map(|from| {
        let to = text.find("</style>").expect("the style ends");
        from + "<style>".len()..to
    });
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let offset = text.len() - rest.len();
        if style.as_ref().is_none_or(|style| !style.contains(&offset)) {
            check_text(&rest[..at]);
        }
        let end = rest[at..].find('>').map(|end| at + end).expect("a tag ends");
        let tag = &rest[at + 1..end];
        let name = |tag: &'_ str| tag.find([' ', '/']).unwrap_or(tag.len());
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "closes what is open");
        } else {
            check_attributes(&tag[name(tag)..]);
            if !tag.ends_with('/') {
                open.push(&tag[..name(tag)]);
            }
        }
        rest = &rest[end + 1..];
    }
    check_text(rest);
    assert_eq!(open, Vec::<&str>::new(), "all tags are closed");
}

fn check_text(text: &str) {
    assert!(!text.contains('>'), "{text}");
    for (at, _) in text.match_indices('&') {
        let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
        assert!(known.iter().any(|entity| text[at..].starts_with(entity)), "{text}");
    }
}

fn check_attributes(text: &str) {
    let parts: Vec<&str> = text.trim_end_matches('/').split('"').collect();
    assert!(parts.len() % 2 == 1, "quotes are paired: {text}");
    for (k, part) in parts.iter().enumerate() {
        match k {
            k if k % 2 == 1 => check_text(part),
            k if k + 1 == parts.len() => assert_eq!(part.trim(), "", "{text}"),
            _ => assert!(part.starts_with(' ') && part.ends_with('='), "{text}"),
        }
    }
}

/// Whatever is a coordinate is a number.
pub fn check_coordinates(text: &str) {
    const NAMES: [&str; 11] =
        ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height", "viewBox"];
    for name in NAMES {
        for (at, start) in text.match_indices(&format!(" {name}=\"")) {
            let value = text[at + start.len()..].split('"').next().unwrap();
            for number in value.split(' ') {
                let number: f64 = number.parse().unwrap_or_else(|_| panic!("{name} {value}"));
                assert!(number.abs() <= 1e5, "{name} {value}");
                assert!(number >= 0.0 || name != "width" && name != "height");
            }
        }
    }
    for (at, start) in text.match_indices(" d=\"") {
        let value = text[at + start.len()..].split('"').next().unwrap();
        let numbers = value.split(['M', 'L', 'Z', ' ']).filter(|number| !number.is_empty());
        for number in numbers {
            assert!(number.parse::<f64>().is_ok_and(|x| x.abs() <= 1e5), "{value}");
        }
    }
}

pub fn check(text: &str) {
    check_markup(text);
    check_coordinates(text);
}
