//! Compiled densities against the trace: the same log density up to a constant and the Jacobian of
//! the transform, and gradients against finite differences.

use smidgen_engine::NodeId;
use smidgen_engine::check::check;
use smidgen_engine::smooth::{Density, Form, Validity};
use smidgen_testkit::World;
use smidgen_value::{Rng, Value, math};

/// Programs whose unconstrained continuous choices all have gradients.
const PROGRAMS: &[&str] = &[
    "[assume a (normal 10 1)] [observe (normal a 1) 14]",
    // transforms
    "[assume s (gamma 2 3)] [assume b (beta 2 3)] [assume u (uniform_continuous -1 4)]
     [observe (normal (* b u) s) 0.7]",
    "[assume a (uniform_continuous 0 1)] [assume b (uniform_continuous 0 (- 1 a))]
     [observe (normal (+ a b) 0.5) 0.8]",
    "[assume t (truncated_normal 0 1 -0.5 2)] [assume v (vonmises 0 2)] [observe (normal (+ t v) 1) 1]",
    "[assume p (dirichlet (vector 1 2 3))] [observe (categorical p) 1] [observe (categorical p) 2]
     [observe (normal (lookup p 0) 0.3) 0.4]",
    "[assume w (wishart (matrix (list (list 1 0.2) (list 0.2 2))) 5)]
     [observe (multivariate_normal (vector 0 1) w) (vector 0.3 -0.4)]",
    "[assume f (flat)] [assume g (flat_pos)] [observe (normal f g) 1] [observe (normal f g) 3]",
    // many rows of one shape, groups, latent rows
    "[assume w (multivariate_normal (vector 0 0 0) (id_matrix 3))]
     [assume y (lambda (x) (bernoulli (linear_logistic w x)))]
     [observe (y (vector 1 2)) 1] [observe (y (vector -1 0.5)) 0] [observe (y (vector 30 -2)) 0]",
    "[assume mu (normal 0 5)] [assume tau (half_cauchy 5)]
     [assume theta (mem (lambda (j) (normal mu tau)))]
     [observe (normal (theta 0) 15) 28] [observe (normal (theta 1) 10) 8]
     [observe (normal (theta 2) 16) -3] [observe (normal (theta 0) 9) 18]",
    "[assume phi (beta 5 1)] [assume sig (inv_gamma 5 0.05)]
     [assume h (mem (lambda (t) (if (= t 0) (normal 0 sig) (normal (* phi (h (- t 1))) sig))))]
     [observe (normal 0 (exp (/ (h 1) 2))) 0.3] [observe (normal 0 (exp (/ (h 2) 2))) -0.8]
     [observe (normal 0 (exp (/ (h 3) 2))) 0.1]",
    // vectors that hang on the block
    "[assume mu (normal 0 2)] [assume tau (half_normal 2)] [assume v (multivariate_diag_normal (fill 6 mu) (fill 6 tau))]
     [observe (normal (lookup v 0) 1) 2] [observe (normal (lookup v 5) 1) -1] [observe (normal (lookup v 1) 2) 1]",
    "[assume sd (gamma 2 2)] [assume from (normal 1 1)] [assume w (random_walk 5 sd from)]
     [observe (poisson (exp (lookup w 1))) 1] [observe (poisson (exp (lookup w 4))) 3]",
    "[assume phi (beta 5 2)] [assume sd (gamma 2 2)] [assume level (normal 0 1)]
     [assume h (ar 5 (vector phi -0.2) sd level)]
     [observe (normal 0 (exp (lookup h 0))) 0.1] [observe (normal 0 (exp (lookup h 3))) 2]",
    "[assume l (gamma 4 2)] [assume s (half_normal 1)] [assume m (normal 0 1)]
     [assume f (multivariate_normal (fill 4 m) (matrix_add (cov_exp_quad (linspace 0 3 4) s l) (scale_matrix 0.01 (id_matrix 4))))]
     [observe (normal (lookup f 0) 0.5) 0.3] [observe (normal (lookup f 3) 0.5) 1.1]",
    "[assume c (normal 0 1)] [assume s (half_normal 2)]
     [assume f (multivariate_normal_cholesky (vector c 1) (matrix (list (list s 0) (list c 0.7))))]
     [observe (normal (lookup f 0) 0.5) 1] [observe (normal (lookup f 1) 0.5) -1]",
    "[assume sd (gamma 2 2)] [assume w (random_walk 34 sd)] [observe (normal (lookup w 11) 1) 1] [observe (normal (lookup w 33) 1) 2]",
    // a recursion through deterministic values
    "[assume th (normal 0 1)] [assume s (half_normal 1)]
     [assume e (mem (lambda (t) (if (= t 0) 0.5 (- (* 0.1 t) (* th (e (- t 1)))))))]
     [observe (normal (e 1) s) 0.2] [observe (normal (e 2) s) 0.1] [observe (normal (e 5) s) -0.2]",
    // mixtures with states given
    "[assume p (beta 5 5)] [assume m1 (normal 0 2)] [assume m2 (normal 3 2)]
     [assume z (mem (lambda (i) (categorical (array p (- 1 p)))))]
     [assume x (lambda (i) (normal (lookup (array m1 m2) (z i)) 1))]
     [observe (x 0) 1] [observe (x 1) 2] [observe (x 2) -1]",
    "[assume t1 (dirichlet (array 1 1))] [assume t2 (dirichlet (array 2 1))]
     [assume trans (array t1 t2)]
     [assume z (mem (lambda (i) (if (= i 0) (categorical (array 0.5 0.5)) (categorical (lookup trans (z (- i 1)))))))]
     [observe (normal (z 3) 1) 1] [observe (normal (z 1) 1) 0]",
    // matrices
    "[assume rho (gamma 25 4)] [assume alpha (half_normal 2)] [assume sigma (half_normal 1)]
     [assume cov (build_matrix 3 3 (lambda (i j) (+ (* (square alpha) (exp (/ (square (- i j)) (* -2 (square rho)))))
                                                   (if (= i j) sigma 0))))]
     [observe (multivariate_normal (zeros 3) cov) (vector 0.5 -0.1 1)]",
    "[assume a (half_normal 2)] [assume f (multivariate_normal (zeros 2) (id_matrix 2))]
     [assume l (cholesky (matrix (list (list (+ 1 a) 0.3) (list 0.3 2))))]
     [assume g (matrix_times_vector l f)]
     [observe (poisson (exp (lookup g 0))) 3] [observe (poisson (exp (lookup g 1))) 0]",
    // containers and vector arithmetic
    "[assume a (normal 0 1)] [assume v (vector a (* 2 a) 1)]
     [observe (normal (sum (* v 3)) 1) 2] [observe (normal (dot v (vector 1 2 3)) 1) 2]
     [observe (normal (max a (first (reverse (list 1 a)))) (exp (min a 0))) 2]
     [observe (normal (logsumexp v) (sqrt (+ 1 (square a)))) 2]",
    "[assume x (map (lambda (i) (normal i 1)) (list 0 1 2))] [observe (normal (mean x) 1) 3]",
    // other families
    "[assume r (lognormal 0 1)] [assume k (weibull 2 1)] [assume c (cauchy 0 1)] [assume l (laplace 0 1)]
     [assume q (logistic_dist 0 1)] [assume t (student_t 4 0 2)] [assume e (expon 2)] [assume x (chi_squared 3)]
     [assume ht (half_student_t 3 1)]
     [observe (gamma r k) 0.7] [observe (normal (+ c l q t) (+ e x ht)) 1]
     [observe (negative_binomial (+ 1 r) (logistic c)) 2] [observe (binomial 7 (logistic l)) 3]
     [observe (geometric (logistic q)) 1] [observe (student_t (+ 1 r) c k) 0.3] [observe (beta r k) 0.4]",
    // hard constraints
    "[assume a (normal 0 1)] [assume b (normal 3 1)] [force a 0] [force b 3]
     [observe (bernoulli (if (and (< -5 a) (< a b)) 1 0)) true] [observe (normal (+ a b) 1) 2]",
    "[assume a (normal 0 1)] [force a 2] [observe (flip (or (< a -1) (> a 1))) true]",
];

