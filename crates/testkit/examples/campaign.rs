//! `campaign N SEED`: random programs SEED·10⁶ … SEED·10⁶ + N − 1 under the default kernel and two others each.
//! Prints every failure with its program and data, and `P passed, F failed, R refused` at the end.
//!
//! `campaign = PROGRAM`: one program again, under all kernels.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use smidgen_testkit::wild::kernels::{DEFAULT, Moves, OTHERS};
use smidgen_testkit::wild::steps::{QUICK, Step, Verdict};
use smidgen_testkit::wild::writer::program;

/// The probability that a campaign over right kernels fails.
const ALPHA: f64 = 1e-3;

#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
    refused: usize,
}

fn kernels(number: u64) -> Vec<Moves> {
    let other = |k: u64| OTHERS[(2 * number + k) as usize % OTHERS.len()];
    let sweeps = DEFAULT[number as usize % DEFAULT.len()];
    vec![sweeps, other(0), other(1)]
}

fn try_program(number: u64, moves: &[Moves], alpha: f64, count: &Mutex<Count>) {
    let wild = program(number).unwrap_or_else(|error| panic!("program {number}: {error}"));
    for moves in moves {
        let step = Step { wild: &wild, moves: *moves, fault: None, alpha, looks: QUICK };
        let verdict = step.judge(number);
        let mut count = count.lock().expect("nobody panics while counting");
        match verdict {
            Verdict::Right => count.passed += 1,
            Verdict::Refused(_) => count.refused += 1,
            Verdict::Wrong(why) => {
                count.failed += 1;
                let data = wild.start(number).map(|start| start.data).unwrap_or_default();
                println!("FAIL program {number}, {moves:?}: {why}\n{}", wild.text(&data));
            }
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize| words.get(k).and_then(|word| word.parse::<u64>().ok());
    let (first, programs, all) = match (words.first().map(String::as_str), number(0), number(1)) {
        (Some("="), _, Some(program)) => (program, 1, true),
        (_, Some(n), seed) => (seed.unwrap_or(1).wrapping_mul(1_000_000), n, false),
        _ => {
            eprintln!("campaign N SEED, or campaign = PROGRAM");
            return ExitCode::from(2);
        }
    };
    let alpha = ALPHA / (3 * programs) as f64;
    let (count, next) = (Mutex::new(Count::default()), AtomicU64::new(first));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + programs {
                        break;
                    }
                    let moves = match all {
                        true => DEFAULT.iter().chain(OTHERS).copied().collect(),
                        false => kernels(number),
                    };
                    try_program(number, &moves, alpha, &count);
                }
            });
        }
    });
    let Count { passed, failed, refused } =
        count.into_inner().expect("nobody panics while counting");
    println!("{passed} passed, {failed} failed, {refused} refused");
    ExitCode::from(u8::from(failed > 0))
}
