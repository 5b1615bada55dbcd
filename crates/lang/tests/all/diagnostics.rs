//! What is said about texts that are no programs: the marked text, the message, the hint.

use smidgen_lang::Diagnostic;
use smidgen_lang::parser::{parse, parse_expression};

use crate::support::{SOURCE, shown};

fn diagnostics(text: &str) -> Vec<Diagnostic> {
    parse(SOURCE, text).diagnostics
}

fn errors(text: &str) -> Vec<String> {
    shown(text, &diagnostics(text))
}

/// The hints of the only error.
fn hints(text: &str) -> Vec<String> {
    let mut diagnostics = diagnostics(text);
    assert_eq!(diagnostics.len(), 1, "{diagnostics:#?}");
    diagnostics.remove(0).hints
}

#[test]
fn an_unclosed_parenthesis_says_where_its_end_was_expected() {
    assert_eq!(
        errors("[assume x (normal 0 1]"),
        ["(: this parenthesis `(` is not closed: expected `)` before `]` at line 1, column 22"]
    );
    assert_eq!(
        errors("[observe (normal (f 1 2\n[predict x]"),
        ["(: this parenthesis `(` is not closed: expected `))]` before the next directive \
          at line 2, column 1"]
    );
    assert_eq!(
        errors("[assume x 1"),
        ["[: this bracket `[` is not closed: expected `]` before the end of the text \
          at line 1, column 12"]
    );
}

#[test]
fn an_unclosed_directive_ends_where_the_next_one_starts() {
    let text = "[assume x 1\nlabel: [predict x]\n  [predict y]";
    assert_eq!(
        errors(text),
        ["[: this bracket `[` is not closed: expected `]` before the next directive \
          at line 2, column 8"]
    );
    let parsed = parse(SOURCE, text);
    assert_eq!(parsed.directives.len(), 3);
    assert_eq!(parsed.directives[1].label.as_ref().unwrap().name, "label");
    assert_eq!(errors("[assume x 1 [assume y 2]").len(), 1);
    assert_eq!(errors("[for row in t\n [observe (f row.x 1\n [observe row.y 2]]").len(), 1);
    assert_eq!(errors("[for row in t\n [observe (f row.x 1\n [observe row.y 2]").len(), 2);
}

#[test]
fn a_stray_closing_bracket_is_dropped() {
    assert_eq!(errors("[assume x (f 1))]"), ["): unexpected closing parenthesis `)`"]);
    assert_eq!(errors("[assume x 1]]"), ["]: unexpected closing bracket `]`"]);
    assert_eq!(errors("[assume x 1}]"), ["}: unexpected closing bracket `}`"]);
    assert_eq!(parse(SOURCE, "[assume x (f 1))]").directives.len(), 1);
}

#[test]
fn unknown_directives_are_guessed() {
    assert_eq!(errors("[asume x 1]"), ["asume: unknown directive `asume`"]);
    assert_eq!(hints("[asume x 1]"), ["did you mean `assume`?"]);
    assert!(hints("[banana x 1]")[0].starts_with("the directives are assume, observe"));
    assert_eq!(errors("[1 2]"), ["1: expected the name of a directive after `[`"]);
    assert_eq!(errors("[]"), ["[]: expected a directive in `[ ]`, found nothing"]);
}

#[test]
fn a_wrong_shape_is_answered_with_the_right_one() {
    assert_eq!(
        errors("[assume x]"),
        ["[assume x]: `assume` has 1 part instead of 2: expected `[assume name expr]`"]
    );
    assert_eq!(
        errors("[predict x y z]"),
        ["y: `predict` has 3 parts instead of 1: expected `[predict expr]`"]
    );
    assert_eq!(errors("[assume 3 x]"), ["3: expected a name here: `[assume name expr]`"]);
    assert_eq!(errors("[assume if x]"), ["if: `if` is a special form and cannot be bound"]);
    assert_eq!(
        errors("[report (f)]"),
        ["(f): expected a name, a string or a whole number here: `[report label]`"]
    );
    assert_eq!(errors("[load a]"), ["a: expected a string here: `[load \"file.smg\"]`"]);
    assert_eq!(errors("[clear 1]"), ["1: `clear` has 1 part instead of 0: expected `[clear]`"]);
    assert_eq!(
        errors("[table t 3]"),
        [
            "3: expected an option such as (vector x \"x*\") here: `[table name \"path\" option ...]`"
        ]
    );
}

