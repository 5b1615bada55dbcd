use smidgen_lang::lexer::{Bracket, TokenKind, lex};

use crate::support::SOURCE;

/// The texts of the tokens.
fn texts(text: &str) -> Vec<&str> {
    let text_of = |token: smidgen_lang::lexer::Token| {
        &text[token.span.start as usize..token.span.end as usize]
    };
    lex(SOURCE, text).into_iter().map(text_of).collect()
}

fn kinds(text: &str) -> Vec<TokenKind> {
    lex(SOURCE, text).into_iter().map(|token| token.kind).collect()
}

/// The message of the only token.
fn error(text: &str) -> String {
    match kinds(text).as_slice() {
        [TokenKind::Error(error) | TokenKind::Unterminated(error)] => error.message.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn comments_start_with_a_semicolon_or_a_leading_number_sign() {
    assert_eq!(texts("a ; b\n# c (\nd#e f;g"), ["a", "d#e", "f"]);
    assert_eq!(texts("\u{feff}a # end"), ["a"]);
}

#[test]
fn brackets_quotes_and_labels_are_tokens_of_their_own() {
    assert_eq!(
        texts("beta:['(x{a.b})]"),
        ["beta", ":", "[", "'", "(", "x", "{", "a.b", "}", ")", "]"]
    );
    assert_eq!(
        kinds("([{"),
        [Bracket::Round, Bracket::Square, Bracket::Curly].map(TokenKind::Open)
    );
}

#[test]
fn names_take_operators_dots_and_letters_of_any_script() {
    for name in [
        "x", "row.y", "<=", "!=", "-", "+", "->", "...", "µ_1", "é", "inf", "nan", "-x", "a/b",
        "x²",
    ] {
        assert_eq!(kinds(name), [TokenKind::Name], "{name}");
    }
}

#[test]
fn numbers_in_all_their_forms() {
    let numbers = [
        ("1", 1.0),
        ("-2.5", -2.5),
        ("1e-3", 1e-3),
        (".5", 0.5),
        ("+3", 3.0),
        ("-.5E+2", -50.0),
        ("7.", 7.0),
    ];
    for (text, number) in numbers {
        assert_eq!(kinds(text), [TokenKind::Number(number)], "{text}");
    }
    for text in ["1x", "1.2.3", "1e", "0x10", "3-", "1_000"] {
        assert_eq!(error(text), format!("`{text}` is not a number"));
    }
    assert_eq!(error("1e999"), "the number `1e999` is too large");
    match kinds("1/2").as_slice() {
        [TokenKind::Error(error)] => assert_eq!(error.hints, ["operators come first: (/ 1 2)"]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn strings_resolve_their_escapes() {
    let text = r#""a\n\t\"\\\u{e9}; # (é""#;
    assert_eq!(kinds(text), [TokenKind::Text("a\n\t\"\\é; # (é".into())]);
    assert_eq!(error(r#""a\qb""#), "unknown escape `\\q` in a string");
    assert_eq!(error(r#""\u{d800}""#), "unknown escape `\\u{d800` in a string");
    assert_eq!(error(r#""\u12""#), "unknown escape `\\u` in a string");
}

#[test]
fn an_unterminated_string_reaches_to_the_end_of_its_line() {
    assert_eq!(texts("\"abc) \n(d"), ["\"abc)", "(", "d"]);
    assert_eq!(error("\"abc"), "this string is not closed");
    assert_eq!(error("\"abc\\"), "this string is not closed");
}

#[test]
fn characters_that_start_nothing_are_one_error() {
    assert_eq!(texts("a,,b"), ["a", ",,", "b"]);
    assert_eq!(error(",,"), "unexpected character `,,`");
    assert_eq!(error("“"), "unexpected character `“`");
}
