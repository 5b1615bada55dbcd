//! epsilon 0: exact starts, Geweke's test and calibration of subsampled_mh, by walks and from the
//! prior. Every test notices a twin with one mistake in the use of sections. (Twins that redraw u or
//! read stale values are noticed by the exact matrices, where it takes fewer draws.)

use smidgen_engine::NodeId;
use smidgen_engine::Proposer;
use smidgen_engine::proposal::FromPrior;
use smidgen_infer::proposer::{Drift, Scale};
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::{Story, exact_start};
use smidgen_testkit::sections::{BySections, Fault};
use smidgen_testkit::{PValue, World, pvalue};
use smidgen_value::{Symbol, Value};

const REPEATS: usize = 400;

/// The exact-start test of a kernel, and a sharper one on the same draws: each pair before and after
/// its moves has the same law, so the differences of any statistic have mean 0. Compared are
/// the numbers asked for and log p(θ, y) and log p(y | θ), where a kernel that weighs the data wrongly
/// shows first; they are bounded for the sake of the z-test.
pub(super) fn moved(
    story: &Story<'_>,
    repeats: usize,
    seed: u64,
    mut kernel: impl FnMut(&mut World),
) -> PValue {
    let bounded = |x: f64| x / (3.0 + x.abs());
    let numbers = |world: &mut World| {
        let mut numbers: Vec<f64> = story.look.iter().map(|expr| world.number(expr)).collect();
        numbers.push(world.log_joint());
        numbers.push(world.model.log_likelihood().expect("a number"));
        numbers
    };
    let mut differences: Vec<Vec<f64>> = Vec::new();
    let law = exact_start(
        repeats,
        seed,
        |seed| story.start(seed),
        |pair| {
            let before = numbers(&mut pair.world);
            kernel(&mut pair.world);
            let after = numbers(&mut pair.world);
            let change = before.iter().zip(&after).map(|(x, y)| bounded(*y) - bounded(*x));
            differences.push(change.collect());
        },
        |pair| story.look.iter().map(|expr| pair.world.number(expr)).collect(),
    );
    let n = repeats as f64;
    let means = (0..differences[0].len()).map(|k| {
        let mean = differences.iter().map(|row| row[k]).sum::<f64>() / n;
        let squares = differences.iter().map(|row| (row[k] - mean) * (row[k] - mean));
        pvalue::z(mean, 0.0, (squares.sum::<f64>() / (n - 1.0) / n).sqrt())
    });
    PValue::smallest_of(std::iter::once(law).chain(means).collect())
}

/// The exact-start test of an inference program.
fn program<'a>(story: &'a Story<'a>, text: &'a str) -> impl FnMut(usize, u64) -> PValue + 'a {
    move |repeats, seed| moved(story, repeats, seed, |world| world.infer(text))
}

fn walk(sd: f64) -> Box<dyn Proposer> {
    Box::new(Drift::new(Scale::Same(sd)))
}

/// The choice of a name.
fn choice(world: &mut World, name: &str) -> NodeId {
    let operand = world.model.trace_mut().global(Symbol::new(name)).expect("it was assumed");
    operand.node().expect("a node")
}

/// Moves of blocks by a kernel with one mistake.
fn twin(fault: Fault, blocks: &[&[&str]], sd: f64, moves: usize) -> impl FnMut(&mut World) {
    let blocks: Vec<Vec<String>> =
        blocks.iter().map(|block| block.iter().map(|name| (*name).to_owned()).collect()).collect();
    move |world| {
        let mut kernel = BySections::new(fault);
        for k in 0..moves {
            let block = blocks[k % blocks.len()].iter();
            let block: Vec<NodeId> = block.map(|name| choice(world, name)).collect();
            let World { model, rng, .. } = world;
            kernel.step(model.trace_mut(), &block, &mut *walk(sd), rng);
        }
        assert_eq!(kernel.moves, moves, "all by sections");
    }
}

