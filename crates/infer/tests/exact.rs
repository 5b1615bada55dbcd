//! Finite programs: the posterior is stationary under mh to 1e-12, exactly; and the kernel's own
//! transitions follow the matrix that was computed from proposals.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use smidgen_infer::block::{Block, Scope, Target};
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::enumerate::{Chain, Name, Outcome, by_values, imbalance, metropolis, product};
use smidgen_testkit::{PValue, World, twins};
use smidgen_value::{Value, math};

struct Case {
    name: &'static str,
    text: &'static str,
    states: usize,
    state_name: Name,
}

const fn case(name: &'static str, states: usize, text: &'static str) -> Case {
    Case { name, text, states, state_name: by_values }
}

/// What is predicted tells the states apart.
static CASES: &[Case] = &[
    case("coins", 4, "[assume a (flip 0.3)] [assume b (flip 0.6)] [predict a] [predict b]"),
    case(
        "sprinkler",
        4,
        "[assume rain (flip 0.2)]
         [assume sprinkler (flip (if rain 0.01 0.4))]
         [observe (flip (if rain (if sprinkler 0.99 0.8) (if sprinkler 0.9 0.05))) true]
         [predict rain] [predict sprinkler]",
    ),
    case(
        "nested branches",
        5,
        "[assume x (if (flip 0.3) (if (flip 0.6) (list 1 (flip 0.2)) (list 2)) (list 0 (flip 0.7)))]
         [observe (flip (if (= (first x) 1) 0.9 0.2)) true]
         [predict x]",
    ),
    case(
        "recursion of bounded depth",
        4,
        "[assume geo (lambda () (if (flip 0.5) 0 (+ 1 (geo))))]
         [assume n (geo)]
         [observe (flip (if (< n 4) (/ 1 (+ n 2)) 0)) true]
         [predict n]",
    ),
    case(
        "mem with a random key",
        4,
        "[assume m (mem (lambda (k) (flip (if (= k 0) 0.2 0.7))))]
         [assume k (if (flip 0.4) 1 0)]
         [observe (flip (if (m k) 0.8 0.3)) true]
         [predict k] [predict (m k)]",
    ),
    case(
        "two keys that may meet",
        12,
        "[assume m (mem (lambda (k) (flip (if (= k 0) 0.2 0.7))))]
         [assume j (if (flip 0.4) 1 0)]
         [assume k (if (flip 0.7) 1 0)]
         [observe (flip (if (m j) 0.8 0.3)) true]
         [observe (flip (if (m k) 0.1 0.6)) false]
         [predict j] [predict k] [predict (m j)] [predict (m k)]",
    ),
    case(
        "an observation that moves between two choices",
        4,
        "[assume c (flip 0.4)] [assume x (flip 0.3)] [assume y (flip 0.8)]
         [observe (if c x y) true]
         [observe (flip (if x 0.9 0.2)) true]
         [predict c] [predict x] [predict y]",
    ),
    case(
        "an observation by a random key",
        4,
        "[assume m (mem (lambda (i) (flip (if (= i 0) 0.3 0.6))))]
         [assume k (if (flip 0.4) 1 0)]
         [predict k] [predict (m 0)] [predict (m 1)]
         [observe (m k) true]",
    ),
    case(
        "two observations that may not meet",
        6,
        "[assume m (mem (lambda (i) (flip (/ (+ i 1) 5))))]
         [assume j (uniform_discrete 0 3)] [assume k (uniform_discrete 0 3)]
         [force j 0] [force k 1]
         [observe (m j) true] [observe (m k) false]
         [predict j] [predict k]",
    ),
    case(
        "two observations that may not meet, one in a branch of the other",
        6,
        "[assume m (mem (lambda (i) (flip (/ (+ i 1) 5))))]
         [assume j (uniform_discrete 0 3)] [assume k (uniform_discrete 0 3)]
         [force j 0] [force k 1]
         [assume w (m k)] [assume v (m j)]
         [observe v false] [observe (if v true w) true]
         [predict j] [predict k]",
    ),
    case(
        "an observation whose choices have the same procedure",
        4,
        "[assume f (make_beta_bernoulli 1 2)]
         [assume c (flip 0.4)] [assume x (f)] [assume y (f)]
         [observe (if c x y) true]
         [observe (flip (if x 0.9 0.2)) true] [observe (f) true]
         [predict c] [predict x] [predict y]",
    ),
    case(
        "an application observed in a branch",
        8,
        "[assume a (if (flip 0.5) 1 4)]
         [assume f (make_beta_bernoulli a 2)]
         [assume c (flip 0.4)] [assume x (f)]
         [observe (if c (f) (flip (if x 0.3 0.9))) true]
         [predict a] [predict c] [predict x]",
    ),
    case(
        "a parameter that decides how many applications there are",
        6,
        "[assume a (flip 0.5)]
         [assume f (make_beta_bernoulli (if a 1 3) 2)]
         [assume x (if a (list (f) (f)) (list (f)))]
         [observe (flip (if (first x) 0.9 0.2)) true] [observe (f) true]
         [predict a] [predict x]",
    ),
    case(
        "a maker in a branch",
        6,
        "[assume c (flip 0.4)]
         [assume x (if c (let ((f (make_beta_bernoulli 1 2))) (list (f) (f))) (list (flip 0.2)))]
         [observe (flip (if (first x) 0.9 0.2)) true]
         [predict c] [predict x]",
    ),
    case(
        "memoised procedures that call each other",
        16,
        "[assume group (mem (lambda (g) (flip 0.3)))]
         [assume item (mem (lambda (i) (list i (group (if (= i 0) 0 1)) (flip (if (group (if (= i 0) 0 1)) 0.2 0.9)))))]
         [assume k (uniform_discrete 0 3)]
         [assume x (item k)] [assume y (group 1)]
         [observe (flip (if (lookup x 2) 0.8 0.3)) true]
         [predict k] [predict x] [predict y]",
    ),
    case(
        "a chain of random length",
        14,
        "[assume state (mem (lambda (t) (if (= t 0) (flip 0.5) (flip (if (state (- t 1)) 0.8 0.3)))))]
         [assume n (uniform_discrete 0 3)]
         [assume path (map state (cond ((= n 0) (list 0)) ((= n 1) (list 1 0)) (else (list 2 1 0))))]
         [observe (flip (if (first path) 0.9 0.2)) true]
         [predict n] [predict path]",
    ),
    case(
        "an observation of a fresh choice in a branch",
        4,
        "[assume c (flip 0.4)] [assume d (flip 0.7)]
         [observe (if c (flip (if d 0.2 0.5)) (flip 0.7)) true]
         [predict c] [predict d]",
    ),
    case(
        "a collapsed coin with a random parameter",
        8,
        "[assume a (if (flip 0.5) 1 4)]
         [assume f (make_beta_bernoulli a 2)]
         [assume d (f)] [assume e (f)]
         [observe (f) true]
         [observe (flip (if d 0.9 0.2)) true]
         [predict a] [predict d] [predict e]",
    ),
    case(
        "applications that come and go",
        12,
        "[assume a (if (flip 0.5) 1 3)]
         [assume f (make_beta_bernoulli a 2)]
         [assume x (if (flip 0.4) (list (f) (f)) (list (f)))]
         [observe (flip (if (first x) 0.9 0.2)) true]
         [observe (f) true]
         [predict a] [predict x]",
    ),
    case(
        "a random procedure",
        5,
        "[assume f (lambda (p) (list 0 (flip p)))]
         [assume g (lambda (p) (if (flip 0.5) (list 1 (flip p)) (list 2)))]
         [assume x ((if (flip 0.3) f g) 0.4)]
         [observe (flip (/ (+ 1 (first x)) 4)) true]
         [predict x]",
    ),
    Case {
        name: "restaurant",
        text: "[assume alpha (if (flip 0.3) 0.5 2)]
               [assume seat (make_crp alpha)]
               [assume dish (mem (lambda (table) (flip 0.3)))]
               [assume a (seat)] [assume b (seat)] [assume c (seat)]
               [observe (flip (if (dish a) 0.9 0.2)) true]
               [observe (flip (if (dish b) 0.8 0.1)) true]
               [observe (flip (if (dish c) 0.7 0.4)) false]
               [predict a] [predict b] [predict c]
               [predict (dish a)] [predict (dish b)] [predict (dish c)] [predict alpha]",
        states: 44,
        state_name: by_partition,
    },
];

