//! Diagnostics: where, what, and the promised words.

use crate::support::Folder;

fn wrong(program: &str, words: &[&str]) {
    let folder = Folder::with_program(program);
    let done = folder.call(&["run", "m.smg", "--seed", "1"]);
    done.fails(1, &[&["m.smg:"], words].concat());
}

#[test]
fn mistakes_have_the_promised_words() {
    for (program, words) in [
        ("[predict (+ 1 foo)]", &["m.smg:1:15", "foo", "unbound"][..]),
        ("[predict (nromal 0 1)]", &["unbound", "did you mean `normal`"]),
        ("[predict (3 4)]", &["not a procedure"]),
        ("[assume f (lambda (a b) a)]\n[predict (f 1)]", &["m.smg:2:", "f", "arguments", "2", "1"]),
        ("[assume x 1] [assume x 2]", &["already"]),
        ("[observe 1 2]", &["constant"]),
        ("[observe (+ 1 (normal 0 1)) 2]", &["deterministic"]),
        ("[assume x (normal 0 1)] [observe x 1] [observe x 1]", &["already constrained"]),
        ("[observe (beta 1 1) 2]", &["support"]),
        ("[observe (normal 0 1) \"a\"]", &["number"]),
        ("[predict (bernoulli 2)]", &["probability"]),
        ("[predict (gamma -1 1)]", &["positive"]),
        ("[predict (lookup (list 1 2) 5)]", &["index"]),
        ("[predict (first (list))]", &["pair"]),
        ("[predict (matrix (list (list 1 2) (list 3)))]", &["rectangular"]),
        ("[infer (frobnicate default one 1)]", &["frobnicate"]),
        ("[assume x (normal 0 1)] [infer (mh default 3 1)]", &["default", "block"]),
        ("[assume f (mem (lambda (n) (f n)))] [predict (f 1)]", &["mem", "recursion"]),
        ("[forget nothing]", &["nothing"]),
    ] {
        wrong(program, words);
    }
}

#[test]
fn several_syntax_errors_are_shown_at_once() {
    let words = ["m.smg:1:11", "parenthesis", "m.smg:2:11", "2 errors"];
    wrong("[assume f (lambda (x) (+ x 1)]\n[assume x (+ 1 2]", &words);
}

#[test]
fn the_place_is_marked_and_the_way_there_is_told() {
    let program = "[assume f (lambda (p)\n  (flip p))]\n[assume g (lambda (x) (f (+ x 1)))]\n\n[predict (g 2)]";
    let folder = Folder::with_program(program);
    let done = folder.call(&["run", "m.smg", "--seed", "1"]);
    done.fails(1, &["probability", "--> m.smg:2:", "2 |   (flip p))]", "^"]);
    done.fails(1, &["in a call of f, m.smg:3:23", "in a call of g, m.smg:5:10: (g 2)"]);
}

#[test]
fn odd_texts_are_survived() {
    let long = format!("[predict (+ {} nothing)]", "1 ".repeat(20_000));
    for program in
        ["[", "]", "\"", "[predict \"é", "\t[predict\t(é)]", "[predict (+ '日本 1)]", &long]
    {
        let folder = Folder::with_program(program);
        let done = folder.call(&["run", "m.smg", "--seed", "1"]);
        done.fails(1, &["m.smg:1:"]);
        assert!(done.err.len() < 2000, "{}", done.err);
    }
    assert_eq!(Folder::with_program("").call(&["run", "m.smg", "--seed", "1"]).good(), "");
}

#[test]
fn a_loaded_file_is_named() {
    let folder = Folder::with_program("[load \"inner.smg\"]");
    folder.write("inner.smg", "\n [predict q]");
    folder.call(&["run", "m.smg", "--seed", "1"]).fails(1, &["inner.smg:2:11", "unbound"]);
    folder.call(&["run", "none.smg", "--seed", "1"]).fails(1, &["none.smg", "no such file"]);
}

#[test]
fn wrong_usage_ends_with_2() {
    let folder = Folder::with_program("");
    folder.call(&[]).fails(2, &["Usage"]);
    folder.call(&["frobnicate"]).fails(2, &["frobnicate"]);
    folder.call(&["run"]).fails(2, &["<FILE>"]);
    folder.call(&["run", "m.smg", "--sed", "1"]).fails(2, &["--seed"]);
    folder.call(&["run", "m.smg", "--format", "xml"]).fails(2, &["json"]);
}

#[test]
fn no_colours_without_a_terminal() {
    let done = Folder::with_program("[predict q]").call(&["run", "m.smg", "--seed", "1"]);
    assert!(!done.err.contains('\u{1b}'));
}

/// Labels, columns, files and options come from elsewhere: what would steer a terminal is shown.
#[test]
fn nothing_steers_the_terminal() {
    let folder =
        Folder::with_program("[assume x (normal 0 1)] \"a\u{1b}[31mred\u{202e}\": [predict x]");
    folder.write("t.csv", "a\u{1b}[2J,b\n1,2\n");
    folder.write("columns.smg", "[table t \"t.csv\"] [for r in t [predict r.c]]");
    folder.write("bad\u{1b}[31m.smg", "[sample (+ 1 y)]");
    let calls: [&[&str]; 6] = [
        &["sample", "m.smg", "--seed", "1", "--draws", "20", "--warmup", "10"],
        &["run", "m.smg", "--seed", "1"],
        &["check", "columns.smg"],
        &["run", "bad\u{1b}[31m.smg"],
        &["sample", "m.smg", "--record", "y\u{1b}[31m"],
        &["run", "none\u{1b}[31m.smg"],
    ];
    for call in calls {
        let done = folder.call(call);
        for text in [&done.out, &done.err] {
            let steers = text.contains(|c: char| c == '\u{202e}' || (c.is_control() && c != '\n'));
            assert!(!steers, "{call:?}: {text:?}");
        }
    }
    let shown = folder.call(&["run", "m.smg", "--seed", "1"]).good();
    assert!(shown.contains("a\\u{1b}[31mred\\u{202e} = "), "{shown}");
}
