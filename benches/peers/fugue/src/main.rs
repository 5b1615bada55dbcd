//! How many single-site transitions fugue-ppl and smidgen make in a processor second, on the programs that both can write: the
//! bundled `branching` and `geometric`.
//!
//! ```sh
//! cargo run --release --manifest-path benches/peers/fugue/Cargo.toml -- target/release/smidgen
//! ```
//!
//! The two take turns, a round at a time, so that a busy machine slows both. A round's ratio is that of the two times beside each
//! other; printed is the median of the rounds, with the least and the largest.

use std::process::Command;

use fugue::inference::mh::adaptive_mcmc_chain_thinned;
use fugue::{Bernoulli, Gamma, Model, ModelExt, Normal, addr, observe, pure, sample};
use rand::SeedableRng;
use rand::rngs::StdRng;

const ROUNDS: u64 = 7;
const TRANSITIONS: usize = 400_000;
const WARMUP: usize = 1000;

/// `[assume b (bernoulli 0.5)] [assume mu (if b 1 (gamma 1 1))] [observe (normal mu 0.1) 10.0]`; gives b.
fn branching() -> Model<f64> {
    sample(addr!("b"), Bernoulli::new(0.5).expect("a probability"))
        .bind(|b| match b {
            true => pure((1.0, 1.0)),
            false => sample(addr!("g"), Gamma::new(1.0, 1.0).expect("positive")).map(|g| (0.0, g)),
        })
        .bind(|(b, mu)| {
            observe(addr!("y"), Normal::new(mu, 0.1).expect("positive"), 10.0).map(move |()| b)
        })
}

/// `[assume geom (lambda () (if (flip 0.5) 0 (+ 1 (geom))))] [assume n (geom)] [observe (normal n 1) 5]`; gives n, whose
/// posterior mean is 4.307.
fn geometric() -> Model<f64> {
    fn flips(before: usize) -> Model<f64> {
        sample(addr!("flip", before), Bernoulli::new(0.5).expect("a probability")).bind(
            move |stops| match stops {
                true => pure(before as f64),
                false => flips(before + 1),
            },
        )
    }
    flips(0)
        .bind(|n| observe(addr!("y"), Normal::new(n, 1.0).expect("positive"), 5.0).map(move |()| n))
}

struct Measured {
    per_second: f64,
    mean: f64,
}

fn fugue(model: fn() -> Model<f64>, seed: u64) -> Measured {
    let mut rng = StdRng::seed_from_u64(seed);
    let start = processor_seconds();
    let draws = adaptive_mcmc_chain_thinned(&mut rng, model, TRANSITIONS, WARMUP, 100);
    let seconds = processor_seconds() - start;
    let mean = draws.iter().map(|(value, _)| value).sum::<f64>() / draws.len() as f64;
    Measured { per_second: (TRANSITIONS + WARMUP) as f64 / seconds, mean }
}

/// Transitions per second of all bundled programs, as the command measures them.
fn smidgen(command: &str) -> serde_json::Value {
    let output = Command::new(command)
        .args(["bench", "--only", "programs", "--seconds", "0.4", "--format", "json"])
        .output()
        .unwrap_or_else(|error| panic!("{command}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the command prints JSON")
}

fn rate(measured: &serde_json::Value, name: &str) -> f64 {
    let programs = measured["programs"].as_array().expect("a list of programs");
    let program = programs.iter().find(|program| program["program"] == name);
    program.and_then(|p| p["transitions_per_second"].as_f64()).expect("a bundled program")
}

fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    let nanoseconds: f64 = text.split_whitespace().next().unwrap_or("0").parse().expect("a number");
    nanoseconds * 1e-9
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn main() {
    let command = std::env::args().nth(1).expect("the path of the command smidgen");
    let programs: [(&str, fn() -> Model<f64>); 2] =
        [("branching", branching), ("geometric", geometric)];
    let mut rounds: [[Vec<f64>; 4]; 2] = Default::default();
    for round in 0..ROUNDS {
        let ours = smidgen(&command);
        for ((name, model), kept) in programs.iter().zip(&mut rounds) {
            let peer = fugue(*model, round);
            let rate = rate(&ours, name);
            let row = [rate, peer.per_second, rate / peer.per_second, peer.mean];
            kept.iter_mut().zip(row).for_each(|(kept, x)| kept.push(x));
        }
    }
    println!(
        "{:<12}{:>12}{:>12}{:>8}{:>16}{:>14}",
        "program", "smidgen /s", "fugue /s", "ratio", "least, most", "mean (fugue)"
    );
    for ((name, _), [ours, peer, ratios, means]) in programs.iter().zip(&mut rounds) {
        let (ratio, mean) = (median(ratios), means.iter().sum::<f64>() / means.len() as f64);
        let range = format!("{:.2}, {:.2}", ratios[0], ratios[ratios.len() - 1]);
        let (ours, peer) = (median(ours), median(peer));
        println!("{name:<12}{ours:>12.0}{peer:>12.0}{ratio:>8.2}{range:>16}{mean:>14.3}");
    }
}
