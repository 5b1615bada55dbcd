//! Exact starts: kernels keep the joint law of parameters and data. One test for every kind of
//! support, each with a walk that lies about its Jacobian and has to be noticed.

use smidgen_engine::proposal::FromPrior;
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::twins::{LyingDrift, accept_always, no_jacobian, prefers_up, single_site};
use smidgen_testkit::{PValue, World, pvalue};
use smidgen_value::math;

/// The exact-start test of an inference program.
fn program<'a>(story: &'a Story<'a>, text: &'a str) -> impl FnMut(usize, u64) -> PValue + 'a {
    move |repeats, seed| story.test(repeats, seed, |world| world.infer(text))
}

/// Twelve moves of a walk that lies.
fn liar<'a>(
    story: &'a Story<'a>,
    lie: fn(f64, f64, f64) -> f64,
) -> impl FnMut(usize, u64) -> PValue + 'a {
    move |repeats, seed| {
        story.test(repeats, seed, |world| {
            let mut proposer = LyingDrift { scale: 1.0, lie };
            (0..12).for_each(|_| single_site(world, &mut proposer, true));
        })
    }
}

const REPEATS: usize = 1000;

/// A support: its walk passes, and the walk that lies is caught.
fn support(test: &str, story: &Story<'_>, twin: &str, lie: fn(f64, f64, f64) -> f64) {
    demand(test, REPEATS, program(story, "(mh default one 'drift 1 12)"));
    catches(test, twin, REPEATS, liar(story, lie));
}

#[test]
fn a_walk_on_the_reals() {
    let story = Story {
        prior: "[assume x (normal 1 2)]",
        data: &["(normal x 1)"],
        look: &["x", "(abs x)"],
    };
    support("exact start: real", &story, "claims that up is easier", prefers_up);
}

#[test]
fn a_walk_on_the_positive_reals() {
    let story = Story { prior: "[assume x (gamma 2 1)]", data: &["(poisson x)"], look: &["x"] };
    support("exact start: positive", &story, "no Jacobian", no_jacobian);
}

#[test]
fn a_walk_on_an_interval() {
    let story = Story {
        prior: "[assume p (beta 2 3)] [assume u (uniform_continuous -1 3)]",
        data: &["(binomial 4 p)", "(normal u 1)"],
        look: &["p", "u", "(abs (- p 0.5))", "(abs (- u 1))"],
    };
    support("exact start: interval", &story, "no Jacobian", no_jacobian);
}

#[test]
fn a_walk_below_a_bound_that_moves() {
    let story = Story {
        prior: "[assume top (normal 0 1)] [assume x (uniform_continuous (- top 2) top)]",
        data: &["(normal x 1)"],
        look: &["x", "top", "(- top x)", "(abs (- (- top x) 1))"],
    };
    support("exact start: bounded above", &story, "no Jacobian", no_jacobian);
}

#[test]
fn a_walk_on_the_simplex() {
    let story = Story {
        prior: "[assume p (dirichlet (vector 1 2 3))]",
        data: &["(categorical p)", "(categorical p)"],
        look: &["(lookup p 0)", "(lookup p 1)", "(lookup p 2)"],
    };
    support("exact start: simplex", &story, "no Jacobian", no_jacobian);
}

#[test]
fn a_walk_of_a_vector() {
    let story = Story {
        prior: "[assume x (multivariate_normal (vector 0 1) (matrix (list (list 2 0.5) (list 0.5 1))))]",
        data: &["(normal (+ (lookup x 0) (lookup x 1)) 1)"],
        look: &["(lookup x 0)", "(lookup x 1)", "(- (lookup x 0) (lookup x 1))"],
    };
    support("exact start: vector", &story, "claims that up is easier", prefers_up);
}

