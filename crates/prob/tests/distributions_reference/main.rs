//! Log densities against values of 20 digits from mpmath (`reference.py`), at the middle of each law, deep in its
//! tails and at extreme parameters.

mod counts;
#[path = "../distributions_common.rs"]
mod distributions_common;
mod made_of_others;
mod numbers;
mod vectors;

use distributions_common::{Call, value};

/// By family: a distribution with its arguments | a value | the log density there.
const TABLES: [&str; 4] = [counts::TABLE, numbers::TABLE, vectors::TABLE, made_of_others::TABLE];

fn rows() -> impl Iterator<Item = (Call, &'static str, f64)> {
    TABLES.iter().flat_map(|table| table.lines()).filter(|line| !line.is_empty()).map(|line| {
        let [call, x, want] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("three columns: {line}");
        };
        (Call::new(call), x, want.parse().expect("a number"))
    })
}

/// Relative error allowed; where a log density is close to zero, this absolute error is.
const RELATIVE: f64 = 1e-13;
const ABSOLUTE: f64 = 1e-14;

#[test]
fn log_densities_match_the_reference() {
    let mut wrong = Vec::new();
    for (call, x, want) in rows() {
        let got = call.log_density(&value(x));
        let error = (got - want).abs();
        if error.is_nan() || error > RELATIVE * want.abs() + ABSOLUTE {
            wrong.push(format!("{} at {x}: {got}, not {want}: off by {error:e}", call.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_distribution_has_eight_points() {
    for distribution in smidgen_prob::distributions::ALL {
        // What only directives make has no name to write here.
        if !distribution.spec().is_spellable() {
            continue;
        }
        let name = distribution.spec().name;
        let points = rows().filter(|(call, ..)| call.distribution.spec().name == name).count();
        assert!(points >= 8, "{name}: {points}");
    }
}
