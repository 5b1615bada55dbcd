//! Random sequences of directives by the hundred thousand: `cargo run --release -p smidgen-fuzzing --example directives -- N
//! [SEED]`. Prints the seed, how far it is, and every sequence that fails with its number.

use smidgen_fuzzing::directives::{any_seed, soak};

fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let n = words.next().expect("how many sequences");
    let seed = words.next().unwrap_or_else(any_seed);
    println!("sequences {seed} to {}", seed + n - 1);
    std::panic::set_hook(Box::new(|_| {}));
    let (counts, faults) = soak(n, seed, |done, counts| {
        if done % 10_000 == 0 {
            println!(
                "{done} sequences: {} directives done, {} refused",
                counts.done, counts.refused
            );
        }
    });
    for (seed, text) in &faults {
        println!("-- sequence {seed} fails:\n{text}");
    }
    println!(
        "{n} sequences, {} directives done, {} refused, {} sequences failed",
        counts.done,
        counts.refused,
        faults.len()
    );
    std::process::exit(i32::from(!faults.is_empty()));
}
