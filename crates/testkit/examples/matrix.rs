//! `matrix N SEED`: random programs SEED·10⁶ … SEED·10⁶ + N − 1 on every path that evaluates densities. Prints claims
//! that do not hold with their programs (the shortest of each path), and how often each path applied.
//!
//! `matrix = PROGRAM`: one program again.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use smidgen_testkit::matrix::known::is_known;
use smidgen_testkit::matrix::paths::PATHS;
use smidgen_testkit::matrix::run::{Failure, Outcome};
use smidgen_testkit::matrix::writer::program;

/// Failures of a path that are shown, the shortest programs first.
const SHOWN: usize = 4;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize| words.get(k).and_then(|word| word.parse::<u64>().ok());
    let (first, programs) = match (words.first().map(String::as_str), number(0), number(1)) {
        (Some("="), _, Some(program)) => (program, 1),
        (_, Some(n), seed) => (seed.unwrap_or(1).wrapping_mul(1_000_000), n),
        _ => {
            eprintln!("matrix N SEED, or matrix = PROGRAM");
            return ExitCode::from(2);
        }
    };
    let (all, next) = (Mutex::new((Outcome::default(), 0)), AtomicU64::new(first));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + programs {
                return;
            }
            let subject = program(seed).unwrap_or_else(|error| panic!("program {seed}: {error}"));
            let mut outcome = Outcome::default();
            let is_possible = outcome.ask_all(&subject, seed);
            for failure in &mut outcome.failures {
                failure.program = format!("program {seed}:\n{}", failure.program);
            }
            let mut all = all.lock().expect("nobody panics while counting");
            all.0.merge(outcome);
            all.1 += usize::from(!is_possible);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let (outcome, impossible) = all.into_inner().expect("nobody panics while counting");
    let (known, unknown): (Vec<Failure>, Vec<Failure>) =
        outcome.failures.iter().cloned().partition(is_known);
    for path in PATHS {
        let of_path = unknown.iter().filter(|failure| failure.path == path.name);
        let mut of_path: Vec<&Failure> = of_path.collect();
        of_path.sort_by_key(|failure| failure.program.len());
        of_path.iter().take(SHOWN).for_each(|failure| println!("FAIL {failure}"));
    }
    println!("{}{impossible} programs without a possible state", outcome.table());
    println!("{} failures, and {} that are known", unknown.len(), known.len());
    ExitCode::from(u8::from(!unknown.is_empty()))
}
