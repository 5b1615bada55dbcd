//! `gibbs_step [N [K [SECONDS [D]]]]`: nanoseconds per Gibbs step on one assignment of the joint DPM with N
//! rows in K clusters, at D features (2 and 10 unless told).

use std::time::Instant;

use smidgen_infer::{Run, Tally};
use smidgen_testkit::World;
use smidgen_testkit::mixture::{clusters, joint_dpm};

fn main() {
    let arguments: Vec<f64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let argument = |k: usize, default: f64| arguments.get(k).copied().unwrap_or(default);
    let (n, k, seconds) = (argument(0, 10_000.0), argument(1, 10.0), argument(2, 1.0));
    let features = arguments.get(3).map_or(vec![2, 10], |d| vec![*d as usize]);
    for d in features {
        let mut world = World::new(&joint_dpm(n as usize, d, k as usize, 1), 1);
        world.infer("(cycle ((gibbs z one 1) (subsampled_mh w one 100 0.01 'drift 0.3 1)) 5000)");
        let mut steps = world.program("(gibbs z one 200)");
        world.run = Run::default();
        let World { model, rng, run, .. } = &mut world;
        let mut least = f64::INFINITY;
        let (start, cpu) = (Instant::now(), cpu_seconds());
        while start.elapsed().as_secs_f64() < seconds {
            let lap = Instant::now();
            steps.execute(model, rng, run).expect("steps");
            least = least.min(lap.elapsed().as_secs_f64() / 200.0);
        }
        let cpu = cpu_seconds() - cpu;
        let Tally { transitions: made, accepted: moved, .. } = run.kernel(0).tally;
        println!(
            "D = {d}: {:.0} ns per step (least {:.0}), {} clusters, {:.3} of the steps move",
            1e9 * cpu / made as f64,
            1e9 * least,
            clusters(&mut world),
            moved as f64 / made as f64
        );
    }
}

/// What the scheduler says that this process has run, so that other work does not count.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("a Linux system");
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse::<f64>().ok());
    nanoseconds.expect("a number first") / 1e9
}
