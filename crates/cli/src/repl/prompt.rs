//! The line editor: history in a file, texts over several lines, completion of names.

use std::path::PathBuf;

use rustyline::completion::{Completer, Pair};
use rustyline::config::Config;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Editor, Helper};
use smidgen::lang::parser::is_incomplete;
use smidgen::reference;

use super::reader::Entry;

const HISTORY_SIZE: usize = 2000;

pub struct Prompt {
    editor: Editor<Language, DefaultHistory>,
    history: Option<PathBuf>,
}

impl Prompt {
    /// None if the terminal cannot be used for editing.
    pub fn new(names: Vec<String>) -> Option<Prompt> {
        let config = Config::builder().auto_add_history(true);
        let config = config.max_history_size(HISTORY_SIZE).ok()?.build();
        let mut editor = Editor::with_config(config).ok()?;
        editor.set_helper(Some(Language { names }));
        let history = history_file();
        if let Some(path) = &history {
            // There is none at the first start.
            let _ = editor.load_history(path);
        }
        Some(Prompt { editor, history })
    }

    pub fn set_names(&mut self, names: Vec<String>) {
        if let Some(language) = self.editor.helper_mut() {
            language.names = names;
        }
    }

    pub fn next(&mut self) -> Entry {
        match self.editor.readline("> ") {
            Ok(text) => {
                self.keep_history();
                Entry::Text(text)
            }
            Err(ReadlineError::Interrupted) => Entry::Cancelled,
            Err(_) => Entry::End,
        }
    }

    /// A history that cannot be kept is no reason to complain.
    fn keep_history(&mut self) {
        if let Some(path) = &self.history {
            if let Some(folder) = path.parent() {
                let _ = std::fs::create_dir_all(folder);
            }
            let _ = self.editor.append_history(path);
        }
    }
}

/// `smidgen/history` in the user's folder for such things.
fn history_file() -> Option<PathBuf> {
    let folder =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = folder("XDG_STATE_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".local/state")))
        .or_else(|| folder("LOCALAPPDATA"))?;
    Some(state.join("smidgen").join("history"))
}

// ---------------------------------------------------------------- the language

/// What the editor knows about the language.
struct Language {
    /// Procedures and the names of the program.
    names: Vec<String>,
}

impl Helper for Language {}

impl Highlighter for Language {}

impl Hinter for Language {
    type Hint = String;
}

impl Validator for Language {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let incomplete = !context.input().starts_with(':') && is_incomplete(context.input());
        Ok(if incomplete { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Completer for Language {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, found) = self.candidates(&line[..position]);
        let pair = |name: String| Pair { display: name.clone(), replacement: name };
        Ok((start, found.into_iter().map(pair).collect()))
    }
}

impl Language {
    /// Where the last word of a text begins, and the names that begin like it: after `[` those
    /// of directives, after `:` those of commands.
    fn candidates(&self, text: &str) -> (usize, Vec<String>) {
        let is_boundary = |c: char| c.is_whitespace() || "()[]{}'\";".contains(c);
        let start = text.rfind(is_boundary).map_or(0, |i| text[i..].ceil_char_boundary(1) + i);
        let (before, word) = text.split_at(start);
        let mut found: Vec<String> = if before.ends_with('[') {
            entries(|group| group == "Directives")
        } else if before.is_empty() && word.starts_with(':') {
            [":help", ":trace", ":scaffold", ":quit"].map(str::to_owned).into()
        } else {
            let mut names = entries(|group| group != "Directives" || before.starts_with(":help"));
            names.extend(self.names.iter().cloned());
            names
        };
        found.retain(|name| name.starts_with(word));
        found.sort();
        found.dedup();
        (start, found)
    }
}

fn entries(wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let all = reference::entries().into_iter();
    all.filter(|entry| wanted(entry.group)).map(|entry| entry.name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_by_where_they_stand() {
        let language = Language { names: vec!["omega".to_owned(), "normal".to_owned()] };
        for (text, start, expected) in [
            ("[obs", 1, vec!["observe"]),
            ("[observe (normal om", 17, vec!["omega"]),
            ("(norma", 1, vec!["normal", "normalize"]),
            (":tr", 0, vec![":trace"]),
            (":help obs", 6, vec!["observe"]),
            ("(f é om", 6, vec!["omega"]),
        ] {
            let (from, found) = language.candidates(text);
            assert_eq!(
                (from, found),
                (start, expected.iter().map(|&s| s.to_owned()).collect()),
                "{text}"
            );
        }
    }
}
