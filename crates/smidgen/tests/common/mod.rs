//! Moments of a posterior by a kernel, with their error.

#![allow(dead_code, reason = "not every test looks at all of them")]

use smidgen::Session;
use smidgen::draws::summary;
use smidgen::sampling::{Progress, SampleRequest, sample};

pub struct Moments {
    pub mean: f64,
    pub sd: f64,
    /// The Monte Carlo error of the mean.
    pub error: f64,
}

/// Below 1e-4 that a mean is off by more of its errors by chance.
pub const MOST_ERRORS: f64 = 4.5;

/// Those of some quantities, by the default kernel if none is given.
pub fn moments(
    session: &mut Session,
    text: &str,
    kernel: &str,
    draws: usize,
    quantities: &[&str],
) -> Vec<Moments> {
    let program = session.parse_text("test", text).unwrap_or_else(|_| panic!("cannot read {text}"));
    let request = SampleRequest {
        kernel: (!kernel.is_empty()).then(|| kernel.to_owned()),
        draws,
        warmup: 500,
        chains: 4,
        seed: 11,
        record: quantities.iter().map(|quantity| (*quantity).to_owned()).collect(),
        ..SampleRequest::default()
    };
    let sampled = sample(session, &program, &request, &Progress::default());
    let sampled = match sampled {
        Ok(sampled) => sampled,
        Err(errors) => panic!("{} in {text} by {kernel}", errors.0[0].message),
    };
    let rows = summary::summarise(&sampled.run.draws);
    rows.iter().map(|row| Moments { mean: row.mean, sd: row.sd, error: row.mcse }).collect()
}
