//! Chains of finite choices under the default kernel: paths drawn as a whole have the conditional
//! law to 1e-12; the kernel follows its matrix and leaves the posterior invariant; what is a chain.

use smidgen_engine::Sequence;
use smidgen_engine::draw_place;
use smidgen_engine::particles::Weights;
use smidgen_infer::block::{Block, Scope, Target};
use smidgen_testkit::World;
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::enumerate::{Chain, by_values, imbalance, product};
use smidgen_testkit::gibbs::GibbsChain;
use smidgen_testkit::invariance::Story;
use smidgen_testkit::particles::paths;
use smidgen_value::{Rng, Value};

fn target(scope: &str, block: Block) -> Target {
    Target { scope: Scope::Named(Value::symbol(scope)), block }
}

fn explore(text: &str) -> (World, Chain) {
    let mut world = World::new(text, 1);
    let default = Target { scope: Scope::Default, block: Block::One };
    let chain = Chain::explore(&mut world, &default, by_values);
    (world, chain)
}

// ------------------------------------------------------------ exact laws

/// The first predicted value is outside the path, if there is one.
struct Case {
    name: &'static str,
    text: &'static str,
    states: usize,
    /// How many predicted values, from the first on, the move leaves as they are.
    fixed: usize,
    block: Block,
}

