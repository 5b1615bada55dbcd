//! The two roads to the weights of Gibbs, without writing and by whole proposals, agree: on the
//! joint DPM and on random programs, brushes included; also where an accepted move has left stale what
//! they hang on.

use std::cell::Cell;

use proptest::prelude::*;
use smidgen_engine::check::{check, dump};
use smidgen_engine::{DrawnFrom, Enumeration, Fault, NoLanes, NodeId, Trace};
use smidgen_testkit::World;
use smidgen_testkit::mixture::joint_dpm;
use smidgen_testkit::programs::{EVERYTHING, program};
use smidgen_testkit::wild::kernels::Moves;
use smidgen_testkit::wild::writer;
use smidgen_value::{Rng, Value, math};

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * (1.0 + a.abs().min(b.abs()))
}

/// How a block was weighed.
pub struct Way {
    /// Without writing.
    pub dry: bool,
    pub in_lanes: usize,
    pub candidates: usize,
    /// Why there are no lanes.
    pub no_lanes: Option<NoLanes>,
}

/// Weighs a block both ways on the same stream. None if the block cannot be enumerated.
pub fn two_roads(
    trace: &mut Trace,
    block: &[NodeId],
    drawn_from: DrawnFrom<'_>,
    seed: u64,
) -> Option<Way> {
    let (mut fast, mut slow) = (Enumeration::new(), Enumeration::of_proposals());
    // Refreshes what is stale.
    slow.weigh(trace, block, drawn_from, &mut Rng::from_seed(seed)).ok()?;
    let before = dump(trace);
    fast.weigh(trace, block, drawn_from, &mut Rng::from_seed(seed)).expect("the other road went");
    let (a, b) = (fast.log_weights().to_vec(), slow.log_weights().to_vec());
    assert!(a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| close(*a, *b)), "{a:?}\n{b:?}");
    assert_eq!(before, dump(trace), "weighing writes");
    // What is installed is what was weighed.
    for (k, log_weight) in a.iter().enumerate().skip(1).filter(|(_, w)| w.is_finite()) {
        let proposal = fast.candidate(trace, k).expect("a candidate");
        let log_blocks = match drawn_from {
            DrawnFrom::Nothing => 0.0,
            DrawnFrom::Choices => math::ln(proposal.trace().choices().len() as f64),
            DrawnFrom::Scope(scope) => {
                math::ln(proposal.trace().scopes().number_of_blocks(scope) as f64)
            }
        };
        if !slow.is_pairwise() {
            assert!(close(proposal.log_new() - log_blocks, *log_weight), "{k}: {log_weight}");
        }
    }
    assert_eq!(before, dump(trace), "a candidate that is dropped leaves something");
    let (dry, in_lanes, candidates) = (fast.is_dry(), fast.in_lanes(), a.len());
    Some(Way { dry, in_lanes, candidates, no_lanes: fast.no_lanes() })
}

#[test]
fn both_roads_on_the_joint_dpm() {
    for d in [1, 2, 5] {
        let mut world = World::new(&joint_dpm(40, d, 4, 3), 7);
        let (mut fast, mut all) = (0, 0);
        for round in 0..12 {
            for i in 0..40 {
                let scope = Value::symbol("z");
                let block = world.model.scopes().block(&scope, &Value::Number(f64::from(i)));
                let block = block.to_vec();
                let trace = world.model.trace_mut();
                let drawn_from = [DrawnFrom::Nothing, DrawnFrom::Choices, DrawnFrom::Scope(&scope)];
                let seed = 100 * round + i as u64;
                let way = two_roads(trace, &block, drawn_from[seed as usize % 3], seed);
                fast += usize::from(way.expect("finite choices").dry);
                all += 1;
            }
            world.infer("(cycle ((gibbs z each 1) (mh z each 1) (subsampled_mh w each 5 0.1 'drift 0.5 1)) 1)");
            check(&world.model).unwrap();
        }
        assert!(fast * 10 > all * 9, "{fast} of {all} without writing");
    }
}

