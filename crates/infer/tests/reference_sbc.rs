//! Simulation-based calibration of `reference_mh` by the thinned test, for five families: parameters and data are drawn, the kernel draws
//! from the posterior, and the rank of the parameter among its draws is uniform.

use smidgen_infer::run::Phase;
use smidgen_testkit::World;
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;

/// Simulated data sets.
const REPEATS: usize = 200;
/// Moves from one draw to the next, and rows.
const MOVES: &str = "(reference_mh default all 'test 'thinned 10)";
const ROWS: usize = 14;

struct Model {
    name: &'static str,
    prior: &'static str,
    /// Of a row, with X for its covariate.
    row: &'static str,
    look: &'static [&'static str],
}

const MODELS: [Model; 5] = [
    Model {
        name: "sbc: reference_mh, logistic",
        prior: "[assume a (normal -1.5 1)] [assume b (normal 0 1)]",
        row: "(flip (logistic (+ a (* b X))))",
        look: &["(+ a (* 0.5 b))"],
    },
    Model {
        name: "sbc: reference_mh, poisson",
        prior: "[assume a (normal 0 0.7)] [assume b (normal 0 0.5)]",
        row: "(poisson (exp (+ a (* b X))))",
        look: &["a"],
    },
    Model {
        name: "sbc: reference_mh, normal",
        prior: "[assume a (normal 0 1)] [assume b (normal 0 1)] [assume s (normal 0 0.5)]",
        row: "(normal (+ a (* b X)) (exp s))",
        look: &["s"],
    },
    Model {
        name: "sbc: reference_mh, student_t",
        prior: "[assume a (normal 0 1)] [assume b (normal 0 1)] [assume s (gamma 4 4)]",
        row: "(student_t 4 (+ a (* b X)) s)",
        look: &["s"],
    },
    Model {
        name: "sbc: reference_mh, negative binomial",
        prior: "[assume a (normal 0 0.7)] [assume b (normal 0 0.5)] [assume r (gamma 4 2)]",
        row: "(negative_binomial r (logistic (- (log r) (+ a (* b X)))))",
        look: &["r"],
    },
];

/// A chain of its own in every world, begun as in a warm-up.
fn chains() -> impl FnMut(&mut World) {
    let mut program = None;
    move |world| {
        if world.run.kernels.is_empty() || program.is_none() {
            world.run.phase = Phase::Warmup;
            program = Some(world.program(MOVES));
        }
        program.iter_mut().for_each(|program| world.step(program));
    }
}

impl Model {
    fn rows(&self) -> Vec<String> {
        let x = |k: usize| 3.0 * k as f64 / (ROWS - 1) as f64 - 1.5;
        (0..ROWS).map(|k| self.row.replace('X', &format!("{:.3}", x(k)))).collect()
    }
}

#[test]
fn ranks_are_uniform() {
    for model in &MODELS {
        let rows = model.rows();
        let data: Vec<&str> = rows.iter().map(String::as_str).collect();
        let story = Story { prior: model.prior, data: &data, look: model.look };
        demand(model.name, REPEATS, |n, seed| story.sbc(n, seed, 1, chains()));
    }
}

#[test]
fn draws_that_are_none_of_the_posterior_are_noticed() {
    let model = &MODELS[2];
    let rows = model.rows();
    let data: Vec<&str> = rows.iter().map(String::as_str).collect();
    let story = Story { prior: model.prior, data: &data, look: model.look };
    catches(model.name, "chains that have hardly left the prior", REPEATS, |n, seed| {
        story.sbc(n, seed, 1, |world| world.infer("(mh default one 1)"))
    });
}
