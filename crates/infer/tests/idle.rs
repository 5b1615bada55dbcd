//! Choices that no observation depends on.

use smidgen_engine::idle::{Forward, Idle};
use smidgen_testkit::world::World;

/// The names of the places where idle choices are made, sorted.
fn idle(text: &str) -> Vec<String> {
    let mut world = World::new(text, 1);
    let trace = world.model.trace_mut();
    let mut found: Vec<String> =
        Idle::find(trace).choices.iter().map(|id| trace.origin(*id).0.to_owned()).collect();
    found.sort_unstable();
    found
}

const ROWS: &str = "[observe (normal (+ a (* b 2)) s) 3] [observe (normal (+ a (* b 4)) s) 5]";

#[test]
fn what_an_observation_depends_on_is_not_idle() {
    let parameters = "[assume a (normal 0 1)] [assume b (laplace 0 1)] [assume s (gamma 1 1)]";
    // Nothing is observed.
    assert_eq!(idle(parameters), ["gamma", "laplace", "normal"]);
    assert_eq!(idle(&format!("{parameters} {ROWS}")), [""; 0]);
    // Predictions, and what is computed from them.
    let predicted = "[assume y (cauchy (+ a b) s)] [predict (+ y (poisson (exp y)))]";
    assert_eq!(idle(&format!("{parameters} {ROWS} {predicted}")), ["cauchy", "poisson"]);
    // A condition of an observation, and the side of a branch that is not taken.
    let sides = "[assume c (flip 0.5)] [assume x (normal 0 1)] [assume y (cauchy 0 1)] [observe (normal (if c x y) 1) 0]";
    assert_eq!(idle(sides), [""; 0]);
    // What decides whether a choice is made, whichever side is taken: what is on the other is not known.
    let deciding = "[assume a (normal 0 1)] [observe (normal a 1) 0] [assume b (flip 0.5)] [assume u (if b 3 (laplace (if b 0.2 0.8) 1))]";
    assert!(!idle(deciding).contains(&"flip".to_owned()));
    // An observation that moves.
    let moving = "[assume c (flip 0.5)] [assume x (normal 0 1)] [assume y (cauchy 0 1)] [observe (if c x y) 0]";
    assert!(!idle(moving).contains(&"flip".to_owned()));
    // Applications of what was made count for each other; an improper choice cannot be drawn.
    assert_eq!(
        idle("[assume f (make_beta_bernoulli 1 1)] [predict (f)] [assume z (flat)]"),
        [""; 0]
    );
}

const SQRT_5: f64 = 2.236_067_977_499_79;

/// Forward draws given the rest: y | a in layers, and where they decide what exists.
#[test]
fn idle_choices_are_drawn_from_their_law_given_the_rest() {
    for (text, sd) in [
        ("[assume y (normal a 1)] [assume w (normal y 2)]", SQRT_5),
        ("[assume y (normal a 1)] [assume w (normal (if (< y 3) y (+ y 0)) 2)]", SQRT_5),
    ] {
        let text = format!("[assume a (normal 0 1)] [observe (normal a 0.1) 3] {text}");
        let mut world = World::new(&text, 4);
        let a = world.number("a");
        let trace = world.model.trace_mut();
        let choices = Idle::find(trace).choices;
        assert_eq!(choices.len(), 2, "{text}");
        let n = 20_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let trace = world.model.trace_mut();
            let choices = Idle::find(trace).choices;
            Forward::new(trace, choices).draw(trace, &mut world.rng).expect("a draw");
            assert_eq!(world.number("a"), a, "what an observation depends on stays");
            let x = world.number("w") - a;
            sum += x;
            squares += x * x;
        }
        let (mean, spread) = (sum / f64::from(n), (squares / f64::from(n)).sqrt());
        assert!(mean.abs() < 4.5 * sd / f64::from(n).sqrt(), "{mean} in {text}");
        assert!((spread / sd - 1.0).abs() < 0.03, "{spread} in {text}");
    }
}