/// The kernel passes, by walks and from the prior, and the twins are caught.
fn passes_and_catches(
    test: &str,
    story: &Story<'_>,
    kernels: &[&str],
    twins: &[(Fault, &[&[&str]], f64)],
) {
    for kernel in kernels {
        demand(test, REPEATS, program(story, kernel));
    }
    for (fault, blocks, sd) in twins {
        catches(test, &format!("{fault:?}"), REPEATS, |repeats, seed| {
            moved(story, repeats, seed, twin(*fault, blocks, *sd, 10))
        });
    }
}

const LOGISTIC: Story<'static> = Story {
    prior: "[assume w (multivariate_diag_normal (vector 0 0) (vector 1 2))]
            [assume y (lambda (x) (bernoulli (linear_logistic w (vector x))))]",
    data: &["(y -1)", "(y 0.5)", "(y 1)", "(y 2)", "(y 3)"],
    look: &["(lookup w 0)", "(lookup w 1)", "(* (lookup w 0) (lookup w 1))"],
};

#[test]
fn logistic_regression() {
    passes_and_catches(
        "exact start: logistic regression by sections",
        &LOGISTIC,
        &["(subsampled_mh default all 2 0 'drift 1 4)", "(subsampled_mh default one 2 0 3)"],
        &[(Fault::ForgetsTheGlobalPart, &[&["w"]], 1.5)],
    );
}

