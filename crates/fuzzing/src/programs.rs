//! Any text as a program.
//!
//! [`read`]: it is parsed, lowered and checked, and whatever is wrong is shown as the command shows it. [`run`]: its directives
//! are executed one by one on a table that is there, a small one; then 20 draws of the default kernel. After each
//! directive the trace is in order, and one that failed has left everything as it was.
//!
//! A program may ask for more than anybody has time for. That is no fault as long as it can be interrupted: it is, after a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use smidgen::engine::Model;
use smidgen::engine::check::check;
use smidgen::lang::parser::{is_incomplete, parse_expression};
use smidgen::lang::{Diagnostic, SourceId};
use smidgen::value::{Column, Symbol, Table, Value};
use smidgen::{Session, Settings, TopDirective};

/// After so long somebody loses patience.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longer texts only take longer.
const LONGEST: usize = 20_000;

/// A text that reads no files: those of this machine are not meant.
fn text_of(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]).into_owned();
    let touches_files = text.contains("load") || text.contains("\"/") || text.contains("..");
    (!touches_files).then_some(text)
}

/// Everything that is done with a program before it runs.
pub fn read(bytes: &[u8]) {
    let Some(text) = text_of(bytes) else { return };
    let _ = (is_incomplete(&text), parse_expression(SourceId(0), &text));
    let mut session = session(Arc::default());
    let found = match session.parse_text("any.smg", &text) {
        Ok(program) => smidgen::check::check(&mut session, &program),
        Err(diagnostics) => diagnostics,
    };
    show(&session, &found);
}

/// The program, directive by directive, and 20 draws of the default kernel.
pub fn run(bytes: &[u8]) {
    let Some(text) = text_of(bytes) else { return };
    patiently(|interrupt| all(&text, interrupt));
}

/// What somebody does who interrupts it after a while.
pub fn patiently(work: impl FnOnce(Arc<AtomicBool>)) {
    let interrupt = Arc::new(AtomicBool::new(false));
    let (done, waits) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let stop = &interrupt;
        scope.spawn(move || {
            if waits.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        // Dropped when it is over, however that comes about.
        let _done = done;
        work(interrupt.clone());
    });
}

fn all(text: &str, interrupt: Arc<AtomicBool>) {
    let mut session = session(interrupt.clone());
    let program = match session.parse_text("any.smg", text) {
        Ok(program) => program,
        Err(diagnostics) => return show(&session, &diagnostics),
    };
    for directive in &program {
        step(&mut session, directive);
        if interrupt.load(Ordering::Relaxed) {
            return;
        }
    }
    let Ok(moves) = session.parse_text("moves.smg", "[infer 20]") else { return };
    for directive in &moves {
        step(&mut session, directive);
    }
}

/// A session with tables `t` and `train` of three rows.
pub fn session(interrupt: Arc<AtomicBool>) -> Session {
    let mut session = Session::new(Settings { seed: 1, interrupt, ..Settings::default() });
    let table = Arc::new(Table::new(vec![
        (Symbol::new("x"), Column::Reals(vec![0.5, -1.0, 2.0].into())),
        (Symbol::new("y"), Column::Booleans(vec![true, false, true].into())),
        (
            Symbol::new("v"),
            Column::Vectors { data: vec![1.0, 0.0, 0.5, -1.0, 2.0, 1.0].into(), width: 2 },
        ),
    ]));
    for name in ["t", "train"] {
        session.give_table(name, table.clone());
    }
    session.give_parameter("sd".to_owned(), Value::Number(1.5));
    session
}

/// What a directive that fails must leave as it was.
#[derive(Debug, PartialEq)]
pub struct Standing {
    records: usize,
    nodes: usize,
    choices: usize,
    log_joint: Option<u64>,
}

impl Standing {
    pub fn of(model: &mut Model) -> Standing {
        let log_joint = model.log_joint().ok().map(f64::to_bits);
        let nodes = model.live_nodes().count();
        let choices = model.choices().len();
        Standing { records: model.records().len(), nodes, choices, log_joint }
    }
}

/// Executes a directive and looks whether the trace is in order; if it failed, whether it is what it was.
///
/// # Panics
/// If it is not.
pub fn step(session: &mut Session, directive: &TopDirective) -> bool {
    let before = Standing::of(session.model());
    let done = session.execute(directive);
    if let Err(broken) = check(session.model()) {
        panic!("{broken}");
    }
    if let Err(diagnostics) = &done {
        show(session, diagnostics);
        let after = Standing::of(session.model());
        // What an inference program did before it failed has happened.
        let moves =
            matches!(directive.directive.kind, smidgen::lang::syntax::DirectiveKind::Infer { .. });
        assert!(
            moves || before == after,
            "a directive failed and left something: {before:?}, {after:?}"
        );
    }
    done.is_ok()
}

/// Mistakes as the command shows them; each has a place in the text or none.
fn show(session: &Session, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        let shown = smidgen_cli::rendered(diagnostic, session.sources());
        let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!shown.contains(steers), "control characters reach the terminal: {shown:?}");
    }
}
