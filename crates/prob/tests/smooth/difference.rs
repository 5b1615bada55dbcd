//! Derivatives from values alone: central differences with steps that shrink by a constant factor,
//! extrapolated to step 0 (Ridders 1982). The estimate of the error is the largest disagreement
//! of an entry of the tableau with the two it was made from; the entry with the smallest one wins.

/// The derivative of f at 0 and an estimate of its error; `reach` is the first step.
pub fn derivative(f: impl Fn(f64) -> f64, reach: f64) -> (f64, f64) {
    const SHRINK: f64 = 1.6;
    const STEPS: usize = 14;
    let mut best = (f64::NAN, f64::INFINITY);
    let mut earlier: Vec<f64> = Vec::new();
    let mut step = reach;
    for _ in 0..STEPS {
        let mut row = vec![(f(step) - f(-step)) / (2.0 * step)];
        let mut factor = 1.0;
        for (k, coarse) in earlier.iter().enumerate() {
            factor *= SHRINK * SHRINK;
            let fine = row[k];
            let next = fine + (fine - coarse) / (factor - 1.0);
            let error = (next - fine).abs().max((next - coarse).abs());
            if error < best.1 {
                best = (next, error);
            }
            row.push(next);
        }
        earlier = row;
        step /= SHRINK;
    }
    best
}

/// Whether a slope is the derivative of f at 0. None if the difference is too rough to tell.
/// `size` is that of the values whose rounding enters the slope.
pub fn agrees(
    f: impl Fn(f64) -> f64,
    reach: f64,
    slope: f64,
    size: f64,
) -> Option<Result<(), String>> {
    let (want, error) = derivative(f, reach);
    let scale = want.abs().max(size);
    let is_sharp = error <= 1e-7 * scale;
    let good = (slope - want).abs() <= 1e-6 * scale;
    let verdict = if good { Ok(()) } else { Err(format!("slope {slope}, difference {want}")) };
    is_sharp.then_some(verdict)
}

/// Counts of what has been compared.
#[derive(Default)]
pub struct Tally {
    pub compared: usize,
    pub rough: usize,
    pub wrong: Vec<String>,
}

impl Tally {
    pub fn add(&mut self, verdict: Option<Result<(), String>>, place: impl Fn() -> String) {
        match verdict {
            None => self.rough += 1,
            Some(verdict) => {
                self.compared += 1;
                if let Err(how) = verdict {
                    self.wrong.push(format!("{}: {how}", place()));
                }
            }
        }
    }

    /// Nothing wrong, and enough compared to say so.
    pub fn verdict(&self, least: usize) -> Result<(), String> {
        if let Some(first) = self.wrong.first() {
            return Err(format!("{} of {} wrong, {first}", self.wrong.len(), self.compared));
        }
        if self.compared < least || self.rough > self.compared {
            return Err(format!("{} compared, {} too rough", self.compared, self.rough));
        }
        Ok(())
    }
}
