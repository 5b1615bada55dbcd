//! Every step in every reading.

use smidgen_prob::distributions::ALL;
use smidgen_prob::smooth::{self, Elementary, Shape, Smooth};
use smidgen_prob::{Builtin, lookup};
use smidgen_value::{Rng, Symbol, Value, math};

use super::super::{Block, Linear, NO_LINEAR, Store};
use super::{LANES, check_slopes, close, store};
use crate::program::{AggregateOp, Comparison, Op, Program, Register, Source, marked};

/// The number of a step. A new one has to be given a number here, and a program below.
fn number(op: &Op) -> usize {
    match op {
        Op::Elementary(..) => 0,
        Op::Compare(..) => 1,
        Op::Choose { .. } => 2,
        Op::Dot { .. } => 3,
        Op::Linear { .. } => 4,
        Op::Copy(_) => 5,
        Op::Aggregate(_) => 6,
        Op::Density(_) => 7,
        Op::ValueOnly(_) => 8,
    }
}

const STEPS: usize = 9;

/// A step of four numbers a, b, c and d, and what the sum of its registers is.
struct StepCase {
    op: fn(&mut Program, [Register; 4]) -> (Op, u32),
    sum: fn([f64; 4]) -> f64,
}

/// All but products read in place and what has no slopes.
const STEP_CASES: [StepCase; STEPS - 2] = [
    StepCase {
        op: |_, [a, b, ..]| (Op::Elementary(Elementary::Multiply, a, b), 1),
        sum: |[a, b, ..]| a * b,
    },
    StepCase {
        op: |_, [a, b, ..]| (Op::Compare(Comparison::Less, a, b), 1),
        sum: |[a, b, ..]| f64::from(u8::from(a < b)),
    },
    StepCase {
        op: |program, [a, b, c, d]| {
            let index = program.push(Op::Compare(Comparison::Less, a, b), 1);
            (Op::Choose { index, options: [c, d].into() }, 1)
        },
        sum: |[a, b, c, d]| if a < b { d } else { c },
    },
    StepCase {
        op: |_, [a, _, c, _]| (Op::Dot { a, b: c, len: 2 }, 1),
        sum: |[a, b, c, d]| a * c + b * d,
    },
    StepCase { op: |_, [a, _, c, _]| (Op::Copy([c, a].into()), 2), sum: |[a, _, c, _]| a + c },
    StepCase {
        op: |_, [a, b, c, d]| {
            let Some(Smooth::Aggregate(function)) = smooth::find("logsumexp") else {
                panic!("an aggregate")
            };
            let (args, shapes) = (vec![vec![a, b, c, d]], vec![Shape::Vector(4)]);
            (Op::Aggregate(Box::new(AggregateOp { function, args, shapes, len: 1 })), 1)
        },
        sum: |all| math::logsumexp(&all),
    },
    StepCase {
        op: |program, [a, b, c, _]| {
            let law = *ALL.iter().find(|law| law.spec().name == "normal").expect("a law");
            let [a, b, c] = [a, b, c].map(|register| Value::Number(marked::local(register)));
            program.density(law, &a, &[b, c]).expect("a density");
            program.terms.clear();
            let step = program.steps.pop().expect("the density");
            (step.op, 1)
        },
        sum: |[a, b, c, _]| -0.5 * ((a - b) / c) * ((a - b) / c) - math::ln(c) - math::HALF_LN_2PI,
    },
];

