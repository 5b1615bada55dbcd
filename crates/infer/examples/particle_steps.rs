//! Nanoseconds per particle and step of particle Gibbs on a stochastic volatility model, with and
//! without ancestor sampling: the best of several runs.
//!
//! `cargo run --release -p smidgen-infer --example particle_steps -- [states] [particles]`

use std::time::Instant;

use smidgen_testkit::World;

/// The first state and the one in the middle.
fn look(world: &mut World, states: usize) -> [f64; 2] {
    [1, states / 2].map(|t| world.number(&format!("(h {t})")))
}

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<usize>());
    let mut next = |or: usize| args.next().and_then(Result::ok).unwrap_or(or);
    let (states, particles) = (next(1000), next(10));
    let mut world = World::new(
        "[assume sig (sqrt (inv_gamma 5 0.05))]
         [assume phi (beta 5 1)]
         [assume h (mem (lambda (t) (scope_include 'h t
            (if (<= t 0) 0 (normal (* phi (h (- t 1))) sig)))))]
         [assume x (lambda (t) (normal 0 (exp (/ (h t) 2))))]",
        1,
    );
    for t in 1..=states {
        let value = world.value(&format!("(x {t})"));
        world.observe(&format!("(x {t})"), value, &format!("x{t}"));
    }
    for ancestor in [false, true] {
        let text = format!("(pgibbs h ordered {particles} 'ancestor {ancestor} 1)");
        let mut program = world.program(&text);
        let passes = 200_000 / (states * particles) + 1;
        let mut best = f64::INFINITY;
        for _ in 0..15 {
            let begun = Instant::now();
            (0..passes).for_each(|_| world.step(&mut program));
            best = best.min(begun.elapsed().as_secs_f64());
        }
        let steps = (passes * states * particles) as f64;
        let mut moved = [0; 2];
        for _ in 0..20 {
            let before = look(&mut world, states);
            world.step(&mut program);
            let after = look(&mut world, states);
            for (k, count) in moved.iter_mut().enumerate() {
                *count += u32::from(before[k] != after[k]);
            }
        }
        println!(
            "ancestor {ancestor}: {:.1} ns per particle and step; in 20 passes the first state moved {} times, the middle one {} times",
            best / steps * 1e9,
            moved[0],
            moved[1]
        );
    }
}