fn both_forms() -> impl Iterator<Item = (&'static str, Form)> {
    PROGRAMS.iter().flat_map(|text| [(*text, Form::Plain), (*text, Form::Standardised)])
}

#[test]
fn hierarchies_are_standardised() {
    let standardised =
        |text: &str| compiled(&mut World::new(text, 1), text, Form::Standardised).is_standardised();
    assert_eq!(PROGRAMS.iter().filter(|text| standardised(text)).count(), 8);
}

fn continuous(world: &mut World) -> Vec<NodeId> {
    let trace = world.model.trace_mut();
    let discrete = ["categorical", "bernoulli", "flip"];
    let choices = trace.choices().to_vec();
    choices.into_iter().filter(|id| !discrete.contains(&trace.origin(*id).0)).collect()
}

fn compiled(world: &mut World, text: &str, form: Form) -> Density {
    let choices = continuous(world);
    match Density::compile(world.model.trace_mut(), &choices, form).unwrap() {
        Ok(density) => density,
        Err(why) => panic!("{} at {:?} in\n{text}", why.reason, why.node),
    }
}

/// Free numbers of a value: all but the last of a simplex, the lower triangle of a matrix.
fn free_numbers(value: &Value, is_simplex: bool, out: &mut Vec<f64>) {
    match value {
        Value::Number(x) => out.push(*x),
        Value::Vector(xs) => out.extend_from_slice(&xs[..xs.len() - usize::from(is_simplex)]),
        Value::Matrix(m) => {
            for i in 0..m.rows() {
                out.extend((0..=i).map(|j| m.get(i, j)));
            }
        }
        other => panic!("{other}"),
    }
}

