//! Particle Gibbs on finite programs: the posterior is stationary to 1e-12, exactly, with and without
//! ancestor sampling, on both roads, for whole paths and for windows, alone and in a cycle; the
//! kernel's own transitions follow these matrices; broken twins of the algorithm. The cost of a pass,
//! and bad arguments.

use std::collections::BTreeMap;

use smidgen_engine::Sequence;
use smidgen_engine::particles::LookAhead;
use smidgen_engine::proposal::FromPrior;
use smidgen_infer::block::{Block, Scope, Target};
use smidgen_infer::kernel::pgibbs::{Multinomial, conditional_smc};
use smidgen_testkit::World;
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::enumerate::{Chain, by_values, imbalance, metropolis, product};
use smidgen_testkit::particles::{Bug, Pass, Prior, Weight};
use smidgen_testkit::sections::{BySections, Fault};
use smidgen_value::{Rng, Symbol, Value, math};

fn target(scope: &str, block: Block) -> Target {
    Target { scope: Scope::Named(Value::Symbol(Symbol::new(scope))), block }
}

fn window(low: f64, high: f64) -> Target {
    target("x", Block::Range { low: Value::Number(low), high: Value::Number(high) })
}

// ------------------------------------------------------------ exact matrices

/// Written with a table: nothing decides what exists. A parameter beside the path.
const TABLES: &str = "
    [assume s (scope_include 's 0 (bernoulli 0.3))]
    [assume x (mem (lambda (t) (scope_include 'x t (bernoulli
      (if (= t 0) 0.4 (lookup (array 0.3 0.6 0.45 0.8) (+ (* 2 s) (x (- t 1)))))))))]
    [assume y (lambda (t) (bernoulli (lookup (array 0.2 0.7) (x t))))]
    [observe (y 0) 1] [observe (y 1) 0] [observe (y 2) 1]
    [predict s] [predict (x 0)] [predict (x 1)] [predict (x 2)]";

/// Every state decides where the next one comes from: all but the first are brush.
const NESTED: &str = "
    [assume x (mem (lambda (t) (scope_include 'x t
      (if (= t 0) (bernoulli 0.4) (if (= (x (- t 1)) 1) (bernoulli 0.6) (bernoulli 0.3))))))]
    [assume y (lambda (t) (bernoulli (lookup (array 0.2 0.7) (x t))))]
    [predict (x 0)] [predict (x 1)] [predict (x 2)]
    [observe (y 0) 1] [observe (y 1) 0] [observe (y 2) 1]";

/// Within a segment: a state of 1 has a choice of its own. It also decides which branch the next
/// state and the observation come from.
const BRANCHES: &str = "
    [assume x (mem (lambda (t) (scope_include 'x t
      (bernoulli (if (= t 0) 0.4 (if (= (x (- t 1)) 1) 0.6 0.3))))))]
    [assume e (mem (lambda (t) (bernoulli 0.35)))]
    [assume shown (lambda (t) (if (= (x t) 1) (+ 1 (e t)) 0))]
    [predict (shown 0)] [predict (shown 1)] [predict (shown 2)]
    [assume y (lambda (t) (if (= (x t) 1) (bernoulli (/ (shown t) 3)) (bernoulli 0.2)))]
    [observe (y 0) 1] [observe (bernoulli (/ (+ 1 (shown 1)) 4)) 0] [observe (y 2) 1]";

fn coin(x: f64, p: f64) -> f64 {
    if x == 1.0 { p } else { 1.0 - p }
}

/// p(x | previous, s) of the program with a table.
fn by_table(x: f64, previous: f64, s: f64) -> f64 {
    coin(x, [0.3, 0.6, 0.45, 0.8][(2.0 * s + previous) as usize])
}

fn table_prior(start: &[f64], path: &[f64], from: usize) -> f64 {
    let step = |t: usize| match t {
        0 => coin(path[0], 0.4),
        _ => by_table(path[t], path[t - 1], start[0]),
    };
    (from..path.len()).map(step).product()
}

/// The path begins at the second state.
fn window_prior(start: &[f64], path: &[f64], from: usize) -> f64 {
    let before = |t: usize| if t == 0 { start[1] } else { path[t - 1] };
    (from..path.len()).map(|t| by_table(path[t], before(t), start[0])).product()
}

fn nested_prior(_: &[f64], path: &[f64], from: usize) -> f64 {
    let step = |t: usize| match t {
        0 => coin(path[0], 0.4),
        _ => coin(path[t], if path[t - 1] == 1.0 { 0.6 } else { 0.3 }),
    };
    (from..path.len()).map(step).product()
}

/// A state of 1 is followed by its own choice.
fn branch_prior(_: &[f64], path: &[f64], from: usize) -> f64 {
    let (mut p, mut at, mut previous) = (1.0, 0, None);
    while at < path.len() {
        let x = path[at];
        let own = if x == 1.0 { &path[at + 1..at + 2] } else { &[] };
        if at >= from {
            let moves = previous.map_or(0.4, |one| if one { 0.6 } else { 0.3 });
            p *= coin(x, moves) * own.iter().map(|e| coin(*e, 0.35)).product::<f64>();
        }
        (at, previous) = (at + 1 + own.len(), Some(x == 1.0));
    }
    p
}

fn explore(text: &str) -> (World, Chain) {
    let mut world = World::new(text, 1);
    let default = Target { scope: Scope::Default, block: Block::One };
    let chain = Chain::explore(&mut world, &default, by_values);
    (world, chain)
}

/// Two particles on all blocks in order, without a mistake.
fn pass(prior: Prior, look_ahead: LookAhead) -> Pass {
    let target = target("x", Block::Each);
    Pass { target, particles: 2, look_ahead, bug: Bug::Nothing, prior, leaves_out: None }
}

/// What |πP − π| is at most. Rows sum to 1.
fn imbalance_of(pass: &Pass, world: &mut World, chain: &Chain) -> f64 {
    let matrix = pass.matrix(world, chain);
    for row in &matrix {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{row:?}");
    }
    imbalance(&chain.posterior(), &matrix).1
}

#[test]
fn the_posterior_is_stationary() {
    use LookAhead::{Always, Never};
    let wide = |pass: Pass| Pass { particles: 3, ..pass };
    let within = |target: Target, pass: Pass| Pass { target, ..pass };
    let all = target("x", Block::All);
    let cases: [(&str, usize, Vec<Pass>); 3] = [
        (
            TABLES,
            16,
            vec![
                pass(table_prior, Never),
                pass(table_prior, Always),
                within(all.clone(), wide(pass(table_prior, Never))),
                within(window(0.0, 1.0), wide(pass(table_prior, Never))),
                within(window(0.0, 1.0), pass(table_prior, Always)),
                within(window(1.0, 2.0), pass(window_prior, Always)),
                within(window(1.0, 1.0), pass(window_prior, Never)),
            ],
        ),
        (NESTED, 8, vec![pass(nested_prior, Never), within(all, pass(nested_prior, Never))]),
        (BRANCHES, 27, vec![pass(branch_prior, Never)]),
    ];
    for (text, states, passes) in cases {
        let (mut world, chain) = explore(text);
        assert_eq!(chain.states.len(), states, "{:?}", chain.states);
        for pass in passes {
            let global = imbalance_of(&pass, &mut world, &chain);
            let Pass { particles, look_ahead, target, .. } = pass;
            assert!(
                global < 1e-12,
                "{target:?}, {particles}, {look_ahead:?}: {global:.2e}\n{text}"
            );
        }
    }
}

#[test]
fn twins_are_not_stationary() {
    use LookAhead::{Always, Never};
    for (text, prior, look_ahead, bugs) in [
        (
            TABLES,
            table_prior as Prior,
            Never,
            &[Bug::NotChosen, Bug::NotResampled, Bug::NotKept, Bug::NoLastWeight][..],
        ),
        (TABLES, table_prior, Always, &[Bug::NotChosen, Bug::Forgetful]),
        (BRANCHES, branch_prior, Never, &[Bug::NotChosen, Bug::NotKept, Bug::NoLastWeight]),
    ] {
        let (mut world, chain) = explore(text);
        for bug in bugs {
            let twin = Pass { bug: *bug, ..pass(prior, look_ahead) };
            let global = imbalance_of(&twin, &mut world, &chain);
            assert!(global > 1e-3, "nobody notices {bug:?}, {look_ahead:?}: {global:.2e}");
        }
    }
    // The state after a window exists already; its density is part of the last weight.
    let child: Weight = |start, path| math::ln(by_table(start[3], path[1], start[0]));
    let (mut world, chain) = explore(TABLES);
    for look_ahead in [Never, Always] {
        let target = window(0.0, 1.0);
        let right = Pass { target, ..pass(table_prior, look_ahead) };
        let twin = Pass { leaves_out: Some(child), ..right };
        let global = imbalance_of(&twin, &mut world, &chain);
        assert!(global > 1e-3, "nobody notices a child left out: {global:.2e}");
    }
}

/// The chain of `subsampled_mh` with epsilon 0 on the parameter, on the same states.
fn parameter(world: &mut World, chain: &Chain) -> Vec<Vec<f64>> {
    let mut kernel = BySections::new(Fault::None);
    let ratio = move |trace: &mut _, block: &[_], rng: &mut Rng| {
        let weighed = kernel.weigh(trace, block, &mut FromPrior, rng)?;
        Some(weighed.log_global + weighed.sum())
    };
    let s = target("s", Block::Id(Value::Number(0.0)));
    chain.within_by(world, &s, Some(Box::new(ratio))).matrix(metropolis)
}

#[test]
fn a_cycle_with_subsampled_mh() {
    let (mut world, chain) = explore(TABLES);
    let parameter = parameter(&mut world, &chain);
    for (bug, fails) in [(Bug::Nothing, false), (Bug::Forgetful, true)] {
        let states = Pass { bug, ..pass(table_prior, LookAhead::Always) };
        let cycle = product(&states.matrix(&mut world, &chain), &parameter);
        let (_, global) = imbalance(&chain.posterior(), &cycle);
        assert_eq!(global > 1e-12, fails, "{bug:?}: {global:.2e}");
    }
}

/// The kernel's own transitions, counted, against the matrices.
#[test]
fn the_kernel_follows_its_matrix() {
    use LookAhead::{Always, Never};
    let test = "pgibbs rows";
    let mut explored: BTreeMap<&str, (World, Chain)> = BTreeMap::new();
    let three = |pass: Pass| Pass { particles: 3, ..pass };
    let within = |target: Target, pass: Pass| Pass { target, ..pass };
    let all = target("x", Block::All);
    let mut check = |text: &'static str, kernel: &str, matrix: &dyn Fn(&mut World, &Chain) -> _| {
        let (world, chain) = explored.entry(text).or_insert_with(|| explore(text));
        let matrix: Vec<Vec<f64>> = matrix(world, chain);
        demand(test, 4000, |steps, seed| {
            world.rng = Rng::from_seed(seed);
            let mut program = world.program(kernel);
            chain.rows(&matrix, world, steps, |world| world.step(&mut program))
        });
    };
    for (text, kernel, pass) in [
        (TABLES, "(pgibbs x ordered 2 1)", pass(table_prior, Always)),
        (TABLES, "(pgibbs x each 2 'ancestor false 1)", pass(table_prior, Never)),
        (TABLES, "(pgibbs x all 3 1)", within(all, three(pass(table_prior, Never)))),
        (
            TABLES,
            "(pgibbs x (ordered_range 1 2) 2 'ancestor true 1)",
            within(window(1.0, 2.0), pass(window_prior, Always)),
        ),
        (NESTED, "(pgibbs x ordered 2 1)", pass(nested_prior, Never)),
        (BRANCHES, "(pgibbs x ordered 2 1)", pass(branch_prior, Never)),
    ] {
        check(text, kernel, &|world, chain| pass.matrix(world, chain));
    }
    let cycle = "(cycle ((pgibbs x ordered 2 1) (subsampled_mh s 0 1 0 1)) 1)";
    check(TABLES, cycle, &|world, chain| {
        let states = pass(table_prior, Always).matrix(world, chain);
        product(&states, &parameter(world, chain))
    });
    let (world, chain) = explored.get_mut(TABLES).expect("explored above");
    let never = pass(table_prior, Never).matrix(world, chain);
    catches(test, "the past of the reference is left as it is", 4000, |steps, seed| {
        world.rng = Rng::from_seed(seed);
        let mut program = world.program("(pgibbs x ordered 2 1)");
        chain.rows(&never, world, steps, |world| world.step(&mut program))
    });
}

