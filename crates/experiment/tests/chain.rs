//! Chains with a budget: draws carry their times, the same seed gives the same draws whatever the
//! budget, and given tables take the place of files.

use smidgen::value::Value;
use smidgen_experiment::chain::{Budget, Plan, Program};
use smidgen_experiment::synthetic::Logistic;
use smidgen_experiment::{Options, Size};

const PROGRAM: &str = include_str!("../../../examples/bayeslr.smg");

fn program() -> Program {
    let mut program = Program::new("bayeslr.smg", PROGRAM);
    program.tables = vec![("train", Logistic::new(2, 300, 1).into_table())];
    program.params = vec![("sd", Value::Number(0.1))];
    program
}

#[test]
fn draws_have_times_and_budgets_end_runs() {
    let options = Options::new(Size::Tiny, "unused", 3);
    let kernel = "(mh w all 'drift 0.1 5)";
    let whole = program().sample(&Plan::new(kernel, Budget::draws(40)), &options).expect("a run");
    assert_eq!(whole.times[0].len(), 40);
    assert!(whole.times[0].windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(whole.kernel().transitions, 200);
    assert_eq!(whole.kernel().population, 200 * 300, "the table that was given");
    // A budget of no time ends after the first draw, with the same draw.
    let short =
        program().sample(&Plan::new(kernel, Budget::seconds(0.0)), &options).expect("a run");
    assert_eq!(short.vectors("w"), whole.vectors("w")[..1]);
    let thinned = whole.thinned(10);
    assert_eq!(thinned.vectors("w").len(), 10);
    assert_eq!(thinned.vectors("w")[9], whole.vectors("w")[39]);
    assert_eq!((thinned.applications(9), thinned.times[0][9]), (40, whole.times[0][39]));
    assert_eq!(whole.scalars_without(0.5)[0].chains[0].len(), 20);
}

#[test]
fn the_clock_changes_nothing_but_what_is_known_about_time() {
    let options = Options::new(Size::Tiny, "unused", 3);
    let timed = Plan::new("(mh w all 'drift 0.1 5)", Budget::draws(40));
    let untimed = Plan { is_timed: false, ..timed.clone() };
    let [timed, untimed] = [timed, untimed].map(|plan| program().sample(&plan, &options).unwrap());
    assert_eq!(timed.vectors("w"), untimed.vectors("w"));
    assert!(untimed.times[0].is_empty() && untimed.drawing > 0.0);
    assert_eq!(untimed.thinned(10).vectors("w"), timed.thinned(10).vectors("w"));
}

#[test]
fn further_directives_set_the_start() {
    let options = Options::new(Size::Tiny, "unused", 3);
    let mut program = program();
    program.more = "[force w {start}]".to_owned();
    program.params.push(("start", Value::vector([0.5, 0.25, 0.125])));
    let plan = Plan::new("(mh w all 'drift 0.000001 1)", Budget::draws(1));
    let chain = program.sample(&plan, &options).expect("a run");
    let near = |(a, b): (&f64, f64)| (a - b).abs() < 1e-4;
    assert!(chain.vectors("w")[0].iter().zip([0.5, 0.25, 0.125]).all(near));
}
