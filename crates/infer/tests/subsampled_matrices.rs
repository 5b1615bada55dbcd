//! epsilon 0 on finite programs: G + Σ l in place of the log ratio leaves the posterior
//! stationary to 1e-12, and the kernel's own transitions follow that matrix. Twins with one
//! mistake in the use of sections do not.

use std::cell::Cell;
use std::rc::Rc;

use smidgen_engine::proposal::FromPrior;
use smidgen_engine::{NodeId, Trace};
use smidgen_infer::block::{Block, Scope, Target};
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::enumerate::{Chain, Ratio, by_values, imbalance, metropolis, product};
use smidgen_testkit::sections::{BySections, Fault};
use smidgen_testkit::{PValue, World};
use smidgen_value::{Rng, Value};

struct Case {
    name: &'static str,
    text: String,
    states: usize,
    /// The scope, if not the default one.
    scope: Option<&'static str>,
    joint: bool,
}

impl Case {
    fn target(&self) -> Target {
        let named = |scope: &str| Scope::Named(Value::symbol(scope));
        let block = if self.joint { Block::All } else { Block::One };
        Target { scope: self.scope.map_or(Scope::Default, named), block }
    }

    fn kernel(&self) -> String {
        let (scope, block) =
            (self.scope.unwrap_or("default"), if self.joint { "all" } else { "one" });
        format!("(subsampled_mh {scope} {block} 1 0 1)")
    }
}

fn rows(n: usize, row: impl Fn(usize) -> String) -> String {
    (0..n).map(row).collect()
}

