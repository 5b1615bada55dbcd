//! Local sections: together with the global part they are the exact log ratio, whatever the
//! program and whatever comes and goes; and what was left stale is fresh when read.

use proptest::prelude::*;
use smidgen_engine::check::{check, pretend_no_edge_changed};
use smidgen_engine::{Fault, NodeId, Partition, Refusal, Trace};
use smidgen_testkit::World;
use smidgen_testkit::programs::{EVERYTHING, program};
use smidgen_testkit::two_ways::two_ways;
use smidgen_value::{Rng, Value};

/// A random block of one, two or all choices.
fn random_block(trace: &Trace, rng: &mut Rng) -> Vec<NodeId> {
    let choices = trace.choices();
    match rng.below(6) {
        _ if choices.is_empty() => vec![],
        0 => choices.to_vec(),
        1 => {
            let (a, b) = (rng.below(choices.len()), rng.below(choices.len()));
            if a == b { vec![choices[a]] } else { vec![choices[a], choices[b]] }
        }
        _ => vec![choices[rng.below(choices.len())]],
    }
}

fn choice(world: &mut World, name: &str) -> NodeId {
    let symbol = smidgen_value::Symbol::new(name);
    let operand = world.model.trace_mut().global(symbol).expect("it was assumed");
    operand.node().expect("a node")
}

/// The identity at a few proposals, and the number of sections.
fn population(world: &mut World, block: &[&str]) -> Result<usize, Refusal> {
    let block: Vec<NodeId> = block.iter().map(|name| choice(world, name)).collect();
    let mut found = 0;
    for seed in 0..6 {
        let trace = world.model.trace_mut();
        let both = two_ways(trace, &block, seed, seed % 2 == 0)?;
        assert!(both.agree(), "{both:?}");
        found = both.population;
    }
    Ok(found)
}

fn repeat(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// G + Σ l_i is log α, after any moves, exact and lazy.
    #[test]
    fn sections_add_up(tape in prop::collection::vec(any::<u16>(), 0..120), seed in any::<u64>()) {
        let text = program(&tape, EVERYTHING);
        let mut world = World::new(&text, seed);
        let mut rng = Rng::for_chain(seed, 1);
        world.model.trace_mut().nest_from([2, 3, 32][rng.below(3)]);
        for step in 0..12 {
            let block = random_block(&world.model, &mut rng);
            if block.is_empty() || !world.log_joint().is_finite() {
                break;
            }
            let walks = rng.coin();
            let trace = world.model.trace_mut();
            if let Ok(found) = two_ways(trace, &block, rng.seed(), walks) {
                prop_assert!(found.agree(), "{:?}\n{}", found, text);
            }
            let kernel = match step % 3 {
                0 => "(subsampled_mh default one 2 0.1 3)",
                1 => "(subsampled_mh default all 2 0.1 1)",
                _ => "(mh default one 3)",
            };
            world.infer(kernel);
            let held = check(&world.model);
            prop_assert!(held.is_ok(), "{}\n{}", held.unwrap_err(), text);
        }
    }
}

/// One random program in many has sections: the property above is not empty.
#[test]
fn random_programs_have_sections() {
    let mut rng = Rng::for_chain(5, 0);
    let (mut found, mut joint) = (0, 0);
    for seed in 0..300 {
        let tape: Vec<u16> = (0..100).map(|_| rng.below(1 << 16) as u16).collect();
        let mut world = World::new(&program(&tape, EVERYTHING), seed);
        let choices = world.model.choices().to_vec();
        for id in &choices {
            found += usize::from(Partition::new().find(world.model.trace_mut(), &[*id]).is_ok());
        }
        if choices.len() > 1 {
            joint +=
                usize::from(Partition::new().find(world.model.trace_mut(), &choices[..2]).is_ok());
        }
    }
    assert!(found > 100 && joint > 15, "{found} {joint}");
}

/// What is wrong with a twin.
#[derive(Clone, Copy)]
enum Breaks {
    Nothing,
    /// No edge seems to have changed.
    Edges,
    /// Sections seem to stand in the order that they once had.
    Order,
}

