//! Program texts to directives, with `[load]` replaced by what it loads.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use smidgen_lang::syntax::{Directive, DirectiveKind};
use smidgen_lang::{Diagnostic, SourceMap, parser};

/// A directive at the top level of the program.
#[derive(Clone, Debug)]
pub struct TopDirective {
    /// Counted from 1 in the main text; what a `[load]` brings has the number of that `[load]`.
    pub number: usize,
    pub directive: Directive,
    /// Where relative paths in it start.
    pub folder: PathBuf,
}

pub struct Loader<'a> {
    pub sources: &'a mut SourceMap,
    /// The files being loaded, to notice a circle.
    open: Vec<PathBuf>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Loader<'a> {
    pub fn new(sources: &'a mut SourceMap) -> Loader<'a> {
        Loader { sources, open: Vec::new(), diagnostics: Vec::new() }
    }

    pub fn file(mut self, path: &Path) -> Result<Vec<TopDirective>, Vec<Diagnostic>> {
        let text = read_text(path).map_err(|error| {
            let message = format!("cannot read {}: {}", path.display(), describe(&error));
            vec![Diagnostic::error(None, message)]
        })?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        self.open.push(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()));
        self.text(&path.display().to_string(), &text, &folder, 1)
    }

    /// A text; its first directive has the number `first`.
    pub fn text(
        mut self,
        name: &str,
        text: &str,
        folder: &Path,
        first: usize,
    ) -> Result<Vec<TopDirective>, Vec<Diagnostic>> {
        let mut directives = Vec::new();
        self.add(name, text, folder, |k| first + k, &mut directives);
        if self.diagnostics.is_empty() { Ok(directives) } else { Err(self.diagnostics) }
    }

    fn add(
        &mut self,
        name: &str,
        text: &str,
        folder: &Path,
        number: impl Fn(usize) -> usize,
        into: &mut Vec<TopDirective>,
    ) {
        let source = self.sources.add(name, text);
        let parsed = parser::parse(source, text);
        self.diagnostics.extend(parsed.diagnostics);
        for (k, directive) in parsed.directives.into_iter().enumerate() {
            match &directive.kind {
                DirectiveKind::Load { path } => {
                    let number = number(k);
                    self.load(&folder.join(&path.name), path.span, number, into);
                }
                _ => into.push(TopDirective {
                    number: number(k),
                    directive,
                    folder: folder.to_path_buf(),
                }),
            }
        }
    }

    fn load(
        &mut self,
        path: &Path,
        span: smidgen_lang::Span,
        number: usize,
        into: &mut Vec<TopDirective>,
    ) {
        let canonical = match path.canonicalize() {
            Ok(canonical) => canonical,
            Err(error) => {
                let message = format!("cannot load {}: {}", path.display(), describe(&error));
                return self.diagnostics.push(Diagnostic::error(span, message));
            }
        };
        if self.open.contains(&canonical) {
            let message = format!("{} loads itself", path.display());
            return self.diagnostics.push(Diagnostic::error(span, message));
        }
        match read_text(path) {
            Ok(text) => {
                self.open.push(canonical);
                let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
                self.add(&path.display().to_string(), &text, &folder, |_| number, into);
                self.open.pop();
            }
            Err(error) => {
                let message = format!("cannot load {}: {}", path.display(), describe(&error));
                self.diagnostics.push(Diagnostic::error(span, message));
            }
        }
    }
}

/// No program is longer; what is, is something else that was named by mistake.
const LONGEST: u64 = 64 << 20;

/// Opens a file; a named pipe that nobody writes to would keep us for ever.
fn open(path: &Path) -> std::io::Result<File> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let metadata = std::fs::metadata(path)?;
    if metadata.is_file() || metadata.is_dir() {
        return File::open(path);
    }
    let (send, receive) = mpsc::channel();
    let path = path.to_path_buf();
    std::thread::spawn(move || send.send(File::open(path)));
    let nobody = || std::io::Error::other("it is a pipe that nobody writes to");
    receive.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(nobody()))
}

/// The text of a program. Only regular files and standard input end for certain.
fn read_text(path: &Path) -> std::io::Result<String> {
    let file = open(path)?;
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        let message = format!("it is longer than {} MiB and so no program", LONGEST >> 20);
        return Err(std::io::Error::other(message));
    }
    Ok(text)
}

fn describe(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "no permission to read it".to_owned(),
        std::io::ErrorKind::InvalidData => {
            "it is not UTF-8 text, as programs are; draws of a run are given by --draws-from"
                .to_owned()
        }
        std::io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        _ => error.to_string(),
    }
}