/// Labels of tables are names: only who sits with whom matters.
fn by_partition(values: &[Value]) -> String {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let seats = values[..3].iter().map(|table| {
        let next = names.len();
        Value::Number(*names.entry(table.to_string()).or_insert(next) as f64)
    });
    by_values(&seats.chain(values[3..].iter().cloned()).collect::<Vec<_>>())
}

fn default_scope(block: Block) -> Target {
    Target { scope: Scope::Default, block }
}

fn explore(case: &Case, target: &Target) -> (World, Chain) {
    let mut world = World::new(case.text, 1);
    let chain = Chain::explore(&mut world, target, case.state_name);
    (world, chain)
}

/// What is wrong with a chain, if anything.
fn fault(chain: &Chain, log_accept: impl Fn(&Outcome) -> f64) -> Option<String> {
    if chain.is_uncertain() {
        let asymmetry = chain.asymmetry();
        return (asymmetry >= 1e-12).then(|| format!("there and back: {asymmetry:.2e}"));
    }
    let matrix = chain.matrix(log_accept);
    let (detailed, global) = imbalance(&chain.posterior(), &matrix);
    (detailed >= 1e-12 || global >= 1e-12)
        .then(|| format!("imbalance {detailed:.2e}, {global:.2e}: {:?}", chain.states))
}

