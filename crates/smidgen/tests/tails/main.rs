//! Both tails of the link functions: every evaluator gives the log density of laws with a parameter 1/(1 + e^-η) or e^η for η up to
//! 800 in size, however the parameter came to the law that reads it, and so every kernel has the
//! right posterior there.

#[path = "../common/mod.rs"]
mod common;
mod evaluators;
mod laws;
mod posteriors;
mod predictive;

use std::sync::Arc;

use smidgen::value::{Column, Symbol, Table};
use smidgen::{Session, Settings};

pub const ETAS: [f64; 13] =
    [-800.0, -745.0, -100.0, -37.0, -12.0, -1.0, 0.0, 1.0, 12.0, 37.0, 100.0, 745.0, 800.0];

/// Rows of the table `t`: a plate.
pub const ROWS: usize = 200;

/// A session with a table `t` whose column `zero` is 0 in every row.
pub fn session(text: &str, seed: u64) -> Session {
    let mut session = Session::new(Settings { seed, ..Settings::default() });
    let zero = Column::Reals(vec![0.0; ROWS].into());
    session.add_table("t", Arc::new(Table::new(vec![(Symbol::new("zero"), zero)])));
    run(&mut session, text);
    session
}

pub fn run(session: &mut Session, text: &str) {
    let program = match session.parse_text("test", text) {
        Ok(program) => program,
        Err(errors) => panic!("{}\nin {text}", errors[0].message),
    };
    for directive in &program {
        if let Err(errors) = session.execute(directive) {
            panic!("{}\nin {text}", errors[0].message);
        }
    }
}
