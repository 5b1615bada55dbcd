//! A file that cannot be written is better known before the work begins.

use std::path::Path;

use crate::failure::Failure;

/// Whether a file can be written there; `option` is how the user gave it.
pub fn check(option: &str, path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    if path.is_dir() {
        return Err(Failure::message(format!("{option} {shown}: this is a folder")));
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            let message = format!("{option} {shown}: there is no folder {}", folder.display());
            Err(Failure::message(message))
        }
        _ => check_writable(option, path),
    }
}

/// Tries to make a file beside the target, where it is written first.
fn check_writable(option: &str, path: &Path) -> Result<(), Failure> {
    let mut trial = path.as_os_str().to_owned();
    trial.push(format!(".{}.trial", std::process::id()));
    let made = std::fs::File::create(&trial).map(drop);
    let removed = made.and_then(|()| std::fs::remove_file(&trial));
    removed.map_err(|error| {
        Failure::message(format!("{option} {}: cannot be written: {error}", path.display()))
    })
}
