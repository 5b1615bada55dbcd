//! Processor time of the present thread where the system tells it, else time on the clock.

use std::time::Instant;

pub struct Stopwatch {
    clock: Instant,
    processor: Option<f64>,
}

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch { clock: Instant::now(), processor: processor_seconds() }
    }

    /// Seconds since the start, on the thread that started it.
    pub fn seconds(&self) -> f64 {
        let clock = || self.clock.elapsed().as_secs_f64();
        let processor = self.processor.zip(processor_seconds());
        processor.map_or_else(clock, |(before, now)| now - before).max(1e-9)
    }

    pub fn knows_processor_time() -> bool {
        processor_seconds().is_some()
    }
}

fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    (nanoseconds > 0.0).then_some(nanoseconds * 1e-9)
}
