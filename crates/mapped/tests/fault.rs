//! A page that is gone: ours ends the process with a message, somebody else's by the signal.
//! The process that faults is this test program again, with a variable that says how.
#![cfg(unix)]

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use smidgen_mapped::Mapped;

/// Which page goes, and the folder of the files.
const HOW: &str = "SMIDGEN_FAULT";
const WHERE: &str = "SMIDGEN_FAULT_FOLDER";

fn shorten(path: &Path) {
    File::options().write(true).open(path).and_then(|f| f.set_len(10)).expect("shortened");
}

/// Runs `fault` in a process of its own.
fn run(how: &str) -> Output {
    let folder = format!("smidgen-fault-{how}-{}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["ours", "other"] {
        std::fs::write(folder.join(name), vec![1; 1 << 20]).expect("written");
    }
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "fault", "--nocapture"]).env(HOW, how).env(WHERE, &folder);
    let output = command.output().expect("it starts");
    std::fs::remove_dir_all(&folder).expect("the folder is still there");
    output
}

#[test]
fn fault() {
    let (Some(how), Some(folder)) = (std::env::var_os(HOW), std::env::var_os(WHERE)) else {
        return;
    };
    let folder = PathBuf::from(folder);
    let (ours, other) = (folder.join("ours"), folder.join("other"));
    let mapped = Mapped::open(&ours).expect("a regular file");
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    assert_eq!(sum(&mapped), 1 << 20);
    match how == "ours" {
        true => {
            shorten(&ours);
            // Both threads meet the page that is gone.
            std::thread::scope(|scope| {
                scope.spawn(|| sum(&mapped));
                sum(&mapped);
            });
        }
        false => {
            #[allow(unsafe_code)]
            // SAFETY: that the file is cut off is what is tested.
            let unknown = unsafe { memmap2::Mmap::map(&File::open(&other).expect("a file")) };
            shorten(&other);
            sum(&unknown.expect("mapped"));
        }
    }
}

#[test]
fn a_page_of_ours_that_is_gone_ends_the_process_with_one_message() {
    let output = run("ours");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.matches("ours was cut off while it was in use").count(), 1, "{text}");
}

#[test]
fn a_page_of_somebody_else_is_none_of_our_business() {
    let output = run("other");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.signal().is_some(), "{:?} {text}", output.status);
    assert!(!text.contains("cut off"), "{text}");
}
