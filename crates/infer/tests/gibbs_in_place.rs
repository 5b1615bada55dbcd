//! A move of Gibbs to clusters that are there is written in place. It leaves what a whole proposal for
//! the same candidate leaves, to the bit, but for the names of nodes; also between moves of other
//! kernels, which leave values stale, make families and take them away.

use smidgen_engine::check::{check, dump, dump_by_address};
use smidgen_engine::{DrawnFrom, Enumeration, NodeId, Trace};
use smidgen_testkit::World;
use smidgen_testkit::mixture::joint_dpm;
use smidgen_value::{Rng, Value};

/// Two tables and a function of each; every second row asks for one of them twice. Finite choices
/// that are drawn from a distribution.
const FINITE: &str = "
    [assume z (mem (lambda (i) (scope_include 'z i (uniform_discrete 0 3))))]
    [assume w (mem (lambda (k) (scope_include 'w k (multivariate_diag_normal (zeros 2) (fill 2 2)))))]
    [assume bag (mem (lambda (k) (make_dir_cat (array 1 1 2))))]
    [assume y (lambda (i x) (bernoulli (linear_logistic (w (z i)) x)))]";

fn finite() -> String {
    let row = |i: usize| {
        let (x, coin) = (i as f64 / 4.0 - 1.0, i.is_multiple_of(3));
        format!(
            "[observe ((bag (z {i}))) {}] [observe (y {i} (vector {x})) {coin}] [observe (y {i} (vector {})) {coin}]\n",
            i % 3,
            x + 1.0
        )
    };
    FINITE.to_owned() + &(0..12).map(row).collect::<String>()
}

fn block(world: &World, row: usize) -> NodeId {
    world.model.scopes().block(&Value::symbol("z"), &Value::Number(row as f64))[0]
}

/// Which slots are used: those of an application that is made anew are others.
fn free_slots(trace: &Trace) -> Vec<String> {
    let is_free = |line: &&str| line.starts_with("nodes ") || line.starts_with("families ");
    dump(trace).lines().filter(is_free).map(str::to_owned).collect()
}

fn refresh(trace: &mut Trace) {
    let all: Vec<NodeId> = trace.live_nodes().collect();
    for id in all {
        trace.value(id).expect("a value");
    }
}

/// How many of the moves used no other slots.
fn moves(text: &str, rows: usize, seed: u64) -> usize {
    let mut world = World::new(text, seed);
    let mut rng = Rng::for_chain(seed, 1);
    let (mut fast, mut slow) = (Enumeration::new(), Enumeration::of_proposals());
    let mut in_place = 0;
    for round in 0..60 {
        world.infer(
            [
                "(gibbs z one 3)",
                "(subsampled_mh w one 5 0.1 'drift 0.5 2)",
                "(mh z one 2)",
                "(mh default one 2)",
            ][rng.below(4)],
        );
        let choice = block(&world, rng.below(rows));
        let mut other = world.model.copy(round + 1);
        let stream = rng.seed();
        let drawn_from = [DrawnFrom::Nothing, DrawnFrom::Choices][rng.below(2)];
        let trace = world.model.trace_mut();
        // Twice, so that there is a plan.
        for _ in 0..2 {
            fast.weigh(trace, &[choice], drawn_from, &mut Rng::from_seed(stream)).expect("weights");
        }
        let log_weights = fast.log_weights();
        let k = 1 + rng.below(log_weights.len() - 1);
        if !log_weights[k].is_finite() {
            continue;
        }
        let before = free_slots(trace);
        fast.install(trace, k).expect("a candidate");
        in_place += usize::from(free_slots(trace) == before);
        let trace = other.trace_mut();
        slow.weigh(trace, &[choice], drawn_from, &mut Rng::from_seed(stream)).expect("weights");
        slow.candidate(trace, k).expect("a candidate").commit();
        check(world.model.trace_mut()).unwrap();
        let shown = |trace: &mut Trace| {
            refresh(trace);
            dump_by_address(trace)
        };
        let (a, b) = (shown(world.model.trace_mut()), shown(other.trace_mut()));
        let differ = a.iter().zip(&b).find(|(a, b)| a != b);
        assert!(a.len() == b.len() && differ.is_none(), "round {round}: {differ:#?}");
    }
    in_place
}

#[test]
fn a_mixture_of_experts() {
    for d in [1, 2] {
        let in_place: usize = (0..4).map(|seed| moves(&joint_dpm(24, d, 3, 3), 24, seed)).sum();
        assert!(in_place > 100, "{in_place} of 240");
    }
}

#[test]
fn finite_choices() {
    let in_place: usize = (0..4).map(|seed| moves(&finite(), 12, seed)).sum();
    assert!(in_place > 100, "{in_place} of 240");
}
