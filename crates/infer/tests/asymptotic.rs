//! What a move costs, by counting: the scaffold of a choice does not grow with the program around
//! it, and a transition that is decided by a test looks at what the test asks for and at nothing
//! else, however many sections there are.

use smidgen_engine::check::dump;
use smidgen_engine::{NodeId, Scaffold};
use smidgen_infer::acceptance::StudentT;
use smidgen_infer::austerity::Schedule;
use smidgen_testkit::World;
use smidgen_testkit::sections::{BySections, Cost, Fault, Given};
use smidgen_value::{Rng, Symbol, Value};

/// Nodes in the scaffold of the k-th unconstrained choice.
fn scaffold_size(text: &str, k: usize) -> usize {
    let mut world = World::new(text, 3);
    let id = world.model.choices()[k];
    let mut scaffold = Scaffold::new();
    scaffold.build(world.model.trace_mut(), &[id]);
    let transient = scaffold.transient_nodes(&world.model).count();
    scaffold.target.len() + scaffold.absorbing.len() + scaffold.makers.len() + transient
}

#[test]
fn a_makers_parameter_is_absorbed_without_a_visit_to_its_applications() {
    let with = |maker: &str, n: usize| {
        let observations: String = (0..n).map(|i| format!("[observe (f) {}] ", i % 2)).collect();
        scaffold_size(&format!("[assume p (beta 2 2)] [assume f ({maker})] {observations}"), 0)
    };
    for maker in ["make_suff_stat_bernoulli p", "make_beta_bernoulli p 1", "make_sym_dir_cat p 2"] {
        assert_eq!(with(maker, 4), with(maker, 400), "{maker}");
    }
    // Without statistics every application is visited.
    let plain = |n: usize| {
        let observations: String =
            (0..n).map(|i| format!("[observe (bernoulli p) {}] ", i % 2)).collect();
        scaffold_size(&format!("[assume p (beta 2 2)] {observations}"), 0)
    };
    assert_eq!(plain(400) - plain(4), 396);
}

#[test]
fn a_state_in_the_middle_of_a_chain_has_the_same_scaffold_in_any_chain() {
    let chain = |n: usize| {
        let observations: String =
            (0..n).map(|t| format!("[observe (normal (s {t}) 1) 0.5] ")).collect();
        let text = format!(
            "[assume s (mem (lambda (t) (if (< t 1) (normal 0 1) (normal (s (- t 1)) 1))))] {observations}"
        );
        scaffold_size(&text, 5)
    };
    assert_eq!(chain(10), chain(1000));
}

#[test]
fn a_seat_has_the_same_scaffold_in_any_restaurant() {
    let restaurant = |n: usize| {
        let guests: String =
            (0..n).map(|i| format!("[observe (normal (centre (z {i})) 1) 0.5] ")).collect();
        let text = format!(
            "[assume crp (make_crp 0.1)] [assume z (mem (lambda (i) (crp)))]
             [assume centre (mem (lambda (k) (normal 0 1)))] {guests}"
        );
        // The seat of the second guest: the first guest's seat and table come before it.
        scaffold_size(&text, 2)
    };
    assert_eq!(restaurant(20), restaurant(2000));
}

/// A slope with N observations: truth 0.5, spread 1, three nodes in the global part.
fn slope(n: usize) -> World {
    let mut world = World::new("[assume mu (normal 0 1)] [force mu 0] [assume slope (* 2 mu)]", 3);
    let mut text = String::new();
    let mut rng = Rng::from_seed(5);
    for i in 0..n {
        let x = (i % 7) as f64 / 3.0 - 1.0;
        let y = x + 2.0 * (rng.uniform() - 0.5);
        text.push_str(&format!("r{i}: [observe (normal (* slope {x:?}) 1) {y:?}] "));
    }
    world.execute(&text).expect("rows");
    world
}

fn choice(world: &mut World, name: &str) -> NodeId {
    let operand = world.model.trace_mut().global(Symbol::new(name)).expect("it was assumed");
    operand.node().expect("a node")
}

/// One transition of `mu` to a given value with u = 1/2.
fn transition(world: &mut World, kernel: &mut BySections, to: f64, seed: u64) -> Cost {
    let block = [choice(world, "mu")];
    let mut test = StudentT::new(Schedule::new(100, 1.5), 0.01);
    let mut rng = Rng::from_seed(seed);
    let trace = world.model.trace_mut();
    kernel.count(trace, &block, (&mut Given(to), &mut test), -std::f64::consts::LN_2, &mut rng)
}

/// Means over streams: sections and nodes of a transition from 0 to a value; then back.
fn mean_cost(world: &mut World, to: f64, accepted: bool) -> (f64, f64) {
    let mut kernel = BySections::new(Fault::None);
    let (mut sections, mut touched) = (0.0, 0.0);
    for seed in 0..20 {
        let cost = transition(world, &mut kernel, to, seed);
        assert_eq!(cost.accepted, accepted, "{cost:?}");
        // Two nodes in a section, two in the global part.
        assert_eq!(cost.touched, 2 + 2 * cost.sections as u64, "{cost:?}");
        sections += cost.sections as f64 / 20.0;
        touched += cost.touched as f64 / 20.0;
        if accepted {
            world.execute("[force mu 0]").expect("a number");
        }
    }
    (sections, touched)
}

