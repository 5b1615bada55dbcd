//! Chains that the default kernel moves by particles: counts without bound, finite choices of too many
//! values, reals without a gradient. Their law against sums over all paths, exact starts, Geweke's test,
//! how far a sweep moves them, what is moved so and what is not.

use smidgen_engine::particles::LookAhead;
use smidgen_infer::block::{Block, Scope, Target};
use smidgen_infer::kernel::default::plan::{Class, Plan};
use smidgen_testkit::budget::{catches, demand};
use smidgen_testkit::invariance::Story;
use smidgen_testkit::particles::{Bug, twin};
use smidgen_testkit::{PValue, World, pvalue};
use smidgen_value::{Value, math};

fn target(scope: &str) -> Target {
    Target { scope: Scope::Named(Value::symbol(scope)), block: Block::Each }
}

/// One inference program, read once and run many times.
fn runs(text: &'static str) -> impl FnMut(&mut World) {
    let mut program = None;
    move |world| {
        let program = program.get_or_insert_with(|| world.program(text));
        world.step(program);
    }
}

// ------------------------------------------------------------ the exact law

/// A population of five years: counts without bound.
const COUNTS: &str = "
    [assume n (mem (lambda (t) (scope_include 'n t
       (if (< t 1) (poisson 2) (poisson (+ 0.3 (* 0.8 (n (- t 1)))))))))]
    [assume y (lambda (t) (poisson (+ 0.2 (n t))))]
    [observe (y 0) 1] [observe (y 1) 4] [observe (y 2) 0] [observe (y 3) 3] [observe (y 4) 5]";

const SEEN: [f64; 5] = [1.0, 4.0, 0.0, 3.0, 5.0];

/// Counts from here on have probability below 1e-15.
const BEYOND: usize = 40;

fn log_poisson(k: f64, rate: f64) -> f64 {
    k * math::ln(rate) - rate - math::ln_gamma(k + 1.0)
}

/// Σ over all paths with n_t = k of p(path, data), for all t and k: forwards times backwards.
fn marginals() -> Vec<Vec<f64>> {
    let steps = SEEN.len();
    let data = |t: usize, k: usize| math::exp(log_poisson(SEEN[t], 0.2 + k as f64));
    let step = |j: usize, k: usize| math::exp(log_poisson(k as f64, 0.3 + 0.8 * j as f64));
    let all = || 0..BEYOND;
    let mut forwards =
        vec![all().map(|k| math::exp(log_poisson(k as f64, 2.0)) * data(0, k)).collect::<Vec<_>>()];
    for t in 1..steps {
        let before = &forwards[t - 1];
        let sum = |k: usize| all().map(|j| before[j] * step(j, k)).sum::<f64>() * data(t, k);
        forwards.push(all().map(sum).collect());
    }
    let mut backwards = vec![vec![1.0; BEYOND]; steps];
    for t in (1..steps).rev() {
        let sum = |j: usize| all().map(|k| step(j, k) * data(t, k) * backwards[t][k]).sum::<f64>();
        backwards[t - 1] = all().map(sum).collect();
    }
    let total: f64 = forwards[steps - 1].iter().sum();
    let product = |t: usize| all().map(|k| forwards[t][k] * backwards[t][k] / total).collect();
    (0..steps).map(product).collect()
}

/// Runs from the prior, each moved by a kernel, against the law.
fn counts_follow_their_law(
    repeats: usize,
    seed: u64,
    mut kernel: impl FnMut(&mut World),
) -> PValue {
    const SHOWN: usize = 12;
    let mut counts = vec![vec![0; SHOWN + 1]; SEEN.len()];
    for k in 0..repeats as u64 {
        let mut world = World::new(COUNTS, seed.wrapping_add(k));
        kernel(&mut world);
        for (t, counts) in counts.iter_mut().enumerate() {
            let n = world.number(&format!("(n {t})")) as usize;
            counts[n.min(SHOWN)] += 1;
        }
    }
    let tests = counts.iter().zip(marginals()).map(|(counts, law)| {
        let mut law = law;
        let rest = law.split_off(SHOWN).iter().sum();
        law.push(rest);
        pvalue::chi_square(counts, &law)
    });
    PValue::smallest_of(tests.collect())
}

#[test]
fn counts_have_their_exact_law() {
    for law in marginals() {
        assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    let test = "default kernel: the law of a chain of counts";
    demand(test, 800, |repeats, seed| {
        counts_follow_their_law(repeats, seed, |world| world.infer("12"))
    });
    let n = target("n");
    for (look_ahead, bug) in
        [(LookAhead::Always, Bug::Forgetful), (LookAhead::Always, Bug::NoLastWeight)]
    {
        catches(test, &format!("{bug:?}"), 500, |repeats, seed| {
            counts_follow_their_law(repeats, seed, |world| {
                (0..12).for_each(|_| twin(world, &n, (4, look_ahead), bug));
            })
        });
    }
}

// ------------------------------------------------------------ exact starts, Geweke

const POPULATION: Story<'static> = Story {
    prior: "[assume r (scope_include 'r 0 (beta 8 2))]
            [assume n (mem (lambda (t) (scope_include 'n t
               (if (< t 1) (poisson 10) (poisson (+ 0.5 (* r (n (- t 1)))))))))]
            [predict (n 4)]",
    data: &["(normal (n 1) 3)", "(binomial (n 2) 0.5)", "(normal (n 4) 1)"],
    look: &["r", "(n 0)", "(n 2)", "(n 4)", "(abs (- (n 4) (n 3)))", "(abs (- (n 1) (n 0)))"],
};