/// How often sections and the exact ratio differed, while branches of the sections come and go: new nodes
/// take the names of old ones, and sections other places in the roster.
fn branches_that_change(rows: usize, seed: u64, breaks: Breaks) -> usize {
    let rows = repeat(rows, |i| format!("[observe (normal (h {i}) 1) {}]", i % 5));
    let model = format!(
        "[assume mu (normal 0 1)]
         [assume s (gamma 2 1)]
         [assume b (mem (lambda (i) (scope_include 'b i (flip 0.5))))]
         [assume h (mem (lambda (i)
           (if (b i) (normal (* mu 2) (+ s i)) (normal (* mu 3) (+ s (* i 2))))))] {rows}"
    );
    let mut world = World::new(&model, seed);
    let blocks = [choice(&mut world, "mu"), choice(&mut world, "s")];
    let mut wrong = 0;
    for round in 0..40 {
        world.infer(["(mh b one 3)", "(subsampled_mh default one 5 0.1 2)"][round % 2]);
        let trace = world.model.trace_mut();
        match breaks {
            Breaks::Nothing => {}
            Breaks::Edges => pretend_no_edge_changed(trace),
            Breaks::Order => trace.put_fault(Some(Fault::KeptOrder)),
        }
        // Asked for again and again they are read in the order of the roster.
        for (block, again) in blocks.iter().flat_map(|block| (0..4).map(move |k| (block, k))) {
            let seed = seed + 100 * again + round as u64;
            let both = two_ways(trace, &[*block], seed, true).expect("sections");
            wrong += usize::from(!both.agree());
        }
    }
    wrong
}

#[test]
fn what_is_kept_about_sections_is_never_stale() {
    let wrong = |rows: usize, breaks| -> usize {
        (0..4).map(|seed| branches_that_change(rows, seed, breaks)).sum()
    };
    assert_eq!(wrong(8, Breaks::Nothing) + wrong(30, Breaks::Nothing), 0);
    // Few sections seldom ask for one place: then all are kept, and their order is.
    for (rows, breaks) in [(30, Breaks::Edges), (8, Breaks::Order)] {
        let wrong = wrong(rows, breaks);
        assert!(wrong > 20, "a twin that forgets what changed is not caught: {wrong}");
    }
}

#[test]
fn one_section_for_each_observation() {
    let rows = repeat(50, |i| format!("[observe (normal (* mu {i}) 1) {}]", i % 7));
    let mut world = World::new(&format!("[assume mu (normal 0 1)] {rows}"), 1);
    assert_eq!(population(&mut world, &["mu"]), Ok(50));
}

/// `(normal (* mu x) mu)`: two ways into one section, which counts once.
#[test]
fn overlapping_ways_are_one_section() {
    let rows = repeat(20, |i| format!("[observe (normal (* mu {i}) mu) {}]", i % 7));
    let mut world = World::new(&format!("[assume mu (gamma 2 1)] {rows}"), 1);
    assert_eq!(population(&mut world, &["mu"]), Ok(20));
    let rows = repeat(20, |_| "[observe (normal (+ mu mu) 1) 2]".to_owned());
    let mut world = World::new(&format!("[assume mu (normal 0 1)] {rows}"), 1);
    assert_eq!(population(&mut world, &["mu"]), Ok(20));
}

/// What no choice depends on has no weight and is no section.
#[test]
fn predictions_are_no_sections() {
    let rows = repeat(10, |i| format!("[predict (* mu {i})] [observe (normal mu 1) {i}]"));
    let mut world = World::new(&format!("[assume mu (normal 0 1)] {rows}"), 1);
    assert_eq!(population(&mut world, &["mu"]), Ok(10));
}

/// The border lies below the choice, and its children absorb directly.
#[test]
fn the_border_is_the_first_branching() {
    let rows = repeat(12, |i| format!("[observe (normal 0 sigma) {}]", i as f64 / 3.0));
    let text = format!("[assume v (inv_gamma 5 1)] [assume sigma (sqrt v)] {rows}");
    let mut world = World::new(&text, 1);
    assert_eq!(population(&mut world, &["v"]), Ok(12));
}

/// Groups that fan out in their turn: the leaves are the sections.
#[test]
fn nested_fan_out_is_flattened() {
    let groups = repeat(5, |k| {
        let rows = repeat(40 + k, |i| format!("[observe (normal m{k} 1) {}]", i % 5));
        format!(
            "[assume b{k} (normal 0 1)] [assume m{k} (+ a b{k})] [observe (normal (* 2 m{k}) 3) {k}] {rows}"
        )
    });
    let text = format!("[assume a (normal 0 1)] [observe (normal a 1) 0.5] {groups}");
    let mut world = World::new(&text, 1);
    assert_eq!(population(&mut world, &["a"]), Ok(1 + 5 + 5 * 40 + 10));
    // A group's own choice has the group's rows, and both together what the two have.
    assert_eq!(population(&mut world, &["b1"]), Ok(42));
    assert!(population(&mut world, &["a", "b1"]).is_ok());
    // One more row, one row fewer.
    world.execute("here: [observe (normal m1 1) 2]").unwrap();
    assert_eq!(population(&mut world, &["a"]), Ok(217));
    world.execute("[forget here]").unwrap();
    assert_eq!(population(&mut world, &["a"]), Ok(216));
}

/// A group that depends on the parameter twice, and rows that do so beside their group.
#[test]
fn nested_groups_with_two_ways() {
    let rows = |extra: &str| repeat(40, |i| format!("[observe (normal g {extra}) {}]", i % 5));
    let text = |extra| {
        let rows = rows(extra);
        format!(
            "[assume a (gamma 2 1)] [assume b (normal 0 1)] [assume g (+ (* a b) a)] [observe (normal a 1) 1] {rows}"
        )
    };
    assert_eq!(population(&mut World::new(&text("1"), 1), &["a"]), Ok(41));
    assert_eq!(population(&mut World::new(&text("a"), 1), &["a"]), Ok(41));
}

/// One choice reaches every row through two nodes that fan out; rows that read two groups.
#[test]
fn nested_hubs_that_share_sections() {
    let rows = repeat(40, |i| format!("[observe (normal mu sg) {}]", i % 5));
    let text =
        format!("[assume z (normal 0 1)] [assume mu (* 1 z)] [assume sg (exp (* 0.1 z))] {rows}");
    assert_eq!(population(&mut World::new(&text, 1), &["z"]), Ok(40));
    let rows = repeat(120, |i| {
        let (j, k) = (i % 3, (i + 1) % 3);
        format!("[observe (normal (+ m{j} m{k}) 1) {}]", i % 5)
    });
    let groups = repeat(3, |k| format!("[assume b{k} (normal 0 1)] [assume m{k} (+ a b{k})]"));
    let mut world = World::new(&format!("[assume a (normal 0 1)] {groups} {rows}"), 1);
    // No group reaches every row: each row is drawn through either of its two, at half its weight.
    assert_eq!(population(&mut world, &["a"]), Ok(240));
    assert!(population(&mut world, &["a", "b1"]).is_ok());
    assert_eq!(population(&mut world, &["b1"]), Ok(80));
}

/// phi and sigma of a state-space model, alone and together: sections depend on each other.
#[test]
fn a_state_space_model() {
    let states = repeat(30, |t| {
        let before = if t == 0 { "0".to_owned() } else { format!("h{}", t - 1) };
        format!(
            "[assume h{t} (normal (* phi {before}) sigma)] [observe (normal 0 (exp (/ h{t} 2))) 0.3]"
        )
    });
    let text = format!(
        "[assume phi (beta 5 1)] [assume v (inv_gamma 5 0.05)] [assume sigma (sqrt v)] {states}"
    );
    let mut world = World::new(&text, 3);
    // phi * 0 is a computation like any other: its section weighs nothing.
    assert_eq!(population(&mut world, &["phi"]), Ok(30));
    assert_eq!(population(&mut world, &["v"]), Ok(30));
    // Each of the two reaches every section.
    assert_eq!(population(&mut world, &["phi", "v"]), Ok(30));
    assert!(population(&mut world, &["phi", "h3"]).is_ok());
    assert!(population(&mut world, &["phi", "v", "h3", "h4", "h9"]).is_ok());
}

#[test]
fn structure_randomness_and_recursions_are_refused() {
    let rows = repeat(9, |i| format!("[observe (normal mu 1) {i}]"));
    let with = |more: &str| {
        let mut world = World::new(&format!("[assume mu (normal 0 1)] {rows} {more}"), 1);
        population(&mut world, &["mu"])
    };
    assert_eq!(with(""), Ok(9));
    let refused = with("[predict (if (> mu 0) (normal 0 1) 2)]");
    assert!(matches!(refused, Err(Refusal::Structure { .. })), "{refused:?}");
    let refused = with("[assume f (mem (lambda (x) (normal 0 1)))] [predict (f (floor mu))]");
    assert!(matches!(refused, Err(Refusal::Structure { .. })), "{refused:?}");
    let chain = repeat(200, |t| {
        let before = if t == 0 { "0".to_owned() } else { format!("x{}", t - 1) };
        format!("[assume x{t} (+ (* mu {before}) mu)] [observe (normal x{t} 1) 1]")
    });
    let refused = with(&chain);
    assert!(matches!(refused, Err(Refusal::TooLarge { .. })), "{refused:?}");
    // What is refused becomes possible when the offender goes.
    let text = format!("[assume mu (normal 0 1)] {rows} here: [predict (if (> mu 0) 1 2)]");
    let mut world = World::new(&text, 1);
    assert!(population(&mut world, &["mu"]).is_err());
    world.execute("[forget here]").unwrap();
    assert_eq!(population(&mut world, &["mu"]), Ok(9));
}

/// Makers absorb for all their draws at once; what they made cannot be a principal.
#[test]
fn collapsed_models_in_sections() {
    let text = "
        [assume a (gamma 2 1)]
        [assume f (make_beta_bernoulli a 1)] [assume g (make_beta_bernoulli 1 a)]
        [assume h (make_uc_beta_bernoulli a 2)]
        [observe (f) true] [observe (f) false] [observe (g) true] [observe (h) true]
        [assume z (g)]";
    let mut world = World::new(text, 1);
    assert_eq!(population(&mut world, &["a"]), Ok(3));
    assert!(matches!(population(&mut world, &["z"]), Err(Refusal::Coupled { .. })));
}

/// The sections of (w k) are the present members of cluster k.
#[test]
fn members_of_a_cluster_come_and_go() {
    let rows = repeat(30, |i| format!("[observe (y {i}) {}]", if i % 2 == 0 { 2 } else { -2 }));
    let text = format!(
        "[assume crp (make_crp 1)]
         [assume z (mem (lambda (i) (scope_include 'z i (crp))))]
         [assume w (mem (lambda (k) (scope_include 'w k (normal 0 2))))]
         [assume y (lambda (i) (normal (w (z i)) 1))] {rows}"
    );
    let mut world = World::new(&text, 7);
    let mut sizes_seen = std::collections::BTreeSet::new();
    for _ in 0..60 {
        world.infer("(cycle ((mh z one 5) (subsampled_mh w one 4 0.05 'drift 0.5 2)) 1)");
        check(&world.model).unwrap();
        let members: Vec<f64> = (0..30).map(|i| world.number(&format!("(z {i})"))).collect();
        for k in members.clone() {
            let size = members.iter().filter(|z| **z == k).count();
            let value = world.value(&format!("(w {k})"));
            let trace = world.model.trace_mut();
            let w = trace.choices().iter().copied().find(|id| trace.node(*id).value == value);
            let w = w.expect("a weight");
            match two_ways(trace, &[w], 1, true) {
                Ok(both) => {
                    assert_eq!(both.population, size);
                    assert!(both.agree());
                }
                Err(refusal) => assert!(size == 1 && refusal == Refusal::NoBorder, "{refusal:?}"),
            }
            sizes_seen.insert(size);
        }
    }
    assert!(sizes_seen.len() > 5, "{sizes_seen:?}");
}

/// With epsilon 0 the decisions are those of mh on the same stream, to the bit.
#[test]
fn epsilon_zero_is_exact() {
    let rows = repeat(40, |i| format!("[observe (normal (+ (* a {i}) b) sigma) {}]", i % 11));
    let text = format!(
        "[assume a (normal 0 1)] [assume b (normal 0 1)] [assume v (gamma 2 1)] [assume sigma (sqrt v)] {rows}"
    );
    for kernel in ["default one", "default all", "default each"] {
        for drift in ["", "'drift 0.3"] {
            let mut exact = World::new(&text, 11);
            let mut sections = World::new(&text, 11);
            exact.infer(&format!("(mh {kernel} {drift} 300)"));
            sections.infer(&format!("(subsampled_mh {kernel} 5 0 {drift} 300)"));
            for name in ["a", "b", "v", "sigma"] {
                let (x, y) = (exact.number(name), sections.number(name));
                assert_eq!(x.to_bits(), y.to_bits(), "{kernel} {drift} {name}");
            }
            let accepted = |world: &mut World| world.run.kernel(0).tally.accepted;
            assert_eq!(accepted(&mut exact), accepted(&mut sections));
            assert!(accepted(&mut exact) > 0);
        }
    }
}

/// Every value that is read is what an eager change would have made it, after any interleaving of
/// subsampled and exact moves, directives and reads.
#[test]
fn reading_equals_an_eager_twin() {
    let rows = repeat(60, |i| {
        format!(
            "r{i}: [observe (normal (+ (* a {i}) (w (z {i}))) (exp s)) {}] [assume p{i} (* (+ a s) {i})]",
            i % 11
        )
    });
    let text = format!(
        "[assume a (scope_include 'g 0 (normal 0 1))] [assume s (scope_include 'g 1 (normal 0 1))]
         [assume z (mem (lambda (i) (scope_include 'z i (flip 0.4))))]
         [assume w (mem (lambda (k) (scope_include 'g 2 (normal 0 1))))] {rows}"
    );
    // The twin makes the same decisions on the same stream, and writes everything at once.
    let mut lazy = World::new(&text, 5);
    let mut eager = World::new(&text, 5);
    let mut rng = Rng::for_chain(9, 0);
    let mut stale = 0;
    for step in 0..300 {
        match rng.below(8) {
            0 => [&mut lazy, &mut eager].into_iter().for_each(|w| w.infer("(mh z one 2)")),
            1 => [&mut lazy, &mut eager].into_iter().for_each(|w| w.infer("(mh default one 1)")),
            2 if step % 5 == 0 => {
                let i = rng.below(1000);
                let more =
                    format!("x{step}: [observe (normal (* a {i}) (exp s)) 1] [predict (* a s)]");
                lazy.execute(&more).unwrap();
                eager.execute(&more).unwrap();
                if rng.coin() {
                    let forget = format!("[forget x{step}]");
                    lazy.execute(&forget).unwrap();
                    eager.execute(&forget).unwrap();
                }
            }
            3 => {
                let i = rng.below(60);
                let read = format!("p{i}");
                assert_eq!(lazy.value(&read), eager.value(&read));
            }
            4 => assert_eq!(lazy.log_joint().to_bits(), eager.log_joint().to_bits()),
            _ => {
                lazy.infer("(subsampled_mh g one 3 0 'drift 0.2 2)");
                eager.infer("(mh g one 'drift 0.2 2)");
            }
        }
        check(&lazy.model).unwrap();
        let differs = |id: NodeId| {
            let (a, b) = (&lazy.model.node(id).value, &eager.model.node(id).value);
            matches!((a, b), (Value::Number(_), Value::Number(_))) && a != b
        };
        stale += eager.model.live_nodes().filter(|id| differs(*id)).count();
        if step % 10 == 0 {
            let live: Vec<NodeId> = eager.model.live_nodes().collect();
            for id in live {
                let read = lazy.model.trace_mut().value(id).unwrap().clone();
                assert_eq!(read, eager.model.node(id).value, "step {step}, node {}", id.index());
            }
        }
    }
    assert!(stale > 1000, "the lazy twin was hardly ever stale: {stale}");
}