/// What a fixed pair of values costs, accepted and rejected, with so many observations.
fn costs(n: usize) -> [(f64, f64); 2] {
    let mut world = slope(n);
    [mean_cost(&mut world, 0.1, true), mean_cost(&mut world, -0.1, false)]
}

fn assert_flat(from: usize, to: usize) {
    let (few, many) = (costs(from), costs(to));
    for (few, many) in few.iter().zip(&many) {
        assert!(many.0 < 1.5 * few.0, "sections {few:?} {many:?}");
        assert!(many.1 < 1.5 * few.1, "nodes {few:?} {many:?}");
        // Less than a tenth of what there is, and growing with nothing.
        assert!(many.0 < 0.1 * to as f64, "{many:?} of {to}");
    }
}

#[test]
fn a_transition_touches_what_its_test_reads() {
    assert_flat(1_000, 10_000);
    assert_flat(10_000, 100_000);
}

#[test]
#[ignore = "loads a million observations"]
fn a_transition_touches_what_its_test_reads_among_a_million() {
    assert_flat(10_000, 1_000_000);
}

fn values(world: &World) -> Vec<(NodeId, Value)> {
    let trace = &world.model;
    trace.live_nodes().map(|id| (id, trace.node(id).value.clone())).collect()
}

#[test]
fn rejections_write_nothing_and_acceptances_the_global_part() {
    let mut world = slope(3_000);
    let mut kernel = BySections::new(Fault::None);
    // The first transition makes the roster, which is no part of the state.
    transition(&mut world, &mut kernel, -0.1, 1);
    let before = dump(&world.model);
    assert!(!transition(&mut world, &mut kernel, -0.1, 2).accepted);
    assert_eq!(before, dump(&world.model));
    let before = values(&world);
    assert!(transition(&mut world, &mut kernel, 0.1, 3).accepted);
    let changed = |(old, new): &(&(NodeId, Value), &(NodeId, Value))| old != new;
    assert_eq!(before.iter().zip(&values(&world)).filter(changed).count(), 2);
    // What was left stale is written when it is read, and no sooner.
    let before = dump(&world.model);
    assert!(!transition(&mut world, &mut kernel, -0.2, 4).accepted);
    assert_eq!(before, dump(&world.model));
}

/// Observations that come and go between transitions, and the population that follows them.
#[test]
fn the_population_follows_what_comes_and_goes() {
    let mut world = slope(2_000);
    let mut kernel = BySections::new(Fault::None);
    let mut population = 2_000;
    for k in 0..40 {
        if k % 3 == 0 {
            world.execute(&format!("[forget r{}]", 17 * k)).expect("observed");
            population -= 1;
        } else {
            world.execute(&format!("s{k}: [observe (normal slope 2) 1]")).expect("a row");
            population += 1;
        }
        // Small steps towards the truth, and large ones away from it.
        let to = if k % 2 == 0 { 0.004 * (k + 1) as f64 } else { -0.5 };
        let cost = transition(&mut world, &mut kernel, to, k);
        assert_eq!(cost.population, population);
        assert!(cost.sections < 1_000 && cost.touched <= 2 + 2 * cost.sections as u64, "{cost:?}");
    }
}

/// Members of clusters that move: a parameter has as many sections as members, and a transition
/// costs what its test reads.
#[test]
fn members_come_and_go_at_no_cost_for_the_others() {
    let touched = |n: usize| {
        let mut text = "[assume z (mem (lambda (i) (scope_include 'z i (uniform_discrete 0 2))))]
            [assume w (mem (lambda (k) (scope_include 'w k (normal 0 1))))] [assume a (w 0)] "
            .to_owned();
        text.extend((0..n).map(|i| format!("[observe (normal (w (z {i})) 1) {}] ", i % 3)));
        let mut world = World::new(&text, 7);
        let a = choice(&mut world, "a");
        let mut kernel = BySections::new(Fault::None);
        let (mut rng, mut nodes) = (Rng::from_seed(3), 0.0);
        for k in 0..20 {
            world.infer("(mh z one 3)");
            let members = (0..n).filter(|i| world.number(&format!("(z {i})")) == 0.0).count();
            let mut test = StudentT::new(Schedule::new(50, 1.5), 0.01);
            let to = if k % 2 == 0 { 0.02 * f64::from(k + 1) } else { -1.0 };
            let trace = world.model.trace_mut();
            let cost = kernel.count(trace, &[a], (&mut Given(to), &mut test), -0.5, &mut rng);
            assert_eq!(cost.population, members);
            // Two nodes in a section, one in the global part.
            assert_eq!(cost.touched, 1 + 2 * cost.sections as u64);
            nodes += cost.touched as f64;
        }
        nodes
    };
    let (few, many) = (touched(1_000), touched(5_000));
    assert!(many < 1.5 * few, "{few} {many}");
}
