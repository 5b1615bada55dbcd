//! Two observations that move, one of them decided by a choice that the other may observe: the second
//! follows the first. The truth is a sum over the ways, each a normal law that is known.

mod common;

use common::{MOST_ERRORS, moments};
use smidgen::value::math;
use smidgen::{Session, Settings};

fn normal(x: f64, mean: f64, sd: f64) -> f64 {
    math::exp(-0.5 * ((x - mean) / sd) * ((x - mean) / sd) - math::ln(sd) - math::HALF_LN_2PI)
}

/// P(X < 0)
fn below_zero(mean: f64, sd: f64) -> f64 {
    0.5 * math::erfc(mean / sd / std::f64::consts::SQRT_2)
}

struct Case {
    program: &'static str,
    quantities: &'static [&'static str],
    /// Their means.
    want: Vec<f64>,
}

fn cases() -> Vec<Case> {
    const QUANTITIES: &[&str] = &["k", "(< y 0)", "p", "q", "w"];
    // The weights of k with y < 0, k with y >= 0, and not k, in which y is 0.1; then the means.
    let means = |weights: [f64; 3], [p, q]: [f64; 2], w_free: f64| {
        let total: f64 = weights.iter().sum();
        let [low, high, other] = weights.map(|weight| weight / total);
        vec![
            low + high,
            low,
            low * 0.5 + (high + other) * p,
            low * q + (high + other) * 0.5,
            (low + high) * 0.1 + other * w_free,
        ]
    };
    let of_p = normal(0.5, 0.2, 1.0);
    let of_q = normal(0.5, 1.0, 2.0);
    let apart = below_zero(0.5, 1.5);
    let joined = below_zero(0.1, 1.0);
    vec![
        Case {
            program: "[assume y (normal 0.5 1.5)] [assume w (normal 0 1)] [assume k (flip 0.5)]
                [observe (if k w y) 0.1]
                [assume p (normal 0.2 1)] [assume q (normal 1 2)] [observe (if (< y 0) p q) 0.5]",
            quantities: QUANTITIES,
            want: means(
                [
                    normal(0.1, 0.0, 1.0) * apart * of_p,
                    normal(0.1, 0.0, 1.0) * (1.0 - apart) * of_q,
                    normal(0.1, 0.5, 1.5) * of_q,
                ],
                [0.2, 1.0],
                0.0,
            ),
        },
        // What the first comes to is above what it leaves, which decides the second.
        Case {
            program: "[assume w (normal 0 1)] [assume y (normal w 1)] [assume k (flip 0.5)]
                [observe (if k w y) 0.1]
                [assume p (normal 0.2 1)] [assume q (normal 1 2)] [observe (if (< y 0) p q) 0.5]",
            quantities: QUANTITIES,
            want: means(
                [
                    normal(0.1, 0.0, 1.0) * joined * of_p,
                    normal(0.1, 0.0, 1.0) * (1.0 - joined) * of_q,
                    normal(0.1, 0.0, std::f64::consts::SQRT_2) * of_q,
                ],
                [0.2, 1.0],
                0.05,
            ),
        },
        // The choices of the second exist only where it refers to them.
        Case {
            program: "[assume y (normal 0.5 1.5)] [assume w (normal 0 1)] [assume k (flip 0.5)]
                [observe (if k w y) 0.1] [observe (if (< y 0) (normal 0.2 1) (normal 1 2)) 0.5]",
            quantities: &["k", "(< y 0)"],
            want: means(
                [
                    normal(0.1, 0.0, 1.0) * apart * of_p,
                    normal(0.1, 0.0, 1.0) * (1.0 - apart) * of_q,
                    normal(0.1, 0.5, 1.5) * of_q,
                ],
                [0.2, 1.0],
                0.0,
            )[..2]
                .to_vec(),
        },
        // With k and y < 0 both would refer to w, which is impossible.
        Case {
            program: "[assume y (normal 0.5 1.5)] [assume w (normal 0 1)] [assume k (flip 0.5)]
                [force k true] [force y 1] [observe (if k w y) 0.1]
                [assume q (normal 1 2)] [observe (if (< y 0) w q) 0.5]",
            quantities: &["k", "(< y 0)"],
            want: {
                let with = normal(0.1, 0.0, 1.0) * (1.0 - apart) * of_q;
                let without = normal(0.1, 0.5, 1.5) * of_q;
                vec![with / (with + without), 0.0]
            },
        },
        // Three in a row.
        Case {
            program: "[assume y (normal 0.5 1.5)] [assume w (normal 0 1)] [assume k (flip 0.5)]
                [observe (if k w y) 0.1]
                [assume p (normal 0.2 1)] [assume q (normal 1 2)] [observe (if (< y 0) p q) 0.5]
                [assume r (normal 0 1)] [assume s (normal 0 3)] [observe (if (< q 0.5) r s) 2]",
            quantities: &["k", "(< y 0)", "(< q 0.5)"],
            want: {
                // q is free only with k and y < 0; elsewhere it is 0.5, and s is observed.
                let (of_r, of_s) = (normal(2.0, 0.0, 1.0), normal(2.0, 0.0, 3.0));
                let low = below_zero(0.5, 2.0);
                let of_w = normal(0.1, 0.0, 1.0);
                let ways = [
                    of_w * apart * of_p * low * of_r,
                    of_w * apart * of_p * (1.0 - low) * of_s,
                    of_w * (1.0 - apart) * of_q * of_s,
                    normal(0.1, 0.5, 1.5) * of_q * of_s,
                ];
                let total: f64 = ways.iter().sum();
                vec![
                    (ways[0] + ways[1] + ways[2]) / total,
                    (ways[0] + ways[1]) / total,
                    ways[0] / total,
                ]
            },
        },
    ]
}

