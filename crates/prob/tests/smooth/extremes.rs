//! Slopes where differences of doubles say nothing: in far tails, narrow intervals and at large
//! parameters, where terms cancel. The references are differences of the textbook formula in 500
//! digits (mpmath).

use crate::distributions::{score_at, score_of};
use crate::distributions_common::Call;

/// The call, the outcome, and the slopes of the outcome and of the arguments.
type Reference = (&'static str, f64, &'static [f64]);

#[rustfmt::skip]
#[allow(clippy::unreadable_literal)]
const REFERENCES: &[Reference] = &[
    ("truncated_normal 0.0 1.0 5.0 inf", 5.01, &[-5.01, -0.17650396712584232, -1.8324198356292127, 5.186503967125842, 0.0]),
    ("truncated_normal 0.0 1.0 100.0 inf", 100.004, &[-100.004, -0.005998000999255817, -1.1997840999250928, 100.00999800099926, 0.0]),
    ("truncated_normal 0.0 1.0 -inf -30.0", -30.01, &[30.01, 0.023259667433675475, -1.3976900230102174, 0.0, -30.033259667433676]),
    ("truncated_normal 0.0 1.0 40.0 40.25", 40.001, &[-40.001, -0.023957920957959726, -1.9178755131785126, 40.02671922151784, -0.001761300559878976]),
    ("truncated_normal 0.0 1.0 -0.001 0.002", 0.0003, &[-0.0003, -0.00019999962500011253, -9.099994000001929e-07, 333.33333333328335, -333.3328333336583]),
    ("truncated_normal 0.0 1.0 3.0 3.00003", 3.00001, &[-3.00001, -4.99977499890779e-06, -2.999884998669673e-05, 33334.83336061507, -33331.8333456153]),
    ("student_t 1000000.0 0.25 2.0", 1.5, &[-0.31250019042961313, 4.0716547091791566e-13, 0.31250019042961313, -0.3046873809814918]),
    ("student_t 3.0 0.25 2.0", 1e+200, &[-4e-200, -458.5814180933552, 4e-200, 1.5]),
    ("student_t 0.01 0.25 2.0", 40.0, &[-0.025408161812287493, 94.52164946373578, 0.025408161812287493, 0.004987216019213944]),
    ("gamma 100000000.0 1.0", 100010000.0, &[-0.0001, 0.00010000000033331667, -10000.0]),
    ("gamma 0.004 2.0", 1e-250, &[-9.959999999999999e+249, -324.38247097541114, 0.002]),
    ("beta 100000000.0 100000000.0", 0.50001, &[-7999.999923163592, 2.0002300002581858e-05, -1.9997700002569434e-05]),
    ("beta 0.001 1000000.0", 1e-09, &[-999999999.0009999, 993.6678161538281, 4.990001661252015e-16]),
    ("vonmises 0.0 1000000.0", 0.001, &[-999.9998333333417, 999.9998333333417, 1.6666679025715643e-13]),
    ("vonmises 0.0 1e-06", 2.0, &[-9.092974268256817e-07, 9.092974268256817e-07, -0.41614733654714237]),
    ("vonmises 0.1 29.99", 0.3, &[-5.958093230543885, 5.958093230543885, -0.0031173224915035354]),
    ("vonmises 0.1 30.0", 0.3, &[-5.960079923851836, 5.960079923851836, -0.0031229775240944582]),
    ("negative_binomial 1000000.0 0.99999", 5.0, &[0.0, -5.000060000257825e-06, 500010.0000977254]),
];

#[test]
fn slopes_keep_their_digits() {
    for (text, x, want) in REFERENCES {
        let call = Call::new(text);
        let numbers = call.args.iter().map(|arg| vec![arg.as_number().expect("a number")]);
        let score = score_of(call.distribution.spec().name);
        let (_, slopes) = score_at(score, &[*x], &numbers.collect::<Vec<_>>());
        for (i, (got, want)) in slopes.iter().flatten().zip(*want).enumerate() {
            let close = (got - want).abs() <= 1e-8 * want.abs();
            assert!(close, "{text} at {x}: slope {i} is {got}, not {want}");
        }
    }
}
