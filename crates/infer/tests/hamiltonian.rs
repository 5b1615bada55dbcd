//! Hamiltonian kernels, the climb to a maximum and the default kernel: exact starts, Geweke's test,
//! and known posteriors after a warm-up. Twins: trajectories that are always accepted, densities
//! without the Jacobian of their transform.

use smidgen_engine::NodeId;
use smidgen_engine::smooth::Form;
use smidgen_infer::Kernel;
use smidgen_infer::hamiltonian::Smoothed;
use smidgen_infer::hamiltonian::metric::Metric;
use smidgen_infer::hamiltonian::trajectory::Sampler;
use smidgen_infer::kernel::default;
use smidgen_infer::proposer::standard_normal;
use smidgen_infer::run::{Log, Phase};
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::{PValue, World, pvalue};

const REPEATS: usize = 1000;

/// Every transform, a support that depends on another choice, and many rows.
const TRANSFORMS: Story<'static> = Story {
    prior: "[assume s (gamma 2 3)] [assume a (uniform_continuous 0 1)]
            [assume b (uniform_continuous 0 (- 1 a))] [assume p (dirichlet (vector 1 2 3))]
            [assume x (multivariate_normal (vector 0 1) (matrix (list (list 1 0.5) (list 0.5 2))))]
            [assume t (truncated_normal 0 1 -1 0.5)]",
    data: &[
        "(normal (+ a (lookup x 0)) s)",
        "(normal (- b (lookup x 1)) s)",
        "(categorical p)",
        "(bernoulli (logistic (* t (lookup x 0))))",
    ],
    look: &["s", "a", "b", "(lookup p 0)", "(lookup x 0)", "(lookup x 1)", "t"],
};

const HIERARCHY: Story<'static> = Story {
    prior: "[assume m (normal 0 1)] [assume v (lognormal 0 0.5)]
            [assume e (mem (lambda (i) (normal m v)))]
            [predict (e 0)] [predict (e 1)] [predict (e 2)]",
    data: &["(normal (e 0) 0.3)", "(normal (e 1) 3)", "(normal (e 2) 1)"],
    look: &["m", "v", "(e 0)", "(e 1)", "(e 2)"],
};

/// Vectors whose arguments move with them.
const VECTORS: Story<'static> = Story {
    prior: "[assume m (normal 0 1)] [assume s (lognormal -0.5 0.5)] [assume c (beta 3 2)]
            [assume e (multivariate_diag_normal (vector m 0.5) (vector s 1))]
            [assume h (ar 2 (vector c) s m)]
            [assume f (multivariate_normal (vector 0 m) (matrix (list (list 1 (* 0.9 c)) (list (* 0.9 c) 1))))]",
    data: &[
        "(normal (lookup e 0) 0.3)",
        "(normal (+ (lookup h 1) (lookup f 0)) 1)",
        "(normal (lookup f 1) 0.5)",
    ],
    look: &["m", "s", "c", "(lookup e 0)", "(lookup h 0)", "(lookup h 1)", "(lookup f 0)", "(lookup f 1)"],
};

fn by<'a>(story: &'a Story<'a>, kernel: &'a str) -> impl FnMut(usize, u64) -> PValue + 'a {
    move |repeats, seed| story.test(repeats, seed, |world| world.infer(kernel))
}

fn choices(world: &mut World) -> Vec<NodeId> {
    world.model.trace_mut().choices().to_vec()
}

fn smoothed(world: &mut World, form: Form) -> Smoothed {
    let block = choices(world);
    Smoothed::new(world.model.trace_mut(), &block[..], form, "test").unwrap()
}