/// Cluster parameters with members; both come and go.
fn clusters() -> String {
    let rows = rows(3, |i| format!("[observe (normal (w (z {i})) 1.5) {i}] [predict (z {i})]"));
    format!(
        "[assume z (mem (lambda (i) (scope_include 'z i (uniform_discrete 0 2))))]
         [assume w (mem (lambda (k) (scope_include 'w k (uniform_discrete 0 3))))] {rows}
         [predict (w (z 0))] [predict (w (z 1))] [predict (w (z 2))]"
    )
}

fn cases() -> Vec<Case> {
    let case = |name, states, text: String| Case { name, text, states, scope: None, joint: false };
    let joint = |case: Case| Case { joint: true, ..case };
    let coefficients = format!(
        "[assume a (uniform_discrete 0 3)] [assume b (bernoulli 0.3)] [predict a] [predict b] {}",
        rows(5, |i| format!("[observe (flip (/ (+ 1 (* a {i}) b) 11)) {}]", i % 3 == 0)),
    );
    // b is one of a's sections, and has sections of its own; together they are the block.
    let dependent = format!(
        "[assume a (categorical (simplex 0.2 0.5 0.3))] [assume b (binomial 2 (/ (+ a 1) 5))] [predict a] [predict b] {}",
        rows(3, |i| format!(
            "[observe (normal (+ a {i}) 3) 1] [observe (poisson (+ (* a b) 1)) {i}] [observe (normal b 2) 1]"
        )),
    );
    let overlapping = format!(
        "[assume k (uniform_discrete 0 4)] [predict k] {}",
        rows(3, |i| format!("[observe (normal (* k {i}) (+ k 1)) {}]", 2 * i)),
    );
    let nested = format!(
        "[assume a (uniform_discrete 0 3)] [assume b (uniform_discrete 0 2)] [assume m (+ a b)]
         [predict a] [predict b] [observe (normal a 1) 1] [observe (normal (* a 2) 2) 2] {}",
        rows(33, |i| format!("[observe (normal m 9) {}]", i % 4)),
    );
    vec![
        case(
            "a number and its tosses",
            3,
            format!(
                "[assume k (uniform_discrete 0 3)] [assume p (/ (+ k 1) 5)] [predict k] {}",
                rows(6, |i| format!("[observe (flip p) {}]", i % 2 == 0)),
            ),
        ),
        case("two coefficients", 6, coefficients.clone()),
        joint(case("two coefficients jointly", 6, coefficients)),
        case("a choice among the sections", 9, dependent.clone()),
        joint(case("a choice and what depends on it", 9, dependent)),
        case("two ways into a section", 4, overlapping),
        case("a nested hub", 6, nested.clone()),
        joint(case("a nested hub and its group", 6, nested)),
        Case { scope: Some("w"), ..case("cluster parameters", 60, clusters()) },
    ]
}

/// Ratios by sections, counted.
fn by_sections(fault: Fault) -> (Ratio, Rc<Cell<usize>>) {
    let (mut kernel, used) = (BySections::new(fault), Rc::new(Cell::new(0)));
    let count = Rc::clone(&used);
    let ratio = move |trace: &mut Trace, block: &[NodeId], rng: &mut Rng| {
        let weighed = kernel.weigh(trace, block, &mut FromPrior, rng)?;
        count.set(count.get() + 1);
        Some(weighed.log_global + weighed.sum())
    };
    (Box::new(ratio), used)
}

/// The chain on all states of a program, with ratios by sections.
fn explore(case: &Case, fault: Fault) -> (World, Chain, usize) {
    let mut world = World::new(&case.text, 1);
    let (ratio, used) = by_sections(fault);
    let default = Target { scope: Scope::Default, block: Block::One };
    let all = Chain::explore(&mut world, &default, by_values);
    let chain = all.within_by(&mut world, &case.target(), Some(ratio));
    (world, chain, used.get())
}

fn largest_imbalance(chain: &Chain) -> f64 {
    let (detailed, global) = imbalance(&chain.posterior(), &chain.matrix(metropolis));
    detailed.max(global)
}

#[test]
fn sections_leave_the_posterior_in_detailed_balance() {
    for case in cases() {
        let (_, chain, used) = explore(&case, Fault::None);
        assert_eq!(chain.states.len(), case.states, "{}: {:?}", case.name, chain.states);
        assert!(used > 10, "{}: sections were read {used} times", case.name);
        let imbalance = largest_imbalance(&chain);
        assert!(imbalance < 1e-12, "{}: {imbalance:.2e}", case.name);
    }
}

#[test]
fn twins_are_not_in_balance() {
    let cases = cases();
    for (fault, concerned) in [
        (Fault::LeavesOneSectionOut, "two coefficients"),
        (Fault::LeavesOneSectionOut, "a nested hub"),
        (Fault::LeavesOneSectionOut, "cluster parameters"),
        (Fault::CountsEveryWay, "two ways into a section"),
        (Fault::WrongDivisor, "two coefficients jointly"),
        (Fault::WrongDivisor, "a choice and what depends on it"),
    ] {
        let case = cases.iter().find(|case| case.name == concerned).expect("a case");
        let imbalance = largest_imbalance(&explore(case, fault).1);
        assert!(imbalance > 1e-4, "{concerned}: nobody notices {fault:?}: {imbalance:.2e}");
    }
}

/// The kernel's own transitions against the matrix by sections.
fn kernel_rows(steps: usize, seed: u64, kernel: &mut dyn FnMut(&mut World, &Case)) -> PValue {
    let mut all = Vec::new();
    for case in cases() {
        let (mut world, chain, _) = explore(&case, Fault::None);
        world.rng = Rng::from_seed(seed);
        let matrix = chain.matrix(metropolis);
        let mut found = chain.rows(&matrix, &mut world, steps, |world| kernel(world, &case));
        found.report = format!("{}: {}", case.name, found.report);
        all.push(found);
    }
    PValue::smallest_of(all)
}

/// A program is read anew for every case.
fn own_kernel() -> impl FnMut(&mut World, &Case) {
    let mut program = None;
    move |world, case| {
        if program.as_ref().is_none_or(|(name, _)| *name != case.name) {
            program = Some((case.name, world.program(&case.kernel())));
        }
        if let Some((_, program)) = &mut program {
            world.step(program);
        }
    }
}

/// A kernel with one mistake, on blocks drawn as the kernel draws them.
fn twin(fault: Fault) -> impl FnMut(&mut World, &Case) {
    let mut kernel = (BySections::new(fault), "");
    move |world, case| {
        if kernel.1 != case.name {
            kernel = (BySections::new(fault), case.name);
        }
        let World { model, rng, .. } = world;
        let scopes = model.scopes();
        let block = match (case.joint, case.scope) {
            (true, _) => model.choices().to_vec(),
            (false, None) => vec![model.choices()[rng.below(model.choices().len())]],
            (false, Some(scope)) => {
                let scope = Value::symbol(scope);
                scopes.block_at(&scope, rng.below(scopes.number_of_blocks(&scope))).to_vec()
            }
        };
        kernel.0.step(model.trace_mut(), &block, &mut FromPrior, rng);
    }
}

#[test]
fn the_kernel_follows_its_matrix() {
    let test = "subsampled rows";
    demand(test, 1500, |steps, seed| kernel_rows(steps, seed, &mut own_kernel()));
    demand(test, 1500, |steps, seed| kernel_rows(steps, seed, &mut twin(Fault::None)));
    for fault in [Fault::DrawsUAgain, Fault::ReadsStaleValues] {
        let name = format!("{fault:?}");
        catches(test, &name, 1500, |steps, seed| kernel_rows(steps, seed, &mut twin(fault)));
    }
}

/// Parameters by sections and their members by exact moves, in turn.
#[test]
fn a_cycle_with_members_that_move() {
    let case = cases().pop().expect("the clusters");
    let (mut world, weights, _) = explore(&case, Fault::None);
    let z = Target { scope: Scope::Named(Value::symbol("z")), block: Block::One };
    let seats = weights.within(&mut world, &z);
    let cycle = product(&weights.matrix(metropolis), &seats.matrix(metropolis));
    let (_, global) = imbalance(&weights.posterior(), &cycle);
    assert!(global < 1e-12, "{global:.2e}");
    let mut rows = |steps: usize, seed: u64, text: &str| {
        world.rng = Rng::from_seed(seed);
        let mut program = world.program(text);
        weights.rows(&cycle, &mut world, steps, |world| world.step(&mut program))
    };
    let test = "subsampled cycle rows";
    demand(test, 10_000, |steps, seed| {
        rows(steps, seed, "(cycle ((subsampled_mh w one 1 0 1) (mh z one 1)) 1)")
    });
    catches(test, "the members first", 10_000, |steps, seed| {
        rows(steps, seed, "(cycle ((mh z one 1) (subsampled_mh w one 1 0 1)) 1)")
    });
}