/// A mixture by its clusters and what a row observes, given its number and two numbers of its own.
struct Mixture {
    name: &'static str,
    /// The least share of candidates that has lanes.
    in_lanes: f64,
    clusters: &'static str,
    row: fn(i: usize, a: f64, b: f64) -> String,
}

const MIXTURES: [Mixture; 11] = [
    Mixture {
        name: "Poisson regressions",
        in_lanes: 0.9,
        clusters: "[assume w (mem (lambda (k) (multivariate_diag_normal (zeros 2) (fill 2 0.5))))]",
        row: |i, a, b| {
            format!(
                "[observe (poisson (exp (dot (w (z {i})) (vector 1 {a})))) {}]",
                b.abs().round()
            )
        },
    },
    Mixture {
        name: "normals with sds of their own",
        in_lanes: 0.9,
        clusters: "[assume mu (mem (lambda (k) (normal 0 3)))] [assume sd (mem (lambda (k) (gamma 2 1)))]",
        row: |i, a, _| format!("[observe (normal (mu (z {i})) (sd (z {i}))) {a}]"),
    },
    Mixture {
        name: "two observations of a row",
        in_lanes: 0.9,
        clusters: "[assume mu (mem (lambda (k) (normal 0 3)))] [assume p (mem (lambda (k) (beta 1 1)))]",
        row: |i, a, b| {
            format!(
                "[observe (normal (mu (z {i})) 1) {a}] [observe (flip (p (z {i}))) {}] [observe (laplace (* 2 (mu (z {i}))) 0.5) {b}]",
                a > b
            )
        },
    },
    Mixture {
        name: "collapsed coins and vectors",
        in_lanes: 0.7,
        clusters: "[assume coin (mem (lambda (k) (make_beta_bernoulli 1 2)))]
                   [assume cluster (mem (lambda (k) (make_collapsed_multivariate_normal (zeros 2) 0.1 4 (id_matrix 2))))]",
        row: |i, a, b| {
            format!(
                "[observe ((coin (z {i}))) {}] [observe ((cluster (z {i}))) (vector {a} {b})]",
                a > b
            )
        },
    },
    Mixture {
        name: "numbers far out",
        in_lanes: 0.6,
        clusters: "[assume w (mem (lambda (k) (multivariate_diag_normal (zeros 2) (fill 2 40))))]
                   [assume cluster (mem (lambda (k) (make_collapsed_multivariate_normal (zeros 2) 0.1 4 (id_matrix 2))))]",
        row: |i, a, b| {
            format!(
                "[observe (bernoulli (logistic (dot (w (z {i})) (vector {} {})))) {}] [observe ((cluster (z {i}))) (vector {a}e{} {b}e-150)]",
                9.0 * a,
                8.0 * b,
                a > b,
                100
            )
        },
    },
    Mixture {
        name: "vectors too large for a formula",
        in_lanes: 0.2,
        clusters: "[assume cluster (mem (lambda (k) (make_collapsed_multivariate_normal (zeros 1) 0.1 4 (id_matrix 1))))]",
        row: |i, a, _| format!("[observe ((cluster (z {i}))) (vector {a}e145)]"),
    },
    Mixture {
        name: "hard walls",
        in_lanes: 0.7,
        clusters: "[assume low (mem (lambda (k) (normal -2 2)))]",
        row: |i, a, _| {
            format!("[observe (uniform_continuous (low (z {i})) (+ 6 (low (z {i})))) {a}]")
        },
    },
    Mixture {
        name: "hyperparameters of new clusters",
        in_lanes: 0.6,
        clusters: "[assume m (normal 0 1)] [assume mu (mem (lambda (k) (normal m (exp m))))]
                   [assume bag (mem (lambda (k) (make_dir_cat (array 1 1 2))))]",
        row: |i, a, _| {
            format!("[observe (normal (+ m (mu (z {i}))) 1) {a}] [observe ((bag (z {i}))) {}]", i % 3)
        },
    },
    Mixture {
        name: "calls",
        in_lanes: 0.9,
        clusters: "[assume mu (mem (lambda (k) (normal 0 3)))]",
        row: |i, a, _| {
            format!(
                "[observe (normal (floor (mu (z {i}))) (+ 1 (z {i}))) {a}] [observe (uniform_discrete 0 (+ 1 (z {i}))) 0]"
            )
        },
    },
    Mixture {
        name: "a vector by the choice",
        in_lanes: 0.9,
        clusters: "[assume xs (array 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25)]
                   [assume ys (multivariate_diag_normal (zeros 25) (fill 25 2))]",
        row: |i, a, _| {
            format!("[observe (normal (lookup xs (z {i})) (exp (lookup ys (z {i})))) {a}]")
        },
    },
    Mixture {
        name: "values of several forms",
        in_lanes: 0.0,
        clusters: "[assume w (mem (lambda (k) (if (flip 0.5) (vector 1 (normal 0 1)) (vector (normal 0 1) 2 3))))]
                   [assume name (mem (lambda (k) (categorical (vector 1 1) (array 'a 'b))))]",
        row: |i, a, _| {
            format!(
                "[observe (normal (lookup (w (z {i})) 1) 1) {a}] [observe (normal (sum (w (z {i}))) 1) {a}] [observe (flip (if (= (name (z {i})) 'a) 0.2 0.8)) true]"
            )
        },
    },
];

