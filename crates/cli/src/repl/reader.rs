//! Where the texts come from: a terminal with editing, history and completion, or a pipe.

use std::io::{self, BufRead, IsTerminal};

use smidgen::lang::parser::is_incomplete;

use super::prompt::Prompt;

pub enum Entry {
    Text(String),
    /// The text was thrown away.
    Cancelled,
    End,
}

pub enum Reader {
    Terminal(Box<Prompt>),
    Pipe,
}

impl Reader {
    /// `names` are what completion offers besides the language's own.
    pub fn new(names: Vec<String>) -> Reader {
        let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        let prompt = if is_terminal { Prompt::new(names) } else { None };
        prompt.map_or(Reader::Pipe, |prompt| Reader::Terminal(Box::new(prompt)))
    }

    pub fn is_terminal(&self) -> bool {
        matches!(self, Reader::Terminal(_))
    }

    pub fn set_names(&mut self, names: Vec<String>) {
        if let Reader::Terminal(prompt) = self {
            prompt.set_names(names);
        }
    }

    pub fn next(&mut self) -> Entry {
        match self {
            Reader::Terminal(prompt) => prompt.next(),
            Reader::Pipe => piped(),
        }
    }
}

/// Lines up to where the text is complete.
fn piped() -> Entry {
    let mut text = String::new();
    loop {
        let mut line = Vec::new();
        match io::stdin().lock().read_until(b'\n', &mut line) {
            Ok(0) | Err(_) if text.trim().is_empty() => return Entry::End,
            Ok(0) | Err(_) => return Entry::Text(text),
            Ok(_) => text.push_str(&String::from_utf8_lossy(&line)),
        }
        if !is_incomplete(&text) {
            return Entry::Text(text);
        }
    }
}