/// Leapfrog steps from fresh momentum, accepted whatever the energy.
fn always_accepted(world: &mut World) {
    let smoothed = smoothed(world, Form::Plain);
    // Once thrown far out it has no gradient to go on with.
    let Ok(mut point) = smoothed.start(world.model.trace_mut(), "test") else { return };
    let mut p: Vec<f64> = point.z.iter().map(|_| standard_normal(&mut world.rng)).collect();
    let h = 0.9;
    for _ in 0..3 {
        p.iter_mut().zip(&point.gradient).for_each(|(p, g)| *p += 0.5 * h * g);
        point.z.iter_mut().zip(&p).for_each(|(z, p)| *z += h * p);
        point.log_p = smoothed.density().log_density(&point.z, &mut point.gradient);
        p.iter_mut().zip(&point.gradient).for_each(|(p, g)| *p += 0.5 * h * g);
    }
    if point.log_p > f64::NEG_INFINITY {
        smoothed.density().install(world.model.trace_mut(), &point.z, &mut world.rng).unwrap();
    }
}

/// One no-U-turn transition, with or without the Jacobian.
fn one_step(world: &mut World, form: Form, jacobian: bool) {
    let smoothed = smoothed(world, form);
    if !jacobian {
        smoothed.density().leave_out_jacobian();
    }
    let mut at = match smoothed.start(world.model.trace_mut(), "test") {
        Ok(at) => at,
        // The twin runs off to where there is no gradient to go on with.
        Err(_) if !jacobian => return,
        Err(error) => panic!("{error}"),
    };
    let (mut sampler, metric) = (Sampler::new(at.z.len()), Metric::unit(at.z.len()));
    let mut density = smoothed.density();
    let log_density = &mut |z: &[f64], gradient: &mut [f64]| density.log_density(z, gradient);
    sampler.transition(log_density, &metric, 0.4, 6, &mut at, &mut world.rng);
    density.install(world.model.trace_mut(), &at.z, &mut world.rng).unwrap();
}

fn stepwise<'a>(
    story: &'a Story<'a>,
    form: Form,
    jacobian: bool,
) -> impl FnMut(usize, u64) -> PValue + 'a {
    move |repeats, seed| {
        story.test(repeats, seed, |world| (0..3).for_each(|_| one_step(world, form, jacobian)))
    }
}

#[test]
fn hmc_keeps_the_posterior() {
    let test = "exact start: hmc";
    demand(test, REPEATS, by(&TRANSFORMS, "(hmc default all 0.25 4 4)"));
    catches(test, "always accepted", REPEATS, |repeats, seed| {
        TRANSFORMS.test(repeats, seed, |world| (0..3).for_each(|_| always_accepted(world)))
    });
}

#[test]
fn nuts_keeps_the_posterior() {
    let test = "exact start: nuts";
    demand(test, REPEATS, by(&TRANSFORMS, "(nuts default all 'step 0.4 3)"));
    catches(test, "no Jacobian", REPEATS, stepwise(&TRANSFORMS, Form::Plain, false));
}

#[test]
fn nuts_keeps_hierarchies() {
    let test = "exact start: nuts, hierarchy";
    demand(test, REPEATS, by(&HIERARCHY, "(nuts default all 'step 0.4 3)"));
    catches(test, "no Jacobian", REPEATS, stepwise(&HIERARCHY, Form::Plain, false));
}

#[test]
fn standardised_coordinates_keep_hierarchies() {
    let test = "exact start: nuts, standardised";
    demand(test, REPEATS, stepwise(&HIERARCHY, Form::Standardised, true));
    catches(test, "no Jacobian", REPEATS, stepwise(&HIERARCHY, Form::Standardised, false));
}

#[test]
fn standardised_coordinates_keep_vectors() {
    let test = "exact start: nuts, standardised vectors";
    demand(test, REPEATS, stepwise(&VECTORS, Form::Standardised, true));
    catches(test, "no Jacobian", REPEATS, stepwise(&VECTORS, Form::Standardised, false));
}

