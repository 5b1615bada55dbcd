//! `smidgen repl`, fed through a pipe.

use crate::support::{Done, Folder};

fn typed(text: &str) -> Done {
    Folder::new().call_with_input(&["repl", "--seed", "1"], text)
}

#[test]
fn directives_and_expressions_show_their_values() {
    let out = typed("[assume x 2]\n(+ x\n   40)\nx\na: [predict (* x 3)] [report a]\n[observe (normal x 1) 2]\n").good();
    assert_eq!(out, "x = 2\n42\n2\na = 6\na = 6\n");
}

#[test]
fn an_error_leaves_the_session_as_it_was() {
    let text = "[assume x 2]\n[assume x 3]\n(foo\n 1)\n(f\n[assume y (foo)]\n)\n]\n[assume y (first 1)]\n\
                [assume y 5]\n(+ x y)\n";
    let done = typed(text);
    done.fails(0, &["already", "unbound", "pair", "<repl>:1:"]);
    assert_eq!(done.out, "x = 2\ny = 5\n7\n");
}

#[test]
fn commands_begin_with_a_colon() {
    let done = typed(
        "[assume x (normal 0 1)]\n:help normal\n:trace\n:scaffold\n:help\n:bogus\n:help nromal\n:quit\n1\n",
    );
    done.fails(0, &["no such command", "did you mean `normal`"]);
    for words in ["(normal mean sd)", "x: normal(0, 1)", "principal", ":scaffold [SCOPE"] {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
    assert!(!done.out.ends_with("1\n"));
}

#[test]
fn odd_input_is_survived() {
    let done = typed("\n; nothing\n(\"unfinished\n\u{e9}\n[infer 5]\n[clear]\n\"open\n(+ 1");
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(!done.err.contains("internal error"), "{}", done.err);
}