fn state(world: &mut World, density: &Density) -> Vec<f64> {
    let choices: Vec<NodeId> = density.choices().collect();
    let mut out = Vec::new();
    for id in choices {
        let is_simplex = world.model.trace_mut().origin(id).0 == "dirichlet";
        let value = world.model.trace_mut().value(id).unwrap().clone();
        free_numbers(&value, is_simplex, &mut out);
    }
    out
}

/// log|det dx/dz| by central differences and elimination.
fn log_jacobian(world: &mut World, density: &mut Density, z: &[f64]) -> f64 {
    let d = z.len();
    let mut m = vec![vec![0.0; d]; d];
    for k in 0..d {
        let h = 1e-5;
        let mut at = |shift: f64| {
            let mut moved = z.to_vec();
            moved[k] += shift;
            density.install(world.model.trace_mut(), &moved, &mut world.rng).unwrap();
            state(world, density)
        };
        let (up, down) = (at(h), at(-h));
        for i in 0..d {
            m[i][k] = (up[i] - down[i]) / (2.0 * h);
        }
    }
    let mut log_det = 0.0;
    for k in 0..d {
        let pivot = (k..d).max_by(|a, b| m[*a][k].abs().total_cmp(&m[*b][k].abs())).unwrap();
        m.swap(k, pivot);
        log_det += math::ln(m[k][k].abs());
        let pivot = m[k].clone();
        for row in &mut m[k + 1..] {
            let factor = row[k] / pivot[k];
            row.iter_mut().zip(&pivot).for_each(|(entry, above)| *entry -= factor * above);
        }
    }
    log_det
}

/// A point near the current one that is possible.
fn nearby(world: &mut World, density: &mut Density, z: &[f64], scale: f64) -> Vec<f64> {
    let mut gradient = vec![0.0; z.len()];
    for _ in 0..1000 {
        let moved: Vec<f64> = z.iter().map(|z| z + scale * (world.rng.uniform() - 0.5)).collect();
        if density.log_density(&moved, &mut gradient) > f64::NEG_INFINITY {
            return moved;
        }
    }
    panic!("nothing near is possible");
}

#[test]
fn the_density_is_that_of_the_trace() {
    for (text, form) in both_forms() {
        let mut world = World::new(text, 3);
        let mut density = compiled(&mut world, text, form);
        let start = density.position(world.model.trace_mut()).unwrap().unwrap();
        let mut offset = None;
        for _ in 0..5 {
            let z = nearby(&mut world, &mut density, &start, 1.0);
            let log_jacobian = log_jacobian(&mut world, &mut density, &z);
            density.install(world.model.trace_mut(), &z, &mut world.rng).unwrap();
            let back = density.position(world.model.trace_mut()).unwrap().unwrap();
            for (a, b) in back.iter().zip(&z) {
                assert!((a - b).abs() < 1e-8, "{a} {b} in\n{text}");
            }
            let joint = world.model.log_joint().unwrap() + log_jacobian;
            let ours = density.log_density(&z, &mut vec![0.0; z.len()]);
            let difference = joint - ours;
            let first = *offset.get_or_insert(difference);
            assert!((difference - first).abs() < 1e-6, "{difference} {first} in\n{text}");
        }
    }
}