/// The mean over all blocks.
#[test]
fn a_block_drawn_at_random() {
    let (mut world, chain) = explore(TABLES);
    let blocks: Vec<Vec<Vec<f64>>> = (0..3)
        .map(|t| {
            let id = Block::Id(Value::Number(f64::from(t)));
            let conditional: Prior = match t {
                0 => table_prior,
                1 => window_prior,
                _ => |start, path, _| by_table(path[0], start[2], start[0]),
            };
            let pass = Pass { target: target("x", id), ..pass(conditional, LookAhead::Never) };
            pass.matrix(&mut world, &chain)
        })
        .collect();
    let n = chain.states.len();
    let mean = |i: usize, j: usize| blocks.iter().map(|matrix| matrix[i][j]).sum::<f64>() / 3.0;
    let matrix: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| mean(i, j)).collect()).collect();
    assert!(imbalance(&chain.posterior(), &matrix).1 < 1e-12);
    demand("pgibbs rows", 4000, |steps, seed| {
        world.rng = Rng::from_seed(seed);
        let mut program = world.program("(pgibbs x one 2 1)");
        chain.rows(&matrix, &mut world, steps, |world| world.step(&mut program))
    });
}

// ------------------------------------------------------------ cost

/// Nodes made and densities evaluated by one pass over T states.
fn touched(text: &str, steps: usize) -> u64 {
    let mut world = World::new(text, 1);
    for t in 1..=steps {
        world.execute(&format!("[observe (y {t}) {}]", t % 2)).unwrap();
    }
    let groups = target("x", Block::Each).groups(&world.model, &mut world.rng);
    assert_eq!(groups.len(), steps);
    let mut sequence = Sequence::new();
    let trace = world.model.trace_mut();
    sequence.prepare(trace, &groups, LookAhead::IfCheap).unwrap();
    let mut system = sequence.begin(trace, 8).unwrap();
    let chosen =
        conditional_smc(&mut *system, 8, &mut Multinomial::default(), &mut world.rng).unwrap();
    let touched = system.touched();
    system.settle(chosen.unwrap()).unwrap();
    touched
}