fn cases() -> Vec<Case> {
    let number = Value::Number;
    vec![
        Case {
            name: "a table and a parameter",
            text: TABLES,
            states: 16,
            fixed: 1,
            block: Block::Each,
        },
        // The state after the window absorbs, the one before is read.
        Case {
            name: "a window",
            text: "[assume x (mem (lambda (t) (scope_include 'x t (bernoulli
                     (if (= t 0) 0.4 (lookup (array 0.3 0.8) (x (- t 1))))))))]
                   [observe (bernoulli (lookup (array 0.2 0.7) (x 1))) 1]
                   [predict (x 0)] [predict (x 3)] [predict (x 1)] [predict (x 2)]",
            states: 16,
            fixed: 2,
            block: Block::Range { low: number(1.0), high: number(2.0) },
        },
        // Which values there are depends on the one before; some steps are impossible; an
        // observation reads two neighbours; somebody asks for the whole path.
        Case {
            name: "a walk with moving support",
            text: "[assume x (mem (lambda (t) (scope_include 'x t
                     (if (= t 0) (uniform_discrete 0 2)
                       (uniform_discrete (- (x (- t 1)) 1) (+ (x (- t 1)) 2))))))]
                   [observe (normal (- (x 1) (x 0)) 1) 0.7]
                   [observe (poisson (+ 0.5 (abs (* (x 1) (x 2))))) 1]
                   [observe (bernoulli (lookup (array 0.1 0.9 0.4 0.6 0.2 0.7) (+ (x 2) 2))) 1]
                   [predict (x 0)] [predict (x 1)] [predict (x 2)] [predict (+ (x 0) (x 1) (x 2))]",
            states: 18,
            fixed: 0,
            block: Block::Each,
        },
        // Parameters and arguments leave their domains.
        Case {
            name: "paths that are impossible",
            text: "[assume x (mem (lambda (t) (scope_include 'x t
                     (uniform_discrete 0 (if (= t 0) 3 (+ 2 (x (- t 1))))))))]
                   [observe (gamma (x 1) 1) 0.8]
                   [predict (x 0)] [predict (x 1)] [predict (x 2)]
                   [observe (normal (log (+ (x 0) (x 1))) 1) 0.3]",
            states: 22,
            fixed: 0,
            block: Block::Each,
        },
        // Transitions and observations by branches, of two neighbours; a value that nobody observes.
        Case {
            name: "branches",
            text: "[assume s (mem (lambda (t) (scope_include 'x t
                     (if (= t 0) (flip 0.5) (flip (if (s (- t 1)) 0.8 0.3))))))]
                   [observe (flip (if (s 1) (if (s 0) 0.9 0.4) 0.2)) true]
                   [observe (normal (cond ((not (s 2)) 1) ((s 1) 2) (else 3)) 1) 0.7]
                   [predict (s 0)] [predict (s 1)] [predict (s 2)]
                   [predict (if (s 2) (+ (s 0) (s 1)) 7)]",
            states: 8,
            fixed: 0,
            block: Block::Each,
        },
        // Which procedure is called, what it computes from values that exist, and a let.
        Case {
            name: "procedures and a parameter",
            text: "[assume p (scope_include 'p 0 (/ (uniform_discrete 1 4) 4))]
                   [assume up (lambda (x) (- 1 (* x p)))] [assume down (lambda (x) (* x p))]
                   [assume s (mem (lambda (t) (scope_include 'x t (flip
                     (if (= t 0) p ((if (s (- t 1)) up down) 0.5))))))]
                   [observe (let ((m (if (s 2) (let ((q (* p 2))) (+ q 1)) p))) (normal m 1)) 1.2]
                   [observe (flip (if (and (s 1) (not (s 2))) p 0.3)) true]
                   [predict p] [predict (s 0)] [predict (s 1)] [predict (s 2)]",
            states: 24,
            fixed: 1,
            block: Block::Each,
        },
        // Steps that are alike, then one that is not.
        Case {
            name: "steps alike",
            text: "[assume x (mem (lambda (t) (scope_include 'x t (bernoulli
                     (if (= t 0) 0.4 (lookup (array 0.3 0.8) (x (- t 1))))))))]
                   [observe (normal (x 0) 0.7) 0.9] [observe (normal (x 1) 0.7) 0.1]
                   [observe (normal (x 2) 0.7) 0.5] [observe (normal (* 3 (x 3)) 1) 1.4]
                   [predict (x 0)] [predict (x 1)] [predict (x 2)] [predict (x 3)]",
            states: 16,
            fixed: 0,
            block: Block::Each,
        },
        // Rows that exist, a memoised table that nobody else asks for, and observed branches.
        Case {
            name: "memoised rows",
            text:
                "[assume row (mem (lambda (k) (scope_include 'p k (/ (uniform_discrete 1 3) 4))))]
                   [assume table (mem (lambda (k) (if (= k 0) 0.2 (row 0))))]
                   [predict (row 0)] [predict (row 1)]
                   [assume s (mem (lambda (t) (scope_include 'x t (bernoulli
                     (if (= t 0) 0.5 (row (s (- t 1))))))))]
                   [observe (flip (table (s 1))) true]
                   [observe (if (= (s 2) 1) (normal 0 (row 1)) (normal 1 1)) 0.4]
                   [predict (s 0)] [predict (s 1)] [predict (s 2)]",
            states: 32,
            fixed: 2,
            block: Block::Each,
        },
    ]
}