fn gradient_error(density: &mut Density, z: &[f64], gradient: &[f64]) -> f64 {
    let mut unused = vec![0.0; z.len()];
    let mut worst: f64 = 0.0;
    for k in 0..z.len() {
        let mut slope = |h: f64| {
            let mut at = |shift: f64| {
                let mut moved = z.to_vec();
                moved[k] += shift;
                density.log_density(&moved, &mut unused)
            };
            (at(h) - at(-h)) / (2.0 * h)
        };
        // Richardson's extrapolation.
        let (coarse, fine) = (slope(2e-4), slope(1e-4));
        let want = (4.0 * fine - coarse) / 3.0;
        worst = worst.max((gradient[k] - want).abs() / (1.0 + want.abs()));
    }
    worst
}

#[test]
fn gradients_match_finite_differences() {
    for (text, form) in both_forms() {
        let mut world = World::new(text, 5);
        let mut density = compiled(&mut world, text, form);
        let start = density.position(world.model.trace_mut()).unwrap().unwrap();
        for _ in 0..5 {
            let z = nearby(&mut world, &mut density, &start, 0.7);
            let mut gradient = vec![0.0; z.len()];
            density.log_density(&z, &mut gradient);
            let error = gradient_error(&mut density, &z, &gradient);
            assert!(error < 1e-6, "{error} in\n{text}");
            // The check can fail.
            gradient[0] = 1.01 * gradient[0] + 0.01;
            assert!(gradient_error(&mut density, &z, &gradient) > 1e-4);
        }
    }
}