/// Passes with a mistake, then the parameter.
fn mistaken(bug: Bug) -> impl FnMut(&mut World) {
    let (n, mut parameter) = (target("n"), runs("(slice r 0 0.5 10 1)"));
    move |world| {
        (0..6).for_each(|_| twin(world, &n, (2, LookAhead::Always), bug));
        parameter(world);
    }
}

#[test]
fn a_population_with_an_unknown_rate() {
    let test = "exact start: default kernel, a chain by particles";
    demand(test, 800, |repeats, seed| POPULATION.test(repeats, seed, |world| world.infer("3")));
    catches(test, "the reference forgets its future", 1000, |repeats, seed| {
        POPULATION.test(repeats, seed, mistaken(Bug::Forgetful))
    });
}

/// Every count hangs on the two before.
const SECOND_ORDER: Story<'static> = Story {
    prior: "[assume n (mem (lambda (t) (scope_include 'n t
               (if (< t 2) (poisson 4) (poisson (+ 0.5 (* 0.5 (n (- t 1))) (* 0.4 (n (- t 2)))))))))]
            [predict (n 5)]",
    data: &["(normal (n 1) 2)", "(binomial (n 3) 0.5)", "(normal (n 5) 1)"],
    look: &["(n 0)", "(n 2)", "(n 4)", "(n 5)", "(abs (- (n 4) (n 2)))", "(abs (- (n 3) (n 2)))"],
};

#[test]
fn a_chain_of_the_second_order() {
    let test = "exact start: default kernel, a chain of the second order";
    demand(test, 800, |repeats, seed| SECOND_ORDER.test(repeats, seed, |world| world.infer("3")));
    let n = target("n");
    catches(test, "the reference forgets its future", 1000, |repeats, seed| {
        SECOND_ORDER.test(repeats, seed, |world| {
            (0..6).for_each(|_| twin(world, &n, (2, LookAhead::Always), Bug::Forgetful));
        })
    });
}

#[test]
fn geweke() {
    let test = "geweke: default kernel, a chain by particles";
    demand(test, 2000, |n, seed| POPULATION.geweke(n, seed, runs("2")));
    catches(test, "the reference forgets its future", 600, |n, seed| {
        POPULATION.geweke(n, seed, mistaken(Bug::Forgetful))
    });
}

/// Two chains beside a joint block: one of more values than are listed, one of reals without a gradient
/// that exists or not. An observation reads two neighbours.
#[test]
fn several_chains_that_come_and_go() {
    let story = Story {
        prior: "[assume m (normal 0 1)] [assume b (flip 0.6)]
                [assume x (mem (lambda (t) (if (< t 1) (uniform_discrete 0 30)
                   (uniform_discrete (- (x (- t 1)) 4) (+ (x (- t 1)) 5)))))]
                [assume h (mem (lambda (t) (if (< t 1) (normal m 1)
                   (normal (floor (h (- t 1))) 0.7))))]
                [assume level (if b (h 3) m)]
                [predict (x 3)]",
        data: &[
            "(normal (- (x 2) (x 1)) 2)",
            "(normal (x 3) 3)",
            "(normal (if b (h 1) 0) 1)",
            "(normal level 0.5)",
        ],
        look: &["m", "b", "(x 0)", "(- (x 3) (x 2))", "level"],
    };
    let test = "exact start: default kernel, chains that come and go";
    demand(test, 800, |repeats, seed| story.test(repeats, seed, |world| world.infer("3")));
    catches(test, "m drawn to 0", 400, |repeats, seed| {
        story.test(repeats, seed, |world| {
            world.infer("1");
            let m = world.number("m");
            world.execute(&format!("[force m {}]", 0.5 * m)).unwrap();
        })
    });
}

// ------------------------------------------------------------ how far a sweep moves