/// Mixtures of every kind: their weights are those of whole proposals, also after moves in place, with new
/// clusters, and after moves of other kernels.
#[test]
fn both_roads_on_mixtures_of_every_kind() {
    for Mixture { name, in_lanes: least, clusters, row } in MIXTURES {
        let mut rng = Rng::from_seed(17);
        let number = |rng: &mut Rng| (rng.uniform() * 60.0).round() / 10.0 - 3.0;
        let mut text = format!(
            "[assume crp (make_crp 1)] [assume z (mem (lambda (i) (scope_include 'z i (crp))))] {clusters}\n"
        );
        for i in 0..20 {
            text += &row(i, number(&mut rng), number(&mut rng));
        }
        let mut world = World::new(&text, 7);
        world.model.find_feasible_start(&mut rng).expect("a start");
        let [mut fast, mut all, mut in_lanes, mut candidates] = [0; 4];
        for round in 0..8 {
            for i in 0..20 {
                let scope = Value::symbol("z");
                let block = world.model.scopes().block(&scope, &Value::Number(f64::from(i)));
                let block = block.to_vec();
                let trace = world.model.trace_mut();
                let drawn_from = [DrawnFrom::Nothing, DrawnFrom::Choices, DrawnFrom::Scope(&scope)];
                let seed = 100 * round + i as u64;
                let way = two_roads(trace, &block, drawn_from[seed as usize % 3], seed);
                let way = way.expect("finite choices");
                fast += usize::from(way.dry);
                assert_eq!(way.no_lanes.is_some(), least == 0.0, "{name}: {:?}", way.no_lanes);
                in_lanes += way.in_lanes;
                candidates += way.candidates;
                all += 1;
            }
            world.infer("(cycle ((gibbs z each 1) (mh z each 1) (mh default one 20)) 1)");
            check(&world.model).unwrap();
        }
        assert!(fast * 10 > all * 9, "{name}: {fast} of {all} without writing");
        let share = in_lanes as f64 / candidates as f64;
        assert!(share >= least, "{name}: {in_lanes} of {candidates} in lanes");
    }
}

