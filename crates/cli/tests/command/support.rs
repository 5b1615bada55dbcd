//! Calls the command in a folder of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

/// No test waits longer than this for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// A temporary folder, gone at the end of the test.
pub struct Folder(PathBuf);

/// What a command left behind.
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("smidgen-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    /// A folder with one program, `m.smg`.
    pub fn with_program(text: &str) -> Folder {
        let folder = Folder::new();
        folder.write("m.smg", text);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file for the test");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file that was written")
    }

    pub fn start(&self, args: &[&str], input: Stdio) -> Child {
        command(&self.0, args).stdin(input).spawn().expect("the command starts")
    }

    /// Runs the command in this folder.
    pub fn call(&self, args: &[&str]) -> Done {
        finish(self.start(args, Stdio::null()))
    }

    /// The same with a text on its standard input.
    pub fn call_with_input(&self, args: &[&str], input: &str) -> Done {
        let mut child = self.start(args, Stdio::piped());
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(input.as_bytes()).expect("the command reads its input");
        drop(pipe);
        finish(child)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_smidgen"));
    command.args(args).current_dir(folder);
    command.env("XDG_STATE_HOME", folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for the end, but not forever.
pub fn finish(child: Child) -> Done {
    let id = child.id();
    let (sender, receiver) = std::sync::mpsc::channel();
    let waiter = std::thread::spawn(move || sender.send(child.wait_with_output()));
    let output = receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        signal("KILL", id);
        panic!("the command does not end");
    });
    waiter.join().expect("the waiter ends").expect("the test listens");
    Done::from(output.expect("the command can be waited for"))
}

/// Sends a signal to a process that a test has started.
pub fn signal(name: &str, process: u32) {
    let script = format!("kill -{name} {process}");
    let _ = Command::new("sh").args(["-c", &script]).status();
}

/// Waits until something holds.
pub fn wait_until(mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

impl From<Output> for Done {
    fn from(output: Output) -> Done {
        Done {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

impl Done {
    /// Its output; it must have gone well.
    pub fn good(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// The output as one JSON value.
    pub fn json(self) -> Json {
        let out = self.good();
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// The lines of the output as JSON values.
    pub fn json_lines(self) -> Vec<Json> {
        let out = self.good();
        out.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
    }

    /// It must have failed with this code and said all these words.
    pub fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        for word in words {
            assert!(self.err.contains(word), "`{word}` is not in: {}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }
}
