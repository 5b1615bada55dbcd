//! Directives that no text of this language says: a front end hands them over as nested data, each part with its place in the
//! front end's own text. They go through the checks that written directives go through, and every later message points
//! into that text. Several texts may be mixed: a place names its source.

use smidgen_value::{Symbol, Value};

use super::{Goal, Item, MAX_FOR_NESTING, Reader};
use crate::diagnostic::Diagnostic;
use crate::source::{SourceMap, Span};
use crate::syntax::{Directive, MAX_NESTING, Named, Parsed, Syntax, SyntaxKind, with_stack};

/// An expression as data.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenSyntax {
    pub kind: GivenKind,
    /// Where it stands in the giver's text.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum GivenKind {
    Number(f64),
    Bool(bool),
    Text(String),
    Name(String),
    Quote(Box<GivenSyntax>),
    List(Vec<GivenSyntax>),
    /// `{name}`, with the value it has if none is given.
    Parameter(String, Option<Value>),
}

/// A directive as data: `[head parts...]`, in a `for` with further directives behind.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenDirective {
    /// Always said: a prediction has no text of this language to be named by.
    pub label: Option<String>,
    pub head: String,
    pub parts: Vec<GivenSyntax>,
    pub body: Vec<GivenDirective>,
    pub span: Span,
}

/// The directives, and what is wrong with those that are none.
///
/// ```
/// use smidgen_lang::parser::given::{GivenDirective, GivenKind, GivenSyntax, directives};
/// use smidgen_lang::{SourceMap, Span};
///
/// let mut sources = SourceMap::default();
/// let source = sources.add("model.py", "mu = normal(0, 5)");
/// let part = |kind, start, end| GivenSyntax { kind, span: Span { source, start, end } };
/// let normal = vec![
///     part(GivenKind::Name("normal".to_owned()), 5, 11),
///     part(GivenKind::Number(0.0), 12, 13),
///     part(GivenKind::Number(5.0), 15, 16),
/// ];
/// let assume = GivenDirective {
///     label: None,
///     head: "assume".to_owned(),
///     parts: vec![part(GivenKind::Name("mu".to_owned()), 0, 2), part(GivenKind::List(normal), 5, 17)],
///     body: Vec::new(),
///     span: Span { source, start: 0, end: 17 },
/// };
/// let parsed = directives(vec![assume], &sources);
/// assert!(parsed.diagnostics.is_empty());
/// assert_eq!(parsed.directives.len(), 1);
/// ```
pub fn directives(given: Vec<GivenDirective>, sources: &SourceMap) -> Parsed {
    let source = given.first().map_or(crate::source::SourceId(0), |first| first.span.source);
    let mut taking = Taking { reader: Reader::new(source, "", Goal::Program), sources };
    let directives = given.into_iter().filter_map(|one| taking.directive(one, 0)).collect();
    Parsed { directives, diagnostics: taking.reader.diagnostics }
}

struct Taking<'a> {
    reader: Reader<'a>,
    sources: &'a SourceMap,
}

impl Taking<'_> {
    fn directive(&mut self, given: GivenDirective, depth: usize) -> Option<Directive> {
        let GivenDirective { label, head, parts, body, span } = given;
        let span = self.place(span)?;
        if depth > MAX_FOR_NESTING {
            let message = format!("loops nest deeper than the limit of {MAX_FOR_NESTING} levels");
            self.reader.error(Diagnostic::error(span, message));
            return None;
        }
        if head == "predict" && label.is_none() {
            let message = "a prediction that was not written has a label";
            self.reader.error(Diagnostic::error(span, message));
            return None;
        }
        let head = Syntax { kind: SyntaxKind::Name(Symbol::new(&head)), span };
        let mut items = vec![Item::Syntax(head)];
        for part in parts {
            items.push(Item::Syntax(self.syntax(part, 0)?));
        }
        for inner in body {
            // One that is wrong is left out, and has been reported.
            items.extend(self.directive(inner, depth + 1).map(Item::Directive));
        }
        let kind = self.reader.directive(items, span, false)?;
        let label = label.map(|name| Named { name, span });
        Some(Directive { label, kind, span })
    }

    fn syntax(&mut self, given: GivenSyntax, depth: usize) -> Option<Syntax> {
        let span = self.place(given.span)?;
        if depth >= MAX_NESTING {
            let message = format!("expressions nest deeper than the limit of {MAX_NESTING} levels");
            self.reader.error(Diagnostic::error(span, message));
            return None;
        }
        let kind = match given.kind {
            GivenKind::Number(x) => SyntaxKind::Number(x),
            GivenKind::Bool(b) => SyntaxKind::Bool(b),
            GivenKind::Text(text) => SyntaxKind::Text(text),
            GivenKind::Name(name) => SyntaxKind::Name(Symbol::new(&name)),
            GivenKind::Quote(inner) => {
                let inner = with_stack(|| self.syntax(*inner, depth + 1))?;
                SyntaxKind::Quote(Box::new(inner))
            }
            GivenKind::List(items) => {
                let mut parts = Vec::with_capacity(items.len());
                for item in items {
                    parts.push(with_stack(|| self.syntax(item, depth + 1))?);
                }
                SyntaxKind::list(parts)
            }
            GivenKind::Parameter(name, default) => {
                SyntaxKind::Parameter { name: Symbol::new(&name), default }
            }
        };
        Some(Syntax { kind, span })
    }

    /// A place that is one: later messages show what stands there.
    fn place(&mut self, span: Span) -> Option<Span> {
        let text = self.sources.find(span.source).map(|source| &source.text);
        let (start, end) = (span.start as usize, span.end as usize);
        if text.is_some_and(|text| text.get(start..end).is_some()) {
            return Some(span);
        }
        let message = format!("bytes {start} to {end} are no place in the text that was given");
        self.reader.error(Diagnostic::error(None, message));
        None
    }
}
