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

/// What a terminal shows while this is typed or pasted, piece by piece; None where there is no `script` to make one.
#[cfg(target_os = "linux")]
fn on_a_terminal(pieces: &[&str]) -> Option<String> {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    let folder = Folder::new();
    let exe = env!("CARGO_BIN_EXE_smidgen");
    let mut command = Command::new("script");
    command.args(["-qec", &format!("{exe} repl --seed 1"), "/dev/null"]);
    command
        .current_dir(folder.path("."))
        .env("XDG_STATE_HOME", folder.path("."))
        .env("TERM", "xterm");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        eprintln!("there is no command `script`: skipped");
        return None;
    };
    let mut keys = child.stdin.take().expect("a pipe");
    let mut screen = child.stdout.take().expect("a pipe");
    let (send, shown) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 1024];
        while let Ok(n @ 1..) = screen.read(&mut bytes) {
            let _ = send.send(String::from_utf8_lossy(&bytes[..n]).into_owned());
        }
    });
    let mut text = String::new();
    for piece in pieces.iter().chain(&[":quit\r"]) {
        // The next piece comes when it is quiet; the first when there is a prompt.
        let patience = std::time::Duration::from_secs(if text.contains("> ") { 2 } else { 60 });
        while let Ok(more) = shown.recv_timeout(patience) {
            text.push_str(&more);
            if text.contains("> ") && patience.as_secs() > 2 {
                break;
            }
        }
        keys.write_all(piece.as_bytes()).expect("typed");
        keys.flush().expect("typed");
    }
    crate::support::wait_until(|| child.try_wait().is_ok_and(|ended| ended.is_some()));
    text.extend(shown.iter());
    Some(text)
}

/// Several lines at once: as a terminal sends them that knows no brackets, and between brackets; directives and
/// expressions mixed, some over several lines.
#[cfg(target_os = "linux")]
#[test]
fn pasted_lines_are_all_taken() {
    let raw = "[assume x 2]\r(+ x\r   40)\rx\r[assume z 7]\r(* z\r 100)\r";
    let bracketed = "\u{1b}[200~[assume y 3]\n(+ y\n 10)\n[predict (* y\n 20)]\n\u{1b}[201~\r";
    let Some(text) = on_a_terminal(&[raw, bracketed]) else { return };
    for shown in ["x = 2\r\n", "42\r\n", "z = 7\r\n", "700\r\n", "y = 3\r\n", "13\r\n", "= 60\r\n"]
    {
        assert!(text.contains(shown), "{shown:?} is not in {text:?}");
    }
    assert!(!text.contains("error"), "{text:?}");
}
