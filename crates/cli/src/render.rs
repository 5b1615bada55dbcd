//! Diagnostics for people: the place in the source line, the way there, what to do.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use smidgen::Session;
use smidgen::lang::printer::printable;
use smidgen::lang::source::position;
use smidgen::lang::{Diagnostic, Severity, SourceMap, Span, printer};

use crate::failure::say;

/// More than anybody reads at once.
const MOST_SHOWN: usize = 50;

/// Shows diagnostics on the standard error stream, with a count if there are several errors.
pub fn show(diagnostics: &[Diagnostic], sources: &SourceMap) {
    let renderer = renderer(use_colours());
    // Errors first: remarks about the rest can wait.
    let (errors, others): (Vec<_>, Vec<_>) =
        diagnostics.iter().partition(|d| d.severity == Severity::Error);
    let is_long = diagnostics.len() > MOST_SHOWN;
    let shown: Vec<&Diagnostic> = match is_long {
        true => errors.iter().chain(&others).copied().take(MOST_SHOWN).collect(),
        false => diagnostics.iter().collect(),
    };
    for diagnostic in &shown {
        say(&render(diagnostic, sources, &renderer));
    }
    if is_long {
        say(&format!("... and {} more", diagnostics.len() - shown.len()));
    }
    if errors.len() > 1 {
        say(&format!("{} errors", errors.len()));
    }
}

/// A diagnostic as it is shown where there are no colours.
pub fn rendered(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    render(diagnostic, sources, &renderer(false))
}

/// An error without a place.
pub fn error(message: &str) {
    show(&[Diagnostic::error(None, message)], &SourceMap::default());
}

/// A warning without a place.
pub fn warn(message: &str) {
    show(&[Diagnostic::warning(None, message)], &SourceMap::default());
}

/// What there is to be said about the data, beyond the first so many remarks.
pub fn notes(session: &Session, known: usize) {
    let notes = session.catalog().notes().iter().skip(known);
    notes.for_each(|note| say(&format!("note: {}", printable(note))));
}

fn use_colours() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stderr().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

fn renderer(colours: bool) -> Renderer {
    /// A longer line is cut around the marked place.
    const WIDEST: usize = 140;
    let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
    renderer.term_width(WIDEST)
}

fn render(diagnostic: &Diagnostic, sources: &SourceMap, renderer: &Renderer) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(printable(&diagnostic.message)));
    if let Some(span) = diagnostic.span {
        let excerpt = Excerpt::of(sources, span);
        let mark = AnnotationKind::Primary.span(excerpt.marked).label(printable(&diagnostic.label));
        let file = printable(excerpt.file);
        let snippet = Snippet::source(harmless(excerpt.text)).line_start(excerpt.line).path(file);
        group = group.element(snippet.annotation(mark));
    }
    for (what, span) in way(diagnostic, sources) {
        group = group.element(Level::NOTE.message(format!(
            "{}, {}",
            printable(what),
            printable(&place(sources, span))
        )));
    }
    for hint in &diagnostic.hints {
        group = group.element(Level::HELP.message(printable(hint)));
    }
    renderer.render(&[group])
}

/// The calls around the place, innermost first. A directive on the line that is shown anyway
/// is left out.
fn way<'a>(diagnostic: &'a Diagnostic, sources: &SourceMap) -> Vec<(&'a str, Span)> {
    let mut path: Vec<_> = diagnostic.path.iter().map(|(what, at)| (what.as_str(), *at)).collect();
    if let ([(_, only)], Some(span)) = (path.as_slice(), diagnostic.span) {
        let line = |span: Span| (span.source, Excerpt::of(sources, span).line);
        if line(*only) == line(span) {
            path.clear();
        }
    }
    path.reverse();
    path
}

/// `file:line:column: text`.
fn place(sources: &SourceMap, span: Span) -> String {
    let excerpt = Excerpt::of(sources, span);
    let text = &sources.get(span.source).text;
    let text = printer::squeeze(&text[clamped(text, span)]);
    let text = match text.char_indices().nth(70) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text,
    };
    format!("{}:{}:{}: {text}", excerpt.file, excerpt.line, excerpt.column)
}

// ---------------------------------------------------------------- excerpts

