//! Ctrl-C and termination signals: the first asks the running inference to stop, so that what was
//! drawn is kept; the second ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::INTERRUPTED;

#[derive(Clone)]
pub struct Interrupt {
    /// Set when somebody asked to stop.
    pub flag: Arc<AtomicBool>,
    /// Whether something runs that can stop by itself.
    busy: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens from now on. `busy` says whether work has begun that looks at the flag.
    pub fn listen(busy: bool) -> Interrupt {
        let interrupt = Interrupt { flag: Arc::default(), busy: Arc::new(AtomicBool::new(busy)) };
        let seen = interrupt.clone();
        // Without a handler a signal ends the process, which is the next best thing.
        let _ = ctrlc::set_handler(move || {
            let again = seen.flag.swap(true, Ordering::SeqCst);
            if again || !seen.busy.load(Ordering::SeqCst) {
                std::process::exit(INTERRUPTED.into());
            }
        });
        interrupt
    }

    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    /// Runs `body`, which a signal stops without ending the process.
    pub fn during<T>(&self, body: impl FnOnce() -> T) -> T {
        self.flag.store(false, Ordering::SeqCst);
        self.busy.store(true, Ordering::SeqCst);
        let result = body();
        self.busy.store(false, Ordering::SeqCst);
        result
    }
}
