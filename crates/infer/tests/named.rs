//! Names of the program as scopes: what they hold is what the program's structure says, whatever has happened, and a
//! kernel on one makes the moves that it would make with tags.

use proptest::prelude::*;
use smidgen_engine::check::check;
use smidgen_testkit::World;
use smidgen_testkit::programs::{EVERYTHING, program};
use smidgen_value::{Symbol, Value};

/// The assumed names of a program's text.
fn names(text: &str) -> Vec<Symbol> {
    text.split("[assume ")
        .skip(1)
        .filter_map(|rest| rest.split(' ').next())
        .map(Symbol::new)
        .collect()
}

/// Blocks of a name's scope, with the addresses of their choices; none if it is no scope.
fn blocks(world: &mut World, name: Symbol) -> Option<Vec<(Value, Vec<u64>)>> {
    let scope = world.model.scope_of_name(name).ok()?;
    let scopes = world.model.scopes();
    let members = |block: Value| {
        let mut members: Vec<u64> =
            scopes.block(&scope, &block).iter().map(|id| world.model.address(*id)).collect();
        members.sort_unstable();
        (block, members)
    };
    Some(scopes.ordered_blocks(&scope).into_iter().map(members).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Asked for before the moves or after them: the same blocks; and asking changes no move.
    #[test]
    fn what_a_name_holds_does_not_hang_on_history(
        tape in prop::collection::vec(any::<u16>(), 0..120), seed in any::<u64>()
    ) {
        let text = program(&tape, EVERYTHING);
        let (Ok(mut early), Ok(mut late)) = (World::try_new(&text, seed), World::try_new(&text, seed))
        else { return Ok(()) };
        let names = names(&text);
        for name in &names {
            blocks(&mut early, *name);
        }
        for kernel in ["(mh default one 20)", "(mh default each 2)", "(mh default all 3)"] {
            let (a, b) = (early.execute(&format!("[infer {kernel}]")), late.execute(&format!("[infer {kernel}]")));
            prop_assert_eq!(a.is_ok(), b.is_ok());
            if a.is_err() {
                break;
            }
            prop_assert_eq!(early.state(), late.state(), "{}", &text);
        }
        prop_assert!(check(&early.model).is_ok(), "{:?}\n{}", check(&early.model), text);
        for name in names {
            prop_assert_eq!(blocks(&mut early, name), blocks(&mut late, name), "{} in\n{}", name, &text);
        }
        prop_assert!(check(&late.model).is_ok(), "{:?}\n{}", check(&late.model), text);
    }
}

/// Programs without a tag and with one, and kernels on it.
const PAIRS: &[(&str, &str, &[&str])] = &[
    (
        "[assume phi (beta 2 2)] [assume x (normal phi 1)] [observe (normal x phi) 1] [predict phi] [predict x]",
        "[assume phi (scope_include 'phi 0 (beta 2 2))] [assume x (normal phi 1)] [observe (normal x phi) 1]
         [predict phi] [predict x]",
        &["(slice phi all 5)", "(mh phi one 5)", "(mh phi each 'drift 0.3 5)", "(nuts phi all 5)"],
    ),
    (
        "[assume crp (make_crp 1)] [assume z (mem (lambda (i) (crp)))] [assume m (mem (lambda (k) (normal 0 2)))]
         [observe (normal (m (z 0)) 1) 1] [observe (normal (m (z 1)) 1) 2] [observe (normal (m (z 2)) 1) -3]
         [predict (m (z 0))] [predict (m (z 1))] [predict (m (z 2))]",
        "[assume crp (make_crp 1)] [assume z (mem (lambda (i) (scope_include 'z i (crp))))]
         [assume m (mem (lambda (k) (scope_include 'm k (normal 0 2))))]
         [observe (normal (m (z 0)) 1) 1] [observe (normal (m (z 1)) 1) 2] [observe (normal (m (z 2)) 1) -3]
         [predict (m (z 0))] [predict (m (z 1))] [predict (m (z 2))]",
        &["(gibbs z each 3)", "(gibbs z 1 3)", "(mh z each 5)", "(mh m each 2)", "(pgibbs z ordered 4 2)"],
    ),
    (
        "[assume h (mem (lambda (t) (if (= t 0) (normal 0 1) (normal (h (- t 1)) 1))))]
         [observe (normal (h 3) 1) 2] [observe (normal (h 1) 1) 0] [predict (h 0)] [predict (h 2)] [predict (h 3)]",
        "[assume h (mem (lambda (t) (scope_include 'h t (if (= t 0) (normal 0 1) (normal (h (- t 1)) 1)))))]
         [observe (normal (h 3) 1) 2] [observe (normal (h 1) 1) 0] [predict (h 0)] [predict (h 2)] [predict (h 3)]",
        &["(pgibbs h ordered 5 3)", "(mh h (ordered_range 1 2) 5)", "(nuts h all 3)", "(mh h each 4)"],
    ),
    (
        "[assume f (mem (lambda (a b) (flip 0.3)))] [observe (bernoulli (if (f 1 2) 0.9 (if (f 2 1) 0.5 0.1))) 1]
         [predict (f 1 2)]",
        "[assume f (mem (lambda (a b) (scope_include 'f (list a b) (flip 0.3))))]
         [observe (bernoulli (if (f 1 2) 0.9 (if (f 2 1) 0.5 0.1))) 1] [predict (f 1 2)]",
        &["(gibbs f each 5)", "(mh f (list 1 2) 5)"],
    ),
];

#[test]
fn a_name_moves_as_its_tag_would() {
    for (plain, tagged, kernels) in PAIRS {
        for kernel in *kernels {
            let states = [plain, tagged].map(|text| {
                let mut world = World::new(text, 5);
                let mut program = world.program(kernel);
                (0..20)
                    .map(|_| {
                        world.step(&mut program);
                        check(&world.model).unwrap_or_else(|broken| panic!("{broken}"));
                        world.state()
                    })
                    .collect::<Vec<_>>()
            });
            assert_eq!(states[0], states[1], "{kernel}");
            let moved = states[0].windows(2).any(|pair| pair[0] != pair[1]);
            assert!(moved, "nothing happened: {kernel}");
        }
    }
}

#[test]
fn a_tag_wins_over_a_name() {
    let text = "[assume x (normal 0 1)] [assume y (scope_include 'x 0 (normal 0 1))] [predict x] [predict y]";
    let mut world = World::new(text, 1);
    let before = world.value("x");
    world.infer("(mh x all 10)");
    assert_eq!(world.value("x"), before);
}

#[test]
fn each_choice_made_for_a_name_is_a_block() {
    let text = "[assume n (+ 1 (flip 0.5))] [assume xs (map (lambda (i) (normal 0 1)) (range 0 (+ 2 n)))] [predict n]";
    let mut world = World::new(text, 1);
    let all = blocks(&mut world, Symbol::new("xs")).expect("a scope");
    assert_eq!(all.len() as f64, 2.0 + world.number("n"));
    assert_eq!(blocks(&mut world, Symbol::new("n")).map(|blocks| blocks.len()), Some(1));
    assert!(world.model.scope_of_name(Symbol::new("nobody")).is_err());
}
