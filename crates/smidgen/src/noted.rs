//! Which observations a program makes, and how they belong together: those of one round of a loop are one unit,
//! an observation outside of loops is a unit of its own. Weights (`[factor ...]`) count where they stand in a loop.

use smidgen_value::Value;

/// An observation that was made: a record of the model.
#[derive(Clone, Debug)]
pub struct Observation {
    pub number: u64,
    /// Its label, or what it is called without one; None for a weight.
    pub name: Option<String>,
    /// The rounds of the loops around it, but for the row of a loop that was observed at once.
    pub suffix: String,
    /// Number of the top-level directive.
    pub directive: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Noted {
    pub observations: Vec<Observation>,
    /// Where observations are predicted: what came out.
    pub values: Vec<Value>,
}

impl Noted {
    /// Of a directive: its record, its label and its name, and the rounds of the loops around it.
    pub fn observation(
        &mut self,
        directive: usize,
        number: u64,
        (label, name): (&Option<String>, &Option<String>),
        suffix: &str,
    ) {
        let name = name.as_ref().map(|name| label.as_ref().unwrap_or(name).clone());
        self.observations.push(Observation { number, name, suffix: suffix.to_owned(), directive });
    }
}