#[test]
fn a_walk_of_a_covariance() {
    let story = Story {
        prior: "[assume s (inv_wishart (id_matrix 2) 5)]",
        data: &["(normal 0 (sqrt (lookup (row s 0) 0)))"],
        look: &[
            "(log (lookup (row s 0) 0))",
            "(log (lookup (row s 1) 1))",
            "(/ (lookup (row s 0) 1) (sqrt (* (lookup (row s 0) 0) (lookup (row s 1) 1))))",
        ],
    };
    support("exact start: covariance", &story, "no Jacobian", no_jacobian);
}

#[test]
fn proposals_from_the_prior() {
    let story = Story {
        prior: "[assume m (normal 0 1)] [assume s (gamma 2 2)] [assume b (flip 0.3)]",
        data: &["(normal (if b m (- 0 m)) (+ s 0.1))", "(poisson s)"],
        look: &["m", "s", "b"],
    };
    let test = "exact start: prior proposals";
    demand(test, REPEATS, program(&story, "(mh default one 8)"));
    catches(test, "accepts always", REPEATS, |repeats, seed| {
        story.test(repeats, seed, |world| {
            (0..8).for_each(|_| accept_always(world, &mut FromPrior));
        })
    });
}

/// The worked example of theory 1.3, and more that comes and goes.
#[test]
fn moves_that_change_what_exists() {
    let story = Story {
        prior: "[assume b (flip 0.5)]
                [assume mu (if b 1 (gamma 1 1))]
                [assume geo (lambda () (if (flip 0.6) 0 (+ 1 (geo))))]
                [assume n (geo)]
                [assume x (mem (lambda (i) (normal 0 1)))]
                [assume sum (lambda (k) (if (< k 1) 0 (+ (x k) (sum (- k 1)))))]
                [assume total (sum n)]",
        data: &["(normal mu 0.5)", "(normal (+ n total) 1)"],
        look: &["b", "mu", "n", "total"],
    };
    let test = "exact start: changing structure";
    demand(test, REPEATS, program(&story, "(mh default one 12)"));
    catches(test, "forgets the number of blocks", 2 * REPEATS, |repeats, seed| {
        story.test(repeats, seed, |world| {
            (0..12).for_each(|_| single_site(world, &mut FromPrior, false));
        })
    });
}

#[test]
fn the_default_kernel() {
    let story = Story {
        prior: "[assume m (normal 0 1)] [assume s (gamma 2 2)] [assume k (make_crp s)]
                [assume mean (mem (lambda (z) (normal m 1)))]
                [assume a (k)] [assume b (k)]
                [predict (mean a)] [predict (mean b)]",
        data: &["(normal (mean a) 0.5)", "(normal (mean b) 0.5)"],
        look: &["m", "s", "(if (= a b) 1 0)", "(mean a)"],
    };
    let test = "exact start: default kernel";
    demand(test, REPEATS, program(&story, "3"));
    catches(test, "walks without a Jacobian", REPEATS, |repeats, seed| {
        story.test(repeats, seed, |world| {
            let mut proposer = LyingDrift { scale: 1.0, lie: no_jacobian };
            (0..15).for_each(|_| single_site(world, &mut proposer, true));
        })
    });
}

/// Collapsed and uncollapsed procedures with random parameters.
#[test]
fn made_procedures() {
    let story = Story {
        prior: "[assume a (gamma 2 1)]
                [assume f (make_beta_bernoulli a 1)]
                [assume g (make_uc_beta_bernoulli 1 a)]
                [assume h (make_nig_normal (normal 0 1) 1 2 a)]
                [assume x (f)] [assume y (g)] [assume z (h)]",
        data: &["(f)", "(g)", "(h)", "(normal z (if x 0.5 2))", "(flip (if y 0.9 0.2))"],
        look: &["a", "x", "y", "z"],
    };
    let test = "exact start: collapsed";
    let moves = "(mixture (1 (mh default one 1) 2 (mh default all 1)) 20)";
    demand(test, REPEATS, program(&story, moves));
    catches(test, "accepts always", REPEATS, |repeats, seed| {
        story.test(repeats, seed, |world| {
            (0..10).for_each(|_| accept_always(world, &mut FromPrior));
        })
    });
}

