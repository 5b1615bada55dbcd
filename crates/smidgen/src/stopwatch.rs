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

/// Not what `/proc` tells: that is as of the last tick of the scheduler, so that what takes half as long as a tick is
/// mostly told as nothing or a whole one.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn processor_seconds() -> Option<f64> {
    use nix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(std::time::Duration::from(time).as_secs_f64())
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn processor_seconds() -> Option<f64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Short times one by one come to what they are together.
    #[test]
    fn short_times_add_up() {
        let all = Stopwatch::start();
        let mut sum = 0.0;
        let mut x = 1.0_f64;
        for _ in 0..400 {
            let one = Stopwatch::start();
            for _ in 0..20_000 {
                x = std::hint::black_box(x * 1.000_001);
            }
            let seconds = one.seconds();
            assert!(seconds > 2e-6, "{seconds}");
            sum += seconds;
        }
        let all = all.seconds();
        assert!(sum <= all && sum > 0.8 * all, "{sum} of {all}");
    }
}
