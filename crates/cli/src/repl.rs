//! `smidgen repl`: directives and expressions, typed or piped in, on one trace. An error leaves
//! everything as it was.

mod pieces;
mod prompt;
mod reader;

use std::io::{self, Write};
use std::path::PathBuf;

use smidgen::lang::Diagnostic;
use smidgen::lang::syntax::{Directive, DirectiveKind};
use smidgen::{Outcome, OutcomeKind, Session, TopDirective};

use crate::args::{Picture, ReplArgs, View};
use crate::failure::{Failure, guarded, say};
use crate::inputs::Seed;
use crate::interrupt::Interrupt;
use crate::{debug, help, inputs, output, render, run, screen};
use pieces::{Piece, pieces};
use reader::{Entry, Reader};

const COMMANDS: &str = "\
[assume x (normal 0 1)] and other directives change the model; an expression shows its value
:help [NAME]               explain a name of the language, or list all names
:trace                     show the trace
:scaffold [SCOPE [BLOCK]]  show what a move of this block touches
:quit                      leave (also Ctrl-D); Ctrl-C stops a running inference
";

pub fn repl(args: &ReplArgs) -> Result<(), Failure> {
    let seed = Seed::new(&args.seed);
    let interrupt = Interrupt::listen(false);
    let session = inputs::session(&args.inputs, seed.value, interrupt.flag.clone())?;
    seed.show();
    let mut repl = Repl { session, interrupt };
    let mut reader = Reader::new(names(&repl.session));
    if reader.is_terminal() {
        writeln!(io::stdout(), "smidgen {} (:help explains)", env!("CARGO_PKG_VERSION"))?;
    }
    loop {
        match reader.next() {
            Entry::Text(text) => {
                if !repl.answer(&text)? {
                    return Ok(());
                }
                reader.set_names(names(&repl.session));
            }
            Entry::Cancelled => {}
            Entry::End => return Ok(()),
        }
    }
}

struct Repl {
    session: Session,
    interrupt: Interrupt,
}

impl Repl {
    /// Does what was typed or pasted, piece by piece; after a mistake the rest is left. False when it was the wish to
    /// leave.
    fn answer(&mut self, text: &str) -> Result<bool, Failure> {
        let pieces = pieces(text);
        for (k, piece) in pieces.iter().enumerate() {
            let went_well = match piece {
                Piece::Command(command) => {
                    let words: Vec<&str> = command.split_whitespace().collect();
                    if matches!(words.as_slice(), ["quit" | "q" | "exit"]) {
                        return Ok(false);
                    }
                    match self.command(&words) {
                        Ok(shown) => screen::show(&shown)?,
                        Err(message) => render::error(&message),
                    }
                    true
                }
                Piece::Directives(text) => {
                    let program = self.session.parse_text("<repl>", text);
                    self.execute_all(program)?
                }
                Piece::Expression(text) => {
                    let program = self.expression(text);
                    self.execute_all(program)?
                }
            };
            let left = pieces.len() - k - 1;
            if !went_well && left > 0 {
                let plural = if left == 1 { "" } else { "s" };
                say(&format!(
                    "what followed in the same text was not done ({left} piece{plural} left)"
                ));
                break;
            }
        }
        Ok(true)
    }

    fn command(&mut self, words: &[&str]) -> Result<String, String> {
        match words {
            ["help" | "h"] => Ok(format!("{COMMANDS}\n{}", help::names())),
            ["help" | "h", name] => help::about(name),
            ["trace"] => debug::picture(&mut self.session, View::Trace, "", None, Picture::Text),
            ["scaffold", place @ ..] if place.len() <= 2 => {
                let scope = place.first().copied().unwrap_or("default");
                let block = place.get(1).copied();
                debug::picture(&mut self.session, View::Scaffold, scope, block, Picture::Text)
            }
            _ => Err("there is no such command here; :help lists them".to_owned()),
        }
    }

    /// False if something failed.
    fn execute_all(
        &mut self,
        program: Result<Vec<TopDirective>, Vec<Diagnostic>>,
    ) -> Result<bool, Failure> {
        match program {
            Ok(program) => {
                for top in &program {
                    if !self.execute(top)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Err(diagnostics) => {
                render::show(&diagnostics, self.session.sources());
                Ok(false)
            }
        }
    }

    /// A bare expression is `[sample expression]`.
    fn expression(&mut self, text: &str) -> Result<Vec<TopDirective>, Vec<Diagnostic>> {
        let expr = self.session.parse_option("<repl>", text).map_err(|error| error.0)?;
        let span = expr.span;
        let directive = Directive { label: None, kind: DirectiveKind::Sample { expr }, span };
        Ok(vec![TopDirective { number: 0, directive, folder: PathBuf::new() }])
    }

    /// Executes a directive and shows what it has to show. False if it failed or was stopped.
    fn execute(&mut self, top: &TopDirective) -> Result<bool, Failure> {
        let session = &mut self.session;
        let noted = session.catalog().notes().len();
        let result = self.interrupt.during(|| guarded(|| session.execute(top)));
        render::notes(&self.session, noted);
        let stopped = self.interrupt.is_set();
        match result {
            Some(Ok(outcomes)) => self.show(top, &outcomes)?,
            Some(Err(_)) if stopped => {}
            Some(Err(diagnostics)) => {
                render::show(&diagnostics, self.session.sources());
                return Ok(false);
            }
            None => {
                say("the directive was undone; the prompt goes on");
                return Ok(false);
            }
        }
        if stopped {
            say("interrupted");
        }
        Ok(!stopped)
    }

    fn show(&self, top: &TopDirective, outcomes: &[Outcome]) -> io::Result<()> {
        let mut shown = String::new();
        for outcome in outcomes {
            match &outcome.kind {
                OutcomeKind::Sample(value) => shown.push_str(&format!("{value}\n")),
                _ => {
                    shown.push_str(&output::text(outcome, &top.directive, self.session.sources()));
                }
            }
        }
        screen::show(&shown)?;
        run::show_warnings(outcomes);
        Ok(())
    }
}

/// What may be typed in place of a name.
fn names(session: &Session) -> Vec<String> {
    smidgen::lang::lower::Catalog::known_names(session.catalog())
}