/// The correlation of a number with itself a few sweeps later.
fn autocorrelation(text: &str, kernel: &str, lag: usize) -> f64 {
    let mut world = World::new(text, 5);
    let mut program = world.program(kernel);
    let mut xs = Vec::new();
    for sweep in 0..700 {
        world.step(&mut program);
        if sweep >= 100 {
            xs.push(world.number("(n 20)"));
        }
    }
    let mean = xs.iter().sum::<f64>() / xs.len() as f64;
    let product =
        |lag: usize| xs.iter().zip(&xs[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    product(lag) / product(0)
}

#[test]
fn particles_move_the_whole_chain() {
    let mut text = "[assume n (mem (lambda (t) (scope_include 'n t
                      (if (< t 1) (poisson 100) (poisson (n (- t 1)))))))]
                    [predict (n 40)]"
        .to_owned();
    for t in [0, 10, 20, 30, 40] {
        text += &format!("[observe (normal (n {t}) 40) {}]", 100 + t);
    }
    let chain = autocorrelation(&text, "1", 5);
    assert!(chain < 0.15, "{chain}");
    // As many proposals as the moves of single choices make in a sweep.
    let singles = autocorrelation(&text, "(mh n each 4)", 5);
    assert!(singles > 0.5, "{singles}");
}

#[test]
fn the_same_seed_gives_the_same_paths() {
    let run = || {
        let mut world = World::new(COUNTS, 11);
        world.infer("20");
        (0..5).map(|t| world.number(&format!("(n {t})"))).collect::<Vec<f64>>()
    };
    assert_eq!(run(), run());
}

// ------------------------------------------------------------ what is moved so

/// How many choices of a program belong to a class.
fn number_of(text: &str, class: Class) -> usize {
    let mut world = World::new(text, 1);
    let trace = world.model.trace_mut();
    let mut plan = Plan::default();
    plan.move_idle();
    plan.update(trace, true, false).unwrap();
    let choices = trace.choices_by_address();
    choices.iter().filter(|(_, id)| plan.class(trace, *id).unwrap() == class).count()
}

fn states(first: &str, next: &str) -> String {
    format!(
        "[assume x (mem (lambda (t) (if (< t 1) {first} (let ((before (x (- t 1)))) {next}))))]
         [predict (x 4)] [observe (normal (x 2) 1) 2] [observe (normal (x 4) 1) 3]"
    )
}

#[test]
fn what_is_moved_by_particles() {
    let particles = |first: &str, next: &str| number_of(&states(first, next), Class::Particles);
    assert_eq!(particles("(poisson 3)", "(poisson (+ 1 before))"), 5);
    let second = "[assume x (mem (lambda (t) (if (< t 2) (poisson 3) (poisson (+ 1 (x (- t 1)) (x (- t 2)))))))]
                  [predict (x 6)]";
    // Neither of the first two reads the other.
    assert_eq!(number_of(second, Class::Particles), 5);
    // No gradient; the last has one.
    assert_eq!(particles("(normal 0 1)", "(normal (floor before) 1)"), 4);
    // The head, from which no particle can be drawn, is moved by itself.
    let head = format!("[assume z (flat)] {}", states(HEADED.0, HEADED.1));
    assert_eq!(number_of(&head, Class::Particles), 5);
    // A gradient, or a few values.
    assert_eq!(particles("(normal 0 1)", "(normal before 1)"), 0);
    assert_eq!(particles("(flip 0.5)", "(flip (if before 0.5 0.5))"), 0);
    let finite = states("(bernoulli 0.5)", "(bernoulli (lookup (array 0.2 0.7) before))");
    assert_eq!(number_of(&finite, Class::Chain), 5);
    // What decides about others is in no chain: what is one could change with it.
    assert_eq!(particles("(poisson 3)", "(if (< before 2) (poisson 1) (poisson 4))"), 0);
    // Between jumps there are chains of reals that come and go.
    let jumps = "[assume x (mem (lambda (t) (if (< t 1) (normal 0 1)
                   (if (flip 0.001) (normal 0 5) (normal (floor (x (- t 1))) 1)))))] [predict (x 6)]";
    assert_eq!(number_of(jumps, Class::Particles), 6);
    // An observation that moves.
    let moves = states("(poisson 3)", "(poisson (+ 1 before))")
        + "[assume a (normal 0 1)] [assume b (normal 0 1)] [observe (if (= (x 1) 1) a b) 1]";
    assert_eq!(number_of(&moves, Class::Particles), 3);
}

const HEADED: (&str, &str) = ("(poisson (exp (floor (min 3 z))))", "(poisson (+ 1 before))");

/// All of them can be moved, also from a start that is impossible at first.
#[test]
fn odd_chains_can_be_moved() {
    for (first, next) in [
        HEADED,
        ("(uniform_discrete 0 1000)", "(binomial 1000 (/ (+ 1 before) 1002))"),
        ("(poisson 3)", "(binomial before 0.9)"),
        ("(poisson 3)", "(if (< before 2) (poisson 1) (poisson 4))"),
        ("(poisson 3)", "(gamma before 1)"),
    ] {
        let text = format!("[assume z (flat)] {}", states(first, next));
        let mut world = World::new(&text, 3);
        world.infer("60");
        assert!((world.number("(x 4)") - 3.0).abs() < 6.0, "{next}: {}", world.number("(x 4)"));
    }
}