#[test]
fn a_wrong_for_is_answered_with_its_shapes() {
    const SHAPES: &str =
        "`[for row in table directive ...]` or `[for n in (range a b) directive ...]`";
    assert_eq!(errors("[for row of t]"), [format!("of: expected `in` here: {SHAPES}")]);
    assert_eq!(errors("[for 1 in t]"), [format!("1: expected a name here: {SHAPES}")]);
    assert_eq!(errors("[for]"), [format!("[for]: expected a name in `for`: {SHAPES}")]);
    assert_eq!(
        errors("[for n in (range 3)]"),
        ["(range 3): expected the name of a table or `(range a b)` here"]
    );
    assert_eq!(
        errors("[for n in t (f n) [predict n]]"),
        ["(f n): expected a directive, found text outside of brackets"]
    );
}

#[test]
fn text_outside_of_brackets_is_one_error() {
    assert_eq!(
        errors("(f 1) 2 x\n[predict x]"),
        ["(f 1) 2 x: expected a directive, found text outside of brackets"]
    );
    assert_eq!(hints("(assume x 1)"), ["write [assume name expr]"]);
    assert_eq!(
        errors("(assume x 1)"),
        ["(assume x 1): a directive stands in square brackets, not in parentheses"]
    );
    assert_eq!(errors("assume x 1"), ["assume x 1: a directive stands in square brackets"]);
    assert_eq!(errors("a:"), ["a:: the label a has no directive"]);
}

#[test]
fn brackets_in_the_wrong_place_are_explained() {
    assert_eq!(errors("[assume x [1 2]]"), ["[1 2]: `[` cannot stand inside an expression"]);
    assert_eq!(
        hints("[assume x [1 2]]"),
        ["a list is written (list 1 2 3), a vector (vector 1 2 3)"]
    );
    assert_eq!(
        errors("[assume x (f [sample y])]"),
        ["[sample y]: the directive `sample` cannot stand inside an expression"]
    );
    assert_eq!(
        errors("[assume x {a b}]"),
        ["{a b}: expected one name in braces: `{name}` stands for a value given from outside"]
    );
    assert_eq!(errors("[assume x (f a: 1)]"), [":: unexpected `:`"]);
    assert_eq!(errors("[assume x (f ')]"), ["': expected an expression after the quote `'`"]);
}

#[test]
fn errors_of_words_and_strings_come_once() {
    assert_eq!(errors("[assume x 1.2.3]"), ["1.2.3: `1.2.3` is not a number"]);
    assert_eq!(errors("[assume x (f a, b)]"), [",: unexpected character `,`"]);
    assert_eq!(errors("[load \"a.smg]\n[predict x]"), ["\"a.smg]: this string is not closed"]);
    assert_eq!(
        errors("[for row in t\n [observe (f \"a) 1]\n [predict x]]"),
        ["\"a) 1]: this string is not closed"]
    );
}

#[test]
fn several_errors_come_at_once_in_the_order_of_the_text() {
    let text = "[asume a 1]\n[assume b (f 1]\n[predict]\n[assume c 1x]\n]";
    let marked: Vec<_> =
        errors(text).iter().map(|e| e.split(": ").next().unwrap().to_owned()).collect();
    assert_eq!(marked, ["asume", "(", "[predict]", "1x", "]"]);
}

#[test]
fn errors_beyond_a_hundred_are_not_shown() {
    let errors = errors(&"[x]\n".repeat(1000));
    assert_eq!(errors.len(), 101);
    assert!(errors[100].ends_with("there are 100 errors or more: the rest are not shown"));
}

#[test]
fn an_expression_stands_alone() {
    let errors = |text: &str| shown(text, &parse_expression(SOURCE, text).expect_err("an error"));
    assert_eq!(errors(""), [": expected one expression, found nothing"]);
    assert_eq!(errors("a b"), ["b: expected one expression, found 2"]);
    assert_eq!(
        errors("[predict x]"),
        ["[predict x]: the directive `predict` cannot stand inside an expression"]
    );
    assert_eq!(
        errors("(f 1"),
        ["(: this parenthesis `(` is not closed: expected `)` before the end of the text \
          at line 1, column 5"]
    );
}
