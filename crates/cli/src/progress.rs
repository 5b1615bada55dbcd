//! A bar that follows the chains, on a terminal only.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use smidgen::sampling::Progress;

const REFRESH: Duration = Duration::from_millis(100);

/// Runs `work` while a bar shows how far it is.
pub fn with_bar<T>(progress: &Progress, work: impl FnOnce() -> T) -> T {
    bar("", progress, work)
}

/// The same for one of several runs, which the bar names.
pub fn with_named_bar(name: &str, progress: &Progress, work: &mut dyn FnMut()) {
    bar(&format!("{name:<12}"), progress, work);
}

fn bar<T>(name: &str, progress: &Progress, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(name, progress, &finished));
        let result = work();
        finished.store(true, Ordering::Release);
        watcher.thread().unpark();
        result
    })
}

fn watch(name: &str, progress: &Progress, finished: &AtomicBool) {
    let bar = ProgressBar::new(0).with_prefix(name.to_owned());
    let template = "{prefix}{bar:40} {percent:>3}%  {pos} of {len}  {elapsed} (still {eta})";
    bar.set_style(ProgressStyle::with_template(template).expect("the template is well formed"));
    while !finished.load(Ordering::Acquire) {
        let total = progress.total.load(Ordering::Relaxed);
        if total > 0 {
            bar.set_length(total);
            bar.set_position(progress.done.load(Ordering::Relaxed));
        }
        std::thread::park_timeout(REFRESH);
    }
    bar.finish_and_clear();
}
