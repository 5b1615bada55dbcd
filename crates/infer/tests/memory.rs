//! A long run ends with the memory it began with: slots of nodes are used again, whatever the moves
//! make and remove.

use smidgen_testkit::world::World;

/// Slots after a short run and after a long one.
fn slots(text: &str) -> (usize, usize) {
    let mut world = World::new(text, 5);
    world.infer("(mh default one 20000)");
    let short = world.model.capacity();
    world.infer("(mh default one 200000)");
    (short, world.model.capacity())
}

#[test]
fn the_branching_program_does_not_grow() {
    let text =
        "[assume b (bernoulli 0.5)] [assume mu (if b 1 (gamma 1 1))] [observe (normal mu 1) 2]";
    let (short, long) = slots(text);
    assert_eq!(short, long);
}

#[test]
fn memoised_families_are_given_back() {
    let text = "[assume z (mem (lambda (i) (uniform_discrete 0 1000)))]
                [assume f (mem (lambda (k) (normal 0 1)))]
                [assume x (+ (f (z 0)) (f (z 1)) (f (z 2)))]
                [observe (normal x 1) 1]";
    let (short, long) = slots(text);
    // At most three of the thousand are alive at any time, and three more while a move is open.
    assert_eq!(short, long);
    assert!(long < 40, "{long} slots");
}
