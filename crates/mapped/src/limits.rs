//! A file that grows beyond what the process may write: the system raises SIGXFSZ, which ends the process with no word. Where it is
//! ignored, the write fails instead, and whoever writes can say which file it was.

use std::sync::Once;

/// From now on a write beyond the limit is an error like any other.
#[allow(unsafe_code)]
pub fn report_size_limits() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: ignoring a signal installs no handler; no other code of the process changes this one.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        }
    });
}
