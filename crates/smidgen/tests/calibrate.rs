//! Calibration of programs with their own observations: a right sampler passes, a wrong one fails.

// References are computed as anybody would.
#![allow(clippy::disallowed_methods)]

use std::sync::Arc;

use smidgen::calibrate::{CalibrateRequest, Calibration, calibrate};
use smidgen::sampling::Progress;
use smidgen::value::{Column, Symbol, Table};
use smidgen::{Session, Settings};

fn calibrated(text: &str, kernel: &str, simulations: usize) -> Result<Calibration, String> {
    let mut session = Session::new(Settings::default());
    let xs: Vec<f64> = (0..150).map(|i| f64::from(i).sin()).collect();
    let ys = vec![0.0; 150];
    let columns = [("x", xs), ("y", ys)];
    let columns = columns.map(|(name, xs)| (Symbol::new(name), Column::Reals(xs.into())));
    session.give_table("t", Arc::new(Table::new(columns.into())));
    let program = session.parse_text("test", text).expect("the program reads");
    let request = CalibrateRequest {
        kernel: (!kernel.is_empty()).then(|| kernel.to_owned()),
        simulations,
        draws: 15,
        warmup: 150,
        thin: None,
        record: Vec::new(),
        seed: 7,
        threads: 2,
    };
    calibrate(&mut session, &program, &request, &Progress::default())
        .map_err(|errors| errors.0[0].message.clone())
}

/// Rows of a table, which are one plate, above continuous choices; the column that was observed is replaced.
const REGRESSION: &str = "[table t] [assume b (normal 0 1)] [assume s (gamma 2 2)]
    [for row in t [observe (normal (* b row.x) s) row.y]]";

/// A loop, a single observation, a discrete choice that decides what exists, a vector.
const MIXED: &str = "[assume c (flip 0.4)] [assume m (if c (normal 0 1) (normal 2 1))]
    [assume w (multivariate_diag_normal (zeros 2) (ones 2))]
    [for i in (range 3 7) [observe (normal m 1) i]]
    [observe (poisson (exp (lookup w 0))) 2]
    [observe (flip (if c 0.8 0.3)) true]";

#[test]
fn a_right_sampler_passes() {
    for (text, quantities) in [(REGRESSION, 2), (MIXED, 4)] {
        let found = calibrated(text, "", 60).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(found.failed, 0, "{:?}", found.failure);
        assert_eq!(found.ranks.len(), quantities);
        assert!(found.ranks.iter().all(|ranks| ranks.ranks.len() == 60));
        assert!(!found.is_alarm(), "{text}: {:?}", found.tests);
        assert_eq!(found.ranks, calibrated(text, "", 60).expect("as before").ranks);
    }
}

/// A kernel that goes to the mode and stays there draws far too narrowly; one that never looks at the data, too
/// widely.
#[test]
fn a_wrong_sampler_fails() {
    let found = calibrated(REGRESSION, "(map default all 5)", 40).expect("it runs");
    assert!(found.is_alarm(), "{:?}", found.tests);
    let kernel = "(subsampled_mh default all 2 0.5 'drift 0.5 3)";
    let found = calibrated(REGRESSION, kernel, 60).expect("it runs");
    assert!(found.is_alarm(), "{:?}", found.tests);
    assert!(found.tests[0].p < found.tests[1].p);
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let error = |text: &str| calibrated(text, "", 2).expect_err("refused");
    assert!(error("[assume m (normal 0 1)] [factor (* m 2)]").contains("weights"));
    let found = calibrated("[assume m (flat)] [observe (normal m 1) 0]", "", 3).expect("counted");
    assert_eq!(found.failed, 3);
    assert!(found.failure.expect("said").contains("improper"));
}
