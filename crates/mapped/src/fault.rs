//! A page of a mapped file that is gone because somebody made the file shorter.
//!
//! Reading it raises SIGBUS in the thread that reads. There is no value to go on with, so the
//! handler says which file it was and ends the process with the exit code of an error. Nothing is
//! unwound and no destructor runs: what earlier runs have written stays as it is, and a file
//! that was being written keeps its temporary name.
//!
//! A handler may run between any two instructions, while its thread holds any lock and is in the
//! middle of an allocation. So it only reads atomics and calls `write` and `_exit`, which POSIX
//! allows there (and `pause`); the message was made when the file was mapped.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of a program or its data that are wrong.
const FAILURE: libc::c_int = 1;

/// A mapping that the handler knows. Entries are never given back (some hundred bytes for each
/// file that was ever mapped), so that a handler can walk along them at any time.
struct Entry {
    start: usize,
    end: usize,
    message: Vec<u8>,
    /// Whether it is still mapped; another mapping may have its addresses otherwise.
    live: AtomicBool,
    next: Link,
}

/// Set once, read without a lock.
type Link = OnceLock<&'static Entry>;

static FIRST: Link = Link::new();

fn entries() -> impl Iterator<Item = &'static Entry> {
    std::iter::successors(FIRST.get(), |entry| entry.next.get()).copied()
}

/// Tells the handler about a mapping, as long as it lives.
pub(crate) struct Watched(&'static Entry);

impl Watched {
    pub(crate) fn new(bytes: &[u8], path: &Path) -> Watched {
        install();
        // A progress bar may stand in the line of a terminal.
        let begin = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
        let message = format!(
            "{begin}error: {} was cut off while it was in use: its rows can no longer be read\n",
            path.display()
        );
        let start = bytes.as_ptr() as usize;
        let entry: &'static Entry = Box::leak(Box::new(Entry {
            start,
            end: start + bytes.len(),
            message: message.into_bytes(),
            live: AtomicBool::new(true),
            next: Link::new(),
        }));
        let mut link = &FIRST;
        while link.set(entry).is_err() {
            link = &link.get().expect("it was set before").next;
        }
        Watched(entry)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.live.store(false, Ordering::Release);
    }
}

/// What handled the signal before us: the runtime's handler, which knows a stack overflow.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Once for all mappings.
#[allow(unsafe_code)]
fn install() {
    PREVIOUS.get_or_init(|| {
        // SAFETY: all bits zero is a valid `sigaction` (the default action, an empty mask), and
        // the pointers are to such values that live during the calls. The handler has the form that
        // SA_SIGINFO asks for. SA_ONSTACK: a stack overflow may come here too, and needs the stack
        // that the runtime has put aside for it.
        unsafe {
            let mut previous: libc::sigaction = std::mem::zeroed();
            let mut ours: libc::sigaction = std::mem::zeroed();
            let handler: Handler = handle;
            ours.sa_sigaction = handler as libc::sighandler_t;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &raw const ours, &raw mut previous);
            previous
        }
    });
}

/// Whether a thread is ending the process.
static SAID: AtomicBool = AtomicBool::new(false);

type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

#[allow(unsafe_code)]
extern "C" fn handle(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the system passes a valid `siginfo_t`, and a SIGBUS has an address in it.
    let address = unsafe { (*info).si_addr() } as usize;
    let holds = |entry: &&Entry| {
        (entry.start..entry.end).contains(&address) && entry.live.load(Ordering::Acquire)
    };
    if let Some(entry) = entries().find(holds) {
        // SAFETY: the message lives forever, and no call touches memory of ours.
        unsafe {
            // Chains read the same rows: several may come here, and one of them speaks.
            while SAID.swap(true, Ordering::AcqRel) {
                libc::pause();
            }
            libc::write(libc::STDERR_FILENO, entry.message.as_ptr().cast(), entry.message.len());
            libc::_exit(FAILURE)
        }
    }
    // Not ours: whoever was there before us gets the fault when the instruction is tried again.
    // SAFETY: as in `install`; `sigaction` may be called in a handler. While `install` is still
    // storing what was there, it is the default action.
    unsafe {
        let default: libc::sigaction = std::mem::zeroed();
        let previous = PREVIOUS.get().unwrap_or(&default);
        libc::sigaction(libc::SIGBUS, &raw const *previous, std::ptr::null_mut());
    }
}
