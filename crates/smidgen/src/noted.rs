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
    /// Every datum by its name, if somebody wants to know, but no more than one beyond `most`.
    pub seen: Option<Vec<(String, Value)>>,
    pub most: usize,
}

impl Noted {
    /// Whether data are wanted, and there is room.
    pub fn wants_data(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.len() <= self.most)
    }

    /// A datum, unless it is a weight.
    pub fn datum(
        &mut self,
        (label, name): (&Option<String>, &Option<String>),
        suffix: &str,
        value: Value,
    ) {
        if let (Some(seen), Some(name)) = (&mut self.seen, name) {
            seen.push((format!("{}{suffix}", label.as_ref().unwrap_or(name)), value));
        }
    }

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

/// What is observed or predicted in loops: its name, and the rounds of the loops, outermost first.
pub fn split_rounds(name: &str) -> (&str, Vec<i64>) {
    let (mut rest, mut rounds) = (name, Vec::new());
    while let Some((before, round)) = rest.strip_suffix(']').and_then(|rest| rest.rsplit_once('['))
        && let Ok(round) = round.parse()
    {
        rest = before;
        rounds.push(round);
    }
    rounds.reverse();
    (rest, rounds)
}