/// One line of a source, and what is marked in it.
struct Excerpt<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    text: &'a str,
    marked: Range<usize>,
}

impl<'a> Excerpt<'a> {
    /// The first line of a span.
    fn of(sources: &'a SourceMap, span: Span) -> Excerpt<'a> {
        let source = sources.get(span.source);
        let range = clamped(&source.text, span);
        let (line, column) = position(&source.text, range.start);
        let start = source.text[..range.start].rfind('\n').map_or(0, |i| i + 1);
        let rest = &source.text[start..];
        let whole = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let end = (range.end - start).min(whole.len());
        let marked = (range.start - start).min(end)..end;
        Excerpt { file: &source.name, line, column, text: whole, marked }
    }
}

/// A line in which nothing steers a terminal, every byte where it was: what the renderer shows as it is (control characters
/// beyond ASCII, those that turn the direction of writing) becomes another character of its length.
fn harmless(line: &str) -> Cow<'_, str> {
    let steers = |c: char| matches!(c, '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !line.contains(steers) {
        return Cow::Borrowed(line);
    }
    let shown = |c: char| match c {
        c if !steers(c) => c,
        c if c.len_utf8() == 2 => '\u{b7}',
        _ => char::REPLACEMENT_CHARACTER,
    };
    Cow::Owned(line.chars().map(shown).collect())
}

/// The bytes of a span that exist, between characters.
fn clamped(text: &str, span: Span) -> Range<usize> {
    let start = text.floor_char_boundary(span.start as usize);
    let end = text.ceil_char_boundary((span.end as usize).min(text.len()));
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str, start: u32, end: u32) -> String {
        let mut sources = SourceMap::default();
        let source = sources.add("a.smg", text);
        let span = Span { source, start, end };
        let mut diagnostic = Diagnostic::error(span, "wrong").label("here").hint("do better");
        diagnostic.path = vec![("in a call of f".to_owned(), span); 2];
        render(&diagnostic, &sources, &renderer(false))
    }

    /// Found by fuzzing: a terminal takes U+009B for the beginning of a command.
    #[test]
    fn nothing_in_a_line_steers_the_terminal() {
        let text = rendered("[assume x\u{9b}31m \u{202e}y \u{1}é]", 11, 15);
        let steers =
            |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(steers), "{text:?}");
        assert!(text.contains("[assume x·31m \u{fffd}y ␁é]"), "{text:?}");
    }

    #[test]
    fn the_place_is_marked() {
        let text = rendered("[assume\n  x (f 2)]", 12, 17);
        let expected = [
            "error: wrong",
            " --> a.smg:2:5",
            "  |",
            "2 |   x (f 2)]",
            "  |     ^^^^^ here",
            "  |",
            "  = note: in a call of f, a.smg:2:5: (f 2)",
            "  = note: in a call of f, a.smg:2:5: (f 2)",
            "  = help: do better",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn odd_spans_survive() {
        let long = format!("(é{} x {})", "y".repeat(5000), "z".repeat(5000));
        for (text, start, end) in [
            ("", 0, 0),
            ("", 3, 9),
            ("\n", 1, 1),
            ("abc", 3, 3),
            ("abc\r\n", 3, 4),
            ("é", 1, 1),
            ("\tx\t(f)\n", 3, 7),
            ("a\nb\nc", 0, 5),
            ("日本語", 3, 6),
            ("abc", 2, 1),
            (long.as_str(), 5003, 5004),
            (long.as_str(), 0, 10_000),
            (long.as_str(), 10_005, 10_006),
        ] {
            let shown = rendered(text, start, end);
            assert!(shown.contains("a.smg:"), "{shown}");
            assert!(shown.lines().all(|line| line.chars().count() < 250), "{shown}");
        }
        let shown = rendered(&long, 5004, 5005);
        assert!(shown.contains("--> a.smg:1:5004"), "{shown}");
    }

    #[test]
    fn a_message_alone_needs_no_source() {
        let diagnostic = Diagnostic::error(None, "no such file");
        let text = render(&diagnostic, &SourceMap::default(), &renderer(false));
        assert_eq!(text.trim_end(), "error: no such file");
    }
}
