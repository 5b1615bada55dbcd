//! What Gibbs keeps about a choice from one step to the next is never stale: between two enumerations of
//! one choice, rows are forgotten and observed again, families of memo keys come and go, and other
//! kernels move. Weights by what was kept are those of whole proposals. One twin forgets that edges
//! have changed, the other that statistics have.

use smidgen_engine::check::{check, pretend_no_edge_changed, pretend_no_statistics_changed};
use smidgen_engine::{DrawnFrom, Enumeration, NodeId, Trace};
use smidgen_testkit::World;
use smidgen_testkit::mixture::joint_dpm;
use smidgen_value::{Rng, Value, math};

const ROWS: usize = 12;

/// Clusters of vectors and coins; a pair of rows whose sum decides; a table that clusters share in
/// pairs.
const MODEL: &str = "
    [assume a (scope_include 'a 0 (gamma 2 1))]
    [assume crp (make_crp a)]
    [assume z (mem (lambda (i) (scope_include 'z i (crp))))]
    [assume w (mem (lambda (k) (scope_include 'w k (multivariate_diag_normal (zeros 3) (fill 3 2)))))]
    [assume cluster (mem (lambda (k) (make_collapsed_multivariate_normal (zeros 2) 0.05 4 (id_matrix 2))))]
    [assume x (lambda (i) ((cluster (z i))))]
    [assume y (lambda (i x) (bernoulli (linear_logistic (w (z i)) x)))]
    [assume parity (mem (lambda (p) (normal 0 1)))]
    [assume pair (lambda (i j) (normal (parity (< (+ (z i) (z j)) 4)) 1))]";

fn number(rng: &mut Rng) -> f64 {
    (rng.uniform() * 60.0).round() / 10.0 - 3.0
}

fn observe(world: &mut World, what: usize, row: usize, rng: &mut Rng) {
    let (a, b) = (number(rng), number(rng));
    let directive = match what {
        0 => format!("x{row}: [observe (x {row}) (vector {a} {b})]"),
        1 => format!("y{row}: [observe (y {row} (vector {a} {b})) {}]", rng.coin()),
        _ => format!("p{row}: [observe (pair {row} {}) {a}]", (row + 5) % ROWS),
    };
    world.execute(&directive).expect("an observation");
}

/// Something else happens.
fn change(world: &mut World, observed: &mut [[bool; 3]; ROWS], rng: &mut Rng) {
    let row = rng.below(ROWS);
    match rng.below(10) {
        0..5 => {
            let what = rng.below(3);
            let is_observed = &mut observed[row][what];
            *is_observed = !*is_observed;
            match *is_observed {
                true => observe(world, what, row, rng),
                false => {
                    let label = format!("[forget {}{row}]", ["x", "y", "p"][what]);
                    world.execute(&label).expect("it was observed");
                }
            }
        }
        5 => world.infer("(gibbs z one 2)"),
        6 => world.infer("(mh z one 4)"),
        7 => world.infer("(mh default one 4)"),
        8 => world.infer("(subsampled_mh w one 5 0.1 'drift 0.5 2)"),
        _ => {
            let more = format!("more: [predict (+ (z {row}) (crp))] [infer (mh z one 2)]");
            world.execute(&more).expect("a prediction");
            if rng.coin() {
                world.execute("[forget more]").expect("it is there");
            } else {
                world.execute("[infer (gibbs z one 1)] [forget more]").expect("it is there");
            }
        }
    }
}

/// Whether weights are the same, or so small beside others that it does not matter: the interpreter
/// has lost digits of the probability of a coin that is almost sure, and what is kept has not.
fn close(a: &[f64], b: &[f64]) -> bool {
    let largest = b.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let close = |(a, b): (&f64, &f64)| {
        let share = |w: f64| math::exp(w - largest);
        a == b
            || (a - b).abs() <= 1e-9 * (1.0 + a.abs().min(b.abs()))
            || (share(*a) - share(*b)).abs() <= 1e-12
    };
    a.len() == b.len() && a.iter().zip(b).all(close)
}

fn block(world: &World, row: usize) -> Option<NodeId> {
    let scopes = world.model.scopes();
    scopes.block(&Value::symbol("z"), &Value::Number(row as f64)).first().copied()
}

/// How often weights differed, what was kept was used, and there was something to compare.
fn compare(seed: u64, rounds: usize, breaks: bool) -> (usize, usize, usize) {
    let mut world = World::new(MODEL, seed);
    let mut rng = Rng::for_chain(seed, 1);
    let mut observed = [[false; 3]; ROWS];
    for (row, is_observed) in observed.iter_mut().enumerate() {
        for (what, is_observed) in is_observed.iter_mut().enumerate().take(2) {
            *is_observed = true;
            observe(&mut world, what, row, &mut rng);
        }
    }
    let (mut fast, mut slow) = (Enumeration::new(), Enumeration::of_proposals());
    let (mut wrong, mut recalled, mut all) = (0, 0, 0);
    for round in 0..rounds {
        let row = rng.below(ROWS);
        let Some(choice) = block(&world, row) else { continue };
        let scope = Value::symbol("z");
        let drawn_from =
            [DrawnFrom::Nothing, DrawnFrom::Choices, DrawnFrom::Scope(&scope)][round % 3];
        let trace = world.model.trace_mut();
        fast.weigh(trace, &[choice], drawn_from, &mut rng).expect("weights");
        for _ in 0..rng.below(3) {
            change(&mut world, &mut observed, &mut rng);
        }
        if block(&world, row) != Some(choice) {
            continue;
        }
        let trace = world.model.trace_mut();
        if breaks {
            pretend_no_edge_changed(trace);
        }
        let stream = rng.seed();
        fast.weigh(trace, &[choice], drawn_from, &mut Rng::from_seed(stream)).expect("weights");
        slow.weigh(trace, &[choice], drawn_from, &mut Rng::from_seed(stream)).expect("weights");
        let (a, b) = (fast.log_weights(), slow.log_weights());
        all += 1;
        recalled += usize::from(fast.is_recalled());
        wrong += usize::from(!close(a, b));
        if !breaks {
            assert_eq!(wrong, 0, "round {round}, row {row}\n{a:?}\n{b:?}");
            check(trace).unwrap();
        }
    }
    (wrong, recalled, all)
}

#[test]
fn what_is_kept_is_never_stale() {
    let (mut recalled, mut all) = (0, 0);
    for seed in 0..8 {
        let (_, now_recalled, now_all) = compare(seed, 150, false);
        recalled += now_recalled;
        all += now_all;
    }
    assert!(recalled * 4 > all, "{recalled} of {all} by what was kept");
}

#[test]
fn a_twin_that_forgets_what_changed_is_caught() {
    let wrong: usize = (0..4).map(|seed| compare(seed, 100, true).0).sum();
    assert!(wrong > 10, "{wrong}");
}

/// One row of a mixture moves, then another one is weighed by numbers that were copied from the
/// clusters before. How often weights differed from those of whole proposals.
fn move_and_weigh(d: usize, breaks: bool) -> usize {
    let mut world = World::new(&joint_dpm(40, d, 4, 5), 5);
    let mut rng = Rng::from_seed(d as u64);
    let (mut fast, mut slow) = (Enumeration::new(), Enumeration::of_proposals());
    let mut wrong = 0;
    for _ in 0..100 {
        let mut row = || block(&world, rng.below(40)).expect("every row is observed");
        let (moved, weighed) = (row(), row());
        let trace = world.model.trace_mut();
        if breaks {
            pretend_no_statistics_changed(trace);
        }
        fast.weigh(trace, &[moved], DrawnFrom::Nothing, &mut rng).expect("weights");
        let others = fast.log_weights().iter().enumerate().skip(1);
        let best = others.max_by(|a, b| a.1.total_cmp(b.1)).expect("a new table at least").0;
        fast.install(trace, best).expect("a candidate");
        if breaks {
            pretend_no_statistics_changed(trace);
        }
        let stream = rng.seed();
        let mut weigh = |enumeration: &mut Enumeration| {
            let mut rng = Rng::from_seed(stream);
            enumeration.weigh(trace, &[weighed], DrawnFrom::Nothing, &mut rng).expect("weights");
            enumeration.log_weights().to_vec()
        };
        let (a, b) = (weigh(&mut fast), weigh(&mut slow));
        let same = close(&a, &b);
        assert!(same || breaks, "{a:?}\n{b:?}");
        wrong += usize::from(!same);
    }
    wrong
}

#[test]
fn numbers_copied_from_clusters_follow_them() {
    for d in [1, 2, 3] {
        assert_eq!(move_and_weigh(d, false), 0);
        let wrong = move_and_weigh(d, true);
        assert!(wrong > 10, "{wrong}");
    }
}

/// Observations of other kinds: a coin that is true or false, a density of several values of the
/// cluster, weights that are computed, and a table whose values are the choices themselves.
const KINDS: &str = "
    [assume z (mem (lambda (i) (scope_include 'z i (uniform_discrete 0 4))))]
    [assume mu (mem (lambda (k) (normal 0 2)))]
    [assume sd (mem (lambda (k) (gamma 2 1)))]
    [assume bias (normal 0 1)]
    [assume w (mem (lambda (k) (vector bias (normal 0 1))))]
    [assume again (mem (lambda (k) (z k)))]";

#[test]
fn observations_of_every_kind() {
    let (mut renewed, mut recalled, mut all) = (0, 0, 0);
    for seed in 0..4 {
        let mut world = World::new(KINDS, seed);
        let mut rng = Rng::for_chain(seed, 1);
        for row in 0..ROWS {
            let (a, b, coin) = (number(&mut rng), number(&mut rng), rng.coin());
            let directive = match row % 4 {
                0 => {
                    format!("[observe (flip (linear_logistic (w (z {row})) (vector {a}))) {coin}]")
                }
                1 => format!(
                    "[observe (bernoulli (linear_logistic (w (z {row})) (list {a}))) {coin}]"
                ),
                2 => format!("[observe (normal (again (z {row})) 1) {a}]"),
                _ => format!(
                    "[observe (bernoulli (linear_logistic (w (z {row})) (vector {a}))) {coin}]"
                ),
            };
            world.execute(&directive).expect("an observation");
            let directive = format!("[observe (normal (mu (z {row})) (sd (z {row}))) {b}]");
            world.execute(&directive).expect("an observation");
        }
        let (mut fast, mut slow) = (Enumeration::new(), Enumeration::of_proposals());
        for _ in 0..30 {
            world.infer("(cycle ((gibbs z one 3) (mh default one 3)) 1)");
            for row in 0..ROWS {
                let choice = block(&world, row).expect("every row is observed");
                let trace = world.model.trace_mut();
                let stream = rng.seed();
                let weigh = |enumeration: &mut Enumeration, trace: &mut Trace| {
                    let mut rng = Rng::from_seed(stream);
                    enumeration.weigh(trace, &[choice], DrawnFrom::Choices, &mut rng).unwrap();
                    enumeration.log_weights().to_vec()
                };
                // By what moves have left, and by what was just made; whole proposals undo both.
                let first = weigh(&mut fast, trace);
                renewed += usize::from(fast.is_recalled());
                let whole = weigh(&mut slow, trace);
                weigh(&mut fast, trace);
                let second = weigh(&mut fast, trace);
                recalled += usize::from(fast.is_recalled());
                all += 1;
                for a in [first, second] {
                    assert!(close(&a, &whole), "{row}\n{a:?}\n{whole:?}");
                }
            }
        }
    }
    assert!(renewed * 20 > all, "{renewed} of {all} after moves");
    assert!(recalled * 4 > all, "{recalled} of {all} by what was kept");
}