/// The same draws, whichever road is taken.
#[test]
fn random_programs() {
    let (fast, all) = (Cell::new(0), Cell::new(0));
    let tapes = (prop::collection::vec(any::<u16>(), 0..120), any::<u64>());
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let done = runner.run(&tapes, |(tape, seed)| {
        let text = program(&tape, EVERYTHING);
        let mut world = World::new(&text, seed);
        let mut rng = Rng::for_chain(seed, 1);
        let World { model, .. } = &mut world;
        if model.find_feasible_start(&mut rng).is_err() {
            return Ok(());
        }
        for _ in 0..6 {
            let trace = model.trace_mut();
            if trace.choices().is_empty() {
                break;
            }
            let block = [trace.choices()[rng.below(trace.choices().len())]];
            let drawn_from = [DrawnFrom::Nothing, DrawnFrom::Choices][rng.below(2)];
            let seed = rng.seed();
            let way = two_roads(trace, &block, drawn_from, seed);
            if let Some(Way { dry, .. }) = way {
                fast.set(fast.get() + usize::from(dry));
                all.set(all.get() + 1);
                let mut enumeration = Enumeration::new();
                enumeration.weigh(trace, &block, drawn_from, &mut rng).expect("weights");
                let weights = enumeration.log_weights();
                let possible: Vec<usize> =
                    (1..weights.len()).filter(|k| weights[*k] > f64::NEG_INFINITY).collect();
                if !possible.is_empty() {
                    let k = possible[rng.below(possible.len())];
                    enumeration.install(trace, k).expect("a candidate");
                    check(trace).unwrap();
                }
            }
        }
        Ok(())
    });
    done.unwrap();
    let (fast, all) = (fast.get(), all.get());
    assert!(all > 500 && fast * 2 > all, "{fast} of {all} without writing");
}

/// Moves that write lazily.
const LAZY: [Moves; 3] = [
    Moves::Program("(nuts smooth all 'step 0.3 1)"),
    Moves::Program("(hmc smooth each 0.3 3 1)"),
    Moves::Program("(subsampled_mh default one 5 0 'drift 0.4 4)"),
];

/// Weighs a finite choice after moves that write lazily, both ways, each in a copy of its own: neither refreshes anything for
/// the other. How many were weighed, and those that differ.
fn after_lazy_moves(fault: Option<Fault>) -> (usize, Vec<String>) {
    let (mut weighed, mut differ) = (0, Vec::new());
    for number in 0..150 {
        let wild = writer::program(number).unwrap_or_else(|error| panic!("{number}: {error}"));
        let mut start = wild.start(number).unwrap_or_else(|error| panic!("{number}: {error}"));
        let mut rng = Rng::for_chain(number, 1);
        for round in 0..6 {
            // Plans of enumerations are kept from round to round.
            if LAZY[round % LAZY.len()].make(&mut start.world).is_err() {
                continue;
            }
            let finite = start.world.model.scopes().ordered_blocks(&Value::symbol("finite"));
            let Some(id) = finite.get(rng.below(finite.len().max(1))) else { break };
            let block = start.world.model.scopes().block(&Value::symbol("finite"), id).to_vec();
            let seed = rng.seed();
            let weigh = |copy: u32, mut enumeration: Enumeration| {
                let mut model = start.world.model.copy(copy);
                let trace = model.trace_mut();
                trace.put_fault(fault);
                let mut stream = Rng::from_seed(seed);
                let done = enumeration.weigh(trace, &block[..1], DrawnFrom::Nothing, &mut stream);
                done.is_ok().then(|| enumeration.log_weights().to_vec())
            };
            let (fast, slow) =
                (weigh(1, Enumeration::new()), weigh(2, Enumeration::of_proposals()));
            let (Some(fast), Some(slow)) = (fast, slow) else { continue };
            weighed += 1;
            if fast.len() != slow.len() || !fast.iter().zip(&slow).all(|(a, b)| close(*a, *b)) {
                differ.push(format!("program {number}: {fast:?}\nby proposals {slow:?}"));
            }
            let mut enumeration = Enumeration::new();
            let trace = start.world.model.trace_mut();
            trace.put_fault(fault);
            let _ = enumeration.weigh(trace, &block[..1], DrawnFrom::Nothing, &mut rng);
        }
    }
    (weighed, differ)
}

#[test]
fn weights_after_lazy_moves() {
    let (weighed, differ) = after_lazy_moves(None);
    assert!(differ.is_empty(), "{} of {weighed}, such as {}", differ.len(), differ[0]);
    assert!(weighed > 150, "{weighed}");
    let (_, differ) = after_lazy_moves(Some(Fault::StaleArguments));
    assert!(!differ.is_empty(), "stale arguments go unnoticed");
}
