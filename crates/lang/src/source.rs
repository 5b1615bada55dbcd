//! Program texts and places in them.

use std::sync::Arc;

use smidgen_value::bytes::{Bytes, Input};
use smidgen_value::bytes_of_fields;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// Bytes `start .. end` of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    pub source: SourceId,
    pub start: u32,
    pub end: u32,
}

impl Bytes for SourceId {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(from: &mut Input<'_>) -> Option<SourceId> {
        u32::take(from).map(SourceId)
    }
}

bytes_of_fields!(Span { source, start, end });

impl Span {
    pub fn to(self, other: Span) -> Span {
        Span { source: self.source, start: self.start, end: other.end.max(self.end) }
    }
}

/// One text: a file, a line typed at the prompt, the argument of an option.
#[derive(Clone, Debug)]
pub struct Source {
    /// As a reader knows it: a path, `<repl>`, `--kernel`.
    pub name: String,
    pub text: Arc<str>,
}

/// All texts of a session, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    sources: Vec<Source>,
}

impl SourceMap {
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> SourceId {
        let id = SourceId(u32::try_from(self.sources.len()).expect("fewer than 2^32 sources"));
        self.sources.push(Source { name: name.into(), text: text.into() });
        id
    }

    /// All texts, in the order in which they came.
    pub fn all(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter()
    }

    pub fn get(&self, id: SourceId) -> &Source {
        &self.sources[id.0 as usize]
    }

    /// The text of this number, if there is one.
    pub fn find(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.0 as usize)
    }

    pub fn text(&self, span: Span) -> &str {
        &self.get(span.source).text[span.start as usize..span.end as usize]
    }

    /// Line and column of a span's start, both from 1; columns count characters.
    pub fn position(&self, span: Span) -> (usize, usize) {
        position(&self.get(span.source).text, span.start as usize)
    }

    /// `file:line` of a place, for a sentence.
    pub fn place(&self, span: Span) -> String {
        format!("{}:{}", self.get(span.source).name, self.position(span).0)
    }
}

/// Line and column of a byte of a text, both from 1; columns count characters.
pub fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..byte];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
