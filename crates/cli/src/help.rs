//! `smidgen help`: the names of the language.

use clap::CommandFactory;
use smidgen::reference::{self, Entry};

use crate::args::{Cli, HelpArgs};
use crate::failure::Failure;
use crate::screen;

pub fn help(args: &HelpArgs) -> Result<(), Failure> {
    let text = match &args.name {
        Some(name) => about(name).map_err(Failure::message)?,
        None if args.markdown => reference::markdown(),
        None => overview(),
    };
    screen::show(&text)?;
    Ok(())
}

/// Everything with this name, or what to say when there is nothing.
pub fn about(name: &str) -> Result<String, String> {
    let found = reference::find(name);
    if found.is_empty() {
        let near = reference::near(name);
        if let [only] = near.as_slice() {
            return Err(format!(
                "there is no `{name}` in the language; did you mean `{}`?",
                only.name
            ));
        }
        if near.is_empty() {
            return Err(format!(
                "there is no `{name}` in the language, nor anything near it: smidgen help lists all names"
            ));
        }
        let lines = near.iter().map(|entry| format!("\n  {}  {}", entry.shape, entry.summary));
        return Err(format!(
            "there is no `{name}` in the language; near it are{}",
            lines.collect::<String>()
        ));
    }
    let texts: Vec<String> = found.iter().map(describe).collect();
    Ok(texts.join("\n"))
}

fn describe(entry: &Entry) -> String {
    let mut text = format!("{}\n  {}\n", entry.shape, entry.summary);
    if !entry.aliases.is_empty() {
        text.push_str(&format!("  also: {}\n", entry.aliases.join(", ")));
    }
    if !entry.example.is_empty() {
        text.push_str(&format!("  example: {}\n", entry.example));
    }
    text.push_str(&format!("  ({})\n", entry.group.to_lowercase()));
    text
}

// ---------------------------------------------------------------- the overview

fn overview() -> String {
    let mut text = String::from("Commands (smidgen COMMAND --help tells more)\n");
    for command in Cli::command().get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("  {:<8} {about}\n", command.get_name()));
    }
    text.push('\n');
    text.push_str(&names());
    text.push_str("\nsmidgen help NAME explains a name.\n");
    text
}

/// All names, by group.
pub fn names() -> String {
    let group = |(group, names): (&str, Vec<&str>)| format!("{group}\n{}", wrapped(&names));
    groups().into_iter().map(group).collect::<Vec<_>>().join("\n")
}

/// The names, by group, in the order of the reference.
fn groups() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for entry in reference::entries() {
        match groups.iter_mut().find(|(group, _)| *group == entry.group) {
            Some((_, names)) => names.push(entry.name),
            None => groups.push((entry.group, vec![entry.name])),
        }
    }
    groups
}

/// Indented lines of at most 80 columns.
fn wrapped(names: &[&str]) -> String {
    let mut lines = vec![String::from(" ")];
    for name in names {
        let line = lines.last_mut().expect("there is a first line");
        if line.len() + 1 + name.len() > 80 {
            lines.push(format!("  {name}"));
        } else {
            line.push(' ');
            line.push_str(name);
        }
    }
    lines.join("\n") + "\n"
}
