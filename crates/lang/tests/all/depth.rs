//! Deep nesting gives a result or an error that names the limit, on a small stack and in linear
//! time.

use std::time::{Duration, Instant};

use smidgen_lang::core::ExprRef;
use smidgen_lang::lower::{Scope, free_globals, lower, quote_to_value, syntax_of_value};
use smidgen_lang::parser::{is_incomplete, parse, parse_expression};
use smidgen_lang::printer::print;
use smidgen_value::Value;

use crate::support::{SOURCE, expression, world};

/// Runs on a stack half the size threads have by default.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

fn drop_on_a_tiny_stack(expr: ExprRef) {
    let work = move || drop(expr);
    std::thread::Builder::new().stack_size(64 << 10).spawn(work).unwrap().join().unwrap();
}

fn nested(open: &str, inside: &str, close: &str, depth: usize) -> String {
    [&*open.repeat(depth), inside, &*close.repeat(depth)].concat()
}

#[test]
fn expressions_up_to_the_limit_go_all_the_way() {
    on_a_small_stack(|| {
        let syntax = expression(&nested("(f ", "1", ")", 9_999));
        assert_eq!(syntax, syntax.clone());
        assert_eq!(print(&syntax).len(), 4 * 9_999 + 1);
        assert!(quote_to_value(&syntax).is_ok());
        let expr = lower(&syntax, &Scope::global(), &world()).unwrap();
        assert_eq!(free_globals(&expr).len(), 1);
        drop(syntax);
        drop_on_a_tiny_stack(expr);
        for form in [
            "(lambda () ",
            "(let ((a 1)) ",
            "(and 1 ",
            "(letrec ((a 1)) ",
            "(begin 1 ",
            "(if 1 2 ",
            "(scope_exclude 0 ",
        ] {
            let syntax = expression(&nested(form, "1", ")", 9_990));
            drop_on_a_tiny_stack(lower(&syntax, &Scope::global(), &world()).unwrap());
        }
    });
}

#[test]
fn beyond_the_limit_one_error_names_it() {
    on_a_small_stack(|| {
        for (open, close) in [("(", ")"), ("'", ""), ("('", ")"), ("(quote ", ")"), ("(f ", "")] {
            let errors =
                parse_expression(SOURCE, &nested(open, "x", close, 100_000)).expect_err("deep");
            let naming = errors.iter().filter(|error| error.message.contains("10000 levels"));
            assert_eq!(naming.count(), 1, "{open}");
            assert!(errors.len() <= 2, "{open}");
        }
        let parsed = parse(SOURCE, &nested("[for x in t ", "[clear]", "]", 10_000));
        assert!(parsed.diagnostics[0].message.contains("100 levels"));
    });
}

#[test]
fn sugar_counts_as_nesting() {
    on_a_small_stack(|| {
        let lowered = |text: &str| lower(&expression(text), &Scope::global(), &world());
        for form in ["(and{} 1)", "(or{} 1)", "(begin{})"] {
            let text = |count: usize| form.replace("{}", &" x".repeat(count));
            assert!(lowered(&text(4_000)).is_ok(), "{form}");
            match lowered(&text(100_000)) {
                Ok(_) => assert_eq!(form, "(begin{})"),
                Err(errors) => {
                    assert_eq!(errors.len(), 1);
                    assert!(errors[0].message.contains("10000 levels"));
                }
            }
        }
        let bindings = "(a 1)".repeat(100_000);
        assert_eq!(lowered(&format!("(let ({bindings}) a)")).expect_err("deep").len(), 1);
        let clauses = "(a 1)".repeat(100_000);
        assert_eq!(lowered(&format!("(cond {clauses} (else 1))")).expect_err("deep").len(), 1);
    });
}

#[test]
fn a_deep_value_is_no_code() {
    let deep = |depth| (0..depth).fold(Value::symbol("x"), |value, _| Value::list([value]));
    let span = expression("x").span;
    let error = syntax_of_value(&deep(100_000), span).expect_err("deep");
    assert!(error.message.contains("1000 levels"));
    assert_eq!(print(&syntax_of_value(&deep(1_000), span).unwrap()).len(), 2_001);
}

#[test]
fn hostile_texts_take_linear_time() {
    let start = Instant::now();
    let halves = [
        "(",
        "[",
        "{",
        "[for x in t ",
        "[(",
        "'",
        "a:",
        "\"\n",
        "[x\n",
        "a: [\n",
        ")",
        "]",
        "}",
        "'[",
        "[assume x (",
    ];
    for first in halves {
        for second in halves {
            let text = [first.repeat(20_000), second.repeat(20_000)].concat();
            drop(parse(SOURCE, &text));
            drop(parse_expression(SOURCE, &text));
            is_incomplete(&text);
        }
    }
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
}