#[test]
fn what_other_moves_change_is_read_again() {
    let text = "[assume p (beta 5 5)] [assume m1 (normal 0 2)] [assume m2 (normal 3 2)]
     [assume z (mem (lambda (i) (scope_include 'z i (categorical (array p (- 1 p))))))]
     [assume x (lambda (i) (normal (lookup (array m1 m2) (z i)) 1))]
     [observe (x 0) 1] [observe (x 1) 2] [observe (x 2) -1] [observe (x 3) 3] [observe (x 4) 4]";
    let mut world = World::new(text, 1);
    let mut density = compiled(&mut world, text, Form::Plain);
    let mut changes = 0;
    for _ in 0..50 {
        world.infer("(mh z one 10)");
        let validity = density.refresh(world.model.trace_mut()).unwrap();
        assert_ne!(validity, Validity::Gone);
        changes += usize::from(validity == Validity::Changed);
        let mut fresh = compiled(&mut world, text, Form::Plain);
        let z = density.position(world.model.trace_mut()).unwrap().unwrap();
        let mut slopes = (vec![0.0; z.len()], vec![0.0; z.len()]);
        let a = density.log_density(&z, &mut slopes.0);
        let b = fresh.log_density(&z, &mut slopes.1);
        assert_eq!((a, &slopes.0), (b, &slopes.1));
        assert_eq!(density.refresh(world.model.trace_mut()).unwrap(), Validity::Same);
    }
    assert!(changes > 10);
}

#[test]
fn structure_that_changes_is_noticed() {
    let text = "[assume b (scope_include 'b 0 (flip))] [assume m (if b (normal 0 1) 2)] [assume a (normal 0 1)]
                [observe (normal (+ a m) 1) 1]";
    let mut world = World::new(text, 1);
    let first_b = world.model.trace_mut().choices()[0];
    let choices = continuous(&mut world);
    let mut density =
        Density::compile(world.model.trace_mut(), &choices, Form::Plain).unwrap().ok().unwrap();
    let before = world.model.trace_mut().value(first_b).unwrap().clone();
    while *world.model.trace_mut().value(first_b).unwrap() == before {
        world.infer("(mh b 0 1)");
    }
    assert_eq!(density.refresh(world.model.trace_mut()).unwrap(), Validity::Gone);
}

/// A vector that becomes longer or shorter changes no structure.
#[test]
fn vectors_that_change_their_length_are_noticed() {
    let texts = [
        "[assume n (scope_include 'other 0 (uniform_discrete 2 5))]
         [assume v (scope_include 'other 1 (dirichlet (fill n 1)))] [assume a (normal 0 1)]
         [observe (normal (+ a (size v)) 1) 3]",
        "[assume n (scope_include 'other 0 (uniform_discrete 2 5))]
         [assume w (scope_include 'other 1 (dirichlet (fill n 1)))] [assume a (normal 0 1)]
         [observe (normal (sum (* w a)) 1) 3]",
    ];
    for (text, with_vector) in [(texts[0], true), (texts[1], false)] {
        let mut seen = [false; 2];
        for seed in 0..40 {
            let mut world = World::new(text, seed);
            let n = world.number("n");
            let choices: Vec<NodeId> = continuous(&mut world)
                .into_iter()
                .filter(|id| {
                    let name = world.model.trace_mut().origin(*id).0;
                    name == "normal" || (with_vector && name == "dirichlet")
                })
                .collect();
            let trace = world.model.trace_mut();
            let mut density = Density::compile(trace, &choices, Form::Plain).unwrap().ok().unwrap();
            world.infer("(mh other all 3)");
            let changed = world.number("n");
            if changed == n {
                continue;
            }
            seen[usize::from(changed > n)] = true;
            let validity = density.refresh(world.model.trace_mut()).unwrap();
            assert_eq!(validity, Validity::Gone, "from {n} to {changed}: {text}");
        }
        assert_eq!(seen, [true; 2]);
    }
}

/// A constraint that holds in two ways, the second of which is asked for only if the first does not.
const BRANCHES: &str = "[assume a (normal 0 1)] [assume b (normal 0 1)]
    [observe (normal (* a b) 1) 0.5] [observe (bernoulli (if (or (< a b) (< (* 2 b) 0)) 1 0)) true]";

/// After a move the trace is in order and has the density of its new values. Its structure counts as changed
/// only if a branch went another way.
#[test]
fn branches_follow_a_move() {
    let mut world = World::new(BRANCHES, 3);
    let mut rng = Rng::from_seed(8);
    while !world.log_joint().is_finite() {
        world.infer("(mh default one 1)");
    }
    let mut density = compiled(&mut world, BRANCHES, Form::Plain);
    let mut last = state(&mut world, &density);
    let [mut kept, mut changed] = [0, 0];
    for _ in 0..400 {
        let z: Vec<f64> = last.iter().map(|z| 0.7 * z + 2.0 * (rng.uniform() - 0.5)).collect();
        if !density.log_density(&z, &mut [0.0; 2]).is_finite() {
            continue;
        }
        let before = world.model.trace_mut().structure_revision();
        density.install(world.model.trace_mut(), &z, &mut world.rng).expect("a possible state");
        check(world.model.trace_mut()).unwrap();
        let same = world.model.trace_mut().structure_revision() == before;
        assert_eq!(same, (last[0] < last[1]) == (z[0] < z[1]), "from {last:?} to {z:?}");
        let e = z[0] * z[1] - 0.5;
        let log_p =
            -0.5 * (z[0] * z[0] + z[1] * z[1] + e * e + 3.0 * math::ln(std::f64::consts::TAU));
        assert!((world.log_joint() - log_p).abs() < 1e-12, "{} at {z:?}", world.log_joint());
        (kept, changed) = (kept + usize::from(same), changed + usize::from(!same));
        last = z;
    }
    assert!(kept > 50 && changed > 50, "{kept} and {changed}");
}

#[test]
fn what_has_no_gradient_says_so_and_names_the_choice() {
    let cases = [
        (
            "[assume a (normal 0 1)] [assume b (normal 0 1)] [observe (normal (if (< a 0) b 1) 1) 1]",
            "jump",
            1,
        ),
        (
            "[assume a (normal 0 1)] [assume b (if (< a 0) (normal 0 1) 1)] [observe (normal b 1) 1]",
            "branch",
            1,
        ),
        (
            "[assume a (normal 0 1)] [assume b (normal 0 1)] [observe (normal (+ b (floor a)) 1) 1]",
            "floor",
            1,
        ),
        (
            "[assume n (poisson 3)] [assume b (normal 0 1)] [observe (normal (+ n b) 1) 1]",
            "not continuous",
            1,
        ),
        (
            "[assume a (gamma 1 1)] [assume b (normal 0 1)] [assume f (make_crp a)] [observe (normal (+ b (f)) 1) 1]",
            "make_crp",
            1,
        ),
        (
            "[assume a (normal 0 1)] [assume f (mem (lambda (x) (normal x 1)))] [observe (f a) 1]",
            "exist",
            1,
        ),
    ];
    for (text, words, culprits) in cases {
        let mut world = World::new(text, 2);
        let trace = world.model.trace_mut();
        let all: Vec<NodeId> =
            trace.choices().iter().copied().filter(|id| trace.origin(*id).0 != "draw").collect();
        let why = Density::compile(trace, &all, Form::Plain)
            .unwrap()
            .err()
            .unwrap_or_else(|| panic!("{text}"));
        assert!(why.reason.contains(words), "{} for\n{text}", why.reason);
        assert_eq!(why.culprits.len(), culprits, "{text}");
        let first = trace.choices()[0];
        assert_eq!(why.culprits[0], first, "{text}");
    }
}
