//! A bar that follows the chains, on a terminal only.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use smidgen::sampling::Progress;

const REFRESH: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_millis(400);

/// Runs `work` while a bar shows how far it is.
pub fn with_bar<T>(progress: &Progress, work: impl FnOnce() -> T) -> T {
    bar("", progress, work)
}

/// The same for one of several runs, which the bar names.
pub fn with_named_bar(name: &str, progress: &Progress, work: &mut dyn FnMut()) {
    bar(&format!("{name:<12}"), progress, work);
}

/// The same for the reading of a table, if it takes long. What is counted depends on the file.
pub fn while_reading(name: &str, progress: &Progress, work: &mut dyn FnMut()) {
    let look =
        Look { name, template: "{prefix}  {bar:40} {percent:>3}%  {elapsed}", after: PATIENCE };
    draw(&look, progress, work);
}

struct Look<'a> {
    name: &'a str,
    template: &'a str,
    /// What is done sooner has no bar.
    after: Duration,
}

fn bar<T>(name: &str, progress: &Progress, work: impl FnOnce() -> T) -> T {
    let template = "{prefix}{bar:40} {percent:>3}%  {pos} of {len}  {elapsed} (still {eta})";
    draw(&Look { name, template, after: Duration::ZERO }, progress, work)
}

fn draw<T>(look: &Look, progress: &Progress, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(look, progress, &finished));
        let result = work();
        finished.store(true, Ordering::Release);
        watcher.thread().unpark();
        result
    })
}

fn watch(look: &Look, progress: &Progress, finished: &AtomicBool) {
    let bar = ProgressBar::new(0).with_prefix(look.name.to_owned());
    let style = ProgressStyle::with_template(look.template).expect("the template is well formed");
    bar.set_style(style);
    while !finished.load(Ordering::Acquire) {
        let total = progress.total.load(Ordering::Relaxed);
        if total > 0 && bar.elapsed() >= look.after {
            bar.set_length(total);
            bar.set_position(progress.done.load(Ordering::Relaxed));
        }
        std::thread::park_timeout(REFRESH);
    }
    bar.finish_and_clear();
}
