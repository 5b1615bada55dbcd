//! Programs nobody wrote: one step from an exact draw leaves their laws alone and the trace what a run from
//! the text makes of the same choices. `scripts/campaign` runs more of them.
//!
//! And the mistakes that these tests were made for, put back one at a time: each has to be noticed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use smidgen_engine::Fault;
use smidgen_infer::kernel::{Kernel, default};
use smidgen_infer::run::Log;
use smidgen_testkit::wild::Wild;
use smidgen_testkit::wild::kernels::{DEFAULT, Moves, OTHERS};
use smidgen_testkit::wild::steps::{QUICK, Step, THOROUGH, Verdict};
use smidgen_testkit::wild::writer::program;
use smidgen_testkit::{World, budget};

/// Random programs of each test.
const PROGRAMS: u64 = 200;

/// Runs programs under the kernels that `choose` gives each; the failures, and how many were refused and judged.
fn campaign(
    test: &str,
    per_program: usize,
    choose: impl Fn(u64) -> Vec<Moves> + Sync,
) -> (Vec<String>, usize, usize) {
    let alpha = budget::alpha(test) / (PROGRAMS as usize * per_program) as f64;
    let first = budget::seed(test) % 1_000_000_000;
    let next = AtomicU64::new(first);
    let found = Mutex::new((Vec::new(), 0, 0));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= first + PROGRAMS {
                return;
            }
            let wild = program(number).unwrap_or_else(|error| panic!("{number}: {error}"));
            for moves in choose(number) {
                let step = Step { wild: &wild, moves, fault: None, alpha, looks: QUICK };
                let verdict = step.judge(number);
                let mut found = found.lock().expect("nobody panics while counting");
                match verdict {
                    Verdict::Right => found.2 += 1,
                    Verdict::Refused(_) => found.1 += 1,
                    Verdict::Wrong(why) => {
                        let data = wild.start(number).map(|start| start.data).unwrap_or_default();
                        let text = wild.text(&data);
                        found.0.push(format!("program {number}, {moves:?}: {why}\n{text}"));
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    found.into_inner().expect("nobody panics while counting")
}

fn demand_none(failures: &[String]) {
    let shown: Vec<&str> = failures.iter().take(3).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} failures, such as\n{}", failures.len(), shown.join("\n"));
}

#[test]
fn the_default_kernel_on_programs_nobody_wrote() {
    let test = "one step of random programs: default kernel";
    let choose = |number: u64| vec![DEFAULT[number as usize % DEFAULT.len()]];
    let (failures, refused, _) = campaign(test, 1, choose);
    demand_none(&failures);
    assert_eq!(refused, 0, "the default kernel takes every program");
}

#[test]
fn other_kernels_on_programs_nobody_wrote() {
    let test = "one step of random programs: other kernels";
    let choose = |number: u64| vec![OTHERS[number as usize % OTHERS.len()]];
    let (failures, refused, judged) = campaign(test, 1, choose);
    demand_none(&failures);
    assert!(judged > 2 * refused, "{judged} judged, {refused} refused");
}

// ---------------------------------------------------------------- mistakes put back

const UNREAD: &str = "[assume x0 (normal 0 1)] [assume x1 (if (< x0 0) 3 (normal 0 1))]";
const UNREAD_CONSTANTS: &str = "[assume x0 (normal 0 1)] [assume x1 (if (< x0 0) 3 4)]";
const STOPPING: &str = "[assume g (lambda (k p) (let ((q (* p (uniform_continuous 0 1)))) (if (<= q 0.4) k (g (+ k 1) q))))]
    [assume x0 (g 0 1)]";
const WALLED: &str = "[assume x0 (normal 0 1)] [assume x1 (if (< x0 0) 3 (normal 0 1))]
    [observe (bernoulli (if (< x0 2) 1 0)) true]";
const COIN: &str = "[assume x1 (scope_include 'smooth 1 (gamma 2 0.688))]
    [assume x3 (scope_include 'finite 1 (flip (logistic x1)))]";
const MIXTURE: &str = "[assume w (scope_include 'smooth 1 (beta 1 1))] [assume m0 (normal -2 1)] [assume m1 (normal 2 1)]
    [assume z (mem (lambda (i) (scope_include 'finite i (categorical (array w (- 1 w))))))]
    [predict (z 0)] [predict (z 1)] [predict (z 2)]
    [observe (normal (if (= (z 0) 0) m0 m1) 1) -2.1] [observe (normal (if (= (z 1) 0) m0 m1) 1) 0.3]
    [observe (normal (if (= (z 2) 0) m0 m1) 1) 2.2]";
const HIDDEN: &str = "[assume P (mem (lambda (k) (scope_include 'smooth k (dirichlet (vector 1 1)))))]
    [assume st (mem (lambda (t) (scope_include 'finite t (if (= t 0) (uniform_discrete 0 2) (categorical (P (st (- t 1))))))))]
    [predict (st 0)] [predict (st 1)] [predict (st 2)] [predict (st 3)]
    [observe (flip (lookup (vector 0.1 0.9) (st 0))) false] [observe (flip (lookup (vector 0.1 0.9) (st 1))) true]
    [observe (flip (lookup (vector 0.1 0.9) (st 2))) true] [observe (flip (lookup (vector 0.1 0.9) (st 3))) false]";
const BELOW: &str = "[assume x0 (normal 0 1)] [assume y (normal x0 0.5)]
    [assume x1 (if (< x0 0) 3 (normal 0 1))] [observe (normal x1 1) 1]";
const MOVING: &str = "[assume c (normal 0 1)] [assume a (normal 0 1)] [assume x (normal a 1)]
    [assume y (normal c 1)] [observe (if (< c 0) x y) 1]";

const UNREAD_STOP: &str = "[assume x0 (scope_include 'smooth 1 (normal 0.5 0.5))] [assume u (probability x0)] [observe (normal x0 1) 1]";
const UNREAD_DIVISOR: &str = "[assume k (scope_include 'finite 1 (uniform_discrete 0 3))] [assume u (int_mod 7 k)] [observe (normal k 1) 1]";

/// A right kernel may fail on one of these programs with this probability.
const ALPHA: f64 = 1e-7;

fn verdict(text: &str, moves: Moves, fault: Option<Fault>) -> Verdict {
    let step = Step { wild: &Wild::of_text(text), moves, fault, alpha: ALPHA, looks: THOROUGH };
    step.judge(budget::seed(text))
}

#[test]
fn one_step_of_the_programs_that_were_wrong() {
    let mut failures = Vec::new();
    let programs = [
        UNREAD,
        UNREAD_CONSTANTS,
        STOPPING,
        WALLED,
        COIN,
        MIXTURE,
        HIDDEN,
        BELOW,
        MOVING,
        UNREAD_STOP,
        UNREAD_DIVISOR,
    ];
    for text in programs {
        for moves in [Moves::IdleSweeps(1), Moves::Sweeps(3), Moves::IdleSweeps(16)] {
            if let Verdict::Wrong(why) = verdict(text, moves, None) {
                failures.push(format!("{moves:?}: {why}\n{text}"));
            }
        }
    }
    demand_none(&failures);
}

/// Notices a mistake in one of these programs.
fn notices(fault: Fault, kernels: &[Moves], programs: &[&str]) {
    let of_these =
        |moves: Moves| programs.iter().any(|text| verdict(text, moves, Some(fault)).is_wrong());
    assert!(kernels.iter().copied().any(of_these), "{fault:?} goes unnoticed");
}

/// Notices a mistake in one of the first random programs.
fn notices_in_random_programs(fault: Fault, kernels: &[Moves]) {
    let in_random = |number: u64| {
        let wild = program(number).unwrap_or_else(|error| panic!("{number}: {error}"));
        let moves = kernels[number as usize % kernels.len()];
        let step = Step { wild: &wild, moves, fault: Some(fault), alpha: ALPHA, looks: QUICK };
        step.judge(number).is_wrong()
    };
    assert!((0..FIRST).any(in_random), "{fault:?} goes unnoticed in random programs");
}

/// Sweeps that move idle choices too.
const BRIEFLY: [Moves; 2] = [Moves::IdleSweeps(1), Moves::IdleSweeps(4)];

/// Random programs that mistakes are put back into.
const FIRST: u64 = 60;

#[test]
fn an_unread_branch_that_does_not_follow_is_noticed() {
    notices(Fault::UnreadBranch, &BRIEFLY, &[UNREAD, UNREAD_CONSTANTS, STOPPING]);
    notices_in_random_programs(Fault::UnreadBranch, &BRIEFLY);
}

#[test]
fn an_unread_procedure_that_stops_is_noticed() {
    notices(Fault::UnreadStop, &BRIEFLY, &[UNREAD_STOP]);
    notices(Fault::UnreadStop, &[Moves::Program("(gibbs finite each 1)")], &[UNREAD_DIVISOR]);
    notices_in_random_programs(Fault::UnreadStop, &BRIEFLY);
}

#[test]
fn a_constant_seed_is_noticed() {
    notices(Fault::ConstantSeed, &BRIEFLY, &[WALLED]);
    notices_in_random_programs(Fault::ConstantSeed, &BRIEFLY);
}

#[test]
fn stale_arguments_are_noticed() {
    // The default kernel looks at a choice, and so refreshes its arguments, before it calls Gibbs.
    // Several rounds, for its first look at a choice refreshes too: later it follows a plan.
    let lazily = [
        Moves::Program("(cycle ((nuts smooth all 'step 0.3 1) (gibbs finite each 1)) 3)"),
        Moves::Program("(cycle ((gibbs finite each 1) (hmc smooth all 0.3 4 1)) 3)"),
    ];
    // (In random programs `gibbs_roads.rs` notices it.)
    notices(Fault::StaleArguments, &lazily, &[COIN, MIXTURE, HIDDEN]);
}

/// How many standard errors, by batch means, the first quantity of a long run is off.
fn off(text: &str, truth: f64, fault: Option<Fault>) -> f64 {
    const BATCHES: usize = 60;
    const SWEEPS: usize = 600;
    let mut world = World::new(text, budget::seed(text));
    world.model.trace_mut().put_fault(fault);
    let mut kernel = default::AutoKernel::with_step(0.35).moving_idle();
    let (_, root) = world.model.assumed_changeable().remove(0);
    let mut batches = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        let mut sum = 0.0;
        for _ in 0..SWEEPS {
            let World { model, rng, run, .. } = &mut world;
            let mut log = Log::open(run, 0);
            kernel.transition(model.trace_mut(), rng, &mut log).expect("a sweep");
            log.close();
            let value = world.model.operand_value(&root).expect("a value");
            sum += value.as_number().expect("a number");
        }
        batches.push(sum / SWEEPS as f64);
    }
    let n = BATCHES as f64;
    let mean = batches.iter().sum::<f64>() / n;
    let variance = batches.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean - truth) / (variance / n).sqrt()
}

/// What is wrong in one sweep is little, and adds up: by long runs. E x0 = 0.483, E c = 0.160, E a = 0.198.
#[test]
fn a_plan_of_the_start_is_noticed() {
    let swapped = MOVING.replace(
        "[assume c (normal 0 1)] [assume a (normal 0 1)]",
        "[assume a (normal 0 1)] [assume c (normal 0 1)]",
    );
    let programs = [(BELOW, 0.483), (MOVING, 0.160), (&swapped, 0.198)];
    let right = programs.map(|(text, truth)| off(text, truth, None));
    assert!(right.iter().all(|off| off.abs() < 4.5), "{right:?} standard errors off");
    let wrong = programs.map(|(text, truth)| off(text, truth, Some(Fault::PlanOfTheStart)));
    assert!(wrong.iter().any(|off| off.abs() > 6.0), "unnoticed: {wrong:?} standard errors off");
}