#[test]
fn a_pass_is_linear_in_the_number_of_blocks() {
    let compiled = "[assume x (mem (lambda (t) (scope_include 'x t
                      (if (< t 1) 0 (normal (* 0.9 (x (- t 1))) 1)))))]
                    [assume y (lambda (t) (normal (x t) 1))]";
    let (short, long) = (touched(compiled, 50), touched(compiled, 500));
    assert_eq!(long - touched(compiled, 499), short - touched(compiled, 49));
    // Transition, state, density; and one density for the reference's past.
    assert!(long <= 500 * 8 * 4, "{long}");
    let branches = "[assume x (mem (lambda (t) (scope_include 'x t
                      (if (< t 1) true (if (x (- t 1)) (flip 0.7) (flip 0.2))))))]
                    [assume y (lambda (t) (bernoulli (if (x t) 0.7 0.2)))]";
    let (short, long) = (touched(branches, 60), touched(branches, 600));
    assert!(long < 12 * short, "{short} {long}");
}

// ------------------------------------------------------------ edges

fn refused(text: &str, kernel: &str) -> String {
    let mut world = World::new(text, 1);
    world.execute(&format!("[infer {kernel}]")).unwrap_err()
}

#[test]
fn bad_arguments_are_refused() {
    let text = "[assume x (normal 0 1)]";
    for (kernel, words) in [
        ("(pgibbs default all 1 1)", "from 2 to 1000000"),
        ("(pgibbs default all 2000000 1)", "from 2 to 1000000"),
        ("(pgibbs x (ordered_range 3 1) 5 1)", "range from 3 to 1 is empty"),
        ("(pgibbs default all 2.5 1)", "number of particles"),
        ("(pgibbs default all 3 'ancestor 'maybe 1)", "true or false"),
        ("(pgibbs default all 1)", "pgibbs takes 4 arguments"),
        ("(pgibbs default all 3 'forwards true 1)", "'forwards"),
    ] {
        let message = refused(text, kernel);
        assert!(message.contains(words), "{kernel}: {message}");
    }
    let moves = "[assume c (flip 0.5)] [assume x (normal 0 1)] [assume y (normal 0 1)]
                 [observe (if c x y) 1]";
    assert!(refused(moves, "(pgibbs default all 3 1)").contains("observation"));
    let improper = "[assume x (flat)] [observe (normal x 1) 1]";
    assert!(refused(improper, "(pgibbs default all 3 1)").contains("improper"));
}