#[test]
fn nuts_in_a_cycle_with_sections() {
    let story = Story {
        prior: "[assume m (scope_include 'm 0 (normal 0 1))] [assume s (scope_include 's 0 (gamma 2 2))]
                [assume f (lambda () (normal m (+ 0.2 s)))]",
        data: &["(f)", "(f)", "(f)", "(f)", "(f)", "(f)", "(f)", "(f)"],
        look: &["m", "s"],
    };
    let test = "exact start: nuts with subsampled_mh";
    let kernel =
        "(cycle ((nuts s 0 'step 0.5 1) (subsampled_mh m 0 4 0 'drift 0.5 1) (hmc s 0 0.3 3 1)) 2)";
    demand(test, REPEATS, by(&story, kernel));
    catches(test, "no Jacobian", 5 * REPEATS, stepwise(&story, Form::Plain, false));
}

fn sweeps(world: &mut World, kernel: &mut dyn Kernel, n: usize) {
    for _ in 0..n {
        let World { model, rng, run, .. } = world;
        let mut log = Log::open(run, 0);
        kernel.transition(model.trace_mut(), rng, &mut log).unwrap();
    }
}

/// Everything at once: a joint block, finite choices, tables, a branch, a count, an order.
#[test]
fn the_default_kernel_keeps_the_posterior() {
    let story = Story {
        prior: "[assume m (normal 0 1)] [assume v (lognormal 0 0.5)]
                [assume e (mem (lambda (i) (normal m v)))]
                [assume k (poisson 2)]
                [assume g (if (flip 0.4) (normal 1 1) k)]
                [assume crp (make_crp (gamma 2 2))]
                [assume z (mem (lambda (i) (crp)))]
                [assume c (mem (lambda (t) (normal 0 2)))]
                [predict (c (z 0))] [predict (c (z 1))] [predict (e 0)] [predict (e 1)]",
        data: &[
            "(normal (e 0) 0.5)",
            "(normal (+ (e 1) g) 1)",
            "(normal (c (z 0)) 0.5)",
            "(normal (c (z 1)) 0.5)",
        ],
        look: &["m", "v", "(e 0)", "(e 1)", "k", "g", "(if (= (z 0) (z 1)) 1 0)", "(c (z 0))"],
    };
    let test = "exact start: default kernel, jointly";
    demand(test, REPEATS, |repeats, seed| {
        story.test(repeats, seed, |world| {
            sweeps(world, &mut default::AutoKernel::with_step(0.4).moving_idle(), 2);
        })
    });
    catches(test, "m drawn to 0", REPEATS, |repeats, seed| {
        story.test(repeats, seed, |world| {
            sweeps(world, &mut default::AutoKernel::with_step(0.4).moving_idle(), 1);
            let m = world.number("m");
            world.execute(&format!("[force m {}]", 0.5 * m)).unwrap();
        })
    });
}

#[test]
fn geweke_of_nuts() {
    let story = Story {
        prior: "[assume m (normal 0 1)] [assume s (gamma 3 2)]",
        data: &["(normal m s)", "(normal m s)"],
        look: &["m", "s"],
    };
    let test = "geweke: nuts";
    demand(test, 5000, |draws, seed| {
        story.geweke(draws, seed, |world| world.infer("(nuts default all 'step 0.6 1)"))
    });
    catches(test, "no Jacobian", 5000, |draws, seed| {
        story.geweke(draws, seed, |world| one_step(world, Form::Plain, false))
    });
}

/// The p-value of z-tests of the means and second moments of numbers after a warm-up.
fn after_warm_up(
    text: &str,
    kernel: &str,
    (draws, seed): (usize, u64),
    known: &[(&str, f64, f64)],
) -> PValue {
    const CHAINS: usize = 40;
    let mut means: Vec<Vec<f64>> = vec![Vec::new(); 2 * known.len()];
    for chain in 0..CHAINS {
        let mut world = World::new(text, seed.wrapping_mul(1000) + chain as u64);
        let mut program = world.program(kernel);
        world.run.phase = Phase::Warmup;
        world.run.planned = program.transitions().iter().map(|n| n.map(|n| 150 * n)).collect();
        (0..150).for_each(|_| world.step(&mut program));
        world.run.begin_draws();
        let mut sums = vec![0.0; 2 * known.len()];
        for _ in 0..draws {
            world.step(&mut program);
            for (k, (name, mean, _)) in known.iter().enumerate() {
                let x = world.number(name);
                sums[2 * k] += x;
                sums[2 * k + 1] += (x - mean) * (x - mean);
            }
        }
        means.iter_mut().zip(&sums).for_each(|(m, s)| m.push(s / draws as f64));
    }
    let tests = means.iter().enumerate().map(|(k, xs)| {
        let (_, mean, variance) = known[k / 2];
        let want = if k % 2 == 0 { mean } else { variance };
        let n = xs.len() as f64;
        let found = xs.iter().sum::<f64>() / n;
        let spread = xs.iter().map(|x| (x - found) * (x - found)).sum::<f64>() / (n - 1.0);
        pvalue::z(found, want, (spread / n).sqrt())
    });
    PValue::smallest_of(tests.collect())
}