const TABLES: &str = "
    [assume s (scope_include 's 0 (bernoulli 0.3))]
    [assume x (mem (lambda (t) (scope_include 'x t (bernoulli
      (if (= t 0) 0.4 (lookup (array 0.3 0.6 0.45 0.8) (+ (* 2 s) (x (- t 1)))))))))]
    [assume y (lambda (t) (bernoulli (lookup (array 0.2 0.7) (x t))))]
    [observe (y 0) 1] [observe (y 1) 0] [observe (y 2) 1]
    [predict s] [predict (x 0)] [predict (x 1)] [predict (x 2)]";

/// The law of a state given what the move leaves as it is.
fn conditional(chain: &Chain, fixed: usize) -> Vec<Vec<f64>> {
    let posterior = chain.posterior();
    let kept = |state: &str| state.split(' ').take(fixed).collect::<Vec<_>>().join(" ");
    let row = |here: &String| {
        let same = |there: &String| kept(there) == kept(here);
        let among = chain.states.iter().zip(&posterior);
        let total: f64 = among.clone().filter(|(there, _)| same(there)).map(|(_, p)| p).sum();
        among.map(|(there, p)| if same(there) { p / total } else { 0.0 }).collect()
    };
    chain.states.iter().map(row).collect()
}

fn largest_difference(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn whole_paths_have_their_conditional_law() {
    for Case { name, text, states, fixed, block } in cases() {
        let (mut world, chain) = explore(text);
        assert_eq!(chain.states.len(), states, "{name}: {:?}", chain.states);
        let (target, law) = (target("x", block), conditional(&chain, fixed));
        let difference = largest_difference(&paths(&mut world, &chain, &target, 1.0), &law);
        assert!(difference < 1e-12, "{name}: {difference:.2e}");
        let difference = largest_difference(&paths(&mut world, &chain, &target, 0.9), &law);
        assert!(difference > 1e-3, "{name}: nobody notices weights to the power 0.9");
    }
    // An observation that is left out.
    let (_, chain) = explore(TABLES);
    let (mut world, _) = explore(&TABLES.replace("[observe (y 2) 1]", ""));
    let found = paths(&mut world, &chain, &target("x", Block::Each), 1.0);
    assert!(largest_difference(&found, &conditional(&chain, 1)) > 1e-3);
}

/// The matrix of `gibbs` of the parameter, in the order of a chain's states.
fn gibbs_of(text: &str, chain: &Chain) -> Vec<Vec<f64>> {
    let s = target("s", Block::Id(Value::Number(0.0)));
    let gibbs = GibbsChain::explore(&mut World::new(text, 1), &s, by_values, false);
    let at =
        |state: &String| gibbs.states.iter().position(|known| known == state).expect("a state");
    let order: Vec<usize> = chain.states.iter().map(at).collect();
    let unordered = gibbs.matrix();
    order.iter().map(|i| order.iter().map(|j| unordered[*i][*j]).collect()).collect()
}

/// A sweep draws the path, then the parameter.
#[test]
fn the_default_kernel_follows_its_matrix() {
    let (mut world, chain) = explore(TABLES);
    let path = paths(&mut world, &chain, &target("x", Block::Each), 1.0);
    let parameter = gibbs_of(TABLES, &chain);
    let sweep = product(&path, &parameter);
    assert!(imbalance(&chain.posterior(), &sweep).1 < 1e-12);
    let mut rows = |matrix: &[Vec<f64>], steps: usize, seed: u64| {
        world.rng = Rng::from_seed(seed);
        let mut program = world.program("1");
        chain.rows(matrix, &mut world, steps, |world| world.step(&mut program))
    };
    let test = "default kernel rows with a chain";
    demand(test, 6000, |steps, seed| rows(&sweep, steps, seed));
    let backwards = product(&parameter, &path);
    catches(test, "the parameter first", 6000, |steps, seed| rows(&backwards, steps, seed));
}

/// Likewise where the states select branches and an observation of one of two kinds.
const BRANCHES: &str = "
    [assume r (scope_include 's 0 (flip 0.3))]
    [assume s (mem (lambda (t) (scope_include 'x t
      (if (= t 0) (flip 0.4) (flip (if (s (- t 1)) (if r 0.9 0.6) 0.2))))))]
    [observe (if (s 0) (flip 0.7) (bernoulli 0.2)) true]
    [observe (flip (if (s 2) 0.8 0.1)) true] [observe (flip (if r 0.4 0.5)) true]
    [predict r] [predict (s 0)] [predict (s 1)] [predict (s 2)]";

#[test]
fn the_default_kernel_follows_its_matrix_through_branches() {
    let (mut world, chain) = explore(BRANCHES);
    let path = paths(&mut world, &chain, &target("x", Block::Each), 1.0);
    let parameter = gibbs_of(BRANCHES, &chain);
    let sweep = product(&path, &parameter);
    assert!(imbalance(&chain.posterior(), &sweep).1 < 1e-12);
    let test = "default kernel rows with a chain of branches";
    let mut rows = |matrix: &[Vec<f64>], steps: usize, seed: u64| {
        world.rng = Rng::from_seed(seed);
        let mut program = world.program("1");
        chain.rows(matrix, &mut world, steps, |world| world.step(&mut program))
    };
    demand(test, 6000, |steps, seed| rows(&sweep, steps, seed));
    let backwards = product(&parameter, &path);
    catches(test, "the parameter first", 6000, |steps, seed| rows(&backwards, steps, seed));
}

// ------------------------------------------------------------ exact starts

const HIDDEN: Story<'static> = Story {
    prior: "[assume stay (beta 4 2)] [assume gap (gamma 3 2)]
            [assume z (mem (lambda (t) (scope_include 'z t (if (< t 1) (bernoulli 0.5)
               (bernoulli (lookup (array (- 1 stay) stay) (z (- t 1))))))))]
            [assume y (lambda (t) (normal (* gap (z t)) 0.7))]
            [predict (z 5)]",
    data: &["(y 0)", "(y 1)", "(y 2)", "(y 3)", "(y 4)"],
    look: &["gap", "(z 0)", "(z 2)", "(= (z 2) (z 3))"],
};

/// The same by branches, with observations of either side.
const STICKY: Story<'static> = Story {
    prior: "[assume stay (beta 4 2)] [assume gap (gamma 3 2)]
            [assume z (mem (lambda (t) (scope_include 'z t (if (< t 1) (flip 0.5)
               (flip (if (z (- t 1)) stay (- 1 stay)))))))]
            [assume y (lambda (t) (if (z t) (normal gap 0.7) (normal 0 0.5)))]
            [predict (z 5)]",
    data: &["(y 0)", "(y 1)", "(y 2)", "(y 3)", "(y 4)"],
    look: &["gap", "(z 0)", "(z 2)", "(if (= (z 2) (z 3)) 1 0)"],
};