#[test]
fn every_step_in_every_reading() {
    let mut seen = [false; STEPS];
    let columns: Vec<Vec<f64>> = (0..4)
        .map(|k| (0..LANES).map(|l| 0.3 + 0.4 * ((3 * k + 5 * l) % 7) as f64).collect())
        .collect();
    for case in &STEP_CASES {
        let mut program = Program::default();
        let first = program.leaf(4, Source::Cell(0));
        let (op, len) = (case.op)(&mut program, [first, first + 1, first + 2, first + 3]);
        seen[number(&op)] = true;
        let is_density = matches!(op, Op::Density(_));
        let out = program.push(op, len);
        program.terms = (out..out + len).collect();
        let want: f64 = (0..LANES)
            .map(|l| (case.sum)([columns[0][l], columns[1][l], columns[2][l], columns[3][l]]))
            .sum();
        let mut here = store(&program, &columns);
        let value = here.value(&program, LANES, &NO_LINEAR);
        assert!(close(value, want, 1e-12), "{value} is not {want}");
        let compared = check_slopes(&program, &columns, &[0, 1, 2, 3]).expect("right slopes");
        assert!(compared >= 4 * LANES - 1, "{compared} slopes");
        // What is no density draws nothing, and is what it is.
        let mut rng = Rng::unused();
        let mut drawn = store(&program, &columns);
        if !is_density {
            drawn.sample(&program, LANES, &NO_LINEAR, &mut rng).expect("nothing to draw");
            assert!(!rng.was_used() && drawn.lanes(out, LANES) == here.lanes(out, LANES));
        }
    }
    seen[4] = linear_is_a_product();
    seen[8] = boxed_calls_are_the_procedures(&columns);
    assert_eq!(seen, [true; STEPS], "some step is in no program");
}

/// A procedure and a law as boxed calls, which have a value in each lane and draw nothing.
fn boxed_calls_are_the_procedures(columns: &[Vec<f64>]) -> bool {
    let mut program = Program::default();
    let first = program.leaf(4, Source::Cell(0));
    let marks = [first, first + 1, first + 2].map(|r| Value::Number(marked::local(r)));
    let Some(Builtin::Function(hypot)) = lookup(Symbol::new("hypot")) else { panic!("a function") };
    let called = program.call(hypot, &marks[..2], &Value::Number(0.0)).expect("a call");
    program.term(called.as_number().expect("a number"));
    let law = *ALL.iter().find(|law| law.spec().name == "gamma").expect("a law");
    program.call_density(law, &marks[0], &marks[1..]).expect("a density");
    let mut here = store(&program, columns);
    here.value(&program, LANES, &NO_LINEAR);
    let mut drawn = store(&program, columns);
    let mut rng = Rng::unused();
    drawn.sample(&program, LANES, &NO_LINEAR, &mut rng).expect("nothing to draw");
    (0..LANES).all(|l| {
        let [a, b, c] = [0, 1, 2].map(|k| columns[k][l]);
        let args = [&Value::Number(b), &Value::Number(c)];
        let log_p = law.log_density(&Value::Number(a), &args).expect("a density");
        let values = [math::hypot(a, b), log_p];
        program.terms.iter().zip(values).all(|(term, want)| {
            here.at(*term, l) == drawn.at(*term, l) && close(here.at(*term, l), want, 1e-12)
        })
    }) && !rng.was_used()
}

/// The product of weights for all lanes with data of each, read in place.
fn linear_is_a_product() -> bool {
    let data: Vec<f64> = (0..2 * LANES).map(|k| 0.1 * k as f64).collect();
    let weights = |_: u32| &[2.0, -3.0][..];
    let block = |_: u32| Block::Lanes(&data);
    let linear = Linear { weights: &weights, data: &block };
    let mut program = Program::default();
    let out = program.push(Op::Linear { weights: 0, data: 1 }, 1);
    program.terms = vec![out];
    let mut store = Store::new(&program, LANES);
    let want: Vec<f64> = (0..LANES).map(|l| 2.0 * data[l] - 3.0 * data[LANES + l]).collect();
    let total = store.value(&program, LANES, &linear);
    let with_slopes = store.value_for_slopes(&program, LANES, &linear);
    let mut pulled = Vec::new();
    store.clear_slopes();
    store.pull(&program, LANES, &linear, &mut |leaf, slope, _| pulled.push((leaf, slope.to_vec())));
    close(total, want.iter().sum(), 1e-12)
        && total == with_slopes
        && store.lanes(out, LANES).iter().zip(&want).all(|(a, b)| close(*a, *b, 1e-12))
        && pulled == [(0, vec![1.0; LANES])]
}
