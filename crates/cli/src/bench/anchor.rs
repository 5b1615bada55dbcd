//! A program with hand-written code for the same models, run beside.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;

pub struct Anchor(pub Option<PathBuf>);

impl Anchor {
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// A number of its first line, found by these names; none without an anchor.
    pub fn ask(&self, arguments: &[&str], names: &[&str]) -> Result<Option<f64>, Failure> {
        self.ask_line(arguments, &|_| true, names)
    }

    /// The same of the line of a method.
    pub fn ask_method(
        &self,
        arguments: &[&str],
        method: &str,
        names: &[&str],
    ) -> Result<Option<f64>, Failure> {
        self.ask_line(arguments, &|line| line["method"] == method, names)
    }

    fn ask_line(
        &self,
        arguments: &[&str],
        wanted: &dyn Fn(&serde_json::Value) -> bool,
        names: &[&str],
    ) -> Result<Option<f64>, Failure> {
        let Some(path) = &self.0 else { return Ok(None) };
        let output = Command::new(path)
            .args(["--secs", "0.2", "--reps", "5"])
            .args(arguments)
            .output()
            .map_err(|error| Failure::message(format!("cannot run {}: {error}", path.display())))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let line: Option<serde_json::Value> = lines.into_iter().find(|line| wanted(line));
        let number = line.as_ref().and_then(|line| {
            names.iter().try_fold(line, |value, name| value.get(name)).and_then(|x| x.as_f64())
        });
        if number.is_none() {
            let arguments = arguments.join(" ");
            let message = format!("{} {arguments} did not say its speed", path.display());
            return Err(Failure::message(message));
        }
        Ok(number)
    }
}