#[test]
fn a_hidden_markov_model_by_branches() {
    let test = "exact start: default kernel, a chain of branches";
    demand(test, 1500, |repeats, seed| STICKY.test(repeats, seed, |world| world.infer("3")));
    let z = target("z", Block::Each);
    catches(test, "weights to the power 0.1", 1500, |repeats, seed| {
        STICKY.test(repeats, seed, |world| draw_flat(world, &z))
    });
}

/// Draws a path with weights to the power 0.1.
fn draw_flat(world: &mut World, target: &Target) {
    let groups = target.groups(&world.model, &mut world.rng);
    let (World { model, rng, .. }, mut sequence) = (world, Sequence::new());
    assert!(
        sequence
            .prepare_path(model.trace_mut(), &groups.concat(), &std::default::Default::default())
            .unwrap()
    );
    let flat = &mut |weights: Weights<'_>, rng: &mut Rng| {
        let log_weights: Vec<f64> = weights.logarithms().iter().map(|w| 0.1 * w).collect();
        draw_place(&log_weights, rng.uniform())
    };
    assert!(sequence.draw_path(model.trace_mut(), flat, rng).unwrap().is_some());
}

#[test]
fn a_hidden_markov_model() {
    let test = "exact start: default kernel, a chain";
    demand(test, 600, |repeats, seed| HIDDEN.test(repeats, seed, |world| world.infer("3")));
    let z = target("z", Block::Each);
    catches(test, "weights to the power 0.1", 600, |repeats, seed| {
        HIDDEN.test(repeats, seed, |world| draw_flat(world, &z))
    });
}

// ------------------------------------------------------------ what is a chain

/// The lengths of the chains among all choices of a program.
fn lengths(text: &str) -> Vec<usize> {
    let world = World::new(text, 1);
    let choices: Vec<_> = world.model.choices_by_address().iter().map(|(_, id)| *id).collect();
    let mut lengths: Vec<usize> =
        world.model.chains(&choices, 3, 1).iter().map(|chain| chain.len()).collect();
    lengths.sort_unstable();
    lengths
}

