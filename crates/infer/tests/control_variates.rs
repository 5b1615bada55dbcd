//! Control variates in the test of `subsampled_mh`: with epsilon 0 the law is kept, whatever their order; sums that are left out are
//! noticed; and they let the test decide after a batch.

use smidgen_engine::Fault;
use smidgen_infer::Run;
use smidgen_testkit::World;
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;

use super::subsampled_invariance::moved;

const COINS: Story<'static> = Story {
    prior: "[assume a (normal -1 1)]",
    data: &[
        "(flip (logistic (+ a -1.5)))",
        "(flip (logistic (+ a -0.9)))",
        "(flip (logistic (+ a -0.3)))",
        "(flip (logistic (+ a 0.3)))",
        "(flip (logistic (+ a 0.9)))",
        "(flip (logistic (+ a 1.5)))",
    ],
    look: &["a", "(abs (+ a 1))"],
};

fn text(order: usize) -> String {
    format!("(subsampled_mh default all 2 0 'drift 1.2 'control_variates {order} 8)")
}

#[test]
fn exact_decisions_keep_the_law() {
    for order in 0..=2 {
        let name = format!("exact start: control variates of order {order}");
        let look = |repeats, seed| moved(&COINS, repeats, seed, |world| world.infer(&text(order)));
        demand(&name, 500, look);
    }
    let name = "exact start: control variates of order 2";
    catches(name, "sums left out", 500, |repeats, seed| {
        moved(&COINS, repeats, seed, |world: &mut World| {
            world.model.trace_mut().put_fault(Some(Fault::NoSums));
            world.infer(&text(2));
        })
    });
}

/// Sections that 40 decisions read at moves as wide as the posterior.
fn read(order: usize) -> u64 {
    const ROWS: usize = 3000;
    let mut world = World::new("[assume a (normal 0 1)] [assume b (normal 0 1)]", 3);
    for k in 0..ROWS {
        let x = 2.0 * k as f64 / ROWS as f64 - 1.0;
        let heads = (k * 7919) % 10 < if x > 0.0 { 5 } else { 3 };
        world.observe(
            &format!("(flip (logistic (+ a (* b {x}))))"),
            heads.into(),
            &format!("y{k}"),
        );
    }
    world.infer("(reference_mh default all 20)");
    let text = format!(
        "(subsampled_mh default all 100 0.01 'drift 0.06 'audit 0 'control_variates {order} 40)"
    );
    world.run = Run::default();
    world.infer(&text);
    let tally = world.run.kernel(0).tally;
    assert_eq!((tally.transitions, tally.approximate), (40, 40));
    tally.sections_used
}

#[test]
fn fewer_sections_are_read() {
    let [plain, first, second] = [0, 1, 2].map(read);
    assert!(second <= 40 * 100 + 1000, "{plain} {first} {second}");
    assert!(first < plain && 3 * second < plain, "{plain} {first} {second}");
}