const KERNELS: [&str; 5] = [
    "",
    "(mh default one 12)",
    "(mh default each 2)",
    "(cycle ((mh default one 'drift 0.7 10) (mh default one 5)) 1)",
    "(cycle ((gibbs k 0 1) (mh default one 10)) 1)",
];

#[test]
fn the_second_follows_the_first() {
    for Case { program, quantities, want } in cases() {
        let program = program.replace("(flip 0.5)", "(scope_include 'k 0 (flip 0.5))");
        for kernel in KERNELS {
            let mut session = Session::new(Settings::default());
            let found = moments(&mut session, &program, kernel, 2_000, quantities);
            for ((quantity, want), found) in quantities.iter().zip(&want).zip(found) {
                let off = (found.mean - want).abs();
                // What never happens has no error.
                let fits = if *want == 0.0 { off == 0.0 } else { off < MOST_ERRORS * found.error };
                assert!(
                    fits,
                    "{quantity}: {} ± {} for {want} by {kernel:?} in {program}",
                    found.mean, found.error
                );
            }
        }
    }
}

/// An observation that follows itself, directly or by way of another, is refused by name.
#[test]
fn circles_are_refused() {
    for (program, said) in [
        (
            "[assume y (normal 0 1)] [assume w (normal 0 1)] [force y 1]
             [observe (if (< y 0) w y) 0.1]",
            "decides which choice is observed",
        ),
        ("[assume a (normal 0 1)] [assume b (normal 0 1)] [assume c (normal 0 1)] [assume d (normal 0 1)]
         [assume k (flip 0.5)] [observe (if (and k (< d 0)) a b) 0.1]
         [observe (if (< b 0) c d) 0.5] [infer (mh default one 2000)]",
         "decided by that choice"),
    ] {
        let mut session = Session::new(Settings::default());
        let program = match session.parse_text("test", program) {
            Ok(program) => program,
            Err(errors) => panic!("{}", errors[0].message),
        };
        let errors: Vec<String> = program
            .iter()
            .filter_map(|directive| session.execute(directive).err())
            .map(|errors| errors[0].message.clone())
            .collect();
        assert!(errors.len() == 1 && errors[0].contains(said), "{errors:?}");
    }
}