#[test]
fn mean_and_log_sd() {
    let story = Story {
        prior: "[assume m (scope_include 'p 0 (normal 0 1))]
                [assume s (scope_include 'p 0 (normal 0 0.7))] [assume sd (exp s)]",
        data: &["(normal m sd)", "(normal m sd)", "(normal (* 2 m) sd)", "(normal m sd)"],
        look: &["m", "s", "(abs m)", "(* m s)"],
    };
    passes_and_catches(
        "exact start: mean and log sd by sections",
        &story,
        &[
            "(subsampled_mh p 0 2 0 'drift 0.7 4)",
            "(subsampled_mh p all 2 0 3)",
            "(subsampled_mh default each 2 0 'drift 0.7 2)",
        ],
        &[
            (Fault::WrongDivisor, &[&["m", "s"]], 0.7),
            (Fault::LeavesOneSectionOut, &[&["m", "s"]], 0.7),
        ],
    );
}

/// The scale enters twice: two ways into every section.
#[test]
fn a_scale_that_enters_twice() {
    let story = Story {
        prior: "[assume s (normal 0 0.7)] [assume sd (exp s)]",
        data: &["(normal sd sd)", "(normal (* 2 sd) sd)", "(normal sd (+ 1 sd))"],
        look: &["s", "(abs s)"],
    };
    passes_and_catches(
        "exact start: mean and log sd by sections",
        &story,
        &["(subsampled_mh default one 2 0 'drift 1 4)"],
        &[(Fault::CountsEveryWay, &[&["s"]], 1.0)],
    );
}

#[test]
fn a_state_space_model() {
    let story = Story {
        prior: "[assume phi (scope_include 'phi 0 (beta 5 1))]
                [assume v (scope_include 'v 0 (inv_gamma 5 2))] [assume sigma (sqrt v)]
                [assume h (mem (lambda (t) (scope_include 'h t
                    (if (<= t 0) (normal 0 1) (normal (* phi (h (- t 1))) sigma)))))]
                [predict (h 4)]",
        data: &[
            "(normal 0 (exp (/ (h 1) 2)))",
            "(normal 0 (exp (/ (h 2) 2)))",
            "(normal 0 (exp (/ (h 3) 2)))",
            "(normal 0 (exp (/ (h 4) 2)))",
        ],
        look: &["phi", "(log v)", "(h 1)", "(h 4)", "(* phi (abs (h 2)))"],
    };
    passes_and_catches(
        "exact start: state space by sections",
        &story,
        &[
            "(cycle ((subsampled_mh phi 0 2 0 'drift 1 2) (subsampled_mh v 0 2 0 'drift 0.5 2)
                     (mh h one 3)) 2)",
            "(cycle ((subsampled_mh phi 0 2 0 1) (mh h each 1) (subsampled_mh v 0 2 0 1)) 2)",
        ],
        &[(Fault::ForgetsTheGlobalPart, &[&["phi"], &["v"]], 1.0)],
    );
}

/// Both parameters in one block, at a place of their own.
#[test]
fn a_state_space_model_jointly() {
    let story = Story {
        prior: "[assume phi (scope_include 'p 0 (beta 5 1))]
                [assume v (scope_include 'p 0 (inv_gamma 5 2))] [assume sigma (sqrt v)]
                [assume h0 (normal 0 1)] [assume h1 (normal (* phi h0) sigma)]
                [assume h2 (normal (* phi h1) sigma)] [assume h3 (normal (* phi h2) sigma)]",
        data: &["(normal 0 (exp (/ h1 2)))", "(normal 0 (exp (/ h2 2)))", "(normal h3 1)"],
        look: &["phi", "(log v)", "h1", "h3", "(* phi h2)"],
    };
    demand(
        "exact start: state space by sections",
        REPEATS,
        program(&story, "(cycle ((subsampled_mh p 0 2 0 'drift 0.7 3) (mh default one 3)) 2)"),
    );
}

const MIXTURE: Story<'static> = Story {
    prior: "[assume z (mem (lambda (i) (scope_include 'z i (uniform_discrete 0 2))))]
            [assume w (mem (lambda (k) (scope_include 'w k (normal 0 2))))]
            [assume y (lambda (i) (normal (w (z i)) 1))]
            [predict (w 0)] [predict (w 1)] [predict (z 4)]",
    data: &["(y 0)", "(y 1)", "(y 2)", "(y 3)"],
    look: &["(w 0)", "(w 1)", "(+ (z 0) (z 1) (z 2) (z 3))", "(w (z 2))", "(z 1)"],
};

#[test]
fn a_mixture_whose_members_move() {
    // What the data depend on is in the trace before they are drawn.
    let prior = format!(
        "{} [predict (z 0)] [predict (z 1)] [predict (z 2)] [predict (z 3)]",
        MIXTURE.prior
    );
    let story = Story { prior: &prior, ..MIXTURE };
    let test = "exact start: mixture by sections";
    for kernel in [
        "(cycle ((subsampled_mh w one 1 0 'drift 1 2) (mh z one 2)) 3)",
        "(cycle ((mh z each 1) (subsampled_mh w each 1 0 1)) 2)",
    ] {
        demand(test, REPEATS, program(&story, kernel));
    }
    catches(test, "leaves one section out", REPEATS, |repeats, seed| {
        moved(&story, repeats, seed, |world| {
            let mut kernel = BySections::new(Fault::LeavesOneSectionOut);
            for k in 0..10 {
                world.infer("(mh z one 2)");
                let World { model, rng, .. } = world;
                let id = Value::Number(f64::from(k % 2));
                let block = model.scopes().block(&Value::symbol("w"), &id).to_vec();
                kernel.step(model.trace_mut(), &block, &mut FromPrior, rng);
            }
        })
    });
}

#[test]
fn geweke() {
    let test = "geweke: by sections";
    let kernel = |world: &mut World| world.infer("(subsampled_mh default all 2 0 'drift 1.5 3)");
    demand(test, 1500, |n, seed| LOGISTIC.geweke(n, seed, kernel));
    catches(test, "forgets the global part", 500, |n, seed| {
        LOGISTIC.geweke(n, seed, twin(Fault::ForgetsTheGlobalPart, &[&["w"]], 1.5, 3))
    });
}

#[test]
fn calibration() {
    let test = "sbc: by sections";
    let kernel = |world: &mut World| world.infer("(subsampled_mh default all 2 0 'drift 1.5 6)");
    demand(test, 200, |n, seed| LOGISTIC.sbc(n, seed, 2, kernel));
    catches(test, "forgets the global part", 120, |n, seed| {
        LOGISTIC.sbc(n, seed, 2, twin(Fault::ForgetsTheGlobalPart, &[&["w"]], 2.0, 6))
    });
}