fn assert_balanced(target: &Target, cases: impl IntoIterator<Item = &'static Case>) {
    let mut faults = Vec::new();
    for case in cases {
        let explored = catch_unwind(AssertUnwindSafe(|| explore(case, target).1));
        let Ok(chain) = explored else {
            faults.push(format!("{}: cannot be explored", case.name));
            continue;
        };
        if chain.states.len() != case.states {
            let (found, states) = (chain.states.len(), &chain.states);
            faults.push(format!("{}: {found} states {states:?}", case.name));
        }
        faults.extend(fault(&chain, metropolis).map(|fault| format!("{}: {fault}", case.name)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn single_site_moves_are_in_detailed_balance() {
    assert_balanced(&default_scope(Block::One), CASES);
}

/// Joint moves cannot make an observation refer to another choice.
#[test]
fn joint_moves_are_in_detailed_balance() {
    let moved = ["that moves", "random key", "may not meet", "the same procedure"];
    let cases = CASES.iter().filter(|case| !moved.iter().any(|words| case.name.contains(words)));
    assert_balanced(&default_scope(Block::All), cases);
}

/// Blocks of a scope come and go with the number of items.
static SCOPED: &[Case] = &[
    case(
        "items come and go",
        6,
        "[assume n (scope_include 'items 0 (if (flip 0.3) 2 1))]
         [assume x (mem (lambda (i) (scope_include 'items i (flip 0.4))))]
         [assume xs (if (= n 1) (list (x 1)) (list (x 1) (x 2)))]
         [observe (flip (if (x 1) 0.8 (/ n 5))) true]
         [predict n] [predict xs]",
    ),
    case(
        "a choice that changes its block",
        4,
        "[assume k (scope_include 'items 0 (flip 0.3))]
         [assume x (scope_include 'items (if k 1 0) (flip 0.4))]
         [observe (flip (if x 0.8 0.3)) true]
         [predict k] [predict x]",
    ),
    case(
        "blocks of two choices",
        8,
        "[assume x (scope_include 'items 0 (list (flip 0.3) (flip 0.6)))]
         [assume y (scope_include 'items 1 (flip (if (first x) 0.3 0.8)))]
         [observe (flip (if y 0.8 0.3)) true]
         [predict x] [predict y]",
    ),
];

fn items(block: Block) -> Target {
    Target { scope: Scope::Named(Value::symbol("items")), block }
}

#[test]
fn blocks_of_scopes_are_in_detailed_balance() {
    assert_balanced(&items(Block::One), SCOPED);
}

/// The exact posterior of a program small enough for pencil and paper.
#[test]
fn the_enumerated_posterior_is_the_posterior() {
    let (_, chain) = explore(&CASES[1], &default_scope(Block::One));
    let weight = |rain: bool, sprinkler: bool| -> f64 {
        let p = if rain { 0.01 } else { 0.4 };
        let wet = match (rain, sprinkler) {
            (true, true) => 0.99,
            (true, false) => 0.8,
            (false, true) => 0.9,
            (false, false) => 0.05,
        };
        (if rain { 0.2 } else { 0.8 }) * (if sprinkler { p } else { 1.0 - p }) * wet
    };
    let both = [true, false];
    let total: f64 = both.iter().flat_map(|r| both.iter().map(|s| weight(*r, *s))).sum();
    for (state, p) in chain.states.iter().zip(chain.posterior()) {
        let (rain, sprinkler) = state.split_once(' ').unwrap();
        let want = weight(rain == "true", sprinkler == "true") / total;
        assert!((p - want).abs() < 1e-14, "{state}: {p} {want}");
    }
}

/// From an outcome to the log of the acceptance probability, before it is cut off at 0.
type Rule = fn(&Outcome) -> f64;

/// Every wrong acceptance rule is noticed by at least the programs that it concerns.
#[test]
fn wrong_acceptance_rules_are_not_in_balance() {
    let twins: [(&str, Rule, &[&str]); 4] = [
        ("accepts always", |_| 0.0, &["sprinkler", "a collapsed coin with a random parameter"]),
        (
            "forgets the number of blocks",
            |o| o.log_ratio,
            &["nested branches", "recursion of bounded depth", "applications that come and go"],
        ),
        (
            "number of blocks the wrong way round",
            |o| o.log_ratio + math::ln(o.blocks_after as f64) - math::ln(o.blocks_before as f64),
            &["nested branches", "recursion of bounded depth"],
        ),
        ("inverts the ratio", |o| -metropolis(o), &["sprinkler", "restaurant"]),
    ];
    for (twin, log_accept, concerned) in twins {
        for name in concerned {
            let case = CASES.iter().find(|case| case.name == *name).unwrap();
            let (_, chain) = explore(case, &default_scope(Block::One));
            assert!(fault(&chain, log_accept).is_some(), "{name}: nobody notices that it {twin}");
        }
    }
    let (_, chain) = explore(&SCOPED[0], &items(Block::One));
    assert!(fault(&chain, |o| o.log_ratio).is_some());
}

/// The kernel's own transitions, counted, against the matrices.
fn kernel_rows(steps: usize, seed: u64, kernel: &mut dyn FnMut(&mut World, &str)) -> PValue {
    let mut all = Vec::new();
    let runs = CASES
        .iter()
        .map(|case| (case, default_scope(Block::One), "(mh default one 1)"))
        .chain(SCOPED.iter().map(|case| (case, items(Block::One), "(mh items one 1)")));
    for (case, target, program) in runs {
        let (mut world, chain) = explore(case, &target);
        if chain.is_uncertain() {
            continue;
        }
        world.rng = smidgen_value::Rng::from_seed(seed);
        let matrix = chain.matrix(metropolis);
        let mut p_value = chain.rows(&matrix, &mut world, steps, |world| kernel(world, program));
        p_value.report = format!("{}: {}", case.name, p_value.report);
        all.push(p_value);
    }
    PValue::smallest_of(all)
}

#[test]
fn the_kernel_follows_its_matrix() {
    demand("kernel rows", 3000, |steps, seed| {
        let mut programs = BTreeMap::new();
        kernel_rows(steps, seed, &mut |world, text| {
            let program = programs.entry(text.to_owned()).or_insert_with(|| world.program(text));
            world.step(program);
        })
    });
    catches("kernel rows", "forgets the number of blocks", 3000, |steps, seed| {
        kernel_rows(steps, seed, &mut |world, _| {
            twins::single_site(world, &mut smidgen_engine::proposal::FromPrior, false);
        })
    });
}

/// `each` is the product of its blocks in order; a joint move of all is one block.
#[test]
fn sweeps_are_products_of_their_blocks() {
    let case = &SCOPED[2];
    let matrices: Vec<Vec<Vec<f64>>> = [0.0, 1.0]
        .map(|id| {
            // A block alone does not reach all states; the walk through all of them does.
            let (_, whole) = explore(case, &items(Block::One));
            let mut world = World::new(case.text, 1);
            let block = items(Block::Id(Value::Number(id)));
            whole.within(&mut world, &block).matrix(metropolis)
        })
        .into();
    let (mut world, chain) = explore(case, &items(Block::One));
    let sweep = product(&matrices[0], &matrices[1]);
    let (_, global) = imbalance(&chain.posterior(), &sweep);
    assert!(global < 1e-12, "a cycle of invariant kernels is invariant: {global:.2e}");
    demand("kernel sweep rows", 5000, |steps, seed| {
        world.rng = smidgen_value::Rng::from_seed(seed);
        let mut program = world.program("(mh items each 1)");
        chain.rows(&sweep, &mut world, steps, |world| world.step(&mut program))
    });
    let backwards = product(&matrices[1], &matrices[0]);
    catches("kernel sweep rows", "the blocks in the wrong order", 5000, |steps, seed| {
        world.rng = smidgen_value::Rng::from_seed(seed);
        let mut program = world.program("(mh items each 1)");
        chain.rows(&backwards, &mut world, steps, |world| world.step(&mut program))
    });
}
