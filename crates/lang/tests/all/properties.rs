//! Any text is read without a panic, and printing is undone by reading.

use proptest::collection::vec;
use proptest::prelude::*;
use smidgen_lang::lexer::{Token, TokenKind, lex};
use smidgen_lang::lower::{Scope, lower};
use smidgen_lang::parser::{is_incomplete, parse, parse_expression};
use smidgen_lang::printer::{print, squeeze};
use smidgen_lang::syntax::{DirectiveKind, Syntax, SyntaxKind};
use smidgen_lang::{SourceId, Span};
use smidgen_value::{Symbol, Value};

use crate::support::{SOURCE, points, world};

const SPAN: Span = Span { source: SourceId(0), start: 0, end: 0 };

const PROGRAMS: [&str; 3] = [
    include_str!("../fixtures/regression.smg"),
    include_str!("../fixtures/mixture.smg"),
    include_str!("../fixtures/every_form.smg"),
];

/// Reads a text in all ways; every error has a place inside the text.
fn read(text: &str) {
    let parsed = parse(SOURCE, text);
    let expression = parse_expression(SOURCE, text);
    is_incomplete(text);
    let squeezed = squeeze(text);
    let open_string = |token: &Token| matches!(token.kind, TokenKind::Unterminated(_));
    if !lex(SOURCE, text).iter().any(open_string) {
        assert_eq!(squeeze(&squeezed), squeezed);
    }
    let scope = Scope::global().with_row(Symbol::new("row"), points());
    let kernel = match &expression {
        Ok(syntax) => lower(syntax, &scope, &world()),
        Err(errors) => Err(errors.clone()),
    };
    let mut errors = parsed.diagnostics;
    errors.extend(kernel.err().into_iter().flatten());
    for directive in &parsed.directives {
        if let DirectiveKind::Assume { expr, .. } | DirectiveKind::Predict { expr } =
            &directive.kind
        {
            errors.extend(lower(expr, &scope, &world()).err().into_iter().flatten());
        }
    }
    for error in errors {
        let span = error.span.expect("every error has a place");
        assert!(text.get(span.start as usize..span.end as usize).is_some(), "{error:?}");
    }
}

/// The tree without its places.
fn placeless(syntax: &Syntax) -> Syntax {
    let kind = match &syntax.kind {
        SyntaxKind::Quote(datum) => SyntaxKind::Quote(Box::new(placeless(datum))),
        SyntaxKind::List(items) => SyntaxKind::List(items.iter().map(placeless).collect()),
        other => other.clone(),
    };
    Syntax { kind, span: SPAN }
}

fn name() -> impl Strategy<Value = Symbol> {
    "[a-zé_<>=!?*/%&^~$@][a-z0-9_.+#-]{0,6}"
        .prop_filter("booleans and `quote` read as something else", |name| {
            !["true", "false", "quote"].contains(&name.as_str())
        })
        .prop_map(|name| Symbol::new(&name))
}

/// `=` begins a default.
fn parameter() -> impl Strategy<Value = Symbol> {
    name().prop_filter("a default", |name| !name.as_str().contains('='))
}

fn default() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::num::f64::NORMAL.prop_map(Value::Number),
        any::<bool>().prop_map(Value::Bool),
        any::<String>().prop_map(Value::text),
    ]
}

fn trees() -> impl Strategy<Value = Syntax> {
    let leaf = prop_oneof![
        prop::num::f64::NORMAL.prop_map(SyntaxKind::Number),
        (-1000i32..1000).prop_map(|i| SyntaxKind::Number(f64::from(i) / 8.0)),
        any::<bool>().prop_map(SyntaxKind::Bool),
        any::<String>().prop_map(SyntaxKind::Text),
        name().prop_map(SyntaxKind::Name),
        ("[a-zé_<>]{1,4}", any::<String>()).prop_map(|(row, column)| {
            SyntaxKind::Name(Symbol::new(&format!("{row}.{column}")))
        }),
        (parameter(), proptest::option::of(default()))
            .prop_map(|(name, default)| SyntaxKind::Parameter { name, default }),
    ]
    .prop_map(|kind| Syntax { kind, span: SPAN });
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            3 => vec(inner.clone(), 0..8).prop_map(SyntaxKind::List),
            1 => inner.prop_map(|datum| SyntaxKind::Quote(Box::new(datum))),
        ]
        .prop_map(|kind| Syntax { kind, span: SPAN })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        read(&text);
    }

    #[test]
    fn any_text_of_tokens_is_read(
        words in vec(prop::sample::select(vec![
            "(", ")", "[", "]", "{", "}", "'", ":", "\"", "\"a\"", "x", "row.x", "row", "1", "1x", ",",
            "\n", " ", "; c\n", "assume", "[assume", "[for", "in", "for", "lambda", "let", "(let",
            "cond", "else", "or", "quote", "(quote", "cell", "points", "\\", "letrec", "(range",
        ]), 0..60),
        glue in prop::sample::select(vec!["", " "]),
    ) {
        read(&words.join(glue));
    }

    #[test]
    fn mutated_programs_are_read(
        which in 0..PROGRAMS.len(),
        edits in vec((any::<prop::sample::Index>(), 0usize..12, "[\\[\\](){}'\":; \na1.]{0,3}"), 1..6),
    ) {
        let mut text: Vec<char> = PROGRAMS[which].chars().collect();
        for (place, removed, added) in edits {
            let start = place.index(text.len() + 1);
            let end = (start + removed).min(text.len());
            text.splice(start..end, added.chars());
        }
        read(&text.into_iter().collect::<String>());
    }

    #[test]
    fn every_prefix_of_a_program_is_read(which in 0..PROGRAMS.len(), end in any::<prop::sample::Index>()) {
        let places: Vec<usize> = PROGRAMS[which].char_indices().map(|(i, _)| i).collect();
        read(&PROGRAMS[which][..*end.get(&places)]);
    }

    #[test]
    fn reading_undoes_printing(tree in trees()) {
        let text = print(&tree);
        prop_assert!(!text.contains('\n'));
        let read = parse_expression(SOURCE, &text).map_err(|errors| TestCaseError::fail(format!("{text}: {errors:?}")))?;
        prop_assert_eq!(placeless(&read), tree);
    }

    #[test]
    fn squeezing_keeps_the_meaning(tree in trees()) {
        let text = print(&tree).replace(' ', " ; comment (\n  ");
        if !text.contains('"') {
            prop_assert_eq!(squeeze(&text), print(&tree));
        }
    }
}
