//! What kernels have learnt goes through bytes and back: a kernel that was written after the warm-up and read into a new one makes
//! the same draws as the one that was not. Twins: bytes in which one number is forgotten.

use smidgen_infer::Program;
use smidgen_infer::run::Phase;
use smidgen_testkit::World;
use smidgen_value::Rng;
use smidgen_value::bytes::Input;

const HIERARCHY: &str = "[assume m (normal 0 1)] [assume s (gamma 2 1)]
    [assume g (mem (lambda (i) (normal m s)))] [assume c (bernoulli 0.3)]
    [observe (normal (g 0) 1) 1.2] [observe (normal (g 1) 1) 3.1] [observe (normal (g 2) (if c 1 2)) 2.2]";

const SMOOTH: &str = "[assume m (normal 0 1)] [assume s (gamma 2 1)]
    [assume a (normal m s)] [assume b (normal m s)]
    [observe (normal a 1) 1.2] [observe (normal b 1) 3.1]";

const COINS: &str = "[assume a (bernoulli 0.5)] [assume b (bernoulli (if a 0.2 0.7))]
    [observe (normal (if b 1 0) 1) 0.3]";

const WALLS: &str = "[assume a (bernoulli 0.5)] [assume b (bernoulli 0.5)] [assume x (normal 0 1)]
    [observe (bernoulli (if (= a b) 1 0)) true] [observe (normal x 0.1) 0.3]";

/// Programs whose structure stays, with kernels that learn: (program, kernel, whether it learns).
const CASES: [(&str, &str, bool); 9] = [
    (HIERARCHY, "1", true),
    (WALLS, "1", true),
    (SMOOTH, "(nuts default all 1)", true),
    (HIERARCHY, "(mh default each 'drift 1 'adapt true 1)", true),
    (SMOOTH, "(mh default all 'drift 1 'adapt true 3)", true),
    (SMOOTH, "(slice default one 3)", false),
    (HIERARCHY, "(mh default one 5)", false),
    (COINS, "(gibbs default each 1)", false),
    (SMOOTH, "(cycle ((nuts default all 1) (mh default one 'drift 2 'adapt true 2)) 1)", true),
];

fn warmed(text: &str, kernel: &str) -> (World, Program) {
    let mut world = World::new(text, 11);
    let mut program = world.program(kernel);
    world.run.phase = Phase::Warmup;
    world.run.planned = program.transitions().iter().map(|n| n.map(|n| 150 * n)).collect();
    (0..150).for_each(|_| world.step(&mut program));
    world.run.begin_draws();
    (world, program)
}

/// The choices after each of some sweeps of the draws.
fn draws(world: &mut World, program: &mut Program) -> Vec<f64> {
    world.rng = Rng::from_seed(5);
    let mut seen = Vec::new();
    for _ in 0..SWEEPS {
        world.step(program);
        let state = world.model.state(None).expect("it has one");
        seen.extend(state.values().iter().filter_map(|value| value.as_number()));
    }
    seen
}

/// So few that the last digits, which coordinates lose when they are read off values, do not grow into others.
const SWEEPS: usize = 6;

fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-7 * (1.0 + b.abs()))
}

#[test]
fn a_kernel_that_was_read_goes_on_as_the_one_that_was_written() {
    for (text, kernel, learns) in CASES {
        let (mut world, mut program) = warmed(text, kernel);
        let mut bytes = Vec::new();
        program.save(&mut bytes).expect("it can be written");
        let expected = draws(&mut world, &mut program);
        let (mut world, _) = warmed(text, kernel);
        let mut other = world.program(kernel);
        let from = &mut Input::new(&bytes);
        other.load(from).expect("just written");
        assert!(from.is_empty(), "{kernel}");
        let mut again = Vec::new();
        other.save(&mut again).expect("it can be written");
        assert_eq!(again, bytes, "{kernel}");
        let found = draws(&mut world, &mut other);
        assert!(same(&found, &expected), "{kernel}: {found:?} instead of {expected:?}");
        if learns {
            let (mut world, _) = warmed(text, kernel);
            let mut fresh = world.program(kernel);
            let found = draws(&mut world, &mut fresh);
            assert!(!same(&found, &expected), "{kernel}: nothing learnt matters");
        }
    }
}

/// One number that is forgotten is noticed, for every kernel that learns.
#[test]
fn a_kernel_that_forgets_a_number_is_caught() {
    for (text, kernel, _) in CASES.into_iter().filter(|(_, _, learns)| *learns) {
        let (mut world, mut program) = warmed(text, kernel);
        let mut bytes = Vec::new();
        program.save(&mut bytes).expect("it can be written");
        let expected = draws(&mut world, &mut program);
        let mut caught = 0;
        for place in 0..bytes.len().saturating_sub(8) {
            let word = u64::from_le_bytes(bytes[place..place + 8].try_into().expect("eight"));
            let x = f64::from_bits(word);
            // A number that looks like one that was learnt, and is not one half of an address.
            if !(1e-6..1e6).contains(&x.abs()) || word.trailing_zeros() > 20 || caught > 3 {
                continue;
            }
            let mut forgets = bytes.clone();
            forgets[place..place + 8].copy_from_slice(&1.0f64.to_bits().to_le_bytes());
            let (mut world, _) = warmed(text, kernel);
            let mut other = world.program(kernel);
            let is_read = other.load(&mut Input::new(&forgets)).is_some();
            caught += usize::from(!is_read || !same(&draws(&mut world, &mut other), &expected));
        }
        // The default kernel has learnt which choices meet walls there: addresses, no numbers.
        assert!(caught > 0 || text == WALLS, "{kernel}: no number matters");
    }
}
