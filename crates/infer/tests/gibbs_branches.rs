//! Gibbs on choices that select among branches: what candidates come to on either side is found from the text and weighed in
//! lanes ([`smidgen_engine::enumerate`]); whole proposals say what it has to be.

use smidgen_engine::check::check;
use smidgen_engine::{DrawnFrom, NodeId};
use smidgen_testkit::World;
use smidgen_value::{Rng, Value};

use crate::gibbs_roads::two_roads;

/// A program whose finite choices stand in scope z, and whose others in scope x.
struct Branching {
    name: &'static str,
    /// The least share of candidates that has lanes.
    in_lanes: f64,
    program: &'static str,
    row: fn(i: usize) -> String,
}

const ROWS: usize = 12;

fn y(i: usize) -> f64 {
    [0.3, 2.0, 1.0, -0.4, 3.0, 0.1][i % 6] + i as f64 / 8.0
}

const PROGRAMS: [Branching; 15] = [
    Branching {
        name: "a change point",
        in_lanes: 0.9,
        program: "[assume t (scope_include 'z 0 (uniform_discrete 0 11))] [assume a (scope_include 'x 0 (gamma 2 1))]
                  [assume b (scope_include 'x 1 (gamma 2 1))]",
        row: |i| format!("[observe (poisson (if (< {i} t) a b)) {}]", y(i).abs().round()),
    },
    Branching {
        name: "a change point by rows of a table",
        in_lanes: 0.9,
        program: "[assume t (scope_include 'z 0 (uniform_discrete 0 11))]
                  [assume rate (mem (lambda (k) (scope_include 'x k (gamma 2 1))))]
                  [assume side (lambda (i) (if (< i t) 0 1))] [predict (rate 0)] [predict (rate 1)]",
        row: |i| format!("[observe (poisson (rate (side {i}))) {}]", y(i).abs().round()),
    },
    Branching {
        name: "a change point, whose sides are rows",
        in_lanes: 0.9,
        program: "[assume t (scope_include 'z 0 (uniform_discrete 0 11))]
                  [assume rate (mem (lambda (k) (scope_include 'x k (gamma 2 1))))] [predict (rate 0)] [predict (rate 1)]",
        row: |i| format!("[observe (poisson (if (< {i} t) (rate 0) (rate 1))) {}]", y(i).abs().round()),
    },
    Branching {
        name: "two change points, whose sides are rows within sides",
        in_lanes: 0.9,
        program: "[assume t (scope_include 'z 0 (uniform_discrete 0 11))] [assume u (scope_include 'z 1 (uniform_discrete 0 11))]
                  [assume rate (mem (lambda (k) (scope_include 'x k (gamma 2 1))))]
                  [predict (rate 0)] [predict (rate 1)] [predict (rate 2)]",
        row: |i| format!("[observe (poisson (if (< {i} (min t u)) (rate 0) (if (< {i} (max t u)) (rate 1) (* 2 (rate 2))))) {}]", y(i).abs().round()),
    },
    Branching {
        // A row that the loop alone asks for goes where no round takes its side.
        name: "two change points, one of whose sides comes and goes",
        in_lanes: 0.0,
        program: "[assume t (scope_include 'z 0 (uniform_discrete 0 11))] [assume u (scope_include 'z 1 (uniform_discrete 0 11))]
                  [assume rate (mem (lambda (k) (scope_include 'x k (gamma 2 1))))] [predict (rate 0)] [predict (rate 2)]",
        row: |i| format!("[observe (poisson (if (< {i} (min t u)) (rate 0) (if (< {i} (max t u)) (rate 1) (* 2 (rate 2))))) {}]", y(i).abs().round()),
    },
    Branching {
        // Whether somebody else asks for the row hangs on another choice.
        name: "a change point, a side of which may be asked for by others",
        in_lanes: 0.1,
        program: "[assume t (scope_include 'z 0 (uniform_discrete 0 11))] [assume c (scope_include 'z 1 (flip 0.5))]
                  [assume rate (mem (lambda (k) (scope_include 'x k (gamma 2 1))))] [predict (rate 0)]
                  [assume q (if c (rate 1) 0)]",
        row: |i| format!("[observe (poisson (if (< {i} t) (rate 0) (rate 1))) {}]", y(i).abs().round()),
    },
    Branching {
        name: "densities of rows on both sides, called by name",
        in_lanes: 0.9,
        program: "[assume m (mem (lambda (k) (scope_include 'x k (normal 0 3))))] [predict (m 0)] [predict (m 1)]
                  [assume z (mem (lambda (i) (scope_include 'z i (flip 0.4))))]
                  [assume low (lambda (i) (normal (m 0) (+ 1 i)))] [assume high (lambda (i) (laplace (m 1) 1))]",
        row: |i| format!("[observe (if (z {i}) (low 1) (high {i})) {}]", y(i)),
    },
    Branching {
        // Clusters become empty: then a row has to be made.
        name: "clusters by coins",
        in_lanes: 0.5,
        program: "[assume p (scope_include 'x 0 (beta 1 1))] [assume mu (mem (lambda (k) (scope_include 'x (+ 1 k) (normal 0 3))))]
                  [assume z (mem (lambda (i) (if (scope_include 'z i (flip p)) 1 0)))]",
        row: |i| format!("[observe (normal (mu (z {i})) 1) {}]", y(i)),
    },
    Branching {
        name: "names on both sides, one condition twice",
        in_lanes: 0.9,
        program: "[assume a (scope_include 'x 0 (normal 0 3))] [assume b (scope_include 'x 1 (normal 0 3))]
                  [assume s (scope_include 'x 2 (gamma 2 1))] [assume z (mem (lambda (i) (scope_include 'z i (flip 0.4))))]",
        row: |i| format!("[observe (normal (if (z {i}) a (+ b 1)) (if (z {i}) s (* 2 s))) {}]", y(i)),
    },
    Branching {
        name: "densities on both sides",
        in_lanes: 0.9,
        program: "[assume a (scope_include 'x 0 (normal 0 3))] [assume s (scope_include 'x 1 (gamma 2 1))]
                  [assume z (mem (lambda (i) (scope_include 'z i (flip 0.4))))]",
        row: |i| format!("[observe (if (z {i}) (normal a 1) (laplace 0 s)) {}]", y(i)),
    },
    Branching {
        name: "sides within sides",
        in_lanes: 0.9,
        program: "[assume a (scope_include 'x 0 (normal 0 3))] [assume b (scope_include 'x 1 (normal 0 3))]
                  [assume z (mem (lambda (i) (scope_include 'z i (uniform_discrete 0 2))))]",
        row: |i| {
            format!("[observe (normal (if (= (z {i}) 0) a (if (= (z {i}) 1) (* a b) (- b {i}))) 1) {}]", y(i))
        },
    },
    Branching {
        name: "log odds far out",
        in_lanes: 0.3,
        program: "[assume t (scope_include 'z 0 (uniform_discrete 0 11))] [assume a (scope_include 'x 0 (normal 0 20))]
                  [assume b (scope_include 'x 1 (normal 0 1))]",
        row: |i| format!("[observe (bernoulli (if (< {i} t) (logistic (* 2 a)) (logistic b))) {}]", i % 3 == 0),
    },
    Branching {
        // Where it is not taken, a side may have no value.
        name: "a side that is impossible",
        in_lanes: 0.2,
        program: "[assume a (scope_include 'x 0 (gamma 2 1))] [assume z (mem (lambda (i) (scope_include 'z i (flip 0.4))))]",
        row: |i| format!("[observe (normal 0 (if (z {i}) (- a 1) (log (+ a 1.5)))) {}]", y(i)),
    },
    Branching {
        // Rows that only the choice asks for are drawn anew with it, so it matters who else does.
        name: "rows that others ask for now and then",
        in_lanes: 0.1,
        program: "[assume t (scope_include 'z 0 (uniform_discrete 0 11))] [assume c (scope_include 'z 1 (flip 0.5))]
                  [assume rate (mem (lambda (k) (scope_include 'x k (gamma 2 1))))] [assume side (lambda (i) (if (< i t) 0 1))]
                  [observe (normal (if c (- (rate 0) (rate 1)) 1) 2) 0.4]",
        row: |i| format!("[observe (poisson (rate (side {i}))) {}]", y(i).abs().round()),
    },
    Branching {
        name: "rows that others ask for as well",
        in_lanes: 0.0,
        program: "[assume mu (mem (lambda (k) (scope_include 'x k (normal 0 3))))]
                  [assume z (mem (lambda (i) (scope_include 'z i (flip 0.5))))] [predict (mu 2)]",
        row: |i| format!("[observe (normal (+ (mu (if (z {i}) 2 3)) (if (z {i}) (mu 2) 1)) 1) {}]", y(i)),
    },
];

fn blocks(world: &World) -> Vec<Vec<NodeId>> {
    let scope = Value::symbol("z");
    let scopes = world.model.scopes();
    let block = |k: usize| scopes.block(&scope, &Value::Number(k as f64)).to_vec();
    (0..ROWS).map(block).filter(|block| !block.is_empty()).collect()
}

#[test]
fn branches_are_weighed_as_by_whole_proposals() {
    for Branching { name, in_lanes, program, row } in PROGRAMS {
        let rows: Vec<String> = (0..ROWS).map(row).collect();
        let mut world = World::new(&format!("{program} {}", rows.join(" ")), 3);
        world.model.find_feasible_start(&mut Rng::from_seed(5)).expect("a start");
        let (mut lanes, mut all) = (0, 0);
        for round in 0..12 {
            for (k, block) in blocks(&world).iter().enumerate() {
                let trace = world.model.trace_mut();
                let scope = Value::symbol("z");
                let drawn_from = [DrawnFrom::Nothing, DrawnFrom::Choices, DrawnFrom::Scope(&scope)];
                let seed = 100 * round + k as u64;
                let way = two_roads(trace, block, drawn_from[seed as usize % 3], seed);
                let way = way.unwrap_or_else(|| panic!("{name}: finite choices"));
                lanes += way.in_lanes;
                all += way.candidates;
            }
            world.infer("(cycle ((gibbs z each 1) (mh x each 'drift 0.5 2)) 1)");
            check(&world.model).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        }
        let share = lanes as f64 / all as f64;
        assert!(share >= in_lanes, "{name}: {share} of the candidates in lanes");
    }
}
