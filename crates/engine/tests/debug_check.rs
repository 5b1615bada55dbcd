//! The invariants hold after every directive and every move, and what is undone is undone to the
//! bit.

mod debug_common;

use debug_common::{model, node, run, step};
use smidgen_engine::check::{check, dump};
use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{Evaluator, Model, Partition, Proposal, Proposer, Scaffold};
use smidgen_value::{Rng, Value};

const PROGRAMS: &[&str] = &[
    // The paper's example.
    "[assume b (flip 0.5)]
     [assume mu (if b 1 (gamma 1 1))]
     [assume y (normal mu 0.1)]
     [observe y 1.2]",
    // Nested branches, a body shared with nothing, scopes whose blocks come and go.
    "[assume k (poisson 2)]
     [assume f (lambda (n) (if (<= n 0) 0 (+ (scope_include 'steps n (normal 0 1)) (f (- n 1)))))]
     [assume x (f k)]
     [observe (normal x 1) 2.5]
     [predict (if (> x 0) (if (flip 0.3) (normal x 1) x) (gamma 2 1))]",
    // Bodies shared by requests with keys that change.
    "[assume z (mem (lambda (i) (categorical (vector 0.2 0.3 0.5))))]
     [assume w (mem (lambda (c) (normal 0 2)))]
     [assume y (lambda (i) (normal (w (z i)) 0.5))]
     [observe (y 0) 1.5]
     [observe (y 1) 1.7]
     [observe (y 2) -2]
     [predict (w (z 1))]",
    // Exchangeable procedures: a restaurant, collapsed and uncollapsed coins.
    "[assume alpha (gamma 1 1)]
     [assume crp (make_crp alpha)]
     [assume z (mem (lambda (i) (crp)))]
     [assume coin (mem (lambda (c) (make_beta_bernoulli 1 alpha)))]
     [observe ((coin (z 0))) true]
     [observe ((coin (z 1))) true]
     [observe ((coin (z 2))) false]
     [predict ((coin (z 1)))]",
    "[assume a (gamma 2 1)]
     [assume coin (make_uc_beta_bernoulli a 1)]
     [observe (coin) true]
     [predict (if (coin) (normal a 1) (coin))]",
    // An observation that comes to refer to another choice.
    "[assume c (flip 0.5)]
     [assume x (normal 0 1)]
     [assume y (normal 3 1)]
     [observe (if c x y) 2]
     [predict (+ x y)]",
    "[assume c (flip 0.5)]
     [assume p (if c (lambda () (normal 0 1)) (lambda () (normal 5 1)))]
     [observe (p) 2]
     [predict (p)]",
    // Operators and lists that change.
    "[assume n (poisson 2)]
     [assume f (if (flip 0.5) normal (lambda (m s) (+ m (gamma s 1))))]
     [assume xs (map (lambda (i) (f i 1)) (to_list (if (> n 2) (vector 1 2 3) (vector 1))))]
     [observe (normal (fold + 0 xs) 1) 3]",
    // Two scopes with blocks of the same name and different members.
    "[assume a (scope_include 's 0 (normal 0 1))]
     [assume b (scope_include 't 0 (scope_include 's 0 (normal a 1)))]
     [assume c (scope_include 't 0 (scope_include 's 1 (normal b 1)))]
     [assume d (scope_include (if (flip 0.5) 's 't) 0 (normal c 1))]
     [observe (normal (+ a d) 1) 1]",
];

fn checked(model: &Model, text: &str) {
    if let Err(broken) = check(model) {
        panic!("{broken}\nin the program\n{text}\n{}", dump(model));
    }
}

#[test]
fn every_move_keeps_the_invariants_and_every_rejection_is_the_identity() {
    for (k, text) in PROGRAMS.iter().enumerate() {
        let mut rng = Rng::from_seed(k as u64);
        let mut model = model(text, &mut rng);
        checked(&model, text);
        let mut counts = [0; 2];
        for _ in 0..300 {
            let before = dump(&model);
            let accepted = step(&mut model, &mut rng);
            counts[usize::from(accepted)] += 1;
            checked(&model, text);
            if !accepted {
                assert_eq!(before, dump(&model), "{text}");
            }
        }
        assert!(counts[0] > 0 && counts[1] > 0, "{counts:?} moves: {text}");
    }
}

#[test]
fn a_directive_that_fails_leaves_nothing() {
    let mut rng = Rng::from_seed(1);
    for text in PROGRAMS {
        let mut model = model(text, &mut rng);
        for _ in 0..20 {
            step(&mut model, &mut rng);
        }
        let before = dump(&model);
        for wrong in [
            "[predict (+ (normal 0 1) (gamma 1 1) (normal 0 unknown_name))]",
            "[observe (+ 1 (normal 0 1)) 3]",
            "[predict ((mem (lambda (i) (normal 0 (- i (gamma 1 1))))) -1)]",
        ] {
            assert!(run(&mut model, wrong, &mut rng).is_err(), "{wrong}");
            checked(&model, wrong);
            assert_eq!(before, dump(&model), "{wrong} after {text}");
        }
    }
}

#[test]
fn forgetting_and_freezing_keep_the_invariants() {
    let text = "
        [assume b (flip 0.5)]
        [assume mu (if b (normal 0 1) (gamma 1 1))]
        one: [observe (normal mu 1) 2]
        two: [predict (if (> mu 0) (normal mu 1) 3)]
        [assume crp (make_crp 1)]
        [assume z (crp)]
        three: [observe (crp) 1]
        four: [observe mu 1.5]";
    let mut rng = Rng::from_seed(4);
    let mut model = model(text, &mut rng);
    checked(&model, text);
    for next in [
        "[forget four]",
        "[freeze z]",
        "[forget three]",
        "[forget one]",
        "[freeze mu]",
        "[forget two]",
    ] {
        run(&mut model, next, &mut rng).unwrap_or_else(|error| panic!("{next}: {error}"));
        checked(&model, next);
        for _ in 0..10 {
            step(&mut model, &mut rng);
            checked(&model, next);
        }
    }
}

#[test]
fn stale_values_are_not_held_against_a_trace() {
    let mut rng = Rng::from_seed(2);
    let text = "
        [assume x (normal 0 1)]
        [assume y (+ x 1)]
        [assume z (* y 2)]
        [observe (normal x 1) 3]
        [observe (normal z 1) 3]";
    let mut model = model(text, &mut rng);
    let (x, y, z) = (node(&mut model, "x"), node(&mut model, "y"), node(&mut model, "z"));
    let mut partition = Partition::new();
    partition.find(model.trace_mut(), &[x]).expect("two observations");
    let (mut scaffold, mut evaluator) = (Scaffold::new(), Evaluator::new());
    let moved = (&mut FromPrior as &mut dyn Proposer, &mut rng);
    let proposal = Proposal::propose_global(
        model.trace_mut(),
        &mut scaffold,
        &[x],
        &partition,
        &mut evaluator,
        moved,
    );
    proposal.expect("a normal").commit_lazily();
    checked(&model, "after a lazy change");
    let Value::Number(at) = model.node(x).value else { panic!("a number") };
    assert_ne!(model.node(y).value, Value::Number(at + 1.0), "y is stale");
    assert_eq!(model.trace_mut().value(y).expect("a sum"), &Value::Number(at + 1.0));
    checked(&model, "after a read half way");
    assert_eq!(model.trace_mut().value(z).expect("a product"), &Value::Number((at + 1.0) * 2.0));
    checked(&model, "after a read");
}

#[test]
fn traces_of_the_same_history_have_the_same_dump_and_others_do_not() {
    let history = |seed, steps: usize| {
        let mut rng = Rng::from_seed(seed);
        let mut model = model(PROGRAMS[3], &mut rng);
        for _ in 0..steps {
            step(&mut model, &mut rng);
        }
        dump(&model)
    };
    assert_eq!(history(1, 30), history(1, 30));
    assert_ne!(history(1, 30), history(2, 30));
    assert_ne!(history(1, 0), history(1, 100));
}
