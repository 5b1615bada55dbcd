//! What happens when a disk is full or fails: the chain waits, says so, and tries again; after ten minutes, or when somebody asks
//! it to stop, it ends where the last checkpoint is.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A file that could not be written or read, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble(pub String);

impl Trouble {
    pub fn new(name: String, error: &io::Error) -> Trouble {
        Trouble(format!("{name}: {error}"))
    }

    pub fn message(message: String) -> Trouble {
        Trouble(message)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Trouble {}

type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// How long somebody waits for a disk.
#[derive(Clone)]
pub struct Patience {
    pub between: Duration,
    pub at_most: Duration,
    pub interrupt: Arc<AtomicBool>,
    pub say: Say,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            between: Duration::from_secs(5),
            at_most: Duration::from_secs(600),
            interrupt: Arc::default(),
            say: Arc::new(|_| {}),
        }
    }
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Patience({:?}, {:?})", self.between, self.at_most)
    }
}

impl Patience {
    /// Tries until it works. What no waiting mends fails at once.
    pub fn until(
        &self,
        name: &str,
        mut attempt: impl FnMut() -> io::Result<()>,
    ) -> Result<(), Trouble> {
        let begun = Instant::now();
        let mut said = false;
        loop {
            let error = match attempt() {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            let trouble = || Trouble(format!("{name}: cannot be written: {error}"));
            if is_final(&error) || begun.elapsed() + self.between > self.at_most {
                return Err(trouble());
            }
            if !std::mem::replace(&mut said, true) {
                let minutes = self.at_most.as_secs() / 60;
                (self.say)(&format!(
                    "{name}: cannot be written: {error}; the chain waits and tries again, for {minutes} minutes"
                ));
            }
            let pause = Instant::now();
            while pause.elapsed() < self.between {
                if self.interrupt.load(Ordering::Relaxed) {
                    return Err(trouble());
                }
                std::thread::sleep(self.between.min(Duration::from_millis(50)));
            }
        }
    }
}

/// Whether trying again is of no use.
fn is_final(error: &io::Error) -> bool {
    use io::ErrorKind::{
        FileTooLarge, InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied,
        ReadOnlyFilesystem,
    };
    let of_no_use = [
        FileTooLarge,
        InvalidInput,
        IsADirectory,
        NotADirectory,
        NotFound,
        PermissionDenied,
        ReadOnlyFilesystem,
    ];
    of_no_use.contains(&error.kind())
}
