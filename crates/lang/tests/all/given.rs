//! Directives from nested data: what a text would give, with places in the giver's own texts.

use smidgen_lang::parser::given::{GivenDirective, GivenKind, GivenSyntax, directives};
use smidgen_lang::parser::parse;
use smidgen_lang::syntax::{Directive, DirectiveKind, ForSource, Syntax, SyntaxKind};
use smidgen_lang::{SourceId, SourceMap, Span};

const TEXT: &str = "
    [assume f (mem (lambda (i) (if (flip {p=0.5}) 'a (list 1 true \"x\"))))]
    [for row in t [let k (f row.x)] y: [observe (normal k {s}) row.y]]
    \"total\": [predict (f 3)]
    [infer (cycle ((mh default one 1)) 2)]";

fn syntax(syntax: &Syntax) -> GivenSyntax {
    let all = |items: &[Syntax]| items.iter().map(self::syntax).collect();
    let kind = match &syntax.kind {
        SyntaxKind::Number(x) => GivenKind::Number(*x),
        SyntaxKind::Bool(b) => GivenKind::Bool(*b),
        SyntaxKind::Text(text) => GivenKind::Text(text.clone()),
        SyntaxKind::Name(name) => GivenKind::Name(name.to_string()),
        SyntaxKind::Quote(inner) => GivenKind::Quote(Box::new(self::syntax(inner))),
        SyntaxKind::List(items) => GivenKind::List(all(items)),
        SyntaxKind::Parameter { name, default } => {
            GivenKind::Parameter(name.to_string(), default.clone())
        }
        SyntaxKind::Error => panic!("the text can be read"),
    };
    GivenSyntax { kind, span: syntax.span }
}

fn given(directive: &Directive) -> GivenDirective {
    let name = |name: &str, span| GivenSyntax { kind: GivenKind::Name(name.to_owned()), span };
    let (head, parts, body) = match &directive.kind {
        DirectiveKind::Assume { name: to, expr } => {
            ("assume", vec![name(to.name.as_str(), to.span), syntax(expr)], vec![])
        }
        DirectiveKind::Let { name: to, expr } => {
            ("let", vec![name(to.name.as_str(), to.span), syntax(expr)], vec![])
        }
        DirectiveKind::Observe { expr, value } => {
            ("observe", vec![syntax(expr), syntax(value)], vec![])
        }
        DirectiveKind::Predict { expr } => ("predict", vec![syntax(expr)], vec![]),
        DirectiveKind::Infer { kernel } => ("infer", vec![syntax(kernel)], vec![]),
        DirectiveKind::For { variable, source: ForSource::Table(table), body } => {
            let parts = vec![
                name(variable.name.as_str(), variable.span),
                name("in", directive.span),
                name(table.name.as_str(), table.span),
            ];
            ("for", parts, body.iter().map(given).collect())
        }
        other => panic!("not in the text: {other:?}"),
    };
    let label = directive.label.as_ref().map(|label| label.name.clone());
    GivenDirective { label, head: head.to_owned(), parts, body, span: directive.span }
}

#[test]
fn what_is_given_is_what_is_written() {
    let mut sources = SourceMap::default();
    let parsed = parse(sources.add("text", TEXT), TEXT);
    assert!(parsed.diagnostics.is_empty());
    let again = directives(parsed.directives.iter().map(given).collect(), &sources);
    assert!(again.diagnostics.is_empty());
    for (written, taken) in parsed.directives.iter().zip(&again.directives) {
        assert_eq!(written.kind_without_labels(), taken.kind_without_labels());
        let names = |d: &Directive| d.label.as_ref().map(|label| label.name.clone());
        assert_eq!((names(written), written.span), (names(taken), taken.span));
    }
    assert_eq!(parsed.directives.len(), again.directives.len());
}

/// The places of labels differ: those that are given stand where their directives do.
trait WithoutLabels {
    fn kind_without_labels(&self) -> String;
}

impl WithoutLabels for Directive {
    fn kind_without_labels(&self) -> String {
        match &self.kind {
            DirectiveKind::For { variable, source, body } => {
                let body: Vec<String> = body.iter().map(|d| d.kind_without_labels()).collect();
                format!("{variable:?} {source:?} {body:?}")
            }
            kind => format!("{kind:?}"),
        }
    }
}

#[test]
fn mistakes_point_into_the_givers_texts() {
    let mut sources = SourceMap::default();
    let first = sources.add("a.py", "größe = 1");
    let second = sources.add("b.py", "x = observe(1)");
    let at = |source, start, end| Span { source, start, end };
    let one = |head: &str, parts, span| GivenDirective {
        label: None,
        head: head.to_owned(),
        parts,
        body: Vec::new(),
        span,
    };
    let number = |span| GivenSyntax { kind: GivenKind::Number(1.0), span };
    let parsed = directives(
        vec![
            one("observe", vec![number(at(second, 12, 13))], at(second, 4, 14)),
            one("dance", vec![], at(first, 0, 7)),
            one("predict", vec![number(at(first, 10, 11))], at(first, 0, 11)),
            // In the middle of a character, beyond the end, in a text that nobody gave.
            one("clear", vec![], at(first, 3, 7)),
            one("clear", vec![], at(first, 0, 99)),
            one("clear", vec![], at(SourceId(9), 0, 1)),
            one("clear", vec![], at(first, 0, 7)),
        ],
        &sources,
    );
    assert_eq!(parsed.directives.len(), 1);
    let said: Vec<(&str, Option<Span>)> =
        parsed.diagnostics.iter().map(|d| (d.message.as_str(), d.span)).collect();
    assert_eq!(said.len(), 6);
    assert!(said[0].0.contains("1 part") && said[0].1 == Some(at(second, 4, 14)));
    assert!(said[1].0.contains("dance") && said[1].1 == Some(at(first, 0, 7)));
    assert!(said[2].0.contains("label"));
    assert!(said[3..].iter().all(|(message, _)| message.contains("no place")));
}