/// m | y has precision 1 + 2/0.25 and s its own scale: strongly correlated coordinates.
const CORRELATED: &str =
    "[assume a (normal 0 1)] [assume b (normal a 0.1)] [observe (normal (+ a b) 0.5) 3]";

/// Mean and variance of a given 3 = a + b + noise: a ~ N(0, 1), b = a + 0.1 u.
fn posterior_of_a() -> (f64, f64) {
    // 3 | a ~ N(2a, 0.01 + 0.25)
    let precision = 1.0 + 4.0 / 0.26;
    ((2.0 * 3.0 / 0.26) / precision, 1.0 / precision)
}

#[test]
fn what_the_warm_up_learnt_draws_right() {
    let (mean, variance) = posterior_of_a();
    let known = [("a", mean, variance)];
    let test = "nuts after a warm-up";
    demand(test, 100, |draws, seed| {
        after_warm_up(CORRELATED, "(nuts default all 1)", (draws, seed), &known)
    });
    let wrong = [("a", mean, 1.3 * variance)];
    catches(test, "another variance", 100, |draws, seed| {
        after_warm_up(CORRELATED, "(nuts default all 1)", (draws, seed), &wrong)
    });
    // In a cycle each transition starts anew.
    let test = "nuts after a warm-up in a cycle";
    let cycle = "(cycle ((nuts default all 1) (mh default one 'drift 0.1 1)) 1)";
    demand(test, 100, |draws, seed| after_warm_up(CORRELATED, cycle, (draws, seed), &known));
    catches(test, "another mean", 100, |draws, seed| {
        let wrong = [("a", mean + 0.1, variance)];
        after_warm_up(CORRELATED, cycle, (draws, seed), &wrong)
    });
}

/// A wide prior does not decide where a warm-up begins; `force` does.
#[test]
fn a_warm_up_begins_where_it_is_likely() {
    let text = "[assume a (normal 0 1000)] [assume s (lognormal 0 30)] [assume b (normal 0 1000)]
                [force b 700] [observe (normal a s) 0.5] [observe (normal b 1000) 0]";
    let mut moves = 0;
    for seed in 0..20 {
        let mut world = World::new(text, seed);
        let smoothed = smoothed(&mut world, Form::Plain);
        let before = smoothed.start(world.model.trace_mut(), "test").unwrap();
        let after = smoothed.begin(world.model.trace_mut(), &mut world.rng).unwrap().unwrap();
        assert!(after.log_p >= before.log_p);
        assert_eq!(world.number("b"), 700.0);
        let (a, s) = (world.number("a"), world.number("s"));
        let moved = after.z != before.z;
        moves += usize::from(moved);
        assert!(!moved || (a.abs() <= 2.0 && (0.1..8.0).contains(&s)), "{a} {s}");
    }
    assert!(moves > 5, "{moves} of 20");
}

