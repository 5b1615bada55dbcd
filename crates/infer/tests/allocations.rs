//! Memory asked for by one transition, by counting: as many blocks and bytes with a hundred
//! thousand observations as with a thousand. Alone in its binary, as the allocator counts for the
//! whole process.

use smidgen_infer::acceptance::StudentT;
use smidgen_infer::austerity::Schedule;
use smidgen_infer::block::{Block, Scope, Target};
use smidgen_infer::hamiltonian::Point;
use smidgen_infer::hamiltonian::metric::Metric;
use smidgen_infer::hamiltonian::trajectory::Sampler;
use smidgen_infer::kernel::subsampled_mh::{Policy, SubsampledMh};
use smidgen_infer::run::Log;
use smidgen_infer::{Kernel, Run};
use smidgen_testkit::World;
use smidgen_testkit::sections::InTurn;
use smidgen_value::Rng;

#[global_allocator]
static ALLOC: dhat::Alloc = dhat::Alloc;

fn slope(n: usize) -> World {
    let mut world = World::new("[assume mu (normal 0 1)] [force mu 0]", 3);
    let mut rng = Rng::from_seed(5);
    let rows = (0..n).map(|i| {
        let x = (i % 7) as f64 / 3.0 - 1.0;
        let y = x + 2.0 * (rng.uniform() - 0.5);
        format!("r{i}: [observe (normal (* mu {x:?}) 1) {y:?}] ")
    });
    world.execute(&rows.collect::<String>()).expect("rows");
    world
}

/// Small steps towards the truth, which are accepted, and large ones away from it, which are
/// rejected, in turn.
fn kernel() -> SubsampledMh {
    let schedule = Schedule::new(100, 1.5);
    let test = Box::new(StudentT::new(schedule, 0.01));
    let policy = Policy::Test { test, schedule, epsilon: 0.01 };
    let target = Target { scope: Scope::Default, block: Block::One };
    let steps = (1..).flat_map(|k| [0.003 * f64::from(k), -0.5]);
    SubsampledMh::new(target, Box::new(InTurn(steps)), policy)
}

/// Blocks and bytes asked for while something happens.
fn asked(what: impl FnOnce()) -> (u64, u64) {
    let before = dhat::HeapStats::get();
    what();
    let after = dhat::HeapStats::get();
    (after.total_blocks - before.total_blocks, after.total_bytes - before.total_bytes)
}

struct Asked {
    transitions: (u64, u64),
    edits: (u64, u64),
}

const TRANSITIONS: usize = 40;

fn measure(n: usize) -> Asked {
    let mut world = slope(n);
    let mut run = Run { audit: Some(0.0), ..Run::default() };
    let mut kernel = kernel();
    let mut rng = Rng::from_seed(11);
    let mut steps = |world: &mut World, count: usize| {
        let mut log = Log::open(&mut run, 0);
        for _ in 0..count {
            kernel.transition(world.model.trace_mut(), &mut rng, &mut log).expect("a move");
        }
        log.close();
    };
    // The first transitions make the roster and the room that later ones use again.
    steps(&mut world, 60);
    let _counting = dhat::Profiler::builder().testing().build();
    let transitions = asked(|| steps(&mut world, TRANSITIONS));
    let edits = asked(|| {
        for k in 0..5 {
            world.execute(&format!("s{k}: [observe (normal (* mu 2) 1) 1]")).expect("a row");
            steps(&mut world, 2);
            world.execute(&format!("[forget s{k}]")).expect("observed");
            steps(&mut world, 2);
        }
    });
    let tally = run.kernel(0).tally;
    assert_eq!((tally.approximate, tally.exhausted), (120, 0));
    assert!(tally.accepted > 50 && tally.accepted < 70, "{tally:?}");
    println!("{n}: {} sections read by 120 decisions", tally.sections_used);
    Asked { transitions, edits }
}

#[test]
fn a_transition_asks_for_as_much_memory_in_any_model() {
    let found = [1_000, 10_000, 100_000].map(measure);
    for Asked { transitions, edits } in &found {
        let each = TRANSITIONS as f64;
        println!(
            "{:.2} blocks and {:.0} bytes for a transition; {edits:?} for ten edits",
            transitions.0 as f64 / each,
            transitions.1 as f64 / each
        );
    }
    for Asked { transitions, .. } in &found {
        assert!(transitions.0 < TRANSITIONS as u64 / 4, "{transitions:?}");
    }
    for pair in found.windows(2) {
        let flat = |few: u64, many: u64| many as f64 <= 1.2 * few as f64;
        assert!(flat(pair[0].edits.0, pair[1].edits.0) && flat(pair[0].edits.1, pair[1].edits.1));
    }
    a_trajectory_asks_for_nothing();
}

/// Once there was one as long.
fn a_trajectory_asks_for_nothing() {
    let log_density = &mut |z: &[f64], gradient: &mut [f64]| {
        gradient.iter_mut().zip(z).for_each(|(g, z)| *g = -z);
        -0.5 * z.iter().map(|z| z * z).sum::<f64>()
    };
    let size = 50;
    let mut at = Point { z: vec![0.0; size], log_p: 0.0, gradient: vec![0.0; size] };
    let metric = Metric::new(vec![1.0; size], vec![1.0 / (size as f64).sqrt(); size], vec![4.0]);
    let mut sampler = Sampler::new(size);
    let mut rng = Rng::from_seed(1);
    sampler.transition(log_density, &metric, 1e-6, 8, &mut at, &mut rng);
    let _counting = dhat::Profiler::builder().testing().build();
    let mut steps = 0;
    let asked = asked(|| {
        for h in [0.3, 0.003, 0.03] {
            steps += sampler.transition(log_density, &metric, h, 8, &mut at, &mut rng).gradients;
        }
    });
    assert!(steps > 200, "{steps}");
    assert_eq!(asked, (0, 0));
}
