//! `one_transition N K [edits]`: loads N observations of one slope and makes K transitions
//! between a fixed state and fixed proposals, u included. To be run under an instruction counter,
//! see `scripts/count-instructions`. With `edits`, an observation comes before every transition
//! and goes after it.

use smidgen_infer::acceptance::StudentT;
use smidgen_infer::austerity::Schedule;
use smidgen_testkit::World;
use smidgen_testkit::sections::{BySections, Fault, Given};
use smidgen_value::{Rng, Symbol};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize| arguments.get(k).and_then(|text| text.parse::<usize>().ok());
    let (Some(n), Some(transitions)) = (number(0), number(1)) else {
        eprintln!("one_transition N K [edits]");
        std::process::exit(2);
    };
    let edits = arguments.get(2).is_some_and(|word| word == "edits");
    let mut world = World::new("[assume mu (normal 0 1)] [force mu 0]", 3);
    let mut rng = Rng::from_seed(5);
    let rows = (0..n).map(|i| {
        let x = (i % 7) as f64 / 3.0 - 1.0;
        let y = x + 2.0 * (rng.uniform() - 0.5);
        format!("[observe (normal (* mu {x:?}) 1) {y:?}] ")
    });
    world.execute(&rows.collect::<String>()).expect("rows");
    let mu = world.model.trace_mut().global(Symbol::new("mu")).and_then(|operand| operand.node());
    let block = [mu.expect("a choice")];
    let mut kernel = BySections::new(Fault::None);
    let mut test = StudentT::new(Schedule::new(100, 1.5), 0.01);
    // The first transition makes the roster; it is counted in neither run. Afterwards small steps
    // towards the truth, which are accepted, and large ones away from it, in turn.
    let (mut sections, mut accepted) = (0, 0);
    for k in 0..=transitions {
        let to = if k % 2 == 1 { 0.001 * (k + 1) as f64 } else { -0.5 };
        if edits {
            world.execute(&format!("e{k}: [observe (normal (* mu 2) 1) 2]")).expect("a row");
        }
        let trace = world.model.trace_mut();
        let made = (&mut Given(to) as _, &mut test as _);
        let cost = kernel.count(trace, &block, made, -0.5, &mut rng);
        if edits {
            world.execute(&format!("[forget e{k}]")).expect("observed");
        }
        if k > 0 {
            sections += cost.sections;
            accepted += usize::from(cost.accepted);
        }
    }
    println!("{sections} sections, {accepted} accepted");
}