#[test]
fn chains_are_found_by_dependence() {
    let states = |law: &str, last: usize| {
        format!(
            "[assume x (mem (lambda (t) (if (< t 1) (bernoulli 0.4) {law})))] [predict (x {last})]"
        )
    };
    let first = "(bernoulli (lookup (array 0.3 0.6) (x (- t 1))))";
    assert_eq!(lengths(&states(first, 4)), [5]);
    // Two, each with its own; a third reads both.
    let two = "[assume x (mem (lambda (k t) (if (< t 1) (bernoulli 0.4)
                 (bernoulli (lookup (array 0.3 0.6) (x k (- t 1)))))))]
               [predict (x 0 2)] [predict (x 1 3)]
               [predict (bernoulli (/ (+ (x 0 2) (x 1 3)) 2))]";
    assert_eq!(lengths(two), [3, 4]);
    // Each hangs on the two before: no chain. A tree is none either, but its twigs are.
    let second = "(bernoulli (lookup (array 0.3 0.6 0.8) (+ (x (- t 1)) (x (- t 2)))))";
    assert_eq!(lengths(&states(second, 4)), Vec::<usize>::new());
    let tree = states(first, 5) + "[predict (bernoulli (lookup (array 0.1 0.2) (x 2)))]";
    assert_eq!(lengths(&tree), [3, 3]);
    // One that decides what exists parts a chain.
    let parted = states(first, 6) + "[predict (if (= (x 3) 1) (x 0) 2)]";
    assert_eq!(lengths(&parted), [3, 3]);
    // A parameter that all of them read.
    assert_eq!(lengths(TABLES), [3]);
}

/// Draws are possible only if every density hangs on neighbours.
#[test]
fn an_observation_of_distant_states_is_no_chain() {
    let text = |observed: &str| {
        format!(
            "[assume x (mem (lambda (t) (scope_include 'x t (if (< t 1) (bernoulli 0.4)
                (bernoulli (lookup (array 0.3 0.6) (x (- t 1))))))))]
             [predict (x 3)] [observe (normal {observed} 1) 0.5]"
        )
    };
    for (observed, expected) in
        [("(+ (x 1) (x 2))", true), ("(+ (x 0) (x 2))", false), ("(if (= (x 1) 1) 2 3)", true)]
    {
        let mut world = World::new(&text(observed), 1);
        let groups = target("x", Block::Each).groups(&world.model, &mut world.rng);
        let mut sequence = Sequence::new();
        let is_chain = sequence
            .prepare_path(
                world.model.trace_mut(),
                &groups.concat(),
                &std::default::Default::default(),
            )
            .unwrap();
        assert_eq!(is_chain, expected, "{observed}");
        world.infer("20");
    }
}

/// More values than are listed, infinite densities: the choices move by particles and one by one.
#[test]
fn what_cannot_be_drawn_as_a_whole_moves_all_the_same() {
    let wide = "[assume x (mem (lambda (t) (if (< t 1) (uniform_discrete 0 90)
                   (uniform_discrete (- (x (- t 1)) 1) (+ (x (- t 1)) 2)))))]
                [predict (x 3)] [observe (normal (x 3) 1) 40]";
    let mut world = World::new(wide, 1);
    world.infer("300");
    assert!((world.number("(x 3)") - 40.0).abs() < 6.0, "{}", world.number("(x 3)"));
    let infinite = "[assume x (mem (lambda (t) (if (< t 1) (bernoulli 0.5)
                       (bernoulli (lookup (array 0.3 0.6) (x (- t 1)))))))]
                    [predict (x 3)] [observe (beta (lookup (array 0.5 2) (x 3)) 1) 0]";
    let mut world = World::new(infinite, 1);
    world.infer("20");
    assert_eq!(world.number("(x 3)"), 0.0);
}