/// Particles that leave a domain have weight 0, and an impossible state is left alone.
#[test]
fn particles_may_die() {
    let mut world = World::new(
        "[assume x (mem (lambda (t) (scope_include 'x t (normal 0 1))))]
         [predict (x 1)] [predict (x 2)] [force (x 1) 1] [force (x 2) 1]
         [observe (normal 0 (+ (x 1) 1)) 0.5] [observe (normal 0 (+ (x 2) (x 1))) 0.5]",
        3,
    );
    for kernel in ["(pgibbs x ordered 5 200)", "(pgibbs x ordered 5 'ancestor false 200)"] {
        world.infer(kernel);
        assert!(world.number("(x 1)") > -1.0 && world.number("(+ (x 1) (x 2))") > 0.0);
    }
    let moved = world.run.kernels[0].tally;
    assert!(moved.accepted > 50 && moved.transitions == 400, "{moved:?}");
}

#[test]
fn the_same_seed_gives_the_same_paths() {
    for text in [TABLES, NESTED] {
        let run = || {
            let mut world = World::new(text, 11);
            world.infer("(pgibbs x ordered 5 20)");
            (0..3).map(|t| world.number(&format!("(x {t})"))).collect::<Vec<f64>>()
        };
        assert_eq!(run(), run());
    }
}
