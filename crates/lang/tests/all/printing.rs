use smidgen_lang::printer::{print, squeeze};

use crate::support::expression;

#[test]
fn an_expression_prints_on_one_line() {
    for text in
        ["(f 1 -2.5 1e-7 true)", "''(a \"b\\n\\\"\")", "{a.b}", "()", "(< 0 1e16)", "\"\\u{7}é\""]
    {
        assert_eq!(print(&expression(text)), text);
    }
    assert_eq!(print(&expression("( f   ; one\n (quote  x) )")), "(f 'x)");
}

#[test]
fn squeezing_keeps_the_text_but_for_blanks_and_comments() {
    assert_eq!(squeeze("  (f\n   1 ; one\n   2)  "), "(f 1 2)");
    assert_eq!(squeeze("(f \"a  ; b\"   x)"), "(f \"a  ; b\" x)");
    assert_eq!(squeeze("( f 1.0 )"), "( f 1.0 )");
    assert_eq!(squeeze("; nothing"), "");
    assert_eq!(squeeze("(a;x\nb)"), "(a b)");
}