#[test]
fn the_same_seed_gives_the_same_draws() {
    let run = |kernel: &str| {
        let mut world = World::new(HIERARCHY.prior, 3);
        world.execute("[observe (normal (e 0) 0.3) 1] [observe (normal (e 1) 1) 2]").unwrap();
        let mut program = world.program(kernel);
        world.run.phase = Phase::Warmup;
        world.run.planned = program.transitions().iter().map(|n| n.map(|n| 50 * n)).collect();
        (0..50).for_each(|_| world.step(&mut program));
        world.run.begin_draws();
        (0..20).for_each(|_| world.step(&mut program));
        (world.number("m"), world.number("v"), world.number("(e 2)"))
    };
    for kernel in
        ["(nuts default all 1)", "1", "(cycle ((nuts default all 1) (mh default one 1)) 1)"]
    {
        assert_eq!(run(kernel), run(kernel), "{kernel}");
    }
}

#[test]
fn the_climb_ends_at_the_maximum() {
    let mut world = World::new(
        "[assume a (normal 0 1)] [assume b (normal a 0.1)] [observe (normal (+ a b) 0.5) 3]
         [assume s (gamma 3 2)] [assume p (beta 3 5)] [assume f (flat)] [observe (normal f 2) 7]",
        5,
    );
    world.infer("(map default all 4)");
    // The modes of the gamma and the beta densities themselves, not those of their logarithms.
    let want = [("s", 1.0), ("p", 2.0 / 6.0), ("f", 7.0)];
    for (name, mode) in want {
        assert!((world.number(name) - mode).abs() < 1e-5, "{name} {}", world.number(name));
    }
    let (a, b) = (world.number("a"), world.number("b"));
    // Gradients of the joint density vanish.
    let residual = (3.0 - a - b) / 0.25;
    assert!((-a + (b - a) / 0.01 + residual).abs() < 1e-4);
    assert!((-(b - a) / 0.01 + residual).abs() < 1e-4);
}

/// A density without a maximum ends the climb, and a plan whose obstacle is nobody's fault is made.
#[test]
fn nothing_goes_on_for_ever() {
    let mut world = World::new("[assume x (beta 0.5 0.5)]", 1);
    world.infer("(map default all 3)");
    let mut world = World::new(
        "[assume walk (mem (lambda (t) (if (< t 1) (normal 0 1) (normal (walk (- t 1)) 0.5))))]
         [assume g (walk (poisson 0.7))] [observe (if (walk 2) g 3) -1]",
        3,
    );
    // It may fail, for what it has to do is refused; it must end.
    drop(world.execute("[infer 3]"));
}

#[test]
fn a_hard_constraint_is_never_left() {
    let text = "[assume a (normal 0 1)] [assume b (normal 0 1)] [force a -1] [force b 1]
                [observe (bernoulli (if (< a b) 1 0)) true]";
    let mut world = World::new(text, 1);
    let (mut sum, n) = (0.0, 20_000);
    let mut program = world.program("(nuts default all 'step 0.5 1)");
    for _ in 0..n {
        world.step(&mut program);
        let (a, b) = (world.number("a"), world.number("b"));
        assert!(a < b);
        sum += b - a;
    }
    // E[b − a | b > a] = 2/√π
    let want = 2.0 / std::f64::consts::PI.sqrt();
    assert!((sum / f64::from(n) - want).abs() < 0.08, "{}", sum / f64::from(n));
}

#[test]
fn what_cannot_be_moved_is_told() {
    let error = |text: &str, kernel: &str| {
        let mut world = World::new(text, 1);
        world.execute(&format!("[infer {kernel}]")).unwrap_err()
    };
    for kernel in ["(nuts default all 1)", "(hmc default all 0.1 3 1)", "(map default all 1)"] {
        let found = error("[assume n (poisson 3)]", kernel);
        assert!(found.contains("not continuous") && found.contains("gradient"), "{found}");
        let found = error("[assume a (normal 0 1)] [assume b (if (< a 0) (normal 0 1) 2)]", kernel);
        assert!(found.contains("exist"), "{found}");
    }
    for kernel in
        ["(hmc default all 0 3 1)", "(hmc default all 0.1 0 1)", "(nuts default all 'accept 2 1)"]
    {
        assert!(error("[assume a (normal 0 1)]", kernel).contains("expected"));
    }
}
