//! A new file in the place of an old one, whole or not at all.
//!
//! It is written under a temporary name beside its target, synced, renamed, and then the folder is synced, without
//! which a power cut can take the new name back. The writer holds a lock on the temporary file, so what a process
//! left behind that was killed can be told from what another is writing at this moment.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::Problem;

/// Temporary files are `.NAME.PROCESS.partial`.
const PARTIAL: &str = ".partial";

/// Lets `write` fill a new file and puts it in the place of `path`, with the permissions of what was there.
pub(super) fn replace(
    path: &Path,
    write: impl FnOnce(File) -> Result<File, Problem>,
) -> Result<(), Problem> {
    // A link keeps pointing where it points.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = fs::metadata(&target).ok();
    match &before {
        Some(old) if old.is_dir() => {
            return Err(Problem::Io(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        // To rename over a device or a pipe would remove it.
        Some(old) if !old.is_file() => return Err(Problem::NotAFile),
        _ => {}
    }
    let name = target.file_name().ok_or(io::ErrorKind::InvalidFilename).map_err(io::Error::from)?;
    let mut beginning = OsString::from(".");
    beginning.push(name);
    beginning.push(".");
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    remove_left_behind(folder, &beginning);
    let mut temporary_name = beginning;
    temporary_name.push(format!("{}{PARTIAL}", std::process::id()));
    let temporary = target.with_file_name(temporary_name);
    let fill = || -> Result<(), Problem> {
        let file = File::create(&temporary)?;
        // A file system without locks is no reason not to write.
        let _ = file.try_lock();
        let file = write(file)?;
        if let Some(old) = &before {
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&temporary, &target)?;
        // Some systems cannot sync a folder; the file itself is safe.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
        Ok(())
    };
    let written = fill();
    if written.is_err() {
        // The first error is the one to report; there may be no file to remove.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Removes temporary files of this target that nobody is writing.
fn remove_left_behind(folder: &Path, beginning: &OsString) {
    let Some(beginning) = beginning.to_str() else { return };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(beginning));
        let process = process.and_then(|rest| rest.strip_suffix(PARTIAL));
        let is_ours = process.is_some_and(|process| process.parse::<u32>().is_ok());
        let is_left = || File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if is_ours && is_left() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("smidgen-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the test");
        folder
    }

    fn fill(mut file: File) -> Result<File, Problem> {
        file.write_all(b"new")?;
        Ok(file)
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_being_written_is_not() {
        let folder = folder("left");
        let target = folder.join("draws.csv");
        let (dead, busy) =
            (folder.join(".draws.csv.1.partial"), folder.join(".draws.csv.2.partial"));
        fs::write(&dead, "half").expect("written");
        let writer = File::create(&busy).expect("created");
        writer.lock().expect("locked");
        replace(&target, fill).expect("replaced");
        assert_eq!(fs::read(&target).expect("there"), b"new");
        assert!(!dead.exists() && busy.exists());
        fs::remove_dir_all(folder).expect("removed");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_and_devices_are_refused() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = folder("mode");
        let target = folder.join("draws.csv");
        fs::write(&target, "old").expect("written");
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).expect("set");
        replace(&target, fill).expect("replaced");
        let mode = fs::metadata(&target).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let link = folder.join("null.csv");
        symlink("/dev/null", &link).expect("linked");
        assert!(matches!(replace(&link, fill), Err(Problem::NotAFile)));
        assert!(!fs::metadata("/dev/null").expect("there").is_file());
        fs::remove_dir_all(folder).expect("removed");
    }
}