/// A procedure with a latent parameter moves together with its own applications.
#[test]
fn made_procedures_with_their_applications() {
    let story = Story {
        prior: "[assume g (make_uc_beta_bernoulli 1 1)]
                [assume x (g)] [assume y (g)] [assume z (g)]",
        data: &["(g)"],
        look: &["x", "(+ x (+ y z))", "(if (= x y) 1 0)"],
    };
    let test = "exact start: latent and its applications";
    demand(test, 4 * REPEATS, program(&story, "(mh default all 2)"));
    catches(test, "accepts always", 4 * REPEATS, |repeats, seed| {
        story.test(repeats, seed, |world| {
            (0..4).for_each(|_| accept_always(world, &mut FromPrior));
        })
    });
}

#[test]
fn cycles_mixtures_and_blocks() {
    let story = Story {
        prior: "[assume m (scope_include 'm 0 (normal 0 1))]
                [assume x (mem (lambda (i) (scope_include 'x i (normal m 1))))]
                [assume s (scope_include 's 0 (gamma 2 1))]
                [predict (x 1)] [predict (x 2)] [predict (x 3)]",
        data: &["(normal (x 1) s)", "(normal (x 2) s)", "(normal (x 3) s)"],
        look: &["m", "s", "(x 1)", "(x 3)"],
    };
    let test = "exact start: mixture of kernels";
    demand(test, REPEATS, program(
        &story,
        "(cycle ((mh m 0 'drift 0.5 1)
                 (mixture (2 (mh x one 'drift 1 1) 1 (mh x (ordered_range 1 2) 1) 1 (mh x all 'drift 0.2 1)) 2)
                 (repeat 2 (mh s 0 'drift 0.4 1))
                 (mh x each 1)) 3)",
    ));
    catches(test, "a walk of s without a Jacobian", 2 * REPEATS, |repeats, seed| {
        story.test(repeats, seed, |world| {
            world.infer("(mh x each 1)");
            let mut proposer = LyingDrift { scale: 1.0, lie: no_jacobian };
            (0..30).for_each(|_| single_site(world, &mut proposer, true));
        })
    });
}

/// From the exact posterior of a conjugate model: a gamma prior and three counts.
#[test]
fn a_conjugate_posterior_stays() {
    let look = |kernel: &mut dyn FnMut(&mut World), repeats: usize, seed: u64| {
        let text = "[assume r (gamma 5 4)]";
        // r | 1, 2, 0 with prior gamma(2, 1) is gamma(5, 4): draw it as a prior, then condition
        // the model that has it as posterior.
        let draws: Vec<f64> = (0..repeats as u64)
            .map(|k| {
                let r = World::new(text, seed.wrapping_add(k)).number("r");
                let mut world = World::new(
                    "[assume r (gamma 2 1)] [observe (poisson r) 1] [observe (poisson r) 2] [observe (poisson r) 0]",
                    !seed.wrapping_add(k),
                );
                world.execute(&format!("[force r {r:?}]")).unwrap();
                kernel(&mut world);
                world.number("r")
            })
            .collect();
        pvalue::ks(&draws, |r| math::gamma_p(5.0, 4.0 * r))
    };
    demand("conjugate posterior", 1000, |repeats, seed| {
        look(&mut |world| world.infer("(mh default one 'drift 0.5 5)"), repeats, seed)
    });
    catches("conjugate posterior", "no Jacobian", 1000, |repeats, seed| {
        let mut twin = |world: &mut World| {
            let mut proposer = LyingDrift { scale: 0.5, lie: no_jacobian };
            (0..5).for_each(|_| single_site(world, &mut proposer, true));
        };
        look(&mut twin, repeats, seed)
    });
}