/// What makes a choice on some side is no chain: neither an unobserved one, nor a row that only the path
/// asks for. Nor is one of the second order, seen only in a branch that is not taken now.
#[test]
fn what_decides_what_exists_is_no_chain() {
    let states = |law: &str, more: &str| {
        format!(
            "[assume row (mem (lambda (k) (scope_exclude 'x (beta 1 1))))]
             [assume x (mem (lambda (t) (scope_include 'x t (if (< t 2) (flip 0.4) {law}))))]
             [predict (x 3)] {more}"
        )
    };
    let plain = "(flip (if (x (- t 1)) 0.3 0.6))";
    for (law, more, expected) in [
        (plain, "", Some(true)),
        (plain, "[predict (if (x 2) (normal 0 1) 2)]", None),
        ("(flip (if (x (- t 1)) 0.3 (if (x (- t 2)) 0.5 0.6)))", "", None),
        ("(flip (row (x (- t 1))))", "", Some(false)),
        ("(flip (row (x (- t 1))))", "[predict (row 0)] [predict (row 1)]", Some(true)),
        ("(flip (row (if (x (- t 1)) 3 4)))", "[predict (row 3)] [predict (row 4)]", Some(true)),
        // A walk that goes on with a random number of steps.
        (
            plain,
            "[assume g (lambda (n) (if (x 2) (if (= n 0) 1 (g (- n 1))) 0))] [predict (g 9)]",
            Some(true),
        ),
        (
            plain,
            "[assume g (lambda (n) (if (x 2) (g (+ n 1)) 0))] [force (x 2) false] [predict (g 9)]",
            None,
        ),
    ] {
        for seed in 0..6 {
            let text = states(law, more);
            let mut world = World::new(&text, seed);
            let groups = target("x", Block::Each).groups(&world.model, &mut world.rng);
            let mut sequence = Sequence::new();
            let trace = world.model.trace_mut();
            let is_chain = sequence
                .prepare_path(trace, &groups.concat(), &std::default::Default::default())
                .unwrap();
            let found = is_chain.then(|| sequence.has_paths(trace).unwrap());
            assert_eq!(found, expected, "{text}");
            if !more.contains("(g (+ n 1))") {
                world.infer("3");
            }
            smidgen_engine::check::check(&world.model).expect("a sound trace");
        }
    }
}

/// A branch between constants is a value like any other: no node and no edge comes or goes with it.
#[test]
fn branches_between_constants_change_no_structure() {
    for (sides, changes) in
        [("0.98 0.02", false), ("(lookup (array 0.98) 0) 0.02", false), ("p 0.5", true)]
    {
        let text = format!(
            "[assume p (beta 2 2)]
             [assume s (mem (lambda (t) (if (= t 0) (flip 0.5) (flip (if (s (- t 1)) {sides})))))]
             [observe (flip (if (s 3) 0.4 0.6)) true]"
        );
        let mut world = World::new(&text, 1);
        let mut program = world.program("(mh default one 1)");
        let (mut moved, mut changed) = (false, false);
        for _ in 0..200 {
            let state = world.number("(if (s 0) 1 0)");
            let before = world.model.trace_mut().structure_revision();
            world.step(&mut program);
            changed |= world.model.trace_mut().structure_revision() != before;
            moved |= state != world.number("(if (s 0) 1 0)");
        }
        assert!(moved);
        assert_eq!(changed, changes, "{sides}");
        smidgen_engine::check::check(&world.model).expect("a sound trace");
    }
}

/// A hundred sticky states under weak observations: one by one they would hardly ever move together.
#[test]
fn a_sticky_path_is_drawn_anew_each_time() {
    let mut text =
        "[assume s (mem (lambda (t) (if (= t 0) (flip 0.5) (flip (if (s (- t 1)) 0.98 0.02)))))]"
            .to_owned();
    for t in 0..100 {
        text +=
            &format!("[observe (normal (if (s {t}) 0.1 -0.1) 1) {}]", 0.1 * f64::from(t % 7) - 0.3);
    }
    let mut world = World::new(&text, 2);
    let mut program = world.program("1");
    let draws: Vec<f64> = (0..4000)
        .map(|_| {
            world.step(&mut program);
            world.number("(if (s 50) 1 0)")
        })
        .collect();
    smidgen_engine::check::check(&world.model).expect("a sound trace");
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    let product: f64 = draws.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let square: f64 = draws.iter().map(|x| (x - mean) * (x - mean)).sum();
    assert!((product / square).abs() < 0.08, "autocorrelation {}", product / square);
}
