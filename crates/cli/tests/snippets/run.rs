//! Runs the blocks of a page in a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::page::{Block, Kind};
use crate::repository;

/// A temporary folder with copies of the examples, gone at the end.
pub struct Folder(PathBuf);

/// The words for a program that is shown without a command.
const FEW_DRAWS: &[&str] = &["--chains", "1", "--warmup", "20", "--draws", "20", "--seed", "1"];

/// What stands for `cargo` where a page says how to build and run at once.
const CARGO: &str = "#!/bin/sh
[ \"$1 $2 $3\" = 'run --release --' ] || { echo \"not here: cargo $*\" >&2; exit 1; }
shift 3
exec smidgen \"$@\"
";

impl Folder {
    pub fn new(page: &str) -> Folder {
        let name = page.replace(['/', '.'], "-");
        let path = std::env::temp_dir().join(format!("smidgen-{name}-{}", std::process::id()));
        let folder = Folder(path);
        copy(&repository().join("examples"), &folder.path("examples"));
        let stand_ins = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snippets/data");
        copy(&stand_ins, &folder.0);
        let commands = folder.path(".commands");
        fs::create_dir_all(&commands).expect("a folder for commands");
        let smidgen = format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_smidgen"));
        for (name, text) in [("smidgen", smidgen.as_str()), ("cargo", CARGO)] {
            let path = commands.join(name);
            fs::write(&path, text).expect("a command can be written");
            let done = Command::new("chmod").arg("+x").arg(&path).status();
            assert!(done.is_ok_and(|status| status.success()), "chmod works");
        }
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let mut path = self.path(".commands").into_os_string();
        if let Some(rest) = std::env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        command.current_dir(&self.0).stdin(Stdio::null()).env("PATH", path);
        command.env("XDG_STATE_HOME", &self.0);
        command
    }

    /// Runs all blocks in their order; what each command printed is returned at its output block.
    pub fn run(&self, blocks: &[Block]) -> Vec<String> {
        let mut printed = vec![String::new(); blocks.len()];
        let mut last_output = String::new();
        let (mut program, mut script) = (String::new(), String::new());
        for (index, block) in blocks.iter().enumerate() {
            if let Some(why) = &block.skip {
                println!("{}: not run: {why}", block.place);
                continue;
            }
            match block.kind {
                Kind::Program => {
                    program = joined(&program, block);
                    match &block.file {
                        Some(file) => self.put(file, block),
                        None => self.run_program(&program, block),
                    }
                }
                Kind::Data => self.put(block.file.as_deref().expect("data have a file"), block),
                Kind::Commands => last_output = self.run_commands(block),
                Kind::Output => printed[index].clone_from(&last_output),
                Kind::Python => {
                    script = joined(&script, block);
                    self.run_python(&script, block);
                }
            }
        }
        printed
    }

    /// Puts a block into its file. A file of the repository has to be equal already.
    fn put(&self, file: &str, block: &Block) {
        let path = self.path(file);
        if repository().join(file).exists() {
            let text = fs::read_to_string(&path).expect("a file of the examples");
            assert_eq!(block.text, text, "{}: {file} reads otherwise", block.place);
        } else {
            fs::write(path, &block.text).expect("a file can be written");
        }
    }

    fn run_program(&self, text: &str, block: &Block) {
        fs::write(self.path("block.smg"), text).expect("a program can be written");
        let mut command = self.command(self.path(".commands/smidgen"));
        good(command.args(["sample", "block.smg"]).args(FEW_DRAWS), block);
    }

    fn run_commands(&self, block: &Block) -> String {
        good(self.command("sh").args(["-e", "-c", &block.text]), block)
    }

    /// A script is a file, since models are compiled from their source, and begins with `before.py`,
    /// which gives the names of data that pages speak of. Run folders that it makes are taken away: a block that goes
    /// on with this one makes them again. Without the package a message says so.
    fn run_python(&self, script: &str, block: &Block) {
        let python = std::env::var("SMIDGEN_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let probe = self.command(&python).args(["-c", "import smidgen"]).output();
        if probe.is_ok_and(|done| done.status.success()) {
            let data = fs::read_to_string(self.path("before.py")).expect("data for Python");
            fs::write(self.path("block.py"), data + script).expect("a script can be written");
            let before = self.run_folders();
            good(self.command(&python).arg("block.py"), block);
            for made in self.run_folders().into_iter().filter(|path| !before.contains(path)) {
                fs::remove_dir_all(made).expect("a folder can be removed");
            }
        } else {
            println!("{}: not run: {python} has no package smidgen", block.place);
        }
    }

    fn run_folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).expect("a folder can be read");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "run")).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The text so far with a block that goes on with it, else the block alone.
fn joined(before: &str, block: &Block) -> String {
    assert!(!block.continues || !before.is_empty(), "{}: it continues nothing", block.place);
    if block.continues { format!("{before}{}", block.text) } else { block.text.clone() }
}

/// What a command prints, which must go well.
fn good(command: &mut Command, block: &Block) -> String {
    let done = command.output().expect("the command starts");
    let out = String::from_utf8_lossy(&done.stdout).into_owned();
    let err = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{} fails:\n{}\n{out}{err}", block.place, block.text);
    out
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("a folder can be read") {
        let entry = entry.expect("an entry");
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a file can be copied");
        }
    }
}

/// Holds every output block against what was printed.
pub fn compare(blocks: &[Block], printed: &[String]) {
    for (block, printed) in blocks.iter().zip(printed) {
        if block.kind != Kind::Output || block.skip.is_some() {
            continue;
        }
        let mut lines = printed.lines();
        assert!(!block.text.trim().is_empty(), "{}: no output is shown", block.place);
        for shown in block.text.lines() {
            let found = lines.next().unwrap_or("").trim_end();
            let same = if block.about { about(shown, found) } else { shown.trim_end() == found };
            assert!(
                same,
                "{} shows\n{shown}\nbut this comes:\n{found}\nin\n{printed}",
                block.place
            );
        }
    }
}

/// Whether two lines have the same words, and numbers that differ by a factor of two or
/// by one at most.
fn about(shown: &str, found: &str) -> bool {
    let words =
        |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
    let (shown, found) = (words(shown), words(found));
    let number = |word: &str| word.trim_matches(['(', ')', ',', '%', ':']).parse::<f64>().ok();
    let alike = |(a, b): (&String, &String)| match (number(a), number(b)) {
        (Some(x), Some(y)) => (x - y).abs() <= f64::max(1.0, 0.5 * x.abs().max(y.abs())),
        _ => a == b,
    };
    shown.len() == found.len() && shown.iter().zip(&found).all(alike)
}

#[test]
fn numbers_are_compared_loosely_and_words_are_not() {
    assert!(about("p 0.66 1850 1.003", "p  0.5 1200 1.001"));
    assert!(!about("p 0.66", "q 0.66"));
    assert!(!about("p 66", "p 20"));
    assert!(!about("p 66", "p -66"));
    assert!(!about("p 0.66", "p 0.66 1"));
}
